"""`streamlit run app` serves the page from the root of the repository, behind its headers, and takes nobody for its person who is not."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, closing
from http.cookies import SimpleCookie
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from app.screens.sidebar_panel import _OPENING
from app.server.owners import COOKIE, LOCAL
from simulator import Simulation, demo_agent
from simulator.store import JournalStore
from tests.harness.page_client import PageClient
from tests.harness.processes import REPOSITORY, wait_until
from tests.harness.rewriting_proxy import rewriting_proxy

pytestmark = pytest.mark.process

SECONDS = 60.0
KEPT = "Of this machine"
WORDS = "Please cancel order A-1001, says Anne alone."
BROWSER = f"{COOKIE}={'b' * 43}"


class Studio(NamedTuple):
    """A server: its port, the link that it has printed, where it keeps its sessions, and its process."""

    port: int
    link: str
    kept: Path
    process: int

    def sees(
        self,
        headers: Mapping[str, str] | None = None,
        *,
        port: int = 0,
        cookie: str = BROWSER,
        host: str = "",
    ) -> str:
        """Return what somebody sees: the machine's sessions, their browser's own, or nothing."""
        port = port or self.port
        page = PageClient(f"http://{host or f'localhost:{port}'}", cookie=cookie, port=port, headers=headers)
        drawn = asyncio.run(asyncio.wait_for(_drawn(page), SECONDS))
        if "start_session" not in drawn:
            assert KEPT not in drawn
            assert "No access" in drawn
            return "nothing"
        return "the machine's" if KEPT in drawn else "their browser's"


async def _drawn(page: PageClient) -> str:
    await page.open()
    try:
        await page.run()
        while _OPENING in "".join(page.drawn):
            await page.run()
        return "".join(page.drawn)
    finally:
        await page.close()


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A server as a newcomer starts it, whose one person has a session; it ends by an interrupt, in order."""
    path = tmp_path_factory.mktemp("kept") / "sessions.db"
    with closing(JournalStore.open(path)) as store:
        with Simulation.open(demo_agent("order_desk"), session_id="kept") as simulation:
            simulation.query(WORDS)
            store.begin(simulation.journal, owner=LOCAL, agent_key="order_desk")
        store.rename("kept", KEPT)
    options = ["--server.port=0", "--server.headless=true", "--server.disconnectedSessionTTL=1"]
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app", *options],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "GOLDEN_TRACE_STORE": str(path)},
    )
    assert server.stdout is not None
    try:
        said = next(line for line in server.stdout if "URL:" in line)
        port = urlsplit(said.rpartition(" ")[2].strip()).port
        link = next(line for line in server.stdout if "?token=" in line).strip()
        assert port
        assert f"localhost:{port}/" in link
        yield Studio(port, link, path, server.pid)
    finally:
        server.send_signal(signal.SIGINT)
        rest, _ = server.communicate(timeout=SECONDS)
    assert "Traceback" not in rest


@pytest.mark.parametrize("path", ["/", "/_stcore/health", "/no/such/file.js"])
def test_every_answer_carries_the_headers(studio: Studio, path: str) -> None:
    """Page, service and error alike: nothing foreign is loaded, framed or told where the reader came from."""
    answer = httpx.get(f"http://localhost:{studio.port}{path}", timeout=SECONDS, trust_env=False)
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert (answer.text == "ok") is (path == "/_stcore/health")


@pytest.mark.long
def test_who_sits_at_the_machine_needs_no_click(studio: Studio) -> None:
    """A page of the server itself, under either name, with or without a cookie; and one at a port that SSH forwards."""
    for host in (f"localhost:{studio.port}", f"127.0.0.1:{studio.port}", "localhost:9000"):
        assert studio.sees(host=host) == "the machine's"
    assert studio.sees(cookie="") == "the machine's"


@pytest.mark.long
def test_a_page_of_another_port_sees_nothing(studio: Studio) -> None:
    """Though its browser sends this one's cookies along; nor does one whose name was made to lead here."""
    assert studio.sees({"Origin": "http://localhost:3000"}) == "nothing"
    assert studio.sees({"Origin": "http://127.0.0.1:3000"}) == "nothing"
    assert studio.sees(host="evil.example") == "nothing"
    with pytest.raises(InvalidStatus):
        studio.sees({"Origin": "https://evil.example"})


@pytest.mark.long
def test_a_program_without_an_origin_is_its_cookies(studio: Studio) -> None:
    """It may be anybody."""
    assert studio.sees({"Origin": ""}) == "their browser's"
    assert studio.sees({"Origin": ""}, cookie="") == "nothing"


@pytest.mark.long
@pytest.mark.parametrize("added", [{}, {"X-Forwarded-Proto": "https"}])
def test_nobody_is_the_machines_person_through_a_proxy(studio: Studio, added: dict[str, str]) -> None:
    """A proxy that rewrites Host, with or without a word of its own: neither without an Origin, nor with the one of its page."""
    with rewriting_proxy(studio.port, headers=added) as port:
        assert studio.sees({"Origin": ""}, port=port) == "their browser's"
        assert studio.sees(port=port) == "nothing"
        if added:
            assert studio.sees({"Origin": f"http://localhost:{studio.port}"}, port=port) == "their browser's"


def test_the_printed_link_lets_its_person_through_a_proxy(studio: Studio) -> None:
    """It comes back as a cookie, which does nothing for a page of another address."""
    led = httpx.get(studio.link, headers={"Accept": "text/html"}, timeout=SECONDS, trust_env=False)
    assert (led.status_code, led.headers["location"]) == (303, "?")
    assert led.headers["referrer-policy"] == "no-referrer"
    (morsel,) = SimpleCookie(led.headers["set-cookie"]).values()
    cookie = f"{BROWSER}; {morsel.key}={morsel.value}"
    with rewriting_proxy(studio.port, headers={"Via": "1.1 proxy"}) as port:
        own = {"Origin": f"http://localhost:{studio.port}"}
        assert studio.sees(own, port=port, cookie=cookie) == "the machine's"
        assert studio.sees({"Origin": ""}, port=port, cookie=cookie) == "the machine's"
        assert studio.sees(port=port, cookie=cookie) == "nothing"
    assert studio.sees({"Origin": "http://localhost:3000"}, cookie=cookie) == "nothing"


@pytest.mark.long
@pytest.mark.parametrize(
    "view",
    [
        "&view=export",
        pytest.param("", marks=pytest.mark.long),
        pytest.param("&view=environment", marks=pytest.mark.long),
    ],
)
def test_a_silent_page_is_given_nothing_when_the_sharing_has_ended(studio: Studio, view: str) -> None:
    """Neither its parts nor its files, though it never asks for the page; and its files are for no other browser before that."""
    with closing(JournalStore.open(studio.kept)) as store:
        query = f"shared={store.share('kept')}{view}"

        def page() -> PageClient:
            url = f"http://localhost:{studio.port}"
            return PageClient(url, query, cookie=BROWSER, headers={"Origin": ""})

        def end_sharing(seen: PageClient) -> None:
            _unshared(studio, store, seen, is_export="export" in view)

        asyncio.run(asyncio.wait_for(_looked_at(page, end_sharing), SECONDS))


async def _looked_at(page: Callable[[], PageClient], end_sharing: Callable[[PageClient], None]) -> None:
    """Let one page for each part of it look at that part alone, when the sharing has ended."""
    async with AsyncExitStack() as opened:
        first = await _opened(page(), opened)
        pages = {part: await _opened(page(), opened) for part in sorted(first.parts)}
        assert pages
        await asyncio.to_thread(end_sharing, first)
        for part, silent in pages.items():
            silent.drawn.clear()
            await silent.look(part)
            assert "Read-only" not in "".join(silent.drawn)
            assert WORDS not in "".join(silent.drawn)


async def _opened(page: PageClient, opened: AsyncExitStack) -> PageClient:
    await page.open()
    opened.push_async_callback(page.close)
    await page.run()
    assert "Read-only" in "".join(page.drawn)
    return page


def _unshared(studio: Studio, store: JournalStore, page: PageClient, *, is_export: bool) -> None:
    files = set(re.findall(r'url: "(/media/[^"]+)"', "".join(page.drawn)))
    assert bool(files) is is_export
    for file in files:
        assert [fetched(studio, file, cookie) for cookie in (BROWSER, f"{COOKIE}={'c' * 43}", "")] == [
            200,
            404,
            404,
        ]
    store.unshare("kept")
    assert {fetched(studio, file, BROWSER) for file in files} <= {404}


@pytest.mark.long
@pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="only Linux tells which descriptors a process has"
)
def test_a_closed_tab_leaves_no_descriptor_open(studio: Studio) -> None:
    """Twelve tabs, of which each has some while it is open; once the last is closed there are as many as before."""

    def count() -> int:
        # The database has as many connections as it was asked for at once, and keeps them.
        return sum(
            _end_of(each).startswith(("socket:", "anon_inode:"))
            for each in Path(f"/proc/{studio.process}/fd").iterdir()
        )

    async def tabs(seen: list[int]) -> None:
        async with AsyncExitStack() as opened:
            for _ in range(12):
                page = PageClient(f"http://localhost:{studio.port}", cookie=BROWSER)
                await page.open()
                opened.push_async_callback(page.close)
                await page.run()
            seen.append(count())

    studio.sees()
    steady: list[int] = []
    wait_until(lambda: _is_steady(steady, count()), what="the tabs of before are gone")
    before, during = steady[-1], list[int]()
    asyncio.run(asyncio.wait_for(tabs(during), SECONDS))
    assert during[0] >= before + 2 * 12
    wait_until(lambda: count() <= before + 2, what=f"at most {before + 2} descriptors, as before the tabs")


def _end_of(link: Path) -> str:
    try:
        return str(link.readlink())
    except FileNotFoundError:
        return ""


def _is_steady(counts: list[int], now: int) -> bool:
    """Note a count; tell whether it has been the same for a while."""
    counts.append(now)
    return len(counts) > 200 and len(set(counts[-200:])) == 1


def fetched(studio: Studio, url: str, cookie: str) -> int:
    """Fetch a file of the server; return the status of the answer."""
    address = f"http://localhost:{studio.port}{url}"
    return httpx.get(address, headers={"Cookie": cookie}, timeout=SECONDS, trust_env=False).status_code
