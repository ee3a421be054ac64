"""Looks up in the connections what a call's arguments name, and which fields of its answer hold ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from pydantic import JsonValue

from simulator.environment.conventions.kinds import id_kind, id_of, is_own_key
from simulator.environment.conventions.roles import Use, role_of
from simulator.environment.things.connections import (
    Connections,
    ParameterUse,
    Produced,
    ToolRole,
    ToolShape,
    found_offline,
)
from simulator.jsonvalue import JsonObject

Shape: TypeAlias = tuple[tuple[str, Any], ...]

_MOST_DEPTH = 6
_MOST_NAMED = 200
_WRITES = frozenset({"changes", "deletes"})


@dataclass(frozen=True, slots=True)
class Named:
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
        """Tell whether the argument's name does not say what kind of thing it names."""
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
        """Give what is known of a tool, or what its name and those of its arguments tell."""
        return self._tools.get(name) or _by_names(name, _shape(arguments, 0))

    def can_change(self, kind: str) -> bool:
        """Tell whether some tool may change things of a kind; where no tool is known, any may."""
        return not self._tools or not self._changed.isdisjoint((kind, ""))

    def named(self, tool: ToolIndex, arguments: JsonObject) -> list[Named]:
        """Give the things that some arguments name, in the order of the parameters; at most 200."""
        found: list[Named] = []
        for path, use in tool.uses:
            name = next((part for part in reversed(path) if part != "*"), "")
            flat = sum(part != "*" for part in path) == 1
            for value in _values(arguments, path, 0):
                for key in _ids(value, use.kind):
                    found.append(Named(use.kind, key, use.use, name, flat))
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
    """Give what stands at a path; a list is gone through also where the path does not say that there is one."""
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
    """Give the ids in an argument: a plain one, several in a list, or that of an object which stands for a thing."""
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
