"""Reads of an eval-set file what an append needs to know, refuses a file that is none, and finds where a new case goes in its text.

The parser is pydantic's, which ADK's loader uses too: what is valid JSON here is valid JSON there. It reads every byte, but makes Python objects of the
ids alone. A large file is read in parts, so that not all of its text is held; and what was read of a file is remembered, so that only the first append
to a large one reads all of it.

`find_layout` works on bytes that are known to be valid JSON. Nothing outside of the insertion is ever touched, and only the end of the text is read: JSON strings hold
no bare quote, so its tokens can be told apart from behind as well. Places that are asked for by their path are found from the front, by `simulator.base.json_text`.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from pydantic_core import CoreSchema, SchemaValidator, ValidationError, core_schema, from_json, to_json

from evalset.errors import EvalSetError
from evalset.files.json_streams import JsonStream, NotUtf8Error
from simulator.base.frozen_value import Value
from simulator.base.json_text import JsonTextError, Span

BOM = b"\xef\xbb\xbf"
CASES = "eval_cases"
SET_ID = "eval_set_id"
SEAM = 256
"""How many bytes before the next case an outline remembers."""

_CAMEL_CASE = {"evalSetId": SET_ID, "evalCases": CASES}


class Outline(NamedTuple):
    """What is known of an eval-set file: the ids of its cases, and where the next case goes.

    `before` is the last of the text before that place, `tail` all that stands behind it.
    """

    ids: frozenset[str]
    layout: Layout
    before: bytes
    tail: bytes


class Insertion:
    """What is inserted into a file for more cases, at the place of the next case.

    Args:
        outline: The outline of the file.
        cases: The cases by their ids, as `Style.write` takes them.

    Attributes:
        outline: The outline of the file with the cases that were written so far.
    """

    def __init__(self, outline: Outline, cases: Iterable[tuple[str, dict[str, Any]]]) -> None:
        self._before, self._cases = outline, cases
        self.outline = outline

    def pieces(self) -> Iterator[bytes]:
        """Write the text case by case.

        Raises:
            ValueError: As `Style.write`.
        """
        layout, before = self._before.layout, self._before
        eval_ids, lead, seam, length = list[str](), layout.lead, b"", 0
        for eval_id, case in self._cases:
            text = lead + layout.style.write(case)
            eval_ids.append(eval_id)
            lead, seam, length = layout.next_lead, (seam + text)[-SEAM:], length + len(text)
            yield text
        yield layout.trail
        self.outline = Outline(
            before.ids.union(eval_ids), layout.moved(length), seam, layout.trail + before.tail
        )


class EmptySetError(EvalSetError):
    """The file is empty, as it also is for a moment while a program writes it anew."""


def _check_encoding(path: Path, text: bytes) -> None:
    """Refuse what no JSON parser of ADK reads.

    Raises:
        EmptySetError: The file is empty.
        EvalSetError: It starts with a byte order mark.
    """
    if not text.strip():
        raise EmptySetError(path, "the file is empty. Put a copy of it back, or export to another file")
    if text.startswith(BOM):
        raise EvalSetError(
            path,
            "starts with a byte order mark (line 1, column 1), which ADK's loader cannot read; save it without the mark",
        )


def outline_of(path: Path, text: bytes) -> Outline:
    """Read the outline of an eval set.

    Args:
        path: Where the text comes from; for errors.
        text: The whole file.

    Raises:
        EvalSetError: The text is not valid JSON (with line and column), or not an eval set (with the member).
    """
    _check_encoding(path, text)
    members = _members(path, text)
    names = [name for name, _ in members]
    _check_names(path, names)
    values = dict(members)
    if not isinstance(values[SET_ID], str):
        raise EvalSetError(path, f"{SET_ID} is not a string, so it is not an eval set")
    ids = _ids(path, text, values[CASES])
    layout = find_layout(text, members_after=len(names) - 1 - names.index(CASES))
    place = layout.insert_at
    return Outline(frozenset(ids), layout, text[max(0, place - SEAM) : place], text[place:])


def ids_in_order(path: Path, text: bytes) -> list[str]:
    """Read the ids of an eval set's cases.

    Args:
        path: Where the text comes from; for errors.
        text: The whole file.

    Raises:
        EvalSetError: As `outline_of`.
    """
    _check_encoding(path, text)
    members = _members(path, text)
    _check_names(path, [name for name, _ in members])
    return _ids(path, text, dict(members)[CASES])


def _ids(path: Path, text: bytes, cases: Any) -> list[str]:
    if not isinstance(cases, list):
        raise EvalSetError(path, _flaw_of_cases(text))
    return [case["eval_id"] for case in cases]


def _members(path: Path, text: bytes) -> list[tuple[str, Any]]:
    """Read the members of the object: strings as they are, lists of cases as their ids, all else as None."""
    names: list[str] = []

    def noted(name: str) -> str:
        names.append(name)
        return name

    shown = core_schema.union_schema(
        [cases_schema(), core_schema.str_schema(strict=True)], mode="left_to_right"
    )
    schema = core_schema.dict_schema(
        core_schema.no_info_after_validator_function(noted, core_schema.str_schema()),
        core_schema.with_default_schema(shown, default=None, on_error="default"),
    )
    try:
        values = SchemaValidator(schema).validate_json(text)
    except ValidationError as error:
        raise EvalSetError(path, _flaw_of_text(error)) from None
    return [(name, values[name]) for name in names]


def cases_schema() -> CoreSchema:
    """Return the schema of a list of cases, of which the ids alone are read."""
    either_spelling: list[list[str | int]] = [["evalId"], ["eval_id"]]
    eval_id = core_schema.typed_dict_field(
        core_schema.str_schema(strict=True), validation_alias=either_spelling
    )
    return core_schema.list_schema(
        core_schema.typed_dict_schema({"eval_id": eval_id}, extra_behavior="ignore"), fail_fast=True
    )


def _flaw_of_text(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        return f"is not valid JSON: {first['ctx']['error']}"
    return "is not an eval set: the top level is not an object"


def _check_names(path: Path, names: list[str]) -> None:
    for camel, snake in _CAMEL_CASE.items():
        if camel in names and snake not in names:
            raise EvalSetError(
                path, f"has {camel!r} at the top level, but ADK's loader accepts only {snake!r}"
            )
    for name in (SET_ID, CASES):
        if name not in names:
            raise EvalSetError(path, f"has no {name!r} at the top level, so it is not an eval set")
    if names.count(CASES) > 1:
        raise EvalSetError(path, f"has {CASES!r} twice at the top level")


def _flaw_of_cases(text: bytes) -> str:
    """Return what is wrong with `eval_cases`, where it is not a list of objects with an eval id each."""
    schema = core_schema.typed_dict_schema({CASES: core_schema.typed_dict_field(cases_schema())})
    try:
        SchemaValidator(schema).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"])
        return f"is not an eval set: {place.lstrip('.')}: {first['msg'].lower()}"
    return f"is not an eval set: {CASES} is not a list"


LARGE = 1 << 25
"""A file of at most so many bytes is read at once, which is faster."""

_BATCH = 1 << 20
_each_id = SchemaValidator(cases_schema())


def outline_in_parts(path: Path, file: BinaryIO) -> Outline | None:
    """Return the outline of an eval set; None where its whole text has to be looked at: for what is wrong, or as it holds few cases.

    Args:
        path: Where the file is; for errors.
        file: The file.
    """
    try:
        batches = _batches(file)
        if not batches or batches[-1].last_but_one < 0:
            return None
        ids = frozenset(eval_id for batch in batches for eval_id in _ids_in(file, batch))
        # The last two cases are enough: they show how a case is written, and what stands between two.
        rest = batches[-1].last_but_one
        outline = outline_of(path, _read(file, 0, batches[0].start) + _read(file, rest))
    except (JsonTextError, NotUtf8Error, ValidationError, EvalSetError):
        return None
    layout = outline.layout.moved(rest - batches[0].start)
    before = _read(file, max(0, layout.insert_at - SEAM), layout.insert_at)
    return Outline(ids, layout, before, outline.tail)


class _Batch(NamedTuple):
    """Cases that stand together in a file.

    Attributes:
        start: Where the first of them begins.
        stop: Where the last of them ends.
        last_but_one: Where the case before the last of them begins, in this batch or the one before; -1 where there is none.
    """

    start: int
    stop: int
    last_but_one: int


def _batches(file: BinaryIO) -> list[_Batch]:
    """Find the cases of an eval set; none where it has two lists of them.

    Raises:
        JsonTextError: It is no JSON.
        NotUtf8Error: It is no text.
    """
    found: list[_Batch] = []
    stream = JsonStream(file)
    for name in stream.members():
        if name != CASES or stream.peek() != "[":
            stream.skip()
        elif found:
            return []
        else:
            found = list(_batches_here(stream))
    stream.end()
    return found


def _batches_here(stream: JsonStream) -> Iterator[_Batch]:
    begin = before = last = stop = -1
    for _ in stream.entries():
        stream.peek()
        before, last = last, stream.place
        begin = last if begin < 0 else begin
        stream.skip()
        stop = stream.place
        if stop - begin > _BATCH:
            yield _Batch(begin, stop, before)
            begin = -1
    if begin >= 0:
        yield _Batch(begin, stop, before)


def _read(file: BinaryIO, start: int, stop: int | None = None) -> bytes:
    file.seek(start)
    return file.read(-1 if stop is None else stop - start)


def _ids_in(file: BinaryIO, batch: _Batch) -> Iterator[str]:
    cases = _each_id.validate_json(b"[" + _read(file, batch.start, batch.stop) + b"]")
    return (case["eval_id"] for case in cases)


_FILES = 16


class Identity(NamedTuple):
    """Tells one state of a file from another: a write changes it, save one of the same size in the same clock tick."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int


def identity_of(status: os.stat_result) -> Identity:
    """Return the identity that a file's status stands for."""
    return Identity(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


class KnownFiles:
    """The outlines of the files used last; safe for threads.

    A file is known as long as its identity is unchanged and it still reads the same around the place where the
    next case goes.
    """

    def __init__(self, files: int = _FILES) -> None:
        self._files = files
        self._guard = threading.Lock()
        self._known: OrderedDict[str, tuple[Identity, Outline]] = OrderedDict()

    def outline(self, path: Path, identity: Identity, file: FileIO) -> Outline | None:
        """Return the outline of a file; None where it is another one now."""
        with self._guard:
            known, outline = self._known.get(str(path), (None, None))
        if outline is None or known != identity:
            return None
        wanted = outline.before + outline.tail
        file.seek(outline.layout.insert_at - len(outline.before))
        return outline if file.read(len(wanted) + 1) == wanted else None

    def remember(self, path: Path, identity: Identity, outline: Outline) -> None:
        """Keep the outline of a file, and forget the one that was kept longest if there are too many."""
        with self._guard:
            self._known[str(path)] = (identity, outline)
            self._known.move_to_end(str(path))
            while len(self._known) > self._files:
                self._known.popitem(last=False)


KNOWN_FILES = KnownFiles()
"""What all writers of this process know."""


_WINDOW, _NEAR = 1 << 14, 1 << 8
"""How many bytes are looked at first for an opening bracket, and for one token."""
_GROWTH = 8
_BLANK = b" \t\r\n"
_CLOSING = frozenset({b"]", b"}"})
_BLANKS = re.compile(rb"[ \t\r\n]*+")
# In reversed text: a quote that a backslash follows is an escaped one inside of its string.
_TOKEN_BACK = re.compile(rb'"(?:[^"]++|"(?=\\))*+"|[\[\]{},:]|[^ \t\r\n"\[\]{},:]++')
# All up to the next bracket outside of strings, and that bracket.
_TO_BRACKET_BACK = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"]++|"(?=\\))*+")*+(?P<bracket>[\[\]{}])')
_FIRST_KEY = re.compile(rb'\{[ \t\r\n]*+"(?:[^"\\]++|\\.)*+"[ \t\r\n]*+:(?P<gap>[ \t\r\n]*+)')


class Style(Value):
    """How a case is written: `unit` is one step of indentation, None for all on one line."""

    newline: str = "\n"
    indent: str = ""
    unit: str | None = None
    spaced: bool = True

    def write(self, case: dict[str, Any]) -> bytes:
        """Write a case in UTF-8, its first line without indentation.

        Args:
            case: Whatever pydantic writes as JSON: bytes become base64, an enumeration's member its value.

        Raises:
            ValueError: JSON or UTF-8 has no form for something in it.
        """
        if self.unit and self.spaced and not self.unit.strip(" "):
            written = _json(case, len(self.unit))
        else:
            space = " " if self.spaced else ""
            separators = ("," if self.unit is not None else f",{space}", f":{space}")
            plain = from_json(_json(case))
            written = json.dumps(plain, ensure_ascii=False, indent=self.unit, separators=separators).encode()
        return written.replace(b"\n", f"{self.newline}{self.indent}".encode())


def _json(value: Any, indent: int | None = None) -> bytes:
    """Write a value, ten times faster than the standard library does; refuse what that refuses."""
    written = to_json(value, indent=indent, inf_nan_mode="constants", bytes_mode="base64")
    if b"NaN" in written or b"Infinity" in written:  # the word may stand in a string, too
        json.dumps(from_json(written), allow_nan=False)
    return written


class Layout(Value):
    """Where the next case goes: `lead` stands before it, `trail` after it; `next_lead` before those that follow."""

    insert_at: int
    lead: bytes
    trail: bytes = b""
    next_lead: bytes
    style: Style

    def moved(self, length: int) -> Layout:
        """Return the layout of the text in which so many bytes of new cases are inserted, without the trail."""
        return Layout(
            insert_at=self.insert_at + length,
            lead=self.next_lead,
            next_lead=self.next_lead,
            style=self.style,
        )


def find_layout(text: bytes, members_after: int) -> Layout:
    """Find where the next case goes.

    Args:
        text: A valid JSON object in UTF-8 whose member `eval_cases` is an array of objects.
        members_after: How many members of the object stand behind `eval_cases`.
    """
    end = _token_before(text, len(text))[0]
    for _ in range(members_after):
        colon = _token_before(text, _value_start(text, end))
        key = _token_before(text, colon[0])
        end = _token_before(text, key[0])[0]
    closing = _token_before(text, end)
    last = _token_before(text, closing[0])
    if text[slice(*last)] == b"[":
        return _layout_of_empty(text, last[1])
    start = _value_start(text, closing[0])
    before = _token_before(text, start)
    return _layout_behind(text, gap=text[before[1] : start], start=start, stop=last[1])


def _token_before(text: bytes, end: int) -> Span:
    """Return the place of the last token before `end`."""
    size = _NEAR
    while True:
        start = max(0, end - size)
        window = text[start:end][::-1]
        blanks = _BLANKS.match(window)
        token = _TOKEN_BACK.match(window, blanks.end() if blanks else 0)
        if token and (token.end() < len(window) or start == 0):
            return end - token.end(), end - token.start()
        if start == 0:
            raise ValueError(f"not valid JSON before byte {end}")
        size *= _GROWTH


def _value_start(text: bytes, end: int) -> int:
    """Return the place where the value starts whose last token is the last before `end`."""
    last = _token_before(text, end)
    if text[slice(*last)] not in _CLOSING:
        return last[0]
    size = _WINDOW
    while True:
        start = max(0, last[1] - size)
        opening = _opening(text[start : last[1]][::-1])
        if opening is not None:
            return last[1] - opening
        if start == 0:
            raise ValueError(f"not valid JSON before byte {end}")
        size *= _GROWTH


def _opening(window: bytes) -> int | None:
    """Find, in reversed text that begins with a closing bracket, the end of its opening one; None if it is further."""
    depth = place = 0
    while found := _TO_BRACKET_BACK.match(window, place):
        place = found.end()
        depth += 1 if found["bracket"] in _CLOSING else -1
        if depth == 0:
            return place
    return None


def _layout_behind(text: bytes, *, gap: bytes, start: int, stop: int) -> Layout:
    """Continue an array whose last element is `text[start:stop]`, with `gap` before it."""
    inner = _blanks_at(text, start + 1)
    if _has_line_break(inner):
        outer = text[start : stop - 1]
        indent = _indent(outer[len(outer.rstrip(_BLANK)) :])
        deeper = _indent(inner)
        unit = deeper[len(indent) :] if deeper.startswith(indent) else "  "
        style = Style(newline=_line_break(inner), indent=indent, unit=unit, spaced=_is_spaced(text, start))
    else:
        style = Style(spaced=_is_spaced(text, start))
    lead = b"," + (gap or (b" " if style.spaced else b""))
    return Layout(insert_at=stop, lead=lead, next_lead=lead, style=style)


def _layout_of_empty(text: bytes, stop: int) -> Layout:
    """Fill an empty array, whose bracket ends at `stop`, in the manner of the object around it."""
    opening = text.index(b"{")
    inner = _blanks_at(text, opening + 1)
    spaced = _is_spaced(text, opening)
    if not _has_line_break(inner):
        next_lead = b", " if spaced else b","
        return Layout(insert_at=stop, lead=b"", next_lead=next_lead, style=Style(spaced=spaced))
    newline, unit = _line_break(inner), _indent(inner)
    style = Style(newline=newline, indent=unit * 2, unit=unit, spaced=spaced)
    lead = f"{newline}{unit * 2}".encode()
    trail = b"" if _has_line_break(_blanks_at(text, stop)) else f"{newline}{unit}".encode()
    return Layout(insert_at=stop, lead=lead, trail=trail, next_lead=b"," + lead, style=style)


def _blanks_at(text: bytes, start: int) -> bytes:
    found = _BLANKS.match(text, start)
    return found.group() if found else b""


def _has_line_break(blanks: bytes) -> bool:
    return b"\n" in blanks or b"\r" in blanks


def _line_break(blanks: bytes) -> str:
    return "\r\n" if b"\r\n" in blanks else "\n" if b"\n" in blanks else "\r"


def _indent(blanks: bytes) -> str:
    """Return what stands behind the last line break."""
    return re.split(rb"[\r\n]", blanks)[-1].decode() if _has_line_break(blanks) else ""


def _is_spaced(text: bytes, opening: int) -> bool:
    """Return whether the object that opens there has a space behind its first colon; yes where it is empty."""
    found = _FIRST_KEY.match(text, opening)
    return found is None or bool(found["gap"])
