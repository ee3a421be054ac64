"""Offers up to five ready answers to a tool call: the expected one, an empty one, an error, an extreme, a hostile one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from pydantic import JsonValue

from simulator.environment.conventions.answers import is_error
from simulator.environment.conventions.names import is_identifier, words_of
from simulator.environment.drafting.draft_parts import Parts
from simulator.environment.drafting.error_answers import likely_trouble
from simulator.environment.drafting.generator import NO_SOURCES, DraftCall, Sources, drafted_of, parts_of
from simulator.environment.injection.hostile import hostile_texts
from simulator.environment.schema.schemas import Problem
from simulator.environment.value import Value
from simulator.jsonvalue import JsonObject, copied, same

Label: TypeAlias = Literal["expected", "empty", "error", "edge", "hostile"]

_FREE = frozenset(
    {
        "description",
        "summary",
        "note",
        "notes",
        "message",
        "text",
        "comment",
        "report",
        "details",
        "explanation",
        "body",
    }
    | {
        "content",
        "title",
        "reason",
        "name",
        "outlook",
        "snippet",
        "review",
        "subject",
        "remark",
        "answer",
        "info",
    }
)
_CODES = ("error_code", "code", "status_code", "errorCode", "statusCode")
_MESSAGES = ("error_message", "errorMessage", "message", "error", "detail")
_LONG_FIRST = 8
_SHORT = 600
_STANDS_FOR = 3
"""Of a text that stands for something, such as an id: nobody writes freely there."""


class Candidate(Value):
    """A ready answer.

    Attributes:
        label: Which of the five it is.
        title: What a person reads, in a few words.
        kind: An answer, or an error that the tool reports.
        value: The whole answer as the agent would see it; of an error too.
        error_code: Of an error: its number, 0 where the tool's errors have none.
        error_message: Of an error: its sentence.
        why: Where it comes from, in words.
        problems: What is wrong with it by the tool's schema; only the expected one is offered in spite of any.
    """

    label: Label
    title: str
    kind: Literal["value", "error"]
    value: JsonValue
    error_code: int = 0
    error_message: str = ""
    why: str
    problems: tuple[Problem, ...] = ()


def candidates(call: DraftCall, sources: Sources = NO_SOURCES) -> tuple[Candidate, ...]:
    """Give up to five different ready answers to a call, the expected one first.

    All but the expected one fit the tool's schema, or are left out, as is one that is equal to an earlier one. The same
    call and sources always give the same candidates.
    """
    parts = parts_of(call, sources)
    expected = drafted_of(call, sources, parts)
    found = [_candidate("expected", "As expected", expected.value, expected.why, expected.problems)]
    for label, title, value, why in _others(call, parts, expected.value):
        if parts.fits(value) and not any(same(value, one.value) for one in found):
            found.append(_candidate(label, title, value, why))
    return tuple(found)


def _others(
    call: DraftCall, parts: Parts, expected: JsonValue
) -> Iterator[tuple[Label, str, JsonValue, str]]:
    schema = "the tool's output schema" if parts.plan is not None else "the shape of the expected answer"
    usual = parts.made_up().value if is_error(expected) else expected
    empty = parts.styled("least") if parts.plan is not None else _emptied(usual, call.arguments)
    if not is_error(empty):
        yield "empty", "Nothing found", empty, f"the least that {schema} allows"
    error = parts.error(likely_trouble(call.tool_name, call.description, call.arguments))
    if error is not None:
        yield "error", "It fails", error, "the error that the tool would give for this call, in its own shape"
    edge = parts.styled("most") if parts.plan is not None else _stretched(usual, call.arguments)
    yield "edge", "Extreme values", edge, f"the longest and largest that {schema} allows"
    hostile = _poisoned(usual, call, parts)
    if hostile is not None:
        yield (
            "hostile",
            "With a prompt injection",
            hostile[0],
            f"as expected, with a hostile text in {hostile[1]}",
        )


def _candidate(
    label: Label, title: str, value: JsonValue, why: str, problems: tuple[Problem, ...] = ()
) -> Candidate:
    whole: JsonValue = copied(value)
    if not is_error(whole) or not isinstance(whole, dict):
        return Candidate(label=label, title=title, kind="value", value=whole, why=why, problems=problems)
    code, message = error_places(whole)
    number, sentence = whole.get(code), whole.get(message)
    return Candidate(
        label=label,
        title=title,
        kind="error",
        value=whole,
        error_code=number if isinstance(number, int) else 0,
        error_message=sentence if isinstance(sentence, str) else "",
        why=why,
        problems=problems,
    )


def error_places(error: JsonObject) -> tuple[str, str]:
    """Give the fields in which an error has its number and its sentence; an empty name where it has none."""
    code = next((name for name in _CODES if isinstance(error.get(name), int)), "")
    return code, next((name for name in _MESSAGES if isinstance(error.get(name), str)), "")


def _emptied(value: JsonValue, said: Mapping[str, JsonValue], name: str = "") -> JsonValue:
    """Empty an answer of no schema: its lists, counts and texts; what the call said and what it is about stay."""
    if isinstance(value, dict):
        return {key: _emptied(inner, said, key) for key, inner in value.items()}
    if isinstance(value, list):
        return []
    if name in said or is_identifier(name) or isinstance(value, bool) or "status" in words_of(name):
        return value
    if isinstance(value, (int, float)):
        return 0
    return "" if isinstance(value, str) else value


def _stretched(value: JsonValue, said: Mapping[str, JsonValue], name: str = "") -> JsonValue:
    """Stretch an answer of no schema: long texts, large numbers, long lists."""
    if isinstance(value, dict):
        return {key: _stretched(inner, said, key) for key, inner in value.items()}
    if isinstance(value, list):
        return (
            [_stretched(value[place % len(value)], said, name) for place in range(_LONG_FIRST)]
            if value
            else []
        )
    if name in said or is_identifier(name) or isinstance(value, bool) or "status" in words_of(name):
        return value
    if isinstance(value, (int, float)):
        return 999_999_999
    return (
        f"{value} \u2013 na\u00efve \u201cquotes\u201d, \u4f60\u597d, \U0001f680 <b>&amp;</b> " * 40
        if isinstance(value, str)
        else value
    )


def _poisoned(value: JsonValue, call: DraftCall, parts: Parts) -> tuple[JsonValue, str] | None:
    """Put a hostile text into a text of an answer, the freest that its schema lets it into; with the place's name."""
    words = {"tool": call.tool_name, "argument": str(next(iter(call.arguments.values()), ""))[:80]}
    short = [one for one in hostile_texts() if one.repeat == 1 and len(one.text) <= _SHORT]
    attack = parts.chance.choice("hostile", short).said(words)
    for text in dict.fromkeys((attack, min((one.said(words) for one in short), key=len))):
        if isinstance(value, str) and parts.fits(f"{value} {text}"):
            return f"{value} {text}", "the answer"
        free = [path for path in _texts(value) if _freedom(path[-1]) < _STANDS_FOR]
        for path in sorted(free, key=lambda one: _freedom(one[-1]))[:6]:
            poisoned: Any = copied(value)
            holder = poisoned
            for step in path[:-1]:
                holder = holder[step]
            holder[path[-1]] = f"{holder[path[-1]]} {text}".strip()
            if parts.fits(poisoned):
                return poisoned, ".".join(map(str, path))
    if isinstance(value, dict):
        noted: JsonObject = {**value, "note": attack}
        if parts.fits(noted):
            return noted, "a new field, note"
    return None


def _texts(value: JsonValue, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, str) and path:
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value[:3]):
            yield from _texts(inner, (*path, place))


def _freedom(name: str | int) -> int:
    """Order places by how freely people write there: a note before a name, an id or a state last."""
    words = set(words_of(str(name)))
    if is_identifier(str(name)) or words & {"status", "currency", "date", "at", "on"}:
        return _STANDS_FOR
    if words & (_FREE - {"name", "title"}):
        return 0
    return 1 if words & _FREE else 2
