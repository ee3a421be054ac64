"""The agents that this server offers, as its command line and its environment say, loaded in the background, and whether their files have changed since."""

from __future__ import annotations

import importlib
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from app.live.live_sessions import LiveSession
from simulator.agents import (
    AgentCatalogue,
    AgentEntry,
    AgentSettingsError,
    UnknownAgentError,
    catalogue_for,
    settings_from,
)
from simulator.agents.agent_directory import directory_of
from simulator.kernel.agent_kernels import AgentKernels
from simulator.kernel.kernel_agent import KernelAgentConfig, KernelLoader
from simulator.session.history import HistoryEntry, ToolCall

if TYPE_CHECKING:
    from evalset.recorded.known_agents import KnownAgent


LOOKS_EVERY = 2.0
"""How long a look at an agent's files counts, in seconds: pages ask at each run, and a project may have thousands."""

_looked: WeakKeyDictionary[AgentKernels, tuple[float, bool]] = WeakKeyDictionary()


def has_new_code(live: LiveSession) -> bool:
    """Return whether the agent's files are others than those that its process has loaded; cheap."""
    config = live.config
    if live.read_only or live.at_rest or not isinstance(config, KernelAgentConfig):
        return False
    now = time.monotonic()
    when, found = _looked.get(config.kernels, (now - LOOKS_EVERY, False))
    if now - when >= LOOKS_EVERY:
        when, found = now, config.kernels.has_new_code
        _looked[config.kernels] = when, found
    return found


def know_new_code(live: LiveSession) -> None:
    """Show the agent of a session as its process has loaded it last: its tools, its agents, its models."""
    config, simulation = live.config.as_loaded(), live.simulation
    if config is live.config:
        return
    from evalset.recorded.known_agents import known_agent  # noqa: PLC0415 - imports ADK, which the first page does without
    from simulator.kernel.remote_simulation import RemoteSimulation  # noqa: PLC0415 - as above

    live.agents_before.append((len(simulation.journal), known_agent(live.config)))
    live.agent_now = known_agent(config)
    live.config, live.directory = config, directory_of(config.root_agent)
    if isinstance(simulation, RemoteSimulation) and isinstance(config, KernelAgentConfig):
        simulation.config = config


def misfit_calls(live: LiveSession, history: Iterable[HistoryEntry]) -> tuple[tuple[ToolCall, str], ...]:
    """Return the calls of a history that do not fit the tools of the agent as its process has loaded it since, and say of each why."""
    if live.agent_now is None:
        return ()
    calls = (entry for entry in history if isinstance(entry, ToolCall))
    return tuple((call, words) for call in calls if (words := _misfit(live, live.agent_now, call)))


def _misfit(live: LiveSession, now: KnownAgent, call: ToolCall) -> str:
    from evalset.recorded.known_agents import misfit  # noqa: PLC0415 - imports ADK, which the first page does without

    then = next((agent for facts, agent in live.agents_before if call.fact < facts), None)
    declared = then.digest(call.tool_name) if then is not None else None
    tool = now.tools.get(call.tool_name)
    if declared is None or (tool is None and (now.brings_more or now.can_call(call.tool_name))):
        return ""  # it was made since, or nobody knows how it was declared, or whether it is
    return misfit(call.tool_name, call.arguments, declared, tool)


def take_new_code(live: LiveSession) -> None:
    """Start the agent's process anew, and bring the session back there: where it diverges, its view says so.

    Raises:
        simulator.kernel.kernel.KernelError: The agent cannot be loaded any more; the text says why.
    """
    config = live.config
    if not isinstance(config, KernelAgentConfig):
        return
    _looked.pop(config.kernels, None)
    config.kernels.restart()
    live.simulation.model_view()  # a session that only waits would come back at its next step: not before it was answered


_threads: dict[tuple[AgentCatalogue, str], Thread] = {}
_lock = Lock()
_LOG = logging.getLogger(__name__)

WARM_UP_AFTER = 1.0
"""How long the page that shows the agents has the processor for itself, in seconds, before more is imported."""

PAGES = ("app.screens.session_page", "app.screens.eval_sets_page", "app.screens.shared_page")
"""What draws the pages that come after the start page."""

_SLOW_TO_IMPORT = (
    "simulator.kernel.remote_simulation",
    "simulator.runtime.models.reachability",
    "simulator.store",
    "google.adk.evaluation.local_eval_sets_manager",
    "evalset",
    "pandas",
)

LOADS_NONE_HERE = True
"""Whether this process imports no agent's code: kernels load and play all agents. Tests of panels play demos without processes."""


def catalogue() -> AgentCatalogue:
    """Return the catalogue of this process.

    Raises:
        simulator.agents.AgentSettingsError: The command line cannot be followed.
    """
    settings = settings_from(sys.argv[1:], os.environ)
    return catalogue_for(settings, KernelLoader(settings.python, everything=LOADS_NONE_HERE))


def known_agents() -> tuple[AgentEntry, ...]:
    """Return the agents of this process; none where the command line cannot be followed, which is said on the start page."""
    try:
        return catalogue().entries()
    except AgentSettingsError:
        return ()


def load_in_background(agents: AgentCatalogue, wanted: str = "") -> None:
    """Begin to load every agent that was not loaded yet, the wanted one first, and then what a session needs, unless that is under way."""
    with _lock:
        states = {entry.name: entry.state for entry in agents.entries()}
        if states.get(wanted) == "unread" and wanted not in agents.loading():
            _begin((agents, wanted), lambda: _load_one(agents, wanted))
        if "unread" in states.values():
            _begin((agents, ""), lambda: _load(agents))


def _begin(what: tuple[AgentCatalogue, str], work: Callable[[], None]) -> None:
    """Do something in a thread, unless that is under way."""
    running = _threads.get(what)
    if running is None or not running.is_alive():
        _threads[what] = Thread(target=work, name="load-agents", daemon=True)
        _threads[what].start()


def _load_one(agents: AgentCatalogue, name: str) -> None:
    with suppress(UnknownAgentError):  # a file of configs stands there under its own name until it was run
        agents.load(name)


def _load(agents: AgentCatalogue) -> None:
    Thread(target=_import_pages, name="import-pages", daemon=True).start()
    agents.load_all()
    Event().wait(WARM_UP_AFTER)
    warm_up()


def _import_pages() -> None:
    """Import what comes after the start page while agents are loaded, in processes of their own."""
    Event().wait(WARM_UP_AFTER)
    warm_up(PAGES)


def warm_up(modules: Iterable[str] = _SLOW_TO_IMPORT) -> list[str]:
    """Import what the first session would otherwise wait for; return the names that could not be imported.

    A failure here is only logged: the page imports the same module when it needs it, and shows the error then.
    """
    failed: list[str] = []
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001 - whatever a foreign module raises at import
            _LOG.exception("Warming up: %s could not be imported", name)
            failed.append(name)
    return failed
