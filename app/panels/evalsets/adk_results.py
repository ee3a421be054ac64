"""The detailed results of an `adk eval`: a table of the cases, and of one of them its metrics, its rubrics and its turns."""

import streamlit as st

from app.bench import Bench
from app.eval_tables import MARKS, call_lines, case_rows, fitting, metric_rows, rubric_rows, unevaluated
from app.labels import literal, safe_label
from app.panels.evalsets.remembered import keep_option, option_key
from evalset.adk_runs.results import CaseResult, RunResults, TurnResult

_VERDICTS = ("all", "failed", "passed", "not evaluated")
_FEW_ROWS, _TABLE_HEIGHT = 7, 300
_MOST_CHOICES = 1_000


def adk_results(bench: Bench, results: RunResults, name: str) -> None:
    """Draw results; `name` tells the inputs of two results apart."""
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="bottom", key=f"filter_{name}"):
        text = st.text_input(
            "Find a case", key=option_key(bench, f"{name}_find", ""), placeholder="Part of its id", width=260
        )
        verdict = st.selectbox(
            "Verdict", _VERDICTS, key=option_key(bench, f"{name}_verdict", "all"), width=160
        )
    keep_option(bench, f"{name}_find", text or "")
    keep_option(bench, f"{name}_verdict", verdict)
    found = fitting(results, text or "", verdict)
    if not found:
        st.caption("No case is like this.")
        return
    for name_of, count in unevaluated(results).items():
        st.warning(
            f"`{safe_label(name_of)}` was not evaluated in {count} cases, and fails none of them for that. The output says more.",
            icon=":material/warning:",
        )
    rows = case_rows(found, results.metric_names)
    st.dataframe(
        rows,
        hide_index=True,
        height="content" if len(rows) <= _FEW_ROWS else _TABLE_HEIGHT,
        alt="The cases with their verdicts and scores",
    )
    _one(bench, found, name)


def _one(bench: Bench, found: list[CaseResult], name: str) -> None:
    """Draw one case, at first one that did not pass."""
    ids = [case.eval_id for case in found[:_MOST_CHOICES]]
    first = next((case.eval_id for case in found if case.status != "passed"), ids[0])
    before = bench.options.get(f"{name}_case")
    shown = before if before in ids else first if first in ids else ids[0]
    bench.options[f"{name}_case"] = shown
    chosen = st.selectbox(
        "Case", ids, key=option_key(bench, f"{name}_case", shown), format_func=literal, width=420
    )
    keep_option(bench, f"{name}_case", chosen)
    case = next(case for case in found if case.eval_id == chosen)
    if case.problem:
        st.error("The agent did not come through, so nothing was measured.", icon=":material/error:")
        st.code(literal(case.problem), language=None, wrap_lines=True)
    elif not case.turns:
        st.caption("No turn of it was measured; the output says why.")
    if case.metrics:
        st.dataframe(metric_rows(case.metrics), hide_index=True, alt="The metrics of the case")
    if rubrics := rubric_rows(case.metrics):
        st.dataframe(rubrics, hide_index=True, alt="What the judges said of each rubric")
    for number, turn in enumerate(case.turns, 1):
        _turn(turn, number, name)


def _turn(turn: TurnResult, number: int, name: str) -> None:
    failed = any(metric.status == "failed" for metric in turn.metrics)
    body = st.expander(
        f"Turn {number}: {safe_label(turn.asked, 90)}",
        expanded=failed,
        icon=":material/close:" if failed else ":material/check:",
        key=f"turn_{name}_{number}",
        on_change="rerun",
    )
    if not body.open:
        return
    with body:
        left, right = st.columns(2, gap="small")
        with left:
            st.caption("Expected")
            if turn.expected_calls is None:
                st.caption("Nothing: a simulated user has played it.")
            else:
                st.code(literal(call_lines(turn.expected_calls)), language="python", wrap_lines=True)
                st.text(literal(turn.expected_text or "(no text)"))
        with right:
            st.caption("Actual" if _is_same(turn) else "Actual, which differs")
            st.code(literal(call_lines(turn.actual_calls)), language="python", wrap_lines=True)
            st.text(literal(turn.actual_text or "(no text)"))
        if turn.metrics:
            st.dataframe(metric_rows(turn.metrics), hide_index=True, alt=f"The metrics of turn {number}")
        if rubrics := rubric_rows(turn.metrics):
            st.dataframe(rubrics, hide_index=True, alt=f"What the judges said of turn {number}")


def _is_same(turn: TurnResult) -> bool:
    same_calls = turn.expected_calls is None or turn.expected_calls == turn.actual_calls
    return same_calls and turn.expected_text in {None, turn.actual_text}


def summary(results: RunResults) -> str:
    """Say in a few words how it went."""
    counts = {status: sum(case.status == status for case in results.cases) for status in MARKS}
    told = [f"{count} {status}" for status, count in counts.items() if count]
    return ", ".join(told) or "no case"
