"""What stands in rows: the facts of a session, as the tree of a journal with what is broken of it, and what the library knows of the session."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, select

from simulator.base.frozen_value import Value
from simulator.base.json_text import JsonTextError, read_json
from simulator.base.validation_words import first_of, validated
from simulator.facts import Fact
from simulator.journal import ROOT, Folds
from simulator.session import SessionFold
from simulator.store.database import FACTS, SESSIONS, Place
from simulator.store.errors import BrokenJournalError, StoreError, UnknownSessionError

LONGEST_ID = 200
_EMPTY: dict[str, Any] = {
    "tags": (),
    "turns": 0,
    "created_at": 0.0,
    "changed_at": 0.0,
    "archived": False,
    "deleted_at": None,
    "shared_token": None,
    "head": -1,
    "length": 0,
}
"""What stands for a field of a row that is damaged; the others are texts."""
_LOG = logging.getLogger(__name__)


class SessionRecord(Value):
    """A session as the library lists it. Times are seconds since the epoch.

    Attributes:
        session_id: Its id.
        owner: Who may see and change it.
        app_name: ADK's name for the agent's app.
        agent_name: The agent's own name.
        agent_key: The name under which the catalogue finds the agent.
        agent_digest: A fingerprint of its tools and code when the session began; empty where nobody took one.
        name: What a person calls the session; empty at first.
        query: What the user asked first; empty before.
        tags: A person's words for it, each once.
        notes: A person's text about it.
        status: The value of its `SessionState`.
        turns: How many turns have started.
        created_at: When it was taken in.
        changed_at: When something was last appended, or its head moved.
        archived: It is out of the way.
        deleted_at: When it was deleted; it can be restored until it is purged.
        shared_token: Anyone who knows it may read the session; None where it is not shared.
        head: The number of its head's fact, -1 at the start.
        length: How many facts it has.
    """

    session_id: str
    owner: str
    app_name: str
    agent_name: str
    agent_key: str
    agent_digest: str = ""
    name: str = ""
    query: str = ""
    tags: tuple[str, ...] = ()
    notes: str = ""
    status: str
    turns: int
    created_at: float
    changed_at: float
    archived: bool = False
    deleted_at: float | None = None
    shared_token: str | None = None
    head: int
    length: int


def plain(text: str) -> str:
    """Return a text for people without what no database takes: NUL, and halves of surrogate pairs."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def is_id(text: str) -> bool:
    """Whether a text can be an id: it stands in an address and in any database."""
    return 0 < len(text) <= LONGEST_ID and text.isprintable()


def words(row: Mapping[str, Any]) -> str:
    """Return what a search looks in."""
    record = record_of_row(row)
    return "\n".join(
        (record.name, record.query, " ".join(record.tags), record.notes, record.agent_name)
    ).casefold()


def row_of_record(record: SessionRecord) -> dict[str, Any]:
    """Return the row of a session.

    Raises:
        StoreError: Its id or its owner is none that can stand in an address or a database.
    """
    for what, text in (("session", record.session_id), ("owner", record.owner)):
        if not is_id(text):
            raise StoreError(
                f"{text[:LONGEST_ID]!r} is not a valid {what} id: use 1 to {LONGEST_ID} printable characters"
            )
    row: dict[str, Any] = {
        name: plain(value) if isinstance(value, str) else value for name, value in record.model_dump().items()
    }
    row["tags"] = json.dumps([plain(tag) for tag in record.tags], ensure_ascii=False)
    return {**row, "words": words(row)}


def record_of_row(row: Mapping[str, Any]) -> SessionRecord:
    """Return what a row says. A field that is damaged is as if it were empty, and logged: the session and all others can be reached."""
    fields = {name: value for name, value in row.items() if name != "words"}
    with suppress(TypeError, ValueError):  # else it is no list of texts, as is said below
        fields["tags"] = tuple(json.loads(fields["tags"]))
    try:
        return SessionRecord.model_validate(fields)
    except ValidationError as error:
        damaged = sorted({str(each["loc"][0]) for each in error.errors()})
    _LOG.warning(
        "Session %r: these fields of its row are damaged: %s", fields["session_id"], ", ".join(damaged)
    )
    return SessionRecord.model_validate({**fields, **{name: _EMPTY.get(name, "") for name in damaged}})


_FACT: TypeAdapter[Fact] = TypeAdapter(Fact)
_FACT_TYPE: Any = Fact


def written(fact: Fact) -> str:
    """Write a fact as JSON, in a text that any database takes."""
    data = _FACT.dump_python(fact, mode="json")
    text = json.dumps(data, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which a model may write
        return json.dumps(data)
    return text


def read(text: str) -> Fact:
    """Read what `written` wrote.

    Raises:
        ValueError: It is no fact; the error says what is wrong in a few words.
    """
    if not isinstance(text, str):  # a file that was damaged may hold anything
        raise ValueError("not a text")  # noqa: TRY004 - as of all that is no fact
    try:
        return cast("Fact", validated(_FACT_TYPE, read_json(text, constants=True)))
    except ValidationError as error:
        first = first_of(error)
        place = ".".join(str(step) for step in first["loc"])
        raise ValueError(f"{place}: {first['msg']}" if place else first["msg"]) from error
    except JsonTextError as error:
        raise ValueError(f"not JSON: {error}") from error


class FactRow(NamedTuple):
    """A fact as it is stored."""

    number: int
    parent: int
    body: str


def fact_rows(connection: Connection, session_id: str, first: int = 0) -> list[FactRow]:
    """Return the rows of a session from a number on, in their order; a parent that is damaged comes before no fact."""
    found = connection.execute(
        select(FACTS.c.number, FACTS.c.parent, FACTS.c.body)
        .where(FACTS.c.session_id == session_id, FACTS.c.number >= first)
        .order_by(FACTS.c.number)
    )
    return [
        FactRow(number, parent if isinstance(parent, int) else number, body)
        for number, parent, body in found
        if isinstance(number, int)
    ]


def place_of(connection: Connection, session_id: str) -> Place:
    """Return where a session is.

    Raises:
        UnknownSessionError: There is none with this id.
    """
    query = select(SESSIONS.c.head, SESSIONS.c.length).where(SESSIONS.c.session_id == session_id)
    found = connection.execute(query).first() if is_id(session_id) else None
    if found is None:
        raise UnknownSessionError(f"the store has no session {session_id!r}")
    head, length = found
    length = length if isinstance(length, int) else 0
    return Place(head if isinstance(head, int) else length, length)  # where no fact is


def row_of(session_id: str, number: int, parent: int, fact: Fact) -> dict[str, object]:
    """Return the row of a fact."""
    return {
        "session_id": session_id,
        "number": number,
        "parent": parent,
        "kind": fact.kind,
        "at": fact.at,
        "body": written(fact),
    }


@dataclass(frozen=True)
class FactTree:
    """The facts of a journal, each with its parent. `stored` are the numbers of its facts in the store, where what is broken has one too."""

    facts: list[Fact]
    parents: list[int]
    stored: list[int]
    head: int
    fold: SessionFold
    damage: BrokenJournalError | None = None


def tree_of(session_id: str, rows: Sequence[FactRow], head: int, length: int) -> FactTree:
    """Read the tree of a session; what is broken is left out with all that follows it, and `damage` names the first.

    The head is then the last fact on its way that is whole.
    """
    facts, broken = _facts(rows)
    present = {row.number for row in rows}
    broken |= {number: "it is missing" for number in range(length) if number not in present}
    if head != ROOT and head not in present:
        broken.setdefault(head, "it is missing, but the session's head is there")
    while True:
        kept = _whole(rows, broken)
        tree, illegal = _folded(kept, facts, _whole_head(rows, kept, head))
        if tree:
            break
        broken |= illegal
    if not broken:
        return tree
    first = min(broken)
    damage = BrokenJournalError(session_id, first, broken[first])
    return FactTree(tree.facts, tree.parents, tree.stored, tree.head, tree.fold, damage)


def _facts(rows: Sequence[FactRow]) -> tuple[dict[int, Fact], dict[int, str]]:
    facts: dict[int, Fact] = {}
    broken: dict[int, str] = {}
    for row in rows:
        if not ROOT <= row.parent < row.number:
            broken[row.number] = f"its parent, fact {row.parent}, does not come before it"
            continue
        try:
            facts[row.number] = read(row.body)
        except ValueError as error:
            broken[row.number] = str(error)
    return facts, broken


def _whole(rows: Sequence[FactRow], broken: Mapping[int, str]) -> dict[int, FactRow]:
    kept: dict[int, FactRow] = {}
    for row in rows:
        if row.number not in broken and (row.parent == ROOT or row.parent in kept):
            kept[row.number] = row
    return kept


def _whole_head(rows: Sequence[FactRow], kept: Mapping[int, FactRow], head: int) -> int:
    parents = {row.number: row.parent for row in rows}
    while head != ROOT and head not in kept:
        parent = parents.get(head, head)
        # Where a row does not say what it follows, the fact before it is the best guess.
        head = (
            parent
            if ROOT <= parent < head
            else max((number for number in kept if number < head), default=ROOT)
        )
    return head


def _folded(
    kept: Mapping[int, FactRow], facts: Mapping[int, Fact], head: int
) -> tuple[FactTree | None, dict[int, str]]:
    """Return the tree, or what is wrong with facts that cannot follow."""
    here = {ROOT: ROOT} | {number: place for place, number in enumerate(kept)}
    parents = [here[row.parent] for row in kept.values()]
    ordered = [facts[number] for number in kept]
    folds = Folds(parents, here[head])
    illegal: dict[int, str] = {}
    lost: set[int] = set()
    for place, (number, fact) in enumerate(zip(kept, ordered, strict=True)):
        if parents[place] in lost:
            lost.add(place)
            continue
        try:
            folds.take(place, fact, parents[place])
        except ValueError as error:
            illegal[number] = str(error)
            lost.add(place)
    if illegal:
        return None, illegal
    return FactTree(ordered, parents, list(kept), here[head], folds.give(here[head])), {}
