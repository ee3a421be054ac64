"""The agents that this server offers, as its command line and its environment say; loaded in the background."""

from __future__ import annotations

import os
import sys
from threading import Lock, Thread

from app.warming import warm_up
from simulator.agents import AgentCatalogue, catalogue_for, settings_from
from simulator.kernel.agents import KernelLoader

_threads: dict[AgentCatalogue, Thread] = {}
_lock = Lock()


def catalogue() -> AgentCatalogue:
    """Give the catalogue of this process.

    Raises:
        simulator.agents.AgentSettingsError: The command line cannot be followed.
    """
    settings = settings_from(sys.argv[1:], os.environ)
    return catalogue_for(settings, KernelLoader(settings.python))


def load_in_background(agents: AgentCatalogue) -> None:
    """Begin to load every agent that was not loaded yet, and then what a session needs, unless that is under way."""
    with _lock:
        running = _threads.get(agents)
        if running is not None and running.is_alive():
            return
        if any(entry.state == "unread" for entry in agents.entries()):
            _threads[agents] = Thread(target=_load, args=(agents,), name="load-agents", daemon=True)
            _threads[agents].start()


def _load(agents: AgentCatalogue) -> None:
    agents.load_all()
    warm_up()
