"""Tells an edit of a golden from a change of its agent.

A run that does what was recorded is not the agent's fault: the edit alone makes it fail. A run that does something else before it
has seen anything that was edited is the agent's. Where it had seen an edit, what was recorded is replayed once more without the
edits: the agent that then does as it did has not changed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from google.adk.evaluation.eval_case import EvalCase, Invocation
from google.genai import types

from evalset.recorded.goldens import state_digest, text_digest, text_of, value_digest, without_edits
from evalset.recorded.model import RecordedCase
from evalset.verify.checks import word_overlap
from evalset.verify.divergence import Compared, first_divergence
from evalset.verify.edited import Edit, Golden, Known, as_recorded
from evalset.verify.evidence import recorded_steps
from evalset.verify.replaying import Replay
from evalset.verify.results import Divergence, Step
from evalset.verify.steps import steps_of
from simulator.jsonvalue import JsonObject
from simulator.session.events import content_text

Again: TypeAlias = Callable[[EvalCase, RecordedCase], Awaitable[Replay]]
"""Replays a case once more, in the way that it was replayed."""

AgentIs: TypeAlias = Literal["as it was", "changed", "unknown"]
_ALIKE = 0.8


class Blame(NamedTuple):
    """Who is to blame for a run that fails though, or because, its golden was edited.

    Attributes:
        edits: What was edited since the recording, in the order of the conversation.
        agent: Whether the agent still does what it did when it was recorded.
        seen: The edits of which the agent was given something before it went another way than recorded.
        unlike: Where it goes another way than recorded, judged by nothing yet; None where it does not.
        why: Why it is not known whether the agent changed.
        known: What the digests of the edits stand for.
    """

    edits: tuple[Edit, ...]
    agent: AgentIs
    seen: tuple[Edit, ...] = ()
    unlike: Divergence | None = None
    why: str = ""
    known: Known = Known()


class Failed(NamedTuple):
    """A run that failed: its case, what was recorded, the golden, what happened, and how both were compared."""

    case: EvalCase
    recorded: RecordedCase
    golden: Golden
    replay: Replay
    compared: Compared


async def blamed(failed: Failed, edits: Sequence[Edit], again: Again) -> Blame:
    """Find out whether the agent has changed, where something was edited."""
    ours = [steps_of(invocation) for invocation in failed.replay.turns]
    known = Known(failed.golden.turns, _recorded(failed.recorded), ours)
    seen = [edit for edit in edits if _was_given(edit, failed, ours)]
    given = {(edit.turn, edit.call): edit.now for edit in seen if edit.part == "response"}
    unlike = _unlike(failed, failed.replay, as_recorded(failed.recorded, known, given), is_first=True)
    found = Blame(tuple(edits), "as it was", tuple(seen), known=known)
    if unlike is None:
        return found
    before = tuple(edit for edit in seen if (edit.turn, edit.place) <= (unlike.turn, unlike.step))
    found = found._replace(seen=before, unlike=unlike, agent="changed")
    return await _without_the_edits(failed, found, again) if before else found


async def _without_the_edits(failed: Failed, found: Blame, again: Again) -> Blame:
    """Replay what was recorded, without the edits, and look whether the agent does as it did."""
    first = _first_case(failed)
    if first is None:
        return found._replace(agent="unknown", why="what was recorded is not known any more")
    case, recorded = first
    replay = await again(case, recorded)
    known = Known(failed.golden.turns, _recorded(failed.recorded), [steps_of(each) for each in replay.turns])
    unlike = _unlike(failed, replay, as_recorded(recorded, known), is_first=False)
    if unlike is None and not replay.error:
        return found._replace(agent="as it was")
    if unlike is not None and (unlike.pairs[0].actual is not None or not replay.error):
        return found._replace(unlike=unlike)
    return found._replace(
        agent="unknown", why=f"what was recorded cannot be replayed without the edits: {replay.error}"
    )


def _first_case(failed: Failed) -> tuple[EvalCase, RecordedCase] | None:
    """Give the case and its recording as they were at first; None where something of them is not known any more."""
    recorded = without_edits(failed.recorded)
    turns = [turn for turn in recorded.turns if turn.golden is not None]
    turns.sort(key=lambda turn: turn.golden.number if turn.golden else 0)
    numbers = [turn.golden.number for turn in turns if turn.golden]
    whole = turns and turns[0].golden is not None and numbers == list(range(turns[0].golden.of))
    asked = all(turn.golden and text_digest(content_text(turn.query)) == turn.golden.query for turn in turns)
    start = _first_state(failed)
    if not whole or not asked or start is None:
        return None
    queries = [Invocation(user_content=types.Content.model_validate(turn.query)) for turn in turns]
    given = failed.case.session_input
    case = failed.case.model_copy(
        update={
            "conversation": queries,
            "session_input": given.model_copy(update={"state": start}) if given else None,
        }
    )
    return case, recorded.model_copy(update={"turns": tuple(turns), "state": start})


def _first_state(failed: Failed) -> JsonObject | None:
    """Give the state that the case began with at first; None where it is not known any more."""
    wanted = failed.recorded.golden_start
    states = (failed.golden.start, failed.recorded.state)
    return next((state for state in states if not wanted or state_digest(state) == wanted), None)


def _recorded(recorded: RecordedCase) -> list[list[Step]]:
    """Give what was recorded at first as steps, for the values in it."""
    turns = [recorded_steps(turn) for turn in without_edits(recorded).turns]
    return [
        [
            Step(kind="query", text=turn.query),
            *(Step(kind="call", tool=call.tool, value=call.arguments) for call in turn.calls),
            *(
                Step(kind="response", tool=call.tool, value=call.response)
                for call in turn.calls
                if call.response is not None
            ),
            *([Step(kind="text", text=turn.text)] if turn.text is not None else []),
        ]
        for turn in turns
    ]


def _was_given(edit: Edit, failed: Failed, ours: Sequence[Sequence[Step]]) -> bool:
    """Tell whether the agent of a run has met what was edited."""
    steps = ours[edit.turn] if 0 <= edit.turn < len(ours) else ()
    match edit.part:
        case "query" | "start" | "turns":
            return True
        case "response":
            answers = (step for step in steps if step.kind == "response" and step.tool == edit.tool)
            return any(value_digest(step.value) == edit.now for step in answers)
        case "call" | "arguments" | "order":
            # The recording followed the edit, so that it may have no answer for what the agent calls as ever.
            return (
                edit.turn < len(failed.recorded.turns)
                and failed.recorded.turns[edit.turn].original is not None
            )
        case "text" | "state":
            return False


def _unlike(
    failed: Failed, replay: Replay, golden: Sequence[tuple[Step, ...]], *, is_first: bool
) -> Divergence | None:
    """Find where a run goes another way than what was recorded; of the first run it is known which texts are good enough."""
    ours = [steps_of(invocation) for invocation in replay.turns]
    good = _good_texts(failed, golden) if is_first else frozenset[int]()
    wrong = frozenset(
        number
        for number, (steps, mine) in enumerate(zip(golden, ours, strict=False))
        if number not in good and _is_another_text(text_of(steps, "text"), text_of(mine, "text"), failed)
    )
    wanted, came = [*golden], [*ours]
    other_state = (
        failed.compared.wrong_state and state_digest(replay.final_state) != failed.recorded.golden_state
    )
    if golden and len(ours) >= len(golden) and not replay.error:
        wanted[-1] = (*wanted[-1], Step(kind="state", value=failed.golden.state))
        came[-1] = (*came[-1], Step(kind="state", value=replay.final_state))
    compared = failed.compared._replace(wrong_texts=wrong, wrong_state=other_state)
    return first_divergence(wanted, came, compared)


def _good_texts(failed: Failed, golden: Sequence[tuple[Step, ...]]) -> frozenset[int]:
    """Give the turns whose final response nobody edited, and whose check passed."""
    unedited = {
        number
        for number, (steps, now) in enumerate(zip(golden, failed.golden.turns, strict=False))
        if text_of(steps, "text") == text_of(now, "text")
    }
    return frozenset(unedited - failed.compared.wrong_texts) if not failed.replay.error else frozenset()


def _is_another_text(golden: str, actual: str, failed: Failed) -> bool:
    if failed.compared.criteria.response is None and actual:
        return False
    return text_digest(golden) != text_digest(actual) and word_overlap(golden, actual) < (
        failed.compared.criteria.response or _ALIKE
    )
