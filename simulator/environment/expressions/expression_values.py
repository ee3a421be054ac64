"""What expressions give, brought into JSON; an expression that was read, and the error of one that cannot be."""

from __future__ import annotations

import importlib.util
import inspect
import json
import math
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any

from simulator.base.validation_words import near
from simulator.base.work_limit import MOST_IN_ALL, make, running, weight

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


def text(value: object = "") -> str:
    """Write a value as a text: a text as it is, anything else as JSON.

    Raises:
        TooMuchWorkError: It would be too long.
        TypeError: It holds something that JSON has no word for.
    """
    if not isinstance(value, str):
        return json_text(value)
    make(len(value))
    return value


def json_text(value: object) -> str:
    """Write a value as JSON; raises as `text`."""
    make(weight(value))
    written = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_as_json)
    make(len(written))
    return written


def plain(value: object) -> Any:
    """Return a value in which only objects, lists, texts, numbers, true, false and null are left, nothing shared.

    Raises:
        TooMuchWorkError: It is too large.
        TypeError: It holds something else.
    """
    if not isinstance(value, (bool, float)):
        make(weight(value), MOST_IN_ALL)
    return _plain(value)


def _plain(value: object) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError("it returns NaN or Infinity, which JSON cannot represent")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else text(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    raise TypeError(f"it returns {_described(value)}")


def _as_json(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"it uses as text: {_described(value)}")


def _described(value: object) -> str:
    told = getattr(value, "described", None)  # raises where it is missing
    if told is None and callable(value):
        name = getattr(value, "__name__", "")
        told = f"the function {name}; write {name}() to call it"
    return told if isinstance(told, str) else f"a {type(value).__name__}, which is not a JSON value"


_MOST = 200
_LONGEST = 1_000
# Numbers behind these names are values, not sizes.
_VALUES = frozenset(
    {"min", "max", "step", "min_value", "max_value", "minimum_age", "maximum_age", "start_datetime", "end_datetime",
     "start_date", "end_date", "before_now", "after_now", "number"}
)  # fmt: skip
# Large files, and methods that take instructions of their own.
_REFUSED = frozenset(
    {"add_provider", "binary", "csv", "dsv", "enum", "fixed_width", "image", "json", "json_bytes", "psv", "pyobject",
     "pystr_format", "tar", "tsv", "xml", "zip"}
)  # fmt: skip

_lock = threading.Lock()
_HAS_FAKER = importlib.util.find_spec("faker") is not None


@lru_cache(maxsize=1)
def _faker() -> Any:
    """Make the process's faker: making one takes tens of milliseconds, seeding it anew does not."""
    from faker import Faker  # noqa: PLC0415 - importing it takes a while, and few templates ask for it

    return Faker("en_US")


@lru_cache(maxsize=1)
def fake_names() -> tuple[str, ...]:
    """Return the names of all that a faker can make, sorted."""
    providers: Iterable[object] = _faker().factories[0].providers
    names = {
        name
        for provider in providers
        for name in dir(type(provider))
        if not name.startswith("_") and inspect.isroutine(getattr(type(provider), name, None))
    }
    return tuple(sorted(names - _REFUSED))


class Fake:
    """`fake` in an expression: `fake.name()`, `fake.city()`, any public method of Faker's providers.

    The nth answer depends on the seed and on n alone. What is said relative to today (`fake.date_of_birth()`) moves
    with the day. Any thread may ask.
    """

    described = "fake"

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._asked = 0

    def offered(self, name: str) -> object:
        """Return one of the faker's methods.

        Raises:
            LookupError: There is none of that name, or Faker is not installed.
        """
        if not _HAS_FAKER:
            raise LookupError(f"fake.{name} has no value, because the package faker is not installed")
        if name not in fake_names():
            reason = "it cannot be used in expressions" if name in _REFUSED else near(name, fake_names())
            raise LookupError(f"fake has no {name!r}; {reason}")  # its text is that of an ExpressionError

        def made(*args: Any, **options: Any) -> Any:
            return self._made(name, args, options)

        made.__name__ = f"fake.{name}"
        return made

    def _made(self, name: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        with running().paused(), _lock:  # another thread may have the faker, and the first makes it
            _faker()
        with _lock:
            faker = _faker()
            method: Callable[..., Any] = getattr(faker, name)
            _check_sizes(name, method, args, options)
            faker.seed_instance(f"{len(self._seed)}:{self._seed}:{self._asked}")
            self._asked += 1
            try:
                return _made_json(method(*args, **options))
            except Exception as error:  # a provider may raise anything at arguments that it did not expect
                raise ValueError(f"fake.{name}: {error}") from error


def _check_sizes(
    name: str, method: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]
) -> None:
    try:
        bound = inspect.signature(method).bind(*args, **options).arguments
    except TypeError as error:
        raise TypeError(f"fake.{name}: {error}") from None
    for parameter, value in bound.items():
        for size in _sizes(value):
            most = _LONGEST if isinstance(value, str) else _MOST
            if parameter not in _VALUES and size > most:
                raise ValueError(f"fake.{name}: {parameter} is too large; the maximum is {most}")


def _sizes(value: object) -> list[float]:
    if isinstance(value, (int, float)):
        return [abs(value)]
    if isinstance(value, str):
        return [len(value)]
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if isinstance(value, (list, tuple)):
        return [len(value), *(size for item in value[: _MOST + 1] for size in _sizes(item))]
    return []


def _made_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _made_json(inner) for key, inner in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(_made_json, value), key=repr)
    if isinstance(value, (list, tuple)):
        return [_made_json(inner) for inner in value]
    return _scalar(value.value if isinstance(value, Enum) else value)


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
