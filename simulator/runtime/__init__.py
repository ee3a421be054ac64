"""Binds the core to ADK: seated models and tools, the guard, and the loop that drives them."""

from simulator.runtime.errors import ContradictionError, Diverged, Divergence, SimulationError
from simulator.runtime.models.reachability import default_seats, model_reachability
from simulator.runtime.simulation import Simulation
from simulator.runtime.view import SimulationView

__all__ = [
    "ContradictionError",
    "Diverged",
    "Divergence",
    "Simulation",
    "SimulationError",
    "SimulationView",
    "default_seats",
    "model_reachability",
]
