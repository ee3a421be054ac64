"""Several people on one server, each with a browser of their own: what is one's own, and what is shared to read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from app.server.owners import COOKIE
from tests.harness.browser import Studio, first_code, studio_server, visitor
from tests.harness.oidc import oidc_provider
from tests.harness.processes import Served, kill

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.long]

CANCEL = "Please cancel order A-1001 and refund me, says Anne alone."
NOBODYS = "0123456789abcdef0123456789abcdef"


class People(NamedTuple):
    """Two people, each with a browser of their own."""

    anne: BrowserContext
    ben: BrowserContext


@pytest.fixture
def people(browser: Browser) -> Iterator[People]:
    """Two browsers that have nothing in common."""
    contexts = [visitor(browser) for _ in range(2)]
    yield People(*contexts)
    for context in contexts:
        context.close()


@pytest.fixture
def each_their_own(tmp_path: Path) -> dict[str, str]:
    """What a server is told that several people use without a login."""
    return {"GOLDEN_TRACE_STORE": str(tmp_path / "sessions.db"), "GOLDEN_TRACE_PEOPLE": "browser"}


@pytest.fixture(scope="module")
def among_many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    """A server that several people use without a login, and the file in which it keeps their sessions."""
    path = tmp_path_factory.mktemp("many") / "sessions.db"
    environment = {"GOLDEN_TRACE_STORE": str(path), "GOLDEN_TRACE_PEOPLE": "browser"}
    with studio_server(environment=environment) as served:
        yield served, path


def _played(context: BrowserContext, served: Served) -> Studio:
    tab = Studio(context, served.url).open()
    tab.pick_agent("order_desk").start(CANCEL)
    return tab.wait_for_pause("find_order")


def _shared(tab: Studio) -> str:
    """Share the session on the screen, and return its link."""
    session_id = tab.session_id
    tab.press(tab.keyed(f"kept_menu_{session_id}").get_by_role("button").first)
    tab.click(f"share_{session_id}")
    return first_code(tab.keyed(f"shared_{session_id}"))


def _sees_nothing(tab: Studio) -> None:
    """Look that a page has come to its end, and holds nothing of Anne's session."""
    expect(tab.keyed("choose_order_desk").first).to_be_visible()
    tab.rest()
    assert CANCEL not in tab.page.content()
    expect(tab.like("pane_")).to_have_count(0)


def test_each_browser_has_its_own_sessions_and_finds_them_again(
    people: People, each_their_own: dict[str, str]
) -> None:
    """Nobody reaches another's by its address, live or after a kill; its own browser does, with the page closed meanwhile."""
    with studio_server(environment=each_their_own) as served:
        anne = _played(people.anne, served)
        session_id, path = anne.session_id, anne.page.url.removeprefix(served.url)
        ben = Studio(people.ben, served.url)
        for guess in (session_id, NOBODYS):
            _sees_nothing(ben.open(f"{served.url}/?session={guess}"))
        expect(ben.like("recent_line_")).to_have_count(0)
        anne.page.close()
        kill(served.process)
    with studio_server(environment=each_their_own) as served:
        ben = Studio(people.ben, served.url).open(served.url + path)
        _sees_nothing(ben)
        anne = Studio(people.anne, served.url).open(served.url + path)
        anne.wait_for_pause("find_order")
        expect(anne.keyed(f"recent_line_{session_id}")).to_be_visible()
        assert not ben.troubles
        assert not anne.troubles


def test_a_shared_session_is_watched_and_left_alone(people: People, among_many: tuple[Served, Path]) -> None:
    """Who has the link sees the owner's steps as they come and presses nothing; and the sharing ends."""
    served, kept = among_many
    anne = _played(people.anne, served)
    _nothing_tells_who_they_are(people.anne, anne, kept)
    session_id, link = anne.session_id, _shared(anne)
    assert session_id not in link
    anne.page.keyboard.press("Escape")
    ben = Studio(people.ben, served.url).open(link)
    expect(ben.header).to_contain_text("Read-only")
    expect(ben.keyed("pane_decision")).to_contain_text("find_order")
    anne.accept_draft()
    anne.wait_for_pause("cancel_order")
    expect(ben.keyed("pane_decision")).to_contain_text("cancel_order")
    expect(ben.keyed("pane_timeline")).to_contain_text("find_order returned")
    expect(ben.like("accept_")).to_have_count(0)
    anne.press(anne.keyed(f"kept_menu_{session_id}").get_by_role("button").first)
    anne.click(f"unshare_{session_id}")
    expect(ben.keyed("choose_order_desk").first).to_be_visible()
    expect(ben.like("pane_")).to_have_count(0)
    assert not ben.troubles


def _nothing_tells_who_they_are(context: BrowserContext, tab: Studio, kept: Path) -> None:
    """Look that the id of the browser is in its cookie alone: not for scripts, not in the page, not in the address."""
    (cookie,) = [each for each in context.cookies() if each.get("name") == COOKIE]
    browser_id = cookie.get("value", "")
    assert len(browser_id) == 43
    assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Lax")
    assert COOKIE not in tab.page.evaluate("document.cookie")
    everything = tab.page.content() + tab.page.url + str(context.storage_state()["origins"])
    assert browser_id not in everything
    assert browser_id.encode() not in kept.read_bytes()


def _log_in(tab: Studio, address: str | None = None) -> None:
    tab.open(address)
    expect(tab.button("log_in_default")).to_be_visible()
    expect(tab.like("recent_line_")).to_have_count(0)
    expect(tab.keyed("start_session")).to_have_count(0)
    tab.click("log_in_default")
    tab.keyed("person").wait_for()
    tab.rest()


def test_who_logs_in_has_their_sessions_in_any_browser(people: People, tmp_path: Path) -> None:
    """By the subject that the provider names; a link leads there after the login; who logs out sees nothing."""
    claims = {
        "anne": {"sub": "1", "name": "Anne **A**", "email": "anne@b.example"},
        "ben": {"sub": "2", "name": "Ben", "email": "ben@b.example"},
    }
    with oidc_provider(claims) as provider:
        toml = tmp_path / "secrets.toml"
        toml.write_text(provider.secrets_toml("http://localhost:{port}"))
        kept = {"GOLDEN_TRACE_STORE": str(tmp_path / "sessions.db"), "STREAMLIT_SECRETS_FILES": str(toml)}
        for context, who in ((people.anne, "anne"), (people.ben, "ben")):
            context.add_cookies([{"name": "who", "value": who, "url": provider.url}])
        with studio_server(environment=kept) as served:
            anne, ben = Studio(people.anne, served.url), Studio(people.ben, served.url)
            _log_in(anne)
            expect(anne.keyed("person")).to_contain_text("Anne **A**")
            anne.pick_agent("order_desk").start(CANCEL)
            session_id = anne.session_id
            link = _shared(anne)
            _log_in(ben, link)
            expect(ben.header).to_contain_text("Read-only")
            ben.open(f"{served.url}/?session={session_id}")
            _sees_nothing(ben)
            expect(ben.like("recent_line_")).to_have_count(0)
            people.ben.add_cookies([{"name": "who", "value": "anne", "url": provider.url}])
            ben.click("log_out")
            expect(ben.button("log_in_default")).to_be_visible()
            _log_in(ben, f"{served.url}/?session={session_id}")
            ben.wait_for_pause("find_order")
            expect(ben.keyed(f"recent_line_{session_id}")).to_be_visible()
