"""Finds, reads and writes files of eval data.

`files_in` finds the files that a person means by paths, `read` reads the text of one as far as it can be read, and notes what is wrong with it as a text. `changes_of` writes changed
files: under their locks, each at once, and with a copy of the old text beside it.
"""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pydantic_core import from_json

from evalset.doctor.model import Changes, FileChange, Notes
from evalset.files.byte_edits import Doubled, RemoveEarlier
from evalset.files.eval_names import files_below
from evalset.files.set_outline import BOM, Identity, identity_of
from evalset.files.set_writer import ChangedMeanwhileError, status_of
from evalset.recorded.recording import FORMAT
from evalset.recorded.recording_files import (
    RecordedEnvironmentError,
    change_environment,
    recording_of,
    sidecar_of,
)
from simulator.base import user_files
from simulator.base.documents import open_file
from simulator.base.json_text import JsonPath, JsonPlaces, reading_large
from simulator.base.user_files import LockTimeoutError, lock_path, sync_folder, system_locks, write_whole

LARGE = 20 << 20
"""From so many bytes on ADK's own writers take seconds for each case."""

MOST_MEMORY = 640 << 20
"""The most that a file may take, as `_weight` reckons it."""

_OF_EACH = {b"{": 510, b"[": 130, b",": 100}
_OF_A_BYTE = 3
"""How many bytes of memory each takes, measured with files of many small cases, of long texts, of empty lists, and of numbers and short texts."""

_PLACE = re.compile(r" at line (\d+) column (\d+)$")
_WIDE = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"),
         (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
_SPARSE = 4
_ZEROS = {"x000": "utf-32-le", "000x": "utf-32-be", "x0x0": "utf-16-le", "0x0x": "utf-16-be"}
# Strings are passed over whole; a comma and its blanks are kept where no closing bracket follows.
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_TRAILING = re.compile(rb'"(?:[^"\\]++|\\.)*+"|,(?=[ \t\r\n]*+[\]}])', re.DOTALL)


class Document(NamedTuple):
    """What was read: the text in UTF-8 with its places, and its value."""

    places: JsonPlaces[bytes]
    value: Any


def read(content: bytes, notes: Notes) -> Document | None:
    """Read the content of a file; None where it holds no JSON, which is noted.

    A byte order mark, another encoding and commas at the end of a list are noted and read over: the document's text is
    the content without them, and `Notes.text` is set to it.
    """
    notes.text = content
    if not content.strip(b" \t\r\n\0"):
        notes.add(
            "empty-file",
            (),
            "The file is empty, so ADK cannot read it.",
            "Put a copy of it back, or export to another file.",
        )
        return None
    with reading_large():
        return _read(content, notes)


def _read(content: bytes, notes: Notes) -> Document | None:
    text = _decoded(content, notes)
    if text is None:
        return None
    if len(content) > LARGE:
        notes.add(
            "oversized", (), f"The file has {len(content) >> 20} MB. `adk web` reads and writes the whole file for each case.",
            "Split it into several sets.",
        )  # fmt: skip
    notes.text = text
    if (weight := _weight(text)) > MOST_MEMORY:
        notes.add(
            "too-heavy", (), f"The file was not examined: it would take {weight >> 20:,} MB of memory. The limit is {MOST_MEMORY >> 20} MB.",
            "Split it into several files.",
        )  # fmt: skip
        return None
    checked = _checked(text, notes)
    return None if checked is None else _document(checked, notes)


def _decoded(content: bytes, notes: Notes) -> bytes | None:
    """Return the text in UTF-8 without a byte order mark."""
    text = content.removeprefix(BOM)
    encoding = _wide(text)
    try:
        characters = text.decode(encoding or "utf-8")
        read_over = characters.removeprefix("\ufeff").encode() if encoding else text
    except UnicodeError as error:
        start = len(content) - len(text) + getattr(error, "start", 0)
        notes.add(
            "not-utf8", (), f"The file is not UTF-8 text (byte {start}), so ADK cannot read it.",
            "Save it as UTF-8. Its encoding cannot be detected reliably.", at=JsonPlaces(content).at(start),
        )  # fmt: skip
        return None
    if len(text) != len(content):
        notes.add(
            "byte-order-mark", (), "The file starts with a byte order mark, which ADK's loader cannot read.",
            fix="removes the mark", whole=True,
        )  # fmt: skip
    if encoding:
        notes.add(
            "not-utf8", (), f"The file is encoded in {encoding.upper()}, but ADK reads only UTF-8.",
            fix="converts it to UTF-8", whole=True,
        )  # fmt: skip
    return read_over


def _wide(content: bytes) -> str | None:
    """Recognise an encoding of two or four bytes by its mark, or by the zeros in what must be ASCII."""
    for mark, encoding in _WIDE:
        if content.startswith(mark):
            return encoding
    head = content[:_SPARSE]
    if len(head) == _SPARSE and head.count(0):
        zeros = "".join("0" if byte == 0 else "x" for byte in head)
        return _ZEROS.get(zeros)
    return None


def _checked(text: bytes, notes: Notes) -> bytes | None:
    """Return the text if the parser of ADK's loader can read it, without commas that are too many."""
    reason = _flaw(text)
    if reason is None:
        return text
    if reason.startswith("trailing comma"):
        shorter = _TRAILING.sub(lambda found: b"" if found.group() == b"," else found.group(), text)
        if _flaw(shorter) is None:
            notes.add(
                "trailing-comma", (), "There is a comma before a closing bracket, so the file is not valid JSON and ADK cannot read it.",
                fix="removes these commas", whole=True, at=_at(reason),
            )  # fmt: skip
            notes.text = shorter
            return shorter
    words = _PLACE.sub("", reason)
    if words == "recursion limit exceeded":
        notes.add(
            "too-deep", (), "Brackets are nested more than 200 levels deep, which ADK's parser refuses.",
            "Remove the value, or write it as a string.", at=_at(reason),
        )  # fmt: skip
    else:
        notes.add(
            "damaged-json", (), f"The file is not valid JSON ({words}), so ADK cannot read any of its cases.",
            "Fix this place in an editor, or restore an older copy.", at=_at(reason),
        )  # fmt: skip
    return None


def _flaw(text: bytes) -> str | None:
    try:
        from_json(text, cache_strings="none")
    except ValueError as error:
        return str(error)
    return None


def _at(reason: str) -> tuple[int, int] | None:
    found = _PLACE.search(reason)
    return (int(found[1]), int(found[2])) if found else None


def _document(text: bytes, notes: Notes) -> Document | None:
    constants: list[str] = []
    doubled: list[Doubled] = []

    def constant(word: str) -> float:
        constants.append(word)
        return float(word)

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) == len(pairs):
            return made
        double = _doubled(pairs)
        doubled.append(double)
        return double

    try:
        value = json.loads(text, parse_constant=constant, object_pairs_hook=members)
    except (ValueError, RecursionError) as error:  # what one parser takes, the other may refuse
        notes.add(
            "damaged-json", (), f"The file is not valid JSON ({error}), so ADK cannot read any of its cases.",
            "Fix this place in an editor, or restore an older copy.",
        )  # fmt: skip
        return None
    if constants:
        notes.add(
            "no-json-number", next(_numbers(value, ()), ()),
            f"{constants[0]} is not a JSON number. ADK reads it, but most other programs refuse the file.",
            "Replace it with a number, a string or null.", count=len(constants),
        )  # fmt: skip
    for path, names, same in _all_doubled(value, ()) if doubled else ():
        _note_doubled(path, names, same, notes)
    return Document(JsonPlaces(text), value)


def _weight(text: bytes) -> int:
    """Return about how many bytes of memory a document and what ADK's models make of it take."""
    weight = _of_signs(text) + _OF_A_BYTE * len(text)
    if weight <= MOST_MEMORY:
        return weight
    return _of_signs(_STRINGS.sub(b"", text)) + _OF_A_BYTE * len(text)  # a bracket in a text is none


def _of_signs(text: bytes) -> int:
    return sum(weight * text.count(sign) for sign, weight in _OF_EACH.items())


def _doubled(pairs: list[tuple[str, Any]]) -> Doubled:
    made = Doubled(pairs)
    found: dict[str, list[Any]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    made.names = tuple(name for name, values in found.items() if len(values) > 1)
    made.same = frozenset(name for name in made.names if len({repr(value) for value in found[name]}) == 1)
    return made


def _note_doubled(path: JsonPath, names: tuple[str, ...], same: frozenset[str], notes: Notes) -> None:
    for name in names:
        is_same = name in same
        values = "the same value." if is_same else "different values. ADK uses only the last."
        notes.add(
            "duplicate-key", (*path, name), f"The name {name!r} occurs twice in one object, with {values}",
            "Remove the wrong one.", fix="keeps only the last", edits=[RemoveEarlier((*path, name))] if is_same else (),
        )  # fmt: skip


def _all_doubled(value: Any, path: JsonPath) -> Iterator[tuple[JsonPath, tuple[str, ...], frozenset[str]]]:
    if isinstance(value, Doubled):
        yield path, value.names, value.same
    if isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, (dict, list)):
                yield from _all_doubled(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            if isinstance(inner, (dict, list)):
                yield from _all_doubled(inner, (*path, index))


def _numbers(value: Any, path: JsonPath) -> Iterator[JsonPath]:
    """Find where the numbers stand that JSON has no word for."""
    if isinstance(value, float) and (value != value or value in {float("inf"), float("-inf")}):  # noqa: PLR0124 - only NaN differs from itself
        yield path
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _numbers(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _numbers(inner, (*path, index))


_PATIENCE_SECONDS = 60.0
_ATTEMPTS = 5

Planner: TypeAlias = Callable[[tuple[Path, ...]], tuple[FileChange, ...]]
"""Makes the changes of files that belong together; those that stay as they are are left out."""


def changes_of(paths: Iterable[Path | str], plan: Planner, *, write: bool) -> Changes:
    """Plan the changes of files and folders, and write them if wanted."""
    make = partial(until_written, plan=plan) if write else plan
    return Changes(files=tuple(each for group in groups(files_in(paths, [])) for each in make(group)))


def until_written(group: tuple[Path, ...], plan: Planner) -> tuple[FileChange, ...]:
    """Make changes in files that belong together, and write them; what cannot be written says why, and then none stays written.

    They are planned before anybody else is kept out, and once more where somebody wrote one of the files until then. A recording
    inside of an eval set gets a file beside it first, and is changed there.
    """
    seen = _states(group)
    planned = plan(group)
    if not planned or any(each.problem for each in planned):
        return planned
    if len(group) == 1 and recording_of(group[0]) == group[0]:
        try:
            change_environment(group[0], lambda recorded: recorded)
        except (RecordedEnvironmentError, LockTimeoutError, OSError) as error:
            return tuple(each.model_copy(update={"problem": str(error)}) for each in planned)
        return until_written((*group, sidecar_of(group[0])), plan)
    try:
        with system_locks([lock_path(_target(file)) for file in group], _PATIENCE_SECONDS):
            for _ in range(_ATTEMPTS):
                if _states(group) != seen:
                    seen, planned = _states(group), plan(group)
                if not planned or any(each.problem for each in planned):
                    return planned
                with suppress(ChangedMeanwhileError):  # by a program that takes no lock
                    return _written(planned)
    except LockTimeoutError:
        reason = f"another program has been writing this file for {_PATIENCE_SECONDS:g} s"
    except OSError as error:
        reason = f"the system refused: {error.strerror or error}"
    else:
        reason = "another program keeps changing this file"
    return tuple(each.model_copy(update={"problem": reason}) for each in planned)


def _target(file: Path) -> Path:
    return Path(os.path.realpath(file))


def _states(group: tuple[Path, ...]) -> list[Identity | None]:
    found = [status_of(file) for file in group]
    return [identity_of(status) if status else None for status in found]


def _written(changes: Sequence[FileChange]) -> tuple[FileChange, ...]:
    """Write changes under their locks.

    Recorded environments come first: a process that is killed in between can fix them again, and the eval set still tells what to do.

    Raises:
        ChangedMeanwhileError: One of the files is no longer what the change was made for; all are as they were.
    """
    done: list[FileChange] = []
    for change in sorted(changes, key=lambda each: not is_environment(each.file)):
        try:
            done.append(_write(change))
        except ChangedMeanwhileError:
            _take_back(done)
            raise
        except OSError as error:
            _take_back(done)
            reason = f"the system refused: {error.strerror or error}"
            beside = f"{change.file.name} could not be written, so this file was not changed either"
            return tuple(
                each.model_copy(update={"problem": reason if each is change else beside}) for each in changes
            )
    return tuple(reversed(done))


def _write(change: FileChange) -> FileChange:
    target = _target(change.file)
    if not os.access(target, os.W_OK):
        raise PermissionError(13, "the file is read-only", str(target))
    found = read_content(target)
    if found.text != change.before:
        raise ChangedMeanwhileError
    copy = keep_copy(target, found.text)
    try:
        _put(target, found, change.after)
    except BaseException:
        copy.unlink(missing_ok=True)
        raise
    return change.model_copy(update={"written": True, "copy_kept": copy})


def _put(target: Path, found: FileContent, text: bytes) -> None:
    def check() -> None:
        status = status_of(target)
        if status is None or identity_of(status) != found.identity:
            raise ChangedMeanwhileError

    write_whole(target, [text], before_replace=check)
    sync_folder(target.parent)


def _take_back(done: Sequence[FileChange]) -> None:
    """Put the old texts back, where nobody has written since."""
    for change in done:
        target = _target(change.file)
        found = read_content(target)
        if found.text == change.after:
            _put(target, found, change.before)
            if change.copy_kept is not None:
                change.copy_kept.unlink(missing_ok=True)


def keep_copy(target: Path, text: bytes) -> Path:
    """Write the old text beside its file, as `<name>.<n>.bak` with the first n that is free.

    Raises:
        OSError: The disk or the folder refused; no copy is left.
    """
    return user_files.keep_copy(lambda number: target.with_name(f"{target.name}.{number}.bak"), text)


EVAL_SET, OLD_TEST, ENVIRONMENT = ".evalset.json", ".test.json", ".environment.json"
_ENDINGS = (EVAL_SET, OLD_TEST, ENVIRONMENT)
_TELLTALE = (b'"eval_cases"', b'"evalCases"', b'"expected_tool_use"', FORMAT.encode())
_HEAD = 1 << 20
"""So much of a file with another name is looked at."""
_PATIENCE = 5


class FileContent(NamedTuple):
    """The content of a file, and the identity of the state in which it was read."""

    text: bytes
    identity: Identity


def read_content(path: Path) -> FileContent:
    """Read a whole file, in one state of it.

    Raises:
        OSError: It cannot be read.
        ChangedMeanwhileError: It was written each time that it was read.
    """
    for _ in range(_PATIENCE):
        with open_file(path, "examined") as file:
            identity = identity_of(os.fstat(file.fileno()))
            text = file.read()
            if identity_of(os.fstat(file.fileno())) == identity:
                return FileContent(text, identity)
    raise ChangedMeanwhileError


def is_environment(path: Path) -> bool:
    """Recognise a recorded environment by its name."""
    return path.name.endswith(ENVIRONMENT)


def files_in(paths: Iterable[Path | str], problems: list[str]) -> list[Path]:
    """Return the files that are meant, once each, in order: those that are named, and in folders those that hold eval data.

    The recorded environment of a named eval set comes along. What is not there is added to `problems`.
    """
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if path.is_dir():
            inside = list(_in_folder(path, problems))
            if not inside:
                problems.append(f"{path}: no eval sets, tests or recorded environments in this folder")
            found |= dict.fromkeys(inside)
        elif not path.exists():
            problems.append(f"{path}: no such file")
        elif not path.is_file():
            problems.append(f"{path}: not a file")
        else:
            found[path] = None
            beside = sidecar_of(path)
            if not is_environment(path) and beside.is_file():
                found[beside] = None
    return list(found)


def _in_folder(folder: Path, problems: list[str]) -> Iterator[Path]:
    def refused(error: OSError) -> None:
        problems.append(f"{error.filename}: cannot be read: {error.strerror}")

    for path in files_below(folder, refused):
        is_json = path.suffix == ".json" and path.is_file()
        if is_json and (path.name.endswith(_ENDINGS) or _tells_of_cases(path)):
            yield path


def _tells_of_cases(path: Path) -> bool:
    """Return whether a file with any other name holds eval data."""
    try:
        with open_file(path, "cases") as file:
            text = file.read(_HEAD)
    except OSError:
        return False
    return any(word in text for word in _TELLTALE)


def eval_set_of(environment: Path) -> Path | None:
    """Find the eval set that a recorded environment belongs to."""
    stem = environment.name.removesuffix(".environment.json")
    for ending in (".evalset.json", ".test.json", ".json"):
        path = environment.with_name(f"{stem}{ending}")
        if path.is_file() and sidecar_of(path).name == environment.name:
            return path
    return None


def groups(files: Iterable[Path]) -> list[tuple[Path, ...]]:
    """Set each recorded environment beside its eval set: what belongs together is changed together."""
    named = list(dict.fromkeys(files))
    paired: dict[Path, list[Path]] = {file: [file] for file in named if not is_environment(file)}
    for file in named:
        if is_environment(file):
            beside = eval_set_of(file)
            paired.setdefault(beside if beside in paired else file, []).append(file)
    return [tuple(group) for group in paired.values()]
