"""Reads JSON that a person typed, and says where it is wrong; writes JSON for a person to read and edit."""

from __future__ import annotations

import json
import math
import re
from typing import NoReturn

from pydantic import JsonValue

from app.forms.safe_labels import DIRECTIONS
from simulator.base import json_text
from simulator.base.json_values import same

_ONE_LINE = 72
_EXPECTED = {
    "Expecting ',' delimiter": "expected a comma, or the end of the object or list",
    "Expecting ':' delimiter": "expected a colon after the field's name",
    "Expecting property name enclosed in double quotes": "expected a field name in double quotes",
}
_JSON_STARTS = '{["'
_ZERO_FIRST = re.compile(r"-?0[0-9]")
"""No number begins so in JSON; a postal code does."""
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_TYPED_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]')
"""What is needed to find the keys of a text that is JSON so far: its strings, and where objects begin and end."""


class TypedJsonError(ValueError):
    """A typed text is not JSON.

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
    """Read a JSON value, strictly: no NaN, no infinity, no half character, no key twice in one object.

    Raises:
        TypedJsonError: The text is no JSON; the error says where.
    """
    if not text.strip():
        raise TypedJsonError('this is empty; enter a JSON value, for example {} or "done"', 1, 1)
    try:
        json_text.check_values(text)
        value: JsonValue = json.loads(
            text,
            parse_constant=lambda word: _refuse(text, word, "JSON cannot represent NaN or Infinity"),
            parse_float=lambda word: _finite(text, word),
            object_pairs_hook=lambda pairs: _each_key_once(text, pairs),
        )
    except json.JSONDecodeError as error:
        raise TypedJsonError(_reworded(error), error.lineno, error.colno) from error
    except TypedJsonError:
        raise
    except json_text.JsonSizeError as error:
        raise TypedJsonError(error.reason, error.line, error.column) from error
    except (RecursionError, ValueError) as error:  # nested too deeply, or a number of too many digits
        raise _placed(text) from error
    _refuse_half_characters(value)
    return value


def parse_any(text: str, *, is_text: bool = False) -> JsonValue:
    """Read a value of which nobody has said what it is: JSON, or else plain words, as people write a number of a policy or a name.

    Words that are known to be a text (`is_text`) are one, also where they are figures; what begins like JSON is read as such.

    Raises:
        TypedJsonError: The text begins like JSON, or is a number that JSON cannot hold; the error says where it is wrong.
    """
    words = text.strip()
    is_words = bool(words) and words[0] not in _JSON_STARTS
    if not (is_text and is_words):
        try:
            return parse_json(text)
        except TypedJsonError:
            if not is_words or (_NUMBER.fullmatch(words) and not _ZERO_FIRST.match(words)):
                raise
    _refuse_half_characters(words)
    return words


def reads_as(text: str, *, is_text: bool = False) -> str:
    """Name the kind of value that `parse_any` reads, where it is a simple one; empty for others, and where there is none."""
    try:
        value = parse_any(text, is_text=is_text)
    except TypedJsonError:
        return ""
    if isinstance(value, bool):
        return "true or false"
    return {str: "text", int: "number", float: "number", type(None): "null"}.get(type(value), "")


def parse_number(text: str) -> int | float | None:
    """Read a number as people write it, with a point: `300`, `+0.5`, `007`; None where the text is none, as `300,00` or `1_000` are."""
    words = text.strip()
    if not _TYPED_NUMBER.fullmatch(words):
        return None
    try:
        number = float(words)
        return int(words) if words.lstrip("+-").isdigit() else number if math.isfinite(number) else None
    except ValueError:  # of too many digits
        return None


def write_any(value: JsonValue) -> str:
    """Write a value so that `parse_any` gives it back, of a text if it is told so: words as they are, unless they begin like JSON."""
    if not isinstance(value, str) or value.translate(DIRECTIONS) != value:
        return write_json(value)
    try:
        return value if same(parse_any(value, is_text=True), value) else write_json(value)
    except TypedJsonError:
        return write_json(value)


def _placed(text: str) -> TypedJsonError:
    """Look up what is wrong with a text that is written as JSON and cannot be read all the same."""
    try:
        json_text.read_json(text, constants=True)
    except json_text.JsonTextError as error:
        return TypedJsonError(error.reason, error.line, error.column)
    return TypedJsonError("this JSON cannot be read", 1, 1)


def parse_object(text: str) -> dict[str, JsonValue]:
    """Read a JSON object; an empty text is an empty object.

    Raises:
        TypedJsonError: The text is no JSON, or no object.
    """
    if not text.strip():
        return {}
    value = parse_json(text)
    if not isinstance(value, dict):
        raise TypedJsonError('expected a JSON object, for example {"name": "value"}', 1, 1)
    return value


def write_json(value: JsonValue) -> str:
    """Write a value over several lines, for editing.

    What UTF-8 cannot hold is written as an escape, and what would turn the direction of the text after it.
    """
    text = _escaped(json.dumps(value, indent=2, ensure_ascii=False))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=2)
    return text


def show_json(value: JsonValue) -> str:
    """Write a value to look at: in one line where it is short."""
    line = _escaped(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode())
    return line if len(line) <= _ONE_LINE else write_json(value)


def _escaped(text: str) -> str:
    """Escape what turns the direction of a text; in JSON it can only stand in a string, which means the same then."""
    return text.translate(DIRECTIONS)


def _each_key_once(text: str, pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(pairs)
    if len(value) < len(pairs):
        message = "duplicate key in an object; only one of the two values would be used"
        raise TypedJsonError(message, *json_text.line_and_column(text, _second_key(text)))
    return value


def _second_key(text: str) -> int:
    """Find the first key that its object holds already, in a text that is JSON up to the end of that object."""
    inside: list[set[str] | None] = []
    awaits_key = False
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "{" | "[":
                inside.append(set() if token[0] == "{" else None)
                awaits_key = token[0] == "{"
            case "}" | "]":
                inside.pop()
            case ",":
                awaits_key = bool(inside) and inside[-1] is not None
            case word if awaits_key and inside and (keys := inside[-1]) is not None:
                key = json.loads(word)
                if key in keys:
                    return token.start()
                keys.add(key)
                awaits_key = False
            case _:
                pass
    return 0


def _reworded(error: json.JSONDecodeError) -> str:
    rest = error.doc[error.pos :].lstrip()
    if rest.startswith("'"):
        return "JSON strings need double quotes"
    if re.match(r"(True|False|None)\b", rest):
        return "JSON needs true, false and null in lowercase"
    if error.msg == "Extra data":
        return "unexpected text after the end of the value"
    if error.pos == 0 and error.msg == "Expecting value":
        return "this is not a JSON value; a string needs double quotes"
    if error.msg == "Expecting value":
        return "expected a value: a string in double quotes, a number, true, false, null, [ or {"
    return _EXPECTED.get(error.msg, error.msg[:1].lower() + error.msg[1:])


def _finite(text: str, word: str) -> float:
    number = float(word)
    return number if math.isfinite(number) else _refuse(text, word, "the number is too large")


def _refuse(text: str, word: str, message: str) -> NoReturn:
    found = re.search(rf"(?<![\w\"]){re.escape(word)}(?![\w\"])", text)
    raise TypedJsonError(message, *json_text.line_and_column(text, found.start() if found else 0))


def _refuse_half_characters(value: JsonValue) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise TypedJsonError("an escape is half a character (a lone surrogate)", 1, 1) from error
