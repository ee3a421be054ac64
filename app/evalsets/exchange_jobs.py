"""What the tab of imports and exports asks for, as work on the server: files that are looked into or become a set, and cases written in other forms."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from app.evalsets.set_context import fitting_agents
from app.evalsets.set_discovery import ENDING, check_import, room_for, take_upload
from app.forms.safe_labels import literal
from app.forms.typed_paths import typed_path, upload_name
from app.live.agent_catalogue import known_agents
from app.live.background_jobs import Job, JobProgress, Report
from evalset.editing.case_edits import InsertCase
from evalset.editing.set_saving import recorded_of_now, text_of_set
from evalset.editing.set_work import NO_NOTE
from evalset.editing.sidecars import (
    NO_REVIEW,
    CaseReview,
    ReviewFileError,
    add_reviews,
    brought_reviews,
    open_beside,
    review_of_copy,
    reviews_text,
)
from evalset.eval_config.config_edits import NAME as CRITERIA
from evalset.files.eval_names import importable_kind, reviews_path, unique_eval_id
from evalset.recorded.recording_files import environment_text, sidecar_of
from simulator.agents import AgentEntry
from simulator.base.documents import open_file, read_file
from simulator.base.frozen_value import Value

if TYPE_CHECKING:
    from google.adk.evaluation.eval_case import EvalCase
    from google.adk.workflow import BaseNode

    from evalset.editing.set_work import EditedCase, SetWork
    from evalset.exporting.export_forms import Exported, ExportForm
    from evalset.importing.gathered import Imported
    from evalset.recorded.recording import RecordedEnvironment


UPLOADED, MADE = "uploaded", "made_set"
"""The names of the works at a workspace."""

_HEAD = 8_000_000
"""A larger file is looked at in the import alone."""


class ImportedSet(NamedTuple):
    """A set to open, and what to say of it in sentences."""

    path: Path
    told: tuple[str, ...] = ()


def taken(owner: str, upload: Upload) -> Job[Path]:
    """Begin to keep an upload, its recording beside it; the result is where it lies."""

    def work(report: Report, stop: Event) -> Path:
        report(JobProgress(words="Reading the upload"))
        with room_for(owner, len(upload.content)):
            text, recorded = apart(upload.content)
        if stop.is_set():
            raise ValueError("The upload was stopped.")
        return take_upload(owner, upload.name, text, recorded)

    return Job(work, "take-upload")


def made_of(path: Path, owner: str) -> Job[ImportedSet]:
    """Begin to import the cases of a file into a new eval set beside it; the result is the set. A set that is not whole is not written."""

    def work(report: Report, stop: Event) -> ImportedSet:
        def goes_on(found: int) -> bool:
            report(JobProgress(words=f"Importing the cases. Cases found: {found:,}"))
            return not stop.is_set()

        made = imported_beside(path, goes_on=goes_on)
        check_import(owner, made.path)
        return made

    return Job(work, "import-as-set")


def apart(content: bytes) -> tuple[bytes, bytes]:
    """Part an uploaded eval set from the recording inside of it; the second is empty where it holds none.

    Raises:
        ValueError: What stands in the place of the recording is none.
    """
    if b'"recorded_environment"' not in content:
        return content, b""
    from evalset.recorded.recording_files import environment_text, parted  # noqa: PLC0415 - most sets hold no recording

    try:
        found = parted("the upload", content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return content, b""
    if found.environment is None:
        return content, b""
    return found.text.encode(), environment_text(found.environment).encode()


def importable(path: Path) -> str:
    """Return what a file is whose cases can be imported; empty where it is nothing of the kind."""
    try:
        with open_file(path, "cases") as file:
            return importable_kind(file.read(_HEAD))
    except OSError:
        return ""


def imported_beside(path: Path, *, goes_on: Callable[[int], bool] = lambda _: True) -> ImportedSet:
    """Import the cases of a file into a new eval set beside it; return the set, with how many cases it has and what was left out.

    Args:
        path: The file.
        goes_on: Asked with each case, with how many were found before; False ends the import, and nothing is written.

    Raises:
        ValueError: It holds no case, it was stopped, or the set cannot be written; the text says why.
    """
    from evalset.files.json_streams import SpoolError  # noqa: PLC0415 - as above
    from evalset.importing.gathered import Gathered, Harvest, add_to_set, grouped  # noqa: PLC0415 - importing ADK's evaluation takes a second
    from evalset.importing.import_files import take_path  # noqa: PLC0415 - as above

    try:
        brought = brought_reviews(path)
        if brought.problems:
            raise ValueError("\n".join(brought.problems))
        with Gathered() as gathered:
            harvest = Harvest(gathered, goes_on)
            take_path(path, harvest)
            if not goes_on(len(harvest.eval_ids)):
                raise ValueError("The import was stopped. No eval set was written.")
            if not gathered:
                raise ValueError("\n".join(grouped(harvest.problems)) or f"{path.name} contains no cases.")
            added = add_to_set(_free(path), gathered)
            problems = grouped(harvest.problems)
            reviews = brought.of(added.eval_ids, harvest.origins, harvest.rewritten)
    except (OSError, SpoolError) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(f"{path.name} cannot be imported: {why}") from error
    written = f"The cases were written to {added.path}."
    try:
        add_reviews(added.path, reviews)
    except (ReviewFileError, OSError) as error:
        raise ValueError(f"{written} Their reviews were not: {error}") from error
    if added.trouble:
        raise ValueError(f"{written} Their recorded responses were not: {added.trouble}")
    count = len(added.eval_ids)
    return ImportedSet(added.path, (f"Imported: {count:,} case{'' if count == 1 else 's'}.", *problems))


def _free(path: Path) -> Path:
    stem, number = path.name.partition(".")[0] or "imported", 1
    target = path.with_name(f"{stem}_imported{ENDING}")
    while target.exists():
        number += 1
        target = path.with_name(f"{stem}_imported_{number}{ENDING}")
    return target


IMPORTED, EXPORTED = "imported", "exported_set"
"""The names of the works at a workspace."""

FORM_NAMES: dict[ExportForm, str] = {
    "evalset": "Eval set with recording and reviews",
    "dataset": "Dataset for agents-cli eval",
    "pytest": "pytest file, replays without a key",
    "adk_test": "Tests for adk test",
    "scenarios": "Scenario file",
    "simulation_json": "ADK simulation config (JSON)",
    "simulation_yaml": "ADK simulation config (YAML)",
    "simulation_python": "ADK simulation config (Python)",
}
_NAMELESS = "file"


class Upload(Value):
    """A file that was brought along; its name comes from outside."""

    name: str
    content: bytes


class Looked(NamedTuple):
    """What files hold: cases, and their reviews by the eval ids."""

    imported: Imported
    reviews: Mapping[str, CaseReview]


def looked_into(uploads: Sequence[Upload], path: Path | str | None = None) -> Job[Looked]:
    """Begin to look what cases files hold: those that were uploaded, or the file or folder at a path of the server."""

    def work(report: Report, stop: Event) -> Looked:
        from evalset.importing.import_files import import_cases  # noqa: PLC0415 - importing ADK's evaluation takes a second

        def goes_on(found: int) -> bool:
            report(JobProgress(words=f"Reading the files. Cases found: {found:,}"))
            return not stop.is_set()

        goes_on(0)
        try:
            if path is not None:
                return _with_reviews(import_cases(given := typed_path(str(path)), goes_on=goes_on), given)
            with tempfile.TemporaryDirectory(prefix="imports-") as folder:
                return _with_reviews(
                    import_cases(given := _written(uploads, Path(folder)), goes_on=goes_on), given
                )
        except OSError as error:
            raise ValueError(f"{path or 'The upload'} cannot be read: {error.strerror or error}") from error

    return Job(work, "import-cases")


def _with_reviews(imported: Imported, path: Path) -> Looked:
    brought, origins = brought_reviews(path), imported.origins
    told = imported._replace(problems=(*imported.problems, *brought.problems))
    return Looked(told, brought.of(origins, origins.values(), imported.rewritten))


def _written(uploads: Sequence[Upload], folder: Path) -> Path:
    """Write uploads where they can be read like any files; one alone gives its own path, so that nothing of it is passed over."""
    for number, upload in enumerate(uploads):
        name = upload_name(upload.name, _NAMELESS)
        target = folder / name
        if target.exists():
            target = folder / str(number) / name
            target.parent.mkdir()
        target.write_bytes(upload.content)
    return target if len(uploads) == 1 else folder


def import_rows(imported: Imported) -> list[dict[str, str | int]]:
    """Return a row for each case, as plain text."""
    return [
        {
            "case": literal(case.eval_id),
            "first message": literal(_first_query(case)),
            "turns": len(case.conversation or ()),
            "environment": "recorded" if case.eval_id in imported.environments else "",
        }
        for case in imported.cases
    ]


def _first_query(case: EvalCase) -> str:
    if case.conversation_scenario is not None:
        return case.conversation_scenario.starting_prompt
    parts = (case.conversation[0].user_content.parts if case.conversation else None) or ()
    return "\n".join(part.text for part in parts if part.text)


def insertions(looked: Looked, chosen: Sequence[str], work: SetWork) -> tuple[InsertCase, ...]:
    """Return the edits that take cases into a set; an id that is taken there becomes another, and a scenario that is there is skipped. None chosen are all."""
    from evalset.files.case_text import case_json  # noqa: PLC0415 - as above
    from evalset.golden_trace.scenarios import is_named_by_scenario  # noqa: PLC0415 - as above

    taken = {row.eval_id for row in work.rows()}
    found: list[InsertCase] = []
    for case in looked.imported.cases:
        if (chosen and case.eval_id not in chosen) or (case.eval_id in taken and is_named_by_scenario(case)):
            continue
        free = unique_eval_id(case.eval_id, taken)
        taken.add(free)
        value = json.loads(case_json(case.model_copy(update={"eval_id": free})))
        recorded = looked.imported.environments.get(case.eval_id)
        review = looked.reviews.get(case.eval_id, NO_REVIEW)
        noted = {"note": looked.imported.notes[case.eval_id]} if case.eval_id in looked.imported.notes else {}
        found.append(InsertCase(value=value, recorded=recorded, review=review, **noted))
    return tuple(found)


def _known(held: Mapping[str, EditedCase]) -> RecordedEnvironment:
    """Return what is recorded and noted of cases, by their eval ids."""
    from evalset.recorded.recording import RecordedEnvironment  # noqa: PLC0415 - as above

    return RecordedEnvironment(
        cases={eval_id: each.recorded for eval_id, each in held.items() if each.recorded},
        notes={eval_id: each.note for eval_id, each in held.items() if each.note != NO_NOTE},
    )


def beside_set(path: Path) -> list[Path]:
    """Return the files next to a set that a replay elsewhere takes with it; none where no recording is there."""
    files = (sidecar_of(path), reviews_path(path), path.with_name(CRITERIA))
    return [each for each in files if each.is_file()] if files[0].is_file() else []


def whole_set(work: SetWork) -> Exported:
    """Return a set as a save would write it, with the files next to it."""
    from evalset.exporting.export_forms import Exported, ExportedFile  # noqa: PLC0415 - as above

    path, names = work.opened.path, case_names(work)
    texts = {path: text_of_set(work).decode()}
    texts |= {each: read_file(each).decode() for each in beside_set(path)}
    if work.is_changed:
        held = {names[key]: each for key, each in _held(work, work.state.order).items()}
        texts[sidecar_of(path)] = environment_text(_known(held))
        if reviews := {eval_id: each.review for eval_id, each in held.items() if each.review != NO_REVIEW}:
            texts[reviews_path(path)] = reviews_text(reviews).decode()
    return Exported(tuple(ExportedFile(each.name, text) for each, text in texts.items()))


def _held(work: SetWork, keys: Sequence[str]) -> dict[str, EditedCase]:
    """Return cases as they are on the screen, with the tolerances that were saved since the set was opened."""
    state, beside = work.state, open_beside(work.opened.path)
    return {
        key: work.held(key, state)._replace(recorded=recorded_of_now(work, key, beside, state))
        for key in keys
    }


def prepared(
    work: SetWork,
    keys: Sequence[str],
    form: ExportForm,
    name: str,
    *,
    agents_dir: str = "",
    metrics: bool = False,
) -> Job[Exported]:
    """Begin to write cases of a set, as it is on the screen, in another form; no key stands for all.

    Args:
        work: The set.
        keys: The keys of the cases.
        form: The form.
        name: What the files are called.
        agents_dir: For pytest: as of `export_cases`.
        metrics: For a dataset: whether to add metrics.
    """
    chosen = tuple(keys) or work.state.order
    held = _held(work, chosen)
    entries = known_agents() if form == "dataset" else ()

    def export(report: Report, stop: Event) -> Exported:
        from google.adk.evaluation.eval_case import EvalCase  # noqa: PLC0415 - as above

        from evalset.exporting.export_forms import export_cases  # noqa: PLC0415 - as above

        report(JobProgress(words="Writing the cases"))
        cases = [EvalCase.model_validate(each.case) for each in held.values() if not stop.is_set()]
        if len(cases) < len(held):
            raise ValueError("The export was stopped.")
        ids = (case.eval_id for case in cases)
        known = _known(dict(zip(ids, held.values(), strict=True)))
        reviews, root = _reviews(cases, held.values()), _root_agent(entries, work.opened.path, cases)
        named = {"name": name, "agents_dir": agents_dir, "reviews": reviews}
        return export_cases(cases, form, environments=known, root_agent=root, metrics=metrics, **named)

    return Job(export, "export-cases")


def _reviews(cases: Sequence[EvalCase], held: Iterable[EditedCase]) -> str:
    """Write the reviews of cases for the copies that are exported; empty where there are none."""
    from evalset.files.case_text import case_json  # noqa: PLC0415 - as above

    reviews = {
        case.eval_id: review_of_copy(each.review, each.case, json.loads(case_json(case)))
        for case, each in zip(cases, held, strict=True)
        if each.review != NO_REVIEW
    }
    return reviews_text(reviews).decode() if reviews else ""


def _root_agent(entries: Sequence[AgentEntry], eval_set: Path, cases: Sequence[EvalCase]) -> BaseNode | None:
    """Return the agent that a set belongs to, where it is loaded."""
    apps = [case.session_input.app_name for case in cases if case.session_input]
    names, is_own = fitting_agents(entries, eval_set, apps)
    found = next((entry.config for entry in entries if is_own and entry.name == names[0]), None)
    return found.root_agent if found is not None else None


def case_names(work: SetWork) -> Mapping[str, str]:
    """Return the eval ids of a set's cases by their keys, in their order."""
    return dict(_named(work))


def _named(work: SetWork) -> Iterator[tuple[str, str]]:
    for row in work.rows():
        yield row.key, row.eval_id
