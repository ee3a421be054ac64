"""Looks through the installed packages once for all pages of the tests, and closes the sessions of each test after it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner

from app.bench import benches
from app.registry import registry
from app.shelf import STORE_VARIABLE, close_shelf, shelf
from simulator.store import JournalStore


@pytest.fixture(scope="session", autouse=True)
def _components_are_looked_for_once() -> Iterator[None]:
    """Patched because Streamlit's AppTest reads the metadata of every package anew for each tab: most of its time."""
    patch = pytest.MonkeyPatch()
    once = functools.cache(manifest_scanner.scan_component_manifests)
    patch.setattr(manifest_scanner, "scan_component_manifests", once)
    yield
    patch.undo()


@pytest.fixture(autouse=True)
def _no_sessions_stay() -> Iterator[None]:
    yield
    registry().close_all()
    benches().close_all()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JournalStore]:
    """A store of the test's own, in which the page keeps its sessions."""
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "sessions.db"))
    monkeypatch.setattr("sys.argv", ["app"])
    close_shelf()
    found = shelf().store
    assert found is not None
    yield found
    registry().close_all()
    close_shelf()
