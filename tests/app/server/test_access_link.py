"""A browser gets a cookie by the printed link, once, and an id with the page; who logs in comes back; a file is for the browser of its page."""

from __future__ import annotations

from collections.abc import Mapping
from http.cookies import SimpleCookie

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from app.server import offered_files
from app.server.browser_cookie import BrowserIds
from app.server.login import RETURN_COOKIE as RETURN
from app.server.login import AccessLink, AccessLinks, LoginReturn
from app.server.offered_files import GuardedMedia, Offered
from app.server.owners import COOKIE, is_browser_id

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
    """Who finds it later gets a word and no cookie; the terminal shows the next one, and who is in stays in with any.

    A guess is refused, whatever it is made of, and leaves the link as it was.
    """
    server = Server()
    browser, token = server.browser(), server.token
    for guess in ("", "guess", "\u00e9" * 43, "%00", "x" * 5000):
        assert server.browser().get("/", params={"token": guess}).status_code == 403
        assert server.token == token
    assert browser.get(f"/?token={token}").status_code == 303
    late = server.browser().get(f"/?token={token}")
    assert (late.status_code, "set-cookie" in late.headers) == (403, False)
    assert token not in late.text
    assert server.token not in late.text
    assert browser.get(f"/?token={token}").status_code == 303
    assert server.token != token
    assert len(server.terminal) == 2
    assert server.browser().get(f"/?token={server.token}").status_code == 303


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


def test_only_the_page_hands_it_out() -> None:
    """Not a form that another site posts here, where the browser keeps its id back and would be given another one."""
    client = studio()
    assert not given(client.post("/", headers=PAGE))
    assert not given(client.get("/", headers={"accept": "*/*"}))
    assert not given(client.get("/?status=404", headers=PAGE))


async def _page(request: Request) -> Response:
    return PlainTextResponse("here")


async def _back(request: Request) -> Response:
    return RedirectResponse("/base/", status_code=302)


def logging_in(*, login: bool = True) -> TestClient:
    """A server whose identity provider sends people back at once."""
    routes = [Route("/", _page), Route("/oauth2callback", _back)]
    middleware = [Middleware(LoginReturn, login=lambda: login)]
    return TestClient(Starlette(routes=routes, middleware=middleware), follow_redirects=False)


@pytest.mark.parametrize("wanted", ["session=ab_c-1", "shared=T0ken", "session=abc&view=export"])
def test_the_login_leads_back(wanted: str) -> None:
    """Once: whoever logs in again later comes to the start page; other words of the address are not ours to repeat."""
    client = logging_in()
    client.get(f"/?{wanted}&next=evil", headers=PAGE)
    assert client.get("/oauth2callback?code=1").headers["location"] == f"/base/?{wanted}"
    assert client.get("/oauth2callback?code=1").headers["location"] == "/base/"


@pytest.mark.parametrize(
    "odd",
    ["", "view=export", "session=", "session=a%0d%0aX:1", "shared=//evil.example", "session=%22", "next=x"],
)
def test_nothing_else_leads_anywhere(odd: str) -> None:
    """Only what can name a session or a link is kept, and a cookie that somebody else wrote is no better."""
    client = logging_in()
    client.get(f"/?{odd}", headers=PAGE)
    assert RETURN not in client.cookies
    client.cookies.set(RETURN, odd.replace("&", "~"))
    assert client.get("/oauth2callback").headers["location"] == "/base/"


def test_without_a_login_nothing_is_kept() -> None:
    """Nor for what is no page."""
    for client, headers in ((logging_in(login=False), PAGE), (logging_in(), {"accept": "*/*"})):
        client.get("/?session=abc", headers=headers)
        assert RETURN not in client.cookies


class Files:
    """The pages of a server with their files, which a test sets, and a route that gives any file."""

    def __init__(self) -> None:
        self.files: dict[str, frozenset[str]] = {}
        self.shared = True
        self.offered = Offered(self._files)
        routes = [Route("/{path:path}", _file)]
        self.client = TestClient(
            Starlette(routes=routes, middleware=[Middleware(GuardedMedia, offered=self.offered)])
        )

    def _files(self) -> Mapping[str, frozenset[str]]:
        return self.files

    def draw(self, page: str, browser: str, *files: str, shared: bool = False) -> None:
        """Let a page be drawn."""
        self.offered.begin(page, browser, lambda: self.shared or not shared)
        self.files[page] = frozenset(files)
        self.offered.note(page)

    def status(self, file: str, browser: str = "", path: str = "/media/") -> int:
        """Fetch a file."""
        cookies = {"cookie": f"{COOKIE}={browser}"} if browser else {}
        return self.client.get(f"{path}{file}.json", headers=cookies).status_code


def _file(request: Request) -> PlainTextResponse:
    return PlainTextResponse(request.url.path)


def test_a_file_is_for_the_browser_to_which_it_was_offered() -> None:
    """Another one that knows its address finds nothing, nor does one without an id; and a file that no page offers is nobody's."""
    server = Files()
    server.draw("page", "anne", "a")
    assert [server.status("a", browser) for browser in ("anne", "ben", "")] == [200, 404, 404]
    assert server.status("b", "anne") == 404
    assert server.status("a", "anne", "/below/media/") == 200
    assert server.status("a", "ben", "/below/media/") == 404
    assert server.client.head("/media/a.json").status_code == 404


def test_what_is_shared_is_given_until_the_sharing_ends() -> None:
    """Though its viewer's page is not drawn again; its owner still gets the very same file."""
    server = Files()
    server.draw("hers", "anne", "a")
    server.draw("his", "ben", "a", shared=True)
    assert (server.status("a", "anne"), server.status("a", "ben")) == (200, 200)
    server.shared = False
    assert (server.status("a", "anne"), server.status("a", "ben")) == (200, 404)


def test_what_a_page_offered_can_be_fetched_while_it_is_drawn_anew() -> None:
    """Streamlit forgets the files of a page when it begins to be drawn; a click that came just before still gets its file."""
    server = Files()
    server.draw("page", "anne", "a")
    server.offered.begin("page", "anne", lambda: True)
    server.files["page"] = frozenset()
    assert server.status("a", "anne") == 200
    server.files["page"] = frozenset({"b"})
    assert server.status("b", "anne") == 200
    server.offered.note("page")
    assert (server.status("a", "anne"), server.status("b", "anne")) == (200, 200)
    server.offered.begin("page", "ben", lambda: True)
    assert server.status("a", "ben") == 404


def test_a_part_that_is_drawn_before_the_rest_takes_no_file_away() -> None:
    """The timeline notes what is offered in the middle of a page; the buttons below, which come later, stay good, though the page is given up."""
    server = Files()
    server.draw("page", "anne", "a")
    server.offered.begin("page", "anne", lambda: True)
    server.files["page"] = frozenset({"picture"})
    server.offered.note("page")
    server.offered.begin("page", "anne", lambda: True)
    server.files["page"] = frozenset()
    assert [server.status(file, "anne") for file in ("a", "picture")] == [200, 200]


def test_a_file_of_what_was_shared_stays_bound_to_the_sharing() -> None:
    """Though the page has gone on to what is the viewer's own."""
    server = Files()
    server.draw("his", "ben", "a", shared=True)
    server.draw("his", "ben", "b")
    assert (server.status("a", "ben"), server.status("b", "ben")) == (200, 200)
    server.shared = False
    assert (server.status("a", "ben"), server.status("b", "ben")) == (404, 200)


def test_other_addresses_pass() -> None:
    """What is no file of a page is none of its business."""
    server = Files()
    font = "/static/media/SourceSansVF-Upright.ttf.BsWL4Kly.woff2"
    for path in ("/", "/mediation/x", "/media", "/static/media.js", "/_stcore/health", font, f"/below{font}"):
        assert server.client.get(path).status_code == 200
    file_id = "0" * 56
    assert (
        server.client.get(f"/static/media/{file_id}.json").status_code == 404
    )  # below a base path of that name


def test_the_number_of_pages_and_of_files_of_a_page_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was drawn or offered longest ago is forgotten. Patched, to need no thousands."""
    monkeypatch.setattr(offered_files, "MOST_PAGES", 2)
    monkeypatch.setattr(offered_files, "MOST_FILES", 2)
    server = Files()
    for page in ("one", "two", "three"):
        server.draw(page, "anne", page)
    assert [server.status(page, "anne") for page in ("one", "two", "three")] == [404, 200, 200]
    for file in ("a", "b", "a", "c"):
        server.draw("three", "ben", file)
    assert [server.status(file, "ben") for file in ("a", "b", "c")] == [200, 404, 200]


def test_what_a_click_makes_is_for_the_browser_of_its_page_while_that_may_be_seen() -> None:
    """Nobody else may fetch it; and nothing is made for a page whose sharing has ended, or that nobody drew."""
    server = Files()
    server.draw("page", "anne", shared=True)
    made = []

    def make() -> str:
        made.append("once")
        return "/media/table.csv"

    assert server.offered.note_made("page", make) == "/media/table.csv"
    assert [server.status("table", browser) for browser in ("anne", "ben", "")] == [200, 404, 404]
    server.shared = False
    assert server.status("table", "anne") == 404
    for page in ("page", "another"):
        with pytest.raises(PermissionError):
            server.offered.note_made(page, make)
    assert made == ["once"]


def test_a_browser_keeps_its_id_whatever_else_it_sends() -> None:
    """It comes with the page, is the same with each load, and two browsers have two; odd cookies of other programs do not hide it.

    Something that could be guessed, or was put there by somebody else, is replaced.
    """
    first, second = studio(), studio()
    kept = given(first.get("/", headers=PAGE))[COOKIE].value
    assert is_browser_id(kept)
    assert given(first.get("/?session=abc", headers=PAGE))[COOKIE].value == kept
    assert given(second.get("/", headers=PAGE))[COOKIE].value != kept
    odd = f'a={{"x": [1, 2]}}; b="; c=d e@; {COOKIE}={kept}; =; f'
    assert given(studio().get("/", headers={**PAGE, "cookie": odd}))[COOKIE].value == kept
    for sent in ("short", "a" * 44, "not ours!" * 5):
        answer = studio().get("/", headers={**PAGE, "cookie": f"other=1; {COOKIE}={sent}"})
        assert given(answer)[COOKIE].value != sent
        assert is_browser_id(given(answer)[COOKIE].value)
