"""The start page says which processes of agents run, and starts one anew."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from app.screens import start_page
from simulator.kernel.kernel import KernelError
from simulator.kernel.kernel_processes import AgentProcess
from tests.app.page_driver import HOSTILE, Tab

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


def shown(monkeypatch: pytest.MonkeyPatch, *found: AgentProcess) -> Tab:
    """Open the list of processes on the start page."""
    monkeypatch.setattr(sys, "argv", ["main.py"])  # the command line is an input of the process
    monkeypatch.setattr(start_page, "agent_processes", lambda: found)
    return Tab().unfold("agent_processes")


def captions(tab: Tab) -> list[str]:
    """Return the small texts of the page."""
    return [one.value for one in tab.app.caption]


def test_each_process_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agent, what it does, sessions, memory, Python, ADK and interpreter."""
    other = replace(DESK, key="k2", agent="planner", sessions=1, busy=True, process_id=4712)
    said = captions(shown(monkeypatch, DESK, other))
    assert "Idle for 3 min · 2 sessions · 134 MB" in said
    assert "Busy · 1 session · 134 MB" in said
    assert r"Python 3\.12.1 · google-adk 2\.12.0 · process 4711" in said


def test_without_any_the_list_says_when_one_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """It teaches."""
    assert (
        "No processes running. One starts when an agent is loaded, or when a session needs it."
        in captions(shown(monkeypatch))
    )


def test_restart_starts_that_one_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its key; where it does not start, the page says why."""
    asked: list[str] = []
    monkeypatch.setattr(start_page, "restart", asked.append)
    tab = shown(monkeypatch, DESK)
    tab.click("restart_process_k1")
    assert asked == ["k1"]

    def fails(_: str) -> None:
        raise KernelError("SyntaxError: agent.py, line 3")

    monkeypatch.setattr(start_page, "restart", fails)
    tab.click("restart_process_k1")
    assert any("agent.py, line 3" in str(one.value) for one in tab.nodes() if hasattr(one, "value"))


def test_new_code_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The button says so."""
    tab = shown(monkeypatch, DESK)
    assert tab.app.button(key="restart_process_k1").label == "Restart"
    tab = shown(monkeypatch, replace(DESK, new_code=True))
    assert tab.app.button(key="restart_process_k1").label == "Restart with new code"
    assert "The agent's files have changed since it was loaded." in captions(tab)


def test_names_are_shown_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder may be called anything."""
    tab = shown(monkeypatch, replace(DESK, agent=HOSTILE, python=HOSTILE, adk=HOSTILE))
    assert tab.live_marks() == []
