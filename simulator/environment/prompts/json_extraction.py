"""Reads the JSON that a model was asked for out of what it said, or says in words what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from simulator.base.frozen_value import FiniteValue
from simulator.base.json_values import Json, NotJsonError, canonical, taken
from simulator.environment.prompts.provider_schemas import AnswerSchema
from simulator.environment.schema.schema_checks import check, in_words
from simulator.environment.schema.schema_plans import RESULT, is_error_beside

MOST_CHARACTERS = 400_000
"""A longer text is not read: no tool's answer is as long as that."""

_FENCE = re.compile(r"```[ \t]*[\w+-]*[ \t]*\r?\n(.*?)```", re.DOTALL)
_OPEN_FENCE = re.compile(r"\A```[ \t]*[\w+-]*[ \t]*\r?\n")
_THOUGHT = re.compile(r"\A\s*<(think|thinking)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_BRACES = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
_LIKE_JSON = re.compile(r"""\{\s*["'{}]""")
_MOST_STARTS = 200
_MOST_PROBLEMS = 12


class ReadAnswer(FiniteValue):
    """What a model said, read: `value` stands where there are no `problems`, each a sentence about the text."""

    value: Json = None
    problems: tuple[str, ...] = ()


class _NoAnswerError(ValueError):
    """A text holds no JSON value that could be the answer; the text of the error says why."""


def read_answer(text: str, schema: AnswerSchema) -> ReadAnswer:
    """Read an answer: bare JSON, JSON in a code fence, or one JSON object with prose around it. Never raises.

    Thoughts in `<think>` tags before the answer are dropped. JSON that is not quite JSON (a trailing comma, a
    comment, NaN) is a problem and is not repaired. Of several objects, the one that fits the schema is the answer, if it
    is one only. Where the tool may fail, an error is an answer, too.
    """
    try:
        value = _one_value(text, schema)
    except _NoAnswerError as error:
        return ReadAnswer(problems=(str(error),))
    problems = () if _is_error(value, schema) else _problems(value, schema)
    return ReadAnswer(problems=problems) if problems else ReadAnswer(value=_unwrapped(value, schema))


def _problems(value: Any, schema: AnswerSchema) -> tuple[str, ...]:
    if schema.value is None:
        return ()
    return in_words(check(_unwrapped(value, schema), schema.value), _MOST_PROBLEMS)


def _is_error(value: Any, schema: AnswerSchema) -> bool:
    own = _unwrapped(value, schema)
    return schema.may_fail and schema.value is not None and is_error_beside(own, schema.value)


def _unwrapped(value: Any, schema: AnswerSchema) -> Any:
    if schema.wrapped and isinstance(value, dict) and value.keys() == {RESULT}:
        return value[RESULT]
    return value


def _one_value(text: str, schema: AnswerSchema) -> Any:
    if len(text) > MOST_CHARACTERS:
        raise _NoAnswerError(f"the answer is {len(text):,} characters long, more than {MOST_CHARACTERS:,}")
    said = _THOUGHT.sub("", text.lstrip("\ufeff")).strip()
    if not said:
        raise _NoAnswerError("the answer is empty")
    try:
        return _json(said)
    except NotJsonError as error:
        raise _NoAnswerError(f"the answer is {error}") from error
    except ValueError as error:
        fault = error
    inside = [one for block in _FENCE.findall(said) for one in _values(block)]
    found = _different(inside or list(_objects(said)))
    if len(found) == 1:
        return found[0]
    if not found:
        raise _NoAnswerError(_why_unreadable(said, fault))
    known = found if schema.value is not None else []
    fitting = [value for value in known if not _problems(value, schema)]
    fitting = fitting or [value for value in known if _is_error(value, schema)]
    if len(fitting) == 1:
        return fitting[0]
    raise _NoAnswerError(
        f"the answer holds {len(found)} JSON objects, and it is not clear which one is meant"
    )


def _json(text: str) -> Any:
    """Read one JSON value, by the letter.

    Raises:
        ValueError: It is not JSON, or JSON that no journal can hold.
    """
    try:
        return taken(_DECODER.decode(text))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _values(block: str) -> list[Any]:
    try:
        return [_json(block.strip())]
    except ValueError:
        return []


def _objects(text: str) -> Iterator[Any]:
    """Yield the JSON objects in a text with prose around them, not those inside of others, broken ones too."""
    place, tries = text.find("{"), 0
    while place >= 0 and tries < _MOST_STARTS:
        tries += 1
        try:
            value, end = _DECODER.raw_decode(text, place)
            yield taken(value)
        except (ValueError, RecursionError):
            end = _end_of_braces(text, place)
        place = text.find("{", end)


def _end_of_braces(text: str, start: int) -> int:
    """Return the place after the brace that closes the one at `start`; after all where broken JSON never closes it."""
    depth = 0
    for token in _BRACES.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token.group(), 0)
        if not depth:
            return token.end()
    return len(text) if _LIKE_JSON.match(text, start) else start + 1


def _different(values: list[Any]) -> list[Any]:
    return list({canonical(value): value for value in values}.values())


def _why_unreadable(said: str, fault: ValueError) -> str:
    """Return why a text is no JSON, about the JSON in it where there is some."""
    opened = _OPEN_FENCE.sub("", said).removesuffix("```").rstrip()
    start = min((place for sign in "{[" if (place := opened.find(sign)) >= 0), default=-1)
    if start < 0:
        return "the answer is prose and holds no JSON"
    try:
        _json(opened[start:])
    except json.JSONDecodeError as error:
        if error.pos >= len(error.doc) or error.msg.startswith("Unterminated string"):
            return f"the answer is cut off: its JSON does not end ({error.msg} at character {error.pos})"
        return f"the answer is not valid JSON: {error.msg} in line {error.lineno}, column {error.colno}"
    except ValueError as error:
        return f"the answer is not valid JSON: {error}"
    return f"the answer is not valid JSON: {fault}"
