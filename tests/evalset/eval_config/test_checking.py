"""Checks criteria as ADK will take them; the table of criteria is ADK's own."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.evaluation.eval_metrics import PrebuiltMetrics

from evalset.eval_config.config_checks import CLASSES, check, unmet
from evalset.eval_config.config_edits import (
    ALWAYS_REPORTED,
    CRITERIA,
    NEEDS,
    starting_document,
    usual_value,
    with_custom_metric,
)


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
    judge = {"judge_model_config": {"http_options": {"base_url": "http://x.example"}}}
    document: dict[str, Any] = {
        "criteria": {
            "final_response_match_v2": {"threshold": 0.5, "judge_model_options": judge},
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


QUALITY = "rubric_based_tool_use_quality_v1"
SIMULATED = "user_simulator_config"


Flawed = tuple[dict[str, Any], str]
"""A document, and the place of its flaw."""


def of(name: str, value: Any, place: str = "") -> Flawed:
    """Make criteria of which one has this value, with a flaw somewhere in it."""
    return {"criteria": {name: value}}, f"criteria.{name}{place}"


def beside(name: str, value: dict[str, Any], place: str = "") -> Flawed:
    """Make a document with this member beside its criteria."""
    return {**starting_document(), name: value}, f"{name}{place}"


def with_rubrics(*contents: dict[str, str]) -> Flawed:
    """Make a document with rubrics of one id, and of these contents; the last is wrong."""
    rubrics = [{"rubric_id": "a", "rubric_content": content} for content in contents]
    return of(QUALITY, {"threshold": 0.5, "rubrics": rubrics}, f".rubrics[{len(contents) - 1}]")


def judged(options: dict[str, Any], place: str) -> Flawed:
    """Make criteria whose judge has these options."""
    given = {"threshold": 0.5, "judge_model_options": options}
    return of("hallucinations_v1", given, f".judge_model_options.{place}")


def configured(configuration: dict[str, Any], place: str) -> Flawed:
    """Make criteria whose judge has a configuration."""
    return judged({"judge_model_config": configuration}, f"judge_model_config.{place}")


def measured(more: dict[str, Any], place: str) -> Flawed:
    """Make criteria with a custom metric of which more is said."""
    document: dict[str, Any] = with_custom_metric(starting_document(), "mine", "desk.mine")
    document["custom_metrics"]["mine"] |= more
    return document, f"custom_metrics.mine.{place}"


TRAJECTORY = "tool_trajectory_avg_score"
OPPOSITE = {"metric_value_info": {"interval": {"min_value": 2, "max_value": 1}}}


@pytest.mark.parametrize(
    ("flawed", "sentence"),
    [
        (({}, "criteria"), "counts as failed"),
        (({"criteria": []}, "criteria"), "an object"),
        (of("respons_match_score", 1), "did you mean response_match_score"),
        (of("token_usage_v1", 1), "`adk eval`"),
        (of("safety_v1", "high"), "a number"),
        (of("safety_v1", True), "a number"),
        (of("safety_v1", {}, ".threshold"), "required"),
        (of("safety_v1", 1.5), "never passes"),
        (of("response_evaluation_score", 1), "always passes"),
        (of(TRAJECTORY, {"threshold": 1, "match_type": "SOME"}, ".match_type"), "EXACT, IN_ORDER, ANY_ORDER"),
        (of(TRAJECTORY, {"threshold": 1, "ignore_arguments": True}, ".ignore_arguments"), "ignore_args"),
        (judged({"num_samples": 0}, "num_samples"), " 1"),
        (of(QUALITY, 0.5, ".rubrics"), "TOOL_USE_QUALITY"),
        (with_rubrics(*[{"text_property": "x"}] * 2), "already used"),
        (with_rubrics({}), "no `text_property`"),
        (beside("criterias", {}), "ignores this field"),
        (beside(SIMULATED, {"custom_instructions": "be nice"}, ".custom_instructions"), "placeholders"),
        (beside(SIMULATED, {"type": "other"}), "'llm_backed'"),
        (beside(SIMULATED, {"modle": "x"}, ".modle"), "ignores this field"),
        (
            beside("custom_metrics", {"mine": {"code_config": {"name": "desk.mine"}}}, ".mine"),
            "never evaluated",
        ),
        (measured({"code_config": {"name": "counts"}}, "code_config.name"), "function path"),
        (beside("custom_metrics", {"mine": {}}, ".mine.codeConfig"), "required"),
        (configured({"temprature": 0.2}, "temprature"), "not permitted"),
        (
            configured({"thinking_config": {"thinking_budget": "x"}}, "thinking_config.thinking_budget"),
            "integer",
        ),
        (measured({"metric_inf": {}}, "metric_inf"), "ignores this field"),
        (measured({"metric_info": {"name": "x"}}, "metric_info.name"), "not permitted"),
        (measured({"metric_info": OPPOSITE}, "metric_info.metric_value_info.interval"), "above"),
        (beside("live_model_config", {"timeout": 3}, ".timeout"), "ignores"),
    ],
)
def test_each_flaw_is_named_with_its_place(flawed: Flawed, sentence: str) -> None:
    """ADK itself finds some of these only when all cases have run, and some never."""
    document, place = flawed
    flaws = check(document)
    assert place in [flaw.place for flaw in flaws], flaws
    assert any(sentence in flaw.sentence for flaw in flaws if flaw.place == place), flaws


DOCUMENT: dict[str, Any] = {
    "criteria": {
        "response_match_score": 0.8,
        "hallucinations_v1": 0.5,
        "final_response_match_v2": {"threshold": 0.5, "judgeModelOptions": {"judgeModel": "local/judge"}},
        "safety_v1": 0.5,
    },
    "user_simulator_config": {"model": "local/user"},
}


def problem_of(name: str) -> str | None:
    """Say that Gemini has no key."""
    return None if name.startswith("local/") else f"{name}: no key"


def found(environ: dict[str, str], scenarios: int = 0, document: Any = DOCUMENT) -> list[str]:
    """Return what is named."""
    return list(unmet(document, environ, problem_of=problem_of, scenarios=scenarios))


def test_a_judge_and_vertex_are_named_where_they_cannot_be_asked() -> None:
    """A judge of one's own is not Gemini; nothing is needed for what runs on this machine."""
    assert found({}) == [
        "hallucinations_v1: gemini-2.5-flash: no key",
        "safety_v1: set GOOGLE_API_KEY, or GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION",
    ]
    assert len(found({"GOOGLE_CLOUD_PROJECT": "p"})) == 2
    assert len(found({"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l"})) == 1
    assert found({}, document=starting_document()) == []


def test_scenarios_need_a_model_that_plays_the_user() -> None:
    """The one that is named, or ADK's own."""
    assert found({"GOOGLE_API_KEY": "k"}, 3)[1:] == []
    assert found({}, 2, starting_document()) == ["simulated user (2 cases): gemini-2.5-flash: no key"]
