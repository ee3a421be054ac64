"""Replays the golden traces of order_desk.evalset.json: no tool runs and no model is asked, so this needs no key."""

from pathlib import Path

import pytest

from evalset.verify import verify
from evalset.verify.report import report

EVAL_SET = Path(__file__).with_name('order_desk.evalset.json')


@pytest.mark.parametrize(
    "eval_id",
    [
        'order_desk_case',
    ],
)
def test_golden_trace(eval_id: str) -> None:
    """The agent makes the same calls in the same order, and says the same in the end."""
    verification = verify(EVAL_SET, cases=[eval_id], models="recorded")
    assert verification.status == "passed", report(verification)
