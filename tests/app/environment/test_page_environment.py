"""The page of the environment: the way there and back, and what waits meanwhile."""

from __future__ import annotations

import re

from tests.app.fakes import paused, tool_request
from tests.app.page_driver import HOSTILE, Tab

SESSION = "session-0001-abcdef"


def test_the_header_leads_there_and_back_and_what_waits_is_said() -> None:
    """A button in the header opens the page, whose address a refresh keeps, on the tab of last time; the one at the rules opens those.

    While a call waits, the page names it letter for letter and leads to it; nothing else is said when none waits.
    """
    simulation = paused(SESSION)
    simulation.pending = (tool_request("c1", HOSTILE), tool_request("c2"))
    tab = Tab(SESSION).click("open_environment")
    assert tab.has("environment_tab")
    assert not tab.keys("pane_timeline")
    assert tab.app.query_params["view"] in ("environment", ["environment"])
    (line,) = [each.value for each in tab.app.markdown if "hourglass_top" in each.value]
    assert "evil" in line
    assert re.search(r"\b1\b", line)
    assert tab.live_marks() == []
    tab.choose("environment_tab", "Connections")
    assert tab.click("environment_answer").keys("pane_timeline")
    assert "view" not in tab.app.query_params
    simulation.pending = ()
    assert not tab.run().click("open_environment").has("environment_answer")
    assert tab.app.segmented_control(key="environment_tab").value == "Connections"
    assert tab.click("environment_back").keys("pane_timeline")
    assert "view" not in tab.app.query_params
    tab.click("rules_open")
    assert tab.app.segmented_control(key="environment_tab").value == "Rules"
