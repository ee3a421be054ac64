"""Finds the session behind a link that somebody was given, to look at it: live on this server, or at rest in the store."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from app.live.agent_catalogue import catalogue
from app.live.live_sessions import LiveSession, registry, title
from app.live.read_only_simulation import AtRest, Watched
from app.live.reopened_sessions import NotReopenedError
from app.live.session_store import server_store
from app.live.unsent_texts import UnsentTexts
from simulator.agents import AgentLoadError, UnknownAgentError
from simulator.agents.agent_directory import directory_of

if TYPE_CHECKING:
    from simulator.store import JournalStore, SessionRecord

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
