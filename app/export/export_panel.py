"""The export of a session: the golden trace as it will be, the checks on it, and the ways out for it, also as a dataset for `agents-cli eval`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import streamlit as st
from pydantic import JsonValue

from app.export.export_case import CallLine, Exportable, ExportForm, ExportResult, TraceForm, outline
from app.forms.common_panel import name_width, pane, pane_head, place, problem
from app.forms.field_widgets import problem_line
from app.forms.safe_labels import literal, safe_label
from app.forms.shown_values import values_line
from app.forms.value_editor_widgets import value_or_json
from app.forms.widget_store import KeptInputs, slug
from app.live.destinations import is_among_data
from app.session import page_state
from app.session.named_view_widgets import named_views
from app.session.page_commands import Show
from app.session.running_panel import waiting
from evalset.files.eval_names import flaw_of_eval_id, usable_eval_id
from evalset.measured import changed_words
from simulator.base.frozen_value import Value
from simulator.environment.drafts.draft import Unsure

if TYPE_CHECKING:
    from app.export.export_case import ExportReplay, LastRun
    from app.live.background_jobs import Job
    from evalset import Exported
    from evalset.editing.golden_writing import HandEdit, Replacing
    from evalset.verify.results import Divergence


_WHAT = "The format of `agents-cli eval`. One turn is a prompt with a reference. Several turns are a case for each turn, with the turns before it as history."
_LOST = "Not in the dataset, or different there:"
_RUN = "`pytest --goldens` replays it, and so does `agents-cli eval generate` with the recorded environment in the agent's `App`."


@dataclass(frozen=True)
class DatasetView:
    """What the page knows of the dataset.

    Attributes:
        made: Makes it; a ValueError says why there is none.
        default_path: Where it is written by default.
        written: The files that were written last.
        failed: Why the last write failed.
    """

    made: Callable[[], Exported]
    default_path: str
    written: tuple[str, ...] = ()
    failed: str = ""


class WriteDataset(Value):
    """Write the golden trace as a dataset; `path` is the file."""

    path: str


def dataset_export(kept: KeptInputs, shown: DatasetView, *, may_write: bool) -> WriteDataset | None:
    """Draw it, once somebody looks; return what was asked for."""
    body = st.expander(
        "Dataset for agents-cli", icon=":material/dataset:", key="export_dataset", on_change="rerun"
    )
    if not body.open:
        return None
    with body:
        st.caption(_WHAT)
        try:
            made = shown.made()
        except ValueError as error:
            problem("This case cannot be exported as a dataset.", str(error))
            return None
        if made.losses:
            with st.container(gap="xsmall", key="dataset_losses", border=True):
                st.caption(_LOST)
                for loss in made.losses:
                    st.text(literal(f"· {loss}"))
        return _dataset_ways(kept, shown, made, may_write=may_write)


def _dataset_ways(
    kept: KeptInputs, shown: DatasetView, made: Exported, *, may_write: bool
) -> WriteDataset | None:
    path = ""
    if may_write:
        path = st.text_input(
            "Dataset file",
            key=kept.widget("dataset_path", shown.default_path),
            help="In a project of agents-cli, its folder of datasets. The recorded environment is written next to it",
        )
    with st.container(horizontal=True, gap="xsmall", key="dataset_buttons"):
        write = may_write and st.button("Write dataset", key="dataset_write", icon=":material/save:")
        st.download_button(
            "Download dataset",
            data=made.content,
            file_name=made.name,
            key="dataset_download",
            icon=":material/download:",
            on_click="ignore",
            help="The dataset and its recorded environment",
        )
    if shown.failed:
        problem("The dataset was not written.", shown.failed)
    elif shown.written:
        st.success("The dataset was written.", icon=":material/check_circle:")
        st.code(literal("\n".join(shown.written)), language=None, wrap_lines=True)
        st.caption(_RUN)
    return WriteDataset(path=path) if write else None


# What stands below a case that was written: whether its replay agrees with it, and the commands that run it, the surest first.


DrawsDivergence: TypeAlias = Callable[["Divergence"], None]

_LINES = (
    "Add these lines to the end of the agent's module. `adk eval`, `adk web`, pytest and every `Runner` then get the "
    "recorded responses. No real tool runs."
)
_REAL = (
    "Without the lines above, `adk eval` runs the agent's real tools and models. Their side effects are real, and the case "
    "passes only if they respond as recorded."
)


def exported(written: ExportResult, shown: ExportView, differs: Sequence[str]) -> bool:
    """Draw what was written; True when it shall be replayed again.

    Args:
        written: What was written.
        shown: What the page knows beside it: its replay, and how a divergence is drawn.
        differs: What plain `adk eval` does differently, in sentences.
    """
    with st.container(gap="xsmall", key="export_done"):
        _what(written)
        st.code(literal(written.path), language=None, wrap_lines=True)
        if written.converted_copy:
            st.caption("The file was in ADK's old format and was converted. A copy of the old file is kept:")
            st.code(literal(written.converted_copy), language=None, wrap_lines=True)
        if written.unrecorded:
            problem("The recorded tool responses were not saved.", written.unrecorded)
        again = bool(written.environment) and _replay(shown.replay, shown.last, shown.divergence)
        if shown.replay is None or shown.replay.state != "running":  # what is known is of the case before
            shown.case_runs()
        found = shown.replay.result if shown.replay is not None else None
        _commands(written, differs, tolerates=found is not None and bool(found.tolerances))
        st.button(
            "Open in eval set",
            key="export_open_set",
            icon=":material/checklist:",
            help="You can edit it there. The session stays in the list on the left",
            on_click=page_state.show_sets,
            args=(written.path, written.eval_id),
        )
    return again


def _what(written: ExportResult) -> None:
    if written.found == "differs":
        st.info(
            "The eval set has a case of this session that differs from it. The results below are those of the case in the eval set.",
            icon=":material/difference:",
        )
        return
    added = "The case was replaced." if written.replaced else "The case was added to the eval set."
    made = "A new eval set was written." if written.created else added
    what = "The eval set has this case." if written.found else made
    st.success(what, icon=":material/check_circle:")


def _replay(job: Job[ExportReplay] | None, last: LastRun | None, draw: DrawsDivergence) -> bool:
    """Draw the last run of the case, of its replay or a later one; True when it shall be replayed again."""
    with st.container(gap="xsmall", key="export_verified"):
        if job is not None and job.state == "running":
            waiting(job, "export_replay")
            return False
        if job is not None and job.result is not None:
            _tolerances(job.result.tolerances)
        if last is not None:
            return _outcome(last, draw)
        if job is None:
            st.caption("The case has not been replayed yet.")
            return _again("Replay now")
        if job.result is None:
            problem("The case could not be replayed.", job.problem)
        else:
            st.caption("The replay was stopped.")
        return _again("Replay again")


def _tolerances(lines: Sequence[str]) -> None:
    """Say what is not compared, as the agent's own code makes it anew in each run."""
    if not lines:
        return
    st.caption(
        "The agent's code generates these values in each run, so they differ even with the same responses. They were saved as "
        "tolerances. Change them in the tab Run of the eval set:"
    )
    for line in lines:
        st.text(literal(f"· {line}"))


def _outcome(last: LastRun, draw: DrawsDivergence) -> bool:
    if last.changes:
        st.warning(f"Out of date: {changed_words(last.changes)} since the replay.", icon=":material/update:")
        return _again("Replay again")
    if last.status == "stopped":
        st.caption("The replay was stopped.")
        return _again("Replay again")
    if last.status == "passed":
        st.success(
            f"**Verified** {last.models}: replayed with the recorded responses, the agent makes the same calls, gives the same "
            f"responses and ends in the same state.{last.at}",
            icon=":material/verified:",
        )
        return False
    _failed(last, draw)
    return _again("Replay again")


def _failed(last: LastRun, draw: DrawsDivergence) -> None:
    """Show why a replay does not agree with its case."""
    case = last.case
    if case is not None and case.error:
        problem("The case could not be replayed.", case.error)
        return
    st.error(
        f"The replay with the recorded responses differs from the case.{last.at}",
        icon=":material/difference:",
    )
    if last.why:
        st.text(literal(last.why))
    run = next((each for each in case.runs if not each.passed), None) if case is not None else None
    if run is None:
        return
    if run.error:
        st.text(literal(run.error))
    if run.divergence is not None:
        draw(run.divergence)
        return
    for check in run.checks:
        if check.status in {"failed", "error"}:
            st.text(literal(check.detail or check.name))


def _again(label: str) -> bool:
    return st.button(label, key="export_replay_again", icon=":material/replay:", type="tertiary")


# ---------------------------------------------------------------- commands


def _commands(written: ExportResult, differs: Sequence[str], *, tolerates: bool) -> None:
    """Draw the commands, which can be pasted into a shell in any folder; the case may have got tolerances."""
    commands = written.commands
    if written.environment and commands is not None:
        st.markdown("**Run it with ADK**")
        st.caption(
            "ADK's own `adk eval`, with the recorded responses. No real tool runs, and the agent's code stays unchanged."
            + (" The first line installs what `adk eval` needs." if commands.lacks_eval else "")
        )
        st.code(literal(commands.evaluate), language="bash", wrap_lines=True)
        with st.expander("As a pytest file", key="export_pytest", icon=":material/labs:"):
            st.caption(
                "Writes a test file next to the set that replays every recorded case without a key, and runs it for this case."
                + (" The first line installs pytest." if commands.lacks_pytest else "")
            )
            st.code(literal(commands.pytest), language="bash", wrap_lines=True)
    if written.environment:
        _lines(written, tolerates=tolerates)
    _real_tools(written, differs)


def _lines(written: ExportResult, *, tolerates: bool) -> None:
    commands = written.commands
    with st.expander("Three lines in the agent", key="export_replay", icon=":material/replay:"):
        st.caption(_LINES)
        st.code(literal(written.replay), language="python", wrap_lines=True)
        if commands is not None and commands.plain:
            st.caption(
                "Plain `adk eval` then passes too, with criteria that apply the tolerances of this case:"
                if tolerates
                else "Plain `adk eval` then passes too:"
            )
            st.code(
                literal(commands.tolerant if tolerates else commands.plain), language="bash", wrap_lines=True
            )


def _real_tools(written: ExportResult, differs: Sequence[str]) -> None:
    with st.expander("adk eval with real tools", key="export_real_tools", icon=":material/warning:"):
        st.caption(_REAL)
        for sentence in differs:
            st.text(literal(f"\u00b7 {sentence}"))
        plain = written.commands.plain if written.commands is not None else ""
        if plain:
            st.code(literal(plain), language="bash", wrap_lines=True)
        else:
            st.caption("`adk eval` cannot load this agent. It needs a folder with an `__init__.py`.")


# A session as a script: a look at it, and the download.


Agent: TypeAlias = Literal["moves", "model"]
_AGENTS: dict[Agent, str] = {"moves": "This script", "model": "Its model"}
_COLUMNS = (1.35, 1)
_PLAY_IT = "Edit a line and play it again: on the start page, or with `golden-trace run AGENT --script FILE --out SET`."
_NO_TRACE_YET = (
    "No golden trace yet. It ends with the agent's final response, which this session does not have."
)
_SO_FAR = (
    "You can download the session so far as a script. The file replays these steps with the same responses, then asks you "
    "what comes next. Attach it to a bug report, try other responses, or continue later."
)


def script_export(kept: KeptInputs, name: str, written: Callable[[Agent], str]) -> None:
    """Draw it, once somebody looks.

    Args:
        kept: The inputs of the export.
        name: What the file is called, without its ending.
        written: Gives the script; a ValueError says why there is none.
    """
    body = st.expander(
        "Download as script", icon=":material/description:", key="export_script", on_change="rerun"
    )
    if not body.open:
        return
    with body:
        st.caption(_PLAY_IT)
        text = _text(_whose_moves(kept), written)
        if text is not None:
            _download_script(name, text, is_main=False)
            st.code(literal(text), language="yaml", height=360)


def script_so_far(kept: KeptInputs, name: str, written: Callable[[Agent], str]) -> None:
    """Draw what there is to take along of a session that has no golden trace yet: its script. As `script_export`."""
    left, right = st.columns(_COLUMNS, gap="small")
    with right:
        _head("export_ways", "Destination")
        with pane("export_ways"):
            st.info(_NO_TRACE_YET, icon=":material/hourglass_empty:")
            st.caption(_SO_FAR)
            text = _text(_whose_moves(kept), written)
            if text is not None:
                with st.container(horizontal=True, gap="xsmall", key="export_buttons"):
                    _download_script(name, text, is_main=True)
                st.caption(_PLAY_IT)
    with left:
        _head("export_script", "Script of the session so far")
        with pane("export_case"):
            if text is not None:
                st.code(literal(text), language="yaml", wrap_lines=True)


def _head(key: str, title: str) -> None:
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False, key=f"head_{key}"
    ):
        st.markdown(f"**{title}**", width="content")


def _whose_moves(kept: KeptInputs) -> Agent:
    chosen = st.segmented_control(
        "Agent responses come from",
        list(_AGENTS),
        format_func=_AGENTS.__getitem__,
        required=True,
        key=kept.widget("export_script_agent", "moves"),
    )
    return chosen or "moves"


def _text(agent: Agent, written: Callable[[Agent], str]) -> str | None:
    """Return the script, or say why there is none."""
    try:
        return written(agent)
    except ValueError as error:  # a ScriptError
        problem("This session cannot be exported as a script.", str(error))
        return None


def _download_script(name: str, text: str, *, is_main: bool) -> None:
    st.download_button(
        "Download script",
        data=text,
        file_name=f"{name or 'session'}.script.yaml",
        mime="application/yaml",
        key="download_script",
        type="primary" if is_main else "secondary",
        icon=":material/download:",
        on_click="ignore",
    )


# The export of a session: the golden trace as it will be, the checks on it, and the ways out for it.


COLUMNS = (1.35, 1)
VIEWS = ("Outline", "Case JSON")
_FORMS: dict[TraceForm, str] = {
    "intermediate_data": "Intermediate data",
    "invocation_events": "Invocation events",
}
assert set(_FORMS) == set(get_args(TraceForm))  # noqa: S101 - a new form must get a name here


@dataclass(frozen=True)
class ExportView:
    """What the page knows: the case, or why there is none; the last write, or why it failed; how the session is as a script.

    `of_scenario` says that a scenario spoke for the user, `is_over` that the agent has given its final response; a
    session that is not has no case, and its script is all there is of it. `replay` is that of the last write, `last` the last run of that case,
    `divergence` draws where it goes another way. `case_runs` draws what else is run on the case that was written. `dataset` is what is known of it as a
    dataset; None where there is no case. `is_taken` says that the set has another case with this id, and `is_own` that the session was written there, or plays it; `replacing`
    what becomes of that case then, `lost` what it had not told when it was played.
    """

    result: Exportable | None
    refused: str | None
    failed: str | None
    written: ExportResult | None
    script: Callable[[Agent], str]
    divergence: DrawsDivergence
    of_scenario: bool = False
    is_over: bool = True
    replay: Job[ExportReplay] | None = None
    last: LastRun | None = None
    case_runs: Callable[[], None] = lambda: None
    dataset: DatasetView | None = None
    is_taken: bool = False
    is_own: bool = False
    replacing: Replacing | None = None
    lost: tuple[str, ...] = ()


class WriteTrace(Value):
    """Write the golden trace into its eval set."""

    form: ExportForm


class ReplayCase(Value):
    """Replay the case that was written, against its recording."""


ExportCommand: TypeAlias = Show | WriteTrace | ReplayCase | WriteDataset
"""What is asked for in the export."""


def fields(kept: KeptInputs, default_path: str) -> ExportForm:
    """Return what the fields hold before they are drawn; the eval id is empty where nobody named one yet."""
    return ExportForm(
        form=kept.value("export_form", "intermediate_data"),
        eval_id=str(kept.value("export_eval_id", "") or ""),
        path=str(kept.value("export_path", default_path) or ""),
        keeps_edits=bool(kept.value("export_keep_edits", initial=True)),
        note=str(kept.value("export_note", "") or ""),
    )


def export(
    kept: KeptInputs, chosen: ExportForm, shown: ExportView, *, may_write: bool = True
) -> ExportCommand | None:
    """Draw the panel; return what was asked for. `may_write` offers to write to a file of the server."""
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="export_head"):
        title = "Export the golden trace" if shown.is_over else "Export the session so far"
        st.subheader(title, anchor=False, width="content")
        st.space("stretch")
        back = st.button("Back to session", key="export_back", type="tertiary", icon=":material/arrow_back:")
    asked: ExportCommand | None = None
    if shown.is_over:
        asked = _of_trace(kept, chosen, shown, may_write=may_write)
    else:
        script_so_far(kept, chosen.eval_id, shown.script)
    return Show(view=None) if back else asked


def _of_trace(
    kept: KeptInputs, chosen: ExportForm, shown: ExportView, *, may_write: bool
) -> ExportCommand | None:
    left, right = st.columns(COLUMNS, gap="small")
    with left:
        view = pane_head("Case", VIEWS, "export_view", named_views)
        with pane("export_case"):
            _case(view, shown)
    if flaw_of_eval_id(chosen.eval_id):  # the case is shown, and nothing of it leaves under another id
        shown = replace(shown, result=None, dataset=None)
    with right:
        with st.container(
            horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False, key="head_export_ways"
        ):
            st.markdown("**Destination**", width="content")
        with pane("export_ways"):
            return _ways(kept, chosen, shown, may_write=may_write)


def _case(view: str, shown: ExportView) -> None:
    if shown.result is None:
        problem("No case to show.", shown.refused or "")
    elif view == "Case JSON":
        st.code(literal(shown.result.text), language="json", wrap_lines=True)
    else:
        _outline(shown.result)


def _outline(result: Exportable) -> None:
    """Show a case turn by turn; every text in it comes from outside."""
    for number, turn in enumerate(outline(result.case, result.known.get(result.case.eval_id)), start=1):
        with st.container(gap="xsmall", key=f"outline_{number}"):
            st.markdown(f"**Turn {number}**")
            st.caption("User")
            st.text(literal(turn.asked))
            st.caption(f"{len(turn.calls)} tool call{'' if len(turn.calls) == 1 else 's'}")
            if turn.calls:
                _calls(turn.calls, number)
            st.caption("Agent")
            st.text(literal(turn.answered))
            for note in turn.notes:
                st.caption(literal(note))
    started = result.case.session_input.state if result.case.session_input else {}
    for title, value in (
        ("Initial state", started),
        ("Final state", result.case.final_session_state),
    ):
        if value:
            st.caption(title)
            value_or_json(value, f"outline_{slug(title)}")


_WHOLE, _LONGEST_CELL = ("arguments", "response"), 300


def _calls(calls: Sequence[CallLine], number: int) -> None:
    """Draw the calls of a turn as a table, and below it the whole arguments and response of the one that is selected."""
    picked: Any = st.dataframe(
        [{"tool": call.tool, **{name: _cell(getattr(call, name)) for name in _WHOLE}} for call in calls],
        key=f"outline_calls_{number}",
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        column_config={
            "tool": st.column_config.TextColumn(width=name_width(call.tool for call in calls)),
            **dict.fromkeys(_WHOLE, st.column_config.TextColumn(help="Select a row to see it whole below")),
        },
        alt="Tool calls of the turn with their responses",
    )
    for call in (calls[row] for row in picked.selection.rows if row < len(calls)):
        for title in _WHOLE:
            st.caption(title.capitalize())
            value_or_json(getattr(call, title), f"outline_{number}_{title}")


def _cell(value: JsonValue) -> str:
    """Write a value in one line of its fields, shortened."""
    line = "(none)" if value is None else " ".join(values_line(value)[: 2 * _LONGEST_CELL].split())
    return literal(line if len(line) <= _LONGEST_CELL else f"{line[: _LONGEST_CELL - 1]}\u2026")


def _ways(
    kept: KeptInputs, chosen: ExportForm, shown: ExportView, *, may_write: bool
) -> ExportCommand | None:
    with place():
        _checks(shown)
    with place():
        if shown.of_scenario and shown.result is not None:
            st.info(
                "The scenario is frozen: the case contains the messages that were sent. `adk eval` repeats them without a model for "
                "the user.",
                icon=":material/ac_unit:",
            )
    _destination(kept, chosen, shown, may_write=may_write)
    asked = _buttons(kept, chosen, shown, may_write=may_write)
    dataset = dataset_export(kept, shown.dataset, may_write=may_write) if shown.dataset is not None else None
    script_export(kept, chosen.eval_id, shown.script)
    return asked or dataset


def _destination(kept: KeptInputs, chosen: ExportForm, shown: ExportView, *, may_write: bool) -> None:
    """Draw the fields that say what is written, and where."""
    st.segmented_control(
        "Step format",
        list(_FORMS),
        format_func=_FORMS.__getitem__,
        required=True,
        key=kept.widget("export_form", "intermediate_data"),
        help="Intermediate data lists calls, responses and texts separately. Invocation events keep their order. `adk eval` reads "
        "both.",
    )
    st.text_input("Eval id", key=kept.widget("export_eval_id", chosen.eval_id))
    with place():
        _flaw(kept, chosen.eval_id)
    if may_write:
        st.text_input(
            "Eval set file",
            key=kept.widget("export_path", chosen.path),
            help="Created if it does not exist. Other cases in it stay unchanged",
        )
    with place():
        if may_write and not _is_done(chosen, shown):
            st.text_input(
                "Note",
                key=kept.widget("export_note", ""),
                help="Stored next to the eval set. A case that you replace keeps its note if this is empty",
            )
    with place():
        if may_write and is_among_data(chosen.path):
            st.caption(
                "Eval sets of the demo agents are stored in your data folder. Any other path works too."
            )


def _flaw(kept: KeptInputs, eval_id: str) -> None:
    """Say why an eval id cannot be used, and offer one that can."""
    if flaw := flaw_of_eval_id(eval_id):
        problem_line(f"{flaw[:1].upper()}{flaw[1:]}. Enter another one.")
        usable = usable_eval_id(eval_id)
        st.button(
            f"Use {safe_label(usable)} instead",
            key="export_usable_id",
            type="tertiary",
            on_click=kept.put,
            args=("export_eval_id", usable),
        )


def _is_done(chosen: ExportForm, shown: ExportView) -> bool:
    """Return whether the case is where it is to be written."""
    there = (chosen.eval_id, chosen.path)
    written = shown.written
    return written is not None and (written.eval_id, written.path) == there and not shown.is_own


def _buttons(
    kept: KeptInputs, chosen: ExportForm, shown: ExportView, *, may_write: bool
) -> ExportCommand | None:
    result, done = shown.result, _is_done(chosen, shown)
    with st.container(horizontal=True, gap="xsmall", key="export_buttons"):
        cannot = result is None or result.misread is not None
        replace = shown.is_own and may_write and _replace(is_main=True, cannot=cannot)
        write = not shown.is_own and may_write and _write(done=done, cannot=cannot)
        _download(chosen, result)
        with st.popover("More", icon=":material/more_horiz:", key="export_copy", disabled=result is None):
            _archive(chosen, result)
            st.caption("An eval set with this case. Copy it with the button in its corner")
            st.code(literal(result.document if result else ""), language="json", height=320)
    if shown.failed:
        problem("The case was not written.", shown.failed)
    found = shown.replacing if may_write else None
    if found is not None and found.edits:
        _edits(kept, found.edits)
    dropped = found.dropped(keep_edits=chosen.keeps_edits) if found else ()
    for each in (*shown.lost, *dropped) if shown.is_taken else ():
        st.warning(literal(f"If you replace the case, {each}."), icon=":material/content_cut:")
    replace = replace or (shown.is_taken and not shown.is_own and may_write and _replace())
    if replace:
        return WriteTrace(form=chosen.model_copy(update={"replaces": True}))
    differs = result.warnings if result is not None else ()
    if shown.written is not None and exported(shown.written, shown, differs):
        return ReplayCase()
    return WriteTrace(form=chosen) if write else None


def _edits(kept: KeptInputs, edits: Sequence[HandEdit]) -> None:
    """Say what was edited in the case since it was written, and let a person choose whether that stays."""
    with st.container(gap="xsmall", key="export_edits", border=True):
        st.badge("Edited after the case was written", icon=":material/edit_note:", color="orange")
        st.text(literal("\n".join(f"{each.words[:1].upper()}{each.words[1:]}" for each in edits)))
        if any(each.again is not None for each in edits):
            st.checkbox(
                "Keep these edits",
                key=kept.widget("export_keep_edits", initial=True),
                help="They stay where the session has the same call and the same response as before",
            )


def _write(*, done: bool, cannot: bool) -> bool:
    return st.button(
        "Written" if done else "Write to file",
        key="export_write",
        type="primary",
        icon=":material/check:" if done else ":material/save:",
        shortcut="Mod+Enter",
        disabled=cannot or done,
    )


def _replace(*, is_main: bool = False, cannot: bool = False) -> bool:
    return st.button(
        "Replace the case",
        key="export_replace",
        type="primary" if is_main else "secondary",
        icon=":material/swap_horiz:",
        shortcut="Mod+Enter" if is_main else None,
        disabled=cannot,
        help="Its notes, review, rubrics and tolerances stay. To write another case, change the eval id",
    )


def _download(chosen: ExportForm, result: Exportable | None) -> None:
    st.download_button(
        "Download",
        data=result.document if result else "",
        file_name=f"{chosen.eval_id or 'golden_trace'}.evalset.json",
        mime="application/json",
        key="export_download",
        icon=":material/download:",
        on_click="ignore",
        disabled=result is None,
        help="An eval set with this case and its recording, confirmations included. ADK loads it and ignores the recording",
    )


def _archive(chosen: ExportForm, result: Exportable | None) -> None:
    """Offer the case with what the world answered in it."""
    st.download_button(
        "Download with recording",
        data=result.archive if result else b"",
        file_name=f"{chosen.eval_id or 'golden_trace'}.zip",
        mime="application/zip",
        key="export_archive",
        icon=":material/folder_zip:",
        on_click="ignore",
        disabled=result is None or not result.archive,
        help="The eval set and its recorded tool responses and confirmations as two files. A replay with them runs no real tool",
    )


def unsure_places(unsure: Unsure) -> None:
    """Draw the places of a case's responses of which nobody said what belongs there."""
    for kind, places in unsure._asdict().items():
        if not places:
            continue
        is_blank = kind == "blanks"
        with st.container(gap="xsmall", key=f"export_{kind}", border=True):
            if is_blank:
                st.badge("Blanks in the responses", icon=":material/check_box_outline_blank:", color="orange")
            else:
                st.badge("Uncertain values", icon=":material/casino:", color="gray")
            st.text(literal("\n".join(places)))
            known = "Nothing is known of these places" if is_blank else "No source gave these values"
            st.caption(f"{known}. Undo to the call and enter what belongs there, or edit the case later.")


def _checks(shown: ExportView) -> None:
    if shown.result is None:
        return
    if shown.result.misread is None:
        st.success("Checked: ADK loads this case unchanged.", icon=":material/verified:")
    else:
        problem("ADK does not load this case unchanged.", shown.result.misread)
    unsure_places(shown.result.unsure)
    if shown.result.warnings and shown.written is None:
        with st.container(gap="xsmall", key="export_warnings", border=True):
            st.badge("adk eval with real tools will differ", icon=":material/info:", color="orange")
            for sentence in shown.result.warnings:
                st.text(literal(sentence))
