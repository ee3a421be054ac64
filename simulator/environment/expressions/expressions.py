"""Expressions in one line, such as `args.quantity > world.products[args.sku].stock`.

jinja2 reads and evaluates them. Where it is not installed, as in an agent's own environment, an expression is kept as
it is, and asking for its value says what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from simulator.environment.expressions.evaluation_budget import Budget

LONGEST_EXPRESSION: Final = 2_000
"""Characters that an expression may have."""

_SHOWN = 80
_NO_JINJA2 = "it cannot be evaluated, as the package jinja2 is not installed"


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

    def value(self, variables: Mapping[str, object], budget: Budget | None = None) -> Any:  # noqa: ARG002 - for those that were read
        """Return the expression's value: JSON, in objects and lists of its own.

        Args:
            variables: JSON values by name; objects may be any `Mapping`.
            budget: The work that this and other evaluations may do together; a budget of its own where it is left out.

        Raises:
            ExpressionError: It has no value: something is missing, does not fit, or is too much work.
        """
        raise ExpressionError(self.text, self.unread)


@lru_cache(maxsize=4_096)
def compiled(text: str) -> CompiledExpression:
    """Read an expression.

    It is Python-like: `stock >= 0`, `order.customer_id in customers`, `calls | length`, `a if b else c`,
    `x is defined`. There are no statements, and nothing of Python's own can be reached.

    Raises:
        ExpressionError: It is no expression; says what is wrong.
    """
    if len(text) > LONGEST_EXPRESSION:
        reason = f"it has {len(text):,} characters; {LONGEST_EXPRESSION:,} are the most"
        raise ExpressionError(text, reason)
    if not text.strip():
        raise ExpressionError(text, "it is empty")
    # A library that takes a while to import, and may not be there.
    try:
        from simulator.environment.expressions.jinja_expressions import read  # noqa: PLC0415 - see above
    except ModuleNotFoundError as error:
        if error.name != "jinja2":
            raise
        return CompiledExpression(text, unread=_NO_JINJA2)
    return read(text)
