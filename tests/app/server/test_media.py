"""A file that a page offers is for the browser of that page, for as long as that may see it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app.server import offered_files
from app.server.offered_files import GuardedMedia, Offered
from app.server.owners import COOKIE


class Server:
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
    server = Server()
    server.draw("page", "anne", "a")
    assert [server.status("a", browser) for browser in ("anne", "ben", "")] == [200, 404, 404]
    assert server.status("b", "anne") == 404
    assert server.status("a", "anne", "/below/media/") == 200
    assert server.status("a", "ben", "/below/media/") == 404
    assert server.client.head("/media/a.json").status_code == 404


def test_what_is_shared_is_given_until_the_sharing_ends() -> None:
    """Though its viewer's page is not drawn again; its owner still gets the very same file."""
    server = Server()
    server.draw("hers", "anne", "a")
    server.draw("his", "ben", "a", shared=True)
    assert (server.status("a", "anne"), server.status("a", "ben")) == (200, 200)
    server.shared = False
    assert (server.status("a", "anne"), server.status("a", "ben")) == (200, 404)


def test_what_a_page_offered_can_be_fetched_while_it_is_drawn_anew() -> None:
    """Streamlit forgets the files of a page when it begins to be drawn; a click that came just before still gets its file."""
    server = Server()
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
    server = Server()
    server.draw("page", "anne", "a")
    server.offered.begin("page", "anne", lambda: True)
    server.files["page"] = frozenset({"picture"})
    server.offered.note("page")
    server.offered.begin("page", "anne", lambda: True)
    server.files["page"] = frozenset()
    assert [server.status(file, "anne") for file in ("a", "picture")] == [200, 200]


def test_a_file_of_what_was_shared_stays_bound_to_the_sharing() -> None:
    """Though the page has gone on to what is the viewer's own."""
    server = Server()
    server.draw("his", "ben", "a", shared=True)
    server.draw("his", "ben", "b")
    assert (server.status("a", "ben"), server.status("b", "ben")) == (200, 200)
    server.shared = False
    assert (server.status("a", "ben"), server.status("b", "ben")) == (404, 200)


def test_other_addresses_pass() -> None:
    """What is no file of a page is none of its business."""
    server = Server()
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
    server = Server()
    for page in ("one", "two", "three"):
        server.draw(page, "anne", page)
    assert [server.status(page, "anne") for page in ("one", "two", "three")] == [404, 200, 200]
    for file in ("a", "b", "a", "c"):
        server.draw("three", "ben", file)
    assert [server.status(file, "ben") for file in ("a", "b", "c")] == [200, 404, 200]


def test_what_a_click_makes_is_for_the_browser_of_its_page_while_that_may_be_seen() -> None:
    """Nobody else may fetch it; and nothing is made for a page whose sharing has ended, or that nobody drew."""
    server = Server()
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
