"""What was edited in a golden is said so that the edit can be seen, however long the value is."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from evalset.golden_trace.steps import Step
from evalset.recorded.golden_digests import text_digest, value_digest
from evalset.verify.verdicts import Known
from simulator.base.json_values import same
from tests.evalset.recorded.test_files import json_values

LONG = {f"field_{number}": "x" * 20 for number in range(20)}
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


def change_of(then: Any, now: Any) -> str:
    """Return how one response became another."""
    steps = [Step(kind="response", tool="find", value=value) for value in (then, now)]
    return Known([steps]).change(value_digest(then), value_digest(now))


def test_a_long_response_is_named_by_the_places_that_differ() -> None:
    """By their paths, with what stood there and what stands there; a short one is shown whole."""
    words = change_of({**LONG, "total": 5, "old": 1}, {**LONG, "total": 7, "new": "a"})
    assert re.fullmatch('total .*5.*7; old .*1.*; new .*"a"', words), words
    words = change_of({"total": 5}, {"total": 7})
    assert re.fullmatch('.*{"total":5}.*{"total":7}', words), words


def test_many_places_are_counted() -> None:
    """Three are named."""
    words = change_of(LONG, dict.fromkeys(LONG, "y"))
    assert words.startswith("field_0 was ")
    assert words.endswith("; 17 more places differ")


@given(json_values, json_values)
def test_the_two_sides_of_a_change_never_read_the_same(then: Any, now: Any) -> None:
    """Whatever is cut, what differs is shown."""
    assume(not same(then, now))
    for told in change_of({**LONG, "it": then}, {**LONG, "it": now}).split("; "):
        was, found, now_is = told.rpartition(", now it is ")
        assert not found or not was.endswith(f" was {now_is}")


@given(texts, texts, texts)
def test_a_long_text_is_shown_from_where_it_differs(start: str, then: str, now: str) -> None:
    """And so are two answers of the agent."""
    assume(then != now)
    then, now = start + then, start + now
    steps = [Step(kind="text", text=text) for text in (then, now)]
    was, _, now_is = Known([steps]).change(text_digest(then), text_digest(now)).partition(", now it is ")
    assert was.removeprefix("it was ") != now_is
