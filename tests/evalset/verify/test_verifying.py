"""Verifies recorded cases with agents that changed, goldens that were edited, and worlds that are declared otherwise."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest
from google.adk.evaluation.eval_case import EvalCase

from evalset.recorded.recording import RecordedCase
from evalset.recorded.recording_files import sidecar_of
from evalset.recorded.tolerances import Tolerance
from evalset.replay.model_choice import ANSWERED_BY
from evalset.verify import Criteria, VerifyError, VerifyProgress, verify
from evalset.verify.case_replay import CaseReplay, ReplayOptions, replayed
from evalset.verify.report import junit, report
from simulator import SimulatedAgentConfig
from tests.evalset.there import there
from tests.evalset.verify.desks import (
    LOWER,
    VARIED,
    agents,
    copied_set,
    divergence_of,
    first,
    the_case,
    the_run,
)
from tests.simulator.runtime.test_misuse import KEYS

CHANGED_TOOL = ("def check(order: str) -> dict:", "def check(order: str, loud: bool = False) -> dict:")


NOT_NOW = """
        query, made, answered = since_the_query(llm_request.contents)
        if query.startswith('check A') and not made and next(runs) % 2 == 0:
            yield said([types.Part(text='not now')])
            return
"""


@pytest.mark.parametrize("models", ["real", "recorded"])
def test_what_was_recorded_passes_and_no_real_tool_runs(kept: Path, tmp_path: Path, models: str) -> None:
    """Calls, responses, texts and the state are as they were; the real tools would end the process."""
    changes = (('raise SystemExit("the real model was asked")', "pass"),)
    verification = verify(kept, agents_dir=agents(tmp_path, *changes), models=models)  # type: ignore[arg-type] # both are its
    run = the_run(verification)
    assert (verification.status, verification.exit_code, run.error) == ("passed", 0, "")
    assert {check.name: check.score for check in run.checks} == {
        "tool_trajectory_avg_score": 1.0,
        "response_match_score": 1.0,
        "stored_tool_responses": 1.0,
        "final_session_state": 1.0,
        "inner_tool_calls": 1.0,
    }
    assert run.final_state == {"noted": "A"}
    assert verification.models == (f"desk: {ANSWERED_BY[models]} (as requested)",)
    assert [len(turn.models) for turn in run.turns] == [6, 3]  # those of the agent that is a tool, too


@pytest.mark.long
def test_an_agent_that_asks_with_other_arguments_has_changed(kept: Path, tmp_path: Path) -> None:
    """The first such call is shown beside the golden's, and the recording cannot go on from there."""
    run = the_run(verify(kept, agents_dir=agents(tmp_path, LOWER)))
    found = divergence_of(run)
    assert (found.turn, found.step, found.what) == (0, 1, "arguments")
    assert (found.verdict, found.action) == ("agent_changed", "open")
    assert [(each.path, each.golden, each.actual) for each in found.differences] == [("order", "A", "a")]
    assert run.unrecorded
    assert run.unrecorded[0] in found.evidence
    assert not run.passed


@pytest.mark.parametrize(
    ("swapped", "words"),
    [
        (("check B; note A", "note A, check B"), "calls note before check"),
        (("check A, check B", "check B, check A"), "makes its calls of check in a different order"),
        (("check B; note A", "note A"), "does not call check"),
    ],
)
def test_calls_in_another_order_are_told_as_that(
    kept: Path, tmp_path: Path, swapped: tuple[str, str], words: str
) -> None:
    """A call that comes one step later is not missing: what is shown beside it is the call that comes before it."""
    change = ('query.split(";")', f"query.replace{swapped}.split(';')")
    verification = verify(kept, agents_dir=agents(tmp_path, change))
    assert divergence_of(the_run(verification)).sentence.startswith(f"The agent {words}.")
    assert words in junit(verification).decode()
    assert ("actual: nothing" in report(verification)) is (words == "does not call check")


def test_calls_may_be_too_many_when_the_order_alone_counts(kept: Path, tmp_path: Path) -> None:
    """A golden without one of the calls passes in order, and fails exactly."""
    document = json.loads(kept.read_text())
    data = document["eval_cases"][0]["conversation"][0]["intermediate_data"]
    del data["tool_uses"][1], data["tool_responses"][1]
    copied = copied_set(kept, tmp_path)
    copied.write_text(json.dumps(document))
    folder = agents(tmp_path)
    assert the_run(verify(copied, agents_dir=folder)).divergence is not None
    assert verify(copied, agents_dir=folder, criteria=Criteria(match="in_order")).status == "passed"
    assert verify(copied, agents_dir=folder, criteria=Criteria(match="any_order")).status == "passed"


def test_a_tool_that_is_declared_otherwise_is_the_environments_change(kept: Path, tmp_path: Path) -> None:
    """Where the agent then calls it in another way; one that it still calls as it did passes. A renamed argument can be migrated."""
    same_calls = agents(tmp_path / "one", CHANGED_TOOL)
    assert verify(kept, agents_dir=same_calls).status == "passed"
    run = the_run(verify(kept, agents_dir=agents(tmp_path / "other", CHANGED_TOOL, LOWER)))
    found = divergence_of(run)
    assert found.verdict == "environment_changed"
    assert "tool check " in found.evidence[0]
    assert not found.migration
    renamed = (
        ("def check(order: str)", "def check(order_id: str)"),
        ("calls(tool, order=order)", "calls(tool, **{'order_id' if tool == 'check' else 'order': order})"),
    )
    found = divergence_of(the_run(verify(kept, agents_dir=agents(tmp_path / "renamed", *renamed))))
    assert (found.verdict, found.migration) == (
        "environment_changed",
        "--rename-argument check.order=order_id",
    )
    assert "check: order is now order_id. If this is intended, migrate the golden." in found.sentence
    assert "re-record" not in found.sentence


@pytest.mark.parametrize("models", [pytest.param("real", marks=pytest.mark.long), "recorded"])
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("def check(order: str)", "def check(order_id: str)"), "order_id"),
        (("def check(order: str)", "def check(order: int)"), "integer"),
        (("def check(order: str)", "def check(order: str, shop: str)"), "shop"),
        (("        check,\n        note", "        note"), "no longer declared"),
        (("def look_up(topic: str)", "def look_up(subject: str)"), "subject"),
    ],
    ids=["argument renamed", "type changed", "argument added", "tool gone", "inside of an agent tool"],
)
def test_calls_that_the_agents_tools_do_not_accept_any_more_do_not_pass(
    kept: Path, tmp_path: Path, change: tuple[str, str], told: str, models: Literal["real", "recorded"]
) -> None:
    """As the doctor says of the same files. The golden's step stands there, with the difference."""
    verification = verify(kept, agents_dir=agents(tmp_path, change), models=models)
    found = divergence_of(the_run(verification))
    assert (verification.status, found.verdict) == ("failed", "environment_changed")
    assert (
        there(found.pairs[0].golden).kind == "call"
    )  # where the session is opened, so that the call is made anew
    assert told in " ".join(found.evidence)


def test_a_model_that_cannot_be_reached_says_nothing_of_the_agent(kept: Path, tmp_path: Path) -> None:
    """The case could not be run, whatever the agent's own callbacks do; the recording still answers."""
    fails = (
        "query, made, answered = since",
        "raise ConnectionError('no route.'); query, made, answered = since",
    )
    folder = agents(tmp_path, fails)
    verification = verify(kept, agents_dir=folder, models="real")
    case = the_case(verification)
    assert (case.status, case.divergence, verification.exit_code) == ("error", None, 2)
    assert case.error.startswith("desk could not ask clerk: ConnectionError: no route. To replay")
    assert "--models recorded" in case.error
    assert verify(kept, agents_dir=folder, models="recorded").status == "passed"


@pytest.mark.parametrize("models", ["real", "recorded"])
def test_a_service_that_the_agents_own_code_asks_without_a_key_says_nothing_of_the_agent(
    kept: Path, tmp_path: Path, models: Literal["real", "recorded"]
) -> None:
    """A client that the code makes itself is no model of ADK's, and nobody can stand in for it."""
    code = "def asks(callback_context):\n    raise ValueError('No API key was provided. Please pass a valid API key.')\n\n\n"
    begins = "root_agent = LlmAgent("
    asks = (begins, f"{code}{begins}\n    before_agent_callback=asks,")
    case = the_case(verify(kept, agents_dir=agents(tmp_path, asks), models=models))
    assert (case.status, case.divergence) == ("error", None)
    assert "finds no credentials for it. ValueError: No API key" in case.error


def test_runs_that_differ_from_each_other_are_no_change_of_the_agent(kept: Path, tmp_path: Path) -> None:
    """A model that calls a tool otherwise in each run varies; one that does so in each run alike has changed."""
    for changes, verdict in ((VARIED, "varies"), ((LOWER,), "agent_changed")):
        verification = verify(kept, agents_dir=agents(tmp_path / verdict, *changes), models="real", runs=2)
        found = [divergence_of(run) for run in the_case(verification).runs]
        assert [each.verdict for each in found] == [verdict] * 2
        assert verification.status == "failed"


def test_a_case_of_which_nothing_is_recorded_is_an_error_and_the_others_are_verified(
    kept: Path, tmp_path: Path
) -> None:
    """So is one whose agent is not there; a scenario has nothing to compare with, and is skipped."""
    document = json.loads(kept.read_text())
    (case,) = document["eval_cases"]
    scenario = {"starting_prompt": "hello", "conversation_plan": "none"}
    document["eval_cases"] += [
        {**case, "eval_id": "unknown"},
        {"eval_id": "s", "conversation_scenario": scenario},
    ]
    copied = copied_set(kept, tmp_path)
    copied.write_text(json.dumps(document))
    verification = verify(copied, agents_dir=agents(tmp_path))
    assert [case.status for case in verification.cases] == ["passed", "error", "skipped"]
    assert "desk.environment.json" in verification.cases[1].error
    assert "scenario" in verification.cases[2].error
    assert verification.exit_code == 2
    sidecar_of(copied).unlink()
    assert {case.status for case in verify(copied, agents_dir=agents(tmp_path)).cases} == {"error", "skipped"}
    (tmp_path / "empty").mkdir()
    (case,) = verify(kept, agents_dir=tmp_path / "empty").cases
    assert (case.status, "empty" in case.error) == ("error", True)


def test_a_case_that_is_not_in_the_set_is_an_error_of_all(kept: Path, tmp_path: Path) -> None:
    """It is named, and so are those that are there."""
    with pytest.raises(VerifyError, match=r"'three'; .*two"):
        verify(kept, agents_dir=agents(tmp_path), cases=["three"])


def test_each_run_is_told_and_a_stop_keeps_what_was_done(kept: Path, tmp_path: Path) -> None:
    """The case that was not finished says so."""
    stop = threading.Event()
    told: list[VerifyProgress] = []

    def on_progress(now: VerifyProgress) -> None:
        told.append(now)
        if now.done == 2:
            stop.set()

    at_work: list[Sequence[str]] = []
    verification = verify(
        kept,
        agents_dir=agents(tmp_path),
        runs=500,
        on_progress=on_progress,
        on_work=at_work.append,
        stop=stop,
    )
    (case,) = verification.cases
    assert set(at_work) == {("two",)}
    assert told[:2] == [VerifyProgress(done=n, total=500, eval_id="two", passed=True) for n in (1, 2)]
    assert (case.status, verification.exit_code) == ("stopped", 130)
    assert 2 <= len(case.runs) < 500


def test_it_may_be_called_where_a_loop_runs(kept: Path, tmp_path: Path) -> None:
    """As in a notebook."""

    async def call() -> str:
        return verify(kept, agents_dir=agents(tmp_path)).status

    assert asyncio.run(call()) == "passed"


def test_what_varies_in_a_case_is_looked_for_once_for_all_of_its_runs(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each replay of a case that fails takes as long as the run: three runs are followed by no more of them than one."""
    replays: list[Tolerance] = []

    async def counted(
        case: EvalCase, recorded: RecordedCase, config: SimulatedAgentConfig, ways: ReplayOptions
    ) -> CaseReplay:
        replays.extend(recorded.tolerances)  # those that let arguments differ, one for each look
        return await replayed(case, recorded, config, ways)

    monkeypatch.setattr("evalset.verify.varying_values.replayed", counted)
    monkeypatch.setattr("evalset.verify.varying_values._BUDGET_SECONDS", 60.0)
    folder = agents(tmp_path, LOWER)
    counts: list[int] = []
    for runs in (1, 3):
        case = the_case(verify(kept, agents_dir=folder, models="real", runs=runs))
        assert [divergence_of(run).verdict for run in case.runs] == ["agent_changed"] * runs
        counts.append(len(replays))
    assert counts[1] == 2 * counts[0] > 0


def test_an_agent_that_is_right_every_other_time_has_a_pass_power(kept: Path, tmp_path: Path) -> None:
    """Four runs of which two pass: one in two for one run, one in six for two, none for three; and the case fails."""
    count = ("        query, made, answered = since_the_query(llm_request.contents)\n", NOT_NOW)
    case = the_case(verify(kept, agents_dir=agents(tmp_path, VARIED[0], count), runs=4, at_once=1))
    assert [run.passed for run in case.runs] == [True, False, True, False]
    assert [case.pass_power(k) for k in (1, 2, 3)] == [0.5, 1 / 6, 0]
    assert case.status == "failed"


def test_a_run_may_not_take_forever(kept: Path, tmp_path: Path) -> None:
    """What it did by then is kept."""
    waits = first("import asyncio\n        await asyncio.sleep(3600)")
    run = the_run(verify(kept, agents_dir=agents(tmp_path, waits), timeout=2.0))
    assert (run.passed, len(run.turns)) == (False, 1)
    assert " 2 s" in run.error


def test_the_recorded_models_stand_in_for_one_without_a_key(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the output says so; the agent as it was would have been asked."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    keyless = agents(tmp_path / "keyless", ("model=Clerk(),", 'model="gemini-2.5-flash",'))
    verification = verify(kept, agents_dir=keyless)
    assert verification.status == "passed"
    (told,) = verification.models
    assert told.startswith("desk: with the recorded models ")
    assert "gemini-2.5-flash" in told
    (told,) = verify(kept, agents_dir=agents(tmp_path)).models
    assert told.startswith("desk: with the agent's own model ")
