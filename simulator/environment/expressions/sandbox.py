"""Runs expressions in jinja2's sandbox, on JSON values only."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any

from jinja2 import StrictUndefined, Undefined
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

from simulator.base.near_names import LONGEST_NAME, near
from simulator.base.work_limit import ITEM, look, make, weight
from simulator.environment.expressions.expression_builtins import (
    FUNCTIONS,
    filters,
    guarded,
    method,
    tests,
    there,
)
from simulator.environment.expressions.faker_values import Fake

_MOST_BITS = 8_192


class MissingName(StrictUndefined):
    """A name that stands for nothing: `is defined` may be asked of it; any other use is an error that names it."""

    __slots__ = ()
    __index__ = StrictUndefined.__len__

    @property
    def _undefined_message(self) -> str:
        """Say what is missing; only now, as most that are missing are only asked whether they are defined."""
        if self._undefined_hint or self._undefined_obj is missing:
            return super()._undefined_message
        return _absence(self._undefined_obj, self._undefined_name)


class Sandbox(ImmutableSandboxedEnvironment):
    """jinja2's sandbox, made narrower: values are JSON, and nothing but fields and a few methods is found in them."""

    intercepted_binops = frozenset(["+", "-", "*", "/", "//", "%", "**"])

    def __init__(self) -> None:
        # Nothing is folded when an expression is compiled: then nothing would limit it.
        super().__init__(undefined=MissingName, optimized=False, autoescape=False, cache_size=0)
        self.filters = filters()
        self.tests = tests()
        self.globals = {**FUNCTIONS, "null": None}

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a field of an object, or else one of the few methods that texts and objects have."""
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return a field of an object, an item of a list, a character of a text, or one of the few methods."""
        look()
        if type(obj) is dict and type(argument) is str and argument in obj:  # nearly always
            return obj[argument]
        if isinstance(obj, Undefined):
            return obj
        there(argument)
        if isinstance(obj, Mapping) and argument in obj:
            return obj[argument]
        if isinstance(obj, (list, tuple, str)) and isinstance(argument, int):
            is_there = -len(obj) <= argument < len(obj)
            return obj[argument] if is_there else MissingName(None, obj, argument)  # type: ignore[arg-type] # numbers are told too
        if not isinstance(argument, (str, int, float, NoneType)):
            raise TypeError("a key must be a text or a number")
        if isinstance(argument, str) and not argument.startswith("_"):
            found = obj.offered(argument) if isinstance(obj, Fake) else method(obj, argument)
            if found is not None:
                return found
        return MissingName(None, obj, argument)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG002 - jinja2's signature
        """Call a function; all that are found were made to be called."""
        there(obj)
        if not callable(obj):
            raise TypeError("it calls something that is not a function")
        return guarded(obj)(*args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ARG002 - as above
        """Calculate what is not too large."""
        there(left, right)
        look()
        result = _CALCULATED[operator](left, right)
        if isinstance(result, complex):
            raise TypeError(f"{operator} has no real number as its result")
        return result


def _sum(left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        make(len(left) + len(right))
    elif isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        make(ITEM * (len(left) + len(right)))
        return [*left, *right]
    elif isinstance(left, str) or isinstance(right, str):
        raise TypeError("+ joins a text only with a text; join a text and another value with ~")
    return left + right


def _product(left: Any, right: Any) -> Any:
    for many, times in ((left, right), (right, left)):
        if isinstance(many, (str, list, tuple)) and isinstance(times, int):
            make(weight(many) * max(times, 0))
    if isinstance(left, int) and isinstance(right, int):
        _check_bits("*", left.bit_length() + right.bit_length())
    return left * right


def _power(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        _check_bits("**", left.bit_length() * abs(right))
    return left**right


def _check_bits(symbol: str, bits: int) -> None:
    if bits > _MOST_BITS:
        raise OverflowError(f"the result of {symbol} is too large a number")


def _rest(left: Any, right: Any) -> Any:
    if not isinstance(left, (int, float)):
        raise TypeError("% is for numbers; join texts with ~")
    return left % right


_CALCULATED: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": _sum, "-": operator.sub, "*": _product, "/": operator.truediv, "//": operator.floordiv, "%": _rest, "**": _power,
}  # fmt: skip


def _absence(obj: object, name: object) -> str:
    if isinstance(obj, (list, tuple, str)) and isinstance(name, int):
        return f"there is no item {name}; the length is {len(obj)}"
    if isinstance(name, str) and len(name) > LONGEST_NAME:
        name = f"{name[:LONGEST_NAME]}..."
    if isinstance(obj, Mapping):
        return f"there is no {name!r}; {near(str(name), obj)}"
    kind = {
        "NoneType": "null",
        "str": "a text",
        "list": "a list",
        "bool": "a boolean",
        "int": "a number",
        "float": "a number",
    }
    return f"there is no {name!r} in {kind.get(type(obj).__name__, f'a {type(obj).__name__}')}"
