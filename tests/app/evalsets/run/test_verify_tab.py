"""The tab of the verification: runs, the table of the cases, the first divergence with its action, tolerances."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.evalsets.open_sets import edited_sets
from app.evalsets.run.verify_jobs import VERIFIED
from app.evalsets.workspace import Workspace, workspaces
from app.server.owners import LOCAL
from evalset.editing.case_edits import DeleteCase
from evalset.kept_runs.run_files import run_files
from evalset.recorded.recording_files import sidecar_of
from evalset.recorded.tolerances import Ignore, OneOfTolerance
from evalset.verify import tolerances_of
from evalset.verify.results import VERDICTS, Verification
from tests.app.evalsets.set_tabs import settled
from tests.app.page_driver import Tab
from tests.evalset.replay.desk_agent import config, keep, played, write_desk


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
    assert [(case.passed, case.runs) for case in kept.run.cases] == [(2, 2), (2, 2)]
    assert not kept.run.is_partial
    assert list(again.choose("set_tab", "Runs").app.dataframe[0].value["results"]) == ["2 passed"]
    tab.choose(tab.key("engine_"), "adk eval")
    assert not tab.keys("verify_go")
    assert badges(tab) == ["2 ✓ passed"]
    assert opened(path).keys("adk_run_")


def test_the_first_divergence_stands_side_by_side_and_is_mended(eval_set: Changed) -> None:
    """A golden that says other arguments: the place, both calls, what differs; its one action is an edit, and saved it passes.

    A session opens at the step, which waits for a person; a case that the edits no longer have is said to be gone. Chosen
    cases are verified alone, and found by their id.
    """
    path = eval_set(('"order": "A"', '"order": "Z"'))
    before, tab = path.read_bytes(), opened(path)
    (case,) = [each for each in verified(tab, path).cases if each.status == "failed"]
    divergence = case.divergence
    assert divergence is not None
    assert table(tab)["one"][1].startswith("turn 1, step 2: ")
    assert table(tab)["two"] == ("✓ passed", "")
    assert 'check({\n  "order": "Z"\n})' in tab.literal
    assert 'check({\n  "order": "A"\n})' in tab.literal
    assert divergence.sentence in tab.literal
    there = opened(path)
    there.click(there.key("divergence_open"))
    assert there.session_id is not None
    assert "; note A" in there.literal
    work = edited_sets().of(LOCAL, path).work
    work.apply(DeleteCase(case="one"))
    for action in ("repair", "open"):
        tab.click(tab.key(f"divergence_{action}"))
        assert "'one'" in tab.literal
        assert tab.app.error
    work.undo()
    settled(tab.run().click(tab.key(f"divergence_{divergence.action}")), path)
    assert tab.app.success
    assert path.read_bytes() == before
    tab.click("set_save").click("save_set")
    assert path.read_bytes() != before
    assert verified(tab.fill("cases_", ["one"]).run(), path).status == "passed"
    assert [case.eval_id for case in result_of(path).cases] == ["one"]
    assert not tab.fill("verify_find", "two").run().app.dataframe


@pytest.mark.long
def test_tolerances_are_edited_and_kept_with_the_recording(eval_set: Changed) -> None:
    """A row at a time; what says none is named and stays; saved, the golden passes with other arguments."""
    path = eval_set(('"order": "A"', '"order": "Z"'))
    tab = opened(path)
    assert verified(tab, path).status == "failed"
    tab.click(tab.key("add-tolerances-one"))
    tab.fill("tool-0", "check")
    tab.fill("path-0", "order")
    tab.fill("kind-0", "one_of").run()
    tab.fill("more-0", "A").run().click(tab.key("save-tolerances-one"))
    assert "row 1: " in tab.literal
    assert tolerances_of(path, "one") == ()
    tab.fill("more-0", '["A"]').run().click(tab.key("save-tolerances-one"))
    assert tolerances_of(path, "one") == (OneOfTolerance(tool="check", path="order", values=("A",)),)
    assert verified(tab, path).status == "passed"


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


def test_without_a_whole_recording_there_is_nothing_to_replay(eval_set: Changed) -> None:
    """It is said, and nothing can be begun; with it there are lines for a replay elsewhere, with the app and the file."""
    path = eval_set()
    wanted = "app = App(name='desk', root_agent=root_agent, plugins=[HermeticEnvironment('desk.environment.json')])"
    tab = opened(path)
    assert wanted in tab.literal
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
    """An edit, saved or not, or another process has changed the set, the recording or the agent: each is named; run again, it is of now."""
    path = eval_set()
    tab = opened(path)
    assert verified(tab, path).status == "passed"
    assert changes(tab, path) == ()
    work = edited_sets().of(LOCAL, path).work
    work.apply(DeleteCase(case=work.state.order[1]))
    assert tab.run().keys("out_of_date_verify")
    assert not tab.keys("verify_again")
    tab.click("set_save").click("save_set")
    assert changes(tab, path) == ("the set", "the recording")
    settled(tab.click(tab.key("verify_again")), path)
    assert changes(tab, path) == ()
    assert [case.eval_id for case in result_of(path).cases] == ["one"]
    path.write_text(path.read_text() + "\n")
    assert changes(tab.run(), path) == ("the set",)
    agent = path.with_name("agent.py")
    agent.write_text(agent.read_text().replace("calls(tool, order=order)", "calls(tool, order=f'{order}!')"))
    assert changes(tab.run(), path) == ("the set", "the agent")
    settled(tab.click(tab.key("verify_again")), path)
    assert changes(tab, path) == ()
    assert result_of(path).status == "failed"


def changes(tab: Tab, path: Path) -> tuple[str, ...]:
    """What has changed since the verification; the page offers to run it again where something has."""
    measured = result_of(path).measured
    assert measured is not None
    assert bool(measured.changes()) == bool(tab.keys("verify_again"))
    return measured.changes()


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
    assert [words.split(",")[0] for words in badges(tab)] == ["✗ failed"]
    tab.unfold(tab.key("case_results_"))
    assert "turn 1" in tab.words
    settled(tab.click(tab.key("case_check-case")), path)
    assert [words for words in badges(tab) if "finding" in words or words == "no problems"]
    other = Tab(page="sets", set=str(path), case="two")
    assert badges(other) == ["no problems"]
    assert VERIFIED not in bench_of(path).jobs
    verified(opened(path), path)
    assert badges(Tab(page="sets", set=str(path), case="two"))[0].startswith("✓ passed, ")
    edited_sets().of(LOCAL, path).work.apply(DeleteCase(case="two"))
    assert badges(tab.run())[0].startswith("✗ failed, ")


def badges(tab: Tab) -> list[str]:
    """Return the words on the badges of what was run on a case."""
    found = [str(each.value) for each in tab.app.markdown]
    marks = [re.search(r"-badge\[(.*)\]", each) for each in found]
    return [mark[1] for mark in marks if mark and re.search("passed|failed|finding|no problems", mark[1])]
