"""What of a case can be edited, each with a name that stands in the drafts, the edit that its inputs make, and what the values of a tool look like. No drawing here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic import Field

from app.forms.described_fields import described
from app.forms.value_shapes import shape_of
from app.live.agent_catalogue import known_agents
from evalset.editing.case_edits import (
    AddCall,
    Edit,
    NoteCase,
    RenameCase,
    ReviewCase,
    SetCall,
    SetResponse,
    SetText,
    SetValue,
)
from evalset.editing.case_parts import (
    Case,
    Where,
    at,
    calls_of,
    field,
    is_plain_text,
    key_of,
    listed,
    put,
    text_of,
    turns_of,
    written,
)
from evalset.editing.followed_edits import unsure_answers
from evalset.editing.set_work import SetWork
from evalset.editing.sidecars import CaseComment, CaseReview, step_of
from simulator.base.frozen_value import Value
from simulator.base.json_paths import ABSENT
from simulator.base.json_values import JsonObject
from simulator.environment.drafts.draft import SURE


class ToolSchemas(NamedTuple):
    """The schemas of one tool; None where nothing is known."""

    arguments: JsonObject | None = None
    response: JsonObject | None = None


def declared_tools(agent: str) -> Mapping[str, ToolSchemas]:
    """Return the tools of an agent by name; none where it is not loaded, which this waits for in no case."""
    config = next((each.config for each in known_agents() if each.name == agent), None)
    if config is None:
        return {}
    from simulator.runtime.knowledge.knowledge import ToolShapes  # noqa: PLC0415 - importing ADK takes a second

    shapes = ToolShapes(config.root_agent).known({}, ())
    return {
        name: ToolSchemas(
            described(shape.parameters, shape.description, "arguments"),
            shape.response_schema and described(shape.response_schema, shape.description, "response"),
        )
        for name, shape in shapes.items()
    }


def schemas_of(tools: Mapping[str, ToolSchemas], case: Case, name: str) -> ToolSchemas:
    """Return the schemas of a tool for a new call: as declared, else the shapes that its first call in the case has."""
    declared = tools.get(name, ToolSchemas())
    seen = next(
        (
            each
            for turn in range(len(turns_of(case)))
            for each in calls_of(case, turn)
            if each.call.name == name
        ),
        None,
    )
    if seen is None:
        return declared
    answer = field(seen.answers[0].value, "response") if seen.answers else None
    return ToolSchemas(
        declared.arguments or _shape(field(seen.call.value, "args")), declared.response or _shape(answer)
    )


def _shape(value: object) -> JsonObject | None:
    return shape_of(value) if isinstance(value, dict) and value else None


ARE_RIGHT = "are_right"
"""The name of the input that says that no value of a response is blank."""

NOTE, RENAME, ADD, COMMENT = "note", "rename", "add ", "comment "
"""The names of parts that are no place in the case's JSON; `ADD` is followed by the turn, `COMMENT` by a turn and a call."""

PartKind: TypeAlias = Literal[
    "text", "texts", "call", "response", "value", "json", "rubrics", "note", "rename", "add", "comment"
]

_STATES: tuple[Where, ...] = (("session_input", "state"), ("final_session_state",))
_ROLES = {"user_content": "user", "final_response": "model"}
"""What a turn says as a whole, with the role of who says it; where it is missing, it can be written."""


class CasePart(Value):
    """A part of a case that is being edited.

    Attributes:
        name: Its name among the drafts.
        kind: How it is edited.
        where: Its place, where it has one.
        turn: The turn to which something is added; of a comment on the case as a whole it says nothing.
        step: The step of a comment, in the fields of a comment that name it.
        title: What it is, in our own words.
        about: What it holds now, as a text; where that has changed, what was typed is about something else.
        shown: What the inputs begin with, by their names; JSON values for those that edit a value.
    """

    name: str
    kind: PartKind
    where: Where = ()
    turn: int = 0
    step: dict[str, Any] = Field(default_factory=dict)
    title: str = ""
    about: str = ""
    shown: dict[str, Any] = Field(default_factory=dict)


def name_of(where: Where) -> str:
    """Name the part at a place."""
    return json.dumps(where)


def comment_name(turn: int | None, call: int | None = None) -> str:
    """Name the part in which a comment on a step is written: a turn and a call of it, both from 0."""
    return f"{COMMENT}{json.dumps([turn, call])}"


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
        turn = int(name.removeprefix(ADD))
        return CasePart(
            name=name,
            kind="add",
            turn=turn,
            title=f"New call, end of turn {turn + 1}",
            about=json.dumps(at(case, ("conversation", turn, "user_content")), default=str),
            shown={"name": ""},
        )
    if name.startswith(COMMENT):
        return _comment(case, name)
    return _at(case, name)


def _comment(case: Case, name: str) -> CasePart | None:
    turn, call = json.loads(name.removeprefix(COMMENT))
    if turn is not None and turn >= len(turns_of(case)):
        return None
    if call is not None and call >= len(calls_of(case, turn)):
        return None
    of = (
        ""
        if turn is None
        else f", turn {turn + 1}"
        if call is None
        else f", turn {turn + 1}, call {call + 1}"
    )
    step = step_of(case, turn, call)
    return CasePart(
        name=name,
        kind="comment",
        step=step,
        title=f"Comment{of}",
        about=json.dumps(step),
        shown={"text": ""},
    )


def _at(case: Case, name: str) -> CasePart | None:
    where: Where = tuple(json.loads(name))
    value = at(case, where)
    if value is ABSENT or (value is None and isinstance(where[-1], str)):
        is_content = where[-1] in _ROLES and isinstance(at(case, where[:-1]), dict)
        value = {} if is_content or where in _STATES else [] if where[-1:] == ("rubrics",) else ABSENT
    if value is ABSENT:
        return None
    about = json.dumps(value, ensure_ascii=False)
    kind, shown = _inputs(where, value)
    return CasePart(name=name, kind=kind, where=where, title=_title(where), about=about, shown=shown)


def _inputs(where: Where, value: Any) -> tuple[PartKind, dict[str, Any]]:  # noqa: PLR0911 - one line for each kind
    """Return how a place is edited, and what its inputs begin with."""
    if not where:
        return "json", {"json": value}
    if not isinstance(value, (dict, list)):  # what ADK does not read, such as a note in the place of a call
        return "value", {"json": value}
    if "tool_uses" in where or where[-1:] == ("function_call",):
        return "call", {"name": str(field(value, "name", "")), "json": field(value, "args", {})}
    if "tool_responses" in where or where[-1:] == ("function_response",):
        return "response", {"json": field(value, "response", {})}
    if where[-1:] == ("rubrics",):
        return "rubrics", {"json": value}
    if _is_said(where) and (is_plain_text(value) or _is_blank(where, value)):
        return "text", {"text": text_of(value)}
    if _is_said(where) and (texts := dict(_texts(value))):
        return "texts", texts
    return "value", {"json": value}


def _is_blank(where: Where, content: Any) -> bool:
    """Return whether a content of a turn is missing or has no parts yet, so that it can be written as one text."""
    if where[-1] not in _ROLES:
        return False
    if content is ABSENT or content is None:
        return True
    return (
        isinstance(content, dict) and set(content) <= {"role", "parts"} and content.get("parts") in (None, [])
    )


def _said(key: str, where: Where, content: Any, text: str) -> Edit:
    """Return the edit that makes a content say a text."""
    if not _is_blank(where, content):
        return SetText(case=key, where=where, text=text)
    made = put(content if isinstance(content, dict) else {}, ("parts",), [{"text": text}])
    return SetValue(case=key, where=where, value={"role": _ROLES[str(where[-1])]} | made)


def _texts(content: Any) -> Iterator[tuple[str, str]]:
    """Yield each part of a content that is one text and nothing else, with the name of its input."""
    for place, part in enumerate(content if isinstance(content, list) else listed(content, "parts")):
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield f"text_{place}", part["text"]


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


def rubric_ids(case: Case) -> frozenset[str]:
    """Return the ids of all rubrics of a case."""
    every = [*listed(case, "rubrics"), *(each for turn in turns_of(case) for each in listed(turn, "rubrics"))]
    return frozenset(str(field(each, "rubric_id", "")) for each in every)


def is_camel(case: Case) -> bool:
    """Return whether a case writes its keys in camel case."""
    return key_of(case, "eval_id") == "evalId"


def blanks_at(work: SetWork, key: str, part: CasePart) -> Sequence[str]:
    """Return the blanks of the response that a part is."""
    if part.kind != "response" or part.where[:1] != ("conversation",):
        return ()
    found = unsure_answers(work.case(key), work.held(key).recorded, int(part.where[1]))
    return found.get(part.where, SURE).blanks


def is_unchanged(part: CasePart, typed: Mapping[str, Any]) -> bool:
    """Return whether the inputs of a part hold what they began with."""
    if typed.get(ARE_RIGHT):
        return False
    typed = {name: value for name, value in typed.items() if name != ARE_RIGHT}
    return part.kind not in {"add", "comment"} and written(dict(typed)) == written(part.shown)


def edit_of(key: str, part: CasePart, typed: Mapping[str, Any], work: SetWork) -> Edit:  # noqa: PLR0911 - one line for each kind
    """Return the edit that the inputs of a part make.

    Raises:
        ValueError: They hold not what is needed there; the text says what is.
    """
    case = work.case(key)
    match part.kind:
        case "text":
            return _said(key, part.where, at(case, part.where), typed["text"])
        case "texts":
            return SetValue(case=key, where=part.where, value=_with_texts(at(case, part.where), typed))
        case "call":
            arguments = _object(typed["json"], "Arguments")
            return SetCall(case=key, where=part.where, name=_tool(typed), arguments=arguments)
        case "response":
            return SetResponse(
                case=key,
                where=part.where,
                response=_object(typed["json"], "Response"),
                are_right=bool(typed.get(ARE_RIGHT)),
            )
        case "value" | "json" | "rubrics":
            return SetValue(case=key, where=part.where, value=_value(part, typed["json"]))
        case "note":
            tags = tuple(dict.fromkeys(tag.strip() for tag in typed["tags"].split(",") if tag.strip()))
            return NoteCase(case=key, text=typed["text"].strip(), tags=tags)
        case "comment":
            return ReviewCase(case=key, review=_with_comment(work.review(key), part, typed))
        case "rename":
            return RenameCase(case=key, eval_id=typed["name"])
        case "add":
            answer = _object(typed["response"], "Response") if "response" in typed else None
            arguments = _object(typed["json"], "Arguments")
            return AddCall(case=key, turn=part.turn, name=_tool(typed), arguments=arguments, response=answer)


def _with_comment(review: CaseReview, part: CasePart, typed: Mapping[str, Any]) -> CaseReview:
    text = str(typed["text"]).strip()
    if not text:
        raise ValueError("Comment: enter a text")
    comment = CaseComment(text=text, by=str(typed["by"]).strip(), at=str(typed["at"]), **part.step)
    return review.model_copy(update={"comments": (*review.comments, comment)})


def _tool(typed: Mapping[str, Any]) -> str:
    name = str(typed["name"] or "").strip()
    if not name:
        raise ValueError("Tool: enter a name")
    return name


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f'{name}: expected a JSON object, for example {{"name": "value"}}')  # noqa: TRY004 - as all that is refused
    return value


def _with_texts(content: Any, typed: Mapping[str, Any]) -> Any:
    inside = content if isinstance(content, list) else listed(content, "parts")
    parts = [
        {**part, "text": typed[f"text_{place}"]} if f"text_{place}" in typed else part
        for place, part in enumerate(inside)
    ]
    return parts if isinstance(content, list) else put(content, ("parts",), parts)


def _value(part: CasePart, value: Any) -> Any:
    if part.kind == "rubrics" and not isinstance(value, list):
        raise ValueError("Rubrics: expected a JSON list")
    if part.where in _STATES and not isinstance(value, dict):
        raise ValueError(f"{part.title}: expected a JSON object")
    return value
