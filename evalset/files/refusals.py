"""Tells what ADK's own models refuse in a case, and how to fix it; also reads a case as it is once that is fixed."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from google.adk.evaluation.conversation_scenarios import ConversationScenario
from google.adk.evaluation.eval_case import (
    EvalCase,
    IntermediateData,
    Invocation,
    InvocationEvent,
    InvocationEvents,
    SessionInput,
)
from google.adk.evaluation.eval_rubrics import Rubric, RubricContent
from google.genai import types
from pydantic import BaseModel, ValidationError

from evalset.files.byte_edits import (
    Doubled,
    Edit,
    JsonNode,
    Remove,
    RenameMember,
    Replace,
    apply,
    short,
)
from simulator.base.adk_names import camel, snake
from simulator.base.json_paths import path_place
from simulator.base.json_text import JsonPath, JsonPlaces, JsonTextError, read_json
from simulator.base.secret_masking import error_words
from simulator.base.validation_words import is_long, validated

_CASES = "eval_cases"
_MODELS: dict[str, tuple[type[BaseModel], ...]] = {
    _CASES: (EvalCase,),
    "conversation": (Invocation,),
    "intermediate_data": (IntermediateData, InvocationEvents),
    "invocation_events": (InvocationEvent,),
    "user_content": (types.Content,),
    "final_response": (types.Content,),
    "content": (types.Content,),
    "parts": (types.Part,),
    "tool_uses": (types.FunctionCall,),
    "function_call": (types.FunctionCall,),
    "tool_responses": (types.FunctionResponse,),
    "function_response": (types.FunctionResponse,),
    "rubrics": (Rubric,),
    "rubric_content": (RubricContent,),
    "session_input": (SessionInput,),
    "conversation_scenario": (ConversationScenario,),
}
_FORMS = ("IntermediateData", "InvocationEvents")
_TOLD_ELSEWHERE = frozenset({"user_content", "eval_id"})
_MESSAGES = frozenset({"user_content", "final_response", "content"})
_TEXTS = frozenset({"content", "text"})
_OLD_TOOL_USE = "expected_tool_use"
_CLOSE = 0.8
_SPELLINGS: dict[str, frozenset[str]] = {
    "name": frozenset({"tool_name", "function_name", "tool", "function"}),
    "args": frozenset(
        f"{about}{name}"
        for about in ("", "tool_", "function_")
        for name in ("arguments", "args", "input", "inputs", "kwargs", "parameters", "params")
    ),
    "id": frozenset({"call_id", "tool_call_id", "tool_use_id"}),
    "response": frozenset({"tool_response", "tool_output", "output", "result", "content"}),
    "tool_uses": frozenset({"tool_calls", "function_calls", "expected_tool_use"}),
    "tool_responses": frozenset({"tool_results", "tool_outputs", "function_responses"}),
}
"""How other programs spell what ADK has in calls, in responses and in their lists."""
_WRAPPERS = frozenset({"function", "function_call", "function_response"})
"""Under these names other programs put the name and the arguments into an object of their own."""


_ROUNDS = 50
"""How often a case is looked at again at most: what is renamed may be refused under its new name."""


class Refused(NamedTuple):
    """Something that ADK refuses: the code of its finding, its place, what it means, and what a person can do or what the `edits` fix and lose."""

    code: str
    path: JsonPath
    meaning: str
    remedy: str = ""
    fix: str = ""
    edits: tuple[Edit, ...] = ()
    loses: str = ""


class _Refusal(NamedTuple):
    """What ADK refuses: where, why in pydantic's words, and whether a name is refused rather than a value."""

    node: JsonNode
    reason: str
    kind: str


def refused_in(case: JsonNode, text: bytes) -> Iterator[Refused]:
    """Yield what ADK refuses in a case, save what other checks tell in better words.

    Args:
        case: The case.
        text: Its JSON.
    """
    for refusal in _refusals(case, text):
        place, value = refusal.node.path, refusal.node.value
        if refusal.kind == "extra_forbidden":
            yield _refused_key(case, refusal)
        else:
            yield refused_value(place, value, refusal.reason, _fields(place))


def refused_value(place: JsonPath, value: Any, reason: str, fields: Collection[str]) -> Refused:
    """Tell of a value that ADK refuses; `fields` are the names that ADK knows at its place."""
    meaning, name = f"ADK refuses the whole file: {reason}.", snake(str(place[-1]))
    fits = _fitting(name, value) if name in fields else None
    if fits in (None, value):
        return Refused("refused-value", place, meaning, "Change it to what ADK expects.")
    return Refused(
        "refused-value", place, meaning, fix=f"changes it to {short(fits)}", edits=(Replace(place, fits),)
    )


def readable_case(value: Any) -> tuple[Any, tuple[str, ...]]:
    """Return a case with all fixed that can be, and in words with the place what was changed."""
    text, told = json.dumps({_CASES: [value]}).encode(), list[str]()
    for _ in range(_ROUNDS):
        places, node = JsonPlaces(text), JsonNode(value, (_CASES, 0))
        start, stop = places.value(node.path)
        found = [each for each in refused_in(node, places.text[start:stop]) if each.edits]
        if not found:
            break
        for each in found:
            loses = f" (discards {each.loses})" if each.loses else ""
            told.append(f"{path_place(each.path[2:])}: {each.fix}{loses}")
        text = apply(places, [edit for each in found for edit in each.edits]).text
        value = json.loads(text)[_CASES][0]
    return value, tuple(dict.fromkeys(told))


def _refusals(case: JsonNode, text: bytes) -> Iterator[_Refusal]:
    try:
        if is_long(case.value):
            validated(EvalCase, case.value)  # ends where enough is wrong
        EvalCase.model_validate_json(text)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
    except Exception as error:  # noqa: BLE001 - a validator of ADK raises what it likes; the person is told
        yield _Refusal(case, error_words(error), "raised")
        return
    else:
        return
    for each in found:
        node, form_fits = _located(case, each["loc"])
        missing = each["type"] == "missing"
        last = str(each["loc"][-1]) if each["loc"] else ""
        told = missing and last in {camel(name) for name in _TOLD_ELSEWHERE}
        if not form_fits or told or (not each["loc"] and each["type"] == "value_error"):
            continue
        reason = f"{snake(last)!r} is missing" if missing else each["msg"].rstrip(".").lower()
        yield _Refusal(node, reason, each["type"])


def _located(case: JsonNode, loc: tuple[int | str, ...]) -> tuple[JsonNode, bool]:
    """Find the place that pydantic names; also return whether it speaks of the form that the data is in."""
    node, form_fits = case, True
    for step in loc:
        if step in _FORMS:
            events = "invocation_events" in node.members or "invocationEvents" in node.members
            form_fits = form_fits and (step == _FORMS[1]) == events
            continue
        inner = node.value
        if isinstance(inner, dict) and isinstance(step, str):
            spelled = next((name for name in (step, snake(step), camel(step)) if name in inner), None)
            if spelled is None:
                break
            node = JsonNode(inner[spelled], (*node.path, spelled))
        elif isinstance(inner, list) and isinstance(step, int) and step < len(inner):
            node = JsonNode(inner[step], (*node.path, step))
        else:
            break
    return node, form_fits


def _refused_key(case: JsonNode, refusal: _Refusal) -> Refused:
    path, value = refusal.node.path, refusal.node.value
    name = str(path[-1])
    parent = _parent(case, path)
    if _is_turn(path) and snake(name) in _SPELLINGS["tool_uses"] | {"tool_uses"}:
        return _calls_of_turn(parent, path, value)
    found = Refused(
        "refused-key", path, f"ADK does not know the field {name!r} here and refuses the whole file."
    )
    if (spelled := _other_spelling(parent, found)) is not None:
        return spelled
    free = [
        field for field in _fields(path) if field not in parent.members and camel(field) not in parent.members
    ]
    same = next((field for field in free if _plain(field) == _plain(name)), None)
    if _is_message(path) and name in _TEXTS and isinstance(value, str) and not parent.members.get("parts"):
        return _text_of_message(parent, path, value)
    if same is not None:
        return found._replace(fix=f"renames it to {same!r}", edits=(RenameMember(path, same),))
    if isinstance(parent.value, Doubled) and name in parent.value.names:
        remedy = "Decide first which of the two to keep."
    elif meant := difflib.get_close_matches(name, free, 1, _CLOSE):
        remedy = f"Did you mean {meant[0]!r}?"
    elif (lacks := _lacks(parent, path)) and _fitting("args", value):
        remedy = f"Rename it to {lacks!r} if it is that. Otherwise remove it."
    else:
        return found._replace(fix="removes it", edits=(Remove(path),), loses=f"{name} = {short(value)}")
    return found._replace(remedy=remedy)


def _other_spelling(parent: JsonNode, found: Refused) -> Refused | None:
    """Tell of what another program calls otherwise in a call or a response: it gets ADK's name, and is never removed."""
    path, name, known = found.path, str(found.path[-1]), _fields(found.path)
    value, edits = parent.members[name], list[Edit]()
    if isinstance(parent.value, Doubled) and name in parent.value.names:
        return None
    if snake(name) in _WRAPPERS and isinstance(value, dict) and "name" in known:
        rest = {key: held for key, held in parent.members.items() if key != name and held is not None}
        fix, edits = "moves its fields into the call", [Replace(parent.path, rest | value)]
        field, possible = "the call", rest.keys().isdisjoint(value)
    else:
        field = next((each for each in known if snake(name) in _SPELLINGS.get(each, ())), "")
        if not field:
            return None
        fits, others = _fitting(field, value), _SPELLINGS[field] | {field}
        given = [key for key, held in parent.members.items() if snake(key) in others and held is not None]
        possible = fits is not None and given == [name]
        empty = [key for key in parent.members if snake(key) == field]
        fix, edits = f"renames it to {field!r}", [RenameMember(path, field)]
        edits += [Remove((*parent.path, key)) for key in empty]
        edits += [Replace(path, fits)] if fits != value else []
    remedy = f"Write what it holds as {field!r}."
    return found._replace(remedy=remedy, fix=fix, edits=tuple(edits) if possible else ())


def _lacks(parent: JsonNode, path: JsonPath) -> str:
    """Return which field with the values of a call or a response is not there, as what stands there under another name may be it; empty where none lacks."""
    fields = (field for field in ("args", "response") if field in _fields(path))
    return next((field for field in fields if not parent.members.get(field)), "")


def _fitting(field: str, value: Any) -> Any:
    """Return a value as ADK's field takes it; None where it does not fit, or could be meant in two ways.

    Arguments in JSON text become their object, any other response is wrapped as ADK wraps what a tool returns, and a time in
    ISO 8601 becomes its seconds.
    """
    if field == "creation_timestamp":
        return iso_seconds(value)
    read = value
    if field in {"args", "response"} and isinstance(value, str):
        with suppress(JsonTextError):
            read = read_json(value)
    if field == "response" and not isinstance(read, dict):
        return {"result": value}
    wanted = {"args": dict, "tool_uses": list, "tool_responses": list}.get(field)
    if wanted is None:
        return value if isinstance(value, dict if field == "response" else str) else None
    return read if isinstance(read, wanted) else None


def iso_seconds(value: Any) -> float | None:
    """Return the seconds since the epoch of a time in ISO 8601, in UTC where it names no zone; None for anything else."""
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _is_message(path: JsonPath) -> bool:
    return len(path) > 1 and isinstance(path[-2], str) and snake(path[-2]) in _MESSAGES


def _text_of_message(parent: JsonNode, path: JsonPath, value: str) -> Refused:
    """Tell of a message whose text stands beside its role, as other formats have it: it becomes the one part."""
    edits: list[Edit] = [RenameMember(path, "parts"), Replace(path, [{"text": value}])]
    if "parts" in parent.members:
        edits.insert(0, Remove((*path[:-1], "parts")))
    words = f"ADK does not know the field {str(path[-1])!r} in a message and refuses the whole file."
    return Refused("refused-key", path, words, fix="moves the text into 'parts'", edits=tuple(edits))


def _calls_of_turn(parent: JsonNode, path: JsonPath, value: Any) -> Refused:
    """Tell of calls that stand in a turn of today's: they become its `intermediate_data` where it has none."""
    name, code, meaning = str(path[-1]), "refused-key", "ADK expects calls in 'intermediate_data'"
    if name == _OLD_TOOL_USE:
        code, meaning = "old-tool-use", f"{name!r} belongs to the legacy format"
    found = Refused(
        code, path, f"{meaning}. ADK refuses the whole file for it in a turn of the current format."
    )
    calls = value if isinstance(value, list) else [value]
    known = all(isinstance(call, dict) for call in calls)
    if code == "old-tool-use" and known:
        known = all(set(use) <= {"tool_name", "tool_input"} and "tool_name" in use for use in calls)
        calls = [{"name": use["tool_name"], "args": use.get("tool_input", {})} for use in calls if known]
    if not calls and known:
        return found._replace(fix="removes the empty list", edits=(Remove(path),))
    if not known or parent.field("intermediate_data") is not None:
        remedy = "Write the calls as 'intermediate_data.tool_uses', each with 'name' and 'args'."
        return found._replace(remedy=remedy)
    edits: list[Edit] = [RenameMember(path, "intermediate_data"), Replace(path, {"tool_uses": calls})]
    if "intermediate_data" in parent.members:
        edits.insert(0, Remove((*path[:-1], "intermediate_data")))
    return found._replace(fix="moves the calls into 'intermediate_data'", edits=tuple(edits))


def _is_turn(path: JsonPath) -> bool:
    return len(path) > 2 and path[-3] == "conversation"  # noqa: PLR2004 - the list, the turn's number, the name


def _parent(case: JsonNode, path: JsonPath) -> JsonNode:
    node = case
    for step in path[len(case.path) : -1]:
        node = JsonNode(node.value[step], (*node.path, step))
    return node


def _fields(path: JsonPath) -> list[str]:
    """Return the names that ADK knows at the place of a member."""
    named = next((step for step in reversed(path[:-1]) if isinstance(step, str)), "")
    return [field for model in _MODELS.get(snake(named), ()) for field in model.model_fields]


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").replace(" ", "").lower()
