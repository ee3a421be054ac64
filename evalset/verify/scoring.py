"""Makes a run's result of its replay: the checks, and where it failed, what `failed_runs` finds out."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import cache, partial
from typing import NamedTuple, TypeAlias

from google.adk.evaluation.eval_case import Invocation

from evalset.golden_trace.golden_steps import spoken, steps_of
from evalset.golden_trace.steps import Step, text_of
from evalset.recorded.golden_digests import (
    edits_since,
    removed_turns,
    text_digest,
)
from evalset.recorded.known_agents import gone_agent
from evalset.recorded.recorded_turns import (
    agents_as_tools,
    inputs_text,
    untold_words,
)
from evalset.recorded.recording import (
    is_imported,
    unknown_parts,
)
from evalset.recorded.tolerances import tolerated
from evalset.verify import run_checks
from evalset.verify.case_replay import Again, CaseReplay, ReplayOptions, replayed
from evalset.verify.cases_to_verify import ReadyCase
from evalset.verify.divergence import (
    Compared,
    agents_inside,
    does,
    inner_divergence,
)
from evalset.verify.results import ActualTurn, Check, CheckStatus, Divergence, Players, RunResult, Varying
from evalset.verify.verify_request import (
    AGENTS,
    CODE_WORDS,
    DEFAULT_RESPONSE,
    INNER,
    OVERLAP,
    RESPONSE,
    STATE,
    TURNS,
    Criteria,
)
from simulator.agents.agent_source import is_determined, makes_sets

Quietly: TypeAlias = Callable[[], Awaitable[CaseReplay]]
_TURN = re.compile(r"turn \d+: ")
_WITHOUT_RECORDED = (
    "the agent's own models spoke, and with the recorded models the words of its code cannot be compared"
)


def unknown_in(each: ReadyCase) -> tuple[str, ...]:
    """Name what the golden of a case does not contain, so that it is compared with nothing."""
    turns = ((turn.intermediate_data, turn.final_response) for turn in each.case.conversation or ())
    return (*untold_words(each.recorded), *unknown_parts(turns, each.golden.expected))


class _Beside(NamedTuple):
    """A replay beside the golden, turn by turn as ADK has them, with the steps of each; `actual` has a turn without anything for each one that is missing."""

    actual: list[Invocation]
    expected: list[Invocation]
    ours: list[tuple[Step, ...]]
    theirs: list[tuple[Step, ...]]


def _beside(each: ReadyCase, replay: CaseReplay) -> _Beside:
    """Set a replay beside its golden; what that does not tell is expected as it was in the run."""
    found = _Beside(_all_turns(each, replay), [], [], [])
    for golden, steps, actual in zip(
        each.case.conversation or (), each.golden.turns, found.actual, strict=True
    ):
        told = {"intermediate_data": golden.intermediate_data, "final_response": golden.final_response}
        untold = {name: getattr(actual, name) for name, value in told.items() if value is None}
        found.expected.append(golden.model_copy(update=untold))
        found.ours.append(steps_of(actual))
        found.theirs.append(steps_of(found.expected[-1]) if untold else steps)
    return found


async def scored(
    each: ReadyCase,
    replay: CaseReplay,
    criteria: Criteria,
    *,
    number: int,
    models: Players,
    again: Again,
    quietly: Quietly,
) -> RunResult:
    """Look at a replay of a case; `again` and, with recorded models, `quietly` replay it once more, where only that tells what changed."""
    turns = _beside(each, replay)
    own = [await run_checks.asked_metric(metric, turns.actual, turns.expected) for metric in criteria.metrics]
    inner = _inner_difference(each, replay, criteria)
    checks = _checks(each, replay, turns, criteria)
    checks += await _code_words(each, replay, criteria, models, quietly)
    found = (*checks, *_inner_check(each, replay, inner, criteria), *_turns_check(each), *own)
    found += _gone_check(each, replay, found) if models == "recorded" else ()
    passed = not replay.error and _pass(found)
    compared = _compared(found, criteria, each)._replace(inner=inner)
    divergence, edited = await _told(each, turns, replay, compared, again, passed=passed, models=models)
    return RunResult(
        number=number,
        passed=passed,
        models=models,
        checks=found,
        divergence=divergence,
        error=replay.error,
        unrecorded=replay.unrecorded,
        made=replay.made,
        turns=_turns_of(replay),
        final_state=replay.final_state,
        seconds=round(replay.seconds, 4),
        edited=edited,
        unasked=replay.unasked,
    )


async def _told(
    each: ReadyCase,
    turns: _Beside,
    replay: CaseReplay,
    compared: Compared,
    again: Again,
    *,
    passed: bool,
    models: Players,
) -> tuple[Divergence | None, tuple[str, ...]]:
    """Return where a run that failed goes another way, and what was edited in the golden, also of one that passed."""
    edits = edits_since(each.golden, each.recorded)
    is_told = bool(edits) if passed else not replay.unasked
    if not is_told:
        return None, ()
    from evalset.verify.failed_runs import passed_edits, verdict_on  # noqa: PLC0415 - most runs pass, and nothing was edited

    if passed:
        return None, passed_edits(edits or (), each.golden, each.recorded, turns.ours)
    return await verdict_on(each, replay, compared, again, golden=turns.theirs, models=models, edits=edits)


def _turns_of(replay: CaseReplay) -> tuple[ActualTurn, ...]:
    turns = zip(replay.turns, replay.models, strict=True)
    return tuple(
        ActualTurn(invocation=turn.model_dump(mode="json", exclude_none=True), models=models)
        for turn, models in turns
    )


def _all_turns(each: ReadyCase, replay: CaseReplay) -> list[Invocation]:
    """Return the turns of a replay, with those that it did not reach."""
    missing = (each.case.conversation or [])[len(replay.turns) :]
    return [*replay.turns, *(Invocation(user_content=turn.user_content) for turn in missing)]


def _turns_check(each: ReadyCase) -> list[Check]:
    """Return that turns are missing at the end of a golden; nothing where none are."""
    if not (removed := removed_turns(each.case, each.recorded)):
        return []
    detail = f"turn {', '.join(removed)} of the recording is not in the golden"
    return [Check(name=TURNS, status="failed", score=0.0, threshold=1.0, detail=detail)]


def _gone_check(each: ReadyCase, replay: CaseReplay, found: Sequence[Check]) -> tuple[Check, ...]:
    """Return that agents are gone that took turns in the recording; nothing where none are, or the run fails without that."""
    if replay.error or not _pass(found):
        return ()
    names = dict.fromkeys(
        model.agent for _, model in run_checks.gone_turns(each.recorded, each.config, replay.models)
    )
    detail = "; ".join(map(gone_agent, names))
    return (Check(name=AGENTS, status="failed", score=0.0, threshold=1.0, detail=detail),) if names else ()


def _pass(found: Sequence[Check]) -> bool:
    return all(check.status in {"passed", "skipped"} for check in found)


def _inner_difference(each: ReadyCase, replay: CaseReplay, criteria: Criteria) -> Divergence | None:
    """Return where the calls inside of agent tools differ; None where they do not, or there are none."""
    if not (replay.inner or agents_as_tools(each.recorded)):
        return None
    made = [
        [*(call for at, call in replay.inner if at == place), *agents_inside(turn, models)]
        for place, (turn, models) in enumerate(zip(each.recorded.turns, replay.models, strict=False))
    ]
    ran = [[call for at, call in replay.ran if at == place] for place in range(len(made))]
    return inner_divergence(each.recorded, each.golden.steps, made, ran, criteria)


def _inner_check(
    each: ReadyCase, replay: CaseReplay, inner: Divergence | None, criteria: Criteria
) -> list[Check]:
    """Return what became of the calls inside of agent tools; nothing where there are none."""
    is_inside = any(call.within for turn in each.recorded.turns for call in turn.calls)
    if inner is None and not (replay.inner or is_inside):
        return []
    if criteria.trajectory is None:
        return [Check(name=INNER, status="skipped", detail="calls are not compared")]
    told = "" if inner is None else f"turn {inner.turn + 1}: {does(inner)}"
    status: CheckStatus = "passed" if inner is None else "failed"
    return [Check(name=INNER, status=status, score=float(inner is None), threshold=1.0, detail=told)]


def _checks(
    each: ReadyCase,
    replay: CaseReplay,
    turns: _Beside,
    criteria: Criteria,
) -> list[Check]:
    found: list[Check] = []
    tolerances = each.recorded.tolerances
    if criteria.trajectory is not None:
        found.append(run_checks.trajectory(turns.actual, turns.expected, criteria, tolerances))
    if criteria.response is not None:
        said, wanted = (
            run_checks.worded(shown, each.case.conversation or ()) for shown in (turns.actual, turns.expected)
        )
        found.append(run_checks.response_match(said, wanted, criteria.response, tolerances))
    if criteria.responses:
        found.append(run_checks.stored_responses(turns.ours, turns.theirs, tolerances))
    if criteria.state:
        state = each.golden.expected
        found.append(
            Check(name=STATE, status="skipped", detail="the final state is unknown")
            if state is None
            else run_checks.final_state(replay.final_state, state, tolerances)
        )
    return found


async def _code_words(
    each: ReadyCase, replay: CaseReplay, criteria: Criteria, models: Players, quietly: Quietly
) -> list[Check]:
    """Look closer at responses that the agent's code makes, where nobody asked for less than by default.

    What a real model says may come back in them: other words are the code's where it also puts them around what the recorded models said. Numbers are drawn where another replay has others.
    """
    if criteria.response is None or criteria.response < DEFAULT_RESPONSE or replay.error:
        return []
    found = _words_of(each, replay)
    if found is not None and found.detail and models == "real" and any(replay.models):
        replay = await quietly()
        if why := replay.unasked or replay.error or "; ".join(replay.unrecorded[:1]):
            return [Check(name=CODE_WORDS, status="skipped", detail=f"{_WITHOUT_RECORDED}: {why}")]
        found = _words_of(each, replay)
    if found is not None and any(map(str.isdigit, _TURN.sub("", found.detail))):
        found = _words_of(each, replay, await quietly())
    return [] if found is None else [found]


def _words_of(each: ReadyCase, replay: CaseReplay, again: CaseReplay | None = None) -> Check | None:
    """Look for other words of the agent's code in a replay; those may be others that another replay has otherwise."""
    said = [spoken(turn.final_response) for turn in again.turns] if again else []

    @cache
    def given() -> str | None:
        return None if is_determined(each.config) else inputs_text(each.recorded).casefold()

    return run_checks.code_words(
        _all_turns(each, replay),
        each.case.conversation or (),
        replay.models,
        each.recorded.tolerances,
        may_be_framed=each.recorded.is_partial,
        as_recorded_in=_texts_as_recorded(each),
        drawn=run_checks.Drawn(given, said),
        makes_sets=partial(makes_sets, each.config),
    )


def _texts_as_recorded(each: ReadyCase) -> frozenset[int]:
    """Return the turns whose final response this product recorded, and nobody edited since."""
    if is_imported(each.recorded):
        return frozenset()
    pairs = zip(each.golden.turns, each.recorded.turns, strict=False)
    return frozenset(
        number
        for number, (steps, recorded) in enumerate(pairs)
        if recorded.golden is not None and text_digest(text_of(steps, "text")) == recorded.golden.text
    )


def _compared(found: Sequence[Check], criteria: Criteria, each: ReadyCase) -> Compared:
    state = next((check for check in found if check.name == STATE), None)
    wrong = frozenset(
        turn
        for check in found
        if check.name in {RESPONSE, OVERLAP, CODE_WORDS}
        for turn, score in enumerate(check.turns)
        if (check.name != CODE_WORDS if score is None else score < (check.threshold or 0))
    )
    return Compared(
        criteria,
        tolerates=partial(tolerated, tolerances=each.recorded.tolerances),
        tolerances=each.recorded.tolerances,
        wrong_texts=wrong,
        wrong_state=state is not None and state.status == "failed",
    )


class RunSettings(NamedTuple):
    """The settings of one run: the criteria, its number, how it is replayed, and what varies between replays of its case, once that is known."""

    criteria: Criteria
    number: int
    ways: ReplayOptions
    varying: list[tuple[Varying, ...]]


async def scored_as(each: ReadyCase, replay: CaseReplay, asked: RunSettings) -> RunResult:
    """Look at a replay of a case; where that is needed it is replayed again in the same way."""
    return await scored(
        each,
        replay,
        asked.criteria,
        number=asked.number,
        models=asked.ways.models,
        again=lambda case, recorded: replayed(case, recorded, each.config, asked.ways),
        quietly=lambda: replayed(each.case, each.recorded, each.config, asked.ways.quiet),
    )
