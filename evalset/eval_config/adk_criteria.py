"""All criteria of google-adk 2.13 in words: what each measures, from where on it usually passes, what it can be told, what it needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from simulator.base.frozen_value import Value

Kind: TypeAlias = Literal["plain", "trajectory", "judge", "rubrics", "hallucinations", "user_simulator"]
"""Which of ADK's criterion classes a metric reads."""

Needs: TypeAlias = Literal["nothing", "judge", "vertex"]

NEEDS: Mapping[Needs, str] = {
    "nothing": "Runs locally.",
    "judge": "Calls a model several times for each turn. Needs its key (`GOOGLE_API_KEY` for Gemini).",
    "vertex": (
        "Calls Vertex AI. Needs `GOOGLE_API_KEY`, or `GOOGLE_CLOUD_PROJECT` and `GOOGLE_CLOUD_LOCATION` with a login."
    ),
}
"""What a metric needs, in a sentence each."""


class Criterion(Value):
    """A metric that can pass or fail a case.

    Attributes:
        name: Its name in an `EvalConfig`.
        title: Its name for a person.
        sentence: What it measures.
        kind: What it can be told beside the threshold.
        needs: What has to be there for it.
        usual: The threshold that it begins with.
        lowest: The least score.
        highest: The best score.
        rubric_type: The `type` of the rubrics of a case that it takes in.
        needs_golden: Whether it compares with what a golden expects, so that a case that a simulated user plays gets no score.
    """

    name: str
    title: str
    sentence: str
    kind: Kind = "plain"
    needs: Needs = "nothing"
    usual: float = 0.8
    lowest: float = 0.0
    highest: float = 1.0
    rubric_type: str = ""
    needs_golden: bool = False


CRITERIA: tuple[Criterion, ...] = (
    Criterion(
        name="tool_trajectory_avg_score",
        title="Tool calls",
        sentence="The tool calls match the golden trace.",
        kind="trajectory",
        usual=1.0,
        needs_golden=True,
    ),
    Criterion(
        name="response_match_score",
        title="Response wording",
        sentence="The final response shares its words with the golden one (ROUGE-1).",
        needs_golden=True,
    ),
    Criterion(
        name="final_response_match_v2",
        title="Response meaning",
        sentence="A judge model checks that the final response means the same as the golden one.",
        kind="judge",
        needs="judge",
        needs_golden=True,
    ),
    Criterion(
        name="rubric_based_final_response_quality_v1",
        title="Response rubrics",
        sentence="A judge model checks the final response against your rubrics.",
        kind="rubrics",
        needs="judge",
        rubric_type="FINAL_RESPONSE_QUALITY",
    ),
    Criterion(
        name="rubric_based_tool_use_quality_v1",
        title="Tool use rubrics",
        sentence="A judge model checks the tool use against your rubrics.",
        kind="rubrics",
        needs="judge",
        rubric_type="TOOL_USE_QUALITY",
    ),
    Criterion(
        name="rubric_based_multi_turn_trajectory_quality_v1",
        title="Conversation rubrics",
        sentence="A judge model checks the whole conversation against your rubrics.",
        kind="rubrics",
        needs="judge",
        rubric_type="TRAJECTORY_QUALITY",
    ),
    Criterion(
        name="hallucinations_v1",
        title="Hallucinations",
        sentence="A judge model checks that tool responses support each claim of the response.",
        kind="hallucinations",
        needs="judge",
    ),
    Criterion(
        name="per_turn_user_simulator_quality_v1",
        title="Simulated user",
        sentence="A judge model checks each message of the simulated user against its scenario.",
        kind="user_simulator",
        needs="judge",
    ),
    Criterion(name="safety_v1", title="Safety", sentence="The final response is harmless.", needs="vertex"),
    Criterion(
        name="response_evaluation_score",
        title="Response coherence",
        sentence="The final response is coherent, from 1 to 5.",
        needs="vertex",
        usual=3.5,
        lowest=1.0,
        highest=5.0,
        needs_golden=True,
    ),
    Criterion(
        name="multi_turn_task_success_v1",
        title="Task success",
        sentence="The goals of the conversation were reached. Needs no golden trace.",
        needs="vertex",
    ),
    Criterion(
        name="multi_turn_trajectory_quality_v1",
        title="Conversation trajectory",
        sentence="The steps toward the goals of the conversation were good. Needs no golden trace.",
        needs="vertex",
    ),
    Criterion(
        name="multi_turn_tool_use_quality_v1",
        title="Conversation tool use",
        sentence="The tool calls of the whole conversation were good. Needs no golden trace.",
        needs="vertex",
    ),
)
"""Every metric of ADK that passes or fails, the ones that need nothing first."""

ALWAYS_REPORTED: tuple[str, ...] = (
    "tool_call_count_v1",
    "inference_call_count_v1",
    "token_usage_v1",
    "invocation_duration_v1",
)
"""What ADK reports of every run by itself. Naming one as a criterion makes `adk eval` fail."""

_BY_NAME = {criterion.name: criterion for criterion in CRITERIA}


def criterion_named(name: str) -> Criterion | None:
    """Return ADK's own metric of this name; None for any other."""
    return _BY_NAME.get(name)
