"""Describes what a tool's code returns: JSON where the code decides it, and holes where it does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, Union

from pydantic import JsonValue

Kind: TypeAlias = Literal["", "string", "integer", "number", "boolean", "array", "object", "null"]
"""The JSON type of a hole; empty where the code does not say."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A value that the code does not decide.

    Attributes:
        kind: Its JSON type, as annotations and the use of the value say.
        name: What the code calls it, such as `response.status_code`; empty where it has no name.
        low: The least that it can be, inclusive, where the code states it.
        high: The most that it can be, inclusive, where the code states it.
        choices: All that it can be, where the code states it.
        parts: Of a text that is known in parts: its parts in their order.
        like: Of an array: a sketch of an element. Of a JSON text: a sketch of what it says. Of anything else: a sketch of a value that it may be like.
        number: Which value of the program it is: what is one value there is one in all places. 0 where that is not told.
        is_lost: Whether calls of the session have changed it to what is not known: what was said of it before does not count.
        size_of: Which list, by its number, it is the length of; 0 of anything else.
        was: Of a list or an object that code which is not read may have changed: a sketch of what it was; None of anything else.
    """

    kind: Kind = ""
    name: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[JsonValue, ...] = ()
    parts: tuple[str | Hole, ...] = ()
    like: Sketch = None
    number: int = field(default=0, compare=False, repr=False)
    is_lost: bool = field(default=False, compare=False, repr=False)
    size_of: int = field(default=0, compare=False, repr=False)
    was: Sketch = None


Sketch: TypeAlias = Union[bool, int, float, str, Hole, "list[Sketch]", "dict[str, Sketch]", None]
"""A JSON value with holes in it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One way in which a tool's function ends.

    Attributes:
        value: What it returns, as ADK hands it to the agent; None of one that raises.
        when: What has to hold for it that the arguments do not decide, in words, in the order in which the code asks.
        certain: Whether the function ends so for these arguments, whatever else is the case.
        raises: The type of the exception that it raises; empty where it returns.
        message: The exception's text, as a sketch.
        line: The line of the `return` or `raise` in the file, from 1; 0 where the function just ends.
        possible: Whether the values allow it; False for what the code would do with others, which `when` says.
        state: What it has written into the session's state by then, by its keys, as sketches.
        varies: Whether another seed gives another value.
        actions: What it has set in ADK's `EventActions` by then, by the names of the fields.
        saves: The names of the artifacts that it, or another way to the same end, saves or tries to save; what is not known of one is in angle brackets.
        failures: How many things had to fail on the way to it that need not.
        handled: Whether it returns it where it handles an exception.
        by_chance: Whether it raises what no `raise` of the program says.
        unsure: The keys of the state, and those fields, that other ways to the same end write otherwise, or not, or may, where not all ways were followed;
            and keys that it writes and that are not known: what is not known of one is in angle brackets.
    """

    value: Sketch = None
    when: tuple[str, ...] = ()
    certain: bool = False
    raises: str = ""
    message: Sketch = None
    line: int = 0
    possible: bool = True
    state: Mapping[str, Sketch] = field(default_factory=dict)
    actions: Mapping[str, JsonValue] = field(default_factory=dict)
    varies: bool = field(default=False, compare=False)
    unsure: frozenset[str] = frozenset()
    saves: frozenset[str] = frozenset()
    failures: int = field(default=0, compare=False)
    handled: bool = field(default=False, compare=False)
    by_chance: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class CodeReading:
    """The reading of a tool's code for one call.

    Attributes:
        outcomes: The ways in which it may end: those that return first, errors after successes.
        complete: Whether there is no other way, exceptions of code that is not read left aside.
        followed: Whether each way that the values allow was followed to its end.
        problem: Why nothing could be read; empty where something was.
    """

    outcomes: tuple[Outcome, ...] = ()
    complete: bool = False
    problem: str = ""
    followed: bool = False


@dataclass(frozen=True, slots=True)
class Module:
    """The source of a module.

    Attributes:
        path: Its file as a person knows it, such as `shop/tools.py`.
        text: The whole source.
        name: Its dotted name.
    """

    path: str
    text: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """The source of a tool's function: where it is written, and what else is known of it.

    Attributes:
        module: The module that it is written in.
        name: The function's own name (`__name__`).
        line: The line at which it begins, decorators included, from 1, as Python's code objects tell.
        held: Values of builtin types that it holds: variables of an enclosing function, and arguments given in advance.
        receiver: Whether it is a method, whose first parameter is its object.
        project: Other modules of the same project, by their dotted names.
        takes_mapping: Whether it is given all arguments in one mapping, `args`, as the `run_async` of a tool's own class is.
    """

    module: Module
    name: str
    line: int
    held: Mapping[str, JsonValue] = field(default_factory=dict)
    receiver: bool = False
    project: Mapping[str, Module] = field(default_factory=dict)
    takes_mapping: bool = False


class SeedTable(Protocol):
    """A table of the environment's data."""

    @property
    def kind(self) -> str:
        """What its records are, singular."""
        ...

    def records(self) -> Iterator[tuple[str, Mapping[str, JsonValue]]]:
        """Yield each record with its id."""
        ...


@dataclass(frozen=True, slots=True)
class EarlierCall:
    """A call that was answered before in the session, of a tool whose code is at hand; `state_delta` is what it really wrote into the state."""

    code: FunctionSource
    arguments: Mapping[str, JsonValue]
    response: JsonValue
    state_delta: Mapping[str, JsonValue] = field(default_factory=dict)
