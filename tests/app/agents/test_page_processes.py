"""The start page says which processes of agents run, and starts one anew."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app.screens import start_page
from simulator.kernel.kernel import KernelError
from simulator.kernel.kernel_processes import AgentProcess
from tests.app.page_driver import HOSTILE, Tab, live_marks

DESK = AgentProcess(
    key="k1",
    agent="order_desk",
    python="/srv/desk/.venv/bin/python",
    python_version="3.12.1",
    adk="2.12.0",
    process_id=4711,
    sessions=2,
    busy=False,
    idle=185.0,
    new_code=False,
    memory=134_400_000,
)


def _panel(processes: "Any") -> None:  # noqa: UP037 - the script has no imports
    from app.agents.processes_panel import agent_processes_panel  # noqa: PLC0415 - the function's text is the page's script

    agent_processes_panel(lambda: processes)


def drawn(*processes: AgentProcess) -> AppTest:
    """Draw the open list of processes alone."""
    page = AppTest.from_function(_panel, kwargs={"processes": processes}, default_timeout=60)
    page.session_state["agent_processes"] = True
    page.run()
    assert not page.exception, page.exception
    return page


def test_each_process_is_described() -> None:
    """Agent, what it does, sessions, memory, Python, ADK and interpreter, letter for letter; new code changes the button."""
    other = replace(DESK, key="k2", agent="planner", sessions=1, busy=True, process_id=4712)
    changed = replace(DESK, key="k3", process_id=4713, new_code=True)
    hostile = replace(DESK, key="k4", agent=HOSTILE, python=HOSTILE, adk=HOSTILE, process_id=4714)
    page = drawn(DESK, other, changed, hostile)
    said = [str(one.value).replace("\\", "") for one in page.caption]
    assert any({"3", "2", "134"} <= set(one.split()) for one in said)
    assert any(one.startswith("Busy") and {"1", "134"} <= set(one.split()) for one in said)
    assert any("3.12.1" in one and "2.12.0" in one and "4711" in one for one in said)
    assert {"**order_desk**", "**planner**"} <= {str(one.value).replace("\\", "") for one in page.markdown}
    assert [one.value for one in page.code].count(DESK.python) == 3
    plain, new = (page.button(key=f"restart_process_{key}") for key in ("k1", "k3"))
    assert plain.label != new.label
    assert live_marks(page.main) == []
    assert not drawn().button


def test_restart_starts_that_one_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its key; where it does not start, the page says why."""
    asked: list[str] = []
    monkeypatch.setattr(start_page, "restart", asked.append)
    monkeypatch.setattr(sys, "argv", ["main.py"])  # the command line is an input of the process
    monkeypatch.setattr(start_page, "agent_processes", lambda: (DESK,))
    tab = Tab().unfold("agent_processes")
    tab.click("restart_process_k1")
    assert asked == ["k1"]

    def fails(_: str) -> None:
        raise KernelError("SyntaxError: agent.py, line 3")

    monkeypatch.setattr(start_page, "restart", fails)
    tab.click("restart_process_k1")
    assert any("agent.py, line 3" in str(one.value) for one in tab.nodes() if hasattr(one, "value"))
