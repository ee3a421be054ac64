"""Stands in for the tools of an agent that is not modified: claims a call before ADK runs its tool, and answers in its place."""

from __future__ import annotations

import copy
import functools
import inspect
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, NamedTuple

from google.adk.models.base_llm import BaseLlm
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions import Session
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool

from simulator.environment.recording.recordings import RecordedCall, RecordingError, read_recording
from simulator.environment.stand_in_config import SimulatedEnvironmentConfig, StandInPlayer
from simulator.environment.things.connections import ToolShape
from simulator.environment.things.shared_state import SharedState, StateRegistry
from simulator.facts import Failed
from simulator.runtime.adk_private import (
    invocation_of,
    is_about_to_run,
    is_steering,
    is_unknown,
    runs_agents,
    with_plugin,
    with_plugins,
)
from simulator.runtime.bodies import has_body
from simulator.runtime.boundaries import ToolBoundaryCall, seat_tool
from simulator.runtime.context import let_stand_in, stand_in_of
from simulator.runtime.encoding import made_error, tool_result
from simulator.runtime.modelling import configuration_of
from simulator.runtime.stand_in.answering import BROKEN, LEFT, Answering, Made
from simulator.runtime.stand_in.calls import AnsweredCall
from simulator.runtime.stand_in.modelled import Modelled, ModelSettings
from simulator.runtime.stand_in.play import Question, SessionPlay
from simulator.runtime.stand_in.sessions import Sessions, real_invocation_of
from simulator.runtime.tool_shapes import ToolShapes
from simulator.runtime.world_view import WorldView, world_view
from simulator.session.environment import SessionEnvironment

MOST_SESSIONS = 1_000
"""Of how many sessions of one service an environment keeps what it knows."""

_LOG = logging.getLogger(__name__)
_TRACING = "tracing"
_NOBODY: Mapping[Any, Any] = MappingProxyType({})
_INSIDE: ContextVar[Mapping[Any, SessionPlay]] = ContextVar("simulation_stand_in_session", default=_NOBODY)
"""The session, by environment, from whose agent tool everything in here is called."""

_REAL: ContextVar[bool] = ContextVar("simulation_stand_in_real", default=False)
"""Whether a real tool is at work: what it calls itself is real, too."""


class AnswersItself:
    """Marks tools that have an environment of their own."""


class StandInEnvironment:
    """An environment in the place of an agent's tools; each session has a state, counters and draws of its own.

    Args:
        config: What it consists of.
        model: Its model, a name or an object; else that of the settings, if one is set there.
        registry: Where the calls of all sessions are remembered; a registry for each of them where it is None.
        clock: Gives the time, in seconds since the epoch.
        most_sessions: Of how many sessions, for each session service, it keeps what it knows.
    """

    def __init__(
        self,
        config: SimulatedEnvironmentConfig,
        *,
        model: str | BaseLlm | None = None,
        registry: StateRegistry | None = None,
        clock: Callable[[], float] = time.time,
        most_sessions: int = MOST_SESSIONS,
    ) -> None:
        self._registry = registry
        self._registry_lock = threading.RLock() if registry is not None else None
        self._clock, self._given_model = clock, model
        self.tells_of_strangers = True
        """Whether a log says which tools are named that no agent has."""
        self._told_of: SimulatedEnvironmentConfig | None = None
        self._sessions = Sessions(self._play, most_sessions)
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
                    configuration_of(config.settings),
                    config.model_timeout_seconds,
                    config.model_retries,
                    self._clock,
                )
            )
            if chosen
            else None
        )
        for play in self._sessions.all():
            play.use(self._environment)

    def _play(self) -> SessionPlay:
        config = self.config
        return SessionPlay(self._environment, config.rules, config.seed, self._registry, self._registry_lock)

    # ------------------------------------------------------------ claiming

    async def before_tool(
        self, tool: BaseTool, arguments: dict[str, Any], context: Any, plugin: BasePlugin
    ) -> dict[str, Any] | None:
        """See a call before its tool runs.

        Where ADK is about to run the tool, the call is claimed, and answered when ADK has come to it: after the agent's
        own callbacks and the confirmation gate. Where somebody calls this by hand, the answer is given at once.

        Args:
            tool: The tool.
            arguments: What it is asked.
            context: ADK's context of the call.
            plugin: What covers the agents that an agent tool runs.
        """
        if is_steering(tool):
            return None
        if not is_about_to_run(context):
            return await self._by_hand(tool, arguments, context)
        if is_unknown(tool):
            return await self._by_hand(tool, arguments, context) if self.config.lists(tool.name) else None
        if _runs_past_its_seat(tool, context):
            return await self._by_hand(tool, arguments, context)
        self._claim(tool, context, plugin)
        seat_tool(tool, alone=True)
        return None

    def _claim(self, tool: BaseTool, context: Any, plugin: BasePlugin) -> None:
        """Have a call for this environment, but for one that another environment answers already."""
        claimed = stand_in_of(context)
        if isinstance(claimed, _Claim) and claimed.environment.may_answer(tool):
            return
        if runs_agents(tool) and not self.config.lists(tool.name):
            others = claimed.covered if isinstance(claimed, _Inside) else ()
            let_stand_in(_Inside((*others, (self, plugin))), context)
        else:
            let_stand_in(_Claim(self), context)

    def may_answer(self, tool: BaseTool) -> bool:
        """Tell whether anything but the real tool can answer a call of this tool."""
        return self._player(tool) != "real" or self.config.has_rule_for(tool.name)

    def _player(self, tool: BaseTool) -> StandInPlayer:
        """Give who answers a tool where no rule does; one with an environment of its own has that, unless it is listed."""
        if isinstance(tool, AnswersItself) and not self.config.lists(tool.name):
            return "real"
        return self.config.player_of(tool.name, has_body=has_body(tool))

    def session(self, context: Any) -> SessionPlay:
        """Give what is kept for the session of a call: of the outermost, where an agent tool has one inside of it."""
        play = _INSIDE.get().get(self)
        if play is None:
            play = self._sessions.of(context)
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

    def note_tools(self, context: Any, tools: Mapping[str, BaseTool]) -> None:
        """Take down the tools that a model is shown: those of tool sets stand nowhere else."""
        try:
            play = self.session(context)
            for tool in tools.values():
                if not (is_steering(tool) or runs_agents(tool)):
                    play.declaration(tool)
        except Exception:  # noqa: BLE001 - whatever it is, the agent is to go on
            _LOG.exception("the tools of the agent cannot be looked at")

    # ------------------------------------------------------------ answering

    async def answer(self, call: ToolBoundaryCall) -> Any:
        """Answer a call in the place of its tool; give what the tool would, or raise it."""
        if _REAL.get():
            return await call.real()
        return await self._answer(call.tool, call.arguments, call.context, call.real)

    async def given(self, tool: BaseTool, arguments: dict[str, Any], context: Any) -> Any:
        """Answer a call of a tool that has nothing real behind it; give what the tool would, or raise it."""
        return await self._answer(tool, arguments, context, None)

    async def _by_hand(
        self, tool: BaseTool, arguments: dict[str, Any], context: Any
    ) -> dict[str, Any] | None:
        """Answer a call at once, in a dict as ADK makes it; None where only the real tool can answer."""
        if not self.may_answer(tool):
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
            play, question = self.session(context), Question(tool, arguments, context)
            self._tell_of_strangers(play, tool.name)
        except Exception as error:  # noqa: BLE001 - whatever it is, the agent is to go on
            _LOG.exception("the environment cannot take the call of %s", tool.name)
            return Failed(error_code=BROKEN, error_message=f"the environment failed: {error}").response()
        answering = Answering(play, self._modelled, self._clock)
        call, made = await answering.answer(question, self._player(tool), _all_real(real) if real else None)
        return _given(call, made)

    # ------------------------------------------------------------ what there is to see

    def calls(self, session: Session | str | None = None) -> tuple[AnsweredCall, ...]:
        """Give the answered calls of a session, by itself or by its id; for None, of the session used last."""
        play = self._sessions.find(session)
        return play.calls() if play else ()

    def world(self, session: Session | str | None = None) -> WorldView | None:
        """Give what the environment knows in a session; None where it knows none. Arguments as for `calls`."""
        play = self._sessions.find(session)
        return play.look(world_view) if play else None

    def get_state(self, state_key: str, session: Session | str | None = None) -> SharedState:
        """Give what is remembered under a state key. Arguments as for `calls`."""
        play = self._sessions.find(session) or self._play()
        return play.state_of(state_key)

    def forget(self, session: Session | str) -> None:
        """Let go of all that is known of a session; its next call begins anew."""
        self._sessions.forget(session)


class _Claim(NamedTuple):
    """Lets an environment answer a call."""

    environment: StandInEnvironment

    async def answer(self, call: ToolBoundaryCall) -> Any:
        return await self.environment.answer(call)


class _Inside(NamedTuple):
    """Lets an agent tool run its agent, and environments answer the tools of that one: each with the plugin that covers it."""

    covered: tuple[tuple[StandInEnvironment, BasePlugin], ...]

    async def answer(self, call: ToolBoundaryCall) -> Any:
        if _REAL.get():
            return await call.real()
        plays = {environment: environment.session(call.context) for environment, _ in self.covered}
        token = _INSIDE.set({**_INSIDE.get(), **plays})
        try:
            return await self._run(call)
        finally:
            _INSIDE.reset(token)

    async def _run(self, call: ToolBoundaryCall) -> Any:
        tool, context = call.tool, call.context
        real: Callable[..., Awaitable[Any]] = call.real
        if isinstance(tool, AgentTool) and not tool.include_plugins:
            # Its runner would have no plugin at all; these, and no others, are to be in there.
            guarded = copy.copy(tool)
            guarded.include_plugins = True
            context = with_plugins(context)
            real = functools.partial(type(tool).run_async, guarded, args=call.arguments)
        context = functools.reduce(with_plugin, (plugin for _, plugin in self.covered), context)
        return await real(tool_context=context)


def _all_real(real: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
    async def run() -> Any:
        token = _REAL.set(True)
        try:
            return await real()
        finally:
            _REAL.reset(token)

    return run


def _given(call: AnsweredCall, made: Made) -> Any:
    """Give the agent an answer as a tool does: a value, or an exception."""
    if made.source == "real" and call.beneath is None:
        if isinstance(made.own, Exception):
            raise made.own
        return made.own
    match call.outcome.kind:
        case "raised":
            raise made_error(call.outcome.error)
        case "failed":
            return call.outcome.response()
        case "deferred":
            return None
        case _:
            return tool_result(call.outcome.value)


def _runs_past_its_seat(tool: BaseTool, context: Any) -> bool:
    """Tell a tool that streams in a live session: ADK calls its function there, and not the tool."""
    is_live = getattr(invocation_of(context), "live_request_queue", None) is not None
    return is_live and inspect.isasyncgenfunction(getattr(tool, "func", None))


def _shapes_around(context: Any) -> Mapping[str, ToolShape]:
    """Give the tools of the agent that calls, and of all agents around it, as far as they stand there."""
    invocation = real_invocation_of(context)
    if invocation is None:
        return {}
    agent = invocation.agent
    try:
        return ToolShapes(getattr(agent, "root_agent", agent)).known({}, ())
    except Exception:  # noqa: BLE001 - somebody's agents are looked at; what cannot be seen is learnt when it is called
        return {}


def _environment_of(config: SimulatedEnvironmentConfig) -> SessionEnvironment:
    """Give what is set for each session; tracing that holds no calls is words for the model."""
    settings, recordings = config.settings, dict(config.recordings)
    traced = _traced(config.tracing)
    if traced:
        recordings[_TRACING] = traced
    elif config.tracing:
        words = f"Earlier runs of the agent:\n{config.tracing}"
        told = "\n\n".join(filter(None, (settings.environment, words)))
        settings = settings.model_copy(update={"environment": told})
    return SessionEnvironment(settings=settings, data=config.environment_data, recordings=recordings)


def _traced(text: str) -> tuple[RecordedCall, ...]:
    if not text:
        return ()
    try:
        read = read_recording(text)
    except RecordingError as error:
        _LOG.warning("the tracing is taken as words: %s", error)
        return ()
    for problem in read.problems:
        _LOG.warning("the tracing: %s", problem)
    return read.calls
