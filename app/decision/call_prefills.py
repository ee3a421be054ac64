"""Finds values for the arguments of a call in what the agent has seen, each with the place that it comes from, and the words of people in the texts that ADK frames. Pure.

Only literals are evidence: an id, a date or an e-mail address that looks like an example of the docstring, or as the format says, a choice
that stands in the message word by word, a value under the parameter's own name in an earlier call or response. What the message means is not
read. Where nothing tells what an id looks like, the tokens of the newest message that can be one are suggested, and none is filled in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import Field, JsonValue

from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject, canonical
from simulator.environment.conventions import is_identifier, spelled
from simulator.environment.drafts.docstrings import (
    asks_for_date,
    choices_in,
    default_in,
    examples_in,
    field_texts,
    shape_of_id,
)
from simulator.environment.schema.schema_checks import check
from simulator.seats.requests import ToolDeclaration
from simulator.session.adk_event_fields import QuotedStep, is_of_other_agent, quoted_step

_OTHER_AGENT = "For context: below is a transcript of what another agent did"
_QUOTE = re.compile(
    r"(\[[^\n]*):\n<<<BEGIN_QUOTED_AGENT_CONTENT>>>\n(.*)\n<<<END_QUOTED_AGENT_CONTENT>>>", re.DOTALL
)
_CONFIRM = re.compile(
    r"Please approve or reject the tool call [^\n]*\(\) by responding with a FunctionResponse with an expected ToolConfirmation payload\."
)


class Quote(NamedTuple):
    """What another agent did, as `[claims] said`, and its words."""

    who: str
    words: str


def quotes(parts: object) -> tuple[Quote, ...] | None:
    """Return what a message quotes of another agent; None where it is not such a message, or has more in it."""
    texts = [
        part.get("text") if isinstance(part, dict) else None
        for part in (parts if isinstance(parts, (list, tuple)) else ())
    ]
    if not texts or not str(texts[0]).startswith(_OTHER_AGENT):
        return None
    found = [_QUOTE.fullmatch(text) for text in texts[1:] if isinstance(text, str)]
    made = tuple(Quote(each[1], each[2]) for each in found if each is not None)
    return made if made and len(made) == len(texts) - 1 else None


def is_own_question(hint: str) -> bool:
    """Return whether a question for a confirmation is the one that ADK asks of a program, as the tool has none of its own."""
    return _CONFIRM.fullmatch(hint.strip()) is not None


MESSAGE = "From the user message"
EARLIER_MESSAGE = "From an earlier user message"
DEFAULT = "Default in the tool description"

_MOST_CONTENTS = 200
_DEEPEST = 6
_MOST_SEEN = 50
_LONGEST = 20_000
"""How many letters of a message are read."""
_SHORTEST_WORD = 2
_SAMPLES = {"date": "2026-01-02", "email": "ada@example.com"}
"""What the values of a format look like."""
_ADDRESSES = ("email", "e_mail", "email_address")
_TOKEN = re.compile(
    r"(?<![\w@./-])(?!\d+[a-z]+\b(?!-))(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*(?![\w@/-])"
)
"""Letters with digits, such as `GRV-500-56`: no amount such as `5kg`, and no part of an address."""


class Prefill(Value):
    """A value for one argument, and where it comes from in words; a tool's name in them comes from outside."""

    value: JsonValue
    source: str


class Prefills(Value):
    """What was found by parameter: one value, or several of which none is more likely. `suggested` names those that only a message suggests.

    `within` is the same for the fields of a parameter that is an object: there only messages of the user count.
    """

    found: dict[str, Prefill]
    several: dict[str, tuple[str, ...]]
    suggested: tuple[str, ...] = ()
    within: dict[str, Prefills] = Field(default_factory=dict)


_NOTHING = Prefills(found={}, several={})


class _Known(NamedTuple):
    """What the tool's declaration says of one parameter."""

    schema: JsonObject
    choices: tuple[str, ...]
    examples: tuple[str, ...]
    default: JsonValue
    samples: tuple[str, ...]


def prefills(tool: ToolDeclaration, contents: Sequence[JsonObject], deepest: int = _DEEPEST) -> Prefills:
    """Find values for a call of a tool.

    Args:
        tool: The tool as the model sees it.
        contents: The conversation as google-genai's `Content` in JSON, oldest first.
        deepest: So deep is looked into parameters that are objects.
    """
    recent = list(contents[-_MOST_CONTENTS:])
    messages = list(_messages(recent))
    fields = tool.parameters.get("properties")
    found: dict[str, Prefill] = {}
    several: dict[str, tuple[str, ...]] = {}
    suggested: list[str] = []
    within: dict[str, Prefills] = {}
    for name, field in (fields if isinstance(fields, dict) else {}).items():
        schema = resolved(field, tool.parameters)
        if schema.get("properties") and deepest:
            spoken = [each for each in recent if any(_messages([each]))]
            inner = ToolDeclaration(name=tool.name, parameters=schema)
            if (found_there := prefills(inner, spoken, deepest - 1)) != _NOTHING:
                within[name] = found_there
        known = _known(tool, name, schema)
        candidates = _candidates(tool.name, name, known, recent, messages)
        one, others = next((each for each in candidates if any(each)), (None, ()))
        if not (one or others) and (others := _suggested(name, known, messages[:1])):
            suggested.append(name)
        if one is not None:
            found[name] = one
        if others:
            several[name] = others
    return Prefills(found=found, several=several, suggested=tuple(suggested), within=within)


def with_arguments_of(call: JsonObject, tool: ToolDeclaration, found: Prefills) -> Prefills:
    """Return what was found with, in its place, the arguments of a call of another tool that this one takes, too, by name and type."""
    name, given, fields = str(call.get("name") or ""), call.get("args"), tool.parameters.get("properties")
    if not (isinstance(given, dict) and isinstance(fields, dict)):
        return found
    kept = {
        each: Prefill(value=given[each], source=_call_of(name))
        for each, field in fields.items()
        if each in given and _fits(given[each], resolved(field, tool.parameters))
    }
    return found.model_copy(update={"found": {**found.found, **kept}})


def _candidates(
    tool: str, name: str, known: _Known, contents: Sequence[JsonObject], messages: Sequence[str]
) -> Iterator[tuple[Prefill | None, tuple[str, ...]]]:
    """Yield what each kind of evidence gives, the strongest first: a value, or several without one."""
    observed = [each for each in _observed(name, contents) if _fits(each.value, known.schema)]
    # A tool that is called once more is called for something else: its own earlier arguments are no evidence.
    of_others = [each for each in observed if each.source != _call_of(tool)]
    # What the agent has seen since the user spoke is newer than the message, which may hold an id of another kind that looks alike.
    newest = [each for each in _observed(name, _since_the_user(contents)) if each in of_others]
    newest = [each for each in newest if each.source == newest[0].source]
    if len({canonical(each.value) for each in newest}) == 1:
        yield newest[0], ()
    texts = tuple(dict.fromkeys(each.value for each in observed if isinstance(each.value, str)))[:_MOST_SEEN]
    if _takes_text(known.schema):
        for number, message in enumerate(messages):
            said = tuple(one for one in _said(message, known, texts) if _fits(one, known.schema))
            if len(said) == 1:
                yield Prefill(value=said[0], source=EARLIER_MESSAGE if number else MESSAGE), ()
            yield None, said[1:] and said
    latest = [each for each in of_others if each.source == of_others[0].source]
    if len({canonical(each.value) for each in latest}) == 1:
        yield latest[0], ()
    yield None, tuple(dict.fromkeys(str(each.value) for each in latest))
    if known.default is not None and _fits(known.default, known.schema):
        yield Prefill(value=known.default, source=DEFAULT), ()
    # An example is seldom what is right here: it can be chosen, and fills nothing in.
    yield None, tuple(one for one in known.examples if _fits(one, known.schema))


def resolved(field: JsonValue, whole: JsonObject) -> JsonObject:
    """Return a parameter's schema with the definition that it refers to in its place, and all definitions beside it."""
    shared = whole.get("$defs")
    defined = shared if isinstance(shared, dict) else {}
    schema = {**field} if isinstance(field, dict) else {}
    target = defined.get(str(schema.pop("$ref", "")).removeprefix("#/$defs/"))
    return {**(target if isinstance(target, dict) else {}), **schema, "$defs": defined}


def _known(tool: ToolDeclaration, name: str, schema: JsonObject) -> _Known:
    words = str(schema.get("description") or field_texts(tool.description).get(name, ""))
    examples, options = schema.get("examples"), schema.get("enum")
    given = [one for one in examples if isinstance(one, str)] if isinstance(examples, list) else []
    choices = (
        [one for one in options if isinstance(one, str)] if isinstance(options, list) else choices_in(words)
    )
    default = default_in(words) if schema.get("default") is None else schema["default"]
    format_of = "date" if asks_for_date(schema, words) else schema.get("format")
    if spelled(name).endswith(_ADDRESSES):
        format_of = "email"
    samples = tuple(sample for known, sample in _SAMPLES.items() if known == format_of)
    return _Known(schema, tuple(choices), (*given, *examples_in(words)), default, samples)


def _messages(contents: Sequence[JsonObject]) -> Iterator[str]:
    """Yield what the user said, the newest first."""
    for content in reversed(contents):
        texts = _texts(content)
        if content.get("role") == "user" and texts and not is_of_other_agent(texts):
            yield "\n".join(texts)[:_LONGEST]


def _texts(content: JsonObject) -> list[str]:
    return [str(part["text"]) for part in _parts(content) if isinstance(part.get("text"), str)]


def _since_the_user(contents: Sequence[JsonObject]) -> Sequence[JsonObject]:
    """Return what came after the newest message of the user."""
    spoken = (place for place in reversed(range(len(contents))) if any(_messages([contents[place]])))
    return contents[next(spoken, -1) + 1 :]


def _said(message: str, known: _Known, seen: Iterable[str]) -> tuple[str, ...]:
    """Return the values that stand in a message, in its order: choices and known values as whole words, and ids by their shape."""
    places: dict[str, int] = {}
    for word in known.choices:
        if len(word) >= _SHORTEST_WORD and (at := _word(word, message, re.IGNORECASE)) is not None:
            places.setdefault(word, at)
    if not known.choices:
        for word in (*known.examples, *known.samples, *seen):
            if len(word) >= _SHORTEST_WORD and (at := _word(word, message)) is not None:
                places.setdefault(word, at)
            shape = shape_of_id(word)
            for match in shape.finditer(message) if shape else ():
                places.setdefault(match[0], match.start())
    return tuple(sorted(places, key=places.__getitem__))


def _suggested(name: str, known: _Known, messages: Sequence[str]) -> tuple[str, ...]:
    """Return what can be an id in messages: letters with digits, where a parameter names one."""
    if not is_identifier(name) or known.choices or not _takes_text(known.schema):
        return ()
    tokens = (match[0] for message in messages for match in _TOKEN.finditer(message))
    return tuple(dict.fromkeys(one for one in tokens if _fits(one, known.schema)))[:_MOST_SEEN]


def _word(word: str, message: str, flags: int = 0) -> int | None:
    found = re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", message, flags)
    return found.start() if found else None


def _observed(name: str, contents: Sequence[JsonObject]) -> Iterator[Prefill]:
    """Yield the values that earlier calls and responses have under a name, the newest first; those of other agents, too."""
    for content in reversed(contents):
        for step in reversed(list(_steps(content))):
            if not step.is_call:
                source = f"From a response of {step.tool}"
                yield from (Prefill(value=value, source=source) for value in _under(name, step.value, 0))
            elif name in step.value:
                yield Prefill(value=step.value[name], source=_call_of(step.tool))


def _steps(content: JsonObject) -> Iterator[QuotedStep]:
    """Yield the calls and responses of a content, and those that it quotes of another agent."""
    is_quoted = content.get("role") == "user" and is_of_other_agent(_texts(content))
    for part in _parts(content):
        call, response, text = (part.get(kind) for kind in ("function_call", "function_response", "text"))
        if isinstance(response, dict):
            yield QuotedStep(str(response.get("name")), False, {"response": response.get("response")})
        elif isinstance(call, dict) and isinstance(args := call.get("args"), dict):
            yield QuotedStep(str(call.get("name")), True, args)
        elif is_quoted and isinstance(text, str) and (step := quoted_step(text)) is not None:
            yield step


def _call_of(tool: str) -> str:
    return f"From a call of {tool}"


def _under(name: str, value: JsonValue, depth: int) -> Iterator[JsonValue]:
    """Yield the plain values that stand under a name in a JSON value."""
    inner: Iterable[tuple[str, JsonValue]] = ()
    match value:
        case dict() if depth < _DEEPEST:
            inner = value.items()
        case list() if depth < _DEEPEST:
            inner = (("", one) for one in value)
        case _:
            pass
    for key, one in inner:
        if key == name and not isinstance(one, (dict, list)) and one is not None:
            yield one
        yield from _under(name, one, depth + 1)


def _parts(content: Mapping[str, JsonValue]) -> list[JsonObject]:
    parts = content.get("parts")
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _takes_text(schema: JsonObject) -> bool:
    return not check("", {key: value for key, value in schema.items() if key in {"type", "anyOf", "$defs"}})


def _fits(value: JsonValue, schema: JsonObject) -> bool:
    return not check(value, schema)
