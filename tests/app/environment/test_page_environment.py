"""The page of the environment: the way there and back, and what waits meanwhile."""

from __future__ import annotations

import re

import pytest

from tests.app.fakes import FakeSimulation, paused, tool_request
from tests.app.page_driver import HOSTILE, Tab

SESSION = "session-0001-abcdef"


@pytest.fixture
def simulation() -> FakeSimulation:
    """A session that waits for an answer."""
    return paused(SESSION)


@pytest.mark.usefixtures("simulation")
def test_the_header_leads_there_and_back() -> None:
    """A button in the header opens the page, whose address a refresh keeps, on the tab of last time; the one at the rules opens those."""
    tab = Tab(SESSION).click("open_environment")
    assert tab.has("environment_tab")
    assert not tab.keys("pane_timeline")
    assert tab.app.query_params["view"] in ("environment", ["environment"])
    tab.choose("environment_tab", "Connections")
    assert tab.click("environment_back").keys("pane_timeline")
    assert "view" not in tab.app.query_params
    tab.click("open_environment")
    assert tab.app.segmented_control(key="environment_tab").value == "Connections"
    tab.click("environment_back").click("rules_open")
    assert tab.app.segmented_control(key="environment_tab").value == "Rules"


@pytest.mark.long
def test_what_waits_is_said_with_a_way_to_it(simulation: FakeSimulation) -> None:
    """While a call waits, the page names it letter for letter and leads to it; nothing else is said when none waits."""
    simulation.pending = (tool_request("c1", HOSTILE), tool_request("c2"))
    tab = Tab(SESSION).click("open_environment")
    (line,) = [each.value for each in tab.app.markdown if "hourglass_top" in each.value]
    assert "evil" in line
    assert re.search(r"\b1\b", line)
    assert tab.live_marks() == []
    assert tab.click("environment_answer").keys("pane_timeline")
    simulation.pending = ()
    assert not tab.run().click("open_environment").has("environment_answer")
