"""Makes random JSON schemas, each together with a value that fits it, so that no draft can say that there is none."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

NAMES = (
    "order_id", "status", "price", "created_at", "is_paid", "tags", "count", "items", "total", "low", "high", "name",
    "currency", "remaining", "error_message", "tracking", "email", "unit_price", "quantity", "meta", "x", "città",
)  # fmt: skip
TEXTS = (
    "", "a", "Lamp", "ORD-4821", "2026-03-02", "naïve 你好", "a longer text with several words in it", "\n\t", "true",
)  # fmt: skip
PATTERNS = (
    ("ABC-1234", r"^[A-Z]{3}-\d{4}$"), ("+4712345678", r"^\+?[1-9]\d{6,14}$"), ("#a0b1c2", r"^#[0-9a-f]{6}$"),
    ("ada@example.com", r"^[\w.+-]+@[\w-]+\.[a-z]{2,}$"), ("2026-03-02", r"^\d{4}-\d{2}-\d{2}$"), ("foo", "^(foo|bar|b[aeiou]z)$"),
    ("E-7", r"^E-\d+$"), ("x y", r"\s"), ("abc123", r"^(?=.*\d)[a-z\d]{6,}$"), ("aa", r"^(\w)\1$"), ("1.2.3", r"^\d+(\.\d+){2}$"),
)  # fmt: skip
FORMATS = (
    ("date", "2026-03-02"), ("date-time", "2026-03-02T10:00:00Z"), ("time", "10:00:00Z"), ("email", "a@example.com"),
    ("uri", "https://example.com/a"), ("uuid", "6f1c2a9e-3b47-4d58-9a10-000000000000"), ("ipv4", "192.0.2.1"), ("ipv6", "::1"),
)  # fmt: skip

Pair = tuple[dict[str, Any], Any]


class Fuzzer:
    """Makes schemas with one generator of chance; the same seed makes the same."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - a repeatable stream is what is asked for

    def pair(self, depth: int = 0) -> Pair:
        """Return a schema and a value that fits it."""
        leaves: list[Callable[[], Pair]] = [self._number, self._text, self._choice, self._plain]
        deep = [self._object, self._object, self._array, self._map]
        schema, value = (
            self.rng.choice(leaves + (deep if depth < 3 else []))() if depth else self.rng.choice(deep)()
        )
        return self._wrapped(schema, value, depth)

    def values(self, depth: int = 0) -> Any:
        """Return any JSON value."""
        rng = self.rng
        simple = [
            None,
            True,
            False,
            rng.randint(-99, 99),
            rng.random() * 100,
            rng.choice(TEXTS),
            10**20,
            -0.0,
        ]
        if depth > 2 or rng.random() < 0.6:
            return rng.choice(simple)
        if rng.random() < 0.5:
            return [self.values(depth + 1) for _ in range(rng.randint(0, 3))]
        return {rng.choice(NAMES): self.values(depth + 1) for _ in range(rng.randint(0, 4))}

    def _maybe(self, schema: dict[str, Any], **more: Any) -> None:
        schema.update({key: value for key, value in more.items() if self.rng.random() < 0.4})

    def _number(self) -> Pair:
        rng = self.rng
        step = rng.choice([1, 2, 5, 7, 0.5, 0.25, 0.01])
        count = rng.randint(-40, 400)
        value = round(count * step, 2)
        whole = isinstance(step, int)
        schema: dict[str, Any] = {"type": "integer" if whole and rng.random() < 0.7 else "number"}
        self._maybe(
            schema, minimum=value - rng.choice([0, 1, 30]), maximum=value + rng.choice([0, 1, 30, 500])
        )
        self._maybe(
            schema,
            exclusiveMinimum=value - rng.choice([0.5, 1, 9]),
            exclusiveMaximum=value + rng.choice([0.5, 3]),
        )
        if (value / step).is_integer():
            self._maybe(schema, multipleOf=step)
        return schema, value

    def _text(self) -> Pair:
        rng = self.rng
        if rng.random() < 0.3:
            value, pattern = rng.choice(PATTERNS)
            return {"type": "string", "pattern": pattern}, value
        if rng.random() < 0.3:
            kind, value = rng.choice(FORMATS)
            return {"type": "string", "format": kind}, value
        value = rng.choice(TEXTS)
        schema: dict[str, Any] = {"type": "string"}
        self._maybe(
            schema, minLength=max(len(value) - rng.randint(0, 5), 0), maxLength=len(value) + rng.randint(0, 9)
        )
        return schema, value

    def _choice(self) -> Pair:
        value = self.values(2)
        if self.rng.random() < 0.3:
            return {"const": value}, value
        return {"enum": [self.values(2), value, self.values(2)]}, value

    def _plain(self) -> Pair:
        pairs: list[Pair] = [
            ({}, 1), ({"type": "boolean"}, True), ({"type": "null"}, None), ({"type": ["null", "string"]}, None),
            ({"not": {"type": "string"}}, 3), ({"not": {"const": True}, "type": "boolean"}, False),
        ]  # fmt: skip
        return self.rng.choice(pairs)

    def _object(self) -> Pair:
        rng = self.rng
        pairs = {rng.choice(NAMES): self.pair(1 + rng.randint(0, 2)) for _ in range(rng.randint(0, 5))}
        there = [name for name in pairs if rng.random() < 0.8]
        value = {name: pairs[name][1] for name in there}
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {name: pair[0] for name, pair in pairs.items()},
        }
        schema["required"] = [name for name in there if rng.random() < 0.7]
        self._maybe(schema, additionalProperties=False, minProperties=len(value) - rng.randint(0, len(value)))
        if len(there) > 1:
            self._maybe(schema, dependentRequired={there[0]: [there[1]]}, maxProperties=len(pairs))
        if rng.random() < 0.1:
            schema["properties"]["extra"] = False
        return schema, value

    def _map(self) -> Pair:
        inner, value = self.pair(3)
        key = self.rng.choice(["A-1", "EUR", "x", "foo_1"])
        schema: dict[str, Any] = {"type": "object", "minProperties": 1}
        if self.rng.random() < 0.5:
            schema["additionalProperties"] = inner
            self._maybe(schema, propertyNames=self.rng.choice([{"maxLength": 8}, {"pattern": "^[A-Za-z]"}]))
        else:
            schema |= {"patternProperties": {"^[A-Za-z]": inner}, "additionalProperties": False}
        return schema, {key: value}

    def _array(self) -> Pair:
        rng = self.rng
        inner, value = self.pair(rng.randint(1, 3))
        values = [value] * rng.randint(0, 3)
        schema: dict[str, Any] = {"type": "array", "items": inner}
        self._maybe(schema, minItems=rng.randint(0, len(values)), maxItems=len(values) + rng.randint(0, 3))
        if len(values) < 2:
            self._maybe(schema, uniqueItems=True)
        if values and rng.random() < 0.15:
            schema["contains"] = inner
        if rng.random() < 0.2:
            head, first = self.pair(3)
            schema, values = {"type": "array", "prefixItems": [head], "items": False, "minItems": 1}, [first]
        return schema, values

    def _wrapped(self, schema: dict[str, Any], value: Any, depth: int) -> Pair:
        rng = self.rng
        draw = rng.random()
        if draw < 0.75:
            return schema, value
        if draw < 0.85:
            other = self.pair(depth + 2)[0] if depth < 2 else {"type": "null"}
            branches = [schema, other]
            rng.shuffle(branches)
            return {"anyOf": branches}, value
        if draw < 0.9 and "type" in schema:
            other = {"type": "null"} if value is not None else {"type": "string"}
            return {"oneOf": [schema, other]}, value
        if draw < 0.94:
            return {"allOf": [schema, {"title": "Both"}, {"description": "of them"}]}, value
        if draw < 0.97 and isinstance(value, dict):
            name = rng.choice(NAMES)
            condition = {"if": {"required": [name]}, "then" if name in value else "else": schema}
            return {"type": "object", **condition}, value
        tree = {"$ref": "#/$defs/Node"} if not depth else schema
        return (tree, {"name": "a", "children": []}) if not depth else (schema, value)


NODE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
    },
    "required": ["name", "children"],
}


def witnessed(seed: int) -> tuple[dict[str, Any], Any, Fuzzer]:
    """Return a schema, a value that fits it, and what goes on to make arguments and answers."""
    fuzzer = Fuzzer(seed)
    schema, value = fuzzer.pair()
    return {**schema, "$defs": {"Node": NODE}}, value, fuzzer
