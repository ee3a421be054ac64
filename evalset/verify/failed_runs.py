"""Finds out what a run that failed tells: where it goes another way, and whether an edit of its golden or the agent is to blame.

`verdict_on` gathers the evidence and has `verdicts` judge it. A run that does what was recorded is not the agent's fault: the edit alone makes it fail. A run that does something
else before it has seen anything that was edited is the agent's. Where it had seen an edit, what was recorded is replayed once more without the edits: the agent that then does as it
did has not changed. What stood there is known by its digests (`Known`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from google.adk.evaluation.eval_case import EvalCase, Invocation
from google.genai import types

from evalset.golden_trace.golden_steps import steps_of
from evalset.golden_trace.steps import Step, text_of, with_state
from evalset.recorded.golden_digests import (
    Edit,
    Golden,
    recording_edits,
    removed_turns,
    state_digest,
    text_digest,
    value_digest,
)
from evalset.recorded.recorded_turns import (
    recorded_steps,
    written_turns,
)
from evalset.recorded.recording import (
    GoldenTurn,
    RecordedCase,
    without_edits,
)
from evalset.verify.case_replay import Again, CaseReplay
from evalset.verify.cases_to_verify import ReadyCase
from evalset.verify.divergence import (
    Compared,
    first_divergence,
    first_of,
)
from evalset.verify.results import (
    Divergence,
    Pair,
    Players,
)
from evalset.verify.run_checks import gone_turns, word_overlap
from evalset.verify.verdict_evidence import Evidence, evidence_of
from evalset.verify.verdicts import Blame, Known, capital, judged
from simulator.base.json_values import JsonObject
from simulator.session.adk_event_fields import content_text


async def verdict_on(
    each: ReadyCase,
    replay: CaseReplay,
    compared: Compared,
    again: Again,
    *,
    golden: Sequence[tuple[Step, ...]],
    models: Players,
    edits: tuple[Edit, ...] | None,
) -> tuple[Divergence | None, tuple[str, ...]]:
    """Return where a run that failed goes another way, with its verdict, and what was edited in its golden.

    Args:
        each: The case.
        replay: The run.
        compared: How its steps are compared.
        again: Replays it once more.
        golden: The steps of the golden, with what it does not tell as in the run.
        models: Who answered for the agents' models.
        edits: What was edited since the recording; None where that does not say it.
    """
    ours = [steps_of(turn) for turn in replay.turns]
    is_compared = not replay.error or compared.wrong_state
    is_cut = len(ours) < len(golden) or not is_compared
    golden = with_state(golden, each.golden.expected)
    actual = ours if is_cut else with_state(ours, replay.final_state)
    failed = FailedRun(each.case, each.recorded, each.golden, replay, compared)
    blame = None if edits is None else await blamed(failed, edits, again)
    divergence = first_of(first_divergence(golden, actual, compared), compared.inner)
    divergence = divergence or _behind_the_end(each, golden)
    if divergence is None and (divergence := _unheard(each, replay, golden)) and blame is not None:
        blame = blame._replace(edits=())  # an edit of the golden takes no agent away
    if divergence is None:
        return None, told_edits(blame)
    evidence = _evidence(each, replay, models, divergence, compared.inner)
    is_whole = not replay.error and len(replay.made) >= len(replay.unrecorded)
    why = replay.error or "; ".join(replay.unrecorded[:1])
    judgement = judged(divergence, golden, actual, evidence, why, is_whole=is_whole, blame=blame)
    return judgement, told_edits(blame)


def _evidence(
    each: ReadyCase, replay: CaseReplay, models: Players, divergence: Divergence, inner: Divergence | None
) -> Evidence:
    """Gather what is known beside the golden and the run; an error of it counts where it ended the turn of the divergence."""
    is_last = divergence.turn >= len(replay.turns) - 1
    edits = recording_edits(each.recorded)
    return evidence_of(each.recorded, each.config, replay.refused_calls)._replace(
        doctor=each.doctor(),
        renamed=each.renamed,
        otherwise=replay.otherwise or _does_otherwise(each, replay, divergence, inner),
        raised=replay.error if is_last and not replay.unrecorded else "",
        written=written_turns(each.recorded) if models == "real" else frozenset(),
        recording=tuple(edit for edit in edits if models == "recorded" or not edit.of_model),
    )


def _does_otherwise(
    each: ReadyCase, replay: CaseReplay, divergence: Divergence, inner: Divergence | None
) -> str:
    """Say that a call came to the agent of an agent tool with other arguments, or an agent is gone, where that is the divergence; empty where it is not."""
    first = divergence.pairs[0].golden
    if first is not None and divergence is inner and not first.within:
        return f"runs {first.tool} with different arguments"
    gone = {model.agent for _, model in gone_turns(each.recorded, each.config, replay.models)}
    return f"does not run {first.author} any more" if first is not None and first.author in gone else ""


def _unheard(each: ReadyCase, replay: CaseReplay, golden: Sequence[Sequence[Step]]) -> Divergence | None:
    """Return where the first turn of an agent is missing that is gone; None where none is."""
    if replay.error or not (gone := gone_turns(each.recorded, each.config, replay.models)):
        return None
    number, model = gone[0]
    turn = min(number, len(golden) - 1)
    said = content_text(model.responses[-1].get("content")) if model.responses else ""
    pair = Pair(golden=Step(kind="text", author=model.agent, text=said, within=model.within), actual=None)
    return Divergence(turn=turn, step=len(golden[turn]), what="text", pairs=(pair,))


def _behind_the_end(each: ReadyCase, golden: Sequence[Sequence[Step]]) -> Divergence | None:
    """Return where the first turn is missing that a golden had at its end; None where none is."""
    if not removed_turns(each.case, each.recorded):
        return None
    asked = Step(kind="query", author="user", text=content_text(each.recorded.turns[len(golden)].query))
    pair = Pair(golden=None, actual=asked)
    return Divergence(turn=len(golden) - 1, step=len(golden[-1]), what="query", pairs=(pair,))


def told_edits(blame: Blame | None) -> tuple[str, ...]:
    """Write what was edited since the recording as sentences, each with what stood there and what stands there."""
    if blame is None:
        return ()
    told = ((edit.words, blame.known.change_of(edit)) for edit in blame.edits)
    return tuple(f"{capital(words)} after the recording{change}." for words, change in told)


def passed_edits(
    edits: tuple[Edit, ...], golden: Golden, recorded: RecordedCase, ours: Sequence[Sequence[Step]]
) -> tuple[str, ...]:
    """Write what was edited in a golden that passes all the same: a threshold may let other words pass."""
    return told_edits(Blame(edits, "as it was", known=Known(golden.turns, _recorded(recorded), ours)))


_NO_OTHERS: Mapping[tuple[int, int], str] = MappingProxyType({})
_ALIKE = 0.8


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


class FailedRun(NamedTuple):
    """A run that failed: its case, what was recorded, the golden, what happened, and how both were compared."""

    case: EvalCase
    recorded: RecordedCase
    golden: Golden
    replay: CaseReplay
    compared: Compared


async def blamed(failed: FailedRun, edits: Sequence[Edit], again: Again) -> Blame:
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


async def _without_the_edits(failed: FailedRun, found: Blame, again: Again) -> Blame:
    """Replay what was recorded, without the edits, and look whether the agent does as it did."""
    first = _first_case(failed)
    if first is None:
        return found._replace(agent="unknown", why="the recorded values are no longer known")
    case, recorded = first
    replay = await again(case, recorded)
    known = Known(failed.golden.turns, _recorded(failed.recorded), [steps_of(each) for each in replay.turns])
    unlike = _unlike(failed, replay, as_recorded(recorded, known), is_first=False)
    if unlike is None and not replay.error:
        return found._replace(agent="as it was")
    if unlike is not None and (unlike.pairs[0].actual is not None or not replay.error):
        return found._replace(unlike=unlike)
    return found._replace(
        agent="unknown", why=f"the recording cannot be replayed without the edits: {replay.error}"
    )


def _first_case(failed: FailedRun) -> tuple[EvalCase, RecordedCase] | None:
    """Return the case and its recording as they were at first; None where something of them is not known any more."""
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


def _first_state(failed: FailedRun) -> JsonObject | None:
    """Return the state that the case began with at first; None where it is not known any more."""
    wanted = failed.recorded.golden_start
    states = (failed.golden.start, failed.recorded.state)
    return next((state for state in states if not wanted or state_digest(state) == wanted), None)


def _recorded(recorded: RecordedCase) -> list[tuple[Step, ...]]:
    """Return what was recorded at first as steps, for the values in it."""
    return [recorded_steps(turn) for turn in without_edits(recorded).turns]


def _was_given(edit: Edit, failed: FailedRun, ours: Sequence[Sequence[Step]]) -> bool:
    """Return whether the agent of a run has met what was edited."""
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
    failed: FailedRun, replay: CaseReplay, golden: Sequence[tuple[Step, ...]], *, is_first: bool
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
    if golden and len(ours) >= len(golden) and not replay.error and failed.golden.state is not None:
        wanted[-1] = (*wanted[-1], Step(kind="state", value=failed.golden.state))
        came[-1] = (*came[-1], Step(kind="state", value=replay.final_state))
    compared = failed.compared._replace(wrong_texts=wrong, wrong_state=other_state)
    return first_divergence(wanted, came, compared)


def _good_texts(failed: FailedRun, golden: Sequence[tuple[Step, ...]]) -> frozenset[int]:
    """Return the turns whose final response nobody edited, and whose check passed."""
    unedited = {
        number
        for number, (steps, now) in enumerate(zip(golden, failed.golden.turns, strict=False))
        if text_of(steps, "text") == text_of(now, "text")
    }
    return frozenset(unedited - failed.compared.wrong_texts) if not failed.replay.error else frozenset()


def _is_another_text(golden: str, actual: str, failed: FailedRun) -> bool:
    if failed.compared.criteria.response is None and actual:
        return False
    return text_digest(golden) != text_digest(actual) and word_overlap(golden, actual) < (
        failed.compared.criteria.response or _ALIKE
    )
