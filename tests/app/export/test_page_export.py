"""The export page: the case is shown, checked, and leaves as a file that ADK reads."""

from __future__ import annotations

import asyncio
import io
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any, Literal
from unittest import mock

import pytest
from google.adk.evaluation.eval_case import get_all_tool_calls
from google.adk.evaluation.eval_set import EvalSet
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file
from google.adk.runners import InMemoryRunner

from app.export.export_case import ExportForm, ExportResult, exportable, write
from app.live.live_sessions import LiveSession, registry
from app.session.shell_texts import words_of
from evalset import ReadBackError, import_cases
from evalset.adk_runs.process_agents import agent_folder
from evalset.cli.shell_lines import AgentWords
from evalset.recorded.recording_files import read_environment
from evalset.verify import Criteria, Verification
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents import DEMOS_DIR, AgentEntry, AgentSettings, demo_agent
from simulator.agents.agent_directory import directory_of
from simulator.runtime import Simulation
from tests.app.page_driver import HOSTILE, Tab


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
    simulation = Simulation.open(config)
    simulation.query("Where is order A-1002?")
    (request,) = simulation.pending
    order = {"order_id": "A-1002", "status": "shipped", "tracking": HOSTILE, "items": [], "total": 1.0}
    simulation.answer(request, order)
    return registry().add(simulation, config, directory_of(config.root_agent))


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


def test_the_case_is_shown_and_checked(tab: Tab) -> None:
    """The outline names query, call and answer; ADK's loader has read the case back; nothing comes alive."""
    assert tab.app.success
    assert "order A-1002?" in tab.literal
    assert "find_order" in tab.literal
    assert tab.keys("export_warnings")
    assert tab.live_marks() == []
    tab.choose("export_view", "Case JSON")
    assert '"eval_id": "find_order_a1002' in tab.literal
    assert tab.live_marks() == []


def test_a_written_case_is_verified_at_once_and_run_by_the_commands_that_are_shown(
    tab: Tab, target: Path
) -> None:
    """The agent's own file gets it, its replay asks no tool and no model, and the hermetic command comes first, each with its whole paths."""
    replayed(tab.click("export_write"))
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


def test_the_lines_that_the_page_shows_replay_what_lies_beside_the_set(
    live: LiveSession, target: Path
) -> None:
    """They make an app in which the recorded order is answered, whoever asks."""
    found = written(live, target)
    sidecar = target.with_name("order_desk_evals.environment.json")
    assert found.environment == str(sidecar)
    (case,) = read_environment(sidecar).cases.values()
    (call,) = case.turns[0].calls
    assert (call.tool, call.arguments, call.author.source) == (
        "find_order",
        {"order_id": "A-1002"},
        "written",
    )
    assert set(case.tools) >= {"find_order", "cancel_order"}
    names: dict[str, Any] = {"root_agent": demo_agent("order_desk").agent}
    exec(found.replay, names)  # noqa: S102 - what a person is told to copy is to run
    events = asyncio.run(InMemoryRunner(app=names["app"]).run_debug("Where is order A-1002?", quiet=True))
    (answer,) = [said.response for event in events for said in event.get_function_responses()]
    assert answer is not None
    assert answer["tracking"] == HOSTILE


def test_a_case_is_written_where_its_environment_cannot_be(tab: Tab, target: Path) -> None:
    """The page says which file is in the way, and leaves it as it is."""
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
    assert second.eval_id == "find_order_a1002_2"
    other = tmp_path / "other" / "set.evalset.json"
    tab.choose("export_form_export", "invocation_events")
    tab.app.text_input(key="export_path_export").input(str(other))
    tab.app.text_input(key="export_eval_id_export").input("my_case")
    assert tab.run().click("export_write").keys("export_done")
    (case,) = load_eval_set_from_file(str(other), "set").eval_cases
    assert case.eval_id == "my_case"
    assert type(case.conversation[0].intermediate_data).__name__ == "InvocationEvents"  # type: ignore[index] # it has one
    tab.app.text_input(key="export_path_export").input(str(target.parent))
    tab.run().click("export_write")
    assert tab.app.error
    assert tab.keys("export_done") == []


def test_what_cannot_be_written_is_told(tab: Tab, target: Path) -> None:
    """The reason stands on the page, no file is written, and the fields keep what was typed."""
    nowhere = "/proc/nowhere/set.evalset.json"
    for key, text, data in (
        ("export_path_export", nowhere, nowhere),
        ("export_path_export", "", ""),
        ("export_eval_id_export", "a:b", "':'"),
    ):
        before = tab.app.text_input(key=key).value or ""
        tab.app.text_input(key=key).input(text)
        tab.run()
        if not tab.app.button(key="export_write").disabled:
            tab.click("export_write")
        assert tab.app.error, text
        assert data in tab.literal
        assert tab.app.text_input(key=key).value == text
        tab.app.text_input(key=key).input(before)
        tab.run()
    assert not target.exists()


def test_a_file_that_adk_cannot_read_is_left_as_it_is(tab: Tab, live: LiveSession, target: Path) -> None:
    """No eval set, or one with a case that would keep ADK's loader from reading it: it is named, and not a byte of it is changed."""
    target.write_text("{ broken")
    tab.click("export_write")
    assert tab.app.error
    assert str(target) in tab.literal
    assert target.read_text() == "{ broken"
    target.unlink()
    written(live, target, "first")
    text = target.read_text().replace('"conversation"', '"conversations"')
    target.write_text(text)
    with pytest.raises(ReadBackError):
        written(live, target)
    assert target.read_text() == text


def test_a_long_file_is_not_read_in_whole(live: LiveSession, target: Path) -> None:
    """In a file of a thousand cases ADK's loader reads none but the new one, so the write takes no seconds."""
    written(live, target)
    whole = json.loads(target.read_text())
    (case,) = whole["eval_cases"]
    others = [{**case, "eval_id": f"case_{number}"} for number in range(1000)]
    target.write_text(json.dumps({**whole, "eval_cases": others}))
    loads: list[int] = []
    # How many cases the loader was given, nothing on the page can show.
    with mock.patch(
        "google.adk.evaluation.local_eval_sets_manager.load_eval_set_from_file", side_effect=_noting(loads)
    ):
        written(live, target)
    assert loads == [1]
    assert len(json.loads(target.read_text())["eval_cases"]) == 1001


def _noting(loads: list[int]) -> Callable[[str, str], EvalSet]:
    def load(path: str, eval_set_id: str) -> EvalSet:
        found = load_eval_set_from_file(path, eval_set_id)
        loads.append(len(found.eval_cases))
        return found

    return load


def test_what_turns_the_direction_of_a_text_is_shown_as_an_escape() -> None:
    """The outline and the tables name such a character, so that nothing in them reads other than it is."""
    demo = demo_agent("order_desk")
    simulation = Simulation.open(demo)
    simulation.query("Where is \u202eorder A-1002?")
    (request,) = simulation.pending
    simulation.answer(request, {"status": "\u2067shipped", "total": 1.0, "order_id": "A-1002", "items": []})
    registry().add(simulation, demo, directory_of(demo.root_agent))
    session_page = Tab(simulation.session.session_id)
    page = Tab(simulation.session.session_id).click("open_export")
    assert "\\u202eorder A-1002?" in session_page.literal
    assert "\\u202eorder A-1002?" in page.literal
    assert "\\u2067shipped" in page.literal
    for each in (session_page, page):
        assert not set("\u202e\u2067") & set(each.literal)


def test_the_export_stands_in_the_address(tab: Tab, target: Path) -> None:
    """A refresh shows the export again, and the browser's way back shows the session, without a failed write's words."""
    assert tab.app.query_params["view"] in ("export", ["export"])
    refreshed = Tab(tab.session_id)
    assert refreshed.has("query_send")
    refreshed.app.query_params["view"] = "export"
    refreshed.run()
    assert refreshed.has("export_write")
    target.write_text("{ broken")
    assert refreshed.click("export_write").app.error
    del refreshed.app.query_params["view"]
    refreshed.run()
    assert refreshed.has("query_send")
    assert not refreshed.app.error
    assert tab.click("export_back").has("query_send")
    assert not tab.has("export_write")
    assert "view" not in tab.app.query_params


def test_the_case_leaves_with_its_world(live: LiveSession, tmp_path: Path) -> None:
    """In one archive, as they lie side by side; what is replayed from it is what was answered."""
    facts = [fact for _, fact in live.simulation.journal.path()]
    made = exportable(live.simulation.journal.session(), "invocation_events", "a.case", facts, live.config)
    with zipfile.ZipFile(io.BytesIO(made.archive)) as archive:
        assert archive.namelist() == ["a_case.evalset.json", "a_case.environment.json"]
        archive.extractall(tmp_path)
    imported = import_cases(tmp_path / "a_case.evalset.json")
    assert [case.eval_id for case in imported.cases] == ["a.case"]
    (turn,) = imported.environments["a.case"].turns
    assert [call.tool for call in turn.calls] == ["find_order"]
    assert imported.environments["a.case"].tools["find_order"].schema_digest


def test_the_case_leaves_as_a_dataset(tab: Tab, live: LiveSession, target: Path) -> None:
    """Into the project's folder of datasets, with what is lost said before; an import gives the case back; another file is left alone."""
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
    registry().add(simulation, config, directory_of(config.root_agent))
    tab = Tab(simulation.session.session_id)
    assert tab.app.button(key="open_export").disabled
    simulation.query("Where is order A-1002?")
    tab.run().click("open_export")
    assert not tab.has("export_write")
    assert not tab.has("export_download")
    assert tab.has("download_script")
    assert list(tmp_path.iterdir()) == []
    tab.click("export_back")
    assert not tab.app.button(key="open_export").disabled


def replayed(tab: Tab) -> Tab:
    """Wait until the case that was written is replayed, and draw the page."""
    live = registry().get(str(tab.session_id))
    assert live is not None
    assert live.replay is not None
    assert live.replay[1].wait(60)
    return tab.run()


def verdict_of(tab: Tab) -> str:
    """Return what the replay says of the case."""
    live = registry().get(str(tab.session_id))
    assert live is not None
    assert live.replay is not None
    found = live.replay[1].result
    assert found is not None
    (case,) = found.verification.cases
    return str(case.status)


def test_a_replay_is_out_of_date_when_the_file_has_changed(tab: Tab, target: Path) -> None:
    """The page says what changed, and replays again on a click: then it shows the first divergence with its verdict."""
    replayed(tab.click("export_write"))
    golden = json.loads(target.read_text())
    golden["eval_cases"][0]["conversation"][0]["intermediate_data"]["tool_uses"][0]["args"] = {
        "order_id": "B-2"
    }
    target.write_text(json.dumps(golden))
    assert tab.run().app.warning
    replayed(tab.click("export_replay_again"))
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
    tab.click("stop_export_replay")
    assert ends.wait(60)
    assert replayed(tab).app.error == []
    assert tab.has("export_replay_again")


def entry(name: str, source: Literal["folder", "file", "demo"], location: Path | str = "") -> AgentEntry:
    """An agent of the list."""
    return AgentEntry(name=name, source=source, location=str(location))


def test_each_kind_of_agent_has_words_for_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A demo by its name, a folder by its path, a single file and a file of configs with the name behind it, a module from here."""
    monkeypatch.chdir(tmp_path)
    for name in ("whole", "bare"):
        (tmp_path / "agents" / name).mkdir(parents=True)
    (tmp_path / "agents" / "whole" / "__init__.py").touch()
    (tmp_path / "agents" / "whole" / "agent.py").touch()
    (tmp_path / "agents" / "bare" / "__init__.py").touch()
    (tmp_path / "configs.py").touch()
    folder = AgentSettings(agents_dir=Path("agents"))
    agents = tmp_path / "agents"
    demo = words_of(entry("order_desk", "demo"), folder)
    assert demo == AgentWords(words="order_desk", folder=DEMOS_DIR / "order_desk")
    whole = words_of(entry("whole", "folder", agents / "whole"), folder)
    assert whole == AgentWords(words=str(agents / "whole"), folder=agents / "whole")
    bare = words_of(entry("bare", "folder", agents / "bare"), folder)
    assert bare == AgentWords(words=f"{agents}#bare", folder=agents / "bare")
    single = words_of(entry("one", "folder", agents / "one.py"), folder)
    assert single == AgentWords(words=f"{agents}#one")
    file = AgentSettings(agents_file="configs.py")
    twice = words_of(entry("order_desk (file)", "file"), file, ["order_desk"])
    assert twice == AgentWords(words=f"{tmp_path / 'configs.py'}#order_desk")
    module = words_of(entry("one", "file"), AgentSettings(agents_file="my.agents"))
    assert module == AgentWords(words="my.agents#one", start_in=tmp_path)


def test_a_demo_lies_in_a_folder_that_adk_loads() -> None:
    """So `adk eval` takes it."""
    assert agent_folder(demo_agent("order_desk")) == DEMOS_DIR / "order_desk"
