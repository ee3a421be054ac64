"""Stands in for the tools of an agent that is not modified: rules, recordings, a model or offline drafts answer in their place."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.sessions import Session
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from simulator.environment.plugin_config import SimulatedEnvironmentConfig, StandInPlayer
from simulator.environment.recordings import ObservedCall, RecordingError, read_recording
from simulator.environment.world.connections import ToolShape
from simulator.environment.world.tool_settings import SharedState, StateRegistry
from simulator.facts import Failed, ToolAnswered
from simulator.runtime.adk.adk_private import has_own_code, is_steering, runs_agents
from simulator.runtime.adk.boundaries import ToolBoundaryCall
from simulator.runtime.adk.tool_guards import AnswersItself, has_body
from simulator.runtime.answering.pipeline import AuthoredAnswer
from simulator.runtime.knowledge.knowledge import AnsweredCall, ToolShapes
from simulator.runtime.knowledge.world_view import WorldView, world_view
from simulator.runtime.models.environment_model import configuration_of
from simulator.runtime.plugin.call_claims import BROKEN, LEFT, Claiming, PluginAnswering, all_real
from simulator.runtime.plugin.model_player import Modelled, ModelSettings
from simulator.runtime.plugin.session_play import (
    SessionPlay,
    Sessions,
    SharedDraws,
    real_invocation_of,
)
from simulator.runtime.turns.outcomes import as_tools_give, cannot_answer, repeated
from simulator.runtime.turns.waiting_request import Call
from simulator.session.model import SessionEnvironment

MOST_SESSIONS = 1_000
"""Of how many sessions of one service an environment keeps what it knows."""

_LOG = logging.getLogger(__name__)
_TRACING = "tracing"


class StandInEnvironment(Claiming[SessionPlay]):
    """An environment in the place of an agent's tools; each session has a state, counters and draws of its own.

    Args:
        config: What it consists of.
        model: Its model, a name or an object; else that of the settings, if one is set there.
        registry: Where the calls of all sessions are remembered; a registry for each of them where it is None.
        beginnings: What the registry of each session starts with, beside what is set.
        clock: Gives the time, in seconds since the epoch.
        most_sessions: Of how many sessions, for each session service, it keeps what it knows.
    """

    def __init__(
        self,
        config: SimulatedEnvironmentConfig,
        *,
        model: str | BaseLlm | None = None,
        registry: StateRegistry | None = None,
        beginnings: StateRegistry | None = None,
        clock: Callable[[], float] = time.time,
        most_sessions: int = MOST_SESSIONS,
    ) -> None:
        self._registry, self._beginnings = registry, beginnings
        self._registry_lock = threading.RLock() if registry is not None else None
        self._drawn = SharedDraws()
        self._clock, self._given_model = clock, model
        self.tells_of_strangers = True
        """Whether a log says which tools are named that no agent has."""
        self._told_of: SimulatedEnvironmentConfig | None = None
        self._ran_for_real: set[str] = set()
        self._silent: set[str] = set()
        super().__init__(Sessions(self._play, most_sessions))
        self.use(config)

    def use(self, config: SimulatedEnvironmentConfig) -> None:
        """Let something else be configured; rules and chance are those of a session's first call."""
        self.config = config
        self._environment = _environment_of(config)
        chosen = self._given_model or config.settings.simulation_model
        self._modelled = (
            Modelled(
                ModelSettings(
                    chosen,
                    configuration_of(config.settings.simulation_model_configuration),
                    config.model_timeout_seconds,
                    config.model_retries,
                    self._clock,
                )
            )
            if chosen
            else None
        )
        for play in self.sessions.all():
            play.use(self._environment)

    def _play(self) -> SessionPlay:
        config = self.config
        return SessionPlay(
            self._environment,
            config.rules,
            config.seed,
            self._registry,
            lock=self._registry_lock,
            beginnings=self._beginnings,
            shared=self._drawn if config.seeded_chance == "shared" else None,
        )

    # ------------------------------------------------------------ who answers

    def lists(self, tool_name: str) -> bool:
        """Return whether the configuration names a tool."""
        return self.config.lists(tool_name)

    def may_answer(self, tool: BaseTool) -> bool:
        """Return whether anything but the real tool can answer a call of this tool."""
        return self._player(tool) != "real" or self.config.has_rule_for(tool.name)

    def _player(self, tool: BaseTool) -> StandInPlayer:
        """Return who answers a tool where no rule does; one with an environment or an agent of its own has that, unless a player says otherwise."""
        if runs_agents(tool) and not has_own_code(tool):
            return self.config.players.get(tool.name, "real")
        if isinstance(tool, AnswersItself) and not self.config.lists(tool.name):
            return "real"
        return self.config.player_of(tool.name, has_body=has_body(tool))

    def chose(self, tool: BaseTool) -> bool:
        """Return whether the configuration lets a tool run for real."""
        return self._player(tool) == "real"

    def passes_by(self, tool: BaseTool) -> None:
        """Log once why the rules that name a tool which steers ADK's flow are silent."""
        for rule in self.config.rules:
            if rule.tool_name == tool.name and rule.rule_id not in self._silent:
                self._silent.add(rule.rule_id)
                _LOG.warning("%s", cannot_answer(rule.rule_id, tool.name))

    def session_of(self, context: Any) -> SessionPlay:
        """Return what is kept for the session of a call, with the tools that stand around it."""
        play = super().session_of(context)
        if not play.has_tools:
            play.has_tools = True
            play.know(_shapes_around(context))
        return play

    def _tell_of_strangers(self, play: SessionPlay, called: str) -> None:
        """Log once, at the first call, which tools are named that no agent has, as far as can be seen."""
        if self._told_of is not self.config and self.tells_of_strangers:
            self._told_of = self.config
            for problem in self.config.strangers({called, *(shape.name for shape in play.shapes())}):
                _LOG.warning("%s", problem)

    def _tell_of_real(self, tool: BaseTool) -> None:
        """Log once for each tool that it runs for real, where no player was named that says so."""
        name = tool.name
        if name in self.config.players or name in self._ran_for_real or isinstance(tool, AnswersItself):
            return
        self._ran_for_real.add(name)
        if self.config.lists(name):
            _LOG.warning(
                "%s did not hit any injection config and has no mock strategy: the real tool runs", name
            )
        else:
            _LOG.warning("%s is not in the simulation's configuration: the real tool runs", name)

    def note_tools(self, context: Any, tools: Mapping[str, BaseTool]) -> None:
        """Take down the tools that a model is shown: those of tool sets stand nowhere else."""
        try:
            play = self.session(context)
            for tool in tools.values():
                if not (is_steering(tool) or runs_agents(tool)):
                    play.declared(tool)
        except Exception:  # noqa: BLE001 - whatever it is, the agent is to go on
            _LOG.exception("the agent's tools cannot be inspected")

    # ------------------------------------------------------------ answering

    async def answered(self, call: ToolBoundaryCall) -> Any:
        """Answer a call in the place of its tool; return what the tool would, or raise it."""
        return await self._answer(call.tool, call.arguments, call.context, call.real)

    async def given(self, tool: BaseTool, arguments: dict[str, Any], context: Any) -> Any:
        """Answer a call of a tool that has nothing real behind it; return what the tool would, or raise it."""
        return await self._answer(tool, arguments, context, None)

    async def given_after(
        self, earlier: Sequence[ToolAnswered], tool: BaseTool, arguments: dict[str, Any], context: Any
    ) -> Any:
        """Answer a call as `given`, in a session that is played: its state is what the calls before it add up to.

        Args:
            earlier: The calls that were answered in the session before, of all tools; those of this environment count.
            tool: The tool.
            arguments: What it is asked.
            context: ADK's context of the call.
        """
        play = self._play()
        play.has_tools = True
        play.know(_shapes_around(context))
        for fact in earlier:
            if self.config.lists(fact.tool_name):
                play.recall(fact)
        self.sessions.put(context, play)
        return await self._answer(tool, arguments, context, None)

    async def by_hand(self, tool: BaseTool, arguments: dict[str, Any], context: Any) -> dict[str, Any] | None:
        """Answer a call at once, in a dict as ADK makes it; None where only the real tool can answer."""
        if not self.may_answer(tool):
            self._tell_of_real(tool)
            return None

        async def leave() -> Any:
            return LEFT

        given = await self._answer(tool, arguments, context, leave)
        if given is LEFT:
            return None
        return given if isinstance(given, dict) else {"result": given}

    async def _answer(
        self, tool: BaseTool, arguments: dict[str, Any], context: Any, real: Callable[[], Any] | None
    ) -> Any:
        try:
            play = self.session(context)
            refusal = self.config.refusal_of(tool.name)
            question = Call.of(tool, arguments, context, at=self._clock())
            self._tell_of_strangers(play, tool.name)
        except Exception as error:  # noqa: BLE001 - whatever it is, the agent is to go on
            _LOG.exception("the environment failed before it could answer %s", tool.name)
            return Failed(error_code=BROKEN, error_message=f"the environment failed: {error}").response()
        answering = PluginAnswering(play, self._modelled, self._clock, refusal)
        # What an agent asks while it runs as a tool is answered here.
        runs = real if real is None or runs_agents(tool) else all_real(real)
        call, made = await answering.answer(question, self._player(tool), runs)
        if made.source == "real" and not runs_agents(tool):
            self._tell_of_real(tool)
        if isinstance(context, ToolContext):
            await repeated(made.effects, context)
        return _given(call, made)

    # ------------------------------------------------------------ what there is to see

    def calls(self, session: Session | str | None = None) -> tuple[AnsweredCall, ...]:
        """Return the answered calls of a session, by itself or by its id; for None, of the session used last."""
        play = self.sessions.find(session)
        return play.calls() if play else ()

    def world(self, session: Session | str | None = None) -> WorldView | None:
        """Return what the environment knows in a session; None where it knows none. Arguments as for `calls`."""
        play = self.sessions.find(session)
        return play.look(world_view) if play else None

    def get_state(self, state_key: str, session: Session | str | None = None) -> SharedState:
        """Return what is remembered under a state key. Arguments as for `calls`."""
        play = self.sessions.find(session) or self._play()
        return play.state_of(state_key)

    def registry(self) -> StateRegistry | None:
        """Return where the calls of the session used last are remembered; None before the first."""
        play = self.sessions.find(None)
        return play.known.registry if play else None

    def forget(self, session: Session | str) -> None:
        """Let go of all that is known of a session; its next call begins anew."""
        self.sessions.forget(session)


def _given(call: AnsweredCall, made: AuthoredAnswer) -> Any:
    """Return the agent an answer as a tool does: a value, or an exception."""
    if made.source == "real" and call.beneath is None:
        if isinstance(made.own, Exception):
            raise made.own
        return made.own
    return as_tools_give(call.outcome)


def _shapes_around(context: Any) -> Mapping[str, ToolShape]:
    """Return the tools of the agent that calls, and of all agents around it, as far as they stand there."""
    invocation = real_invocation_of(context)
    if invocation is None:
        return {}
    agent = invocation.agent
    try:
        return ToolShapes(getattr(agent, "root_agent", agent)).known({}, ())
    except Exception:  # noqa: BLE001 - somebody's agents are looked at; what cannot be seen is learnt when it is called
        return {}


def _environment_of(config: SimulatedEnvironmentConfig) -> SessionEnvironment:
    """Return what is set for each session; tracing that holds no calls is words for the model."""
    settings, recordings = config.settings, dict(config.recordings)
    traced = _traced(config.tracing)
    if traced:
        recordings[_TRACING] = traced
    elif config.tracing:
        words = f"Earlier runs of the agent:\n{config.tracing}"
        told = "\n\n".join(filter(None, (settings.environment, words)))
        settings = settings.model_copy(update={"environment": told})
    return SessionEnvironment(settings=settings, data=config.environment_data, recordings=recordings)


def _traced(text: str) -> tuple[ObservedCall, ...]:
    if not text:
        return ()
    try:
        read = read_recording(text)
    except RecordingError as error:
        _LOG.warning("the tracing is used as plain text: %s", error)
        return ()
    for problem in read.problems:
        _LOG.warning("the tracing: %s", problem)
    return read.calls
