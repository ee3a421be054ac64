"""Calls as they were seen: what each was answered and did besides, read out of traces, eval sets, ADK's sessions and our own journals; which of them is nearest to another call.

A `Cursor` keeps which were given: in a replay, where each answer is given once, and in a session without a case of its own, where the last one is given again. The
recorded player and what goes along a script know that from their journal, and ask `nearest` with it.
"""

from __future__ import annotations

import heapq
import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, TypeVar

from pydantic import Field, ValidationError

from simulator.base.documents import LIMITS
from simulator.base.frozen_value import FiniteValue, Value
from simulator.base.json_paths import field_place, item_place
from simulator.base.json_text import JsonSyntaxError, JsonTextError, read_json
from simulator.base.json_values import Json, JsonObject, NotJsonError, same, taken
from simulator.base.validation_words import InputError


class SavedArtifact(Value):
    """A file that was saved, as google-genai's `Part` in JSON (bytes in base64)."""

    filename: str
    part: JsonObject
    custom_metadata: JsonObject | None = None
    version: int


class ToolEffects(Value):
    """What a tool call did beside its answer.

    `actions` holds other fields of ADK's `EventActions` that the tool changed (`escalate`,
    `transfer_to_agent`, ...), by their field names. `events` are those that it sent to ADK by itself, as a
    function that yields does.
    """

    state_delta: JsonObject = Field(default_factory=dict)
    artifacts: tuple[SavedArtifact, ...] = ()
    actions: JsonObject = Field(default_factory=dict)
    events: tuple[JsonObject, ...] = ()
    end_invocation: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it changes state and actions alone, which a person or a script can write."""
        return not (self.artifacts or self.events or self.end_invocation)

    @property
    def plain(self) -> ToolEffects:
        """The changes of state and actions alone."""
        return self if self.is_plain else ToolEffects(state_delta=self.state_delta, actions=self.actions)

    @property
    def written(self) -> JsonObject:
        """The changes of state and actions that there are, as a script writes them."""
        told = {"state_delta": self.state_delta, "actions": self.actions}
        return {name: {**changed} for name, changed in told.items() if changed}


NO_EFFECTS = ToolEffects()
"""Nothing besides the response."""


JOURNAL_FORMAT = "golden-trace-studio/journal"

_DEEPEST = 100
# Nothing in these is a record of calls, whatever it looks like.
_PASSED_OVER = frozenset(
    {"state", "state_delta", "stateDelta", "session_input", "sessionInput", "final_response", "finalResponse",
     "user_content", "userContent", "app_details", "appDetails", "actions"}
)  # fmt: skip
# What stands at these places, by the method that takes it in.
_PLACES_OF_CALLS = {
    "tool_uses": "take_call", "toolUses": "take_call", "expected_tool_use": "take_call",
    "tool_responses": "take_response", "toolResponses": "take_response",
    "invocation_events": "take_event", "invocationEvents": "take_event", "events": "take_event",
}  # fmt: skip
_MISSING: Any = object()


class RecordingError(InputError):
    """A recording is no JSON; says where."""


class ObservedCall(FiniteValue):
    """A call and its answer as the agent saw them.

    `place` is where in the file the call stands, and `effects` what it changed of the state and of ADK's actions; None where that is not known.
    `blanks` and `uncertain` are the places of the answer that had no source when it was given.
    """

    tool_name: str
    arguments: JsonObject
    response: Json
    place: str
    effects: ToolEffects | None = Field(default=None, exclude_if=lambda effects: effects is None)
    blanks: tuple[str, ...] = Field(default=(), exclude_if=lambda paths: not paths)
    uncertain: tuple[str, ...] = Field(default=(), exclude_if=lambda paths: not paths)


class Recording(FiniteValue):
    """What was read: the calls in the order of the file, and what was left out, with place and reason."""

    calls: tuple[ObservedCall, ...]
    problems: tuple[str, ...] = ()


def read_recording(text: str) -> Recording:
    """Read a recording: JSON, or JSON Lines.

    It can be a trace as ADK's environment simulation takes it (`intermediate_data.tool_uses`, each with its
    `response`), an eval set or a part of it (`tool_uses` and `tool_responses`, or `invocation_events`; the format before
    it, too), an ADK session or its list of events, a journal of ours (the path to its head), or a plain list of
    `{"name": ..., "args": ..., "response": ...}`. Names may be in snake_case or camelCase. An entry that is damaged is
    left out, and named among the problems.

    Raises:
        RecordingError: It is no JSON.
    """
    found = _Found()
    _visit(_document(text.lstrip("\ufeff")), "", found, 0)
    if not found.calls and not found.problems:
        found.problems.append("the recording contains no tool calls")
    return Recording(calls=tuple(found.calls), problems=tuple(found.problems))


def _document(text: str) -> Any:
    try:
        return read_json(text, most=LIMITS["data"])
    except JsonSyntaxError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) > 1 and _is_json(lines[0]):
            return [_line(line, number) for number, line in enumerate(lines, 1)]
        raise RecordingError(f"the recording is not JSON: {error}") from error
    except JsonTextError as error:
        raise RecordingError(f"the recording is not JSON: {error}") from error


def _is_json(line: str) -> bool:
    try:
        return isinstance(read_json(line, constants=True), (dict, list))
    except JsonTextError:
        return False


def _line(line: str, number: int) -> Any:
    try:
        return read_json(line)
    except JsonTextError as error:
        raise RecordingError(f"the recording is not JSON Lines: {error}, in record {number}") from error


@dataclass
class _Found:
    calls: list[ObservedCall] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(
        self, place: str, name: str, arguments: JsonObject, response: Any, effects: ToolEffects | None = None
    ) -> None:
        try:
            call = ObservedCall(
                tool_name=name,
                arguments=taken(arguments),
                response=taken(response),
                place=place,
                effects=effects,
            )
        except NotJsonError as error:
            self.problems.append(f"{place}: {error}")
        else:
            self.calls.append(call)


def _either(value: dict[str, Any], *names: str) -> Any:
    return next((value[name] for name in names if value.get(name) is not None), None)


def _visit(value: Any, place: str, found: _Found, depth: int) -> None:
    """Look for calls in a part of the document, and in what is inside of it."""
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        if value.get("format") == JOURNAL_FORMAT:
            _read_journal(value, place, found)
            return
        scope = _Scope(found.problems)
        for name, inner in value.items():
            if name in _PLACES_OF_CALLS:
                scope.take_all(name, inner, field_place(place, name))
            elif name not in _PASSED_OVER:
                _visit(inner, field_place(place, name), found, depth + 1)
        scope.settle(found)
    elif isinstance(value, list):
        if calls := _list_scope(value, place, found.problems):
            calls.settle(found)
            return
        for index, inner in enumerate(value):
            _visit(inner, item_place(place, index), found, depth + 1)


@dataclass
class _Call:
    place: str
    call_id: str
    name: str
    arguments: JsonObject
    response: Any = _MISSING


@dataclass
class _Scope:
    """The calls and responses of one invocation or session, which are yet to find each other."""

    problems: list[str]
    calls: list[_Call] = field(default_factory=list)
    responses: list[_Call] = field(default_factory=list)

    def settle(self, found: _Found) -> None:
        """Give each call its response: by the call's id, and else the next one of the same name."""
        by_id = {call.call_id: call for call in self.calls if call.call_id}
        by_name: dict[str, deque[_Call]] = {}
        for call in self.calls:
            by_name.setdefault(call.name, deque()).append(call)
        for response in self.responses:
            call_or_none = by_id.get(response.call_id) or _next_open(by_name.get(response.name))
            if call_or_none is None:
                self.problems.append(f"{response.place}: a response of {response.name!r} without a call")
            elif call_or_none.response is not _MISSING:
                self.problems.append(f"{response.place}: a second response to one call of {response.name!r}")
            else:
                call_or_none.response = response.response
        for call in self.calls:
            if call.response is _MISSING:
                self.problems.append(f"{call.place}: the call of {call.name!r} has no response")
            else:
                found.add(call.place, call.name, call.arguments, call.response)

    def take_all(self, kind: str, items: Any, place: str) -> None:
        """Take a list of calls, responses or events, as the name of its place says."""
        take = getattr(self, _PLACES_OF_CALLS[kind])
        if isinstance(items, list):
            for index, item in enumerate(items):
                take(item, item_place(place, index))
        elif items is not None:
            self.problems.append(f"{place}: it is not a list")

    def take_call(self, call: Any, place: str) -> None:
        """Take a function call; one that is damaged is a problem."""
        if (name := self._name(call, place)) is None:
            return
        arguments = _either(call, "args", "arguments", "tool_input", "toolInput")
        if arguments is not None and not isinstance(arguments, dict):
            self.problems.append(f"{place}: the arguments of {name!r} are not an object")
            return
        response = next((call[key] for key in ("response", "mock_tool_output") if key in call), _MISSING)
        self.calls.append(
            _Call(place, _text(_either(call, "id", "call_id")), name, arguments or {}, response)
        )

    def take_response(self, response: Any, place: str) -> None:
        """Take a function response; one that is damaged is a problem."""
        if (name := self._name(response, place)) is None:
            return
        if "response" not in response:
            self.problems.append(f"{place}: the response of {name!r} has no field 'response'")
            return
        call_id = _text(_either(response, "id", "call_id"))
        self.responses.append(_Call(place, call_id, name, {}, response["response"]))

    def take_event(self, event: Any, place: str) -> None:
        """Take the calls and responses among the parts of an event, or of an author's content."""
        if isinstance(event, dict) and event.get("partial"):
            return
        content = event.get("content") if isinstance(event, dict) else None
        parts = content.get("parts") if isinstance(content, dict) else None
        for index, part in enumerate(parts if isinstance(parts, list) else []):
            inside = item_place(field_place(field_place(place, "content"), "parts"), index)
            if not isinstance(part, dict):
                self.problems.append(f"{inside}: a part is not an object")
                continue
            for key in ("function_call", "functionCall"):
                if part.get(key) is not None:
                    self.take_call(part[key], field_place(inside, key))
            for key in ("function_response", "functionResponse"):
                if part.get(key) is not None:
                    self.take_response(part[key], field_place(inside, key))

    def _name(self, value: Any, place: str) -> str | None:
        name = _either(value, "name", "tool_name", "toolName") if isinstance(value, dict) else None
        if isinstance(name, str) and name:
            return name
        self.problems.append(
            f"{place}: {'the tool name is missing' if isinstance(value, dict) else 'it is not an object'}"
        )
        return None


def _next_open(calls: deque[_Call] | None) -> _Call | None:
    while calls:
        call = calls.popleft()
        if call.response is _MISSING:
            return call
    return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list_scope(items: list[Any], place: str, problems: list[str]) -> _Scope | None:
    """Gather what a plain list of events, or of calls with their responses, says."""
    scope = _Scope(problems)
    objects = [item for item in items if isinstance(item, dict)]
    if any("author" in item and "content" in item for item in objects):
        kind = "events"
    elif any(
        "name" in item and "response" in item and ("args" in item or "arguments" in item) for item in objects
    ):
        kind = "tool_uses"
    else:
        return None
    scope.take_all(kind, items, place)
    return scope


def _read_journal(journal: dict[str, Any], place: str, found: _Found) -> None:
    for index, node in _path_to_head(journal, place, found.problems):
        where = field_place(item_place(field_place(place, "nodes"), index), "fact")
        fact = node.get("fact")
        if not isinstance(fact, dict) or fact.get("kind") != "tool_answered":
            continue
        name, arguments, outcome = fact.get("tool_name"), fact.get("arguments"), fact.get("outcome")
        if not isinstance(name, str) or not isinstance(arguments, dict) or not isinstance(outcome, dict):
            found.problems.append(f"{where}: the answered call is damaged")
        elif outcome.get("kind") == "returned" and "value" in outcome:
            value = outcome["value"]
            response = value if isinstance(value, dict) else {"result": value}
            found.add(where, name, arguments, response, _effects(fact, where, found))
        elif outcome.get("kind") == "failed":
            error = {key: outcome.get(key) for key in ("error_code", "error_message")}
            found.add(where, name, arguments, error, _effects(fact, where, found))
        else:
            found.problems.append(f"{where}: the call of {name!r} {_without_answer(outcome)}")


def _effects(fact: dict[str, Any], where: str, found: _Found) -> ToolEffects | None:
    try:
        return ToolEffects.model_validate(fact.get("effects") or {}).plain
    except ValidationError:
        found.problems.append(f"{where}: the state changes of the answered call are damaged")
        return None


def _without_answer(outcome: dict[str, Any]) -> str:
    said = {"raised": "raised an exception, so it has no response", "deferred": "was not answered yet"}
    return said.get(str(outcome.get("kind")), "has no response")


def _path_to_head(
    journal: dict[str, Any], place: str, problems: list[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    nodes, at = journal.get("nodes"), journal.get("head")
    if not isinstance(nodes, list):
        problems.append(f"{field_place(place, 'nodes')}: it is not a list")
        return
    path: list[int] = []
    below = len(nodes)
    while isinstance(at, int) and 0 <= at < below and isinstance(nodes[at], dict):
        path.append(at)
        at, below = (
            nodes[at].get("parent"),
            at,
        )  # a parent stands before its children, so this comes to an end
    if at != -1:
        problems.append(
            f"{field_place(place, 'nodes')}: the path from the head is broken before node {below}"
        )
    for index in reversed(path):
        yield index, nodes[index]


_LONGEST_COMPARED = 2_000
_SHOWN = 60
_BEFORE = 20
"""How much is shown before the place at which two long values differ."""
_WORD = re.compile(r"\w+")

# The distance of two values of one type that have nothing in common; values of two types are 1 apart.
_SAME_TYPE = 0.9


class Near(FiniteValue):
    """A recorded call that is near.

    Attributes:
        index: Its number among the recorded calls.
        call: The call.
        distance: 0 is a call with equal arguments, 1 one that has nothing in common but the tool.
        differs: What is not as it was, in words: "args.city was 'Oslo' and is now 'Rome'".
    """

    index: int
    call: ObservedCall
    distance: float
    differs: tuple[str, ...]


Entry = TypeVar("Entry")


class Cursor(Generic[Entry]):
    """How far one has come along recorded answers.

    Args:
        entries: The answers, in the order in which they were recorded.

    Attributes:
        used: The places of those that were given already.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self.used: set[int] = set()

    def left(self, fits: Callable[[Entry], bool] = lambda _: True) -> Iterator[int]:
        """Yield the places of the answers that fit and were not given yet, in their order."""
        for place, entry in enumerate(self.entries):
            if place not in self.used and fits(entry):
                yield place

    def use(self, place: int) -> Entry:
        """Give the answer of a place: it counts as given."""
        self.used.add(place)
        return self.entries[place]


def turn_of(place: int, *, is_used: bool) -> tuple[bool, int]:
    """Return by what recorded answers to the same call are ordered: those not given yet in their order, and then the last one, which is given again."""
    return is_used, -place if is_used else place


def nearest(
    calls: Sequence[ObservedCall],
    tool_name: str,
    arguments: JsonObject,
    *,
    n: int = 5,
    used: Mapping[int, int] | None = None,
) -> tuple[Near, ...]:
    """Yield the recorded calls of a tool that are nearest to a call, the nearest first.

    Of calls that are equally near, those not given yet come first, in their order, and then the one recorded last:
    the same call asked twice gives the first and then the second recorded answer, and stays at the last.

    Args:
        calls: The recorded calls.
        tool_name: The tool that is called.
        arguments: The call's arguments.
        n: How many are given at most.
        used: How often each recorded call, by its number, was given before.
    """
    given = used or {}

    def ranked() -> Iterator[tuple[float, bool, int]]:
        for index, call in enumerate(calls):
            if call.tool_name == tool_name:
                yield (
                    _distance(call.arguments, arguments),
                    *turn_of(index, is_used=given.get(index, 0) > 0),
                )

    return tuple(
        Near(
            index=abs(order),
            call=calls[abs(order)],
            distance=distance,
            differs=tuple(_differences("args", calls[abs(order)].arguments, arguments)),
        )
        for distance, _, order in heapq.nsmallest(n, ranked())
    )


def _distance(there: Any, here: Any) -> float:
    """Return how far two values are from each other, from 0 to 1."""
    if isinstance(there, dict) and isinstance(here, dict):
        names = there.keys() | here.keys()
        if not names:
            return 0.0
        # Sorted, as sums of floats depend on their order and sets have none.
        return sum(_field_distance(there, here, name) for name in sorted(names)) / len(names)
    return 0.0 if same(there, here) else _unlikeness(there, here)


def _unlikeness(there: Any, here: Any) -> float:
    """Return how far two values are from each other that are not the same."""
    if _is_number(there) and _is_number(here):
        return _SAME_TYPE * _apart(there, here)
    if isinstance(there, str) and isinstance(here, str):
        return _SAME_TYPE * max(1.0 - _likeness(_features(there), _features(here)), 0.01)
    if isinstance(there, list) and isinstance(here, list):
        return _SAME_TYPE * max(1.0 - _likeness(_items(there), _items(here)), 0.01)
    return 1.0


def _field_distance(there: dict[str, Any], here: dict[str, Any], name: str) -> float:
    if name in there and name in here:
        return _distance(there[name], here[name])
    return 1.0


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _apart(there: float, here: float) -> float:
    """Return how far two different numbers are apart, in proportion to the larger one."""
    try:
        return min(1.0, max(float(abs(there - here) / max(abs(there), abs(here))), 1e-9))
    except OverflowError:  # one of them is a whole number that no float can hold
        return 1.0


def _likeness(there: frozenset[str], here: frozenset[str]) -> float:
    together = len(there | here)
    return len(there & here) / together if together else 1.0


@lru_cache(maxsize=32_768)
def _features(text: str) -> frozenset[str]:
    """Return a text's words and its pieces of three characters, without regard to case."""
    lower = text[:_LONGEST_COMPARED].casefold()
    padded = f" {lower} "
    return frozenset(_WORD.findall(lower)) | frozenset(padded[at : at + 3] for at in range(len(padded) - 2))


def _items(items: list[Any]) -> frozenset[str]:
    return frozenset(json.dumps(item, sort_keys=True) for item in items[:_LONGEST_COMPARED])


def _differences(place: str, there: Any, here: Any) -> Iterator[str]:
    if isinstance(there, dict) and isinstance(here, dict):
        for name in dict.fromkeys((*here, *there)):
            yield from _differences(
                field_place(place, name), there.get(name, _MISSING), here.get(name, _MISSING)
            )
    elif here is _MISSING:
        yield f"{place} was {_shown(there)} and is now missing"
    elif there is _MISSING:
        yield f"{place} was missing and is now {_shown(here)}"
    elif not same(there, here):
        texts = _written(there), _written(here)
        same_start = next(
            (at for at, (one, other) in enumerate(zip(*texts, strict=False)) if one != other), 0
        )
        start = max(0, same_start - _BEFORE) if same_start > _SHOWN // 2 else 0
        was, now = (_cut(text, start) for text in texts)
        yield f"{place} was {was} and is now {now}"


def _shown(value: Any) -> str:
    return _cut(_written(value))


def _written(value: Any) -> str:
    return repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(text: str, start: int = 0) -> str:
    """Return a text as far as it is shown; `start` is where that begins in one that is too long."""
    if len(text) <= _SHOWN:
        return text
    shown = f"...{text[start:]}" if start else text
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."
