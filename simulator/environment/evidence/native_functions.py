"""Knows which functions and methods of Python may be used on known values: those that only compute, in bounded time and space."""

from __future__ import annotations

import ast
import base64
import binascii
import bisect
import calendar
import collections
import copy
import datetime as dt
import decimal
import html
import itertools
import json
import math
import operator
import re
import statistics
import string
import textwrap
import unicodedata
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

from simulator.environment.evidence.sketch import Kind
from simulator.environment.evidence.unknown_values import MAPPINGS, Unknown

MOST = 100_000
"""So many letters, elements or bits a value may have."""

_LARGEST = 1_000
"""Of larger numbers no factorial and its like is computed."""

_WIDEST = 4
"""So many digits the width of a format may have."""

_BUILTINS = (
    abs, all, any, ascii, bin, bool, bytes, callable, chr, complex, dict, divmod, enumerate, filter, float, format, frozenset, hex, int, iter,
    len, list, map, max, min, next, oct, ord, pow, range, repr, reversed, round, set, slice, sorted, str, sum, tuple, zip,
)  # fmt: skip

_MATH = {name: getattr(math, name) for name in dir(math) if not name.startswith("_")}

_FUNCTIONS: Mapping[str, Any] = {
    **{f"builtins.{one.__name__}": one for one in _BUILTINS},
    **{f"math.{name}": value for name, value in _MATH.items() if callable(value)},
    **{
        f"statistics.{one.__name__}": one
        for one in (
            statistics.mean, statistics.fmean, statistics.median, statistics.median_low, statistics.median_high, statistics.mode,
            statistics.stdev, statistics.pstdev, statistics.variance, statistics.pvariance, statistics.geometric_mean,
            statistics.harmonic_mean, statistics.multimode, statistics.quantiles,
        )
    },
    **{
        f"operator.{name}": getattr(operator, name)
        for name in ("add", "sub", "truediv", "floordiv", "neg", "eq", "ne", "lt", "le", "gt", "ge", "not_", "mod")
    },
    "collections.Counter": collections.Counter,
    "collections.OrderedDict": collections.OrderedDict,
    "collections.defaultdict": collections.defaultdict,
    "collections.deque": collections.deque,
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "datetime.date": dt.date,
    "datetime.date.fromisoformat": dt.date.fromisoformat,
    "datetime.datetime": dt.datetime,
    "datetime.datetime.combine": dt.datetime.combine,
    "datetime.datetime.fromisoformat": dt.datetime.fromisoformat,
    "datetime.datetime.strptime": dt.datetime.strptime,
    "datetime.time": dt.time,
    "datetime.timedelta": dt.timedelta,
    "datetime.timezone": dt.timezone,
    "calendar.isleap": calendar.isleap,
    "calendar.monthrange": calendar.monthrange,
    "decimal.Decimal": decimal.Decimal,
    "ast.literal_eval": ast.literal_eval,
    "builtins.dict.fromkeys": dict.fromkeys,
    "builtins.str.maketrans": str.maketrans,
    "bisect.bisect": bisect.bisect,
    "bisect.bisect_left": bisect.bisect_left,
    "bisect.bisect_right": bisect.bisect_right,
    "html.escape": html.escape,
    "html.unescape": html.unescape,
    "base64.b64decode": base64.b64decode,
    "base64.b64encode": base64.b64encode,
    "binascii.hexlify": binascii.hexlify,
    "itertools.accumulate": itertools.accumulate,
    "itertools.chain": itertools.chain,
    "itertools.chain.from_iterable": itertools.chain.from_iterable,
    "itertools.combinations": itertools.combinations,
    "itertools.count": itertools.count,
    "itertools.cycle": itertools.cycle,
    "itertools.islice": itertools.islice,
    "itertools.permutations": itertools.permutations,
    "itertools.product": itertools.product,
    "itertools.repeat": itertools.repeat,
    "itertools.zip_longest": itertools.zip_longest,
    "itertools.pairwise": itertools.pairwise,
    "json.dumps": json.dumps,
    "json.loads": json.loads,
    "string.capwords": string.capwords,
    "textwrap.dedent": textwrap.dedent,
    "textwrap.fill": textwrap.fill,
    "textwrap.indent": textwrap.indent,
    "textwrap.wrap": textwrap.wrap,
    "textwrap.shorten": textwrap.shorten,
    "unicodedata.normalize": unicodedata.normalize,
    "urllib.parse.quote": urllib.parse.quote,
    "urllib.parse.quote_plus": urllib.parse.quote_plus,
    "urllib.parse.unquote": urllib.parse.unquote,
    "urllib.parse.urlencode": urllib.parse.urlencode,
}  # fmt: skip

_ROUNDINGS = (
    "ROUND_HALF_UP",
    "ROUND_HALF_EVEN",
    "ROUND_HALF_DOWN",
    "ROUND_UP",
    "ROUND_DOWN",
    "ROUND_CEILING",
    "ROUND_FLOOR",
    "ROUND_05UP",
)
_RE_FLAGS = ("I", "IGNORECASE", "M", "MULTILINE", "S", "DOTALL", "X", "VERBOSE", "A", "ASCII", "U", "UNICODE")

CONSTANTS: Mapping[str, Any] = {
    **{f"math.{name}": value for name, value in _MATH.items() if not callable(value)},
    **{
        f"string.{name}": getattr(string, name)
        for name in (
            "ascii_letters",
            "ascii_lowercase",
            "ascii_uppercase",
            "digits",
            "hexdigits",
            "punctuation",
            "whitespace",
        )
    },
    **{f"re.{name}": getattr(re, name) for name in _RE_FLAGS},
    **{f"decimal.{name}": name for name in _ROUNDINGS},
    "datetime.UTC": dt.UTC,
    "datetime.timezone.utc": dt.UTC,
    "calendar.month_name": tuple(calendar.month_name),
    "calendar.day_name": tuple(calendar.day_name),
    "typing.TYPE_CHECKING": False,
    "sys.maxsize": Unknown("integer", "sys.maxsize", sure=True),
}

EXCEPTIONS: Mapping[str, type[Exception]] = {
    "re.error": re.error, "json.JSONDecodeError": json.JSONDecodeError, "json.decoder.JSONDecodeError": json.JSONDecodeError,
    "decimal.InvalidOperation": decimal.InvalidOperation, "statistics.StatisticsError": statistics.StatisticsError,
    "binascii.Error": binascii.Error,
}  # fmt: skip
"""Exceptions of Python's own modules that its functions raise for known values."""

GATHERING = frozenset({
    "builtins.dict", "builtins.enumerate", "builtins.iter", "builtins.len", "builtins.list", "builtins.reversed", "builtins.tuple",
    "builtins.zip", "collections.deque", "collections.OrderedDict", "copy.copy", "itertools.chain", "itertools.zip_longest",
    "itertools.islice", "itertools.cycle", "itertools.combinations", "itertools.permutations", "itertools.product", "itertools.repeat",
})  # fmt: skip
"""Functions that only take hold of elements: these need not be known themselves."""

STATELESS = (
    "builtins.print", "logging.", "warnings.warn", "time.sleep", "asyncio.sleep", "sys.stdout", "sys.stderr", "traceback.", "dotenv.",
    "loguru.logger.", "pprint.pprint",
)  # fmt: skip
"""Paths of what says or waits, and neither changes nor returns anything."""

RETURNED: Mapping[str, Kind] = {
    "time.time": "number", "time.monotonic": "number", "time.perf_counter": "number",
    "time.time_ns": "integer", "time.strftime": "string", "uuid.uuid4": "",
    "uuid.uuid1": "", "os.getenv": "", "secrets.token_hex": "string",
    "random.random": "number", "datetime.datetime.now": "", "datetime.datetime.utcnow": "",
    "datetime.datetime.today": "", "datetime.date.today": "", "random.gauss": "number",
    "builtins.input": "string", "builtins.hash": "integer", "builtins.id": "integer",
}  # fmt: skip
"""What chance, the clock and the machine give: nothing fails in them."""

_NO_METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset({"format_map"}), set: frozenset({"pop"}), dt.datetime: frozenset({"now", "astimezone", "timestamp", "today"}),
    dt.date: frozenset({"today"}),
}  # fmt: skip
"""Methods that depend on the machine, or reach into other objects."""

KEEPING: Mapping[str, frozenset[type]] = {
    "append": frozenset({list, collections.deque}), "insert": frozenset({list}), "extend": frozenset({list, collections.deque}),
    "appendleft": frozenset({collections.deque}), "copy": frozenset({list, *MAPPINGS}), "get": MAPPINGS, "items": MAPPINGS, "keys": MAPPINGS,
    "values": MAPPINGS, "pop": frozenset({list, collections.deque, *MAPPINGS}), "popitem": frozenset({dict}), "clear": frozenset({list, *MAPPINGS}),
    "setdefault": MAPPINGS, "update": frozenset({dict, collections.OrderedDict, collections.defaultdict}),
    "reverse": frozenset({list}), "popleft": frozenset({collections.deque}),
}  # fmt: skip
"""Methods that only take hold of elements: these need not be known themselves. Keys and places have to be."""

CHANGING = frozenset({
    "append", "insert", "extend", "pop", "clear", "setdefault", "update", "reverse", "sort", "remove", "add", "discard", "popitem", "subtract",
    "appendleft", "popleft", "extendleft", "rotate", "difference_update", "intersection_update", "symmetric_difference_update",
    "move_to_end", "__setitem__",
})  # fmt: skip


def function(path: str) -> Callable[..., Any] | None:
    """Return the function of Python that a path names, if it may be used."""
    found: Callable[..., Any] | None = _FUNCTIONS.get(path)
    return found


def has_method(value: Any, name: str) -> bool:
    """Return whether a known value has a method that may be used."""
    kind = type(value)
    return (
        not name.startswith("_")
        and name not in _NO_METHODS.get(kind, ())
        and callable(getattr(kind, name, None))
    )


def is_modest(path: str, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> bool:
    """Return whether a function or method gives something of modest size for known arguments, in modest time."""
    name = path.rpartition(".")[2]
    numbers = [abs(one) for one in (*args, *keywords.values()) if type(one) is int]
    if name in {"pow", "factorial", "comb", "perm", "ldexp", "exp2", "isqrt", "gcd", "lcm", "prod"}:
        return (
            all(one <= _LARGEST for one in numbers)
            if name != "pow"
            else not args or is_small_power(*args[:2])
        )
    if name in {"ljust", "rjust", "center", "zfill", "expandtabs", "shorten", "round", "rotate", "to_bytes"}:
        return all(one <= MOST for one in numbers)
    if name in {
        "replace",
        "join",
        "format",
        "translate",
        "dumps",
        "repr",
        "str",
        "bytes",
        "urlencode",
        "encode",
    }:
        return math.prod(size(one) + 1 for one in args) < MOST * 10 and not _is_wide(args)
    return all(size(one) <= MOST for one in args)


def _is_wide(args: tuple[Any, ...]) -> bool:
    """Return whether a format has a width of more than four digits."""
    texts = [one for one in args if type(one) is str]
    return any(
        len(run) > _WIDEST
        for text in texts
        for run in "".join(c if c.isdigit() else " " for c in text).split()
    ) and any(mark in text for text in texts for mark in "{%")


def size(value: Any) -> int:
    """Return how large a known value is."""
    if type(value) is int:
        return value.bit_length()
    try:
        return len(value)
    except (TypeError, OverflowError):
        return MOST + 1 if type(value) is range else 1


def is_small_power(base: Any = 0, exponent: Any = 0) -> bool:
    """Return whether a power of two known numbers is modest."""
    if type(base) is int and type(exponent) is int:
        return base.bit_length() * max(exponent, 1) <= MOST
    return True


def is_small_operation(op: type, left: Any, right: Any) -> bool:
    """Return whether a binary operation of two known values gives something modest; `op` is its node's type."""
    name = op.__name__
    if name == "Pow":
        return is_small_power(left, right)
    if name == "LShift":
        return type(right) is not int or right <= MOST
    if name == "Mult":
        if type(left) is int and type(right) is int:
            return size(left) + size(right) <= MOST
        times = left if type(left) is int else right if type(right) is int else 1
        other = right if type(left) is int else left
        return max(times, 0) * size(other) <= MOST
    if name == "Mod" and type(left) in {str, bytes}:
        return not _is_wide((left,)) and size(left) < MOST
    return size(left) + size(right) <= MOST


BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv, "FloorDiv": operator.floordiv,
    "Mod": operator.mod, "Pow": operator.pow, "LShift": operator.lshift, "RShift": operator.rshift, "BitAnd": operator.and_,
    "BitOr": operator.or_, "BitXor": operator.xor, "MatMult": operator.matmul,
}  # fmt: skip

IN_PLACE: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": operator.iadd, "Sub": operator.isub, "Mult": operator.imul, "Div": operator.itruediv, "FloorDiv": operator.ifloordiv,
    "Mod": operator.imod, "Pow": operator.ipow, "LShift": operator.ilshift, "RShift": operator.irshift, "BitAnd": operator.iand,
    "BitOr": operator.ior, "BitXor": operator.ixor, "MatMult": operator.imatmul,
}  # fmt: skip

COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
}  # fmt: skip


def is_decorator(value: Any) -> bool:
    """Return whether a value that is not read is a decorator whose work is known."""
    return getattr(value, "path", "") in {"functools.cache", "functools.lru_cache", "functools.wraps"}
