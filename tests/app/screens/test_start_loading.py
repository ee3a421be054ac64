"""The start page comes first, and the agents, which take seconds to import, after it."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from app.live import agent_catalogue
from app.live.warm_up import PAGES, warm_up
from app.screens.start_page import LOOKS_BEFORE_LOADING
from tests.app.page_driver import Tab

FIRST_PAGE = """
import sys
import app.streamlit_app
import app.screens.page
large = ("google.adk", "google.genai", "pandas", "fastapi", "litellm")
later = ("app.screens.session_page", "app.screens.eval_sets_page", "app.screens.shared_page", "app.decision", "evalset.doctor")
print(*sorted({name for name in (*large, *later) if name in sys.modules}))
"""


@pytest.mark.long
def test_the_first_page_waits_for_no_large_import() -> None:
    """ADK, what draws tables, and the pages that come after it are imported once something needs them: they take longer than all else together."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_PAGE], capture_output=True, text=True, check=True, timeout=60
    )
    assert not done.stdout.split()


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


def test_all_that_is_imported_ahead_is_there() -> None:
    """A name that no module has would only be logged, and whoever comes to that page first would wait."""
    assert warm_up(PAGES) == []
    assert warm_up() == []


def test_a_module_that_cannot_be_imported_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The rest is imported all the same; the page shows the error where it needs the module."""
    with caplog.at_level(logging.ERROR):
        assert warm_up(("no_module_has_this_name", "json")) == ["no_module_has_this_name"]
    assert "no_module_has_this_name" in caplog.text
