"""The page of a session's export: builds the case for the panel, and carries out what it gives back."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import streamlit as st
from pydantic import JsonValue

from app.evalsets.open_sets import edited_sets
from app.evalsets.set_context import facts_of
from app.evalsets.set_discovery import only_set
from app.evalsets.workspace import EXPORTED, workspaces
from app.export.export_case import (
    Exportable,
    ExportForm,
    ExportResult,
    LastRun,
    PlayedCase,
    as_dataset,
    dataset_path,
    exportable,
    free_eval_id,
    played_case,
    remember_played,
    replayed,
    write,
    write_dataset,
    written_before,
)
from app.export.export_panel import (
    DatasetView,
    ExportView,
    ReplayCase,
    WriteDataset,
    WriteTrace,
    export,
    fields,
)
from app.forms.widget_store import KeptInputs
from app.live.agent_catalogue import catalogue
from app.live.destinations import check_destination, default_destination, remember_set, whole_path
from app.live.live_sessions import LiveSession
from app.scripts.script_play import script_text
from app.server.owners import LOCAL
from app.server.viewer_time import short_time
from app.session import page_state
from app.session.page_commands import Show
from app.session.running_panel import AT_ONCE_SECONDS
from app.session.shell_texts import commands_of
from evalset.errors import CaseTakenError
from evalset.files.eval_names import usable_eval_id
from simulator.agents import AgentSettingsError
from simulator.base.secret_masking import error_words
from simulator.session import SessionState, SimulationSession

if TYPE_CHECKING:
    from app.export.export_case import ExportReplay
    from app.live.background_jobs import Job
    from evalset.cli.shell_lines import ShownCommands
    from evalset.editing.golden_writing import Replacing
    from evalset.verify.results import Divergence
    from simulator.runtime import SimulationView

_LOG = logging.getLogger(__name__)


def export_page(live: LiveSession, view: SimulationView) -> None:
    """Draw the export of a session as `view` shows it."""
    kept = KeptInputs(live.drafts, "export", str(view.head))
    chosen, played = _chosen(live, view.session, kept, _written(view.head))
    is_over = view.session.state is SessionState.COMPLETED
    result, refused = _built(live, view, chosen) if is_over else (None, None)
    is_known = page_state.get("taken") == [chosen.path, chosen.eval_id]
    found = _replacing(chosen, result) if played or is_known else None
    there = _there(played, found)
    written = _known(live, view, chosen, played, there)
    shown = ExportView(
        result,
        refused,
        page_state.get("unwritten"),
        written,
        partial(script_text, live.simulation.journal),
        _divergence,
        any(key.startswith("scenario ") for key in view.user.seat.conversations),
        is_over,
        _replay_of(live, written),
        _last_run(live, written) if written is not None else None,
        partial(_case_runs, live, written) if written is not None and not live.read_only else _nothing,
        _dataset(live, view.head, chosen, result) if result is not None else None,
        is_taken=there == "differs" or is_known,
        is_own=there == "differs",
        replacing=found,
        lost=played.losses if played else (),
    )
    match export(kept, chosen, shown, may_write=not live.read_only):
        case Show():
            page_state.show(None)
            page_state.put("unwritten", None)
            st.rerun()
        case WriteTrace(form=form) if not live.read_only:
            _write(live, view.session, form, view.head)
        case ReplayCase() if not live.read_only and written is not None:
            _replay(live, written)
            st.rerun()
        case WriteDataset(path=path) if not live.read_only and result is not None:
            _write_dataset(live, view.head, result, path)


def _replacing(chosen: ExportForm, result: Exportable | None) -> Replacing | None:
    """Return what becomes of the case with this id if the session's takes its place."""
    if result is None:
        return None
    from evalset.editing.golden_writing import replacing  # noqa: PLC0415 - it imports ADK's evaluation

    recorded = result.known.get(result.case.eval_id)
    return replacing(chosen.path, result.case, recorded, keep_edits=chosen.keeps_edits)


def _chosen(
    live: LiveSession, session: SimulationSession, kept: KeptInputs, written: ExportResult | None
) -> tuple[ExportForm, PlayedCase | None]:
    """Return what the fields hold, and the case that the session plays or was written to, if it is that place."""
    played = _played_case(live)
    chosen = fields(kept, played.path if played else _own_set(live))
    chosen = chosen.model_copy(update={"path": whole_path(chosen.path, live)})
    in_place = played if played and chosen.path == played.path else None
    if not chosen.eval_id:
        named = in_place or written
        free = named.eval_id if named else _free(live, session, chosen.path)
        chosen = chosen.model_copy(update={"eval_id": free})
    return chosen, in_place if in_place and chosen.eval_id == in_place.eval_id else None


def _own_set(live: LiveSession) -> str:
    """Return where a case goes if nobody says otherwise: to the agent's own file, or to the one set that is listed for it."""
    if live.read_only:
        return ""
    place = default_destination(live.owner, live.config)
    if live.owner != LOCAL or place.exists():
        return str(place)
    try:
        return only_set(catalogue().entries(), live.agent_key or live.config.name) or str(place)
    except AgentSettingsError:  # said on the start page
        return str(place)


def golden_set(live: LiveSession) -> str:
    """Return the path of the set that the golden of a session goes to, as it was when this tab first asked: to look for it takes its time."""
    if played := _played_case(live):
        return played.path
    of, path = page_state.get("own_set") or ("", "")
    if of != live.session_id:
        path = _own_set(live)
        page_state.put("own_set", [live.session_id, path])
    return str(path)


def _there(played: PlayedCase | None, found: Replacing | None) -> Literal["", "same", "differs"]:
    """Say whether the case is in its set, and whether it stays as it is if the session's takes its place."""
    if played is None or found is None:
        return ""
    return "same" if found.is_same else "differs"


def _known(
    live: LiveSession,
    view: SimulationView,
    chosen: ExportForm,
    played: PlayedCase | None,
    there: Literal["", "same", "differs"],
) -> ExportResult | None:
    """Return the last export of this tab, or else that of another, as long as the case is in its set."""
    of_tab = _written(view.head) if played is None or there == "same" else None
    if of_tab is not None:
        return of_tab
    if not there or played is None or not played.session_id:
        return None
    found = written_before(live.config, played, chosen, view.head, view.session.app_name)
    return found.model_copy(update={"found": there, "commands": _commands(live, found)})


def _played_case(live: LiveSession) -> PlayedCase | None:
    """Return the case that the session plays, where its eval set may be written to."""
    played = None if live.read_only else played_case(live.drafts)
    try:
        check_destination(played.path if played else "", live)
    except ValueError:
        return None
    mine = ("", live.simulation.session.session_id)
    return played if played is not None and played.session_id in mine else None


def _dataset(live: LiveSession, head: int, chosen: ExportForm, result: Exportable) -> DatasetView:
    known = page_state.get("dataset")
    last = known if known and known["of"] == [live.simulation.session.session_id, head] else {}
    path = "" if live.read_only else str(_dataset_path(live, chosen.eval_id))
    made = partial(as_dataset, result, live.config)
    return DatasetView(made, path, tuple(last.get("written", ())), last.get("failed", ""))


def _dataset_path(live: LiveSession, eval_id: str) -> Path:
    place = default_destination(live.owner, live.config)
    path = dataset_path(eval_id, place)
    try:
        check_destination(str(path), live)
    except ValueError:  # among several people each writes next to the agent's eval set
        return place.with_name(path.name)
    return path


def _write_dataset(live: LiveSession, head: int, result: Exportable, path: str) -> None:
    written: list[JsonValue] = []
    failed = ""
    path = whole_path(path, live)
    try:
        check_destination(path, live)
        with st.spinner("Writing the dataset"):
            written = [str(each) for each in write_dataset(as_dataset(result, live.config), path)]
    except (ValueError, OSError) as error:
        failed = str(error)
    page_state.put(
        "dataset",
        {"of": [live.simulation.session.session_id, head], "written": written, "failed": failed},
    )
    st.rerun()


def _divergence(found: Divergence) -> None:
    from app.evalsets.run.verify_tab import divergence_shown  # noqa: PLC0415 - it imports ADK's evaluation

    divergence_shown(found)


def _nothing() -> None:
    """Draw nothing."""


def _last_run(live: LiveSession, written: ExportResult) -> LastRun | None:
    """Return the last run of the case, if this server knows all of it: also one that the eval set's page asked for."""
    from app.evalsets.run.last_results import last_result  # noqa: PLC0415 - it imports ADK's evaluation

    found = last_result(workspaces().of(live.owner, Path(written.path)), written.eval_id)
    if found is None:
        return None
    changes = found.measured.changes((found.eval_id,)) if found.measured is not None else ()
    at = f" Last run: {short_time(found.at)}." if written.found else ""
    return LastRun(found.status, at, found.case, found.why, changes, found.models)


def _case_runs(live: LiveSession, written: ExportResult) -> None:
    """Draw what is run on the case that was written, as on its page in the eval set."""
    from app.evalsets.run.case_runs_panel import ShownCase, case_runs  # noqa: PLC0415 - it imports ADK's evaluation

    path = Path(written.path)
    shown = ShownCase(written.eval_id, live.agent_key or live.config.name)
    case_runs(workspaces().of(live.owner, path), facts_of(path), shown)


def _free(live: LiveSession, session: SimulationSession, path: str) -> str:
    try:
        check_destination(path, live)
    except ValueError:  # said when it shall be written; nothing is read of it before
        path = ""
    return free_eval_id(session, path)


def _written(head: int) -> ExportResult | None:
    """Return the last write of this tab, as long as the session has not gone on since."""
    kept = page_state.get("exported")
    written = ExportResult.model_validate(kept) if kept else None
    return written if written is not None and written.head == head else None


def _built(
    live: LiveSession, view: SimulationView, chosen: ExportForm
) -> tuple[Exportable | None, str | None]:
    """Return the case, or why there is none; the last one that was built is at hand."""
    eval_id = usable_eval_id(chosen.eval_id)  # of one that cannot be used, the case is shown all the same
    about = (view.head, chosen.form, eval_id)
    if live.built is not None and live.built[0] == about:
        return live.built[1], None
    try:
        with st.spinner("Building the case and checking it with ADK's loader"):
            facts = [fact for _, fact in live.simulation.journal.path(view.head)]
            result = exportable(view.session, chosen.form, eval_id, facts, live.config)
    except ValueError as error:  # a GoldenTraceError, or a number that JSON has no word for
        return None, str(error)
    live.built = (about, result)
    return result, None


def _write(live: LiveSession, session: SimulationSession, form: ExportForm, head: int) -> None:
    page_state.put("unwritten", None)
    page_state.put("exported", None)
    try:
        with st.spinner("Writing the case"):
            check_destination(form.path, live)
            facts = [fact for _, fact in live.simulation.journal.path(head)]
            put = partial(write, session, live.config, form, head, facts)
            written = edited_sets().write(live.owner, Path(form.path), put)
    except ValueError as error:  # an error of evalset: it names the file and the place
        page_state.put("unwritten", str(error))
        page_state.put("taken", [form.path, form.eval_id] if isinstance(error, CaseTakenError) else None)
    except Exception as error:  # noqa: BLE001 - the page's edge: shown and kept
        _LOG.exception("A trace was not written")
        page_state.put("unwritten", error_words(error))
    else:
        written = written.model_copy(update={"commands": _commands(live, written)})
        page_state.put("exported", written.model_dump(mode="json"))
        mine = live.simulation.session.session_id
        remember_played(live.drafts, PlayedCase(path=written.path, eval_id=written.eval_id, session_id=mine))
        remember_set(live.owner, Path(written.path), live.agent_key or live.config.name)
        if written.environment:
            _replay(live, written)
    st.rerun()


def _commands(live: LiveSession, written: ExportResult) -> ShownCommands | None:
    try:
        agents = catalogue()
    except AgentSettingsError:  # said on the start page
        return None
    path = Path(written.path)
    name = live.agent_key or live.config.name
    return commands_of(name, agents.entries(), agents.settings, path, written.eval_id)


def _replay(live: LiveSession, written: ExportResult) -> None:
    """Begin to replay what was written; a short case is done before the page is drawn."""
    if live.replay is not None:
        live.replay[1].stop()
    job = replayed(Path(written.path), written.eval_id, live.config)
    live.replay = ((written.path, written.eval_id), job)
    workspaces().of(live.owner, Path(written.path)).jobs[f"{EXPORTED} {written.eval_id}"] = job
    job.wait(AT_ONCE_SECONDS)


def _replay_of(live: LiveSession, written: ExportResult | None) -> Job[ExportReplay] | None:
    if live.replay is None or written is None or live.replay[0] != (written.path, written.eval_id):
        return None
    return live.replay[1]
