"""The tab of the verification: runs, the table of the cases, the first divergence with its action, tolerances, and the last result of each case."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app.evalsets.open_sets import edited_sets
from app.evalsets.run.last_results import CASE_VERIFIED, last_result, last_results, last_rows
from app.evalsets.run.verify_jobs import (
    HINTS,
    KINDS,
    VERIFIED,
    Row,
    RowError,
    VerifyOptions,
    marked_text,
    new_row,
    row_of,
    step_text,
    steps_before,
    tolerances_from,
    verifying,
)
from app.evalsets.workspace import EXPORTED, Workspace, workspaces
from app.export.export_case import ExportReplay
from app.live import agent_catalogue as of_server
from app.live.agent_catalogue import catalogue
from app.live.background_jobs import Job
from app.server.owners import LOCAL
from evalset.editing.case_edits import DeleteCase, DuplicateCase, NoteCase, ReviewCase
from evalset.editing.set_saving import save
from evalset.editing.sidecars import CaseReview
from evalset.golden_trace.steps import Step
from evalset.kept_runs import keep_run, kept_run_of, run_files
from evalset.measured import Measured, changed_words, measured_files
from evalset.recorded import recorder
from evalset.recorded.recording_files import sidecar_of
from evalset.recorded.tolerances import (
    CaseInsensitive,
    Exact,
    Ignore,
    OneOfTolerance,
    PatternTolerance,
    Range,
    Tolerance,
    Unordered,
)
from evalset.verify import tolerances_of
from evalset.verify.results import (
    VERDICTS,
    ActualTurn,
    CaseResult,
    CaseStatus,
    RunResult,
    TextPiece,
    Verification,
)
from simulator.scripts import ScriptProgress
from tests.app.desk_sessions import live_of
from tests.app.evalsets.set_tabs import settled
from tests.app.page_driver import HOSTILE, Tab, live_marks
from tests.evalset.replay.desk_agent import config, keep, played, write_desk
from tests.evalset.verify.desks import agents, recorded_set
from tests.evalset.verify.small_agents import agent
from tests.evalset.verify.small_agents import played as played_script
from tests.evalset.verify.test_unknown import MOVES, NOTES
from tests.harness.processes import REPOSITORY, completed, quiet_environment, wait_until


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of two cases with its recorded environment, in its agent's folder."""
    return record(write_desk(tmp_path_factory.mktemp("agents")) / "desk.evalset.json")


def record(path: Path) -> Path:
    """Record the cases with the agent as it is."""
    answers = {"check": {"status": "shipped"}, "note": {"noted": True}}
    for eval_id, queries in {"one": ["check A; note A"], "two": ["check B", "note B"]}.items():
        keep(played(config(path.parent.parent), queries, answers), path, eval_id)
    return path


Changed = Callable[..., Path]


@pytest.fixture
def eval_set(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Changed]:
    """Return a copy of the set with pieces of its text replaced, in a folder of agents that the studio is started with."""

    def changed(*changes: tuple[str, str]) -> Path:
        folder = write_desk(tmp_path / "agents")
        text = recorded.read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        copy = folder / recorded.name
        copy.write_text(text)
        sidecar_of(copy).write_bytes(sidecar_of(recorded).read_bytes())
        return copy

    monkeypatch.setattr(sys, "argv", ["main.py", "--agents-dir", str(tmp_path / "agents"), "--no-demos"])
    yield changed
    edited_sets().clear()


def opened(path: Path) -> Tab:
    """Open the page of the set, and in it the tab."""
    return Tab(page="sets", set=str(path)).choose("set_tab", "Run")


def bench_of(path: Path) -> Workspace:
    """Return what is kept of the set on the server."""
    return workspaces().of(LOCAL, path)


def verified(tab: Tab, path: Path) -> Verification:
    """Verify, wait until it is over, and draw the page."""
    settled(tab.click(tab.key("verify_go")), path)
    return result_of(path)


def result_of(path: Path) -> Verification:
    """Return the result on the workspace."""
    job = bench_of(path).jobs[VERIFIED]
    assert job.result is not None, job.problem
    result: Verification = job.result
    return result


def table(tab: Tab) -> dict[str, tuple[str, str]]:
    """What the table says of each case: its verdict, and where it first goes another way."""
    rows = tab.app.dataframe[0].value
    return dict(zip(rows["case"], zip(rows["verdict"], rows["first divergence"], strict=True), strict=True))


def tick(tab: Tab, table: str, row: int) -> Tab:
    """Choose a row of a table."""
    tab.app.session_state[tab.key(table)] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    return tab.run()


def rows_choose(tab: Tab) -> None:
    """Check that the row of a case shows its result below; one that was chosen before chooses no more."""
    assert table(tab)["two"] == ("✓ passed", "")
    for row, eval_id in enumerate(table(tab)):
        tick(tab, "rows_verify_case_", row)
        assert tab.app.selectbox(key=tab.key("verify_case_")).value == eval_id
        assert bool(tab.keys("divergence_")) == (eval_id == "one")
    tab.fill("verify_case_", "one").run()
    assert tab.run().keys("divergence_")


def decides_only_where_the_case_has_played_to(there: Tab) -> None:
    """Check that nothing can be decided while the case plays by itself."""
    assert "; note A" in there.literal
    live = live_of(there.session_id)
    work = live.script
    assert work is not None
    assert work.wait(lambda progress: bool(progress.asks), 60) or work.progress.is_over
    assert "Case running" not in there.run().words
    decided = [*there.keys("send_"), *there.keys("accept_")]
    live.script = SimpleNamespace(progress=ScriptProgress(step=work.progress.step))  # type: ignore[assignment] # as far as it is drawn
    assert "Case running" in there.run().words
    assert decided
    assert not set(decided) & {*there.keys("send_"), *there.keys("accept_")}
    live.script = work


@pytest.mark.long
def test_a_golden_that_holds_passes_every_run(eval_set: Changed) -> None:
    """Two runs of each case: pass^2 is told, another tab shows the same, and the files to download are of it.

    The engine that was chosen then is there after a refresh, beside the last results of the other one.
    """
    path = eval_set()
    tab = opened(path)
    assert tab.app.selectbox(key=tab.key("agent_")).value == "desk"
    tab.fill("verify_runs", 2).run()
    verification = verified(tab, path)
    assert verification.status == "passed"
    again = opened(path)
    assert table(again) == {"one": ("✓ passed", ""), "two": ("✓ passed", "")}
    assert list(again.app.dataframe[0].value["pass^2"]) == ["1.00", "1.00"]
    again.click(again.key("propose-tolerances"))
    assert not again.keys("tool-0")
    again.click(again.key("verify_keep"))
    assert again.app.button(key=again.key("verify_keep")).disabled
    (kept,) = run_files(path)
    assert kept.run is not None
    ended = bench_of(path).jobs[VERIFIED].ended_at
    assert datetime.fromisoformat(kept.run.at).timestamp() == pytest.approx(ended, abs=0.01)
    assert [(case.passed, case.runs) for case in kept.run.cases] == [(2, 2), (2, 2)]
    assert not kept.run.is_partial
    assert list(again.choose("set_tab", "Kept runs").app.dataframe[0].value["results"]) == ["2 passed"]
    tab.choose(tab.key("engine_"), "adk eval")
    assert not tab.keys("verify_go")
    assert badges(tab) == ["2 ✓ passed"]
    assert opened(path).keys("adk_run_")


def test_the_first_divergence_stands_side_by_side_and_is_mended(eval_set: Changed) -> None:
    """A golden that says other arguments: the place, both calls, what differs; its one action is an edit, and saved it passes.

    The case's own page says why in a line, and the list of the cases has the results. A session opens at the step, which waits for a person; a case that the edits no longer have is said to be gone. Chosen
    cases are verified alone, and found by their id.
    """
    path = eval_set(('"order": "A"', '"order": "Z"'))
    before, tab = path.read_bytes(), opened(path)
    (divergence,) = [each.divergence for each in verified(tab, path).cases if each.status == "failed"]
    assert divergence is not None
    assert table(tab)["one"][1].startswith("turn 1, step 2: ")
    rows_choose(tab)
    assert all(f'check({{\n  "order": "{each}"\n}})' in tab.literal for each in "ZA")
    assert divergence.sentence in tab.literal
    tab.click(tab.key("verify_keep"))
    shown = opened(path)
    shown.click(shown.key("verify_open"))
    assert f"Turn 1, step 2: {divergence.sentence}" in shown.literal
    shown.click("case_back").fill("case_sort", "Result").run()
    assert list(shown.app.dataframe[0].value["result"]) == ["✗ failed", "✓ passed"]
    there = opened(path)
    there.click(there.key("divergence_open"))
    decides_only_where_the_case_has_played_to(there)
    work = edited_sets().of(LOCAL, path).work
    work.apply(DeleteCase(case="one"))
    for action in ("repair", "open"):
        tab.click(tab.key(f"divergence_{action}"))
        assert "'one'" in tab.literal
        assert tab.block("divergence").get("error")  # where the button is
    work.undo()
    settled(tab.run().click(tab.key(f"divergence_{divergence.action}")), path)
    assert ("not saved" in tab.words, path.read_bytes()) == (True, before)
    assert tab.app.button(key=tab.key("verify_keep")).disabled
    tab.click("set_save")
    (said,) = [each.value for each in tab.block("divergence").get("success")]
    assert ("not saved" in said, "Verify again" in said) == (False, True)
    assert path.read_bytes() != before
    assert verified(tab.fill("cases_", ["one"]).run(), path).status == "passed"
    assert [case.eval_id for case in result_of(path).cases] == ["one"]
    assert not tab.fill("verify_find", "two").run().app.dataframe


@pytest.mark.long
def test_tolerances_are_edited_and_kept_with_the_recording(eval_set: Changed) -> None:
    """A row at a time; what says none is named and stays; saved, the golden passes with other arguments."""
    path = eval_set(('"order": "A"', '"order": "Z"'))
    work = edited_sets().of(LOCAL, path).work
    work.apply(NoteCase(case="one", text="Why"))
    save(work)
    tab = opened(path)
    assert verified(tab, path).status == "failed"
    tab.click(tab.key("add-tolerances-one"))
    assert {"*", "check", "note"} <= set(tab.app.selectbox(key=tab.key("tool-0")).options)
    tab.fill("tool-0", "check")
    tab.fill("path-0", "order")
    tab.fill("kind-0", "one_of").run()
    tab.fill("more-0", "A").run().click(tab.key("save-tolerances-one"))
    assert "row 1: " in tab.literal
    assert tolerances_of(path, "one") == ()
    tab.fill("more-0", '["A"]').run().click(tab.key("save-tolerances-one"))
    made = (OneOfTolerance(tool="check", path="order", values=("A",)),)
    assert tolerances_of(path, "one") == made
    assert 'arguments of check, order: one of these values ["A"]' in case_page(path).literal
    assert verified(tab, path).status == "passed"
    assert "uses the saved file" in tab.click("set_undo").words  # the edit before it
    assert "uses the saved file" not in tab.choose("set_tab", "Import & export").words
    tab.click("set_save")
    assert (work.note("one").text, tolerances_of(path, "one")) == ("", made)
    tab.click("set_redo").click("set_save")
    path.write_text(path.read_text() + "\n")
    assert tab.run().app.button(key="set_undo").disabled
    assert "no longer be undone" in tab.words


def test_an_argument_that_the_golden_lacks_gets_no_tolerance(eval_set: Changed) -> None:
    """It would help no run: the line names it. Another one of the same runs is suggested."""
    path, uses = eval_set(), ["0a1b2c3d4e", "0a1b2c3d4f"]
    data = [
        {"name": "check", "args": {"order": f"A{number}", "request_id": use}}
        for number, use in enumerate(uses)
    ]
    runs = [
        RunResult(
            number=number,
            passed=False,
            models="real",
            turns=(ActualTurn(invocation={"user_content": {}, "intermediate_data": {"tool_uses": [call]}}),),
        )
        for number, call in enumerate(data, start=1)
    ]
    golden = ((Step(kind="call", tool="check", value={"order": "A"}),),)
    case = CaseResult(eval_id="one", status="failed", golden=golden, runs=tuple(runs))
    bench_of(path).jobs[VERIFIED] = did(verification(path).model_copy(update={"cases": (case,), "runs": 2}))
    tab = opened(path)
    assert "Suggest from runs" in tab.words  # where a person looks at what is compared
    tab.click(tab.key("propose-tolerances"))
    assert [tab.app.text_input(key=key).value for key in tab.keys("path-")] == ["order"]
    assert "check.request_id" in tab.literal
    assert not any(each.proto.expanded for each in tab.app.expander if each.label.startswith("Tolerances"))
    steady = runs[0].model_copy(update={"passed": True})
    flaky = case.model_copy(update={"runs": (steady, *runs[1:])})
    bench_of(path).jobs[VERIFIED] = did(verification(path).model_copy(update={"cases": (flaky,), "runs": 2}))
    tab = opened(path)
    assert "Only 1 of 2 runs passed" in tab.words
    assert any(each.proto.expanded for each in tab.app.expander if each.label.startswith("Tolerances"))


CLOCK = """

import time


def stamp(callback_context):
    callback_context.state["last_seen"] = time.time()


root_agent.before_agent_callback = stamp
"""


@pytest.mark.long
def test_a_state_that_holds_a_time_is_tolerated_by_a_click(eval_set: Changed) -> None:
    """Its verdict says what varies, and nobody says that the agent changed; the tolerance stands in the editor then."""
    path = eval_set()
    source = path.with_name("agent.py")
    source.write_text(source.read_text() + CLOCK)
    path.unlink()
    tab = opened(record(path))
    (one, two) = verified(tab, path).cases
    assert one.divergence is not None
    assert (one.divergence.verdict, two.status) == ("varies", "failed")
    assert all(each in tab.literal for each in one.divergence.evidence)
    assert VERDICTS["varies"] in table(tab)["one"][1]
    tab.click(tab.key("divergence_tolerate"))
    assert tolerances_of(path, "one") == (Ignore(of="state", path="last_seen"),)
    assert tab.app.selectbox(key=tab.key("of-0")).value == "state"
    keep, keep_all = "divergence_tolerate", "divergence_keep_all"
    assert tab.app.button(key=tab.key(keep)).disabled
    assert "saved for one." in tab.literal
    assert "all 2 cases" in tab.app.button(key=tab.key(keep_all)).label
    tab.click(tab.key(keep_all))
    assert tolerances_of(path, "two") == tolerances_of(path, "one")
    assert tab.app.button(key=tab.key(keep_all)).disabled
    assert "saved for one, two." in tab.literal


def test_other_criteria_next_to_the_set_are_named_where_verify_has_its_own(eval_set: Changed) -> None:
    """They are those of `adk eval`, to which a button leads; what asks the same, or cannot be read, is not named."""
    path = eval_set()
    config, same = path.with_name("test_config.json"), "response_match_score 0.8"
    asked = {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.5}
    for text, shown in ((json.dumps({"criteria": asked}), True), ("{", False)):
        config.write_text(text)
        assert ("response_match_score 0.5" in opened(path).literal) == shown
    config.write_text(json.dumps({"criteria": asked | {"response_match_score": 0.8}}))
    tab = opened(path)
    assert same not in tab.literal
    tab.fill("verify_response_", 0.6)
    assert same in tab.run().literal
    tab.click(tab.key("verify_to_criteria_"))
    assert tab.keys("adk_run_")
    assert not tab.keys("verify_go_")


def test_without_a_whole_recording_there_is_nothing_to_replay(
    eval_set: Changed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said, and nothing can be begun; with it there are lines for a replay elsewhere, with the app and the file, and with the recorded models where the agent's own cannot be asked."""
    path = eval_set()
    wanted = "app = App(name='desk', root_agent=root_agent, plugins=[HermeticEnvironment('desk.environment.json')])"
    tab = opened(path)
    assert wanted in tab.literal
    with monkeypatch.context() as without_key:
        without_key.setattr(recorder, "model_reachability", lambda _: "desk: needs a key")
        catalogue().config("desk")
        assert wanted.replace("json')", "json', models='recorded')") in tab.run().literal
    whole = sidecar_of(path).read_bytes()
    sidecar_of(path).write_bytes(whole[: len(whole) // 2])
    tab.run()
    assert any(str(sidecar_of(path)) in each.value for each in tab.app.text)
    assert tab.app.button(key=tab.key("verify_go")).disabled
    sidecar_of(path).unlink()
    tab.run()
    assert tab.app.button(key=tab.key("verify_go")).disabled
    assert "HermeticEnvironment" not in tab.literal
    sidecar_of(path).write_bytes(whole)
    assert not tab.run().app.button(key=tab.key("verify_go")).disabled


def test_a_result_from_before_a_change_is_out_of_date(eval_set: Changed) -> None:
    """An edit, saved or not, or another process has changed the set, the recording or the agent: each is named; run again, it is of now.

    A test or a note beside the agent is no change of it, and neither is what people note of a case.
    """
    path = eval_set()
    tab = opened(path)
    assert verified(tab, path).status == "passed"
    assert changes(tab, path) == ()
    work = edited_sets().of(LOCAL, path).work
    work.apply(DeleteCase(case=work.state.order[1]))
    assert tab.run().keys("out_of_date_verify")
    assert not tab.keys("verify_again")
    work.undo()
    work.apply(NoteCase(case=work.state.order[0], text="Looks right", tags=("smoke",)))
    work.apply(ReviewCase(case=work.state.order[0], review=CaseReview(status="approved")))
    assert not tab.run().keys("out_of_date_verify")
    tab.run().click("set_save")
    assert "Looks right" in sidecar_of(path).read_text()
    assert f"notes was updated, too: {sidecar_of(path)}" in tab.literal
    assert changes(tab, path) == ()
    work.apply(DeleteCase(case=work.state.order[1]))
    tab.run().click("set_save").click("save_set")
    assert changes(tab, path) == ("the set", "the recording")
    settled(tab.click(tab.key("verify_again")), path)
    assert changes(tab, path) == ()
    assert [case.eval_id for case in result_of(path).cases] == ["one"]
    path.write_text(path.read_text().replace('"eval_id":', '"eval_id" :'))
    assert changes(tab.run(), path) == ("the set",)
    for name in ("test_desk.py", "desk_test.py", "conftest.py", "tests/helper.py", "notes.md", "moves.yaml"):
        path.with_name("tests").mkdir(exist_ok=True)
        path.with_name(name.partition("/")[0]).joinpath(*name.split("/")[1:]).write_text("x = 1\n")
    assert changes(tab.run(), path) == ("the set",)
    agent = path.with_name("agent.py")
    agent.write_text(agent.read_text().replace("calls(tool, order=order)", "calls(tool, order=f'{order}!')"))
    assert changes(tab.run(), path) == ("the set", "the agent")
    settled(tab.click(tab.key("verify_again")), path)
    assert changes(tab, path) == ()
    assert result_of(path).status == "failed"


def test_a_verification_names_what_is_at_work_and_is_stopped(eval_set: Changed, tmp_path: Path) -> None:
    """The case that is at work, how many runs are done, and for how long it has run: in the tab and on the page of the case."""
    path, waits = eval_set(), tmp_path / "waits"
    waits.touch()
    agent = path.with_name("agent.py")
    held = f"query, made, answered = since_the_query(llm_request.contents)\n        import asyncio, pathlib\n        while pathlib.Path({str(waits)!r}).exists(): await asyncio.sleep(0.05)"
    agent.write_text(
        agent.read_text().replace("query, made, answered = since_the_query(llm_request.contents)", held)
    )
    tab = opened(path)
    tab.fill("cases_", ["two"]).run()
    tab.click(tab.key("verify_go"))
    job = bench_of(path).jobs[VERIFIED]
    wait_until(lambda: "two" in job.progress.words, what="the case is at work")
    tab.run()
    assert "0 of 1 runs done. At work: two" in progress_of(tab)
    assert any("elapsed_verify" in str(each.proto) for each in tab.app.get("bidi_component"))
    case = Tab(page="sets", set=str(path), case="one")
    case.click(case.key("case_verify-case"))
    alone = bench_of(path).jobs[CASE_VERIFIED]
    wait_until(lambda: "one" in alone.progress.words, what="the case is at work")
    assert "At work: one" in progress_of(case.run())
    case.click("stop_case_verified")
    tab.click("stop_verify")
    settled(tab, path)
    assert result_of(path).status == "stopped"
    waits.unlink()


def progress_of(tab: Tab) -> str:
    """What the page says of how far a work is."""
    return "\n".join(each.proto.text for each in tab.app.get("progress"))


def changes(tab: Tab, path: Path) -> tuple[str, ...]:
    """What has changed since the verification; the page offers to run it again where something has."""
    found = result_of(path)
    assert found.measured is not None
    changed = found.measured.changes(found.eval_ids)
    assert bool(changed) == bool(tab.keys("verify_again"))
    assert not changed or changed_words(changed) in tab.literal
    assert changed_words("abc") == "a, b and c changed"
    return changed


@pytest.mark.usefixtures("no_key")
def test_a_renamed_argument_is_migrated_where_the_result_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result has the action: what it would change is shown before it is written. Then verify is offered."""
    path = with_renamed_argument(tmp_path, monkeypatch)
    tab = opened(path)
    assert verified(tab, path).status == "failed"
    assert "'text' is unknown, 'words' is required" in tab.literal
    (command,) = [each.value for each in tab.app.code if "--rename-argument note.text=words" in each.value]
    assert Path(command.split()[0]).is_absolute()
    assert "--dry-run" in command
    before = path.read_text()
    settled(tab.click(tab.key("divergence_migrate")), path)
    assert tab.keys("doctor_diff_")
    assert tab.words.index("would change") < tab.words.index("Golden, from this step")
    assert path.read_text() == before
    settled(tab.click(tab.key("doctor_write")), path)
    assert '"words"' in path.read_text()
    settled(tab.click(tab.key("verify_again")), path)
    assert result_of(path).status == "passed"


def with_renamed_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a set whose agent was changed since; the studio is started with its folder."""
    agents = tmp_path / "agents"
    monkeypatch.setattr(sys, "argv", ["main.py", "--agents-dir", str(agents), "--no-demos"])
    made = played_script(agent(tmp_path / "then", NOTES), {"say": "Note tea.", "moves": MOVES})
    path = made.rename(agent(agents, NOTES.replace("text: str", "words: str")) / made.name)
    sidecar_of(made).rename(sidecar_of(path))
    return path


@pytest.mark.usefixtures("no_key")
def test_a_migration_on_the_page_of_a_case_is_verified_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else changed the case. What the doctor finds of it is the same there and in the doctor's tab; of a new case nothing is known."""
    path = with_renamed_argument(tmp_path, monkeypatch)
    case = settled(case_page(path).click(case_page(path).key("case_check-case")), path)
    assert "2 findings" in badges(case)  # the recording repeats that of the set
    assert "turn 1, call note: The tool" in case.literal
    assert [each.label.partition(" · ")[2] for each in case.app.expander if "-badge[" in each.label] == [
        "text=tea :red-badge[finding]"
    ]
    case = settled(case.click(case.key("case_verify-case")), path)
    assert "'text' is unknown, 'words' is required" in case.literal
    assert any(each.label.endswith("tea :red-badge[first divergence]") for each in case.app.expander)
    settled(case.click(case.key("divergence_migrate")), path)
    settled(settled(case.click(case.key("doctor_write")), path), path)
    assert "changed elsewhere" not in case.words
    found = last_result(bench_of(path), "one")
    assert found is not None
    assert found.status == "passed"
    assert any("finding" in each and "out of date" in each for each in badges(case))
    settled(opened(path).choose("set_tab", "Doctor"), path)
    assert badges(case.run())[1:] == ["no problems"]
    edited_sets().of(LOCAL, path).work.apply(DuplicateCase(case="one", eval_id="one_2"))
    case.run().click("set_save")
    new = Tab(page="sets", set=str(path), case="one_2")
    assert new.has("note_edit")
    assert badges(new) == []


@pytest.mark.usefixtures("no_key")
def test_a_new_required_argument_gets_its_value_where_the_finding_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The finding names the option, and the lines below it have it: the value is typed there, and what it changes is shown first."""
    agents = tmp_path / "agents"
    monkeypatch.setattr(sys, "argv", ["main.py", "--agents-dir", str(agents), "--no-demos"])
    made = played_script(agent(tmp_path / "then", NOTES), {"say": "Note tea.", "moves": MOVES})
    folder = agent(agents, NOTES.replace("text: str", "text: str, tone: str"))
    path = made.rename(folder / made.name)
    sidecar_of(made).rename(sidecar_of(path))
    case = settled(case_page(path).click(case_page(path).key("case_check-case")), path)
    lines = case.key("doctor_lines")
    assert case.app.text_area(key=lines).value == "--set-argument note.tone=VALUE"
    assert "valid JSON" in case.click(case.key("doctor_migrate")).literal
    case.fill(lines, "--set-argument 'note.tone=\"calm\"'")
    settled(case.click(case.key("doctor_migrate")), path)
    assert '"calm"' not in path.read_text()
    settled(case.click(case.key("doctor_write")), path)
    assert '"tone": "calm"' in path.read_text()
    settled(case.click(case.key("case_check-case")), path)
    assert not case.keys("doctor_lines")


def case_page(path: Path) -> Tab:
    """Open the page of the case."""
    return Tab(page="sets", set=str(path), case="one")


@pytest.mark.long
def test_a_renamed_agent_is_proposed_and_verified_with_its_new_name(eval_set: Changed) -> None:
    """The page names the one agent with the same tools; the doctor's tab renames it in the files."""
    path = eval_set()
    agents = path.parents[1]
    renamed = path.parent.rename(agents / "clerk")
    agent = renamed / "agent.py"
    agent.write_text(agent.read_text().replace('name="desk"', 'name="clerk"'))
    path = renamed / path.name
    tab = opened(path)
    tab.fill("verify_models", "recorded").run()
    assert verified(tab, path).status == "failed"
    assert result_of(path).renamed == {"desk": "clerk"}
    settled(tab.click(tab.key("verify_new_name")), path)
    assert result_of(path).status == "passed"
    assert not tab.keys("verify_new_name")
    settled(tab.choose("set_tab", "Doctor"), path)
    settled(tab.click(tab.key("doctor_rename_desk")), path)
    settled(tab.click(tab.key("doctor_write")), path)
    assert '"app_name": "clerk"' in path.read_text()


def test_a_case_is_verified_and_checked_where_it_is_shown(eval_set: Changed) -> None:
    """The result is of this case alone and leaves that of the set; it is marked once the set has other edits."""
    path = eval_set(('"A"', '"B"'))
    settled(opened(path), path)
    tab = Tab(page="sets", set=str(path), case="one")
    settled(tab.click(tab.key("case_verify-case")), path)
    assert [words.split(",")[0] for words in badges(tab)] == ["✗ failed"], tab.literal
    (sentence,) = [run.divergence.sentence for run in last_run(path) if run.divergence is not None]
    tab.unfold(tab.key("case_results_"))
    assert "turn 1" in tab.words
    assert tab.literal.count(sentence) == 1
    settled(tab.click(tab.key("case_check-case")), path)
    assert [words for words in badges(tab) if "finding" in words or words == "no problems"], tab.literal
    other = Tab(page="sets", set=str(path), case="two")
    assert badges(other) == ["no problems"], other.literal
    settled(other.click(other.key("case_verify-case")), path)
    assert badges(tab.run())[0].startswith("✗ failed, ")
    assert VERIFIED not in bench_of(path).jobs
    one_alone = opened(path)
    one_alone.fill("cases_", ["one"]).run()
    verified(one_alone, path)
    one_alone.fill("cases_", ["two"]).run()
    verified(one_alone, path)
    assert badges(tab.run())[0].startswith("✗ failed, ")
    one_alone.fill("cases_", []).run()
    verified(one_alone, path)
    assert bench_of(path).options["verify_case"] == "one"
    assert badges(Tab(page="sets", set=str(path), case="two"))[0].startswith("✓ passed, ")
    edited_sets().of(LOCAL, path).work.apply(DeleteCase(case="two"))
    assert badges(tab.run())[0].startswith("✗ failed, ")


@pytest.mark.parametrize("action", ["repair", "accept"])
def test_the_page_of_a_case_mends_its_golden(eval_set: Changed, action: str) -> None:
    """What to do about a divergence is where it is told; the edit is reviewed and saved, and the new result is there."""
    if action == "repair":
        path = eval_set(('"order": "A"', '"order": "Z"'))
    else:
        path = eval_set()
        agent = path.with_name("agent.py")
        agent.write_text(agent.read_text().replace("{a.name}: {a.response}", "all is well"))
    before = path.read_bytes()
    verified(opened(path), path)
    tab = Tab(page="sets", set=str(path), case="one")
    settled(tab.click(tab.key("case_verify-case")), path)
    settled(tab.click(tab.key(f"divergence_{action}")), path)
    assert ("not saved" in tab.words, path.read_bytes()) == (True, before)
    assert tab.app.button(key=tab.key("case_verify-case")).disabled
    assert not tab.app.button(key=tab.key("case_check-case")).disabled
    assert tab.app.button(key=tab.key(f"divergence_{action}")).disabled
    assert badges(tab)[0].endswith("out of date")
    assert "The golden is changed" in tab.words
    assert "The golden is changed" not in Tab(page="sets", set=str(path), case="two").words
    tab.click(tab.key("case_save-first"))
    settled(tab, path)
    assert path.read_bytes() != before
    assert badges(tab)[0].startswith("✓ passed, ")
    assert not tab.keys("divergence_")
    assert not tab.keys("case_save-first")
    of_set = opened(path)
    of_set.fill("verify_case_", "one").run()
    assert (table(of_set)["one"], of_set.keys("divergence_")) == (("✓ passed", ""), [])
    assert set(badges(of_set)) == ({"2 ✓ passed"} if action == "repair" else {"1 ✓ passed", "1 ✗ failed"})
    tab.click("set_undo")  # the file has what was undone, so that what passed there says nothing of the page
    assert badges(tab)[0].endswith("out of date")
    assert tab.app.button(key=tab.key("case_verify-case")).disabled
    assert tab.keys("case_save-first")


@pytest.mark.process
@pytest.mark.parametrize("models", ["auto", pytest.param("recorded", marks=pytest.mark.long)])
def test_the_commands_that_are_shown_give_the_same_verdict(
    eval_set: Changed, models: str, tmp_path: Path
) -> None:
    """The agent's own model does something else than the recorded one: who answered is told, on the page of a case, too; a terminal and CI ask the same."""
    path = eval_set()
    agent = path.with_name("agent.py")
    agent.write_text(agent.read_text().replace("{a.name}: {a.response}", "all is well"))
    tab = opened(path)
    tab.fill("verify_models", models).run()
    by, words, status, code = {
        "auto": ("real", "with the agent's own model", "failed", 1),
        "recorded": ("recorded", "with the recorded models", "passed", 0),
    }[models]
    assert verified(tab, path).status == status
    assert words in tab.literal
    (shown,) = [each.value for each in tab.app.code if "--goldens" in each.value]
    verify_line, pytest_line, ci_line = shown.splitlines()
    there = quiet_environment(PYTHONPATH=str(REPOSITORY), PYTEST_PLUGINS="golden_trace")
    for line in (verify_line, pytest_line):
        done = completed("bash", "-c", line, folder=path.parent, environment=there)
        assert done.returncode == code, f"{line}\n{done.stdout}{done.stderr}"
        assert words in done.stdout
    assert f"init ci --models {by}" in ci_line
    if "--package ADDRESS" in ci_line:  # this package was not installed from where CI can
        assert "Replace `ADDRESS`" in tab.words
        assert completed("bash", "-c", ci_line, folder=tmp_path, environment=there).returncode == 2
        ci_line = ci_line.replace("ADDRESS", "git+https://example.com/studio")
    done = completed("bash", "-c", ci_line, folder=tmp_path, environment=there)
    assert done.returncode == 0, f"{ci_line}\n{done.stdout}{done.stderr}"
    assert "--package" not in done.stdout
    assert (agent.parents[1] / ".github").is_dir()
    assert "-m golden desk" in (agent.parents[1] / ".pre-commit-config.yaml").read_text()
    case = Tab(page="sets", set=str(path), case="one")
    assert words in case.words


def last_run(path: Path) -> tuple[RunResult, ...]:
    """Return the runs of the last result of the case."""
    found = last_result(bench_of(path), "one")
    return found.case.runs if found is not None and found.case is not None else ()


def badges(tab: Tab) -> list[str]:
    """Return the words on the badges of what was run on a case."""
    found = [str(each.value) for each in tab.app.markdown]
    marks = [re.search(r"-badge\[(.*)\]", each) for each in found]
    said = "passed|failed|could not run|stopped|finding|no problems"
    return [mark[1] for mark in marks if mark and re.search(said, mark[1])]


def verification(path: Path, **statuses: CaseStatus) -> Verification:
    """Return a verification of the set as it is."""
    cases = tuple(CaseResult(eval_id=name, status=status) for name, status in statuses.items())
    return Verification(
        eval_set=path,
        environment=path,
        cases=cases,
        measured=Measured(files=measured_files(path, sidecar_of(path))),
    )


def did(result: Any) -> Job[Any]:
    """Return work that is done."""
    job: Job[Any] = Job(lambda *_: result, "done")
    assert job.wait(60)
    return job


def test_what_was_found_last_counts(tmp_path: Path) -> None:
    """Whoever has asked; what a run does not name keeps its earlier result."""
    path = tmp_path / "a.evalset.json"
    path.write_text("{}")
    workspace = Workspace("me", path)
    assert last_result(workspace, "one") is None
    keep_run(path, kept_run_of(verification(path, one="failed", two="error"), 1_000.0))
    workspace.jobs[VERIFIED] = did(verification(path, one="passed", three="failed"))
    workspace.jobs[f"{EXPORTED} two"] = did(ExportReplay(verification(path, two="passed")))
    workspace.jobs[CASE_VERIFIED] = did(verification(path, three="passed"))
    found = last_results(workspace, ("one", "two", "three", "four"))
    assert [(one.eval_id, one.status) for one in found] == [
        (name, "passed") for name in ("one", "two", "three")
    ]
    workspace.jobs[CASE_VERIFIED] = did(verification(path, four="failed"))
    found = last_results(workspace, ("one", "two", "three", "four"))
    assert [one.status for one in found] == ["passed", "passed", "passed", "failed"]
    keep_run(path, kept_run_of(verification(path, one="failed"), found[0].at + 60))
    kept = last_result(workspace, "one")
    assert kept is not None
    assert (kept.status, kept.case) == ("failed", None)
    assert kept.at == pytest.approx(found[0].at + 60, abs=0.01)
    nobody_knows = kept_run_of(Verification(eval_set=path, environment=path), found[0].at + 120)
    keep_run(
        path,
        nobody_knows.model_copy(update={"cases": kept_run_of(verification(path, one="passed"), 1.0).cases}),
    )
    assert last_result(workspace, "one") == kept
    path.write_text("{ }")
    assert kept.measured is not None
    assert kept.measured.changes() == ("the set",)


def test_a_set_that_was_not_verified_here_shows_what_is_known(eval_set: Changed) -> None:
    """A kept run is there after a restart of the server, with when it was made; and gone from date once the case is another."""
    path = eval_set()
    keep_run(path, kept_run_of(verification(path, one="passed", two="failed"), 1_000.0))
    workspace = workspaces().of(LOCAL, path)
    rows = last_rows(last_results(workspace, ("one", "two")), unsaved=False)
    assert [(row["case"], row["verdict"]) for row in rows] == [("one", "✓ passed"), ("two", "✗ failed")]
    assert "1970-01-01" in rows[0]["when"]
    tab = opened(path)
    (table,) = tab.app.dataframe
    assert [*table.value["verdict"]] == ["✓ passed", "✗ failed"]
    answers = {"check": {"status": "lost"}, "note": {"noted": True}}
    keep(played(config(path.parent.parent), ["check C"], answers), path, "another")
    (table,) = tab.run().app.dataframe
    assert [*table.value["verdict"]] == ["✓ passed", "✗ failed"], "nobody touched these cases"
    recording = sidecar_of(path)
    recording.write_text(recording.read_text().replace("shipped", "packed", 1))
    (table,) = tab.run().app.dataframe
    assert [*table.value["verdict"]] == ["✓ passed, out of date", "✗ failed"]
    path.write_text(path.read_text().replace('"two"', '"two" '))
    (table,) = tab.run().app.dataframe
    assert [*table.value["verdict"]] == ["✓ passed, out of date", "✗ failed, out of date"]
    assert tick(tab, "rows_verify_case_", 1).has(tab.key("case_verify-case"))


@pytest.mark.long
@pytest.mark.process
def test_agents_that_the_cases_name_run_in_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nobody has chosen the agent."""
    mark = tmp_path / "ran"
    tells = (
        'if os.environ.get("NO_MODEL"):',
        f"open({str(mark)!r}, 'a').write(f'{{os.getpid()}}\\n')\n        if False:",
    )
    kept_set = recorded_set(tmp_path / "kept", {"one": ("check A",), "two": ("check B",)})
    monkeypatch.setattr(of_server, "LOADS_NONE_HERE", True)
    monkeypatch.setattr(sys, "argv", ["app"])
    monkeypatch.setenv("GOLDEN_TRACE_AGENTS_DIR", str(agents(tmp_path, tells)))
    job = verifying(VerifyOptions(eval_set=kept_set))
    assert job.wait(60)
    assert job.result is not None, job.problem
    assert job.result.status == "passed"
    assert str(os.getpid()) not in mark.read_text().split()


QUERY, FIRST, ANSWER, SECOND, ANSWERED, TEXT = (
    Step(kind="query", text="Where?"),
    Step(kind="call", tool="find", value={"id": "A"}),
    Step(kind="response", tool="find", value={"at": "sea"}),
    Step(kind="call", tool="find", value={"id": "B"}),
    Step(kind="response", tool="find", value=None),
    Step(kind="text", text="There."),
)
GOLDEN = (QUERY, FIRST, ANSWER, SECOND, ANSWERED, TEXT)
IN_TURN = ("query", "call", "response", "call", "response", "final")
AT_ONCE = ("query", "text", "call", "call", "response", "response", "final")


@pytest.mark.parametrize(
    ("step", "kinds", "played"),
    [
        (0, IN_TURN, 1),
        (1, IN_TURN, 1),
        (2, IN_TURN, 2),
        (3, IN_TURN, 3),
        (5, IN_TURN, 5),
        (6, IN_TURN, 5),
        (1, AT_ONCE, 2),
        (2, AT_ONCE, 3),
        (3, AT_ONCE, 3),
        (4, AT_ONCE, 4),
        (5, AT_ONCE, 6),
        (3, ("query", "call", "final"), 2),
        (4, (), 1),
    ],
)
def test_a_session_stops_before_the_step(step: int, kinds: tuple[str, ...], played: int) -> None:
    """Also where the eval set has calls before all of their answers, or fewer of them than the golden had."""
    assert steps_before(GOLDEN, step, kinds) == played


def _marked_page(text: str) -> None:
    import streamlit as st  # noqa: PLC0415 - the function's text is the page's script

    st.markdown(text)


def test_steps_and_texts_are_plain() -> None:
    """A call as it would be written, a text with what differs struck or bold and nothing else of it alive, and long ones cut."""
    assert step_text(FIRST) == 'find({\n  "id": "A"\n})'
    assert step_text(ANSWERED) == "find responds\nnull"
    assert step_text(QUERY) == "user: Where?"
    assert step_text(None) == "(nothing)"
    long = step_text(Step(kind="text", text="x" * 5_000))
    assert long.endswith("... 5,007 characters")
    pieces = (("same", "It is "), ("golden", "here ]"), ("actual", f"there {HOSTILE}"), ("same", ".\n- a"))
    text = marked_text([TextPiece.model_validate({"kind": kind, "text": said}) for kind, said in pieces])
    assert re.match(
        r"It is :red-background\[~~here \\]\u2060?~~\]:green-background\[\*\*there .*\*\*\]\.", text
    )
    assert not live_marks(AppTest.from_function(_marked_page, kwargs={"text": text}).run().markdown)


EACH_KIND: tuple[Tolerance, ...] = (
    Exact(tool="find", path="id"),
    Ignore(tool="*"),
    OneOfTolerance(tool="find", path="by[*].way", values=("express", 3, None)),
    PatternTolerance(tool="find", path="id", pattern=r"R-\d+ "),
    Range(tool="find", path="price", low=-1.5),
    Range(tool="find", path="price", high=5),
    Range(tool="find", path="price", low=1, high=5, distance=0.25),
    Range(tool="find", path="price", distance=1e-07),
    Unordered(tool="find", path="items"),
    CaseInsensitive(tool="find", path="name"),
)


def test_every_tolerance_comes_back_as_it_was() -> None:
    """Of every kind."""
    assert {tolerance.kind for tolerance in EACH_KIND} == set(KINDS)
    assert tolerances_from([row_of(tolerance) for tolerance in EACH_KIND]) == EACH_KIND


def test_a_new_row_lets_anything_be() -> None:
    """Which is a tolerance already."""
    assert tolerances_from([new_row()]) == (Ignore(tool="*"),)


@pytest.mark.parametrize("kind", HINTS)
def test_each_hint_is_an_example(kind: str) -> None:
    """What stands in an empty input can be typed there; a range as one of two."""
    for more in HINTS[kind].split(" or "):
        (made,) = tolerances_from([{"tool": "find", "path": "a", "kind": kind, "more": more}])
        assert made.kind == kind


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"tool": ""}, "tool"),
        ({"path": "a["}, "path"),
        ({"kind": "one_of", "more": "express"}, "row 2"),
        ({"kind": "one_of", "more": "[]"}, "values"),
        ({"kind": "regex", "more": "("}, "row 2"),
        ({"kind": "range", "more": ""}, f"'' .*{re.escape(HINTS['range'])}"),
        ({"kind": "range", "more": "1..5 or so"}, r"'1\.\.5 or so'"),
        ({"kind": "range", "more": "5..1"}, "greater than high"),
        ({"kind": "range", "more": ".."}, "low, high"),
    ],
)
def test_what_says_no_tolerance_is_named(row: Row, reason: str) -> None:
    """By the number of its row and its field."""
    with pytest.raises(RowError, match=reason) as refused:
        tolerances_from([new_row(), {**new_row(), **row}])
    assert str(refused.value).startswith("row 2: ")
