"""Keeps what people have typed and not sent, on the server, so that a refresh of the page loses none of it."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from threading import Lock

MAX_DRAFTS = 500
"""How many texts one session keeps; the one that was longest without a change goes first."""


class Drafts(MutableMapping[str, str]):
    """The unsent texts of one session, by what they belong to. Safe to use from several threads."""

    def __init__(self, limit: int = MAX_DRAFTS) -> None:
        self._limit = limit
        self._texts: dict[str, str] = {}
        self._lock = Lock()

    def __getitem__(self, key: str) -> str:
        return self._texts[key]

    def __setitem__(self, key: str, text: str) -> None:
        with self._lock:
            self._texts.pop(key, None)
            self._texts[key] = text
            if len(self._texts) > self._limit:
                del self._texts[next(iter(self._texts))]

    def __delitem__(self, key: str) -> None:
        with self._lock:
            del self._texts[key]

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            return iter(tuple(self._texts))

    def __len__(self) -> int:
        return len(self._texts)
