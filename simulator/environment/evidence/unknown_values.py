"""The values of a program that is read: Python's own where they are known, and stand-ins where they are not.

A known value is an object of one of Python's own types, and what the program does with it is done to it. An `Unknown` raises `TouchedError` when
an operation of Python meets it, so that nothing can be computed from it by mistake.
"""

from __future__ import annotations

import ast
import datetime as dt
import decimal
import enum
import itertools
import uuid
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, TypeAlias

from simulator.environment.evidence.sketch import Kind

Node: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class _Scalars(frozenset[type]):
    """Some types, and those of all enumerations."""

    def __contains__(self, kind: object) -> bool:
        return type(kind) is enum.EnumType or frozenset.__contains__(self, kind)


SCALARS = _Scalars({
    NoneType, bool, int, float, complex, str, bytes, range, slice, type(...),
    dt.datetime, dt.date, dt.time, dt.timedelta, dt.timezone, zoneinfo.ZoneInfo, decimal.Decimal, uuid.UUID,
})  # fmt: skip
"""Types whose objects never change and hold no others; the members of an enumeration are Python's own."""

MAPPINGS = frozenset({dict, defaultdict, OrderedDict, Counter})
CONTAINERS = frozenset({list, tuple, set, frozenset, deque}) | MAPPINGS
MUTABLE = CONTAINERS - {tuple, frozenset}
KNOWN = _Scalars(SCALARS | CONTAINERS)
"""The types of Python whose objects stand for themselves."""


class TouchedError(Exception):
    """An operation of Python met a value that is not known."""


def touch(*_: object, **__: object) -> Any:
    """Stand for an operation that meets what is not known."""
    raise TouchedError


@dataclass(eq=False, slots=True)
class Unknown:
    """A value that is not known.

    Attributes:
        kind: Its JSON type, where the code says so.
        name: What the code calls it.
        sure: Whether the kind is certain, and not only what an annotation promises.
        low: The least that it can be.
        high: The most that it can be.
        choices: All that it can be.
        parts: Of a text: its parts in their order.
        like: A value of the same shape; of an array, an element's.
        truth: Whether it counts as true, once that was decided.
        number: Tells it from every other one.
        size_of: The number of the list whose length it is.
    """

    kind: Kind = ""
    name: str = ""
    sure: bool = False
    low: float | None = None
    high: float | None = None
    choices: tuple[Any, ...] = ()
    parts: tuple[Any, ...] = ()
    like: Any = None
    truth: bool | None = None
    number: int = field(default_factory=itertools.count(1).__next__)
    size_of: int = 0

    @property
    def is_number(self) -> bool:
        """Whether it is a number for certain."""
        return self.sure and self.kind in {"number", "integer"}


for _name in [
    "bool",
    "hash",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "len",
    "iter",
    "next",
    "getitem",
    "setitem",
    "delitem",
    "contains",
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "truediv",
    "rtruediv",
    "floordiv",
    "rfloordiv",
    "mod",
    "rmod",
    "pow",
    "rpow",
    "lshift",
    "rshift",
    "and",
    "rand",
    "or",
    "ror",
    "xor",
    "rxor",
    "neg",
    "pos",
    "abs",
    "invert",
    "index",
    "int",
    "float",
    "complex",
    "str",
    "repr",
    "format",
    "round",
    "trunc",
    "floor",
    "ceil",
    "enter",
    "exit",
    "call",
    "bytes",
]:
    setattr(Unknown, f"__{_name}__", touch)


@dataclass(eq=False, slots=True)
class NameScope:
    """The names of a function, a class or a module, below those around it.

    Attributes:
        names: What its names stand for.
        parent: The scope around it; None of a module.
        bound: The names that the code binds in it; None where any may be.
        outer: Its names that `global` and `nonlocal` put elsewhere, with the scopes.
        given: The names of its parameters.
        module: The dotted name of its module.
        shared: Whether several runs share it, so that none may change it.
    """

    names: dict[str, Any]
    module: str
    parent: NameScope | None = None
    bound: frozenset[str] | None = None
    outer: dict[str, NameScope] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    shared: bool = False

    def bind(self, name: str, value: Any) -> None:
        """Let a name of this very scope stand for a value.

        Raises:
            ThawError: Other runs share the scope.
        """
        if self.shared:
            raise ThawError
        self.names[name] = value

    @property
    def top(self) -> NameScope:
        """The scope of the module."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


@dataclass(eq=False, slots=True)
class Func:
    """A function of the program."""

    node: Node
    scope: NameScope
    defaults: Mapping[str, Any]
    receiver: Any = None
    bound: bool = False
    cls: Class | None = None


@dataclass(eq=False, slots=True)
class Class:
    """A class of the program.

    Its `kind` is plain, model, dataclass, enum, typeddict, namedtuple, exception, or other. `real` is an enumeration as Python has it.
    A field has its annotation, its default and how an object is given it: by its "place" or name, by its "name" alone, or "not" at all.
    """

    name: str
    kind: str
    fields: Mapping[str, tuple[ast.expr, Any, str]]
    scope: NameScope
    bases: Sequence[Any] = ()
    real: type[enum.Enum] | None = None


NO_DEFAULT = object()
"""Stands for the default of a field that has none."""


@dataclass(eq=False, slots=True)
class ClassInstance:
    """An instance of a class of the program; `whole` says that all of its attributes are known."""

    cls: Class
    fields: dict[str, Any]
    whole: bool = True

    @property
    def declared(self) -> dict[str, Any]:
        """Its attributes that its class declares: a data class is written with these alone."""
        return {name: self.fields[name] for name in self.cls.fields if name in self.fields}


@dataclass(eq=False, slots=True)
class External:
    """Something of a module that is not read, by its dotted path: `math.sqrt`, `builtins.len`, `requests.get`."""

    path: str


@dataclass(eq=False, slots=True)
class Bound:
    """A method of a known value."""

    value: Any
    name: str


@dataclass(eq=False, slots=True)
class Decorated:
    """A function of a class under `property`, `classmethod` or `staticmethod`, which `kind` names."""

    kind: str
    function: Func


@dataclass(eq=False, slots=True)
class CompiledPattern:
    """A compiled regular expression."""

    text: str
    flags: int
    engine: Any
    methods: frozenset[str] = frozenset(
        {"search", "match", "fullmatch", "findall", "finditer", "split", "sub", "subn"}
    )


@dataclass(eq=False, slots=True)
class Match:
    """An object of Python some of whose methods only read it, such as what a search found."""

    found: Any
    methods: frozenset[str] = frozenset({"group", "groups", "groupdict", "start", "end", "span"})


@dataclass(eq=False, slots=True)
class Super:
    """What `super()` gives in a method of a class, for its object."""

    cls: Class
    receiver: Any


@dataclass(eq=False, slots=True)
class Partial:
    """A function with some of its arguments."""

    callee: Any
    args: tuple[Any, ...]
    keywords: Mapping[str, Any]


@dataclass(eq=False, slots=True)
class Cached:
    """A function that remembers what it gave."""

    function: Func


@dataclass(eq=False, slots=True)
class DefaultFactory:
    """The default of a field that a function makes anew each time."""

    factory: Any


@dataclass(eq=False, slots=True)
class Awaitable:
    """What a call of an asynchronous function gives; it runs when it is awaited."""

    run: Callable[[], Any]


@dataclass(eq=False, slots=True)
class Lazy:
    """An iterator or view of known values. `epoch` is how often values had become unknown when it was made."""

    source: Any
    epoch: int


@dataclass(eq=False, slots=True)
class Context:
    """ADK's context of a tool; `state` is the session's, `actions` its `EventActions`."""

    state: Any
    actions: ClassInstance


@dataclass(eq=False, slots=True)
class ProgramException(Exception):  # noqa: N818 - it is no error of ours: the program that is read has raised something
    """An exception that the program raises: a type of Python's own or of the program, or None for an unknown one."""

    cls: type[BaseException] | Class | None
    args_given: tuple[Any, ...] = ()
    line: int = 0
    written: bool = False

    def text(self) -> Any:
        """Return what `str` gives for the exception."""
        unknown = Unknown("string", "the error", sure=True)
        match (unknown,) if self.cls is None else self.args_given:
            case ():
                return ""
            case (Unknown(kind="string") as only,) if not isinstance(self.cls, Class):
                return only
            case (str() as only,) if isinstance(self.cls, Class):
                return only
            case (only,) if isinstance(self.cls, type) and type(only) in SCALARS:
                try:
                    return repr(only) if issubclass(self.cls, KeyError) else str(only)
                except (ValueError, TouchedError):  # Python writes no number that is as long as a page
                    return unknown
        return unknown


def failing(kind: type[Exception]) -> ProgramException:
    """Return an exception with a text that is not known."""
    return ProgramException(kind, (Unknown("string", "the error", sure=True),))


class ThawError(Exception):
    """The program changes a value that several runs share: it runs again on a copy."""


class TooMuchError(Exception):
    """The program does more than is read."""


def number_of(value: Any) -> int:
    """Return what tells a value that is not known, or not any more, from every other one of the same run."""
    return value.number if isinstance(value, Unknown) else -id(value)


_INSIDE: Mapping[type, Callable[[Any], Iterable[Any]]] = {
    **dict.fromkeys(CONTAINERS, iter), **dict.fromkeys(MAPPINGS, lambda one: (*one, *one.values())),
    ClassInstance: lambda one: one.fields.values(), Context: lambda one: (one.state, one.actions), Bound: lambda one: (one.value,),
    Partial: lambda one: (one.callee, *one.args, *one.keywords.values()), Super: lambda one: (one.receiver,),
    **dict.fromkeys((Cached, Decorated), lambda one: (one.function,)),
}  # fmt: skip
_LED_TO: Mapping[type, Callable[[Any], Iterable[Any]]] = {
    **_INSIDE, Unknown: lambda one: (one.like, *one.choices), Func: lambda one: (one.receiver, *one.defaults.values()),
    DefaultFactory: lambda one: (one.factory,),
}  # fmt: skip


def inside(value: Any) -> Iterable[Any]:
    """Return the values that a container, or an object, holds itself."""
    work = _INSIDE.get(type(value))
    return () if work is None else work(value)


def led_to(value: Any) -> Iterable[Any]:
    """Return the values to which a value leads without code of the program."""
    work = _LED_TO.get(type(value))
    return () if work is None else work(value)
