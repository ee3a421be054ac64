"""Says whose sessions somebody at the page sees: those of this machine, of their browser, or of who they logged in as. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from pydantic import Field

from simulator.facts import Value

PEOPLE_VARIABLE = "GOLDEN_TRACE_PEOPLE"
"""Says whose the sessions of this server are: `one` person's, `browser` (each browser's own), or `login`."""

COOKIE = "golden_trace_browser"
"""Holds the id of a browser. Who knows it has the sessions of that browser, so it is shown and stored nowhere."""

LOCAL = "local"
"""Whose the sessions are on a machine that one person uses."""

People: TypeAlias = Literal["one", "browser", "login"]

_BROWSER_ID = re.compile(r"[A-Za-z0-9_-]{43}")
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
_NO_COOKIE = (
    "This browser sent no id, so its sessions cannot be told from those of others. Allow cookies for this page, and "
    "load it again."
)
_NO_LOGIN = f"{PEOPLE_VARIABLE} is `login`, and no login is configured: `.streamlit/secrets.toml` has no [auth] section."
_NO_SUBJECT = (
    "The identity provider did not say who you are: its token names no issuer (iss) or no subject (sub)."
)


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
    """

    address: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    cookies: dict[str, str] = Field(default_factory=dict)
    user: dict[str, Any] | None = None


def chosen_people(environ: Mapping[str, str]) -> People | None:
    """Give what the environment says of whose the sessions are; None where it says nothing.

    Raises:
        NobodyError: It says something that is not known.
    """
    said = environ.get(PEOPLE_VARIABLE, "").strip().lower()
    for known in get_args(People):
        if said == known:
            found: People = known
            return found
    if said:
        raise NobodyError(f"{PEOPLE_VARIABLE} is {said!r}; it can be {', '.join(get_args(People))}.")
    return None


def visitor_of(arrival: Arrival, chosen: People | None) -> Visitor:
    """Tell whose sessions somebody sees who has arrived like this.

    Where a login is configured, nobody is there without it. Else, unless something is chosen, whoever sits at a
    machine that serves itself alone is its one person, whatever browser they use; everybody else is their browser.

    Raises:
        NotLoggedInError: They have to log in first.
        NobodyError: It cannot be told.
    """
    if arrival.user is not None:
        if chosen not in {None, "login"}:
            raise NobodyError(
                f"{PEOPLE_VARIABLE} is `{chosen}`, and a login is configured in `.streamlit/secrets.toml`: "
                "take one of them away."
            )
        return _logged_in(arrival.user)
    if chosen == "login":
        raise NobodyError(_NO_LOGIN)
    if chosen == "one" or (chosen is None and is_this_machine(arrival)):
        return Visitor(owner=LOCAL)
    return _of_browser(arrival.cookies)


def is_this_machine(arrival: Arrival) -> bool:
    """Tell whether the server listens to this machine only, and was asked by it, not through a proxy for others."""
    if not is_loopback(arrival.address):
        return False
    if any(name in arrival.headers for name in _FORWARDED):
        return False
    asked = [f"//{arrival.headers['host']}"] if "host" in arrival.headers else []
    asked += [arrival.headers["origin"]] if "origin" in arrival.headers else []
    return all(is_loopback(_host(url)) for url in asked)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Tell whether a name or an address is that of this machine to itself."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _logged_in(user: Mapping[str, Any]) -> Visitor:
    if user.get("is_logged_in") is not True:
        raise NotLoggedInError("Log in to see your sessions, and to begin one.")
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
    """Tell whether a text can be the id of a browser: 32 random bytes, as `secrets.token_urlsafe` writes them."""
    return _BROWSER_ID.fullmatch(text) is not None
