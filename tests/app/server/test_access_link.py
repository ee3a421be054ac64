"""The link that the server prints lets its person in, once, and leaves nothing of it behind."""

from __future__ import annotations

from http.cookies import SimpleCookie

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app.server.access_link import AccessLink, AccessLinks

PAGE = {"accept": "text/html,application/xhtml+xml"}


class Server:
    """A link, what the terminal shows of it, and a page behind it that says its own address."""

    def __init__(self) -> None:
        self.terminal: list[str] = []
        self.link = AccessLink()
        self.link.open("http://localhost:8501/", 8501, self.terminal.append)
        routes = [Route("/{path:path}", lambda request: PlainTextResponse(str(request.url)))]
        self.app = Starlette(routes=routes, middleware=[Middleware(AccessLinks, link=self.link)])

    @property
    def token(self) -> str:
        """What the newest link holds."""
        return self.terminal[-1].partition("?token=")[2].strip()

    def browser(self, base: str = "http://localhost:8501") -> TestClient:
        """A browser without cookies."""
        return TestClient(self.app, base_url=base, follow_redirects=False, headers=PAGE)


def test_the_link_is_exchanged_for_a_cookie() -> None:
    """The page that follows has the rest of the address and no token; the cookie is for this server alone, and read by no script."""
    server = Server()
    browser = server.browser()
    token = server.token
    answer = browser.get(f"/?session=abc&token={token}&view=export")
    assert (answer.status_code, answer.headers["location"]) == (303, "?session=abc&view=export")
    assert answer.headers["cache-control"] == "no-store"
    cookies = SimpleCookie(answer.headers["set-cookie"])
    (cookie,) = cookies.values()
    assert (cookie["httponly"], cookie["samesite"], cookie["secure"]) == (True, "Strict", "")
    assert token not in f"{answer.headers}{answer.text}"
    assert server.link.admits({cookie.key: cookie.value})
    assert not server.link.admits({cookie.key: cookie.value + "x"})
    assert not server.link.admits({})
    assert token not in browser.get("/?session=abc&view=export").text


def test_a_link_works_once() -> None:
    """Who finds it later gets a word and no cookie; the terminal shows the next one, and who is in stays in with any."""
    server = Server()
    browser, token = server.browser(), server.token
    assert browser.get(f"/?token={token}").status_code == 303
    late = server.browser().get(f"/?token={token}")
    assert (late.status_code, "set-cookie" in late.headers) == (403, False)
    assert token not in late.text
    assert server.token not in late.text
    assert browser.get(f"/?token={token}").status_code == 303
    assert server.token != token
    assert len(server.terminal) == 2
    assert server.browser().get(f"/?token={server.token}").status_code == 303


@pytest.mark.parametrize("token", ["", "guess", "\u00e9" * 43, "%00", "x" * 5000])
def test_a_guess_is_refused(token: str) -> None:
    """Whatever it is made of; the link stays as it was."""
    server = Server()
    before = server.token
    assert server.browser().get("/", params={"token": token}).status_code == 403
    assert server.token == before


def test_only_a_page_spends_a_link() -> None:
    """Not what loads a picture, looks at an address without opening it, or posts a form."""
    server = Server()
    address = f"/?token={server.token}"
    plain = TestClient(server.app, follow_redirects=False, headers={"accept": "image/*"})
    assert plain.get(address).status_code == 200
    assert server.browser().head(address).status_code == 200
    assert server.browser().post(address).status_code == 405
    assert server.browser().get(address).status_code == 303


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example", "/%2F%2Fevil.example/"])
def test_nobody_is_led_elsewhere(path: str) -> None:
    """The way on is relative to the page, whatever the path is."""
    server = Server()
    answer = server.browser("http://localhost:8501").get(
        f"http://localhost:8501{path}?token={server.token}&x=//evil.example"
    )
    assert answer.headers["location"] == "?x=%2F%2Fevil.example"


def test_under_tls_the_cookie_never_leaves_in_clear() -> None:
    """Also where a proxy speaks it."""
    for base, headers in (("https://localhost", {}), ("http://localhost", {"x-forwarded-proto": "https"})):
        server = Server()
        answer = server.browser(base).get(f"/?token={server.token}", headers=headers)
        assert "Secure" in answer.headers["set-cookie"]


def test_without_a_link_nobody_is_admitted() -> None:
    """A server for others prints none; there a token in an address means nothing, and an empty cookie opens nothing."""
    server = Server()
    server.link.close()
    assert server.browser().get("/?token=").status_code == 200
    for cookies in ({}, {"golden_trace_local_8501": ""}, {"golden_trace_local": ""}):
        assert not AccessLink().admits(cookies)
        assert not server.link.admits(cookies)
