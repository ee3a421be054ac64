"""Tests of the short words for answers: what they refuse, and how they say it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from simulator.facts import Raised
from simulator.seats.answers import called, raised


@pytest.mark.parametrize("given", ["find", 5, ("find",), ("find", {}, {}), ("find", 5), ("", {}), (5, {})])
def test_what_is_no_call_is_refused_by_name(given: Any) -> None:
    """`called` takes names of tools with dicts of arguments, at least one."""
    with pytest.raises(ValueError, match=f"^{re.escape(repr(given))} "):
        called(("find", {}), given)
    with pytest.raises(ValueError, match=r"called\(\)"):
        called()


def test_calls_are_parts_in_order_after_the_text() -> None:
    """Several calls and a text are one turn."""
    answer = called(("find", {"order_id": "A-1"}), ("other", {}), text="I look.")
    assert answer.parts == (
        {"text": "I look."},
        {"function_call": {"name": "find", "args": {"order_id": "A-1"}}},
        {"function_call": {"name": "other", "args": {}}},
    )


@pytest.mark.parametrize(
    ("kind", "message", "words"),
    [
        ("TimeoutError", "too slow", "too slow"),
        ("TimeoutError", "", ""),
        ("KeyError", "A-1", "'A-1'"),
        ("builtins:KeyError", "", "''"),
        ("UnicodeDecodeError", "bad", "'utf-8' codec can't decode byte 0x80 in position 0: bad"),
        ("KeyboardInterrupt", "no", "no"),
        ("NoSuchError", "no", "no"),
        ("shop:ShopError", "closed", "closed"),
    ],
)
def test_what_is_raised_is_worded_as_the_exception_words_it(kind: str, message: str, words: str) -> None:
    """The message is what the exception itself will say, so that it can be made again with its own class."""
    outcome = raised(kind, message).outcome
    assert isinstance(outcome, Raised)
    assert (outcome.error.message, outcome.error.arguments) == (words, (message,))
