"""Finds the session behind a link that somebody was given, to look at it: live on this server, or at rest in the store.

They get it as a `ReadOnly` simulation, which refuses every command, wherever it comes from. Each time it is asked whether it is still shared.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

from typing_extensions import override

from app.live.agent_catalogue import catalogue
from app.live.live_sessions import LiveSession, UnsentTexts, registry, title
from app.live.reopened_sessions import NotReopenedError
from app.live.session_store import server_store
from simulator.agents import AgentLoadError, UnknownAgentError
from simulator.agents.agent_directory import directory_of
from simulator.runtime.commanding import Commanding, SimulationView, UserView
from simulator.runtime.errors import SimulationError
from simulator.session.commands import Command, Question, SeenByModel

if TYPE_CHECKING:
    from simulator.journal import Journal
    from simulator.session import SimulationSession
    from simulator.store import JournalStore, SessionRecord, StoredJournal

MOST_AT_REST = 50
"""How many sessions that nobody plays here are held for those who look at them."""

_KEEP_SECONDS = 2.0
"""How long a copy waits for what was done last to be stored."""

_at_rest: OrderedDict[tuple[JournalStore, str], LiveSession] = OrderedDict()
_lock = Lock()


def shared_record(token: str) -> SessionRecord | None:
    """Return what is shared under a token now; None where nothing is.

    Raises:
        app.live.reopened_sessions.NotReopenedError: The store does not say.
    """
    from simulator.store import StoreError, UnknownSessionError  # noqa: PLC0415 - takes half a second

    store = server_store().store
    try:
        return store.shared(token) if store is not None else None
    except UnknownSessionError:
        return None
    except StoreError as error:
        raise NotReopenedError(str(error)) from error


def shared_session(token: str) -> LiveSession | None:
    """Return the session that is shared under a token, to look at; None where none is.

    What is shared is what happened: texts that its owner has typed and not sent are not in it.

    Raises:
        app.live.reopened_sessions.NotReopenedError: It cannot be shown now: its agent cannot be loaded, or it cannot be read.
    """
    record, store = shared_record(token), server_store().store
    if record is None or store is None:
        return None
    found = _stands_for(store, record)

    def may_look() -> bool:
        try:
            now = shared_record(token)
            return now is not None and _stands_for(store, now) is found
        except NotReopenedError:
            return False

    watched, called = Watched(found.simulation, may_look), record.name or found.title
    return replace(
        found, simulation=watched, drafts=UnsentTexts(), script=None, title=called, word="", read_only=True
    )


def copied(token: str, owner: str) -> str:
    """Make a copy of what is shared under a token, as a session of somebody else's own; return its id.

    Raises:
        simulator.store.StoreError: Nothing is shared under it any more, or it cannot be copied.
        app.live.reopened_sessions.NotReopenedError: The store does not answer.
    """
    from simulator.store import UnknownSessionError  # noqa: PLC0415 - takes half a second

    record, store = shared_record(token), server_store().store
    if record is None or store is None:
        raise UnknownSessionError("this link is no longer shared")
    live = registry().get(record.session_id)
    if live is not None:
        live.simulation.journal.keep(_KEEP_SECONDS)
    return store.duplicate(record.session_id, owner).session_id


def _stands_for(store: JournalStore, record: SessionRecord) -> LiveSession:
    return registry().get(record.session_id) or _resting(store, record)


def _resting(store: JournalStore, record: SessionRecord) -> LiveSession:
    """Return a session that no one plays here. It is not restored: looking at it starts nothing."""
    key = store, record.session_id
    with _lock:
        if key in _at_rest:
            _at_rest.move_to_end(key)
            return _at_rest[key]
    made = _read(store, record)
    with _lock:
        while len(_at_rest) >= MOST_AT_REST:
            _at_rest.popitem(last=False)
        return _at_rest.setdefault(key, made)


def _read(store: JournalStore, record: SessionRecord) -> LiveSession:
    from simulator.store import StoreError  # noqa: PLC0415 - takes half a second

    try:
        journal = store.load(record.session_id, up_to_damage=True)
    except StoreError as error:
        raise NotReopenedError(str(error)) from error
    try:
        config = catalogue().config(record.agent_key)
    except (AgentLoadError, UnknownAgentError) as error:
        raise NotReopenedError(str(error), journal) from error
    simulation = AtRest(journal, config.root_agent)
    return LiveSession(
        record.session_id,
        simulation,
        config,
        directory_of(config.root_agent),
        title=title(simulation.session),
        owner=record.owner,
        at_rest=True,
    )


# ---------------------------------------------------------------- looked at


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
