"""The facts of a session: what was asked, who answered what, when, and what a person or a model has shaped of its environment. Past tense, frozen, JSON.

Facts are all that a session keeps. Every other view of it (history, pending calls, state, golden trace) is
derived from them. Times are seconds since the epoch. `key` says which request of the agent a fact answers.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from simulator.base.frozen_value import FiniteValue, Value
from simulator.base.json_values import Json, JsonObject, WrittenObject
from simulator.environment import recordings
from simulator.environment.injection.rules import InjectionRule, Miss
from simulator.environment.recordings import ObservedCall
from simulator.environment.world.connections import Connections
from simulator.environment.world.entities import EntityChange
from simulator.environment.world.tool_settings import DeclaredTool, EnvironmentSettings

AgentPlayer: TypeAlias = Literal["model", "held", "person"]
"""Who plays the agent: its own model; its model, each turn held for approval; or a person."""

ToolPlayer: TypeAlias = Literal["person", "offline", "model", "recorded", "auto", "real", "refuse"]
"""Who answers tool calls that no injection answered: a person; the offline generator; a model that generates; the
nearest recorded call; any that can, until something needs a person (`auto`); the real tool; or nobody (`refuse`)."""

UserPlayer: TypeAlias = Literal["person", "script", "recording", "scenario"]
"""Who speaks for the user: a person; a list of messages; the user's turns of an eval case; or ADK's user simulator."""

UserStatus: TypeAlias = Literal[
    "success", "turn_limit_reached", "stop_signal_detected", "no_message_generated", "failed", "stopped"
]
"""What became of the next message: ADK's own statuses; it could not be made; or a person stopped it."""

EVERY = "*"
"""The target that stands for each agent, or each tool, with no player of its own."""


class RaisedError(Value):
    """An exception, written down: `type` is `module:qualified name`, `attributes` what else it holds."""

    type: str = Field(min_length=1)
    message: str
    arguments: tuple[Json, ...] = ()
    attributes: JsonObject = Field(default_factory=dict)

    @property
    def short_type(self) -> str:
        """The class's own name."""
        return self.type.rpartition(":")[2].rpartition(".")[2]


class Returned(Value):
    """The tool gave a value; the agent sees a dict as it is and anything else as `{"result": value}`."""

    kind: Literal["returned"] = "returned"
    value: Json


class Failed(Value):
    """The tool answered with an error dict, in ADK's form: `error_code` and `error_message`, and what else `details` says."""

    kind: Literal["failed"] = "failed"
    error_code: int | str
    error_message: str
    details: JsonObject = Field(default_factory=dict)

    def response(self) -> JsonObject:
        """Return the dict that the agent sees."""
        return {"error_code": self.error_code, "error_message": self.error_message, **self.details}


class Raised(Value):
    """The tool raised: the agent's `on_tool_error` callbacks see it, and without one the turn ends."""

    kind: Literal["raised"] = "raised"
    error: RaisedError


class Deferred(Value):
    """A long-running tool has no answer yet; it comes in a later turn."""

    kind: Literal["deferred"] = "deferred"


Outcome: TypeAlias = Annotated[Returned | Failed | Raised | Deferred, Field(discriminator="kind")]


SavedArtifact: TypeAlias = recordings.SavedArtifact
ToolEffects: TypeAlias = recordings.ToolEffects


class Provenance(Value):
    """Who authored an answer. `by` names the rule, the model or the person where there is one.

    Of the injection rules, `misses` says why the nearest 20 did not answer, `drawn` names those that took a value from their
    stream for this call, `counted` those that counted it, and `fired` those that did something to it: answered,
    delayed or changed it. `notes` says in words what was done to the answer, or where it comes from. `blanks` are the places of
    the response of which nobody knows what belongs there, as `$.rows[0].total`; of those that are `uncertain` nobody said it, and
    the value that stands there may be another.
    """

    source: Literal["written", "edited", "generated", "injected", "recorded", "real", "refused", "model"]
    by: str | None = None
    misses: tuple[Miss, ...] = ()
    drawn: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    fired: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    blanks: tuple[str, ...] = Field(default=(), exclude_if=lambda paths: not paths)
    uncertain: tuple[str, ...] = Field(default=(), exclude_if=lambda paths: not paths)


class RequestDigests(Value):
    """Fingerprints of what was asked, by part, and of every event before it (`chain`).

    What a tool is asked stands in its answer itself, so that has no part here.
    """

    parts: dict[str, str]
    chain: str


class _Fact(Value):
    at: float


class _Answer(_Fact):
    """An answer to a request of the agent.

    `at_once` says that it was there before anything else could run: the re-execution gives it in that very moment.
    """

    turn: int
    key: str
    agent: str
    digests: RequestDigests
    provenance: Provenance
    elapsed_ms: float = 0.0
    at_once: bool = False


class SessionOpened(_Fact):
    """A session began; `seed` is where its ids and draws come from."""

    kind: Literal["session_opened"] = "session_opened"
    session_id: str = Field(min_length=1)
    user_id: str = Field(default="user", min_length=1)
    seed: str = Field(min_length=1)


def _remembered(entry: Any) -> Any:
    return {"content": {"parts": [{"text": entry}]}} if isinstance(entry, str) else entry


class EarlierData(Value):
    """What a session begins with besides its state; `memory` holds events in JSON, as ADK's memory takes them; a text is one, too."""

    artifacts: tuple[SavedArtifact, ...] = ()
    memory: tuple[Annotated[JsonObject, BeforeValidator(_remembered)], ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self.artifacts or self.memory)


NOTHING_EARLIER = EarlierData()
"""Neither artifacts nor memory."""


class AgentSelected(_Fact):
    """A person chose the agent; `app_name` is ADK's name for it, `initial_state` what its session starts with.

    `environment_data` is what the agent brings along of the environment's data: JSON of tables, or words. `earlier` are the artifacts
    and the memory that its session starts with.
    """

    kind: Literal["agent_selected"] = "agent_selected"
    agent_name: str = Field(min_length=1)
    app_name: str = Field(min_length=1)
    initial_state: JsonObject = Field(default_factory=dict)
    environment_data: str = Field(default="", exclude_if=lambda text: not text)
    earlier: EarlierData = Field(default=NOTHING_EARLIER, exclude_if=lambda data: not data)


class TurnStarted(_Fact):
    """The user said something (`query`), or answered what a turn before left open (`reply`).

    `message` is google-genai's `Content` in JSON. `provenance` says who said it, where not only a person could.
    """

    kind: Literal["turn_started"] = "turn_started"
    turn: int = Field(ge=0)
    purpose: Literal["query", "reply"] = "query"
    message: JsonObject
    state_delta: JsonObject = Field(default_factory=dict)
    streaming: bool = False
    max_llm_calls: int = 500
    provenance: Provenance | None = None


class ModelAnswered(_Answer):
    """The agent's seat made a turn: every ADK `LlmResponse` of the call in JSON, or the error."""

    kind: Literal["model_answered"] = "model_answered"
    responses: tuple[WrittenObject, ...] = ()
    error: RaisedError | None = None


class _CallAnswer(_Answer):
    """What became of a tool call; `scope` holds the calls of agent tools it is inside of."""

    kind: str
    call_id: str = Field(min_length=1)
    tool_name: str = Field(min_length=1)
    arguments: WrittenObject
    scope: str = ""


class ToolAnswered(_CallAnswer):
    """A tool call was answered.

    `beneath` is what really happened in the world, where an injection told the agent something else: the whole
    answer of one that was distorted, the success of one that was lost. `traceback` is that of a real tool that raised, shortened
    where it is long; it stays in the journal. `declared` is the digest of the tool's declaration where a tool set brought it: the agent itself does not
    contain it.
    """

    kind: Literal["tool_answered"] = "tool_answered"
    outcome: Outcome
    effects: ToolEffects = recordings.NO_EFFECTS
    beneath: Outcome | None = None
    traceback: str | None = Field(default=None, exclude_if=lambda text: text is None)
    declared: str = Field(default="", exclude_if=lambda digest: not digest)


class AgentRan(_CallAnswer):
    """A call of an agent that is used as a tool was let run: its agent answers, and what is asked in there are requests of its own.

    It is a fact where somebody else could have answered: a rule or a player of this name. Rules that fired change what the agent
    answers, which is then a `ToolAnswered` of its own.
    """

    kind: Literal["agent_ran"] = "agent_ran"


class CodeAnswered(_Answer):
    """A block of code of the agent was executed, or somebody said what it printed."""

    kind: Literal["code_answered"] = "code_answered"
    code: str
    result: JsonObject | None = None
    error: RaisedError | None = None


class CallStarted(_Fact):
    """A real tool or real code was about to run: if no answer follows, it may have run."""

    kind: Literal["call_started"] = "call_started"
    turn: int
    key: str
    name: str


class ModelProposed(_Fact):
    """The agent's model made a turn (or raised) that is held until a person approves it or writes another."""

    kind: Literal["model_proposed"] = "model_proposed"
    turn: int
    key: str
    responses: tuple[WrittenObject, ...] = ()
    error: RaisedError | None = None


class ToolProposed(_Fact):
    """A model that generates made an answer for a tool call, which waits for a person; or `reason` says why it could not."""

    kind: Literal["tool_proposed"] = "tool_proposed"
    turn: int
    key: str
    value: Json = None
    by: str
    reason: str = ""
    notes: tuple[str, ...] = ()


class DraftDrawn(_Fact):
    """A person had another offline draft drawn for a tool call that waits: the one with the number `draw`, from 1."""

    kind: Literal["draft_drawn"] = "draft_drawn"
    turn: int
    key: str
    draw: int = Field(ge=1)


class SeatChanged(_Fact):
    """Somebody else sits down: for one agent (or tool) by name, or for `*`."""

    kind: Literal["seat_changed"] = "seat_changed"
    seat: Literal["agent", "tool"]
    target: str = Field(default=EVERY, min_length=1)
    player: AgentPlayer | ToolPlayer


class UserSeated(_Fact):
    """Somebody sits down in the user's seat.

    `script` holds the messages of a script or a recording, each as google-genai's `Content` in JSON; `scenario` is ADK's
    `ConversationScenario` and `config` its `LlmBackedUserSimulatorConfig`, both in JSON. `hold` keeps each message until
    a person has accepted it.
    """

    kind: Literal["user_seated"] = "user_seated"
    player: UserPlayer
    script: tuple[WrittenObject, ...] = ()
    scenario: JsonObject | None = None
    config: JsonObject = Field(default_factory=dict)
    hold: bool = True


class UserProposed(_Fact):
    """What the user's player said before it is turn `turn`, or `reason`: why it says nothing (more).

    With a status other than `success` no message follows this one, which is what was said beside the end.
    """

    kind: Literal["user_proposed"] = "user_proposed"
    turn: int
    message: WrittenObject | None = None
    status: UserStatus
    by: str
    reason: str = ""


class ConversationEnded(_Fact):
    """A person said that the conversation is over after the agent's last answer; or, with `over` unset, that it goes on after all."""

    kind: Literal["conversation_ended"] = "conversation_ended"
    over: bool = True


class RulesChanged(_Fact):
    """The injection rules are now these, in this order."""

    kind: Literal["rules_changed"] = "rules_changed"
    rules: tuple[InjectionRule, ...]


class Remembered(Value):
    """What the agent's code put into ADK's memory, its own session's first `count` events or these `events`; or what it `deleted`, by id."""

    deleted: str | None = None
    count: int | None = None
    session_id: str | None = None
    events: tuple[JsonObject, ...] = ()


class TurnEnded(_Fact):
    """The run of the agent ended: by itself, with an error, or stopped by a person.

    `events` are ADK's events in JSON, as they were when ADK appended them; `state` is the session's state after.
    """

    kind: Literal["turn_ended"] = "turn_ended"
    turn: int
    events: tuple[WrittenObject, ...] = ()
    state: JsonObject = Field(default_factory=dict)
    artifacts: tuple[SavedArtifact, ...] = ()
    memories: tuple[Remembered, ...] = ()
    error: RaisedError | None = None
    stopped: bool = False


Answered: TypeAlias = ModelAnswered | ToolAnswered | AgentRan | CodeAnswered


class _Shaping(FiniteValue):
    at: float


class EnvironmentChanged(_Shaping):
    """What is set for the environment is now this."""

    kind: Literal["environment_changed"] = "environment_changed"
    settings: EnvironmentSettings


class EnvironmentDataGiven(_Shaping):
    """The environment's data is now this: JSON of tables, or words; the world begins with it."""

    kind: Literal["environment_data_given"] = "environment_data_given"
    text: str


class WorldEdited(_Shaping):
    """A person changed things of the world."""

    kind: Literal["world_edited"] = "world_edited"
    changes: tuple[EntityChange, ...] = Field(min_length=1)


class StateCleared(_Shaping):
    """What was remembered of the calls under a state key is forgotten."""

    kind: Literal["state_cleared"] = "state_cleared"
    state_key: str = Field(min_length=1)


class RecordingGiven(_Shaping):
    """Recorded calls to answer from, under a name; none takes away what the name stood for."""

    kind: Literal["recording_given"] = "recording_given"
    name: str = Field(min_length=1)
    calls: tuple[ObservedCall, ...] = ()


class ConnectionsAnalysed(_Shaping):
    """A model has said how the tools hang together, or `reason` why it has not."""

    kind: Literal["connections_analysed"] = "connections_analysed"
    model: str
    connections: Connections | None = None
    reason: str = ""


class ToolsDeclared(_Shaping):
    """The tools that do not exist, and that the agent may call all the same, are now these."""

    kind: Literal["tools_declared"] = "tools_declared"
    tools: tuple[DeclaredTool, ...]


EnvironmentFact: TypeAlias = (
    EnvironmentChanged
    | EnvironmentDataGiven
    | WorldEdited
    | StateCleared
    | RecordingGiven
    | ConnectionsAnalysed
    | ToolsDeclared
)


Fact: TypeAlias = Annotated[
    SessionOpened
    | AgentSelected
    | TurnStarted
    | ModelAnswered
    | ToolAnswered
    | AgentRan
    | CodeAnswered
    | CallStarted
    | ModelProposed
    | ToolProposed
    | DraftDrawn
    | SeatChanged
    | UserSeated
    | UserProposed
    | ConversationEnded
    | RulesChanged
    | EnvironmentFact
    | TurnEnded,
    Field(discriminator="kind"),
]
