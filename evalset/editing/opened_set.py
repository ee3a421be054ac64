"""Opens an eval set to look at and to edit: its bytes, where each case stands in them, and a row for each; no ADK model is built."""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import from_json

from evalset.editing.case_parts import Case, field, listed, text_of, turns_of
from evalset.editing.case_texts import WHOLE_CASE, SaidStep, found_step, said_steps
from evalset.errors import EvalSetError
from evalset.files.case_text import convert_old_form, set_json
from evalset.files.json_streams import JsonStream, Span
from evalset.files.set_outline import CASES, SET_ID, Identity, Layout, identity_of, outline_of
from simulator.base.documents import open_file
from simulator.base.json_text import collecting_seldom, plain_parts

_ATTEMPTS = 5
_HALF = rb"\ud"
"""How the escape of a surrogate begins, alone or in a pair."""


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

    def says(
        self, key: str, words: Iterable[str], edited: Case | None = None, beside: bytes = b""
    ) -> SaidStep | None:
        """Return where words, in small letters, stand in a case: in its row, its messages, calls or responses; None where one of them does not.

        Args:
            key: The case.
            words: The words.
            edited: The case as it is now; None where it is as in the file.
            beside: What is recorded of it, as JSON.
        """
        row = self.rows[self.places[key]] if edited is None else row_of(key, edited)
        left = [word for word in words if not row.holds([word])]
        if not left:
            return WHOLE_CASE
        if edited is None:  # what does not stand in the files' text needs no reading
            text = (self.raw(key) + beside).lower()
            if not all(part.encode() in text for word in left for part in plain_parts(word)):
                return None
        return found_step([*said_steps(edited or self.case(key), json.loads(beside or b"{}"))], left)

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
            with open_file(path) as file:
                before = identity_of(os.fstat(file.fileno()))
                text = file.read()
                if identity_of(os.fstat(file.fileno())) == before:
                    return text, before
    except OSError as error:
        raise EvalSetError(path, f"cannot be opened: {error.strerror or error}") from error
    raise EvalSetError(path, "keeps changing because another program is writing it. Try again later")


def _converted(path: Path, text: bytes) -> bytes | None:
    if text.lstrip()[:1] not in {b"[", b"{"}:
        return None
    with collecting_seldom():
        converted = convert_old_form(path, text)
        try:
            return None if converted is None else set_json(converted).encode()
        except ValueError as error:  # NaN, or half of a surrogate pair
            raise EvalSetError(path, f"a case cannot be written in ADK's present form: {error}") from error


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
    if text.startswith(codecs.BOM_UTF8):
        raise ValueError("ADK does not load a file with a byte order mark")
    stream = JsonStream(BytesIO(text), constants=True)
    found: list[tuple[tuple[CaseRow, ...], Sequence[Span]]] = []
    has_id = False
    for name in stream.members():
        if name == CASES:
            found.append(_listed_cases(stream))
        elif name == SET_ID:
            has_id = isinstance(stream.hollow(), str)
        else:
            stream.skip()
    stream.end()
    if not has_id or len(found) != 1:
        raise ValueError(f"expected one {SET_ID} and exactly one list of {CASES}")
    return found[0]


def _listed_cases(stream: JsonStream) -> tuple[tuple[CaseRow, ...], Sequence[Span]]:
    rows: list[CaseRow] = []
    spans: list[Span] = []
    taken: set[str] = set()
    for _ in stream.entries():
        stream.peek()
        start, case = stream.place, stream.value()
        if not isinstance(case, dict) or not isinstance(field(case, "eval_id"), str):
            raise ValueError("an entry is not a case")  # noqa: TRY004 - as all that makes it no eval set
        row = row_of("", case)
        key = row.eval_id if row.eval_id not in taken else unlike(row.eval_id, taken)
        taken.add(key)
        rows.append(row._replace(key=key))
        spans.append(Span(start, stream.place))
    return tuple(rows), spans


def _without_cases(opened: OpenedSet) -> dict[str, Any]:
    """Read what stands before the first case and behind the last."""
    first, last = opened.spans[0].start, opened.spans[-1].stop
    found: dict[str, Any] = from_json(opened.text[:first] + b"null" + opened.text[last:])
    return found


# Says of each case what a table shows, and what it is searched and filtered by. Pure.


_SHOWN = 160
_TURN = "\n"
_TRANSFER = "transfer_to_agent"


class CaseRow(NamedTuple):
    """One case of a set.

    Attributes:
        key: What the case is called while the set is open: its eval id when it was opened, made different from others.
        eval_id: Its eval id.
        query: How the first query begins; of a scenario, how its starting prompt does.
        turns: How many turns it has; 0 for a scenario.
        tools: The tools that are called, each once.
        agents: Who speaks or calls, or gets the conversation, where the case says so, and its app.
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
        _take_call(call, tools, agents)
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
                _take_call(call, tools, agents)


def _take_call(call: Any, tools: dict[str, None], agents: dict[str, None]) -> None:
    tools[str(field(call, "name", ""))] = None
    to = field(field(call, "args"), "agent_name")
    if field(call, "name") == _TRANSFER and isinstance(to, str) and to:
        agents[to] = None


def unlike(key: str, taken: Iterable[str]) -> str:
    """Return a key that no other case has: no eval id that can be used holds a line break."""
    used, number, free = set(taken), 1, key
    while free in used:
        number += 1
        free = f"{key}{_TURN}{number}"
    return free
