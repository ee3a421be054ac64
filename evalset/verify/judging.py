"""Judges a divergence: what has changed, by which evidence, and what to do about it. Pure.

The user changed where the eval set asks another query than was recorded. The golden is stale where the eval set and the recording
disagree with each other, and the run does as one of them. The environment changed where a tool is declared otherwise than it
was. Otherwise the agent changed: it does what neither of the files holds, in a world that is as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evalset.verify.evidence import Evidence, RecordedSteps, disagreements
from evalset.verify.results import Action, Divergence, Step, Verdict
from simulator.jsonvalue import same


class _Judgement(NamedTuple):
    verdict: Verdict
    action: Action
    sentence: str
    evidence: tuple[str, ...]


def judged(
    divergence: Divergence,
    golden: Sequence[Sequence[Step]],
    evidence: Evidence,
    why: str = "",
    *,
    is_whole: bool = True,
) -> Divergence:
    """Give a divergence with its verdict.

    Args:
        divergence: Where the run goes another way.
        golden: The golden's steps, turn by turn.
        evidence: What is known beside.
        why: What ended the run early, or what it asked and nothing was recorded for.
        is_whole: Whether the run came to its end and all it asked was answered, so that it can be accepted.
    """
    found = (
        _user(divergence, golden, evidence)
        or _stale(divergence, golden, evidence)
        or _environment(divergence, golden, evidence)
        or _agent(divergence, why, is_whole=is_whole)
    )
    return divergence.model_copy(update=found._asdict())


def _user(divergence: Divergence, golden: Sequence[Sequence[Step]], evidence: Evidence) -> _Judgement | None:
    told = tuple(_other_queries(golden[: divergence.turn + 1], evidence.turns))
    if not told:
        return None
    return _Judgement(
        "user_changed",
        "open",
        "The user asks something else than when the world was recorded, so the recorded answers do not fit any more. "
        "Open the session at this step and record it anew.",
        told,
    )


def _other_queries(golden: Sequence[Sequence[Step]], recorded: Sequence[RecordedSteps]) -> Iterator[str]:
    for number, steps in enumerate(golden, start=1):
        asked = next((step.text for step in steps if step.kind == "query"), "")
        if number > len(recorded):
            yield f"turn {number}: only {len(recorded)} turns were recorded"
        elif asked.strip() != recorded[number - 1].query.strip():
            yield f"turn {number}: the eval set asks {asked!r}, and {recorded[number - 1].query!r} was recorded"


def _stale(divergence: Divergence, golden: Sequence[Sequence[Step]], evidence: Evidence) -> _Judgement | None:
    told = tuple(_stale_signs(divergence, golden, evidence))
    if not told:
        return None
    return _Judgement(
        "golden_stale",
        "repair",
        "The eval set and its recorded environment disagree with each other here. Repair the golden from what was recorded.",
        told,
    )


def _stale_signs(
    divergence: Divergence, golden: Sequence[Sequence[Step]], evidence: Evidence
) -> Iterator[str]:
    """Say where the two files disagree, if the run does as was recorded, or has only done what was not recorded."""
    recorded = evidence.turns[divergence.turn]
    theirs = divergence.pairs[0].actual
    if (
        theirs is None
        or (divergence.what == "text" and not theirs.text)
        or _is_recorded_call(theirs, recorded)
    ):
        yield from disagreements(golden[divergence.turn], recorded, evidence)
    elif divergence.what == "response" and _is_recorded_answer(theirs, recorded):
        yield f"the eval set holds another answer of {theirs.tool} than was recorded"
    elif divergence.what == "text" and recorded.text and theirs.text.strip() == recorded.text.strip():
        yield "the eval set holds another final response than was recorded"
    elif divergence.what == "state" and same(theirs.value, evidence.state):
        yield "the eval set holds another final state than was recorded"


def _is_recorded_call(step: Step, recorded: RecordedSteps) -> bool:
    return step.kind == "call" and any(
        call.tool == step.tool and same(call.arguments, step.value) for call in recorded.calls
    )


def _is_recorded_answer(step: Step, recorded: RecordedSteps) -> bool:
    return any(
        call.tool == step.tool and call.response is not None and same(call.response, step.value)
        for call in recorded.calls
    )


def _environment(
    divergence: Divergence, golden: Sequence[Sequence[Step]], evidence: Evidence
) -> _Judgement | None:
    first = divergence.pairs[0]
    here = {step.tool for step in (first.golden, first.actual) if step is not None and step.tool}
    before = {step.tool for steps in golden[: divergence.turn + 1] for step in steps if step.tool}
    told = tuple(words for tool, words in sorted(evidence.changed_tools.items()) if tool in (here or before))
    if not told:
        return None
    return _Judgement(
        "environment_changed",
        "open",
        "A tool is not what it was when its answers were recorded. Open the session at this step and record it anew.",
        told,
    )


def _agent(divergence: Divergence, why: str, *, is_whole: bool) -> _Judgement:
    told = (
        *([why] if why else []),
        "the eval set and the recording agree, and the tools are declared as they were",
    )
    does = _does(divergence)
    if is_whole:
        sentence = f"The agent {does}. Where that is right, accept it as the new golden; where it is not, mend the agent."
        return _Judgement("agent_changed", "accept", sentence, told)
    sentence = (
        f"The agent {does}, and the recording cannot go on from there. Where that is right, open the session at this step and "
        "record it anew; where it is not, mend the agent."
    )
    return _Judgement("agent_changed", "open", sentence, told)


def _does(divergence: Divergence) -> str:
    first = divergence.pairs[0]
    golden, actual = first.golden, first.actual
    match divergence.what:
        case "arguments":
            return f"calls {actual.tool if actual else 'the tool'} with other arguments"
        case "call":
            return _calls(golden, actual)
        case "response":
            return "gets, or makes, another answer of a tool"
        case "text":
            return "gives another final response" if actual and actual.text else "gives no final response"
        case "state":
            return "leaves another state behind"
        case "query":
            return "did not come to this turn"


def _calls(golden: Step | None, actual: Step | None) -> str:
    if golden is None and actual is not None:
        return f"calls {actual.tool}, which the golden does not"
    if actual is None and golden is not None:
        return f"does not call {golden.tool}"
    return f"calls {actual.tool if actual else ''} in the place of {golden.tool if golden else ''}"
