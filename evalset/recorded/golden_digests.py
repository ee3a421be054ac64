"""Writes down in digests what a golden says when its case is recorded, and finds what was edited since, part by part. Pure.

Each recorded turn keeps a `GoldenTurn`: digests of its query, calls, responses and final text, and of what is recorded itself. `edits_since` compares
a golden with them, `recording_edits` the recording with its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Literal, NamedTuple, TypeAlias

from google.adk.evaluation.eval_case import EvalCase, IntermediateData, Invocation
from google.genai.types import Content

from evalset.golden_trace.golden_steps import content_words, steps_of, without_confirmations
from evalset.golden_trace.steps import Step, calls_of, in_order, text_of, with_state
from evalset.recorded.recording import (
    GoldenCall,
    GoldenTurn,
    RecordedCall,
    RecordedCase,
    RecordedTurn,
    RejectedCall,
    end_state,
    lean,
    without_golden,
)
from simulator.base.adk_names import lasting
from simulator.base.json_values import JsonObject, canonical, digest
from simulator.runtime.adk.codec import jsonable

_NOT_REPLAYED = frozenset({"author", "latency_ms", "declared"})
_SHORT = 8
DIGESTED = {"calls": "call", "rejected": "rejected call", "models": "model turn"}
"""What of a recorded turn has digests, and what each of it is called."""


def with_golden(recorded: RecordedCase, case: EvalCase) -> RecordedCase:
    """Return a recorded case with the digests of its golden; without any where the golden has another number of turns."""
    turns = [steps_of(invocation) for invocation in without_confirmations(case).conversation or ()]
    if len(turns) != len(recorded.turns):
        return without_golden(recorded)
    noted = (golden_turn(steps, number, len(turns)) for number, steps in enumerate(turns))
    given = case.session_input
    return recorded.model_copy(
        update={
            "turns": tuple(
                with_digests(turn.model_copy(update={"golden": golden, "original": None}))
                for turn, golden in zip(recorded.turns, noted, strict=True)
            ),
            "golden_state": ""
            if (state := end_state(case.final_session_state, recorded)) is None
            else state_digest(state),
            "golden_start": state_digest(given.state if given else recorded.state),
        }
    )


def with_noted_parts(case: EvalCase, recorded: RecordedCase) -> EvalCase:
    """Return a case whose calls and texts are empty where they are null now, and the recording notes that there were some: null stands for what nobody knows."""
    turns = case.conversation or []
    if len(turns) != len(recorded.turns):
        return case
    filled = [_with_noted(turn, then.golden) for turn, then in zip(turns, recorded.turns, strict=True)]
    return case.model_copy(update={"conversation": filled})


def _with_noted(turn: Invocation, then: GoldenTurn | None) -> Invocation:
    empty: dict[str, Any] = {}
    if then is not None and then.calls and turn.intermediate_data is None:
        empty["intermediate_data"] = IntermediateData()
    if then is not None and then.text != text_digest("") and turn.final_response is None:
        empty["final_response"] = Content(role="model", parts=[])
    return turn.model_copy(update=empty) if empty else turn


def removed_turns(case: EvalCase, recorded: RecordedCase) -> tuple[str, ...]:
    """Return the numbers of the turns that a case had when it was recorded, and that are missing at its end now."""
    if any(turn.golden is None for turn in recorded.turns):
        return ()
    return tuple(str(number + 1) for number in range(len(case.conversation or ()), len(recorded.turns)))


def changed_turn(turn: RecordedTurn, changes: Mapping[str, Any]) -> RecordedTurn:
    """Return a recorded turn with other fields, and with digests of them where it has digests: nobody edited it by hand."""
    now = turn.model_copy(update=changes)
    return with_digests(now) if turn.golden and turn.golden.has_digests else now


def with_digests(turn: RecordedTurn) -> RecordedTurn:
    """Return a recorded turn that notes what is recorded of it as it is written, where it notes its golden."""
    if turn.golden is None:
        return turn
    return turn.model_copy(update={"golden": turn.golden.model_copy(update=recorded_digests(turn))})


def recorded_digests(turn: RecordedTurn) -> dict[str, str]:
    """Return what `digests_of` gives for a recorded turn."""
    return digests_of(lean({name: getattr(turn, name) for name in DIGESTED}))


def digests_of(turn: Mapping[str, Any]) -> dict[str, str]:
    """Return the digests of the calls, the rejected ones and the models of a recorded turn in JSON, by their fields in `GoldenTurn`.

    Who authored an answer, how long it took and how its tool was declared change no answer, and so no digest.
    """
    return {
        f"recorded_{name}": " ".join(
            value_digest({key: value for key, value in each.items() if key not in _NOT_REPLAYED})[:_SHORT]
            for each in turn.get(name, ())
        )
        for name in DIGESTED
    }


def golden_turn(steps: Sequence[Step], number: int, of: int) -> GoldenTurn:
    """Return the digests of one turn of a golden."""
    return GoldenTurn(
        number=number,
        of=of,
        query=text_digest(text_of(steps, "query")),
        calls=tuple(golden_calls(steps)),
        text=text_digest(text_of(steps, "text")),
    )


def golden_calls(steps: Sequence[Step]) -> list[GoldenCall]:
    """Return the digests of the calls among the steps of a turn, in their order."""
    return [
        GoldenCall(
            tool=step.tool,
            arguments=value_digest(step.value),
            response="" if answer is None else value_digest(answer.value),
        )
        for step, answer in calls_of(steps)
    ]


def text_digest(text: str) -> str:
    """Return the digest of a text; white space around it does not count."""
    return digest(text.strip())


def value_digest(value: Any) -> str:
    """Return the digest of a JSON value; equal numbers have one, as 1 and 1.0."""
    return digest(canonical(_plain(jsonable(value))))


def state_digest(state: JsonObject) -> str:
    """Return the digest of a state, without what lasts one invocation only."""
    return value_digest(lasting(state))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(held) for key, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(held) for held in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


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

    turns: Sequence[tuple[Step, ...]]
    state: JsonObject | None
    start: JsonObject

    @property
    def expected(self) -> JsonObject | None:
        """The final state that a run has to end with; None where it is not known."""
        return None if self.state is None else lasting(self.state)

    @property
    def steps(self) -> tuple[tuple[Step, ...], ...]:
        """The steps, turn by turn; behind the last, the final state where it is known."""
        return with_state(self.turns, self.expected)


def golden_of(case: EvalCase, recorded: RecordedCase | None) -> Golden:
    """Return a golden as it is now; the state of a case that holds none is the recorded one."""
    given, state = case.session_input, end_state(case.final_session_state, recorded)
    start = given.state if given else recorded.state if recorded else {}
    turns = [steps_of(invocation) for invocation in case.conversation or ()]
    return Golden(turns, None if state is None else jsonable(state), jsonable(start))


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
    if [*now] == [*then]:
        return
    if sorted(map(repr, now)) == sorted(map(repr, then)):
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
