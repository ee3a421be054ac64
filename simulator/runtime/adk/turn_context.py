"""Says, anywhere below ADK's runner, which turn is in progress and where in it we are.

Context variables reach AgentTool's runner, parallel agents, workflow nodes and worker threads by themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from simulator.base.json_values import JsonObject

if TYPE_CHECKING:
    from simulator.runtime.adk.tool_guards import Watch
    from simulator.runtime.turns.turn import TurnRun

GUARD_NAME = "golden_trace_guard"
"""The name of the plugin that seats what the walk at loading could not reach."""


class StandsIn(Protocol):
    """Answers one tool call in place of the tool, with no turn in progress."""

    async def answer(self, call: Any) -> Any:
        """Return the answer to a call at the boundary, or raise it."""
        ...


_STAND_IN = "_simulation_stand_in"


def stand_in_of(context: Any) -> StandsIn | None:
    """Return who answers the call of a tool's context in place of the tool, if anybody does."""
    found: StandsIn | None = getattr(context, "__dict__", {}).get(_STAND_IN)
    return found


def let_stand_in(stand_in: StandsIn, context: Any) -> None:
    """Let somebody answer the call of a tool's context; what is known of it is gone with the context."""
    setattr(context, _STAND_IN, stand_in)


class RealCall(NamedTuple):
    """Something real that answers the request with this key; a tool's artifacts, and the events it sends, are taken down."""

    key: str
    take_artifact: Callable[[Any], None] | None = None
    take_event: Callable[[Any], None] | None = None


CURRENT_TURN: ContextVar[TurnRun | None] = ContextVar("simulation_turn", default=None)
"""The turn in progress; None means that no simulation is active, and everything seated passes through."""

SCOPE: ContextVar[str] = ContextVar("simulation_scope", default="")
"""The ids of the calls of agent tools that we are inside of, outermost first, each after a `>`."""

PLACE: ContextVar[str] = ContextVar("simulation_place", default="")
"""Branch, isolation scope and node path of the model call that is about to happen."""

INSIDE_REAL_CALL: ContextVar[RealCall | None] = ContextVar("simulation_inside_real_call", default=None)
"""What real thing is answering right now; inside of it everything below is real too."""


class ModelStandIn(Protocol):
    """Answers the models of one invocation, and the code that they write, with no turn in progress."""

    async def model(self, request: Any) -> list[Any] | None:
        """Return the responses to a model's request; None lets the model itself answer."""
        ...

    def code(self, invocation: Any, code: str) -> JsonObject | None:
        """Return what a block of code prints, as the fields of ADK's `CodeExecutionResult`; None lets it run."""
        ...


MODEL_STAND_IN: ContextVar[ModelStandIn | None] = ContextVar("simulation_model_stand_in", default=None)
"""Who answers in the place of seated models; it is asked with no turn in progress only."""


WATCH: ContextVar[Watch | None] = ContextVar("simulation_watch", default=None)
"""Whose run everything in here belongs to. The threads that it starts have this and `TOLD`, and no other context variable."""

TOLD: ContextVar[Watch | None] = ContextVar("simulation_told", default=None)
"""Who is told what is real in this thread, which the code of an agent started in a turn; nobody where something real started it."""
