"""Results as tables: a pandas DataFrame, or CSV. A row for each run of a case, each finding, each metric, or each case of a set.

    frame = result_table(verify(path))                 # columns: eval_id, status, run, passed, two per check (score, status), verdict, ...
    Path("cases.csv").write_text(table_csv(path))      # an eval set: its cases with their turns, calls, first query and review

The columns and their order are the same for every result of a kind, so that tables of several runs can be put together.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from evalset.adk_runs.eval_results import AdkCaseResult, MetricResult, RunResults
from evalset.doctor.model import Examination
from evalset.editing.opened_set import CaseRow
from evalset.editing.sidecars import NO_REVIEW, CaseReview
from evalset.verify.results import CaseResult, RunResult, Verification
from simulator.base.validation_words import check_kind

Cell: TypeAlias = str | int | float | bool | None
Row: TypeAlias = dict[str, Cell]
Result: TypeAlias = Verification | Examination | RunResults | Sequence[CaseRow] | Path | str
"""What can be laid out: a verification, an examination, results of `adk eval`, or the cases of an eval set (or its path)."""
Reviews: TypeAlias = Mapping[str, CaseReview]
"""Reviews by the eval ids of their cases."""

_RUN = ("eval_id", "agent", "status", "run", "passed", "models")
_DIVERGENCE = ("turn", "step", "what", "verdict", "action", "sentence")
_FINDING = ("file", "line", "column", "eval_id", "severity", "code", "place", "meaning", "remedy", "count")
_METRIC = ("eval_id", "status", "metric", "score", "threshold", "metric_status", "problem")
_CASE = ("eval_id", "query", "turns", "tools", "agents", "rubrics", "is_scenario")
_REVIEW = ("review_status", "reviewer")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a text begins that a spreadsheet would calculate."""


def result_table(result: Result, *, reviews: Reviews | None = None) -> Any:
    """Return a result as a pandas DataFrame; turns and steps are counted from 1, what is absent is missing.

    Args:
        result: The result.
        reviews: The reviews of cases, where the cases of an eval set are laid out; by default those beside its path.

    Raises:
        EvalSetError: The path is no eval set that can be read.
        OSError: The path cannot be read.
    """
    import pandas as pd  # type: ignore[import-untyped] # noqa: PLC0415 - it takes a third of a second, which CSV does not need

    columns, rows = _laid_out(result, reviews)
    return pd.DataFrame(rows, columns=columns)


def table_csv(result: Result, *, reviews: Reviews | None = None) -> str:
    """Return a result as CSV (RFC 4180), with a line of column names.

    A text that a spreadsheet would calculate gets an apostrophe before it, as tools and models wrote some of them.
    Arguments as for `result_table`.

    Raises:
        EvalSetError: As for `result_table`.
        OSError: As for `result_table`.
    """
    columns, rows = _laid_out(result, reviews)
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\r\n", restval="")
    writer.writeheader()
    writer.writerows({name: _safe(cell) for name, cell in row.items()} for row in rows)
    # A file's name may hold bytes that are no text.
    return text.getvalue().encode(errors="backslashreplace").decode()


def _safe(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def _laid_out(result: Result, reviews: Reviews | None) -> tuple[list[str], list[Row]]:
    if isinstance(result, Verification):
        checks = list(
            dict.fromkeys(check.name for case in result.cases for run in case.runs for check in run.checks)
        )
        measured = [column for name in checks for column in (name, f"{name}_status")]
        columns = [*_RUN, *measured, *_DIVERGENCE, "error", "seconds", "unknown"]
        return columns, [row for case in result.cases for row in _runs(case)]
    if isinstance(result, Examination):
        return [*_FINDING], [
            finding.model_dump(mode="json", include=set(_FINDING)) for finding in result.findings
        ]
    if isinstance(result, RunResults):
        return [*_METRIC], [row for case in result.cases for row in _metrics(case)]
    if isinstance(result, (Path, str)):
        from evalset.editing.opened_set import open_set  # noqa: PLC0415 - only here is a file read
        from evalset.editing.sidecars import open_reviews  # noqa: PLC0415 - as above

        reviews = open_reviews(result).reviews if reviews is None else reviews
        result = open_set(Path(result)).rows
    check_kind(result, "__iter__", "a result, or the path of an eval set")
    return [*_CASE, *_REVIEW], [_case(row, (reviews or {}).get(row.eval_id, NO_REVIEW)) for row in result]


def _runs(case: CaseResult) -> Iterator[Row]:
    about: Row = {
        "eval_id": case.eval_id,
        "agent": case.agent,
        "status": case.status,
        "unknown": ", ".join(case.unknown),
    }
    if not case.runs:
        yield {**about, "error": case.error}
    for run in case.runs:
        yield {**about, **_run(run)}


def _run(run: RunResult) -> Row:
    found: Row = {
        "run": run.number,
        "passed": run.passed,
        "models": run.models,
        "error": run.error,
        "seconds": run.seconds,
    }
    found |= {check.name: check.score for check in run.checks}
    found |= {f"{check.name}_status": check.status for check in run.checks}
    if (divergence := run.divergence) is not None:
        found |= {name: getattr(divergence, name) for name in _DIVERGENCE}
        found |= {"turn": divergence.turn + 1, "step": divergence.step + 1}
    return found


def _metrics(case: AdkCaseResult) -> Iterator[Row]:
    about: Row = {"eval_id": case.eval_id, "status": case.status, "problem": case.problem}
    if not case.metrics:
        yield about
    for metric in case.metrics:
        yield {**about, **_metric(metric)}


def _metric(metric: MetricResult) -> Row:
    found: Row = {"metric": metric.name, "score": metric.score, "threshold": metric.threshold}
    return {**found, "metric_status": metric.status, "problem": metric.problem}


def _case(row: CaseRow, review: CaseReview) -> Row:
    found: Row = {name: getattr(row, name) for name in _CASE}
    found |= {"review_status": review.status, "reviewer": review.reviewer}
    return {**found, "tools": ", ".join(row.tools), "agents": ", ".join(row.agents)}
