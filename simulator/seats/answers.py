"""What a seat may answer: values that a person, a script or a model hands in, in JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue

from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.base.validation_words import check_kind
from simulator.environment.injection.rule_effects import builtin_error, builtin_name
from simulator.facts import Failed, Outcome, Raised, RaisedError, Returned

AnswerSource: TypeAlias = Literal["written", "edited", "generated"]
"""Written from nothing, an edited draft, or a generated draft that was taken as it was."""


class ToolAnswer(Value):
    """The answer to one tool call, what the call changed in the session's state, and ADK's actions that it set, as in `ToolEffects`.

    `notes` say what a generated answer was made of, `blanks` and `uncertain` at which places an answer that was given before had no source, as in `Provenance`. An answer that contradicts the world is refused,
    unless it stands `despite_contradictions`. Who `is_sure` knows the values for which the draft had no source. `by` names who answers, where that is no person: a script.
    """

    kind: Literal["tool"] = "tool"
    outcome: Outcome
    state_delta: JsonObject = Field(default_factory=dict)
    actions: JsonObject = Field(default_factory=dict)
    source: AnswerSource = "written"
    notes: tuple[str, ...] = ()
    blanks: tuple[str, ...] = ()
    uncertain: tuple[str, ...] = ()
    despite_contradictions: bool = False
    is_sure: bool = False
    by: str | None = None


class ModelAnswer(Value):
    """One turn of the agent: google-genai `Content` parts in JSON; `by` as for a `ToolAnswer`."""

    kind: Literal["model"] = "model"
    parts: tuple[JsonObject, ...] = Field(min_length=1)
    source: AnswerSource = "written"
    by: str | None = None


class CodeAnswer(Value):
    """What a block of code printed; `by` as for a `ToolAnswer`."""

    kind: Literal["code"] = "code"
    stdout: str = ""
    stderr: str = ""
    source: AnswerSource = "written"
    by: str | None = None


Answer: TypeAlias = Annotated[ToolAnswer | ModelAnswer | CodeAnswer, Field(discriminator="kind")]


def returned(
    value: JsonValue, *, state_delta: JsonObject | None = None, actions: JsonObject | None = None
) -> ToolAnswer:
    """Answer a tool call with a value; `actions` are fields of ADK's `EventActions`, such as `{"escalate": True}`."""
    return ToolAnswer(outcome=Returned(value=value), state_delta=state_delta or {}, actions=actions or {})


def failed(error_code: int | str, error_message: str) -> ToolAnswer:
    """Answer a tool call with an error dict."""
    if not isinstance(error_code, str):
        check_kind(error_code, "__index__", "`error_code` as a number or a text")
    check_kind(error_message, "encode", "`error_message` as a text")
    return ToolAnswer(outcome=Failed(error_code=error_code, error_message=error_message))


def raised(error_type: str, message: str) -> ToolAnswer:
    """Answer a tool call by raising; `error_type` is a builtin's name or `module:qualified name`."""
    check_kind(error_type, "encode", "`error_type` as a text")
    check_kind(message, "encode", "`message` as a text")
    name = error_type if ":" in error_type else f"builtins:{error_type}"
    words = _worded(name, message)
    return ToolAnswer(outcome=Raised(error=RaisedError(type=name, message=words, arguments=(message,))))


def _worded(name: str, message: str) -> str:
    """Return what an exception made with this message says: `KeyError` writes its key in quotes."""
    error = builtin_error(builtin_name(name), message)
    return message if error is None else str(error)


def said(text: str) -> ModelAnswer:
    """Let the agent say a text; it is the final response where no call goes with it."""
    check_kind(text, "encode", "`text` as a text")
    return ModelAnswer(parts=({"text": text},))


def called(*calls: tuple[str, JsonObject], text: str = "") -> ModelAnswer:
    """Let the agent call tools, in order, all at once: `called(("find_order", {"order_id": "A-1"}))`.

    Raises:
        ValueError: There is no call and no text, or a call is no tool's name with a dict of arguments.
    """
    check_kind(text, "encode", "`text` as a text")
    if not calls and not text:
        raise ValueError("called() needs at least one call: the name of a tool and a dict of arguments")
    return ModelAnswer(parts=tuple(_call_parts(calls, text)))


def transferred(agent_name: str) -> ModelAnswer:
    """Let the agent hand over to another one by ADK's `transfer_to_agent`."""
    check_kind(agent_name, "encode", "`agent_name` as a text")
    return called(("transfer_to_agent", {"agent_name": agent_name}))


def _call_parts(calls: Iterable[tuple[str, JsonObject]], text: str) -> Iterable[JsonObject]:
    if text:
        yield {"text": text}
    for call in calls:
        name, arguments = _checked_call(call)
        yield {"function_call": {"name": name, "args": arguments}}


def _checked_call(call: object) -> tuple[str, JsonObject]:
    match call:
        case (str(name), dict(arguments)) if name:
            return name, arguments
    raise ValueError(f"{call!r} is not a call: expected the name of a tool and a dict of arguments")
