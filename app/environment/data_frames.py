"""Makes the data frames that table editors are given; the one module that knows the library behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

TEXT, YES_OR_NO = "object", "boolean"
"""The types of columns, each of which has room for what is missing."""


def frame(columns: Mapping[str, Sequence[Any]], types: Mapping[str, str] | None = None) -> Any:
    """Make a frame of columns; those without a type in `types` hold texts."""
    import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415 - its import takes a quarter of a second; its stubs are a package of their own

    kinds = types or {}
    return pd.DataFrame(
        {name: pd.Series([*cells], dtype=kinds.get(name, TEXT)) for name, cells in columns.items()}
    )


def rows_of(edited: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame; what is missing is None."""
    import pandas as pd  # noqa: PLC0415 - as above

    return [
        {str(name): None if pd.isna(cell) else cell for name, cell in row.items()}
        for row in edited.to_dict("records")
    ]
