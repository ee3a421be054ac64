"""The three ways out for a golden trace: into a file, as a download, through the clipboard. All hold the same case."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.eval_set import EvalSet
from playwright.sync_api import expect

from tests.harness.browser import Studio, first_code
from tests.stories.reading import answer_of, calls_of, case_of

pytestmark = [pytest.mark.browser, pytest.mark.process]

QUERY = "Where is order A-1002?"
ORDER = {
    "order_id": "A-1002",
    "status": "shipped",
    "tracking": "Gr\u00fc\u00dfe \u202e <b>&amp;</b> \\n",
    "total": 1.5,
}
"""A response with all that a way out might lose: letters beyond ASCII, marks of HTML, a turn of the direction."""

CREATED = "creation_timestamp"
"""A file is as old as its writing, a download as its session."""


@pytest.fixture
def exporting(studio: Studio) -> Studio:
    """The export of a session in which one call was answered by hand."""
    studio.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    studio.pick_agent("order_desk").start(QUERY)
    studio.wait_for_pause("find_order").write_response(ORDER)
    studio.wait_for_status("Completed")
    studio.click("open_export")
    studio.keyed("head_export_ways").wait_for()
    studio.rest()
    return studio


def name_case(studio: Studio, path: Path, eval_id: str) -> None:
    """Say where the case goes, and what it is called."""
    for key, text in (("export_path_", str(path)), ("export_eval_id_", eval_id)):
        field = studio.like(key).get_by_role("textbox")
        field.fill(text)
        field.press("Enter")
        studio.rest()


def write(studio: Studio) -> dict[str, Any]:
    """Take the first way, and read the file that the page names."""
    studio.click("export_write")
    written = first_code(studio.keyed("export_done"))
    studio.rest()
    return _object(Path(written.strip()).read_text(encoding="utf-8"))


def download(studio: Studio, folder: Path) -> tuple[str, dict[str, Any]]:
    """Take the second way; return the name that the browser would save under, and what it saves."""
    with studio.page.expect_download() as begun:
        studio.click("export_download")
    begun.value.save_as(folder / "downloaded.json")
    studio.rest()
    return begun.value.suggested_filename, _object((folder / "downloaded.json").read_text(encoding="utf-8"))


def copy(studio: Studio) -> dict[str, Any]:
    """Take the third way: open the menu, click the button in the corner, and read the clipboard."""
    studio.page.evaluate("navigator.clipboard.writeText('nothing yet')")
    studio.keyed("export_copy").get_by_test_id("stPopoverButton").click()
    shown = studio.page.get_by_test_id("stPopoverBody").get_by_test_id("stCode")
    shown.hover()
    studio.press(shown.get_by_role("button"))
    studio.page.wait_for_function("async () => await navigator.clipboard.readText() !== 'nothing yet'")
    copied = studio.page.evaluate("navigator.clipboard.readText()")
    studio.page.keyboard.press("Escape")
    studio.rest()
    return _object(copied)


def _object(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    EvalSet.model_validate(found)
    return found


def test_all_ways_out_hold_the_same_case(exporting: Studio, tmp_path: Path) -> None:
    """What is downloaded and what is copied is, as JSON, the eval set that was written, named as its own file and with its recording inside.

    They follow the fields, without a file, and can be taken again after the write, which is done once.
    """
    path = tmp_path / "orders.evalset.json"
    name_case(exporting, path, "first")
    exporting.choose("export_form_", "Invocation events")
    name, downloaded = download(exporting, tmp_path)
    assert (name, copy(exporting)) == ("first.evalset.json", downloaded)
    assert "invocation_events" in downloaded["eval_cases"][0]["conversation"][0]["intermediate_data"]
    assert not path.exists()

    name_case(exporting, path, "where")
    written = write(exporting)
    expect(exporting.button("export_write")).to_be_disabled()
    name, downloaded = download(exporting, tmp_path)
    assert (name, copy(exporting)) == ("where.evalset.json", downloaded)
    assert set(downloaded.pop("recorded_environment")["cases"]) == {"where"}
    assert downloaded["eval_set_id"] == "where"
    assert {**downloaded, **{key: written[key] for key in (CREATED, "eval_set_id")}} == written
    (case,) = written["eval_cases"]
    assert case["eval_id"] == "where"
    read = case_of(path, "where")
    assert calls_of(read) == [("find_order", {"order_id": "A-1002"}, ORDER)]
    assert "A-1002" in answer_of(read)
