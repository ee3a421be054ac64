"""It is told whose sessions somebody sees, and nobody is taken for somebody else."""

from __future__ import annotations

import secrets
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.server.local_peers import MARK
from app.server.owners import (
    COOKIE,
    LOCAL,
    PEOPLE_VARIABLE,
    Arrival,
    NobodyError,
    NotLoggedInError,
    People,
    chosen_people,
    fits,
    is_browser_id,
    name_of,
    visitor_of,
)

HERE = {"host": "localhost:8501", "origin": "http://localhost:8501"}
THERE = {"host": "studio.example", "origin": "https://studio.example"}
ANNE = {"is_logged_in": True, "iss": "https://id.example", "sub": "1", "name": "Anne", "email": "a@b.example"}


def browser() -> dict[str, str]:
    """The cookies of a browser that was here before."""
    return {COOKIE: secrets.token_urlsafe(32)}


def arrival(address: str = "localhost", **more: Any) -> Arrival:
    """Somebody who comes to a server that listens there."""
    return Arrival(address=address, **more)


@pytest.mark.parametrize("address", ["localhost", "127.0.0.1", "127.1.2.3", "::1"])
@pytest.mark.parametrize("host", ["localhost:8501", "127.0.0.1:8501", "[::1]:8501", "localhost"])
def test_who_sits_at_the_machine_has_its_sessions_with_any_browser(address: str, host: str) -> None:
    """Cookies cleared, another browser, a tunnel to the machine: the sessions are the same."""
    headers = {"host": host, "origin": f"http://{host}"}
    assert visitor_of(arrival(address, headers=headers), None).owner == LOCAL
    assert visitor_of(arrival(address, headers=headers, cookies=browser()), None).owner == LOCAL


@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("", HERE),
        ("0.0.0.0", HERE),  # noqa: S104 - what is asked is who such a server takes for whom
        ("192.168.1.2", HERE),
        ("unix:///run/studio.sock", HERE),
        ("localhost", {"host": "localhost:8501"}),
        ("localhost", {**HERE, "sec-fetch-site": "same-site"}),
        ("localhost", {**HERE, MARK: "1"}),
        *(
            ("localhost", {**headers, name: "x"})
            for headers in (HERE, THERE)
            for name in (
                "via",
                "forwarded",
                "x-forwarded-for",
                "x-forwarded-proto",
                "x-forwarded-port",
                "x-real-ip",
            )
        ),
    ],
)
def test_whoever_may_come_from_elsewhere_is_their_browser(address: str, headers: dict[str, str]) -> None:
    """A server for others, a proxy before it, a foreign name for this machine: none gives the machine's sessions."""
    cookies = browser()
    owner = visitor_of(arrival(address, headers=headers, cookies=cookies), None).owner
    assert owner != LOCAL
    assert cookies[COOKIE] not in owner
    assert owner == visitor_of(arrival(address, headers=headers, cookies=dict(cookies)), None).owner
    assert owner != visitor_of(arrival(address, headers=headers, cookies=browser()), None).owner
    with pytest.raises(NobodyError, match="Allow cookies"):
        visitor_of(arrival(address, headers=headers), None)


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost:3000",
        "http://127.0.0.1:8501",
        "https://localhost:8501.evil.example",
        "http://localhost:8501@evil.example",
        "http://localhost:8501, http://evil.example",
        "http://localhost",
        "http://localhost:8501/",
        "ftp://localhost:8501",
        "https://studio.example",
        "null",
        "",
    ],
)
@pytest.mark.parametrize("chosen", [None, "one", "browser"])
@pytest.mark.parametrize("has_opened_link", [False, True])
def test_a_page_of_another_address_is_nobody(
    origin: str, chosen: People | None, has_opened_link: bool
) -> None:
    """Another port of this machine gets this browser's cookies, and a proxy that rewrites Host looks the same: neither sees anything."""
    headers = {**HERE, "origin": origin}
    came = arrival(headers=headers, cookies=browser(), has_opened_link=has_opened_link)
    with pytest.raises(NobodyError, match=r"localhost:8501.*server\.corsAllowedOrigins"):
        visitor_of(came, chosen)


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("https://studio.example", {"https://studio.example"}),
        ("https://studio.example:8443", {"studio.example"}),
        ("https://studio.example", {"*"}),
    ],
)
def test_an_address_that_the_configuration_names_is_let_in_as_a_browser(
    origin: str, allowed: set[str]
) -> None:
    """For a proxy that rewrites Host; that makes nobody of its visitors the machine's one person."""
    came = arrival(headers={**HERE, "origin": origin}, cookies=browser(), allowed_origins=allowed)
    assert visitor_of(came, None).owner.startswith("browser-")
    assert visitor_of(came, "one").owner == LOCAL


@pytest.mark.parametrize(
    "host", ["evil.example:8501", "localhost@evil.example", "[broken", "", "127.0.0.1.evil.example"]
)
@pytest.mark.parametrize("has_origin", [False, True])
def test_another_name_for_this_machine_is_nobody(host: str, has_origin: bool) -> None:
    """A foreign page whose name was made to lead here (DNS rebinding) begins nothing on a server for this machine alone."""
    headers = {"host": host, **({"origin": f"http://{host}"} if has_origin else {})}
    with pytest.raises(NobodyError):
        visitor_of(arrival(headers=headers, cookies=browser()), None)
    expected = arrival(
        headers={"host": "studio.example", "origin": "http://studio.example"}, cookies=browser()
    )
    with pytest.raises(NobodyError, match=rf"studio\.example.*{PEOPLE_VARIABLE}"):
        visitor_of(expected, None)
    assert visitor_of(expected, "browser").owner.startswith("browser-")


@pytest.mark.parametrize(
    "headers", [HERE, THERE, {"host": "localhost:8501"}, {**THERE, "via": "1.1 proxy"}, {**HERE, MARK: "1"}]
)
def test_who_has_opened_the_servers_link_is_its_person(headers: dict[str, str]) -> None:
    """Through a proxy, at a forwarded port, without an Origin; not where something else says who is who."""
    came = arrival(headers=headers, cookies=browser(), has_opened_link=True)
    assert visitor_of(came, None).owner == LOCAL
    assert visitor_of(came, "browser").owner.startswith("browser-")


@given(st.text(max_size=30), st.text(max_size=30))
def test_what_fits_is_the_same_host_and_port(name: str, host: str) -> None:
    """Whatever is sent: what fits names one host, in letters that a browser would send, and a default port need not be written."""
    for origin in (f"http://{name}", f"https://{name}", name):
        if fits(origin, host):
            assert not {"@", ",", "/", "\\", "%"} & set(host)
            assert name_of(host) == name_of(origin.partition("://")[2]) != ""
    assert fits("http://studio.example", "studio.example:80") is True
    assert fits("https://studio.example", "studio.example:443") is True
    assert fits("https://studio.example", "studio.example:80") is False


@given(st.text(max_size=60))
def test_only_an_id_of_ours_makes_somebody_of_a_browser(text: str) -> None:
    """A short word, which could be guessed, an empty one or a list of them is nobody's id."""
    came = arrival("", cookies={COOKIE: text})
    if is_browser_id(text):
        assert visitor_of(came, None).owner.startswith("browser-")
    else:
        with pytest.raises(NobodyError):
            visitor_of(came, None)


def test_what_is_chosen_holds() -> None:
    """One person behind a proxy, each browser on one's own machine; a login that is not there lets nobody in, nor one beside another choice."""
    proxied = arrival(headers=THERE, cookies=browser())
    assert visitor_of(proxied, "one").owner == LOCAL
    assert visitor_of(arrival(headers=HERE, cookies=browser()), "browser").owner.startswith("browser-")
    choices: tuple[tuple[People, Any], ...] = (("login", None), ("one", ANNE), ("browser", ANNE))
    for chosen, user in choices:
        with pytest.raises(NobodyError, match=rf"{PEOPLE_VARIABLE} is `{chosen}`"):
            visitor_of(arrival(headers=HERE, cookies=browser(), user=user), chosen)


@pytest.mark.parametrize(
    "user", [{"is_logged_in": False}, {**ANNE, "is_logged_in": False}, {**ANNE, "is_logged_in": 1}]
)
def test_where_a_login_is_configured_nobody_is_there_without_it(user: dict[str, Any]) -> None:
    """Not at the machine itself, and not with the cookie of a browser."""
    with pytest.raises(NotLoggedInError):
        visitor_of(arrival(headers=HERE, cookies=browser(), user=user), None)


def test_who_is_logged_in_is_known_by_what_does_not_change() -> None:
    """Issuer and subject tell people apart; a name or an address may change, and may be another's later."""
    anne = visitor_of(arrival(user=ANNE), None)
    assert (anne.name, anne.email, anne.has_logged_in) == ("Anne", "a@b.example", True)
    renamed = {**ANNE, "name": "Anna", "email": "anna@b.example"}
    assert visitor_of(arrival(user=renamed), "login").owner == anne.owner
    with pytest.raises(NobodyError, match="no subject"):
        visitor_of(arrival(user={**ANNE, "iss": "https://id.example1", "sub": ""}), None)


@given(st.lists(st.text(min_size=1), min_size=4, max_size=4))
def test_no_two_identities_are_one(texts: list[str]) -> None:
    """However issuer and subject are cut."""
    first, second = texts[:2], texts[2:]
    owners = [
        visitor_of(arrival(user={"is_logged_in": True, "iss": issuer, "sub": subject}), None).owner
        for issuer, subject in (first, second)
    ]
    assert (owners[0] == owners[1]) == (first == second)


def test_the_variable_is_read_with_care() -> None:
    """In any case and with blanks; a word that is not known is named, and nothing is assumed."""
    assert chosen_people({}) is None
    assert chosen_people({PEOPLE_VARIABLE: " Browser "}) == "browser"
    with pytest.raises(NobodyError, match=r"'many'.*one, browser, login"):
        chosen_people({PEOPLE_VARIABLE: "many"})
