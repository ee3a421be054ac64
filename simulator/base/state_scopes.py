"""Knows how ADK names what a session's state holds: the start of a key says for whom it is kept. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TEMPORARY = "temp:"
"""Begins a key that lasts one invocation only."""

OF_APP = "app:"
"""Begins a key that all sessions of an app share."""

OF_USER = "user:"
"""Begins a key that all sessions of a user share."""


def lasting(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state without what lasts one invocation only; its values are the same objects."""
    return {key: value for key, value in state.items() if not key.startswith(TEMPORARY)}
