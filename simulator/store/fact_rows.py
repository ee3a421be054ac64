"""Turns facts into rows and rows into the tree of a journal, and finds which rows are broken."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, select

from simulator.base.json_text import JsonTextError, read_json
from simulator.base.validation_words import first_of, validated
from simulator.facts import Fact
from simulator.journal import ROOT, Folds
from simulator.session import SessionFold
from simulator.store.database_tables import FACTS, SESSIONS, Place
from simulator.store.errors import BrokenJournalError, UnknownSessionError
from simulator.store.session_records import is_id

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
