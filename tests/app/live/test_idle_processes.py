"""What the server tells in its log of agents' processes that it ends or puts behind others."""

from __future__ import annotations

import logging

import pytest

from app import lifespan
from simulator.kernel import kernel_processes


def test_the_log_names_the_agent(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A process that nobody uses any more, and one that computes without a pause."""
    monkeypatch.setattr(kernel_processes, "end_idle", lambda: ["desk"])
    monkeypatch.setattr(kernel_processes, "let_endless_come_last", lambda: ["planner"])
    with caplog.at_level(logging.INFO):
        lifespan._end_idle()
        lifespan._come_last()
    assert [each.getMessage().partition(",")[0] for each in caplog.records] == [
        "The process of desk was unused and has been stopped",
        "The process of planner uses the CPU without a pause",
    ]
