"""Results of `adk eval` as rows of plain text."""

from __future__ import annotations

from app.evalsets.run.eval_tables import call_lines, case_rows, fitting, metric_rows, rubric_rows, unevaluated
from evalset.adk_runs.eval_results import (
    AdkCaseResult,
    CallMade,
    MetricResult,
    RubricResult,
    RunResults,
    Status,
)


def case(eval_id: str, status: Status, *metrics: MetricResult) -> AdkCaseResult:
    """Return a case."""
    return AdkCaseResult(eval_id=eval_id, status=status, metrics=metrics)


TRAJECTORY = MetricResult(name="tool_trajectory_avg_score", score=0.5, threshold=1.0, status="failed")
SAFETY = MetricResult(name="safety_v1", threshold=0.8, status="not evaluated", problem="no key")
TOKENS = MetricResult(
    name="token_usage_v1", score=1200.0, status="informational", details={"total_tokens": 1200.0}
)
RESULTS = RunResults(
    cases=(case("Order-1", "failed", TRAJECTORY, SAFETY, TOKENS), case("order-2", "passed", SAFETY))
)


def test_a_row_for_each_case_and_a_column_for_each_metric() -> None:
    """Scores with their verdicts, and words where there is none."""
    assert case_rows(RESULTS.cases, RESULTS.metric_names) == [
        {
            "case": "Order-1",
            "verdict": "✗ failed",
            "tool_trajectory_avg_score": "✗ 0.5",
            "safety_v1": "not evaluated",
            "token_usage_v1": "1200",
        },
        {
            "case": "order-2",
            "verdict": "✓ passed",
            "tool_trajectory_avg_score": "",
            "safety_v1": "not evaluated",
            "token_usage_v1": "",
        },
    ]


def test_metrics_without_a_score_are_counted() -> None:
    """ADK passes a case all the same; what only informs is not meant."""
    assert unevaluated(RESULTS) == {"safety_v1": 2}


def test_metrics_and_rubrics_say_why() -> None:
    """A problem first, else what was measured beside the score."""
    rows = metric_rows(RESULTS.cases[0].metrics)
    assert [row["why"] for row in rows] == ["", "no key", "total 1200"]
    assert [row["threshold"] for row in rows] == ["1", "0.8", ""]
    rubric = RubricResult(rubric_id="polite", score=0.0, rationale="It shouts.\u202e")
    judged = MetricResult(name="quality", status="failed", score=0.0, threshold=0.5, rubrics=(rubric,))
    (row,) = rubric_rows([judged, TRAJECTORY])
    assert (row["rubric"], row["score"], row["reasons"]) == ("polite", "0", "It shouts.\\u202e")


def test_cases_are_found_by_id_and_verdict() -> None:
    """Without regard to upper and lower case."""
    assert [found.eval_id for found in fitting(RESULTS, " ORDER", "all")] == ["Order-1", "order-2"]
    assert [found.eval_id for found in fitting(RESULTS, "order", "passed")] == ["order-2"]


def test_calls_are_written_as_in_python() -> None:
    """One in a line."""
    calls = (CallMade(tool="find", arguments={"id": "ü", "deep": {"a": [1]}}), CallMade(tool="stop"))
    assert call_lines(calls) == 'find(id="ü", deep={"a": [1]})\nstop()'
    assert call_lines(()) == "(no calls)"
