"""Reads results as ADK's own models write them, in both spellings and both forms of a turn."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shlex
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.evaluation.eval_case import IntermediateData, Invocation, InvocationEvent, InvocationEvents
from google.adk.evaluation.eval_metrics import (
    EvalMetricResult,
    EvalMetricResultDetails,
    EvalMetricResultPerInvocation,
    EvalStatus,
    RubricsBasedCriterion,
    TokenUsageDetails,
)
from google.adk.evaluation.eval_result import EvalCaseResult, EvalSetResult
from google.adk.evaluation.eval_rubrics import Rubric, RubricContent, RubricScore
from google.genai import types

import evalset
from evalset.adk_runs import eval_process, installed
from evalset.adk_runs.eval_process import AdkEvalRun, turns_taken
from evalset.adk_runs.eval_results import (
    CallMade,
    ResultsError,
    RubricResult,
    kept_results,
    read_results,
    with_problems,
)
from evalset.adk_runs.run_spec import ASKED_FILE, PROGRESS_FILE, AgentPlace, EvalRunSpec, prepare
from evalset.adk_runs.wrapped import TurnsTaken
from evalset.cli.shell_lines import AgentWords, program, shown_run
from tests.harness.tiny_agent import write_tiny_eval_set


def said(text: str) -> types.Content:
    """Return a content of one text."""
    return types.Content(role="model", parts=[types.Part(text=text)])


RUBRIC = Rubric(rubric_id="polite", rubric_content=RubricContent(text_property="It is polite."))
QUALITY = EvalMetricResult(
    metric_name="rubric_based_final_response_quality_v1",
    threshold=0.5,
    criterion=RubricsBasedCriterion(threshold=0.5, rubrics=[RUBRIC]),
    score=1.0,
    eval_status=EvalStatus.PASSED,
    details=EvalMetricResultDetails(
        rubric_scores=[RubricScore(rubric_id="polite", rationale="It says please.", score=1.0)]
    ),
)
TOKENS = EvalMetricResult(
    metric_name="token_usage_v1",
    score=12.0,
    eval_status=EvalStatus.INFORMATIONAL,
    details=EvalMetricResultDetails(token_usage_details=TokenUsageDetails(total_tokens=12.0)),
)
UNMEASURED = EvalMetricResult(metric_name="safety_v1", threshold=0.8, eval_status=EvalStatus.NOT_EVALUATED)


def turns() -> list[EvalMetricResultPerInvocation]:
    """Return a turn of each form, the second one without an expectation."""
    call = types.FunctionCall(name="find", args={"orderId": {"innerPart": 1}})
    made = InvocationEvent(author="desk", content=types.Content(parts=[types.Part(function_call=call)]))
    answer = types.Content(role="model", parts=[types.Part(text="hm", thought=True), types.Part(text="Yes.")])
    actual = Invocation(
        user_content=said("Where?"),
        final_response=answer,
        intermediate_data=InvocationEvents(invocation_events=[made]),
    )
    expected = Invocation(
        user_content=said("Where?"),
        final_response=said("There."),
        intermediate_data=IntermediateData(tool_uses=[types.FunctionCall(name="look", args={})]),
    )
    return [
        EvalMetricResultPerInvocation(
            actual_invocation=actual, expected_invocation=expected, eval_metric_results=[QUALITY]
        ),
        EvalMetricResultPerInvocation(actual_invocation=Invocation(user_content=said("And?"))),
    ]


def result() -> EvalSetResult:
    """Return a result with rubrics, tokens, a turn of each form, and a case that failed before it had any."""
    done = EvalCaseResult(
        eval_set_id="sums",
        eval_id="b",
        final_eval_status=EvalStatus.PASSED,
        overall_eval_metric_results=[QUALITY, TOKENS, UNMEASURED],
        eval_metric_result_per_invocation=turns(),
        session_id="s",
    )
    failed = EvalCaseResult(
        eval_set_id="sums",
        eval_id="a",
        final_eval_status=EvalStatus.FAILED,
        overall_eval_metric_results=[],
        eval_metric_result_per_invocation=[],
        session_id="",
    )
    return EvalSetResult(
        eval_set_result_id="desk_sums_1",
        eval_set_id="sums",
        eval_case_results=[done, failed],
        creation_timestamp=1.5,
    )


@pytest.mark.parametrize("by_alias", [False, True])
@pytest.mark.parametrize("twice", [False, True])
def test_results_are_read_as_adk_writes_them(by_alias: bool, twice: bool) -> None:
    """In snake and in camel case, encoded once and twice: scores, thresholds, rubrics, tokens, calls of both forms."""
    text = result().model_dump_json(by_alias=by_alias)
    read = read_results(json.dumps(text) if twice else text)
    assert (read.eval_set_id, read.created, read.passed) == ("sums", 1.5, 1)
    failed, done = read.cases
    assert (failed.eval_id, failed.status, failed.turns) == ("a", "failed", ())
    assert read.metric_names == ("rubric_based_final_response_quality_v1", "token_usage_v1", "safety_v1")
    quality, tokens, unmeasured = done.metrics
    polite = RubricResult(rubric_id="polite", text="It is polite.", score=1.0, rationale="It says please.")
    assert quality.rubrics == (polite,)
    assert (tokens.score, tokens.threshold, tokens.details) == (12.0, None, {"total_tokens": 12.0})
    assert unmeasured.status == "not evaluated"
    first, second = done.turns
    assert first.actual_calls == (CallMade(tool="find", arguments={"orderId": {"innerPart": 1}}),)
    assert first.expected_calls == (CallMade(tool="look", arguments={}),)
    assert (first.actual_text, first.expected_text) == ("Yes.", "There.")
    assert first.metrics[0].rubrics == (polite,)
    assert (second.expected_text, second.expected_calls) == (None, None)


def test_the_output_tells_why_something_has_no_outcome() -> None:
    """ADK writes neither reason into its results."""
    output = (
        "2026-01-01 - ERROR - local_eval_service.py:1 - Inference failed for eval case `a` with error no such tool.\n"
        "Traceback\n"
        "ERROR - Metric evaluation failed for metric `safety_v1` for eval case id 'b' with following error `no project\n"
        "or key`\nTraceback\n"
    )
    failed, done = with_problems(read_results(result().model_dump_json()), output).cases
    assert failed.problem == "no such tool"
    assert [metric.problem for metric in done.metrics] == ["", "", "no project\nor key"]
    assert done.problem == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not valid JSON"),
        ("[]", "eval_case_results"),
        ('{"eval_case_results": 3}', "eval_case_results"),
        ('{"eval_case_results": [{"eval_id": "a", "final_eval_status": 9}]}', r"\[0\].*\b9\b"),
        ('{"eval_case_results": [3]}', r"\[0\]"),
    ],
)
def test_what_is_no_results_file_is_refused(text: str, reason: str) -> None:
    """The place is named."""
    with pytest.raises(ResultsError, match=reason):
        read_results(text)


def test_kept_results_are_listed_the_newest_first(tmp_path: Path) -> None:
    """Other files are not; a folder that is not there holds none."""
    for age, name in enumerate(("new", "old")):
        path = tmp_path / f"{name}.evalset_result.json"
        path.write_text("{}")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    (tmp_path / "other.json").write_text("{}")
    assert [kept.name for kept in kept_results(tmp_path)] == ["new", "old"]
    assert kept_results(tmp_path / "nowhere") == ()


def test_a_run_prepares_its_own_copy_of_what_was_chosen(tmp_path: Path) -> None:
    """Ids that `adk eval` cannot be told on its command line are chosen all the same, and an old set's path is no file name."""
    path = write_tiny_eval_set(tmp_path / "sums.evalset.json")
    document: dict[str, Any] = json.loads(path.read_text())
    (case,) = document["eval_cases"]
    document["eval_set_id"] = "/old/sums.json"
    document["eval_cases"] = [{**case, "eval_id": "a:1,2"}, {**case, "eval_id": "b"}]
    path.write_text(json.dumps(document))
    agent = AgentPlace(name="adder", app_name="adder")
    folder = tmp_path / "run"
    prepared = prepare(EvalRunSpec(eval_set=path, agent=agent, cases=("a:1,2",)), folder)
    assert (prepared.cases, prepared.turns) == (("a:1,2",), 1)
    copied = json.loads(prepared.eval_set.read_text())
    assert (copied["eval_set_id"], [each["eval_id"] for each in copied["eval_cases"]]) == (
        "old_sums.json",
        ["a:1,2"],
    )
    with pytest.raises(ValueError, match="letters, digits"):
        prepare(EvalRunSpec(eval_set=path, agent=agent.model_copy(update={"app_name": "../up"})), folder)


def test_the_command_for_a_terminal_is_quoted() -> None:
    """Spaces in paths and names stay in one word, and what was chosen for the run is said."""
    spec = EvalRunSpec(
        eval_set=Path("/my sets/a.evalset.json"),
        agent=AgentPlace(name="desk", app_name="desk", folder=Path("/my agents/desk")),
        cases=("one", "two"),
        environment=Path("/my sets/a.environment.json"),
        models="recorded",
        unrecorded="rules",
    )
    words = AgentWords(words="/my agents/desk")
    start = f"{shlex.join(program())} eval '/my agents/desk' '/my sets/a.evalset.json' --case one --case two"
    assert shown_run(words, spec) == f"{start} --models recorded --unrecorded rules"
    assert shown_run(words, spec.model_copy(update={"environment": None})) == f"{start} --real-tools"


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the extra `eval` alone; where the whole package is missing, that."""
    monkeypatch.setattr(
        installed,
        "requires",
        lambda _: [
            "pydantic>=2",
            'surely-not-there[x]>=1; extra == "eval"',
            'pytest>=1; extra == "eval"',
            'other>=1; extra == "all"',
        ],
    )
    assert installed.missing() == ("surely-not-there",)
    monkeypatch.undo()
    assert installed.missing("surely-not-there") == ("surely-not-there",)


def test_a_turn_that_asks_for_input_counts_once(tmp_path: Path) -> None:
    """It is run again with the answer, under the same id; the next turn has another one."""
    progress = tmp_path / "turns.jsonl"
    assert turns_taken(progress) == []
    counting = TurnsTaken(progress)
    for turn, count in (("one", 1), ("one", 1), ("two", 2)):
        context: Any = SimpleNamespace(invocation_id=turn)
        asyncio.run(counting.before_run_callback(invocation_context=context))
        asyncio.run(counting.after_run_callback(invocation_context=context))
        assert len(turns_taken(progress)) == count


def test_nobody_is_asked_between_turns(tmp_path: Path) -> None:
    """Who was asked last is named while a turn of any case is under way, and no longer."""
    counting = TurnsTaken(tmp_path / PROGRESS_FILE)
    asked = tmp_path / ASKED_FILE
    one, two = ({"invocation_context": SimpleNamespace(invocation_id=name)} for name in ("one", "two"))
    who: Any = {
        "callback_context": SimpleNamespace(agent_name="desk"),
        "llm_request": SimpleNamespace(model="m"),
    }

    async def turn(*contexts: Any) -> None:
        for context in contexts:
            await asyncio.create_task(_begun(context))
        assert asked.read_text() == "the model m of desk"
        for context in contexts:
            assert asked.read_text()
            await counting.after_run_callback(**context)
        assert not asked.read_text()

    async def _begun(context: Any) -> None:
        await counting.before_run_callback(**context)
        await counting.before_model_callback(**who)

    asyncio.run(turn(one, two))


@pytest.mark.parametrize(("asked", "is_ended"), [("", False), ("the model m of desk", True)])
def test_the_scores_of_scenarios_take_as_long_as_they_take(
    asked: str, is_ended: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows how many turns there are: a run is ended where a turn does not go on, and not between turns."""
    monkeypatch.setattr(eval_process, "end_group", lambda _: None)
    path, folder, clock = tmp_path / "desk.evalset.json", tmp_path / "run", itertools.count(step=1_000)
    plan: Any = {"starting_prompt": "Hi", "conversation_plan": "Ask."}
    case = evalset.scenario_case(plan, app_name="desk", user_id="user", at=1.0)
    evalset.add_scenario(evalset.EvalSetWriter(path, "desk"), case)
    looks = iter((False, False, False, True))

    def wait(_: float | None = None) -> int:
        (folder / PROGRESS_FILE).write_text('{"eval_id": "x", "turn": "one"}\n')
        (folder / ASKED_FILE).write_text(asked)
        if next(looks):
            return 0
        raise subprocess.TimeoutExpired("adk", 1.0)

    def started(command: Any, *, folder: Path, environment: Any, log: Path) -> Any:
        log.write_text("")
        return SimpleNamespace(wait=wait, pid=0)

    folder.mkdir()
    place = AgentPlace(name="desk", app_name="desk", folder=tmp_path)
    spec = EvalRunSpec(eval_set=path, agent=place, patience=600.0)
    run = AdkEvalRun(spec, folder, start=started, clock=lambda: float(next(clock)))
    run.start()
    problem = run.wait(60.0).problem
    assert ("no turn was done in 600 s" in problem) == is_ended, problem
