"""Reads and writes JSON values as JSON or YAML text, so that each of the two says the same."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import yaml
from pydantic import JsonValue

from simulator.base.json_places import JsonPlaces
from simulator.base.json_text import JsonSyntaxError, JsonTextError, read_json
from simulator.base.json_values import NotJsonError, taken
from simulator.base.yaml_text import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    NULL,
    YamlPosition,
    YamlTextError,
    located,
    read_yaml,
)

_MOST_CHARACTERS = 20_000_000
_CORE = "tag:yaml.org,2002:"
_ODD_BREAKS = frozenset("\x85\u2028\u2029\ufeff")
"""What PyYAML takes for the end of a line, or leaves out, where it is not escaped."""


class DocumentError(ValueError):
    """A text cannot be read as a JSON value; says what is wrong, and in which line."""


def read_document(text: str) -> JsonValue:
    """Read JSON, or else YAML without its surprises: `no` is a text, `2024-01-01` too, and there are no aliases.

    Raises:
        DocumentError: It is neither, names a field twice, or holds what JSON has no word for.
    """
    if len(text) > _MOST_CHARACTERS:
        raise DocumentError(f"the text has {len(text):,} characters; the limit is {_MOST_CHARACTERS:,}")
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise DocumentError("the text is empty")
    try:
        value: JsonValue = taken(_read(text))
    except NotJsonError as error:
        raise DocumentError(f"the text is {error}") from error
    except RecursionError as error:
        raise DocumentError("the text is nested too deeply") from error
    return value


class Located:
    """A text that `read_document` can read, in which lines are looked for; it is gone through once.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        text = text.removeprefix("\ufeff")
        self._json = JsonPlaces(text) if text.lstrip()[:1] in {"{", "["} else None
        self._text = text

    def line(self, place: Iterable[str | int]) -> int | None:
        """Return the line, counted from 1, of what stands at a place.

        Steps that are not there are left out, as a checker's own names for the kinds of values are. None where the text
        cannot be read so.
        """
        steps = tuple(place)
        if self._json is not None:
            try:
                return self._json.line(steps)
            except (ValueError, RecursionError):  # it is the short form of YAML
                self._json = None
        node = self._root
        if node is None:
            return None
        for step in steps:
            node = node.at(step) or node
        return node.line

    @cached_property
    def _root(self) -> YamlPosition | None:
        try:
            return located(self._text)
        except YamlTextError:
            return None


def line_of(text: str, place: Iterable[str | int]) -> int | None:
    """Return the line of one place, as `Located.line`."""
    return Located(text).line(place)


def write_json(value: JsonValue) -> str:
    """Write JSON for people: indented, with a line break at the end."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_yaml(value: JsonValue) -> str:
    """Write YAML that every YAML reader takes for the same."""
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100))


def _read(text: str) -> Any:
    match text.lstrip()[0]:
        case "{" | "[":
            return _json(text)
        case '"':  # a text alone, or YAML that begins with a quoted name
            with contextlib.suppress(JsonTextError):
                return read_json(text)
    return _yaml(text)


def _json(text: str) -> Any:
    """Read JSON, or else the short form of YAML, which looks alike."""
    try:
        return read_json(text, pairs=_once)
    except JsonSyntaxError as error:
        try:
            return _yaml(text)
        except DocumentError:
            place = f"line {error.line}, column {error.column}"
            raise DocumentError(f"invalid JSON: {error.reason} at {place}") from error
    except JsonTextError as error:
        raise DocumentError(str(error)) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise DocumentError(f"the field {twice!r} appears twice in one object")
    return read


def _yaml(text: str) -> Any:
    try:
        return read_yaml(text)
    except YamlTextError as error:
        raise DocumentError(f"invalid YAML: {error}") from error


class _Dumper(yaml.SafeDumper):
    """Quotes each text that a reader of YAML 1.1 or 1.2 would take for something else, and writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write a value that stands in two places twice."""
        del data
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = '"' if _ODD_BREAKS & set(text) else None
    return dumper.represent_scalar(f"{_CORE}str", text, style=style)


_Dumper.add_representer(str, _text)


for _kind, _pattern, _starts in (
    ("bool", BOOLEAN, "tTfF"),
    ("null", NULL, "~nN\0"),
    ("int", INTEGER, "-+0123456789"),
    ("float", FLOAT, "-+.0123456789"),
):
    _first = [start if start != "\0" else "" for start in _starts]
    _Dumper.add_implicit_resolver(f"{_CORE}{_kind}", re.compile(f"^(?:{_pattern.pattern})$"), _first)
