"""The tab that runs `adk eval`: criteria by form and by JSON, runs, and their results as tables."""

from __future__ import annotations

import json
import re
import sys
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import evalset
from app.evalsets.run import adk_eval_jobs
from app.evalsets.run import adk_eval_tab as tab_module
from app.evalsets.run.adk_eval_jobs import (
    TOLERANT,
    AdkEvalOptions,
    call_lines,
    case_rows,
    criteria_of,
    fitting,
    metric_rows,
    rubric_rows,
    spec_of,
    unevaluated,
)
from app.evalsets.set_context import facts_of
from app.evalsets.workspace import workspaces
from app.live.agent_catalogue import catalogue
from app.server.owners import LOCAL
from evalset.adk_runs.eval_results import (
    AdkCaseResult,
    CallMade,
    MetricResult,
    RubricResult,
    RunResults,
    Status,
)
from evalset.eval_config.config_checks import check
from evalset.eval_config.config_edits import (
    criteria_in,
    custom_metrics,
    option,
    starting_document,
    with_threshold,
)
from evalset.kept_runs import run_files
from evalset.recorded.recording import (
    Author,
    RecordedCase,
    RecordedEnvironment,
    RecordedModelTurn,
    RecordedTurn,
)
from evalset.recorded.recording_files import environment_text, sidecar_of
from evalset.recorded.tolerances import Ignore
from tests.app.evalsets.set_tabs import SetTab
from tests.app.page_driver import HOSTILE, Tab
from tests.harness.tiny_agent import write_tiny_agent, write_tiny_eval_set

TAB = "run.adk_eval_tab"
PLAN: Any = {"starting_prompt": "Hi", "conversation_plan": "Ask for a sum."}


def test_the_form_and_the_json_say_the_same(eval_set: Path) -> None:
    """A criterion comes on, gets its threshold and an option; what was switched off comes back as it was; it is saved.

    A file that somebody else has changed is not overwritten; loading it again shows theirs.
    """
    tab = SetTab(TAB, eval_set)
    assert not tab.workspace.criteria.has_file
    tab.fill("on_hallucinations_v1", True).run()
    tab.fill("least_hallucinations_v1", 0.5).run()
    tab.fill("judge_model_hallucinations_v1", "openai/gpt-4o").run()
    tab.fill("match_tool_trajectory_avg_score", "ANY_ORDER").run()
    wanted = {
        "tool_trajectory_avg_score": {"threshold": 1.0, "match_type": "ANY_ORDER"},
        "response_match_score": 0.8,
        "hallucinations_v1": {"threshold": 0.5, "judge_model_options": {"judge_model": "openai/gpt-4o"}},
    }
    assert tab.workspace.criteria.document == {"criteria": wanted}
    tab.choose("criteria_side", "JSON")
    assert json.loads(tab.app.text_area(key=tab.key("criteria_json")).value or "") == {"criteria": wanted}
    tab.choose("criteria_side", "Form")
    tab.fill("on_hallucinations_v1", False).run()
    assert not tab.keys("least_hallucinations_v1")
    tab.fill("on_hallucinations_v1", True).run().click(tab.key("criteria_save"))
    file = eval_set.with_name("test_config.json")
    assert json.loads(file.read_text()) == {"criteria": wanted}
    assert tab.workspace.criteria.is_saved
    file.write_text('{"criteria": {"safety_v1": 0.5}}')
    assert "Not saved" in tab.fill("on_hallucinations_v1", False).run().words
    tab.click(tab.key("criteria_save"))
    assert tab.app.error
    assert json.loads(file.read_text()) == {"criteria": {"safety_v1": 0.5}}
    tab.click(tab.key("criteria_load"))
    assert tab.app.toggle(key=tab.key("on_safety_v1")).value


@pytest.mark.parametrize("owner", [LOCAL, "browser-1"])
def test_criteria_that_a_page_does_not_decide_are_not_saved(eval_set: Path, owner: str) -> None:
    """`adk eval` in a developer's terminal would follow the file: where a model is, and of others which code runs."""
    tab, file = SetTab(TAB, eval_set, owner), eval_set.with_name("test_config.json")
    judge: Any = {"judge_model_config": {"http_options": {"base_url": "http://elsewhere.example"}}}
    tab.workspace.criteria.take(
        {"criteria": {"hallucinations_v1": {"threshold": 0.5, "judge_model_options": judge}}}
    )
    tab.run().click(tab.key("criteria_save"))
    assert "http_options.base_url" in tab.literal
    assert not file.exists()
    own: Any = {
        "criteria": {"counts": 0.5},
        "custom_metrics": {"counts": {"code_config": {"name": "desk.counts"}}},
    }
    tab.workspace.criteria.take(own)
    tab.run().click(tab.key("criteria_save"))
    assert file.exists() == (owner == LOCAL)
    assert owner == LOCAL or "custom metrics: counts" in tab.literal


def test_rubrics_metrics_of_ones_own_and_the_simulated_user_are_set(eval_set: Path) -> None:
    """Each in the place where ADK reads it; none of it is left when it is taken away."""
    tab = SetTab(TAB, eval_set)
    before, end = tab.workspace.criteria.document, tab.key("user_turns").rpartition("_")[2]
    name = "rubric_based_final_response_quality_v1"
    tab.fill(f"on_{name}", True).run()
    assert f"criteria.{name}.rubrics: " in tab.literal
    tab.fill(f"rubrics_{name}", "short: It is short.").run()
    tab.fill("own_name", "counts")
    tab.fill("own_path", "desk.metrics.counts").run().click(tab.key("own_add"))
    tab.fill("user_turns", 4).run()
    tab.fill(f"live_{end}", True).run()
    document = tab.workspace.criteria.document
    assert document is not None
    assert document["custom_metrics"] == {"counts": {"code_config": {"name": "desk.metrics.counts"}}}
    assert document["user_simulator_config"] == {"max_allowed_invocations": 4}
    assert document["live_model_config"] == {"timeout_seconds": 300}
    rubric = {"rubric_id": "short", "rubric_content": {"text_property": "It is short."}}
    assert document["criteria"] == {
        "tool_trajectory_avg_score": 1.0,
        "response_match_score": 0.8,
        name: {"threshold": 0.8, "rubrics": [rubric]},
        "counts": 0.8,
    }
    tab.click(tab.key("own_gone_counts")).fill(f"on_{name}", False)
    tab.fill("user_turns", 20).run().fill(f"live_{end}", False).run()
    assert tab.workspace.criteria.document == before


def test_what_a_judge_is_configured_with_has_inputs(eval_set: Path) -> None:
    """What most people set as numbers, the rest as JSON; each keeps what the others hold, and a broken text changes nothing.

    What no input can hold stays as it is: the checks name it, and other options can be changed.
    """
    tab, name = SetTab(TAB, eval_set), "final_response_match_v2"
    shy: Any = {"thinking_config": {"include_thoughts": False}}
    judge: dict[str, Any] = {"maxOutputTokens": 512, "seed": 7, **shy}
    held: Any = {"threshold": 0.5, "judgeModelOptions": {"judge_model_config": judge}}
    tab.workspace.criteria.take({"criteria": {name: held}})
    tab.run()
    assert tab.app.number_input(key=tab.key(f"max_output_tokens_{name}")).value == 512
    tab.fill(f"temperature_{name}", 0.2).run().fill(f"thinking_budget_{name}", 0).run()
    thinking = {"include_thoughts": False, "thinking_budget": 0}
    assert _judge(tab) == judge | {"temperature": 0.2, "thinking_config": thinking}
    tab.fill(f"judge_model_config_{name}", '{"top_p": ').run()
    assert any("line 1" in each.value for each in tab.app.error)
    assert _judge(tab) == judge | {"temperature": 0.2, "thinking_config": thinking}
    tab.fill(f"judge_model_config_{name}", '{"top_p": 0.9}').run()
    numbers = {"temperature": 0.2, "max_output_tokens": 512, "thinking_config": {"thinking_budget": 0}}
    assert _judge(tab) == {"top_p": 0.9, **numbers}
    tab.fill(f"judge_model_config_{name}", "").run()
    for field in ("temperature", "max_output_tokens", "thinking_budget"):
        tab.fill(f"{field}_{name}", None).run()
    assert tab.workspace.criteria.document == {"criteria": {name: 0.5}}
    for odd in (7, {"temperature": "warm", "max_output_tokens": 10**30, "thinking_config": "none"}):
        held = {"threshold": 0.5, "judge_model_options": {"judge_model_config": odd}}
        tab.workspace.criteria.take({"criteria": {name: held}})
        tab.run().fill(f"num_samples_{name}", 3).run()
        assert _judge(tab) == odd
        assert f"criteria.{name}.judge_model_options.judge_model_config" in tab.literal


def _judge(tab: SetTab) -> Any:
    document, name = tab.workspace.criteria.document or {}, "final_response_match_v2"
    return option(document, name, ("judge_model_options", "judge_model_config"))


def test_a_custom_metric_has_inputs_for_what_adk_is_told_about_it(eval_set: Path) -> None:
    """Its description stands where ADK reads it; a range brings what ADK wants beside it."""
    tab = SetTab(TAB, eval_set)
    code: Any = {"code_config": {"name": "desk.counts"}}
    tab.workspace.criteria.take({"criteria": {"counts": 2.0}, "custom_metrics": {"counts": code}})
    tab.run().fill("description_counts", "Counts the calls.").run()
    assert _metric(tab) == code | {"description": "Counts the calls."}
    tab.fill("max_value_counts", 9.0).run().fill("open_at_max_counts", True).run()
    tab.fill("description_counts", "Counts.").run()
    interval = {"min_value": 0.0, "max_value": 9.0, "open_at_max": True}
    info = {"metric_name": "counts", "description": "Counts.", "metric_value_info": {"interval": interval}}
    assert _metric(tab) == code | {"description": "Counts the calls.", "metric_info": info}
    assert "custom_metrics.counts" not in tab.literal
    odd: Any = {"counts": code | {"metric_info": "many"}}
    tab.workspace.criteria.take({"criteria": {"counts": 2.0}, "custom_metrics": odd})
    assert not tab.run().keys("max_value_counts")
    assert "custom_metrics.counts.metric_info" in tab.literal


def _metric(tab: SetTab) -> Any:
    document: Any = tab.workspace.criteria.document
    return document["custom_metrics"]["counts"]


def test_what_keeps_a_run_back_is_said(eval_set: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A typing error in the JSON, a metric that nobody knows, literally, and what is to be installed, with the command."""
    tab = SetTab(TAB, eval_set)
    tab.choose("criteria_side", "JSON")
    tab.fill("criteria_json", '{"criteria": \n3,}').run()
    assert "line 2, column 3" in tab.literal
    assert tab.app.button(key=tab.key("adk_run")).disabled
    tab.fill("criteria_json", json.dumps({"criteria": {HOSTILE: 1}})).run()
    assert f"criteria.{HOSTILE}: " in tab.literal
    assert tab.live_marks() == []
    tab.click(tab.key("adk_run"))
    assert tab.app.error
    assert tab.workspace.run is None
    monkeypatch.setattr(tab_module, "missing", lambda: ("rouge-score",))
    tab.run()
    assert 'pip install "google-adk[eval]"\n\nmissing: rouge-score' in tab.literal
    assert tab.app.button(key=tab.key("adk_run")).disabled


def evaluated(command: list[str], *, log: Path, **_: Any) -> Any:
    """Stand for the process of `adk eval`: write what it would, and end well."""
    call = {"name": "add", "args": {"first": 2, "second": 3}}
    turn = {"user_content": {"parts": [{"text": "2 + 3?"}]}, "intermediate_data": {"tool_uses": [call]}}
    place = command.index("eval")
    status = 1 if re.search('"second": ?3', Path(command[place + 2]).read_text()) else 2
    passed = {"metric_name": "tool_trajectory_avg_score", "threshold": 1.0, "eval_status": status}
    passed["score"] = 2.0 - status
    case = {
        "eval_set_id": "sums",
        "eval_id": "adds",
        "final_eval_status": status,
        "overall_eval_metric_results": [passed],
        "eval_metric_result_per_invocation": [{"actual_invocation": turn, "expected_invocation": turn}],
    }
    results = Path(command[place + 1]) / ".adk" / "eval_history"
    results.mkdir(parents=True)
    (results / "run.evalset_result.json").write_text(
        json.dumps({"eval_set_id": "sums", "creation_timestamp": 1.0, "eval_case_results": [case]})
    )
    log.write_text("")
    return SimpleNamespace(wait=lambda _timeout=None: 0)


@pytest.mark.parametrize(("tool", "demos"), [("add", ["--no-demos"]), ("add", []), ("divide", [])])
def test_the_only_agent_is_chosen_for_a_set_elsewhere_whose_tools_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, demos: list[str]
) -> None:
    """One that lacks a tool of the set is not; the demos count as nobody's."""
    write_tiny_agent(tmp_path / "agents")
    monkeypatch.setattr(sys, "argv", ["main.py", "--agents-dir", str(tmp_path / "agents"), *demos])
    catalogue().load("adder")
    path = write_tiny_eval_set(tmp_path / "sums.evalset.json")
    text = path.read_text().replace('"name": "add"', f'"name": "{tool}"')
    path.write_text(text.replace('"app_name": "adder"', '"app_name": "renamed"'))
    tab = SetTab(TAB, path)
    assert tab.app.selectbox(key=tab.key("agent_")).value == ("adder" if tool == "add" else None)


def test_a_run_goes_on_after_a_refresh_and_its_results_are_tables(
    eval_set: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The set's own agent is chosen by itself, real tools are warned of; another tab shows the outcome, and so do the kept runs."""
    monkeypatch.setattr(workspaces(), "starts", evaluated)
    tab = SetTab(TAB, eval_set)
    assert tab.app.selectbox(key=tab.key("agent_")).value == "adder"
    assert not tab.app.warning
    tab.choose(tab.key("adk_how"), "real")
    assert tab.app.warning
    tab.click(tab.key("adk_run"))
    run = tab.workspace.run
    assert run is not None
    tab = SetTab(TAB, eval_set)
    assert run.wait(60).state == "passed", run.view()
    tab.run()
    assert "1 passed" in tab.words
    assert re.search(r"All passed, \d\d:\d\d", tab.words)
    table = tab.app.dataframe[0].value
    assert list(table["case"]) == ["adds"]
    assert table["tool_trajectory_avg_score"][0] == "✓ 1"
    tab.unfold("turn_adk_1")
    assert "add(first=2, second=3)" in tab.literal
    assert tab.app.button(key=tab.key("adk_keep")).disabled  # ADK has kept it
    tab.choose("adk_side", "Output")
    assert "/golden-trace eval " in tab.literal
    assert list(SetTab("run.kept_runs_tab", eval_set).app.dataframe[0].value["results"]) == ["1 passed"]
    tab.choose("adk_side", "Results")
    assert not tab.keys("adk_again")
    eval_set.write_text(eval_set.read_text() + "\n")
    agent = eval_set.with_name("agent.py")
    agent.write_text(agent.read_text() + "\n")
    assert tab.run().has(tab.key("adk_again"))
    assert re.search(r"All passed, \d\d:\d\d, out of date", tab.words)
    measured = run.view().measured
    assert measured is not None
    assert measured.changes() == ("the set", "the agent")


@pytest.mark.parametrize(
    "starts", [evaluated, pytest.param(None, marks=[pytest.mark.long, pytest.mark.process], id="real")]
)
def test_runs_of_a_set_elsewhere_are_kept_and_compared(
    eval_set: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, starts: Any
) -> None:
    """ADK keeps them nowhere for good. Each has its criteria and its end; one is kept once, and two of them are compared."""
    monkeypatch.setattr(workspaces(), "starts", starts)
    path = write_tiny_eval_set(tmp_path / eval_set.name)
    tab = SetTab(TAB, path)
    tab.fill(tab.key("agent_"), "adder").run().choose(tab.key("adk_how"), "real")
    ended = []
    for second, state in ((3, "passed"), (4, "failed")):
        write_tiny_eval_set(path, second=second)
        tab.run().click(tab.key("adk_run"))
        run = tab.workspace.run
        assert run is not None
        assert run.wait(180).state == state, run.view()
        ended.append(run.view().ended_at)
        keep = tab.run().key("adk_keep")
        assert tab.click(keep).app.button(key=keep).disabled
        assert "The run is kept" in tab.words
    runs = SetTab("run.kept_runs_tab", path)
    rows = runs.app.dataframe[0].value
    assert list(rows["engine"]) == ["adk eval"] * 2
    assert list(rows["criteria"]) == ["tool_trajectory_avg_score 1, response_match_score 0.8"] * 2
    assert list(rows["results"]) == ["1 failed", "1 passed"]
    assert [*rows["changed since"]] == ["the set", ""]
    assert list(runs.app.dataframe[1].value["change"]) == ["▼ worse"]
    kept = [file.run for file in run_files(path)]
    assert [datetime.fromisoformat(each.at).timestamp() for each in kept if each] == pytest.approx(
        ended, abs=0.01
    )
    assert [case.models for each in kept if each for case in each.cases] == ["real"] * 2


def test_models_without_a_key_are_answered_from_the_recording(
    eval_set: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless live models are chosen: then the results name the switch, and the key that is missing. The page of a case chooses alike."""
    monkeypatch.setattr(workspaces(), "starts", evaluated)
    monkeypatch.setattr(adk_eval_jobs, "model_reachability", lambda _: "adder: needs a key, MY_KEY")
    said = RecordedModelTurn(agent="adder", author=Author(source="model"))
    turn = RecordedTurn(query={"role": "user", "parts": [{"text": "add 2 and 3"}]}, models=(said,))
    case = RecordedCase(agent="adder", app_name="adder", turns=(turn,))
    sidecar_of(eval_set).write_text(environment_text(RecordedEnvironment(cases={"adds": case})))
    tab = SetTab(TAB, eval_set)
    for choice, players in ((None, "recorded"), ("real", "real"), ("recorded", "recorded")):
        if choice is not None:
            tab.fill("adk_models", choice).run()
        tab.click(tab.key("adk_run"))
        run = tab.workspace.run
        assert run is not None
        assert run.spec.models == players
        run.wait(60)
        tab.run()
        assert (tab.app.selectbox(key=tab.key("adk_models")).label in tab.literal) == (players == "real")
    before, tab.workspace.options["adk_models"] = tab.workspace.run, "auto"
    page = Tab(page="sets", set=str(eval_set), case="adds")
    page.click(page.key("case_run-adk-eval"))
    run = tab.workspace.run
    assert run is not None
    assert run is not before
    assert run.spec.models == "recorded"
    run.wait(60)


def test_the_tolerances_of_the_recording_are_heeded(eval_set: Path) -> None:
    """The studio's own metric takes the place of ADK's, as that was told to match; the criteria have no flaw."""
    sidecar_of(eval_set).write_text(environment_text(RecordedEnvironment()))
    tab = SetTab(TAB, eval_set)
    tab.fill("match_tool_trajectory_avg_score", "IN_ORDER").run().click(tab.key("own_tolerant"))
    document = tab.workspace.criteria.document
    assert document is not None
    assert custom_metrics(document) == {"tolerant_trajectory": TOLERANT}
    assert option(document, "tolerant_trajectory", ("match_type",)) == "IN_ORDER"
    assert option(document, "tolerant_trajectory", ("environment",)) == str(sidecar_of(eval_set))
    assert "tool_trajectory_avg_score" not in criteria_in(document)
    assert check(document) == ()


def test_criteria_that_nobody_gave_heed_the_tolerances_as_the_command_does(eval_set: Path) -> None:
    """Where a case that runs has some and the recording answers; criteria that somebody chose stay. The editor says so."""
    (eval_id,) = facts_of(eval_set).eval_ids
    recorded = RecordedCase(
        agent="adder", app_name="adder", turns=(), tolerances=(Ignore(of="final_response"),)
    )
    workspace, choice = workspaces().of(LOCAL, eval_set), AdkEvalOptions(agent="adder", unrecorded="generate")

    def metrics(**changes: Any) -> set[str]:
        document = spec_of(workspace, choice.model_copy(update=changes), catalogue()).config
        return set(criteria_in(document))

    usual = {"tool_trajectory_avg_score", "response_match_score"}
    assert metrics() == usual
    sidecar_of(eval_set).write_text(environment_text(RecordedEnvironment(cases={eval_id: recorded})))
    assert metrics() == {"tolerant_trajectory", "tolerant_response"}
    tab = SetTab(TAB, eval_set)
    said = "A run uses `tolerant_trajectory` and `tolerant_response` "
    assert said in tab.words
    assert metrics(hermetic=False) == usual
    assert said not in tab.fill("adk_how", "real").run().words
    tab.fill("adk_how", "hermetic").run()
    workspace.criteria.switch("safety_v1", on=True)
    assert set(criteria_in(criteria_of(workspace, choice))) == {
        "tolerant_trajectory",
        "tolerant_response",
        "safety_v1",
    }
    assert said in tab.run().words
    workspace.criteria.take(with_threshold(starting_document(), "response_match_score", 0.5))
    assert metrics() == {"tolerant_trajectory", "response_match_score"}
    workspace.criteria.switch("tool_trajectory_avg_score", on=False)
    assert metrics() == {"response_match_score"}
    assert said not in tab.run().words


def test_others_run_no_code_of_their_own_here(eval_set: Path, tmp_path: Path) -> None:
    """Where several people use the server a metric of one's own is refused; the studio's own for this set is not.

    Results lie beside the set where that lies with its agent, and else with their run.
    """
    sidecar_of(eval_set).write_text(environment_text(RecordedEnvironment()))
    theirs, local = (workspaces().of(owner, eval_set) for owner in ("browser-1", LOCAL))
    choice = AdkEvalOptions(agent="adder", unrecorded="generate")
    theirs.criteria.heed_tolerances(eval_set)
    spec = spec_of(theirs, choice, catalogue())
    assert (spec.environment, spec.history) == (sidecar_of(eval_set), None)
    local.criteria.heed_tolerances(eval_set)
    for each in (theirs, local):
        each.criteria.own_metric("mine", "adder.own_metric")
    with pytest.raises(ValueError, match=": mine"):
        spec_of(theirs, choice, catalogue())
    spec = spec_of(local, choice, catalogue())
    assert spec.config == theirs.criteria.document
    assert spec.history == eval_set.parent / ".adk" / "eval_history"
    elsewhere = workspaces().of(LOCAL, write_tiny_eval_set(tmp_path / "sums.evalset.json"))
    assert spec_of(elsewhere, AdkEvalOptions(agent="adder", hermetic=False), catalogue()).history is None


@pytest.mark.usefixtures("no_key")
def test_scenarios_run_with_generated_responses_or_say_what_is_lacking(
    eval_set: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the command does: nothing real runs without a choice, and the user, the criteria and the recording are named before a run."""
    monkeypatch.setattr(workspaces(), "starts", evaluated)
    case = evalset.scenario_case(PLAN, app_name="adder", user_id="user", at=1.0)
    eval_set.unlink()
    evalset.add_scenario(evalset.EvalSetWriter(eval_set, "adder"), case)
    tab = SetTab(TAB, eval_set)
    tab.click(tab.key("adk_run"))
    assert all(each in tab.literal for each in ("simulated user", case.eval_id, "GOOGLE_API_KEY"))
    assert "Generated responses" in tab.app.segmented_control(key=tab.key("adk_how")).options
    tab.workspace.criteria.take({**starting_document(), "user_simulator_config": {"model": "openai/m"}})
    monkeypatch.setattr(adk_eval_jobs, "model_problem", lambda *_, **__: None)
    tab.run().click(tab.key("adk_run"))
    assert "tool_trajectory_avg_score and response_match_score need" in tab.literal
    tab.workspace.criteria.take({"criteria": {"hallucinations_v1": 0.5}})
    tab.run().click(tab.key("adk_run"))
    run = tab.workspace.run
    assert run is not None
    assert (run.spec.environment, run.spec.unrecorded) == (sidecar_of(eval_set), "generate")
    run.wait(60)
    spec = AdkEvalOptions(agent="adder", models="recorded", unrecorded="generate")
    with pytest.raises(ValueError, match="no recorded model turns"):
        spec_of(tab.workspace, spec, catalogue())
    with pytest.raises(ValueError, match="no recorded environment"):
        spec_of(tab.workspace, AdkEvalOptions(agent="adder"), catalogue())


def case(eval_id: str, status: Status, *metrics: MetricResult) -> AdkCaseResult:
    """Return a case."""
    return AdkCaseResult(eval_id=eval_id, status=status, metrics=metrics)


TRAJECTORY = MetricResult(name="tool_trajectory_avg_score", score=0.5, threshold=1.0, status="failed")
SAFETY = MetricResult(name="safety_v1", threshold=0.8, status="not evaluated", problem="no key")
TOKENS = MetricResult(
    name="token_usage_v1", score=1200.0, status="informational", details={"total_tokens": 1200.0}
)
RESULTS = RunResults(
    cases=(case("Order-1", "failed", TRAJECTORY, SAFETY, TOKENS), case("order-2", "passed", SAFETY))
)


def test_a_row_for_each_case_and_a_column_for_each_metric() -> None:
    """Scores with their verdicts, and words where there is none."""
    assert case_rows(RESULTS.cases, RESULTS.metric_names) == [
        {
            "case": "Order-1",
            "verdict": "✗ failed",
            "tool_trajectory_avg_score": "✗ 0.5",
            "safety_v1": "not evaluated",
            "token_usage_v1": "1200",
        },
        {
            "case": "order-2",
            "verdict": "✓ passed",
            "tool_trajectory_avg_score": "",
            "safety_v1": "not evaluated",
            "token_usage_v1": "",
        },
    ]


def test_metrics_without_a_score_are_counted() -> None:
    """ADK passes a case all the same; what only informs is not meant."""
    assert unevaluated(RESULTS) == {"safety_v1": 2}


def test_metrics_and_rubrics_say_why() -> None:
    """A problem first, else what was measured beside the score."""
    rows = metric_rows(RESULTS.cases[0].metrics)
    assert [row["why"] for row in rows] == ["", "no key", "total 1200"]
    assert [row["threshold"] for row in rows] == ["1", "0.8", ""]
    rubric = RubricResult(rubric_id="polite", score=0.0, rationale="It shouts.\u202e")
    judged = MetricResult(name="quality", status="failed", score=0.0, threshold=0.5, rubrics=(rubric,))
    (row,) = rubric_rows([judged, TRAJECTORY])
    assert (row["rubric"], row["score"], row["reasons"]) == ("polite", "0", "It shouts.\\u202e")


def test_cases_are_found_by_id_and_verdict() -> None:
    """Without regard to upper and lower case."""
    assert [found.eval_id for found in fitting(RESULTS, " ORDER", "all")] == ["Order-1", "order-2"]
    assert [found.eval_id for found in fitting(RESULTS, "order", "passed")] == ["order-2"]


def test_calls_are_written_as_in_python() -> None:
    """One in a line."""
    calls = (CallMade(tool="find", arguments={"id": "ü", "deep": {"a": [1]}}), CallMade(tool="stop"))
    assert call_lines(calls) == 'find(id="ü", deep={"a": [1]})\nstop()'
    assert call_lines(()) == "(no calls)"
