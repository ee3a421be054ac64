"""The order desk: finds, creates, cancels and refunds orders of a shop, with tools that share ids."""

from simulator.agents.demos.order_desk import agent

__all__ = ["agent"]
