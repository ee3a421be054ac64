"""An agent's files are edited while a session with it is open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.harness.browser import Studio, studio_server
from tests.harness.processes import Served
from tests.simulator.kernel.projects import DESK, project

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.long]

GREETS = """
    from google.genai import types
    return types.Content(role="model", parts=[types.Part(text="Greetings from the new code.")])
    words = """


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with one agent."""
    return project(tmp_path / "agents", DESK)


@pytest.fixture
def server(home: Path, tmp_path: Path) -> Iterator[Served]:
    """The studio with that folder."""
    with studio_server(home, environment={"GOLDEN_TRACE_STORE": str(tmp_path / "kept.db")}) as served:
        yield served


def test_a_session_goes_on_with_the_new_code(server: Served, home: Path, context: BrowserContext) -> None:
    """The page offers it by itself once a file has changed; what comes next is what the new code does."""
    studio = Studio(context, server.url).open().pick_agent("desk").start("Hello")
    studio.wait_for_pause("desk")
    expect(studio.keyed("new_code")).to_have_count(0)
    code = home / "desk" / "agent.py"
    code.write_text(code.read_text().replace("\n    words = ", GREETS))
    expect(studio.button("restart_with_new_code")).to_be_visible()
    studio.rest()
    studio.press(studio.button("restart_with_new_code"))
    studio.wait_for_status("Completed")
    expect(studio.keyed("new_code")).to_have_count(0)
    assert any("Greetings from the new code." in step for step in studio.steps)
