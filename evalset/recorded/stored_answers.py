"""Reads and adds recordings one at a time, for files that hold many: only the place of each is kept in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

from pydantic import ValidationError

from evalset.errors import first_flaw
from evalset.files.json_streams import JsonStream, NotUtf8Error, Span, Spool
from evalset.recorded.recording import FORMAT, CaseNote, RecordedCase, version_of
from evalset.recorded.recording_files import (
    KEY,
    Held,
    RecordedEnvironmentError,
    environment_of,
    file_pieces,
    replace_environment,
    value_text,
)
from simulator.base.documents import open_file
from simulator.base.json_text import JsonTextError, read_json
from simulator.base.validation_words import validated

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
