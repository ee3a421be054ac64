"""The session: what the facts of a journal add up to.

`fold` is the whole of it, pure: the same facts give the same session. To show something new, fold it here; never store it beside the journal.
"""

from simulator.session.fold import IllegalFactError, SessionFold
from simulator.session.history import (
    AgentMessage,
    CodeRun,
    FinalResponse,
    HistoryEntry,
    ModelError,
    SessionNote,
    ToolCall,
    ToolError,
    ToolOutput,
    TurnFailed,
    UserQuery,
    UserReply,
)
from simulator.session.model import OpenCall, Seats, SessionState, SimulationSession, Turn

__all__ = [
    "AgentMessage",
    "CodeRun",
    "FinalResponse",
    "HistoryEntry",
    "IllegalFactError",
    "ModelError",
    "OpenCall",
    "Seats",
    "SessionFold",
    "SessionNote",
    "SessionState",
    "SimulationSession",
    "ToolCall",
    "ToolError",
    "ToolOutput",
    "Turn",
    "TurnFailed",
    "UserQuery",
    "UserReply",
]
