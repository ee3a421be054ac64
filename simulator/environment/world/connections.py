"""Says which tool creates, changes, reads or deletes which things, and finds it in names, schemas and descriptions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias, TypeVar

from pydantic import Field, JsonValue, field_validator

from simulator.base.frozen_value import FiniteValue
from simulator.base.json_values import JsonObject, canonical, digest
from simulator.environment.conventions import (
    Role,
    Use,
    id_kind,
    id_of,
    is_own_key,
    kind_named,
    role_of,
    words_of,
)
from simulator.environment.schema.schema_fields import SchemaField, fields_of

Source: TypeAlias = Literal["offline", "model", "person"]
Entry = TypeVar("Entry", "ParameterUse", "Produced", "ToolRole")

_MADE_BY = {
    "book": "booking",
    "reserve": "reservation",
    "order": "order",
    "buy": "purchase",
    "purchase": "purchase",
    "rent": "rental",
}
"""What a tool makes that takes the thing it is about as it is."""
_SAYS_ID = re.compile(r"\b(?:id|ids|identifier|uuid|guid|sku)\b", re.IGNORECASE)
_ARGUMENT = re.compile(
    r"^[ \t]*(?:[-*][ \t]+)?[`*]*(\w+)[`*]*[ \t]*(?:\([^)\n]*\))?[ \t]*:[ \t]+(\S.*)$", re.MULTILINE
)
_QUOTED = re.compile(r"""["'`]([A-Za-z_]\w*)["'`]""")
_RETURNS = re.compile(r"\breturns?\b", re.IGNORECASE)
_ENVELOPES = frozenset(
    {"", "data", "result", "results", "items", "records", "response", "entries", "payload"}
)


class _Connection(FiniteValue):
    """What all connections have: whose tool it is, who said it, and why."""

    tool_name: str = Field(min_length=1)
    source: Source = "offline"
    why: str = ""

    @field_validator("kind", mode="before", check_fields=False)
    @classmethod
    def _as_kinds_are_written(cls, kind: object) -> object:
        return kind_named(kind) if isinstance(kind, str) else kind


class ToolShape(FiniteValue):
    """A tool as its declaration shows it; `dropped` names where ADK drops what `parameters` do not name, as in `ToolDeclaration`."""

    name: str = Field(min_length=1)
    description: str = ""
    parameters: JsonObject = Field(default_factory=dict)
    response_schema: JsonObject | None = None
    dropped: tuple[str, ...] = ()

    @property
    def schema_digest(self) -> str:
        """A short digest of a tool's parameters and of the form of its answers; what it says of itself may change freely."""
        schemas = {"parameters": self.parameters, "response": self.response_schema}
        return digest(canonical(schemas))[:16]


class ParameterUse(_Connection):
    """What a tool does to the things that one of its parameters names.

    `parameter` is the path of the argument: `order_id`, `order_ids[*]`, `items[*].sku`. `kind` is in the singular, in
    snake case.
    """

    parameter: str = Field(min_length=1)
    kind: str = Field(min_length=1)
    use: Use


class Produced(_Connection):
    """A field of a tool's answers that holds ids of one kind: `order_id`, `orders[*].order_id`.

    `creates` says that they are ids of things that the call has just made.
    """

    field: str = Field(min_length=1)
    kind: str = Field(min_length=1)
    creates: bool = False


class ToolRole(_Connection):
    """What a tool does as a whole, and to which kind of thing; `kind` is empty where that cannot be told."""

    use: Use
    kind: str = ""


class Connections(FiniteValue):
    """How the tools of an agent hang together. Each tool that was looked at has a role."""

    uses: tuple[ParameterUse, ...] = ()
    produces: tuple[Produced, ...] = ()
    roles: tuple[ToolRole, ...] = ()


class ToolField(FiniteValue):
    """One parameter of a tool, or one field of its answers."""

    tool_name: str = Field(min_length=1)
    path: str = Field(min_length=1)


class ConnectionEdits(FiniteValue):
    """What a person has changed: connections that were set, and those that were taken away."""

    uses: tuple[ParameterUse, ...] = ()
    produces: tuple[Produced, ...] = ()
    roles: tuple[ToolRole, ...] = ()
    no_uses: tuple[ToolField, ...] = ()
    no_produces: tuple[ToolField, ...] = ()

    def strangers(self, tool_names: Iterable[str]) -> tuple[str, ...]:
        """Name the tools that something was changed of, and that are not among these."""
        changed: tuple[_Connection | ToolField, ...] = (
            *self.uses,
            *self.produces,
            *self.roles,
            *self.no_uses,
            *self.no_produces,
        )
        return tuple(sorted({each.tool_name for each in changed} - set(tool_names)))


NO_CONNECTIONS = Connections()
NO_EDITS = ConnectionEdits()


def found_offline(tools: Sequence[ToolShape]) -> Connections:
    """Find the connections in the tools' names, schemas and descriptions; no model is asked."""
    uses: list[ParameterUse] = []
    produces: list[Produced] = []
    roles: list[ToolRole] = []
    for tool in tools:
        role = role_of(tool.name, tool.description)
        inputs = _inputs(tool, role)
        own = tuple(_produced(tool, role, inputs))
        uses.extend(_uses(tool, role, inputs, own))
        produces.extend(own)
        kind = next((one.kind for one in own if one.creates), role.kind)
        roles.append(ToolRole(tool_name=tool.name, use=role.use, kind=kind, why=role.why))
    return Connections(uses=tuple(uses), produces=tuple(produces), roles=tuple(roles))


def _inputs(tool: ToolShape, role: Role) -> list[tuple[SchemaField, str]]:
    """Return the parameters that name things, each with the kind of those."""
    told = dict(_ARGUMENT.findall(tool.description))
    found = []
    for field in fields_of(tool.parameters):
        if not field.can_be_id:
            continue
        kind = id_kind(field.name)
        if kind is None and _SAYS_ID.search(field.description or told.get(field.name, "")):
            kind = _named_by_words(field.name)
        if kind is not None:
            found.append((field, kind or _container(field.parent) or role.kind or "record"))
    return found


def _named_by_words(name: str) -> str | None:
    """Return the kind that a parameter such as `order` means, whose description says that it is an id."""
    words = words_of(name)
    return kind_named(name) if words and len(words) == 1 else None


def _container(name: str) -> str:
    return "" if name.lower() in _ENVELOPES else kind_named(name)


def _uses(
    tool: ToolShape, role: Role, inputs: list[tuple[SchemaField, str]], own: Sequence[Produced]
) -> Iterator[ParameterUse]:
    main = _main(tool.name, role, inputs, own)
    for field, kind in inputs:
        use: Use = role.use if field is main else "reads"
        why = f"{role.why}, and {field.name!r} identifies an entity of kind {kind}"
        yield ParameterUse(tool_name=tool.name, parameter=field.path, kind=kind, use=use, why=why)


def _main(
    tool_name: str, role: Role, inputs: list[tuple[SchemaField, str]], own: Sequence[Produced]
) -> SchemaField | None:
    """Find the parameter of the thing that the tool creates, changes or deletes; the other things are only read."""
    if role.use == "reads" or not inputs:
        return None
    named = [field for field, kind in inputs if kind == role.kind]
    if role.use == "creates":
        made_anew = any(one.creates for one in own)
        return None if role.acts_on or made_anew or not named else named[0]
    words = set(words_of(tool_name))
    mentioned = [field for field, kind in inputs if set(kind.split("_")) <= words]
    flat = [field for field, _ in inputs if "[*]." not in field.path]
    return next(iter((*named, *mentioned, *flat)), None)


def _produced(tool: ToolShape, role: Role, inputs: list[tuple[SchemaField, str]]) -> Iterator[Produced]:
    given = {kind for _, kind in inputs}
    ids: list[tuple[str, str]] = []
    for field in fields_of(tool.response_schema) if tool.response_schema else ():
        kind = id_kind(field.name) if field.can_be_id else None
        if kind is not None:
            ids.append((field.path, kind or _container(field.parent) or role.kind or "record"))
    why = "its output schema has this field"
    if not ids:
        ids, why = _told_ids(tool, role), "its description names this field"
    new = _new_id(role, given, ids)
    for path, kind in ids:
        yield Produced(tool_name=tool.name, field=path, kind=kind, creates=path == new, why=why)
    made = _MADE_BY.get(role.verb, "") if role.kind in given and role.acts_on else role.kind
    if not ids and role.use == "creates" and made and made not in given:
        yield Produced(
            tool_name=tool.name,
            field=f"{made}_id",
            kind=made,
            creates=True,
            why=f"{role.why}; no id field is declared",
        )


def _told_ids(tool: ToolShape, role: Role) -> list[tuple[str, str]]:
    """Find ids among the names that a description quotes behind the word `returns`."""
    start = _RETURNS.search(tool.description)
    names = _QUOTED.findall(tool.description[start.end() :]) if start else []
    found = ((name, id_kind(name)) for name in dict.fromkeys(names))
    return [(name, kind or role.kind or "record") for name, kind in found if kind is not None]


def _new_id(role: Role, given: set[str], ids: list[tuple[str, str]]) -> str | None:
    """Find the field that holds the id of what a call has just made."""
    top = [(path, kind) for path, kind in ids if "[*]" not in path]
    if role.use == "creates" and not role.between:
        own = [path for path, kind in top if kind == role.kind and kind not in given]
        return next(iter((*own, *(path for path, kind in top if kind not in given))), None)
    if role.use == "changes" and top and top[0][1] not in given and given:
        return top[0][0]
    return None


def merged(
    offline: Connections, by_model: Connections | None = None, by_person: ConnectionEdits = NO_EDITS
) -> Connections:
    """Put together what was found: a person's word stands over a model's, and a model's over what names tell.

    Each of the two speaks for a place (a tool's parameter, a field of its answers, a role) alone; what it does not
    mention stays. Where it says what a tool does to its parameters and gives the tool no role, the role follows.
    """
    model = by_model or NO_CONNECTIONS
    no_uses = {(place.tool_name, place.path) for place in by_person.no_uses}
    no_produces = {(place.tool_name, place.path) for place in by_person.no_produces}
    uses = _over(_use_place, offline.uses, model.uses, by_person.uses)
    produces = _over(_produced_place, offline.produces, model.produces, by_person.produces)
    kept = tuple(one for one in uses if _use_place(one) not in no_uses)
    made = tuple(one for one in produces if _produced_place(one) not in no_produces)
    given = _over(lambda role: (role.tool_name, ""), model.roles, by_person.roles)
    spoken = {one.tool_name for one in (*model.uses, *by_person.uses, *model.produces, *by_person.produces)}
    spoken |= {name for name, _ in no_uses | no_produces}
    following = tuple(
        _role_following(name, offline.roles, kept, made)
        for name in sorted(spoken - {role.tool_name for role in given})
    )
    roles = _over(lambda role: (role.tool_name, ""), offline.roles, following, given)
    return Connections(uses=kept, produces=made, roles=roles)


def _use_place(use: ParameterUse) -> tuple[str, str]:
    return use.tool_name, use.parameter


def _produced_place(produced: Produced) -> tuple[str, str]:
    return produced.tool_name, produced.field


def _over(place: Callable[[Entry], tuple[str, str]], *layers: Iterable[Entry]) -> tuple[Entry, ...]:
    found: dict[tuple[str, str], Entry] = {}
    for layer in layers:
        found.update((place(entry), entry) for entry in layer)
    return tuple(found.values())


def _role_following(
    tool_name: str, offline: Iterable[ToolRole], uses: Iterable[ParameterUse], made: Iterable[Produced]
) -> ToolRole:
    before = next((role for role in offline if role.tool_name == tool_name), None)
    own = [use for use in uses if use.tool_name == tool_name]
    new = [one for one in made if one.tool_name == tool_name and one.creates]
    if new:
        source, kind = new[0].source, new[0].kind
        return ToolRole(tool_name=tool_name, use="creates", kind=kind, source=source, why=new[0].why)
    for use in ("deletes", "changes", "creates"):
        for one in own:
            if one.use == use:
                return ToolRole(
                    tool_name=tool_name, use=one.use, kind=one.kind, source=one.source, why=one.why
                )
    if before is not None and not own:
        return before
    kind = before.kind if before else own[0].kind if own else ""
    source = own[0].source if own else "person"
    return ToolRole(tool_name=tool_name, use="reads", kind=kind, source=source, why="it changes nothing")


Shape: TypeAlias = tuple[tuple[str, Any], ...]

_MOST_DEPTH = 6
_MOST_NAMED = 200
_WRITES = frozenset({"changes", "deletes"})


@dataclass(frozen=True, slots=True)
class NamedThing:
    """A thing that a call's arguments name.

    `name` is the argument's own name; `flat` says that it stands at the top, alone or in a list of ids.
    """

    kind: str
    id: str
    use: Use
    name: str
    flat: bool

    @property
    def is_generic(self) -> bool:
        """Whether the argument's name does not say what kind of thing it names."""
        return not id_kind(self.name)


@dataclass(frozen=True, slots=True)
class ToolIndex:
    """What is known of one tool.

    `between` says that it only puts a thing into another, or takes it out; `changes` are the kinds of the things that it
    changes or takes away, the empty one where no parameter names them, so that they may be of any.
    """

    role: ToolRole
    uses: tuple[tuple[tuple[str, ...], ParameterUse], ...]
    produced: dict[str, Produced]
    between: bool
    changes: frozenset[str]


class ConnectionIndex:
    """The connections of an agent's tools, by tool. A tool that they do not know is judged by its name."""

    def __init__(self, connections: Connections) -> None:
        self._tools: dict[str, ToolIndex] = {}
        uses: dict[str, list[ParameterUse]] = {}
        produced: dict[str, dict[str, Produced]] = {}
        for use in connections.uses:
            uses.setdefault(use.tool_name, []).append(use)
        for one in connections.produces:
            produced.setdefault(one.tool_name, {})[one.field] = one
        for role in connections.roles:
            name = role.tool_name
            self._tools[name] = _tool_index(role, uses.get(name, []), produced.get(name, {}))
        self._changed = frozenset(kind for tool in self._tools.values() for kind in tool.changes)

    def tool(self, name: str, arguments: JsonObject) -> ToolIndex:
        """Return what is known of a tool, or what its name and those of its arguments tell."""
        return self._tools.get(name) or _by_names(name, _shape(arguments, 0))

    def can_change(self, kind: str) -> bool:
        """Return whether some tool may change things of a kind; where no tool is known, any may."""
        return not self._tools or not self._changed.isdisjoint((kind, ""))

    def named(self, tool: ToolIndex, arguments: JsonObject) -> list[NamedThing]:
        """Return the things that some arguments name, in the order of the parameters; at most 200."""
        found: list[NamedThing] = []
        for path, use in tool.uses:
            name = next((part for part in reversed(path) if part != "*"), "")
            flat = sum(part != "*" for part in path) == 1
            for value in _values(arguments, path, 0):
                for key in _ids(value, use.kind):
                    found.append(NamedThing(use.kind, key, use.use, name, flat))
                    if len(found) >= _MOST_NAMED:
                        return found
        return found


def _tool_index(role: ToolRole, uses: list[ParameterUse], produced: dict[str, Produced]) -> ToolIndex:
    changed = {use.kind for use in uses if use.use in _WRITES}
    if role.use in _WRITES:
        changed = {*(changed or {""}), *([role.kind] if role.kind else [])}
    return ToolIndex(
        role=role,
        uses=tuple((_parts(use.parameter), use) for use in uses),
        produced=produced,
        between=role.source == "offline" and role_of(role.tool_name).between,
        changes=frozenset(changed),
    )


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.replace("[*]", ".*").split(".") if part)


def _values(value: JsonValue, path: tuple[str, ...], start: int) -> Iterator[JsonValue]:
    """Yield what stands at a path; a list is gone through also where the path does not say that there is one."""
    if start == len(path):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _values(item, path, start + (path[start] == "*"))
    elif path[start] == "*":
        yield from _values(value, path, start + 1)
    elif isinstance(value, dict) and path[start] in value:
        yield from _values(value[path[start]], path, start + 1)


def _ids(value: JsonValue, kind: str) -> Iterator[str]:
    """Yield the ids in an argument: a plain one, several in a list, or that of an object which stands for a thing."""
    if isinstance(value, list):
        for item in value:
            if not isinstance(item, list):
                yield from _ids(item, kind)
        return
    if isinstance(value, dict):
        value = next((inner for name, inner in value.items() if is_own_key(name, kind)), None)
    key = id_of(value)
    if key is not None:
        yield key


def _shape(value: JsonValue, depth: int) -> Shape:
    """Tell of which names some arguments are made, so that calls of one shape are judged once."""
    if isinstance(value, dict) and depth < _MOST_DEPTH:
        return tuple((name, _shape(inner, depth + 1)) for name, inner in value.items())
    if isinstance(value, list) and value and depth < _MOST_DEPTH:
        return (("[*]", _shape(value[0], depth + 1)),)
    return ()


@lru_cache(maxsize=1024)
def _by_names(tool_name: str, shape: Shape) -> ToolIndex:
    found = found_offline([ToolShape(name=tool_name or "tool", parameters=_schema(shape))])
    return _tool_index(found.roles[0], list(found.uses), {one.field: one for one in found.produces})


def _schema(shape: Shape) -> JsonObject:
    if not shape:
        return {}
    if shape[0][0] == "[*]":
        return {"type": "array", "items": _schema(shape[0][1])}
    return {"type": "object", "properties": {name: _schema(inner) for name, inner in shape}}
