"""The expense approver, played with answers that a person gives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulator import failed
from simulator.agents.demos.expense_approver.tools import (
    CONFIRM_ABOVE,
    PAYMENTS,
    Decision,
    needs_confirmation,
)
from simulator.session import SessionState
from tests.simulator.agents.playing import calls, failures, last_words, play, play_real, scripted, tools
from tests.simulator.base.rows import for_each

NAME = "expense_approver"
SMALL = "E-7 of engineering: hotel 180 EUR and dinner 40 EUR"
LARGE = "E-7 of engineering: flight 640 EUR"
LINES = [{"line": 1, "allowed_amount": 180}, {"line": 2, "allowed_amount": 40}]
FINE: dict[str, Any] = {
    "check_policy": {"lines": LINES},
    "get_budget": {"remaining": 1000},
    "reimburse": {"payment_id": "P-1", "amount": 220},
}


def script(**changed: Any) -> Any:
    """Allow and pay everything, save for what is changed."""
    return scripted(FINE | changed)


def decision(session: Any) -> dict[str, Any]:
    """Read the final response, which always is a decision by the output schema."""
    return Decision.model_validate_json(last_words(session)).model_dump(mode="json")


@pytest.mark.long
def test_a_report_in_words_and_one_in_json_lead_to_the_same_calls() -> None:
    """Arguments are nested and hold enums; both forms of the input say the same."""
    lines = [
        {"category": "lodging", "amount": 180, "description": "hotel 180 EUR"},
        {"category": "meals", "amount": 40, "description": "dinner 40 EUR"},
    ]
    report = json.dumps({"employee_id": "E-7", "department": "engineering", "lines": lines})
    spoken, written = (play(NAME, said, answer=script()) for said in (SMALL, report))
    assert calls(spoken) == calls(written)
    assert calls(spoken)[2] == (
        "reimburse",
        {
            "employee_id": "E-7",
            "department": "engineering",
            "payment": {"amount": 220.0, "currency": "EUR", "method": "bank_transfer"},
            "line_numbers": [1, 2],
        },
    )
    assert decision(spoken)["verdict"] == "approved"


@pytest.mark.long
@for_each(
    ("changed", "verdict", "amount"),
    [
        ({"check_policy": {"lines": [LINES[0], {"allowed_amount": 10}]}}, "partly_approved", 190.0),
        ({"check_policy": {"lines": [{"allowed_amount": 0}, {"allowed_amount": 0}]}}, "rejected", 0.0),
        ({"check_policy": {"lines": LINES[:1]}}, "needs_review", 0.0),
        ({"check_policy": {"lines": [{}, {}]}}, "needs_review", 0.0),
        ({"check_policy": {}}, "needs_review", 0.0),
        ({"check_policy": "all fine"}, "needs_review", 0.0),
        ({"check_policy": failed(500, "down")}, "needs_review", 0.0),
        ({"get_budget": {"remaining": 100}}, "needs_review", 0.0),
        ({"get_budget": {"remaining": "lots"}}, "needs_review", 0.0),
        ({"get_budget": []}, "needs_review", 0.0),
        ({"reimburse": failed(422, "No such employee.")}, "needs_review", 0.0),
        ({"reimburse": {}}, "needs_review", 0.0),
        ({"reimburse": {"payment_id": "P-1", "amount": 20}}, "partly_approved", 20.0),
    ],
)
def test_a_changed_answer_changes_the_decision(changed: dict[str, Any], verdict: str, amount: float) -> None:
    """Policy, budget and payment each decide, also where they say less than they should."""
    answers = FINE | changed
    if verdict == "partly_approved" and "check_policy" in changed:
        answers["reimburse"] = {"payment_id": "P-1"}
    found = decision(play(NAME, SMALL, answer=scripted(answers)))
    assert (found["verdict"], found["approved_amount"]) == (verdict, amount)
    assert found["reasons"]


def test_nobody_is_paid_more_than_was_asked_for() -> None:
    """A policy check that allows more than the line is cut to the line's amount."""
    generous = {"lines": [{"allowed_amount": 9999}, {"allowed_amount": 40}]}
    session = play(NAME, SMALL, answer=script(check_policy=generous))
    assert calls(session)[2][1]["payment"] == {"amount": 220.0, "currency": "EUR", "method": "bank_transfer"}


@pytest.mark.parametrize(("confirmed", "verdict", "paid"), [(True, "approved", 1), (False, "rejected", 0)])
def test_a_payment_above_the_limit_waits_for_a_person(*, confirmed: bool, verdict: str, paid: int) -> None:
    """The turn pauses with an open call; the real payment goes out after the confirmation, and never without."""
    before = len(PAYMENTS)
    paused = play_real(NAME, LARGE)
    assert paused.state is SessionState.ACTIVE
    assert [call.is_confirmation for call in paused.open_calls] == [True]
    assert len(PAYMENTS) == before
    session = play_real(NAME, LARGE, confirmed)
    assert decision(session)["verdict"] == verdict
    assert len(PAYMENTS) - before == paid


@for_each(
    ("payment", "needed"),
    [
        ({"amount": CONFIRM_ABOVE}, False),
        ({"amount": CONFIRM_ABOVE + 0.01}, True),
        ({"amount": "much"}, True),
        ({}, True),
        ("500", True),
        (None, True),
    ],
)
def test_a_payment_that_cannot_be_read_must_be_confirmed(payment: Any, *, needed: bool) -> None:
    """The gate is closed for everything but a number up to the limit."""
    assert needs_confirmation(payment) is needed


def test_gaps_in_a_report_are_asked_for_and_filled() -> None:
    """An incomplete report is no error: the decision names what is missing, and the next message completes it."""
    session = play(NAME, "E-7 had a hotel 180 EUR and dinner 40 EUR", "engineering pays", answer=script())
    asked_again, *decided = tools(session)
    assert (asked_again, decided[:2]) == ("set_model_response", ["check_policy", "get_budget"])
    assert decision(session)["verdict"] == "approved"
    first = decision(play_real(NAME, "hello"))
    assert first["verdict"] == "needs_information"
    assert len(first["reasons"]) == 3


def test_json_that_does_not_fit_the_input_schema_is_adks_error() -> None:
    """A JSON object is held to the input schema by ADK; the error ends that turn, and the session goes on."""
    (failure,) = failures(play_real(NAME, '{"employee_id": 5}'))
    assert "ExpenseReport" in failure
    assert decision(play_real(NAME, '{"employee_id": 5}', SMALL))["verdict"] == "approved"
