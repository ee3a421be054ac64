"""Replays a case again, silently, to find what no answer determines: a time, an id or a random value of the agent's own code."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evalset.recorded.model import RecordedCase
from evalset.recorded.tolerances import EVERY_TOOL, Ignore
from evalset.verify.criteria import Criteria
from evalset.verify.loading import Ready
from evalset.verify.replaying import Replay, Ways, replayed
from evalset.verify.results import Divergence, RunResult, Varying
from evalset.verify.samples import Sample, sample_of, unexplained, varying
from evalset.verify.scoring import expected_state, scored
from simulator.jsonvalue import canonical

FEWEST, ENOUGH, MOST = 2, 3, 6
"""How many replays are compared: the fewest; how many where each is quick, as two random values may be the same by luck; and
the most, where something still differs from the recording and not between replays.
"""

_BUDGET_SECONDS = 2.0


async def find_varying(each: Ready, ways: Ways, replay: Replay | None = None) -> tuple[Varying, ...]:
    """Return what differs between replays of a case though all answers, the models' too, are as recorded.

    Each replay runs with the real clock and with fresh chance. A case whose agents spoke and whose models' turns are not recorded is not
    replayed: nothing would hold the models to the same answers.

    Args:
        each: The case.
        ways: How it is replayed; the recording answers for the models.
        replay: A replay that was made already, with the same answers.
    """
    if replay is not None and _has_unrecorded_models(each.recorded, replay):
        return ()
    golden, inputs = golden_sample(each), inputs_text(each.recorded)
    quiet = ways._replace(models="recorded", unrecorded="fail", latencies=False)
    anything = Ignore(tool=EVERY_TOOL)
    recorded = each.recorded.model_copy(update={"tolerances": (*each.recorded.tolerances, anything)})
    samples: list[Sample] = []
    began = time.perf_counter()
    found: tuple[Varying, ...] = ()
    while len(samples) < MOST:
        again = await replayed(each.case, recorded, each.config, quiet)
        if again.error:
            return ()
        samples.append(_sample(again))
        found = varying(golden, samples, inputs) if len(samples) >= FEWEST else ()
        if len(samples) >= FEWEST and time.perf_counter() - began > _BUDGET_SECONDS:
            break
        if len(samples) >= ENOUGH and not unexplained(golden, samples[0], found):
            break
    return found


def _has_unrecorded_models(recorded: RecordedCase, replay: Replay) -> bool:
    spoke = any(replay.models)
    return spoke and not any(turn.models for turn in recorded.turns)


def _sample(replay: Replay) -> Sample:
    return sample_of(
        replay.turns,
        replay.final_state,
        replay.asked,
        began=replay.began,
        ended=replay.began + replay.seconds,
    )


def golden_sample(each: Ready) -> Sample:
    """Return what the eval set and the recording hold of a case."""
    asked = [
        (number, call.tool, call.arguments)
        for number, turn in enumerate(each.recorded.turns)
        for call in turn.calls
    ]
    began = each.recorded.recorded_at
    ended = each.case.creation_timestamp or began
    return sample_of(
        each.case.conversation or (),
        expected_state(each),
        asked,
        began=began,
        ended=max(began, ended) + _longest_session(each),
    )


def _longest_session(each: Ready) -> float:
    """Return how long the session may have lasted: until its last turn began, and a while for that."""
    last = max((turn.creation_timestamp for turn in each.case.conversation or ()), default=0.0)
    return max(0.0, last - each.recorded.recorded_at) + 24 * 3600.0


def inputs_text(recorded: RecordedCase) -> str:
    """Return all that was answered in a case, as one text: what the user, the models and the tools said, and the first state."""
    return "\n".join(_inputs(recorded))


def _inputs(recorded: RecordedCase) -> Iterator[str]:
    yield canonical(recorded.state)
    for turn in recorded.turns:
        yield canonical([turn.query, *turn.replies])
        for call in turn.calls:
            yield call.outcome.model_dump_json()
            yield canonical([call.later, call.confirmed])
            yield call.effects.model_dump_json()
        for model in turn.models:
            yield canonical(list(model.responses))


# ---------------------------------------------------------------- what a run is judged by then


class Asked(NamedTuple):
    """What a run is held to, which of the runs it is, and how it is replayed."""

    criteria: Criteria
    number: int
    ways: Ways


async def scored_as(each: Ready, replay: Replay, asked: Asked) -> RunResult:
    """Look at a replay of a case; where that is needed it is replayed again in the same way."""
    return await scored(
        each,
        replay,
        asked.criteria,
        number=asked.number,
        models=asked.ways.models,
        again=lambda case, recorded: replayed(case, recorded, each.config, asked.ways),
    )


async def judged_again(each: Ready, replay: Replay, result: RunResult, asked: Asked) -> RunResult:
    """Look again at a run that failed, where its first divergence may be one that no answer determines.

    The run stays failed. Where it passes but for what varies, that is its verdict; otherwise its divergence is the first one that does not vary.
    """
    if not _may_vary(result):
        return result
    found = await find_varying(each, asked.ways, replay)
    if not found:
        return result
    tolerant = allowing(each, found)
    if any(one.tolerance.of == "arguments" for one in found):
        replay = await replayed(tolerant.case, tolerant.recorded, tolerant.config, asked.ways)
    second = await scored_as(tolerant, replay, asked)
    divergence = result.divergence if second.passed else second.divergence or result.divergence
    if divergence is not None:
        divergence = _varied(divergence, found) if second.passed else _beside(divergence, found)
    return result.model_copy(update={"divergence": divergence, "varying": found})


def allowing(each: Ready, found: Sequence[Varying]) -> Ready:
    """Return a case whose tolerances let differ what varies."""
    kept = (*each.recorded.tolerances, *(one.tolerance for one in found))
    return each._replace(recorded=each.recorded.model_copy(update={"tolerances": kept}))


def _may_vary(result: RunResult) -> bool:
    if result.passed or result.divergence is None:
        return False
    return result.divergence.what in {"arguments", "response", "text", "state"} or bool(result.unrecorded)


def _varied(divergence: Divergence, found: Sequence[Varying]) -> Divergence:
    told = varying_words(found)
    sentence = (
        f"{told[:1].upper()}{told[1:]}. That differs in each run though all answers are the same: the agent did not change. Keep the "
        "proposed tolerances, and the case passes."
    )
    evidence = tuple(one.line for one in found)
    verdict = {"verdict": "varies", "action": "tolerate", "sentence": sentence, "evidence": evidence}
    return divergence.model_copy(update=verdict)


def varying_words(found: Sequence[Varying]) -> str:
    """Say what holds what: `the state holds a time and an id; the final response holds a time`."""
    held: dict[str, dict[str, None]] = {}
    for one in found:
        held.setdefault(one.what, {})[one.holds] = None
    return "; ".join(f"{what} holds {_listed([*holds])}" for what, holds in held.items())


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _beside(divergence: Divergence, found: Sequence[Varying]) -> Divergence:
    told = tuple(f"beside this, {one.line}" for one in found)
    return divergence.model_copy(update={"evidence": (*divergence.evidence, *told)})
