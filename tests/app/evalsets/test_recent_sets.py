"""Eval sets outside of the agents' folders are found again, and a demo agent's never lie in the installed package."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from app.evalsets.set_discovery import check_set, folders, found_sets
from app.live.destinations import check_place, default_destination
from app.live.recent_sets import MOST_RECENT, recent_sets, remember_set
from app.server.owners import LOCAL
from simulator.agents import DEMOS_DIR, AgentCatalogue, AgentSettings, demo_agent
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


def exporting() -> Tab:
    """The export page of a session with a demo agent."""
    return Tab(answered(demo_agent("order_desk")).session_id).click("open_export")


def listed() -> list[str]:
    """The eval sets that the page lists for the one person of this machine."""
    entries = AgentCatalogue(AgentSettings()).entries()
    return [line.path for line in found_sets(folders(entries), LOCAL)]


def test_a_demos_default_export_lies_among_the_users_data(data: Path) -> None:
    """The package is as it was; and the set is found again, also after a restart, before any agent is loaded."""
    before = {path for path in DEMOS_DIR.rglob("*") if path.name != "__pycache__"}
    tab = exporting()
    tab.click("export_write")
    written = data / "eval_sets" / "order_desk" / "order_desk_evals.evalset.json"
    assert written.is_file()
    assert {path for path in DEMOS_DIR.rglob("*") if path.name != "__pycache__"} == before
    assert str(written) in listed()


@pytest.mark.long
def test_an_export_to_any_place_is_found_again(tmp_path: Path) -> None:
    """As the eval sets of an agent in a file of configs, which has no folder; one that was deleted is not listed any more."""
    other = tmp_path / "elsewhere" / "mine.evalset.json"
    tab = exporting()
    tab.fill("export_path_export", str(other)).run().click("export_write")
    (line,) = [line for line in found_sets({}, LOCAL) if line.path == str(other)]
    assert (line.name, line.agent) == ("mine", "order_desk")
    other.unlink()
    assert str(other) not in listed()


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
