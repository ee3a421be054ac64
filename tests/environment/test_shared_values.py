"""Proves what a draft takes from the state that its tool shares with others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.environment.drafting.shared_values import with_shared_values
from simulator.environment.things.shared_state import RememberedCall, SharedState


def state(beginning: str = "", *calls: tuple[dict[str, Any], Any]) -> SharedState:
    """Make a state with calls: what each asked for and what it answered."""
    remembered = [
        RememberedCall(tool_name="t", parameters=asked, response=answer, timestamp=0.0)
        for asked, answer in calls
    ]
    return SharedState(initial_state=beginning or None, previous_calls=remembered)


def shared(draft: Any, known: SharedState, arguments: dict[str, Any] | None = None) -> Any:
    """Give the draft with what is known, where any answer fits."""
    return with_shared_values(draft, arguments or {}, known, lambda _: True)


def test_the_last_answer_counts_more_than_the_one_before_and_than_what_was_asked() -> None:
    """Newest first; in one call its answer before its parameters; the beginning last."""
    known = state("level 1", ({"level": 2}, {"level": 3}), ({"level": 4, "fan": "on"}, {"status": "ok"}))
    assert shared({"level": 0, "fan": "off", "other": 1}, known) == {"level": 4, "fan": "on", "other": 1}
    assert shared({"level": 0}, state("level 1", ({"level": 2}, {"level": 3}))) == {"level": 3}
    assert shared({"level": 0}, state("level 1")) == {"level": 1}


def test_arguments_lists_and_other_shapes_stand() -> None:
    """What the call asks for itself, nested values and answers that are no objects are left as they are."""
    known = state("", ({}, {"level": 3, "rooms": ["a"], "deep": {"x": 1}}))
    draft = {"level": 0, "rooms": ["b"], "deep": {"x": 2}}
    assert shared(draft, known, {"level": 0}) == draft
    assert shared([1], known) == [1]
    assert shared("text", known) == "text"


def test_a_value_that_does_not_fit_is_not_taken() -> None:
    """The tool's schema has the last word on each field."""
    known = state("", ({}, {"level": "high", "fan": "on"}))

    def fits(value: Any) -> bool:
        return isinstance(value["level"], int)

    assert with_shared_values({"level": 0, "fan": "off"}, {}, known, fits) == {"level": 0, "fan": "on"}


@pytest.mark.parametrize(
    ("beginning", "expected"),
    [
        ("Room: temperature 68F, humidity 45%", {"temperature": 68, "humidity": 45}),
        ("the Temperature is -3.5 and the humidity: 10", {"temperature": -3.5, "humidity": 10}),
        ("temperature set to 20; humidity of about 30", {"temperature": 20, "humidity": 30}),
        ("no numbers here", {"temperature": 0, "humidity": 0}),
        ("", {"temperature": 0, "humidity": 0}),
    ],
)
def test_numbers_are_read_from_the_beginning(beginning: str, expected: dict[str, float]) -> None:
    """A number that stands right behind a field's name is its value in the beginning."""
    assert shared({"temperature": 0, "humidity": 0}, state(beginning)) == expected


@given(
    st.dictionaries(st.text(max_size=8), st.none() | st.booleans() | st.integers() | st.text(), max_size=4),
    st.text(max_size=60),
)
def test_any_draft_and_beginning_can_be_looked_at(draft: dict[str, Any], beginning: str) -> None:
    """No text of a state breaks a draft; its fields stay the same ones."""
    assert shared(draft, state(beginning)).keys() == draft.keys()
