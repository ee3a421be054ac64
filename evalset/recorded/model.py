"""What a recorded environment holds: cases by their eval ids, turns, calls with their answers, the models' turns. Frozen JSON values."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from evalset.recorded.tolerances import Tolerance
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import Outcome, RaisedError, ToolEffects, Value
from simulator.jsonvalue import JsonObject

FORMAT = "golden-trace-studio/environment"
VERSION = 3
"""The newest version. A file of a newer one is refused; one of an older one is read."""

_WITH_TOLERANCES, _WITH_PLACES = 2, 3


class Author(Value):
    """Who authored an answer, as `simulator.facts.Provenance` says it; `rules` names the injections that fired for the call."""

    source: str
    by: str = ""
    rules: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class RecordedCall(Value):
    """A tool call and what it was answered.

    Attributes:
        id: The call's id in the case.
        tool: The tool.
        agent: Who called it.
        within: The agent tools inside of which it was called, outermost first, by name.
        arguments: What it was asked.
        outcome: What the agent was told: a value, an error, an exception; or nothing yet.
        later: What answered it in a later message of the user, the last time: the tool itself gave nothing yet, or something for
            the time being.
        long_running: Whether the tool may still be answered after it gave something.
        beneath: What really happened, where an injection told the agent something else.
        effects: What the tool did beside its answer: state, artifacts, actions, events.
        confirmed: What a person had answered when the tool asked for a confirmation of this call; None where it asked none.
        author: Who authored the answer.
        latency_ms: How long the answer took.
    """

    id: str = ""
    tool: str = Field(min_length=1)
    agent: str = ""
    within: tuple[str, ...] = ()
    arguments: JsonObject = Field(default_factory=dict)
    outcome: Outcome
    later: JsonObject | None = None
    long_running: bool = False
    beneath: Outcome | None = None
    effects: ToolEffects = ToolEffects()
    confirmed: JsonObject | None = None
    author: Author
    latency_ms: float = 0.0


class RejectedCall(Value):
    """A call that a person did not allow, when its tool asked for a confirmation: nothing ran. Attributes as of `RecordedCall`."""

    id: str = ""
    tool: str = Field(min_length=1)
    agent: str = ""
    within: tuple[str, ...] = ()
    arguments: JsonObject = Field(default_factory=dict)
    confirmed: JsonObject


class RecordedModelTurn(Value):
    """What a model of an agent answered: ADK's `LlmResponse`s in JSON, or the error that it raised.

    `put_off` marks one that only ended a turn until a late answer came; a replay, in which that is there at once, has no place
    for it. `path` is the place of the agent's node in the run, as ADK's events name it; empty for the first node of the case's
    agent, and where it is not known.
    """

    agent: str
    within: tuple[str, ...] = ()
    put_off: bool = False
    path: str = ""
    responses: tuple[JsonObject, ...] = ()
    error: RaisedError | None = None
    author: Author


class RecordedCode(Value):
    """A block of code of an agent, and what it printed, or the error that it raised."""

    agent: str
    within: tuple[str, ...] = ()
    code: str
    result: JsonObject | None = None
    error: RaisedError | None = None
    author: Author


class RecordedTurn(Value):
    """One invocation of a case: the query, the later answers to what it left open, and everything that was asked on the way, in order."""

    query: JsonObject
    replies: tuple[JsonObject, ...] = ()
    calls: tuple[RecordedCall, ...] = ()
    rejected: tuple[RejectedCall, ...] = ()
    models: tuple[RecordedModelTurn, ...] = ()
    code: tuple[RecordedCode, ...] = ()


class RecordedTool(Value):
    """A tool as it was declared: the digest of its parameters, by which a change is noticed."""

    schema_digest: str


class RecordedCase(Value):
    """The environment of one case.

    Attributes:
        agent: The agent's name.
        app_name: ADK's name of the app.
        user_id: Whose session it was.
        seed: Where ids and chance came from.
        recorded_at: When its session began, in seconds since the epoch.
        state: What the session began with.
        final_state: What the session's state was at the end.
        rules: The injections as they were at the end.
        tools: The tools, by name.
        tolerances: Which arguments of calls may differ from those that were recorded, and how far.
        turns: The invocations.
    """

    agent: str = Field(min_length=1)
    app_name: str = Field(min_length=1)
    user_id: str = "user"
    seed: str = ""
    recorded_at: float = 0.0
    state: JsonObject = Field(default_factory=dict)
    final_state: JsonObject = Field(default_factory=dict)
    rules: tuple[InjectionRule, ...] = ()
    tools: dict[str, RecordedTool] = Field(default_factory=dict)
    tolerances: tuple[Tolerance, ...] = ()
    turns: tuple[RecordedTurn, ...]


class CaseNote(Value):
    """What people say of a case: a text for whoever reads it, and words by which it is found."""

    text: str = ""
    tags: tuple[str, ...] = ()


class RecordedEnvironment(Value):
    """A sidecar file: what is recorded of the cases, and what people noted of them, each by its eval id.

    A case may have a note and no recording: an eval set itself has no place for notes that every release of ADK reads.
    """

    format: Literal["golden-trace-studio/environment"] = "golden-trace-studio/environment"
    cases: dict[str, RecordedCase] = Field(default_factory=dict)
    notes: dict[str, CaseNote] = Field(default_factory=dict)

    @property
    def version(self) -> int:
        """The version that its file has: the oldest whose readers understand all that it holds."""
        if any(_holds_places(case) for case in self.cases.values()):
            return _WITH_PLACES
        return _WITH_TOLERANCES if any(case.tolerances for case in self.cases.values()) else 1


def _holds_places(case: RecordedCase) -> bool:
    """Tell whether a case says of a model where it spoke, or of a tool that it runs long."""
    return any(
        any(model.path for model in turn.models) or any(call.long_running for call in turn.calls)
        for turn in case.turns
    )


def lean(value: Any) -> Any:
    """Write a value as JSON without what it holds by default, the fields in their order."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        return {
            name: lean(held)
            for name, field in fields.items()
            if (held := getattr(value, name)) != field.get_default(call_default_factory=True)
            or field.is_required()
            or name in {"kind", "format"}
        }
    if isinstance(value, dict):
        return {name: lean(held) for name, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [lean(held) for held in value]
    return value
