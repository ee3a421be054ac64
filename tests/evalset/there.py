"""Returns what a test needs to be there."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def there(value: T | None) -> T:
    """Return a value, which must not be None."""
    assert value is not None
    return value
