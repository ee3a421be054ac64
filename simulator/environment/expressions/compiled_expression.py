"""An expression that was read, and the error of one that cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SHOWN = 80


class ExpressionError(ValueError):
    """An expression cannot be read or has no value. Names the expression and says what is wrong."""

    def __init__(self, text: str, reason: str) -> None:
        shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
        super().__init__(f"expression {shown!r}: {reason}")
        self.text = text
        self.reason = reason


class CompiledExpression:
    """An expression that was read.

    Attributes:
        text: The expression.
        names: The variables that it reads.
        paths: The dotted paths that it reads, such as `order.customer_id`, in their order; each ends before what is only
            known when it is evaluated (`world.products[args.sku].stock` reads `world.products` and `args.sku`).
        called: The variables that it calls as functions, each with the path of its first argument, if that is one;
            no value can be called, so that it has no value.
        unread: Why it was not read, so that it has no value here and the rest is empty; empty where it was.
    """

    __slots__ = ("called", "names", "paths", "text", "unread")

    def __init__(
        self,
        text: str,
        *,
        names: frozenset[str] = frozenset(),
        paths: tuple[str, ...] = (),
        called: Mapping[str, str] | None = None,
        unread: str = "",
    ) -> None:
        self.text, self.names, self.paths, self.unread = text, names, paths, unread
        self.called = called or {}

    def __repr__(self) -> str:
        return f"CompiledExpression({self.text!r})"

    def value(self, variables: Mapping[str, object]) -> Any:  # noqa: ARG002 - for those that were read
        """Return the expression's value: JSON, in objects and lists of its own.

        Args:
            variables: JSON values by name; objects may be any `Mapping`.

        Raises:
            ExpressionError: It has no value: something is missing, does not fit, or is too much work within the limit that runs.
        """
        raise ExpressionError(self.text, self.unread)
