"""Makes a candidate for a tool call of what the golden responds that a session began with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.environment.call_effects import ToolEffects
from simulator.environment.drafts.candidates import Candidate
from simulator.facts import Deferred, Failed, Outcome, Raised, RaisedError, Returned
from simulator.seats.requests import ToolRequest

if TYPE_CHECKING:
    from simulator.scripts.next_lines import NextLines

HERE = "What the golden did here"
ELSEWHERE = "Recorded for other arguments"
IN_ANOTHER_TURN = "Recorded in another turn"
ANOTHER_WAY = "The golden went another way here."
_BUILTINS = "builtins:"


def golden_candidate(golden: NextLines | None, request: ToolRequest) -> Candidate | None:
    """Return the golden's response to a call, or else to the nearest call of the tool; None where it has none that fits."""
    found = golden.answer(request.tool_name, request.arguments) if golden is not None else None
    answer = found.move.answer() if found is not None else None
    if found is None or answer is None:
        return None
    if isinstance(answer.outcome, Deferred) and not request.is_long_running:
        return None
    why = f"{found.place}: {'; '.join(found.differs)}" if found.differs else found.place
    return Candidate(
        label="golden" if found.is_here else "recorded",
        title=HERE if found.is_here else ELSEWHERE if found.differs else IN_ANOTHER_TURN,
        why=why,
        effects=ToolEffects(state_delta=answer.state_delta, actions=answer.actions),
        **_of_outcome(answer.outcome),
    )


def _of_outcome(outcome: Outcome) -> dict[str, Any]:
    match outcome:
        case Returned(
            value={"error_code": int() | str() as code, "error_message": str() as message} as value
        ):
            return {"kind": "error", "value": value, "error_code": code, "error_message": message}
        case Returned(value=value):
            return {"kind": "value", "value": value}
        case Failed(error_code=code, error_message=message):
            return {
                "kind": "error",
                "value": outcome.response(),
                "error_code": code,
                "error_message": message,
            }
        case Raised(error=error):
            kind, words = error.type.removeprefix(_BUILTINS), _said(error)
            return {"kind": "exception", "value": None, "error_code": kind, "error_message": words}
        case Deferred():
            return {"kind": "later", "value": None}


def _said(error: RaisedError) -> str:
    only = error.arguments[0] if len(error.arguments) == 1 else None
    return only if isinstance(only, str) else error.message
