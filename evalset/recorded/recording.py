"""What a recorded environment holds: cases by their eval ids, turns, calls with their answers, the models' turns. Frozen JSON values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, Field

from evalset.recorded.tolerances import Tolerance
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.environment.drafts.draft import Unsure
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.recordings import ObservedCall
from simulator.facts import NOTHING_EARLIER, EarlierData, Outcome, Provenance, RaisedError, ToolEffects

FORMAT = "golden-trace-studio/environment"
VERSION = 11
"""The newest version. A file of a newer one is refused; one of an older one is read."""

_SIMPLE = frozenset({str, int, float, bool, type(None)})
_ALWAYS_WRITTEN = frozenset({"kind", "format", "tool"})

_WITH_TOLERANCES, _WITH_PLACES, _WITH_INPUTS, _WITH_GOLDENS, _WITH_AGENTS = 2, 3, 4, 4, 5
_WITH_UNKNOWNS, _WITH_EARLIER, _WITH_ORDERS, _WITH_CONTEXT, _WITH_DIGESTS = 6, 7, 8, 9, 10
_WITH_DECLARED = 11


class Author(Value):
    """Who authored an answer, and which places of it are blank or uncertain, as `simulator.facts.Provenance` says it; `rules` names the injections that fired for the call."""

    source: str
    by: str = ""
    rules: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    blanks: tuple[str, ...] = Field(default=(), exclude_if=lambda paths: not paths)
    uncertain: tuple[str, ...] = Field(default=(), exclude_if=lambda paths: not paths)

    @classmethod
    def of(cls, provenance: Provenance) -> Author:
        """Return who authored an answer that a session knows."""
        return cls(
            source=provenance.source,
            by=provenance.by or "",
            rules=provenance.fired,
            notes=provenance.notes,
            blanks=provenance.blanks,
            uncertain=provenance.uncertain,
        )

    @property
    def unsure(self) -> Unsure:
        """The places of the answer of which nobody said what belongs there."""
        return Unsure(self.blanks, self.uncertain)


_NO_EFFECTS = ToolEffects()


def _no_effects() -> ToolEffects:
    """Return the one value that stands for no effects: as a plain default it would be copied for each call."""
    return _NO_EFFECTS


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
        declared: The digest of the tool's declaration where a tool set brought it, which a case does not list among its `tools`.
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
    effects: ToolEffects = Field(default_factory=_no_effects)
    confirmed: JsonObject | None = None
    author: Author
    latency_ms: float = 0.0
    declared: str = ""


class RejectedCall(Value):
    """A call that a person did not allow, when its tool asked for a confirmation: nothing ran. Attributes as of `RecordedCall`."""

    id: str = ""
    tool: str = Field(min_length=1)
    agent: str = ""
    within: tuple[str, ...] = ()
    arguments: JsonObject = Field(default_factory=dict)
    confirmed: JsonObject


class RecordedModelTurn(Value):
    """What a model of an agent answered: ADK's `LlmResponse`s in JSON, or the error that it raised. `agent` is empty where nobody knows whose.

    `put_off` marks one that only ended a turn until a late answer came; a replay, in which that is there at once, has no place
    for it. `path` is the place of the agent's node in the run, as ADK's events name it; empty for the first node of the case's
    agent, and where it is not known. Of an agent that runs as a tool it is the id of the innermost call that runs it.
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


class RecordedInput(Value):
    """A question that a graph or an agent asked the user (`RequestInput`), and what a person typed.

    Attributes:
        id: The question's id in the case. ADK draws a new one for each run where the node gives none.
        agent: Who asked.
        path: The node that asked, as ADK's events name it.
        arguments: The question: `message`, `payload` and `response_schema`, those that are given. None in files of versions 1
            to 3, which did not keep them.
        response: The answer, as the user's function response held it.
        models_before: How many of the turn's models had answered by then.
        calls_before: How many of the turn's calls were answered by then.
        asked: Its place among the turn's questions as they were asked, from 1; 0 where that is not known, or it is the only one. Branches
            that run at once ask in the order in which they come to it, which is another one in a replay now and then.
    """

    id: str = ""
    agent: str = ""
    path: str = ""
    arguments: JsonObject | None = None
    response: JsonObject
    models_before: int = Field(default=0, ge=0)
    calls_before: int = Field(default=0, ge=0)
    asked: int = Field(default=0, ge=0)


class GoldenCall(Value):
    """A call of a golden as it was when its case was recorded.

    Attributes:
        tool: The tool.
        arguments: The digest of the arguments.
        response: The digest of the response; empty where the golden has none.
    """

    tool: str
    arguments: str
    response: str = ""


class GoldenTurn(Value):
    """A turn of a golden as it was when its case was recorded, in digests, so that a later edit is noticed.

    Attributes:
        number: Which turn it was, from 0.
        of: How many turns there were.
        query: The digest of what the user asked.
        calls: The calls, in their order.
        text: The digest of the final response.
        recorded_calls: The short digests of what is recorded of the turn's calls, in their order, as it was written; empty in older files.
        recorded_rejected: Those of its rejected calls.
        recorded_models: Those of what is recorded of its models.
    """

    number: int = Field(ge=0)
    of: int = Field(ge=1)
    query: str
    calls: tuple[GoldenCall, ...] = ()
    text: str
    recorded_calls: str = ""
    recorded_rejected: str = ""
    recorded_models: str = ""

    @property
    def has_digests(self) -> bool:
        """Whether it is noted what was recorded of the turn as it was written: files of versions 1 to 9 do not tell."""
        return bool(self.recorded_calls or self.recorded_rejected or self.recorded_models)


class RecordedAgentRun(Value):
    """A call of an agent tool whose agent ran, where a rule or a player might have answered in its place.

    `calls_before` says how many of the turn's calls were answered by then. A call with the same id holds what rules made of the
    agent's answer.
    """

    id: str
    tool: str
    within: tuple[str, ...] = ()
    arguments: JsonObject
    calls_before: int = Field(default=0, ge=0)


class RecordedTurn(Value):
    """One invocation of a case: the query, the later answers to what it left open, and everything that was asked on the way, in order.

    `state_delta` is what the query set in the state before the agent began; the case's `state` has that of the first one already.
    `inputs` are in the order in which they were answered. `golden` is what the golden said of it when it was recorded; None where
    nobody noted that. `original` is the turn as it was recorded, where edits of the golden changed it since. `is_cut` says that its source does not tell how it ended, and
    `open_question` what the user was asked there, if it is that: the arguments, as `RecordedInput` has them.
    """

    query: JsonObject
    state_delta: JsonObject = Field(default_factory=dict)
    replies: tuple[JsonObject, ...] = ()
    calls: tuple[RecordedCall, ...] = ()
    rejected: tuple[RejectedCall, ...] = ()
    inputs: tuple[RecordedInput, ...] = ()
    models: tuple[RecordedModelTurn, ...] = ()
    code: tuple[RecordedCode, ...] = ()
    golden: GoldenTurn | None = None
    original: RecordedTurn | None = None
    agents: tuple[RecordedAgentRun, ...] = ()
    is_cut: bool = False
    open_question: JsonObject | None = None


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
        earlier: The artifacts and the memory that it began with.
        final_state: What the session's state was at the end; None where nobody knows.
        rules: The injections as they were at the end.
        tools: The tools, by name.
        tolerances: What may differ from what was recorded, and how far.
        turns: The invocations.
        golden_state: The digest of the final state of the golden when it was recorded; empty where nobody noted that.
        golden_start: The digest of the state that the golden began with then; empty as above.
        is_partial: Whether it was read from what somebody else kept of a run, which need not be all: what is missing says nothing of the agent.
    """

    agent: str = Field(min_length=1)
    app_name: str = Field(min_length=1)
    user_id: str = "user"
    seed: str = ""
    recorded_at: float = 0.0
    state: JsonObject = Field(default_factory=dict)
    earlier: EarlierData = NOTHING_EARLIER
    final_state: JsonObject | None = Field(default_factory=dict)
    rules: tuple[InjectionRule, ...] = ()
    tools: dict[str, RecordedTool] = Field(default_factory=dict)
    tolerances: tuple[Tolerance, ...] = ()
    turns: tuple[RecordedTurn, ...]
    golden_state: str = ""
    golden_start: str = ""
    is_partial: bool = False


BY_IMPORT = "import"
"""The author of what was read from a file that somebody else kept."""


def is_imported(case: RecordedCase) -> bool:
    """Return whether a recording was read from what somebody else kept of a run, and nobody knows what the run was made with."""
    authors = [each.author for turn in case.turns for each in turn.models]
    authors += [each.author for turn in case.turns for each in turn.calls]
    return case.is_partial or any(author.by == BY_IMPORT for author in authors)


def unsure_in(case: RecordedCase) -> Unsure:
    """Return in sentences the places of a case's responses of which nobody said what belongs there."""
    answers = [
        (f"turn {number}: the response of {call.tool} is", call.author)
        for number, turn in enumerate(case.turns, start=1)
        for call in turn.calls
    ]
    return Unsure(
        tuple(f"{words} blank at {path}" for words, author in answers for path in author.unsure.blanks),
        tuple(
            f"{words} uncertain at {path}" for words, author in answers for path in author.unsure.uncertain
        ),
    )


def end_state(written: JsonObject | None, recorded: RecordedCase | None) -> JsonObject | None:
    """Return the final state that a case wants: the eval set's, where it holds one, or else the recorded one; None where neither is known.

    ADK writes an empty one for each case, so that an empty one says nothing.
    """
    return written or (recorded.final_state if recorded else None)


def unknown_parts(turns: Iterable[tuple[object, object]], state: JsonObject | None) -> tuple[str, ...]:
    """Name what a golden does not contain, so that it is compared with nothing.

    Args:
        turns: The intermediate data and the final response of each turn, as the golden holds them; None where it does not.
        state: The final state that it wants (`end_state`).
    """
    parts = ("the tool calls", "the final response")
    missing = (
        f"{part} of turn {number}"
        for number, held in enumerate(turns, start=1)
        for part, value in zip(parts, held, strict=True)
        if value is None
    )
    return (*missing, *(["the final state"] if state is None else []))


def unknown_words(unknown: Sequence[str]) -> tuple[str, ...]:
    """Return what no run of a case is compared with, in a sentence; nothing where all is known."""
    return (f"unknown, so not compared: {', '.join(unknown)}",) if unknown else ()


class CaseNote(Value):
    """What people say of a case: a text for readers, and tags to find it by.

    `context` is the source text of a dataset's case, a text or a `Content` in JSON: graders hold the responses against it, and no agent
    sees it.
    """

    text: str = ""
    tags: tuple[str, ...] = ()
    context: str | JsonObject | None = None

    @property
    def version(self) -> int:
        """The version of the oldest file that can hold the note."""
        return 1 if self.context is None else _WITH_CONTEXT


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
        of_notes = (note.version for note in self.notes.values())
        return max((*map(version_of, self.cases.values()), *of_notes), default=1)


def version_of(case: RecordedCase) -> int:
    """Return the version of the oldest file that can hold a case."""
    noted = [turn.golden for turn in case.turns if turn.golden]
    held = (
        (_WITH_DECLARED, any(call.declared for turn in case.turns for call in turn.calls)),
        (_WITH_DIGESTS, any(golden.has_digests for golden in noted)),
        (_WITH_ORDERS, any(question.asked for turn in case.turns for question in turn.inputs)),
        (_WITH_EARLIER, bool(case.earlier)),
        (_WITH_UNKNOWNS, case.final_state is None or any(turn.state_delta for turn in case.turns)),
        (_WITH_AGENTS, any(turn.agents for turn in case.turns)),
        (_WITH_INPUTS, _holds_inputs(case)),
        (_WITH_GOLDENS, bool(case.golden_state or noted)),
        (_WITH_PLACES, _holds_places(case)),
        (_WITH_TOLERANCES, bool(case.tolerances)),
    )
    return max((version for version, holds in held if holds), default=1)


def _holds_inputs(case: RecordedCase) -> bool:
    """Return whether a case holds what a user typed, or a tolerance of anything but arguments."""
    return any(turn.inputs for turn in case.turns) or any(each.of != "arguments" for each in case.tolerances)


def _holds_places(case: RecordedCase) -> bool:
    """Return whether a case says of a model where it spoke, or of a tool that it runs long."""
    return any(
        any(model.path for model in turn.models) or any(call.long_running for call in turn.calls)
        for turn in case.turns
    )


def lean(value: Any) -> Any:
    """Write a value as JSON without what it holds by default, the fields in their order."""
    if type(value) in _SIMPLE:
        return value
    if isinstance(value, dict):
        return {name: lean(held) for name, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [lean(held) for held in value]
    if isinstance(value, BaseModel):
        return {
            name: lean(held)
            for name, default in _defaults(type(value))
            if (held := getattr(value, name)) is not default and held != default
        }
    return value


@cache
def _defaults(kind: type[BaseModel]) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a model with their defaults; a field that is always written has one that nothing equals."""
    return tuple(
        (
            name,
            object()
            if field.is_required() or name in _ALWAYS_WRITTEN
            else field.get_default(call_default_factory=True),
        )
        for name, field in kind.model_fields.items()
    )


def without_golden(recorded: RecordedCase) -> RecordedCase:
    """Return a recorded case that says nothing of what its golden was."""
    turns = (turn.model_copy(update={"golden": None, "original": None}) for turn in recorded.turns)
    return recorded.model_copy(update={"turns": tuple(turns), "golden_state": "", "golden_start": ""})


def without_end(recorded: RecordedCase) -> RecordedCase:
    """Return a recorded case whose final state nobody knows."""
    return recorded.model_copy(update={"final_state": None, "golden_state": ""})


def without_edits(recorded: RecordedCase) -> RecordedCase:
    """Return a recorded case whose turns are as they were recorded, whatever was edited since."""
    return recorded.model_copy(update={"turns": tuple(turn.original or turn for turn in recorded.turns)})


def observed(call: RecordedCall, response: JsonObject, place: str, *, is_partial: bool) -> ObservedCall:
    """Return a recorded call as drafts are made of it; of a case that is partial (`RecordedCase`) nobody knows what it did besides."""
    return ObservedCall(
        tool_name=call.tool,
        arguments=call.arguments,
        response=response,
        place=place,
        effects=call.effects.plain if not is_partial or call.effects.written else None,
        **call.author.unsure.written,
    )


class MadeAnswer(Value):
    """An answer that nobody had recorded.

    Attributes:
        eval_id: The case that was replayed.
        turn: The turn, from 0.
        call: The call with its answer; its author says who made it.
        why: Why it had to be made: what was recorded that is nearest, and what differs.
    """

    eval_id: str
    turn: int
    call: RecordedCall
    why: str
