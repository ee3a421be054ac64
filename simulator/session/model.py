"""What a session is at one moment: who plays, what is set for its environment, what the user's seat has said, and the whole of it as one frozen value.

`SessionEnvironment` and `UserSeat` are summed up fact by fact: each has a method that returns it as it is after one. `SimulationSession` is what the fold gives to everyone else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import Enum
from typing import Any, Protocol, assert_never

from pydantic import Field, model_validator

from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject, WrittenObject, digest
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.recordings import ObservedCall
from simulator.environment.world.connections import Connections
from simulator.environment.world.tool_settings import DeclaredTool, EnvironmentSettings
from simulator.facts import (
    EVERY,
    NOTHING_EARLIER,
    AgentPlayer,
    ConnectionsAnalysed,
    ConversationEnded,
    EarlierData,
    EnvironmentChanged,
    EnvironmentDataGiven,
    EnvironmentFact,
    RaisedError,
    RecordingGiven,
    SavedArtifact,
    StateCleared,
    ToolPlayer,
    ToolsDeclared,
    TurnStarted,
    UserPlayer,
    UserProposed,
    UserSeated,
    WorldEdited,
)
from simulator.session.history import (
    FinalResponse,
    HistoryEntry,
    SessionNote,
    ToolCall,
    ToolError,
    ToolOutput,
    UserQuery,
)


class SessionEnvironment(Value):
    """What is set for a session's environment.

    `data` is the environment's data as text, which the agent brings along where `is_data_brought`; `recordings` holds recorded calls by name; `by_model` says how the tools hang
    together as the model `analysed_by` told it, `not_analysed` why it did not.
    """

    settings: EnvironmentSettings = EnvironmentSettings()
    data: str = ""
    is_data_brought: bool = False
    recordings: dict[str, tuple[ObservedCall, ...]] = Field(default_factory=dict)
    by_model: Connections | None = None
    analysed_by: str = ""
    not_analysed: str = ""
    declared: tuple[DeclaredTool, ...] = ()

    def after(self, fact: EnvironmentFact) -> SessionEnvironment:
        """Return the environment after one more fact."""
        match fact:
            case EnvironmentChanged(settings=settings):
                return self.model_copy(update={"settings": settings})
            case EnvironmentDataGiven(text=text):
                return self.model_copy(update={"data": text, "is_data_brought": False})
            case RecordingGiven(name=name, calls=calls):
                others = {key: value for key, value in self.recordings.items() if key != name}
                return self.model_copy(update={"recordings": {**others, name: calls} if calls else others})
            case ConnectionsAnalysed(model=model, connections=found, reason=reason):
                told = {"by_model": found, "analysed_by": model, "not_analysed": reason}
                return self.model_copy(update=told)
            case ToolsDeclared(tools=tools):
                return self.model_copy(update={"declared": tools})
            case WorldEdited() | StateCleared():
                return self
            case never:
                assert_never(never)


def words_of_change(fact: EnvironmentFact, before: SessionEnvironment) -> str:  # noqa: PLR0911 - one per kind of fact
    """Return in words what a fact changed."""
    match fact:
        case EnvironmentChanged(settings=settings):
            was = before.settings
            changed = [
                name for name in type(was).model_fields if getattr(was, name) != getattr(settings, name)
            ]
            return f"settings: {', '.join(name.replace('_', ' ') for name in changed) or 'unchanged'}"
        case EnvironmentDataGiven(text=text):
            return "data loaded" if text else "data cleared"
        case WorldEdited(changes=changes):
            return "world edited: " + ", ".join(f"{each.op} {each.kind} {each.id}" for each in changes)
        case StateCleared(state_key=key):
            return f"cleared the calls of {key}"
        case RecordingGiven(name=name, calls=calls):
            count = "1 call" if len(calls) == 1 else f"{len(calls)} calls"
            return f"recording {name!r}: {count}" if calls else f"recording {name!r} removed"
        case ConnectionsAnalysed(model=model, reason=reason):
            return f"connections: no response from {model}, {reason}" if reason else f"connections by {model}"
        case ToolsDeclared(tools=tools):
            return "declared tools: " + (", ".join(tool.name for tool in tools) or "none")
        case never:
            assert_never(never)


_ADK_LIMIT = 20


ADKS_SIMULATOR = "llm_backed"
"""What ADK calls the configuration of its own user simulator."""

ADKS_SPEAKER = "llm_audio"
"""What ADK calls the configuration of its user simulator that sends audio."""

NO_AUDIO = (
    f"ADK's user simulator {ADKS_SPEAKER!r} sends audio, and a session is played in text. Use the type {ADKS_SIMULATOR!r} here. `golden-trace eval` "
    f"plays {ADKS_SPEAKER!r}"
)
"""Why that one plays no user in a session."""


class UserSeat(Value):
    """The user's seat at one moment.

    `said` is how many messages the conversation of who sits there holds: of a script, those that were sent while it sat
    there; of a scenario, all since it first sat down, as a person who takes over goes on with the same conversation.
    `proposed` is what was said that no turn has begun with yet; with `is_over`, the player has said that there is no more.
    `hold` as for `UserSeated`; `changes` counts how often somebody sat down. With `ended`, a person has said that the
    conversation is over: nobody speaks until it goes on.
    """

    player: UserPlayer = "person"
    script: tuple[JsonObject, ...] = ()
    scenario: JsonObject | None = None
    config: JsonObject = Field(default_factory=dict)
    hold: bool = True
    changes: int = 0
    said: int = 0
    proposed: UserProposed | None = None
    is_over: bool = False
    ended: bool = False
    over: tuple[str, ...] = ()
    conversations: dict[str, int] = Field(default_factory=dict)

    @property
    def limit(self) -> int | None:
        """How many messages there may be in all; None where nothing limits them."""
        if self.player in {"script", "recording"}:
            return len(self.script)
        if self.player == "person":
            return None
        most = self.config.get("max_allowed_invocations", None if self.own_simulator else _ADK_LIMIT)
        return most if isinstance(most, int) and most >= 0 else None

    @property
    def own_simulator(self) -> str:
        """The dotted path of a user simulator that is not ADK's own; empty where it is ADK's."""
        kind = self.config.get("type")
        return kind if isinstance(kind, str) and kind != ADKS_SIMULATOR else ""

    @property
    def is_by_hand(self) -> bool:
        """Whether a person writes the next message of a scenario: it has begun, and no model is set for it."""
        begun = self.player == "scenario" and self.said > 0 and self.left != 0 and not self.is_over
        return begun and not self.own_simulator and not self.config.get("model", True)

    @property
    def left(self) -> int | None:
        """How many messages are left; None where nothing limits them."""
        return None if self.limit is None else max(0, self.limit - self.said)

    def seated(self, fact: UserSeated) -> UserSeat:
        """Return the seat with somebody else in it.

        Who comes back goes on where they were; a script that was said to its end begins anew. What waits stays where only
        `hold` has changed.
        """
        key = _key(fact.player, fact.script, fact.scenario)
        is_said = bool(fact.script) and self.conversations.get(key, 0) >= len(fact.script)
        conversations = {key: 0} if fact.player != "person" else {}
        conversations |= self.conversations | ({key: 0} if is_said else {})
        over = tuple(each for each in self.over if not (is_said and each == key))
        is_same = (self.player, self.script, self.scenario, self.config) == (
            fact.player,
            fact.script,
            fact.scenario,
            fact.config,
        )
        return UserSeat(
            player=fact.player,
            script=fact.script,
            scenario=fact.scenario,
            config=fact.config,
            hold=fact.hold,
            changes=self.changes + 1,
            ended=self.ended,
            said=conversations.get(key, 0),
            proposed=self.proposed if is_same and not is_said else None,
            is_over=key in over,
            over=over,
            conversations=conversations,
        )

    def proposing(self, fact: UserProposed) -> UserSeat:
        """Return the seat with what was said there."""
        return self.model_copy(update={"proposed": fact})

    def speaking(self, fact: TurnStarted) -> UserSeat:
        """Return the seat when a turn has begun: what waited is over."""
        if self.ended:
            return self.model_copy(update={"ended": False}).speaking(fact)
        if not self.conversations:
            return self
        if fact.purpose != "query":
            return self.model_copy(update={"proposed": None})
        own = _key(self.player, self.script, self.scenario)
        counted = {
            key: count + (key == own or key.startswith("scenario "))
            for key, count in self.conversations.items()
        }
        ended = self.proposed is not None and self.proposed.status == "stop_signal_detected"
        return self.model_copy(
            update={
                "proposed": None,
                "conversations": counted,
                "said": counted.get(own, self.said),
                "is_over": ended or self.is_over,
                "over": (*self.over, own) if ended and not self.is_over else self.over,
            }
        )

    def ending(self, fact: ConversationEnded) -> UserSeat:
        """Return the seat with the conversation over, or open again."""
        return self.model_copy(update={"ended": fact.over})


def _key(player: str, script: tuple[JsonObject, ...], scenario: JsonObject | None) -> str:
    return f"{player} {digest(json.dumps([list(script), scenario], sort_keys=True))}"


CONFIRMATION = "adk_request_confirmation"
"""The call by which ADK asks whether a tool may run."""

REQUEST_INPUT = "adk_request_input"
"""The call by which a node, or ADK's tool `request_input`, asks the user."""

INTERRUPT_ID = "interruptId"
"""Where the question of a graph holds its id once more; a call of the tool `request_input` has none."""


class SessionState(Enum):
    """Session lifecycle states."""

    SELECTING_AGENT = "selecting_agent"
    AWAITING_QUERY = "awaiting_query"
    ACTIVE = "active"
    COMPLETED = "completed"


class Seats(Value):
    """Who plays: for agents and tools by name, with `*` for all others."""

    agents: dict[str, AgentPlayer] = Field(default_factory=dict)
    tools: dict[str, ToolPlayer] = Field(default_factory=dict)

    def of_agent(self, name: str) -> AgentPlayer:
        """Who plays this agent; its own model where nobody chose."""
        return self.agents.get(name) or self.agents.get(EVERY, "model")

    def of_tool(self, name: str) -> ToolPlayer:
        """Who answers this tool; a person where nobody chose."""
        return self.tools.get(name) or self.tools.get(EVERY, "person")


class OpenCall(Value):
    """A call that only the user can answer, in a turn of its own, by a function response with its id.

    `answered` is set for a long-running tool that gave a first answer and may give another later. `node` is the path of the node
    that asked, as ADK's events name it.
    """

    call_id: str
    tool_name: str
    arguments: JsonObject
    agent: str
    answered: bool = False
    node: str = ""

    @property
    def is_confirmation(self) -> bool:
        """ADK asks whether a tool may run."""
        return self.tool_name == CONFIRMATION


class Turn(Value):
    """One run of the agent. `events` are ADK's, in JSON; `final_event` is the place of the final response in them.

    `state_delta` is what the user's message set in the state, before the agent began.
    """

    number: int
    purpose: str
    message: JsonObject
    state_delta: JsonObject = Field(default_factory=dict)
    started_at: float
    ended: bool = False
    events: tuple[WrittenObject, ...] = ()
    state: JsonObject = Field(default_factory=dict)
    artifacts: tuple[SavedArtifact, ...] = ()
    error: RaisedError | None = None
    stopped: bool = False
    final_event: int | None = None


class LiveAgent(Protocol):
    """What stands behind a session that is played: the agent itself, which no fact holds."""

    @property
    def agent_config(self) -> Any:
        """The `SimulatedAgentConfig` that the session was opened with."""
        ...

    def tools(self) -> list[Any]:
        """Return the agent's tools, as ADK's `BaseTool`s."""
        ...

    def adk_session(self, session: SimulationSession) -> Any:
        """Return ADK's `Session` as it stands."""
        ...


_LIVE = "_live_agent"


class _Behind:
    """Holds what stands behind a session; a pickled or copied one holds nothing."""

    def __init__(self, live: LiveAgent | None = None) -> None:
        self.live = live

    def __reduce__(self) -> tuple[type[_Behind], tuple[()]]:
        return type(self), ()


_GIVEN = ("agent_config", "agent", "tools", "adk_session")


class _Given:
    """Stands behind a session that was made with its agent, by the names of the data model for simulator runs."""

    def __init__(
        self, agent_config: Any = None, agent: Any = None, tools: Sequence[Any] = (), adk_session: Any = None
    ) -> None:
        self.agent_config, self.agent = agent_config, agent
        self._tools, self._adk_session = list(tools), adk_session

    def tools(self) -> list[Any]:
        return self._tools

    def adk_session(self, _: SimulationSession) -> Any:
        return self._adk_session


class NoLiveAgentError(LookupError):
    """A session was read from its journal alone, which holds no agent."""


class SimulationSession(Value):
    """A single simulation run, from the choice of the agent to the final response.

    `agent_config`, `agent`, `tools` and `adk_session` are those of the simulation that gave the session, or those that it was made with. They are no
    part of its value: they are not compared, written or pickled, and a session that was read from a journal alone has none of them.

    Raises:
        pydantic.ValidationError: The history breaks a rule of the data model: but for notes of what was set before, it
            starts with a `UserQuery` once the session is active, it ends with a `FinalResponse` when it is completed, each `ToolCall.call_id` is
            unique, and each output or error has its call.
    """

    session_id: str = ""
    user_id: str = "user"
    agent_name: str = ""
    app_name: str = ""
    state: SessionState = SessionState.SELECTING_AGENT
    history: tuple[HistoryEntry, ...] = ()
    start_timestamp: float = 0.0
    turns: tuple[Turn, ...] = ()
    initial_state: JsonObject = Field(default_factory=dict)
    earlier: EarlierData = NOTHING_EARLIER
    current_state: JsonObject = Field(default_factory=dict)
    seats: Seats = Seats()
    rules: tuple[InjectionRule, ...] = ()
    environment: SessionEnvironment = SessionEnvironment()
    open_calls: tuple[OpenCall, ...] = ()

    def __init__(self, **fields: Any) -> None:
        given = {name: fields.pop(name) for name in _GIVEN if name in fields}
        config = given.get("agent_config")
        if config is not None:
            fields.setdefault("agent_name", config.name)
        super().__init__(**fields)
        if given:
            self.given_by(_Given(**given))

    @property
    def is_running(self) -> bool:
        """A turn has started and has not ended."""
        return bool(self.turns) and not self.turns[-1].ended

    def given_by(self, live: LiveAgent) -> SimulationSession:
        """Keep what stands behind the session, and return the session itself."""
        vars(self)[_LIVE] = _Behind(live)
        return self

    def _behind(self) -> LiveAgent:
        behind: _Behind | None = vars(self).get(_LIVE)
        if behind is None or behind.live is None:
            raise NoLiveAgentError(
                "this session was read from its journal only and has no agent; "
                "use Simulation.resume(journal, config).session"
            )
        return behind.live

    @property
    def agent_config(self) -> Any:
        """The `SimulatedAgentConfig` that the session was opened with.

        Raises:
            NoLiveAgentError: The session was read from its journal alone; so for the next three.
        """
        return self._behind().agent_config

    @property
    def agent(self) -> Any:
        """The ADK agent itself."""
        return getattr(self._behind(), "agent", None) or self.agent_config.agent

    @property
    def tools(self) -> list[Any]:
        """The agent's tools, as ADK's `BaseTool`s."""
        return self._behind().tools()

    @property
    def adk_session(self) -> Any:
        """ADK's `Session` as it stands: a copy, whose changes nobody sees."""
        return self._behind().adk_session(self)

    @model_validator(mode="after")
    def _keeps_the_rules(self) -> SimulationSession:
        if self.state is not SessionState.SELECTING_AGENT and not self.agent_name:
            raise ValueError("agent_name is empty")
        if self.state in {SessionState.ACTIVE, SessionState.COMPLETED} and not (
            isinstance(self._first_said(), UserQuery)
        ):
            raise ValueError(f"the history of a session that is {self.state.value} starts with a UserQuery")
        if self.state is SessionState.COMPLETED and not isinstance(self.history[-1], FinalResponse):
            raise ValueError("the history of a completed session ends with a FinalResponse")
        self._match_calls()
        return self

    def _first_said(self) -> HistoryEntry | None:
        return next((entry for entry in self.history if not isinstance(entry, SessionNote)), None)

    def _match_calls(self) -> None:
        calls: set[str] = set()
        for entry in self.history:
            if isinstance(entry, ToolCall):
                if entry.call_id in calls:
                    raise ValueError(f"two tool calls have the call_id {entry.call_id!r}")
                calls.add(entry.call_id)
            elif isinstance(entry, (ToolOutput, ToolError)) and entry.call_id not in calls:
                raise ValueError(f"{entry.type} has the call_id {entry.call_id!r}, but no tool call has it")
