"""Imports a file or a folder, whatever of the known kinds it holds."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from google.adk.evaluation.eval_case import EvalCase
from google.adk.evaluation.eval_set import EvalSet
from google.adk.events.event import Event
from pydantic import ValidationError

from evalset.errors import EvalSetError
from evalset.importing.adk_events import AdkSession
from evalset.importing.archives import unpack
from evalset.importing.databases import MAGIC, take_database
from evalset.importing.found import FoundCase, Harvest, Imported, ImportProblemError, StoppedImportError
from evalset.importing.known_answers import known_answers
from evalset.importing.sessions import case_of_facts, case_of_session
from evalset.kinds import ARCHIVE_STARTS
from evalset.legacy import convert_old_form
from evalset.names import base_name
from evalset.recorded.embedded import parted
from evalset.recorded.files import RecordedEnvironmentError, read_environment, sidecar_of
from evalset.recorded.model import FORMAT as SIDECAR
from evalset.recorded.model import RecordedEnvironment
from simulator.environment.recording.recordings import JOURNAL_FORMAT, RecordingError, read_recording
from simulator.journal import Journal, JournalError
from simulator.jsontext import JsonTextError, read_json

_SESSION_FORMAT = "golden-trace-studio/session"
_SET_NAMES = {
    "evalSetId": "eval_set_id",
    "evalCases": "eval_cases",
    "creationTimestamp": "creation_timestamp",
}
_NAMED = (".evalset.json", ".test.json", ".session.json", ".db", ".sqlite", ".sqlite3", ".zip")
_SUFFIXES = frozenset({".json", ".db", ".sqlite", ".sqlite3"})
_NOTHING_KNOWN = "it is neither an eval set (today's or the older form), nor a session of ADK or of the studio, nor a test of `adk test`"


def import_cases(path: Path | str, *, goes_on: Callable[[int], bool] = lambda _: True) -> Imported:
    """Import the cases of a file or a folder: eval sets old and new, sessions of ADK and of the studio, tests of `adk test`.

    A ZIP archive is imported as the folder that it was made of.
    An eval set brings along what is recorded beside it; for other cases the answers that stand in the file itself are recorded.
    Of a folder every file is looked at, those of ADK's hidden folders too; what is nothing known is passed over there, unless its
    name says that it should be.

    Args:
        path: A JSON file, a SQLite file (of `adk web`, or the studio's own), a ZIP archive or a folder of them.
        goes_on: Asked with each case, with how many were found before; False ends the import with those.

    Returns:
        The cases with what is known of their environments. What cannot be read is among the problems, with its place.

    Raises:
        OSError: There is no such file or folder, or it cannot be read.
    """
    path = Path(path)
    harvest = Harvest(goes_on)
    try:
        if path.is_dir():
            _take_folder(path, harvest)
        else:
            _take(path, path.name, harvest, is_sure=True)
    except StoppedImportError:
        harvest.tell(path.name, "the import was stopped; the cases that were found by then are here")
    return harvest.imported()


def _take_folder(path: Path, harvest: Harvest, within: str = "") -> None:
    """Take in the files of a folder; `within` is the archive that it was unpacked from."""
    suffixes = _SUFFIXES if within else _SUFFIXES | {".zip"}
    for file in sorted(path.rglob("*")):
        if file.suffix in suffixes and file.is_file():
            place = f"{within}{file.relative_to(path).as_posix()}"
            try:
                _take(file, place, harvest, is_sure=file.name.endswith(_NAMED))
            except OSError as error:
                harvest.tell(place, f"it cannot be read: {error.strerror or error}")


def _take(path: Path, place: str, harvest: Harvest, *, is_sure: bool) -> None:
    """Take in a file; one that is nothing known is a problem where that `is_sure` to be one."""
    try:
        with path.open("rb") as file:
            head = file.read(len(MAGIC))
        if head == MAGIC:
            take_database(path, place, harvest)
        elif head.startswith(ARCHIVE_STARTS):
            _take_archive(path, place, harvest)
        else:
            _take_text(path, place, harvest, is_sure=is_sure)
    except (ImportProblemError, EvalSetError, RecordedEnvironmentError) as error:
        harvest.tell(place, str(error).removeprefix(f"{path}: "))


def _take_archive(path: Path, place: str, harvest: Harvest) -> None:
    """Take in what an archive holds; archives inside of it are left out."""
    with tempfile.TemporaryDirectory(prefix="imported-") as folder:
        unpacked = unpack(path, Path(folder), _SUFFIXES)
        harvest.tell(place, *unpacked.problems)
        if not unpacked.files:
            raise ImportProblemError("the archive holds no file that could be imported")
        _take_folder(Path(folder), harvest, f"{place}/")


def _take_text(path: Path, place: str, harvest: Harvest, *, is_sure: bool) -> None:
    text, document = _read(path)
    match document:
        case {"format": str() as kind}:
            _take_ours(kind, text, path, place, harvest)
        case {"eval_cases": list()} | {"evalCases": list()}:
            _take_set(_set_of(document), text, path, place, harvest)
        case {"eval_id": str()} | {"evalId": str()}:
            _take_set([_case_of(document)], text, path, place, harvest)
        case {"events": list()}:
            harvest.take(place, [_of_session(document, path, place, harvest)])
        case [{"events": list()}, *_]:
            harvest.take(place, [_of_session(each, path, place, harvest) for each in document])
        case _ if _is_old(document) and (converted := convert_old_form(path, text.encode())) is not None:
            _take_set(converted.eval_cases, text, path, place, harvest)
        case _ if is_sure:
            raise ImportProblemError(_NOTHING_KNOWN)


def _read(path: Path) -> tuple[str, Any]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
        return text, read_json(text, constants=True)
    except UnicodeDecodeError as error:
        raise ImportProblemError(f"it is no text in UTF-8: byte {error.start} cannot be read") from error
    except JsonTextError as error:
        raise ImportProblemError(f"it is no JSON: {error}") from error


def _is_old(document: Any) -> bool:
    """Tell whether a document looks like ADK's older form: turns with their queries, or named lists of them."""
    found = document if isinstance(document, list) else [document]
    return bool(found) and all(
        isinstance(each, dict) and ("query" in each or isinstance(each.get("data"), list)) for each in found
    )


def _take_ours(kind: str, text: str, path: Path, place: str, harvest: Harvest) -> None:
    """Take in a file of the studio's; a recorded environment comes with its eval set."""
    if kind not in {JOURNAL_FORMAT, _SESSION_FORMAT}:
        if kind != SIDECAR:
            raise ImportProblemError(f"it is a file of the studio, and no session: its format is {kind!r}")
        return
    try:
        journal = Journal.from_json(text) if kind == JOURNAL_FORMAT else _session_of(text)
    except JournalError as error:
        raise ImportProblemError(str(error)) from error
    facts = [fact for _, fact in journal.path()]
    name = journal.fold.place_in_adk()["session_id"] or base_name(path)
    harvest.take(place, [case_of_facts(facts, name, lambda words: harvest.tell(place, words))])


def _session_of(text: str) -> Journal:
    from simulator.store import StoreError, read_session  # noqa: PLC0415 - SQLAlchemy takes half a second

    try:
        return read_session(text)
    except StoreError as error:
        raise ImportProblemError(str(error)) from error


# ---------------------------------------------------------------- eval sets


def _take_set(cases: list[EvalCase], text: str, path: Path, place: str, harvest: Harvest) -> None:
    beside = _beside(path, text, place, harvest)
    elsewhere = tuple(read_recording(text).calls) if _is_recording(text) else ()
    for case in cases:
        environment = beside.cases.get(case.eval_id)
        if environment is None:
            known = known_answers(case, elsewhere)
            harvest.tell(place, *known.problems)
            environment = known.environment
        harvest.take(place, [FoundCase(case, environment)])


def _is_recording(text: str) -> bool:
    """Tell whether answers stand where ADK's loader does not look, as in the older form."""
    if "mock_tool_output" not in text:
        return False
    try:
        return bool(read_recording(text).calls)
    except RecordingError:
        return False


def _beside(path: Path, text: str, place: str, harvest: Harvest) -> RecordedEnvironment:
    """Read what is recorded beside an eval set, or inside of it."""
    sidecar = sidecar_of(path)
    is_beside = sidecar != path and sidecar.is_file()
    try:
        if is_beside:
            return read_environment(sidecar)
        return parted(path, text).environment or RecordedEnvironment()
    except (RecordedEnvironmentError, OSError) as error:
        where = "beside it" if is_beside else "in it"
        harvest.tell(
            place, f"what is recorded {where} cannot be used: {str(error).removeprefix(f'{path}: ')}"
        )
        return RecordedEnvironment()


def _set_of(document: dict[str, Any]) -> list[EvalCase]:
    """Read an eval set, whose top level may be in camel case: ADK's loader itself would refuse that."""
    try:
        cases: list[EvalCase] = EvalSet.model_validate(
            {_SET_NAMES.get(name, name): value for name, value in document.items()}
        ).eval_cases
    except ValidationError as error:
        raise _problem("an eval set that ADK cannot read", error) from error
    document.clear()  # of many cases it is as large as they are
    return cases


def _case_of(document: dict[str, Any]) -> EvalCase:
    try:
        return EvalCase.model_validate(document)
    except ValidationError as error:
        raise _problem("an eval case that ADK cannot read", error) from error


def _problem(what: str, error: ValidationError) -> ImportProblemError:
    first = error.errors(include_url=False)[0]
    return ImportProblemError(f"it is {what}: {'.'.join(map(str, first['loc']))}: {first['msg']}")


# ---------------------------------------------------------------- sessions of ADK's


def _of_session(document: dict[str, Any], path: Path, place: str, harvest: Harvest) -> FoundCase:
    """Read a session in JSON, as ADK's API gives it, or as `adk test` keeps it."""
    found = _either(document, "state") or {}
    try:
        events = [Event.model_validate(each) for each in _timed(document["events"])]
    except ValidationError as error:
        raise _problem("a session with an event that ADK cannot read", error) from error
    session = AdkSession(
        session_id=str(_either(document, "id") or base_name(path)),
        app_name=str(_either(document, "app_name", "appName") or ""),
        user_id=str(_either(document, "user_id", "userId") or "user"),
        state=found if isinstance(found, dict) else {},
        events=events,
    )
    return case_of_session(session, lambda words: harvest.tell(place, words))


def _timed(events: list[Any]) -> Iterator[Any]:
    """Give events a time where they have none, as in the files of `adk test`: that of now would make each import another."""
    for number, event in enumerate(events):
        if isinstance(event, dict) and "timestamp" not in event:
            yield {"timestamp": float(number), **event}
        else:
            yield event


def _either(document: dict[str, Any], *names: str) -> Any:
    return next((document[name] for name in names if document.get(name) is not None), None)
