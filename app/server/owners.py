"""Says whose sessions somebody at the page sees, and whether a request comes from a page of this server. Pure.

Who is asked about is always behind a WebSocket: the page itself, a file, is sent to anybody and holds nothing. What can be believed of it:

- A browser sends the `Origin` of the page that opens a WebSocket, and no page can change it. So a page of another site, or of another port
  of this machine, is told by its Origin; it is refused, as a browser sends its cookies along to every port of a host.
- A page whose name was made to lead here (DNS rebinding) has an Origin that fits its Host, and neither is this machine's own name. It is
  refused by a server that listens to this machine alone, unless a proxy or the configuration says that others are expected.
- A proxy in front of a server on `localhost` makes everybody a connection of this machine, and may put this machine's name into `Host`.
  Its headers tell it where it adds any. Where it adds none, a browser's Origin does not fit; and a program, which can send any Origin, is
  told on Linux by the user that the proxy runs as (`app/server/local_peers.py`). A silent proxy under the server's own user cannot be told from that
  user: `GOLDEN_TRACE_PEOPLE=browser` or `login` is for that.
- A program without an Origin may be anybody: it has what its cookies give it.
- The link that the server prints at its start (`app/server/login.py`) was seen by who started it. Who has opened it is the one person, through
  any proxy; the cookie counts with a fitting Origin, or with none, only.
- A login is checked by Streamlit: its cookie is signed, and bound to the Origin and to a token against forgery.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from ipaddress import ip_address
from typing import Any, Literal, TypeAlias, get_args
from urllib.parse import SplitResult, urlsplit

from pydantic import Field

from app.server.local_peers import MARK
from simulator.base.frozen_value import Value

ANY = "*"
"""Stands among the allowed origins where the server was told to allow all."""

_PORTS = {"http": 80, "https": 443}
_STRANGE = frozenset("@, \t\r\n\\%")


def fits(origin: str, host: str) -> bool:
    """Return whether a page of this origin asks the very host, name and port, from which it was loaded."""
    page, asked = _split(origin), _split(f"//{host}")
    if page is None or asked is None or page.scheme not in _PORTS or page.path or page.query or page.fragment:
        return False
    default = _PORTS[page.scheme]
    # No proxy says reliably which scheme it was asked with, so a host without a port has that of the page's scheme.
    return bool(page.hostname) and (page.hostname, page.port or default) == (
        asked.hostname,
        asked.port or default,
    )


def is_allowed(origin: str, host: str, allowed: Collection[str]) -> bool:
    """Return whether a page of this origin may ask this host: it was loaded from there, or the server's configuration names it."""
    page = _split(origin)
    named = page is not None and bool(page.hostname) and bool({origin, page.hostname} & set(allowed))
    return fits(origin, host) or ANY in allowed or named


def is_loopback(host: str) -> bool:
    """Return whether a name or an address is that of this machine to itself."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def name_of(host: str) -> str:
    """Return the name in a `Host` header, without the port; empty where it is none."""
    found = _split(f"//{host}")
    return (found.hostname or "") if found is not None else ""


def _split(url: str) -> SplitResult | None:
    """Take a URL apart; None for one that holds a user, a broken port, or more than one host."""
    try:
        found = urlsplit(url)
        _ = found.port
    except ValueError:
        return None
    return found if not set(url) & _STRANGE else None


PEOPLE_VARIABLE = "GOLDEN_TRACE_PEOPLE"
"""Says whose the sessions of this server are: `one` person's, `browser` (each browser's own), or `login`."""

COOKIE = "golden_trace_browser"
"""Holds the id of a browser. Who knows it has the sessions of that browser, so it is shown and stored nowhere."""

LOCAL = "local"
"""Whose the sessions are on a machine that one person uses."""

People: TypeAlias = Literal["one", "browser", "login"]

_BROWSER_ID = re.compile(r"[A-Za-z0-9_-]{43}")
_OF_PROXIES = frozenset(
    {
        "via",
        "forwarded",
        "x-real-ip",
        "x-client-ip",
        "x-cluster-client-ip",
        "true-client-ip",
        "cf-connecting-ip",
    }
)
_FORWARDED = ("x-forwarded", "x-original-")
_OWN_PAGE = frozenset({"same-origin", "none"})
_NO_COOKIE = (
    "This browser sent no ID, so the studio cannot tell its sessions from those of others. Allow cookies "
    "for this page, and reload it."
)
_ANOTHER_PAGE = (
    "This page was loaded from {origin}, but sends requests to {host}. Pages of other addresses have no "
    "access. If a proxy is in between, make it forward the Host header unchanged, or add the address to "
    "`server.corsAllowedOrigins`."
)
_ANOTHER_NAME = (
    "This server accepts requests from this machine only, but the request was for {host}. If you use a proxy or another name, add that "
    f"name to `server.corsAllowedOrigins`, set {PEOPLE_VARIABLE}, or open the link that the server printed at startup."
)
_NO_LOGIN = f"{PEOPLE_VARIABLE} is `login`, but no login is configured: `.streamlit/secrets.toml` has no [auth] section."
_NO_SUBJECT = "The identity provider did not identify you: its token has no issuer (iss) or no subject (sub)."


class NobodyError(ValueError):
    """It cannot be told whose sessions somebody may see, so they see none; the text says what to do."""


class NotLoggedInError(NobodyError):
    """A login is configured, and nobody is logged in."""


class Visitor(Value):
    """Somebody at the page. `owner` says whose sessions they have; `name` and `email` come from outside, empty where not said."""

    owner: str
    has_logged_in: bool = False
    name: str = ""
    email: str = ""


class Arrival(Value):
    """What is known of a connection to the page.

    Attributes:
        address: Where the server listens; empty for every address of the machine.
        headers: What the browser sent along, by names in lower case; none where no browser is there.
        cookies: Its cookies.
        user: What the identity provider says; None where no login is configured.
        has_opened_link: They have opened the link that the server printed at its start.
        allowed_origins: The pages of other addresses that the server's configuration lets in, by origin or name; "*" for all.
    """

    address: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    cookies: dict[str, str] = Field(default_factory=dict)
    user: dict[str, Any] | None = None
    has_opened_link: bool = False
    allowed_origins: frozenset[str] = frozenset()


def chosen_people(environ: Mapping[str, str]) -> People | None:
    """Return what the environment says of whose the sessions are; None where it says nothing.

    Raises:
        NobodyError: It says something that is not known.
    """
    said = environ.get(PEOPLE_VARIABLE, "").strip().lower()
    for known in get_args(People):
        if said == known:
            found: People = known
            return found
    if said:
        raise NobodyError(f"{PEOPLE_VARIABLE} is {said!r}. Allowed values: {', '.join(get_args(People))}.")
    return None


def visitor_of(arrival: Arrival, chosen: People | None) -> Visitor:
    """Return whose sessions somebody sees who has arrived like this.

    Where a login is configured, nobody is there without it. Else, unless something is chosen, the person at a
    machine that serves itself alone is its one person, whatever browser they use; everybody else is their browser.

    Raises:
        NotLoggedInError: They have to log in first.
        NobodyError: It cannot be told.
    """
    if arrival.user is not None:
        if chosen not in {None, "login"}:
            raise NobodyError(
                f"{PEOPLE_VARIABLE} is `{chosen}`, but a login is configured in `.streamlit/secrets.toml`. Remove one "
                "of them."
            )
        return _logged_in(arrival.user)
    if chosen == "login":
        raise NobodyError(_NO_LOGIN)
    _check_page(arrival)
    if chosen == "one" or (chosen is None and (arrival.has_opened_link or is_this_machine(arrival))):
        return Visitor(owner=LOCAL)
    if chosen is None:
        _check_name(arrival)
    return _of_browser(arrival.cookies)


def is_this_machine(arrival: Arrival) -> bool:
    """Return whether the server listens to this machine only, and was asked by a page of its own there, not through a proxy for others."""
    if not is_loopback(arrival.address):
        return False
    headers = arrival.headers
    if not headers:  # no connection: the script was run by itself
        return True
    host = headers.get("host", "")
    return (
        is_loopback(name_of(host))
        and fits(headers.get("origin", ""), host)
        and headers.get("sec-fetch-site", "same-origin") in _OWN_PAGE
        and not came_through_proxy(headers)
        and MARK not in headers
    )


def came_through_proxy(headers: Mapping[str, str]) -> bool:
    """Return whether a proxy has left a header."""
    return any(name in _OF_PROXIES or name.startswith(_FORWARDED) for name in headers)


def _check_page(arrival: Arrival) -> None:
    """Check that a page of ours asks, or a program that is no page.

    Raises:
        NobodyError: It is a page of another address.
    """
    origin, host = arrival.headers.get("origin"), arrival.headers.get("host", "")
    if origin is not None and not is_allowed(origin, host, arrival.allowed_origins):
        raise NobodyError(_ANOTHER_PAGE.format(origin=origin, host=host))


def _check_name(arrival: Arrival) -> None:
    """Check that a server for this machine alone is asked by a name of this machine, or that others are expected.

    Raises:
        NobodyError: Another name was made to lead here.
    """
    headers = arrival.headers
    host = headers.get("host", "")
    is_expected = (
        not headers
        or not is_loopback(arrival.address)
        or is_loopback(name_of(host))
        or came_through_proxy(headers)
        or is_allowed(headers.get("origin", ""), "", arrival.allowed_origins)
    )
    if not is_expected:
        raise NobodyError(_ANOTHER_NAME.format(host=host))


def _logged_in(user: Mapping[str, Any]) -> Visitor:
    if user.get("is_logged_in") is not True:
        raise NotLoggedInError("Log in to see your sessions and to start new ones.")
    issuer, subject = user.get("iss"), user.get("sub")
    if not (isinstance(issuer, str) and issuer and isinstance(subject, str) and subject):
        raise NobodyError(_NO_SUBJECT)
    # Not the e-mail address, which may change and come to somebody else.
    owner = f"login-{hashlib.sha256(json.dumps([issuer, subject]).encode()).hexdigest()}"
    name, email = (str(user.get(key) or "") for key in ("name", "email"))
    return Visitor(owner=owner, has_logged_in=True, name=name, email=email)


def _of_browser(cookies: Mapping[str, str]) -> Visitor:
    browser_id = cookies.get(COOKIE, "")
    if not is_browser_id(browser_id):
        raise NobodyError(_NO_COOKIE)
    # What the database holds opens nobody's sessions.
    return Visitor(owner=f"browser-{hashlib.sha256(browser_id.encode()).hexdigest()}")


def is_browser_id(text: str) -> bool:
    """Return whether a text can be the id of a browser: 32 random bytes, as `secrets.token_urlsafe` writes them."""
    return _BROWSER_ID.fullmatch(text) is not None
