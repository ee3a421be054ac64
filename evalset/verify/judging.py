"""Judges a divergence: what has changed, by which evidence, and what to do about it. Pure.

What was edited in the golden since it was recorded comes first, as the recording notes what the golden was; `blaming` finds out
whether the agent changed too. Recordings from before that: the user changed where the eval set asks another query than was recorded.
The golden is stale where the eval set and the recording disagree with each other, and the run does as one of them. The environment changed where a tool is declared otherwise than it
was. Otherwise the agent changed: it does what neither of the files holds, in a world that is as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evalset.recorded.inputs import REQUEST_INPUT, question_of
from evalset.verify.blaming import Blame
from evalset.verify.edited import Edit
from evalset.verify.evidence import Evidence, RecordedSteps, disagreements
from evalset.verify.results import Action, Divergence, Step, Verdict
from simulator.jsonvalue import same

_MOST_EDITS = 3
"""So many edits are named in a sentence; the evidence names all."""


class _Judgement(NamedTuple):
    verdict: Verdict
    action: Action
    sentence: str
    evidence: tuple[str, ...]
    also: tuple[Verdict, ...] = ()


def judged(
    divergence: Divergence,
    golden: Sequence[Sequence[Step]],
    evidence: Evidence,
    why: str = "",
    *,
    is_whole: bool = True,
    blame: Blame | None = None,
) -> Divergence:
    """Give a divergence with its verdict.

    Args:
        divergence: Where the run goes another way.
        golden: The golden's steps, turn by turn.
        evidence: What is known beside.
        why: What ended the run early, or what it asked and nothing was recorded for.
        is_whole: Whether the run came to its end and all it asked was answered, so that it can be accepted.
        blame: What was edited since the recording, and whether the agent changed; None where the recording does not say.
    """
    if blame is not None and blame.edits:
        found = _edited(divergence, blame, evidence, is_whole=is_whole)
    elif blame is not None:
        found = _environment(divergence, golden, evidence) or _agent(
            divergence, evidence, why, is_whole=is_whole
        )
    else:
        found = (
            _user(divergence, golden, evidence)
            or _stale(divergence, golden, evidence)
            or _environment(divergence, golden, evidence)
            or _agent(divergence, evidence, why, is_whole=is_whole, is_noted=False)
        )
    return divergence.model_copy(update=found._asdict())


# ---------------------------------------------------------------- what was edited


def told_edits(blame: Blame | None) -> tuple[str, ...]:
    """Write what was edited since the recording as sentences, each with what stood there and what stands there."""
    return (
        ()
        if blame is None
        else tuple(
            f"{_capital(edit.words)} after the recording{_from_to(edit, blame)}." for edit in blame.edits
        )
    )


def _from_to(edit: Edit, blame: Blame) -> str:
    change = blame.known.change(edit.then, edit.now)
    return f": {change}" if change else ""


def _edited(divergence: Divergence, blame: Blame, evidence: Evidence, *, is_whole: bool) -> _Judgement:
    """Blame what was edited, and the agent too where it changed as well."""
    queries = any(edit.part == "query" for edit in blame.edits)
    verdict: Verdict = "user_changed" if queries else "golden_stale"
    told = (*_other_words(blame), *evidence.changed_tools.values())
    words = _list(blame.edits)
    if blame.agent == "changed" and blame.unlike is not None:
        sentence = (
            f"{words} The agent changed too: it {_does(blame.unlike)}, which it did not when it was recorded. "
            "Undo the edit to see what the agent changed, or record the case again from this step."
        )
        return _Judgement(verdict, "open", sentence, told, ("agent_changed",))
    if blame.agent == "unknown":
        sentence = f"{words} Whether the agent changed too cannot be told: {blame.why}. Record the case again from this step."
        return _Judgement(verdict, "open", sentence, told)
    if queries:
        sentence = f"{words} The recorded responses do not fit the edited query. Record the case again from this step."
        return _Judgement(verdict, "open", sentence, told)
    if not blame.seen:
        sentence = f"{words} The agent does what it did when it was recorded. Repair the golden from the recording, or change the agent."
        return _Judgement(verdict, "repair", sentence, told)
    sentence = f"{words} The agent follows the edit: it {_does(divergence)}. "
    if is_whole:
        more = "If the edit is intended, accept what the agent does now; otherwise undo the edit."
        return _Judgement(verdict, "accept", sentence + more, told)
    more = "If the edit is intended, record the case again from this step; otherwise undo the edit."
    return _Judgement(verdict, "open", sentence + more, told)


def _other_words(blame: Blame) -> Iterator[str]:
    for edit in blame.edits:
        if edit.part == "query" and blame.known.shown(edit.then):
            now, then = blame.known.shown(edit.now), blame.known.shown(edit.then)
            yield f"turn {edit.turn + 1}: the eval set asks {now}, and {then} was recorded"
        elif more := _from_to(edit, blame):
            yield f"{edit.words}{more}"


def _list(edits: Sequence[Edit]) -> str:
    shown = [edit.words for edit in edits[:_MOST_EDITS]]
    more = [f"{len(edits) - _MOST_EDITS} more places were"] if len(edits) > _MOST_EDITS else []
    *before, last = [*shown, *more]
    words = f"{', '.join(before)} and {last}" if before else last
    return f"{_capital(words)} after the recording."


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


# ---------------------------------------------------------------- recordings that do not say what their golden was


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
    elif _is_recorded_question(theirs, recorded):
        yield "the eval set holds another question to the user than was recorded"
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


def _is_recorded_question(step: Step, recorded: RecordedSteps) -> bool:
    if step.kind != "call" or step.tool != REQUEST_INPUT or not isinstance(step.value, dict):
        return False
    asked = question_of(step.value)
    return any(same(asked, each) for each in recorded.questions)


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
    changed = {tool: words for tool, words in evidence.changed_tools.items() if tool not in evidence.gone}
    told = tuple(words for tool, words in sorted(changed.items()) if tool in (here or before))
    if not told:
        return None
    return _Judgement(
        "environment_changed",
        "open",
        "A tool is not what it was when its answers were recorded. Open the session at this step and record it anew.",
        told,
    )


def _agent(
    divergence: Divergence, evidence: Evidence, why: str, *, is_whole: bool, is_noted: bool = True
) -> _Judgement:
    told = (
        *([why] if why else []),
        *(evidence.changed_tools[name] for name in sorted(evidence.gone)),
        "nothing of the golden was edited since it was recorded"
        if is_noted
        else "the eval set and the recording agree here",
        *(["the tools are declared as they were"] if not evidence.changed_tools else []),
        *(evidence.maybe_edited if not is_noted else ()),
    )
    does = _does(divergence)
    if is_whole:
        sentence = (
            f"The agent {does}. If this is intended, accept it as the new golden. Otherwise fix the agent."
        )
        return _Judgement("agent_changed", "accept", sentence, told)
    sentence = (
        f"The agent {does}, and the recording cannot go on from there. If this is intended, record the case again from this step. "
        "Otherwise fix the agent."
    )
    return _Judgement("agent_changed", "open", sentence, told)


def _does(divergence: Divergence) -> str:
    first = divergence.pairs[0]
    golden, actual = first.golden, first.actual
    match divergence.what:
        case "arguments":
            return _calls_otherwise(actual)
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


def _calls_otherwise(actual: Step | None) -> str:
    if actual is not None and actual.tool == REQUEST_INPUT:
        return "asks the user for something else"
    return f"calls {actual.tool if actual else 'the tool'} with other arguments"


def _calls(golden: Step | None, actual: Step | None) -> str:
    if golden is None and actual is not None:
        if actual.tool == REQUEST_INPUT:
            return "asks the user for input, which the golden does not"
        return f"calls {actual.tool}, which the golden does not"
    if actual is None and golden is not None:
        if golden.tool == REQUEST_INPUT:
            return "does not ask the user for input"
        return f"does not call {golden.tool}"
    return f"calls {actual.tool if actual else ''} in the place of {golden.tool if golden else ''}"
