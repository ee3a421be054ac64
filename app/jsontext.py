"""Reads JSON that a person typed, and says where it is wrong; writes JSON for a person to read and edit."""

from __future__ import annotations

import json
import math
import re
from typing import NoReturn

from pydantic import JsonValue

_ONE_LINE = 72


class JsonTextError(ValueError):
    """A text is no JSON.

    Attributes:
        message: What is wrong, without any of the text itself.
        line: The line of the mistake, from 1.
        column: The column of the mistake, from 1.
    """

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"Line {line}, column {column}: {message}")
        self.message = message
        self.line = line
        self.column = column


def parse_json(text: str) -> JsonValue:
    """Read a JSON value, strictly: no NaN, no infinity, no half character.

    Raises:
        JsonTextError: The text is no JSON; the error says where.
    """
    if not text.strip():
        raise JsonTextError('there is nothing here; write a JSON value, for example {} or "done"', 1, 1)
    try:
        value: JsonValue = json.loads(
            text,
            parse_constant=lambda word: _refuse(text, word, "JSON has no such number"),
            parse_float=lambda word: _finite(text, word),
        )
    except json.JSONDecodeError as error:
        raise JsonTextError(_reworded(error), error.lineno, error.colno) from error
    except RecursionError as error:
        raise JsonTextError("nested too deeply", 1, 1) from error
    except JsonTextError:
        raise
    except ValueError as error:
        raise JsonTextError("a number has too many digits", 1, 1) from error
    _refuse_half_characters(value)
    return value


def parse_object(text: str) -> dict[str, JsonValue]:
    """Read a JSON object; an empty text is an empty object.

    Raises:
        JsonTextError: The text is no JSON, or no object.
    """
    if not text.strip():
        return {}
    value = parse_json(text)
    if not isinstance(value, dict):
        raise JsonTextError('a JSON object is needed here, for example {"name": "value"}', 1, 1)
    return value


def write_json(value: JsonValue) -> str:
    """Write a value over several lines, for editing; what UTF-8 cannot hold is written as an escape."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=2)
    return text


def show_json(value: JsonValue) -> str:
    """Write a value to look at: in one line where it is short."""
    line = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
    return line if len(line) <= _ONE_LINE else write_json(value)


def _reworded(error: json.JSONDecodeError) -> str:
    rest = error.doc[error.pos :].lstrip()
    if rest.startswith("'"):
        return "JSON writes texts in double quotes"
    if re.match(r"(True|False|None)\b", rest):
        return "JSON writes true, false and null in small letters"
    if error.msg == "Extra data":
        return "something follows after the end of the value"
    if error.pos == 0 and error.msg == "Expecting value":
        return "this is no JSON value; a text stands in double quotes"
    if error.msg == "Expecting value":
        return "a value is expected here: a text in double quotes, a number, true, false, null, [ or {"
    return error.msg[:1].lower() + error.msg[1:]


def _finite(text: str, word: str) -> float:
    number = float(word)
    return number if math.isfinite(number) else _refuse(text, word, "the number is too large")


def _refuse(text: str, word: str, message: str) -> NoReturn:
    found = re.search(rf"(?<![\w\"]){re.escape(word)}(?![\w\"])", text)
    before = text[: found.start()] if found else ""
    raise JsonTextError(message, before.count("\n") + 1, len(before) - before.rfind("\n"))


def _refuse_half_characters(value: JsonValue) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise JsonTextError("an escape stands for half a character (a lone surrogate)", 1, 1) from error
