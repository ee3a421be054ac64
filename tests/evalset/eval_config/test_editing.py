"""Edits documents of criteria: what is changed is what was asked for, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.eval_config import EvalConfig
from hypothesis import given
from hypothesis import strategies as st

from evalset.eval_config.config_edits import (
    CRITERIA,
    INTERVAL,
    ConfigError,
    config_of,
    criteria_in,
    custom_metrics,
    load,
    option,
    read_document,
    rubric_lines,
    rubrics_from,
    save,
    starting_document,
    threshold,
    value_at,
    with_criterion,
    with_custom_metric,
    with_metric_field,
    with_option,
    with_threshold,
    with_value,
    written,
)

CAMEL: dict[str, Any] = {
    "criteria": {
        "hallucinations_v1": {
            "threshold": 0.5,
            "judgeModelOptions": {"numSamples": 3, "odd": 1},
            "mine": [1],
        },
        "response_match_score": 0.25,
    },
    "userSimulatorConfig": {"model": "m"},
    "unknown": {"deep": 1},
}


def test_a_criterion_is_switched_on_and_off() -> None:
    """The others stay, in their order, and a file ends as text files do."""
    assert written(starting_document()).endswith("}\n")
    document = with_criterion(starting_document(), "safety_v1", 0.9)
    assert criteria_in(document) == ("tool_trajectory_avg_score", "response_match_score", "safety_v1")
    assert criteria_in(with_criterion(document, "response_match_score", None)) == (
        "tool_trajectory_avg_score",
        "safety_v1",
    )
    assert with_criterion(with_criterion({}, "safety_v1", 0.9), "safety_v1", None) == {"criteria": {}}


def test_an_option_makes_an_object_of_a_number_and_back() -> None:
    """What is left with a threshold alone is the number that it was."""
    document = starting_document()
    made = with_option(document, "tool_trajectory_avg_score", ("match_type",), "IN_ORDER")
    assert value_at(made, ("criteria", "tool_trajectory_avg_score")) == {
        "threshold": 1.0,
        "match_type": "IN_ORDER",
    }
    assert with_threshold(made, "tool_trajectory_avg_score", 0.5)["criteria"] == {
        "tool_trajectory_avg_score": {"threshold": 0.5, "match_type": "IN_ORDER"},
        "response_match_score": 0.8,
    }
    assert with_option(made, "tool_trajectory_avg_score", ("match_type",), None) == document
    deep = with_option(document, "response_match_score", ("judge_model_options", "num_samples"), 2)
    assert with_option(deep, "response_match_score", ("judge_model_options", "num_samples"), None) == document


def test_both_spellings_are_read_and_kept() -> None:
    """ADK reads camel case too: an edit does not add the same field once more."""
    path = ("judge_model_options", "num_samples")
    assert option(CAMEL, "hallucinations_v1", path) == 3
    made = with_option(CAMEL, "hallucinations_v1", path, 4)
    assert made["criteria"]["hallucinations_v1"] == {  # type: ignore[index,call-overload] # it is the object of above
        "threshold": 0.5,
        "judgeModelOptions": {"numSamples": 4, "odd": 1},
        "mine": [1],
    }
    simulated = with_value(CAMEL, ("user_simulator_config", "model"), "other")
    assert simulated["userSimulatorConfig"] == {"model": "other"}
    assert "user_simulator_config" not in simulated


def test_the_name_of_a_metric_has_one_spelling() -> None:
    """`my_metric` is not `myMetric`."""
    document: dict[str, Any] = {"criteria": {"myMetric": 0.5}}
    assert threshold(document, "my_metric") is None
    assert criteria_in(with_threshold(document, "my_metric", 0.25)) == ("myMetric", "my_metric")


@given(
    name=st.sampled_from([criterion.name for criterion in CRITERIA]),
    value=st.floats(0, 5, allow_nan=False),
)
def test_an_edit_of_one_criterion_leaves_the_rest(name: str, value: float) -> None:
    """Whatever is set, all else is as it was, and the document that was given is not touched."""
    before = written(CAMEL)
    made = with_threshold(CAMEL, name, value)
    assert written(CAMEL) == before
    assert threshold(made, name) == value
    without = {other: held for other, held in made["criteria"].items() if other != name}  # type: ignore[union-attr] # an object
    assert without == {other: held for other, held in CAMEL["criteria"].items() if other != name}
    assert {key: held for key, held in made.items() if key != "criteria"} == {
        key: held for key, held in CAMEL.items() if key != "criteria"
    }
    assert read_document(written(made)) == made


def test_rubrics_are_lines_and_what_lines_do_not_show_stays() -> None:
    """A line that was not touched keeps its rubric whole; a changed one keeps its id's description and type."""
    rubrics = [
        {
            "rubricId": "polite",
            "rubricContent": {"textProperty": "It is\npolite."},
            "type": "FINAL_RESPONSE_QUALITY",
        },
        {"rubric_id": "short", "rubric_content": {"text_property": "It is short."}, "description": "words"},
    ]
    lines = rubric_lines(rubrics)
    assert lines == "polite: It is polite.\nshort: It is short."
    assert rubrics_from(lines, rubrics) == rubrics
    changed = rubrics_from("short: At most: 20 words.\n\nNames the order.\npolite: It is polite.", rubrics)
    assert changed == [
        {
            "rubric_id": "short",
            "rubric_content": {"text_property": "At most: 20 words."},
            "description": "words",
        },
        {"rubric_id": "rubric_2", "rubric_content": {"text_property": "Names the order."}},
        rubrics[0],
    ]
    assert rubric_lines("no list") == ""


def test_a_metric_of_ones_own_comes_with_a_threshold_and_goes_with_it() -> None:
    """Nothing of it is left behind."""
    document = with_custom_metric(starting_document(), "counts", "desk.metrics.counts")
    assert custom_metrics(document) == {"counts": "desk.metrics.counts"}
    assert threshold(document, "counts") == 0.8
    assert with_custom_metric(document, "counts", None) == starting_document()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{\n  3", "line 2, column 3"),
        ("[]", "JSON object"),
        ('{"a": NaN}', "NaN"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_text_that_is_no_document_is_refused(text: str, reason: str) -> None:
    """The place is named; an empty text is a document without criteria."""
    with pytest.raises(ConfigError, match=reason):
        read_document(text)
    assert read_document(" \n") == {}


def test_the_range_of_a_custom_metric_is_one_that_adk_reads() -> None:
    """With both ends, a name and the description; an end that is taken away is ADK's own again, and all else stays."""
    document = with_custom_metric(starting_document(), "counts", "desk.metrics.counts")
    document = with_metric_field(document, "counts", ("description",), "Counts.")
    document = with_metric_field(document, "counts", (*INTERVAL, "min_value"), -5.0)
    (metric,) = (EvalConfig.model_validate(document).custom_metrics or {}).values()
    assert metric.metric_info is not None
    interval = metric.metric_info.metric_value_info.interval
    assert interval is not None
    assert (interval.min_value, interval.max_value) == (-5.0, 1.0)
    assert metric.metric_info.description == "Counts."
    document = with_metric_field(document, "counts", (*INTERVAL, "min_value"), None)
    assert value_at(document, ("custom_metrics", "counts", *INTERVAL)) == {"min_value": 0.0, "max_value": 1.0}
    camel: Any = {"custom_metrics": {"counts": {"metricInfo": {"metricName": "x", "metricValueInfo": {}}}}}
    made = with_metric_field(camel, "counts", (*INTERVAL, "max_value"), 9.0)
    info: Any = value_at(made, ("custom_metrics", "counts"))["metricInfo"]
    assert info == {
        "metricName": "x",
        "metricValueInfo": {"interval": {"max_value": 9.0, "min_value": 0.0}},
    }


def test_criteria_are_saved_beside_their_set_and_loaded_again(tmp_path: Path) -> None:
    """ADK looks for the same name; a link is followed; no other file is left."""
    path = config_of(tmp_path / "desk.evalset.json")
    assert path == tmp_path / "test_config.json"
    assert load(path) is None
    save(path, written(starting_document()), before=None)
    real = tmp_path / "elsewhere"
    real.mkdir()
    path.rename(real / "criteria.json")
    path.symlink_to(real / "criteria.json")
    save(path, "{}\n", before=written(starting_document()))
    assert load(real / "criteria.json") == "{}\n"
    assert sorted(found.name for found in tmp_path.rglob("*")) == [
        "criteria.json",
        "elsewhere",
        "test_config.json",
    ]


def test_what_somebody_else_has_changed_is_not_overwritten(tmp_path: Path) -> None:
    """Also a file that was not there when nothing was loaded; it stays as it is."""
    path = tmp_path / "test_config.json"
    path.write_text("theirs")
    for before in (None, "mine"):
        with pytest.raises(ConfigError, match="changed on disk"):
            save(path, "{}", before=before)
    assert path.read_text() == "theirs"


def test_what_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    """The file and the reason."""
    path = tmp_path / "test_config.json"
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"test_config\.json: .*byte 0"):
        load(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path)
    with pytest.raises(ConfigError, match="cannot be written"):
        save(tmp_path / "nowhere" / "test_config.json", "{}", before=None)
