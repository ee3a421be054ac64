"""The pages of the eval sets: sets are found, looked through, edited and saved, by whom they are for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.set_desk import desks
from app.set_places import check_set, found_sets, take_upload
from tests.app.pages import HOSTILE, Tab
from tests.evalset.editing_sets import record_case, write_set

AGENT = (
    "from google.adk.agents import LlmAgent\nroot_agent = LlmAgent(name='desk', model='gemini-2.5-flash')\n"
)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A set of three cases in an agent's folder; of the first the environment is recorded."""
    folder = tmp_path / "agents" / "desk"
    folder.mkdir(parents=True)
    (folder / "agent.py").write_text(AGENT)
    monkeypatch.setattr(sys, "argv", ["main.py", "--agents-dir", str(folder.parent), "--no-demos"])
    path = write_set(folder / "orders.evalset.json")
    record_case(path, "one")
    yield path
    desks().clear()


def on_set(path: Path, case: str | None = None) -> Tab:
    """Open the page of a set, or of a case of it."""
    return Tab(page="sets", set=str(path), case=case) if case else Tab(page="sets", set=str(path))


def test_a_set_is_found_and_opened_from_the_list(path: Path) -> None:
    """The list names the set and its agent; a click opens its cases, with what is known of each."""
    tab = Tab().click("open_sets")
    assert "orders.evalset.json" in tab.literal
    tab.click(tab.key("open_set_"))
    assert str(path) in tab.app.query_params["set"]
    assert "3 cases" in tab.words
    for word in ("one", "Where is A-1?", "find_order, track", "recorded, 2 rubrics", "smoke"):
        assert word in tab.literal
    tab.click("set_back")
    assert "set" not in tab.app.query_params


def test_the_cases_are_searched_and_filtered(path: Path) -> None:
    """Words, tools, tags and kinds narrow the table, and nothing that fits is said so."""
    tab = on_set(path)
    tab.app.text_input(key="case_search").input("tw")
    assert "1 of 3 cases" in tab.run().words
    tab.app.text_input(key="case_search").input("")
    tab.app.multiselect(key="case_tags").set_value(["smoke"])
    assert "1 of 3 cases" in tab.run().words
    tab.app.multiselect(key="case_tools").set_value(["track"])
    tab.app.multiselect(key="case_kinds").set_value(["Scenarios"])
    assert "No case fits" in tab.run().words


def test_a_case_is_shown_step_by_step(path: Path) -> None:
    """Its turns, calls, answers and states stand there in either form, and nothing in them comes alive."""
    path.write_text(path.read_text().replace("Where is A-1?", HOSTILE).replace('"shipped"', f'"{HOSTILE}"'))
    tab = on_set(path, "one")
    assert tab.live_marks() == []
    steps = tab.keys("case_step_one_")
    assert len(steps) == 12
    for step in steps:
        tab.app.session_state[step] = True
    tab.run()
    assert HOSTILE in tab.literal
    assert '"at": "Oslo"' in tab.literal
    assert tab.live_marks() == []


def test_a_path_that_is_no_set_is_refused_with_the_reason(path: Path) -> None:
    """The list stands there with the error."""
    path.write_text("{")
    tab = on_set(path)
    assert "was not opened" in tab.words
    assert "is not valid JSON" in tab.literal


def test_others_open_only_what_is_theirs(path: Path, tmp_path: Path) -> None:
    """Where several people use the server they open what lies in an agent's folder, or what they have uploaded."""
    elsewhere = write_set(tmp_path / "mine.evalset.json")
    homes = {path.parent: "desk"}
    assert check_set(str(path), "browser-a", homes) == path
    link = path.with_name("link.evalset.json")
    link.symlink_to(elsewhere)
    for wanted in (elsewhere, path.parent / ".." / ".." / elsewhere.name, link):
        with pytest.raises(ValueError, match="Several people"):
            check_set(str(wanted), "browser-a", homes)
        assert check_set(str(wanted), "local", homes)
    taken = take_upload("browser-a", "../up.evalset.json", path.read_bytes())
    assert check_set(str(taken), "browser-a", homes) == taken
    with pytest.raises(ValueError, match="Several people"):
        check_set(str(taken), "browser-b", homes)
    assert [line.name for line in found_sets({}, "browser-a")] == ["up"]
    assert found_sets({}, "browser-b") == []
