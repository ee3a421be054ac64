"""The export page: the case is shown, checked, and leaves as a file that ADK reads."""

from __future__ import annotations

import io
import json
import re
import sys
import zipfile
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from google.adk.evaluation.eval_case import EvalCase, get_all_tool_calls
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file
from hypothesis import given, settings
from hypothesis import strategies as st

from app.export.export_case import LONGEST, ExportForm, ExportResult, free_eval_id, proposed_eval_id, write
from app.live.background_jobs import Job
from app.live.live_sessions import LiveSession
from app.session.shell_texts import words_of
from evalset import EvalSetWriter, import_cases
from evalset.cli.shell_lines import AgentWords
from evalset.editing.sidecars import open_beside
from evalset.files.eval_names import flaw_of_eval_id
from evalset.verify import Criteria, Verification
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents import DEMOS_DIR, AgentEntry, AgentSettings, demo_agent
from simulator.facts import Failed, Outcome, Returned
from simulator.runtime import Simulation
from simulator.session.history import ToolOutput
from tests.app.desk_sessions import answered, live_of, taken_in
from tests.app.fakes import FakeSimulation
from tests.app.page_driver import Tab
from tests.simulator.runtime.stage import agent_of, call


@pytest.fixture(autouse=True)
def studio_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The studio was started without options."""
    monkeypatch.setattr(sys, "argv", ["app"])


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """The eval set that the session's agent names."""
    return tmp_path / "order_desk_evals.evalset.json"


@pytest.fixture
def live(target: Path) -> LiveSession:
    """A session in which a tool was answered and the agent has spoken."""
    demo = demo_agent("order_desk")
    config = SimulatedAgentConfig(
        name="order_desk", agent=demo.agent, eval_set_path=target, app_name="order_desk"
    )
    return answered(config)


@pytest.fixture
def tab(live: LiveSession) -> Tab:
    """The export page of the session."""
    return Tab(live.session_id).click("open_export")


def written(live: LiveSession, path: Path, eval_id: str = "another") -> ExportResult:
    """Write the case without a page."""
    simulation = live.simulation
    facts = [fact for _, fact in simulation.journal.path()]
    form = ExportForm(eval_id=eval_id, path=str(path))
    return write(simulation.session, live.config, form, simulation.journal.head, facts)


def test_what_a_case_of_the_set_has_recorded_is_a_candidate_of_the_next_session(
    live: LiveSession, target: Path
) -> None:
    """With the case and what differs as its source; a case that is added is found, and the nearest one counts."""
    simulation = Simulation.open(live.config)
    simulation.query("Where is order A-1001?")
    page = Tab(taken_in(simulation, live.config).session_id)
    assert not page.keys("choose_case")
    written(answered(live.config, before=["A-1002"]), target, "shipped")
    assert "From case 'shipped', turn 1, call 1: args.order_id was 'A-1002'" in page.run().literal
    page.click(page.key("choose_case"))
    shown = json.loads(page.typed("response_"))
    assert (shown["order_id"], shown["before"]) == ("A-1001", ["A-1002"])  # the id of this call by its name
    (source,) = [one for one in page.nodes() if str(getattr(one, "value", "")).startswith("From case")]
    assert ("uncertain at before" in source.value, source.proto.wrap) == (True, True)
    other = Simulation.open(live.config)
    other.query("Where is order A-1001?")
    order = {"order_id": "A-1001", "status": "lost", "total": 2.0}
    other.answer(other.pending[0], order)
    written(taken_in(other, live.config), target, "lost")
    assert "From case 'lost', turn 1, call 1" in page.run().literal
    page.click(page.key("give_case"))
    assert any(getattr(one, "result", None) == order for one in simulation.session.history)


BACKEND: Any = None
"""What a clerk's tools ask: nobody knows what it responds."""


def get_claim(claim_id: str) -> dict[str, Any]:
    """Get a claim."""
    found: dict[str, Any] = BACKEND.claim(claim_id)
    return found


def approve_claim(claim_id: str) -> dict[str, Any]:
    """Approve a claim."""
    done: dict[str, Any] = BACKEND.approve(claim_id)
    return done


@pytest.mark.parametrize(
    ("before", "record_of", "is_draft"),
    [
        ([], "C-1", True),
        ([("approve_claim", "C-2")], "C-1", True),
        ([("approve_claim", "C-1")], "C-1", False),
        ([("get_claim", "C-1")], "C-1", False),
        ([], "C-2", False),
    ],
)
def test_a_response_recorded_for_this_very_call_is_the_draft_unless_the_session_has_decided(
    target: Path, before: list[tuple[str, str]], record_of: str, *, is_draft: bool
) -> None:
    """It names its case, and is sent without marks; after a write of the same claim, or an own response, it stays a candidate."""

    def played(*calls: tuple[str, str]) -> tuple[Simulation, SimulatedAgentConfig]:
        agent = agent_of(
            *([call(name, claim_id=key)] for name, key in calls), tools=[get_claim, approve_claim]
        )
        config = SimulatedAgentConfig(
            name="order_desk", agent=agent, eval_set_path=target, app_name="order_desk"
        )
        simulation = Simulation.open(config)
        simulation.query("What about the claim?", wait=60.0)
        return simulation, config

    claim = {"claim_id": record_of, "state": "open", "total": 1250.5}
    other, config = played(("get_claim", record_of))
    other.answer(other.pending[0], claim, wait=60.0)
    written(taken_in(other, config), target, "storm")
    simulation, config = played(*before, ("get_claim", "C-1"))
    for name, key in before:
        simulation.answer(simulation.pending[0], {"claim_id": key, "done": name}, wait=60.0)
    page = Tab(taken_in(simulation, config).session_id)
    assert (json.loads(page.typed("response_")) == claim) is is_draft
    assert ("Recorded in another case: case 'storm', turn 1, call 1" in page.literal) is is_draft
    assert page.keys("choose_case")
    if is_draft:
        page.click(page.key("accept"))
        (entry,) = [one for one in simulation.session.history if getattr(one, "result", None) == claim]
        assert isinstance(entry, ToolOutput)
        assert entry.provenance is not None
        assert (entry.provenance.source, entry.provenance.blanks) == ("generated", ())


def test_the_case_is_shown_and_checked(tab: Tab) -> None:
    """The outline names query, call and answer; ADK's loader has read the case back; nothing comes alive."""
    assert tab.app.success
    assert "order A-1002?" in tab.literal
    assert "find_order" in tab.literal
    assert tab.keys("export_warnings")
    assert tab.live_marks() == []
    (table,) = tab.app.dataframe
    assert json.loads(table.proto.columns)["tool"]["width"] >= 8 * len("find_order")
    assert "order_id=A-1002, status=shipped" in table.value["response"][0]
    assert "shipped" not in [text.value for text in tab.app.text]
    tab.app.session_state["outline_calls_1"] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    assert "shipped" in [text.value for text in tab.run().app.text]
    tab.choose("export_view", "Case JSON")
    assert '"eval_id": "find_order_a1002' in tab.literal
    assert tab.live_marks() == []


@pytest.mark.long
def test_a_written_case_is_verified_at_once_and_run_by_the_commands_that_are_shown(
    tab: Tab, target: Path
) -> None:
    """The agent's own file gets it, its replay asks no tool and no model, and the hermetic command comes first, each with its whole paths."""
    tab.click("export_write")
    verdict_of(tab)
    (case,) = load_eval_set_from_file(str(target), "order_desk_evals").eval_cases
    assert case.conversation is not None
    calls = get_all_tool_calls(case.conversation[0].intermediate_data)
    assert [call.name for call in calls] == ["find_order"]
    assert tab.app.button(key="export_write").disabled
    assert verdict_of(tab) == "passed"
    assert not tab.has("export_replay_again")
    shown = [code.value for code in tab.app.code if "order_desk_evals" in code.value]
    assert shown[0] == str(target)
    evaluate, pytest_file, lines, plain, real = shown[1:]
    assert "/golden-trace eval order_desk /" in evaluate
    assert f"golden-trace eval order_desk {target} --case {case.eval_id}" in evaluate
    assert "/golden-trace export /" in pytest_file
    assert "-m pytest '/" in pytest_file
    assert "HermeticEnvironment" in lines
    assert plain == real
    assert f"/adk eval {DEMOS_DIR / 'order_desk'} " in plain
    assert tab.live_marks() == []
    tab.click("export_open_set")
    assert case.eval_id in tab.literal
    assert tab.has("case_back")
    assert tab.session_id is None


def test_a_file_that_is_in_the_way_is_left_as_it_is(tab: Tab, target: Path) -> None:
    """It is named. In the place of the set nothing is written; in that of its environment the case is all the same."""
    target.write_text("{ broken")
    tab.click("export_write")
    assert tab.app.error
    assert str(target) in tab.literal
    assert target.read_text() == "{ broken"
    target.unlink()
    sidecar = target.with_name("order_desk_evals.environment.json")
    sidecar.write_text("[]")
    tab.click("export_write")
    assert tab.keys("export_done")
    assert target.is_file()
    assert f"{sidecar}: " in tab.literal
    assert sidecar.read_text() == "[]"


def test_a_second_export_gets_an_id_of_its_own_and_another_file_and_form_can_be_chosen(
    live: LiveSession, tmp_path: Path, target: Path
) -> None:
    """The case is offered under the next free id; path, id and form are those of the fields; a failed write takes the place of a good one."""
    written(live, target, "find_order_a1002")
    tab = Tab(live.session_id).click("open_export").click("export_write")
    _, second = load_eval_set_from_file(str(target), "order_desk_evals").eval_cases
    assert second.eval_id == "find_order_a1002_shipped"
    other = tmp_path / "other" / "set.evalset.json"
    tab.choose("export_form_export", "invocation_events")
    tab.fill("export_path_export", str(other))
    tab.fill("export_eval_id_export", "my_case").fill("export_note_", "Late.")
    assert tab.run().click("export_write").keys("export_done")
    (case,) = load_eval_set_from_file(str(other), "set").eval_cases
    assert case.eval_id == "my_case"
    assert open_beside(other).notes["my_case"].text == "Late."
    assert type(case.conversation[0].intermediate_data).__name__ == "InvocationEvents"  # type: ignore[index] # it has one
    tab.fill("export_path_export", str(target.parent)).run().click("export_write")
    assert tab.app.error
    assert tab.keys("export_done") == []


def test_a_relative_path_starts_at_the_folder_of_the_agents_set(tab: Tab, target: Path) -> None:
    """A set and a dataset are written there, and the page knows them by their whole path."""
    tab.fill("export_path_export", "sub/../more.evalset.json").run().click("export_write")
    assert tab.keys("export_done")
    assert target.with_name("more.evalset.json").is_file()
    tab.unfold("export_dataset").type("dataset_path_export", "more-dataset.json").click("dataset_write")
    assert target.with_name("more-dataset.json").is_file()


def test_no_file_of_the_agent_is_made_or_overwritten_by_a_typed_path(tab: Tab, target: Path) -> None:
    """Neither with a case nor with a dataset; the file is named, and the folder is as it was."""
    there, new = (target.with_name(name) for name in ("environment_data.json", "test_config.json"))
    there.write_text("[]")
    tab.unfold("export_dataset")
    for path in (there, new):
        tab.type("export_path_export", str(path)).click("export_write")
        assert path.name in "".join(each.value for each in tab.app.code)
        tab.type("dataset_path_export", str(path)).click("dataset_write")
        assert tab.app.error
    assert there.read_text() == "[]"
    assert not new.exists()
    assert not target.exists()


def test_a_case_with_this_id_is_replaced_after_a_click(tab: Tab, live: LiveSession, target: Path) -> None:
    """The page says that the id is taken, and offers to replace that case; another id takes the offer away.

    What is noted on the page is the note of the case, next to its set.
    """
    written(live, target, "same")
    tab.fill("export_eval_id_export", "same").run()
    tab.click("export_write")
    assert "already has a case" in tab.literal
    tab.fill("export_eval_id_export", "another").run()
    assert not tab.has("export_replace")
    tab.fill("export_eval_id_export", "same").run()
    tab.fill("export_note_", "The **order** is late.").click("export_replace")
    (case,) = load_eval_set_from_file(str(target), "order_desk_evals").eval_cases
    assert case.eval_id == "same"
    assert open_beside(target).notes["same"].text == "The **order** is late."
    assert tab.keys("export_note_") == []
    assert not tab.app.error
    assert tab.app.button(key="export_write").disabled


def test_a_replaced_case_is_restored_on_the_page_of_its_set(
    tab: Tab, live: LiveSession, target: Path
) -> None:
    """Where the set was open: nothing is left to save there, and an undo restores the case, with what was edited in it.

    A case that is exported after that undo was saved is on the page, too, and can be undone in the same way.
    """
    written(live, target, "same")
    whole = json.loads(target.read_text())
    whole["eval_cases"][0]["conversation"][0]["final_response"]["parts"][0]["text"] = "Edited."
    target.write_text(json.dumps(whole))
    of_set = Tab(page="sets", set=str(target))
    tab.fill("export_eval_id_export", "same").run().click("export_write")
    tab.app.checkbox(key="export_keep_edits_export").uncheck()
    tab.run().click("export_replace")
    assert json.loads(target.read_text()) != whole
    assert of_set.run().app.button(key="set_save").disabled
    assert "replace the case" in of_set.app.button(key="set_undo").help
    of_set.click("set_undo").click("set_save")
    assert json.loads(target.read_text()) == whole
    tab.fill("export_eval_id_export", "later").run().click("export_write")
    assert "2 cases" in of_set.run().words
    assert "later" in of_set.literal
    assert of_set.app.button(key="set_save").disabled
    of_set.click("set_undo").click("set_save").click("save_set")
    assert json.loads(target.read_text()) == whole


def test_a_case_that_was_written_is_known_after_a_reload(tab: Tab, target: Path) -> None:
    """Its last result, its commands and its id are there again, and nothing is written twice.

    What was edited in it since is named and stays, until a person says otherwise: then it is replaced.
    """
    tab.click("export_write")
    verdict_of(tab)

    def again() -> Tab:
        return Tab(tab.session_id, view="export")

    assert again().app.button(key="export_write").disabled
    shown = again()
    assert "**Verified** with the recorded models: " in shown.words
    assert "Last run: " in shown.words
    assert shown.has("export_open_set")
    assert any("golden-trace eval order_desk" in code.value for code in shown.app.code)
    eval_id = shown.app.text_input(key="export_eval_id_export").value
    whole = json.loads(target.read_text())
    case = whole["eval_cases"][0]
    assert case["eval_id"] == eval_id
    case["conversation"][0]["final_response"]["parts"][0]["text"] = "Edited."
    target.write_text(json.dumps(whole))
    changed = again()
    assert changed.app.text_input(key="export_eval_id_export").value == eval_id
    assert "final response of turn 1 was edited" in changed.literal
    assert changed.app.button(key="export_write").disabled
    assert not changed.has("export_replace")
    changed.app.checkbox(key="export_keep_edits_export").uncheck()
    changed.run()
    assert not changed.has("export_write")
    assert [each for each in changed.app.warning if "final response of turn 1" in each.value]
    assert changed.app.button(key="export_replace").proto.type == "primary"
    changed.click("export_replace")
    (replaced,) = json.loads(target.read_text())["eval_cases"]
    assert replaced["conversation"][0]["final_response"]["parts"][0]["text"] != "Edited."
    target.unlink()
    assert not again().app.button(key="export_write").disabled


def test_an_eval_id_that_cannot_be_used_is_named_below_its_field(tab: Tab) -> None:
    """It is no flaw of the case, which stays shown; an id that can be used is offered."""
    tab.fill("export_eval_id_export", "a:b").run()
    assert "Turn 1" in tab.words
    assert tab.app.button(key="export_write").disabled
    drawn = [(node.type, str(getattr(node, "value", ""))) for node in tab.nodes()]
    (place,) = [at for at, (kind, text) in enumerate(drawn) if "'a:b'" in text]
    before = [text for kind, text in drawn[:place] if kind == "text_input"]
    assert before[-1] == "a:b"
    tab.click("export_usable_id")
    assert tab.app.text_input(key="export_eval_id_export").value == "a_b"
    assert not tab.app.button(key="export_write").disabled


@pytest.mark.long
def test_what_cannot_be_written_is_told(tab: Tab, target: Path) -> None:
    """The reason stands on the page, no file is written, and the fields keep what was typed."""
    nowhere = "/proc/nowhere/set.evalset.json"
    for key, text, data in (
        ("export_path_export", nowhere, nowhere),
        ("export_path_export", "", ""),
        ("export_eval_id_export", "a:b", "':'"),
    ):
        before = tab.app.text_input(key=key).value or ""
        tab.fill(key, text).run()
        if not tab.app.button(key="export_write").disabled:
            tab.click("export_write")
        assert tab.app.error, text
        assert data in tab.literal
        assert tab.app.text_input(key=key).value == text
        tab.fill(key, before).run()
    assert not target.exists()


def test_the_case_leaves_as_a_dataset(tab: Tab, live: LiveSession, target: Path) -> None:
    """And as an archive with its world; into the project's folder of datasets, with what is lost said before; an import gives the case back; another file is left alone."""
    (target.parent / "agents-cli-manifest.yaml").write_text("agent_directory: app\n")
    assert not tab.has("dataset_write")
    tab.unfold("export_dataset")
    assert tab.has("dataset_download")
    path = Path(str(tab.app.text_input(key="dataset_path_export").value))
    assert path.parent == target.parent / "tests" / "eval" / "datasets"
    tab.click("dataset_write")
    sidecar = path.with_name(path.name.replace(".json", ".environment.json"))
    assert str(sidecar) in tab.literal
    assert live.built is not None
    imported = import_cases(path)
    assert list(imported.cases) == [live.built[1].case]
    assert imported.environments == live.built[1].known
    with zipfile.ZipFile(io.BytesIO(live.built[1].archive)) as archive:
        assert [name.partition(".")[2] for name in archive.namelist()] == ["evalset.json", "environment.json"]
    assert tab.live_marks() == []
    path.write_text("mine")
    tab.click("dataset_write")
    assert tab.app.error
    assert f"{path} " in tab.literal
    assert path.read_text() == "mine"


def test_a_session_without_a_final_response_has_no_case(tmp_path: Path) -> None:
    """Before the first query there is nothing to export; before the final response the script of the session so far."""
    config = demo_agent("order_desk")
    simulation = Simulation.open(config)
    tab = Tab(taken_in(simulation, config).session_id)
    assert tab.app.button(key="open_export").disabled
    simulation.query("Where is order A-1002?")
    tab.run().click("open_export")
    assert tab.app.query_params["view"] in ("export", ["export"])
    assert not tab.has("export_write")
    assert not tab.has("export_download")
    assert tab.has("download_script")
    assert list(tmp_path.iterdir()) == []
    tab.click("export_back")
    assert "view" not in tab.app.query_params
    assert not tab.app.button(key="open_export").disabled


def replay_of(tab: Tab) -> Job[Any]:
    """Return the replay of what was written."""
    replay = live_of(tab.session_id).replay
    assert replay is not None
    return replay[1]


def verdict_of(tab: Tab) -> str:
    """Wait until the case that was written is replayed, draw the page, and return what it says of the case."""
    assert replay_of(tab).wait(60)
    found = replay_of(tab.run()).result
    assert found is not None
    (case,) = found.verification.cases
    return str(case.status)


@pytest.mark.long
def test_a_replay_is_out_of_date_when_the_file_has_changed(tab: Tab, target: Path) -> None:
    """The page says what changed, and replays again on a click: then it shows the first divergence with its verdict."""
    tab.click("export_write")
    verdict_of(tab)
    golden = json.loads(target.read_text())
    golden["eval_cases"][0]["conversation"][0]["intermediate_data"]["tool_uses"][0]["args"] = {
        "order_id": "B-2"
    }
    target.write_text(json.dumps(golden))
    assert tab.run().app.warning
    tab.click("export_replay_again")
    assert verdict_of(tab) == "failed"
    assert not tab.app.warning
    assert "turn 1, step 2" in tab.words
    assert "B-2" in tab.literal


def test_a_replay_can_be_stopped(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it runs the page shows how far it is, with a way to stop it; then it can be made again."""
    began, ends = Event(), Event()

    def slow(*_: Any, stop: Event, **__: Any) -> Verification:
        began.set()
        assert stop.wait(60)
        ends.set()
        return Verification(eval_set=Path("x"), environment=Path("y"), runs=1, criteria=Criteria())

    monkeypatch.setattr(
        "evalset.verify.verify", slow, raising=False
    )  # a replay that takes as long as it likes
    tab.click("export_write")
    assert began.wait(60)
    assert not tab.keys("case_verify-case")  # its last result is that of the case before
    tab.click("stop_export_replay")
    assert ends.wait(60)
    assert replay_of(tab).wait(60)
    assert tab.run().app.error == []
    assert tab.has("export_replay_again")
    assert tab.keys("case_verify-case")


def test_each_kind_of_agent_has_words_for_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A demo by its name, a folder by its path, a single file and a file of configs with the name behind it, a module from here."""
    monkeypatch.chdir(tmp_path)
    agents = tmp_path / "agents"
    for name in ("whole/__init__.py", "whole/agent.py", "bare/__init__.py", "../configs.py"):
        (agents / name).parent.mkdir(parents=True, exist_ok=True)
        (agents / name).touch()
    folder, file = AgentSettings(agents_dir=Path("agents")), AgentSettings(agents_file="configs.py")
    module, here = AgentSettings(agents_file="my.agents"), str(agents / "whole")
    rows: list[tuple[Any, Any, AgentSettings, AgentWords]] = [
        ("order_desk", "demo", folder, AgentWords(words="order_desk", folder=DEMOS_DIR / "order_desk")),
        ("whole", "folder", folder, AgentWords(words=here, folder=agents / "whole")),
        ("bare", "folder", folder, AgentWords(words=f"{agents}#bare", folder=agents / "bare")),
        ("one.py", "folder", folder, AgentWords(words=f"{agents}#one")),
        ("order_desk (file)", "file", file, AgentWords(words=f"{tmp_path / 'configs.py'}#order_desk")),
        ("one", "file", module, AgentWords(words="my.agents#one", start_in=tmp_path)),
    ]
    for name, source, options, words in rows:
        location = str(agents / name) if source == "folder" else ""
        entry = AgentEntry(name=name.removesuffix(".py"), source=source, location=location)
        assert words_of(entry, options, ["order_desk"] if "(" in name else ()) == words


def session_of(said: str, *calls: tuple[str, dict[str, Any]]) -> FakeSimulation:
    """Return a session in which a user has said something, and these calls were made."""
    simulation = FakeSimulation()
    simulation.ask(said)
    for number, (tool, arguments) in enumerate(calls):
        simulation.call(f"c{number}", tool, **arguments)
    return simulation


FIND = ("find_order", {"order_id": "A-1001"})
BOOK = ("book_room", {"room_id": "R-101"})
CANCEL = ("cancel_order", {"order_id": "A-1001", "reason": "customer_request"})


@pytest.mark.parametrize(
    ("said", "calls", "eval_id"),
    [
        ("Please cancel it.", [FIND, CANCEL], "cancel_order_a1001"),
        ("Where is it?", [FIND], "find_order_a1001"),
        ("Go.", [("transfer_to_agent", {"agent_name": "desk"}), ("bookTrip", {"days": 3})], "book_trip_3"),
        (
            "Go.",
            [("send_mail", {"body": "Dear sir, " * 9, "urgent": True, "to": "ada@x.de"})],
            "send_mail_adaxde",
        ),
        ("Ping.", [("refresh", {})], "refresh"),
        (
            "Book it.",
            [("translator", {"request": "hi"}), BOOK, ("pay_invoice", {"id": "B-1"})],
            "pay_invoice_b1",
        ),
        ("Book it.", [("translator", {"request": "hi"}), BOOK, FIND], "book_room_r101"),
        ("Hello there, what can-you-do for me today?", [], "hello_there_what_can_you_do"),
        (
            "Reschedule international consultation appointments tomorrow",
            [],
            "reschedule_international_consultation",
        ),
        ("Go.", [(f"find_{'all_' * 12}orders", {"id": "A-1"})], f"find{'_all' * 10}_a1"),
    ],
)
def test_an_id_is_of_words(said: str, calls: list[Any], eval_id: str) -> None:
    """The last call that changes something counts, with the value that tells it from others; a tool that may only read does not."""
    assert proposed_eval_id(session_of(said, *calls).session) == eval_id


def test_two_cases_of_one_message_are_told_apart_by_how_they_ended(tmp_path: Path) -> None:
    """An id that the set has gets the status or the error of the last call; without any, or where that is taken too, a number."""
    set_path = tmp_path / "orders.evalset.json"
    ends: dict[str, Outcome] = {
        "find_order_a1001": Returned(value={"total": 1.0}),
        "find_order_a1001_shipped": Returned(value={"order_id": "A-1001", "status": "shipped"}),
        "find_order_a1001_failed_503": Failed(error_code=503, error_message="busy"),
        "find_order_a1001_2": Returned(value=[]),
        "find_order_a1001_shipped_2": Returned(value={"status": "shipped"}),
    }
    for wanted, outcome in ends.items():
        session = session_of("Where is it?", FIND).give("c0", outcome).session
        assert free_eval_id(session, str(set_path)) == wanted
        case = EvalCase(eval_id=wanted, conversation=[])
        EvalSetWriter(set_path, session.agent_name).write_eval_case(case)


def test_without_a_change_the_first_call_of_the_root_agent_names_the_case() -> None:
    """What its sub-agents call first says less of what it is about."""
    simulation = session_of("Where is it?")
    simulation.call("c0", "transfer_to_agent", agent_name="clerk")
    simulation.call("c1", "look", agent="clerk", place="Oslo").call("c2", FIND[0], **FIND[1])
    assert proposed_eval_id(simulation.session) == "find_order_a1001"


def test_what_has_no_words_gets_the_agent_and_the_time() -> None:
    """Letters that ASCII lacks name nothing in a command."""
    assert re.fullmatch(r"\w+_\d{4}-.*Z", proposed_eval_id(session_of("\u5341\u5341").session))


@settings(max_examples=settings().max_examples // 3)
@given(st.text(), st.text(min_size=1), st.dictionaries(st.text(), st.text() | st.integers() | st.booleans()))
def test_any_session_gets_one_that_adk_takes(said: str, tool: str, arguments: dict[str, Any]) -> None:
    """Short, and free of what splits a command line."""
    made = proposed_eval_id(session_of(said or "x", (tool, arguments)).session)
    assert flaw_of_eval_id(made) is None
    assert len(made) <= LONGEST
