"""Writes JSON in any formatting that a person or a program may choose, drawn by Hypothesis."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from hypothesis import strategies as st

TEXTS = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(
        ['"', "\\", '\\"', "]}", '"eval_cases": [', "},{", "ünïcødé", "\U0001f600", "\u2028", "//"]
    ),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=12,
)
RESERVED = frozenset({"eval_set_id", "eval_cases", "evalSetId", "evalCases", "eval_id", "evalId"})


@st.composite
def cases(draw: st.DrawFn, eval_id: str) -> dict[str, Any]:
    """Draw a case: an id among fields that nobody knows."""
    unknown = draw(st.dictionaries(TEXTS.filter(lambda name: name not in RESERVED), VALUES, max_size=3))
    before = draw(st.integers(0, len(unknown)))
    members = list(unknown.items())
    return dict([*members[:before], ("eval_id", eval_id), *members[before:]])


@st.composite
def eval_sets(draw: st.DrawFn) -> dict[str, Any]:
    """Draw an eval set: its members in any order, among fields that nobody knows."""
    count = draw(st.integers(0, 3))
    held = [draw(cases(f"case {number}")) for number in range(count)]
    unknown = draw(st.dictionaries(TEXTS.filter(lambda name: name not in RESERVED), VALUES, max_size=3))
    members = [("eval_set_id", draw(TEXTS)), ("eval_cases", held), *unknown.items()]
    return dict(draw(st.permutations(members)))


@st.composite
def formatted(draw: st.DrawFn, value: Any) -> bytes:
    """Write a value as JSON: as `json.dump` does with any of its settings, or with blanks drawn for each gap."""
    if draw(st.booleans()):
        indent = draw(st.sampled_from([None, 0, 1, 2, 4, "\t"]))
        separators = draw(st.sampled_from([None, (",", ":"), (", ", ": ")]))
        text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
        if draw(st.booleans()):
            text = text.replace("\n", "\r\n")
        return (text + draw(st.sampled_from(["", "\n"]))).encode()
    return Scribe(draw(st.integers(0, 2**32 - 1))).write(value).encode()


class Scribe:
    """Writes JSON with blanks of any kind between any two tokens, and any string escaped or not."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - nothing here is a secret

    def write(self, value: Any) -> str:
        """Write a value, with blanks around it."""
        return f"{self._blanks()}{self._value(value)}{self._blanks()}"

    def _blanks(self) -> str:
        return "".join(self._random.choices(" \t\r\n", k=self._random.choice([0, 0, 0, 1, 3])))

    def _value(self, value: Any) -> str:
        if isinstance(value, dict):
            members = [f"{self.write(name)}:{self.write(each)}" for name, each in value.items()]
            return f"{{{','.join(members) or self._blanks()}}}"
        if isinstance(value, list):
            return f"[{','.join(map(self.write, value)) or self._blanks()}]"
        return json.dumps(value, ensure_ascii=self._random.random() < 1 / 2)
