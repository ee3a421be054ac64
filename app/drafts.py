"""Keeps what people have typed and not sent, on the server, so that a refresh of the page loses none of it."""

from __future__ import annotations

from threading import Lock

MAX_DRAFTS = 500
"""How many texts one session keeps; the one that was longest without a change goes first."""


class Drafts:
    """The unsent texts of one session, by the key of what they answer (a request's key, or a field's name)."""

    def __init__(self, limit: int = MAX_DRAFTS) -> None:
        self._limit = limit
        self._texts: dict[str, str] = {}
        self._lock = Lock()

    def get(self, key: str) -> str | None:
        """Give the text that was kept under `key`, or None."""
        return self._texts.get(key)

    def set(self, key: str, text: str) -> None:
        """Keep a text under `key` in place of the one before."""
        with self._lock:
            self._texts.pop(key, None)
            self._texts[key] = text
            if len(self._texts) > self._limit:
                del self._texts[next(iter(self._texts))]

    def forget(self, key: str) -> None:
        """Drop the text under `key`; there need not be one."""
        with self._lock:
            self._texts.pop(key, None)
