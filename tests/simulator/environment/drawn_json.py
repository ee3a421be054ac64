"""Draws JSON values for properties that hold for all of them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

PLAIN: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
NAMES = st.text(max_size=5)


def json_values(
    plain: st.SearchStrategy[Any] = PLAIN, names: st.SearchStrategy[str] = NAMES, max_leaves: int = 10
) -> st.SearchStrategy[Any]:
    """Return values of these plain ones, in lists and under these names."""
    return st.recursive(
        plain,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
        max_leaves=max_leaves,
    )
