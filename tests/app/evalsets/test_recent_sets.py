"""Eval sets are found wherever they lie: beside an agent, in its project or elsewhere; a demo agent's never lie in the installed package."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from app.evalsets.set_context import SetFacts, facts_of
from app.evalsets.set_discovery import check_set, folders, found_sets
from app.live.agent_catalogue import catalogue
from app.live.destinations import MOST_RECENT, check_place, default_destination, recent_sets, remember_set
from app.server.owners import LOCAL
from simulator.agents import DEMOS_DIR, AgentCatalogue, AgentEntry, AgentSettings, demo_agent
from tests.app.desk_sessions import answered
from tests.app.page_driver import Tab


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's data, and a studio without options."""
    monkeypatch.setattr(sys, "argv", ["app"])
    return tmp_path / "data"


def a_set(path: Path) -> Path:
    """An empty eval set."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"eval_set_id": "set", "eval_cases": []}))
    return path


def listed() -> list[str]:
    """The eval sets that the page lists for the one person of this machine."""
    entries = AgentCatalogue(AgentSettings()).entries()
    return [line.path for line in found_sets(folders(entries), LOCAL)]


def test_a_demos_default_export_lies_among_the_users_data(data: Path, tmp_path: Path) -> None:
    """The package is as it was; and the set is found again, also after a restart, before any agent is loaded.

    So is one that was written to any other place, until it is deleted.
    """
    before = {path for path in DEMOS_DIR.rglob("*") if path.name != "__pycache__"}
    tab = Tab(answered(demo_agent("order_desk")).session_id).click("open_export").click("export_write")
    written = data / "eval_sets" / "order_desk" / "order_desk_evals.evalset.json"
    assert written.is_file()
    assert {path for path in DEMOS_DIR.rglob("*") if path.name != "__pycache__"} == before
    assert str(written) in listed()
    other = tmp_path / "elsewhere" / "mine.evalset.json"
    tab.fill("export_path_export", str(other)).run().click("export_write")
    (line,) = [line for line in found_sets({}, LOCAL) if line.path == str(other)]
    assert (line.name, line.agent) == ("mine", "order_desk")
    other.unlink()
    assert str(other) not in listed()


def test_the_one_set_that_is_listed_for_an_agent_is_offered_for_its_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the folder of evals of its project. Of several, none is; then it is the agent's own."""
    shutil.copytree(DEMOS_DIR / "order_desk", tmp_path / "project" / "order_desk")
    monkeypatch.setattr(sys, "argv", ["app", "--agents-dir", str(tmp_path / "project"), "--no-demos"])
    catalogue().refresh()
    evals = tmp_path / "project" / "tests" / "eval" / "evalsets"
    first = a_set(evals / "desk.evalset.json")
    session = answered(catalogue().config("order_desk")).session_id
    offered = [str(first), str(evals.parents[2] / "order_desk" / "order_desk_evals.evalset.json")]
    for path in offered:
        tab = Tab(session).click("open_export")
        assert tab.app.text_input(key=tab.key("export_path_")).value == path
        a_set(evals / "other.evalset.json")


def test_the_one_that_was_used_last_comes_first_and_once(tmp_path: Path) -> None:
    """So many are remembered, each once, in the order of their use."""
    paths = [a_set(tmp_path / f"{number}.evalset.json") for number in range(MOST_RECENT + 5)]
    for path in paths:
        remember_set(LOCAL, path)
    remember_set(LOCAL, paths[50], "desk")
    found = recent_sets(LOCAL)
    assert len(found) == MOST_RECENT
    assert (found[0].path, found[0].agent, found[1].path) == (str(paths[50]), "desk", str(paths[-1]))


@pytest.mark.parametrize("content", ["", "[]", '{"sets": [{"file": 1}]}', "\x00"])
def test_what_is_remembered_may_be_damaged(content: str, data: Path, tmp_path: Path) -> None:
    """It is a convenience: a damaged file is as none, and is written anew."""
    file = data / "recent_sets" / "local.json"
    file.parent.mkdir(parents=True)
    file.write_text(content)
    assert recent_sets(LOCAL) == ()
    remember_set(LOCAL, a_set(tmp_path / "a.evalset.json"))
    assert len(recent_sets(LOCAL)) == 1


def test_a_data_folder_that_cannot_be_written_keeps_nobody_from_work(
    data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The log names the set that is not listed."""
    data.write_text("in the way")
    remember_set(LOCAL, a_set(tmp_path / "a.evalset.json"))
    assert recent_sets(LOCAL) == ()
    assert "a.evalset.json" in caplog.text


def test_each_person_has_files_and_demo_sets_of_their_own(data: Path) -> None:
    """Where several people use a server, nobody is shown, may open or may write what another's demo session gave."""
    config: Any = demo_agent("order_desk")
    places = {owner: default_destination(owner, config) for owner in (LOCAL, "browser-a", "browser-b")}
    assert len(set(places.values())) == 3
    assert all(place.is_relative_to(data / "eval_sets") for place in places.values())
    mine, theirs = a_set(places["browser-a"]), a_set(places["browser-b"])
    remember_set("browser-a", mine)
    remember_set("browser-b", theirs)
    a_set(places[LOCAL])
    homes = folders(AgentCatalogue(AgentSettings()).entries(), "browser-a")
    shown = [line.path for line in found_sets(homes, "browser-a")]
    assert [path for path in shown if Path(path).is_relative_to(data)] == [str(mine)]
    check_place(str(mine), "browser-a", config)
    assert check_set(str(mine), "browser-a", homes) == mine
    for path in (theirs, places[LOCAL]):
        with pytest.raises(ValueError, match=re.escape(str(mine.parent))):
            check_place(str(path), "browser-a", config)
        with pytest.raises(ValueError, match=r"\.json files in"):
            check_set(str(path), "browser-a", homes)


def test_a_set_keeps_its_agent_when_it_is_opened(tmp_path: Path) -> None:
    """Who opens it names none; another export may name another one."""
    path = a_set(tmp_path / "mine.evalset.json")
    for agent, known in (("order_desk", "order_desk"), ("", "order_desk"), ("other", "other")):
        remember_set(LOCAL, path, agent)
        assert [each.agent for each in recent_sets(LOCAL)] == [known]


@pytest.mark.parametrize("agent", ["shop", "agents/shop", "src/agents/shop", "src/company/agents/shop"])
def test_the_folders_of_evals_of_a_project_are_those_of_its_agent(tmp_path: Path, agent: str) -> None:
    """Next to the agent or at the root of the project; of several agents there, none has it alone."""
    project = tmp_path / "project"
    for place in (project / agent, project / "eval", project / "tests/eval"):
        place.mkdir(parents=True)
    (project / "pyproject.toml").touch()
    entries = [AgentEntry(name="shop", source="folder", location=str(project / agent))]
    found = folders(entries)
    assert found[project / "eval"] == found[project / "tests/eval"] == "shop"
    other = project / agent.replace("shop", "bank")
    other.mkdir()
    entries.append(AgentEntry(name="bank", source="folder", location=str(other)))
    assert folders(entries)[project / "eval"] == ""


CASES: list[Any] = [
    {"eval_id": "a", "session_input": {"app_name": "desk"}, "conversation": []},
    {"evalId": "b", "sessionInput": {"appName": "shop"}, "conversationScenario": {"starting_prompt": "hi"}},
    {"eval_id": "a"},
    {"eval_id": 3, "session_input": "odd", "conversation_scenario": None},
    "no case",
]


@pytest.mark.parametrize("name", ["eval_cases", "evalCases"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_ids_apps_and_scenarios_are_read(name: str, mark: bytes, tmp_path: Path) -> None:
    """Each once, in order; what is odd is passed over; a byte order mark as well."""
    path = tmp_path / "set.json"
    path.write_bytes(mark + json.dumps({"eval_set_id": "x", name: CASES}).encode())
    assert facts_of(path) == SetFacts(eval_ids=("a", "b"), app_names=("desk", "shop"), scenarios=("b",))


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    """And one that does not is not."""
    path = tmp_path / "set.json"
    path.write_text(json.dumps({"eval_cases": CASES[:1]}))
    assert facts_of(path) is facts_of(path)
    path.write_text(json.dumps({"eval_cases": CASES[:2]}))
    os.utime(path, ns=(1, 1))
    assert facts_of(path).eval_ids == ("a", "b")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"eval_cases": 3}', "3", '{"eval_cases": [{"eval_id": "a"'])
def test_what_is_no_set_has_no_cases(text: str, tmp_path: Path) -> None:
    """It raises nothing; broken JSON says where."""
    path = tmp_path / "set.json"
    path.write_text(text)
    facts = facts_of(path)
    assert facts.eval_ids == ()
    assert facts_of(tmp_path / "nowhere.json").problem
    if text in {"", "{"}:
        assert str(path) in facts.problem
