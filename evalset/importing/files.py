"""Imports a file or a folder, whatever of the known kinds it holds."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from google.adk.events.event import Event
from pydantic import ValidationError

from evalset.errors import EvalSetError, first_flaw
from evalset.importing.adk_events import AdkSession
from evalset.importing.archives import unpack
from evalset.importing.databases import MAGIC, take_database
from evalset.importing.found import (
    FoundCase,
    Harvest,
    Held,
    Imported,
    ImportProblemError,
    StoppedImportError,
)
from evalset.importing.known_answers import known_answers
from evalset.importing.sessions import case_of_facts, case_of_session
from evalset.importing.texts import (
    JsonOutline,
    WrittenCase,
    cases_of_set,
    entries,
    old_cases,
    one_case,
    outline_of_json,
    whole,
)
from evalset.kinds import ARCHIVE_STARTS
from evalset.names import base_name
from evalset.recorded.files import KEY, RecordedEnvironmentError, sidecar_of
from evalset.recorded.model import FORMAT as SIDECAR
from evalset.recorded.model import RecordedCase
from evalset.recorded.stored import Stored, stored_recordings
from evalset.streams import NotUtf8Error, contains
from simulator.environment.recording.recordings import (
    JOURNAL_FORMAT,
    RecordedCall,
    RecordingError,
    read_recording,
)
from simulator.journal import Journal, JournalError
from simulator.jsontext import JsonTextError

_SESSION_FORMAT = "golden-trace-studio/session"
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
    held = Held()
    harvest = Harvest(held, goes_on)
    take_path(Path(path), harvest)
    return held.imported(harvest.problems)


def take_path(path: Path, harvest: Harvest) -> None:
    """Take in a file or a folder as `import_cases` does: of many cases one is in memory, beside what the harvest keeps.

    Raises:
        OSError: As `import_cases`.
    """
    try:
        if path.is_dir():
            _take_folder(path, harvest)
        else:
            _take(path, path.name, harvest, is_sure=True)
    except StoppedImportError:
        harvest.tell(path.name, "the import was stopped; the cases that were found by then are here")


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


class _Source(NamedTuple):
    """A file that is open, and what it is called in problems."""

    path: Path
    file: BinaryIO
    place: str

    def text(self) -> str:
        """Return all of its text: for files that hold one session."""
        self.file.seek(0)
        return self.file.read().decode("utf-8-sig")


def _take_text(path: Path, place: str, harvest: Harvest, *, is_sure: bool) -> None:
    try:
        with path.open("rb") as file:
            _take_json(_Source(path, file, place), outline_of_json(file), harvest, is_sure=is_sure)
    except NotUtf8Error as error:
        raise ImportProblemError(f"it is no text in UTF-8: byte {error.byte} cannot be read") from error
    except JsonTextError as error:
        raise ImportProblemError(f"it is no JSON: {error}") from error


def _take_json(source: _Source, outline: JsonOutline, harvest: Harvest, *, is_sure: bool) -> None:
    file, place = source.file, source.place
    match outline.document:
        case {"format": str() as kind}:
            _take_ours(kind, source, harvest)
        case {"eval_cases": list()} | {"evalCases": list()}:
            _take_set(lambda: cases_of_set(file, outline), source, outline, harvest)
        case {"eval_id": str()} | {"evalId": str()}:
            _take_set(lambda: one_case(file), source, outline, harvest)
        case {"events": list()}:
            harvest.take(place, [_of_session(whole(file), source, harvest)])
        case [{"events": list()}, *_]:
            with harvest.all_or_nothing():
                harvest.take(place, (_of_session(each, source, harvest) for each in entries(file)))
        case _ if outline.has_old_cases:
            _take_set(lambda: old_cases(source.path, file, outline), source, outline, harvest)
        case _ if is_sure:
            raise ImportProblemError(_NOTHING_KNOWN)


def _take_ours(kind: str, source: _Source, harvest: Harvest) -> None:
    """Take in a file of the studio's; a recorded environment comes with its eval set."""
    if kind not in {JOURNAL_FORMAT, _SESSION_FORMAT}:
        if kind != SIDECAR:
            raise ImportProblemError(f"it is a file of the studio, and no session: its format is {kind!r}")
        return
    try:
        journal = Journal.from_json(source.text()) if kind == JOURNAL_FORMAT else _session_of(source.text())
    except JournalError as error:
        raise ImportProblemError(str(error)) from error
    facts = [fact for _, fact in journal.path()]
    name = journal.fold.place_in_adk()["session_id"] or base_name(source.path)
    found = case_of_facts(facts, name, lambda words: harvest.tell(source.place, words))
    harvest.take(source.place, [found])


def _session_of(text: str) -> Journal:
    from simulator.store import StoreError, read_session  # noqa: PLC0415 - SQLAlchemy takes half a second

    try:
        return read_session(text)
    except StoreError as error:
        raise ImportProblemError(str(error)) from error


# ---------------------------------------------------------------- eval sets


def _take_set(
    cases: Callable[[], Iterable[WrittenCase]], source: _Source, outline: JsonOutline, harvest: Harvest
) -> None:
    """Take in cases with what is recorded of them beside the file or inside of it; where that is damaged, with their own answers."""
    sidecar = sidecar_of(source.path)
    is_beside = sidecar != source.path and sidecar.is_file()
    is_inside = isinstance(outline.document, dict) and KEY in outline.document
    try:
        if is_beside or is_inside:
            with stored_recordings(sidecar if is_beside else source.path) as stored, harvest.all_or_nothing():
                _take_cases(cases(), stored, source, harvest)
            return
    except RecordedEnvironmentError as error:
        where, words = "beside it" if is_beside else "in it", str(error).removeprefix(f"{source.path}: ")
        harvest.tell(source.place, f"what is recorded {where} cannot be used: {words}")
    with harvest.all_or_nothing():
        _take_cases(cases(), None, source, harvest)


def _take_cases(
    cases: Iterable[WrittenCase], stored: Stored | None, source: _Source, harvest: Harvest
) -> None:
    has_answers_elsewhere = contains(source.file, b"mock_tool_output")
    for case, value in cases:
        if stored is not None and case.eval_id in stored.cases:
            environment: RecordedCase | None = stored.case(case.eval_id)
        else:
            known = known_answers(case, _answers_elsewhere(value) if has_answers_elsewhere else ())
            harvest.tell(source.place, *known.problems)
            environment = known.environment
        harvest.take(source.place, [FoundCase(case, environment)])


def _answers_elsewhere(value: Any) -> Sequence[RecordedCall]:
    """Return the answers of a case that stand where ADK's loader does not look, as in the older form."""
    try:
        return read_recording(json.dumps(value)).calls
    except RecordingError:
        return ()


# ---------------------------------------------------------------- sessions of ADK's


def _of_session(document: dict[str, Any], source: _Source, harvest: Harvest) -> FoundCase:
    """Read a session in JSON, as ADK's API gives it, or as `adk test` keeps it."""
    found = _either(document, "state") or {}
    try:
        events = [Event.model_validate(each) for each in _timed(document["events"])]
    except ValidationError as error:
        raise ImportProblemError(
            f"it is a session with an event that ADK cannot read: {first_flaw(error)}"
        ) from error
    session = AdkSession(
        session_id=str(_either(document, "id") or base_name(source.path)),
        app_name=str(_either(document, "app_name", "appName") or ""),
        user_id=str(_either(document, "user_id", "userId") or "user"),
        state=found if isinstance(found, dict) else {},
        events=events,
    )
    return case_of_session(session, lambda words: harvest.tell(source.place, words))


def _timed(events: list[Any]) -> Iterator[Any]:
    """Give events a time where they have none, as in the files of `adk test`: that of now would make each import another."""
    for number, event in enumerate(events):
        if isinstance(event, dict) and "timestamp" not in event:
            yield {"timestamp": float(number), **event}
        else:
            yield event


def _either(document: dict[str, Any], *names: str) -> Any:
    return next((document[name] for name in names if document.get(name) is not None), None)
