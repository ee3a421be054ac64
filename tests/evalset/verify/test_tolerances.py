"""Verifies with tolerances, proposes them from runs, and has plain `adk eval` heed them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalset.recorded.recording_files import read_environment, sidecar_of
from evalset.recorded.tolerances import (
    CaseInsensitive,
    Ignore,
    OneOfTolerance,
    PatternTolerance,
    Range,
    Tolerance,
    Unordered,
    as_recorded,
    tolerated,
)
from evalset.verify import (
    Criteria,
    RunResult,
    VerifyError,
    eval_config,
    keep_tolerances,
    propose_tolerances,
    tolerances_of,
    verify,
)
from evalset.verify.results import ActualTurn
from tests.evalset.recorded.test_files import json_values
from tests.evalset.verify.desks import agents, copied_set, divergence_of, recorded_set, the_run
from tests.harness.adk_process import run_adk_eval

LOWER = ("return calls(tool, order=order)", "return calls(tool, order=order.lower())")
QUERIES = ("check A, check B; note A", "check C")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An eval set with two cases in which the user says the same in the second turn."""
    return recorded_set(tmp_path_factory.mktemp("kept"), {"two": QUERIES, "one": ["check A"]})


@pytest.mark.long
def test_arguments_that_may_differ_get_the_recorded_answers_and_pass(kept: Path, tmp_path: Path) -> None:
    """Unless nothing is to be tolerated; another case has its own."""
    eval_set, changed = copied_set(kept, tmp_path), agents(tmp_path, LOWER)
    assert verify(eval_set, agents_dir=changed).count("failed") == 2
    allowed = (CaseInsensitive(tool="*", path="order"),)
    keep_tolerances(eval_set, "two", allowed)
    assert (tolerances_of(eval_set, "two"), tolerances_of(eval_set, "one")) == (allowed, ())
    verification = verify(eval_set, agents_dir=changed)
    assert [case.status for case in verification.cases] == ["passed", "failed"]
    assert {check.score for check in verification.cases[0].runs[0].checks} == {1.0}
    exactly = verify(eval_set, agents_dir=changed, cases=["two"], criteria=Criteria(tolerances=False))
    assert the_run(exactly).unrecorded


def test_arguments_that_do_not_count_are_answered_by_the_tool_alone(kept: Path, tmp_path: Path) -> None:
    """As ADK's `ignore_args` has it."""
    changed = agents(tmp_path, LOWER)
    assert verify(kept, agents_dir=changed, criteria=Criteria(ignore_args=True)).status == "passed"


def test_a_divergence_is_no_argument_that_may_differ(kept: Path, tmp_path: Path) -> None:
    """The first call differs in what it may, the note in what it may not."""
    eval_set, changed = copied_set(kept, tmp_path), agents(tmp_path, LOWER)
    keep_tolerances(eval_set, "two", [Ignore(tool="check", path="order")])
    found = divergence_of(the_run(verify(eval_set, agents_dir=changed, cases=["two"])))
    assert (found.turn, found.what) == (0, "arguments")
    assert found.pairs[0].golden is not None
    assert found.pairs[0].golden.tool == "note"


def run_of(*calls: dict[str, Any], tool: str = "find") -> RunResult:
    """Make a run of one turn."""
    uses = [{"name": tool, "args": arguments} for arguments in calls]
    data = {"tool_uses": uses, "tool_responses": [], "intermediate_responses": []}
    invocation = {"user_content": {"role": "user", "parts": [{"text": "go"}]}, "intermediate_data": data}
    return RunResult(passed=False, models="real", turns=(ActualTurn(invocation=invocation),))


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([1, 1, 1], []),
        ([1, 3, 2.5], [Range(tool="find", path="x", low=1, high=3)]),
        (["Ada", "ADA"], [CaseInsensitive(tool="find", path="x")]),
        ([[1, 2], [2, 1]], [Unordered(tool="find", path="x")]),
        (["A-1", "A-22"], [PatternTolerance(tool="find", path="x", pattern="A\\-[0-9]+")]),
        (["red", "blue", "red", "blue"], [OneOfTolerance(tool="find", path="x", values=("red", "blue"))]),
        (["some words", "other words"], [Ignore(tool="find", path="x")]),
        ([{"a": 1, "b": "x y"}, {"a": 1, "b": "z"}, {"a": 1}], [Ignore(tool="find", path="x.b")]),
        ([[{"p": 1}, {"p": 5}], [{"p": 2}, {"p": 5}]], [Range(tool="find", path="x[*].p", low=1, high=2)]),
        ([[1], [1, 2]], [Ignore(tool="find", path="x")]),
        ([True, False, True, False], [OneOfTolerance(tool="find", path="x", values=(True, False))]),
    ],
)
def test_each_way_to_differ_has_its_tolerance(values: list[Any], wanted: list[Tolerance]) -> None:
    """The narrowest that a person would write."""
    assert list(propose_tolerances([run_of({"x": value}) for value in values])) == wanted


@pytest.mark.long
@given(
    st.lists(
        st.lists(
            st.dictionaries(st.sampled_from(["x", "y", "odd name"]), json_values, max_size=3),
            min_size=2,
            max_size=2,
        ),
        min_size=2,
        max_size=4,
    )
)
def test_what_is_proposed_lets_each_run_stand_for_each_other(runs: list[list[dict[str, Any]]]) -> None:
    """Whatever the arguments were."""
    proposed = propose_tolerances([run_of(*calls) for calls in runs])
    for calls in runs:
        for others in runs:
            for recorded, asked in zip(calls, others, strict=True):
                assert tolerated("find", recorded, asked, proposed), proposed


def test_tolerances_of_what_is_not_there_are_refused(kept: Path, tmp_path: Path) -> None:
    """A case that is not recorded; a file that is not there, or is something else. Nothing is written."""
    before = sidecar_of(kept).read_bytes()
    with pytest.raises(VerifyError, match="no case 'three'"):
        keep_tolerances(kept, "three", [])
    assert sidecar_of(kept).read_bytes() == before
    with pytest.raises(VerifyError, match="cannot be read"):
        keep_tolerances(tmp_path / "none.evalset.json", "one", [])
    (tmp_path / "odd.environment.json").write_text("[]")
    with pytest.raises(VerifyError, match="JSON object"):
        tolerances_of(tmp_path / "odd.evalset.json", "one")
    assert read_environment(sidecar_of(kept)).cases["one"].tolerances == ()


@pytest.mark.long
@pytest.mark.process
def test_plain_adk_eval_heeds_the_tolerances(kept: Path, tmp_path: Path) -> None:
    """By the metric of the config that we give it; ADK's own metric does not, and a case without tolerances fails in both."""
    eval_set = copied_set(kept, tmp_path)
    keep_tolerances(eval_set, "two", [CaseInsensitive(tool="*", path="order")])
    folder = agents(tmp_path, LOWER) / "desk"
    source = folder / "agent.py"
    lines = (
        "from evalset import HermeticEnvironment\n"
        f"app = App(name='desk', root_agent=root_agent, plugins=[HermeticEnvironment({str(sidecar_of(eval_set))!r})])\n"
    )
    source.write_text(source.read_text() + lines)
    config = json.loads(json.dumps(eval_config(eval_set, criteria=Criteria(response=None))))
    criteria = {**config.pop("criteria"), "tool_trajectory_avg_score": 1.0}
    outcome = run_adk_eval(folder, eval_set, criteria=criteria, config=config)
    scores = {eval_id: dict(found) for eval_id, found in outcome.scores.items()}
    assert {
        eval_id: (found["tolerant_trajectory"], found["tool_trajectory_avg_score"])
        for eval_id, found in scores.items()
    } == {"two": (1.0, 0.0), "one": (0.0, 0.0)}, outcome.output


def said(*texts: str) -> RunResult:
    """Make a run whose turns end with these texts."""
    turns = [
        ActualTurn(
            invocation={
                "user_content": {"role": "user", "parts": [{"text": "go"}]},
                "final_response": {"role": "model", "parts": [{"text": text}]},
            }
        )
        for text in texts
    ]
    return RunResult(passed=False, models="real", turns=tuple(turns))


@pytest.mark.parametrize(
    ("runs", "allowed", "refused"),
    [
        ([("Nothing on 2026-11-27 15:43:05.",), ("Nothing on 2026-11-28 09:01:10.",)], "Nothing on 2026-12-01 00:00:00.", "All on 2026-12-01 00:00:00."),
        ([("Order A-17 is here.", "Bye"), ("Order B-2 is here.", "Bye")], "Order C-33 is here.", "Order C-33 is gone."),
    ],
    ids=["times", "ids"],
)  # fmt: skip
def test_words_with_digits_in_a_final_response_may_differ(
    runs: list[tuple[str, ...]], allowed: str, refused: str
) -> None:
    """The text around them stays as it is."""
    (proposed,) = propose_tolerances([said(*texts) for texts in runs])
    recorded = runs[0][0]
    assert as_recorded("final_response", recorded, allowed, (proposed,)) == recorded
    assert as_recorded("final_response", recorded, refused, (proposed,)) == refused


def test_other_words_of_a_final_response_are_the_agents() -> None:
    """Nothing is proposed for a text that says something else in each run."""
    assert propose_tolerances([said("It is open."), said("It is closed.")]) == ()
    assert propose_tolerances([said("At 9 it opens."), said("It opens at 10 or so.")]) == ()
