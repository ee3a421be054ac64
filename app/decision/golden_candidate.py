"""Makes a candidate for a tool call of what the golden responds that a session began with."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from simulator.environment.conventions import is_error
from simulator.environment.drafts.candidates import Candidate
from simulator.environment.drafts.draft import blanks_of
from simulator.environment.recordings import ToolEffects
from simulator.facts import Deferred, Failed, Outcome, Raised, RaisedError, Returned
from simulator.seats.requests import ToolRequest

if TYPE_CHECKING:
    from simulator.scripts.script_lines import NextLines

HERE = "What the golden did here"
ELSEWHERE = "Recorded for other arguments"
IN_ANOTHER_TURN = "Recorded in another turn"
FOR_GONE_TOOL = "Recorded for a tool that the agent no longer has"
ANOTHER_WAY = "The golden went another way here."
_BUILTINS = "builtins:"


def golden_candidate(
    golden: NextLines | None, request: ToolRequest, tools: Collection[str] = ()
) -> Candidate | None:
    """Return the golden's response to a call, or else to the nearest call of the tool, or to its next call of a tool that is gone.

    Args:
        golden: What the golden does next; None where there is none.
        request: The call.
        tools: The names of the tools that the agent has; none where nobody knows.
    """
    if golden is None:
        return None
    found = golden.answer(request.tool_name, request.arguments)
    gone = _gone_tool(golden, request, tools) if found is None else ""
    found = golden.answer(gone, request.arguments) if gone else found
    answer = found.move.answer() if found is not None else None
    if found is None or answer is None:
        return None
    if isinstance(answer.outcome, Deferred) and not request.is_long_running:
        return None
    why = f"{found.place}: {'; '.join(found.differs)}" if found.differs else found.place
    usual = HERE if found.is_here else ELSEWHERE if found.differs else IN_ANOTHER_TURN
    title, said = FOR_GONE_TOOL if gone else usual, of_outcome(answer.outcome)
    is_failed = said["kind"] in {"error", "exception"} or is_error(said["value"])
    return Candidate(
        label="golden" if found.is_here and not gone else "recorded",
        title=f"An error, {title[0].lower()}{title[1:]}" if is_failed and title != HERE else title,
        why=f"recorded for {gone}, {why}" if gone else why,
        effects=ToolEffects(state_delta=answer.state_delta, actions=answer.actions),
        blanks=blanks_of(answer.blanks, answer.uncertain),
        **said,
    )


def _gone_tool(golden: NextLines, request: ToolRequest, tools: Collection[str]) -> str:
    """Return the tool that the golden calls next, where the agent has it no more, and the golden never calls the one that is called."""
    move = golden.move(request.agent) if tools and not golden.calls(request.tool_name) else None
    calls = [part.get("function_call") for part in move.parts] if move is not None else []
    names = [str(call.get("name") or "") for call in calls if isinstance(call, dict)]
    return next((name for name in names if name not in tools), "")


def of_outcome(outcome: Outcome) -> dict[str, Any]:
    """Return the fields of a candidate that say an outcome."""
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
