"""Watches a run in which players answer for the tools: only chosen tools run for real, whichever code of the agent calls them."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any

from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.tools.base_tool import BaseTool

from simulator.runtime.adk.adk_private import Run, runner_with
from simulator.runtime.adk.tool_guards import UnchosenToolError, Watch, all_refused, with_set
from simulator.runtime.adk.turn_context import WATCH
from simulator.runtime.plugin.adk_sessions import SessionName
from simulator.runtime.plugin.call_claims import Claiming, inside_of

_LOG = logging.getLogger(__name__)


class StandInWatch(Watch):
    """The watch of one run.

    Args:
        who: Who stands in.
        plugin: What covers the agents of a runner that code of the run makes.
        service: Where the session of the run is.
        name: The session.
    """

    def __init__(self, who: Claiming[Any], plugin: BasePlugin, service: Any, name: SessionName) -> None:
        super().__init__()
        self._who, self._plugin = who, plugin
        self._service, self._name = service, name
        self.errors: list[Exception] = []
        self.connections = who.connections

    def chose(self, tool: BaseTool) -> bool:
        """Return whether the one who stands in lets a tool run for real."""
        return self._who.chose(tool)

    def refused(self, error: UnchosenToolError) -> None:
        """Keep an error, which the run ends with."""
        self.errors.append(error)
        self._who.told_refused(str(error))
        _LOG.error("%s", error)

    def told(self, text: str) -> None:
        """Tell nobody: no person plays in such a run."""

    def within(self, runner: Runner, run_async: Run, given: dict[str, Any]) -> AsyncGenerator[Event, None]:
        """Return the events of a runner that code of the run began; its tools are answered as those of the run's session."""
        covered = runner_with(runner, self._plugin)
        inside = dict(inside_of(self._who, lambda: self._who.sessions.kept(self._service, self._name)))
        if covered is not runner:
            inside[_IN_OWN_RUNNER] = self
        return with_set(inside, lambda: run_async(covered, **given))


_IN_OWN_RUNNER: ContextVar[StandInWatch | None] = ContextVar("simulation_own_runner", default=None)
"""Whose run it is in which code of the agent lets a runner of its own run."""


def failed_unseen(error: Exception) -> None:
    """Let a run end with an error that was raised in a runner of the agent's own, whose code may go on whatever comes of that."""
    if (watch := _IN_OWN_RUNNER.get()) is not None:
        watch.errors.append(error)


def _one_of(errors: list[Exception]) -> Exception:
    refused = [error for error in errors if isinstance(error, UnchosenToolError)]
    return all_refused(refused) if refused else errors[0]


async def watched(
    who: Claiming[Any], plugin: BasePlugin, runner: Runner, run: Run, given: dict[str, Any]
) -> AsyncGenerator[Event, None]:
    """Yield the events of `run(**given)`, which is watched if nobody watches it already.

    Raises:
        UnchosenToolError: A tool was called past its seat that nobody chose to be real, even where the one who called it went on.
    """
    if WATCH.get() is not None:
        async with aclosing(run(**given)) as events:
            async for event in events:
                yield event
        return
    name = SessionName(runner.app_name, str(given.get("user_id")), str(given.get("session_id")))
    watch = StandInWatch(who, plugin, runner.session_service, name)
    try:
        with watch.active():
            async with aclosing(with_set({WATCH: watch}, lambda: run(**given))) as events:
                async for event in events:
                    yield event
    except Exception as error:
        if watch.errors:
            raise _one_of(watch.errors) from error
        raise
    if watch.errors:
        raise _one_of(watch.errors)
