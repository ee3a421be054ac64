"""Finds what of a golden, or of its recording, was edited since the case was recorded, by the digests that the recording keeps. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Literal, NamedTuple, TypeAlias

from google.adk.evaluation.eval_case import EvalCase
from google.genai.types import Content

from evalset.golden_trace.golden_steps import content_words, steps_of
from evalset.golden_trace.steps import Step, text_of
from evalset.recorded.golden_digests import (
    DIGESTED,
    golden_calls,
    recorded_digests,
    state_digest,
    text_digest,
)
from evalset.recorded.pairing import in_order
from evalset.recorded.recording import (
    GoldenCall,
    GoldenTurn,
    RecordedCall,
    RecordedCase,
    RecordedTurn,
    RejectedCall,
    end_state,
)
from simulator.base.json_values import JsonObject
from simulator.runtime.adk.codec import jsonable

EditedPart: TypeAlias = Literal[
    "query", "call", "arguments", "response", "order", "text", "state", "start", "turns"
]
_START = -1


class Edit(NamedTuple):
    """One place at which a golden is not what was recorded.

    Attributes:
        turn: The turn, from 0; -1 for what stands before the first.
        place: Where in the turn: what comes later has seen it.
        part: What was edited.
        words: What was done, as `the response of check in turn 1 was edited`.
        tool: The tool, where it is about one.
        then: The digest of what stood there when it was recorded; empty where nothing did, or nobody knows.
        now: The digest of what stands there now; empty as above.
        call: Which of the recorded calls of the turn it is about, from 0; -1 for none.
    """

    turn: int
    place: int
    part: EditedPart
    words: str
    tool: str = ""
    then: str = ""
    now: str = ""
    call: int = -1


class Golden(NamedTuple):
    """A golden as it is now: its steps, turn by turn, its final state (None if unknown), and the state that it begins with."""

    turns: Sequence[Sequence[Step]]
    state: JsonObject | None
    start: JsonObject


def golden_of(case: EvalCase, recorded: RecordedCase) -> Golden:
    """Return a golden as it is now; the state of a case that holds none is the recorded one."""
    given = case.session_input
    state = end_state(case.final_session_state, recorded)
    turns = [steps_of(invocation) for invocation in case.conversation or ()]
    return Golden(
        turns, None if state is None else jsonable(state), jsonable(given.state if given else recorded.state)
    )


def edits_since(golden: Golden, recorded: RecordedCase) -> tuple[Edit, ...] | None:
    """Return what was edited since the recording, in the order of the conversation; None where the recording does not say what was there."""
    noted = [turn.golden for turn in recorded.turns]
    whole = [turn for turn in noted if turn is not None]
    if len(whole) < len(noted) or not whole:
        return None
    return tuple(_edits(golden, recorded, whole))


def _edits(golden: Golden, recorded: RecordedCase, noted: Sequence[GoldenTurn]) -> Iterator[Edit]:
    if recorded.golden_start and state_digest(golden.start) != recorded.golden_start:
        yield Edit(_START, 0, "start", "the initial state was edited")
    if [turn.number for turn in noted] != list(range(noted[0].of)):
        words = "turns of this case were moved, removed, split or joined"
        yield Edit(_START, 1, "turns", words)
    for number in range(len(noted), len(golden.turns)):
        yield Edit(number, 0, "turns", f"turn {number + 1} was added")
    if len(golden.turns) < len(noted):
        yield Edit(len(golden.turns), 0, "turns", f"turn {len(golden.turns) + 1} was removed")
    for number, (steps, turn) in enumerate(zip(golden.turns, noted, strict=False)):
        yield from _edits_of_turn(number, steps, turn)
    if (
        recorded.golden_state
        and golden.state is not None
        and state_digest(golden.state) != recorded.golden_state
    ):
        yield Edit(len(noted), 0, "state", "the final state was edited")


def _edits_of_turn(number: int, steps: Sequence[Step], turn: GoldenTurn) -> Iterator[Edit]:
    where = f"in turn {number + 1}"
    asked = text_digest(text_of(steps, "query"))
    if asked != turn.query:
        words = f"the query of turn {number + 1} was edited"
        yield Edit(number, 0, "query", words, then=turn.query, now=asked)
    yield from _edited_calls(number, golden_calls(steps), turn.calls, where)
    said = text_digest(text_of(steps, "text"))
    if said != turn.text:
        words = f"the final response of turn {number + 1} was edited"
        yield Edit(number, 2 * max(len(turn.calls), len(steps)) + 1, "text", words, then=turn.text, now=said)


def _edited_calls(
    number: int, now: Sequence[GoldenCall], then: Sequence[GoldenCall], where: str
) -> Iterator[Edit]:
    if [*now] != [*then] and sorted(map(repr, now)) == sorted(map(repr, then)):
        yield Edit(number, 1, "order", f"the order of the calls {where} was edited")
        return

    def alike(one: int, other: int) -> bool:
        return now[one].tool == then[other].tool and now[one].arguments == then[other].arguments

    place = 1
    for row in in_order(len(now), len(then), alike):
        after = None if row.golden is None else now[row.golden]
        before = None if row.actual is None else then[row.actual]
        found = _edited_call(number, place, before, after, where)
        yield from (edit._replace(call=-1 if row.actual is None else row.actual) for edit in found)
        place += 2


def _edited_call(
    number: int, place: int, before: GoldenCall | None, after: GoldenCall | None, where: str
) -> Iterator[Edit]:
    if before is None and after is not None:
        yield Edit(number, place, "call", f"a call of {after.tool} {where} was added", after.tool)
        return
    if after is None and before is not None:
        yield Edit(number, place, "call", f"a call of {before.tool} {where} was removed", before.tool)
        return
    assert before is not None  # noqa: S101 - one of them is there
    assert after is not None  # noqa: S101 - as above
    if before.tool != after.tool:
        words = f"the call of {before.tool} {where} was changed to {after.tool}"
        yield Edit(number, place, "call", words, after.tool)
    elif before.arguments != after.arguments:
        words = f"the arguments of {after.tool} {where} were edited"
        yield Edit(number, place, "arguments", words, after.tool, before.arguments, after.arguments)
    if before.response != after.response:
        done = "removed" if not after.response else "edited" if before.response else "added"
        words = f"the response of {after.tool} {where} was {done}"
        yield Edit(number, place + 1, "response", words, after.tool, before.response, after.response)


class RecordingEdit(NamedTuple):
    """What was edited in a recording since it was written: a query, a call with its response, or a model's turn.

    Attributes:
        turn: The turn, from 0.
        of_model: Whether it is a model's turn.
        tool: The tool of the call; empty where it is not known which call it was, inside of an agent tool, and where it is no call.
        words: What was done, as `call 1 (check) of turn 1 was edited in the recording`.
    """

    turn: int
    of_model: bool
    tool: str
    words: str


def recording_edits(recorded: RecordedCase) -> tuple[RecordingEdit, ...]:
    """Return what nobody but an editor of the file can have changed in a recording; nothing where it does not say how it was written."""
    return tuple(
        edit
        for number, turn in enumerate(recorded.turns)
        for each in (turn, *([turn.original] if turn.original else []))
        for edit in _recording_edits(number, each)
    )


def _recording_edits(number: int, turn: RecordedTurn) -> Iterator[RecordingEdit]:
    if turn.golden is None:
        return
    asked = content_words(Content.model_validate(turn.query))
    if turn.original is None and text_digest(asked) != turn.golden.query:
        yield RecordingEdit(number, False, "", f"the query of turn {number + 1} was edited in the recording")
    if not turn.golden.has_digests:
        return
    now = recorded_digests(turn)
    for held, kind in DIGESTED.items():
        before, after = getattr(turn.golden, f"recorded_{held}").split(), now[f"recorded_{held}"].split()
        if held == "rejected" and not before:
            continue  # an earlier file does not tell of them
        places = [at for at, (then, is_now) in enumerate(zip_longest(before, after)) if then != is_now]
        gone = len(after) - len(before)
        for place in places[:1] if gone else places:
            call = None if held == "models" or gone else getattr(turn, held)[place]
            named = f"{kind} {place + 1}{f' ({call.tool})' if call else ''}"
            done = "edited" if not gone else "added" if gone > 0 else "removed"
            words = f"{named} of turn {number + 1} was {done} in the recording"
            tool = call.tool if call and _is_seen(call, turn) else ""
            yield RecordingEdit(number, held == "models", tool, words)


def _is_seen(call: RecordedCall | RejectedCall, turn: RecordedTurn) -> bool:
    """Return whether the golden has the call of a recorded turn, as far as it noted: none of a node of a graph, and none whose tool was edited."""
    made: list[RecordedCall | RejectedCall] = [*turn.calls, *turn.rejected]
    recorded = [each.tool for each in made if not each.within]
    noted = [each.tool for each in turn.golden.calls] if turn.golden else []
    return not call.within and recorded.count(call.tool) <= noted.count(call.tool)
