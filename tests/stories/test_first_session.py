"""Somebody opens the studio for the first time, and counts the clicks until a golden is written and verified."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from google.adk.evaluation.eval_case import EvalCase
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file
from playwright.sync_api import Browser, Locator, expect

from tests.harness.browser import ALL_LOADED_MS, Studio, first_code, studio_server
from tests.harness.processes import Served
from tests.stories.reading import answer_of, calls_of

pytestmark = [pytest.mark.browser, pytest.mark.process]

MOST_DEMO_CLICKS, MOST_OWN_CLICKS = 6, 20

_COUNT_CLICKS = "window.clicks = 0; addEventListener('pointerdown', () => { window.clicks++; }, true);"
"""Counts each press of the mouse anywhere on the page, also into fields and lists."""


@contextmanager
def counting(browser: Browser, server: Served) -> Iterator[Studio]:
    """Open a tab of theirs, in which clicks are counted, while the block runs."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    context.add_init_script(_COUNT_CLICKS)
    studio = Studio(context, server.url)
    yield studio
    assert studio.troubles == []
    context.close()


@pytest.fixture
def first(browser: Browser, server: Served) -> Iterator[Studio]:
    """A tab of the studio that other stories have used."""
    with counting(browser, server) as studio:
        yield studio


@pytest.fixture
def fresh(browser: Browser, tmp_path: Path) -> Iterator[Studio]:
    """A tab of a studio that has no sessions yet: it offers the demos."""
    kept = {"GOLDEN_TRACE_STORE": str(tmp_path / "sessions.db"), "GOLDEN_TRACE_DATA_DIR": str(tmp_path)}
    with studio_server(environment=kept) as server, counting(browser, server) as studio:
        yield studio


def clicks(studio: Studio) -> int:
    """Return how often the mouse was pressed since the page was opened."""
    counted: int = studio.page.evaluate("window.clicks")
    return counted


def test_a_demo_is_a_verified_golden_in_six_clicks(fresh: Studio) -> None:
    """Start the demo, use the draft, export: the case is written, and its replay agrees with it."""
    fresh.open()
    fresh.click("try_order_desk")
    fresh.wait_for_pause("find_order").accept_draft()
    fresh.wait_for_status("Completed")
    path = export(fresh)
    assert clicks(fresh) <= MOST_DEMO_CLICKS
    assert [name for name, *_ in calls_of(only_case(path))] == ["find_order"]


def export(studio: Studio) -> Path:
    """Write the session's case, and wait for its verdict; return the file."""
    studio.click("open_export")
    studio.click("export_write")
    expect(studio.keyed("export_verified")).to_contain_text("Verified")
    return Path(first_code(studio.keyed("export_done")))


def test_an_agent_without_a_key_is_a_verified_golden_in_twenty_clicks(first: Studio) -> None:
    """A person plays the agent: two calls through forms, their drafts, the last word, and the export."""
    first.open().pick_agent("help_desk")
    # What an agent needs is shown above the button once it is loaded, and a press that falls into that misses the button.
    expect(first.like("agent_unread_")).to_have_count(0, timeout=ALL_LOADED_MS)
    type_into(first, first.like("start_query").get_by_role("textbox"), "Ada's screen is black.")
    first.click("start_session")
    call(first, "find_customer", email="ada@example.com")
    call(first, "open_ticket", subject="Black screen")  # the customer is known from the response
    first.wait_for_pause("next turn")
    first.choose("kind_", "Reply")
    type_into(first, first.like("say_").get_by_role("textbox"), "Your ticket is T-1.")
    first.accept_draft()
    first.wait_for_status("Completed")
    path = export(first)
    assert clicks(first) <= MOST_OWN_CLICKS
    case = only_case(path)
    assert calls_of(case)[1][:2] == ("open_ticket", {"customer_id": "C-7", "subject": "Black screen"})
    assert answer_of(case) == "Your ticket is T-1."


def only_case(path: Path) -> EvalCase:
    """Return the one case of a file, as ADK's own loader reads it."""
    (case,) = load_eval_set_from_file(str(path), path.stem).eval_cases
    return case


def call(studio: Studio, tool: str, **arguments: str) -> None:
    """Let the agent call a tool, and answer with the draft."""
    studio.wait_for_pause("next turn")
    studio.choose("kind_", "Call tools")
    studio.click(f"chip_{tool}")
    for name, value in arguments.items():
        type_into(studio, studio.decision.get_by_label(name, exact=True), value)
    studio.accept_draft()
    studio.wait_for_pause(tool).accept_draft()


def type_into(studio: Studio, field: Locator, text: str) -> None:
    """Click into a field and type."""
    field.click()
    studio.page.keyboard.type(text)
