"""Finds the first step in which a run goes another way than its golden, and says where values and texts differ. Pure.

The steps of a turn become rows, each a pair of a golden step and an actual one: calls are aligned as ADK's match type has it, and what follows a
call belongs to it. The first row that differs is the divergence; `verdicts` says what that tells. `inner_divergence` does the same for calls
inside of agent tools, which no golden lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, NamedTuple, TypeAlias

from evalset.golden_trace.steps import Alike, CallPair, Step, calls_of, in_order, paired
from evalset.recorded.recorded_turns import only_asked
from evalset.recorded.recording import RecordedCase, RecordedModelTurn, RecordedTurn
from evalset.recorded.tolerances import EVERY_TOOL, Of, Tolerance, as_recorded, tolerated
from evalset.replay.case_following import IncomingCall
from evalset.verify.results import Divergence, Pair, TextPiece, ValueDifference, What
from evalset.verify.verify_request import Criteria, Match
from simulator.base.json_paths import ABSENT, differing
from simulator.base.json_values import Json, JsonObject, same
from simulator.session.adk_event_fields import calls_in
from simulator.session.model import REQUEST_INPUT

Tolerates: TypeAlias = Callable[[str, JsonObject, JsonObject], bool]
"""Checks whether a tool's arguments may be these (the last) where the golden has those."""


def tolerates_nothing(tool: str, golden: JsonObject, actual: JsonObject) -> bool:  # noqa: ARG001 - it is a `Tolerates`
    """Let arguments be the golden's alone."""
    return same(golden, actual)


class Compared(NamedTuple):
    """How steps are compared.

    Attributes:
        criteria: What is asked.
        tolerates: Which arguments may differ.
        wrong_texts: The turns whose final response was found too different.
        wrong_state: Whether the final state was.
        tolerances: What may differ beside arguments.
        inner: The first call inside of an agent tool that differs.
    """

    criteria: Criteria
    tolerates: Tolerates = tolerates_nothing
    wrong_texts: frozenset[int] = frozenset()
    wrong_state: bool = False
    tolerances: tuple[Tolerance, ...] = ()
    inner: Divergence | None = None


class _Row(NamedTuple):
    """A pair of steps, what differs in it, and the golden's place in its turn."""

    pair: Pair
    what: What
    place: int


def first_divergence(
    golden: Sequence[Sequence[Step]], actual: Sequence[Sequence[Step]], compared: Compared
) -> Divergence | None:
    """Find the first step that differs.

    Args:
        golden: The golden's steps, turn by turn, as `steps_of` lays them out; behind those of the last turn, the state.
        actual: The run's; it may have fewer turns, where something ended it.
        compared: How they are compared.

    Returns:
        Where it is, not judged yet; None where nothing differs.
    """
    for turn, steps in enumerate(golden):
        rows = _rows(steps, actual[turn] if turn < len(actual) else (), turn, compared)
        for place, row in enumerate(rows):
            if row.pair.differs:
                return _divergence(turn, rows[place:], compared.tolerances)
    return None


def _divergence(turn: int, rows: Sequence[_Row], tolerances: Sequence[Tolerance]) -> Divergence:
    first = rows[0]
    golden, actual = first.pair.golden, first.pair.actual
    has_text = golden is not None and actual is not None and first.what in {"text", "query"}
    has_values = (
        golden is not None and actual is not None and first.what in {"arguments", "response", "state"}
    )
    return Divergence(
        turn=turn,
        step=first.place,
        what=first.what,
        pairs=tuple(row.pair for row in rows),
        differences=tuple(value_differences(golden.value, _not_tolerated(golden, actual, tolerances)))
        if golden and actual and has_values
        else (),
        text=text_pieces(golden.text, actual.text) if golden and actual and has_text else (),
    )


def out_of_order(divergence: Divergence) -> Pair | None:
    """Return the golden's call that comes first, beside the run's, where both make the call that is missing here; None where it is not their order that differs."""
    first, later = divergence.pairs[0], divergence.pairs[1:]
    if divergence.what != "call":
        return None
    golden = [pair.golden for pair in later if pair.golden and pair.differs]
    actual = [pair.actual for pair in later if pair.actual and (pair.golden is None or pair.differs)]
    is_later = (
        any(_is_call(step, first.actual) for step in golden)
        if first.golden is None
        else any(_is_call(step, first.golden) for step in actual)
    )
    wanted = next((pair.golden for pair in divergence.pairs if _is_call(pair.golden)), None)
    made = next((pair.actual for pair in divergence.pairs if _is_call(pair.actual)), None)
    return Pair(golden=wanted, actual=made, differs=True) if is_later and wanted and made else None


def _is_call(step: Step | None, like: Step | None = None) -> bool:
    """Return whether a step is a call, of the same tool as another where there is one."""
    return step is not None and step.kind == "call" and (like is None or step.tool == like.tool)


def does(divergence: Divergence) -> str:
    """Say what the agent does at a divergence, as `calls check instead of note`."""
    first = divergence.pairs[0]
    golden, actual = first.golden, first.actual
    match divergence.what:
        case "arguments":
            return _calls_otherwise(actual)
        case "call":
            swapped = out_of_order(divergence)
            return _calls_before(swapped) if swapped else _calls(golden, actual)
        case "response":
            return "gets or produces a different tool response"
        case "text":
            return "gives a different final response" if actual and actual.text else "gives no final response"
        case "state":
            return "ends with a different state"
        case "query":
            return "did not reach this turn"


def _calls_otherwise(actual: Step | None) -> str:
    if actual is not None and actual.tool == REQUEST_INPUT:
        return "asks the user something else"
    return f"calls {_called(actual)} with different arguments"


def _calls_before(swapped: Pair) -> str:
    golden, actual = _called(swapped.golden), _called(swapped.actual)
    if golden == actual:
        return f"makes its calls of {golden} in a different order"
    return f"calls {actual} before {golden}"


def _calls(golden: Step | None, actual: Step | None) -> str:
    if golden is None and actual is not None:
        if actual.tool == REQUEST_INPUT:
            return "asks the user for input, unlike the golden"
        return f"calls {_called(actual)}, unlike the golden"
    if actual is None and golden is not None:
        if golden.tool == REQUEST_INPUT:
            return "does not ask the user for input"
        return f"does not call {_called(golden)}"
    return f"calls {_called(actual)} instead of {_called(golden)}"


def _called(step: Step | None) -> str:
    """Name the tool of a call, with the agent tools that it is inside of."""
    return "" if step is None else " inside ".join((step.tool, *reversed(step.within)))


def _not_tolerated(golden: Step, actual: Step, tolerances: Sequence[Tolerance]) -> Json:
    """Return what a step holds, with what may differ put as the golden has it."""
    of: dict[str, Of] = {"call": "arguments", "response": "response", "state": "state"}
    shown: Json = as_recorded(
        of[golden.kind], golden.value, actual.value, tolerances, golden.tool or EVERY_TOOL
    )
    return shown


def _rows(golden: Sequence[Step], actual: Sequence[Step], turn: int, compared: Compared) -> list[_Row]:
    """Set the steps of a turn side by side."""
    ours, theirs = _Turn(golden), _Turn(actual)
    end = len(golden) - (ours.state is not None)
    return [
        _row("query", ours.query, theirs.query, 0, differs=theirs.query is None),
        *_call_rows(ours, theirs, compared),
        _row(
            "text",
            ours.text,
            theirs.text,
            max(0, end - 1),
            differs=turn in compared.wrong_texts or theirs.query is None,
        ),
        *_state_row(ours, theirs, end, compared),
    ]


def _row(what: What, golden: Step | None, actual: Step | None, place: int, *, differs: bool) -> _Row:
    return _Row(Pair(golden=golden, actual=actual, differs=differs), what, place)


def _state_row(ours: _Turn, theirs: _Turn, place: int, compared: Compared) -> Iterator[_Row]:
    # A run that stopped has no final state, so there was nothing to compare.
    if theirs.state is not None or (ours.state is not None and compared.wrong_state):
        yield _row("state", ours.state, theirs.state, place, differs=compared.wrong_state)


def _call_rows(ours: _Turn, theirs: _Turn, compared: Compared) -> Iterator[_Row]:
    criteria = compared.criteria

    def alike(golden: int, actual: int) -> bool:
        one, other = ours.calls[golden][0], theirs.calls[actual][0]
        return one.tool == other.tool and (
            criteria.ignore_args or compared.tolerates(one.tool, one.arguments, other.arguments)
        )

    place = 1
    for beside in aligned(len(ours.calls), len(theirs.calls), alike, criteria.match):
        golden, wanted = (None, None) if beside.golden is None else ours.calls[beside.golden]
        actual, given = (None, None) if beside.actual is None else theirs.calls[beside.actual]
        place = place if beside.golden is None else ours.places[beside.golden]
        is_same_tool = golden is not None and actual is not None and golden.tool == actual.tool
        yield _row("arguments" if is_same_tool else "call", golden, actual, place, differs=not beside.alike)
        if wanted is not None or given is not None:
            differs = criteria.responses and _answered_otherwise(wanted, given, compared.tolerances)
            yield _row("response", wanted, given, place + 1, differs=differs)
        place += 0 if golden is None else 1 + (wanted is not None)


def _answered_otherwise(wanted: Step | None, given: Step | None, tolerances: Sequence[Tolerance]) -> bool:
    """Return whether the golden holds another answer; one that holds none wants none."""
    if wanted is None:
        return False
    return given is None or not same(wanted.value, _not_tolerated(wanted, given, tolerances))


class _Turn:
    """The steps of a turn, by what they are; `places` says where in the turn each call is."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.query, self.text, self.state = (
            next((step for step in steps if step.kind == kind), None) for kind in ("query", "text", "state")
        )
        self.calls = calls_of(steps)
        self.places = [place for place, step in enumerate(steps) if step.kind == "call"]


# Sets the calls of two turns side by side, as they are compared: exactly, in order, or in any order. Pure.


def aligned(golden: int, actual: int, alike: Alike, match: Match) -> list[CallPair]:
    """Set calls side by side.

    Args:
        golden: How many golden calls there are.
        actual: How many actual ones.
        alike: Tells which are the same.
        match: How they are compared. `in_order` and `any_order` let calls be that the golden does not have.

    Returns:
        Every call of both once; `alike` is false where a call differs, is missing, or is one too many.
    """
    if match == "any_order":
        return _in_any_order(golden, actual, alike)
    rows = in_order(golden, actual, alike)
    if match == "exact":
        return rows
    return [row._replace(alike=row.alike or row.golden is None) for row in rows]


def _in_any_order(golden: int, actual: int, alike: Alike) -> list[CallPair]:
    partners = matched(golden, actual, alike)
    free = [place for place in range(actual) if place not in partners.values()]
    rows: list[CallPair] = []
    for place in range(golden):
        if place in partners:
            rows.append(CallPair(place, partners[place], alike=True))
        else:
            rows.append(CallPair(place, free.pop(0) if free else None, alike=False))
    return [*rows, *(CallPair(None, place, alike=True) for place in free)]


def matched(golden: int, actual: int, alike: Alike) -> dict[int, int]:
    """Return as many golden places as can be an actual one of their own; the nearest first."""
    return paired([[a for a in _nearest_first(g, actual) if alike(g, a)] for g in range(golden)])


def _nearest_first(place: int, count: int) -> Sequence[int]:
    return sorted(range(count), key=lambda other: abs(other - place))


# Compares the calls that agents make inside of agent tools with the recorded ones: a golden holds only what the agent itself calls. Pure.
# Agents that are tools may run at once, so the order of their calls does not count.


def inner_divergence(
    recorded: RecordedCase,
    golden: Sequence[Sequence[Step]],
    made: Sequence[Sequence[IncomingCall]],
    ran: Sequence[Sequence[IncomingCall]],
    criteria: Criteria,
) -> Divergence | None:
    """Return the first call that was not made as recorded inside of an agent tool, or on the way into one, at the step of the agent tool's call.

    Args:
        recorded: What is recorded of the case.
        golden: The golden's steps, turn by turn.
        made: The calls inside of agent tools that the run made, by the turns that it came to.
        ran: The calls of agent tools as they came to their agents, by the same turns.
        criteria: How calls are compared.
    """
    if criteria.trajectory is None:
        return None
    for number, (turn, ours, came) in enumerate(zip(recorded.turns, made, ran, strict=False)):
        steps = golden[number] if number < len(golden) else ()
        if (changed := _changed_on_the_way(turn, came, recorded, criteria)) is not None:
            return _inner(number, steps, *changed)
        theirs = _recorded_inside(turn)
        for within in dict.fromkeys(call.within for call in (*theirs, *ours)):
            pair = _apart(
                [call for call in theirs if call.within == within],
                [call for call in ours if call.within == within],
                recorded,
                criteria,
            )
            if pair is not None:
                return _inner(number, steps, *pair)
    return None


def _changed_on_the_way(
    turn: RecordedTurn, came: Sequence[IncomingCall], recorded: RecordedCase, criteria: Criteria
) -> tuple[IncomingCall, IncomingCall] | None:
    """Return a recorded call that came to the agent of an agent tool, beside the one that came with other arguments: a callback may change them.

    Nothing of a turn whose golden was edited: the arguments were recorded before that.
    """
    ran = [] if turn.original else [IncomingCall(run.tool, run.arguments, run.within) for run in turn.agents]
    for place in dict.fromkeys((run.tool, run.within) for run in ran):
        theirs, ours = (
            [call for call in calls if (call.tool, call.within) == place] for calls in (ran, came)
        )
        missing, new = _apart(theirs, ours, recorded, criteria) or (None, None)
        if missing is not None and new is not None:
            return missing, new
    return None


def first_of(one: Divergence | None, inner: Divergence | None) -> Divergence | None:
    """Return the divergence that comes first; where both are at one call, that of the call itself."""
    if one is None or inner is None:
        return one or inner
    return inner if (inner.turn, inner.step) < (one.turn, one.step) else one


def _recorded_inside(turn: RecordedTurn) -> list[IncomingCall]:
    calls = [
        IncomingCall(call.tool, call.arguments, call.within)
        for place, call in enumerate(turn.calls)
        if call.within and not only_asked(turn.calls, place)
    ]
    return [*calls, *agents_inside(turn, turn.models)]


def agents_inside(turn: RecordedTurn, models: Sequence[RecordedModelTurn]) -> list[IncomingCall]:
    """Return the agents that were called inside of an agent tool and ran, as the models say it; nothing where none is recorded of the turn."""
    if not any(model.within for model in turn.models):
        return []
    ran = {model.within for model in models}
    return [
        IncomingCall(call["name"], call.get("args") or {}, model.within)
        for model in models
        for call in calls_in(model.responses)
        if model.within and (*model.within, call["name"]) in ran
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


def _inner(
    turn: int, golden: Sequence[Step], missing: IncomingCall | None, new: IncomingCall | None
) -> Divergence:
    first = missing or new or IncomingCall("", {})
    outer = (*first.within, first.tool)[:1]
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


_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


def value_differences(golden: Any, actual: Any, place: str = "") -> Iterator[ValueDifference]:
    """Yield each place at which two values differ, by its path; nothing where they are the same."""
    for at, ours, theirs in differing(golden, actual, place):
        yield ValueDifference(
            path=at,
            golden=None if ours is ABSENT else ours,
            actual=None if theirs is ABSENT else theirs,
            in_golden=ours is not ABSENT,
            in_actual=theirs is not ABSENT,
        )


def text_pieces(golden: str, actual: str) -> tuple[TextPiece, ...]:
    """Cut two texts into pieces that both have and that only one has; together they are the whole of each."""
    ours, theirs = _WORDS.findall(golden), _WORDS.findall(actual)
    pieces: list[TextPiece] = []
    for kind, g, g_end, a, a_end in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(TextPiece(kind="same", text="".join(ours[g:g_end])))
            continue
        if g < g_end:
            pieces.append(TextPiece(kind="golden", text="".join(ours[g:g_end])))
        if a < a_end:
            pieces.append(TextPiece(kind="actual", text="".join(theirs[a:a_end])))
    return tuple(pieces)
