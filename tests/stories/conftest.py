"""Gives each story a tab of its own in one browser, before one studio that serves a folder of the test's own agents."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.harness.browser import NewTab, Studio, chromium, studio_server, visitor
from tests.harness.processes import Served
from tests.stories.own_agents import write_agents

_FAILED = pytest.StashKey[bool]()
_STORIES = Path(__file__).parent


class _Shared:
    """The browser and the studio of all stories that run one after another in this process."""

    def __init__(self) -> None:
        self._opened = ExitStack()
        self._browser: Browser | None = None
        self._server: Served | None = None

    def browser(self) -> Browser:
        """Return the browser."""
        if self._browser is None:
            self._browser = self._opened.enter_context(chromium())
        return self._browser

    def server(self, agents_dir: Path, data: Path) -> Served:
        """Return the studio with this folder of agents; it keeps all that it keeps in `data`."""
        if self._server is None:
            kept = {"GOLDEN_TRACE_STORE": str(data / "sessions.db"), "GOLDEN_TRACE_DATA_DIR": str(data)}
            self._server = self._opened.enter_context(studio_server(agents_dir, environment=kept))
        return self._server

    def end(self) -> None:
        """End both."""
        self._browser = self._server = None
        self._opened.close()


_SHARED = _Shared()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember whether the story itself failed, for the picture of its tabs."""
    report = yield
    if report.when == "call":
        item.stash[_FAILED] = report.failed
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """End the browser after the last story in a row: no other test could run an event loop beside it."""
    try:
        yield
    finally:
        if nextitem is None or _STORIES not in nextitem.path.parents:
            _SHARED.end()


@pytest.fixture(scope="session")
def shared() -> Iterator[_Shared]:
    """What the stories share; also ended where the tests are given up."""
    yield _SHARED
    _SHARED.end()


@pytest.fixture(scope="session")
def agents_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of agents that the tests write themselves."""
    return write_agents(tmp_path_factory.mktemp("stories") / "agents")


@pytest.fixture
def server(shared: _Shared, agents_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Served:
    """The studio, with that folder and the demos; it keeps its sessions in a file of the test's own."""
    return shared.server(agents_dir, tmp_path_factory.getbasetemp() / "stories-data")


@pytest.fixture
def browser(shared: _Shared) -> Browser:
    """The browser."""
    return shared.browser()


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
