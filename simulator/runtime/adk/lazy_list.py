"""A list that is put together when somebody looks into it: what a model was shown, where the journal holds its answer."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

ItemT = TypeVar("ItemT")


class Later(list[ItemT]):
    """Is made by `make` with the first look into it, and a list like every other from then on.

    Code that reads a list's memory without asking it (pydantic's own, for one) finds none: `made` gives a plain list for that.
    """

    def __init__(self, make: Callable[[], Iterable[ItemT]]) -> None:
        super().__init__()
        self._make: Callable[[], Iterable[ItemT]] | None = make

    @property
    def is_unread(self) -> bool:
        """Whether nobody has looked so far."""
        return self._make is not None

    def look(self) -> None:
        """Put the list together, once."""
        make, self._make = self._make, None
        if make is not None:
            super().extend(make())


def made(values: list[ItemT]) -> list[ItemT]:
    """Return a list as a plain one; itself where it is one already."""
    return [*values] if isinstance(values, Later) else values


def _looking(name: str) -> Callable[..., Any]:
    plain = getattr(list, name)

    @functools.wraps(plain)
    def looks_first(self: Later[Any], *given: Any, **named: Any) -> Any:
        self.look()
        return plain(self, *(made(each) if isinstance(each, Later) else each for each in given), **named)

    return looks_first


def _added_to(self: Later[ItemT], before: list[ItemT]) -> list[ItemT]:
    return [*before, *self]


# Each way to ask a list for what it holds, to compare it and to change it.
_ASKING = frozenset(vars(list)) - frozenset(vars(object)) - {"__class_getitem__"}
_COMPARING = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__repr__"}
for _name in _ASKING | _COMPARING:
    setattr(Later, _name, _looking(_name))
setattr(Later, "__radd__", _added_to)  # noqa: B010 - a list of its own would take this one's memory without asking
setattr(Later, "__reduce_ex__", lambda self, _: (list, ([*self],)))  # noqa: B010 - a copy is a plain list
