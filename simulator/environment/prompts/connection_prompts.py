"""Builds the prompt in which a model is asked how an agent's tools hang together, and reads what it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from simulator.base.json_values import JsonObject, canonical, digest
from simulator.environment.conventions.entity_kinds import kind_named
from simulator.environment.prompts.provider_schemas import AnswerSchema, answer_schema
from simulator.environment.prompts.tool_prompt import Section, cut, in_json, laid_out, listed
from simulator.environment.schema.schema_checks import BrokenSchemaError, normalise
from simulator.environment.world.connections import Connections, ParameterUse, Produced, ToolRole, ToolShape

MOST_CHARACTERS = 60_000
"""How much of the tools a prompt holds."""

_MOST_OF_ONE = 6_000
_MOST_WHY = 300

_HEAD = """\
You look at the tools of an AI agent, and say how they hang together by the things that they are about: orders, \
customers, tickets. A kind of thing is one word in the singular, in snake_case.

- "uses": for each parameter that names a thing (by an id, a number, a code, or a list of such): which kind, and what the \
call does to the thing that is named: "creates", "changes" (to cancel, pay or refund is to change), "reads" or "deletes".
- "produces": for each field of a tool's answers that holds ids of things: which kind, and whether the call has just made \
them. A list is written as in "orders[*].order_id".
- "roles": for each tool, what it does as a whole, and to which kind of thing; "" where it is about none.

Leave out parameters that name nothing, such as amounts, texts and dates. Use the names of tools and parameters as they \
stand. Answer with one JSON object and nothing else."""
_FOOT = 'Now write the JSON object with "uses", "produces" and "roles" for these tools.'

_TEXT: JsonObject = {"type": "string"}
_USE: JsonObject = {"type": "string", "enum": ["creates", "changes", "reads", "deletes"]}


def _list_of(**fields: JsonObject) -> JsonObject:
    item: JsonObject = {
        "type": "object",
        "properties": {**fields},
        "required": [name for name in fields if name != "why"],
    }
    return {"type": "array", "items": item}


CONNECTIONS_SCHEMA: AnswerSchema = answer_schema(
    {
        "type": "object",
        "properties": {
            "uses": _list_of(tool_name=_TEXT, parameter=_TEXT, kind=_TEXT, use=_USE, why=_TEXT),
            "produces": _list_of(
                tool_name=_TEXT, field=_TEXT, kind=_TEXT, creates={"type": "boolean"}, why=_TEXT
            ),
            "roles": _list_of(tool_name=_TEXT, use=_USE, kind=_TEXT, why=_TEXT),
        },
        "required": ["uses", "produces", "roles"],
    }
)
"""What the model's answer is checked against before it is read."""


class ReadConnections(NamedTuple):
    """What a model's answer says about tools that there are; `dropped` names what it says about others."""

    connections: Connections
    dropped: tuple[str, ...]


def connections_prompt(tools: Sequence[ToolShape]) -> str:
    """Build the prompt: the same tools, in any order, return the same text."""
    shapes = [cut(in_json(_told(tool)), _MOST_OF_ONE) for tool in _in_order(tools)]
    return laid_out(_HEAD, [Section("the tools", listed(shapes, MOST_CHARACTERS))], _FOOT)


def connection_lines(connections: Connections, tool_name: str) -> tuple[str, ...]:
    """Say connections in words, as a prompt for a call of one tool holds them: first this tool's, then those of its kinds.

    Connections of other kinds of things are left out.
    """
    kinds = {use.kind for use in connections.uses if use.tool_name == tool_name}
    kinds |= {made.kind for made in connections.produces if made.tool_name == tool_name}
    lines: list[tuple[bool, str]] = []
    for use in connections.uses:
        if use.kind in kinds:
            line = f"{use.tool_name} {use.use} the {use.kind} that {use.parameter} names"
            lines.append((use.tool_name != tool_name, line))
    for made in connections.produces:
        if made.kind in kinds:
            new = " that the call has made" if made.creates else ""
            line = f"{made.tool_name} answers with the {made.kind} id{new} in {made.field}"
            lines.append((made.tool_name != tool_name, line))
    return tuple(line for _, line in sorted(lines, key=lambda one: one[0]))


def shapes_digest(tools: Sequence[ToolShape]) -> str:
    """Fingerprint the tools, whatever their order: it changes when one of them does."""
    return digest(*(canonical(tool.model_dump()) for tool in _in_order(tools)))


def _in_order(tools: Sequence[ToolShape]) -> list[ToolShape]:
    """Return each tool once: several agents of a tree may have it."""
    return list(
        {canonical(tool.model_dump()): tool for tool in sorted(tools, key=lambda one: one.name)}.values()
    )


def _told(tool: ToolShape) -> JsonObject:
    told: JsonObject = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return told if tool.response_schema is None else {**told, "answers": tool.response_schema}


def read_connections(value: Any, tools: Sequence[ToolShape]) -> ReadConnections:
    """Read an answer that fits `CONNECTIONS_SCHEMA`; drop with a word what is about no tool, parameter or field here."""
    shapes: dict[str, list[ToolShape]] = {}
    for tool in tools:
        shapes.setdefault(tool.name, []).append(tool)
    dropped: list[str] = []
    connections = Connections(
        uses=tuple(_read(value["uses"], shapes, _use, dropped)),
        produces=tuple(_read(value["produces"], shapes, _produced, dropped)),
        roles=tuple(_read(value["roles"], shapes, _role, dropped)),
    )
    return ReadConnections(connections, tuple(dropped))


_One = TypeVar("_One", ParameterUse, Produced, ToolRole)


class _DroppedError(ValueError):
    """Something that a model said is about nothing here; the text of the error says what."""


def _read(
    said: list[Any],
    shapes: Mapping[str, list[ToolShape]],
    make: Callable[[Any, list[ToolShape]], _One],
    dropped: list[str],
) -> Iterator[_One]:
    seen: set[_One] = set()
    for one in said:
        name = one["tool_name"]
        if name not in shapes:
            dropped.append(f"there is no tool {name!r}")
            continue
        try:
            made = make(one, shapes[name])
        except _DroppedError as error:
            dropped.append(str(error))
            continue
        if made not in seen:
            seen.add(made)
            yield made


def _use(one: Any, shapes: list[ToolShape]) -> ParameterUse:
    said = one["parameter"]
    path = next((found for shape in shapes if (found := _path_in(said, shape.parameters))), "")
    if not path:
        raise _DroppedError(f"{one['tool_name']} has no parameter {said!r}")
    return ParameterUse(parameter=path, kind=_kind(one), use=one["use"], **_by_model(one))


def _produced(one: Any, shapes: list[ToolShape]) -> Produced:
    said = one["field"]
    known = [shape.response_schema for shape in shapes if shape.response_schema]
    path = next((found for schema in known if (found := _path_in(said, schema))), "") if known else said
    if not path:
        raise _DroppedError(f"the answers of {one['tool_name']} have no field {said!r}")
    return Produced(field=path, kind=_kind(one), creates=one["creates"], **_by_model(one))


def _role(one: Any, _shapes: list[ToolShape]) -> ToolRole:
    kind = _kind(one) if one["kind"].strip() else ""
    return ToolRole(kind=kind, use=one["use"], **_by_model(one))


def _by_model(one: Any) -> dict[str, Any]:
    why = " ".join(str(one.get("why") or "").split())
    return {"tool_name": one["tool_name"], "source": "model", "why": cut(why, _MOST_WHY)}


def _kind(one: Any) -> str:
    kind = kind_named(one["kind"])
    if not kind or kind[0].isdigit():
        raise _DroppedError(f"{one['tool_name']}: {one['kind']!r} is no kind of thing")
    return kind


def _path_in(path: str, schema: JsonObject) -> str | None:
    """Return a path as it is in a schema, with `[*]` at each list; None where the schema has no such place."""
    try:
        found = _walked(re.findall(r"[^.\[\]]+|\[[^\]]*\]", path), normalise(schema))
    except BrokenSchemaError:
        return None
    return None if not found else found.removeprefix(".")


def _walked(steps: list[str], schema: Any) -> str | None:
    for face in _faces(schema):
        items, properties = face.get("items"), face.get("properties")
        if isinstance(items, Mapping):
            inner = _walked(steps[1:] if steps and steps[0].startswith("[") else steps, items)
            if inner is not None:
                return f"[*]{inner}"
        elif not steps:
            return ""
        elif isinstance(properties, Mapping) and steps[0] in properties:
            inner = _walked(steps[1:], properties[steps[0]])
            if inner is not None:
                return f".{steps[0]}{inner}"
    return None


def _faces(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the schemas between which a schema leaves the choice, but for null, and the schema itself."""
    if isinstance(schema, Mapping):
        for word in ("anyOf", "oneOf", "allOf"):
            for choice in schema.get(word) or ():
                yield from (face for face in _faces(choice) if face.get("type") != "null")
        if not any(word in schema for word in ("anyOf", "oneOf")):
            yield schema
