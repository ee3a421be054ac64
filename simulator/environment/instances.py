"""Makes a value that fits a JSON schema, with plausible contents where the schema leaves a choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import JsonValue

from simulator.environment import plausible
from simulator.environment.choices import best_choice
from simulator.environment.echoes import Echo, amounts_in, is_own_id
from simulator.environment.plausible import Chance, is_identifier, words_of
from simulator.environment.schemas import BrokenSchemaError, check
from simulator.jsonvalue import JsonObject

_MOST_DEPTH = 8
_FEW = 2
"""How many items a list gets where its schema does not say."""
_PLACES = frozenset({"line", "row", "position", "rank", "no", "number"})
"""Words of fields that count the items of their list."""
_ANY_ITEM = frozenset({"", "result", "data", "item", "record", "entry", "value"})
_GRANTED = frozenset({"allowed", "approved", "granted"})
_COUNTED = frozenset(
    {"days", "hours", "minutes", "quantity", "count", "seats", "attempts", "nights", "items"}
)
_NOTES = frozenset({"type", "title", "description", "default", "examples"})


def instance(
    schema: JsonObject,
    chance: Chance,
    known: Mapping[str, JsonValue],
    name: str = "",
    *,
    arguments: Mapping[str, JsonValue] | None = None,
    tool_name: str = "",
    currency: str = "EUR",
) -> JsonValue:
    """Make a value that fits a schema as `normalise` gives it.

    Args:
        schema: The schema. Where it asks for what this cannot make (a rare pattern), the value may miss it; whoever
            needs to be sure checks it.
        chance: Decides between values that fit.
        known: Values by field name, used wherever a field of that name may take them, except in items of lists.
        name: What the value itself is called.
        arguments: What the tool was asked; fields that mean the same take it, also in items of lists.
        tool_name: The tool; tells whether it makes a new thing, and what an unnamed object is.
        currency: What amounts are in, where nothing else says so.
    """
    scope = _Scope(Echo(arguments or {}, known, tool_name), tool_name, currency)
    return _Maker(schema, chance, scope).value(schema, name, 0)


@dataclass(frozen=True)
class _Scope:
    """Where in the answer a value stands.

    `row` is the object of the arguments that the nearest list item is about, `place` and `item` that item's number
    (from 1) and name, `held` what the objects around it say for all that they hold, and `about` what the value's object
    may be, nearest first.
    """

    echo: Echo
    tool_name: str
    currency: str
    row: Mapping[str, JsonValue] = field(default_factory=dict)
    held: Mapping[str, JsonValue] = field(default_factory=dict)
    siblings: frozenset[str] = frozenset()
    about: tuple[str, ...] = ()
    item: str | None = None
    place: int = 0


class _Maker:
    def __init__(self, root: JsonObject, chance: Chance, scope: _Scope) -> None:
        self._root = root
        self._chance = chance
        self._scope = scope

    def value(self, schema: JsonValue, name: str, depth: int) -> JsonValue:  # noqa: PLR0911 - one per keyword
        if not isinstance(schema, dict):
            return plausible.by_name(name, self._chance)
        whole = _merged(self._resolved(schema))
        if "const" in whole:
            return whole["const"]
        said = self._said(name, whole)
        if said:
            return said[0]
        choices = whole.get("enum")
        if isinstance(choices, list) and choices:
            return best_choice(choices, self._scope.tool_name) or self._any(name, choices)
        for key in ("anyOf", "oneOf"):
            branches = whole.get(key)
            if isinstance(branches, list) and branches:
                rest = {word: value for word, value in whole.items() if word != key}
                return self.value(_joined(rest, self._first(branches, depth)), name, depth)
        examples = whole.get("examples")
        if isinstance(examples, list) and examples:
            return self._chance.choice(name, examples)
        return self._of_type(whole, name, depth)

    def _any(self, name: str, choices: list[JsonValue]) -> JsonValue:
        full = [choice for choice in choices if choice is not None] or choices
        return self._chance.choice(name, full)

    def _said(self, name: str, whole: JsonObject) -> tuple[JsonValue, ...]:
        """Give what the arguments, a known record or the objects around it say of a field, as a tuple of one."""
        scope = self._scope
        if not name:
            return ()
        if scope.item is not None and name in scope.row and self._fits(scope.row[name], whole):
            return (scope.row[name],)
        if name in scope.held and self._fits(scope.held[name], whole):
            return (scope.held[name],)
        if name == scope.item:
            return ()
        return scope.echo.field(name, lambda value: self._fits(value, whole), scope.siblings, scope.item)

    def _fits(self, value: JsonValue, whole: JsonObject) -> bool:
        if isinstance(value, (dict, list)):
            return bool(value) and self._scope.item is None and self._is_valid(value, whole)
        if not _is_of(value, _type(whole)):
            return False
        return not whole.keys() - _NOTES or self._is_valid(value, whole)

    def _is_valid(self, value: JsonValue, whole: JsonObject) -> bool:
        try:
            return not check(value, {"$defs": self._root.get("$defs", {}), **whole})
        except BrokenSchemaError:
            return False

    def _first(self, branches: list[JsonValue], depth: int) -> JsonObject:
        """Take the first branch that is not null; deep inside a schema that holds itself, the shallowest."""
        real = [branch for branch in branches if isinstance(branch, dict)]
        full = [branch for branch in real if branch.get("type") != "null"]
        if depth >= _MOST_DEPTH:
            full = [branch for branch in real if branch.get("type") == "null"] or full
        chosen = (full or real or [{}])[0]
        return self._resolved(chosen)

    def _resolved(self, schema: JsonObject) -> JsonObject:
        seen: set[str] = set()
        while isinstance(ref := schema.get("$ref"), str) and ref not in seen:
            seen.add(ref)
            target: Any = self._root
            for step in ref.removeprefix("#/").split("/"):
                target = target.get(step.replace("~1", "/").replace("~0", "~"), {})
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**target, **rest} if isinstance(target, dict) else rest
        return schema

    def _of_type(self, schema: JsonObject, name: str, depth: int) -> JsonValue:  # noqa: PLR0911 - one per type
        match _type(schema):
            case "object":
                return self._object(schema, name, depth)
            case "array":
                return self._array(schema, name, depth)
            case "string":
                return self._string(schema, name)
            case "integer":
                return self._number(schema, name, whole=True)
            case "number":
                return self._number(schema, name, whole=False)
            case "boolean":
                return plausible.truth(name)
            case "null":
                return None
            case _:
                return plausible.by_name(name, self._chance) if name else {"status": "success"}

    def _object(self, schema: JsonObject, name: str, depth: int) -> JsonValue:
        properties = schema.get("properties")
        fields = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        wanted = [one for one in required if isinstance(one, str)] if isinstance(required, list) else []
        names = [*fields, *(one for one in wanted if one not in fields)] if depth < _MOST_DEPTH else wanted
        open_ended = schema.get("additionalProperties", True)
        scope = self._scope
        about = (*reversed(words_of(name)), *scope.about) or tuple(reversed(words_of(scope.tool_name)))
        inner = replace(scope, siblings=frozenset(names), about=about)
        made: dict[str, JsonValue] = {}
        for one in names:
            held = {**scope.held, **{key: made[key] for key in made if _holds(key)}}
            maker = _Maker(self._root, self._chance, replace(inner, held=held))
            made[one] = maker.value(fields.get(one, open_ended), one, depth + 1)
        return made

    def _array(self, schema: JsonObject, name: str, depth: int) -> JsonValue:
        first = schema.get("prefixItems")
        fixed = first if isinstance(first, list) else []
        items = schema.get("items", not fixed)
        rows = [] if fixed else self._rows(name, items)
        least, most = _whole(schema, "minItems", 0), _whole(schema, "maxItems", 1_000)
        count = 0 if depth >= _MOST_DEPTH or items is False else len(rows) or max(_FEW - len(fixed), 0)
        count = min(max(count, least - len(fixed)), max(most - len(fixed), 0))
        singular = name[:-1] if name.endswith("s") and len(name) > 1 else name
        values = [self.value(one, "", depth + 1) for one in fixed[:most]]
        item = (
            singular
            if singular not in _ANY_ITEM
            else self._scope.tool_name.replace("s_", "_").removesuffix("s")
        )
        for index in range(count):
            chance = Chance(str(self._chance.number(f"{name}:{index}", 2**31)))
            row = rows[index] if index < len(rows) else {}
            held = {key: value for key, value in self._scope.held.items() if not is_own_id(key, item)}
            scope = replace(self._scope, row=row, item=item, place=index + 1, held=held)
            values.append(_Maker(self._root, chance, scope).value(items, singular, depth + 1))
        return _distinct(values) if schema.get("uniqueItems") is True else values

    def _rows(self, name: str, items: JsonValue) -> list[JsonObject]:
        whole = _merged(self._resolved(items)) if isinstance(items, dict) else {}
        properties = whole.get("properties")
        own = self._scope.row.get(name)
        if isinstance(own, list) and own and isinstance(properties, dict):
            return [row for row in own if isinstance(row, dict)]
        if not isinstance(properties, dict) or self._scope.row:
            return []
        return self._scope.echo.rows(name, properties)

    def _string(self, schema: JsonObject, name: str) -> str:
        made = self._formatted(schema.get("format"), name)
        least, most = _whole(schema, "minLength", 0), _whole(schema, "maxLength", 100_000)
        if len(made) < least:
            made = (made + " " + "x" * least)[:least]
        return made[:most]

    def _formatted(self, kind: JsonValue, name: str) -> str:  # noqa: PLR0911 - one per format
        chance = self._chance
        match kind:
            case "date":
                return plausible.date(name, chance)
            case "time":
                return f"{plausible.clock(name, chance)}Z"
            case "date-time":
                return f"{plausible.date(name, chance)}T{plausible.clock(name, chance)}Z"
            case "email":
                return plausible.text("email", chance)
            case "uri" | "url":
                return plausible.text(f"{name or 'page'}_url", chance)
            case "uuid":
                digits = f"{chance.number(f'uuid:{name}', 16**12):012x}"
                return f"6f1c2a9e-3b47-4d58-9a10-{digits}"
            case "ipv4":
                return f"192.0.2.{chance.number(name, 254) + 1}"
            case "ipv6":
                return f"2001:db8::{chance.number(name, 65_000) + 1:x}"
            case _:
                if "currency" in words_of(name):
                    return self._scope.currency
                return plausible.text(name, chance, self._scope.about)

    def _number(self, schema: JsonObject, name: str, *, whole: bool) -> float | int:
        made = self._amount(name, whole=whole)
        step = _bound(schema, "multipleOf")
        unit = step or (1 if whole else 0.5)
        low, high = _bound(schema, "minimum"), _bound(schema, "maximum")
        above, below = _bound(schema, "exclusiveMinimum"), _bound(schema, "exclusiveMaximum")
        if above is not None and (low is None or above >= low):
            low = above + (unit if below is None or above + unit < below else (below - above) / 2)
        if below is not None and (high is None or below <= high):
            high = below - (unit if above is None or below - unit > above else (below - above) / 2)
        made = made if low is None else max(made, low)
        made = made if high is None else min(made, high)
        if step:
            made = step * round(made / step)
            made = made + step if low is not None and made < low else made
        return int(made) if whole else made

    def _amount(self, name: str, *, whole: bool) -> float | int:
        """Draw a number: a line's place is counted, and what a request is measured against is enough for it."""
        words = set(words_of(name))
        if whole and self._scope.place and words and words <= _PLACES:
            return self._scope.place
        made = plausible.number(name, self._chance, whole=whole)
        asked = max(amounts_in(self._scope.row) or self._scope.echo.amounts(), default=0)
        if not asked or not words & plausible.ALLOWANCES or words & _COUNTED:
            return made
        if words & _GRANTED:
            return asked
        return made if made >= 2 * asked else round(made + asked, 2)


def _holds(name: str) -> bool:
    """Tell whether a field of an object is as well one of all that the object holds: a key of several words."""
    words = words_of(name)
    return "currency" in words or (is_identifier(name) and len(words) > 1)


def _merged(schema: JsonObject) -> JsonObject:
    """Take all that `allOf` asks for into the schema itself."""
    parts = schema.get("allOf")
    if not isinstance(parts, list):
        return schema
    whole = {key: value for key, value in schema.items() if key != "allOf"}
    for part in parts:
        if isinstance(part, dict):
            whole = _joined(whole, _merged(part))
    return whole


def _joined(one: JsonObject, other: JsonObject) -> JsonObject:
    joined = {**one, **other}
    left, right = one.get("properties"), other.get("properties")
    if isinstance(left, dict) and isinstance(right, dict):
        joined["properties"] = {**left, **right}
    must, also = one.get("required"), other.get("required")
    if isinstance(must, list) and isinstance(also, list):
        joined["required"] = [*must, *(name for name in also if name not in must)]
    return joined


def _type(schema: JsonObject) -> str | None:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if isinstance(kind, str):
        return kind
    if "properties" in schema or "required" in schema:
        return "object"
    return "array" if "items" in schema or "prefixItems" in schema else None


def _is_of(value: JsonValue, kind: str | None) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case None:
            return True
        case _:
            return False


def _whole(schema: JsonObject, key: str, default: int) -> int:
    value = schema.get(key)
    return value if isinstance(value, int) else default


def _bound(schema: JsonObject, key: str) -> float | int | None:
    value = schema.get(key)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _distinct(values: list[JsonValue]) -> list[JsonValue]:
    """Tell equal texts and numbers apart, as `uniqueItems` asks."""
    kept: list[JsonValue] = []
    for value in values:
        one = value
        while one in kept and isinstance(one, (str, int, float)) and not isinstance(one, bool):
            one = f"{one} {len(kept) + 1}" if isinstance(one, str) else one + 1
        if one not in kept:
            kept.append(one)
    return kept
