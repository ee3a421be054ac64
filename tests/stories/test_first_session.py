"""Somebody opens the studio for the first time, and counts clicks and seconds until a golden is written and verified."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.adk.evaluation.eval_case import EvalCase
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file
from playwright.sync_api import Browser, Locator, expect

from tests.harness.browser import Studio, first_code, studio_server
from tests.harness.processes import Served
from tests.stories.reading import answer_of, calls_of

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.xdist_group("stories first session")]

MOST_DEMO_CLICKS, MOST_DEMO_SECONDS = 6, 60
MOST_OWN_CLICKS = 20

_COUNT_CLICKS = "window.clicks = 0; addEventListener('pointerdown', () => { window.clicks++; }, true);"
"""Counts each press of the mouse anywhere on the page, also into fields and lists."""

_DESK = '''
"""A help desk whose model cannot be asked without a key."""

from google.adk.agents import LlmAgent


def find_customer(email: str) -> dict[str, str]:
    """Find a customer."""
    return {"customer_id": "C-7", "email": email}


def open_ticket(customer_id: str, subject: str) -> dict[str, str]:
    """Open a ticket for a customer."""
    return {"ticket_id": "T-1", "customer_id": customer_id, "subject": subject}


def close_ticket(ticket_id: str) -> dict[str, str]:
    """Close a ticket."""
    return {"ticket_id": ticket_id, "status": "closed"}


root_agent = LlmAgent(
    name="help_desk",
    model="gemini-2.5-flash",
    instruction="You help customers.",
    tools=[find_customer, open_ticket, close_ticket],
)
'''


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A studio whose data folder is empty, with the demos and a folder of one agent, which has no key."""
    folder = tmp_path_factory.mktemp("fresh")
    (folder / "agents" / "help_desk").mkdir(parents=True)
    (folder / "agents" / "help_desk" / "agent.py").write_text(_DESK)
    data = folder / "data"
    environment = {"GOLDEN_TRACE_DATA_DIR": str(data), "GOLDEN_TRACE_STORE": str(data / "sessions.db")}
    with studio_server(folder / "agents", environment=environment) as served:
        yield served


@pytest.fixture
def first(browser: Browser, fresh: Served) -> Iterator[Studio]:
    """A tab of theirs, in which clicks are counted."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(_COUNT_CLICKS)
    studio = Studio(context, fresh.url)
    yield studio
    assert studio.troubles == []
    context.close()


def clicks(studio: Studio) -> int:
    """Return how often the mouse was pressed since the page was opened."""
    counted: int = studio.page.evaluate("window.clicks")
    return counted


def test_a_demo_is_a_verified_golden_in_six_clicks(first: Studio) -> None:
    """Start the demo, use the draft, export: the case is written, and its replay agrees with it."""
    began = time.monotonic()
    first.open()
    first.click("try_order_desk")
    first.wait_for_pause("find_order").accept_draft()
    first.wait_for_status("Completed")
    path = export(first)
    assert clicks(first) <= MOST_DEMO_CLICKS
    assert time.monotonic() - began <= MOST_DEMO_SECONDS
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
    expect(first.keyed("start_form")).to_contain_text("so you play these agents")
    type_into(first, first.keyed("start_query").get_by_role("textbox"), "Ada's screen is black.")
    first.click("start_session")
    call(first, "find_customer", email="ada@example.com")
    call(first, "open_ticket", subject="Black screen")  # the customer is known from the response
    first.wait_for_pause("next turn")
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
