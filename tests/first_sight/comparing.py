"""Compares drafts with what the tools really returned, and looks where their values come from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import JsonValue

from simulator.environment.evidence.sketch import Hole, Sketch

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def unwrapped(value: JsonValue) -> JsonValue:
    """Return the value without the object in which ADK wraps everything but an object."""
    return value["result"] if isinstance(value, dict) and value.keys() == {"result"} else value


def are_equal(draft: JsonValue, real: JsonValue) -> bool:
    """Return whether two values are the same JSON, types to the letter; the order of keys does not count."""
    one, other = (json.dumps(unwrapped(value), sort_keys=True) for value in (draft, real))
    return one == other


def have_same_shape(draft: JsonValue, real: JsonValue) -> bool:
    """Return whether two values have the same JSON types and keys; of lists the first elements count."""
    return _shape(unwrapped(draft)) == _shape(unwrapped(real))


def _shape(value: JsonValue) -> object:
    if isinstance(value, dict):
        return {key: _shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_shape(one) for one in value[:1]]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "number"
    return type(value).__name__


def leaves(value: JsonValue, path: str = "$") -> Iterator[tuple[str, JsonValue]]:
    """Yield the numbers, texts and truth values in a value, with their paths."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, f"{path}.{key}")
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from leaves(one, f"{path}[{index}]")
    elif value is not None:
        yield path, value


class Known:
    """What the values of a draft may rest on.

    Args:
        written: The constants of the code, and the arguments.
        told: The docstring and the schemas, as text.
        decided: What the code decides, as it was read, and what it really returned.
        declared: The output schema that the tool declares.
    """

    def __init__(
        self, written: Sequence[Any], told: str, decided: Sequence[Sketch], declared: Any = None
    ) -> None:
        self._values = {(type(one), one) for one in written if isinstance(one, (int, float, str, bool))}
        texts = [told, *(one for one in written if isinstance(one, str))]
        self._text = "\n".join(texts).lower()
        self._words = set(re.findall(r"\w+", self._text)) | {str(one).lower() for one in written}
        self._numbers = {float(one) for one in _NUMBER.findall(told)}
        self._numbers |= {float(one) for one in written if type(one) in {int, float} and abs(one) < 1e300}
        self._decided, self._declared = decided, declared

    def holds(self, path: str, value: JsonValue) -> bool:
        """Return whether a value at a path has a source."""
        if any(_at(one, path) == [value] for one in self._decided) or _is_declared(self._declared, path):
            return True
        if isinstance(value, bool):
            return (bool, value) in self._values
        if isinstance(value, (int, float)):
            return float(value) in self._numbers
        return isinstance(value, str) and (
            value.lower() in self._text or set(re.findall(r"\w+", value.lower())) <= self._words
        )


def _at(sketch: Sketch, path: str) -> list[Sketch]:
    """Return what stands at a path, in a list; empty where that is not known."""
    for step in re.findall(r"\.([^.\[]+)|\[(\d+)\]", path):
        key, index = step
        if key and isinstance(sketch, dict) and key in sketch:
            sketch = sketch[key]
        elif index and isinstance(sketch, list) and int(index) < len(sketch):
            sketch = sketch[int(index)]
        elif path.startswith("$.result") and key == "result":
            continue
        else:
            return []
    return [] if isinstance(sketch, (Hole, dict, list)) else [sketch]


def _is_declared(schema: Any, path: str) -> bool:
    """Return whether a declared output schema names the field at a path."""
    for key, _ in re.findall(r"\.([^.\[]+)|\[(\d+)\]", path):
        if not isinstance(schema, dict):
            return False
        schema = schema.get("properties", {}).get(key) if key else schema.get("items")
    return isinstance(schema, dict) and path != "$" and "type" in schema


def is_marked(path: str, blanks: Sequence[str]) -> bool:
    """Return whether a path, or what it stands in, is marked as blank."""
    return any(path == blank or path.startswith((f"{blank}.", f"{blank}[")) for blank in blanks)
