"""Expressions in one line, such as `args.quantity > world.products[args.sku].stock`.

jinja2 reads and evaluates them. Where it is not installed, as in an agent's own environment, an expression is kept as
it is, and asking for its value says what is missing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from simulator.environment.expressions.compiled_expression import CompiledExpression, ExpressionError

LONGEST_EXPRESSION: Final = 2_000
"""Characters that an expression may have."""

_NO_JINJA2 = "it cannot be evaluated, because the package jinja2 is not installed"


@lru_cache(maxsize=4_096)
def compiled(text: str) -> CompiledExpression:
    """Read an expression.

    It is Python-like: `stock >= 0`, `order.customer_id in customers`, `calls | length`, `a if b else c`,
    `x is defined`. There are no statements, and nothing of Python's own can be reached.

    Raises:
        ExpressionError: It is no expression; says what is wrong.
    """
    if len(text) > LONGEST_EXPRESSION:
        reason = f"it has {len(text):,} characters; the maximum is {LONGEST_EXPRESSION:,}"
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
