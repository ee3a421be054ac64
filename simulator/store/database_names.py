"""Names a database by its host and its name alone, and takes the rest of its address out of what a driver says of it."""

from __future__ import annotations

import re
from urllib.parse import quote, quote_plus

from sqlalchemy.engine import URL

HIDDEN = "***"
"""Stands where something of an address is not shown."""

_SHOWN = frozenset({"host", "hostaddr", "port", "dbname"})
"""What of a query may be seen; any other value can be a secret, or the path of one."""

_LONG_ENOUGH = 4
_PLAIN_NAME = re.compile(r"[^=@:/?&\s]+")
_KEY_AND_VALUE = re.compile(
    r"\s*(?:user|host|hostaddr|port|dbname|service|passfile)\s*=|.*\b\w*password\s*=",
    re.IGNORECASE | re.DOTALL,
)
_SCHEME = re.compile(r"\s*(?:postgres|postgresql|sqlite)(?:\+\w+)?(?::|/{2})", re.IGNORECASE)


def looks_like_address(place: str) -> bool:
    """Return whether a text that is no URL was meant as the address of a server, not as the path of a file."""
    return bool(_SCHEME.match(place) or _KEY_AND_VALUE.match(place))


def shown_name(url: URL) -> str:
    """Return the path of a file, or the hosts, ports and name of a database on a server."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    port = f":{url.port}" if url.port is not None else ""
    hosts = [f"{_bracketed(url.host)}{port}"] if url.host else []
    hosts += [host for listed in _of_query(url, "host") for host in listed.split(",") if host]
    names = [url.database or "", *_of_query(url, "dbname")]
    name = next(filter(None, reversed(names)), "")
    return f"postgresql://{','.join(hosts)}/{name if _PLAIN_NAME.fullmatch(name) else HIDDEN if name else ''}"


def masked(text: str, url: URL) -> str:
    """Take out of a text what an address holds beside host, port and name, however it is written there."""
    values = [url.username or "", str(url.password or "")]
    values += [value for key in url.query if key not in _SHOWN for value in _of_query(url, key)]
    values += [
        name for name in (url.database or "", *_of_query(url, "dbname")) if not _PLAIN_NAME.fullmatch(name)
    ]
    forms = {
        form
        for value in values
        if value
        for form in (value, quote(value, safe=""), quote_plus(value), repr(value)[1:-1])
    }
    for form in sorted(forms, key=len, reverse=True):
        # A short one can stand in the middle of a word that has nothing to do with it.
        edge = r"\b" if len(form) < _LONG_ENOUGH and form.isalnum() else ""
        text = re.sub(f"{edge}{re.escape(form)}{edge}", HIDDEN, text)
    return text


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _of_query(url: URL, key: str) -> tuple[str, ...]:
    value = url.query.get(key, ())
    return (value,) if isinstance(value, str) else tuple(value)
