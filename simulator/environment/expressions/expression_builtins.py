"""Gives expressions their words: filters, tests, functions and methods, each bounded by the evaluation's budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2 import Undefined, pass_context
from jinja2.filters import FILTERS, ignore_case, make_multi_attrgetter
from jinja2.runtime import Context
from jinja2.tests import TESTS

from simulator.environment.expressions.evaluation_budget import MOST_ITEMS, EvaluationBudget
from simulator.environment.expressions.offered_names import Function
from simulator.environment.expressions.sandbox import Sandbox, budget_of, compared

_LONGEST_NUMBER = 1_000
_MOST_DIGITS = 20
_WIDEST = 1_000
_LONGEST_ATTRIBUTE = 200

# ---------------------------------------------------------------- what this module does itself


def _joined(budget: EvaluationBudget, items: Any, separator: str = "") -> str:
    texts = [budget.text(item) for item in budget.counted(items)]
    budget.room_for(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _replaced(budget: EvaluationBudget, value: Any, old: str, new: str, count: int = -1) -> str:
    text = budget.text(value)
    if not isinstance(old, str) or not isinstance(new, str):
        raise TypeError("replace takes two texts")
    budget.spend_on(old)
    found = text.count(old)
    budget.room_for(len(text) + (found if count < 0 else min(count, found)) * len(new))
    return text.replace(old, new, count)


def _sum(budget: EvaluationBudget, numbers: Any, start: float = 0, *, attribute: str | None = None) -> Any:
    total = start
    if attribute is not None:
        _check_attribute(attribute)
    for item in budget.counted(numbers):
        number = item if attribute is None else _field(item, attribute)
        if not isinstance(number, (int, float)):
            raise TypeError(f"sum adds numbers only, not {type(number).__name__}")
        budget.spend_on(number)
        total += number
    return total


def _field(item: Any, path: str) -> Any:
    """Return a field of an object, or one deeper inside: `price.amount`."""
    for name in str(path).split("."):
        if not isinstance(item, Mapping) or name not in item:
            raise LookupError(f"sum: an item has no {path!r}")
        item = item[name]
    return item


def _rounded(budget: EvaluationBudget, number: float, precision: int = 0, method: str = "common") -> float:
    budget.spend_on(number)
    if not isinstance(number, (int, float)):
        raise TypeError(f"round takes a number, not {type(number).__name__}")
    if not -_MOST_DIGITS <= precision <= _MOST_DIGITS:
        raise ValueError(f"round: {precision} digits; the maximum is {_MOST_DIGITS}")
    if method == "common":
        return round(number, precision)
    if method not in {"ceil", "floor"}:
        raise ValueError(f"round: {method!r} is not 'common', 'ceil' or 'floor'")
    scale = 10.0**precision
    return (math.ceil if method == "ceil" else math.floor)(number * scale) / scale


def _check_number(value: Any, what: str) -> None:
    if isinstance(value, str) and len(value) > _LONGEST_NUMBER:
        raise ValueError(
            f"{what}: the text has {len(value):,} characters; the maximum is {_LONGEST_NUMBER:,}"
        )


def _as_integer(budget: EvaluationBudget, value: Any, *more: Any) -> Any:
    _check_number(value, "int")
    budget.spend(1)
    return FILTERS["int"](value, *more)


def _as_float(budget: EvaluationBudget, value: Any, *more: Any) -> Any:
    _check_number(value, "float")
    budget.spend(1)
    return FILTERS["float"](value, *more)


def _check_attribute(path: Any) -> None:
    """Refuse the path of an attribute that is so long that to follow it for each item is work."""
    if isinstance(path, str) and len(path) > _LONGEST_ATTRIBUTE:
        raise ValueError(f"the attribute has {len(path):,} characters; the maximum is {_LONGEST_ATTRIBUTE:,}")


def _range(budget: EvaluationBudget, *bounds: int) -> list[int]:
    numbers = range(*bounds)
    if numbers and abs(numbers[-1] - numbers[0]) // abs(numbers.step) >= MOST_ITEMS:
        raise OverflowError(f"range: the maximum is {MOST_ITEMS:,} numbers")
    budget.room_for_items(len(numbers))
    return list(numbers)


def _filled_with_zeros(budget: EvaluationBudget, text: str, width: int) -> str:
    budget.spend_on(text)
    if width > _WIDEST:
        raise ValueError(f"zfill: {width} is too wide; the maximum is {_WIDEST}")
    return text.zfill(width)


def _stripped(budget: EvaluationBudget, text: str, where: str, chars: Any = None) -> str:
    """Strip a text; each of its characters may be looked up among all of those to strip."""
    budget.spend_on_characters(text, for_each=len(chars) if isinstance(chars, str) else 1)
    stripped: str = getattr(text, where)(chars)
    return stripped


def _split_from_the_right(
    budget: EvaluationBudget, text: str, separator: Any = None, most: int = -1
) -> list[str]:
    """Split a text; Python compares all of a separator at each place when it searches from the right."""
    budget.spend_on_characters(text, for_each=len(separator) if isinstance(separator, str) else 1)
    return text.rsplit(separator, most)


def _text(budget: EvaluationBudget, value: Any = "") -> str:
    return budget.text(value)


def _length(budget: EvaluationBudget, value: Any) -> int:
    budget.spend(1)
    return len(value)


# ---------------------------------------------------------------- filters

_ON_TEXTS = ("capitalize", "lower", "title", "truncate", "upper", "urlencode", "wordcount")
_ON_ITEMS = (
    "dictsort", "items", "list", "map", "max", "min", "reject", "rejectattr", "reverse", "select", "selectattr", "unique",
)  # fmt: skip
_ONE_BY_ONE = frozenset({"map", "max", "min", "reject", "rejectattr", "select", "selectattr", "unique"})
_ON_ANYTHING = ("abs", "first", "last")
_DEEP = frozenset({"sort", "unique", "min", "max", "dictsort", "sorted"})
# Where the path of an attribute stands, if it is not given by name.
_ATTRIBUTE_AT = {"selectattr": 0, "rejectattr": 0, "min": 1, "max": 1, "unique": 1}
_OWN: dict[str, Callable[..., Any]] = {
    "count": _length, "float": _as_float, "int": _as_integer, "join": _joined, "length": _length,
    "replace": _replaced, "round": _rounded, "string": _text, "sum": _sum,
    "tojson": lambda budget, value: budget.json(value),
    "trim": lambda budget, value, chars=None: _stripped(budget, budget.text(value), "strip", chars),
}  # fmt: skip


def _refuse_missing(*values: Any) -> None:
    for value in values:
        if isinstance(value, Undefined):
            bool(value)  # raises the error that says what is missing


def _standing(budget: EvaluationBudget, result: Any) -> Any:
    """Make a list of what jinja2 gives item by item, so that the budget sees it."""
    if isinstance(result, Iterator):
        result = list(budget.counted(result))
        budget.room_for_items(len(result))
    return result


def _pay_to_go_through(budget: EvaluationBudget, value: Any, *, deeply: bool) -> None:
    """Take the steps for each item of a value, or for each character of a text; several for what is sorted."""
    times = 4 if deeply else 0
    for _ in range(times):
        budget.spend_deeply_on(value)
    if isinstance(value, str):
        budget.spend(len(value) * (1 + 2 * times))
    budget.spend_on(value)


def _jinja_filter(name: str) -> Callable[..., Any]:
    function: Any = FILTERS[name]
    wants: str = getattr(getattr(function, "jinja_pass_arg", None), "name", "")

    def run(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        _refuse_missing(value, *args, *kwargs.values())
        _check_attribute(kwargs.get("attribute"))
        _check_attribute(dict(enumerate(args)).get(_ATTRIBUTE_AT.get(name, -1)))
        budget = budget_of(context)
        if name in _ON_TEXTS:
            value = budget.text(value)
            budget.spend_on_characters(value)
        elif name in _ON_ITEMS:
            _pay_to_go_through(budget, value, deeply=name in _DEEP)
        first = {
            "context": (context,),
            "eval_context": (context.eval_ctx,),
            "environment": (context.environment,),
        }
        items = budget.counted(value) if name in _ONE_BY_ONE else value
        result = _standing(budget, function(*first.get(wants, ()), items, *args, **kwargs))
        budget.room_for(len(result)) if isinstance(result, str) else budget.spend_on(result)
        return result

    return pass_context(run)


@pass_context
def _sorted(
    context: Context,
    value: Any,
    reverse: bool = False,
    case_sensitive: bool = False,
    attribute: str | int | None = None,
) -> list[Any]:
    """Sort as jinja2 does; what is compared is found item by item, so that the clock can end it."""
    _refuse_missing(value, reverse, case_sensitive, attribute)
    _check_attribute(attribute)
    budget = budget_of(context)
    _pay_to_go_through(budget, value, deeply=True)
    key = make_multi_attrgetter(context.environment, attribute, None if case_sensitive else ignore_case)
    items = list(value)
    keys = [key(item) for item in budget.counted(items)]
    return [items[place] for place in sorted(range(len(items)), key=keys.__getitem__, reverse=bool(reverse))]


def _own_filter(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        _refuse_missing(value, *args, *kwargs.values())
        return function(budget_of(context), value, *args, **kwargs)

    return pass_context(run)


def _default(context: Context, value: Any, otherwise: Any = "", boolean: bool = False) -> Any:
    budget_of(context).spend(1)
    return otherwise if isinstance(value, Undefined) or (boolean and not value) else value


def filters() -> dict[str, Callable[..., Any]]:
    """Return what may stand behind `|`, by name."""
    default = pass_context(_default)
    return {
        **{name: _jinja_filter(name) for name in (*_ON_TEXTS, *_ON_ITEMS, *_ON_ANYTHING)},
        **{name: _own_filter(function) for name, function in _OWN.items()},
        "sort": _sorted,
        "default": default,
        "d": default,
    }


# ---------------------------------------------------------------- tests

_COMPARING = {
    "in": "in", "eq": "eq", "==": "eq", "equalto": "eq", "ne": "ne", "!=": "ne",
    "lt": "lt", "<": "lt", "lessthan": "lt", "le": "lteq", "<=": "lteq",
    "gt": "gt", ">": "gt", "greaterthan": "gt", "ge": "gteq", ">=": "gteq",
}  # fmt: skip
_PLAIN_TESTS = (
    "boolean", "false", "float", "integer", "iterable", "mapping", "none", "number", "sequence", "string", "true",
)  # fmt: skip
_TESTS_OF_NUMBERS = ("divisibleby", "even", "odd")


def _comparing_test(comparison: str) -> Callable[..., Any]:
    def run(context: Context, left: Any, right: Any) -> bool:
        return compared(budget_of(context), comparison, left, right)

    return pass_context(run)


def _plain_test(name: str) -> Callable[..., Any]:
    function: Any = TESTS[name]

    def run(context: Context, value: Any, *args: Any) -> bool:
        _refuse_missing(value, *args)
        for number in (value, *args) if name in _TESTS_OF_NUMBERS else ():
            if not isinstance(number, (int, float)):  # `%` would fill in a text
                raise TypeError(f"{name} is for numbers, not {type(number).__name__}")
        budget_of(context).spend(1)
        return bool(function(value, *args))

    return pass_context(run)


def tests() -> dict[str, Callable[..., Any]]:
    """Return what may stand behind `is`, by name."""
    return {
        **{name: _comparing_test(comparison) for name, comparison in _COMPARING.items()},
        **{name: _plain_test(name) for name in (*_PLAIN_TESTS, *_TESTS_OF_NUMBERS)},
        "defined": lambda value: not isinstance(value, Undefined),
        "undefined": lambda value: isinstance(value, Undefined),
    }


# ---------------------------------------------------------------- functions and methods


def _of_items(name: str, function: Callable[..., Any]) -> Function:
    def run(budget: EvaluationBudget, *items: Any, **options: Any) -> Any:
        values = items[0] if len(items) == 1 else items
        _pay_to_go_through(budget, values, deeply=name in _DEEP)
        return function(values, **options)

    return Function(name, run)


def _casting(name: str, cast: Callable[..., Any]) -> Function:
    def run(budget: EvaluationBudget, value: Any = 0) -> Any:
        _check_number(value, name)
        budget.spend_on(value)
        return cast(value)

    return Function(name, run)


def functions() -> dict[str, Function]:
    """Return what may be called, by name."""
    return {
        "abs": _casting("abs", abs),
        "all": _of_items("all", all),
        "any": _of_items("any", any),
        "bool": _casting("bool", bool),
        "float": _casting("float", float),
        "int": Function("int", _as_integer),
        "len": Function("len", _length),
        "list": _of_items("list", list),
        "max": _of_items("max", max),
        "min": _of_items("min", min),
        "range": Function("range", _range),
        "round": Function("round", _rounded),
        "sorted": _of_items("sorted", sorted),
        "str": Function("str", _text),
        "sum": Function("sum", _sum),
    }


_TEXT_METHODS = frozenset(
    {
        "capitalize", "count", "endswith", "find", "isalnum", "isalpha", "isdigit", "lower", "removeprefix", "removesuffix",
        "split", "splitlines", "startswith", "title", "upper",
    }
)  # fmt: skip
_BOUNDED_METHODS: dict[str, Callable[..., Any]] = {
    "join": lambda budget, text, items: _joined(budget, items, text),
    "lstrip": lambda budget, text, *args: _stripped(budget, text, "lstrip", *args),
    "replace": _replaced,
    "rsplit": _split_from_the_right,
    "rstrip": lambda budget, text, *args: _stripped(budget, text, "rstrip", *args),
    "strip": lambda budget, text, *args: _stripped(budget, text, "strip", *args),
    "zfill": _filled_with_zeros,
}


def _of_text(text: str, name: str) -> Function | None:
    if name in _BOUNDED_METHODS:
        bounded = _BOUNDED_METHODS[name]
        return Function(name, lambda budget, *args: bounded(budget, text, *args))
    if name not in _TEXT_METHODS:
        return None

    def run(budget: EvaluationBudget, *args: Any) -> Any:
        budget.spend_on_characters(text)
        for each in args:
            budget.spend_on(each)
        result = getattr(text, name)(*args)
        if isinstance(result, str):
            budget.room_for(len(result))
        return result

    return Function(name, run)


def _of_mapping(mapping: Mapping[str, Any], name: str) -> Function | None:
    if name == "get":

        def get(budget: EvaluationBudget, key: Any, otherwise: Any = None) -> Any:
            budget.spend_on(key)
            return mapping.get(key, otherwise)

        return Function(name, get)
    if name not in {"keys", "values", "items"}:
        return None

    def run(budget: EvaluationBudget) -> list[Any]:
        budget.room_for_items(len(mapping))
        return list(getattr(mapping, name)())

    return Function(name, run)


class Language(Sandbox):
    """The sandbox with all its words."""

    def __init__(self) -> None:
        super().__init__()
        self.filters.update(filters())
        self.tests.update(tests())
        self.globals.update(functions(), null=None)

    def method(self, obj: Any, name: str) -> Function | None:
        """Return a method of a text or an object, if it has it here."""
        if isinstance(obj, str):
            return _of_text(obj, name)
        return _of_mapping(obj, name) if isinstance(obj, Mapping) else None
