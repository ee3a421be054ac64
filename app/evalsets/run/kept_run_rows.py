"""Lays kept runs out for tables and the plot: plain text in every cell, which nothing in it can turn into anything else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from app.forms.safe_labels import literal
from app.server.viewer_time import viewer_time
from evalset.eval_config.config_edits import criteria_words
from evalset.kept_runs.kept_run import KeptRun, KeptVerdict, RunChange, RunComparison, changes_over_time

MOST_RUNS, MOST_CASES = 30, 30
"""So many runs and cases the plot shows; of more the newest runs, and the cases that changed last."""

VERDICTS: Mapping[KeptVerdict, tuple[str, str]] = {
    "passed": ("passed", "#2f9e6e"),
    "flaky": ("flaky", "#e0a100"),
    "failed": ("failed", "#d4495f"),
    "error": ("could not run", "#8f6bd8"),
    "stopped": ("stopped", "#8a8f98"),
}
"""The words and the colour of each verdict, on a light page and a dark one."""

CHANGES: Mapping[RunChange, str] = {
    "worse": "▼ worse",
    "flaky": "~ flaky",
    "better": "▲ better",
    "new": "+ new",
    "gone": "- gone",
    "same": "same",
}
_SHOWN_CHANGES: frozenset[RunChange] = frozenset({"worse", "flaky", "better", "new"})


class PlottedRuns(NamedTuple):
    """What the plot shows: a row for each case in each run, the cases in their order, and how many are left out."""

    rows: list[dict[str, str]]
    cases: list[str]
    left_out: int


def run_label(run: KeptRun) -> str:
    """Return when a run ended, in the viewer's time, and what ran it."""
    return f"{_time(run)}  {run.engine}"


def _time(run: KeptRun) -> str:
    try:
        return viewer_time(datetime.fromisoformat(run.at).astimezone()).strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return literal(run.at)


def run_rows(runs: Sequence[KeptRun]) -> list[dict[str, Any]]:
    """Return a row for each run, the newest first; the runs come oldest first."""
    rows = [_run_row(run, found) for run, found in zip(runs, changes_over_time(runs), strict=True)]
    return rows[::-1]


def _run_row(run: KeptRun, found: RunComparison | None) -> dict[str, Any]:
    return {
        "run": _time(run),
        "engine": run.engine,
        "results": run.counts,
        "criteria": literal(_criteria(run)),
        "worse": _count(found, "worse"),
        "flaky": _count(found, "flaky"),
        "better": _count(found, "better"),
        "changed since": literal(", ".join(found.changed)) if found else "",
        "google-adk": literal(run.adk),
        "models": literal(", ".join(run.models)),
        "network": literal(run.network.sentence.removeprefix("network: ") if run.network else ""),
        "seconds": run.seconds or None,
    }


def _criteria(run: KeptRun) -> str:
    """Name the criteria of `adk eval`, and of a verification what was chosen in place of the usual."""
    if run.engine == "adk eval":
        return criteria_words(run.criteria)
    return ", ".join(f"{name} {json.dumps(value)}" for name, value in run.criteria.items())


def _count(found: RunComparison | None, change: RunChange) -> str:
    return str(found.count(change) or "") if found else ""


def compared_rows(found: RunComparison) -> list[dict[str, str]]:
    """Return a row for each case that is not the same, those that got worse first."""
    return [
        {
            "case": literal(case.eval_id),
            "change": CHANGES[case.change],
            "result": literal(case.words),
            "what happened": literal(case.after.why if case.after is not None else ""),
        }
        for case in found.cases
        if case.change != "same"
    ]


def plotted(runs: Sequence[KeptRun]) -> PlottedRuns:
    """Return what the plot shows of runs, which come oldest first: the cases that changed last come first."""
    found = changes_over_time(runs)
    shown, comparisons = runs[-MOST_RUNS:], found[-MOST_RUNS:]
    last: dict[str, int] = {}
    for place, (run, comparison) in enumerate(zip(shown, comparisons, strict=True)):
        last |= {case.eval_id: last.get(case.eval_id, -1) for case in run.cases}
        last |= (
            {each.eval_id: place for each in comparison.cases if each.change in _SHOWN_CHANGES}
            if comparison
            else {}
        )
    chosen = sorted(last, key=lambda eval_id: -last[eval_id])[:MOST_CASES]
    rows = [
        row
        for number, (run, comparison) in enumerate(
            zip(shown, comparisons, strict=True), len(runs) - len(shown) + 1
        )
        for row in _plot_rows(f"{number}: {_time(run)[5:]}", run, comparison, chosen)
    ]
    return PlottedRuns(rows, [*map(literal, chosen)], len(last) - len(chosen))


def _plot_rows(
    label: str, run: KeptRun, comparison: RunComparison | None, chosen: Sequence[str]
) -> list[dict[str, str]]:
    changes = {each.eval_id: each.change for each in comparison.cases} if comparison else {}
    cases = {case.eval_id: case for case in run.cases}
    rows = []
    for eval_id in chosen:
        if (case := cases.get(eval_id)) is not None:
            change = changes.get(eval_id, "same")
            rows.append(
                {
                    "run": label,
                    "case": literal(eval_id),
                    "verdict": VERDICTS[case.verdict][0],
                    "change": CHANGES[change],
                    "mark": CHANGES[change][0] if change in _SHOWN_CHANGES else "",
                    "why": literal(case.why[:200]),
                }
            )
    return rows


def plot_spec(rows: Sequence[Mapping[str, str]], cases: Sequence[str]) -> dict[str, Any]:
    """Return the plot for Vega-Lite: a field for each case in each run, in the colour of its verdict, with a mark where it changed."""
    fields = ("case", "run", "verdict", "change", "why")
    axis = {"type": "nominal", "sort": None, "title": None}
    marks = {"type": "text", "fontWeight": "bold", "color": "#111418", "fontSize": 13}
    return {
        "layer": [
            {"mark": {"type": "rect", "cornerRadius": 3}, "encoding": {"color": _color(rows)}},
            {"mark": marks, "encoding": {"text": {"field": "mark", "type": "nominal"}}},
        ],
        "encoding": {
            "x": {"field": "run", **axis, "axis": {"labelAngle": -35}},
            "y": {"field": "case", **axis, "sort": list(cases), "axis": {"labelLimit": 220}},
            "tooltip": [{"field": name, "type": "nominal", "title": name} for name in fields],
        },
        "config": {"scale": {"bandPaddingInner": 0.08}},
    }


def _color(rows: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    used = {row["verdict"] for row in rows}
    colors = {words: color for words, color in VERDICTS.values() if words in used}
    scale = {"domain": list(colors), "range": list(colors.values())}
    legend = {"orient": "top", "title": None}
    return {"field": "verdict", "type": "nominal", "scale": scale, "legend": legend}
