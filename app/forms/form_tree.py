"""Turns a JSON schema into the fields of a form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.forms.field_group_widgets import ArrayField, FormMember, NullableField, ObjectField, UnionField
from app.forms.field_widgets import (
    BooleanField,
    ChoiceField,
    ConstField,
    Field,
    JsonField,
    NumberField,
    TextField,
    TimeField,
)
from app.forms.record_table_widgets import TableField
from app.forms.record_tables import DEEPEST
from simulator.base.json_paths import ABSENT
from simulator.base.json_values import JsonObject
from simulator.environment.drafts.docstrings import asks_for_date, choices_in
from simulator.environment.schema.schema_checks import BrokenSchemaError, normalise

MAX_DEPTH = 8
"""Schemas nested deeper than this end in a JSON field."""

_DEEP = 2
"""From here on an object or an array that may be null is written as JSON, as is a union inside of a union at any depth: nobody finds the way through so many switches."""

OFFERED = "x-offered"
"""In a schema, the values that are offered for a field, also where there is one only."""

_LONG_TEXT = 120
_LONG_NAMES = ("body", "comment", "content", "description", "message", "note", "reason", "summary", "text")


def parse_schema(schema: JsonObject, *, tables: bool = False) -> Field:
    """Turn a JSON schema into a field; with `tables`, flat lists of records that are reached by names alone are tables.

    References inside the schema are followed; none is ever fetched. What has no field of its own (recursion,
    schemas that are none) becomes a `JsonField`.
    """
    try:
        normal = normalise(schema)
    except BrokenSchemaError:
        return JsonField()
    field = _Parser(normal).field(normal, refs=(), depth=0)
    return _with_tables(field, 0) if tables else field


def _with_tables(field: Field, depth: int) -> Field:
    if isinstance(field, (ArrayField, JsonField)):
        return TableField(inner=field)
    if not isinstance(field, ObjectField) or depth == DEEPEST:
        return field
    inside = (each._replace(field=_with_tables(each.field, depth + 1)) for each in field.members)
    return replace(field, members=tuple(inside))


class _Parser:
    """Walks one schema; `refs` are the references that it is inside of, so that recursion is noticed."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._in_union = False

    def field(self, schema: Any, *, refs: tuple[str, ...], depth: int, name: str = "") -> Field:
        found = self._resolved(schema, refs)
        if found is None or depth > MAX_DEPTH:
            return JsonField(**_about(schema))
        schema, refs = found
        if "const" in schema:
            return ConstField(value=schema["const"], **_about(schema))
        options = schema.get("enum")
        if isinstance(options, list) and options:
            return ChoiceField(options=tuple(options), **_about(schema))
        variants = self._variants(schema)
        if variants is not None:
            return self._union(schema, variants, refs=refs, depth=depth)
        return self._typed(schema, refs=refs, depth=depth, name=name)

    def _resolved(self, schema: Any, refs: tuple[str, ...]) -> tuple[dict[str, Any], tuple[str, ...]] | None:
        while isinstance(schema, dict):
            combined = schema.get("allOf")
            if isinstance(combined, list) and combined:
                schema = _merged([*combined, {key: item for key, item in schema.items() if key != "allOf"}])
                continue
            reference = schema.get("$ref")
            if reference is None:
                return schema, refs
            target = _looked_up(self._root, reference)
            if reference in refs or not isinstance(target, dict):
                return None
            refs = (*refs, reference)
            schema = {**target, **{key: item for key, item in schema.items() if key != "$ref"}}
        return None

    def _variants(self, schema: dict[str, Any]) -> list[Any] | None:
        types = schema.get("type")
        if isinstance(types, list):
            return [{**schema, "type": name} for name in types]
        if types is not None or "properties" in schema:
            return None
        several = schema.get("anyOf") or schema.get("oneOf")
        if not isinstance(several, list) or not several:
            return None
        offered = {OFFERED: schema[OFFERED]} if OFFERED in schema else {}
        return [{**each, **offered} if isinstance(each, dict) else each for each in several]

    def _union(
        self, schema: dict[str, Any], variants: list[Any], *, refs: tuple[str, ...], depth: int
    ) -> Field:
        about = _about(schema)
        given = [variant for variant in variants if not _is_null(variant)]
        is_union = len(given) > 1
        if is_union and self._in_union:
            return JsonField(**about)
        outside, self._in_union = self._in_union, self._in_union or is_union
        fields = tuple(self.field(variant, refs=refs, depth=depth + 1) for variant in given)
        self._in_union = outside
        if not fields:
            return ConstField(value=None, **about)
        plain: Field = UnionField(variants=fields, **about)
        if len(fields) == 1:
            names = {key: about[key] for key in ("title", "description") if about[key]}
            plain = replace(fields[0], **names)
        if len(given) == len(variants):
            return plain
        if isinstance(plain, NullableField):
            return replace(
                plain, **{key: item for key, item in about.items() if item is not ABSENT and item != ""}
            )
        if depth >= _DEEP and isinstance(plain, (NullableField, UnionField, ArrayField, ObjectField)):
            return JsonField(blank="null", **about)
        return NullableField(inner=plain, **about)

    def _typed(self, schema: dict[str, Any], *, refs: tuple[str, ...], depth: int, name: str) -> Field:
        kind = schema.get("type") or ("object" if "properties" in schema else None)
        if kind == "object":
            return self._object(schema, refs=refs, depth=depth)
        if kind == "array":
            return self._array(schema, refs=refs, depth=depth)
        return _scalar(str(kind), schema, name)

    def _object(self, schema: dict[str, Any], *, refs: tuple[str, ...], depth: int) -> Field:
        properties, more = _mapping(schema, "properties"), schema.get("additionalProperties")
        others = None
        if isinstance(more, dict) and more:
            others = self.field(more, refs=refs, depth=depth + 1)
        elif more is not False and (more is not None or not properties):
            others = JsonField(is_open=True)
        required = _listing(schema, "required")
        members = tuple(
            FormMember(
                name, _offered(self.field(item, refs=refs, depth=depth + 1, name=name)), name in required
            )
            for name, item in properties.items()
        )
        return ObjectField(members=members, others=others, **_about(schema))

    def _array(self, schema: dict[str, Any], *, refs: tuple[str, ...], depth: int) -> Field:
        items = schema.get("items")
        if "prefixItems" in schema or items is False:
            return JsonField(blank="[]", **_about(schema))
        least = schema.get("minItems")
        return ArrayField(
            item=self.field(items if isinstance(items, dict) else {}, refs=refs, depth=depth + 1),
            least=least if isinstance(least, int) else 0,
            **_about(schema),
        )


def _offered(field: Field) -> Field:
    """Return a member's field: one that may be null, and is set, is meant to have a value."""
    return (
        replace(field, default=ABSENT)
        if isinstance(field, NullableField) and field.default is None
        else field
    )


def _scalar(kind: str, schema: dict[str, Any], name: str) -> Field:
    about = _about(schema)
    match kind:
        case "string":
            return _text(schema, name)
        case "integer" | "number":
            return NumberField(is_integer=kind == "integer", **about)
        case "boolean":
            return BooleanField(**about)
        case "null":
            return ConstField(value=None, **about)
        case _:
            is_open = "type" not in schema
            return JsonField(is_open=is_open, suggestions=_suggestions(schema) if is_open else (), **about)


def _text(schema: dict[str, Any], name: str) -> Field:
    about, longest, default = _about(schema), schema.get("maxLength"), schema.get("default")
    if (wanted := schema.get("format")) in {"date", "date-time"}:
        return TimeField(format=wanted, asks_day=wanted == "date", **about)
    is_long = (
        (isinstance(longest, int) and longest > _LONG_TEXT)
        or (longest is None and any(word in name.lower() for word in _LONG_NAMES))
        or (isinstance(default, str) and (len(default) > _LONG_TEXT or "\n" in default))
    )
    asks_day = asks_for_date(schema, about["description"], name)
    return TextField(is_long=is_long, suggestions=_suggestions(schema), asks_day=asks_day, **about)


def _suggestions(schema: dict[str, Any]) -> tuple[str, ...]:
    """Return what to choose from; a single example is no choice."""
    offered, examples = (
        tuple(one for one in _listing(schema, key) if isinstance(one, str)) for key in (OFFERED, "examples")
    )
    return offered or (examples if len(examples) > 1 else choices_in(_about(schema)["description"]))


def _about(schema: Any) -> dict[str, Any]:
    if not isinstance(schema, dict):
        return {}
    title, description = schema.get("title"), schema.get("description")
    return {
        "title": title if isinstance(title, str) else "",
        "description": description if isinstance(description, str) else "",
        "default": schema.get("default", ABSENT),
    }


def _merged(schemas: list[Any]) -> dict[str, Any] | None:
    """Join schemas that hold all at once; None where they are of different types."""
    if not all(isinstance(schema, dict) for schema in schemas):
        return None
    if len({str(schema["type"]) for schema in schemas if "type" in schema}) > 1:
        return None
    whole: dict[str, Any] = {}
    for schema in schemas:
        properties = {**_mapping(whole, "properties"), **_mapping(schema, "properties")}
        required = [*_listing(whole, "required"), *_listing(schema, "required")]
        whole = {**whole, **schema}
        whole |= {"properties": properties} if properties else {}
        whole |= {"required": required} if required else {}
    return whole


def _mapping(schema: dict[str, Any], key: str) -> dict[str, Any]:
    found = schema.get(key)
    return found if isinstance(found, dict) else {}


def _listing(schema: dict[str, Any], key: str) -> list[Any]:
    found = schema.get(key)
    return found if isinstance(found, list) else []


def _is_null(variant: Any) -> bool:
    return isinstance(variant, dict) and variant.get("type") == "null"


def _looked_up(root: Any, reference: Any) -> Any:
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found = root
    for step in reference[1:].split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or key not in found:
            return None
        found = found[key]
    return found
