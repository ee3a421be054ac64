"""Finds what of a golden was edited since its case was recorded, by the digests that the recording keeps of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from google.adk.evaluation.eval_case import EvalCase

from evalset.recorded.goldens import (
    golden_calls,
    state_digest,
    text_digest,
    text_of,
    value_digest,
)
from evalset.recorded.model import GoldenCall, GoldenTurn, RecordedCase
from evalset.verify.aligning import aligned
from evalset.verify.differences import value_differences
from evalset.verify.results import Step, ValueDifference
from evalset.verify.steps import steps_of
from simulator.jsonvalue import JsonObject, canonical
from simulator.runtime.encoding import jsonable

EditedPart: TypeAlias = Literal[
    "query", "call", "arguments", "response", "order", "text", "state", "start", "turns"
]
_START, _SHOWN, _MOST_PLACES = -1, 80, 3
_NO_OTHERS: Mapping[tuple[int, int], str] = MappingProxyType({})


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
    """A golden as it is now: its steps, turn by turn, its final state, and the state that it begins with."""

    turns: Sequence[Sequence[Step]]
    state: JsonObject
    start: JsonObject


def golden_of(case: EvalCase, recorded: RecordedCase) -> Golden:
    """Return a golden as it is now; the state of a case that holds none is the recorded one."""
    given = case.session_input
    state = case.final_session_state or recorded.final_state
    turns = [steps_of(invocation) for invocation in case.conversation or ()]
    return Golden(turns, jsonable(state), jsonable(given.state if given else recorded.state))


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
    if recorded.golden_state and state_digest(golden.state) != recorded.golden_state:
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
    for row in aligned(len(now), len(then), alike, "exact"):
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
        words = f"the call of {before.tool} {where} was edited to one of {after.tool}"
        yield Edit(number, place, "call", words, after.tool)
    elif before.arguments != after.arguments:
        words = f"the arguments of {after.tool} {where} were edited"
        yield Edit(number, place, "arguments", words, after.tool, before.arguments, after.arguments)
    if before.response != after.response:
        done = "removed" if not after.response else "edited" if before.response else "added"
        words = f"the response of {after.tool} {where} was {done}"
        yield Edit(number, place + 1, "response", words, after.tool, before.response, after.response)


# ---------------------------------------------------------------- the golden as it was


class Known:
    """Values and texts by their digests, turn by turn, gathered from goldens, recordings and runs."""

    def __init__(self, *conversations: Sequence[Sequence[Step]]) -> None:
        steps = [step for turns in conversations for turn in turns for step in turn]
        self._values = {
            value_digest(step.value): step.value for step in steps if step.kind in {"call", "response"}
        }
        self._texts = {text_digest(step.text): step.text for step in steps if step.kind in {"query", "text"}}

    def value(self, digest: str) -> Any:
        """Return the value of a digest; one that is equal to nothing where it is not known."""
        return self._values.get(digest, {"(as it was recorded)": digest})

    def text(self, digest: str) -> str:
        """Return the text of a digest; one that nobody says where it is not known."""
        return self._texts.get(digest, f"(as it was recorded: {digest})")

    def shown(self, digest: str) -> str:
        """Return what a digest stands for in a few words; empty where it is not known."""
        if digest in self._texts:
            return _short(repr(self._texts[digest]))
        return _short(canonical(self._values[digest])) if digest in self._values else ""

    def change(self, then: str, now: str) -> str:
        """Return how the value or the text of one digest became that of another, in a few words; empty where `then` is not known.

        Of long values the places that differ are named; long texts are shown from where they differ on.
        """
        if then in self._values and now in self._values:
            return _value_change(self._values[then], self._values[now])
        if then in self._texts and now in self._texts:
            return "it was {}, and is {}".format(*_from_the_difference(self._texts[then], self._texts[now]))
        was = self.shown(then)
        return f"it was {was}" if was else ""


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _value_change(then: Any, now: Any) -> str:
    was, now_is = canonical(then), canonical(now)
    if max(len(was), len(now_is)) <= _SHOWN:
        return f"it was {was}, and is {now_is}"
    places = list(value_differences(then, now))
    told = [_place_change(each) for each in places[:_MOST_PLACES]]
    if len(places) > _MOST_PLACES:
        told.append(f"{len(places) - _MOST_PLACES} more places differ")
    return "; ".join(told)


def _place_change(found: ValueDifference) -> str:
    place = found.path or "it"
    if not found.in_actual:
        return f"{place} was {_short(canonical(found.golden))}, and is gone"
    if not found.in_golden:
        return f"{place} is new: {_short(canonical(found.actual))}"
    if isinstance(found.golden, str) and isinstance(found.actual, str):
        return "{} was {}, and is {}".format(place, *_from_the_difference(found.golden, found.actual))
    return f"{place} was {_short(canonical(found.golden))}, and is {_short(canonical(found.actual))}"


def _from_the_difference(then: str, now: str) -> tuple[str, str]:
    """Return two texts in quotes; of long ones what stands around the first character that differs."""
    if max(len(then), len(now)) <= _SHOWN:
        return repr(then), repr(now)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(then, now, strict=False)))
    start = max(0, alike - _SHOWN // 4)
    then, now = (f"{'…' if start else ''}{_short(text[start:])}" for text in (then, now))
    return repr(then), repr(now)


def as_recorded(
    recorded: RecordedCase, known: Known, given: Mapping[tuple[int, int], str] = _NO_OTHERS
) -> list[tuple[Step, ...]]:
    """Return the steps of a golden as they were when it was recorded, turn by turn, without its state.

    Args:
        recorded: What is recorded, with the digests of the golden.
        known: The values that digests stand for.
        given: The digests of responses that the agent was given in place of others, by the turn and the place of the call.
    """
    return [
        _turn_as_recorded(number, turn.golden, known, given)
        for number, turn in enumerate(recorded.turns)
        if turn.golden is not None
    ]


def _turn_as_recorded(
    number: int, turn: GoldenTurn, known: Known, given: Mapping[tuple[int, int], str]
) -> tuple[Step, ...]:
    made = [Step(kind="query", author="user", text=known.text(turn.query))]
    for place, call in enumerate(turn.calls):
        made.append(Step(kind="call", tool=call.tool, value=known.value(call.arguments)))
        if response := given.get((number, place), call.response):
            made.append(Step(kind="response", tool=call.tool, value=known.value(response)))
    return (*made, Step(kind="text", text=known.text(turn.text)))
