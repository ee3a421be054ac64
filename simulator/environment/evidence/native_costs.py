"""Says what an operation of Python costs on known values, before it is done: the letters, elements and bits that it makes and looks at.

Whole numbers are asked for as `isinstance` has them: the member of an enumeration of numbers is one, too.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from simulator.environment.evidence.unknown_values import CONTAINERS, KNOWN, MAPPINGS, inside

MOST = 100_000
"""So many letters, elements or bits a value may have that something is done with."""

MOST_MADE = 1_000_000
"""So much one operation may make."""

_MANY = MOST_MADE + 1
_LARGEST = 1_000
"""Of larger numbers no factorial and its like is computed."""

LETTERS_PER_STEP = 1_000
_ELEMENTS_PER_STEP = 100
_OF_DECIMAL = 100
"""So much each digit and place of a decimal number counts: to make a whole number of it takes the square of them."""

_ESCAPED = 12
"""So many letters one letter may become where it is escaped or quoted."""

_NUMBER_WRITTEN, _OTHER_WRITTEN, _LONGEST_FLOAT = 30, 120, 320
_LONGEST_WIDTH = 8
_WIDTH = re.compile(r"\d+")
_PERCENT = re.compile(r"%(?:\(([^()]*)\))?[#0\- +]*(\*|\d*)(?:\.(\*|\d*))?[hlL]?(.)", re.DOTALL)
_MOST_STEPS = 8
"""So many letters are compared in the time in which one is made."""


def size(value: Any) -> int:
    """Return how large a value is, without what is inside of its elements; 1 of what is no value of Python."""
    if type(value) not in KNOWN:
        return 1
    if isinstance(value, int):
        return int(value).bit_length()
    if isinstance(value, decimal.Decimal):
        _, digits, exponent = value.as_tuple()
        return (len(digits) + abs(exponent if isinstance(exponent, int) else 0)) * _OF_DECIMAL
    try:
        return len(value)
    except (TypeError, OverflowError):
        return MOST + 1 if type(value) is range else 1


def steps_of(value: Any) -> int:
    """Return the steps that it costs to make a value, its elements left aside."""
    per = _ELEMENTS_PER_STEP if type(value) in CONTAINERS else LETTERS_PER_STEP
    return 0 if isinstance(value, (decimal.Decimal, range)) else size(value) // per


class _Extent(NamedTuple):
    """How much there is of some values with all inside of them: letters that write them out, elements, levels."""

    letters: int
    elements: int
    levels: int


def _extent(*values: Any) -> _Extent:
    letters = elements = levels = 0
    waiting = [(value, 1) for value in values]
    while waiting and letters <= MOST_MADE:
        value, level = waiting.pop()
        elements, levels = elements + 1, max(levels, level)
        letters += 4 + _written(value)
        if type(value) in CONTAINERS:
            waiting.extend((one, level + 1) for one in inside(value))
    return _Extent(letters, elements, levels)


def _written(value: Any) -> int:
    if isinstance(value, (str, bytes)):
        is_plain = value.isascii() and (isinstance(value, bytes) or value.isprintable())
        return len(value) * (2 if is_plain and isinstance(value, str) else _ESCAPED)
    if isinstance(value, (int, decimal.Decimal)):
        return size(value) // 3 + 1
    return _NUMBER_WRITTEN if isinstance(value, float) else _OTHER_WRITTEN if value is not None else 4


def written(*values: Any) -> int:
    """Return how many letters it takes at most to write values out."""
    return _extent(*values).letters


# --- binary operations


def of_power(base: Any, exponent: Any, modulus: Any = None) -> int:
    """Return what a power costs: its bits."""
    if not isinstance(base, int) or not isinstance(exponent, int):
        return size(base) + size(exponent)
    if modulus is not None:
        return (1 + size(exponent)) * (1 + size(modulus) + size(base))
    return size(base) * max(int(exponent), 1) * (MOST_MADE // MOST)


def of_operation(op: type, left: Any, right: Any) -> int:
    """Return what a binary operation of two known values costs; `op` is its node's type. Formats with `%` are written elsewhere."""
    name = op.__name__
    if max(size(left), size(right)) > MOST:
        return _MANY
    if name == "Pow":
        return of_power(left, right)
    if name == "LShift" and isinstance(right, int):
        return max(int(right), 0) * (MOST_MADE // MOST)
    if name == "Mult" and not (isinstance(left, int) and isinstance(right, int)):
        times = left if isinstance(left, int) else right if isinstance(right, int) else 1
        other = right if isinstance(left, int) else left
        return max(int(times), 0) * size(other) * (MOST_MADE // MOST)
    return (size(left) + size(right)) * (MOST_MADE // MOST) // 2


def of_format(value: Any, spec: str) -> int:
    """Return what it costs to format a value: its widths and precisions may be as large as they like."""
    if isinstance(value, (dt.date, dt.time)):
        return _OTHER_WRITTEN + _ESCAPED * 4 * len(spec)
    wide = [int(one) if len(one) < _LONGEST_WIDTH else _MANY for one in _WIDTH.findall(spec)]
    return _LONGEST_FLOAT + written(value) + sum(wide)


def of_percent(form: Any, values: Any) -> int:
    """Return what it costs to fill in a text, or bytes, with `%`."""
    text = form.decode("latin-1") if isinstance(form, bytes) else str(form)
    given = values if type(values) is tuple else (values,)
    widths = sum(map(_number, given)) if "*" in text else 0
    places = 1 + text.count("%")
    return (
        len(text) + widths + sum(of_format(None, one) for one in text.split("%")) + places * written(values)
    )


def of_search(held: Any, one: Any) -> int:
    """Return what it costs to look for a value in another: only whole numbers are found in a range without looking at each."""
    return size(held) if type(held) is range and not isinstance(one, int) else 0


# --- functions and methods


def _number(value: Any) -> int:
    return abs(int(value)) if isinstance(value, int) else 0


def _given(args: tuple[Any, ...], place: int, otherwise: Any = None) -> Any:
    return args[place] if len(args) > place else otherwise


def _replaced(args: tuple[Any, ...]) -> int:
    text, old, new = args[0], _given(args, 1), _given(args, 2)
    if type(old) is not type(new) or not isinstance(text, type(old)) or not isinstance(text, (str, bytes)):
        return size(text)
    return len(text) + text.count(old) * len(new)


def _translated(args: tuple[Any, ...]) -> int:
    table = _given(args, 1)
    widest = max((size(one) for one in table.values()), default=1) if type(table) in MAPPINGS else 1
    return size(args[0]) * max(widest, 1)


def _tabbed(args: tuple[Any, ...]) -> int:
    tab = b"\t" if isinstance(args[0], bytes) else "\t"
    return size(args[0]) + int(args[0].count(tab)) * max(_number(_given(args, 1, 8)), 8)


def _padded(args: tuple[Any, ...]) -> int:
    return max(size(args[0]), _number(_given(args, 1)))


def _dumped(args: tuple[Any, ...], indent: Any = None, separators: Any = (), **_: Any) -> int:
    letters, elements, levels = _extent(*args)
    pad = len(indent) if isinstance(indent, str) else _number(indent)
    between = sum(map(size, separators)) if type(separators) in {tuple, list} else 0
    return letters + elements * (between + pad * levels)


def _stripped(args: tuple[Any, ...]) -> int:
    return size(args[0]) * (1 + size(_given(args, 1, "")) // _MOST_STEPS)


def _of_bits(args: tuple[Any, ...]) -> int:
    """Return what it costs to multiply whole numbers one after the other: the square of their bits."""
    bits = sum(
        size(one) + 1 for value in args for one in (inside(value) if type(value) in CONTAINERS else (value,))
    )
    return bits + bits * bits // 6_400


def _summed(args: tuple[Any, ...], start: Any = 0) -> int:
    begin = _given(args, 1, start)
    elements = size(args[0])
    return (
        elements * (sum(map(size, inside(args[0]))) + size(begin)) if type(begin) in CONTAINERS else elements
    )


def _lines(args: tuple[Any, ...], **options: Any) -> int:
    """Return what it costs to break a text into lines: each may begin with an indent, and a long word is cut again and again."""
    text = size(args[0])
    more = sum(size(one) for one in (*args[1:], *options.values()) if isinstance(one, str))
    return text + text * text // 64 + (1 + text) * more


def _indented(args: tuple[Any, ...], prefix: Any = "", **_: Any) -> int:
    return size(args[0]) + (str(args[0]).count("\n") + 1) * size(_given(args, 1, prefix))


def _normalized(args: tuple[Any, ...]) -> int:
    text = str(_given(args, 1, ""))
    return len(text) if text.isascii() else len(text) * (18 + len(text) // _MOST_STEPS)


def _parsed_date(args: tuple[Any, ...]) -> int:
    return math.prod(10 * size(one) for one in args)


def _repeated(args: tuple[Any, ...], r: Any = None, repeat: Any = 1) -> int:
    """Return what it costs to begin with combinations: as many places as one of them has, of which each is charged once more."""
    length = _number(r) if r is not None else sum(_number(one) for one in args[1:]) + max(len(args), 1)
    return (length + sum(map(size, args))) * max(_number(repeat), 1) * _ELEMENTS_PER_STEP


def _counted(args: tuple[Any, ...]) -> int:
    return max(map(_number, args), default=0) if all(_number(one) <= _LARGEST for one in args) else _MANY


def _digits(args: tuple[Any, ...]) -> int:
    return size(args[0]) * (1 + size(args[0]) // 100) if args and isinstance(args[0], (str, bytes)) else 0


def _encoded(args: tuple[Any, ...], *_: Any, **__: Any) -> int:
    return _ESCAPED * size(args[0]) if args else 0


Cost = Callable[..., int]
_COSTS: Mapping[str, Cost] = {
    "pow": lambda args, base=0, exp=0, mod=None: of_power(*(args or (base, exp)), *([] if mod is None else [mod])),
    **dict.fromkeys(("factorial", "comb", "perm"), _counted),
    **dict.fromkeys(("gcd", "lcm", "prod"), lambda args, start=1: _of_bits((*args, start))),
    "round": lambda args, ndigits=0: 10 * max(map(_number, (*args[1:], ndigits))),
    "sum": _summed, "replace": lambda args, **_: 0 if not isinstance(_given(args, 0), (str, bytes)) else _replaced(args),
    "translate": lambda args, **_: _translated(args), "expandtabs": lambda args, tabsize=8: _tabbed((*args, tabsize)),
    **dict.fromkeys(("ljust", "rjust", "center", "zfill"), _padded),
    "to_bytes": lambda args, length=1, **_: max(map(_number, (*args[1:], length))), "dumps": _dumped,
    **dict.fromkeys(("str", "repr", "ascii", "literal_eval"), lambda args, **_: written(*args)),
    **dict.fromkeys(("index", "remove"), lambda args: written(*args[1:])),
    "join": lambda args: written(*args[1:]) + size(args[0]) * size(args[1]),
    "bytes": lambda args, **_: (_number(args[0]) if args and isinstance(args[0], int) else 0) + written(*args),
    **dict.fromkeys(("encode", "decode", "escape", "unescape", "quote", "quote_plus", "unquote"), _encoded),
    "urlencode": lambda args, **_: _ESCAPED * written(*args), "strftime": lambda args: _ESCAPED * 4 * size(args[-1]),
    **dict.fromkeys(("strip", "lstrip", "rstrip"), _stripped),
    **dict.fromkeys(("rfind", "rindex", "rsplit", "rpartition"), lambda args, sep="", **_: _stripped((args[0], _given(args, 1) or sep))),
    **dict.fromkeys(("fill", "wrap", "shorten"), _lines), "indent": _indented,
    "normalize": _normalized, "strptime": _parsed_date, "int": lambda args, **_: _digits(args),
    "quantiles": lambda args, n=4, **_: max(map(_number, (*args[1:], n))) + size(args[0]),
    **dict.fromkeys(("product", "combinations", "permutations"), _repeated),
}  # fmt: skip
"""What functions and methods cost that make more than they are given, by their names: of a method, its value is the first argument."""


def of_call(path: str, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> int:
    """Return what a function or method costs for known arguments; more than `MOST_MADE` where that is too much, or they are not its own."""
    if any(size(one) > MOST for one in (*args, *keywords.values())):
        return _MANY
    cost = _COSTS.get(path.rpartition(".")[2])
    try:
        return 0 if cost is None else cost(args, **keywords)
    except (TypeError, ValueError, IndexError, AttributeError):  # it is given what it does not take
        return _MANY
