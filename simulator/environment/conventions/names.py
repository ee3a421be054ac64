"""Reads the names of fields: their words, and whether they name a thing by a key."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@lru_cache(maxsize=8192)
def words_of(name: str) -> tuple[str, ...]:
    """Give the words of a name in lower case: `orderId`, `order_id` and `order-ID` give `order`, `id`."""
    return tuple(word.lower() for word in _WORD.findall(name))


@lru_cache(maxsize=8192)
def is_identifier(name: str) -> bool:
    """Tell whether a field names a thing by a key: `id`, `order_id`, `trackingNumber`, `reference`."""
    words = words_of(name)
    if not words:
        return False
    if words[-1] in {"id", "uuid", "identifier", "reference", "ref", "key", "sku", "tracking"}:
        return True
    return (
        len(words) > 1
        and words[-1] in {"number", "no", "code"}
        and words[-2] not in {"phone", "error", "status"}
    )


@lru_cache(maxsize=4096)
def spelled(name: str) -> str:
    """Give a name in snake case, whatever case it is written in."""
    return "_".join(words_of(name))
