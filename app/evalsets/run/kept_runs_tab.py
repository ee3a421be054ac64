"""The tab of the kept runs of an eval set, those of verify and of `adk eval`: as rows and a plot over time, and two of them compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

from app.evalsets.choices_panel import agent_of_set, keep_option, key_of, option_key
from app.evalsets.run.adk_eval_tab import adk_results
from app.evalsets.set_context import SetFacts
from app.evalsets.workspace import Workspace
from app.forms.common_panel import problem
from app.forms.safe_labels import literal
from app.live.agent_catalogue import catalogue
from app.server.owners import LOCAL
from app.server.viewer_time import viewer_time
from evalset.adk_runs.eval_results import HISTORY, ResultsError, RunResults, kept_results, read_results
from evalset.eval_config.config_edits import criteria_words
from evalset.kept_runs import CHANGES as ORDER
from evalset.kept_runs import (
    KeptRun,
    KeptVerdict,
    RunChange,
    RunComparison,
    changes_over_time,
    compare_runs,
    kept_run_of_adk,
    run_files,
    runs_folder,
)
from simulator.base.documents import read_file

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


_COLORS: dict[RunChange, str] = {
    "worse": "red",
    "flaky": "orange",
    "better": "green",
    "new": "blue",
    "gone": "gray",
    "same": "gray",
}
_FEW_ROWS, _TABLE_HEIGHT, _FIELD_HEIGHT, _PLOT_HEAD = 8, 320, 26, 120


class ShownRun(NamedTuple):
    """A run in the tab: its file, what is compared, and ADK's own results where it is one of `adk eval`."""

    path: Path
    run: KeptRun
    results: RunResults | None = None


def kept_runs_tab(workspace: Workspace, facts: SetFacts) -> None:
    """Draw the tab."""
    files = run_files(workspace.eval_set)
    ours = (ShownRun(file.path, file.run) for file in files if file.run is not None)
    shown = sorted((*ours, *_of_adk(workspace, facts)), key=lambda each: each.run.at)
    if broken := [file.problem for file in files if file.run is None]:
        problem("These files are no runs that can be used. They are left as they are.", "\n".join(broken))
    if not shown:
        st.caption(
            "No kept runs yet. Choose **Keep run** after Verify or `adk eval`, or use `golden-trace verify --save`. Results of `adk "
            "eval` that ADK has kept for the agent are here, too."
        )
        return
    runs = [each.run for each in shown]
    _plot(workspace, runs)
    rows = run_rows(runs)
    st.dataframe(
        rows,
        hide_index=True,
        height="content" if len(rows) <= _FEW_ROWS else _TABLE_HEIGHT,
        alt="Kept runs, the newest first, with what changed from the run before",
    )
    with st.container(key=key_of(workspace, "runs_folder")):
        st.text(literal(str(runs_folder(workspace.eval_set))), wrap=False)
    _compared(workspace, shown)


def _of_adk(workspace: Workspace, facts: SetFacts) -> Iterator[ShownRun]:
    """Yield the results of this set's cases that ADK has kept for the agent; where several people use the server, none."""
    ids = set(facts.eval_ids)
    for folder in _histories(workspace, facts) if workspace.owner == LOCAL else ():
        for kept in kept_results(folder):
            results = _results(kept.path, kept.written)
            if results is not None and any(case.eval_id in ids for case in results.cases):
                yield ShownRun(kept.path, kept_run_of_adk(results, workspace.eval_set.name), results)


def _histories(workspace: Workspace, facts: SetFacts) -> set[Path]:
    """Return the folders of ADK's results: that of the set's own folder, and that of its agent's once it is loaded."""
    folders = {workspace.eval_set.parent / HISTORY}
    name = agent_of_set(workspace, facts)
    entry = next((each for each in catalogue().entries() if name and each.name == name), None)
    if entry is not None and entry.config is not None:
        folders.add(entry.config.resolve_eval_set_path().parent / HISTORY)
    return folders


@lru_cache(maxsize=64)
def _results(path: Path, _: float) -> RunResults | None:
    try:
        return read_results(read_file(path))
    except (ResultsError, OSError):  # another program's file, and no promise of ours
        return None


def _plot(workspace: Workspace, runs: list[KeptRun]) -> None:
    rows, cases, left_out = plotted(runs)
    if not rows:
        return
    st.vega_lite_chart(
        rows,
        plot_spec(rows, cases),
        height=_PLOT_HEAD + _FIELD_HEIGHT * len(cases),
        key=key_of(workspace, "runs_plot"),
        alt="The verdict of each case in each run, the oldest on the left, with a mark where it changed",
    )
    if left_out:
        st.caption(f"{left_out} more cases, which changed earlier or not at all, are not shown.")


def _compared(workspace: Workspace, shown: list[ShownRun]) -> None:
    """Draw two runs compared: the newest one, and the one before it of the same engine, where there are two."""
    newest = shown[-1]
    if len(shown) == 1:
        st.caption("To compare, keep a second run: run the set again and choose **Keep run**.")
        _results_of(workspace, newest, "this run")
        return
    by_name = {str(each.path): each for each in reversed(shown)}
    earlier = [str(each.path) for each in shown[:-1] if each.run.engine == newest.run.engine]
    left, right = st.columns(2, gap="small")
    with left:
        before = _choice(workspace, "Earlier run", "runs_before", by_name, earlier[-1] if earlier else None)
    with right:
        after = _choice(workspace, "Later run", "runs_after", by_name, str(newest.path))
    if after is None:
        return
    if before is None:
        st.caption(f"To compare, keep another run of `{after.run.engine}`, or choose an earlier run.")
    elif before.path == after.path:
        st.caption("To compare, choose two different runs.")
    else:
        _difference(before.run, after.run)
    _results_of(workspace, after, "the later run")


def _results_of(workspace: Workspace, shown: ShownRun, which: str) -> None:
    """Draw what ADK itself says of a run of `adk eval`."""
    if shown.results is not None:
        with st.expander(f"Results of {which}", key=key_of(workspace, "runs_adk"), type="compact"):
            adk_results(workspace, shown.results, "earlier")


def _choice(
    workspace: Workspace, label: str, name: str, by_name: dict[str, ShownRun], usual: str | None
) -> ShownRun | None:
    """Draw the choice of a run; one that nobody has chosen follows what is kept next, and None where there is nothing to choose by itself."""
    if workspace.options.get(name) not in by_name:
        workspace.options.pop(name, None)
    chosen = st.selectbox(
        label,
        list(by_name),
        index=0 if usual else None,
        placeholder="Choose a run",
        key=option_key(workspace, name, usual),
        format_func=lambda each: f"{run_label(by_name[each].run)}: {by_name[each].run.counts}",
    )
    keep_option(workspace, name, chosen)
    if chosen == usual:
        workspace.options.pop(name, None)
    return by_name[chosen] if chosen else None


def _difference(before: KeptRun, after: KeptRun) -> None:
    found = compare_runs(before, after)
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="runs_counts"):
        for change in ORDER:
            if count := found.count(change):
                st.badge(f"{count} {CHANGES[change]}", color=_COLORS[change])  # type: ignore[arg-type] # the colours are those of badges
        if found.changed:
            st.text(literal(f"Changed: {', '.join(found.changed)}"))
        else:
            st.text("Set, recording, agent, google-adk and golden-trace-studio: no change known")
    rows = compared_rows(found)
    if rows:
        st.dataframe(
            rows,
            hide_index=True,
            height="content" if len(rows) <= _FEW_ROWS else _TABLE_HEIGHT,
            alt="Cases that differ between the two runs",
        )
    else:
        st.caption("All cases gave the same result.")
