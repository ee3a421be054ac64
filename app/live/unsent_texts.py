"""Keeps what people have typed and not sent, on the server, so that a refresh of the page loses none of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from threading import Lock

MAX_DRAFTS = 500
"""How many texts one session keeps; the one that was longest without a change goes first."""


class UnsentTexts(MutableMapping[str, str]):
    """The unsent texts of one session, by what they belong to. Safe to use from several threads.

    Args:
        limit: How many are kept.
        before: Those that were kept when the session was last open.
        changed: Is told of each change, with None for a text that is gone.
    """

    def __init__(
        self,
        limit: int = MAX_DRAFTS,
        before: Mapping[str, str] | None = None,
        changed: Callable[[Mapping[str, str | None]], None] | None = None,
    ) -> None:
        self._limit = limit
        self._texts: dict[str, str] = dict(before or {})
        self._changed = changed
        self._lock = Lock()

    def __getitem__(self, key: str) -> str:
        return self._texts[key]

    def __setitem__(self, key: str, text: str) -> None:
        with self._lock:
            changed: dict[str, str | None] = {} if self._texts.pop(key, None) == text else {key: text}
            self._texts[key] = text
            if len(self._texts) > self._limit:
                oldest = next(iter(self._texts))
                del self._texts[oldest]
                changed[oldest] = None
            self._tell(changed)

    def __delitem__(self, key: str) -> None:
        with self._lock:
            del self._texts[key]
            self._tell({key: None})

    def _tell(self, changed: Mapping[str, str | None]) -> None:
        if changed and self._changed is not None:
            self._changed(changed)

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            return iter(tuple(self._texts))

    def __len__(self) -> int:
        return len(self._texts)
