"""Reads and writes recorded environments: whole or not at all, one writer at a time; one recording after the other, of files that hold many.

A recording lies beside its eval set, in `<set>.environment.json`, or inside of the set: at its top, under a name that ADK's loader does not know and passes
over. It is read from there; what is written goes into a file of its own: every release of ADK writes an eval set anew without what it does not know.
`joined` and `parted` put the two into one document, and take them apart.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple, TypeVar

from pydantic import ValidationError

from evalset.errors import FileError, first_flaw
from evalset.files.eval_names import check_format
from evalset.files.json_streams import JsonStream, NotUtf8Error, Span, Spool, contains, head_of
from evalset.files.set_outline import Identity, Style, identity_of
from evalset.recorded.recording import (
    FORMAT,
    VERSION,
    CaseNote,
    RecordedCase,
    RecordedEnvironment,
    lean,
    version_of,
)
from simulator.base.documents import LIMITS, open_archive, open_file, read_file, unpacked
from simulator.base.frozen_value import Value
from simulator.base.json_text import MOST_VALUES, JsonSizeError, JsonTextError, check_values, read_json
from simulator.base.user_files import lock_path, sync_folder, system_lock, temporary_path, write_whole
from simulator.base.validation_words import InputError, validated

_PATIENCE_SECONDS = 60.0
_ATTEMPTS = 5
Held = TypeVar("Held", RecordedCase, CaseNote)
Kept = TypeVar("Kept")
_BEFORE_VALUES = (b",", b"[", b"{")
_STYLE = Style(unit="  ", indent="    ")
_ODD_NUMBERS = tuple(re.compile(start + rb"-?(?:[0-9.]+e|0\.0000)").search for start in (rb'": ', rb"\n ++"))
"""What may be a number that the standard library, which wrote all files before, writes with other digits."""
_EVAL_SET, _SIDECAR = ".evalset.json", ".environment.json"

KEY = "recorded_environment"
"""The name at the top of an eval set under which its recording may stand, so that both travel as one file."""


class RecordedEnvironmentError(FileError):
    """A file holds no recorded environment that can be used; the text names the file, the place and what is wrong."""


def sidecar_of(eval_set: Path | str) -> Path:
    """Return the path of the recorded environment that belongs to an eval set."""
    path = Path(eval_set)
    name = path.name
    stem = name.removesuffix(_EVAL_SET) if name.endswith(_EVAL_SET) else name.removesuffix(path.suffix)
    return path.with_name(f"{stem}{_SIDECAR}")


def recording_of(eval_set: Path | str) -> Path:
    """Return the file that holds the recording of an eval set: the one beside it, or else the set itself where it holds one.

    Where neither is, it is the place beside the set.
    """
    path, beside = Path(eval_set), sidecar_of(eval_set)
    return path if not beside.exists() and holds_recording(path) else beside


def holds_recording(path: Path) -> bool:
    """Return whether a file is an eval set with a recording inside; one that has not changed is read once."""
    try:
        return _holds(path, identity_of(path.stat()))
    except OSError:
        return False


@lru_cache(maxsize=64)
def _holds(path: Path, _: Identity) -> bool:
    try:
        with open_file(path, "cases") as file:
            return contains(file, f'"{KEY}"'.encode()) and _is_embedded(head_of(file))
    except (JsonTextError, NotUtf8Error):
        return False


def environment_text(environment: RecordedEnvironment) -> str:
    """Write a recorded environment as it stands in its file: indented, its cases in the order of their ids."""
    return b"".join(environment_pieces(environment)).decode()


def environment_pieces(environment: RecordedEnvironment) -> Iterator[bytes]:
    """Write the text of a recorded environment in pieces, a case in each, so that no two are held as text at once."""
    return file_pieces(environment.version, environment.cases, environment.notes, value_text)


def file_pieces(
    version: int, cases: Mapping[str, Kept], notes: Mapping[str, Kept], text_of: Callable[[Kept], bytes]
) -> Iterator[bytes]:
    """Write the text of a recorded environment in pieces.

    Args:
        version: The version of the file.
        cases: What stands for each case, by its eval id.
        notes: What stands for each note.
        text_of: Returns the text of a case or a note, as `value_text` writes it.
    """
    yield f'{{\n  "format": "{FORMAT}",\n  "version": {version}'.encode()
    for name, held in (("cases", cases), ("notes", notes)):
        if not held and name != "cases":
            continue
        start = f',\n  "{name}": {{'
        for eval_id in sorted(held):
            key = json.dumps(eval_id, ensure_ascii=False)
            yield f"{start}\n    {key}: ".encode() + text_of(held[eval_id])
            start = ","
        yield b"\n  }" if held else f"{start}}}".encode()
    yield b"\n}\n"


def value_text(value: Value) -> bytes:
    """Write a case or a note as it stands in its file, its first line without indentation."""
    plain = lean(value)
    written = _STYLE.write(plain)
    if any(search(written) for search in _ODD_NUMBERS):
        text = json.dumps(plain, indent=_STYLE.unit, ensure_ascii=False, allow_nan=False)
        return text.replace("\n", f"\n{_STYLE.indent}").encode()
    return written


def read_environment(path: Path | str) -> RecordedEnvironment:
    """Read a recorded environment: its own file, or that of an eval set that holds one inside. A file beside the set wins.

    Raises:
        RecordedEnvironmentError: It is no recorded environment, is newer than this, or is damaged; the text says where.
        OSError: The file cannot be read.
    """
    path = Path(path)
    document = _document(path, read_file(path, "recording"))
    if not _is_embedded(document):
        return environment_of(path, document)
    beside, held = sidecar_of(path), document[KEY]
    if beside.exists():
        return read_environment(beside)
    try:
        return environment_of(path, held if isinstance(held, dict) else {})
    except RecordedEnvironmentError as error:
        raise RecordedEnvironmentError(path, f"{KEY}: {str(error).removeprefix(f'{path}: ')}") from error


def _is_embedded(document: Mapping[str, Any]) -> bool:
    return KEY in document and document.get("format") != FORMAT


def parsed(path: Path, content: bytes) -> RecordedEnvironment:
    """Read the content of a file.

    Raises:
        RecordedEnvironmentError: As for `read_environment`.
    """
    return environment_of(path, _document(path, content))


def environment_of(path: Path, document: Mapping[str, Any]) -> RecordedEnvironment:
    """Read a document in JSON that a file holds.

    Raises:
        RecordedEnvironmentError: It is no recorded environment, is newer than this, or is damaged; the text says where.
    """
    try:
        check_format(document, FORMAT, VERSION, "a recorded environment")
    except ValueError as error:
        raise RecordedEnvironmentError(path, str(error)) from error
    try:
        return validated(
            RecordedEnvironment, {key: held for key, held in document.items() if key != "version"}
        )
    except ValidationError as error:
        raise RecordedEnvironmentError(path, first_flaw(error)) from error


def _document(path: Path, content: bytes) -> dict[str, Any]:
    try:
        found = read_json(content.decode())
    except UnicodeDecodeError as error:
        raise RecordedEnvironmentError(path, f"not UTF-8 text: byte {error.start}") from error
    except JsonTextError as error:
        raise RecordedEnvironmentError(path, f"not valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise RecordedEnvironmentError(path, "not a JSON object")
    return found


def put_cases(path: Path | str, cases: Mapping[str, RecordedCase | None]) -> RecordedEnvironment:
    """Add cases to a recorded environment, or replace those of the same ids; None takes one away. The file is made where there is none.

    Raises:
        RecordedEnvironmentError: As for `change_environment`.
        OSError: As for `change_environment`.
    """

    def put(before: RecordedEnvironment) -> RecordedEnvironment:
        return before.model_copy(update={"cases": _put(before.cases, cases)})

    return change_environment(path, put)


def put_all(
    path: Path | str,
    cases: Mapping[str, RecordedCase | None],
    notes: Mapping[str, CaseNote | None],
) -> RecordedEnvironment:
    """Add or replace cases and notes at once, as `put_cases` does; None takes one away.

    Raises:
        RecordedEnvironmentError: As for `put_cases`.
        OSError: As for `put_cases`.
    """

    def with_all(before: RecordedEnvironment) -> RecordedEnvironment:
        put = {"cases": _put(before.cases, cases), "notes": _put(before.notes, notes)}
        return before.model_copy(update=put)

    return change_environment(path, with_all)


def change_environment(
    path: Path | str, change: Callable[[RecordedEnvironment], RecordedEnvironment]
) -> RecordedEnvironment:
    """Change a recorded environment: one writer at a time, whole or not at all. The file is made where there is none.

    A recording inside of an eval set is left as it is: the file beside the set is made of it, and counts from then on.

    Args:
        path: The file, or the eval set that holds the recording; behind a symbolic link, the file that it leads to.
        change: Gives the new environment; what it raises leaves the file as it is. It may be asked again where a program
            that takes no lock wrote the file meanwhile.

    Raises:
        RecordedEnvironmentError: What stands there is no recorded environment, may not be written, or keeps changing;
            nothing was changed.
        OSError: The disk or the folder refused; the file is as it was.
    """
    changed = RecordedEnvironment()

    def pieces(source: Path | None) -> Iterable[bytes]:
        nonlocal changed
        changed = change(RecordedEnvironment() if source is None else read_environment(source))
        return environment_pieces(changed)

    replace_environment(path, pieces)
    return changed


def replace_environment(path: Path | str, pieces_of: Callable[[Path | None], Iterable[bytes]]) -> None:
    """Write a recorded environment anew: one writer at a time, whole or not at all. The file is made where there is none.

    Args:
        path: As for `change_environment`.
        pieces_of: Returns the new text in pieces. Its argument is the file that holds what is recorded so far: this one, or the eval
            set with a recording inside; None where nothing is recorded. What it raises leaves the file as it is. It may be asked again.

    Raises:
        RecordedEnvironmentError: As for `change_environment`.
        OSError: As for `change_environment`.
    """
    target = (sidecar_of(path) if holds_recording(Path(path)) else Path(path)).resolve()
    with system_lock(lock_path(target), _PATIENCE_SECONDS):
        for _ in range(_ATTEMPTS):
            with contextlib.suppress(_ChangedMeanwhileError):
                return _replaced(target, pieces_of)
    raise RecordedEnvironmentError(target, "another program keeps changing this file")


class _ChangedMeanwhileError(Exception):
    """Somebody who takes no lock wrote the file while we worked on it."""


def _replaced(target: Path, pieces_of: Callable[[Path | None], Iterable[bytes]]) -> None:
    identity = _identity(target)
    if identity is not None and not os.access(target, os.W_OK):
        raise RecordedEnvironmentError(target, "read-only")
    pieces = pieces_of(_embedding(target) if identity is None else target)

    def check() -> None:
        if _identity(target) != identity:
            raise _ChangedMeanwhileError
        measured.check()

    measured = _Measured(target, pieces)
    write_whole(target, measured, before_replace=check)
    sync_folder(target.parent)


class _Measured:
    """Passes the pieces of a file on, as long as it could be read again."""

    def __init__(self, target: Path, pieces: Iterable[bytes]) -> None:
        self._target, self._pieces, self._signs = target, pieces, 0

    def __iter__(self) -> Iterator[bytes]:
        size, most = 0, LIMITS["recording"]
        for piece in self._pieces:
            size += len(piece)
            if size > most:
                raise _too_large(self._target, f"would be larger than {most >> 20} MB")
            self._signs += sum(map(piece.count, _BEFORE_VALUES))
            yield piece

    def check(self) -> None:
        """Check that what was written does not hold more values than are read; signs in texts may have been counted with them."""
        if self._signs > MOST_VALUES:
            try:
                check_values(temporary_path(self._target).read_text(encoding="utf-8"))
            except JsonSizeError as error:
                raise _too_large(self._target, f"is not written: {error.reason}") from error


def _too_large(target: Path, reason: str) -> RecordedEnvironmentError:
    return RecordedEnvironmentError(
        target, f"{reason}, so it could not be read again. Add fewer cases to this set"
    )


def _embedding(sidecar: Path) -> Path | None:
    """Return the eval set of a sidecar file that is not there yet, where that set holds a recording inside."""
    stem = sidecar.name.removesuffix(_SIDECAR)
    beside = (sidecar.with_name(f"{stem}{ending}") for ending in (_EVAL_SET, ".json"))
    return next((path for path in beside if path != sidecar and holds_recording(path)), None)


def _identity(target: Path) -> Identity | None:
    try:
        return identity_of(target.stat())
    except FileNotFoundError:
        return None


def _put(before: Mapping[str, Held], put: Mapping[str, Held | None]) -> dict[str, Held]:
    kept = {eval_id: held for eval_id, held in before.items() if eval_id not in put}
    return kept | {eval_id: held for eval_id, held in put.items() if held is not None}


class Parted(NamedTuple):
    """The text of an eval set without its recording, and the recording, where it holds one."""

    text: str
    environment: RecordedEnvironment | None


class ArchiveError(InputError):
    """An archive does not hold one eval set; the text says what it holds instead."""


def joined(document: str, environment: RecordedEnvironment) -> str:
    """Write an eval set with its recording inside of it; as it is, where nothing is recorded."""
    if not environment.cases and not environment.notes:
        return document
    value = read_json(document)
    value[KEY] = json.loads(environment_text(environment))
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def parted(source: Path | str, text: str) -> Parted:
    """Take the recording out of an eval set.

    Args:
        source: Where the text comes from, for errors.
        text: An eval set. One without a recording is given back as it is.

    Raises:
        RecordedEnvironmentError: What stands in the place of the recording is none.
    """
    if f'"{KEY}"' not in text:
        return Parted(text, None)
    try:
        value: Any = read_json(text.lstrip("\ufeff"), constants=True)
    except JsonTextError:
        return Parted(text, None)
    if not isinstance(value, dict) or KEY not in value:
        return Parted(text, None)
    held = value.pop(KEY)
    try:
        environment = parsed(Path(source), json.dumps(held).encode())
    except RecordedEnvironmentError as error:
        reason = str(error).removeprefix(f"{error.path}: ")
        raise RecordedEnvironmentError(Path(source), f"{KEY}: {reason}") from error
    return Parted(json.dumps(value, indent=2, ensure_ascii=False) + "\n", environment)


def text_of_archive(content: bytes) -> str:
    """Return the one eval set of a ZIP archive as text, with the recording beside it inside of it.

    Raises:
        ArchiveError: It is no archive that can be read, or holds no eval set, or several.
        RecordedEnvironmentError: The recording in it is none.
    """
    try:
        with open_archive(io.BytesIO(content)) as packed:
            names = [name for name in packed.namelist() if name.endswith(_EVAL_SET)]
            if len(names) != 1:
                raise ArchiveError(
                    f"the archive has {len(names) or 'no'} eval set{'' if len(names) == 1 else 's'} instead of one"
                )
            text = _read(packed, names[0])
            beside = f"{names[0].removesuffix(_EVAL_SET)}{_SIDECAR}"
            if beside not in packed.namelist():
                return text
            return joined(text, parsed(Path(beside), _read(packed, beside).encode()))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise ArchiveError(f"the archive cannot be read: {error}") from error
    except JsonTextError as error:
        raise ArchiveError(f"the eval set in the archive is not valid JSON: {error}") from error


def _read(packed: zipfile.ZipFile, name: str) -> str:
    try:
        return unpacked(packed, name, "set").decode("utf-8-sig")
    except OSError as error:
        raise ArchiveError(f"{name} in the archive: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ArchiveError(f"{name} in the archive is not UTF-8 text: byte {error.start}") from error


_LISTED = ("cases", "notes")
NO_NOTES: Mapping[str, CaseNote] = MappingProxyType({})


class Stored:
    """The recordings in an open file.

    Attributes:
        cases: Where each recorded case stands, by its eval id.
        notes: Where each note stands.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path, self._file, self._within = path, file, ""
        shape = self._shape()
        if KEY in shape.head and shape.head.get("format") != FORMAT:
            self._within = f"{KEY}: "
            shape = shape.inside or _Shape({}, {})
        try:
            environment_of(path, shape.head)
        except RecordedEnvironmentError as error:
            raise self._refused(str(error).removeprefix(f"{path}: ")) from error
        self.cases, self.notes = (shape.spans.get(name, {}) for name in _LISTED)

    def case(self, eval_id: str) -> RecordedCase:
        """Read a recorded case.

        Raises:
            KeyError: There is none.
            RecordedEnvironmentError: It is damaged.
        """
        return self._read(RecordedCase, self.cases[eval_id], f"cases.{eval_id}")

    def note(self, eval_id: str) -> CaseNote:
        """Read a note; raises as `case`."""
        return self._read(CaseNote, self.notes[eval_id], f"notes.{eval_id}")

    def _read(self, kind: type[Held], span: Span, place: str) -> Held:
        try:
            self._file.seek(span.start)
            return validated(kind, read_json(self._file.read(span.stop - span.start).decode()))
        except ValidationError as error:
            raise self._refused(first_flaw(error, place)) from error
        except (ValueError, OSError) as error:  # the file was written in place since it was opened
            raise self._refused(f"{place}: {error}") from error

    def _shape(self) -> _Shape:
        try:
            stream = JsonStream(self._file)
            if stream.peek() == "{":
                shape = _shape(stream)
                stream.end()
                return shape
            stream.skip()
            stream.end()
        except NotUtf8Error as error:
            raise self._refused(f"not UTF-8 text: byte {error.byte}") from error
        except JsonTextError as error:
            raise self._refused(f"not valid JSON: {error}") from error
        raise self._refused("not a JSON object")

    def _refused(self, reason: str) -> RecordedEnvironmentError:
        return RecordedEnvironmentError(self._path, f"{self._within}{reason}")


class _Shape(NamedTuple):
    """An object in a file: its small values, where the entries of its listed members stand, and the recording inside of an eval set."""

    head: dict[str, Any]
    spans: dict[str, dict[str, Span]]
    inside: _Shape | None = None


def _shape(stream: JsonStream, *, is_inside: bool = False) -> _Shape:
    head: dict[str, Any] = {}
    spans: dict[str, dict[str, Span]] = {}
    inside: _Shape | None = None
    for name in stream.members():
        is_object = stream.peek() == "{"
        if name in _LISTED and is_object:
            head[name], spans[name] = {}, {eval_id: stream.passed() for eval_id in stream.members()}
        elif name == KEY and is_object and not is_inside:
            head[name], inside = {}, _shape(stream, is_inside=True)
        else:
            head[name] = stream.hollow()
    return _Shape(head, spans, inside)


@contextmanager
def stored_recordings(path: Path) -> Iterator[Stored]:
    """Open a recorded environment, or an eval set that holds one inside.

    Raises:
        RecordedEnvironmentError: It cannot be read, is no recorded environment, is newer than this, or is damaged; the text says where.
            A damaged case is found when it is read.
    """
    with ExitStack() as held:
        try:
            stored = Stored(path, held.enter_context(open_file(path, "cases")))
        except OSError as error:
            raise RecordedEnvironmentError(path, f"cannot be read: {error.strerror or error}") from error
        yield stored


def put_texts(
    path: Path,
    cases: Mapping[str, Span],
    version: int,
    spool: Spool,
    new_notes: Mapping[str, CaseNote] = NO_NOTES,
) -> None:
    """Add cases and notes to a recorded environment, or replace those of the same ids; the file is made where there is none.

    Args:
        path: The file.
        cases: Where the text of each stands in the spool, as `value_text` writes it.
        version: The version of a file that can hold them.
        new_notes: The notes.
        spool: The texts; those that are in the file already are added for the time of the call.

    Raises:
        RecordedEnvironmentError: As `change_environment`.
        OSError: As `change_environment`.
    """
    size = spool.size

    def pieces(source: Path | None) -> Iterable[bytes]:
        spool.cut(size)
        everything, held, newest = dict(cases), dict[str, CaseNote](), version
        if source is not None:
            with stored_recordings(source) as stored:
                for eval_id in stored.cases:
                    if eval_id not in cases:
                        case = stored.case(eval_id)
                        newest = max(newest, version_of(case))
                        everything[eval_id] = spool.add(value_text(case))
                held = {eval_id: stored.note(eval_id) for eval_id in stored.notes if eval_id not in new_notes}
        held |= new_notes
        newest = max((newest, *(note.version for note in held.values())))
        notes = {eval_id: spool.add(value_text(note)) for eval_id, note in held.items()}
        return file_pieces(newest, everything, notes, spool.read)

    replace_environment(path, pieces)
