"""Brings back a session that is kept and not live: after a refresh on another server, a restart, or a long pause."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from app.agents import catalogue
from app.cast import cast_of
from app.drafts import Drafts
from app.followed import FOLLOWED
from app.overview import title
from app.people import LOCAL
from app.registry import LiveSession, RegistryFullError, registry
from app.settling import AT_ONCE, settle
from app.shelf import shelf
from simulator.agents import AgentLoadError, UnknownAgentError
from simulator.agents.fingerprint import agent_fingerprint, changes
from simulator.journal import Journal

if TYPE_CHECKING:
    from simulator.agent_config import SimulatedAgentConfig
    from simulator.store import JournalStore, SessionRecord, StoredJournal

_CHANGED = (
    "The agent has changed since this session began: {changes}. What has happened stays as it was; what comes next is "
    "played with the agent as it is now."
)
_MOST_CHANGES = 6
"""How many changes of an agent are named; of more, the number."""
_DAMAGED = "A part of this session cannot be read, and what followed it is not shown: "


class NotReopenedError(ValueError):
    """A session is kept and cannot be played now; `journal` is what can be read of it."""

    def __init__(self, reason: str, journal: Journal | None = None) -> None:
        super().__init__(reason)
        self.journal = journal


def reopened(session_id: str, owner: str = LOCAL, *, by_force: bool = False) -> LiveSession | None:
    """Give a kept session of an owner, live again, the same one in each of their tabs.

    None where they have none with this id, or it is played on another server: then it is followed from now on.

    No model and no tool is asked again: what was answered comes from the journal.

    Args:
        session_id: The session.
        owner: Whoever asks for it.
        by_force: Also take it over from another server that plays it.

    Raises:
        NotReopenedError: It cannot be played now: it was deleted, its agent cannot be loaded, it cannot be read, or
            the server has no room.
    """
    store = shelf().store
    if store is None:
        return None
    record = _record(store, session_id)
    # Before anything else is done for it: a guess costs nobody their place, and brings out nothing.
    if record is None or record.owner != owner:
        return None
    try:
        return registry().get_or_take_in(session_id, lambda: _reopen(store, record, by_force=by_force))
    except RegistryFullError as error:
        raise NotReopenedError(str(error)) from error


def _record(store: JournalStore, session_id: str) -> SessionRecord | None:
    from simulator.store import StoreError, UnknownSessionError  # noqa: PLC0415 - takes half a second

    try:
        return store.record(session_id)
    except UnknownSessionError:
        return None
    except StoreError as error:
        raise NotReopenedError(str(error)) from error


def _reopen(store: JournalStore, record: SessionRecord, *, by_force: bool) -> LiveSession | None:
    from simulator.runtime import Simulation  # noqa: PLC0415 - importing ADK takes a second: not before it is needed

    session_id = record.session_id
    if record.deleted_at is not None:
        raise NotReopenedError("It was deleted. Restore it in the list of sessions first.")
    journal = _claimed(store, record, by_force=by_force)
    if journal is None:
        return None
    try:
        config = catalogue().config(record.agent_key)
        simulation = Simulation.resume(journal, config, wait=AT_ONCE)
    except (AgentLoadError, UnknownAgentError, ValueError) as error:
        with suppress(ValueError):  # a StoreError: the lease ends by itself
            journal.release()
        raise NotReopenedError(str(error), journal) from error
    settle(simulation)
    live = LiveSession(session_id, simulation, config, cast_of(config.root_agent), owner=record.owner)
    live.title = record.name or title(simulation.session)
    live.drafts = kept_drafts(store, session_id)
    live.word = _changed(record.agent_digest, config)
    if journal.damage is not None:
        live.word = f"{_DAMAGED}{journal.damage}"
    return live


def _changed(before: str, config: SimulatedAgentConfig) -> str:
    """Say what of the agent has changed since a session began; nothing where nothing has, or nobody knows."""
    found = changes(before, agent_fingerprint(config.root_agent)) if before else ()
    if not found:
        return ""
    more = len(found) - _MOST_CHANGES
    named = "; ".join((*found[:_MOST_CHANGES], *((f"and {more} more",) if more > 0 else ())))
    return _CHANGED.format(changes=named)


def _claimed(store: JournalStore, record: SessionRecord, *, by_force: bool) -> StoredJournal | None:
    """Give the journal of a session that is played here from now on; None where another server plays it: then it is followed."""
    from simulator.store import SessionHeldError, StoreError  # noqa: PLC0415 - takes half a second

    try:
        journal = store.load(record.session_id, up_to_damage=True)
        try:
            journal.claim(by_force=by_force)
        except SessionHeldError as held:
            FOLLOWED.follow(record.session_id, record.owner, journal, held.where)
            return None
        journal.refresh()  # what was done elsewhere before it was claimed
    except StoreError as error:
        raise NotReopenedError(str(error)) from error
    FOLLOWED.drop(record.session_id)
    return journal


def kept_drafts(store: JournalStore, session_id: str) -> Drafts:
    """Give the unsent texts of a session, which are kept as well."""
    return Drafts(
        before=store.drafts(session_id), changed=lambda changed: store.put_drafts(session_id, changed)
    )
