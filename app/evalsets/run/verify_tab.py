"""The tab of the verification: replays the cases without their world, and shows where the agent goes another way, and why."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, TypeAlias, cast, get_args

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.evalsets.cases.case_panel import unknown_caption
from app.evalsets.cases.cases_tab import find_bar
from app.evalsets.checks.doctor_tab import begin_migration, migration_shown
from app.evalsets.choices_panel import (
    agent_and_cases,
    case_table,
    csv_button,
    followed_key,
    keep_button,
    keep_option,
    key_of,
    models_choice,
    option_key,
    unrecorded_choice,
)
from app.evalsets.open_sets import edited_sets
from app.evalsets.run.last_results import LastResult, keep_results, last_results, last_rows
from app.evalsets.run.verify_jobs import (
    HINTS,
    KINDS,
    MARKS,
    OF,
    TEXT_MARKS,
    VERIFIED,
    WITHOUT_TOOL,
    Row,
    RowError,
    VerifyJob,
    VerifyOptions,
    case_rows,
    commands_of,
    difference_rows,
    fitting,
    marked_text,
    new_row,
    row_of,
    side_by_side,
    tolerances_from,
    verifying,
)
from app.evalsets.set_context import OpenCase, SetFacts, environment_of, environment_trouble, facts_of
from app.evalsets.stale_result_panel import is_out_of_date, out_of_date
from app.evalsets.workspace import Workspace
from app.forms.common_panel import place, problem
from app.forms.safe_labels import literal
from app.live.background_jobs import Job
from app.server.viewer_time import short_time
from app.session.running_panel import AT_ONCE_SECONDS, waiting
from evalset.cli.init_command import BLANK_ADDRESS
from evalset.cli.shell_lines import whole_line
from evalset.eval_config.config_edits import (
    ConfigError,
    config_of,
    criteria_in,
    criteria_words,
    load,
    read_document,
    threshold,
)
from evalset.kept_runs import kept_run_of
from evalset.recorded.recording_files import RecordedEnvironmentError, read_environment, recording_of
from evalset.recorded.tolerances import EVERY_TOOL
from evalset.verify import (
    Criteria,
    VerifyError,
    add_tolerances,
    keep_tolerances,
    propose_tolerances,
    tolerances_of,
)
from evalset.verify.proposed_tolerances import lacking, lacking_words
from evalset.verify.report import junit, network_words
from evalset.verify.results import VERDICTS, CaseResult, CaseStatus, Divergence, RunResult
from evalset.verify.verify_request import RESPONSE, TRAJECTORY

if TYPE_CHECKING:
    from evalset.editing.case_edits import Edit
    from evalset.golden_trace.steps import Step
    from evalset.measured import Measured
    from evalset.verify.results import Verification


COLUMNS = (1, 1.9)
_MATCHES = {
    "exact": "Exactly these calls",
    "in_order": "In order, extra calls allowed",
    "any_order": "In any order, extra calls allowed",
}
_MOST_RUNS = 50
EDITED = "edited"
"""The name of the work at a workspace that makes an edit."""

_MOST_CHOICES = 1_000


class OpenAt(NamedTuple):
    """Open a case in a session of this agent, at a step of a turn, both from 0; `golden` are the steps of the turn."""

    agent: str
    eval_id: str
    turn: int
    step: int
    golden: tuple[Step, ...]


class GoldenEdit(NamedTuple):
    """Change the golden of a case after a run: accept what the agent did, or repair it from the recording."""

    action: Literal["accept", "repair"]
    agent: str
    eval_id: str
    run: RunResult


class About(NamedTuple):
    """A run of a case that is shown, what it was measured on, and the agent that it is opened with; `alike` names the other cases that vary in the same way."""

    agent: str
    case: CaseResult
    run: RunResult
    measured: Measured | None
    alike: tuple[str, ...] = ()


class _Shown(NamedTuple):
    """The cases that are shown, what their run was measured on, and the newer results of those that were run again."""

    cases: list[CaseResult]
    measured: Measured | None
    newer: Mapping[str, LastResult]

    def measured_of(self, eval_id: str) -> Measured | None:
        """Return what the result of a case was measured on."""
        return self.newer[eval_id].measured if eval_id in self.newer else self.measured


def verify_tab(
    workspace: Workspace,
    facts: SetFacts,
    edit: Callable[[GoldenEdit], Callable[[], Edit]],
    *,
    unsaved: bool = False,
) -> OpenAt | OpenCase | Edit | None:
    """Draw the tab.

    Args:
        workspace: The set's workspace.
        facts: What is known of the set.
        edit: Gives the work that makes an edit of a golden; it may take a while, and raises a ValueError where there is none.
        unsaved: The set has edits that are not saved.

    Returns:
        The session or the page of the case (by its id) that shall be opened, or the edit that shall be made.
    """
    edited = edited_golden(workspace)
    if edited is not None:
        return edited
    left, right = st.columns(COLUMNS, gap="medium")
    with left:
        asked = _asked(workspace, facts)
        job: Job[Verification] | None = workspace.jobs.get(VERIFIED)
        _run(workspace, asked, facts, job)
    with right:
        return _outcome(workspace, facts, asked, edit, unsaved=unsaved)


def edited_golden(workspace: Workspace) -> Edit | None:
    """Return the edit that was asked for, once it is made."""
    job: Job[Edit] | None = workspace.jobs.get(EDITED)
    if job is None:
        return None
    if job.state == "running":
        waiting(job, "golden-edit", can_stop=False)
        return None
    del workspace.jobs[EDITED]
    if job.problem:
        workspace.notes[failed_note(workspace.notes.pop("verify_edited", ""))] = job.problem
        return None
    return job.result


def _asked(workspace: Workspace, facts: SetFacts) -> VerifyOptions:
    agent, cases = agent_and_cases(workspace, facts)
    runs, match = _runs_and_match(workspace)
    return VerifyOptions.model_validate(
        {
            "eval_set": workspace.eval_set,
            "agent": agent,
            "cases": cases,
            "runs": runs,
            "models": models_choice(workspace, "verify"),
            "unrecorded": unrecorded_choice(workspace, "verify"),
            "criteria": _criteria(workspace, match),
        }
    )


def _runs_and_match(workspace: Workspace) -> tuple[int, str]:
    first, second = st.columns(2, gap="small")
    with first:
        runs = st.number_input(
            "Runs",
            key=option_key(workspace, "verify_runs", 1),
            min_value=1,
            max_value=_MOST_RUNS,
            step=1,
            help="Runs per case. With several runs, pass^k estimates how likely k runs in a row pass",
        )
    with second:
        match = st.selectbox(
            "Match type",
            list(_MATCHES),
            key=option_key(workspace, "verify_match", "exact"),
            format_func=lambda each: _MATCHES[each],
        )
    keep_option(workspace, "verify_runs", runs)
    keep_option(workspace, "verify_match", match)
    return runs, match


def _criteria(workspace: Workspace, match: str) -> Criteria:
    with st.expander("Comparison options", key="verify_more", type="compact"):
        response = st.number_input(
            "Minimum response match",
            key=option_key(workspace, "verify_response", Criteria().response),
            min_value=0.0,
            max_value=1.0,
            step=0.05,
            help="ROUGE-1, as in ADK's response_match_score. Empty turns it off",
        )
        keep_option(workspace, "verify_response", response)
        flags = {
            "ignore_args": ("Ignore call arguments", False),
            "state": ("Final session state", True),
            "responses": ("Tool responses in the set", True),
            "tolerances": ("Apply tolerances", True),
        }
        st.caption(
            "What may differ in a case is under **Tolerances of this case**, below its result. With several runs, **Suggest from runs** "
            "there proposes it."
        )
        said: dict[str, bool] = {}
        for name, (label, usual) in flags.items():
            said[name] = st.checkbox(label, key=option_key(workspace, f"verify_{name}", usual))
            keep_option(workspace, f"verify_{name}", said[name])
    _criteria_of_set(workspace, response)
    return Criteria.model_validate({"match": match, "response": response, **said})


def _criteria_of_set(workspace: Workspace, response: float | None) -> None:
    """Say which criteria count here, with the way to those next to the set, and what those ask where Verify asks something else."""
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="verify_counts"):
        st.caption(
            "Verify uses these options. `adk eval` and `golden-trace eval` use the criteria of the set.",
            width="content",
        )
        st.button(
            "Show criteria",
            key=key_of(workspace, "verify_to_criteria"),
            type="tertiary",
            on_click=_show_criteria,
            args=(workspace,),
        )
    try:
        document = read_document(load(config_of(workspace.eval_set)) or "{}")
    except ConfigError:  # the editor of the criteria says why
        return
    theirs = {name: threshold(document, name) for name in criteria_in(document)}
    if theirs and theirs != {TRAJECTORY: 1.0, RESPONSE: response}:
        st.caption(
            "The criteria in `test_config.json` next to this set differ. `golden-trace verify --config test_config.json` uses them, too:"
        )
        st.text(literal(criteria_words(document)))


def _show_criteria(workspace: Workspace) -> None:
    workspace.options["engine"] = "adk eval"


def _run(workspace: Workspace, asked: VerifyOptions, facts: SetFacts, job: Job[Verification] | None) -> None:
    recorded = environment_of(workspace.eval_set) is not None
    running = job is not None and job.state == "running"
    if not recorded:
        st.caption(
            "No recorded environment next to this set, so there is nothing to replay. Export cases from a session, or run `adk "
            "eval` with real tools."
        )
    trouble = environment_trouble(workspace.eval_set)
    if trouble:
        st.caption("The recording next to this set cannot be used, so there is nothing to replay:")
        st.text(literal(trouble))
    if st.button(
        "Verify",
        key=key_of(workspace, "verify_go"),
        type="primary",
        icon=":material/verified:",
        disabled=running or not recorded or bool(trouble) or not facts.eval_ids,
        help="Replays the cases. No real tool runs",
    ):
        _begin(workspace, asked)
    if job is not None and running:
        waiting(job, "verify")


def _begin(workspace: Workspace, asked: VerifyOptions) -> None:
    _forget_notes(workspace)
    keep_results(workspace)
    workspace.options["verify_is_new"] = True
    begun = workspace.jobs[VERIFIED] = verifying(asked)
    begun.wait(AT_ONCE_SECONDS)
    st.rerun()


def _forget_notes(workspace: Workspace) -> None:
    for name in [each for each in workspace.notes if each.startswith("verify")]:
        del workspace.notes[name]


def failed_note(eval_id: str) -> str:
    """Return the name of the note that says why what was asked about a case's divergence did not work."""
    return f"verify {eval_id}"


def _outcome(
    workspace: Workspace,
    facts: SetFacts,
    asked: VerifyOptions,
    edit: Callable[[GoldenEdit], Callable[[], Edit]],
    *,
    unsaved: bool,
) -> OpenAt | OpenCase | None:
    if wrong := workspace.notes.get("verify"):
        problem("The action failed.", wrong)
    if said := workspace.notes.get("verify_done"):
        st.success(said, icon=":material/check:")
    job: Job[Verification] | None = workspace.jobs.get(VERIFIED)
    if job is None:
        return _last_ones(workspace, facts, unsaved=unsaved)
    if job.problem:
        problem("The verification did not finish.", job.problem)
    verification = job.result
    if verification is None:
        return None
    if out_of_date(workspace, "verify", verification.measured, verification.eval_ids, unsaved=unsaved):
        _begin(workspace, asked)
    if verification.renamed and _renamed(workspace, verification):
        _begin(workspace, asked.model_copy(update={"renamed": dict(verification.renamed)}))
    newer = run_again(workspace, verification, job.ended_at)
    newest = with_newest(verification, newer)
    _sum(workspace, verification, newest, job.ended_at, unsaved=unsaved)
    _beside(job, verification, newer)
    found = _found(workspace, newest.cases)
    if not found:
        st.caption("No matching cases.")
        return None
    rows, ids = case_rows(found, verification.runs), [case.eval_id for case in found]
    case_table(workspace, "verify_case", rows, ids, "Cases with verdicts and first divergences")
    about = _Shown(found, verification.measured, newer)
    return _case(workspace, about, asked.agent, edit, unsaved=unsaved)


def _last_ones(workspace: Workspace, facts: SetFacts, *, unsaved: bool) -> OpenCase | None:
    """Draw what is known of the cases, where the set as a whole was not verified here; return the case that was chosen."""
    found = last_results(workspace, facts.eval_ids)
    if not found:
        st.caption("Not verified yet. Verify replays the cases with recorded responses. No real tool runs.")
        return None
    st.caption(
        f"Last results of {len(found)} of {len(facts.eval_ids)} cases, from exports, case pages and kept runs. Verify runs all cases."
    )
    rows, ids = last_rows(found, unsaved=unsaved), [one.eval_id for one in found]
    alt = "Cases with their last verdicts, and when these were found"
    chosen = case_table(workspace, "verify_case", rows, ids, alt)
    return OpenCase(key=chosen) if chosen else None


def run_again(workspace: Workspace, verification: Verification, ended_at: float) -> dict[str, LastResult]:
    """Return the newer results of the cases that were run again by themselves, and went another way."""
    then = {case.eval_id: case.status for case in verification.cases}
    found = last_results(workspace, then)
    return {one.eval_id: one for one in found if one.at > ended_at and one.status != then[one.eval_id]}


def with_newest(verification: Verification, newer: Mapping[str, LastResult]) -> Verification:
    """Return a verification in which each case that was run again has the result of its last run; a kept run has the status alone."""

    def newest(case: CaseResult) -> CaseResult:
        last = newer.get(case.eval_id)
        if last is None:
            return case
        return last.case or CaseResult(eval_id=case.eval_id, status=last.status)

    return verification.model_copy(update={"cases": tuple(map(newest, verification.cases))})


def _beside(job: Job[Verification], verification: Verification, newer: Mapping[str, LastResult]) -> None:
    """Show how to verify in the same way elsewhere, and name the cases that were run again."""
    if isinstance(job, VerifyJob):
        commands_shown(job.asked, verification.cases)
    for one in newer.values():
        st.text(literal(f"Run again at {short_time(one.at)}: {one.eval_id}, {MARKS[one.status]}"))


def _renamed(workspace: Workspace, verification: Verification) -> bool:
    """Draw the agents that may have been renamed; True when the cases shall be verified with the new names."""
    with st.container(border=True, gap="xsmall", key="verify_renamed"):
        for old, new in verification.renamed.items():
            st.text(
                literal(f"There is no agent {old}, and only {new} declares the same tools. Was it renamed?")
            )
        st.caption("The files keep the old name until the doctor renames it.")
        return st.button(
            "Verify with new name",
            key=key_of(workspace, "verify_new_name"),
            icon=":material/drive_file_rename_outline:",
        )


def _found(workspace: Workspace, cases: Sequence[CaseResult]) -> list[CaseResult]:
    """Draw the filter; return the cases that are like it."""
    words, verdict = find_bar(workspace, "verify", ("Find a case", "Part of the id"), "Verdict", MARKS)
    return fitting(cases, words, verdict)


def count_badges(counted: Callable[[CaseStatus], int], *, is_of_now: bool) -> None:
    """Draw how many cases have which verdict; gray where that is of before a change."""
    shown: Any = {"passed": "green", "failed": "red", "error": "red", "stopped": "gray", "skipped": "gray"}
    for status in get_args(CaseStatus):
        if count := counted(status):
            st.badge(f"{count} {MARKS[status]}", color=shown[status] if is_of_now else "gray")


def _sum(
    workspace: Workspace, verification: Verification, newest: Verification, ended_at: float, *, unsaved: bool
) -> None:
    """Draw the counts of the newest results, and what is done with those of the verification."""
    is_of_now = not is_out_of_date(verification.measured, verification.eval_ids, unsaved=unsaved)
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="verify_sum"):
        count_badges(newest.count, is_of_now=is_of_now)
        power = verification.pass_power(verification.runs)
        if verification.runs > 1 and power is not None:
            st.badge(f"pass^{verification.runs} = {power:.2f}", color="blue")
        st.caption(f"{verification.seconds:.1f} s", width="content")
        st.space("stretch")
        is_partial = len(verification.cases) < len(facts_of(workspace.eval_set).eval_ids)
        keep_button(
            workspace,
            "verify",
            ended_at,
            lambda: kept_run_of(verification, ended_at, is_partial=is_partial),
        )
        st.download_button(
            "JUnit",
            data=lambda: junit(verification),
            file_name="verify.xml",
            mime="application/xml",
            icon=":material/download:",
            key=key_of(workspace, "verify_junit"),
            on_click="ignore",
        )
        st.download_button(
            "JSON",
            data=lambda: json.dumps(verification.model_dump(mode="json"), indent=2, ensure_ascii=False),
            file_name="verify.json",
            mime="application/json",
            icon=":material/download:",
            key=key_of(workspace, "verify_json"),
            on_click="ignore",
        )
        csv_button(lambda: verification, "verify.csv", key_of(workspace, "verify_csv"))
    for sentence in (*verification.models, *network_words(verification)):
        st.text(literal(sentence))


def commands_shown(asked: VerifyOptions, cases: Sequence[CaseResult]) -> None:
    """Draw, folded, the commands that give the same verdicts in a terminal and in CI."""
    if commands := commands_of(asked, cases):
        with st.expander(
            "Commands with the same verdicts",
            key="verify_commands",
            icon=":material/terminal:",
            type="compact",
        ):
            st.caption("In a terminal, with pytest, and the tests that CI runs:")
            st.code(literal(commands), language="bash", wrap_lines=True)
            if f"--package {BLANK_ADDRESS}" in commands:
                st.caption(
                    f"Replace `{BLANK_ADDRESS}` with an address from which pip installs `golden-trace-studio` in CI."
                )


def _first_shown(workspace: Workspace, found: list[CaseResult], ids: list[str]) -> str:
    """Return the first case that did not pass, and choose it where none is chosen or, once for a verification, the chosen one passed."""
    failed = [each.eval_id for each in found if each.status != "passed"]
    first = failed[0] if failed and failed[0] in ids else ids[0]
    before, is_new = workspace.options.get("verify_case"), workspace.options.pop("verify_is_new", False)
    if before not in ids or (is_new and before not in failed):
        workspace.options["verify_case"] = first
    return first


def _case(
    workspace: Workspace,
    shown: _Shown,
    agent: str,
    edit: Callable[[GoldenEdit], Callable[[], Edit]],
    *,
    unsaved: bool,
) -> OpenAt | OpenCase | None:
    """Draw one case: of a new verification one that did not pass."""
    found = shown.cases
    ids = [case.eval_id for case in found[:_MOST_CHOICES]]
    first = _first_shown(workspace, found, ids)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Case", ids, key=option_key(workspace, "verify_case", first), format_func=literal, width=420
        )
        keep_option(workspace, "verify_case", chosen)
        if st.button(
            "Open case", key=key_of(workspace, "verify_open"), type="tertiary", icon=":material/open_in_new:"
        ):
            return OpenCase(key=chosen)
    case = next(case for case in found if case.eval_id == chosen)
    if case.error:
        problem("The case could not run.", case.error)
    unknown_caption(case.unknown, case.blanks)
    opened = None
    if (run := _one_run(workspace, case)) is not None:
        if run.divergence is not None:
            about = About(agent or case.agent, case, run, shown.measured_of(chosen), _alike(case, run, found))
            opened = _diverged(workspace, about, edit, unsaved=unsaved)
        else:
            for sentence in run.edited:
                st.text(literal(sentence))
        if run.error and (run.divergence is None or run.error not in run.divergence.evidence):
            problem("The run stopped early.", run.error)
        _checks(run)
    _tolerances(workspace, case)
    return opened


def _diverged(
    workspace: Workspace,
    about: About,
    edit: Callable[[GoldenEdit], Callable[[], Edit]],
    *,
    unsaved: bool,
) -> OpenAt | None:
    """Draw where a run goes another way, and what a migration would change; do what shall be done about it."""
    divergence = about.run.divergence
    if divergence is None:
        return None
    with st.container(border=True, gap="xsmall", key="divergence"):
        _verdict(divergence)
        action = divergence_actions(workspace, about, unsaved=unsaved)
        if divergence.migration:
            with place():
                migration_shown(workspace, divergence.migration, unsaved=unsaved)
        _differences(divergence)
        _pairs(divergence)
    return done_about(workspace, about, action, edit)


def _tolerances(workspace: Workspace, case: CaseResult) -> None:
    passed = sum(run.passed for run in case.runs)
    is_flaky = 0 < passed < len(case.runs)
    if is_flaky:
        st.caption(
            f"Only {passed} of {len(case.runs)} runs passed. **Suggest from runs** below proposes what may differ between them."
        )
    with st.expander("Tolerances of this case", is_flaky, key="verify_tolerances", type="compact"):
        tolerance_editor(workspace, case)


def _one_run(workspace: Workspace, case: CaseResult) -> RunResult | None:
    if not case.runs:
        return None
    if len(case.runs) == 1:
        return case.runs[0]
    numbers = [run.number for run in case.runs]
    failed = next((run.number for run in case.runs if not run.passed), numbers[0])
    if workspace.options.get("verify_which") not in numbers:
        workspace.options["verify_which"] = failed
    passed = {run.number: run.passed for run in case.runs}
    number = st.segmented_control(
        "Run",
        numbers,
        key=option_key(workspace, "verify_which", failed),
        format_func=lambda each: f"{'✓' if passed[each] else '✗'} {each}",
        required=True,
    )
    keep_option(workspace, "verify_which", number)
    return next(run for run in case.runs if run.number == number)


def _checks(run: RunResult) -> None:
    rows = [
        {
            "check": literal(check.name),
            "verdict": check.status,
            "score": "" if check.score is None else f"{check.score:.2f}",
            "threshold": "" if check.threshold is None else f"{check.threshold:.2f}",
            "details": literal(check.detail),
        }
        for check in run.checks
    ]
    if rows:
        st.dataframe(rows, hide_index=True, alt="Checks of this run")


def _alike(case: CaseResult, run: RunResult, found: Sequence[CaseResult]) -> tuple[str, ...]:
    """Return the other cases of which a run varies at the same places, and in the same way."""
    proposed = {each.tolerance for each in run.varying}
    return tuple(
        other.eval_id
        for other in found
        if other is not case
        and any(
            each.divergence is not None
            and each.divergence.action == "tolerate"
            and {one.tolerance for one in each.varying} == proposed
            for each in other.runs
        )
    )


def _tolerate(workspace: Workspace, eval_ids: Sequence[str], run: RunResult) -> NoReturn:
    """Keep the tolerances for what differs in each run, and draw the page anew."""
    found = [each.tolerance for each in run.varying]
    try:
        for eval_id in eval_ids:
            _put(workspace, partial(add_tolerances, workspace.eval_set, eval_id, found))
    except VerifyError as error:
        workspace.notes[failed_note(eval_ids[0])] = str(error)
    st.rerun()


def _saved_for(workspace: Workspace, about: About) -> list[str]:
    """Return the case, and those that vary in the same way, as far as the proposed tolerances are saved for them."""
    proposed = [each.tolerance for each in about.run.varying]
    try:
        held = read_environment(recording_of(workspace.eval_set)).cases
    except (RecordedEnvironmentError, OSError):
        return []
    ids = (about.case.eval_id, *about.alike)
    return [
        eval_id
        for eval_id in ids
        if eval_id in held and all(each in held[eval_id].tolerances for each in proposed)
    ]


def _put(workspace: Workspace, put: Callable[[], object]) -> None:
    """Write tolerances; what is edited of the set stays."""
    edited_sets().put_tolerances(workspace.owner, workspace.eval_set, put)
    workspace.wrote()


def done_about(
    workspace: Workspace,
    about: About,
    action: Action | None,
    edit: Callable[[GoldenEdit], Callable[[], Edit]],
) -> OpenAt | None:
    """Do what shall be done about a divergence; return the session that shall be opened."""
    case, run, divergence = about.case, about.run, about.run.divergence
    if action is None or divergence is None:
        return None
    if action == "open":
        golden = case.golden[divergence.turn] if divergence.turn < len(case.golden) else ()
        return OpenAt(about.agent, case.eval_id, divergence.turn, divergence.step, golden)
    if action == "migrate":
        begin_migration(workspace, about.agent, divergence.migration)
        return None
    if action == "tolerate":
        _tolerate(workspace, (case.eval_id,), run)
    if action == "keep_all":
        _tolerate(workspace, (case.eval_id, *about.alike), run)
    _forget_notes(workspace)
    try:
        work = edit(GoldenEdit(action, about.agent, case.eval_id, run))
    except ValueError as error:  # an EditError: the case is another one in the edits
        workspace.notes[failed_note(case.eval_id)] = str(error)
        return st.rerun()
    workspace.notes["verify_edited"] = case.eval_id
    job = workspace.jobs[EDITED] = Job(lambda *_: work(), "golden-edit")
    job.wait(AT_ONCE_SECONDS)
    return st.rerun()


# The first step at which a run goes another way than its golden: both side by side, what speaks for the verdict, and what to do about it.


Action: TypeAlias = Literal["accept", "repair", "open", "tolerate", "keep_all", "migrate"]

_COLORS = {
    "agent_changed": "orange",
    "differs_from_moves": "orange",
    "differs_from_trace": "orange",
    "golden_stale": "violet",
    "recording_edited": "violet",
    "environment_changed": "red",
    "user_changed": "blue",
    "varies": "gray",
}
_DIVERGENCE_COLUMNS = (0.05, 1, 1)
_MOST_PAIRS = 12
_LABELS: dict[Action, tuple[str, str, str]] = {
    "accept": (
        "Accept new behaviour",
        ":material/check:",
        "Makes what the agent does now the golden. You review the changes and save them",
    ),
    "repair": (
        "Repair golden",
        ":material/healing:",
        "Repairs the golden from the recording. You review the changes and save them",
    ),
    "open": (
        "Open session at this step",
        ":material/play_arrow:",
        "Plays the case up to here. You continue from there",
    ),
    "migrate": (
        "Migrate golden",
        ":material/drive_file_rename_outline:",
        "Shows what the new names change in the set and its recording. Nothing is written before you apply it",
    ),
    "tolerate": (
        "Keep tolerances",
        ":material/rule:",
        "Values that vary between runs are no longer compared. Edit this under Tolerances of this case",
    ),
    "keep_all": (
        "Keep for all {} cases",
        ":material/rule:",
        "Keeps the tolerances for this case and for the others that vary in the same way",
    ),
}


def divergence_shown(divergence: Divergence) -> None:
    """Draw a divergence, with nothing to do about it."""
    with st.container(gap="xsmall", key="divergence_shown"):
        _verdict(divergence)
        _differences(divergence)
        _pairs(divergence)


def _verdict(divergence: Divergence) -> None:
    """Say where it is, what it means, and what speaks for that."""
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.markdown(
            f"**First divergence: turn {divergence.turn + 1}, step {divergence.step + 1}**", width="content"
        )
        for verdict in (divergence.verdict, *divergence.also):
            st.badge(VERDICTS[verdict], color=_COLORS[verdict])  # type: ignore[arg-type] # colours that badges have
    if divergence.sentence:
        st.text(literal(divergence.sentence))
    for sentence in divergence.evidence:
        if divergence.migration and sentence.endswith(divergence.migration):
            st.code(literal(whole_line(sentence)), language="bash", wrap_lines=True)
            st.caption("This command shows the changes. Without `--dry-run`, it also writes them.")
        else:
            st.text(literal(f"· {sentence}"))


def divergence_actions(workspace: Workspace, about: About, *, unsaved: bool) -> Action | None:
    """Draw the one thing to do, and beside it the way to look at it oneself, and what came of it; return what shall be done.

    A run that did not come to its end cannot be accepted, and neither can one whose golden was changed since.
    """
    divergence, ids = about.run.divergence, (about.case.eval_id, *about.alike)
    if divergence is None:
        return None
    first: Action = "migrate" if divergence.migration else divergence.action
    asked: Action | None = None
    is_done = _is_done(workspace, about, unsaved=unsaved)
    others: tuple[Action, ...] = () if first == "open" else ("open",)
    saved: list[str] = []
    if first == "tolerate":
        saved = _saved_for(workspace, about)
        others = ("keep_all", "open") if about.alike else others
    is_off = {
        "accept": is_done or not about.run.came_to_its_end,
        "open": False,
        "tolerate": is_done or ids[0] in saved,
        "keep_all": len(saved) == len(ids),
    }
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        for action in (first, *others):
            label, icon, words = _LABELS[action]
            if st.button(
                label.format(len(ids)),
                key=key_of(workspace, f"divergence_{action}"),
                icon=icon,
                type="primary" if action == first else "tertiary",
                help=words,
                disabled=is_off.get(action, is_done),
            ):
                asked = action
    if first == "accept" and not about.run.came_to_its_end:
        st.caption("The run did not finish, so it cannot become the golden.")
    with place():
        _came_of(workspace, about, saved, unsaved=unsaved)
    return asked


def _is_done(workspace: Workspace, about: About, *, unsaved: bool) -> bool:
    is_edited = workspace.notes.get("verify_edited") == about.case.eval_id
    return is_edited and is_out_of_date(
        about.measured, (about.case.eval_id,), unsaved=unsaved
    )  # else it was undone


def _came_of(workspace: Workspace, about: About, saved: Sequence[str], *, unsaved: bool) -> None:
    """Say what came of the action that was asked for; `saved` are the cases whose tolerances are saved."""
    if saved:
        st.text(literal(f"Tolerances saved for {', '.join(saved)}. Verify again to apply them."))
    if wrong := workspace.notes.get(failed_note(about.case.eval_id)):
        problem("The action failed.", wrong)
    if _is_done(workspace, about, unsaved=unsaved):
        how = "but not saved. Save the set, then verify again" if unsaved else "and saved. Verify again"
        st.success(f"The golden is changed {how}.", icon=":material/check:")


def _differences(divergence: Divergence) -> None:
    rows = difference_rows(divergence)
    if rows:
        st.dataframe(rows, hide_index=True, alt="Differences between golden and actual values")
    if divergence.text:
        st.caption(TEXT_MARKS.format("in the golden", "in the actual text"))
        st.markdown(marked_text(divergence.text))


def _pairs(divergence: Divergence) -> None:
    _, left, right = st.columns(_DIVERGENCE_COLUMNS, gap="xsmall")
    with left:
        st.caption("Golden, from this step")
    with right:
        st.caption("Actual")
    for golden, actual, differs in side_by_side(divergence.pairs[:_MOST_PAIRS]):
        mark, left, right = st.columns(_DIVERGENCE_COLUMNS, gap="xsmall")
        with mark:
            st.markdown(":red[:material/difference:]" if differs else ":gray[:material/check:]")
        with left:
            st.code(literal(golden), language=None, wrap_lines=True)
        with right:
            st.code(literal(actual), language=None, wrap_lines=True)
    if len(divergence.pairs) > _MOST_PAIRS:
        st.caption(f"and {len(divergence.pairs) - _MOST_PAIRS} more steps of this turn")


# The tolerances of a case as rows: what may differ from what was recorded, and how far.


_TOLERANCE_COLUMNS = (1.1, 1.0, 1.5, 1.3, 1.4, 0.85)
_FEWEST_RUNS = 2


class _Case(NamedTuple):
    """A case whose tolerances are edited: the rows as they are now, as they are saved, its runs, its golden, and the tools of its set."""

    workspace: Workspace
    eval_id: str
    rows: list[Row]
    saved: list[Row]
    runs: Sequence[RunResult]
    golden: Sequence[Sequence[Step]]
    tools: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The name of the option at the workspace."""
        return _name(self.eval_id)

    def key(self, number: int, field: str) -> str:
        """Let the input of a field show what its row says; return its key."""
        return followed_key(self.workspace, f"{field} {number} {self.name}", self.rows[number][field])

    def put(self, rows: list[Row] | None) -> None:
        """Keep other rows, None for those that are saved, and draw them."""
        held: Any = rows
        if rows is None:
            self.workspace.options.pop(self.name, None)
        else:
            self.workspace.options[self.name] = held
        st.rerun()


def tolerance_editor(workspace: Workspace, result: CaseResult) -> None:
    """Draw the tolerances of a case, which stay at the workspace until they are saved."""
    eval_id = result.eval_id
    try:
        saved = [row_of(each) for each in tolerances_of(workspace.eval_set, eval_id)]
    except VerifyError as error:
        problem("The tolerances cannot be read.", str(error))
        return
    held: Any = workspace.options.get(_name(eval_id))
    work = edited_sets().of(workspace.owner, workspace.eval_set).work
    tools = [tool for row in work.rows() for tool in row.tools]
    rows = saved if held is None else [dict(row) for row in held]
    case = _Case(workspace, eval_id, rows, saved, result.runs, result.golden, tools)
    for number in range(len(case.rows)):
        _row(case, number)
    if not case.rows:
        st.caption("No tolerances. Everything that is compared must match the recording.")
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        _buttons(case)
    if said := workspace.notes.get(f"verify_lacking {eval_id}"):
        st.text(literal(said))
    if wrong := workspace.notes.pop(case.name, ""):
        problem("The tolerances were not saved.", wrong)


def _name(eval_id: str) -> str:
    return f"tolerances {eval_id}"


def _row(case: _Case, number: int) -> None:
    rows = case.rows
    *columns, last = st.columns(_TOLERANCE_COLUMNS, gap="xsmall", vertical_alignment="bottom")
    now = _said(case, number, columns)
    with last:
        if st.button(
            "Remove",
            key=key_of(case.workspace, f"gone {number} {case.name}"),
            icon=":material/delete:",
            type="tertiary",
        ):
            case.put(rows[:number] + rows[number + 1 :])
    if now != rows[number]:
        case.put([*rows[:number], now, *rows[number + 1 :]])


def _said(case: _Case, number: int, columns: Sequence[DeltaGenerator]) -> Row:
    """Draw the inputs of a row; return what they say."""
    row, seen = case.rows[number], cast("Any", "visible" if number == 0 else "collapsed")
    of, tool, path, kind, more = columns
    key = case.key
    said = {
        "of": of.selectbox(
            "Of", list(OF), key=key(number, "of"), format_func=lambda each: OF[each], label_visibility=seen
        ),
        "tool": tool.selectbox(
            "Tool",
            list(dict.fromkeys((EVERY_TOOL, *case.tools, row["tool"]))),
            key=key(number, "tool"),
            format_func=literal,
            label_visibility=seen,
            disabled=row["of"] in WITHOUT_TOOL,
        ),
        "path": path.text_input(
            "Path",
            key=key(number, "path"),
            label_visibility=seen,
            placeholder="items[*].price; empty: all",
        ),
        "kind": kind.selectbox(
            "Allowed",
            list(KINDS),
            key=key(number, "kind"),
            format_func=lambda each: KINDS[each],
            label_visibility=seen,
        ),
        "more": more.text_input(
            "Value",
            key=key(number, "more"),
            label_visibility=seen,
            placeholder=HINTS.get(row["kind"], ""),
            disabled=row["kind"] not in HINTS,
        ),
    }
    return {field: value or "" for field, value in said.items()}


def _buttons(case: _Case) -> None:
    if st.button("Add", key=key_of(case.workspace, f"add {case.name}"), icon=":material/add:"):
        case.put([*case.rows, new_row()])
    if st.button(
        "Suggest from runs",
        key=key_of(case.workspace, f"propose {case.name}"),
        icon=":material/auto_fix_high:",
        disabled=len(case.runs) < _FEWEST_RUNS,
        help="Suggests what differs between the runs of this case. Run it several times with arguments ignored, so that no run ends "
        "early",
    ):
        found = propose_tolerances(case.runs)
        without = lacking(found, case.golden)
        case.workspace.notes[f"verify_lacking {case.eval_id}"] = lacking_words(without)
        proposed = [row_of(each) for each in found if each not in without]
        case.put([*case.rows, *(row for row in proposed if row not in case.rows)])
    if st.button(
        "Save",
        key=key_of(case.workspace, f"save {case.name}"),
        icon=":material/save:",
        disabled=case.rows == case.saved,
        help="Stored with the recording. Replays and verifications use them",
    ):
        _save(case)
    if case.rows != case.saved and st.button(
        "Undo", key=key_of(case.workspace, f"undo {case.name}"), icon=":material/undo:", type="tertiary"
    ):
        case.put(None)


def _save(case: _Case) -> None:
    try:
        kept = tolerances_from(case.rows)
        _put(case.workspace, lambda: keep_tolerances(case.workspace.eval_set, case.eval_id, kept))
    except (RowError, VerifyError) as error:
        case.workspace.notes[case.name] = str(error)
        case.put(case.rows)
    case.put(None)
