"""The line of what waits: whatever a reader could not tell apart is counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.decision.queue_panel import MOST_PILLS, QueueEntry, numbers
from app.forms.safe_labels import safe_label
from simulator.base.json_values import JsonObject
from tests.app.decision.deciding import Deciding, answers, asked
from tests.simulator.runtime.stage import call

WORDS = st.sampled_from(
    ["find", "find ", "fi\u200bnd", "find \u00b7 A-1", "Turn of clerk", "x" * 40, "x" * 50]
)


def line_of(words: list[str]) -> list[QueueEntry]:
    """A line of things with these words."""
    return [QueueEntry(key=f"key {place}", words=each) for place, each in enumerate(words)]


@given(st.lists(WORDS, max_size=30))
def test_no_two_things_look_alike(words: list[str]) -> None:
    """Label and number together are different for each thing; what is alone with its label has no number."""
    line = line_of(words)
    found = numbers(line)
    shown = {each.key: safe_label(each.words, 40) for each in line}
    assert len({(shown[each.key], found.get(each.key)) for each in line}) == len(line)
    often = Counter(shown.values())
    assert set(found) == {key for key, label in shown.items() if often[label] > 1}


def test_the_numbers_count_from_one_in_the_order_of_the_line() -> None:
    """Each kind is counted for itself, the oldest first."""
    found = numbers(line_of(["a", "b", "a", "c", "b", "a"]))
    assert found == {"key 0": 1, "key 2": 2, "key 5": 3, "key 1": 1, "key 4": 2}


def echo(word: str, times: int = 1) -> JsonObject:
    """Echo a word."""
    return {"word": word, "times": times}


def asked_for(*calls: Any) -> Any:
    """Open a session whose agent makes these calls at once, and ask it."""
    return asked(list(calls), tools=[echo])


def options(page: Deciding) -> list[str]:
    """Return the words of the line as they reach the browser."""
    lines = (*page.tab.selectbox, *page.tab.button_group)
    (shown,) = [one for one in lines if str(one.key).startswith("waiting_")]
    return [option if isinstance(option, str) else option.content for option in shown.options]


@pytest.mark.parametrize(
    ("most", "place"), [(3, ""), (MOST_PILLS + 3, "{}. ")], ids=["side by side", "a list"]
)
def test_like_calls_have_numbers(most: int, place: str) -> None:
    """No two of them read alike; another call has no number, nor the last one left of its kind. All are accepted at once."""
    calls = [call("echo", word="x", times=number) for number in range(1, most)]
    with asked_for(*calls, call("echo", word="y")) as simulation:
        page = Deciding(simulation)
        like = [f"{place.format(number)}echo \u00b7 x #{number}" for number in range(1, most)]
        assert [each.replace("\\", "") for each in options(page)] == [
            *like,
            f"{place.format(most)}echo \u00b7 y",
        ]
        page.choose("waiting_", simulation.pending[1].key)
        assert '"times": 2' in page.shown()
        page.type("response_", '{"second": 2}').press("accept_0")
        assert answers(simulation)[0].arguments == {"word": "x", "times": 2}
        if most == 3:
            assert options(page) == ["echo \u00b7 x", "echo \u00b7 y"]
        page.press("accept_all")
        assert len(answers(simulation)) == most
