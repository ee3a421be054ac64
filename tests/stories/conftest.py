"""Gives each story a tab of its own in one browser, before one studio that serves a folder of the test's own agents."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.harness.browser import NewTab, Studio, chromium, studio_server, visitor
from tests.harness.processes import Served
from tests.stories.own_agents import write_agents

_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember whether the story itself failed, for the picture of its tabs."""
    report = yield
    if report.when == "call":
        item.stash[_FAILED] = report.failed
    return report


@pytest.fixture(scope="session")
def agents_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of agents that the tests write themselves."""
    return write_agents(tmp_path_factory.mktemp("stories") / "agents")


@pytest.fixture(scope="session")
def server(agents_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The studio, with that folder and the demos; it keeps its sessions in a file of the test's own."""
    kept = tmp_path_factory.mktemp("kept") / "sessions.db"
    with studio_server(agents_dir, environment={"GOLDEN_TRACE_STORE": str(kept)}) as served:
        yield served


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The browser; not for longer than a module, because no test beside could run an event loop meanwhile."""
    with chromium() as running:
        yield running


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser of one person."""
    made = visitor(browser)
    yield made
    made.close()


@pytest.fixture
def new_tab(
    context: BrowserContext, server: Served, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[NewTab]:
    """Opens tabs that share cookies and nothing else; no error may reach any of their consoles."""
    tabs: list[Studio] = []

    def new() -> Studio:
        tabs.append(Studio(context, server.url))
        return tabs[-1]

    yield new
    if request.node.stash.get(_FAILED, False):
        for place, tab in enumerate(tabs):
            tab.page.screenshot(path=tmp_path / f"tab-{place}.png")
            print(tab.page.url, tab.troubles, tmp_path / f"tab-{place}.png", sep="\n")  # noqa: T201 - for whoever reads the failure
        print(server.output[-3000:])  # noqa: T201 - as above
    assert [trouble for tab in tabs for trouble in tab.troubles] == []


@pytest.fixture
def studio(new_tab: NewTab) -> Studio:
    """A tab with the start page."""
    return new_tab().open()
