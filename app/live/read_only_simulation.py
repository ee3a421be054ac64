"""Lets somebody look at a session and do nothing in it: every command is refused, wherever it comes from."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from app.live.simulation_protocol import LiveSimulation
    from simulator.journal import Journal
    from simulator.runtime import SimulationView
    from simulator.runtime.simulated_environment import SimulatedEnvironment
    from simulator.seats.requests import ModelRequest
    from simulator.session import SimulationSession
    from simulator.store import StoredJournal

GONE = -1
"""The version of a session that may not be looked at any more."""

_GONE = "This session is no longer shared with you."
_REFUSED = "This session is shared with you read-only. Nothing was changed. Make a copy to continue it."


class ReadOnlyError(ValueError):
    """A command for a session that somebody may only look at; nothing was changed."""


class NotSharedError(ReadOnlyError):
    """What is asked of a session that is not shared any more; nothing of it is given out."""


class ReadOnly:
    """What a session that is only looked at makes of every command of `LiveSimulation`."""

    def query(self, *_: Any, **__: Any) -> bool:
        """Refuse it."""
        refuse()

    def answer(self, *_: Any, **__: Any) -> bool:
        """Refuse it."""
        refuse()

    def run_real(self, *_: Any, **__: Any) -> bool:
        """Refuse it."""
        refuse()

    def inject(self, *_: Any, **__: Any) -> bool:
        """Refuse it."""
        refuse()

    def confirm(self, *_: Any, **__: Any) -> bool:
        """Refuse it."""
        refuse()

    def reply(self, *_: Any, **__: Any) -> bool:
        """Refuse it."""
        refuse()

    def set_player(self, *_: Any, **__: Any) -> bool:
        """Refuse it."""
        refuse()

    def set_user(self, *_: Any, **__: Any) -> bool:
        """Refuse it."""
        refuse()

    def accept(self, *_: Any, **__: Any) -> bool:
        """Refuse it."""
        refuse()

    def complete(self, *_: Any, **__: Any) -> bool:
        """Refuse it."""
        refuse()

    def set_rules(self, *_: Any, **__: Any) -> None:
        """Refuse it."""
        refuse()

    def switch_rule(self, *_: Any, **__: Any) -> None:
        """Refuse it."""
        refuse()

    def stop(self) -> None:
        """Refuse it."""
        refuse()

    def undo(self, *_: Any, **__: Any) -> bool:
        """Refuse it."""
        refuse()

    def redo(self, *_: Any, **__: Any) -> bool:
        """Refuse it."""
        refuse()

    def move_head(self, *_: Any, **__: Any) -> bool:
        """Refuse it."""
        refuse()

    def go_on(self, *_: Any, **__: Any) -> bool:
        """Refuse it."""
        refuse()

    def close(self) -> None:
        """Refuse it."""
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

    def __init__(self, simulation: LiveSimulation, may_look: Callable[[], bool]) -> None:
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
        return self._shared().environment.looked_at()

    def view(self) -> SimulationView:
        """Return one consistent snapshot."""
        return self._shared().view()

    def model_view(self) -> ModelRequest | None:
        """Return what the model was last shown."""
        return self._shared().model_view()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the next pause; False if `timeout` seconds were not enough."""
        return self._shared().wait(timeout)

    def _shared(self) -> LiveSimulation:
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
        from simulator.runtime.read_only_environment import environment_of_journal  # noqa: PLC0415 - importing ADK takes a second

        self._journal = journal
        self._environment = environment_of_journal(journal, agent)
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

    @property
    def environment(self) -> SimulatedEnvironment:
        """What the environment knows."""
        return self._environment

    def view(self) -> SimulationView:
        """Return one consistent snapshot; nothing waits and nothing runs."""
        from simulator.runtime import SimulationView  # noqa: PLC0415 - importing ADK takes a second
        from simulator.runtime.user_commands import UserView  # noqa: PLC0415 - as above

        version = self.version
        user = UserView(seat=self._journal.fold.user)
        return SimulationView(
            session=self._journal.session(), version=version, head=self._journal.head, user=user
        )

    def model_view(self) -> ModelRequest | None:
        """No model is asked here."""
        return None

    def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - as `LiveSimulation` has it
        """It is at rest."""
        return True
