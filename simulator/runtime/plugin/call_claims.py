"""Claims a call before ADK runs its tool, and has it answered in the tool's place: after the agent's callbacks and the confirmation gate."""

from __future__ import annotations

import copy
import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool

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
from simulator.runtime.adk.allowed_hosts import AllowedHosts
from simulator.runtime.adk.boundaries import ToolBoundaryCall, seat_tool
from simulator.runtime.adk.turn_context import let_stand_in, stand_in_of
from simulator.runtime.plugin.adk_sessions import Sessions

Play = TypeVar("Play")

_NOBODY: Mapping[Any, Any] = MappingProxyType({})
_INSIDE: ContextVar[Mapping[Any, Any]] = ContextVar("simulation_stand_in_session", default=_NOBODY)
"""The session, by environment, from whose agent tool everything in here is called."""

_WITHIN: ContextVar[tuple[str, ...]] = ContextVar("simulation_stand_in_within", default=())
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
    return _WITHIN.get()


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
        deeper = _WITHIN.set((*_WITHIN.get(), call.tool.name))
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
