"""Binds the core to ADK: seated models and tools, the guard, and the engine that drives ADK's runner.

`simulation` is what everybody uses; `session_engine` is behind it. The packages build on each other: `adk`, `turns`, `knowledge` and
`models`, `answering`, `plugin`. What ADK does not promise is touched in `adk.adk_private` alone.
"""

from simulator.runtime.errors import ContradictionError, Diverged, ReplayDivergence, SimulationError
from simulator.runtime.models.reachability import default_seats, model_reachability
from simulator.runtime.simulation import Simulation, SimulationView

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
