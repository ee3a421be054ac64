"""Reads JSON text in C, and looks up where something stands only when that is asked for, which is when something is wrong."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from json.decoder import scanstring  # type: ignore[attr-defined] # its stubs leave it out
from typing import Any, NamedTuple, NoReturn

_TOO_DEEP = "it is nested too deeply"
_LEVELS = 200
"""So many levels are read anywhere; more is refused here or later."""

_SPACE = re.compile(r"[ \t\n\r]*")
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"?|-?(?:NaN|Infinity)|-?[0-9]+|[\[\]{}]', re.DOTALL)
_DECODER = json.JSONDecoder()


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
        raise JsonTextError(_TOO_DEEP, *_place(text, _deepest(text))) from None
    except _ConstantError as error:
        word = str(error)
        offset = _first(text, lambda token: token == word)
        raise JsonTextError(f"{word} is no JSON number", *_place(text, offset)) from None
    except JsonTextError:
        raise
    except ValueError as error:
        most = sys.get_int_max_str_digits()
        offset = _first(text, lambda token: token[-1:].isdigit() and len(token.lstrip("-")) > most)
        if offset is None:
            raise
        digits = len(_TOKENS.match(text, offset).group().lstrip("-"))  # type: ignore[union-attr] # it was found so
        reason = f"a number has {digits:,} digits; {most:,} are the most"
        raise JsonTextError(reason, *_place(text, offset)) from error


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


def _place(text: str, offset: int | None) -> tuple[int, int]:
    at = offset or 0
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


class _Member(NamedTuple):
    name_at: int
    value_at: int


class JsonPlaces:
    """Where the values of a JSON text stand. What lies beside the way is skipped in C, and looked through once.

    Args:
        text: It can be read.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[int, list[_Member] | dict[str, _Member]] = {}

    def line(self, place: Iterable[str | int]) -> int:
        """Return the line, counted from 1, of what stands at a place; of a member that of its name.

        Steps that are not there are left out.

        Raises:
            ValueError: The text is no JSON.
        """
        at = found = self._skip(0)
        for step in place:
            inside = self._inside(at)
            member: _Member | None = None
            if isinstance(inside, list) and isinstance(step, int) and 0 <= step < len(inside):
                member = inside[step]
            elif isinstance(inside, dict) and isinstance(step, str):
                member = inside.get(step)
            if member is not None:
                found, at = member
        return self._text.count("\n", 0, found) + 1

    def _skip(self, at: int) -> int:
        return _SPACE.match(self._text, at).end()  # type: ignore[union-attr] # it matches nothing too

    def _inside(self, at: int) -> list[_Member] | dict[str, _Member]:
        known = self._known.get(at)
        if known is None:
            opening = self._text[at : at + 1]
            known = self._known[at] = (
                self._object(at) if opening == "{" else self._list(at) if opening == "[" else []
            )
        return known

    def _list(self, at: int) -> list[_Member]:
        found: list[_Member] = []
        at = self._skip(at + 1)
        while self._text[at : at + 1] not in {"]", ""}:
            found.append(_Member(at, at))
            at = self._after(at)
        return found

    def _object(self, at: int) -> dict[str, _Member]:
        found: dict[str, _Member] = {}
        at = self._skip(at + 1)
        while self._text[at : at + 1] == '"':
            name, end = scanstring(self._text, at + 1)
            value_at = self._skip(self._skip(end) + 1)
            found.setdefault(name, _Member(at, value_at))
            at = self._after(value_at)
        return found

    def _after(self, at: int) -> int:
        """Return where the next entry begins, or the bracket that closes."""
        _, end = _DECODER.raw_decode(self._text, at)
        end = self._skip(end)
        return self._skip(end + 1) if self._text[end : end + 1] == "," else end
