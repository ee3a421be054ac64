"""The travel planner: a coordinator that hands over to sub-agents, asks an agent as a tool, and calls in parallel."""

from . import agent

__all__ = ["agent"]
