"""Knows which functions and methods of Python may be used on known values, those that only compute, and what each costs before it is used.

A cost is the letters, elements and bits that it makes and looks at. Whole numbers are asked for as `isinstance` has them: the member of an enumeration of numbers is one, too.
"""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import enum
import math
import operator
import re
import time
import uuid
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from pkgutil import resolve_name
from types import NoneType
from typing import Any, NamedTuple

from simulator.base.python_source import literal
from simulator.environment.evidence.sketch import Kind
from simulator.environment.evidence.unknown_values import (
    CONTAINERS,
    KNOWN,
    MAPPINGS,
    TouchedError,
    Unknown,
    inside,
)


def zone(key: str) -> zoneinfo.ZoneInfo:
    """Return a time zone.

    Raises:
        TouchedError: This machine has none of that name; the one on which the tool runs may have it.
    """
    try:
        return zoneinfo.ZoneInfo(key)
    except Exception as error:
        raise TouchedError from error


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _located(paths: str) -> dict[str, Any]:
    """Return what stands at some paths in Python's own modules."""
    return {path: resolve_name(path) for path in _names(paths)}


_MATH = {f"math.{name}": value for name, value in vars(math).items() if not name.startswith("_")}

FUNCTIONS: Mapping[str, Any] = {
    **{path: value for path, value in _MATH.items() if callable(value)},
    **_located("""
        builtins.abs builtins.ascii builtins.bin builtins.bytes builtins.callable builtins.chr builtins.complex builtins.dict builtins.divmod
        builtins.enumerate builtins.float builtins.frozenset builtins.hex builtins.int builtins.iter builtins.len builtins.list builtins.oct builtins.ord
        builtins.pow builtins.range builtins.repr builtins.reversed builtins.round builtins.set builtins.slice builtins.sum builtins.tuple builtins.zip
        builtins.dict.fromkeys builtins.str.maketrans
        statistics.mean statistics.fmean statistics.median statistics.median_low statistics.median_high statistics.mode statistics.stdev statistics.pstdev
        statistics.variance statistics.pvariance statistics.geometric_mean statistics.harmonic_mean statistics.multimode statistics.quantiles
        operator.neg operator.eq operator.ne operator.lt operator.le operator.gt operator.ge operator.not_
        collections.Counter collections.OrderedDict collections.deque copy.copy copy.deepcopy decimal.Decimal calendar.isleap calendar.monthrange
        datetime.date datetime.date.fromisoformat datetime.datetime datetime.datetime.combine datetime.datetime.fromisoformat datetime.datetime.strptime
        datetime.time datetime.timedelta datetime.timezone bisect.bisect bisect.bisect_left bisect.bisect_right html.escape html.unescape
        base64.b64decode base64.b64encode binascii.hexlify itertools.accumulate itertools.chain itertools.chain.from_iterable itertools.combinations
        itertools.count itertools.cycle itertools.islice itertools.permutations itertools.product itertools.repeat itertools.zip_longest itertools.pairwise
        os.path.basename os.path.dirname os.path.join os.path.splitext json.dumps json.loads string.capwords textwrap.dedent urllib.parse.quote urllib.parse.quote_plus urllib.parse.unquote urllib.parse.urlencode
    """),
    "zoneinfo.ZoneInfo": zone, "ast.literal_eval": literal,
}  # fmt: skip

_RE_FLAGS = ("I", "IGNORECASE", "M", "MULTILINE", "S", "DOTALL", "X", "VERBOSE", "A", "ASCII", "U", "UNICODE")

CONSTANTS: Mapping[str, Any] = {
    **{path: value for path, value in _MATH.items() if not callable(value)},
    **_located("""
        string.ascii_letters string.ascii_lowercase string.ascii_uppercase string.digits string.hexdigits string.punctuation string.whitespace
        decimal.ROUND_HALF_UP decimal.ROUND_HALF_EVEN decimal.ROUND_HALF_DOWN decimal.ROUND_UP decimal.ROUND_DOWN decimal.ROUND_CEILING
        decimal.ROUND_FLOOR decimal.ROUND_05UP datetime.UTC datetime.timezone.utc
    """),
    **{f"re.{name}": int(getattr(re, name)) for name in _RE_FLAGS},
    **{path: tuple(names) for path, names in _located("calendar.month_name calendar.day_name").items()},
    "typing.TYPE_CHECKING": False, "sys.maxsize": Unknown("integer", "sys.maxsize", sure=True),
}  # fmt: skip

EXCEPTIONS: Mapping[str, type[Exception]] = _located("""
    re.error json.JSONDecodeError json.decoder.JSONDecodeError decimal.InvalidOperation statistics.StatisticsError binascii.Error
    pydantic.ValidationError pydantic_core.ValidationError
""")
"""Exceptions that functions of Python's own modules, and pydantic's models, raise for known values."""

GATHERING = frozenset({
    "builtins.dict", "builtins.enumerate", "builtins.iter", "builtins.len", "builtins.list", "builtins.reversed", "builtins.tuple",
    "builtins.zip", "collections.deque", "collections.OrderedDict", "copy.copy", "itertools.chain", "itertools.zip_longest",
    "itertools.islice", "itertools.cycle", "itertools.combinations", "itertools.permutations", "itertools.product", "itertools.repeat",
})  # fmt: skip
"""Functions that only take hold of elements: these need not be known themselves."""

POOL = "concurrent.futures.pool"
"""The path by which a pool of threads is known."""

STATELESS = (
    "builtins.print", "logging.", "warnings.warn", "time.sleep", "asyncio.sleep", "sys.stdout", "sys.stderr", "traceback.print_", "dotenv.load_dotenv",
    "loguru.logger.", "pprint.pprint", f"{POOL}.shutdown", "asyncio.set_event_loop", "asyncio.loop.close",
)  # fmt: skip
"""Paths of what says or waits, and neither changes nor returns anything."""

RETURNED: Mapping[str, Kind] = {
    "time.time": "number", "time.monotonic": "number", "time.perf_counter": "number",
    "time.time_ns": "integer", "time.strftime": "string", "uuid.uuid4": "",
    "uuid.uuid1": "", "os.getenv": "", "secrets.token_hex": "string",
    "datetime.datetime.now": "", "datetime.datetime.utcnow": "",
    "datetime.datetime.today": "", "datetime.date.today": "",
    "builtins.input": "string", "builtins.hash": "integer", "builtins.id": "integer",
}  # fmt: skip
"""What the clock and the machine give, and ids: nothing fails in them."""


IDS: Mapping[str, Callable[..., Any]] = {
    "uuid.uuid4": lambda drawn: uuid.UUID(bytes=drawn[:16], version=4),
    "secrets.token_hex": lambda drawn, nbytes=32: drawn[:nbytes].hex(),
}
"""Of `RETURNED`, what makes an id of bytes that were drawn."""


def _now(now: float, tz: dt.tzinfo | None = None) -> dt.datetime:
    return dt.datetime.fromtimestamp(now, tz or dt.UTC).replace(tzinfo=tz)


CLOCK: Mapping[str, Callable[..., Any]] = {
    "time.time": lambda now: now, "datetime.datetime.now": _now, "datetime.date.today": lambda now: _now(now).date(),
    "time.strftime": lambda now, form, *when: time.strftime(form, *(when or [_now(now).timetuple()])),
    **dict.fromkeys(("datetime.datetime.utcnow", "datetime.datetime.today"), _now),
}  # fmt: skip
"""Of `RETURNED`, what gives the time by the session's clock."""


_OF_TEXTS = """capitalize center count endswith find index isalnum isalpha isascii isdigit islower isspace istitle isupper join ljust
    lower lstrip partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip
    swapcase title translate upper zfill"""
_OF_SETS = "copy difference intersection isdisjoint issubset issuperset symmetric_difference union"
_OF_DICTS = "clear copy get items keys pop popitem setdefault update values"
_OF_LISTS = "append clear copy count extend index insert pop remove reverse"
_OF_DATES = "ctime isocalendar isoformat isoweekday replace strftime toordinal weekday"
_OF_NUMBERS = "as_integer_ratio conjugate"

METHODS: Mapping[type, frozenset[str]] = {
    str: _names(f"{_OF_TEXTS} casefold encode format isdecimal isidentifier isnumeric isprintable maketrans"),
    bytes: _names(f"{_OF_TEXTS} decode hex"),
    int: _names(f"{_OF_NUMBERS} bit_count bit_length is_integer to_bytes"), bool: _names("bit_count bit_length conjugate"),
    float: _names(f"{_OF_NUMBERS} hex is_integer"), complex: _names("conjugate"), range: _names("count index"),
    list: _names(f"{_OF_LISTS} sort"), tuple: _names("count index"),
    collections.deque: _names(f"{_OF_LISTS} appendleft extendleft popleft rotate"),
    dict: _names(_OF_DICTS), collections.defaultdict: _names(_OF_DICTS), collections.OrderedDict: _names(f"{_OF_DICTS} move_to_end"),
    collections.Counter: _names(f"{_OF_DICTS} elements most_common subtract total"),
    frozenset: _names(_OF_SETS),
    set: _names(f"{_OF_SETS} add clear difference_update discard intersection_update remove symmetric_difference_update update"),
    dt.date: _names(_OF_DATES), dt.time: _names("isoformat replace strftime dst tzname utcoffset"),
    dt.datetime: _names(f"{_OF_DATES} date dst time timetz tzname utcoffset"), dt.timedelta: _names("total_seconds"),
    dt.timezone: _names("dst tzname utcoffset"), zoneinfo.ZoneInfo: _names("dst tzname utcoffset"),
    decimal.Decimal: _names("""adjusted as_integer_ratio compare copy_abs copy_negate copy_sign exp is_finite is_infinite is_nan is_signed is_zero ln log10
        max min normalize quantize remainder_near sqrt to_eng_string to_integral to_integral_exact to_integral_value"""),
}  # fmt: skip
"""The methods that may be used, by the type of their value: none depends on the machine, reaches into other objects or calls back."""

_OF_DAYS, _OF_HOURS = "year month day", "hour minute second microsecond tzinfo fold"
_FIELDS: Mapping[type, frozenset[str]] = {
    dt.date: _names(_OF_DAYS), dt.time: _names(_OF_HOURS), dt.datetime: _names(f"{_OF_DAYS} {_OF_HOURS}"),
    dt.timedelta: _names("days seconds microseconds"), uuid.UUID: _names("hex int"), range: _names("start stop step"), slice: _names("start stop step"),
    **dict.fromkeys((bool, int, float, complex, decimal.Decimal), _names("real imag")), int: _names("real imag numerator denominator"),
}  # fmt: skip
"""The attributes that are no methods, in the same way."""

_CODING: Mapping[str, int] = {
    "encode": 0,
    "decode": 0,
    "bytes": 1,
    "quote": 2,
    "quote_plus": 2,
    "unquote": 1,
    "urlencode": 3,
}
"""Functions that may be given a coding, with the place of the first argument that may be one."""

_CODINGS = frozenset({
    "ascii", "latin1", "latin-1", "iso-8859-1", "us-ascii", "utf8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "windows-1252",
    "strict", "ignore", "replace", "backslashreplace", "xmlcharrefreplace", "surrogateescape", "surrogatepass",
})  # fmt: skip
"""The codings, and what they do with what they cannot write. Others are found in the process, where the tool's code may have put some."""

_DATE_FORM = re.compile(r"(?:[^%]|%[-]?[aAbBcdfHIjmMpSuUVwWxXyYGDFTReklPnt%zZ])*", re.DOTALL)

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


def has_method(value: Any, name: str) -> bool:
    """Return whether a known value has a method that may be used."""
    kind = _kind_of(value, name)
    return name in METHODS.get(kind, ()) and hasattr(kind, name)  # some came with a later Python


def has_field(value: Any, name: str) -> bool:
    """Return whether an attribute of a known value may be read that is no method: of a member, its name and value."""
    if isinstance(value, enum.Enum):
        return name in {"name", "value"} and name not in type(value).__members__
    return name in _FIELDS.get(type(value), ())


def _kind_of(value: Any, name: str) -> type:
    """Return the type whose methods a value has: of the member of an enumeration, what its members are; none where a member has that name."""
    kind = type(value)
    if not isinstance(value, enum.Enum):
        return kind
    if name in kind.__members__:
        return NoneType
    return next((one for one in (str, int) if isinstance(value, one)), enum.Enum)


def takes(name: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    """Return whether a function or method depends on nothing but what it is given: a coding and a date's form may name what the process has."""
    if name in _CODING:
        codings = [
            *args[_CODING[name] :],
            *(keywords[key] for key in ("encoding", "errors") if key in keywords),
        ]
        return all(one.casefold().replace("_", "-") in _CODINGS for one in codings if isinstance(one, str))
    form = args[-1] if args and isinstance(args[-1], str) else ""
    return name not in {"strftime", "strptime"} or (
        is_date_form(form) and not (name == "strptime" and "%Z" in form)
    )


def is_date_form(form: str) -> bool:
    """Return whether the form of a date has only places of a known width, and none for the time zone of the machine."""
    return _DATE_FORM.fullmatch(form) is not None


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


DECORATORS = frozenset({"functools.cache", "functools.lru_cache", "functools.wraps"})
"""The decorators that are not read and whose work is known."""


# ---------------------------------------------------------------- what they cost


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
    "translate": lambda args, **_: _translated(args),
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
    "strptime": _parsed_date, "int": lambda args, **_: _digits(args),
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
