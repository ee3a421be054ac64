"""The agents that this server offers, as its command line and its environment say; loaded in the background."""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Event, Lock, Thread

from simulator.agents import (
    AgentCatalogue,
    AgentEntry,
    AgentSettingsError,
    UnknownAgentError,
    catalogue_for,
    settings_from,
)
from simulator.kernel.kernel_agent import KernelLoader

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
