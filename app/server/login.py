"""Asks Streamlit who is at the page in this run of it."""

from __future__ import annotations

import os
from collections.abc import Mapping

import streamlit as st

from app.server.access_link import ACCESS
from app.server.login_return import has_login
from app.server.origins import ANY, is_loopback
from app.server.owners import Arrival, NobodyError, Visitor, chosen_people, visitor_of

_LOGGED_IN = "is_logged_in"
"""Streamlit says so, or that they are not, exactly where a login is configured."""


def visitor() -> Visitor:
    """Return who is at the page.

    Raises:
        app.server.owners.NotLoggedInError: They have to log in first.
        app.server.owners.NobodyError: It cannot be told who they are.
    """
    return visitor_of(_arrival(), chosen_people(os.environ))


def providers() -> tuple[str, ...]:
    """Return the identity providers of the login, by the names of their sections; an empty name for one without.

    There are none where no login is configured.
    """
    if _LOGGED_IN not in st.user:
        return ()
    section = st.secrets.get("auth", {})
    named = tuple(
        str(name) for name, each in section.items() if isinstance(each, Mapping) and "client_id" in each
    )
    return ("", *named) if "client_id" in section else named


def is_logged_in() -> bool:
    """Return whether someone is logged in."""
    return st.user.to_dict().get(_LOGGED_IN) is True


def allowed_origins() -> frozenset[str]:
    """Return the pages of other addresses that the server's configuration lets in."""
    if not st.get_option("server.enableCORS"):
        return frozenset({ANY})
    named = {str(origin).strip() for origin in st.get_option("server.corsAllowedOrigins") or ()}
    return frozenset(named | {str(st.get_option("browser.serverAddress") or "")} - {"", "localhost"})


def open_link() -> None:
    """Print the link for who has started the server, where it serves this machine alone and nothing else says who is who."""
    try:
        is_said = chosen_people(os.environ) is not None
    except NobodyError:  # each page says what is wrong
        return
    if is_said or has_login() or not is_loopback(str(st.get_option("server.address") or "")):
        return
    port, base = int(st.get_option("server.port")), str(st.get_option("server.baseUrlPath") or "").strip("/")
    scheme = "https" if st.get_option("server.sslCertFile") else "http"
    ACCESS.open(f"{scheme}://localhost:{port}/{base}{'/' if base else ''}", port, _tell)


def _tell(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - the terminal is where the person who has started the server looks


def _arrival() -> Arrival:
    user = st.user.to_dict()
    headers, cookies = st.context.headers, st.context.cookies.to_dict()
    return Arrival(
        address=str(st.get_option("server.address") or ""),
        # Two headers of one name are no header that could be believed.
        headers={name.lower(): ", ".join(headers.get_all(name)) for name in headers},
        cookies=cookies,
        user=dict(user) if _LOGGED_IN in user else None,
        has_opened_link=ACCESS.admits(cookies),
        allowed_origins=allowed_origins(),
    )
