"""Writes down in digests what a golden says when its case is recorded, so that a later edit of it is noticed and named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.adk.evaluation.eval_case import EvalCase, IntermediateData, Invocation
from google.genai.types import Content

from evalset.golden_trace.confirmations import without_confirmations
from evalset.golden_trace.golden_steps import steps_of
from evalset.golden_trace.steps import Step, response_behind, text_of
from evalset.recorded.recording import (
    GoldenCall,
    GoldenTurn,
    RecordedCase,
    RecordedTurn,
    end_state,
    lean,
    without_golden,
)
from simulator.base.json_values import JsonObject, canonical, digest
from simulator.base.state_scopes import lasting
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
            response="" if (answer := response_behind(steps, place)) is None else value_digest(answer.value),
        )
        for place, step in enumerate(steps)
        if step.kind == "call"
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
