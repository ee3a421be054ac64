"""The page of one eval set: its head, its tabs, and the case that is open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.evalsets.cases.case_forms import OpenPart, save_of, unapplied
from app.evalsets.cases.case_panel import case_page
from app.evalsets.cases.cases_tab import cases_tab
from app.evalsets.conflict_panel import conflict_page, difference_words, shown_differences
from app.evalsets.exchange_jobs import beside_set, whole_set
from app.evalsets.set_context import (
    AskToSave,
    CloseSet,
    OpenCase,
    RedoEdit,
    ReloadSet,
    SaveSet,
    SetCommand,
    SetContext,
    StepMark,
    Tab,
    UndoEdit,
    environment_of,
    facts_of,
)
from app.evalsets.workspace import workspaces
from app.forms.common_panel import problem
from app.forms.safe_labels import literal, safe_label
from app.forms.text_diff import difference
from app.forms.widget_store import slug
from app.server.viewer_time import short_time
from app.session.named_view_widgets import named_views
from evalset.editing.case_edits import Edit, words_of
from evalset.editing.set_changes import CaseChange, SetChanges, changes
from evalset.editing.set_saving import Conflict, DecidedTwice, text_of_set
from evalset.editing.set_work import EditedCase, SetWork
from evalset.recorded.recording import lean

if TYPE_CHECKING:
    from app.evalsets.run.case_runs_panel import ShownCase
    from evalset.editing.case_parts import Where


@dataclass(frozen=True)
class ShownSet:
    """The part of an eval set that is on the screen.

    Attributes:
        case: The case that is open; None for the tabs.
        compared: Draws it next to another one, where it is compared with that.
        part: The part of it whose editor is open.
        saving: What a save would change is shown first.
        failed: Why the last command did not work.
        done: What the last save did: the files that it wrote, in lines, and what else there is to know; some words come from outside.
        both: The cases that were changed here and there; None where the file is as it was.
        decided: The cases about which others have decided otherwise meanwhile.
        missing: The cases in the address that the set does not have.
        changed: The case was changed elsewhere since this tab drew it.
        deleted: The id of the case that was deleted last here.
    """

    case: str | None = None
    compared: Tab | None = None
    part: OpenPart | None = None
    saving: bool = False
    failed: str | None = None
    done: tuple[str, ...] = ()
    both: Sequence[Conflict] | None = None
    decided: Sequence[DecidedTwice] = ()
    missing: tuple[str, ...] = ()
    changed: bool = False
    deleted: str = ""


def set_page(scene: SetContext, shown: ShownSet) -> SetCommand | None:
    """Draw the page; return what was asked for."""
    asked = _head(scene, saving=shown.saving)
    _troubles(scene.work)
    if scene.work.beside.is_inside and scene.work.beside_identity is None:
        st.caption(
            "There is no recording file next to this set, so the recording inside the set is used. The first change to it creates "
            "the file."
        )
    if scene.forgot and not scene.work.edits:
        st.caption("Earlier edits can no longer be undone, because the files changed after they were saved.")
    asked = _restored(scene) or asked
    _said(shown)
    if shown.saving or shown.done:
        asked = _open_forms(scene, shown) or asked
    if shown.both is not None:
        return conflict_page(scene.path, shown.both, shown.decided) or asked
    if shown.saving:
        return save_page(scene, shown.failed) or asked
    if shown.failed:
        problem("The action failed. Nothing was changed.", shown.failed)
    if shown.missing:
        st.warning("The link names what this set does not have:", icon=":material/link_off:")
        st.text(literal("\n".join(f"case {key} of {scene.path}" for key in shown.missing)))
    if shown.compared is not None:
        return shown.compared(scene) or asked
    if shown.case is not None:
        runs = partial(_case_runs, scene, shown.case)
        return (
            case_page(scene, shown.case, shown.part, runs, partial(_case_marks, scene, shown.case)) or asked
        )
    chosen = named_views("Eval set: view", list(TABS), "set_tab")
    with st.container(key=f"set_{slug(chosen.lower())}", gap="small"):
        return TABS[chosen](scene) or asked


def _troubles(work: SetWork) -> None:
    """Say which files beside the set are damaged."""
    if work.beside.trouble:
        problem("The recording next to this set cannot be used.", work.beside.trouble)
    if work.reviews.trouble:
        problem(
            "The reviews next to this set cannot be used. Fix the file, or rename it to start new reviews.",
            work.reviews.trouble,
        )


def _restored(scene: SetContext) -> SetCommand | None:
    """Say what an earlier server has left, with the way to drop it."""
    left = scene.restored
    if left is None or not (scene.work.is_changed or left.problem):
        return None
    time = short_time(left.at)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="set_restored"):
        if left.problem:
            st.warning(f"Unsaved edits from {time} cannot be restored.", icon=":material/history:")
        else:
            st.info(f"Unsaved edits from {time} restored.", icon=":material/history:")
        dropped = st.button("Discard edits", key="set_discard", type="tertiary", icon=":material/delete:")
    if left.problem:
        st.text(literal(left.problem))
    if left.body:
        st.download_button(
            "Download edits", data=left.body, file_name="edits.json", key="set_edits", on_click="ignore"
        )
    return ReloadSet() if dropped else None


def _said(shown: ShownSet) -> None:
    """Say what the last save did, and what was changed elsewhere."""
    if shown.done:
        files, *told = shown.done
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="set_saved"):
            st.success("The eval set was saved.", icon=":material/check_circle:")
            if files:
                with st.popover("Files", key="set_saved_files", type="tertiary", width="content"):
                    st.text(literal(files))
        for sentence in told:
            st.text(literal(sentence))
    if shown.deleted:
        st.success(
            "The case was deleted, and this is not saved yet. **Undo** restores it.", icon=":material/delete:"
        )
        st.text(literal(shown.deleted))
    if shown.changed and shown.case is not None:
        st.info("This case was changed elsewhere. The page shows it as it is now.", icon=":material/sync:")


def _open_forms(scene: SetContext, shown: ShownSet) -> SetCommand | None:
    """Name the forms whose changes no save writes, but for one on the screen after it, each with the way there."""
    asked: SetCommand | None = None
    here = shown.part.form.token if shown.part and not shown.saving else ""
    for form, part in unapplied(scene.drafts, scene.work):
        if part is None or form.token == here:
            continue
        with st.container(
            horizontal=True, vertical_alignment="center", gap="xsmall", key=f"form_{form.token}"
        ):
            eval_id = safe_label(scene.work.row(form.case).eval_id, 48)
            st.warning(
                f"The form of {eval_id} has changes that are not applied: {part.title}. They are not saved."
            )
            if st.button("Show form", key=f"show_form_{form.token}", icon=":material/edit:", type="tertiary"):
                asked = OpenCase(key=form.case, form=form.token)
    return asked


def _head(scene: SetContext, *, saving: bool) -> SetCommand | None:
    work = scene.work
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="set_head"):
        with st.container(key="session_title", width="content"):
            st.text(literal(scene.path.name), wrap=False)
        if work.is_changed:
            st.badge("Not saved", icon=":material/edit:", color="orange")
        if work.opened.old_text is not None:
            words = "Saving converts the file to the current format and keeps a copy of the old one"
            st.badge("Old format", icon=":material/history:", color="orange", help=words)
        st.space("stretch")
        shows = (  # left of all that stays, as the line ends at the right
            work.is_changed
            and not saving
            and st.button("Changes", key="set_changes", icon=":material/difference:", type="tertiary")
        )
        asked = _steps(work) or (AskToSave() if shows else None)
        _downloads(work)
        if st.button("All eval sets", key="set_back", icon=":material/arrow_back:", type="tertiary"):
            asked = CloseSet()
        if st.button(
            "Save",
            key="set_save",
            icon=":material/save:",
            type="primary",
            disabled=saving or not work.is_changed,
            help="Saves to the file. Shows the changes first if a case is deleted or a form is not applied.",
        ):
            asked = save_of(scene)
    return asked


def _downloads(work: SetWork) -> None:
    """Draw the way to take the set along: with its recording where there is one, or alone."""
    path, icon = work.opened.path, ":material/download:"
    beside = [] if work.beside.trouble or work.reviews.trouble else beside_set(path)
    with st.popover("Download", key="set_downloads", icon=icon, type="tertiary") if beside else nullcontext():
        if beside:
            st.download_button(
                "Download with recording",
                data=lambda: whole_set(work).content,
                file_name=f"{path.name.partition('.')[0]}.zip",
                mime="application/zip",
                key="set_download_whole",
                icon=":material/folder_zip:",
                on_click="ignore",
                help=f"{path.name}, {', '.join(each.name for each in beside)}",
            )
        st.download_button(
            "Download set alone" if beside else "Download",
            data=lambda: text_of_set(work),
            file_name=path.name,
            mime="application/json",
            key="set_download",
            icon=icon,
            type="tertiary",
            on_click="ignore",
            help="Without its recording, another machine cannot replay it" if beside else None,
        )


def _steps(work: SetWork) -> SetCommand | None:
    """Draw the ways back and forth, each with what it takes back or brings back."""
    asked: SetCommand | None = None
    last = f"Undo: {_in_words(work.edits[-1])}" if work.edits else None
    undone = f"Redo: {_in_words(work.undone)}" if work.undone else None
    if st.button(
        "Undo", key="set_undo", icon=":material/undo:", type="tertiary", disabled=last is None, help=last
    ):
        asked = UndoEdit()
    if st.button(
        "Redo", key="set_redo", icon=":material/redo:", type="tertiary", disabled=undone is None, help=undone
    ):
        asked = RedoEdit()
    return asked


def _in_words(edit: Edit) -> str:
    words = safe_label(words_of(edit), _MOST_WORDS)
    return words[:1].lower() + words[1:]


# The tabs of an eval set's page by name, in their order; another one is a module here and a line below.


def _of_file(scene: SetContext) -> None:
    """Say that a tab reads the file, and not what is edited."""
    if scene.work.is_changed:
        st.info("This tab uses the saved file. Save your edits to include them.", icon=":material/edit:")


def _run(scene: SetContext) -> SetCommand | None:
    from app.evalsets.run.run_tab import run_tab  # noqa: PLC0415 - not before somebody looks there

    _of_file(scene)
    asked = run_tab(scene)
    if asked is None:
        _replay(scene)
    return asked


def _replay(scene: SetContext) -> None:
    """Show how an agent is replayed with what lies beside the set, outside of the page."""
    environment = environment_of(scene.path)
    if environment is None:
        return
    from app.evalsets.choices_panel import agent_loaded, agent_of_set  # noqa: PLC0415 - as above
    from evalset.recorded.recorder import replay_lines as lines_of  # noqa: PLC0415 - as above
    from evalset.recorded.recorder import replay_lines_of  # noqa: PLC0415 - as above

    facts, folder = facts_of(scene.path), scene.path.parent
    is_agent = any((folder / name).is_file() for name in ("agent.py", "__init__.py", "root_agent.yaml"))
    beside = folder if is_agent else None
    app_name = facts.app_names[0] if facts.app_names else folder.name
    config = agent_loaded(agent_of_set(workspaces().of(scene.owner, scene.path), facts))
    if config is None:
        lines = lines_of(app_name, environment, beside)
    else:
        lines = replay_lines_of(config, app_name, environment, beside)
    replay_lines(lines, "set_replay")


def _case_runs(scene: SetContext, key: str) -> SetCommand | None:
    """Draw what is run on a case; return what was asked for about its last result."""
    from app.evalsets.run.case_marks import edit_of  # noqa: PLC0415 - as above
    from app.evalsets.run.case_runs_panel import case_runs  # noqa: PLC0415 - not before somebody looks there
    from app.evalsets.run.run_tab import command_of  # noqa: PLC0415 - as above

    workspace = workspaces().of(scene.owner, scene.path)
    shown, facts = _shown_case(scene, key), facts_of(scene.path)
    asked = case_runs(workspace, facts, shown, lambda golden: edit_of(scene, golden))
    return command_of(scene, workspace, asked)


def _case_marks(scene: SetContext, key: str) -> Mapping[Where, StepMark]:
    """Return what was found about steps of a case."""
    from app.evalsets.run.case_runs_panel import marked_steps  # noqa: PLC0415 - as above

    return marked_steps(workspaces().of(scene.owner, scene.path), _shown_case(scene, key))


def _shown_case(scene: SetContext, key: str) -> ShownCase:
    from app.evalsets.run.case_runs_panel import ShownCase  # noqa: PLC0415 - as above

    opened, work = scene.work.opened, scene.work
    case = opened.case(key) if key in opened.places else None
    return ShownCase(work.row(key).eval_id, unsaved=work.is_edited, case=case)


def _runs(scene: SetContext) -> SetCommand | None:
    from app.evalsets.run.kept_runs_tab import kept_runs_tab  # noqa: PLC0415 - not before somebody looks there

    kept_runs_tab(workspaces().of(scene.owner, scene.path), facts_of(scene.path))
    return None


def _doctor(scene: SetContext) -> SetCommand | None:
    from app.evalsets.checks.doctor_tab import doctor_tab  # noqa: PLC0415 - not before somebody looks there

    _of_file(scene)
    workspace = workspaces().of(scene.owner, scene.path)
    doctor_tab(workspace, facts_of(scene.path), unsaved=scene.work.is_edited)
    return None


def _exchange(scene: SetContext) -> SetCommand | None:
    from app.evalsets.exchange_tab import exchange_tab  # noqa: PLC0415 - not before somebody looks there

    return exchange_tab(workspaces().of(scene.owner, scene.path), scene)


TABS: Mapping[str, Tab] = {
    "Cases": cases_tab,
    "Run": _run,
    "Kept runs": _runs,
    "Doctor": _doctor,
    "Import & export": _exchange,
}


# What a save would change, case by case, before it is done.


MOST_SHOWN = 50
_MOST_WORDS = 160
_AROUND = 3
_COLORS = {"added": "green", "removed": "red", "changed": "blue"}


def save_page(scene: SetContext, failed: str | None) -> SetCommand | None:
    """Draw it; return what was asked for. `failed` says why the last save was refused."""
    found = changes(scene.work)
    if failed:
        problem("The eval set was not saved.", failed)
    asked: SetCommand | None = None
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="save_line"):
        st.markdown(f"**{_count(found)}**", width="content")
        st.space("stretch")
        if st.button("Back to editing", key="save_back", type="tertiary", icon=":material/arrow_back:"):
            asked = AskToSave(shown=False)
        if st.button(
            "Save to file",
            key="save_set",
            type="primary",
            icon=":material/save:",
            shortcut="Mod+Enter",
            disabled=not found.any,
        ):
            asked = SaveSet()
    if found.any:
        st.caption("Not saved yet. These are the changes. **Save to file** writes them.")
    if found.reordered:
        st.caption("The order of the cases changed.")
    unsaved = {each.key: (_said_of(each.then), _said_of(each.now)) for each in scene.work.unsaved()}
    for place, change in enumerate(found.cases[:MOST_SHOWN]):
        _change(change, *unsaved[change.key], is_open=place == 0)
    if len(found.cases) > MOST_SHOWN:
        st.caption(f"and {len(found.cases) - MOST_SHOWN} more cases")
    return asked


def _count(found: SetChanges) -> str:
    count = len(found.cases)
    if not count:
        return "No changes" if not found.reordered else "New order"
    return f"{count} case{'s' if count > 1 else ''} will change"


def _said_of(held: EditedCase | None) -> dict[str, Any]:
    """Return a case with what people say of it, but for what tells the version that they mean."""
    if held is None:
        return {}
    review = {name: each for name, each in lean(held.review).items() if name != "digest"}
    return {**held.case, "note": lean(held.note), "review": review}


def _change(change: CaseChange, then: dict[str, Any], now: dict[str, Any], *, is_open: bool) -> None:
    body = st.expander(
        f"{safe_label(change.eval_id, _MOST_WORDS)} \u00b7 {difference_words(change.words)}",
        icon=":material/difference:",
        key=f"change_{slug(change.key)}",
        expanded=is_open,
    )
    with body:
        with st.container(horizontal=True, gap="xsmall"):
            st.badge(change.kind, color=_COLORS[change.kind])  # type: ignore[arg-type] # the colours are those of badges
            if change.recorded:
                st.badge("also changes the recording file", color="gray")
            if change.reviewed:
                st.badge("also changes the review file", color="gray")
        if change.kind == "changed":
            shown_differences(then, now)
        if not st.toggle("Show as JSON", key=f"change_json_{slug(change.key)}"):
            return
        shown = difference(*_trimmed(change.before, change.after))
        if shown.text:
            st.code(literal(shown.text), language="diff", wrap_lines=True)
        if shown.is_cut:
            st.caption("Only the start of the difference is shown.")


def _trimmed(before: str, after: str) -> tuple[str, str]:
    """Leave out what is alike at the beginning and at the end of two long texts, but for a few lines."""
    old, new = before.splitlines(), after.splitlines()
    shortest = min(len(old), len(new))
    head = next((place for place in range(shortest) if old[place] != new[place]), shortest)
    tail = next(
        (place for place in range(shortest - head) if old[-1 - place] != new[-1 - place]), shortest - head
    )
    start, cut = max(0, head - _AROUND), max(0, tail - _AROUND)
    return "\n".join(old[start : len(old) - cut]), "\n".join(new[start : len(new) - cut])


def replay_lines(lines: str, key: str) -> None:
    """Draw them, folded.

    Args:
        lines: What `evalset.recorded.recorder.replay_lines` gives; it may name a file that somebody else named.
        key: The key of the folded part.
    """
    with st.expander("Replay with recorded responses", key=key, icon=":material/replay:"):
        st.caption(
            "Add these lines to the agent's module. `adk eval`, `adk web` and pytest then get the recorded responses, and no real "
            'tool runs. With `models="recorded"`, no model is called either.'
        )
        st.code(literal(lines), language="python", wrap_lines=True)
