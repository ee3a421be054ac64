"""A tab whose page is behind its session is woken, soon and not too often; what is held for a closed one is let go of; times are those of the viewer's clock."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import streamlit as st
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from app.live.wake_ups import NOT_OURS, PATH, UNKNOWN_TAB, Waking
from app.server import browser_tabs
from app.server.browser_tabs import AGAIN_SECONDS, GRACE_SECONDS, REST_SECONDS, ClosedTabs, Tabs, new_token
from app.server.viewer_time import short_time, viewer_time


class Server:
    """Some tabs, with a clock and the stamps of sessions set by hand; `woken` counts for each tab."""

    def __init__(self) -> None:
        self.now = 100.0
        self.stamps = {"one": "1", "two": "1"}
        self.tabs = Tabs(lambda session_id: self.stamps.get(session_id, ""), lambda: self.now)
        self.woken: dict[str, int] = {}

    def open(self, token: str, session_id: str) -> None:
        """Let a tab draw a session, and connect."""
        self.tabs.show(token, session_id, self.stamps[session_id])
        self.woken[token] = 0

        def wake() -> None:
            self.woken[token] += 1

        assert self.tabs.connect(token, wake)

    def wait(self, seconds: float) -> None:
        """Let time go by, with a look each tenth of a second."""
        for _ in range(round(seconds * 10)):
            self.now += 0.1
            self.tabs.wake_those_behind()


def test_a_tab_is_woken_when_its_session_changes() -> None:
    """Only those that show it, each once, within half a second."""
    server = Server()
    for token, shown in (("a", "one"), ("b", "one"), ("c", "two")):
        server.open(token, shown)
    server.wait(2)
    assert server.woken == {"a": 0, "b": 0, "c": 0}
    server.stamps["one"] = "2"
    server.wait(0.5)
    assert server.woken == {"a": 1, "b": 1, "c": 0}
    server.wait(5)
    assert server.woken == {"a": 1, "b": 1, "c": 0}
    server.tabs.show("a", "one", "2")
    server.stamps["one"] = "3"
    server.wait(1)
    assert server.woken["a"] == 2


def test_a_page_that_is_being_drawn_is_left_alone() -> None:
    """Most likely it is the click of its own person that changed the session; its browser needs a moment after that too."""
    server = Server()
    server.open("a", "one")
    server.wait(2)
    server.tabs.begin("a")
    server.stamps["one"] = "2"
    server.wait(5)
    server.tabs.show("a", "one", "2")
    server.wait(1)
    assert server.woken["a"] == 0
    server.tabs.show("a", "one", "2")
    server.stamps["one"] = "3"
    server.wait(REST_SECONDS - 0.1)
    assert server.woken["a"] == 0
    server.wait(GRACE_SECONDS + 0.2)
    assert server.woken["a"] == 1


def test_a_session_that_changes_all_the_time_wakes_a_tab_now_and_then() -> None:
    """No tab is woken more often than twice a second."""
    server = Server()
    server.open("a", "one")
    server.wait(1)
    for count in range(50):
        server.stamps["one"] = str(count + 2)
        server.wait(0.1)
    assert 8 <= server.woken["a"] <= 5 / AGAIN_SECONDS


def test_a_tab_that_has_gone_is_not_woken() -> None:
    """Nor is one whose line another line of the same tab has replaced; the newer one is."""
    server = Server()
    server.open("a", "one")
    first: list[str] = []
    second: list[str] = []
    old, new = (lambda: first.append("x")), (lambda: second.append("x"))
    server.tabs.connect("a", old)
    server.tabs.connect("a", new)
    server.tabs.disconnect("a", old)
    server.stamps["one"] = "2"
    server.wait(1)
    assert (len(first), len(second)) == (0, 1)
    server.tabs.disconnect("a", new)
    server.stamps["one"] = "3"
    server.wait(1)
    assert len(second) == 1


def test_the_number_of_tabs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that has not drawn for longest is forgotten. Patched, to need no thousands."""
    monkeypatch.setattr(browser_tabs, "MOST_TABS", 3)
    server = Server()
    for token in "abcd":
        server.tabs.show(token, "one", "1")
    assert [token for token in "abcd" if server.tabs.connect(token, lambda: None)] == ["b", "c", "d"]


def _client(server: Server) -> TestClient:
    return TestClient(Starlette(routes=[WebSocketRoute(PATH, Waking(server.tabs).__call__)]))


def test_the_line_says_look_and_nothing_else() -> None:
    """Over a real WebSocket; the word comes when the session changes."""
    server = Server()
    token = new_token()
    server.tabs.show(token, "one", "1")
    server.now += 10
    with _client(server) as client, client.websocket_connect(PATH) as line:
        line.send_text(token)
        server.stamps["one"] = "2"

        def later() -> float:
            server.now += GRACE_SECONDS
            return server.now

        server.tabs._clock = later
        assert line.receive_text() == "look"


@pytest.mark.parametrize("token", ["", "one", "x" * 100_000])
def test_who_names_no_tab_is_sent_away(token: str) -> None:
    """A session's id opens nothing, and neither does a guess; bytes are no introduction, and end nothing but their line."""
    server = Server()
    server.tabs.show(known := new_token(), "one", "1")
    with _client(server) as client:
        with client.websocket_connect(PATH) as line:
            line.send_bytes(known.encode())
        with client.websocket_connect(PATH) as line:
            line.send_text(token)
            with pytest.raises(WebSocketDisconnect) as closed:
                line.receive_text()
    assert closed.value.code == UNKNOWN_TAB


@pytest.mark.parametrize("origin", ["http://testserver:3000", "https://evil.example", "null"])
def test_a_page_of_another_address_opens_no_line(origin: str) -> None:
    """It is refused before the line is open, also where it knows a tab's token; the page itself, and a program, are not."""
    server = Server()
    token = new_token()
    server.tabs.show(token, "one", "1")
    with _client(server) as client:
        with (
            pytest.raises(WebSocketDisconnect) as closed,
            client.websocket_connect(PATH, headers={"Origin": origin}) as line,
        ):
            line.send_text(token)
        assert closed.value.code == NOT_OURS
        for headers in ({"Origin": "http://testserver"}, {}):
            with client.websocket_connect(PATH, headers=headers) as line:
                line.send_text(token)
    assert server.tabs.connect(token, lambda: None)


def test_tokens_cannot_be_guessed() -> None:
    """Each is long and another one."""
    made = {new_token() for _ in range(100)}
    assert len(made) == 100
    assert min(map(len, made)) >= 32


class Page:
    """Counts how often it was ended."""

    def __init__(self) -> None:
        self.ends = 0

    def shutdown(self) -> None:
        """End it."""
        self.ends += 1


def test_a_page_ends_when_its_tab_cannot_come_back() -> None:
    """Not while it may, and not where it has; each once."""
    gone, back, waits = Page(), Page(), Page()
    waiting = {"gone": gone, "back": back, "waits": waits}
    is_open = {"back"}
    tabs = ClosedTabs(lambda: waiting, is_open.__contains__)
    tabs.look()
    tabs.look()
    assert [page.ends for page in (gone, back, waits)] == [0, 0, 0]
    waiting = {"waits": waits}
    tabs.look()
    tabs.look()
    assert [page.ends for page in (gone, back, waits)] == [1, 0, 0]


NOON = datetime(2020, 5, 1, 12, 0, tzinfo=UTC)


def looks_from(monkeypatch: pytest.MonkeyPatch, zone: str | None) -> None:
    """Let the browser be in a time zone."""
    monkeypatch.setattr(type(st.context), "timezone", property(lambda _: zone))


@pytest.mark.parametrize(("zone", "hour"), [("Asia/Tokyo", 21), ("America/New_York", 8)])
def test_a_time_is_that_of_the_viewers_clock(zone: str, hour: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given in seconds or as a moment of any zone."""
    looks_from(monkeypatch, zone)
    assert (viewer_time(NOON).hour, viewer_time(NOON.timestamp()).hour) == (hour, hour)


@pytest.mark.parametrize("zone", [None, "", "Nowhere/City", "../etc/passwd"])
def test_without_a_known_zone_it_is_the_servers(zone: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is raised."""
    looks_from(monkeypatch, zone)
    assert viewer_time(NOON) == NOON.astimezone()
    assert viewer_time(NOON).utcoffset() == NOON.astimezone().utcoffset()


def test_today_is_told_by_the_clock_and_other_days_by_their_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the viewer's zone, where another day may have begun."""
    looks_from(monkeypatch, "Asia/Tokyo")
    assert ":" in short_time(datetime.now(UTC).timestamp())
    assert short_time(NOON.timestamp()) == "2020-05-01"
