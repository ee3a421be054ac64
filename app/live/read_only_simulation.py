"""Lets somebody look at a session and do nothing in it: every command is refused, wherever it comes from."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

from typing_extensions import override

from simulator.runtime.commanding import Commanding, SimulatedEnvironment, SimulationView, UserView
from simulator.runtime.errors import SimulationError
from simulator.session.commands import Command, Question, SeenByModel

if TYPE_CHECKING:
    from simulator.journal import Journal
    from simulator.runtime import SimulationView
    from simulator.runtime.commanding import SimulatedEnvironment
    from simulator.session import SimulationSession
    from simulator.store import StoredJournal

GONE = -1
"""The version of a session that may not be looked at any more."""

_GONE = "This session is no longer shared with you."
_REFUSED = "This session is shared with you read-only. Nothing was changed. Make a copy to continue it."


class ReadOnlyError(SimulationError):
    """A command for a session that somebody may only look at; nothing was changed."""


class NotSharedError(ReadOnlyError):
    """What is asked of a session that is not shared any more; nothing of it is given out."""


class ReadOnly(Commanding):
    """A session that is only looked at: every command is refused, whatever it is."""

    @override
    def send(self, command: Command, wait: float | None = None) -> NoReturn:
        refuse()

    @override
    def close(self) -> NoReturn:
        refuse()


def refuse() -> NoReturn:
    """Say that nothing can be done.

    Raises:
        ReadOnlyError: Always.
    """
    raise ReadOnlyError(_REFUSED)


class Watched(ReadOnly):
    """A session, live or at rest, as somebody sees it with whom it is shared. Each time it is asked whether it still is.

    Args:
        simulation: The session itself.
        may_look: Whether they still may, and it is still this one that stands for the session.
    """

    def __init__(self, simulation: Commanding, may_look: Callable[[], bool]) -> None:
        self._simulation, self._may_look = simulation, may_look

    @property
    def session(self) -> SimulationSession:
        """The session as it stands."""
        return self._shared().session

    @property
    def journal(self) -> Journal:
        """The session's journal; to be read, not to be appended to."""
        return self._shared().journal

    @property
    def version(self) -> int:
        """Grows with every change; `GONE` where there is nothing to look at any more."""
        return self._simulation.version if self._may_look() else GONE

    @property
    def environment(self) -> SimulatedEnvironment:
        """What the environment knows; each change is refused."""
        self._shared()
        return super().environment

    def view(self) -> SimulationView:
        """Return one consistent snapshot."""
        return self._shared().view()

    def look(self, question: Question) -> Any:
        """Return the answer to a question."""
        return self._shared().look(question)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the next pause; False if `timeout` seconds were not enough."""
        return self._shared().wait(timeout)

    def _shared(self) -> Commanding:
        """Return the session itself.

        Raises:
            NotSharedError: It is not shared any more, or another one stands for it now.
        """
        if not self._may_look():
            raise NotSharedError(_GONE)
        return self._simulation


class AtRest(ReadOnly):
    """A session that nobody plays on this server, as its journal tells it; what is stored elsewhere is taken in.

    Args:
        journal: The session's, from the store.
        agent: Its ADK agent.
    """

    def __init__(self, journal: StoredJournal, agent: Any) -> None:
        from simulator.runtime.performing import questions_to  # noqa: PLC0415 - importing ADK takes a second

        self._journal = journal
        self._asked = questions_to(journal, agent)
        self._changes, self._lock = 0, Lock()

    @property
    def session(self) -> SimulationSession:
        """The session as it stands."""
        return self._journal.session()

    @property
    def journal(self) -> Journal:
        """The session's journal; to be read, not to be appended to."""
        return self._journal

    @property
    def version(self) -> int:
        """Counts how often something was taken in; looks into the store.

        Raises:
            simulator.store.StoreError: The store cannot be read.
        """
        with self._lock:
            self._changes += self._journal.refresh()
            return self._changes

    def view(self) -> SimulationView:
        """Return one consistent snapshot; nothing waits and nothing runs."""
        version = self.version
        user = UserView(seat=self._journal.fold.user)
        return SimulationView(
            session=self._journal.session(), version=version, head=self._journal.head, user=user
        )

    def look(self, question: Question) -> Any:
        """Return the answer to a question; no model is asked here."""
        return None if isinstance(question, SeenByModel) else self._asked(question)

    def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - as `Commanding` has it
        """It is at rest."""
        return True
