"""Compares where a page came from with where it asks: a page of another site, port or name may ask, and is not answered. Pure."""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

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
