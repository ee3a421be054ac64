"""Fills in texts as `str.format` does. No value is handed to Python's own `format`, which reads attributes of whatever it is given."""

from __future__ import annotations

import ast
import itertools
import string
from _string import (  # type: ignore[import-not-found] # Python's own, without a stub: `string.Formatter` reads fields with it
    formatter_field_name_split,
)
from collections.abc import Mapping, Sequence
from typing import Any

from simulator.environment.evidence.expression_evaluation import as_text, attribute, item, joined, native
from simulator.environment.evidence.program_run import ProgramRun
from simulator.environment.evidence.unknown_values import ProgramException, TouchedError

_CONVERSIONS: Mapping[str | None, int] = {None: -1, "s": 115, "r": 114, "a": 97}


def formatted(
    run: ProgramRun, text: str, args: Sequence[Any], keywords: Mapping[str, Any], node: ast.AST
) -> Any:
    """Return what `text.format(*args, **keywords)` gives; attributes and items are those that the program would see.

    Raises:
        TouchedError: It is written in a way that is not followed.
    """
    line, numbers = getattr(node, "lineno", 0), itertools.count()
    given: dict[int | str, Any] = dict(enumerate(args)) | dict(keywords)
    numbered = set[bool]()

    def value_of(field: str) -> Any:
        first, rest = formatter_field_name_split(field)
        if isinstance(first, int) or not first:
            numbered.add(first == "")
            first = next(numbers) if first == "" else first
        if len(numbered) > 1:
            raise TouchedError
        if first not in given:
            message = f"Replacement index {first} out of range for positional args tuple"
            is_name = isinstance(first, str)
            raise ProgramException(
                KeyError if is_name else IndexError, (first if is_name else message,), line
            )
        value = given[first]
        for is_attribute, name in rest:
            value = attribute(run, value, name, node) if is_attribute else item(run, value, name, node)
        return value

    def filled(part: str, levels: int) -> Any:
        if levels < 0:
            raise TouchedError
        made: list[Any] = []
        for literal, field, spec, conversion in native(run, list, string.Formatter().parse(part), line=line):
            made.append(literal)
            if field is not None:
                if conversion not in _CONVERSIONS:
                    raise TouchedError
                value = native(run, value_of, field, line=line)
                inner = filled(spec, levels - 1) if spec else ""
                made.append(as_text(run, value, inner, _CONVERSIONS[conversion], node))
        return joined(run, made)

    return filled(text, 1)
