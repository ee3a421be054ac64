"""Each browser is handed an id with the page, once, that no script reads and no other site makes it send."""

from __future__ import annotations

from http.cookies import SimpleCookie

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from app.server.browser_cookie import BrowserIds
from app.server.owners import COOKIE, is_browser_id

PAGE = {"accept": "text/html,application/xhtml+xml"}


async def _answer(request: Request) -> Response:
    return PlainTextResponse("here", status_code=int(request.query_params.get("status", "200")))


def studio(base: str = "http://testserver") -> TestClient:
    """A server that only answers, behind what is tested."""
    routes = [Route("/", _answer, methods=["GET", "POST"])]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(BrowserIds)]), base_url=base)


def given(answer: object) -> SimpleCookie:
    """The cookies of an answer."""
    cookies: SimpleCookie = SimpleCookie()
    for line in answer.headers.get_list("set-cookie"):  # type: ignore[attr-defined] # the client of the tests has no types
        cookies.load(line)
    return cookies


def test_a_browser_keeps_its_id() -> None:
    """It comes with the page, is the same with each load, and two browsers have two."""
    first, second = studio(), studio()
    found = given(first.get("/", headers=PAGE))[COOKIE]
    assert is_browser_id(found.value)
    assert given(first.get("/?session=abc", headers=PAGE))[COOKIE].value == found.value
    assert given(second.get("/", headers=PAGE))[COOKIE].value != found.value


def test_the_id_stays_between_the_browser_and_the_server() -> None:
    """Scripts do not read it, other sites do not send it along, caches do not keep it; under TLS it never leaves in clear."""
    answer = studio().get("/", headers=PAGE)
    found = given(answer)[COOKIE]
    assert (found["httponly"], found["samesite"], found["path"], found["secure"]) == (True, "Lax", "/", "")
    assert int(found["max-age"]) > 300 * 24 * 60 * 60
    assert answer.headers["cache-control"] == "no-store"
    assert given(studio("https://testserver").get("/", headers=PAGE))[COOKIE]["secure"]
    proxied = studio().get("/", headers={**PAGE, "x-forwarded-proto": "https"})
    assert given(proxied)[COOKIE]["secure"]


@pytest.mark.parametrize("sent", ["short", "a" * 44, "not ours!" * 5])
def test_what_is_no_id_of_ours_is_replaced(sent: str) -> None:
    """Something that could be guessed, or was put there by somebody else, counts for nothing."""
    client = studio()
    answer = client.get("/", headers={**PAGE, "cookie": f"other=1; {COOKIE}={sent}"})
    assert given(answer)[COOKIE].value != sent
    assert is_browser_id(given(answer)[COOKIE].value)


def test_the_cookies_of_others_do_not_hide_it() -> None:
    """On this machine many programs set cookies, some of them odd."""
    client = studio()
    kept = given(client.get("/", headers=PAGE))[COOKIE].value
    odd = f'a={{"x": [1, 2]}}; b="; c=d e@; {COOKIE}={kept}; =; f'
    assert given(studio().get("/", headers={**PAGE, "cookie": odd}))[COOKIE].value == kept


def test_only_the_page_hands_it_out() -> None:
    """Not a form that another site posts here, where the browser keeps its id back and would be given another one."""
    client = studio()
    assert not given(client.post("/", headers=PAGE))
    assert not given(client.get("/", headers={"accept": "*/*"}))
    assert not given(client.get("/?status=404", headers=PAGE))
