"""Puts candidates into the inputs of a tool call, and sets aside what they take the place of; reads an example that somebody pasted as the shape of that tool's responses, and an answer that was just sent before anything is drawn."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from pydantic import JsonValue

from app.decision.decision_context import Surroundings
from app.decision.queue_panel import Queue, waiting
from app.decision.request_panel import was_clicked
from app.decision.tool_answer import (
    CHOSEN,
    FIRST_CODE,
    FIRST_MESSAGE,
    Mode,
    NotReadyError,
    ToolInputs,
    kept_name,
    seen_of,
    tool_inputs,
)
from app.forms.text_diff import Difference, difference, value_difference
from app.forms.typed_json import TypedJsonError, parse_json, write_json
from app.forms.widget_store import DraftStore
from app.session.page_commands import with_tool
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject, same
from simulator.environment.drafts.candidates import Candidate
from simulator.environment.schema.schema_checks import Problem, check
from simulator.environment.schema.schema_fields import inferred_schema
from simulator.environment.world.tool_settings import EnvironmentSettings
from simulator.facts import Failed, Raised, Returned, ToolAnswered
from simulator.seats.requests import ToolRequest
from simulator.session.commands import AnswerRequest, ChangeSettings

if TYPE_CHECKING:
    from simulator.runtime import SimulationView


_EXAMPLES = "examples"
_COMMENT = "$comment"
_MADE = "the shape of a pasted example"


class Example(Value):
    """A pasted example: its value, and where it breaks the output schema of the tool."""

    value: JsonValue
    misfits: tuple[Problem, ...] = ()


def read_example(text: str, schema: JsonObject | None) -> Example:
    """Read an example: JSON, or else plain text.

    Args:
        text: What was pasted.
        schema: What the tool's responses are held to now.

    Raises:
        JsonTextError: It is empty, or begins as JSON does and is none; the error says where.
    """
    try:
        value = parse_json(text)
    except TypedJsonError:
        if not text.strip() or text.lstrip()[0] in '{["':
            raise
        value = text.strip()
    held_to = _without_example(schema)
    return Example(value=value, misfits=() if held_to is None else check(value, held_to))


def take_example(
    settings: EnvironmentSettings, tool_name: str, schema: JsonObject | None, value: JsonValue
) -> ChangeSettings:
    """Return the change of settings by which a tool's responses have the shape of an example from now on, and are drafted like it.

    A schema that the tool has stays, with the example; else the example's own shape becomes the schema.
    """
    shape = _without_example(schema)
    if shape is None:
        shape = {_COMMENT: _MADE, **inferred_schema([value], tool_name, closed=False)}
    told: JsonObject = {**shape, _EXAMPLES: [value]}
    return ChangeSettings(fields={"tools": with_tool(settings, tool_name, output_schema=told)})


def _without_example(schema: JsonObject | None) -> JsonObject | None:
    """Return a tool's schema as it was before an example was pasted; None where an example made it."""
    if not schema or schema.get(_COMMENT) == _MADE:
        return None
    return {name: part for name, part in schema.items() if name != _EXAMPLES}


LONGEST_PREVIEW = 160

_ASIDE = "aside"
_SWITCHED = "switched"
_PAIR = 2


def preview(candidate: Candidate, expected: JsonValue = None) -> str:
    """Write an answer in one line; of one that is like the expected one, only the fields that are not."""
    shown = candidate.value
    if candidate.kind == "exception":
        return _cut(f"{candidate.error_code}: {candidate.error_message}")
    if candidate.kind == "later":
        return "Later"
    if isinstance(shown, dict) and isinstance(expected, dict) and candidate.kind == "value":
        other = {name: value for name, value in shown.items() if not same(value, expected.get(name))}
        gone = [name for name in expected if name not in shown]
        words = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in other.items()]
        words += [f"no {name}" for name in gone]
        return _cut(", ".join(words) or json.dumps(shown, ensure_ascii=False))
    return _cut(json.dumps(shown, ensure_ascii=False))


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_PREVIEW else f"{line[: LONGEST_PREVIEW - 1]}\u2026"


def choose(inputs: ToolInputs, candidate: Candidate) -> None:
    """Put a candidate into the inputs; an error goes where errors are written. Only in a callback, as all of these."""
    kept = inputs.kept
    kept.put(CHOSEN, candidate.label)
    match candidate.kind:
        case "error" if isinstance(candidate.value, dict):
            set_aside(inputs)
            _switch(inputs, "Error")
            kept.put("error_code", str(candidate.error_code) if candidate.error_code else FIRST_CODE)
            kept.put("error_message", candidate.error_message or FIRST_MESSAGE)
            kept.put("error_shape", candidate.value)
            kept.put("error_own", value=True)
        case "exception":
            set_aside(inputs)
            _switch(inputs, "Exception")
            kept.put("exception_type", str(candidate.error_code))
            kept.put("exception_message", candidate.error_message)
        case "later":
            set_aside(inputs)
            _switch(inputs, "Later")
        case _:
            put_value(inputs, candidate.value)


def _switch(inputs: ToolInputs, mode: Mode) -> None:
    """Answer in another way from now on, and remember the way before it."""
    if inputs.mode != mode:
        inputs.kept.put(_SWITCHED, [inputs.mode, mode])
    inputs.kept.put("mode", mode)


def switched_from(inputs: ToolInputs) -> Mode | None:
    """Return how the call was answered before a candidate of another kind was taken; None where nothing was switched, or somebody has chosen since."""
    held: Any = inputs.kept.value(_SWITCHED)
    before, taken = held if isinstance(held, list) and len(held) == _PAIR else (None, None)
    return next((mode for mode in inputs.modes if mode == before and inputs.mode == taken != mode), None)


def switch_back(inputs: ToolInputs) -> None:
    """Answer as before a candidate of another kind was taken; what stood there then is still there."""
    before = switched_from(inputs)
    if before is not None:
        inputs.kept.put("mode", before)
        inputs.kept.put(_SWITCHED, None)


def put_value(inputs: ToolInputs, value: JsonValue) -> None:
    """Put a value into the editor."""
    set_aside(inputs)
    _switch(inputs, "Response")
    if inputs.style == "Text":
        inputs.kept.put("style", inputs.styles[0])
    inputs.kept.put("response", write_json(value))


def put_answer(inputs: ToolInputs, answered: ToolAnswered) -> None:
    """Put the answer that a call was given before into the inputs, unless they hold it."""
    is_changed_again = answered.beneath is not None and inputs.request.modifiers
    outcome, effects = answered.beneath if is_changed_again else answered.outcome, answered.effects
    with suppress(NotReadyError):
        if (inputs.outcome(), inputs.effects()) == (outcome, effects):
            return
    match outcome:
        case Returned(value=value):
            put_value(inputs, value)
        case Failed(error_code=code, error_message=message):
            choose(inputs, _before("error", outcome.response(), code, message))
        case Raised(error=error):
            words = str(error.arguments[0]) if len(error.arguments) == 1 else error.message
            choose(inputs, _before("exception", None, error.type.removeprefix("builtins:"), words))
        case _:
            choose(inputs, _before("later"))
    proposed = inputs.proposed()
    for name in proposed.state_delta.keys() - effects.state_delta:
        inputs.kept.put(kept_name(name), value=False)
    for name in proposed.actions.keys() - effects.actions:
        inputs.kept.put(kept_name(name, is_action=True), value=False)
    own = {name: value for name, value in effects.state_delta.items() if not same({name: value}, {name: proposed.state_delta.get(name)})}  # fmt: skip
    inputs.kept.put("state_delta", write_json(own) if own else "")


def _before(
    kind: Literal["error", "exception", "later"], value: JsonValue = None, code: int | str = 0, message: str = ""
) -> Candidate:  # fmt: skip
    return Candidate(label="outcome", title="Before", kind=kind, value=value, error_code=code, error_message=message, why="")  # fmt: skip


def take_draft(inputs: ToolInputs) -> None:
    """Take the draft as it is now in place of what was typed."""
    set_aside(inputs)
    inputs.kept.put(CHOSEN, None)
    inputs.kept.put("mode", None)
    inputs.kept.put("response", inputs.draft_text)
    inputs.kept.put("offered", inputs.draft_text)


def keep_typed_text(inputs: ToolInputs) -> None:
    """Stay with what was typed: the draft as it is now is known, and not wanted."""
    inputs.kept.put("offered", inputs.draft_text)


def set_aside(inputs: ToolInputs, response: str | None = None) -> None:
    """Remember what the inputs hold, if somebody typed it: it is no draft and no candidate.

    Args:
        inputs: The inputs.
        response: The text of the response, where it is not what stands there now.
    """
    if response is not None or is_own(inputs):
        inputs.kept.put(_ASIDE, {**_held(inputs), **({} if response is None else {"response": response})})


def bring_back(inputs: ToolInputs) -> None:
    """Put back what was set aside; what stands there now is set aside for it, if somebody typed it."""
    aside = set_aside_now(inputs)
    if aside is None:
        return
    inputs.kept.put(_ASIDE, _held(inputs) if is_own(inputs) else None)
    for name, value in aside.items():
        inputs.kept.put(name, value)


def set_aside_now(inputs: ToolInputs) -> JsonObject | None:
    """Return what was set aside; None where nothing was, or where it stands in the inputs again."""
    aside: Any = inputs.kept.value(_ASIDE)
    return aside if isinstance(aside, dict) and _shown(aside) != _shown(_held(inputs)) else None


def is_own(inputs: ToolInputs) -> bool:
    """Return whether the inputs hold what somebody typed, and no draft, candidate or first setting."""
    if inputs.offer() is not None:
        return False
    if inputs.mode == "Exception":
        return bool(inputs.exception[1])
    if inputs.mode == "Response" and inputs.style == "Text":
        return bool(inputs.kept.value("response_text"))
    try:
        inputs.outcome()
    except NotReadyError:
        return True
    is_first = inputs.mode == "Error" and _first_error(inputs)
    return inputs.mode != "Later" and not (inputs.is_draft() or is_first)


def _first_error(inputs: ToolInputs) -> bool:
    held = _held(inputs)
    return (held["error_code"], held["error_message"]) == (FIRST_CODE, FIRST_MESSAGE)


def _held(inputs: ToolInputs) -> JsonObject:
    value = inputs.kept.value
    return {
        "mode": inputs.mode,
        "style": inputs.style,
        "response": inputs.text,
        "response_text": value("response_text", "") or "",
        "error_code": value("error_code", FIRST_CODE),
        "error_message": value("error_message", FIRST_MESSAGE),
        "error_shape": value("error_shape"),
        "error_own": value("error_own", initial=True),
        "exception_type": inputs.exception[0],
        "exception_message": inputs.exception[1],
    }


def _shown(held: JsonObject) -> JsonObject:
    """Return what stands in sight of what inputs hold: nothing of another way to answer."""
    mode = held.get("mode")
    names = [name for name in held if name.partition("_")[0] == str(mode).lower() or name == "mode"]
    return {name: held[name] for name in (*names, *(("style",) if mode == "Response" else ()))}


def against_draft(inputs: ToolInputs) -> Difference:
    """Compare what the inputs hold with the draft; no difference where that is no data."""
    if inputs.mode == "Response" and inputs.style != "Text":
        return value_difference(inputs.request.draft, inputs.text)
    try:
        outcome = inputs.outcome()
    except NotReadyError:
        return Difference()
    seen = seen_of(outcome)
    return Difference() if seen is None else difference(inputs.draft_text, write_json(seen))


def newer_against_typed(inputs: ToolInputs) -> Difference:
    """Compare what was typed with the draft as it has become meanwhile."""
    return value_difference(inputs.request.draft, inputs.text)


def sent_answer(
    view: SimulationView, drafts: DraftStore, around: Callable[[], Surroundings]
) -> AnswerRequest | None:
    """Return the answer that a click has sent; None where there is none, or where the page has to say something about it first.

    Args:
        view: What is shown of the session.
        drafts: What was typed, with what this click brought.
        around: Gives what is known of the session; asked only after a click.
    """
    line = waiting(view)
    request = Queue(drafts, line).chosen.thing if line else None
    if not isinstance(request, ToolRequest):
        return None
    inputs = tool_inputs(drafts, request)
    if not was_clicked(inputs.kept, "accept"):
        return None
    known = around()
    inputs = tool_inputs(drafts, request, known)
    lost = inputs.begin()
    if lost is not None:
        set_aside(inputs, lost)
        return None
    try:
        answer = inputs.answer()
    except NotReadyError:
        return None
    if known.against(request.key, answer.outcome):
        return None
    return AnswerRequest(key=request.key, answer=answer)
