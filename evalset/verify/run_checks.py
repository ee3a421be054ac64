"""Looks at a replay: ADK's own evaluators for the calls and the final responses, and ours for what ADK does not look at.

What may differ (the tolerances of a recording) is shown to ADK's evaluators as the golden has it. Ours compare the words of responses that the agent's
code made, the session's final state, and the tool responses that the eval set holds.
"""

from __future__ import annotations

import calendar
import importlib
import importlib.util
import inspect
import re
from collections import Counter
from collections.abc import Callable, Container, Sequence
from functools import cache
from typing import Any, NamedTuple

from google.adk.evaluation.eval_case import IntermediateData, Invocation, get_all_tool_calls
from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric, EvalStatus, ToolTrajectoryCriterion
from google.adk.evaluation.evaluator import EvaluationResult
from google.adk.evaluation.trajectory_evaluator import TrajectoryEvaluator
from google.genai import types

from evalset.golden_trace.golden_steps import arguments_of, spoken, with_spoken
from evalset.golden_trace.steps import Step, calls_of
from evalset.recorded.known_agents import known_agent
from evalset.recorded.recording import RecordedCase, RecordedModelTurn, RecordedTurn
from evalset.recorded.tolerances import Tolerance, as_recorded, tolerated
from evalset.verify.divergence import aligned
from evalset.verify.results import Check, CheckStatus
from evalset.verify.verify_request import (
    CODE_WORDS,
    OVERLAP,
    RESPONSE,
    RESPONSES,
    STATE,
    TRAJECTORY,
    Criteria,
    Match,
    Metric,
)
from simulator.agent_config import SimulatedAgentConfig
from simulator.base.json_values import JsonObject, canonical, same
from simulator.base.secret_masking import error_words
from simulator.session.adk_event_fields import parts_of

_WORD = re.compile(r"\w+")
_WITHOUT_ROUGE = (
    "ADK's response match needs google-adk[eval], which is not installed. Common words were counted instead"
)
_SHOWN = 120
_MONTHS = "|".join(
    name.casefold() for names in (calendar.month_name, calendar.month_abbr) for name in names if name
)
_DAYS = "|".join(name.casefold() for names in (calendar.day_name, calendar.day_abbr) for name in names)
_TIMES = (
    r"\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:z|[+-]\d\d:?\d\d)?)?",
    r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[ap]m)?|\d{1,2} ?[ap]m|[ap]m",
    r"\d{1,4}(?P<sign>[/.])\d{1,2}(?P=sign)\d{2,4}",
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)?\.? )?(?:{_MONTHS})(?: \d{{1,2}}(?:st|nd|rd|th)?)?(?:,? \d{{4}})?|{_DAYS}",
    r"20\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])(?:[t_]?\d{6})?",
    r"1[4-9]\d{8}(?:\d{3}){0,3}",
)
"""How a text writes dates and times; the last is a count of seconds, or of smaller units."""
_TIME = rf"\b(?:{'|'.join(_TIMES)})\b"
_OWN = re.compile(rf"{_TIME}|(?=.*\d)(?=.*[a-z])[\w-]{{6,}}")
_TOKEN = re.compile(rf"{_TIME}|\d+(?:[.,]\d+)+|\w(?:[\w-]*\w)?")
"""A token is a time, a number, a word, or an id with hyphens."""


def trajectory(
    actual: Sequence[Invocation],
    expected: Sequence[Invocation],
    criteria: Criteria,
    tolerances: Sequence[Tolerance] = (),
) -> Check:
    """Compare the calls with ADK's evaluator. Both have the same number of turns."""
    threshold = 1.0 if criteria.trajectory is None else criteria.trajectory
    return _check(TRAJECTORY, threshold, compared_calls(actual, expected, criteria, tolerances))


def _check(name: str, threshold: float, found: EvaluationResult) -> Check:
    return Check(
        name=name,
        status="passed" if found.overall_eval_status is EvalStatus.PASSED else "failed",
        score=found.overall_score,
        threshold=threshold,
        turns=tuple(each.score for each in found.per_invocation_results),
        detail=_worst(found, threshold),
    )


def _worst(found: EvaluationResult, threshold: float) -> str:
    low = [
        number
        for number, each in enumerate(found.per_invocation_results, start=1)
        if each.score is not None and each.score < threshold
    ]
    if not low or found.overall_eval_status is EvalStatus.PASSED:
        return ""
    return f"{'turn' if len(low) == 1 else 'turns'} {', '.join(map(str, low))}"


def response_match(
    actual: Sequence[Invocation],
    expected: Sequence[Invocation],
    threshold: float,
    tolerances: Sequence[Tolerance] = (),
) -> Check:
    """Compare the final responses with ADK's evaluator, each for itself; by the words in common where that is not installed.

    What is tolerated is shown to it as the golden has it.

    Where all texts are the same, its score is known: importing it takes more time than a hundred replays.
    """
    actual = responses_as_golden(actual, expected, tolerances)
    pairs = [
        (spoken(one.final_response), spoken(other.final_response))
        for one, other in zip(actual, expected, strict=True)
    ]
    if all(one == other and any(map(str.isalnum, one)) for one, other in pairs):
        ones = (1.0,) * len(pairs)
        name = RESPONSE if has_rouge() else OVERLAP
        return Check(name=name, status="passed", score=1.0, threshold=threshold, turns=ones)
    if not has_rouge():
        return _overlap(pairs, threshold)
    return _check(RESPONSE, threshold, matched_responses(actual, expected, threshold))


def worded(turns: Sequence[Invocation], golden: Sequence[Invocation]) -> list[Invocation]:
    """Return turns with a word for each response that a golden does not tell: to ADK's evaluator two that are empty are not the same."""
    said = types.Content(role="model", parts=[types.Part(text="untold")])
    return [
        turn.model_copy(update={"final_response": said}) if each.final_response is None else turn
        for turn, each in zip(turns, golden, strict=True)
    ]


@cache
def has_rouge() -> bool:
    """Return whether ADK's response match can be used."""
    return importlib.util.find_spec("rouge_score") is not None


def _overlap(pairs: Sequence[tuple[str, str]], threshold: float) -> Check:
    scores = tuple(word_overlap(*pair) for pair in pairs)
    score = min(scores, default=0.0)
    return Check(
        name=OVERLAP,
        status="passed" if score >= threshold else "failed",
        score=score,
        threshold=threshold,
        turns=scores,
        detail=_WITHOUT_ROUGE,
    )


def word_overlap(one: str, other: str) -> float:
    """Return the harmonic mean of the shares of words that two texts have in common; 1 where neither has any."""
    words, others = Counter(_words(one)), Counter(_words(other))
    if not words and not others:
        return 1.0
    return 2 * (words & others).total() / (words.total() + others.total())


class Drawn(NamedTuple):
    """Which words may be others each time.

    Attributes:
        given: Returns all that was said to the agent, in small letters; None where its code has neither clock nor chance.
        again: The final responses of another replay with the same inputs.
    """

    given: Callable[[], str | None] = lambda: None
    again: Sequence[str] = ()

    def varied(self, number: int, words: Sequence[str]) -> Counter[str]:
        """Return which words of a turn the other replay does not have."""
        return Counter(words) - Counter(
            _tokens(self.again[number] if number < len(self.again) else " ".join(words))
        )

    def is_own(self, word: str) -> bool:
        """Return whether a word is a time or an id that nobody gave."""
        given = self.given() if _OWN.fullmatch(word) else None
        return given is not None and word not in given


_NOTHING_DRAWN = Drawn()


def code_words(
    actual: Sequence[Invocation],
    expected: Sequence[Invocation],
    models: Sequence[Sequence[RecordedModelTurn]],
    tolerances: Sequence[Tolerance] = (),
    *,
    may_be_framed: bool = False,
    as_recorded_in: Container[int] = (),
    drawn: Drawn = _NOTHING_DRAWN,
    makes_sets: Callable[[], bool] = lambda: False,
) -> Check | None:
    """Look for other words in final responses that the agent's code makes; None where models said them all as they are.

    To a response match most words are enough: a decision that is turned round differs in one. What was recorded here has to be the same. Elsewhere, words may be others that
    the code draws; how a golden words what a model said is left to the match.

    Args:
        actual: The turns of the replay.
        expected: Those of the golden; one whose final response is not told is left out.
        models: What the models said in each turn.
        tolerances: What may differ.
        may_be_framed: The golden is a trace, whose maker may have framed what the agent said.
        as_recorded_in: The turns whose final response is in the golden as it was recorded.
        drawn: What may be others each time.
        makes_sets: Tells whether the agent's code makes sets, whose order each process chooses.
    """
    actual = responses_as_golden(actual, expected, tolerances)
    found: list[str | None] = []
    for number, (one, other) in enumerate(zip(actual, expected, strict=True)):
        said, golden = spoken(one.final_response), spoken(other.final_response)
        is_told = other.final_response is not None and number < len(models)
        other_words = _other_text(said, golden, makes_sets) if is_told and number in as_recorded_in else ""
        if not is_told or (not other_words and _tokens(said) in _said(models[number])):
            found.append(None)
        elif number in as_recorded_in:
            found.append(other_words)
        else:
            found.append(_words_apart(number, said, golden, drawn, may_be_framed=may_be_framed))
    return _words_check(found)


def _words_apart(number: int, said: str, golden: str, drawn: Drawn, *, may_be_framed: bool) -> str:
    words, wanted = _tokens(said), _tokens(golden)
    varied = drawn.varied(number, words)
    is_framed = may_be_framed and _is_framed(words, wanted, varied, drawn)
    return "" if is_framed else _other_words(words, wanted, varied, drawn)


def _other_text(said: str, golden: str, makes_sets: Callable[[], bool]) -> str:
    """Say how a text differs from the golden's, whatever their white space is; empty where it does not."""
    if said.split() == golden.split() or "".join(said.split()) == "".join(golden.split()):
        return ""
    if other := _other_words(said.split(), golden.split()):
        return other
    return "" if makes_sets() else "the same words in another order"


def _words_check(found: Sequence[str | None]) -> Check | None:
    """Return the check of the other words in these turns, None for each that was not looked at; None where none was."""
    scores = tuple(None if words is None else float(not words) for words in found)
    known = [score for score in scores if score is not None]
    if not known:
        return None
    detail = "; ".join(f"turn {number}: {words}" for number, words in enumerate(found, start=1) if words)
    status: CheckStatus = "failed" if detail else "passed"
    return Check(name=CODE_WORDS, status=status, score=min(known), threshold=1.0, turns=scores, detail=detail)


def _tokens(text: str) -> list[str]:
    return [each[0] for each in _TOKEN.finditer(text.casefold())]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _other_words(
    here: list[str], there: list[str], varied: Container[str] = (), drawn: Drawn = _NOTHING_DRAWN
) -> str:
    """Say which words one text has that another one has not; empty where these are none, or all such as may be others each time."""
    ours, theirs = Counter(here), Counter(there)
    more, less = (
        sorted(word for word in words.elements() if not drawn.is_own(word))
        for words in (ours - theirs, theirs - ours)
    )
    left = [word for word in more if word not in varied]
    may_be_drawn = not left and len(less) <= len(more) and all(map(_has_digit, less))
    return f"{_quoted(more)} instead of {_quoted(less)}" if (more or less) and not may_be_drawn else ""


def _is_framed(words: list[str], wanted: list[str], varied: Container[str], drawn: Drawn) -> bool:
    """Return whether the words stand in their order among the wanted ones; such as may be others each time may be others there, too."""
    return bool(words) and any(
        all(
            one == other
            or (one in varied and _has_digit(other))
            or (drawn.is_own(one) and drawn.is_own(other))
            for one, other in zip(words, part, strict=True)
        )
        for part in (wanted[at : at + len(words)] for at in range(len(wanted) - len(words) + 1))
    )


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _said(models: Sequence[RecordedModelTurn]) -> list[list[str]]:
    """Return the words of each response of the models."""
    contents = (response.get("content") for model in models for response in model.responses)
    texts = (" ".join(str(part.get("text") or "") for part in parts_of(content)) for content in contents)
    return [*map(_tokens, texts)]


def _quoted(words: Sequence[str]) -> str:
    return f'"{" ".join(words)}"'[:_SHOWN] if words else "nothing"


def final_state(actual: JsonObject, expected: JsonObject, tolerances: Sequence[Tolerance] = ()) -> Check:
    """Compare the session's state after the last turn."""
    actual = as_recorded("state", expected, actual, tolerances)
    if same(actual, expected):
        return Check(name=STATE, status="passed", score=1.0, threshold=1.0)
    keys = sorted(
        key
        for key in actual.keys() | expected.keys()
        if key not in actual or key not in expected or not same(actual[key], expected[key])
    )
    told = ", ".join(f"{key} {_told(key, actual, expected)}" for key in keys)
    return Check(name=STATE, status="failed", score=0.0, threshold=1.0, detail=told)


def _told(key: str, actual: JsonObject, expected: JsonObject) -> str:
    if key not in actual:
        return "is missing"
    if key not in expected:
        return f"is new: {_short(actual[key])}"
    return f"is {_short(actual[key])}, was {_short(expected[key])}"


def stored_responses(
    actual: Sequence[Sequence[Step]],
    expected: Sequence[Sequence[Step]],
    tolerances: Sequence[Tolerance] = (),
) -> Check:
    """Compare the tool responses that the eval set holds with what the tools answered to the same calls, whichever came first in a turn."""
    problems: list[str] = []
    scores: list[float] = []
    for number, (ours, theirs) in enumerate(zip(actual, expected, strict=True), start=1):
        there, wanted = (
            [(call, step) for call, step in calls_of(steps) if step is not None] for steps in (ours, theirs)
        )
        missing = [step for call, step in wanted if not _take(there, call, step, tolerances)]
        scores.append(1 - len(missing) / len(wanted) if wanted else 1.0)
        problems += [f"turn {number}: {step.tool} responded {_short(step.value)}" for step in missing]
    score = sum(scores) / len(scores) if scores else 1.0
    return Check(
        name=RESPONSES,
        status="failed" if problems else "passed",
        score=score,
        threshold=1.0,
        turns=tuple(scores),
        detail=f"the eval set has responses that the replay did not give: {'; '.join(problems[:3])}"
        if problems
        else "",
    )


def _take(there: list[tuple[Step, Step]], call: Step, wanted: Step, tolerances: Sequence[Tolerance]) -> bool:
    """Take the response that is the wanted one: of the same call where that was made, and one that is exactly so first."""
    of_tool = [each for each in there if each[1].tool == wanted.tool]
    left = [each for each in of_tool if same(each[0].value, call.value)] or of_tool
    for allowed in ((), tolerances) if tolerances else ((),):
        for each in left:
            value = as_recorded("response", wanted.value, each[1].value, allowed, wanted.tool)
            if same(value, wanted.value):
                there.remove(each)
                return True
    return False


def _short(value: object) -> str:
    written = canonical(value)
    return written if len(written) <= _SHOWN else f"{written[: _SHOWN - 1]}…"


def compared_calls(
    actual: Sequence[Invocation],
    expected: Sequence[Invocation],
    criteria: Criteria,
    tolerances: Sequence[Tolerance] = (),
) -> EvaluationResult:
    """Score the calls with ADK's evaluator.

    Args:
        actual: What happened, turn by turn.
        expected: The golden; as many turns.
        criteria: How the calls are compared.
        tolerances: Which arguments may differ.
    """
    criterion = ToolTrajectoryCriterion(
        threshold=1.0 if criteria.trajectory is None else criteria.trajectory,
        match_type=ToolTrajectoryCriterion.MatchType[criteria.match.upper()],
        ignore_args=criteria.ignore_args,
    )
    evaluator = TrajectoryEvaluator(eval_metric=EvalMetric(metric_name=TRAJECTORY, criterion=criterion))
    shown = [
        _as_golden(one, other, criteria.match, tolerances) if tolerances else one
        for one, other in zip(actual, expected, strict=True)
    ]
    return evaluator.evaluate_invocations(shown, list(expected))


def matched_responses(
    actual: Sequence[Invocation], expected: Sequence[Invocation], threshold: float | None
) -> EvaluationResult:
    """Score the final responses with ADK's evaluator. Each one has to pass: to ADK it is enough that their mean does.

    One that is the golden's passes: without words it has no score. Where one alone is too low, the score is that one's.
    """
    from google.adk.evaluation.final_response_match_v1 import RougeEvaluator  # noqa: PLC0415 - it takes a while to import

    found = RougeEvaluator(EvalMetric(metric_name=RESPONSE, threshold=threshold)).evaluate_invocations(
        [*map(with_spoken, actual)], [*map(with_spoken, expected)]
    )
    turns = zip(found.per_invocation_results, actual, expected, strict=True)
    low = [
        each.score or 0.0
        for each, one, other in turns
        if each.eval_status is EvalStatus.FAILED
        and spoken(one.final_response) != spoken(other.final_response)
    ]
    if not low or found.overall_eval_status is not EvalStatus.PASSED:
        return found
    return found.model_copy(update={"overall_eval_status": EvalStatus.FAILED, "overall_score": min(low)})


def _as_golden(
    actual: Invocation, expected: Invocation, match: Match, tolerances: Sequence[Tolerance]
) -> Invocation:
    """Return the golden's arguments to each call that stands for one of the golden's.

    Calls that stand for the same one have the same arguments then, and no others do: so ADK's evaluator finds a match where
    there is one with the tolerances, and finds none where there is none.
    """
    ours = get_all_tool_calls(actual.intermediate_data)
    golden = get_all_tool_calls(expected.intermediate_data)
    ours_as_json, golden_as_json = [*map(arguments_of, ours)], [*map(arguments_of, golden)]

    def alike(one: int, other: int) -> bool:
        name = golden[one].name
        return name == ours[other].name and tolerated(
            name or "", golden_as_json[one], ours_as_json[other], tolerances
        )

    shown: list[types.FunctionCall] = list(ours)
    for row in aligned(len(golden), len(ours), alike, match):
        if row.alike and row.golden is not None and row.actual is not None:
            shown[row.actual] = ours[row.actual].model_copy(update={"args": golden[row.golden].args})
    return actual.model_copy(update={"intermediate_data": IntermediateData(tool_uses=shown)})


def responses_as_golden(
    actual: Sequence[Invocation], expected: Sequence[Invocation], tolerances: Sequence[Tolerance]
) -> list[Invocation]:
    """Return the turns, each with the golden's final response where its own may stand for that."""
    if not any(each.of == "final_response" for each in tolerances):
        return list(actual)
    return [_with_final(one, other, tolerances) for one, other in zip(actual, expected, strict=True)]


def _with_final(one: Invocation, golden: Invocation, tolerances: Sequence[Tolerance]) -> Invocation:
    wanted, said = spoken(golden.final_response), spoken(one.final_response)
    if not said or as_recorded("final_response", wanted, said, tolerances) != wanted:
        return one
    return one.model_copy(update={"final_response": golden.final_response})


_STATUS: dict[EvalStatus, CheckStatus] = {EvalStatus.PASSED: "passed", EvalStatus.FAILED: "failed"}


async def asked_metric(metric: Metric, actual: Sequence[Invocation], expected: Sequence[Invocation]) -> Check:
    """Ask a metric of one's own, as ADK does; what it raises is told."""
    if not metric.function:
        words = "needs a judge model, which a replay does not call; run `adk eval` for it"
        return Check(name=metric.name, status="skipped", detail=words)
    criterion = BaseCriterion.model_validate(metric.criterion)
    asked = EvalMetric(metric_name=metric.name, criterion=criterion, custom_function_path=metric.function)
    try:
        found = _function(metric.function)(asked, list(actual), list(expected), None)
        result: EvaluationResult = await found if inspect.isawaitable(found) else found
    except Exception as error:  # noqa: BLE001 - somebody's own code may raise anything; it is told
        return Check(name=metric.name, status="error", detail=error_words(error))
    return Check(
        name=metric.name,
        status=_STATUS.get(result.overall_eval_status, "skipped"),
        score=result.overall_score,
        threshold=criterion.threshold,
        turns=tuple(each.score for each in result.per_invocation_results),
    )


def _function(path: str) -> Callable[..., Any]:
    module, _, name = path.rpartition(".")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


def gone_turns(
    recorded: RecordedCase, config: SimulatedAgentConfig, heard_models: Sequence[Sequence[RecordedModelTurn]]
) -> list[tuple[int, RecordedModelTurn]]:
    """Return the recorded turns of models, each with the number of its turn, whose agent is not there any more and was not heard in the run.

    Where a real tool ran, that may have run the agent.
    """
    heard = {model.agent for models in heard_models for model in models}
    turns = enumerate(recorded.turns)
    said = [(number, model) for number, turn in turns for model in turn.models if _is_agents_own(turn, model)]
    missing = {model.agent for _, model in said} - heard
    gone = missing & known_agent(config).gone_agents(recorded) if missing else missing
    return [(number, model) for number, model in said if model.agent in gone]


def _is_agents_own(turn: RecordedTurn, model: RecordedModelTurn) -> bool:
    ran_real = any(call.author.source == "real" for call in turn.calls)
    return not (model.put_off or ran_real)
