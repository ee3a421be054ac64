"""Brings back a session that is kept and not live: after a refresh on another server, a restart, or a long pause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.agents import catalogue
from app.cast import cast_of
from app.drafts import Drafts
from app.overview import title
from app.registry import LiveSession, registry
from app.settling import AT_ONCE, settle
from app.shelf import shelf
from simulator.agents import AgentLoadError, UnknownAgentError
from simulator.agents.fingerprint import agent_fingerprint
from simulator.journal import Journal

if TYPE_CHECKING:
    from simulator.store import JournalStore

_CHANGED = (
    "The agent's prompts, tools or code have changed since this session began. What has happened stays as it was; "
    "what comes next is played with the agent as it is now."
)
_DAMAGED = "A part of this session cannot be read, and what followed it is not shown: "


class NotReopenedError(ValueError):
    """A session is kept and cannot be played now; `journal` is what can be read of it."""

    def __init__(self, reason: str, journal: Journal | None = None) -> None:
        super().__init__(reason)
        self.journal = journal


def reopened(session_id: str) -> LiveSession | None:
    """Give a kept session, live again, the same one to everybody; None where none is kept under this id.

    No model and no tool is asked again: what was answered comes from the journal.

    Raises:
        NotReopenedError: It cannot be played now: it was deleted, its agent cannot be loaded, or it cannot be read.
    """
    store = shelf().store
    return (
        None if store is None else registry().get_or_take_in(session_id, lambda: _reopen(store, session_id))
    )


def _reopen(store: JournalStore, session_id: str) -> LiveSession | None:
    from simulator.runtime import Simulation  # noqa: PLC0415 - importing ADK takes a second: not before it is needed
    from simulator.store import StoreError, UnknownSessionError  # noqa: PLC0415 - as above

    try:
        record = store.record(session_id)
    except UnknownSessionError:
        return None
    except StoreError as error:
        raise NotReopenedError(str(error)) from error
    if record.deleted_at is not None:
        raise NotReopenedError("It was deleted. Restore it in the list of sessions first.")
    try:
        journal = store.load(session_id, up_to_damage=True)
    except StoreError as error:
        raise NotReopenedError(str(error)) from error
    try:
        config = catalogue().config(record.agent_key)
        simulation = Simulation.resume(journal, config, wait=AT_ONCE)
    except (AgentLoadError, UnknownAgentError, ValueError) as error:
        raise NotReopenedError(str(error), journal) from error
    settle(simulation)
    live = LiveSession(session_id, simulation, config, cast_of(config.root_agent))
    live.title = record.name or title(simulation.session)
    live.drafts = kept_drafts(store, session_id)
    if record.agent_digest and record.agent_digest != agent_fingerprint(config.root_agent):
        live.word = _CHANGED
    if journal.damage is not None:
        live.word = f"{_DAMAGED}{journal.damage}"
    return live


def kept_drafts(store: JournalStore, session_id: str) -> Drafts:
    """Give the unsent texts of a session, which are kept as well."""
    return Drafts(
        before=store.drafts(session_id), changed=lambda changed: store.put_drafts(session_id, changed)
    )
