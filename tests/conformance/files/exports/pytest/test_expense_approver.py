"""Replays the golden traces of expense_approver.evalset.json: no tool runs and no model is asked, so this needs no key."""

from pathlib import Path

import pytest

from evalset.verify import verify
from evalset.verify.report import report

EVAL_SET = Path(__file__).with_name('expense_approver.evalset.json')


@pytest.mark.parametrize(
    "eval_id",
    [
        'expense_approver_case',
    ],
)
def test_golden_trace(eval_id: str) -> None:
    """The agent makes the same calls in the same order, and says the same in the end."""
    verification = verify(EVAL_SET, cases=[eval_id], models="recorded")
    assert verification.status == "passed", report(verification)
