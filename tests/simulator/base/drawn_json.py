"""JSON values that property tests draw, the places in them, and other values there."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st


def nested(leaf: Any, keys: Any, size: int = 3, most: int = 8) -> st.SearchStrategy[Any]:
    """Draw these values, and lists and dicts of so many in each other."""
    return st.recursive(
        leaf,
        lambda inner: st.lists(inner, max_size=size) | st.dictionaries(keys, inner, max_size=size),
        max_leaves=most,
    )


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return each place in a document."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *(found for key, item in inside for found in places(item, (*place, key)))]


def put(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """Return a document with another value at a place: what a function makes of the value there, or the value that is given."""
    if not place:
        return new(value) if callable(new) else new
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    held = copy.get(place[0]) if isinstance(copy, dict) else copy[place[0]]
    copy[place[0]] = put(held, place[1:], new)
    return copy
