"""The travel planner: a coordinator that hands over to sub-agents, asks an agent as a tool, and calls in parallel."""

from simulator.agents.demos.travel_planner import agent

__all__ = ["agent"]
