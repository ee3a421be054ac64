"""Runs a test for each row of a table as one test: a row costs nothing but its own work."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

Test = Callable[..., None]


def for_each(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Call a test with each row in turn, as `pytest.mark.parametrize` would; the row that fails is named with its number."""
    table = list(rows)
    assert table, "a table without rows proves nothing"

    def of(test: Test) -> Test:
        @functools.wraps(test)
        def all_rows(**others: Any) -> None:
            for number, row in enumerate(table):
                given = {names: row} if isinstance(names, str) else dict(zip(names, row, strict=True))
                try:
                    test(**given, **others)
                except BaseException as problem:
                    problem.add_note(f"row {number}: {row!r:.1000}")
                    raise

        signature = inspect.signature(test)
        rest = [one for one in signature.parameters.values() if one.name not in names]
        all_rows.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined] # read by pytest
        return all_rows

    return of
