"""A set that cannot be opened is mended by the doctor, verified, put right where it is stale, and judged by `adk eval`, all on its page."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.harness.browser import Studio
from tests.stories.pictures import recorded_set
from tests.stories.test_eval_sets import ask_to_save, save

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.long]

QUERY = "Where is order A-1002?"
BOM = b"\xef\xbb\xbf"
JUDGED_MS = 120_000.0


@pytest.fixture
def stale(tmp_path: Path) -> Path:
    """A set with two recorded cases; one of its goldens calls with another argument, and a byte order mark stands before all."""
    path = recorded_set(tmp_path / "desk.evalset.json", {"first": QUERY, "second": QUERY})
    head, calls, rest = path.read_text().partition('"tool_uses"')
    path.write_bytes(BOM + f"{head}{calls}{rest.replace('A-1002', 'A-9999', 1)}".encode())
    return path


def test_a_set_is_mended_verified_and_judged_on_its_page(studio: Studio, stale: Path) -> None:
    """Nothing of it needs a terminal, and a run goes on while the browser loads the page anew."""
    studio.open(f"{studio.url}/?page=sets&set={quote(str(stale))}")
    mend(studio)
    assert not stale.read_bytes().startswith(BOM)

    studio.choose("set_tab", "Run")
    verify(studio)
    expect(studio.keyed("verify_sum")).to_contain_text("1 ✗ failed")
    expect(studio.keyed("divergence")).to_contain_text("A-9999")
    studio.press(studio.button("divergence_repair"))
    expect(studio.keyed("set_head")).to_contain_text("Not saved")
    studio.rest()
    ask_to_save(studio)
    save(studio)
    assert "A-9999" not in stale.read_text()
    verify(studio)
    expect(studio.keyed("verify_sum")).to_contain_text("2 ✓ passed")

    studio.choose("set_tab", "Run")
    studio.choose("engine", "adk eval")
    studio.press(studio.button("adk_run"))
    studio.button("adk_stop").wait_for()
    studio.page.reload()
    studio.keyed("set_tab").wait_for()
    studio.choose("set_tab", "Run")
    studio.choose("engine", "adk eval")
    expect(studio.keyed("head_adk_results")).to_contain_text("All passed", timeout=JUDGED_MS)
    expect(studio.page.get_by_text(re.compile("^2 passed"))).to_be_visible()


def mend(studio: Studio) -> None:
    """Let the doctor mend what can be mended, when it has said what would change."""
    studio.button("doctor_preview").wait_for()
    studio.rest()
    studio.press(studio.button("doctor_preview"))
    studio.button("doctor_write").wait_for()
    studio.rest()
    studio.press(studio.button("doctor_write"))
    studio.keyed("set_tab").wait_for()
    studio.rest()


def verify(studio: Studio) -> None:
    """Verify, and wait for what comes of it."""
    studio.rest()
    studio.press(studio.button("verify_go"))
    expect(studio.button("verify_go")).to_be_enabled()
    studio.keyed("verify_sum").wait_for()
    studio.rest()
