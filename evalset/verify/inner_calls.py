"""Compares the calls that agents make inside of agent tools with the recorded ones. Pure.

A golden holds what the agent itself calls; what happens inside of an agent tool only its recording holds. Agents that are tools may run at
once, so the order of their calls does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from evalset.golden_trace.steps import Step
from evalset.recorded.recorded_turns import only_asked
from evalset.recorded.recording import RecordedCase, RecordedTurn
from evalset.recorded.tolerances import tolerated
from evalset.replay.case_following import IncomingCall
from evalset.verify.case_replay import CaseReplay
from evalset.verify.criteria import Criteria
from evalset.verify.divergence import matched
from evalset.verify.results import Divergence, Pair
from evalset.verify.value_differences import value_differences
from simulator.base.json_values import JsonObject


def inner_divergence(
    recorded: RecordedCase, golden: Sequence[Sequence[Step]], replay: CaseReplay, criteria: Criteria
) -> Divergence | None:
    """Return the first call inside of an agent tool that was not made as recorded, at the step of the agent tool's call.

    Args:
        recorded: What is recorded of the case.
        golden: The golden's steps, turn by turn.
        replay: The run.
        criteria: How calls are compared.
    """
    if criteria.trajectory is None:
        return None
    for number, turn in enumerate(recorded.turns[: len(replay.turns)]):
        ours = [call for at, call in replay.inner if at == number]
        theirs = _recorded_inside(turn)
        for within in dict.fromkeys(call.within for call in (*theirs, *ours)):
            pair = _apart(
                [call for call in theirs if call.within == within],
                [call for call in ours if call.within == within],
                recorded,
                criteria,
            )
            if pair is not None:
                return _divergence(number, golden[number] if number < len(golden) else (), *pair)
    return None


def first_of(one: Divergence | None, inner: Divergence | None) -> Divergence | None:
    """Return the divergence that comes first; where both are at one call, that of the call itself."""
    if one is None or inner is None:
        return one or inner
    return inner if (inner.turn, inner.step) < (one.turn, one.step) else one


def _recorded_inside(turn: RecordedTurn) -> list[IncomingCall]:
    return [
        IncomingCall(call.tool, call.arguments, call.within)
        for place, call in enumerate(turn.calls)
        if call.within and not only_asked(turn.calls, place)
    ]


def _apart(
    theirs: Sequence[IncomingCall], ours: Sequence[IncomingCall], recorded: RecordedCase, criteria: Criteria
) -> tuple[IncomingCall | None, IncomingCall | None] | None:
    """Return the first recorded call that was not made, beside the first that was made and not recorded; None where all were made."""

    def alike(one: int, other: int) -> bool:
        golden, actual = theirs[one], ours[other]
        return golden.tool == actual.tool and (
            criteria.ignore_args
            or tolerated(golden.tool, golden.arguments, actual.arguments, recorded.tolerances)
        )

    pairs = matched(len(theirs), len(ours), alike)
    missing = [call for place, call in enumerate(theirs) if place not in pairs]
    new = [call for place, call in enumerate(ours) if place not in pairs.values()]
    if not missing and criteria.match != "exact":
        return None
    return next(zip_longest(missing, new), None)


def _divergence(
    turn: int, golden: Sequence[Step], missing: IncomingCall | None, new: IncomingCall | None
) -> Divergence:
    outer = (missing or new or IncomingCall("", {})).within[:1]
    calls = (place for place, step in enumerate(golden) if step.kind == "call" and (step.tool,) == outer)
    is_same_tool = missing is not None and new is not None and missing.tool == new.tool
    return Divergence(
        turn=turn,
        step=next(calls, len(golden)),
        what="arguments" if is_same_tool else "call",
        pairs=(Pair(golden=_step(missing), actual=_step(new), differs=True),),
        differences=tuple(value_differences(missing.arguments, new.arguments))
        if missing is not None and new is not None and is_same_tool
        else (),
    )


def _step(call: IncomingCall | None) -> Step | None:
    if call is None:
        return None
    arguments: JsonObject = call.arguments
    return Step(kind="call", tool=call.tool, value=arguments, within=call.within)
