"""Reads the text of a file as far as it can be read, and says what is wrong with it as a text."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic_core import from_json

from evalset.doctor.findings import Notes
from evalset.files.byte_edits import Doubled, RemoveEarlier
from evalset.files.set_outline import BOM
from simulator.base.json_text import JsonPath, JsonPlaces, reading_large

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
