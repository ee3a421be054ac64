"""Reads JSON text in C, and looks up where something stands only when that is asked for, which is when something is wrong."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from simulator.base.json_values import is_deep
from simulator.base.validation_words import InputError

_TOO_DEEP = "nested too deeply"
MOST_LEVELS = 240
"""So many levels are read anywhere; more is refused. A journal holds values of up to 200 levels, within some of its own."""

MOST_CHARACTERS = 64 << 20
"""As many as an upload has bytes."""
MOST_VALUES = 2_000_000
"""Of one text. What Python makes of a value takes up to 300 bytes, however short it is written."""

_STRINGS = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"?|-?(?:NaN|Infinity)|-?[0-9]+|[\[\]{}]', re.DOTALL)


class JsonTextError(InputError):
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


class JsonSizeError(JsonTextError):
    """A text is too long, or holds too many values; whether it is JSON was not looked at."""


def read_json(
    text: str,
    *,
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
    constants: bool = False,
    most: int = MOST_CHARACTERS,
) -> Any:
    """Read JSON. What is too large is refused before it is parsed.

    Args:
        text: The text; a byte order mark before it is left out.
        pairs: Makes an object of its members.
        constants: Let NaN and Infinity pass, which JSON cannot represent.
        most: The longest text that is read, in characters.

    Raises:
        JsonTextError: It is no JSON, is too long, holds more than `MOST_VALUES`, is nested too deeply, or holds a number of more
            digits than Python reads.
    """
    text = text.removeprefix("\ufeff")
    if len(text) > most:
        raise JsonSizeError(f"the text has {len(text):,} characters; the limit is {most:,}", 1, 1)
    check_values(text)
    value = _read(text, pairs=pairs, constants=constants)
    if is_deep(value, MOST_LEVELS):
        raise JsonTextError(_TOO_DEEP, *line_and_column(text, _deepest(text) or 0))
    return value


def check_values(text: str, start: int = 0, most: int = MOST_VALUES) -> None:
    """Check how many values a text in JSON holds, from a place on; one with few commas and brackets is not looked through.

    Raises:
        JsonSizeError: There are more than `most`.
    """
    if sum(text.count(sign, start) for sign in ",[{") <= most:
        return
    bare = _STRINGS.sub("", text[start:] if start else text)
    if (found := sum(bare.count(sign) for sign in ",[{")) > most:
        raise JsonSizeError(
            f"the text has {found:,} values; the limit is {most:,}", *line_and_column(text, start)
        )


def _read(text: str, *, pairs: Callable[[list[tuple[str, Any]]], Any] | None, constants: bool) -> Any:
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
            if depth > MOST_LEVELS:
                return token.start()
        elif token[0] in "]}":
            depth -= 1
    return None


def line_and_column(text: str, at: int) -> tuple[int, int]:
    """Return the line and the column of a character, both from 1; `simulator.base.json_places` knows those of many."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
