"""Guesses the shape of an answer of which a tool's schema says little: by its words, earlier answers, tables and names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from pydantic import JsonValue

from simulator.environment.conventions.answers import is_error
from simulator.environment.conventions.chance import Chance
from simulator.environment.conventions.kinds import (
    collection_of,
    id_kind,
    is_collection,
    is_own_key,
    kind_named,
)
from simulator.environment.conventions.names import words_of
from simulator.environment.conventions.roles import role_of
from simulator.environment.drafting.comparisons import comparison, is_about_results
from simulator.environment.drafting.docstrings import returned_example, shown_example
from simulator.environment.drafting.knowledge import Knowledge
from simulator.environment.drafting.rows import Rows, is_search_text
from simulator.environment.drafting.told_fields import told_schema
from simulator.environment.drafting.usual_fields import usual_fields
from simulator.environment.schema.inferred import inferred_schema
from simulator.environment.schema.open_shapes import is_open, opened, values_of
from simulator.jsonvalue import JsonObject

Source: TypeAlias = Literal["description", "earlier", "tables", "names"]

_SAMPLES = 20
_MAPS = frozenset({"by", "per"})
_IN_A_SENTENCE = {
    "description": "made up in the shape that the tool's description tells of",
    "earlier": "made up in the shape of this tool's earlier answers",
    "tables": "made up in the shape of what is known of such things",
    "names": "made up by the tool's name",
}


class Shape(NamedTuple):
    """The schema of an object, and where it comes from."""

    schema: JsonObject
    source: Source

    @property
    def why(self) -> str:
        """Say in words where it comes from."""
        return _IN_A_SENTENCE[self.source]


@dataclass(frozen=True)
class Guesses:
    """What may be said of the shape of the answer to one call."""

    tool_name: str
    description: str
    arguments: JsonObject
    knowledge: Knowledge
    rows: Rows | None
    chance: Chance

    @cached_property
    def kind(self) -> str:
        """The kind of thing that the tool is about, in the singular; empty where that cannot be told."""
        if self.rows is not None:
            return self.rows.kind
        named = (id_kind(name) for name in self.arguments)
        return role_of(self.tool_name, self.description).kind or next((kind for kind in named if kind), "")

    @cached_property
    def told(self) -> JsonObject | None:
        """The schema of what the description tells or shows."""
        told = told_schema(self.description)
        shown = returned_example(self.description, self.chance)
        if shown is None or (
            told is not None and not shown_example(self.description) and _says_more(told, shown)
        ):
            return told
        return inferred_schema([shown], closed=False)

    @cached_property
    def before(self) -> list[JsonValue]:
        """The earlier answers of this tool that were no errors, and that no rule gave."""
        return [
            answer.response
            for answer in self.knowledge.earlier
            if answer.tool_name == self.tool_name and not answer.injected and not is_error(answer.response)
        ][-_SAMPLES:]

    @cached_property
    def record(self) -> Shape:
        """The shape of the thing, or of each of the things, that the answer is about."""
        told = _object_in(self.told)
        if told is not None:
            return Shape(told, "description")
        records = [one for value in self.before for one in _records(value)]
        if records:
            return Shape(inferred_schema(records, closed=False), "earlier")
        found = self._of_tables(self.kind)
        if found is not None:
            return Shape(found, "tables")
        return Shape(self._usual(self.kind), "names")

    def is_map(self, schema: JsonObject) -> bool:
        """Tell whether the fields of an open object are data: prices by product, counts by state."""
        values = values_of(schema)
        if values is None or self.told is not None or self.before:
            return False
        words = words_of(self.tool_name)
        kind = values.get("type")
        return kind in {"number", "integer", "boolean", "array", "object"} or bool(set(words) & _MAPS) or (
            is_collection(words[-1]) if words else False
        )  # fmt: skip

    def filled(self, schema: JsonObject) -> JsonObject:
        """Fill all open objects of the answer's schema, as `normalise` gives it."""
        return opened(schema, self._fields_for)

    def _fields_for(self, name: str) -> JsonObject | None:
        if name:
            kind = kind_named(name)
            return self._of_tables(kind) or (_plain(usual_fields(kind)) if usual_fields(kind) else None)
        return self.record.schema

    def _of_tables(self, kind: str) -> JsonObject | None:
        """Give the schema of the things of a kind that are known."""
        if not kind:
            return None
        known: list[JsonValue] = [dict(row.fields) for row in self.knowledge.tables.get(kind, ())[:_SAMPLES]]
        if not known:
            known = [
                one
                for answer in self.knowledge.earlier[-_SAMPLES:]
                if not answer.injected and not is_error(answer.response)
                for one in _records(answer.response)
                if any(name == f"{kind}_id" for name in list(one)[:1])
            ]
        if not known or max(len(one) for one in known if isinstance(one, dict)) < 2:  # noqa: PLR2004 - an id alone
            return None
        return inferred_schema(known, closed=False)

    def _usual(self, kind: str) -> JsonObject:
        """Give the fields that the arguments choose by, and those that such a thing usually has."""
        own = next((name for name in self.arguments if kind and is_own_key(name, kind)), None)
        said = [
            name
            for name, value in self.arguments.items()
            if isinstance(value, (str, int, float)) and name != own and self._is_of_thing(name)
        ]
        usual = [own if own and one == f"{kind}_id" else one for one in usual_fields(kind)]
        return _plain((*([own] if own else ()), *usual, *said))

    def _is_of_thing(self, name: str) -> bool:
        return not (is_about_results(name) or comparison(name) is not None or is_search_text(name))

    def listed(self) -> JsonObject:
        """Give the schema of an answer of a tool without any: a list in an object where its name is a plural."""
        words = words_of(self.tool_name)
        record = self.record.schema
        fields = record.get("properties")
        status: JsonObject = {"const": "success"}
        if words and is_collection(words[-1]) and self.kind:
            plural = collection_of(self.kind)
            properties: JsonObject = {
                "status": status,
                plural: {"type": "array", "items": record},
                "count": {"type": "integer"},
            }
        else:
            properties = {"status": status, **(fields if isinstance(fields, dict) else {})}
        required: list[JsonValue] = list(properties)
        return {"type": "object", "properties": properties, "required": required}


def may_hold(schema: JsonObject | None) -> bool:
    """Tell whether a whole answer's schema says no more than that it is an object, or there is none."""
    return schema is None or (is_open(schema) and values_of(schema) is None)


def _plain(names: tuple[str, ...]) -> JsonObject:
    fields = dict.fromkeys(names)
    properties: JsonObject = {name: {} for name in fields}
    required: list[JsonValue] = list(fields)
    return {"type": "object", "properties": properties, "required": required}


def _object_in(schema: JsonValue) -> JsonObject | None:
    """Give the object that a schema is of, or that a list of it holds."""
    while isinstance(schema, dict) and schema.get("type") == "array":
        schema = schema.get("items")
    return schema if isinstance(schema, dict) and schema.get("properties") else None


def _records(value: JsonValue) -> Iterator[JsonObject]:
    """Give an answer that is an object, or the objects of one that is a list."""
    if isinstance(value, dict):
        inner = value.get("result")
        yield from (
            _records(inner) if set(value) == {"result"} and isinstance(inner, (dict, list)) else [value]
        )
    elif isinstance(value, list):
        yield from (one for one in value if isinstance(one, dict) and one)


def _size(schema: JsonObject) -> int:
    record = _object_in(schema)
    properties = record.get("properties") if record is not None else None
    return len(properties) if isinstance(properties, dict) else 0


def _says_more(told: JsonObject, shown: JsonValue) -> bool:
    """Tell whether the fields that a text lists are more than those that it only quotes; it may quote values too."""
    one = shown[0] if isinstance(shown, list) and shown else shown
    return _size(told) > 1 or not isinstance(one, Mapping) or len(one) <= 1
