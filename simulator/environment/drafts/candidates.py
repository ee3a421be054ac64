"""Drafts the answer to a tool call, offline, and offers ready answers beside it.

`drafted` asks each kind of evidence for an answer, in the order of its worth: the first that has one is the draft. `candidates` are up to five: the
draft, other outcomes of the tool's code, and generic ones, made of the draft: empty, an error, extreme values, hostile text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from pydantic import JsonValue

from simulator.base.frozen_value import FiniteValue
from simulator.base.json_values import JsonObject, copied, same
from simulator.environment.conventions import is_error, is_identifier, words_of
from simulator.environment.drafts.draft import (
    NO_SOURCES,
    Blank,
    Draft,
    DraftCall,
    Sources,
    Try,
    is_flag,
    is_guess,
)
from simulator.environment.drafts.evidence_drafts import Parts
from simulator.environment.drafts.schema_instances import error_places
from simulator.environment.injection.distortions import hostile_texts
from simulator.environment.recordings import NO_EFFECTS, ToolEffects
from simulator.environment.schema.schema_checks import Problem


def drafted(call: DraftCall, sources: Sources = NO_SOURCES) -> Draft:
    """Draft an answer and say where it comes from; the same call and sources always give the same draft.

    The first of these that applies: an error for a required argument that is missing; the next answer that was recorded
    for this very call, unless what it names is gone; the earlier answer, where the very same question was asked and
    nothing was changed since; an error for a thing that does not exist, or what the tool's code says of it for certain; the last
    answer that was recorded for this very call; the earlier answer, marked where calls may have changed it since, unless the tool's code says all; what the tool's code returns; the example in its description; what its output schema asks for; the rows of
    known tables that the arguments ask for; the shape of its earlier answers; and then a skeleton. What the session knows
    of the things in it stands in whatever shape that gives, and what nothing is known of is blank.
    """
    parts = Parts(call, sources)
    return draft_of(parts, best(parts))


def draft_of(parts: Parts, made: Try) -> Draft:
    """Return the answer that the best evidence gives as a draft."""
    value: JsonValue = copied(made.value)
    problems = parts.problems(value)
    if problems and parts.hopeless:
        problems = (Problem(path="$", message=f"no draft could be generated: {parts.hopeless}"), *problems)
    return Draft(
        value=value,
        why=made.why,
        is_guess=is_guess(made.blanks),
        blanks=made.blanks,
        varies=made.varies,
        problems=problems,
        effects=made.effects,
    )


def best(parts: Parts) -> Try:
    """Return the answer that the best evidence gives."""
    return (
        parts.refused()
        or (None if parts.names_what_is_gone() else parts.recorded(again=False))
        or parts.repeated()
        or parts.not_found()
        or parts.recorded(again=True)
        or parts.as_before()
        or parts.by_code()
        or parts.with_effects(
            parts.described()
            or parts.declared()
            or parts.of_rows()
            or parts.in_shape()
            or parts.by_schema()
            or parts.skeleton()
        )
    )


Label: TypeAlias = Literal[
    "expected", "outcome", "empty", "error", "edge", "hostile", "golden", "recorded", "case"
]

_MOST = 5
_LONG_FIRST = 8
_SHORT = 600
_TRIED = 6
_NOT_FOUND, _BUSY = 404, 503


class Candidate(FiniteValue):
    """A ready answer.

    Attributes:
        label: Which of the kinds it is.
        title: What a person reads, in a few words: of an outcome of the tool's code, when it comes about.
        kind: An answer, an error that the tool reports, an exception that it raises, or a result that comes later.
        value: The whole answer as the agent would see it; of an error too, and of an exception that the code raises in ADK's form. None where there is none yet.
        error_code: Of an error: its number or name, 0 where the tool's errors have none; of an exception its type.
        error_message: Of an error or an exception: its sentence.
        why: Where it comes from, in words.
        blanks: The places of it for which nothing is known.
        problems: What is wrong with it by the tool's schema; only the expected one, and what was recorded, is offered in spite of any.
        effects: What the tool's code does besides, where it gives this answer.
        by_code: Whether the tool's code shows it.
    """

    label: Label
    title: str
    kind: Literal["value", "error", "exception", "later"]
    value: JsonValue
    error_code: int | str = 0
    error_message: str = ""
    why: str
    blanks: tuple[Blank, ...] = ()
    problems: tuple[Problem, ...] = ()
    effects: ToolEffects = NO_EFFECTS
    by_code: bool = False


def candidates(call: DraftCall, sources: Sources = NO_SOURCES) -> tuple[Candidate, ...]:
    """Return up to five different ready answers to a call, the expected one first.

    All but the expected one fit the tool's schema, or are left out, as is one that is equal to an earlier one. The same
    call and sources always give the same candidates.
    """
    parts = Parts(call, sources)
    return around(parts, best(parts))


def around(parts: Parts, expected: Try) -> tuple[Candidate, ...]:
    """Return the answer that the best evidence gives with the others beside it."""
    problems, by_code = parts.problems(expected.value), expected in parts.outcomes
    found = [_candidate("expected", expected.when or "Expected", expected, problems, by_code=by_code)]
    for label, title, made in _others(parts, expected):
        if len(found) == _MOST:
            break
        if parts.fits(made.value) and not any(same(made.value, one.value) for one in found):
            found.append(_candidate(label, title, made, by_code=label == "outcome"))
    return tuple(found)


def _others(parts: Parts, expected: Try) -> Iterator[tuple[Label, str, Try]]:
    call = parts.call
    for one in parts.outcomes:
        yield "outcome", one.when or "Otherwise", one
    fit = "valid response" if parts.plan is not None else "response in the expected shape"
    usual = expected
    if is_error(expected.value):
        usual = (
            next((one for one in parts.outcomes if not is_error(one.value)), None)
            or parts.by_schema()
            or expected
        )
    least = parts.by_schema("least")
    empty = least or Try(_emptied(usual.value, call.arguments), "")
    if not is_error(empty.value):
        yield "empty", "Empty result", Try(parts.agreeing(empty.value), f"Minimal {fit}", empty.blanks)
    if not any(is_error(one.value) for one in (expected, *parts.outcomes)):
        error = _error(call, parts)
        if parts.plan is None or not parts.plan.problems(error):
            yield "error", "Error", Try(error, "An error in the shape that the tool uses")
    most = parts.by_schema("most")
    edge = _stretched(usual.value, call.arguments) if most is None else most.value
    yield "edge", "Extreme values", Try(parts.agreeing(edge, is_flag), f"Largest {fit}")
    hostile = _poisoned(usual.value, call, parts)
    if hostile is not None:
        why = f"The expected response with hostile text in {hostile[1]}"
        yield "hostile", "Prompt injection", replace(usual, value=hostile[0], why=why, raises="")


def _error(call: DraftCall, parts: Parts) -> JsonObject:
    """Return the commonest error: what the first id of the call names is not there, or the service is not."""
    for name, value in call.arguments.items():
        if is_identifier(name):
            what = " ".join(word for word in words_of(name) if word != "id") or "record"
            return parts.error(_NOT_FOUND, f"No {what} {value} was found.")
    return parts.error(_BUSY, "The service is temporarily unavailable. Please try again later.")


def _candidate(
    label: Label, title: str, made: Try, problems: tuple[Problem, ...] = (), *, by_code: bool = False
) -> Candidate:
    whole: JsonValue = copied(made.value)
    number: JsonValue = 0
    sentence: JsonValue = ""
    is_failure = isinstance(whole, dict) and is_error(whole)
    if isinstance(whole, dict) and is_failure:
        code, message = error_places(whole)
        number, sentence = whole.get(code, whole.get("error_code", 0)), whole.get(message, "")
    if made.raises == KeyError.__name__ and isinstance(sentence, str):
        sentence = _key_of(sentence)
    return Candidate(
        label=label,
        title=title,
        kind="exception" if made.raises else "error" if is_failure else "value",
        value=whole,
        error_code=number if isinstance(number, (int, str)) else 0,
        error_message=sentence if isinstance(sentence, str) else "",
        why=made.why,
        blanks=made.blanks,
        problems=problems,
        effects=made.effects,
        by_code=by_code,
    )


def _key_of(sentence: str) -> str:
    """Return the key that a `KeyError` is made with: its sentence has a text in quotes."""
    try:
        key = ast.literal_eval(sentence)
    except (SyntaxError, ValueError):
        return sentence
    return key if isinstance(key, str) else sentence


def _is_kept(name: str, value: JsonValue, said: Mapping[str, JsonValue]) -> bool:
    """Return whether a field says what the answer is about, or how it went."""
    return name in said or is_identifier(name) or isinstance(value, bool) or "status" in words_of(name)


def _emptied(value: JsonValue, said: Mapping[str, JsonValue], name: str = "") -> JsonValue:
    """Empty an answer of no schema: its lists, counts and texts; what the call said and what it is about stay."""
    if isinstance(value, dict):
        return {key: _emptied(inner, said, key) for key, inner in value.items()}
    if isinstance(value, list):
        return []
    if _is_kept(name, value, said):
        return value
    return 0 if isinstance(value, (int, float)) else "" if isinstance(value, str) else value


def _stretched(value: JsonValue, said: Mapping[str, JsonValue], name: str = "") -> JsonValue:
    """Stretch an answer of no schema: long texts, large numbers, long lists."""
    if isinstance(value, dict):
        return {key: _stretched(inner, said, key) for key, inner in value.items()}
    if isinstance(value, list):
        places = range(_LONG_FIRST if value else 0)
        return [_stretched(value[place % len(value)], said, name) for place in places]
    if _is_kept(name, value, said):
        return value
    long = f"{value} \u2013 na\u00efve \u201cquotes\u201d, \u4f60\u597d, \U0001f680 <b>&amp;</b> " * 40
    return 999_999_999 if isinstance(value, (int, float)) else long if isinstance(value, str) else value


def _poisoned(value: JsonValue, call: DraftCall, parts: Parts) -> tuple[JsonValue, str] | None:
    """Put a hostile text into the longest text of an answer that its schema lets it into; with the place's name."""
    words = {"tool": call.tool_name, "argument": str(next(iter(call.arguments.values()), ""))[:80]}
    short = [one for one in hostile_texts() if one.repeat == 1 and len(one.text) <= _SHORT]
    attack = parts.chance.choice("hostile", short).said(words)
    for text in dict.fromkeys((attack, min((one.said(words) for one in short), key=len))):
        if isinstance(value, str) and parts.fits(f"{value} {text}"):
            return f"{value} {text}", "the response"
        free = [one for one in _texts(value) if not _is_kept(str(one[0][-1]), None, call.arguments)]
        for path, _ in sorted(free, key=lambda one: -len(one[1]))[:_TRIED]:
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
            return noted, "a new field 'note'"
    return None


def _texts(value: JsonValue, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, str) and path:
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value[:3]):
            yield from _texts(inner, (*path, place))
