"""A person finds an eval set, changes an answer in it, sees what that changes, saves it, and takes it back."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import expect

from evalset.recorded.recording_files import read_environment, sidecar_of
from simulator.facts import Returned
from tests.evalset.editing.editing_sets import record_case, write_set
from tests.harness.browser import NewTab, Studio
from tests.stories.reading import calls_of, case_of

pytestmark = [pytest.mark.browser, pytest.mark.process]


@pytest.fixture
def path(agents_dir: Path) -> Path:
    """A set of three cases in an agent's folder."""
    home = next(folder for folder in sorted(agents_dir.iterdir()) if folder.is_dir())
    path = write_set(home / "story.evalset.json")
    record_case(path, "one")
    return path


def open_case(studio: Studio) -> None:
    """Go from the start page to the list of sets, to the set, and by a click in its table to its first case."""
    studio.press(studio.button("open_sets"))
    search = studio.keyed("set_search").get_by_role("textbox")
    search.fill("story")
    search.press("Enter")
    expect(studio.like("set_line_")).to_have_count(1)
    studio.rest()
    studio.press(studio.button("open_set_"))
    expect(studio.keyed("cases_count")).to_contain_text("3 cases")
    studio.rest()
    # The first line of the table: its box stands below the head.
    studio.like("cases_table_").get_by_test_id("stDataFrameResizable").click(position={"x": 16, "y": 52})
    expect(studio.keyed("case_title")).to_have_text("one")
    studio.rest()


def edit_answer(studio: Studio, text: str) -> None:
    """Open the editor of the answer, in which are fields and no JSON, write another status and take it over."""
    studio.unfold("case_step_one_0_2")
    studio.rest()
    studio.press(studio.button("edit_one_0_2"))
    for width, height in ((1024, 768), (1440, 900)):
        studio.page.set_viewport_size({"width": width, "height": height})
        expect(studio.keyed("part_accept")).to_be_in_viewport(ratio=1)
    studio.rest()
    expect(studio.keyed("pane_case_side").get_by_role("textbox", name="JSON")).to_have_count(0)
    editor = studio.like("form0-json-0-status_").get_by_role("textbox")
    expect(editor).to_have_value("shipped")
    editor.fill(text)
    editor.press("Control+Enter")
    expect(studio.keyed("part_accept")).to_have_count(0)
    studio.rest()
    expect(studio.keyed("set_head")).to_contain_text("Not saved")
    studio.rest()


def ask_to_save(studio: Studio) -> None:
    """Look at what a save would change."""
    studio.rest()
    studio.press(studio.button("set_changes"))
    studio.keyed("save_set").wait_for()
    studio.rest()


def save(studio: Studio) -> None:
    """Save what was looked at."""
    studio.press(studio.button("save_set"))
    expect(studio.keyed("set_head")).not_to_contain_text("Not saved")
    studio.rest()


def test_an_answer_is_edited_seen_saved_read_by_adk_and_taken_back(new_tab: NewTab, path: Path) -> None:
    """From the list to the case by a click in the table; a refresh loses no edit; ADK reads what was saved."""
    before, beside = path.read_bytes(), sidecar_of(path).read_bytes()
    studio = new_tab().open()
    open_case(studio)
    edit_answer(studio, "lost")
    studio.page.reload()
    expect(studio.keyed("set_head")).to_contain_text("Not saved")
    ask_to_save(studio)
    change = studio.keyed("change_one")
    expect(change).to_contain_text("response of find_order")
    expect(change).to_contain_text("lost")
    assert path.read_bytes() == before
    save(studio)
    lost = {"status": "lost", "größe": 1.0}
    assert calls_of(case_of(path, "one"))[0] == ("find_order", {"order_id": "A-1"}, lost)
    recorded = read_environment(sidecar_of(path)).cases["one"].turns[0].calls[0]
    assert recorded.outcome == Returned(value=lost)
    studio.press(studio.button("set_undo"))
    expect(studio.keyed("set_head")).to_contain_text("Not saved")
    ask_to_save(studio)
    save(studio)
    assert (path.read_bytes(), sidecar_of(path).read_bytes()) == (before, beside)


@pytest.mark.long
def test_what_a_click_makes_is_downloaded(studio: Studio, path: Path, tmp_path: Path) -> None:
    """The set itself, the table of its cases and a kept session: made when they are asked for, and for this browser."""
    studio.press(studio.button("open_sets"))
    studio.keyed("set_path_typed").get_by_role("textbox").fill(str(path))
    studio.keyed("set_path_typed").get_by_role("textbox").press("Enter")
    expect(studio.keyed("cases_count")).to_contain_text("3 cases")
    # Over the end of the table, which shows buttons of its own then.
    studio.like("cases_table_").get_by_test_id("stDataFrameResizable").hover()
    assert _downloaded(studio, "cases_csv", tmp_path).startswith("eval_id,query,")
    studio.press(studio.keyed("set_downloads").get_by_role("button").first)
    assert json.loads(_downloaded(studio, "set_download", tmp_path))["eval_cases"]
    studio.press(studio.button("new_session"))
    studio.pick_agent("order_desk").start("Where is order A-1002?")
    studio.press(studio.keyed(f"kept_menu_{studio.session_id}").get_by_role("button").first)
    kept = json.loads(_downloaded(studio, f"download_{studio.session_id}", tmp_path))
    assert "Where is order A-1002?" in json.dumps(kept)


def _downloaded(studio: Studio, key: str, folder: Path) -> str:
    studio.rest()
    with studio.page.expect_download() as begun:
        studio.click(key)
    begun.value.save_as(folder / key)
    return (folder / key).read_text(encoding="utf-8")


_CHOOSE_A_FILE = """(input, [name, text]) => {
  const chosen = new DataTransfer();
  chosen.items.add(new File([text], name));
  input.files = chosen.files;
  input.dispatchEvent(new Event("change", {bubbles: true}));
}"""


@pytest.mark.long
def test_a_name_with_a_null_character_is_no_end_of_the_page(studio: Studio, path: Path) -> None:
    """Streamlit itself refuses such a name with a traceback in each run; here the set opens."""
    studio.press(studio.button("open_sets"))
    chosen = studio.keyed("set_upload").locator("input[type=file]")
    chosen.wait_for(state="attached")
    studio.rest()
    chosen.evaluate(_CHOOSE_A_FILE, ["null\x00name.evalset.json", path.read_text()])
    studio.press(studio.button("set_open_upload"))
    expect(studio.keyed("set_head")).to_contain_text("null_name.evalset.json")
    studio.rest()


@pytest.mark.long
def test_each_step_is_one_step_of_the_browsers_way_back(studio: Studio, path: Path) -> None:
    """To the list, to a set, to a case, and to the start page: as many entries, and the way back leads through them."""
    entries = partial(studio.page.evaluate, "history.length")
    before = entries()
    studio.press(studio.button("open_sets"))
    studio.keyed("set_path_typed").get_by_role("textbox").fill(str(path))
    studio.rest()
    listed = entries()
    studio.keyed("set_path_typed").get_by_role("textbox").press("Enter")
    expect(studio.keyed("cases_count")).to_contain_text("3 cases")
    studio.rest()
    opened = entries()
    studio.press(studio.button("new_session"))
    studio.like("start_query").wait_for()
    studio.rest()
    assert [listed - before, opened - listed, entries() - opened] == [1, 1, 1]
    studio.page.go_back()
    expect(studio.keyed("cases_count")).to_contain_text("3 cases")
    studio.choose("set_tab", "Run")
    studio.choose("engine", "adk eval")
    studio.choose("criteria_side", "JSON")
    studio.rest()
    studio.page.go_back()
    expect(studio.keyed("criterion_tool_trajectory_avg_score")).to_be_visible()
    studio.page.go_back()
    studio.page.go_back()
    expect(studio.keyed("cases_count")).to_contain_text("3 cases")
    studio.page.go_back()
    studio.keyed("set_path_typed").wait_for()
    studio.page.go_forward()
    expect(studio.keyed("cases_count")).to_contain_text("3 cases")
    assert studio.troubles == []
