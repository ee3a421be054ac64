"""Brings back a session that is kept and not live: after a refresh on another server, a restart, or a long pause."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from app.live.agent_catalogue import catalogue
from app.live.click_waits import AT_ONCE, settle
from app.live.lease_keeper import FOLLOWED
from app.live.live_sessions import LiveSession, RegistryFullError, UnsentTexts, registry, title
from app.live.session_store import server_store
from app.server.owners import LOCAL
from simulator.agents import AgentLoadError, UnknownAgentError
from simulator.agents.agent_directory import directory_of
from simulator.agents.agent_fingerprint import (
    agent_fingerprint,
    changes,
    fitting_configs,
    loaded_fingerprint,
    under_earlier_name,
)
from simulator.facts import ModelAnswered, ToolAnswered
from simulator.journal import Journal

if TYPE_CHECKING:
    from simulator.agent_config import SimulatedAgentConfig
    from simulator.store import JournalStore, SessionRecord, StoredJournal

_CHANGED = (
    "The agent has changed since this session began: {changes}. Past steps stay as they were. New steps "
    "use the agent as it is now."
)
_MOST_CHANGES = 6
"""How many changes of an agent are named; of more, the number."""
_RENAMED = "The agent {old} is now called {new}. This session continues with it under its old name."
_FITS = (
    "The agent {name} declares the same tools. If this is the same agent under a new name, continue with it."
)
_SEVERAL_FIT = "Several agents declare the same tools ({names}). It is unclear which one to use."
_NONE_FITS = "No other agent declares the same tools."
_DAMAGED = "Part of this session cannot be read. The steps after it are not shown: "


class NotReopenedError(ValueError):
    """A session is kept and cannot be played now.

    Attributes:
        journal: What can be read of it.
        renamed_to: The agent that declares the same tools, where its own is not there and exactly one does.
    """

    def __init__(self, reason: str, journal: Journal | None = None, renamed_to: str = "") -> None:
        super().__init__(reason)
        self.journal = journal
        self.renamed_to = renamed_to


def reopened(
    session_id: str, owner: str = LOCAL, *, by_force: bool = False, agent: str = ""
) -> LiveSession | None:
    """Return a kept session of an owner, live again, the same one in each of their tabs.

    None where they have none with this id, or it is played on another server: then it is followed from now on.

    No model and no tool is asked again: what was answered comes from the journal.

    Args:
        session_id: The session.
        owner: The person who asks for it.
        by_force: Also take it over from another server that plays it.
        agent: What its agent is called now, where it was renamed; the session's record keeps it.

    Raises:
        NotReopenedError: It cannot be played now: it was deleted, its agent cannot be loaded, it cannot be read, or
            the server has no room.
    """
    store = server_store().store
    if store is None:
        return None
    record = _record(store, session_id)
    # Before anything else is done for it: a guess costs nobody their place, and brings out nothing.
    if record is None or record.owner != owner:
        return None
    try:
        return registry().get_or_take_in(session_id, lambda: _reopen(store, record, agent, by_force=by_force))
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


def _reopen(store: JournalStore, record: SessionRecord, agent: str, *, by_force: bool) -> LiveSession | None:
    session_id = record.session_id
    if record.deleted_at is not None:
        raise NotReopenedError("It was deleted. Restore it in the list of sessions first.")
    journal = _claimed(store, record, by_force=by_force)
    if journal is None:
        return None
    try:
        live = _resumed(store, record, agent or record.agent_key, journal)
    except (AgentLoadError, UnknownAgentError, ValueError) as error:
        with suppress(ValueError):  # a StoreError: the lease ends by itself
            journal.release()
        if isinstance(error, UnknownAgentError):
            raise _without_agent(str(error), record, journal) from error
        raise NotReopenedError(str(error), journal) from error
    settle(live.simulation)
    live.drafts = kept_drafts(store, session_id)
    if journal.damage is not None:
        live.word = f"{_DAMAGED}{journal.damage}"
    return live


def _resumed(store: JournalStore, record: SessionRecord, key: str, journal: StoredJournal) -> LiveSession:
    """Go on with a session; where its agent was renamed, the record keeps the new name from now on."""
    config = _config(key, record, journal)
    from simulator.kernel.remote_simulation import resumed  # noqa: PLC0415 - importing ADK takes a second

    simulation = resumed(journal, config, wait=AT_ONCE)
    if key != record.agent_key:
        try:
            store.rename_agent(record.session_id, key)
        except ValueError:
            simulation.close()
            raise
    live = LiveSession(
        record.session_id,
        simulation,
        config,
        directory_of(config.root_agent),
        owner=record.owner,
        agent_key=key,
    )
    live.title = record.name or title(simulation.session)
    package = catalogue().config(key).app_name, config.app_name
    changed = _changed(record.agent_digest, config, package)
    renamed = _RENAMED.format(old=config.name, new=key) if key != config.name else ""
    live.word = " ".join(filter(None, (renamed, changed)))
    return live


def _config(key: str, record: SessionRecord, journal: Journal) -> SimulatedAgentConfig:
    """Load the agent of a session; one that was renamed goes by the name that the journal has for it."""
    config = catalogue().config(key)
    session = journal.session()
    if config.name == session.agent_name:
        return config
    spoke = {fact.agent for _, fact in journal.path() if isinstance(fact, ModelAnswered)}
    return under_earlier_name(config, session.agent_name, session.app_name, record.agent_digest, spoke)


def _without_agent(reason: str, record: SessionRecord, journal: Journal) -> NotReopenedError:
    """Say that a session's agent is not there, and which one it may be now: the only one that declares the same tools."""
    loaded = [entry.config for entry in catalogue().load_all() if entry.config is not None]
    called = {fact.tool_name for _, fact in journal.path() if isinstance(fact, ToolAnswered)}
    fits = [config.name for config in fitting_configs(record.agent_digest, record.app_name, called, loaded)]
    if len(fits) == 1:
        return NotReopenedError(f"{reason}. {_FITS.format(name=fits[0])}", journal, fits[0])
    found = _SEVERAL_FIT.format(names=", ".join(fits)) if fits else _NONE_FITS
    return NotReopenedError(f"{reason}. {found}", journal)


def _changed(before: str, config: SimulatedAgentConfig, package: tuple[str, str]) -> str:
    """Return what of the agent has changed since a session began; nothing where nothing has, or nobody knows.

    `package` is the name of its package now, and the one that it had then.
    """
    agent, (now, then) = config.root_agent, package
    print_ = loaded_fingerprint(agent) if now == then else agent_fingerprint(agent, package)
    found = changes(before, print_) if before else ()
    if not found:
        return ""
    more = len(found) - _MOST_CHANGES
    named = "; ".join((*found[:_MOST_CHANGES], *((f"and {more} more",) if more > 0 else ())))
    return _CHANGED.format(changes=named)


def _claimed(store: JournalStore, record: SessionRecord, *, by_force: bool) -> StoredJournal | None:
    """Return the journal of a session that is played here from now on; None where another server plays it: then it is followed."""
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


def kept_drafts(store: JournalStore, session_id: str) -> UnsentTexts:
    """Return the unsent texts of a session, which are kept as well."""
    return UnsentTexts(
        before=store.drafts(session_id), changed=lambda changed: store.put_drafts(session_id, changed)
    )
