"""Tells which invariants an answer would break, and which earlier turn it would contradict."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

from simulator.base.frozen_value import FiniteValue
from simulator.base.json_values import JsonObject
from simulator.base.work_limit import WorkLimit
from simulator.environment.conventions import (
    EarlierAnswer,
    collection_of,
    id_kind,
    id_of,
    is_collection,
    is_own_key,
    kind_named,
)
from simulator.environment.expressions.expression_values import CompiledExpression, ExpressionError
from simulator.environment.expressions.expressions import compiled
from simulator.environment.world.contradictions import broken_off
from simulator.environment.world.entities import Contradiction, EntityChange, Origin
from simulator.environment.world.world import World

__all__ = [
    "Contradiction",
    "InvariantError",
    "InvariantStatus",
    "check_invariant",
    "contradictions",
    "standing",
]

Collections = Mapping[str, Mapping[str, JsonObject]]

_MEMBER = re.compile(r"(?<![\w.'\"])(?!(?:not|and|or|if|else)\b)([A-Za-z_][\w.]*)\s+(?:not\s+)?in\s")
_SHOWN = 60
_MOST_TOLD = 20
_MOST_SECONDS = 0.5
"""What judging one invariant may take, for all things together."""


class InvariantError(ValueError):
    """A line is no invariant; the text says which and what is wrong with it."""


class InvariantStatus(FiniteValue):
    """The status of an invariant: for how many things it holds, what breaks it, and why it could not be judged elsewhere."""

    invariant: str
    holds: int
    broken: tuple[Contradiction, ...] = ()
    unjudged: int = 0
    why: str = ""


def check_invariant(text: str) -> None:
    """Check that a line is an invariant that can be judged: an expression in one line that says something of the world.

    Raises:
        InvariantError: It is not; the text says what is wrong, and what to write instead.
    """
    _check_readable(text)
    if reason := misused(compiled(text)):
        raise InvariantError(f"invariant {_short(text)}: {reason}")


def _check_readable(text: str) -> None:
    """Check what each line has to be that is judged, however long ago it was written."""
    try:
        expression = compiled(text)
    except ExpressionError as error:
        raise InvariantError(f"invariant {_short(text)}: {error.reason}") from error
    if "\n" in text.strip():
        raise InvariantError(
            f"invariant {_short(text)}: it has several lines; enter each line as a separate invariant"
        )
    if not expression.names and not expression.unread:
        raise InvariantError(
            f"invariant {_short(text)}: it does not refer to the world; use an entity kind or a field"
        )


def contradictions(
    world: World,
    changes: Sequence[EntityChange],
    invariants: Sequence[str],
    *,
    call: EarlierAnswer | None = None,
) -> tuple[Contradiction, ...]:
    """Return what some changes, those of a preview, would contradict; at most 20 for each invariant.

    Only what the changes break is told, not what was broken before and is not touched. What cannot be judged, as a
    field is absent or null, is no contradiction. With `call`, the answer of that call is also held against what
    earlier calls said, again at most 20: see `broken_off`.

    Raises:
        InvariantError: A line is no invariant.
    """
    found: list[Contradiction] = []
    if changes:
        before, after = world.collections(), world.after(changes)
        for text in invariants:
            _check_readable(text)
            found.extend(_broken(_Judge(text, world, before), _Judge(text, world, after), changes))
    if call is not None:
        found.extend(islice(broken_off(world, changes, call), _MOST_TOLD))
    return tuple(found)


def standing(world: World, invariants: Sequence[str]) -> tuple[InvariantStatus, ...]:
    """Return how each invariant stands in the world as it is.

    Raises:
        InvariantError: A line is no invariant.
    """
    found = []
    for text in invariants:
        _check_readable(text)
        judge = _Judge(text, world, world.collections())
        verdicts = [(case, *judge.verdict(case)) for case in judge.cases()]
        broken = [judge.contradiction(case, {}) for case, holds, _ in verdicts if holds is False]
        reasons = [why for _, holds, why in verdicts if holds is None]
        holds = sum(holds is True for _, holds, _ in verdicts)
        found.append(
            InvariantStatus(
                invariant=text,
                holds=holds,
                broken=tuple(broken[:_MOST_TOLD]),
                unjudged=len(reasons),
                why=reasons[0] if reasons else "" if verdicts else "no entity of this kind is known yet",
            )
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Case:
    """What an invariant is judged for: one thing, or (with no kind) the world as a whole."""

    kind: str
    id: str
    variables: Mapping[str, object]


class _Things(Mapping[str, JsonObject]):
    """A collection as expressions see it: `in` asks for ids, written as text or number, and for other keys."""

    def __init__(self, kind: str, things: Mapping[str, JsonObject]) -> None:
        self._kind = kind
        self._things = things

    def __getitem__(self, key: object) -> JsonObject:
        found = self._found(key)
        if found is None:
            raise KeyError(key)
        return self._things[found]

    def __contains__(self, key: object) -> bool:
        if isinstance(key, list):
            return all(self._found(one) is not None for one in key)
        return self._found(key) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)

    def _found(self, key: object) -> str | None:
        wanted = id_of(key)
        if wanted is None or wanted in self._things:
            return wanted
        return self._by_own_key.get(key)

    @cached_property
    def _by_own_key(self) -> dict[object, str]:
        """The things by what stands in their other keys, the first where several have the same."""
        found: dict[object, str] = {}
        for own, record in self._things.items():
            for name, value in record.items():
                if isinstance(value, Hashable) and is_own_key(name, self._kind):
                    found.setdefault(value, own)
        return found


class _Judge:
    """Judges one invariant in one state of the world."""

    def __init__(self, text: str, world: World, collections: Collections) -> None:
        self.text = text
        self.expression = compiled(text)
        self._limit = WorkLimit(_MOST_SECONDS)
        self._world = world
        self._collections = collections
        self._kinds = {collection_of(kind): kind for kind in world.kinds()}
        kinds = {self._kind(name) for name in collections}
        names = sorted(self.expression.names)
        self.collections = {
            name: _Things(self._kind(name), collections.get(name, {}))
            for name in names
            if name in collections or (name not in kinds and is_collection(name) and not self._is_field(name))
        }
        self.kinds = [name for name in names if name in kinds and name not in self.collections]
        self.fields = [name for name in names if name not in self.collections and name not in self.kinds]

    def _kind(self, collection: str) -> str:
        return self._kinds.get(collection) or kind_named(collection)

    def _is_field(self, name: str) -> bool:
        return any(name in record for things in self._collections.values() for record in things.values())

    def cases(self) -> Iterator[_Case]:
        """Yield what the invariant is about: each thing of its kind, each thing that has its fields, or the world."""
        if not self.kinds and not self.fields:
            yield _Case("", "", self.collections)
            return
        for name, things in self._collections.items():
            kind = self._kind(name)
            if not self.kinds or kind in self.kinds:
                for key in things:
                    case = self.case(kind, key)
                    if case is not None:
                        yield case

    def case(self, kind: str, key: str) -> _Case | None:
        """Return the invariant's case for one thing; None where it does not speak of it."""
        record = self._collections.get(collection_of(kind), {}).get(key)
        if record is None or (self.kinds and kind not in self.kinds):
            return None
        if any(name not in record for name in self.fields):
            return None
        variables: dict[str, object] = {**self.collections, **{name: record[name] for name in self.fields}}
        for other in self.kinds:
            thing = record if other == kind else self._referred(record, other)
            if thing is None:
                return None
            variables[other] = thing
        return _Case(kind, key, variables)

    def sees_the_same(self, case: _Case) -> bool:
        """Return whether a case is made of the very same things here; a thing that changes is another object."""
        own = self.case(case.kind, case.id)
        return own is not None and all(own.variables[name] is case.variables[name] for name in self.kinds)

    def _referred(self, record: JsonObject, kind: str) -> JsonObject | None:
        """Return the thing of another kind that a thing refers to: the customer of an order."""
        for name, value in record.items():
            if id_kind(name) == kind:
                key = id_of(value)
                return self._collections.get(collection_of(kind), {}).get(key) if key else None
        return None

    def verdict(self, case: _Case) -> tuple[bool | None, str]:
        """Return whether the invariant holds; None where that can't be told, with the reason."""
        try:
            with self._limit:
                holds = bool(self.expression.value(case.variables))
        except ExpressionError as error:
            return None, error.reason
        if not holds and any(_at(path, case.variables) is None for path in _members(self.text)):
            return None, "the field is null"
        return holds, ""

    def contradiction(self, case: _Case, changed: Mapping[tuple[str, str], EntityChange]) -> Contradiction:
        """Say how a case breaks the invariant, and where the other side of it was set."""
        earlier = self._earlier(case, changed)
        values = [
            f"{path} is {_short(_at(path, case.variables))}"
            for path in self.expression.paths
            if path.split(".")[0].split("[")[0] not in self.collections
        ]
        sizes = [
            f"there are {len(things)} {name}" for name, things in self.collections.items() if not case.kind
        ]
        name = f"{case.kind} {case.id!r}" if case.kind else "the world"
        facts = ", ".join((*values, *sizes))
        where = f" (conflicts with {earlier.words()})" if earlier else ""
        what = (
            f"{name} breaks {self.text!r}: {facts}{where}."
            if facts
            else f"{name} breaks {self.text!r}{where}."
        )
        return Contradiction(invariant=self.text, kind=case.kind, id=case.id, what=what, earlier=earlier)

    def read_fields(self, kind: str) -> set[str]:
        """Return the fields of a thing of one kind that the invariant reads."""
        roots = (path.split(".", maxsplit=1) for path in self.expression.paths)
        inside = {rest[0].split(".")[0].split("[")[0] for root, *rest in roots if root == kind and rest}
        return inside | set(self.fields)

    def _earlier(self, case: _Case, changed: Mapping[tuple[str, str], EntityChange]) -> Origin | None:
        entity = self._world.entity(case.kind, case.id) if case.kind else None
        new = changed.get((case.kind, case.id))
        fields = self.read_fields(case.kind)
        origins = (
            {}
            if entity is None
            else {name: entity.origins[name] for name in fields if name in entity.origins}
        )
        untouched = [where for name, where in origins.items() if new is None or name not in new.fields]
        missing = self._gone(case)
        ways = ([missing] if missing else [], untouched, list(origins.values()))
        return next((max(way, key=lambda one: one.fact) for way in ways if way), None)

    def _gone(self, case: _Case) -> Origin | None:
        """Return where a thing was taken away that the case refers to and that its collection no longer holds."""
        for path in _members(self.text):
            key = id_of(_at(path, case.variables))
            for name in self.collections:
                entity = self._world.entity(self._kind(name), key) if key else None
                if entity is not None and entity.gone:
                    return entity.last
        return None


def _broken(before: _Judge, after: _Judge, changes: Sequence[EntityChange]) -> list[Contradiction]:
    """Return what some changes break: things that they touch, and others of which they change the surroundings."""
    changed = {(change.kind, change.id): change for change in changes}
    kinds = {kind for kind, _ in changed}
    cases: Iterable[_Case]
    if len(after.kinds) > 1 or any(collection_of(kind) in after.collections for kind in kinds):
        cases = (case for case in after.cases() if after.collections or not before.sees_the_same(case))
    else:
        cases = _touched(after, changed) if after.kinds or after.fields else after.cases()
    found: list[Contradiction] = []
    for case in cases:
        if after.verdict(case)[0] is not False:
            continue
        change = changed.get((case.kind, case.id))
        says = change is not None and not after.read_fields(case.kind).isdisjoint(change.fields)
        if says or _held(before, case) or (not case.kind and _adds(before, changes, after)):
            found.append(after.contradiction(case, changed))
            if len(found) == _MOST_TOLD:
                break
    return found


def _touched(judge: _Judge, changed: Mapping[tuple[str, str], EntityChange]) -> Iterator[_Case]:
    for kind, key in changed:
        case = judge.case(kind, key)
        if case is not None:
            yield case


def _held(before: _Judge, case: _Case) -> bool:
    """Return whether the invariant was not broken for a thing, or for the world, before."""
    if not case.kind:
        return before.verdict(_Case("", "", before.collections))[0] is not False
    earlier = before.case(case.kind, case.id)
    return earlier is None or before.verdict(earlier)[0] is not False


def _adds(before: _Judge, changes: Sequence[EntityChange], after: _Judge) -> bool:
    """Return whether changes add things to a collection of which the invariant speaks."""
    return any(
        change.op != "delete"
        and name in after.collections
        and change.id not in before.collections.get(name, {})
        for change in changes
        for name in (collection_of(change.kind),)
    )


@lru_cache(maxsize=512)
def _members(text: str) -> tuple[str, ...]:
    """Return the paths of which an invariant asks whether they are in something; a null there breaks nothing."""
    return tuple(dict.fromkeys(_MEMBER.findall(text)))


def _at(path: str, variables: Mapping[str, object]) -> Any:
    value: Any = variables
    for step in re.findall(r"[^.\[\]\"]+", path):
        if isinstance(value, list) and step.lstrip("-").isdigit():
            place = int(step)
            value = value[place] if -len(value) <= place < len(value) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


_METHODS = frozenset({"get", "items", "keys", "values"})
_COUNTING = frozenset({"count", "length", "size", "number"})
_SUMMING = frozenset({"average", "avg", "mean", "total"})
_PARTS = 2


def misused(expression: CompiledExpression) -> str:
    """Return why an invariant could not be judged, and how it is written; empty where nothing is wrong.

    A function that there is not, and all things of a kind taken for one of them (`orders.quantity`), have no value.
    """
    for name, path in expression.called.items():
        return f"unknown function {name!r}; {_instead(name, path)}"
    for path in expression.paths:
        root, *fields = path.split(".")
        if len(fields) == _PARTS - 1 and is_collection(root) and fields[0] not in _METHODS:
            kind, field = kind_named(root), fields[0]
            return (
                f"{root!r} is the collection of all entities of kind {kind}, and has no field {field!r}. "
                f"Write {kind}.{field} for each entity, or {root}.values() | sum(attribute='{field}') for the sum. "
                f"If {root!r} is a field of an entity, put the entity kind before it: customer.{path}"
            )
    return ""


def _instead(name: str, path: str) -> str:
    root, _, field = path.partition(".")
    things = root if is_collection(root) else "orders"
    if name.lower() in _COUNTING:
        return f"write {things} | length"
    if name.lower() in _SUMMING:
        return f"write {things}.values() | sum(attribute='{field or 'total'}')"
    return "the functions are len, sum, min, max, abs, round, any, all, sorted, int, float, str, bool, list and range"
