"""Reads JSON text in C, and looks up where something stands only when that is asked for, which is when something is wrong."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn

_TOO_DEEP = "nested too deeply"
_LEVELS = 200
"""So many levels are read anywhere; more is refused here or later."""

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"?|-?(?:NaN|Infinity)|-?[0-9]+|[\[\]{}]', re.DOTALL)


class JsonTextError(ValueError):
    """A text is no JSON.

    Attributes:
        reason: What is wrong.
        line: Where, counted from 1.
        column: Where in the line, counted from 1.
    """

    def __init__(self, reason: str, line: int, column: int) -> None:
        super().__init__(f"{reason} at line {line}, column {column}")
        self.reason, self.line, self.column = reason, line, column


class JsonSyntaxError(JsonTextError):
    """A text is not written as JSON; it may be something else."""


def read_json(
    text: str,
    *,
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
    constants: bool = False,
) -> Any:
    """Read JSON.

    Args:
        text: The text; a byte order mark before it is left out.
        pairs: Makes an object of its members.
        constants: Let NaN and Infinity pass, which JSON cannot represent.

    Raises:
        JsonTextError: It is no JSON, is nested too deeply, or holds a number of more digits than Python reads.
    """
    text = text.removeprefix("\ufeff")
    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=None if constants else _no_constant)
    except json.JSONDecodeError as error:
        raise JsonSyntaxError(error.msg, error.lineno, error.colno) from None
    except RecursionError:
        raise JsonTextError(_TOO_DEEP, *line_and_column(text, _deepest(text) or 0)) from None
    except _ConstantError as error:
        word = str(error)
        offset = _first(text, lambda token: token == word)
        raise JsonTextError(f"{word} is not a JSON number", *line_and_column(text, offset or 0)) from None
    except JsonTextError:
        raise
    except ValueError as error:
        most = sys.get_int_max_str_digits()
        offset = _first(text, lambda token: token[-1:].isdigit() and len(token.lstrip("-")) > most)
        if offset is None:
            raise
        digits = len(_TOKENS.match(text, offset).group().lstrip("-"))  # type: ignore[union-attr] # it was found so
        reason = f"a number has {digits:,} digits; the limit is {most:,}"
        raise JsonTextError(reason, *line_and_column(text, offset)) from error


class _ConstantError(ValueError):
    pass


def _no_constant(word: str) -> NoReturn:
    raise _ConstantError(word)


def _first(text: str, wanted: Callable[[str], bool]) -> int | None:
    """Return where the first token stands that is wanted; texts are none."""
    found = (each.start() for each in _TOKENS.finditer(text) if text[each.start()] != '"' and wanted(each[0]))
    return next(found, None)


def _deepest(text: str) -> int | None:
    """Return where the bracket stands that is one too many."""
    depth = 0
    for token in _TOKENS.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth > _LEVELS:
                return token.start()
        elif token[0] in "]}":
            depth -= 1
    return None


def line_and_column(text: str, at: int) -> tuple[int, int]:
    """Return the line and the column of a character, both from 1; `simulator.base.json_places` knows those of many."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
