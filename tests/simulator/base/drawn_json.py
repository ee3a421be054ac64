"""JSON values that property tests draw, and the places in them."""

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
