"""The expense approver: JSON in and out by schema, nested parameters, and a payment that a person confirms."""

from . import agent

__all__ = ["agent"]
