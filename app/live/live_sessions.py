"""Keeps the live simulations of this server, so that any tab that knows a session's id finds the same one, with what was typed and not sent."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from itertools import count
from threading import Lock, RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any

from app.server.owners import LOCAL
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_directory import AgentDirectory
from simulator.runtime.commanding import Commanding
from simulator.session.history import UserQuery

if TYPE_CHECKING:
    from app.live.background_jobs import Job
    from evalset.recorded.known_agents import KnownAgent
    from simulator.scripts import ScriptAtWork
    from simulator.session import SimulationSession

MAX_SESSIONS = 400
"""How many sessions are live at once. A paused one of a few steps takes about 0.2 MB, and one of a hundred turns some
megabytes, so this many fit a small server; the others come back from the store in a moment."""

MAX_START_TEXTS = 1_000
"""Of so many people what they typed on the start page is kept; that of who was there longest ago goes first."""

MAX_DRAFTS = 500
"""How many texts one session keeps; the one that was longest without a change goes first."""

_HOLDER = "golden_trace_studio_live"
_LOG = logging.getLogger(__name__)


class UnsentTexts(MutableMapping[str, str]):
    """The unsent texts of one session, by what they belong to. Safe to use from several threads.

    Args:
        limit: How many are kept.
        before: Those that were kept when the session was last open.
        changed: Is told of each change, with None for a text that is gone.
    """

    def __init__(
        self,
        limit: int = MAX_DRAFTS,
        before: Mapping[str, str] | None = None,
        changed: Callable[[Mapping[str, str | None]], None] | None = None,
    ) -> None:
        self._limit = limit
        self._texts: dict[str, str] = dict(before or {})
        self._changed = changed
        self._lock = Lock()

    def __getitem__(self, key: str) -> str:
        return self._texts[key]

    def __setitem__(self, key: str, text: str) -> None:
        with self._lock:
            changed: dict[str, str | None] = {} if self._texts.pop(key, None) == text else {key: text}
            self._texts[key] = text
            if len(self._texts) > self._limit:
                oldest = next(iter(self._texts))
                del self._texts[oldest]
                changed[oldest] = None
            self._tell(changed)

    def __delitem__(self, key: str) -> None:
        with self._lock:
            del self._texts[key]
            self._tell({key: None})

    def _tell(self, changed: Mapping[str, str | None]) -> None:
        if changed and self._changed is not None:
            self._changed(changed)

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            return iter(tuple(self._texts))

    def __len__(self) -> int:
        return len(self._texts)


class RegistryFullError(ValueError):
    """As many sessions are live as this server keeps; the text says what to do."""


@dataclass
class LiveSession:
    """One live simulation, with what belongs to it and not into its journal.

    Attributes:
        session_id: The session's id, also in the address of its page.
        simulation: The simulation itself, shared by every tab that shows it.
        config: The agent that it simulates.
        directory: The agents and tools in it.
        title: What people call it: its first query, or nothing yet.
        drafts: Texts that were typed and not sent.
        built: The golden trace that was built last, with the head, form and eval id that it was built for.
        replay: The replay of the case that was written last, with its file and its id.
        order: Counts up with each session; the largest is the newest.
        used: When somebody last looked at it, by a clock that only goes forward, in seconds.
        word: What a person should know of it since it was brought back.
        had_trouble: Something could not be stored for a while, and nobody has acted since.
        owner: Whose it is; nobody else is given it.
        read_only: It is another's, who shares it: its simulation takes no command.
        script: The script that plays in it, or has played since it is live.
        at_rest: Nobody plays it on this server; it is only looked at.
        agents_before: The agent as its process had loaded it before, each with how many facts there were when that was found.
        agent_now: The agent as its process has loaded it since; None where it was loaded once.
        agent_key: The name by which the catalogue finds the agent; empty where that is the config's.
    """

    session_id: str
    simulation: Commanding
    config: SimulatedAgentConfig
    directory: AgentDirectory = field(default_factory=AgentDirectory)
    title: str = ""
    drafts: UnsentTexts = field(default_factory=UnsentTexts)
    built: tuple[tuple[int, str, str], Any] | None = None
    replay: tuple[tuple[str, str], Job[Any]] | None = None
    order: int = 0
    used: float = field(default_factory=time.monotonic)
    word: str = ""
    had_trouble: bool = False
    owner: str = LOCAL
    read_only: bool = False
    script: ScriptAtWork | None = None
    at_rest: bool = False
    agents_before: list[tuple[int, KnownAgent]] = field(default_factory=list)
    agent_now: KnownAgent | None = None
    agent_key: str = ""

    @property
    def plays_script(self) -> bool:
        """Whether a script or a case plays in it and asks nothing of a person: what waits is answered by itself."""
        now = self.script.progress if self.script is not None else None
        return now is not None and not (now.is_over or now.asks)

    @property
    def can_rest(self) -> bool:
        """Whether it can be dropped and brought back: it is kept, nothing is at work, and all is durable."""
        journal = self.simulation.journal
        if not journal.outlives or journal.trouble:
            return False
        if self.plays_script:
            return False
        return self.simulation.wait(0.0) and not self.simulation.view().running

    def close(self) -> None:
        """End everything that runs for it, and let other servers play it."""
        if self.script is not None:
            self.script.stop()
        if self.replay is not None:
            self.replay[1].stop()
        self.simulation.close()
        try:
            self.simulation.journal.release()
        except ValueError:  # a StoreError: the lease ends by itself
            _LOG.warning("Session %r was not released", self.session_id, exc_info=True)


def title(session: SimulationSession) -> str:
    """Return the session's first query, or a word where there is none yet."""
    first = next((entry for entry in session.history if isinstance(entry, UserQuery)), None)
    return " ".join(first.content.split())[:120] if first else "New session"


class Registry:
    """Live sessions by id. Safe to use from several threads."""

    def __init__(self, limit: int = MAX_SESSIONS) -> None:
        self._limit = limit
        self._sessions: dict[str, LiveSession] = {}
        self._start_texts: dict[str, UnsentTexts] = {}
        self._order = count(1)
        self._lock, self._coming_back = RLock(), RLock()

    def check_room(self) -> None:
        """Make room for one more: where the limit is reached, the kept session that nobody has looked at for longest goes to rest.

        Raises:
            RegistryFullError: The limit is reached, and none can be brought back later.
        """
        with self._lock:
            if len(self._sessions) < self._limit:
                return
            idle = sorted(self._sessions.values(), key=lambda live: live.used)
            resting = next((live for live in idle if live.can_rest), None)
            if resting is not None:
                del self._sessions[resting.session_id]
        if resting is not None:
            resting.close()
        else:
            raise RegistryFullError(
                "this server has reached its limit of open sessions; close one in the list of sessions, or try again later"
            )

    def add(
        self,
        simulation: Commanding,
        config: SimulatedAgentConfig,
        directory: AgentDirectory,
        *,
        owner: str = LOCAL,
    ) -> LiveSession:
        """Take in a simulation that was just opened, by its owner.

        Raises:
            RegistryFullError: The limit is reached; the simulation was not taken in and is still open.
            ValueError: A session with this id is live already.
        """
        session_id = simulation.session.session_id
        self.check_room()
        with self._lock:
            if session_id in self._sessions:
                raise ValueError(f"session {session_id!r} is already live")
            live = LiveSession(
                session_id, simulation, config, directory, order=next(self._order), owner=owner
            )
            self._sessions[session_id] = live
        return live

    def peek(self, session_id: str) -> LiveSession | None:
        """Return the live session with this id, or None, without counting that as a look at it."""
        return self._sessions.get(session_id)

    def get(self, session_id: str) -> LiveSession | None:
        """Return the live session with this id, the same one to everybody, or None; whether they may have it is not asked here."""
        live = self._sessions.get(session_id)
        if live is not None:
            live.used = time.monotonic()
        return live

    def of(self, owner: str, session_id: str) -> LiveSession | None:
        """Return the live session of an owner with this id; another's is no more than none."""
        live = self.get(session_id)
        return live if live is not None and live.owner == owner else None

    def get_or_take_in(self, session_id: str, make: Callable[[], LiveSession | None]) -> LiveSession | None:
        """Return the live session with this id, or take in the one that `make` gives; never two at once.

        Raises:
            RegistryFullError: The limit is reached.
        """
        with self._coming_back:
            live = self.get(session_id)
            if live is not None:
                return live
            self.check_room()
            made = make()
            if made is not None:
                with self._lock:
                    made.order = next(self._order)
                    self._sessions[session_id] = made
            return made

    def start_texts(self, owner: str) -> UnsentTexts:
        """Return what somebody has typed on the start page and not sent."""
        with self._lock:
            texts = self._start_texts[owner] = self._start_texts.pop(owner, UnsentTexts())
            if len(self._start_texts) > MAX_START_TEXTS:
                del self._start_texts[next(iter(self._start_texts))]
        return texts

    def newest_first(self, owner: str | None = None) -> list[LiveSession]:
        """Return all live sessions, or those of an owner, the newest first."""
        with self._lock:
            found = [live for live in self._sessions.values() if owner in {None, live.owner}]
        return sorted(found, key=lambda live: -live.order)

    def close(self, session_id: str) -> None:
        """Close a session and drop it; an id that is not live is no error."""
        with self._lock:
            live = self._sessions.pop(session_id, None)
        if live:
            live.close()

    def rest(self, idle_seconds: float) -> list[str]:
        """Let the kept sessions go to rest that nobody has looked at for so long; they come back when somebody does."""
        before = time.monotonic() - idle_seconds
        idle = [live for live in self.newest_first() if live.used < before and live.can_rest]
        for live in idle:
            self.close(live.session_id)
        return [live.session_id for live in idle]

    def close_all(self) -> list[Exception]:
        """Close every session; return what went wrong, so that one failure does not keep the others open."""
        with self._lock:
            sessions, self._sessions, self._start_texts = list(self._sessions.values()), {}, {}
        return list(_failures(sessions))


def _failures(sessions: Iterable[LiveSession]) -> Iterable[Exception]:
    for live in sessions:
        try:
            live.close()
        except Exception as error:  # noqa: BLE001 - shutting down: the rest must still be closed
            yield error


def registry() -> Registry:
    """Return the one registry of this process.

    It hangs on a module without a file, which a reload of the code does not touch, and it is no cached resource,
    which any browser may ask the server to clear.
    """
    holder = sys.modules.setdefault(_HOLDER, ModuleType(_HOLDER))
    found: Registry = holder.__dict__.setdefault("registry", Registry())
    return found
