"""Runs expressions in jinja2's sandbox: on JSON values only, with every step counted."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any

from jinja2 import StrictUndefined, Undefined, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

from simulator.base.near_names import LONGEST_NAME, near
from simulator.environment.expressions.evaluation_budget import EvaluationBudget
from simulator.environment.expressions.offered_names import Function, Offering

BUDGET = " budget"
"""The variable that holds the evaluation's `EvaluationBudget`: no expression can name it."""

_MOST_BITS = 8_192
_COMPARED_AT_ONCE = 64

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "lteq": operator.le,
    "gt": operator.gt,
    "gteq": operator.ge,
}


class MissingName(StrictUndefined):
    """A name that stands for nothing: `is defined` may be asked of it; any other use is an error that names it."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        """Say what is missing; only now, as most that are missing are only asked whether they are defined."""
        if self._undefined_hint or self._undefined_obj is missing:
            return super()._undefined_message
        return _absence(self._undefined_obj, self._undefined_name)


def budget_of(context: Context) -> EvaluationBudget:
    """Return the budget of the evaluation that a context belongs to."""
    budget: EvaluationBudget = context.parent[BUDGET]
    return budget


class _Generator(CodeGenerator):
    """Hands comparisons, `~` and slices to the environment, where jinja2 would write them as they are in Python.

    A tuple becomes a list: JSON has no other, and the hash of a tuple of tuples can take for ever.
    """

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802 - jinja2's name
        self.write("environment.joined(context, (")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:  # noqa: N802 - jinja2's name
        self.write("environment.compared(context, ")
        self.visit(node.expr, frame)
        for operand in node.ops:
            self.write(f", ({operand.op!r}, ")
            self.visit(operand.expr, frame)
            self.write(")")
        self.write(")")

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802 - jinja2's name
        if not isinstance(node.arg, nodes.Slice):
            super().visit_Getitem(node, frame)
            return
        self.write("environment.sliced(context, ")
        self.visit(node.node, frame)
        for bound in (node.arg.start, node.arg.stop, node.arg.step):
            self.write(", ")
            self.visit(bound or nodes.Const(None), frame)
        self.write(")")

    def visit_Tuple(self, node: nodes.Tuple, frame: Frame) -> None:  # noqa: N802 - jinja2's name
        self.visit_List(nodes.List(node.items), frame)


class Sandbox(ImmutableSandboxedEnvironment):
    """jinja2's sandbox, made narrower: values are JSON, only `Function`s are called, and nothing can grow without end."""

    intercepted_binops = frozenset(["+", "-", "*", "/", "//", "%", "**"])
    code_generator_class = _Generator

    def __init__(self) -> None:
        # Nothing is folded when an expression is compiled, so whatever costs something has a budget.
        super().__init__(undefined=MissingName, optimized=False, autoescape=False, cache_size=0)
        self.filters.clear()
        self.tests.clear()
        self.globals.clear()

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:  # noqa: ARG002 - jinja2's signature
        """Allow nothing of what Python gives an object: fields and methods are looked up in `getattr` here."""
        return False

    def is_safe_callable(self, obj: Any) -> bool:
        """Allow what was made to be called."""
        return isinstance(obj, Function)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a field of an object, or else one of the few methods that texts and objects have."""
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return a field of an object, an item of a list, a character of a text, or one of the few methods."""
        if type(obj) is dict and type(argument) is str and argument in obj:  # nearly always
            return obj[argument]
        if isinstance(obj, Undefined):
            return obj
        _there(argument)
        if isinstance(obj, Mapping) and argument in obj:
            return obj[argument]
        if isinstance(obj, (list, tuple, str)) and isinstance(argument, int):
            return self._item(obj, argument)
        return self._named(obj, argument)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a function, within bounds."""
        if not isinstance(_there(obj), Function):
            raise TypeError("it calls something that is not a function")
        for argument in (*args, *kwargs.values()):
            _there(argument)
        return obj.run(budget_of(context), *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Calculate, within bounds."""
        result = _calculated(budget_of(context), operator, _there(left), _there(right))
        if isinstance(result, complex):
            raise TypeError(f"{operator} has no real number as its result")
        return result

    def joined(self, context: Context, parts: tuple[Any, ...]) -> str:
        """Join texts, and the JSON of other values."""
        budget = budget_of(context)
        texts = [budget.text(_there(part)) for part in parts]
        budget.room_for(sum(map(len, texts)))
        return "".join(texts)

    def compared(self, context: Context, left: Any, *others: tuple[str, Any]) -> bool:
        """Compare a chain of values as Python does: each with the next."""
        budget = budget_of(context)
        for comparison, right in others:
            if not compared(budget, comparison, left, right):
                return False
            left = right
        return True

    def sliced(self, context: Context, obj: Any, *bounds: Any) -> Any:
        """Cut a part out of a text or a list."""
        where = slice(*map(_there, bounds))
        if not isinstance(_there(obj), (str, list, tuple)):
            raise TypeError("only a text or a list can be sliced")
        budget_of(context).spend_on(obj)
        return obj[where]

    def _item(self, obj: Any, index: int) -> Any:
        if -len(obj) <= index < len(obj):
            return obj[index]
        return MissingName(None, obj, index)  # type: ignore[arg-type] # numbers are told too

    def _named(self, obj: Any, name: Any) -> Any:
        if isinstance(name, str) and not name.startswith("_"):
            if isinstance(obj, Offering):
                return obj.offered(name)
            if (method := self.method(obj, name)) is not None:
                return method
        if not isinstance(name, (str, int, float, NoneType)):
            raise TypeError("a key must be a text or a number")
        return MissingName(None, obj, name)  # type: ignore[arg-type] # as above

    def method(self, obj: Any, name: str) -> Function | None:  # noqa: ARG002 - for those who know some
        """Return a method of a text or an object; none here."""
        return None


def _there(value: Any) -> Any:
    """Return the value, unless it is missing: then raise the error that says what is."""
    if isinstance(value, Undefined):
        bool(value)
    return value


def compared(budget: EvaluationBudget, comparison: str, left: Any, right: Any) -> bool:
    """Compare two values, within the budget; `comparison` is jinja2's name."""
    if comparison in {"in", "notin"}:
        return _is_in(budget, left, right) is (comparison == "in")
    if _is_scalar(left) or _is_scalar(right):
        budget.spend_on(left)
        budget.spend_on(right)
    else:
        budget.spend_deeply_on(left)
        budget.spend_deeply_on(right)
    return bool(_COMPARISONS[comparison](left, right))


def _is_in(budget: EvaluationBudget, item: Any, holder: Any) -> bool:
    """Return whether a text, a list or an object holds an item; what is searched is paid for, and what is searched for."""
    if isinstance(holder, (str, Mapping)):
        budget.spend_on(item)
        budget.spend_on(holder if isinstance(holder, str) else None)
    elif isinstance(holder, (list, tuple)) and _is_scalar(item):
        budget.spend_on(item)
        budget.spend_on(holder)
        if isinstance(item, str) and len(item) > _COMPARED_AT_ONCE:
            # Each member that is as long can take as much time to compare.
            alike = sum(1 for one in holder if isinstance(one, str) and len(one) == len(item))
            budget.spend(len(holder) + alike * (len(item) // _COMPARED_AT_ONCE))
    else:
        budget.spend_deeply_on(item)
        budget.spend_deeply_on(holder)
    return bool(item in holder)


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def _calculated(budget: EvaluationBudget, symbol: str, left: Any, right: Any) -> Any:
    for number in (left, right):
        if isinstance(number, int):
            budget.spend_on(number)
    if symbol == "%" and not _is_number(left):
        raise TypeError("% is for numbers; join texts with ~")
    if symbol == "+":
        return _sum(budget, left, right)
    if symbol == "*":
        return _product(budget, left, right)
    if symbol == "**":
        return _power(left, right)
    return {
        "-": operator.sub, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod
    }[symbol](left, right)  # fmt: skip


def _sum(budget: EvaluationBudget, left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        budget.room_for(len(left) + len(right))
    elif isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        budget.room_for_items(len(left) + len(right))
        return [*left, *right]
    elif isinstance(left, str) or isinstance(right, str):
        raise TypeError("+ joins a text only with a text; join a text and another value with ~")
    return left + right


def _product(budget: EvaluationBudget, left: Any, right: Any) -> Any:
    for many, times in ((left, right), (right, left)):
        if isinstance(many, str) and isinstance(times, int):
            budget.room_for(len(many) * max(times, 0))
        elif isinstance(many, (list, tuple)) and isinstance(times, int):
            budget.room_for_items(len(many) * max(times, 0))
    if (
        isinstance(left, int)
        and isinstance(right, int)
        and left.bit_length() + right.bit_length() > _MOST_BITS
    ):
        raise OverflowError("the result of * is too large a number")
    return left * right


def _power(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > _MOST_BITS:
        raise OverflowError("the result of ** is too large a number")
    return left**right


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float))


def _absence(obj: object, name: object) -> str:
    if isinstance(obj, (list, tuple, str)) and isinstance(name, int):
        return f"there is no item {name}; the length is {len(obj)}"
    if isinstance(name, str) and len(name) > LONGEST_NAME:
        name = f"{name[:LONGEST_NAME]}..."
    if isinstance(obj, Mapping):
        return f"there is no {name!r}; {near(str(name), obj)}"
    if isinstance(obj, Offering):
        return f"{obj.described} has no {name!r}"
    kind = {
        "NoneType": "null",
        "str": "a text",
        "list": "a list",
        "bool": "a boolean",
        "int": "a number",
        "float": "a number",
    }
    return f"there is no {name!r} in {kind.get(type(obj).__name__, f'a {type(obj).__name__}')}"
