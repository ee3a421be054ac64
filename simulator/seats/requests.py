"""What a seat is asked: requests as data, each with the key under which its answer is given."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue

from simulator.environment.drafting.candidates import Candidate
from simulator.environment.injection.rules import Miss
from simulator.facts import Value
from simulator.jsonvalue import JsonObject


def _no_parameters() -> JsonObject:
    return {"type": "object", "properties": {}}


class ToolDeclaration(Value):
    """A tool as the model sees it. `parameters` and `response` are JSON schemas."""

    name: str
    description: str = ""
    parameters: JsonObject = Field(default_factory=_no_parameters)
    response: JsonObject | None = None


class ModelRequest(Value):
    """The agent's seat is asked for its next turn: exactly what the model would see.

    `contents` are google-genai's `Content` in JSON, `response_schema` is the JSON schema that the final answer
    must fit. `transfer_targets` are the agents that `transfer_to_agent` may name. `proposal` is what the model
    said where each turn is held for approval, and `failure` what it raised. `would_answer` names the player who would
    answer by itself, had not a person come back to here.
    """

    kind: Literal["model"] = "model"
    key: str
    turn: int
    agent: str
    model_name: str
    system_instruction: str = ""
    contents: tuple[JsonObject, ...] = ()
    tools: tuple[ToolDeclaration, ...] = ()
    response_schema: JsonObject | None = None
    transfer_targets: tuple[str, ...] = ()
    other_config: JsonObject = Field(default_factory=dict)
    proposal: tuple[JsonObject, ...] | None = None
    failure: str | None = None
    would_answer: str = ""


class ToolRequest(Value):
    """The environment is asked to answer one tool call.

    `draft` is a ready answer that fits the tool, made by `draft_by` (a model's name, or "offline") out of `draft_from`, in
    words; `draft_problem` says why a model gave none, and `drafting` what one is at that is making one. `candidates`
    are more ready answers, the draft first. `note` says why the call came to a person at all. `misses` says of each rule for this tool why it did
    not answer, `modifiers` which rules will change whatever the answer is. `may_have_run` is set where the real tool was started before with the same
    arguments: its answer never arrived, or was taken back. `would_answer` names the player, or the rule by its id, that would answer by
    itself, had not a person come back to here.
    """

    kind: Literal["tool"] = "tool"
    key: str
    turn: int
    call_id: str
    agent: str
    tool_name: str
    arguments: JsonObject
    description: str = ""
    parameters: JsonObject = Field(default_factory=dict)
    response_schema: JsonObject | None = None
    draft: JsonValue = None
    draft_by: str = "offline"
    draft_from: tuple[str, ...] = ()
    draft_problem: str = ""
    drafting: str = ""
    candidates: tuple[Candidate, ...] = ()
    note: str = ""
    is_long_running: bool = False
    may_have_run: bool = False
    would_answer: str = ""
    misses: tuple[Miss, ...] = ()
    modifiers: tuple[str, ...] = ()


class CodeRequest(Value):
    """The environment is asked what a block of the agent's code prints. `may_have_run` and `would_answer` as for `ToolRequest`."""

    kind: Literal["code"] = "code"
    key: str
    turn: int
    agent: str
    code: str
    may_have_run: bool = False
    would_answer: str = ""


Request: TypeAlias = Annotated[ModelRequest | ToolRequest | CodeRequest, Field(discriminator="kind")]


class RunningCall(Value):
    """Something is at work right now: a model, a tool or code; `text` is what it says meanwhile.

    `by` is who is at work in place of a tool: the environment's model, by its name, or the rules that delay it, by their ids.
    It is empty where the tool itself, the agent's model or the code runs for real.
    """

    kind: Literal["model", "tool", "code"]
    key: str
    name: str
    by: str = ""
    since: float
    text: str = ""
