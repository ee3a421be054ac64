"""Looks through the installed packages once for all pages of the tests, and closes the sessions of each test after it."""

from __future__ import annotations

import functools
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import local_script_runner
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from app.evalsets.workspace import workspaces
from app.live import agent_catalogue
from app.live.agent_catalogue import catalogue
from app.live.live_sessions import registry
from app.live.session_store import STORE_VARIABLE, close_store, server_store
from simulator.agents import catalogue_for
from simulator.base.user_files import DATA_DIR
from simulator.runtime import Simulation
from simulator.store import JournalStore
from tests.app.desk_sessions import taken_in
from tests.app.page_driver import Tab
from tests.simulator.runtime.speaking import desk

_SETTINGS = Path(__file__).resolve().parents[2] / ".streamlit" / "config.toml"


@pytest.fixture(scope="session", autouse=True)
def _components_are_looked_for_once() -> Iterator[None]:
    """Patched because Streamlit's AppTest reads the metadata of every package anew for each tab: most of its time."""
    patch = pytest.MonkeyPatch()
    once = functools.cache(manifest_scanner.scan_component_manifests)
    patch.setattr(manifest_scanner, "scan_component_manifests", once)
    yield
    patch.undo()


@pytest.fixture(scope="session", autouse=True)
def _runs_are_waited_for() -> Iterator[None]:
    """Patched because Streamlit's AppTest looks each millisecond whether a page is drawn, which keeps a processor from drawing it."""
    patch = pytest.MonkeyPatch()
    patch.setattr(local_script_runner, "require_widgets_deltas", _wait_for)
    yield
    patch.undo()


def _wait_for(runner: LocalScriptRunner, timeout: float = 3) -> None:
    thread = runner._script_thread
    assert thread is not None
    thread.join(timeout)
    if thread.is_alive():
        runner.request_stop()
        runner.join()
        raise RuntimeError(f"the page was not drawn within {timeout} s")


@pytest.fixture(scope="session", autouse=True)
def _settings_are_the_studios() -> None:
    """Read here, as an AppTest looks for them beside the working directory and a server beside the script that it runs."""
    for section, options in tomllib.loads(_SETTINGS.read_text()).items():
        for name, value in options.items():
            if not isinstance(value, dict):
                config.set_option(f"{section}.{name}", value)


@pytest.fixture(autouse=True)
def _agents_run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server starts a process for each agent; two thousand tests of panels do without, save those of kernels."""
    monkeypatch.setattr(agent_catalogue, "LOADS_NONE_HERE", False)


@pytest.fixture(autouse=True)
def _nothing_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eval sets that one test used are not listed in another, and a demo agent's set lies among the data of this test.

    A catalogue keeps its agents, and a demo agent says where its set lies when it is loaded.
    """
    monkeypatch.setenv(DATA_DIR, str(tmp_path / "data"))
    catalogue_for.cache_clear()


@pytest.fixture(autouse=True)
def _no_sessions_stay() -> Iterator[None]:
    yield
    registry().close_all()
    workspaces().close_all()


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key for Google's models is set, which is the process's own, and nobody's argument."""
    for name in (
        "GOOGLE_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_CLOUD_PROJECT",
        "GOOGLE_GENAI_USE_VERTEXAI",
        "GOOGLE_GENAI_USE_ENTERPRISE",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JournalStore]:
    """A store of the test's own, in which the page keeps its sessions."""
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "sessions.db"))
    monkeypatch.setattr("sys.argv", ["app"])
    close_store()
    found = server_store().store
    assert found is not None
    yield found
    registry().close_all()
    close_store()


@pytest.fixture
def session() -> Simulation:
    """A session that waits for its first query, in the registry."""
    simulation = desk()
    taken_in(simulation)
    return simulation


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Tab:
    """The start page with the demo agents, all of them loaded; the command line is an input of the process."""
    monkeypatch.setattr(sys, "argv", ["main.py"])
    catalogue().load_all()
    return Tab()
