"""Lays the results of `adk eval` out for tables: plain text in every cell, which nothing in it can turn into anything else."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from app.forms.safe_labels import literal
from evalset.adk_runs.eval_results import AdkCaseResult, CallMade, MetricResult, RunResults, Status

MARKS: dict[Status, str] = {
    "passed": "✓ passed",
    "failed": "✗ failed",
    "not evaluated": "not evaluated",
    "informational": "informs",
}


def case_rows(cases: Sequence[AdkCaseResult], metric_names: Sequence[str]) -> list[dict[str, str]]:
    """Return a row for each case: its verdict, and each metric's score."""
    return [
        {
            "case": literal(case.eval_id),
            "verdict": MARKS[case.status],
            **{literal(name): _cell(case.metric(name)) for name in metric_names},
        }
        for case in cases
    ]


def unevaluated(results: RunResults) -> dict[str, int]:
    """Count by metric in how many cases it has no score though it has a threshold: ADK passes such a case all the same."""
    missed = (
        metric.name
        for case in results.cases
        for metric in case.metrics
        if metric.status == "not evaluated" and metric.threshold is not None
    )
    return dict(Counter(missed))


def _cell(metric: MetricResult | None) -> str:
    if metric is None:
        return ""
    if metric.score is None:
        return MARKS[metric.status]
    mark = {"passed": "✓ ", "failed": "✗ "}.get(metric.status, "")
    return f"{mark}{_number(metric.score)}"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def metric_rows(metrics: Sequence[MetricResult]) -> list[dict[str, str]]:
    """Return a row for each metric of a case or a turn: score, threshold, verdict, and why it has none."""
    return [
        {
            "metric": literal(metric.name),
            "score": "" if metric.score is None else _number(metric.score),
            "threshold": "" if metric.threshold is None else _number(metric.threshold),
            "verdict": MARKS[metric.status],
            "why": literal(metric.problem or _measured(metric)),
        }
        for metric in metrics
    ]


def _measured(metric: MetricResult) -> str:
    names = (
        (name.removesuffix("_tokens").replace("_", " "), value) for name, value in metric.details.items()
    )
    return ", ".join(f"{name} {_number(value)}" for name, value in names)


def rubric_rows(metrics: Sequence[MetricResult]) -> list[dict[str, str]]:
    """Return a row for each rubric that a judge has spoken of."""
    return [
        {
            "metric": literal(metric.name),
            "rubric": literal(rubric.text or rubric.rubric_id),
            "score": "" if rubric.score is None else _number(rubric.score),
            "reasons": literal(rubric.rationale),
        }
        for metric in metrics
        for rubric in metric.rubrics
    ]


def call_lines(calls: Sequence[CallMade]) -> str:
    """Write calls, one after the other, as they would stand in Python."""
    return "\n".join(f"{call.tool}({_arguments(call)})" for call in calls) or "(no calls)"


def _arguments(call: CallMade) -> str:
    return ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items()
    )


def fitting(results: RunResults, text: str, verdict: str) -> list[AdkCaseResult]:
    """Return the cases whose id holds a text, and that have a verdict; "all" for any."""
    wanted = text.strip().lower()
    return [
        case for case in results.cases if wanted in case.eval_id.lower() and verdict in {"all", case.status}
    ]
