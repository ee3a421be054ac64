"""The tab that runs `adk eval` itself on an eval set: its criteria, how it is run, how far it is, and what it found."""

from __future__ import annotations

import streamlit as st

from app.evalsets.choices_panel import (
    agent_and_cases,
    agent_loaded,
    case_table,
    csv_button,
    keep_button,
    keep_option,
    key_of,
    models_choice,
    option_key,
    unrecorded_choice,
)
from app.evalsets.criteria.criteria_panel import criteria_editor
from app.evalsets.run.adk_eval_jobs import (
    MARKS,
    AdkEvalOptions,
    call_lines,
    case_rows,
    fitting,
    metric_rows,
    rubric_rows,
    spec_of,
    unevaluated,
)
from app.evalsets.set_context import SetFacts, environment_of
from app.evalsets.stale_result_panel import is_out_of_date, out_of_date
from app.evalsets.workspace import Workspace, workspaces
from app.forms.common_panel import problem
from app.forms.safe_labels import literal, safe_label
from app.live.agent_catalogue import catalogue
from app.server.viewer_time import short_time
from app.session.named_view_widgets import named_views
from app.session.page_fragments import fragment
from app.session.shell_texts import eval_command_of
from evalset.adk_runs.eval_process import AdkEvalRun, RunView
from evalset.adk_runs.eval_results import AdkCaseResult, RunResults, TurnResult
from evalset.adk_runs.installed import INSTALL, missing
from evalset.kept_runs import kept_run_of_eval
from evalset.replay.model_choice import BY_HAND, Models, Policy

LOOK_AGAIN_SECONDS = 0.5
COLUMNS = (1, 1.45)
HOW = ("hermetic", "real")
_HOW_WORDS = {"hermetic": "Recording", "real": "Real tools"}
_WITHOUT_RECORDING = {"hermetic": "Generated responses", "real": "Real tools"}
SIDES = ("Results", "Output")


def adk_eval_tab(workspace: Workspace, facts: SetFacts, *, unsaved: bool = False) -> None:
    """Draw the tab; `unsaved` says that the set has edits that are not saved."""
    lacking = missing()
    if lacking:
        problem(
            "`adk eval` is not fully installed. Install it where the studio runs, then restart the studio:",
            f"{INSTALL}\n\nmissing: {', '.join(lacking)}",
        )
    left, right = st.columns(COLUMNS, gap="medium")
    with left:
        choice = _choice(workspace, facts)
        _run(workspace, choice, facts, may_run=not lacking)
        criteria_editor(workspace, choice, len(facts.scenarios), agent_loaded(choice.agent))
    with right:
        _results(workspace, choice, unsaved=unsaved)


def _choice(workspace: Workspace, facts: SetFacts) -> AdkEvalOptions:
    """Draw what is run and how."""
    agent, cases = agent_and_cases(workspace, facts)
    is_recorded = environment_of(workspace.eval_set) is not None
    models: Models = BY_HAND
    unrecorded: Policy = "generate"
    if not is_recorded:
        st.caption("No recorded environment next to this set, so its tool responses cannot be replayed.")
    how = st.segmented_control(
        "Tool calls are answered by",
        HOW,
        key=option_key(workspace, "adk_how", "hermetic"),
        format_func=lambda each: (_HOW_WORDS if is_recorded else _WITHOUT_RECORDING)[each],
        required=True,
    )
    keep_option(workspace, "adk_how", how)
    hermetic = how == "hermetic"
    if hermetic and is_recorded:
        models = models_choice(workspace, "adk")
        unrecorded = unrecorded_choice(workspace, "adk")
    elif not hermetic:
        st.warning(
            "The agent's real tools run for each case. Their side effects are real.",
            icon=":material/warning:",
        )
    return AdkEvalOptions(agent=agent, cases=cases, hermetic=hermetic, models=models, unrecorded=unrecorded)


def _run(workspace: Workspace, choice: AdkEvalOptions, facts: SetFacts, *, may_run: bool) -> None:
    """Draw the buttons, and do what they say."""
    run = workspace.run
    running = run is not None and not run.view().is_over
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        began = st.button(
            "Run adk eval",
            key=key_of(workspace, "adk_run"),
            type="primary",
            icon=":material/play_arrow:",
            disabled=running
            or not may_run
            or not choice.agent
            or not facts.eval_ids
            or workspace.criteria.document is None,
        )
        if (
            running
            and st.button("Stop", key=key_of(workspace, "adk_stop"), icon=":material/stop_circle:")
            and run
        ):
            run.stop()
            run.wait(0.3)
            st.rerun()
    if said := workspace.notes.pop("adk_run", ""):
        problem("The run did not start.", said)
    if began:
        _begin(workspace, choice)


def _begin(workspace: Workspace, choice: AdkEvalOptions) -> None:
    for name in ("adk", "adk_done"):
        workspace.notes.pop(name, None)
    try:
        with st.spinner("Starting `adk eval`"):
            workspaces().start(workspace, spec_of(workspace, choice, catalogue()))
    except (
        ValueError
    ) as error:  # the agent could not be loaded, the criteria are not theirs to run, or too many run
        workspace.notes["adk_run"] = str(error)
    st.rerun()


def _results(workspace: Workspace, choice: AdkEvalOptions, *, unsaved: bool) -> None:
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False, key="head_adk_results"
    ):
        st.markdown("**adk eval**", width="content")
        run = workspace.run
        if run is not None:
            run_badge(run.view(), unsaved=unsaved)
        st.space("stretch")
        side = named_views("adk eval: view", SIDES, "adk_side", "results")
    if run is not None and not run.view().is_over:
        run_progress(run)
    match side:
        case "Output":
            _output(run)
        case _:
            _found(workspace, run, choice, unsaved=unsaved)


def run_badge(view: RunView, *, unsaved: bool) -> None:
    """Draw how a run stands, and since when; gray where that is of before a change."""
    shown = {
        "preparing": ("Preparing", "blue"),
        "running": ("Running", "blue"),
        "passed": ("All passed", "green"),
        "failed": ("Not all passed", "red"),
        "stopped": ("Stopped", "gray"),
        "broken": ("Error", "red"),
    }
    words, color = shown[view.state]
    if view.ended_at is not None:
        words = f"{words}, {short_time(view.ended_at)}"
    if view.is_over and is_out_of_date(view.measured, _eval_ids(view), unsaved=unsaved):
        words, color = f"{words}, out of date", "gray"
    st.badge(words, color=color)  # type: ignore[arg-type] # the colours are all ones that badges have


def _eval_ids(view: RunView) -> list[str]:
    """Return the cases that a run has results of; none, so that the whole files count, where it has no results."""
    return [each.eval_id for each in view.results.cases] if view.results is not None else []


def run_progress(run: AdkEvalRun) -> None:
    """Show how far a run is, and draw the page anew when it is over."""

    def look() -> None:
        view = run.view()
        if view.is_over:
            st.rerun()
        share = min(1.0, view.turns_done / view.turns) if view.turns else 0.0
        st.progress(share, text=f"{safe_label(view.words, 160)}, {view.seconds:.0f} s")
        if view.output:
            last = "\n".join(view.output.splitlines()[-3:])
            st.code(literal(last), language=None, height=110)

    fragment(look, LOOK_AGAIN_SECONDS)()


def _found(workspace: Workspace, run: AdkEvalRun | None, choice: AdkEvalOptions, *, unsaved: bool) -> None:
    if run is None:
        st.caption("No run yet. Choose an agent and criteria on the left. Results appear here.")
        return
    view = run.view()
    if view.is_over and out_of_date(workspace, "adk", view.measured, _eval_ids(view), unsaved=unsaved):
        _begin(workspace, choice)
    if said := workspace.notes.get("adk_models"):
        st.text(literal(said))
    if view.problem:
        problem("There are no results.", view.problem)
        st.caption("See **Output** for details.")
    if view.state == "stopped":
        st.caption("The run was stopped and has no results.")
    if view.results is None:
        return
    st.caption(f"{summary(view.results)}, in {view.seconds:.0f} s")
    if view.network and view.network.sentence:
        st.text(literal(view.network.sentence))
    adk_results(workspace, view.results, "adk")
    _kept(workspace, run, view)


def _kept(workspace: Workspace, run: AdkEvalRun, view: RunView) -> None:
    kept = view.kept
    if kept is None:
        return
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.download_button(
            "ADK results",
            data=kept.read_bytes if kept.is_file() else b"",
            file_name=kept.name,
            mime="application/json",
            icon=":material/download:",
            key="adk_results_file",
            on_click="ignore",
            disabled=not kept.is_file(),
        )
        if view.results is not None:
            results = view.results
            csv_button(lambda: results, "adk_eval.csv", "adk_results_csv")
            keep_button(
                workspace,
                "adk",
                view.ended_at or 0.0,
                lambda: kept_run_of_eval(run.spec, view),
                by_adk=kept.parent == run.spec.history,
            )
        with st.container(key="adk_results_path"):
            st.text(literal(str(kept)), wrap=False)
    if wrong := workspace.notes.get("adk"):
        problem("The run was not kept.", wrong)
    if said := workspace.notes.get("adk_done"):
        st.success(said, icon=":material/check:")


def _output(run: AdkEvalRun | None) -> None:
    if run is None:
        st.caption("No run yet.")
        return
    output = run.view().output
    st.caption("End of the process output")
    st.code(literal(output or "(nothing)"), language=None, height=420, wrap_lines=True)
    agents = catalogue()
    command = eval_command_of(run.spec, agents.entries(), agents.settings)
    if command:
        st.caption("The same run in a terminal, with the criteria saved next to the set")
        st.code(literal(command), language="bash", wrap_lines=True)


# The detailed results of an `adk eval`: a table of the cases, and of one of them its metrics, its rubrics and its turns.


_VERDICTS = ("all", "failed", "passed", "not evaluated")
_MOST_CHOICES = 1_000


def adk_results(workspace: Workspace, results: RunResults, name: str) -> None:
    """Draw results; `name` tells the inputs of two results apart."""
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="bottom", key=f"filter_{name}"):
        text = st.text_input(
            "Find a case",
            key=option_key(workspace, f"{name}_find", ""),
            placeholder="Part of the id",
            width=260,
        )
        verdict = st.selectbox(
            "Verdict", _VERDICTS, key=option_key(workspace, f"{name}_verdict", "all"), width=160
        )
    keep_option(workspace, f"{name}_find", text or "")
    keep_option(workspace, f"{name}_verdict", verdict)
    found = fitting(results, text or "", verdict)
    if not found:
        st.caption("No matching cases.")
        return
    for name_of, count in unevaluated(results).items():
        st.warning(
            f"`{safe_label(name_of)}` has no score in {count} case{'' if count == 1 else 's'}. This fails no case. See **Output** "
            "for details.",
            icon=":material/warning:",
        )
    rows, ids = case_rows(found, results.metric_names), [case.eval_id for case in found]
    case_table(workspace, f"{name}_case", rows, ids, "Cases with verdicts and scores")
    _one(workspace, found, name)


def _one(workspace: Workspace, found: list[AdkCaseResult], name: str) -> None:
    """Draw one case, at first one that did not pass."""
    ids = [case.eval_id for case in found[:_MOST_CHOICES]]
    first = next((case.eval_id for case in found if case.status != "passed"), ids[0])
    before = workspace.options.get(f"{name}_case")
    shown = before if before in ids else first if first in ids else ids[0]
    workspace.options[f"{name}_case"] = shown
    chosen = st.selectbox(
        "Case", ids, key=option_key(workspace, f"{name}_case", shown), format_func=literal, width=420
    )
    keep_option(workspace, f"{name}_case", chosen)
    case = next(case for case in found if case.eval_id == chosen)
    if case.problem:
        st.error("The agent failed, so nothing was measured.", icon=":material/error:")
        st.code(literal(case.problem), language=None, wrap_lines=True)
    elif not case.turns:
        st.caption("No turn was measured. See **Output** for the reason.")
    if case.metrics:
        st.dataframe(metric_rows(case.metrics), hide_index=True, alt="Metrics of the case")
    if rubrics := rubric_rows(case.metrics):
        st.dataframe(rubrics, hide_index=True, alt="Judge results for each rubric")
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
                st.caption("None: a simulated user played this case.")
            else:
                st.code(literal(call_lines(turn.expected_calls)), language="python", wrap_lines=True)
                st.text(literal(turn.expected_text or "(no text)"))
        with right:
            st.caption("Actual" if _is_same(turn) else "Actual (differs)")
            st.code(literal(call_lines(turn.actual_calls)), language="python", wrap_lines=True)
            st.text(literal(turn.actual_text or "(no text)"))
        if turn.metrics:
            st.dataframe(metric_rows(turn.metrics), hide_index=True, alt=f"Metrics of turn {number}")
        if rubrics := rubric_rows(turn.metrics):
            st.dataframe(rubrics, hide_index=True, alt=f"Judge results of turn {number}")


def _is_same(turn: TurnResult) -> bool:
    same_calls = turn.expected_calls is None or turn.expected_calls == turn.actual_calls
    return same_calls and turn.expected_text in {None, turn.actual_text}


def summary(results: RunResults) -> str:
    """Return in words how it went."""
    counts = {status: sum(case.status == status for case in results.cases) for status in MARKS}
    told = [f"{count} {status}" for status, count in counts.items() if count]
    return ", ".join(told) or "no cases"
