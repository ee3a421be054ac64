"""Reads of a case's raw JSON what happens in it, step by step. Pure.

A case is looked at and changed as its file says it: names of fields in either of ADK's spellings, in the order in which they stand.
`turns_of` and `steps_of` say what happens, `field`, `at` and `put` get at single values. `spliced` writes an edited case into the bytes
of the case as it was: what did not change stays as it is, byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from evalset.files.set_outline import Style
from simulator.base.adk_names import camel
from simulator.base.json_paths import ABSENT
from simulator.base.json_text import JsonPath, JsonPlaces
from simulator.base.json_values import copied

Case: TypeAlias = dict[str, Any]
"""An eval case as its file says it, in the order of its keys."""

Where: TypeAlias = tuple[str | int, ...]
"""The way to a value in a case: `("conversation", 0, "user_content")`; names of fields in snake case."""


class EditError(ValueError):
    """An edit does not fit the eval set; the text names the case and the place, and nothing was changed."""


def key_of(held: dict[str, Any], name: str) -> str:
    """Return the key under which a field stands, in either spelling; where it is not there, as its neighbours are written."""
    if name in held:
        return name
    other = camel(name)
    if other in held:
        return other
    is_camel = any("_" not in key and key != key.lower() for key in held)
    return other if is_camel and not any("_" in key for key in held) else name


def field(held: Any, name: str, default: Any = None) -> Any:
    """Return the value of a field in either spelling; the default where it is not there, or null."""
    if not isinstance(held, dict):
        return default
    found = held.get(name)
    if found is None:
        found = held.get(camel(name))
    return default if found is None else found


def listed(held: Any, name: str) -> list[Any]:
    """Return a field that is a list; an empty one where it is something else."""
    if not isinstance(held, dict):
        return []
    found = held.get(name)
    if found is None:
        found = held.get(camel(name))
    return found if isinstance(found, list) else []


def at(case: Any, where: Where) -> Any:
    """Return the value at a place; `ABSENT` where there is none."""
    held = case
    for step in where:
        if isinstance(step, int):
            if not isinstance(held, list) or not -len(held) <= step < len(held):
                return ABSENT
            held = held[step]
        else:
            if not isinstance(held, dict) or (key := key_of(held, step)) not in held:
                return ABSENT
            held = held[key]
    return held


def put(case: Case, where: Where, value: Any) -> Case:
    """Return the case with a value put at a place; `ABSENT` takes it away. Objects on the way are made where they are not there.

    Raises:
        EditError: The way leads through something that is no object, or out of a list.
    """
    if not where:
        return dict(value)
    made: Case = copied(case)
    held: Any = made
    for depth, step in enumerate(where[:-1]):
        held = _step(held, step, where[: depth + 1])
    last = where[-1]
    if isinstance(last, int):
        _step(held, last, where)
        if value is ABSENT:
            del held[last]
        else:
            held[last] = value
    elif not isinstance(held, dict):
        raise EditError(f"{named(where[:-1])} is not an object")
    elif value is ABSENT:
        held.pop(key_of(held, last), None)
    else:
        held[key_of(held, last)] = value
    return made


def _step(held: Any, step: str | int, so_far: Where) -> Any:
    if isinstance(step, int):
        if not isinstance(held, list) or not 0 <= step < len(held):
            raise EditError(f"{named(so_far)} does not exist")
        return held[step]
    if not isinstance(held, dict):
        raise EditError(f"{named(so_far[:-1])} is not an object")
    key = key_of(held, step)
    if held.get(key) is None:
        held[key] = {}
    return held[key]


def named(where: Sequence[str | int]) -> str:
    """Name a place for a person: `conversation[0].user_content`."""
    words = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in where)
    return words.lstrip(".") or "the case"


def written(value: Any) -> str:
    """Write a value so that two that say the same in the same order of keys are the same."""
    return json.dumps(value, ensure_ascii=False)


def is_same(one: Any, other: Any) -> bool:
    """Return whether two values say the same in the same order of keys."""
    return one is other or written(one) == written(other)


# Reads of a case's raw JSON what happens in it, step by step, with the place of each step. Pure.


Kind: TypeAlias = Literal["query", "text", "call", "response", "final"]


class CaseStep(NamedTuple):
    """One step of a turn.

    Attributes:
        kind: What it is.
        turn: The turn, from 0.
        where: Its place in the case.
        value: What stands there.
        author: Who speaks or calls; empty where that is not said.
        name: The tool of a call or an answer.
        call_id: The id of a call, or of the call that is answered.
    """

    kind: Kind
    turn: int
    where: Where
    value: Any
    author: str = ""
    name: str = ""
    call_id: str = ""


class CallSeen(NamedTuple):
    """A call of a turn and the answers to it, as steps; more than one where a later one came."""

    call: CaseStep
    answers: tuple[CaseStep, ...]


def turns_of(case: Case) -> list[Any]:
    """Return the turns of a case; none where it is a scenario."""
    return listed(case, "conversation")


def steps_of(case: Case, turn: int) -> list[CaseStep]:
    """Return what happens in a turn, in order: an answer stands behind its call where the case does not say when it came."""
    held = turns_of(case)[turn]
    base: Where = ("conversation", turn)
    found = [CaseStep("query", turn, (*base, "user_content"), field(held, "user_content"), author="user")]
    data = field(held, "intermediate_data")
    if field(data, "invocation_events") is not None:
        found += _of_events(data, turn, (*base, "intermediate_data"))
    elif data is not None:
        found += _of_lists(data, turn, (*base, "intermediate_data"))
    final = field(held, "final_response")
    if final is not None:
        found.append(CaseStep("final", turn, (*base, "final_response"), final))
    return found


def _of_lists(data: Any, turn: int, base: Where) -> Iterator[CaseStep]:
    answers = [
        _answer(held, turn, (*base, "tool_responses", place))
        for place, held in enumerate(listed(data, "tool_responses"))
    ]
    calls = [
        _call(held, turn, (*base, "tool_uses", place)) for place, held in enumerate(listed(data, "tool_uses"))
    ]
    for seen in paired(calls, answers):
        yield seen.call
        for answer in seen.answers:
            answers.remove(answer)
            yield answer
    yield from answers  # those that nobody has called
    for place, held in enumerate(listed(data, "intermediate_responses")):
        author, parts = (*held, "", [])[:2] if isinstance(held, list) else ("", [])
        where = (*base, "intermediate_responses", place)
        yield CaseStep("text", turn, (*where, 1), parts, author=str(author))


def _of_events(data: Any, turn: int, base: Where) -> Iterator[CaseStep]:
    for number, event in enumerate(listed(data, "invocation_events")):
        author = str(field(event, "author", ""))
        for place, part in enumerate(listed(field(event, "content"), "parts")):
            where = (*base, "invocation_events", number, "content", "parts", place)
            call, answer = field(part, "function_call"), field(part, "function_response")
            if call is not None:
                yield _call(call, turn, (*where, "function_call"), author)
            elif answer is not None:
                yield _answer(answer, turn, (*where, "function_response"), author)
            else:
                yield CaseStep("text", turn, where, part, author=author)


def _call(held: Any, turn: int, where: Where, author: str = "") -> CaseStep:
    name, call_id = (str(field(held, each, "")) for each in ("name", "id"))
    return CaseStep("call", turn, where, held, author, name, call_id)


def _answer(held: Any, turn: int, where: Where, author: str = "") -> CaseStep:
    return _call(held, turn, where, author)._replace(kind="response")


def paired(calls: list[CaseStep], answers: list[CaseStep]) -> list[CallSeen]:
    """Find the answers to each call: by its id, and where there is none by the tool's name, the first that is left."""
    left = list(answers)
    found: list[CallSeen] = []
    for call in calls:
        own = [answer for answer in left if call.call_id and answer.call_id == call.call_id]
        if not own and not call.call_id:
            own = [answer for answer in left if answer.name == call.name][:1]
        left = [answer for answer in left if answer not in own]
        found.append(CallSeen(call, tuple(own)))
    for place, seen in enumerate(found):
        if not seen.answers:
            own = [answer for answer in left if not answer.call_id and answer.name == seen.call.name][:1]
            left = [answer for answer in left if answer not in own]
            found[place] = seen._replace(answers=tuple(own))
    return found


def calls_of(case: Case, turn: int) -> list[CallSeen]:
    """Return the calls of a turn with their answers, in the order of the calls."""
    steps = steps_of(case, turn)
    return paired(
        [step for step in steps if step.kind == "call"], [step for step in steps if step.kind == "response"]
    )


def without_steps(case: Case, steps: Iterable[CaseStep]) -> Case:
    """Take steps away: of a list the entry, of an event the part, and the event where nothing is left in it."""
    made = case
    # From behind, so that the places of those before stay what they are.
    for step in sorted(steps, key=step_order, reverse=True):
        where = step.where
        if where[-1] in {"function_call", "function_response"} or "intermediate_responses" in where:
            where = where[:-1]
        made = put(made, where, ABSENT)
        if "content" in where and not at(made, where[:-1]):
            made = put(made, where[: where.index("content")], ABSENT)
    return made


def step_order(step: CaseStep) -> list[str]:
    """Return what steps are sorted by, so that they stand as in the case."""
    return [f"{each:09d}" if isinstance(each, int) else each for each in step.where]


def text_of(value: Any) -> str:
    """Return the text of a content, a list of parts or one part; parts that are no text add nothing."""
    parts = value if isinstance(value, list) else listed(value, "parts") or [value]
    texts = [field(part, "text") for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str))


def is_plain_text(value: Any) -> bool:
    """Return whether a content, a list of parts or one part is one text and nothing else, so that it can be edited as one."""
    if isinstance(value, dict) and "parts" not in value:
        return set(value) == {"text"} and isinstance(value["text"], str)
    parts = value if isinstance(value, list) else listed(value, "parts")
    return len(parts) == 1 and isinstance(parts[0], dict) and is_plain_text(parts[0])


def with_text(value: Any, text: str) -> Any:
    """Return a content, a list of parts or one part with another text; `is_plain_text` says where that can be."""
    if isinstance(value, list):
        return [{**value[0], "text": text}]
    if "parts" in value:
        return {**value, "parts": with_text(value["parts"], text)}
    return {**value, "text": text}


def agent_of(case: Case) -> str:
    """Return the app that a case names; empty where it names none."""
    return str(field(field(case, "session_input"), "app_name", ""))


class _Change(NamedTuple):
    """A value that differs; `key` names one that comes behind the last member at the path, None for an item of a list."""

    path: JsonPath
    value: Any
    is_new: bool = False
    key: str | None = None


def spliced(raw: bytes, before: Case, after: Case, style: Style) -> bytes:
    """Return the bytes of a case after its edits.

    Args:
        raw: Its bytes before, in UTF-8; no key stands twice in an object.
        before: What they say.
        after: What they are to say.
        style: How cases are written in this file.
    """
    places = JsonPlaces(raw)
    made = raw
    changes = [(_span(places, change), change) for change in _changes(before, after, ())]
    for (start, stop), change in sorted(changes, key=lambda each: each[0], reverse=True):
        made = made[:start] + _text(raw, places, change, style) + made[stop:]
    return made


def _changes(before: Any, after: Any, path: JsonPath) -> Iterator[_Change]:
    """Yield what differs, each as far inside as both have the same members; of one place the last comes first."""
    if isinstance(before, dict) and isinstance(after, dict) and before:
        names = list(after)
        if names[: len(before)] == list(before):
            for name in reversed(names[len(before) :]):
                yield _Change(path, after[name], is_new=True, key=name)
            for name in before:
                yield from _changes(before[name], after[name], (*path, name))
            return
    if isinstance(before, list) and isinstance(after, list) and before and len(after) >= len(before):
        for item in reversed(after[len(before) :]):
            yield _Change(path, item, is_new=True)
        for place, item in enumerate(before):
            yield from _changes(item, after[place], (*path, place))
        return
    if not is_same(before, after):
        yield _Change(path, after)


def _span(places: JsonPlaces[bytes], change: _Change) -> tuple[int, int]:
    start, stop = places.value(change.path)
    if not change.is_new:
        return start, stop
    last = places.members(start)[-1].value[1]
    return last, last


def _text(raw: bytes, places: JsonPlaces[bytes], change: _Change, style: Style) -> bytes:
    """Write a value as its neighbours are: what comes new stands behind a comma and the gap before the last member."""
    depth = len(change.path) + change.is_new
    inner = style.model_copy(update={"indent": style.indent + (style.unit or "") * depth})
    value = inner.write(change.value)
    if not change.is_new:
        return value
    members = places.members(places.value(change.path)[0])
    start = members[-1].start
    gap_start = members[-2].value[1] if len(members) > 1 else places.value(change.path)[0]
    gap = raw[gap_start + 1 : start].rpartition(b",")[2]
    key = b"" if change.key is None else json.dumps(change.key, ensure_ascii=False).encode() + b":"
    space = b" " if change.key is not None and style.spaced else b""
    return b"," + gap + key + space + value


# Reaches into the raw JSON of an eval case, whose fields stand in snake case or in camel case, as ADK reads both. Pure.
