"""How ADK names things: fields in snake case in its files and in camel case in what its servers answer, and keys of a state by whom it is kept for. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic.alias_generators import to_camel

_WORD_STARTS = re.compile(r"(?<=[a-z0-9])([A-Z])")
_MOST_REMEMBERED = 1024


@lru_cache(_MOST_REMEMBERED)
def camel(name: str) -> str:
    """Spell a name in camel case, as ADK's models do by their aliases: `eval_id` is `evalId`."""
    return to_camel(name)


@lru_cache(_MOST_REMEMBERED)
def snake(name: str) -> str:
    """Spell a name in snake case: `evalId` is `eval_id`. For names of agents, `evalset.files.eval_names` does more."""
    return _WORD_STARTS.sub(r"_\1", name).lower()


TEMPORARY = "temp:"
"""Begins a key that lasts one invocation only."""

OF_APP = "app:"
"""Begins a key that all sessions of an app share."""

OF_USER = "user:"
"""Begins a key that all sessions of a user share."""


def lasting(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state without what lasts one invocation only; its values are the same objects."""
    return {key: value for key, value in state.items() if not key.startswith(TEMPORARY)}
