"""What many browsers cost one server: the memory of each tab, and how long its page takes while all others are drawn too."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

import psutil
import pytest

from app.live.session_store import STORE_VARIABLE
from app.server.owners import COOKIE, PEOPLE_VARIABLE
from simulator import Simulation
from simulator.agents.agent_fingerprint import agent_fingerprint
from simulator.journal import Journal
from simulator.store import JournalStore
from tests.harness.browser import studio_server
from tests.harness.page_client import PageClient
from tests.harness.processes import Served
from tests.harness.stepping_agent import ANSWER, NAME, write_stepping_agent

BROWSERS, FIRST = 200, 4
"""So many are connected at once, each a person of their own in a session of their own that waits for them; the first ones warm the server up."""

AT_ONCE = 8
"""So many open their page at the same moment."""

MOST_MIB = 1.5
"""So much of the server's memory one of them may take, with its session."""

LOOK_SECONDS, PAGE_SECONDS, ROUNDS = 5.0, 20.0, 3
"""Each looks so often by itself, and has its whole page drawn anew so often, as a click does; each so many times."""

MOST_MS_LOOK, MOST_MS_PAGE = 20.0, 100.0
"""So much of the processor's time a page's look whether something has happened may take, and the whole page."""
SMALLEST = {"BROWSERS": 6, "FIRST": 2, "LOOK_SECONDS": 0.1, "PAGE_SECONDS": 0.1, "ROUNDS": 1}


@dataclass(frozen=True)
class Load:
    """What a round of reruns took: milliseconds until each was there, of the processor for each, and the processor's share."""

    waited: list[float]
    processor: float
    share: float

    def __str__(self) -> str:
        """Return it in a line."""
        return (
            f"p50 {median(self.waited):.0f} ms, p95 {quantiles(self.waited, n=20)[-1]:.0f} ms, "
            f"processor {self.processor:.1f} ms each, {self.share:.0%} of a core"
        )


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Wait for no log lines."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def browsers(tmp_path: Path) -> list[tuple[str, str]]:
    """Keep a paused session for each browser; return the browsers' ids and those of the sessions."""
    config = write_stepping_agent(tmp_path / "agents")
    with Simulation.open(config) as simulation:
        simulation.query("go 4")
        simulation.answer(simulation.view().pending[0], ANSWER)
        simulation.view()
        facts = [fact for _, fact in simulation.journal.path()]
    store = JournalStore.open(str(tmp_path / "sessions.db"))
    digest, made = agent_fingerprint(config.root_agent), []
    for _ in range(BROWSERS):
        browser, session_id = secrets.token_urlsafe(32), secrets.token_hex(16)
        owner = f"browser-{hashlib.sha256(browser.encode()).hexdigest()}"
        opened = facts[0].model_copy(update={"session_id": session_id})
        store.begin(Journal([opened, *facts[1:]]), owner=owner, agent_key=NAME, agent_digest=digest)
        made.append((browser, session_id))
    store.close()
    return made


@pytest.fixture
def server(browsers: list[tuple[str, str]], tmp_path: Path) -> Iterator[Served]:
    """A server that tells people apart by their browsers."""
    assert browsers
    environment = {STORE_VARIABLE: str(tmp_path / "sessions.db"), PEOPLE_VARIABLE: "browser"}
    with studio_server(tmp_path / "agents", environment=environment) as served:
        yield served


async def _in_turns(
    pages: list[PageClient], every: float, rerun: Callable[[PageClient], Awaitable[float]]
) -> list[float]:
    """Let each page rerun every few seconds, spread over them; return the milliseconds that each rerun took."""

    async def one(page: PageClient, place: int) -> list[float]:
        clock = asyncio.get_running_loop().time
        due, waited = clock() + every * place / len(pages), []
        for _ in range(ROUNDS):
            await asyncio.sleep(max(0.0, due - clock()))
            waited.append(await rerun(page) * 1e3)
            due = max(due + every, clock())
        return waited

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(page, place)) for place, page in enumerate(pages)]
    return [each for task in tasks for each in task.result()]


async def _load(
    pages: list[PageClient],
    server: psutil.Process,
    every: float,
    rerun: Callable[[PageClient], Awaitable[float]],
) -> Load:
    clock = asyncio.get_running_loop().time
    before, began = sum(server.cpu_times()[:2]), clock()
    waited = await _in_turns(pages, every, rerun)
    used = sum(server.cpu_times()[:2]) - before
    return Load(waited, used * 1e3 / len(waited), used / (clock() - began))


async def _opened(url: str, browsers: list[tuple[str, str]]) -> tuple[list[PageClient], list[float]]:
    """Open a page for each browser, some at a time; return them, and the milliseconds that each took."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(browser: str, session_id: str) -> tuple[PageClient, float]:
        page = PageClient(url, f"session={session_id}", cookie=f"{COOKIE}={browser}")
        async with free:
            await page.open()
            taken = await page.run()
        assert "go 4" in page.texts
        return page, taken * 1e3

    found = await asyncio.gather(*(one(*browser) for browser in browsers))
    return [page for page, _ in found], [taken for _, taken in found]


async def _look(page: PageClient) -> float:
    (part,) = page.looks
    return await page.look(part)


async def _measure(served: Served, browsers: list[tuple[str, str]]) -> tuple[float, list[float], Load, Load]:
    server = psutil.Process(served.process.pid)
    first, _ = await _opened(served.url, browsers[:FIRST])
    before = server.memory_info().rss
    pages, joined = await _opened(served.url, browsers[FIRST:])
    each = (server.memory_info().rss - before) / 2**20 / len(pages)
    pages += first
    looks = await _load(pages, server, LOOK_SECONDS, _look)
    whole = await _load(pages, server, PAGE_SECONDS, PageClient.run)
    for page in pages:
        await page.close()
    return each, joined, looks, whole


@pytest.mark.process
def test_200_browsers_are_served(server: Served, browsers: list[tuple[str, str]], measured: bool) -> None:
    """Each has its session brought back; then all look by themselves, and then all have their whole page drawn anew."""
    each, joined, looks, whole = asyncio.run(_measure(server, browsers))
    print(  # noqa: T201 - figures are what a benchmark is run for
        f"\n{BROWSERS} browsers: {each:.1f} MiB each with its session (at most {MOST_MIB}); brought back {AT_ONCE} at a time: "
        f"p50 {median(joined):.0f} ms, p95 {quantiles(joined, n=20)[-1]:.0f} ms"
        f"\nall look every {LOOK_SECONDS:.0f} s: {looks} (at most {MOST_MS_LOOK:.0f} ms)"
        f"\nall have their whole page drawn every {PAGE_SECONDS:.0f} s: {whole} (at most {MOST_MS_PAGE:.0f} ms), "
        f"so one server draws {1e3 / whole.processor:.0f} pages a second"
    )
    assert len(looks.waited) == len(whole.waited) == BROWSERS * ROUNDS
    assert each <= MOST_MIB or not measured
    assert looks.processor <= MOST_MS_LOOK or not measured
    assert whole.processor <= MOST_MS_PAGE or not measured
