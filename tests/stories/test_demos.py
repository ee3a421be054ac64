"""A person authors golden traces of a demo agent in the browser, and `adk eval` judges the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.agents import DEMOS_DIR
from tests.harness.adk_process import run_adk_eval
from tests.harness.browser import Studio
from tests.harness.processes import start_program
from tests.stories.reading import (
    add_changed_case,
    answer_of,
    calls_of,
    case_of,
    trajectory_scores,
)

pytestmark = [pytest.mark.browser, pytest.mark.process]

CANCEL = "Please cancel order A-1001 and refund me."


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
