"""A person authors golden traces of the three demo agents in the browser, and `adk eval` judges the files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from simulator.agents import DEMOS_DIR
from tests.harness.adk_process import run_adk_eval
from tests.harness.browser import Studio
from tests.harness.processes import start_program
from tests.stories.reading import (
    add_changed_case,
    answer_of,
    calls_of,
    case_of,
    tools_of,
    trajectory_scores,
)

pytestmark = [pytest.mark.browser, pytest.mark.process]

CANCEL = "Please cancel order A-1001 and refund me."
TRIP = "Plan a trip from Oslo to Rome from 2026-05-03 to 2026-05-06 for 2 people with a Norwegian passport."
EXPENSES = "E-7 of engineering: hotel 180 EUR and dinner 75 EUR"
LARGE_EXPENSE = "E-7 of engineering: flight 640 EUR"


@pytest.mark.long
def test_the_order_desk(studio: Studio, tmp_path: Path) -> None:
    """A real answer, an edited one and an error make one trace.

    It makes the same calls as the real world, so that `adk eval` passes it, and finds where a call was changed by hand.
    """
    path = tmp_path / "orders.evalset.json"
    _author_a_cancellation(studio, path)

    mixed = calls_of(case_of(path, "mixed"))
    assert [name for name, _, _ in mixed] == ["find_order", "cancel_order", "refund_order"]
    assert mixed[0][2]["status"] == "processing"
    assert mixed[1][2] == {"order_id": "A-1001", "status": "cancelled", "reason": "as you wish"}
    assert mixed[2][1] == {"order_id": "A-1001", "amount": 49.9, "currency": "EUR"}
    assert mixed[2][2] == {"error_code": 422, "error_message": "At most 10.00 EUR can be refunded."}
    assert "At most 10.00 EUR" in answer_of(case_of(path, "mixed"))

    add_changed_case(path, "mixed", 2, amount=1.0)
    outcome = run_adk_eval(DEMOS_DIR / "order_desk", path, start=start_program)
    assert trajectory_scores(outcome) == {"mixed": 1.0, "changed": 0.0}, outcome.output[-3000:]


def _author_a_cancellation(studio: Studio, path: Path) -> None:
    studio.pick_agent("order_desk").start(CANCEL)
    studio.wait_for_pause("find_order").run_real()
    studio.wait_for_pause("cancel_order")
    draft = {"order_id": "A-1001", "status": "cancelled", "reason": "customer_request"}
    assert studio.draft() == draft, studio.decision.aria_snapshot()
    studio.write_response({"order_id": "A-1001", "status": "cancelled", "reason": "as you wish"})
    studio.wait_for_pause("refund_order").fail_with(422, "At most 10.00 EUR can be refunded.")
    studio.wait_for_status("Completed")
    drawn = "\n".join(studio.steps)
    for words in ("find_order returned", "real", "edited", "refund_order failed", "written"):
        assert words in drawn
    studio.export_to(path, "mixed")


@pytest.mark.long
def test_the_order_desk_with_an_injected_fault(studio: Studio, tmp_path: Path) -> None:
    """The trace shows how the agent reacts to a fault that the real tools don't have, so that `adk eval` finds fewer calls."""
    path = tmp_path / "orders.evalset.json"
    studio.pick_agent("order_desk").start()
    studio.add_error_rule("find_order", 503, "The shop's system is down.")
    studio.ask("Where is order A-1002?")
    studio.wait_for_status("Completed")
    assert sum("injected" in step for step in studio.steps) == 2
    expect(studio.decision).to_contain_text("not available")
    studio.export_to(path, "injected")

    injected = calls_of(case_of(path, "injected"))
    fault = {"error_code": 503, "error_message": "The shop's system is down."}
    assert injected == [("find_order", {"order_id": "A-1002"}, fault)] * 2
    outcome = run_adk_eval(DEMOS_DIR / "order_desk", path, start=start_program)
    assert trajectory_scores(outcome) == {"injected": 0.0}, outcome.output[-3000:]


@pytest.mark.long
def test_the_travel_planner(studio: Studio, tmp_path: Path) -> None:
    """Parallel calls of the root and of a nested agent wait together and are answered in any order.

    Two agents take over after each other. The trace keeps the order of the calls, and passes.
    """
    path = tmp_path / "trips.evalset.json"
    studio.pick_agent("travel_planner").start(TRIP)
    studio.turn_to("look_up_entry_rules")
    studio.run_real()
    studio.wait_for_pause("get_weather").write_response(
        {"city": "Rome", "outlook": "sunny", "high": 27, "low": 16}
    )
    studio.wait_for_pause("search_flights")
    expect(studio.keyed("decision_count")).to_contain_text("2 calls waiting")
    studio.turn_to("search_flights \u00b7 Rome")
    studio.write_response({"flights": [{"flight_id": "BACK-1", "price": 40}]})
    studio.wait_for_pause("search_flights").run_real()
    studio.wait_for_pause("search_hotels").run_real()
    studio.wait_for_status("Completed")
    studio.export_to(path, "trip")

    case = case_of(path, "trip")
    assert tools_of(case) == [
        "get_weather",
        "entry_advisor",
        "transfer_to_agent",
        "search_flights",
        "search_flights",
        "transfer_to_agent",
        "search_hotels",
    ]
    calls = calls_of(case)
    assert calls[0][2]["high"] == 27
    assert calls[3][1]["origin"] == "Oslo"
    assert calls[4][2] == {"flights": [{"flight_id": "BACK-1", "price": 40}]}

    add_changed_case(path, "trip", 6, city="Milan")
    outcome = run_adk_eval(DEMOS_DIR / "travel_planner", path)
    assert trajectory_scores(outcome) == {"trip": 1.0, "changed": 0.0}, outcome.output[-3000:]


@pytest.mark.long
def test_the_expense_approver(studio: Studio, tmp_path: Path) -> None:
    """The real tools' answers make a case that passes, and a line of a form changes what is paid and decided."""
    path = tmp_path / "expenses.evalset.json"
    studio.pick_agent("expense_approver").start(EXPENSES)
    for tool in ("check_policy", "get_budget", "reimburse"):
        studio.wait_for_pause(tool).run_real()
    studio.wait_for_status("Completed")
    studio.export_to(path, "real")
    _author_by_form(studio, path)

    real, formed = calls_of(case_of(path, "real")), calls_of(case_of(path, "formed"))
    assert real[2][1]["payment"] == {"amount": 240.0, "currency": "EUR", "method": "bank_transfer"}
    assert [line["allowed_amount"] for line in formed[0][2]["lines"]] == [100.0, 75.0]
    assert formed[2][1]["payment"]["amount"] == 175.0
    assert json.loads(answer_of(case_of(path, "formed")))["approved_amount"] == 175.0

    add_changed_case(path, "real", 2, employee_id="E-8")
    outcome = run_adk_eval(DEMOS_DIR / "expense_approver", path)
    assert trajectory_scores(outcome) == {"real": 1.0, "formed": 0.0, "changed": 0.0}, outcome.output[-3000:]


def _author_by_form(studio: Studio, path: Path) -> None:
    studio.click("new_session")
    studio.pick_agent("expense_approver").start(EXPENSES)
    lines = [
        {"line": number, "finding": "ok", "allowed_amount": amount, "explanation": ""}
        for number, amount in ((1, 180), (2, 75))
    ]
    studio.wait_for_pause("check_policy")
    studio.like("response_").get_by_role("textbox").fill(json.dumps({"lines": lines}))
    studio.choose("style_", "Form")
    studio.decision.get_by_label("allowed_amount").first.fill("100")
    studio.accept_draft()
    studio.wait_for_pause("get_budget").run_real()
    studio.wait_for_pause("reimburse").run_real()
    studio.wait_for_status("Completed")
    studio.export_to(path, "formed")


@pytest.mark.long
def test_a_payment_that_must_be_confirmed(studio: Studio, tmp_path: Path) -> None:
    """The session pauses for the user's word; with a no the tool is never asked, with a yes, after an undo, it is."""
    path = tmp_path / "confirmed.evalset.json"
    studio.pick_agent("expense_approver").start(LARGE_EXPENSE)
    studio.wait_for_pause("check_policy").run_real()
    studio.wait_for_pause("get_budget").run_real()
    studio.wait_for_pause("asks for confirmation")
    expect(studio.decision).to_contain_text("640")
    studio.reject()
    studio.wait_for_status("Completed")
    studio.export_to(path, "rejected")
    studio.act(studio.button("undo_step"))
    studio.wait_for_pause("asks for confirmation")
    studio.confirm()
    studio.wait_for_pause("reimburse").run_real()
    studio.wait_for_status("Completed")
    studio.export_to(path, "approved")
    for verdict in ("rejected", "approved"):
        case = case_of(path, verdict)
        assert json.loads(answer_of(case))["verdict"] == verdict
        assert "reimburse" in tools_of(case)
