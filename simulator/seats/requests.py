"""What a seat is asked: requests as data, each with the key under which its answer is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    BaseModel,
    Field,
    JsonValue,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.environment.drafts.candidates import Candidate
from simulator.environment.drafts.draft import Blank
from simulator.environment.injection.rules import Miss
from simulator.environment.recordings import NO_EFFECTS, ToolEffects


def _no_parameters() -> JsonObject:
    return {"type": "object", "properties": {}}


class ToolDeclaration(Value):
    """A tool as the model sees it. `parameters` and `response` are JSON schemas; `response_examples` are whole responses.

    `dropped` names where ADK drops what `parameters` do not name, before the tool has it: `$` for its arguments, `$.lines` for the objects in one.
    """

    name: str
    description: str = ""
    parameters: JsonObject = Field(default_factory=_no_parameters)
    response: JsonObject | None = None
    response_examples: tuple[JsonValue, ...] = ()
    dropped: tuple[str, ...] = ()


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


Makers: TypeAlias = Mapping[str, Callable[[], Mapping[str, Any]]]
"""What makes a field, by the field's name; it gives that field, and those that are made with it."""


class DraftedLater(Value):
    """A value some of whose fields are made when they are first looked at, and then stay as they are.

    Two hundred calls may wait at once, and only the draft of the one that is looked at has to be made. To everybody who
    reads, compares, copies or writes such a value it is like any other.
    """

    _makers: Makers = PrivateAttr(default_factory=dict)

    @classmethod
    def later(cls, makers: Makers, **fields: Any) -> Self:
        """Return a value whose other fields are known.

        Args:
            makers: What makes each of the fields that are not; one may make several.
            fields: The others, but those that have their defaults.
        """
        return cls.model_validate(fields).drafted_anew(makers)

    def drafted_anew(self, makers: Makers) -> Self:
        """Return the same value with these fields to be made."""
        value = BaseModel.__copy__(self)
        for name in makers:
            value.__dict__.pop(name, None)
        value._makers = makers  # noqa: SLF001 - its own class's
        return value

    def is_made(self, name: str) -> bool:
        """Return whether a field has been made, or was known from the start."""
        return name in self.__dict__

    if not TYPE_CHECKING:  # else any name would be taken for a field

        def __getattr__(self, name: str) -> Any:
            """Make a field that is looked at for the first time."""
            if name not in type(self).model_fields:
                return super().__getattr__(name)
            # Two threads may make it at once; what the first has put there stays.
            for made, value in self._makers[name]().items():
                self.__dict__.setdefault(made, value)
            return self.__dict__[name]

    def _whole(self) -> Self:
        for name in type(self).model_fields:
            getattr(self, name)
        return self

    def __eq__(self, other: object) -> bool:
        """Compare all fields."""
        if not isinstance(other, DraftedLater):
            return NotImplemented
        return type(self) is type(other) and all(
            getattr(self, name) == getattr(other, name) for name in type(self).model_fields
        )

    __hash__ = None  # type: ignore[assignment] # it holds JSON objects, which have none

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Show all fields."""
        return BaseModel.__repr_args__(self._whole())

    def __iter__(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override] # as pydantic does itself
        """Return all fields."""
        return iter({name: getattr(self, name) for name in type(self).model_fields}.items())

    def __copy__(self) -> Self:
        """Copy a value that is whole."""
        return super(DraftedLater, self._whole()).__copy__()

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Copy a value that is whole."""
        return super(DraftedLater, self._whole()).__deepcopy__(memo)

    def __getstate__(self) -> dict[Any, Any]:
        """Keep a value that is whole, without what made it."""
        return {**BaseModel.__getstate__(self._whole()), "__pydantic_private__": {"_makers": {}}}

    @model_serializer(mode="wrap")
    def _written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self._whole())
        return written


class ToolRequest(DraftedLater):
    """The environment is asked to answer one tool call.

    `draft` is a ready answer that fits the tool, made by `draft_by` (a model's name, or "offline") out of `draft_from`, in
    words. `draft_blanks` are the places of the draft for which nothing is known, which makes it a guess unless a value was drawn for each, and `draft_varies` says whether another
    draw gives another one, `draft_effects` what the tool's code does besides where it gives the draft. `draft_problem` says why a model gave none, and `drafting` what one is at that is making one. `candidates`
    are more ready answers, the draft first. `note` says why the call came to a person at all; where who was to answer could not, `failure` says so, too. `misses` says of each rule for this tool why it did
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
    draft_blanks: tuple[Blank, ...] = ()
    draft_varies: bool = False
    draft_effects: ToolEffects = NO_EFFECTS
    draft_problem: str = ""
    drafting: str = ""
    candidates: tuple[Candidate, ...] = ()
    note: str = ""
    failure: str = ""
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

    `by` is who is at work in place of a tool: the environment's model, by its name, or the rules and the fault that delay it, by their labels
    or ids. `delay` is for how many seconds they do, None until the turn ends. `by` is empty where the tool itself, the agent's model or the code runs for real. `waits_for` names the real call that has to
    end before this one begins: they run one at a time in a session.
    """

    kind: Literal["model", "tool", "code"]
    key: str
    name: str
    by: str = ""
    delay: float | None = 0
    since: float
    text: str = ""
    waits_for: str = ""
