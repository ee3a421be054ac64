"""Checks criteria as ADK will take them; the table of criteria is ADK's own."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.evaluation.eval_metrics import PrebuiltMetrics

from evalset.eval_config.adk_criteria import ALWAYS_REPORTED, CRITERIA, NEEDS
from evalset.eval_config.config_checks import CLASSES, check
from evalset.eval_config.config_edits import starting_document, usual_value, with_custom_metric


def test_every_metric_of_adk_is_in_the_table() -> None:
    """Those that pass or fail, and those that only inform."""
    named = [criterion.name for criterion in CRITERIA]
    assert sorted([*named, *ALWAYS_REPORTED]) == sorted(metric.value for metric in PrebuiltMetrics)
    assert {criterion.needs for criterion in CRITERIA} == set(NEEDS)


@pytest.mark.long
def test_the_table_says_what_adks_evaluators_read() -> None:
    """The class of each criterion, the range of its scores, whether it takes a threshold, and which rubrics it takes in."""
    from google.adk.evaluation.metric_evaluator_registry import (  # noqa: PLC0415 - takes longer to import than all else
        MetricEvaluatorRegistry,
    )

    registry = MetricEvaluatorRegistry()
    infos = {
        str(getattr(info.metric_name, "value", info.metric_name)): info
        for info in registry.get_registered_metrics()
    }
    evaluators = {
        str(getattr(name, "value", name)).removeprefix("PrebuiltMetrics."): made
        for name, (made, _) in registry._registry.items()
    }
    by_name = {name.lower(): made for name, made in evaluators.items()}
    for criterion in CRITERIA:
        interval = infos[criterion.name].metric_value_info.interval
        assert interval is not None
        assert (criterion.lowest, criterion.highest) == (interval.min_value, interval.max_value)
        evaluator: Any = by_name[criterion.name]
        read = getattr(evaluator, "criterion_type", None)
        if isinstance(read, type):
            assert CLASSES[criterion.kind] is read, criterion.name
        if criterion.kind == "rubrics":
            assert criterion.rubric_type == evaluator.RUBRIC_TYPE
    assert not any(infos[name].requires_threshold for name in ALWAYS_REPORTED)


def test_a_document_names_neither_where_a_model_is_nor_a_part_of_python() -> None:
    """Judges and the simulated user are asked at the server's address, and a metric is code of a project."""
    document: dict[str, Any] = {
        "criteria": {
            "final_response_match_v2": {
                "threshold": 0.5,
                "judge_model_options": {
                    "judge_model_config": {"http_options": {"base_url": "http://x.example"}}
                },
            },
            "own": 0.5,
        },
        "custom_metrics": {"own": {"code_config": {"name": "os.system"}}},
        "user_simulator_config": {"model_configuration": {"http_options": {"headers": {"a": "b"}}}},
    }
    assert {flaw.place for flaw in check(document) if flaw.severity == "error"} == {
        "criteria.final_response_match_v2.judge_model_options.judge_model_config.http_options.base_url",
        "custom_metrics.own.code_config.name",
        "user_simulator_config.model_configuration.http_options.headers",
    }


def test_what_adk_takes_has_no_flaw() -> None:
    """The usual criteria, all of them at once with their usual thresholds, and metrics of one's own."""
    assert check(starting_document()) == ()
    rubrics = [{"rubric_id": "short", "rubric_content": {"text_property": "It is short."}}]
    everything: dict[str, Any] = {
        "criteria": {
            criterion.name: {"threshold": usual_value(criterion.name), "rubrics": rubrics}
            if criterion.kind == "rubrics"
            else usual_value(criterion.name)
            for criterion in CRITERIA
        },
        "userSimulatorConfig": {"maxAllowedInvocations": 3, "type": None},
        "live_model_config": {"timeout_seconds": 20},
    }
    assert check(with_custom_metric(everything, "mine", "desk.metrics.mine")) == ()


JUDGED = "criteria.hallucinations_v1"
QUALITY = "rubric_based_tool_use_quality_v1"
SIMULATED = "user_simulator_config"


def with_rubrics(*contents: dict[str, str]) -> dict[str, Any]:
    """Make a document with rubrics of one id, and of these contents."""
    rubrics = [{"rubric_id": "a", "rubric_content": content} for content in contents]
    return {"criteria": {QUALITY: {"threshold": 0.5, "rubrics": rubrics}}}


CONFIGURED = "criteria.hallucinations_v1.judge_model_options.judge_model_config"


def judged_by(configuration: dict[str, Any]) -> dict[str, Any]:
    """Return criteria whose judge has a configuration."""
    judge = {"judge_model_options": {"judge_model_config": configuration}}
    return {"criteria": {"hallucinations_v1": {"threshold": 0.5, **judge}}}


def measured(more: dict[str, Any]) -> dict[str, Any]:
    """Return criteria with a custom metric of which more is said."""
    document: dict[str, Any] = with_custom_metric(starting_document(), "mine", "desk.mine")
    document["custom_metrics"]["mine"] |= more
    return document


@pytest.mark.parametrize(
    ("document", "place", "sentence"),
    [
        ({}, "criteria", "counts as failed"),
        ({"criteria": []}, "criteria", "an object"),
        ({"criteria": {"respons_match_score": 1}}, "criteria.respons_match_score", "has no metric"),
        ({"criteria": {"token_usage_v1": 1}}, "criteria.token_usage_v1", "`adk eval`"),
        ({"criteria": {"safety_v1": "high"}}, "criteria.safety_v1", "a number"),
        ({"criteria": {"safety_v1": True}}, "criteria.safety_v1", "a number"),
        ({"criteria": {"safety_v1": {}}}, "criteria.safety_v1.threshold", "required"),
        ({"criteria": {"safety_v1": 1.5}}, "criteria.safety_v1", "never passes"),
        (
            {"criteria": {"response_evaluation_score": 1}},
            "criteria.response_evaluation_score",
            "always passes",
        ),
        (
            {"criteria": {"tool_trajectory_avg_score": {"threshold": 1, "match_type": "SOME_ORDER"}}},
            "criteria.tool_trajectory_avg_score.match_type",
            "EXACT, IN_ORDER, ANY_ORDER",
        ),
        (
            {"criteria": {"tool_trajectory_avg_score": {"threshold": 1, "ignore_arguments": True}}},
            "criteria.tool_trajectory_avg_score.ignore_arguments",
            "ignore_args",
        ),
        (
            {"criteria": {"hallucinations_v1": {"threshold": 1, "judge_model_options": {"num_samples": 0}}}},
            f"{JUDGED}.judge_model_options.num_samples",
            " 1",
        ),
        ({"criteria": {QUALITY: 0.5}}, f"criteria.{QUALITY}.rubrics", "TOOL_USE_QUALITY"),
        (with_rubrics(*[{"text_property": "x"}] * 2), f"criteria.{QUALITY}.rubrics[1]", "already used"),
        (with_rubrics({}), f"criteria.{QUALITY}.rubrics[0]", "no `text_property`"),
        ({**starting_document(), "criterias": {}}, "criterias", "ignores this field"),
        (
            {**starting_document(), SIMULATED: {"custom_instructions": "be nice"}},
            f"{SIMULATED}.custom_instructions",
            "placeholders",
        ),
        ({**starting_document(), SIMULATED: {"type": "other"}}, SIMULATED, "'llm_backed'"),
        ({**starting_document(), SIMULATED: {"modle": "x"}}, f"{SIMULATED}.modle", "ignores this field"),
        (
            {**starting_document(), "custom_metrics": {"mine": {"code_config": {"name": "desk.mine"}}}},
            "custom_metrics.mine",
            "never evaluated",
        ),
        (
            with_custom_metric(starting_document(), "mine", "counts"),
            "custom_metrics.mine.code_config.name",
            "function path",
        ),
        (
            {**starting_document(), "custom_metrics": {"mine": {}}},
            "custom_metrics.mine.codeConfig",
            "required",
        ),
        (judged_by({"temprature": 0.2}), f"{CONFIGURED}.temprature", "not permitted"),
        (
            judged_by({"thinking_config": {"thinking_budget": "much"}}),
            f"{CONFIGURED}.thinking_config.thinking_budget",
            "integer",
        ),
        (measured({"metric_inf": {}}), "custom_metrics.mine.metric_inf", "ignores this field"),
        (measured({"metric_info": {"name": "x"}}), "custom_metrics.mine.metric_info.name", "not permitted"),
        (
            measured({"metric_info": {"metric_value_info": {"interval": {"min_value": 2, "max_value": 1}}}}),
            "custom_metrics.mine.metric_info.metric_value_info.interval",
            "above",
        ),
        (
            {**starting_document(), "live_model_config": {"timeout": 3}},
            "live_model_config.timeout",
            "ignores",
        ),
    ],
)
def test_each_flaw_is_named_with_its_place(document: dict[str, Any], place: str, sentence: str) -> None:
    """ADK itself finds some of these only when all cases have run, and some never."""
    flaws = check(document)
    assert place in [flaw.place for flaw in flaws], flaws
    assert any(sentence in flaw.sentence for flaw in flaws if flaw.place == place), flaws
