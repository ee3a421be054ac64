"""The tab of the kept runs of an eval set, those of verify and of `adk eval`: over time, and two of them compared."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from app.evalsets.choices_panel import agent_of_set, keep_option, key_of, option_key
from app.evalsets.run.adk_eval_tab import adk_results
from app.evalsets.run.kept_run_rows import (
    CHANGES,
    compared_rows,
    plot_spec,
    plotted,
    run_label,
    run_rows,
)
from app.evalsets.set_facts import SetFacts
from app.evalsets.workspace import Workspace
from app.forms.common_panel import problem
from app.forms.safe_labels import literal
from app.live.agent_catalogue import catalogue
from app.server.owners import LOCAL
from evalset.adk_runs.eval_results import HISTORY, ResultsError, RunResults, kept_results, read_results
from evalset.kept_runs.kept_run import CHANGES as ORDER
from evalset.kept_runs.kept_run import KeptRun, RunChange, compare_runs
from evalset.kept_runs.run_files import kept_run_of_adk, run_files, runs_folder
from simulator.base.documents import read_file

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
