"""Makes a value that fits a JSON schema, with plausible contents where the schema leaves a choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from simulator.environment import plausible
from simulator.environment.plausible import Chance
from simulator.jsonvalue import JsonObject

_MOST_DEPTH = 8
_FEW = 2
"""How many items a list gets where its schema does not say."""


def instance(schema: JsonObject, chance: Chance, known: Mapping[str, JsonValue], name: str = "") -> JsonValue:
    """Make a value that fits a schema as `normalise` gives it.

    Args:
        schema: The schema. Where it asks for what this cannot make (a rare pattern), the value may miss it; whoever
            needs to be sure checks it.
        chance: Decides between values that fit.
        known: Values by field name, used wherever a field of that name may take them.
        name: What the value itself is called.
    """
    return _Maker(schema, chance, known).value(schema, name, 0)


class _Maker:
    def __init__(self, root: JsonObject, chance: Chance, known: Mapping[str, JsonValue]) -> None:
        self._root = root
        self._chance = chance
        self._known = known

    def value(self, schema: JsonValue, name: str, depth: int) -> JsonValue:  # noqa: PLR0911 - one per keyword
        if not isinstance(schema, dict):
            return plausible.by_name(name, self._chance)
        whole = _merged(self._resolved(schema))
        if "const" in whole:
            return whole["const"]
        choices = whole.get("enum")
        known = self._known.get(name)
        if isinstance(choices, list) and choices:
            return known if name in self._known and known in choices else self._best(name, choices)
        if name in self._known and _is_of(known, _type(whole)) and not isinstance(known, (dict, list)):
            return known
        for key in ("anyOf", "oneOf"):
            branches = whole.get(key)
            if isinstance(branches, list) and branches:
                rest = {word: value for word, value in whole.items() if word != key}
                return self.value(_joined(rest, self._first(branches, depth)), name, depth)
        examples = whole.get("examples")
        if isinstance(examples, list) and examples:
            return self._chance.choice(name, examples)
        return self._of_type(whole, name, depth)

    def _best(self, name: str, choices: list[JsonValue]) -> JsonValue:
        """Prefer the choice that says that all went well."""
        for good in ("success", "ok", "completed", "confirmed", "active"):
            if good in choices:
                return good
        full = [choice for choice in choices if choice is not None] or choices
        return self._chance.choice(name, full)

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
                return self._object(schema, depth)
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

    def _object(self, schema: JsonObject, depth: int) -> JsonValue:
        properties = schema.get("properties")
        fields = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        wanted = [one for one in required if isinstance(one, str)] if isinstance(required, list) else []
        names = [*fields, *(one for one in wanted if one not in fields)] if depth < _MOST_DEPTH else wanted
        open_ended = schema.get("additionalProperties", True)
        return {one: self.value(fields.get(one, open_ended), one, depth + 1) for one in names}

    def _array(self, schema: JsonObject, name: str, depth: int) -> JsonValue:
        first = schema.get("prefixItems")
        fixed = first if isinstance(first, list) else []
        items = schema.get("items", not fixed)
        least, most = _whole(schema, "minItems", 0), _whole(schema, "maxItems", 1_000)
        count = 0 if depth >= _MOST_DEPTH or items is False else max(_FEW - len(fixed), 0)
        count = min(max(count, least - len(fixed)), max(most - len(fixed), 0))
        singular = name[:-1] if name.endswith("s") and len(name) > 1 else name
        values = [self.value(one, singular, depth + 1) for one in fixed[:most]]
        for index in range(count):
            maker = _Maker(self._root, Chance(str(self._chance.number(f"{name}:{index}", 2**31))), {})
            values.append(maker.value(items, singular, depth + 1))
        return _distinct(values) if schema.get("uniqueItems") is True else values

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
                return plausible.text(name, chance)

    def _number(self, schema: JsonObject, name: str, *, whole: bool) -> float | int:
        made = plausible.number(name, self._chance, whole=whole)
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
