"""Watches the turns of a session: says which tools are real in it, seats the tools of runners that the agent makes, and fails a turn by name."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator
from typing import Any, Protocol

from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.tools.base_tool import BaseTool

from simulator.runtime.adk.adk_private import Run, going_on, runner_with
from simulator.runtime.adk.guard_plugin import GuardPlugin
from simulator.runtime.adk.tool_guards import UnchosenToolError, Watch
from simulator.runtime.adk.turn_context import CURRENT_TURN, INSIDE_REAL_CALL
from simulator.runtime.turns.turn import TurnRun
from simulator.session import Seats


class Session(Protocol):
    """What is watched."""

    run: TurnRun | None

    @property
    def seats(self) -> Seats:
        """Who plays now."""
        ...

    def problem(self, text: str) -> None:
        """Keep a word for the person."""
        ...

    def give_up(self, run: TurnRun) -> None:
        """End a turn in which a tool was refused."""
        ...


class SessionWatch(Watch):
    """The watch of one session; made on the loop's thread, and asked from any.

    Args:
        session: The session, which is held weakly: tasks of its agent may outlive it.
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session, self._loop = weakref.ref(session), asyncio.get_running_loop()

    def chose(self, tool: BaseTool) -> bool:
        """Return whether a tool's player is the real tool."""
        session = self._session()
        return session is not None and session.seats.of_tool(tool.name) == "real"

    def refused(self, error: UnchosenToolError) -> None:
        """Fail the turn in progress, or say so where it has ended."""
        session, turn = self._session(), CURRENT_TURN.get()
        if session is None:
            return
        run = session.run
        if run is not None and turn in {run, None}:  # None in a thread of the agent
            run.refused.append(error)
        else:
            run = None
        self._loop.call_soon_threadsafe(_tell, self._session, run, str(error))

    def told(self, text: str) -> None:
        """Tell the person something."""
        self._loop.call_soon_threadsafe(_tell, self._session, None, text)

    def within(self, runner: Runner, run_async: Run, given: dict[str, Any]) -> AsyncGenerator[Event, None]:
        """Return the events of a runner that the agent's code runs; its agents and tools are seated where the turn can be asked."""
        turn = CURRENT_TURN.get()
        if turn is None or INSIDE_REAL_CALL.get() or asyncio.get_running_loop() is not turn.loop:
            return going_on(runner, run_async, given)
        return going_on(runner_with(runner, GuardPlugin()), run_async, given)


def _tell(held: weakref.ref[Session], run: TurnRun | None, text: str) -> None:
    if (session := held()) is not None:
        session.problem(text)
        if run is not None:
            session.give_up(run)
