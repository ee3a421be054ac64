"""What of a case can be edited, each with a name that stands in the drafts, and the edit that a typed text makes. No drawing here."""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias

from pydantic import Field

from app.forms.typed_json import TypedJsonError, parse_json, parse_object, write_json
from evalset.editing.case_edits import (
    AddCall,
    Edit,
    NoteCase,
    RenameCase,
    SetCall,
    SetResponse,
    SetText,
    SetValue,
)
from evalset.editing.case_parts import Case, Where, at, field, is_plain_text, text_of
from evalset.editing.set_work import SetWork
from simulator.base.frozen_value import Value
from simulator.base.json_differences import ABSENT

NOTE, RENAME, ADD = "note", "rename", "add "
"""The names of parts that are no place in the case's JSON; the last one is followed by the turn."""

PartKind: TypeAlias = Literal["text", "call", "response", "json", "note", "rename", "add"]

_STATES: tuple[Where, ...] = (("session_input", "state"), ("final_session_state",))


class CasePart(Value):
    """A part of a case that is being edited.

    Attributes:
        name: Its name among the drafts.
        kind: How it is edited.
        where: Its place, where it has one.
        turn: The turn to which something is added.
        title: What it is, in our own words.
        about: What it holds now, as a text; where that has changed, what was typed is about something else.
        shown: What the inputs begin with, by their names.
    """

    name: str
    kind: PartKind
    where: Where = ()
    turn: int = 0
    title: str = ""
    about: str = ""
    shown: dict[str, str] = Field(default_factory=dict)


def name_of(where: Where) -> str:
    """Name the part at a place."""
    return json.dumps(where)


def part_of(work: SetWork, key: str, name: str) -> CasePart | None:
    """Return the part with this name; None where the case has none any more."""
    case = work.case(key)
    if name == NOTE:
        note = work.note(key)
        shown = {"text": note.text, "tags": ", ".join(note.tags)}
        return CasePart(name=name, kind="note", title="Note", about=json.dumps(shown), shown=shown)
    if name == RENAME:
        eval_id = str(field(case, "eval_id", ""))
        return CasePart(name=name, kind="rename", title="Eval id", about=eval_id, shown={"name": eval_id})
    if name.startswith(ADD):
        shown = {"name": "", "json": "{}", "response": "{}"}
        turn = int(name.removeprefix(ADD))
        return CasePart(
            name=name, kind="add", turn=turn, title=f"New call, end of turn {turn + 1}", shown=shown
        )
    return _at(case, name)


def _at(case: Case, name: str) -> CasePart | None:
    where: Where = tuple(json.loads(name))
    value = at(case, where)
    if value is ABSENT or value is None:
        value = {} if where in _STATES else [] if where[-1:] == ("rubrics",) else ABSENT
    if value is ABSENT:
        return None
    about = json.dumps(value, ensure_ascii=False)
    kind: PartKind = "json"
    shown = {"json": write_json(value)}
    is_step = "tool_uses" in where or where[-1:] == ("function_call",)
    if is_step:
        kind = "call"
        shown = {"name": str(field(value, "name", "")), "json": write_json(field(value, "args", {}))}
    elif "tool_responses" in where or where[-1:] == ("function_response",):
        kind, shown = "response", {"json": write_json(field(value, "response", {}))}
    elif where and _is_said(where) and is_plain_text(value):
        kind, shown = "text", {"text": text_of(value)}
    return CasePart(name=name, kind=kind, where=where, title=_title(where), about=about, shown=shown)


def _is_said(where: Where) -> bool:
    return (
        where[-1] in {"user_content", "final_response"}
        or "intermediate_responses" in where
        or "parts" in where
    )


def _title(where: Where) -> str:
    turn = f"turn {where[1] + 1}" if where[:1] == ("conversation",) and isinstance(where[1], int) else ""
    names = {
        "user_content": "User message",
        "final_response": "Final response",
        "tool_uses": "Call",
        "function_call": "Call",
        "tool_responses": "Response",
        "function_response": "Response",
        "rubrics": "Rubrics",
        "session_input": "Initial state",
        "final_session_state": "Final state",
        "conversation_scenario": "Scenario",
        "intermediate_responses": "Agent text",
        "parts": "Agent text",
    }
    found = next((words for step, words in names.items() if step in where), "Case JSON")
    return f"{found}, {turn}" if turn else found


def edit_of(key: str, part: CasePart, typed: dict[str, str]) -> Edit:  # noqa: PLR0911 - one line for each kind
    """Return the edit that what was typed makes of a part.

    Raises:
        ValueError: It is no JSON, or not what is needed there; the text says where.
    """
    match part.kind:
        case "text":
            return SetText(case=key, where=part.where, text=typed["text"])
        case "call":
            name = _tool(typed)
            return SetCall(
                case=key, where=part.where, name=name, arguments=_object(typed["json"], "Arguments")
            )
        case "response":
            return SetResponse(case=key, where=part.where, response=_object(typed["json"], "Response"))
        case "json":
            return SetValue(case=key, where=part.where, value=_value(part, typed["json"]))
        case "note":
            tags = tuple(dict.fromkeys(tag.strip() for tag in typed["tags"].split(",") if tag.strip()))
            return NoteCase(case=key, text=typed["text"].strip(), tags=tags)
        case "rename":
            return RenameCase(case=key, eval_id=typed["name"])
        case "add":
            answer = _object(typed["response"], "Response") if typed["response"].strip() else None
            arguments = _object(typed["json"], "Arguments")
            return AddCall(case=key, turn=part.turn, name=_tool(typed), arguments=arguments, response=answer)


def _tool(typed: dict[str, str]) -> str:
    if not typed["name"].strip():
        raise ValueError("Tool: enter a name")
    return typed["name"].strip()


def _object(text: str, name: str) -> dict[str, Any]:
    try:
        return parse_object(text)
    except TypedJsonError as error:
        raise ValueError(f"{name}: {error}") from error


def _value(part: CasePart, text: str) -> Any:
    try:
        value = parse_json(text)
    except TypedJsonError as error:
        raise ValueError(f"{part.title}: {error}") from error
    if part.where[-1:] == ("rubrics",) and not isinstance(value, list):
        raise ValueError("Rubrics: expected a JSON list")
    if part.where in _STATES and not isinstance(value, dict):
        raise ValueError(f"{part.title}: expected a JSON object")
    return value
