"""The language of expressions: read with jinja2's parser, and evaluated in its sandbox on JSON values alone.

Filters, tests, functions and methods are those of jinja2 and of Python. Here is which ones there are, and the size of what some of
them would make: `work_limit` refuses what is too large before it is made.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial, wraps
from types import NoneType
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, Undefined, UndefinedError, nodes
from jinja2.filters import FILTERS
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.tests import TESTS
from jinja2.utils import consume, missing
from jinja2.visitor import NodeTransformer

from simulator.base.validation_words import LONGEST_NAME, near
from simulator.base.work_limit import ITEM, limited, look, make, weight
from simulator.environment.expressions.expression_values import (
    CompiledExpression,
    ExpressionError,
    Fake,
    json_text,
    plain,
    text,
)

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


def _added(left: Any, right: Any) -> Any:
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
    "+": _added, "-": operator.sub, "*": _product, "/": operator.truediv, "//": operator.floordiv, "%": _rest, "**": _power,
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


_LONGEST_NUMBER = 1_000
_MOST_DIGITS = 20
_AT_ONCE = 16
"""So many characters are compared in the time of one, where each of a text is compared with all of another."""


def there(*values: Any) -> None:
    """Raise the error that says what is missing where one of some values is."""
    for value in values:
        if isinstance(value, Undefined):
            bool(value)


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of jinja2's or Python's be called on what is there, while there is time; what it yields is a list."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        there(*args, *kwargs.values())
        look()
        return _standing(function(*args, **kwargs))

    return run


def _standing(result: Any) -> Any:
    if isinstance(result, (bool, int, float)):  # nearly always
        return result
    if isinstance(result, str):
        make(len(result))
    elif isinstance(result, (list, tuple)):
        make(ITEM * len(result))
    elif isinstance(result, Iterable) and not isinstance(result, (Mapping, Undefined)):
        return list(_counted(result))
    return result


def _counted(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        look()
        make(ITEM)
        yield item


def _joined(items: Iterable[Any], separator: str = "") -> str:
    texts = []
    for item in items:
        there(item)
        look()
        texts.append(text(item))
    make(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _replaced(value: Any, old: str, new: str, count: int = -1) -> str:
    whole = text(value)
    found = whole.count(old)
    make(len(whole) + (found if count < 0 else min(count, found)) * len(new))
    return whole.replace(old, new, count)


def _stripped(value: Any, chars: Any = None, *, where: str = "strip") -> Any:
    """Strip a text; each of its characters may be looked up among all of those to strip."""
    whole = text(value)
    make(len(whole) * (1 + len(chars or "") // _AT_ONCE))
    return getattr(whole, where)(chars)


def _split_from_the_right(value: str, separator: Any = None, most: int = -1) -> list[str]:
    """Split a text; Python compares all of a separator at each place when it searches from the right."""
    make(len(value) * (1 + len(separator or "") // _AT_ONCE))
    return value.rsplit(separator, most)


def _filled_with_zeros(value: str, width: int) -> str:
    make(width)
    return value.zfill(width)


def _range(*bounds: int) -> list[int]:
    numbers = range(*bounds)
    make(ITEM * len(numbers))
    return list(numbers)


def _rounded(number: float, precision: int = 0, method: str = "common") -> float:
    if abs(precision) > _MOST_DIGITS:
        raise ValueError(f"round: {precision} digits; the maximum is {_MOST_DIGITS}")
    rounded: float = FILTERS["round"](number, precision, method)
    return rounded


def _read(name: str, read: Callable[..., Any]) -> Callable[..., Any]:
    def number(value: Any = 0, *more: Any) -> Any:
        if isinstance(value, str) and len(value) > _LONGEST_NUMBER:
            raise ValueError(
                f"{name}: the text has {len(value):,} characters; the maximum is {_LONGEST_NUMBER:,}"
            )
        return read(value, *more)

    number.__name__ = name
    return number


def _sum(numbers: Any, start: float = 0, *, attribute: str | None = None) -> Any:
    total = start
    for item in _counted(numbers):
        number = item if attribute is None else _field(item, attribute)
        if not isinstance(number, (int, float)):
            raise TypeError(f"sum adds numbers only, not {type(number).__name__}")
        total += number
    return total


def _field(item: Any, path: str) -> Any:
    """Return a field of an object, or one deeper inside: `price.amount`."""
    for name in str(path).split("."):
        if not isinstance(item, Mapping) or name not in item:
            raise LookupError(f"sum: an item has no {path!r}")
        item = item[name]
    return item


def _of_items(name: str) -> Callable[..., Any]:
    """Go through items as jinja2 does, but not through what has none; what `map` gives again and again has its size each time."""
    function: Any = FILTERS[name]

    @wraps(function)
    def run(context: Any, items: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        iter(items)
        given = set[int]()
        for item in function(context, items, *args, **kwargs):
            if id(item) in given:
                make(weight(item))
            given.add(id(item))
            yield item

    return run


_ON_TEXTS = ("capitalize", "lower", "title", "truncate", "upper", "urlencode", "wordcount")
_AS_THEY_ARE = (
    "abs", "count", "dictsort", "first", "items", "last", "length", "list", "max", "min", "reverse", "sort", "unique",
)  # fmt: skip
_ON_ITEMS = ("map", "reject", "rejectattr", "select", "selectattr")
_TESTS_OF_NUMBERS = ("divisibleby", "even", "odd")


def _of_text(function: Any) -> Callable[..., Any]:
    at = int(hasattr(function, "jinja_pass_arg"))

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return function(*args[:at], text(args[at]), *args[at + 1 :], **kwargs)

    return run


def _default(value: Any, otherwise: Any = "", boolean: bool = False) -> Any:
    return otherwise if isinstance(value, Undefined) or (boolean and not value) else value


def filters() -> dict[str, Any]:
    """Return what may stand behind `|`, by name."""
    own: dict[str, Any] = {
        "float": _read("float", FILTERS["float"]), "int": _read("int", FILTERS["int"]), "join": _joined,
        "replace": _replaced, "round": _rounded, "string": text, "sum": _sum, "tojson": json_text, "trim": _stripped,
    }  # fmt: skip
    own |= {name: FILTERS[name] for name in _AS_THEY_ARE}
    own |= {name: _of_items(name) for name in _ON_ITEMS} | {
        name: _of_text(FILTERS[name]) for name in _ON_TEXTS
    }
    return {**{name: guarded(function) for name, function in own.items()}, "default": _default, "d": _default}


def _of_numbers(name: str) -> Callable[..., bool]:
    test: Any = TESTS[name]

    def run(*numbers: Any) -> bool:
        for number in numbers:
            if not isinstance(number, (int, float)):  # `%` would fill in a text
                raise TypeError(f"{name} is for numbers, not {type(number).__name__}")
        return bool(test(*numbers))

    return run


def tests() -> dict[str, Any]:
    """Return what may stand behind `is`, by name."""
    of_numbers = {name: _of_numbers(name) for name in _TESTS_OF_NUMBERS}
    asked: dict[str, Any] = {**TESTS, **of_numbers}
    undefined = {name: TESTS[name] for name in ("defined", "undefined")}
    return {**{name: guarded(function) for name, function in asked.items()}, **undefined}


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs, "all": all, "any": any, "bool": bool, "float": _read("float", float), "int": _read("int", FILTERS["int"]),
    "len": len, "list": list, "max": max, "min": min, "range": _range, "round": _rounded, "sorted": sorted, "str": text,
    "sum": _sum,
}  # fmt: skip
"""What may be called, by name."""

_TEXT_METHODS = frozenset(
    {
        "capitalize", "count", "endswith", "find", "isalnum", "isalpha", "isdigit", "lower", "removeprefix", "removesuffix",
        "split", "splitlines", "startswith", "title", "upper",
    }
)  # fmt: skip
_SIZED_METHODS: Mapping[str, Callable[..., Any]] = {
    "join": lambda separator, items: _joined(items, separator),
    "lstrip": partial(_stripped, where="lstrip"),
    "replace": _replaced,
    "rsplit": _split_from_the_right,
    "rstrip": partial(_stripped, where="rstrip"),
    "strip": _stripped,
    "zfill": _filled_with_zeros,
}
_OBJECT_METHODS = frozenset({"get", "items", "keys", "values"})


def method(obj: Any, name: str) -> Any:
    """Return one of the few methods that texts and objects have here; None where there is no such one."""
    if isinstance(obj, str) and name in _SIZED_METHODS:
        bound = partial(_SIZED_METHODS[name], obj)
        bound.__name__ = name  # type: ignore[attr-defined] # for the error that describes it
        return bound
    known = _TEXT_METHODS if isinstance(obj, str) else _OBJECT_METHODS if isinstance(obj, Mapping) else ()
    return getattr(obj, name) if name in known else None


_DEEPEST = 60
_TOO_DEEP = "it is nested too deeply"
_LANGUAGE = Sandbox()
_UNKNOWN = re.compile(r"'(\w+)' is undefined")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")

# What evaluating one can raise: jinja2's own errors (its filters assert), and those of Python's operators.
_FAILURES = (
    TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError,
    AssertionError,
)  # fmt: skip


class JinjaExpression(CompiledExpression):
    """An expression that jinja2 has read."""

    __slots__ = ("_template",)

    def __init__(self, text: str, tree: nodes.Expr) -> None:
        super().__init__(
            text,
            names=frozenset(
                name.name for name in _all(tree, nodes.Name) if name.name not in _LANGUAGE.globals
            ),
            paths=tuple(dict.fromkeys(_paths(tree))),
            called=dict(_called(tree)),
        )
        body: list[nodes.Node] = [
            nodes.Assign(nodes.Name("result", "store"), _AsJson().visit(tree), lineno=1)
        ]
        template = nodes.Template(body, lineno=1)
        template.set_environment(_LANGUAGE)
        self._template = _LANGUAGE.from_string(template)

    def value(self, variables: Mapping[str, object]) -> Any:
        """Return the expression's value, as the base class says."""
        try:
            with limited():
                return plain(self._result({**_LANGUAGE.globals, **variables}))
        except UndefinedError as error:
            raise ExpressionError(self.text, _what_is_missing(error, variables)) from None
        except RecursionError:
            raise ExpressionError(self.text, _TOO_DEEP) from None
        except _FAILURES as error:
            raise ExpressionError(self.text, _reason(error)) from error

    def _result(self, variables: dict[str, Any]) -> Any:
        """Run it as jinja2's `TemplateExpression` does, in a context that need not be merged from others."""
        context = self._template.new_context(variables, shared=True)
        consume(self._template.root_render_func(context))
        return context.vars["result"]


class _AsJson(NodeTransformer):
    """Makes lists of tuples, which JSON has not, and has `~` write JSON, where jinja2 would write what Python shows."""

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802 - jinja2's name
        return self.generic_visit(nodes.List(node.items))

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - as above
        parts = self.generic_visit(nodes.List(node.nodes))
        return nodes.Filter(parts, "join", [], [], None, None)


def read(text: str) -> JinjaExpression:
    """Read an expression.

    Raises:
        ExpressionError: It is none; says what is wrong.
    """
    try:
        return JinjaExpression(text, _tree(text))
    except TemplateSyntaxError as error:
        raise ExpressionError(text, _syntax_reason(text, error.message or "it cannot be read")) from None
    except (RecursionError, MemoryError):  # Python's compiler gives up at some depth
        raise ExpressionError(text, _TOO_DEEP) from None
    except SyntaxError as error:  # the same, or what only Python's compiler refuses
        deep = "nested" in error.msg or "parenthes" in error.msg
        raise ExpressionError(text, _TOO_DEEP if deep else error.msg) from None
    except (ValueError, OverflowError) as error:  # a number of thousands of digits
        raise ExpressionError(text, str(error)) from None


def _tree(text: str) -> nodes.Expr:
    parser = Parser(_LANGUAGE, text.strip(), state="variable")
    tree = parser.parse_expression()
    if not parser.stream.eos:
        token = parser.stream.current
        raise TemplateSyntaxError(f"unexpected {str(token.value)!r}", token.lineno)
    _check(tree)
    return tree


def _check(tree: nodes.Node) -> None:
    level, depth = [tree], 0
    while level:
        for node in level:
            if isinstance(node, nodes.Filter) and node.name not in _LANGUAGE.filters:
                raise TemplateSyntaxError(f"no filter {node.name!r}; {near(node.name, _LANGUAGE.filters)}", 1)
            if isinstance(node, nodes.Test) and node.name not in _LANGUAGE.tests:
                raise TemplateSyntaxError(f"no test {node.name!r}; {near(node.name, _LANGUAGE.tests)}", 1)
            if isinstance(node, nodes.Const):
                _check_literal(node.value)
            if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
                _check_sliced(node.node)
            if isinstance(node, (nodes.Getattr, nodes.Name)) and _attribute(node).startswith("_"):
                raise TemplateSyntaxError(f"{_attribute(node)!r} begins with '_', which is not allowed", 1)
        level = [child for node in level for child in node.iter_child_nodes()]
        depth += 1
        if depth > _DEEPEST:
            raise TemplateSyntaxError(_TOO_DEEP, 1)


def _check_literal(value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise TemplateSyntaxError("a number is too large; the largest is about 1.8e308", 1)
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        raise TemplateSyntaxError("a text contains half of a surrogate pair, which is not a character", 1)


def _check_sliced(node: nodes.Node) -> None:
    """Refuse what Python's compiler would warn of, whoever reads the expression."""
    while isinstance(node, nodes.UnaryExpr):
        node = node.node
    if isinstance(node, nodes.Const) and not isinstance(node.value, str):
        raise TemplateSyntaxError("only a text or a list can be sliced", 1)


def _attribute(node: nodes.Getattr | nodes.Name) -> str:
    return node.attr if isinstance(node, nodes.Getattr) else node.name


def _all(tree: nodes.Node, kind: type[nodes.Name]) -> list[nodes.Name]:
    return [*([tree] if isinstance(tree, kind) else []), *tree.find_all(kind)]


def _called(tree: nodes.Expr) -> Iterator[tuple[str, str]]:
    for call in [*([tree] if isinstance(tree, nodes.Call) else []), *tree.find_all(nodes.Call)]:
        if isinstance(call.node, nodes.Name) and call.node.name not in _LANGUAGE.globals:
            yield call.node.name, _path(call.args[0])[0] if call.args else ""


def _paths(node: nodes.Node) -> list[str]:
    path, rest = _path(node)
    found = [path] if path and path not in _LANGUAGE.globals else []
    return found + [inner for child in rest for inner in _paths(child)]


def _path(node: nodes.Node) -> tuple[str, list[nodes.Node]]:
    """Return the path that a node itself is ("" if none), and the nodes that are yet to be looked at."""
    if isinstance(node, nodes.Name):
        return node.name, []
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        arguments = [child for child in node.iter_child_nodes() if child is not node.node]
        return "", [node.node.node, *arguments]
    if not isinstance(node, (nodes.Getattr, nodes.Getitem)):
        return "", list(node.iter_child_nodes())
    step = _step(node)
    path, rest = _path(node.node)
    if not step or not path or (rest and isinstance(node.node, nodes.Getitem)):
        return path, [*rest, *([node.arg] if isinstance(node, nodes.Getitem) and not step else [])]
    return path + step, rest


def _step(node: nodes.Getattr | nodes.Getitem) -> str:
    if isinstance(node, nodes.Getattr):
        return f".{node.attr}"
    if not isinstance(node.arg, nodes.Const):
        return ""
    known = node.arg.value
    if isinstance(known, str):
        return f".{known}" if _IDENTIFIER.fullmatch(known) else f'["{known}"]'
    return f"[{known}]" if isinstance(known, int) else ""


def _what_is_missing(error: UndefinedError, variables: Mapping[str, object]) -> str:
    message = error.message or "something is missing"
    if unknown := _UNKNOWN.fullmatch(message):
        name = unknown.group(1)
        return f"{name!r} is not known; {near(name, variables)}"
    return message


def _reason(error: Exception) -> str:
    if isinstance(error, ZeroDivisionError):
        return "it divides by zero"
    return str(error) or type(error).__name__


def _syntax_reason(text: str, message: str) -> str:
    if re.search(r"(?<![=!<>])=(?!=)", text) and ("'='" in message or "assign" in message):
        return "a single '=' does not compare; write '=='"
    if "end of template" in message or "end of statement block" in message:
        wanted = re.search(r"expected '(\W)'", message)
        return f"it ends, but {wanted.group(1)!r} is missing" if wanted else "it ends too early"
    return message.replace("end of print statement", "its end")
