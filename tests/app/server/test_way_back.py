"""Who opens a link and has to log in first comes to what the link leads to, and nowhere else."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from app.server.login_return import COOKIE, LoginReturn

PAGE = {"accept": "text/html"}


async def _page(request: Request) -> Response:
    return PlainTextResponse("here")


async def _back(request: Request) -> Response:
    return RedirectResponse("/base/", status_code=302)


def studio(*, login: bool = True) -> TestClient:
    """A server whose identity provider sends people back at once."""
    routes = [Route("/", _page), Route("/oauth2callback", _back)]
    middleware = [Middleware(LoginReturn, login=lambda: login)]
    return TestClient(Starlette(routes=routes, middleware=middleware), follow_redirects=False)


@pytest.mark.parametrize("wanted", ["session=ab_c-1", "shared=T0ken", "session=abc&view=export"])
def test_the_login_leads_back(wanted: str) -> None:
    """Once: whoever logs in again later comes to the start page; other words of the address are not ours to repeat."""
    client = studio()
    client.get(f"/?{wanted}&next=evil", headers=PAGE)
    assert client.get("/oauth2callback?code=1").headers["location"] == f"/base/?{wanted}"
    assert client.get("/oauth2callback?code=1").headers["location"] == "/base/"


@pytest.mark.parametrize(
    "odd",
    ["", "view=export", "session=", "session=a%0d%0aX:1", "shared=//evil.example", "session=%22", "next=x"],
)
def test_nothing_else_leads_anywhere(odd: str) -> None:
    """Only what can name a session or a link is kept, and a cookie that somebody else wrote is no better."""
    client = studio()
    client.get(f"/?{odd}", headers=PAGE)
    assert COOKIE not in client.cookies
    client.cookies.set(COOKIE, odd.replace("&", "~"))
    assert client.get("/oauth2callback").headers["location"] == "/base/"


def test_without_a_login_nothing_is_kept() -> None:
    """Nor for what is no page."""
    for client, headers in ((studio(login=False), PAGE), (studio(), {"accept": "*/*"})):
        client.get("/?session=abc", headers=headers)
        assert COOKIE not in client.cookies
