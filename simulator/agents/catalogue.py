"""The agents to choose from: lists them by name, loads one when it is wanted, and keeps each one's error."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from threading import RLock
from time import monotonic
from typing import Literal, Protocol, TypeAlias

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_fingerprint import loaded_fingerprint
from simulator.agents.agent_folder import IMPORTS, AgentFolder, listed_as
from simulator.agents.agent_settings import DEMOS, DEMOS_DIR, AgentSettings, demo_agent
from simulator.agents.agent_source import source_digest
from simulator.agents.configs_file import ConfigsFile, Load
from simulator.agents.load_advice import advice
from simulator.agents.load_failure import AgentLoadError, failure_words
from simulator.base.validation_words import near

Source: TypeAlias = Literal["folder", "file", "demo"]

MOST_AT_ONCE = 2
"""How many processes load agents at a time, when all are loaded."""


class UnknownAgentError(ValueError):
    """No agent of this name is in the catalogue."""


@dataclass(frozen=True)
class AgentEntry:
    """One agent in the list.

    Attributes:
        name: The name that people choose it by; no other entry has it.
        source: A folder in ADK's convention, a Python file or module that lists configs, or a demo agent.
        location: Where it comes from, in words for a person.
        config: What a simulation needs; None until it is loaded, and where that failed.
        error: What failed and where; None where nothing did.
        description: What the agent says of itself; empty until it is loaded, save for the demo agents.
        example_queries: What one may ask it to begin with; only the demo agents bring some.
    """

    name: str
    source: Source
    location: str
    config: SimulatedAgentConfig | None = field(default=None, repr=False)
    error: str | None = None
    description: str = ""
    example_queries: tuple[str, ...] = ()

    @property
    def state(self) -> Literal["unread", "ready", "failed"]:
        """Whether it was loaded, and how that went."""
        if self.error is not None:
            return "failed"
        return "unread" if self.config is None else "ready"


class Elsewhere(Protocol):
    """Loads agents in processes of their own; each gives None for what this process loads."""

    def of_folder(self, folder: AgentFolder, name: str) -> Load | None:
        """Return what loads an agent of a folder."""
        ...

    def of_file(self, file: str) -> ConfigsFile | None:
        """Return what lists and loads the agents of a file or module."""
        ...

    def of_demo(self, name: str) -> Load | None:
        """Return what loads a demo agent."""
        ...


@dataclass(frozen=True)
class _Found:
    """An agent that a source offers: its entry so far, and how it is loaded."""

    entry: AgentEntry
    home: Path
    load: Load


class AgentCatalogue:
    """All agents that the settings name: those of the folder, then those of the file, then the demo agents; then those of folders that were added.

    Listing imports no agent, save that a file of configs has to be run to know what it lists. Loading is done once
    for each agent, whichever thread asks first. A failure is an entry's `error`; the other agents work.
    """

    def __init__(self, settings: AgentSettings | None = None, elsewhere: Elsewhere | None = None) -> None:
        self.settings, self._elsewhere = settings or AgentSettings(), elsewhere
        self._folders = [AgentFolder(self.settings.agents_dir)] if self.settings.agents_dir else []
        self._added: list[AgentFolder] = []
        self._file = self._file_anew()
        self._loaded: dict[tuple[str, str], AgentEntry] = {}
        self._sources: dict[tuple[str, str], str] = {}
        self._loading: defaultdict[tuple[str, str], RLock] = defaultdict(RLock)
        self._at_work: dict[tuple[str, str], tuple[Callable[[], None], float]] = {}

    def names(self) -> tuple[str, ...]:
        """List the names of all agents, each unique, also of those that cannot be loaded."""
        return tuple(self._found())

    def entries(self) -> tuple[AgentEntry, ...]:
        """List all agents as far as they are known: loads none, and shows what earlier loads gave.

        A file of configs that a process of its own has not run yet stands there as one unread agent.
        """
        every = self._found(waits=False).values()
        return tuple(self._known(_key(found)) or found.entry for found in every)

    def loading(self, seconds: float = 0.0) -> frozenset[str]:
        """Name the agents, and the file, that processes of their own have been loading for so long: `stop` gives one up."""
        before = monotonic() - seconds
        return frozenset(name for (_, name), (_, began) in list(self._at_work.items()) if began <= before)

    def stop(self, name: str) -> None:
        """Give the load of an agent up that is under way; it counts as failed then."""
        for (_, known), (stop, _) in list(self._at_work.items()):
            if known == name:
                stop()

    def load(self, name: str) -> AgentEntry:
        """Load an agent, once; the entry holds its config, or the error.

        Raises:
            UnknownAgentError: No agent has this name.
        """
        return self._load(self._find(name), anew=False)

    def reload(self, name: str) -> AgentEntry:
        """Load an agent again, after its files were changed; a session that uses the old one keeps it.

        Raises:
            UnknownAgentError: No agent has this name.
        """
        return self._load(self._find(name), anew=True)

    def refresh(self) -> None:
        """Try again what failed: failed agents load anew when they are next asked for, and a failed file is run anew."""
        with IMPORTS:
            self._loaded = {key: entry for key, entry in self._loaded.items() if entry.error is None}
            if self._file is not None and self._file.failed:
                self._file = self._file_anew()

    def add_folder(self, path: Path) -> None:
        """List the agents of another folder, too, for as long as this process runs; a name that is taken stays with its agent.

        Raises:
            AgentLoadError: The folder does not exist, cannot be read, or holds no agent.
        """
        folder = AgentFolder(path)
        folder.names()
        if folder.path not in {each.path for each in (*self._folders, *self._added)}:
            self._added.append(folder)

    @property
    def added(self) -> tuple[Path, ...]:
        """The folders that were added, in their order."""
        return tuple(each.path for each in self._added)

    def remove_folder(self, path: Path) -> None:
        """List the agents of a folder that was added no more; a session that uses one keeps it."""
        before = self._found(waits=False)
        self._added = [each for each in self._added if each.path != path]
        now = {(_key(found), found.entry.location) for found in self._found(waits=False).values()}
        for found in before.values():
            if (_key(found), found.entry.location) not in now:
                self._loaded.pop(_key(found), None)

    def settings_for(self, place: Path) -> AgentSettings:
        """Return the settings with which another process finds what lies in a place: the folder that was added, where it lies in one."""
        known = (*self._folders, *self._added)
        there = place.resolve()
        around = next((each.path for each in known if there.is_relative_to(each.path.resolve())), None)
        return replace(self.settings, agents_dir=around) if around else self.settings

    def place(self, name: str) -> Path | None:
        """Return the folder or file that holds an agent's code; None for a demo, and for a module.

        Raises:
            UnknownAgentError: No agent has this name.
        """
        listed = self._found(waits=False).get(name)
        entry = (listed or self._find(name)).entry
        match entry.source:
            case "folder":
                return Path(entry.location)
            case "file":
                return ConfigsFile(self.settings.agents_file or "").path
            case _:
                return None

    def forget(self, name: str) -> None:
        """Load an agent anew when it is next asked for, and the others of its file; a session that uses the old one keeps it.

        Raises:
            UnknownAgentError: No agent has this name.
        """
        source, _ = key = _key(self._find(name))
        if source == "file":
            self._file = self._file_anew()
        gone = [known for known in self._loaded if known == key or known[0] == source == "file"]
        for known in gone:
            self._loaded.pop(known, None)

    def load_all(self) -> tuple[AgentEntry, ...]:
        """Load every agent and list them."""
        with ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="load-agent") as executor:

            def begun(found: Iterable[_Found]) -> dict[tuple[str, str], Future[AgentEntry]]:
                return {_key(one): executor.submit(self._load, one, anew=False) for one in found}

            listing = executor.submit(self._found)
            # Those of the folder are not kept waiting by a file that takes its time.
            first = self._found(waits=False).values()
            loading = begun(one for one in first if one.load.stop and one.entry.source == "folder")
            every = tuple(listing.result().values())
            loading |= begun(one for one in every if one.load.stop and _key(one) not in loading)
            here = {_key(one): self._load(one, anew=False) for one in every if not one.load.stop}
            return tuple(
                loading[key].result() if (key := _key(one)) in loading else here[key] for one in every
            )

    def config(self, name: str, *, as_listed: bool = False) -> SimulatedAgentConfig:
        """Load an agent and return its config.

        Args:
            name: Its name.
            as_listed: The name is one that `entries` shows now: a file that is still being read, whose agent of this
                name would come before a demo's, is not waited for.

        Raises:
            UnknownAgentError: No agent has this name.
            AgentLoadError: It could not be loaded; the text says what failed and where.
        """
        found = self._find(name, as_listed=as_listed)
        return _config_in(self._load(found, anew=False), found)

    def config_of_now(self, name: str, *, as_listed: bool = False) -> SimulatedAgentConfig:
        """Load an agent, again where its files have changed since, and return its config: what begins, begins with it.

        Sessions keep the one that they have.

        Args:
            name: Its name.
            as_listed: As for `config`.

        Raises:
            UnknownAgentError: No agent has this name.
            AgentLoadError: It could not be loaded; the text says what failed and where.
        """
        found = self._find(name, as_listed=as_listed)
        entry = self._load(found, anew=False)
        is_of_before = entry.config.has_new_code if entry.config is not None else None
        if is_of_before is None:
            is_of_before = self._sources.get(_key(found)) != _source(found)
        return _config_in(self._load(found, anew=True) if is_of_before else entry, found)

    def _find(self, name: str, *, as_listed: bool = False) -> _Found:
        # What is named like an agent of the folder is that agent, whatever a file lists.
        sure = {"folder", "demo"} if as_listed else {"folder"}
        there = self._found(waits=False)
        listed = there.get(listed_as(name, there))
        if listed is not None and listed.entry.source in sure:
            return listed
        found = self._found()
        if name not in found:
            raise UnknownAgentError(f"no agent named {name!r}; {near(name, found)}")
        return found[name]

    def _load(self, found: _Found, *, anew: bool) -> AgentEntry:
        key = _key(found)
        known = self._known(key)
        # Nobody who asks for what is there waits for an agent that is being imported.
        if known is not None and not anew:
            return known
        # One that is imported in another process keeps no other waiting.
        with self._loading[key] if found.load.stop else IMPORTS:
            if anew or key not in self._loaded:
                self._sources[key] = _source(found)
                with self._stoppable(key, found.load.stop):
                    self._loaded[key] = _loaded(found, anew=anew)
            return self._loaded[key]

    def _known(self, key: tuple[str, str]) -> AgentEntry | None:
        """Return what a load gave, with the agent's code as it was loaded last."""
        entry = self._loaded.get(key)
        if entry is None or entry.config is None or (now := entry.config.as_loaded()) is entry.config:
            return entry
        self._loaded[key] = _described(entry, now)
        return self._loaded[key]

    @contextmanager
    def _stoppable(self, key: tuple[str, str], stop: Callable[[], None] | None) -> Iterator[None]:
        """Let `stop` reach what is at work, where it can be stopped."""
        if stop is not None:
            self._at_work[key] = stop, monotonic()
        try:
            yield
        finally:
            self._at_work.pop(key, None)

    def _file_anew(self) -> ConfigsFile | None:
        name = self.settings.agents_file
        if not name:
            return None
        elsewhere = self._elsewhere.of_file(name) if self._elsewhere is not None else None
        return elsewhere or ConfigsFile(name)

    def _found(self, *, waits: bool = True) -> Mapping[str, _Found]:
        """Find all agents; `waits` for a process that runs the file of configs."""
        folders, added = (map(self._in_folder, each) for each in (self._folders, self._added))
        sources = (*folders, self._in_file(waits=waits), self._demos(), *added)
        every = (one for source in sources for one in source)
        return {found.entry.name: found for found in _uniquely_named(_each_once(every))}

    def _in_folder(self, folder: AgentFolder) -> Iterator[_Found]:
        try:
            names = folder.names()
        except AgentLoadError as error:
            yield _broken(folder.path.name or str(folder.path), "folder", str(folder.path), str(error))
            return
        for name in names:
            entry = AgentEntry(name=name, source="folder", location=str(folder.where(name)))
            load = self._elsewhere.of_folder(folder, name) if self._elsewhere is not None else None
            yield _Found(entry, folder.home, load or Load(partial(folder.load, name)))
        if folder.is_cut:
            words = f"not all folders in {folder.path} were searched for agents: there are too many. Name a folder further down."
            yield _broken(f"{folder.path.name}/...", "folder", str(folder.path), words)

    def _in_file(self, *, waits: bool) -> Iterator[_Found]:
        file = self._file
        if file is None:
            return
        if not (waits or file.is_known):
            yield _Found(AgentEntry(name=file.name, source="file", location=file.name), file.home, _never(""))
            return
        try:
            with self._stoppable(("file", file.name), None if file.is_known else file.stop):
                listed = file.listed()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a foreign module may raise anything; it is listed
            yield _broken(file.name, "file", file.name, failure_words(error, file.home))
            return
        for place, (name, origin) in enumerate(listed):
            entry = AgentEntry(name=name, source="file", location=origin or str(file.path or file.name))
            yield _Found(entry, file.home, file.load(place))

    def _demos(self) -> Iterator[_Found]:
        shown_as_folder = any(_is_demos_folder(folder.path) for folder in self._folders)
        if self.settings.demos and not shown_as_folder:
            for name, demo in DEMOS.items():
                entry = AgentEntry(
                    name=name,
                    source="demo",
                    location="ships with the studio",
                    description=demo.description,
                    example_queries=demo.example_queries,
                )
                load = self._elsewhere.of_demo(name) if self._elsewhere is not None else None
                yield _Found(entry, Path(__file__).parent, load or Load(partial(_demo, name)))


def find_agents(
    agents_dir: Path | None = None, agents_file: str | None = None, *, demos: bool = True
) -> tuple[AgentEntry, ...]:
    """Find and load all agents, as `AgentCatalogue.load_all` does.

    Args:
        agents_dir: A folder of agents in ADK's convention, or the folder of one agent.
        agents_file: A Python file, or a dotted module, that lists `SimulatedAgentConfig`s.
        demos: Whether to list the demo agents.
    """
    return AgentCatalogue(AgentSettings(agents_dir, agents_file, demos)).load_all()


@cache
def catalogue_for(
    settings: AgentSettings, elsewhere: Elsewhere | None = None, *, without_packages: bool = False
) -> AgentCatalogue:
    """Return the one catalogue of this process for these settings.

    Args:
        settings: Which agents there are.
        elsewhere: Loads agents in processes of their own.
        without_packages: Whether its agents are loaded for replays alone, without packages that are not installed.
    """
    del without_packages  # another one is another catalogue
    return AgentCatalogue(settings, elsewhere)


def _loaded(found: _Found, *, anew: bool) -> AgentEntry:
    if found.entry.error is not None:
        return found.entry
    try:
        config = found.load.work(anew=anew)
        loaded_fingerprint(config.root_agent)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - an agent's own code may raise anything; it is listed
        words = failure_words(error, found.home)
        place = Path(found.entry.location)
        known = isinstance(error, AgentLoadError) or not place.is_absolute()
        line = "" if known else advice(words, place, Path(sys.executable))
        return replace(found.entry, error=f"{words}. {line}" if line else words)
    if config.name != found.entry.name:
        config = replace(config, name=found.entry.name)
    return _described(found.entry, config)


def _described(entry: AgentEntry, config: SimulatedAgentConfig) -> AgentEntry:
    description = getattr(config.root_agent, "description", "") or entry.description
    return replace(entry, config=config, description=str(description))


def _config_in(entry: AgentEntry, found: _Found) -> SimulatedAgentConfig:
    """Return the config of an entry.

    Raises:
        AgentLoadError: It has none.
    """
    if entry.config is None:
        # A folder or file that cannot be listed stands here under a name that is no agent's.
        is_agent = found.entry.error is None
        raise AgentLoadError(
            f"agent {found.entry.name!r} could not be loaded: {entry.error}" if is_agent else str(entry.error)
        )
    return entry.config


def _source(found: _Found) -> str:
    place = Path(found.entry.location)
    return source_digest(place) if place.is_absolute() and place.exists() else ""


def _is_demos_folder(path: Path) -> bool:
    try:
        return path.samefile(DEMOS_DIR)
    except OSError:
        return False


def _broken(name: str, source: Source, location: str, error: str) -> _Found:
    """Stand for a folder or file that cannot even be listed."""
    return _Found(AgentEntry(name=name, source=source, location=location, error=error), Path(), _never(error))


def _demo(name: str, *, anew: bool) -> SimulatedAgentConfig:  # noqa: ARG001 - what ships does not change
    return demo_agent(name)


def _never(error: str) -> Load:
    def fail(*, anew: bool) -> SimulatedAgentConfig:  # noqa: ARG001 - `refresh` looks again
        raise AgentLoadError(error)

    return Load(fail)


def _each_once(all_found: Iterable[_Found]) -> Iterator[_Found]:
    """Leave an agent of a folder out that was found by itself, or in another folder around it, before."""
    taken: set[str] = set()
    for found in all_found:
        if found.entry.source == "folder" and found.entry.error is None:
            if found.entry.location in taken:
                continue
            taken.add(found.entry.location)
        yield found


def _uniquely_named(all_found: Iterable[_Found]) -> Iterator[_Found]:
    """Tell agents of the same name apart: the first keeps it, another gets its source, and a number if need be."""
    taken: set[str] = set()
    for found in all_found:
        name, number = found.entry.name, 1
        while name in taken:
            name = f"{found.entry.name} ({found.entry.source}{f' {number}' if number > 1 else ''})"
            number += 1
        taken.add(name)
        yield found if name == found.entry.name else replace(found, entry=replace(found.entry, name=name))


def _key(found: _Found) -> tuple[str, str]:
    return found.entry.source, found.entry.name
