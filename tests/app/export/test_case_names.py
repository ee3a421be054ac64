"""Eval ids on the page say what a case is about."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.export.case_names import LONGEST, proposed_eval_id
from evalset.files.eval_names import flaw_of_eval_id
from tests.app.fakes import FakeSimulation


def session_of(said: str, *calls: tuple[str, dict[str, Any]]) -> FakeSimulation:
    """Return a session in which a user has said something, and these calls were made."""
    simulation = FakeSimulation()
    simulation.ask(said)
    for number, (tool, arguments) in enumerate(calls):
        simulation.call(f"c{number}", tool, **arguments)
    return simulation


FIND = ("find_order", {"order_id": "A-1001"})
CANCEL = ("cancel_order", {"order_id": "A-1001", "reason": "customer_request"})


@pytest.mark.parametrize(
    ("said", "calls", "eval_id"),
    [
        ("Please cancel it.", [FIND, CANCEL], "cancel_order_a1001"),
        ("Where is it?", [FIND], "find_order_a1001"),
        ("Go.", [("transfer_to_agent", {"agent_name": "desk"}), ("bookTrip", {"days": 3})], "book_trip_3"),
        (
            "Go.",
            [("send_mail", {"body": "Dear sir, " * 9, "urgent": True, "to": "ada@x.de"})],
            "send_mail_adaxde",
        ),
        ("Ping.", [("refresh", {})], "refresh"),
        ("Hello there, what can-you-do for me today?", [], "hello_there_what_can_you_do"),
    ],
)
def test_an_id_is_of_words(said: str, calls: list[Any], eval_id: str) -> None:
    """The call that changes something comes first, with the value that tells it from others."""
    assert proposed_eval_id(session_of(said, *calls).session) == eval_id


def test_what_has_no_words_gets_the_agent_and_the_time() -> None:
    """Letters that ASCII lacks name nothing in a command."""
    assert re.fullmatch(r"\w+_\d{4}-.*Z", proposed_eval_id(session_of("\u5341\u5341").session))


@settings(max_examples=settings().max_examples // 3)
@given(st.text(), st.text(min_size=1), st.dictionaries(st.text(), st.text() | st.integers() | st.booleans()))
def test_any_session_gets_one_that_adk_takes(said: str, tool: str, arguments: dict[str, Any]) -> None:
    """Short, and free of what splits a command line."""
    made = proposed_eval_id(session_of(said or "x", (tool, arguments)).session)
    assert flaw_of_eval_id(made) is None
    assert len(made) <= LONGEST
