"""Spells the names of fields as ADK does: in snake case in its files, in camel case in what its servers answer. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

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
