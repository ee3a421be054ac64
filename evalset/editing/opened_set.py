"""Opens an eval set to look at and to edit: its bytes, where each case stands in them, and a row for each; no ADK model is built."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import from_json

from evalset.editing.case_parts import Case, field, listed, text_of, turns_of
from evalset.errors import EvalSetError
from evalset.files.json_splice import Layout
from evalset.files.outline_cache import Identity, identity_of
from evalset.files.set_outline import CASES, SET_ID, outline_of

_ATTEMPTS = 5
_HALF = rb"\ud"
"""How the escape of a surrogate begins, alone or in a pair."""


class Span(NamedTuple):
    """Where a case stands in the bytes of its file."""

    start: int
    stop: int


class OpenedSet:
    """An eval set as it was when it was opened. Nothing in it changes.

    Args:
        path: The file, as people know it.
        text: Its bytes.
        identity: Which state of the file that is.
        old_text: What stands in the file, where that is ADK's old form and `text` what it becomes; None elsewhere.

    Raises:
        EvalSetError: It is no eval set, or no JSON; the text names the place.
    """

    def __init__(self, path: Path, text: bytes, identity: Identity, old_text: bytes | None = None) -> None:
        self.path, self.text, self.identity, self.old_text = path, text, identity, old_text
        self.rows, self.spans = _checked_cases(path, text)
        self.places = {row.key: place for place, row in enumerate(self.rows)}

    def case(self, key: str) -> Case:
        """Return a case as its file says it; a new object each time.

        Raises:
            KeyError: There is none.
        """
        found: Case = json.loads(self.raw(key))
        return found

    def raw(self, key: str) -> bytes:
        """Return the bytes of a case.

        Raises:
            KeyError: There is none.
        """
        return self.text[slice(*self.spans[self.places[key]])]

    @cached_property
    def layout(self) -> Layout:
        """How cases are written in it, and where one more would go."""
        return outline_of(self.path, self.text).layout

    @cached_property
    def about(self) -> dict[str, Any]:
        """What the set says of itself: the members beside its cases."""
        held: dict[str, Any] = from_json(self.text) if len(self.rows) == 0 else _without_cases(self)
        return {name: value for name, value in held.items() if name != CASES}

    @property
    def set_id(self) -> str:
        """The set's id."""
        return str(self.about[SET_ID])


def open_set(path: Path | str) -> OpenedSet:
    """Open an eval set; data in ADK's old form is brought into today's, and the file stays as it is.

    Raises:
        EvalSetError: There is no file, it cannot be read, or it is no eval set; the text says why and where.
    """
    known = Path(path).expanduser().absolute()
    return opened_as(known, *_read(known))


def opened_as(path: Path, text: bytes, identity: Identity) -> OpenedSet:
    """Open a text as the eval set at a path, as `open_set` opens the file.

    Raises:
        EvalSetError: It is no eval set; the text says why and where.
    """
    try:
        return OpenedSet(path, text, identity)
    except EvalSetError:
        converted = _converted(path, text)
        if converted is None:
            raise
        return OpenedSet(path, converted, identity, text)


def identity_at(path: Path) -> Identity | None:
    """Return which state of a file is there now; None where none is."""
    try:
        return identity_of(path.stat())
    except OSError:
        return None


def _read(path: Path) -> tuple[bytes, Identity]:
    try:
        for _ in range(_ATTEMPTS):
            with path.open("rb") as file:
                before = identity_of(os.fstat(file.fileno()))
                text = file.read()
                if identity_of(os.fstat(file.fileno())) == before:
                    return text, before
    except OSError as error:
        raise EvalSetError(path, f"cannot be opened: {error.strerror or error}") from error
    raise EvalSetError(path, "keeps changing; another program is writing it. Try again when it is done")


def _converted(path: Path, text: bytes) -> bytes | None:
    if text.lstrip()[:1] not in {b"[", b"{"}:
        return None
    from evalset.files.case_text import set_json  # noqa: PLC0415 - importing ADK's evaluation takes a second
    from evalset.files.legacy_format import convert_old_form  # noqa: PLC0415 - as above

    converted = convert_old_form(path, text)
    return None if converted is None else set_json(converted).encode()


def _checked_cases(path: Path, text: bytes) -> tuple[tuple[CaseRow, ...], Sequence[Span]]:
    """Read the cases in one pass where the text is plainly an eval set; where it is not, let the outline say what is wrong.

    Half of a surrogate pair is the one thing that this pass reads and ADK's parser does not.
    """
    if _HALF not in text and _HALF.upper() not in text:
        try:
            return _read_cases(text)
        except (ValueError, RecursionError):  # not valid JSON, or not an eval set: said below
            pass
    outline_of(path, text)
    try:
        return _read_cases(text)
    except (
        ValueError,
        RecursionError,
    ) as error:  # what ADK reads and Python does not: a number of 5,000 digits
        raise EvalSetError(path, f"cannot be read: {error}") from error


def _read_cases(text: bytes) -> tuple[tuple[CaseRow, ...], Sequence[Span]]:
    characters = text.decode()
    count = Bytes(characters)
    start = value_of(characters, CASES)
    if start is None:
        raise ValueError(f"there are no {CASES}")
    rows: list[CaseRow] = []
    spans: list[Span] = []
    taken: set[str] = set()
    stop = start + 1
    for entry in entries(characters, start):
        if not isinstance(entry.value, dict) or not isinstance(field(entry.value, "eval_id"), str):
            raise ValueError("an entry is no case")  # noqa: TRY004 - as all that makes it no eval set
        row = row_of("", entry.value)
        key = row.eval_id if row.eval_id not in taken else unlike(row.eval_id, taken)
        taken.add(key)
        rows.append(row._replace(key=key))
        spans.append(Span(count.before(entry.start), count.before(entry.stop)))
        stop = entry.stop
    rest = rest_of(characters, end_of(characters, stop))
    set_id = value_of(characters[:start] + "null" + "}", SET_ID)
    _check_about(rest, has_id_before=set_id is not None and characters[set_id] == '"')
    return tuple(rows), spans


def _check_about(rest: dict[str, Any], *, has_id_before: bool) -> None:
    if CASES in rest or not (has_id_before or isinstance(rest.get(SET_ID), str)):
        raise ValueError(f"it has no {SET_ID}, or two lists of cases")


def _without_cases(opened: OpenedSet) -> dict[str, Any]:
    """Read what stands before the first case and behind the last."""
    first, last = opened.spans[0].start, opened.spans[-1].stop
    found: dict[str, Any] = from_json(opened.text[:first] + b"null" + opened.text[last:])
    return found


# Says of each case what a table shows, and what it is searched and filtered by. Pure.


_SHOWN = 160
_TURN = "\n"


class CaseRow(NamedTuple):
    """One case of a set.

    Attributes:
        key: What the case is called while the set is open: its eval id when it was opened, made different from others.
        eval_id: Its eval id.
        query: How the first query begins; of a scenario, how its starting prompt does.
        turns: How many turns it has; 0 for a scenario.
        tools: The tools that are called, each once.
        agents: Who speaks or calls, where the case says so, and its app.
        rubrics: How many rubrics it has, those of its turns too.
        is_scenario: A model speaks for the user.
    """

    key: str
    eval_id: str
    query: str
    turns: int
    tools: tuple[str, ...]
    agents: tuple[str, ...]
    rubrics: int = 0
    is_scenario: bool = False

    def holds(self, words: Iterable[str]) -> bool:
        """Return whether each of these words, in small letters, stands in it."""
        text = f"{self.eval_id}\n{self.query}\n{' '.join(self.tools)}\n{' '.join(self.agents)}".casefold()
        return all(word in text for word in words)


def row_of(key: str, case: Case) -> CaseRow:
    """Read a case's row; whatever is not as ADK wants it counts as absent."""
    tools: dict[str, None] = {}
    agents: dict[str, None] = {}
    app = field(field(case, "session_input"), "app_name")
    if isinstance(app, str) and app:
        agents[app] = None
    turns = turns_of(case)
    rubrics = len(listed(case, "rubrics"))
    for turn in turns:
        rubrics += len(listed(turn, "rubrics"))
        _take(field(turn, "intermediate_data"), tools, agents)
    scenario = field(case, "conversation_scenario")
    first = field(turns[0], "user_content") if turns else field(scenario, "starting_prompt", "")
    query = first if isinstance(first, str) else text_of(first)
    return CaseRow(
        key=key,
        eval_id=str(field(case, "eval_id", "")),
        query=" ".join(query[: _SHOWN * 2].split())[:_SHOWN],
        turns=len(turns),
        tools=tuple(tools),
        agents=tuple(agents),
        rubrics=rubrics,
        is_scenario=scenario is not None and not turns,
    )


def _take(data: Any, tools: dict[str, None], agents: dict[str, None]) -> None:
    for call in listed(data, "tool_uses"):
        tools[str(field(call, "name", ""))] = None
    for said in listed(data, "intermediate_responses"):
        if isinstance(said, list) and said and isinstance(said[0], str) and said[0]:
            agents[said[0]] = None
    for event in listed(data, "invocation_events"):
        author = field(event, "author")
        if isinstance(author, str) and author and author != "user":
            agents[author] = None
        for part in listed(field(event, "content"), "parts"):
            call = field(part, "function_call")
            if call is not None:
                tools[str(field(call, "name", ""))] = None


def unlike(key: str, taken: Iterable[str]) -> str:
    """Return a key that no other case has: no eval id that can be used holds a line break."""
    used, number, free = set(taken), 1, key
    while free in used:
        number += 1
        free = f"{key}{_TURN}{number}"
    return free


# Finds the entries of one member of a large JSON object: where each stands in the text, and what it says. Pure.


_BLANKS = re.compile(r"[ \t\r\n]*+")
_decode = json.JSONDecoder().raw_decode


class Entry(NamedTuple):
    """An entry of a list or of an object: its name (empty in a list), its value, and its place in characters."""

    name: str
    value: Any
    start: int
    stop: int


def members(text: str, start: int = 0) -> Iterator[Entry]:
    """Yield the members of the object that begins there, one after the other, so that none has to be held.

    Raises:
        ValueError: It is no object, or no valid JSON.
    """
    place = _opened(text, start, "{")
    while text[place] != "}":
        name, value_at = _name(text, place)
        value, stop = _decode(text, value_at)
        yield Entry(name, value, value_at, stop)
        place = _next(text, stop, "}")


def entries(text: str, start: int) -> Iterator[Entry]:
    """Yield the entries of the list that begins there.

    Raises:
        ValueError: It is no list, or no valid JSON.
    """
    place = _opened(text, start, "[")
    while text[place] != "]":
        value, stop = _decode(text, place)
        yield Entry("", value, place, stop)
        place = _next(text, stop, "]")


def value_of(text: str, name: str) -> int | None:
    """Return where the value of a member of the object begins; None where there is none. No value is held.

    Raises:
        ValueError: What stands before it is no valid JSON.
    """
    place = _opened(text, 0, "{")
    while text[place] != "}":
        found, place = _name(text, place)
        if found == name:
            return place
        _, stop = _decode(text, place)
        place = _next(text, stop, "}")
    return None


def rest_of(text: str, stop: int) -> dict[str, Any]:
    """Read the members of the object that follow the value that ends there, to the very end of the text.

    Raises:
        ValueError: It is no valid JSON.
    """
    found: dict[str, Any] = {}
    place = _next(text, stop, "}")
    while text[place] != "}":
        name, place = _name(text, place)
        found[name], stop = _decode(text, place)
        place = _next(text, stop, "}")
    if _after(_BLANKS, text, place + 1) != len(text):
        raise ValueError("something follows after the end of the object")
    return found


def end_of(text: str, place: int) -> int:
    """Return the place behind the bracket that closes a list behind its last entry, which ends at `place`."""
    return _after(_BLANKS, text, place) + 1


def _opened(text: str, start: int, bracket: str) -> int:
    place = _after(_BLANKS, text, start)
    if text[place : place + 1] != bracket:
        raise ValueError(f"{bracket} is expected at character {place}")
    return _there(text, place + 1)


def _name(text: str, place: int) -> tuple[str, int]:
    """Read the name of a member; return it, and where its value begins."""
    name, stop = _decode(text, place)
    colon = _there(text, stop)
    if not isinstance(name, str) or text[colon] != ":":
        raise ValueError(f"no member begins at character {place}")
    return name, _there(text, colon + 1)


def _next(text: str, stop: int, closing: str) -> int:
    """Return where the next entry begins behind the one that ends there, or the closing bracket."""
    place = _there(text, stop)
    if text[place] == closing:
        return place
    if text[place] != ",":
        raise ValueError(f", or {closing} is expected at character {place}")
    place = _there(text, place + 1)
    if text[place] == closing:
        raise ValueError(f"another entry is expected at character {place}")
    return place


def _there(text: str, place: int) -> int:
    found = _after(_BLANKS, text, place)
    if found >= len(text):
        raise ValueError("the text ends too early")
    return found


def _after(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place


class Bytes:
    """Counts bytes in a text: the places of a text in UTF-8 that belong to its characters, asked for in order."""

    def __init__(self, text: str) -> None:
        self._text = None if text.isascii() else text
        self._at = self._bytes = 0

    def before(self, place: int) -> int:
        """Return how many bytes stand before a character; `place` must not be smaller than the one before."""
        if self._text is None:
            return place
        self._bytes += len(self._text[self._at : place].encode())
        self._at = place
        return self._bytes
