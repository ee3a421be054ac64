"""The session as everyone but the journal sees it: one frozen value, derived from the facts."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Protocol

from pydantic import Field, model_validator

from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject, WrittenObject
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import (
    EVERY,
    NOTHING_EARLIER,
    AgentPlayer,
    EarlierData,
    RaisedError,
    SavedArtifact,
    ToolPlayer,
)
from simulator.session.environment_state import SessionEnvironment
from simulator.session.history import (
    FinalResponse,
    HistoryEntry,
    SessionNote,
    ToolCall,
    ToolError,
    ToolOutput,
    UserQuery,
)

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
