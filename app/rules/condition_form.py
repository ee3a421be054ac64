"""Turns the conditions of a rule into the inputs of its editor, and back.

Each condition and each group of them is a node with a number; the inputs of node 4 are called `c4.kind`, `c4.path` and
so on, and the rows of a group `c4:rows`. The root, node 0, is a group.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, assert_never

from pydantic import JsonValue, TypeAdapter, ValidationError

from app.forms.typed_fields import Fields, UnreadableInputError, complaints
from app.forms.typed_json import TypedJsonError, parse_json, write_json
from simulator.environment.injection.conditions import (
    AgentIs,
    AllOf,
    AnyOf,
    ArgumentIs,
    CallNumber,
    Condition,
    Expression,
    Not,
    Test,
    WorldIs,
)

MAX_LEVELS = 2
"""How many groups may stand in each other inside of the root; what is deeper is written as JSON."""

GROUPS = {"all_of": "All of these", "any_of": "Any of these"}
KINDS = {
    "argument": "Argument",
    "call_number": "Call number",
    "world": "World state",
    "agent": "Calling agent",
    "expression": "Expression",
    **GROUPS,
    "json": "Condition as JSON",
}
TESTS = {
    "equals": "is",
    "holds": "contains",
    "matches": "matches",
    "between": "is between",
    "one_of": "is one of",
    "present": "is present",
    "absent": "is missing",
}
TYPES = {"text": "text", "number": "number", "boolean": "boolean", "json": "JSON"}
WHICH = {
    "nth": "only number",
    "first": "the first",
    "every": "every nth",
    "after": "after number",
}
COUNTED = {
    "rule": "calls that match the rest of the rule",
    "tool": "calls of this tool",
    "session": "all tool calls of the session",
}

DEFAULTS: Mapping[str, JsonValue] = {
    "c.kind": "argument",
    "c.not": False,
    "c.test": "equals",
    "c.as": "text",
    "c.path": "",
    "c.value": "",
    "c.values": "",
    "c.pattern": "",
    "c.which": "nth",
    "c.n": 1,
    "c.counted": "rule",
    "c.id": "from",
    "c.json": "{}",
}
_INPUTS = {
    "path": "path",
    "pattern": "pattern",
    "low": "low",
    "high": "high",
    "values": "values",
    "value": "value",
    "n": "n",
    "entity": "entity",
    "entity_id": "entity_id",
    "id_from": "id_from",
    "field": "field",
    "text": "text",
    "agent": "agent",
    "branch": "branch",
}
_CONDITION: TypeAdapter[Condition] = TypeAdapter(Condition)
_TEST: TypeAdapter[Test] = TypeAdapter(Test)
Seeds: TypeAlias = dict[str, JsonValue]


# ---------------------------------------------------------------- a condition becomes inputs


def seed_condition(when: Condition | None) -> Seeds:
    """Return what the inputs hold at first."""
    seeds: Seeds = {"c0.kind": "all_of"}
    number = iter(range(1, 1_000_000))
    if isinstance(when, (AllOf, AnyOf)):
        _group(seeds, 0, when, number, 0)
    else:
        rows: list[JsonValue] = []
        if when is not None:
            rows = [place := next(number)]
            _node(seeds, place, when, number, 1)
        seeds["c0:rows"] = rows
    seeds["c:next"] = next(number)
    return seeds


def _group(seeds: Seeds, node: int, group: AllOf | AnyOf, number: Any, level: int) -> None:
    seeds[f"c{node}.kind"] = group.kind
    rows = [next(number) for _ in group.conditions]
    seeds[f"c{node}:rows"] = [*rows]
    for row, inner in zip(rows, group.conditions, strict=True):
        _node(seeds, row, inner, number, level + 1)


def _node(seeds: Seeds, node: int, condition: Condition, number: Any, level: int) -> None:
    """Write one condition; `level` counts the groups that it stands in."""
    at = f"c{node}."
    if isinstance(condition, Not) and not isinstance(condition.condition, Not):
        seeds[f"{at}not"] = True
        condition = condition.condition
    match condition:
        case AllOf() | AnyOf() if level <= MAX_LEVELS:
            _group(seeds, node, condition, number, level)
        case ArgumentIs() | WorldIs():
            seeds[f"{at}kind"] = condition.kind
            _plain(seeds, at, condition)
            if isinstance(condition, WorldIs):
                seeds[f"{at}id"] = "from" if condition.id_from else "fixed"
            _test(seeds, at, condition.test)
        case CallNumber() | AgentIs() | Expression():
            seeds[f"{at}kind"] = condition.kind
            _plain(seeds, at, condition)
        case AllOf() | AnyOf() | Not():
            seeds[f"{at}kind"] = "json"
            seeds[f"{at}json"] = write_json(condition.model_dump(mode="json"))
        case never:
            assert_never(never)


def _plain(
    seeds: Seeds, at: str, condition: ArgumentIs | WorldIs | CallNumber | AgentIs | Expression
) -> None:
    for name, value in condition.model_dump(mode="json", exclude={"kind", "test"}).items():
        seeds[at + name] = value


def _test(seeds: Seeds, at: str, test: Test) -> None:
    seeds[f"{at}test"] = test.test
    for name, value in test.model_dump(mode="json", exclude={"test"}).items():
        if name == "value":
            kind = "json" if test.test == "holds" else type_of(value)
            seeds[f"{at}as"] = kind
            seeds[f"{at}value"] = as_typed(value, kind)
        elif name == "values":
            kinds = {type_of(each) for each in value}
            kind = kinds.pop() if len(kinds) == 1 else "json"
            seeds[f"{at}as"] = kind
            seeds[f"{at}values"] = "\n".join(as_typed(each, kind, line=True) for each in value)
        else:
            seeds[at + name] = value


def type_of(value: JsonValue) -> str:
    """Say as what a value is typed: `text` where a line holds it, `number`, `boolean` or `json`."""
    if isinstance(value, str):
        is_plain = value == value.strip() and value and value.isprintable()
        return "text" if is_plain else "json"
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, (int, float)) else "json"


def as_typed(value: JsonValue, kind: str, *, line: bool = False) -> str:
    """Write a value as a person types it; `line` keeps JSON in one line."""
    if kind == "text":
        return str(value)
    text = write_json(value)
    return " ".join(text.split("\n")) if line else text


# ---------------------------------------------------------------- inputs become a condition


def read_condition(fields: Fields) -> Condition | None:
    """Read what the inputs ask for; None where they ask for nothing.

    Raises:
        UnreadableError: An input says nothing usable; all such inputs are among the fields' problems.
    """
    rows = fields.rows("c0")
    return _read_group(fields, 0) if rows else None


def _read_group(fields: Fields, node: int) -> Condition:
    rows = fields.rows(f"c{node}")
    if not rows:
        fields.lack(f"c{node}.kind", "This group is empty. Add a condition or remove the group.")
    read: list[Condition] = []
    failed: UnreadableInputError | None = None
    for row in rows:
        try:
            read.append(_read_node(fields, row))
        except UnreadableInputError as error:
            failed = error
    if failed:
        raise failed
    if len(read) == 1 and node == 0:
        return read[0]
    kind = AnyOf if fields.get(f"c{node}.kind") == "any_of" else AllOf
    return kind(conditions=tuple(read))


def _read_node(fields: Fields, node: int) -> Condition:
    condition = _read_plain(fields, node)
    return Not(condition=condition) if fields.flag(f"c{node}.not") else condition


def _read_plain(fields: Fields, node: int) -> Condition:  # noqa: PLR0911 - one way for each kind
    at, kind = f"c{node}", fields.get(f"c{node}.kind")
    try:
        match kind:
            case "all_of" | "any_of":
                return _read_group(fields, node)
            case "argument":
                path = fields.needed(f"{at}.path", "Enter an argument, for example order_id.")
                return ArgumentIs(path=path, test=_read_test(fields, at))
            case "call_number":
                n = fields.whole(f"{at}.n", "Enter a whole number, 1 or more.")
                return CallNumber(which=fields.get(f"{at}.which"), n=n, counted=fields.get(f"{at}.counted"))
            case "world":
                return _read_world(fields, at)
            case "agent":
                agent, branch = fields.line(f"{at}.agent"), fields.line(f"{at}.branch")
                return AgentIs(agent=agent, branch=branch)
            case "expression":
                return Expression(
                    text=fields.needed(f"{at}.text", "Enter an expression that returns true or false.")
                )
            case _:
                return _read_json(fields, at)
    except ValidationError as error:
        inputs = dict(sorted(_INPUTS.items(), key=lambda item: item[0] != _FIRST_INPUT.get(kind, "")))
        return fields.refuse_all(at, error, inputs)


_FIRST_INPUT = {
    "agent": "agent",
    "world": "entity",
    "argument": "path",
    "call_number": "n",
    "expression": "text",
}
"""Where a mistake is shown that is of no one input."""


def _read_world(fields: Fields, at: str) -> WorldIs:
    entity = fields.needed(f"{at}.entity", "Enter an entity kind, for example order.")
    is_from = fields.get(f"{at}.id") == "from"
    name = "id_from" if is_from else "entity_id"
    words = "Enter the argument that contains the id." if is_from else "Enter the id, for example A-1001."
    given = fields.needed(f"{at}.{name}", words)
    return WorldIs(
        entity=entity,
        entity_id="" if is_from else given,
        id_from=given if is_from else "",
        field=fields.line(f"{at}.field"),
        test=_read_test(fields, at),
    )


def _read_test(fields: Fields, at: str) -> Test:
    kind = fields.get(f"{at}.test")
    made: dict[str, Any] = {"test": kind}
    match kind:
        case "equals":
            made["value"] = typed(
                fields, f"{at}.value", fields.written(f"{at}.value"), fields.get(f"{at}.as")
            )
        case "holds":
            made["value"] = fields.json(f"{at}.value")
        case "matches":
            made["pattern"] = fields.written(f"{at}.pattern") or fields.lack(
                f"{at}.pattern", "Enter a regular expression, for example ^A-\\d+$."
            )
            made |= {name: fields.flag(f"{at}.{name}") for name in ("whole", "ignore_case")}
        case "between":
            made |= {name: fields.get(f"{at}.{name}") for name in ("low", "high")}
            made["exclusive"] = fields.flag(f"{at}.exclusive")
            if made["low"] is None and made["high"] is None:
                fields.lack(f"{at}.low", "Enter a minimum, a maximum or both.")
        case "one_of":
            lines = [line.strip() for line in fields.written(f"{at}.values").split("\n") if line.strip()]
            if not lines:
                fields.lack(f"{at}.values", "Enter at least one value, one per line.")
            made["values"] = [typed(fields, f"{at}.values", line, fields.get(f"{at}.as")) for line in lines]
        case _:
            pass
    try:
        return _TEST.validate_python(made)
    except ValidationError as error:
        inputs = {"low": "low", **_INPUTS} if kind == "between" else _INPUTS
        return fields.refuse_all(at, error, inputs)


def typed(fields: Fields, name: str, text: str, kind: str) -> JsonValue:
    """Read one value as the type that was chosen for it."""
    if kind == "text":
        return text.strip()
    try:
        value = parse_json(text)
    except TypedJsonError as error:
        if not text.strip():
            fields.lack(name, "Enter a value.")
        words = f"\u201c{text.strip()[:40]}\u201d is not a {TYPES[kind]}." if kind != "json" else str(error)
        return fields.refuse(name, words)
    if kind != "json" and type_of(value) != kind:
        return fields.refuse(name, f"\u201c{text.strip()[:40]}\u201d is not a {TYPES[kind]}.")
    return value


def _read_json(fields: Fields, at: str) -> Condition:
    value = fields.json(f"{at}.json")
    try:
        return _CONDITION.validate_python(value)
    except ValidationError as error:
        return fields.refuse(f"{at}.json", complaints(error))
