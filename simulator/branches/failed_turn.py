"""Says which answer ended a turn with an error, so that it is named, and a person can take it back and give another one. Pure."""

from __future__ import annotations

from typing import Literal

from simulator.base.frozen_value import Value
from simulator.facts import CodeAnswered, Fact, ModelAnswered, Raised, ToolAnswered, TurnEnded, TurnStarted
from simulator.journal import Journal


class FailedStep(Value):
    """The answer that ended a turn.

    Attributes:
        before: The fact before it, to go back to.
        seat: Who gave it: an agent's model, or a tool.
        target: The agent's or the tool's name.
    """

    before: int
    seat: Literal["agent", "tool"]
    target: str

    @property
    def words(self) -> str:
        """Who gave it, in words."""
        return f"the {'tool' if self.seat == 'tool' else 'model of'} {self.target}"


def failed_step(journal: Journal) -> FailedStep | None:
    """Return the answer that ended the last turn with an error; None where the turn ended otherwise, or for another reason."""
    ended = False
    for number, fact in journal.backwards():
        match fact:
            case TurnEnded(error=None) | TurnStarted():
                return None
            case TurnEnded():
                ended = True
            case ModelAnswered() | ToolAnswered() | CodeAnswered():
                return _step(journal, number, fact) if ended else None
            case _:
                pass
    return None


def _step(journal: Journal, number: int, fact: Fact) -> FailedStep | None:
    before = journal.parent(number)
    match fact:
        case ModelAnswered(error=error, agent=agent) if error is not None:
            return FailedStep(before=before, seat="agent", target=agent)
        case ToolAnswered(outcome=Raised(), tool_name=tool):
            return FailedStep(before=before, seat="tool", target=tool)
        case _:
            return None
