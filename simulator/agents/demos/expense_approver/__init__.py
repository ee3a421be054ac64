"""The expense approver: JSON in and out by schema, nested parameters, and a payment that a person confirms."""

from simulator.agents.demos.expense_approver import agent

__all__ = ["agent"]
