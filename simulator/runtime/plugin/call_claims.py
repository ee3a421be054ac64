"""Claims a call before ADK runs its tool, and answers it in the tool's place: after the agent's callbacks and the confirmation gate."""

from __future__ import annotations

import copy
import functools
import inspect
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool

from simulator.base.secret_masking import error_words
from simulator.environment.plugin_config import StandInPlayer
from simulator.facts import Deferred, Failed, Raised, Returned
from simulator.runtime.adk.adk_private import (
    has_own_code,
    invocation_of,
    is_about_to_run,
    is_steering,
    is_unknown,
    runs_agents,
    with_plugin,
    with_plugins,
)
from simulator.runtime.adk.boundaries import ToolBoundaryCall, seat_tool
from simulator.runtime.adk.codec import tool_value, written_error
from simulator.runtime.adk.outside_work import AllowedHosts
from simulator.runtime.adk.turn_context import let_stand_in, stand_in_of
from simulator.runtime.answering.pipeline import OFFLINE, AuthoredAnswer, Pipeline, refused
from simulator.runtime.knowledge.knowledge import AnsweredCall
from simulator.runtime.plugin.model_player import Modelled
from simulator.runtime.plugin.session_play import SessionPlay, Sessions
from simulator.runtime.turns.outcomes import as_response
from simulator.runtime.turns.waiting_request import Call

_LOG = logging.getLogger(__name__)

BROKEN = "simulation_failed"
"""The error code of an answer that there is none, as something is wrong with the environment itself."""

LEFT: Any = object()
"""What stands for the answer of a real tool that somebody else is to run."""


class PluginAnswering(Pipeline[Call]):
    """Answers the calls of one session.

    Args:
        play: What the session's environment knows.
        modelled: The environment's model, if it has one.
        clock: Gives the time, in seconds since the epoch.
        refusal: What the agent is told where nobody may answer.
    """

    def __init__(
        self, play: SessionPlay, modelled: Modelled | None, clock: Callable[[], float], refusal: str = ""
    ) -> None:
        super().__init__(play)
        self._play, self._modelled, self._clock, self._refusal = play, modelled, clock, refusal

    async def answer(
        self, question: Call, player: StandInPlayer, real: Callable[[], Awaitable[Any]] | None
    ) -> tuple[AnsweredCall, AuthoredAnswer]:
        """Answer a call, and learn from it.

        Args:
            question: The call.
            player: Who answers where no rule does.
            real: Runs the real tool.

        Returns:
            The call as it was answered, and what was made before the rules changed it.
        """
        started = self._clock()
        try:
            made = await self._begun(question, player, real)
            if broken := self.breach(question, made.outcome, made.source):
                made = made._replace(notes=(*made.notes, broken))
        except Exception as error:  # noqa: BLE001 - whatever it is, the agent is to go on; what it gets says so
            _LOG.exception("the environment could not answer %s", question.name)
            made = self._after(error, question, player)
        call = self._learnt(question, made, started)
        for what in call.contradicts:
            _LOG.warning("the response of %s contradicts the world: %s", question.name, what)
        return call, made

    async def _begun(
        self, question: Call, player: StandInPlayer, real: Callable[[], Awaitable[Any]] | None
    ) -> AuthoredAnswer:
        self._play.declaration(question)
        self._play.judge(question)
        rule = question.firing.rule
        try:
            made = await self.by_rule(question)
        except ValueError as error:
            if rule is None:
                raise
            _LOG.warning("the rule %s cannot answer %s: %s", rule.rule_id, question.name, error)
            note = f"{rule.rule_id} cannot answer: {error}"
            return (await self._played(question, player, real)).noted(note)
        made = made or await self._played(question, player, real)
        if rule is not None and rule.effect.kind == "ask":
            return made.noted(
                f"{rule.rule_id} asks a person to answer the call, but no one can be asked here"
            )
        return made

    def _after(self, error: Exception, question: Call, player: StandInPlayer) -> AuthoredAnswer:
        """Return what there is after an error of the environment's own: an offline draft, where one may answer at all."""
        note = f"the environment failed: {error_words(error)}"
        if player not in {"real", "refuse"}:
            try:
                return self.offline(question).noted(note)
            except Exception:  # noqa: BLE001 - whatever it is, the agent is to go on
                _LOG.exception("no draft can be generated for %s", question.name)
        return AuthoredAnswer(Failed(error_code=BROKEN, error_message=note), "refused")

    def _learnt(self, question: Call, made: AuthoredAnswer, started: float) -> AnsweredCall:
        """Change an answer as the rules that fired say, and learn what happened and what was told."""
        firing = question.firing
        notes: tuple[str, ...]
        try:
            outcome, beneath, notes = self._play.told(question, made.outcome)
        except Exception as error:  # noqa: BLE001 - whatever it is, the agent is to go on
            _LOG.exception("the response of %s is passed on unchanged", question.name)
            outcome, beneath, notes = made.outcome, None, (f"not changed by rules: {error}",)
        now = self._clock()
        provenance = firing.provenance(made.source, made.by, (*made.notes, *notes), made.unsure)
        seconds = max(0.0, now - started)
        return self._play.take(
            question, outcome, provenance, at=now, beneath=beneath, seconds=seconds, effects=made.effects
        )

    # ------------------------------------------------------------ who answers

    async def _played(
        self, question: Call, player: StandInPlayer, real: Callable[[], Awaitable[Any]] | None
    ) -> AuthoredAnswer:
        match player:
            case "real" if real is not None:
                return await _run(question, real)
            case "refuse":
                return refused(self._refusal)
            case "model":
                return await self._by_model(question)
            case "recorded":
                made, why = self._usable(question)
                return made or self.offline(question).noted(why or "no recorded call matches")
            case "auto":
                made, why = self._usable(question)
                made = made or await self._by_model(question)
                return made.noted(why) if why else made
            case _:
                return self.offline(question)

    def _usable(self, question: Call) -> tuple[AuthoredAnswer | None, str]:
        """Return the recorded answer; without it, why one that is there cannot be used."""
        made = self.recorded(question)
        if made is not None and (broken := self.breach(question, made.outcome, made.source)):
            return None, f"the response recorded in {made.by} {broken}"
        return made, ""

    async def _by_model(self, question: Call) -> AuthoredAnswer:
        """Let the model answer; where there is none, or it contradicts the world, the offline draft stands."""
        if self._modelled is None:
            return self.offline(question)
        made = await self.by_model(question, functools.partial(self._modelled.draft, self._play))
        against = made.by != OFFLINE and self._play.against(question, as_response(made.outcome))
        if not against:
            return made
        offline = self.offline(question)
        if self._play.against(question, as_response(offline.outcome)):
            return made
        what = "; ".join(each.what for each in against)
        return offline.noted(f"the model's response was discarded: {what}", *made.notes)


async def _run(question: Call, real: Callable[[], Awaitable[Any]]) -> AuthoredAnswer:
    try:
        own = await real()
    except Exception as error:  # noqa: BLE001 - a real tool may raise anything; the agent gets just that
        return AuthoredAnswer(Raised(error=written_error(error)), "real", own=error)
    if own is LEFT or (own is None and question.tool.is_long_running):
        return AuthoredAnswer(Deferred(), "real", own=own)
    return AuthoredAnswer(Returned(value=tool_value(own)), "real", own=own)


Play = TypeVar("Play")

_NOBODY: Mapping[Any, Any] = MappingProxyType({})
_INSIDE: ContextVar[Mapping[Any, Any]] = ContextVar("simulation_stand_in_session", default=_NOBODY)
"""The session, by environment, from whose agent tool everything in here is called."""

_WITHIN: ContextVar[tuple[tuple[str, str], ...]] = ContextVar("simulation_stand_in_within", default=())
"""The names of the agent tools that everything in here is called inside of, outermost first."""

_REAL: ContextVar[bool] = ContextVar("simulation_stand_in_real", default=False)
"""Whether a real tool is at work: no rule speaks of what it calls itself and what is real, too."""


class Claiming(ABC, Generic[Play]):
    """Who stands in for tools.

    `sessions` keeps what each session has of its own. `connections` are those that code of a run may make; None for all.
    """

    connections: AllowedHosts | None = None

    def __init__(self, sessions: Sessions[Play]) -> None:
        self.sessions = sessions

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
            self.passes_by(tool)
            return None
        if not is_about_to_run(context):
            return await self.by_hand(tool, arguments, context)
        if is_unknown(tool):
            return await self.by_hand(tool, arguments, context) if self.lists(tool.name) else None
        if _runs_past_its_seat(tool, context):
            return await self.by_hand(tool, arguments, context)
        self._claim(tool, context, plugin)
        seat_tool(tool, alone=True)
        return None

    def _claim(self, tool: BaseTool, context: Any, plugin: BasePlugin) -> None:
        """Have a call for this one, but for one that somebody else answers already."""
        claimed = stand_in_of(context)
        if isinstance(claimed, _Claim) and claimed.who.may_answer(tool):
            return
        if not runs_agents(tool):
            let_stand_in(_Claim(self), context)
            return
        others = claimed.covered if isinstance(claimed, _Inside) else ()
        inside = _Inside((*others, (self, plugin)))
        takes_over = has_own_code(tool) or self.takes_over(tool.name, context)
        let_stand_in(_Claim(self, inside) if takes_over else inside, context)

    @abstractmethod
    def lists(self, tool_name: str) -> bool:
        """Return whether a tool is named here, so that even one that runs agents, or that no agent has, is answered."""

    def passes_by(self, tool: BaseTool) -> None:
        """See a call of a tool that steers ADK's flow, which nobody can answer."""

    def takes_over(self, tool_name: str, context: Any) -> bool:  # noqa: ARG002 - others look at the session
        """Return whether a call of a tool that runs agents may be answered itself; by default where it is named here.

        What is real for such a call is its agent, whose own tools are answered here.
        """
        return self.lists(tool_name)

    @abstractmethod
    def may_answer(self, tool: BaseTool) -> bool:
        """Return whether anything but the real tool can answer a call of this tool."""

    def session_of(self, context: Any) -> Play:
        """Return what is kept for the session of a call."""
        return self.sessions.of(context)

    @abstractmethod
    async def answered(self, call: ToolBoundaryCall) -> Any:
        """Answer a call in the place of its tool; return what the tool would, or raise it."""

    @abstractmethod
    async def by_hand(self, tool: BaseTool, arguments: dict[str, Any], context: Any) -> dict[str, Any] | None:
        """Answer a call at once, in a dict as ADK makes it; None where only the real tool can answer."""

    @abstractmethod
    def chose(self, tool: BaseTool) -> bool:
        """Return whether someone chose that a tool runs for real."""

    def told_refused(self, text: str) -> None:
        """Hear that a tool was called past its seat, and did not run."""

    def session(self, context: Any) -> Play:
        """Return what is kept for the session of a call: of the outermost, where an agent tool has one inside of it."""
        play: Play | None = _INSIDE.get().get(self)
        return self.session_of(context) if play is None else play

    async def answer(self, call: ToolBoundaryCall) -> Any:
        """Answer a call, but for what a real tool itself calls and what is real, too."""
        if _REAL.get() and self.chose(call.tool):
            return await call.real()
        return await self.answered(call)


def inside_of(who: Claiming[Any], play: Callable[[], Any]) -> Mapping[ContextVar[Any], Any]:
    """Return what is to be set so that somebody answers what is called as part of a session, unless it is part of one already."""
    plays = _INSIDE.get()
    return {_INSIDE: plays if who in plays else {**plays, who: play()}}


def is_inside(who: Claiming[Any]) -> bool:
    """Return whether everything in here is part of a session that has begun outside."""
    return who in _INSIDE.get()


def within() -> tuple[str, ...]:
    """Name the agent tools inside of which we are, outermost first."""
    return tuple(name for name, _ in _WITHIN.get())


def innermost_call() -> str:
    """Return the id of the call of an agent tool inside of which we are; empty outside of any."""
    return _WITHIN.get()[-1][1] if _WITHIN.get() else ""


def all_real(real: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
    """Let no rule speak of what a real tool calls, where that is real as well."""

    async def run() -> Any:
        token = _REAL.set(True)
        try:
            return await real()
        finally:
            _REAL.reset(token)

    return run


class _Claim(NamedTuple):
    """Lets somebody answer a call; `inside` lets the agent of an agent tool run, where nobody answers in its place."""

    who: Claiming[Any]
    inside: _Inside | None = None

    async def answer(self, call: ToolBoundaryCall) -> Any:
        if self.inside is not None:
            call = call._replace(real=functools.partial(self.inside.answer, call))
        return await self.who.answer(call)


class _Inside(NamedTuple):
    """Lets an agent tool run its agent, and those who claim answer the tools of that one: each with the plugin that covers it."""

    covered: tuple[tuple[Claiming[Any], BasePlugin], ...]

    async def answer(self, call: ToolBoundaryCall) -> Any:
        if _REAL.get():
            return await call.real()
        plays = {who: who.session(call.context) for who, _ in self.covered}
        token = _INSIDE.set({**_INSIDE.get(), **plays})
        deeper = _WITHIN.set((*_WITHIN.get(), (call.tool.name, call.context.function_call_id or "")))
        try:
            return await self._run(call)
        finally:
            _WITHIN.reset(deeper)
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


def _runs_past_its_seat(tool: BaseTool, context: Any) -> bool:
    """Recognise a tool that streams in a live session: ADK calls its function there, and not the tool."""
    is_live = getattr(invocation_of(context), "live_request_queue", None) is not None
    return is_live and inspect.isasyncgenfunction(getattr(tool, "func", None))
