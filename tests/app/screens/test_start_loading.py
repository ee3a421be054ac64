"""The start page comes first, and the agents, which take seconds to import, after it."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from app.live import agent_catalogue
from app.live.warm_up import warm_up
from app.screens.start_page import LOOKS_BEFORE_LOADING
from tests.app.page_driver import Tab


def test_no_agent_is_imported_before_the_page_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At first nothing is loaded; once the browser has come back a few times, everything is."""
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "agent.py").write_text("raise RuntimeError('odd')\n")
    # The command line is an input of the process.
    monkeypatch.setattr(sys, "argv", ["main.py", "--agents-dir", str(tmp_path), "--no-demos"])
    tab = Tab()
    listed = agent_catalogue.catalogue()
    assert (listed, "") not in agent_catalogue._threads
    assert [entry.state for entry in listed.entries()] == ["unread"]
    for _ in range(LOOKS_BEFORE_LOADING):
        tab.run()
    agent_catalogue._threads[listed, ""].join(timeout=60)
    assert [entry.state for entry in listed.entries()] == ["failed"]


def test_a_module_that_cannot_be_imported_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The rest is imported all the same; the page shows the error where it needs the module."""
    with caplog.at_level(logging.ERROR):
        assert warm_up(("no_module_has_this_name", "json")) == ["no_module_has_this_name"]
    assert "no_module_has_this_name" in caplog.text
