"""Tells what ADK's own models refuse in a case, and how to fix it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import suppress
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

from evalset.doctor.byte_edits import Edit, Remove, RenameMember, Replace
from evalset.doctor.file_reading import Doubled
from evalset.doctor.findings import JsonNode, Notes, short
from simulator.base.json_places import JsonPath
from simulator.base.json_text import JsonTextError, read_json
from simulator.base.name_casing import camel, snake
from simulator.base.secret_masking import error_words
from simulator.base.validation_words import is_long, validated

_MODELS: dict[str, tuple[type[BaseModel], ...]] = {
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
    "args": frozenset({"tool_input", "tool_args", "tool_arguments", "arguments", "input", "parameters"}),
    "id": frozenset({"call_id", "tool_call_id", "tool_use_id"}),
    "response": frozenset({"tool_response", "tool_output", "output", "result", "content"}),
    "tool_uses": frozenset({"tool_calls", "function_calls", "expected_tool_use"}),
    "tool_responses": frozenset({"tool_results", "tool_outputs", "function_responses"}),
}
"""How other programs spell what ADK has in calls, in responses and in their lists."""
_WRAPPERS = frozenset({"function", "function_call", "function_response"})
"""Under these names other programs put the name and the arguments into an object of their own."""


class Refusal(NamedTuple):
    """What ADK refuses: where, why in pydantic's words, and whether a name is refused rather than a value."""

    node: JsonNode
    reason: str
    kind: str


def note_refusals(case: JsonNode, text: bytes, eval_id: str, notes: Notes) -> None:
    """Note what ADK refuses in a case, save what other checks tell in better words.

    Args:
        case: The case.
        text: Its JSON.
        eval_id: Its id.
        notes: Where to note it.
    """
    for refusal in _refusals(case, text):
        place, value = refusal.node.path, refusal.node.value
        if refusal.kind == "extra_forbidden":
            _note_key(case, refusal, eval_id, notes)
        elif place[-1] in _fields(place) and (fits := _fitting(str(place[-1]), value)) not in (None, value):
            notes.add(
                "refused-value", place, f"ADK refuses the whole file: {refusal.reason}.",
                fix=f"changes it to {short(fits)}", edits=[Replace(place, fits)], eval_id=eval_id,
            )  # fmt: skip
        else:
            _note_value(refusal, eval_id, notes)


def note_shapeless(case: JsonNode, notes: Notes, count: int = 1) -> None:
    """Note a case that is no object; `count` says for how many such cases the note stands, of each of which ADK says the same."""
    for refusal in _refusals(case, b"0"):
        _note_value(refusal, "", notes, count)


def _note_value(refusal: Refusal, eval_id: str, notes: Notes, count: int = 1) -> None:
    notes.add(
        "refused-value", refusal.node.path, f"ADK refuses the whole file: {refusal.reason}.",
        "Change it to what ADK expects.", eval_id=eval_id, count=count,
    )  # fmt: skip


def _refusals(case: JsonNode, text: bytes) -> Iterator[Refusal]:
    try:
        if is_long(case.value):
            validated(EvalCase, case.value)  # ends where enough is wrong
        EvalCase.model_validate_json(text)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
    except Exception as error:  # noqa: BLE001 - a validator of ADK raises what it likes; the person is told
        yield Refusal(case, error_words(error), "raised")
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
        yield Refusal(node, reason, each["type"])


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


def _note_key(case: JsonNode, refusal: Refusal, eval_id: str, notes: Notes) -> None:
    path, value = refusal.node.path, refusal.node.value
    name = str(path[-1])
    parent = _parent(case, path)
    if _is_turn(path) and snake(name) in _SPELLINGS["tool_uses"] | {"tool_uses"}:
        _note_calls_of_turn(parent, path, value, eval_id, notes)
        return
    meaning = f"ADK does not know the field {name!r} here and refuses the whole file."
    if _note_spelling(parent, path, meaning, eval_id, notes):
        return
    free = [
        field for field in _fields(path) if field not in parent.members and camel(field) not in parent.members
    ]
    same = next((field for field in free if _plain(field) == _plain(name)), None)
    if _is_message(path) and name in _TEXTS and isinstance(value, str) and not parent.members.get("parts"):
        _note_text_of_message(parent, path, value, eval_id, notes)
    elif same is not None:
        notes.add(
            "refused-key",
            path,
            meaning,
            fix=f"renames it to {same!r}",
            edits=[RenameMember(path, same)],
            eval_id=eval_id,
        )
    elif isinstance(parent.value, Doubled) and name in parent.value.names:
        notes.add("refused-key", path, meaning, "Decide first which of the two to keep.", eval_id=eval_id)
    elif meant := difflib.get_close_matches(name, free, 1, _CLOSE):
        notes.add("refused-key", path, meaning, f"Did you mean {meant[0]!r}?", eval_id=eval_id)
    else:
        notes.add(
            "refused-key", path, meaning, fix="removes it", edits=[Remove(path)], eval_id=eval_id,
            loses=f"{name} = {short(value)}",
        )  # fmt: skip


def _note_spelling(parent: JsonNode, path: JsonPath, meaning: str, eval_id: str, notes: Notes) -> bool:
    """Note what another program calls otherwise in a call or a response: it gets ADK's name, and is never removed."""
    name, known = str(path[-1]), _fields(path)
    value, edits = parent.members[name], list[Edit]()
    if isinstance(parent.value, Doubled) and name in parent.value.names:
        return False
    if snake(name) in _WRAPPERS and isinstance(value, dict) and "name" in known:
        rest = {key: held for key, held in parent.members.items() if key != name and held is not None}
        fix, edits = "moves its fields into the call", [Replace(parent.path, rest | value)]
        field, possible = "the call", rest.keys().isdisjoint(value)
    else:
        field = next((each for each in known if snake(name) in _SPELLINGS.get(each, ())), "")
        if not field:
            return False
        fits, others = _fitting(field, value), _SPELLINGS[field] | {field}
        given = [key for key, held in parent.members.items() if snake(key) in others and held is not None]
        possible = fits is not None and given == [name]
        empty = [key for key in parent.members if snake(key) == field]
        fix, edits = f"renames it to {field!r}", [RenameMember(path, field)]
        edits += [Remove((*parent.path, key)) for key in empty]
        edits += [Replace(path, fits)] if fits != value else []
    remedy = f"Write what it holds as {field!r}."
    notes.add("refused-key", path, meaning, remedy, fix=fix, edits=edits if possible else (), eval_id=eval_id)
    return True


def _fitting(field: str, value: Any) -> Any:
    """Return a value as ADK's field takes it; None where it does not fit, or could be meant in two ways.

    Arguments in JSON text become their object, and any other response is wrapped as ADK wraps what a tool returns.
    """
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


def _is_message(path: JsonPath) -> bool:
    return len(path) > 1 and isinstance(path[-2], str) and snake(path[-2]) in _MESSAGES


def _note_text_of_message(parent: JsonNode, path: JsonPath, value: str, eval_id: str, notes: Notes) -> None:
    """Note a message whose text stands beside its role, as other formats have it: it becomes the one part."""
    edits: list[Edit] = [RenameMember(path, "parts"), Replace(path, [{"text": value}])]
    if "parts" in parent.members:
        edits.insert(0, Remove((*path[:-1], "parts")))
    notes.add(
        "refused-key", path, f"ADK does not know the field {str(path[-1])!r} in a message and refuses the whole file.",
        fix="moves the text into 'parts'", edits=edits, eval_id=eval_id,
    )  # fmt: skip


def _note_calls_of_turn(parent: JsonNode, path: JsonPath, value: Any, eval_id: str, notes: Notes) -> None:
    """Note calls that stand in a turn of today's: they become its `intermediate_data` where it has none."""
    name, code, meaning = str(path[-1]), "refused-key", "ADK expects calls in 'intermediate_data'"
    if name == _OLD_TOOL_USE:
        code, meaning = "old-tool-use", f"{name!r} belongs to the legacy format"
    meaning += ". ADK refuses the whole file for it in a turn of the current format."
    calls = value if isinstance(value, list) else [value]
    known = all(isinstance(call, dict) for call in calls)
    if code == "old-tool-use" and known:
        known = all(set(use) <= {"tool_name", "tool_input"} and "tool_name" in use for use in calls)
        calls = [{"name": use["tool_name"], "args": use.get("tool_input", {})} for use in calls if known]
    if not calls and known:
        notes.add(code, path, meaning, fix="removes the empty list", edits=[Remove(path)], eval_id=eval_id)
    elif known and parent.field("intermediate_data") is None:
        edits: list[Edit] = [RenameMember(path, "intermediate_data"), Replace(path, {"tool_uses": calls})]
        if "intermediate_data" in parent.members:
            edits.insert(0, Remove((*path[:-1], "intermediate_data")))
        fix = "moves the calls into 'intermediate_data'"
        notes.add(code, path, meaning, fix=fix, edits=edits, eval_id=eval_id)
    else:
        remedy = "Write the calls as 'intermediate_data.tool_uses', each with 'name' and 'args'."
        notes.add(code, path, meaning, remedy, eval_id=eval_id)


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
