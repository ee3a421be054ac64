"""Fills in texts as `str.format` does. No value is handed to Python's own `format`, which reads attributes of whatever it is given."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from simulator.environment.evidence.expression_evaluation import as_text, attribute, item, joined, native
from simulator.environment.evidence.program_run import ProgramRun
from simulator.environment.evidence.unknown_values import ProgramException, TouchedError

_FIRST = re.compile(r"[^.\[]*")
_STEP = re.compile(r"\.([^.\[]+)|\[([^\]]+)\]")
_CONVERSIONS: Mapping[str | None, int] = {None: -1, "s": 115, "r": 114, "a": 97}
_LONGEST_PLACE = 9


class _Fields:
    """The values that a text may name."""

    def __init__(
        self, run: ProgramRun, args: Sequence[Any], keywords: Mapping[str, Any], node: ast.AST
    ) -> None:
        self._run, self._args, self._keywords, self._node = run, args, keywords, node
        self._line = getattr(node, "lineno", 0)
        self._next = 0
        self._is_numbered = False

    def filled(self, text: str, *, is_spec: bool = False) -> Any:
        """Return a text with its fields filled in, or the spec of one of its fields."""
        parts: list[Any] = []
        for literal, field, spec, conversion in native(
            self._run, list, string.Formatter().parse(text), line=self._line
        ):
            parts.append(literal)
            if field is None:
                continue
            if conversion not in _CONVERSIONS or (is_spec and spec and "{" in spec):
                raise TouchedError
            value = self._value(field)
            inner = self.filled(spec, is_spec=True) if spec else ""
            parts.append(as_text(self._run, value, inner, _CONVERSIONS[conversion], self._node))
        return joined(self._run, parts)

    def _value(self, field: str) -> Any:
        first = _FIRST.match(field)
        end = 0 if first is None else first.end()
        value = self._named(field[:end])
        while end < len(field):
            step = _STEP.match(field, end)
            if step is None:
                raise TouchedError
            end = step.end()
            if step[1] is not None:
                value = attribute(self._run, value, step[1], self._node)
            else:
                value = item(self._run, value, _place(step[2]), self._node)
        return value

    def _named(self, name: str) -> Any:
        if name and not name.isdecimal():
            if name not in self._keywords:
                raise ProgramException(KeyError, (name,), self._line)
            return self._keywords[name]
        if bool(name) is not self._is_numbered and (self._is_numbered or self._next):
            raise TouchedError
        self._is_numbered = bool(name)
        place = _place(name) if name else self._next
        self._next += not name
        if not isinstance(place, int) or place >= len(self._args):
            message = f"Replacement index {place} out of range for positional args tuple"
            raise ProgramException(IndexError, (message,), self._line)
        return self._args[place]


def _place(text: str) -> int | str:
    return int(text) if text.isdecimal() and len(text) <= _LONGEST_PLACE else text


def formatted(
    run: ProgramRun, text: str, args: Sequence[Any], keywords: Mapping[str, Any], node: ast.AST
) -> Any:
    """Return what `text.format(*args, **keywords)` gives; attributes and items are those that the program would see.

    Raises:
        TouchedError: It is written in a way that is not followed.
    """
    return _Fields(run, args, keywords, node).filled(text)
