"""Compares calls and final responses with ADK's own evaluators where they may differ: what is tolerated is shown to them as the golden has it."""

from __future__ import annotations

from collections.abc import Sequence

from google.adk.evaluation.eval_case import IntermediateData, Invocation, get_all_tool_calls
from google.adk.evaluation.eval_metrics import EvalMetric, EvalStatus, ToolTrajectoryCriterion
from google.adk.evaluation.evaluator import EvaluationResult
from google.adk.evaluation.trajectory_evaluator import TrajectoryEvaluator
from google.genai import types

from evalset.golden_trace.golden_steps import arguments_of, spoken, with_spoken
from evalset.recorded.tolerances import Tolerance, as_recorded, tolerated
from evalset.verify.criteria import RESPONSE, TRAJECTORY, Criteria, Match
from evalset.verify.divergence import aligned


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
