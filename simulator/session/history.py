"""The entries of a session's timeline.

The first five are those of the data model for simulator runs, and can be made with its fields alone; the rest show what else happens in a real run.
`fact` is the number of the fact that an entry was derived from.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from simulator.base.frozen_value import Value
from simulator.base.json_values import Json, JsonObject
from simulator.facts import Outcome, Provenance
from simulator.session.attached_files import AttachedFile


class _Entry(Value):
    fact: int = 0
    turn: int = 0
    timestamp: datetime = Field(default_factory=lambda: datetime.now(UTC))


class UserQuery(_Entry):
    """What the user asked; `content` is text, with a line for each of the `files`, or JSON where there is something else.

    Without a provenance a person asked, where nobody else could.
    """

    type: Literal["user_query"] = "user_query"
    content: str
    files: tuple[AttachedFile, ...] = Field(default=(), exclude_if=lambda files: not files)
    provenance: Provenance | None = None


def is_question(tool_name: str) -> bool:
    """Return whether ADK itself asks the user by a call of this name; others are long-running tools."""
    return tool_name.startswith("adk_")


class UserReply(_Entry):
    """The user answered what a turn before had left open: a confirmation, a late result; `provenance` as for a query."""

    type: Literal["user_reply"] = "user_reply"
    call_id: str
    tool_name: str
    response: Json
    provenance: Provenance | None = None

    @property
    def is_late(self) -> bool:
        """Whether it is the late result of a tool, and no word of the user."""
        return bool(self.tool_name) and not is_question(self.tool_name)


class AgentMessage(_Entry):
    """Text of an agent on its way to the final response; `thought` marks its thinking."""

    type: Literal["agent_message"] = "agent_message"
    agent: str
    content: str
    thought: bool = False
    scope: str = ""
    provenance: Provenance | None = None


class ToolCall(_Entry):
    """An agent asked for a tool; `scope` names the calls of agent tools that it happened inside of."""

    type: Literal["tool_call"] = "tool_call"
    agent: str = ""
    tool_name: str
    arguments: JsonObject
    call_id: str
    scope: str = ""
    provenance: Provenance | None = None


class ToolOutput(_Entry):
    """A tool answered. Without a provenance ADK itself answered: a transfer, an agent tool, a callback.

    `beneath` is what really happened, where a rule told the agent something else.
    """

    type: Literal["tool_output"] = "tool_output"
    call_id: str
    result: Json
    duration_ms: float = 0.0
    state_delta: JsonObject = Field(default_factory=dict)
    provenance: Provenance | None = None
    beneath: Outcome | None = None


class ToolError(_Entry):
    """A tool answered with an error: an error dict (`error_type` is its code) or a raised exception.

    `beneath` as for `ToolOutput`: where an answer was lost, it holds the one that was not heard.
    """

    type: Literal["tool_error"] = "tool_error"
    call_id: str
    error_type: str
    error_message: str
    traceback: str | None = None
    duration_ms: float = 0.0
    provenance: Provenance | None = None
    beneath: Outcome | None = None


class CodeRun(_Entry):
    """Code of the agent was executed; `error` is set where it raised."""

    type: Literal["code_run"] = "code_run"
    agent: str
    code: str
    output: str
    error: str | None = None
    provenance: Provenance | None = None


class ModelError(_Entry):
    """The model in the agent's seat raised."""

    type: Literal["model_error"] = "model_error"
    agent: str
    error_type: str
    error_message: str


class SessionNote(_Entry):
    """Seats or injections changed; `content` says how."""

    type: Literal["session_note"] = "session_note"
    content: str


class TurnFailed(_Entry):
    """A turn ended with an error, or was stopped by a person."""

    type: Literal["turn_failed"] = "turn_failed"
    error_type: str
    error_message: str
    stopped: bool = False


class FinalResponse(_Entry):
    """The agent's final answer of a turn; `content` is text, or JSON where the answer is structured.

    Without a provenance no turn of the agent said it: its code did, as a callback or a node.
    """

    type: Literal["final_response"] = "final_response"
    agent: str = ""
    content: str
    provenance: Provenance | None = None


HistoryEntry: TypeAlias = Annotated[
    UserQuery
    | UserReply
    | AgentMessage
    | ToolCall
    | ToolOutput
    | ToolError
    | CodeRun
    | ModelError
    | SessionNote
    | TurnFailed
    | FinalResponse,
    Field(discriminator="type"),
]
