"""Imports a file or a folder, whatever of the known kinds it holds."""

from __future__ import annotations

import contextlib
import json
import math
import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, NamedTuple, TypeAlias

from google.adk.evaluation.eval_case import EvalCase, SessionInput
from google.adk.events.event import Event
from pydantic import ValidationError

from evalset.errors import EvalSetError, ScenarioError, first_flaw
from evalset.files.case_text import convert_old_cases
from evalset.files.eval_names import (
    ARCHIVE_STARTS,
    REVIEW,
    are_of_session,
    base_name,
    case_digest,
    import_command,
    is_dataset_case,
    reviews_path,
)
from evalset.files.json_streams import MOST_HELD, JsonStream, NotUtf8Error, contains
from evalset.files.refusals import readable_case
from evalset.golden_trace.scenarios import read_scenarios, scenario_case
from evalset.importing.adk_events import AdkSession, case_of_facts, case_of_session
from evalset.importing.dataset_cases import DatasetCase, dataset_cases
from evalset.importing.gathered import (
    MOST_MEMORY,
    FoundCase,
    FoundCases,
    Harvest,
    Imported,
    ImportProblemError,
    StoppedImportError,
)
from evalset.importing.known_answers import known_answers
from evalset.recorded.recording import FORMAT as SIDECAR
from evalset.recorded.recording import CaseNote, RecordedCase
from evalset.recorded.recording_files import (
    KEY,
    RecordedEnvironmentError,
    Stored,
    sidecar_of,
    stored_recordings,
)
from simulator.base.adk_names import OF_APP, OF_USER, snake
from simulator.base.documents import LIMITS, DocumentError, open_archive, open_file, read_file
from simulator.base.json_text import JsonTextError, collecting_seldom, read_json
from simulator.base.validation_words import validated
from simulator.environment.recordings import (
    JOURNAL_FORMAT,
    ObservedCall,
    RecordingError,
    read_recording,
)
from simulator.journal import UNFIT, Journal, JournalError

_SESSION_FORMAT = "golden-trace-studio/session"
_NAMED = (".evalset.json", ".test.json", ".session.json", ".db", ".sqlite", ".sqlite3", ".zip")
_SUFFIXES = frozenset({".json", ".db", ".sqlite", ".sqlite3"})
_NOTHING_KNOWN = "not an eval set (current or legacy format), an evaluation dataset, a file of scenarios, a session of ADK or of the studio, or a test of `adk test`"


def import_cases(path: Path | str, *, goes_on: Callable[[int], bool] = lambda _: True) -> Imported:
    """Import the cases of a file or a folder: eval sets old and new, datasets, scenarios, sessions of ADK and of the studio, tests of `adk test`.

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
    held = FoundCases()
    harvest = Harvest(held, goes_on, MOST_MEMORY)
    take_path(Path(path), harvest)
    origins = dict(zip(harvest.eval_ids, harvest.origins, strict=True))
    return held.imported(harvest.problems)._replace(origins=origins, rewritten=harvest.rewritten)


def session_input_in(file: Path) -> SessionInput:
    """Read a file with an ADK `SessionInput`, as `adk eval_set add_eval_case --session_input_file` takes it.

    Raises:
        OSError: It cannot be read.
        ImportProblemError: It holds none; the text says where.
    """
    try:
        return SessionInput.model_validate_json(read_file(file, "settings"))
    except (ValidationError, DocumentError) as error:
        words = first_flaw(error) if isinstance(error, ValidationError) else str(error)
        raise ImportProblemError(f"--session-input: {file}: {words}") from error


@collecting_seldom()
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
        harvest.tell(path.name, "the import was stopped; only the cases found so far are listed")


def trial_import(path: Path) -> Harvest:
    """Import a file to see what an import finds in it: its cases, and its problems."""
    harvest = Harvest(FoundCases())
    try:
        take_path(path, harvest)
    except OSError as error:
        harvest.tell(path.name, f"cannot be read: {error.strerror or error}")
    return harvest


def import_advice(path: Path) -> str:
    """Return a sentence with the command that imports a file, or that an import finds no case in it."""
    return (
        f"Import it: {import_command(path)}"
        if trial_import(path).eval_ids
        else "An import finds no case in it"
    )


def _take_folder(path: Path, harvest: Harvest, within: str = "") -> None:
    """Take in the files of a folder; `within` is the archive that it was unpacked from."""
    suffixes = _SUFFIXES if within else _SUFFIXES | {".zip"}
    for file in sorted(path.rglob("*")):
        if file.suffix in suffixes and file.is_file():
            place = f"{within}{file.relative_to(path).as_posix()}"
            try:
                _take(file, place, harvest, is_sure=file.name.endswith(_NAMED))
            except OSError as error:
                harvest.tell(place, f"cannot be read: {error.strerror or error}")


def _take(path: Path, place: str, harvest: Harvest, *, is_sure: bool) -> None:
    """Take in a file; one that is nothing known is a problem where that `is_sure` to be one."""
    with _told(harvest, place, path):
        with open_file(path, "cases") as file:
            head = file.read(len(MAGIC))
        if head == MAGIC:
            take_database(path, place, harvest)
        elif head.startswith(ARCHIVE_STARTS):
            _take_archive(path, place, harvest)
        else:
            _take_text(path, place, harvest, is_sure=is_sure)


@contextlib.contextmanager
def _told(harvest: Harvest, place: str, path: Path | None = None) -> Iterator[None]:
    """Tell what cannot be taken at a place, and go on with the next."""
    try:
        yield
    except ValidationError as error:  # of a value of ours: the file holds what no journal can hold
        harvest.tell(place, f"a case cannot be kept: {first_flaw(error)}")
    except ValueError as error:
        harvest.tell(place, str(error).removeprefix(f"{path}: "))
    except UNFIT as error:
        harvest.tell(place, f"an event is none of ADK's: {error}")


def _take_archive(path: Path, place: str, harvest: Harvest) -> None:
    """Take in what an archive holds; archives inside of it are left out."""
    with tempfile.TemporaryDirectory(prefix="imported-") as folder:
        unpacked = unpack(path, Path(folder), _SUFFIXES)
        harvest.tell(place, *unpacked.problems)
        if not unpacked.files:
            raise ImportProblemError("the archive has no files that can be imported")
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
        with open_file(path, "cases") as file:
            harvest.begin(file)
            _take_json(_Source(path, file, place), outline_of_json(file), harvest, is_sure=is_sure)
    except NotUtf8Error as error:
        raise ImportProblemError(f"not UTF-8 text: byte {error.byte} cannot be read") from error
    except JsonTextError as error:
        raise ImportProblemError(f"not valid JSON: {error}") from error


def _take_json(source: _Source, outline: JsonOutline, harvest: Harvest, *, is_sure: bool) -> None:
    file, place, tell = source.file, source.place, _teller(harvest, source.place)
    match outline.document:
        case {"format": str() as kind}:
            _take_ours(kind, source, harvest)
        case {"eval_cases": list()} | {"evalCases": list()} if outline.is_dataset:
            _take_set(lambda: _of_dataset(source, outline, harvest), source, outline, harvest)
        case {"eval_cases": list()} | {"evalCases": list()}:
            _take_set(lambda: read_cases(values_of_set(file, outline), tell), source, outline, harvest)
        case {"eval_id": str()} | {"evalId": str()}:
            _take_set(lambda: read_cases([whole(file)], tell), source, outline, harvest)
        case {"events": list()}:
            harvest.take(place, [_of_session(whole(file), source, harvest)])
        case [{"events": list()}, *_]:
            _take_sessions(source, harvest)
        case {"scenarios": list()}:
            harvest.take(place, _of_scenarios(source, harvest))
        case _ if outline.has_old_cases:
            _take_set(lambda: old_cases(source.path, file, outline, tell), source, outline, harvest)
        case _ if is_sure:
            raise ImportProblemError(_NOTHING_KNOWN)


def _take_sessions(source: _Source, harvest: Harvest) -> None:
    for number, each in enumerate(entries(source.file), 1):
        with _told(harvest, f"{source.place}, session {number}"):
            harvest.take(source.place, [_of_session(each, source, harvest)])


def _of_scenarios(source: _Source, harvest: Harvest) -> Iterator[FoundCase]:
    """Yield the cases of a file of ADK's scenarios, each with the id that ADK's command gives it."""
    given, at = harvest.session_input, source.path.stat().st_mtime
    if not given.app_name:
        harvest.tell(source.place, "scenarios name no app, user or state. Add them with --session-input")
    try:
        for scenario in read_scenarios(source.text()):
            case = scenario_case(
                scenario, app_name=given.app_name, user_id=given.user_id, state=given.state, at=at
            )
            yield FoundCase(case if given.app_name else case.model_copy(update={"session_input": None}))
    except ScenarioError as error:
        raise ImportProblemError(str(error)) from error


def _take_ours(kind: str, source: _Source, harvest: Harvest) -> None:
    """Take in a file of the studio's; a recorded environment comes with its eval set, and reviews do."""
    if kind not in {JOURNAL_FORMAT, _SESSION_FORMAT}:
        if kind not in {SIDECAR, REVIEW}:
            raise ImportProblemError(f"a file of the studio, but not a session: its format is {kind!r}")
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
    cases: Callable[[], Iterable[CaseWithSource]], source: _Source, outline: JsonOutline, harvest: Harvest
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
        where, words = "next to it" if is_beside else "in it", str(error).removeprefix(f"{source.path}: ")
        harvest.tell(source.place, f"the recording {where} cannot be used: {words}")
    with harvest.all_or_nothing():
        _take_cases(cases(), None, source, harvest)


def _of_dataset(source: _Source, outline: JsonOutline, harvest: Harvest) -> Iterator[CaseWithSource]:
    values = values_of_set(source.file, outline)
    more = sorted(name for name in outline.document if snake(name) != _CASES)
    harvest.tell(source.place, *(f"the field `{name}` of the dataset is left out" for name in more))

    def refuse(case_id: str, error: ImportProblemError) -> None:
        harvest.tell(source.place, f"the case {case_id!r} is left out: {error}")

    for each in dataset_cases(values, lambda words: harvest.tell(source.place, words), refuse):
        yield each.case, each


def _take_cases(
    cases: Iterable[CaseWithSource], stored: Stored | None, source: _Source, harvest: Harvest
) -> None:
    has_answers_elsewhere = contains(source.file, b"mock_tool_output")
    is_reviewed = reviews_path(source.path).is_file()
    for given, value in cases:
        case = _with_times(given)
        if case is not given:
            harvest.tell(source.place, f"the case {case.eval_id!r}: a time that is no number is left out")
        if stored is not None and case.eval_id in stored.cases:
            environment: RecordedCase | None = stored.case(case.eval_id)
        elif isinstance(value, DatasetCase) and not value.is_golden:
            environment = value.environment
        else:
            is_read = isinstance(value, DatasetCase) or not has_answers_elsewhere
            known = known_answers(case, () if is_read else _answers_elsewhere(value))
            harvest.tell(source.place, *known.problems)
            environment = known.environment
        digest = case_digest(value) if is_reviewed and isinstance(value, dict) else ""
        note = stored.note(case.eval_id) if stored is not None and case.eval_id in stored.notes else None
        if isinstance(value, DatasetCase) and value.context is not None:
            note = (note or CaseNote()).model_copy(update={"context": value.context})
        harvest.take(source.place, [FoundCase(case, environment, digest, note)])


def _with_times(case: EvalCase) -> EvalCase:
    """Return a case without times that JSON cannot hold; the same one where all are sound."""
    timed = [case, *(case.conversation or ())]
    if all(math.isfinite(each.creation_timestamp) for each in timed):
        return case
    case = case.model_copy(deep=True)
    for each in (case, *(case.conversation or ())):
        if not math.isfinite(each.creation_timestamp):
            each.creation_timestamp = 0.0
    return case


def _answers_elsewhere(value: Any) -> Sequence[ObservedCall]:
    """Return the answers of a case that stand where ADK's loader does not look, as in the older form."""
    try:
        return read_recording(json.dumps(value)).calls
    except RecordingError:
        return ()


# ---------------------------------------------------------------- sessions of ADK's


def _of_session(document: Any, source: _Source, harvest: Harvest) -> FoundCase:
    """Read a session in JSON, as ADK's API gives it, or as `adk test` keeps it."""
    told = document.get("events") if isinstance(document, dict) else None
    if not isinstance(told, list) or not are_of_session(told):
        raise ImportProblemError(_NOTHING_KNOWN)
    found = _either(document, "state") or {}
    try:
        events: list[Event] = [validated(Event, each) for each in _timed(told)]
    except ValidationError as error:
        raise ImportProblemError(
            f"the session has an event that ADK cannot read: {first_flaw(error)}"
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
    """Yield events a time where they have none, as in the files of `adk test`: that of now would make each import another."""
    for number, event in enumerate(events):
        if isinstance(event, dict) and "timestamp" not in event:
            yield {"timestamp": float(number), **event}
        else:
            yield event


def _either(document: dict[str, Any], *names: str) -> Any:
    return next((document[name] for name in names if document.get(name) is not None), None)


# Unpacks a ZIP archive into a folder: the files that an import may take, whatever their names say and however large they claim to be.


MOST_FILES = 10_000
MOST_BYTES = LIMITS["archive"]
_PIECE = 1 << 20
_LONGEST_NAME = 200


class Unpacked(NamedTuple):
    """What was unpacked, and in sentences what was left out."""

    files: int
    problems: tuple[str, ...]


def unpack(archive: Path, folder: Path, suffixes: frozenset[str]) -> Unpacked:
    """Unpack the files with these suffixes, each into its own place below a folder.

    Raises:
        ImportProblemError: It is no ZIP archive that can be read, is encrypted, or holds too much.
    """
    problems: list[str] = []
    try:
        with open_archive(archive) as packed:
            wanted = [each for each in packed.infolist() if not each.is_dir()]
            wanted = [each for each in wanted if PurePosixPath(each.filename).suffix in suffixes]
            if len(wanted) > MOST_FILES:
                raise ImportProblemError(
                    f"the archive has {len(wanted):,} files, but at most {MOST_FILES:,} can be imported"
                )
            left, files = MOST_BYTES, 0
            for entry in wanted:
                target = _place(entry.filename, folder)
                if target is None:
                    problems.append(
                        f"{entry.filename[:_LONGEST_NAME]!r} points outside the archive and is left out"
                    )
                    continue
                left -= _written(packed, entry, target, left)
                files += 1
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        raise ImportProblemError(f"not a readable ZIP archive: {error}") from error
    except RuntimeError as error:  # zipfile raises it for a file that needs a password
        raise ImportProblemError(f"the archive cannot be unpacked: {error}") from error
    return Unpacked(files, tuple(problems))


def _place(name: str, folder: Path) -> Path | None:
    """Return the place of a file; None where its name leads out of the folder, or can be no file's."""
    path = PurePosixPath(name.replace("\\", "/"))
    parts = path.parts
    if (
        path.is_absolute()
        or ".." in parts
        or "\x00" in name
        or any(len(part) > _LONGEST_NAME for part in parts)
    ):
        return None
    return folder.joinpath(*parts)


def _written(packed: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, left: int) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with packed.open(entry) as source, target.open("wb") as file:
        for piece in _pieces(source):
            size += len(piece)
            if size > left:
                raise ImportProblemError(
                    f"the archive has more than {MOST_BYTES >> 20:,} MB, which is the limit"
                )
            file.write(piece)
    return size


def _pieces(source: IO[bytes]) -> Iterator[bytes]:
    while piece := source.read(_PIECE):
        yield piece


# Reads sessions from databases: those of `adk web` and of the studio, in SQLite files. Nothing is written to them.


MAGIC = b"SQLite format 3\x00"
_OURS, _ADKS = "studio_sessions", "sessions"
_OLD = "its sessions are in ADK's legacy format with pickled objects. Upgrade it with `adk migrate session` and import the new database"


def take_database(path: Path, place: str, harvest: Harvest) -> None:
    """Take in the sessions of a database.

    Raises:
        ImportProblemError: It is damaged, or holds no sessions that are known here.
    """
    try:
        with _copied(path) as copy, contextlib.closing(sqlite3.connect(copy)) as connection:
            connection.row_factory = sqlite3.Row
            tables = _tables(connection)
            if _ADKS in tables and "events" in tables:
                _take_adks(connection, place, harvest)
            if _OURS in tables:
                _take_from_database(copy, place, harvest)
            if not tables & {_ADKS, _OURS}:
                raise ImportProblemError("no sessions of ADK or of the studio")
    except sqlite3.Error as error:
        raise ImportProblemError(f"not a readable database: {error}") from error


def _tables(connection: sqlite3.Connection) -> set[str]:
    """Return the names of the tables of a database that only holds values: what is computed could be without end.

    Raises:
        ImportProblemError: It has a view, a virtual table or a generated column.
    """
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_HELD)
    connection.execute("PRAGMA trusted_schema = OFF")
    tables = set[str]()
    for row in connection.execute("SELECT type, name, sql FROM sqlite_master"):
        is_virtual = str(row["sql"] or "").lower().split()[:2] == ["create", "virtual"]
        if row["type"] == "view" or is_virtual:
            raise ImportProblemError(
                f"{row['name']!r} is a view or a virtual table. Only tables are imported"
            )
        if row["type"] == "table":
            tables.add(row["name"])
    for name in tables:
        for column in connection.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (name,)):
            if column["hidden"]:
                raise ImportProblemError(
                    f"the column {column['name']!r} of {name!r} is generated. Only stored columns are imported"
                )
    return tables


@contextlib.contextmanager
def _copied(path: Path) -> Iterator[Path]:
    """Copy a database as it is now, even while another program writes to it."""
    with tempfile.TemporaryDirectory(prefix="sessions-") as folder:
        copy = Path(folder, "copy.db")
        source = f"{path.resolve().as_uri()}?mode=ro"
        with (
            contextlib.closing(sqlite3.connect(source, uri=True)) as there,
            contextlib.closing(sqlite3.connect(copy)) as here,
        ):
            there.backup(here)
        yield copy


def _take_adks(connection: sqlite3.Connection, place: str, harvest: Harvest) -> None:
    columns = {row["name"] for row in connection.execute("PRAGMA table_info(events)")}
    if "event_data" not in columns:
        raise ImportProblemError(_OLD)
    for row in connection.execute(
        "SELECT app_name, user_id, id, state FROM sessions ORDER BY app_name, user_id, update_time, id"
    ):
        here = f"{place}, session {row['id']}"
        with _told(harvest, here):
            session = AdkSession(
                session_id=row["id"],
                app_name=row["app_name"],
                user_id=row["user_id"],
                state=_state(connection, row),
                events=[_event(data) for data in _events(connection, row)],
            )
            harvest.take(here, [case_of_session(session, _teller(harvest, here))])


def _events(connection: sqlite3.Connection, session: sqlite3.Row) -> Iterator[Any]:
    found = connection.execute(
        "SELECT event_data, id, invocation_id, timestamp FROM events WHERE app_name = ? AND user_id = ? AND session_id = ? "
        "ORDER BY timestamp, rowid",
        (session["app_name"], session["user_id"], session["id"]),
    )
    for row in found:
        written = _read(row["event_data"], "an event")
        if not isinstance(written, dict):
            raise ImportProblemError("an event is not an object")
        yield {"id": row["id"], "invocation_id": row["invocation_id"], **written}


def _event(data: Any) -> Event:
    try:
        return validated(Event, data)
    except ValidationError as error:
        raise ImportProblemError(f"an event cannot be read: {first_flaw(error)}") from error


def _state(connection: sqlite3.Connection, session: sqlite3.Row) -> dict[str, Any]:
    """Return a session's state with what it shares with others, under ADK's prefixes."""
    names = (session["app_name"], session["user_id"])
    shared = {
        OF_APP: connection.execute("SELECT state FROM app_states WHERE app_name = ?", names[:1]),
        OF_USER: connection.execute(
            "SELECT state FROM user_states WHERE app_name = ? AND user_id = ?", names
        ),
    }
    state = _object(session["state"])
    for prefix, rows in shared.items():
        for row in rows:
            state |= {f"{prefix}{name}": value for name, value in _object(row["state"]).items()}
    return state


def _read(text: Any, what: str) -> Any:
    try:
        return read_json(str(text), constants=True)
    except JsonTextError as error:
        raise ImportProblemError(f"{what} is not valid JSON: {error}") from error


def _object(text: Any) -> dict[str, Any]:
    found = _read(text, "the state") if text else {}
    if not isinstance(found, dict):
        raise ImportProblemError("the state is not an object")
    return found


def _take_from_database(copy: Path, place: str, harvest: Harvest) -> None:
    from simulator.store import JournalStore, StoreError  # noqa: PLC0415 - SQLAlchemy takes half a second

    try:
        with contextlib.closing(JournalStore.open(copy)) as store:
            for record in [*store.records_of_all(), *store.records_of_all(archived=True)]:
                here = f"{place}, session {record.session_id}"
                with _told(harvest, here):
                    facts = [fact for _, fact in store.load(record.session_id).path()]
                    name = record.name or record.session_id
                    harvest.take(here, [case_of_facts(facts, name, _teller(harvest, here))])
    except StoreError as error:
        raise ImportProblemError(str(error)) from error


def _teller(harvest: Harvest, place: str) -> Callable[[str], None]:
    return lambda words: harvest.tell(place, words)


# Reads JSON files of cases in two passes: what kind of file it is, then the cases one at a time. Neither holds all of the file.


_CASES = "eval_cases"
_SET_NAMES = {
    "evalSetId": "eval_set_id",
    "evalCases": _CASES,
    "creationTimestamp": "creation_timestamp",
}

CaseWithSource: TypeAlias = tuple[EvalCase, Any]
"""A case, and the JSON value that it was made of; of a dataset, what was read, with what is recorded of it."""


class JsonOutline(NamedTuple):
    """What a JSON file holds.

    Attributes:
        document: The document, in which lists and objects are empty; of a list of objects the first one is there.
        cases_at: Which member of an eval set holds its cases, by its number; the last one where several do.
        has_old_cases: Whether it is in ADK's older form: a case, or a list of cases or of turns.
        has_old_turns: Whether it is a list of turns in that form, which is one case.
        is_dataset: Whether its cases are those of an evaluation dataset of Agent Platform.
    """

    document: Any
    cases_at: int = -1
    has_old_cases: bool = False
    has_old_turns: bool = False
    is_dataset: bool = False


def outline_of_json(file: BinaryIO) -> JsonOutline:
    """Read a file once.

    Raises:
        JsonTextError: It is no JSON, in whatever place.
        NotUtf8Error: It is no text in UTF-8.
    """
    stream = JsonStream(file, constants=True)
    sign = stream.peek()
    outline = (
        _of_object(stream)
        if sign == "{"
        else _of_list(stream)
        if sign == "["
        else JsonOutline(stream.value())
    )
    stream.end()
    return outline


def _of_object(stream: JsonStream) -> JsonOutline:
    document: dict[str, Any] = {}
    cases_at, of_dataset = -1, False
    for number, name in enumerate(stream.members()):
        if _SET_NAMES.get(name, name) == _CASES and stream.peek() == "[":
            document[name], cases_at, of_dataset = [], number, _is_of_dataset(stream)
        else:
            document[name] = stream.hollow()
    is_old = isinstance(document.get("data"), list) and "name" in document
    return JsonOutline(document, cases_at, is_old, is_dataset=of_dataset)


def _is_of_dataset(stream: JsonStream) -> bool:
    """Pass over cases; return whether the first one is of an evaluation dataset."""
    of_dataset = False
    for number in stream.entries():
        if number == 0:
            of_dataset = is_dataset_case(stream.value())
        else:
            stream.skip()
    return of_dataset


def _of_list(stream: JsonStream) -> JsonOutline:
    document: list[Any] = []
    are_turns = are_old = True
    for number in stream.entries():
        if not are_old:
            stream.skip()
            continue
        entry = stream.value()
        is_object = isinstance(entry, dict)
        are_turns = are_turns and is_object and "query" in entry
        are_old = is_object and ("query" in entry or isinstance(entry.get("data"), list))
        if number == 0:
            document = [_hollow(entry) if is_object else None]
    return JsonOutline(
        document, has_old_cases=bool(document) and are_old, has_old_turns=are_old and are_turns
    )


def _hollow(value: dict[str, Any]) -> dict[str, Any]:
    return {name: type(held)() if isinstance(held, (dict, list)) else held for name, held in value.items()}


def whole(file: BinaryIO) -> Any:
    """Read all of a file: for one that holds one case or one session."""
    return JsonStream(file, constants=True).value()


def entries(file: BinaryIO) -> Iterator[Any]:
    """Read the entries of a list."""
    stream = JsonStream(file, constants=True)
    for _ in stream.entries():
        yield stream.value()


def values_of_set(file: BinaryIO, outline: JsonOutline) -> Iterator[Any]:
    """Read the cases of an eval set or a dataset as they stand there."""
    stream = JsonStream(file, constants=True)
    for number, _ in enumerate(stream.members()):
        if number < outline.cases_at:
            stream.skip()
            continue
        for _ in stream.entries():
            yield stream.value()
        return


def read_cases(values: Iterable[Any], tell: Callable[[str], None]) -> Iterator[CaseWithSource]:
    """Read the cases of an eval set as `doctor --fix` would leave them; tell what is changed, and which cases ADK cannot read even so."""
    for place, value in enumerate(values):
        eval_id = value.get("eval_id", value.get("evalId")) if isinstance(value, dict) else None
        which = f"the case {eval_id!r}" if isinstance(eval_id, str) else f"the case {place + 1}"
        if not isinstance(value, dict):  # of a hostile file there are hundreds of thousands
            tell(f"{which} is left out: ADK cannot read it: {_CASES}.{place}: it is not an object")
            continue
        readable, changes = value, tuple[str, ...]()
        if eval_id is None:
            readable = value | {"eval_id": ""}
        try:
            try:
                case: EvalCase = validated(EvalCase, readable)
            except ValidationError:
                readable, changes = readable_case(readable)
                case = validated(EvalCase, readable)
        except ValueError as error:  # half a character cannot be written, if not what ADK refuses
            flaw = first_flaw(error, _CASES, place) if isinstance(error, ValidationError) else str(error)
            tell(f"{which} is left out: ADK cannot read it: {flaw}")
            continue
        for change in changes:
            tell(f"{which}, {change}")
        yield case, value


def old_cases(
    path: Path, file: BinaryIO, outline: JsonOutline, tell: Callable[[str], None]
) -> Iterator[CaseWithSource]:
    """Read cases in ADK's older form, whose fields for answers its converter passes over; tell which it cannot read."""
    if outline.has_old_turns:
        values = iter([{"name": base_name(path), "data": whole(file)}])
    else:
        values = entries(file) if isinstance(outline.document, list) else iter([whole(file)])
    for place, value in enumerate(values, 1):
        try:
            cases = convert_old_cases(path, [value]).eval_cases
        except EvalSetError as error:
            tell(f"the case {place} is left out: {str(error).removeprefix(f'{path}: ')}")
            continue
        yield from ((case, value) for case in cases)
