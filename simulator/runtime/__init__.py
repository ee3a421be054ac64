"""Binds the core to ADK: seated models and tools, the guard, and the engine that drives ADK's runner.

`simulation` is what everybody uses; `session_engine` is behind it. The packages build on each other: `adk`, `turns`, `knowledge` and
`models`, `answering`, `plugin`. What ADK does not promise is touched in `adk.adk_private` alone.

The names below import ADK when they are first used: the studio's server needs the errors alone, and listens a second sooner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.runtime.commanding import SimulationView
    from simulator.runtime.errors import ContradictionError, Diverged, ReplayDivergence, SimulationError
    from simulator.runtime.models.reachability import default_seats, model_reachability
    from simulator.runtime.simulation import Simulation

_HOMES = {
    "ContradictionError": "simulator.runtime.errors",
    "Diverged": "simulator.runtime.errors",
    "ReplayDivergence": "simulator.runtime.errors",
    "Simulation": "simulator.runtime.simulation",
    "SimulationError": "simulator.runtime.errors",
    "SimulationView": "simulator.runtime.commanding",
    "default_seats": "simulator.runtime.models.reachability",
    "model_reachability": "simulator.runtime.models.reachability",
}

__all__ = [
    "ContradictionError",
    "Diverged",
    "ReplayDivergence",
    "Simulation",
    "SimulationError",
    "SimulationView",
    "default_seats",
    "model_reachability",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'simulator.runtime' has no attribute {name!r}")
    return getattr(__import__(home, globals(), None, (name,)), name)
