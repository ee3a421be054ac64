"""What becomes of calls that were not recorded, and what a replay tells of those that were answered all the same."""

from __future__ import annotations

from typing import Literal, TypeAlias

from evalset.recorded.recording import RecordedCall
from simulator.base.frozen_value import Value

Policy: TypeAlias = Literal["fail", "rules", "generate"]
"""What becomes of a call that was not recorded: an error; the answer of the case's rules, and an error where none answers; or
the answer of the rules, and else one that is drafted offline."""


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
