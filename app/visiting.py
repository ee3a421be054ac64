"""Asks Streamlit who is at the page in this run of it."""

from __future__ import annotations

import os
from collections.abc import Mapping

import streamlit as st

from app.people import Arrival, Visitor, chosen_people, visitor_of

_LOGGED_IN = "is_logged_in"
"""Streamlit says so, or that they are not, exactly where a login is configured."""


def visitor() -> Visitor:
    """Give who is at the page.

    Raises:
        app.people.NotLoggedInError: They have to log in first.
        app.people.NobodyError: It cannot be told who they are.
    """
    return visitor_of(_arrival(), chosen_people(os.environ))


def providers() -> tuple[str, ...]:
    """Give the identity providers of the login, by the names of their sections; an empty name for one without.

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
    """Tell whether somebody is logged in, whoever it is."""
    return st.user.to_dict().get(_LOGGED_IN) is True


def _arrival() -> Arrival:
    user = st.user.to_dict()
    return Arrival(
        address=str(st.get_option("server.address") or ""),
        headers={name.lower(): value for name, value in st.context.headers.items()},
        cookies=st.context.cookies.to_dict(),
        user=dict(user) if _LOGGED_IN in user else None,
    )
