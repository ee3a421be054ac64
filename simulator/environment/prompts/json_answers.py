"""JSON that a model is asked for: the schema in the form in which its provider takes it, and what it said, read or said in words to be wrong.

Providers know a part of JSON schema only. What one of them does not know is left out of what it is sent; the prompt
says it all the same, and the answer is checked against the whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from simulator.base.frozen_value import FiniteValue
from simulator.base.json_values import Json, JsonObject, NotJsonError, canonical, taken
from simulator.environment.schema.schema_checks import BrokenSchemaError, check, in_words, normalise
from simulator.environment.schema.schema_plans import RESULT, is_error_beside

_NOTES = frozenset({"title", "default", "examples", "deprecated", "readOnly", "writeOnly"})
_EVERYWHERE = frozenset({"type", "description", "enum", "const", "items", "anyOf", "oneOf", "properties"}) | {
    "required",
    "additionalProperties",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "$ref",
    "$defs",
}
_GEMINI = _EVERYWHERE | {"format", "prefixItems"}
_GEMINI_FORMATS = frozenset({"date", "date-time", "time"})
_STRICT = _EVERYWHERE | {"format", "pattern", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"}
_STRICT_FORMATS = frozenset(
    {"date", "date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)

_ERROR: JsonObject = {
    "type": "object",
    "properties": {"error_code": {"type": "integer"}, "error_message": {"type": "string"}},
    "required": ["error_code", "error_message"],
}


class AnswerSchema(FiniteValue):
    """What an answer of a model has to look like.

    `asked` is for the object that the model gives; where `wrapped`, the tool's answer is its field `result`. `value`
    is for the tool's answer itself. Both are None where nothing is known, or where the schema is broken: `problem`.
    With `may_fail`, an error may be given in the place of an answer that fits.
    """

    asked: JsonObject | None = None
    value: JsonObject | None = None
    wrapped: bool = False
    problem: str = ""
    may_fail: bool = False


class SentSchema(FiniteValue):
    """What a provider can be sent; None with the reason where it cannot be said. `left_out` names keywords."""

    schema_sent: JsonObject | None = None
    left_out: tuple[str, ...] = ()
    reason: str = ""


class _CannotBeSaidError(ValueError):
    """A provider has no word for what a schema wants."""


def answer_schema(schema: object, *, may_fail: bool = False) -> AnswerSchema:
    """Bring a tool's output schema, in any form that `normalise` reads, into what a model is asked for; never raises."""
    return _answer_schema(schema).model_copy(update={"may_fail": may_fail})


def _answer_schema(schema: object) -> AnswerSchema:
    if schema is None:
        return AnswerSchema()
    try:
        normal = normalise(schema)
    except BrokenSchemaError as error:
        return AnswerSchema(problem=f"the output schema is invalid: {error}")
    broken = next((found.message for found in check(None, normal) if found.of_schema), "")
    if broken:
        return AnswerSchema(problem=broken)
    if not normal:
        return AnswerSchema()
    if normal.get("type") == "object":
        return AnswerSchema(asked=normal, value=normal)
    inner = {name: part for name, part in normal.items() if name != "$defs"}
    outer: JsonObject = {
        "type": "object",
        "properties": {RESULT: inner},
        "required": [RESULT],
        "additionalProperties": False,
    }
    if "$defs" in normal:
        outer["$defs"] = normal["$defs"]
    return AnswerSchema(asked=outer, value=normal, wrapped=True)


def or_error(schema: JsonObject) -> JsonObject:
    """Add to a schema that was sent the choice to answer with an error in ADK's form."""
    defs = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    inner = {name: part for name, part in schema.items() if name != "$defs"}
    return {"anyOf": [inner, _ERROR], **defs}


def for_gemini(schema: JsonObject) -> SentSchema:
    """Write a schema of `AnswerSchema.asked` as Gemini's `responseJsonSchema` takes it."""
    return _sent(schema, _GEMINI, _gemini_part)


def for_strict(schema: JsonObject) -> SentSchema:
    """Write a schema of `AnswerSchema.asked` as OpenAI's strict structured outputs take it, with LiteLLM too.

    They ask for every field of an object, and know no object with fields of any name.
    """
    return _sent(schema, _STRICT, _strict_part)


_Part = Callable[[JsonObject, str], JsonObject]


def _sent(schema: JsonObject, known: frozenset[str], part: _Part) -> SentSchema:
    left_out: set[str] = set()

    def written(value: Json, place: str) -> Json:
        if not isinstance(value, dict):
            return {} if value is True else value
        left_out.update(value.keys() - known - _NOTES)
        shaped = part(_opened(value), place)
        kept = _plain_choice({name: shaped[name] for name in shaped if name in known}, left_out)
        return {name: _inside(name, inner, place, written) for name, inner in kept.items()}

    try:
        result = written(schema, "$")
    except _CannotBeSaidError as error:
        return SentSchema(reason=str(error))
    return SentSchema(
        schema_sent=result if isinstance(result, dict) else None, left_out=tuple(sorted(left_out))
    )


def _opened(part: JsonObject) -> JsonObject:
    """Take away what would mean more than it did, once the keywords beside it that providers do not know are gone."""
    opened = dict(part)
    if "patternProperties" in part:
        opened["additionalProperties"] = {}
    if isinstance(part.get("items"), bool):
        del opened["items"]
    return opened


def _inside(name: str, inner: Json, place: str, written: Callable[[Json, str], Json]) -> Json:
    if name in {"properties", "$defs"} and isinstance(inner, Mapping):
        return {key: written(value, f"{place}.{key}") for key, value in inner.items()}
    if name in {"anyOf", "prefixItems"} and isinstance(inner, list):
        return [written(value, place) for value in inner]
    if name in {"items", "additionalProperties"} and isinstance(inner, Mapping):
        return written(inner, f"{place}[*]" if name == "items" else f"{place}.*")
    return inner


def _plain_choice(part: JsonObject, left_out: set[str]) -> JsonObject:
    """Say `oneOf` and `const` as all providers know them: a choice, and an enum of one."""
    plain = dict(part)
    one_of, const = plain.pop("oneOf", None), plain.pop("const", None)
    if isinstance(one_of, list):
        plain.setdefault("anyOf", one_of)
    if "const" in part and "enum" not in part:
        plain["enum"] = [const]
    choices = plain.get("enum")
    words = isinstance(choices, list) and all(
        isinstance(choice, (str, int, float)) and not isinstance(choice, bool) for choice in choices
    )
    if "enum" in plain and not words:
        del plain["enum"]
        left_out.add("enum")
    return plain


def _gemini_part(part: JsonObject, place: str) -> JsonObject:
    if "$ref" in part:
        raise _CannotBeSaidError(f"the schema contains itself at {place}")
    if part.get("additionalProperties") in ({}, True):
        part = _without(part, "additionalProperties")  # it is so anyway
    return part if part.get("format", "date") in _GEMINI_FORMATS else _without(part, "format")


def _strict_part(part: JsonObject, place: str) -> JsonObject:
    if "$ref" in part:
        return {"$ref": part["$ref"]}
    if not part.keys() & {"type", "anyOf", "oneOf", "enum", "const"}:
        raise _CannotBeSaidError(f"the schema allows anything at {place}")
    kind = part.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    open_fields = isinstance(part.get("additionalProperties"), dict)
    if "object" in kinds and (open_fields or not part.get("properties")):
        raise _CannotBeSaidError(f"the schema allows fields of any name at {place}")
    if "prefixItems" in part:
        raise _CannotBeSaidError(f"the schema tells the places of a list apart at {place}")
    if "array" in kinds and not part.get("items"):
        raise _CannotBeSaidError(f"the schema allows anything at {place}[*]")
    return part if part.get("format", "date") in _STRICT_FORMATS else _without(part, "format")


def _without(part: JsonObject, name: str) -> JsonObject:
    return {key: value for key, value in part.items() if key != name}


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
