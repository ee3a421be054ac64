"""Keeps what one run through a program needs: its decisions, its budget, and which values are not known any more."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from simulator.environment.evidence.code_names import Reached, body_of, names_of, scan
from simulator.environment.evidence.unknown_values import (
    CONTAINERS,
    MUTABLE,
    SCALARS,
    Class,
    ClassInstance,
    External,
    Func,
    Lazy,
    NameScope,
    ProgramException,
    ThawError,
    TooMuchError,
    TouchedError,
    Unknown,
    inside,
)

MOST_LOOKED_AT = 20_000
"""So many values are looked at to know whether all of a value is known."""

_LONGEST_NAME = 60
_DEEPEST = 40


@dataclass(slots=True)
class StepBudget:
    """The steps that are left for all runs of one reading."""

    left: int

    def spend(self, steps: int = 1) -> None:
        """Take steps away.

        Raises:
            TooMuchError: None are left.
        """
        self.left -= steps
        if self.left < 0:
            raise TooMuchError


@dataclass(eq=False, slots=True)
class TryBlock:
    """A `try` that is under way in the program; `forked` says that its failing is another run already."""

    nodes: Sequence[ast.AST]
    scope: NameScope
    forked: bool = False


@dataclass(frozen=True, slots=True)
class Chances:
    """Where a run has its time and its ids from: the session's clock, in seconds since the epoch, and a seed; without them they are not known."""

    now: float = 0.0
    seed: str = ""


NO_CHANCES = Chances()


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The decisions that make a run different from the others.

    Attributes:
        decided: What was decided, in order, where the values did not.
        turned: The test, counted from 0, that comes out against what the values say; -1 for none.
        stops: Whether the run is left where the next decision would be.
    """

    decided: tuple[bool, ...] = ()
    turned: int = -1
    stops: bool = False


class ProgramRun:
    """One run through a program.

    Args:
        budget: The steps that it may take.
        plan: What is decided beforehand.
        shared: The values, by their ids, that must not be changed.
        modules: Gives the scope of a module of the program by its name; None where it has none of that name.
        lost: The containers, by their ids, whose contents are not known any more.
        execute: Executes statements.
    """

    def __init__(
        self,
        budget: StepBudget,
        plan: RunPlan,
        shared: Mapping[int, Any],
        modules: Callable[[str], NameScope | None],
        lost: Mapping[int, Any],
        execute: Callable[[ProgramRun, Sequence[ast.stmt], NameScope], None],
    ) -> None:
        self.budget, self.plan, self.shared = budget, plan, shared
        self.modules, self.execute = modules, execute
        self.taken: list[bool] = []
        self.forks: list[RunPlan] = []
        self.tests = 0
        self.when: list[str] = []
        self.certain = True
        self.missed = False
        self.last_line = 0
        self.handled = False
        self.loading = False
        self.unforked = 0
        self.depth = 0
        self.rounds = 0
        self.supposing = False
        self.epoch = 0
        self.attempts: list[TryBlock] = []
        self.handling: list[ProgramException] = []
        self.unknown_now: dict[int, Any] = dict(lost)
        self.scopes: list[NameScope] = []
        self.remembered: dict[Any, Any] = {}
        self.truths: dict[int, tuple[Any, bool]] = {}
        self.chances = NO_CHANCES
        self.drew = 0
        self.state: Any = object()
        self.unplaced: set[str] = set()
        self.saved: set[str] = set()
        self.failures = 0
        self.reached: Callable[[], Reached] = _all_names

    def decide(self, yes: str, no: str, *, first: bool = True) -> bool:
        """Decide what the values do not; the other way is another run.

        Args:
            yes: What holds where it is so, in words; empty where it goes without saying.
            no: What holds where it is not.
            first: What is decided where no plan says so.
        """
        if self.loading or self.unforked:
            raise TouchedError
        self.certain = False
        place = len(self.taken)
        if place < len(self.plan.decided):
            so = self.plan.decided[place]
        elif self.plan.stops:
            raise TooMuchError
        else:
            so = first
            if self.plan.turned < 0:
                self.forks.append(RunPlan((*self.taken, not first)))
        self.taken.append(so)
        words = yes if so else no
        if words and words not in self.when:
            self.when.append(words)
        return so

    def tested(self, value: bool, yes: str, no: str) -> bool:
        """Note a test that the values decide; the run whose plan turns this one takes the other way."""
        if self.loading or self.unforked or self.rounds:
            return value
        place, self.tests = self.tests, self.tests + 1
        if place != self.plan.turned:
            return value
        self.certain, self.supposing = False, True
        self.when.append(no if value else yes)
        return not value

    def may_raise(self, node: ast.AST) -> None:
        """Note that what a node does may raise, as something is not known in it: the innermost `try` fails once, and raises what it does not catch."""
        self.certain = False
        attempt = self.attempts[-1] if self.attempts else None
        if attempt is None or attempt.forked:
            return
        if self.unforked:
            self.missed = True
            return
        attempt.forked = True
        if not self.decide("", f"{named(node)} fails"):
            self.failures += 1
            self.forget(attempt.nodes, attempt.scope)
            raise ProgramException(None, line=getattr(node, "lineno", 0))

    @contextmanager
    def without_forks(self) -> Iterator[None]:
        """Let nothing be decided inside: what would have to be is not known then."""
        self.unforked += 1
        try:
            yield
        finally:
            self.unforked -= 1

    @contextmanager
    def one_round(self) -> Iterator[None]:
        """Let no test inside be turned: a round of a loop stands for itself alone."""
        self.rounds += 1
        try:
            yield
        finally:
            self.rounds -= 1

    def knows(self, *values: Any) -> bool:
        """Return whether all of some values is known."""
        left = MOST_LOOKED_AT
        waiting = [(value, 0) for value in values]
        while waiting:
            value, depth = waiting.pop()
            left -= 1
            kind = type(value)
            if kind in SCALARS:
                continue
            if kind not in CONTAINERS or id(value) in self.unknown_now or depth > _DEEPEST or left < 0:
                return False
            if kind is defaultdict and value.default_factory not in {None, list, dict, set, int, str, float}:
                return False
            waiting.extend((one, depth + 1) for one in inside(value))
        self.budget.spend((MOST_LOOKED_AT - left) // 8)
        return True

    def holds(self, value: Any) -> bool:
        """Return whether a container's own contents are known, whatever they hold."""
        return type(value) in CONTAINERS and id(value) not in self.unknown_now

    def fresh(self, lazy: Lazy) -> bool:
        """Return whether an iterator's source is still known."""
        return lazy.epoch == self.epoch

    def changes(self, value: Any) -> None:
        """Note that a value is about to be changed.

        Raises:
            ThawError: Other runs share it.
        """
        if id(value) in self.shared:
            raise ThawError

    def writes(self, held: Any, place: Any, node: ast.AST) -> None:
        """Note a key under which something is put into the session's state where the state may not show it."""
        if held is self.state:
            self.unplaced.add(spoken(place, node))

    def lose(self, value: Any) -> None:
        """Note that what a container holds is not known any more; what it held still tells its shape."""
        if type(value) in MUTABLE:
            self.unknown_now[id(value)] = value
            self.epoch += 1

    def lose_all(self, values: Iterable[Any], *, calls: bool = True) -> None:
        """Note that some values, and all that can be reached from them, may have been changed by code that is not read.

        `calls` says whether that code may call the functions among them.
        """
        seen: set[int] = set()
        waiting = list(values)
        while waiting:
            value = waiting.pop()
            if id(value) in seen or type(value) in SCALARS:
                continue
            seen.add(id(value))
            self.budget.spend()
            waiting.extend(inside(value))
            if isinstance(value, Unknown):
                waiting.append(value.like)
            elif isinstance(value, Lazy):
                self.epoch += 1
            elif isinstance(value, ClassInstance):
                self.changes(value)
                value.whole = False
                for name in value.fields:
                    value.fields[name] = Unknown(name=name, like=value.fields[name])
            elif isinstance(value, Func):
                waiting.extend(self._reached(value) if calls else ())
            elif isinstance(value, Class):
                waiting.extend(value.scope.names.values())
            self.lose(value)

    def forget(self, nodes: Sequence[ast.AST], scope: NameScope) -> None:
        """Note that a piece of code may have run in part, or several times: what it binds and changes is not known."""
        found = scan(nodes)
        touched = found.reached(lambda name: _is_scalar(look_up(scope, name)))
        closures = [value for value in map(partial(look_up, scope), found.read) if _is_closure(value)]
        reached = [look_up(scope, name) for name in touched]
        named_modules = (self.modules(value.path) for value in reached if isinstance(value, External))
        modules = [one for one in named_modules if one is not None]
        self.lose_all([*reached, *closures])
        for name in found.bound | found.outer:
            forget_name(scope, name)
        if found.calls or modules:
            self.forget_globals(scope, *modules)

    def _reached(self, function: Func) -> Iterator[Any]:
        """Return the values that a function can change, having forgotten the names that it binds around itself."""
        node, scope = function.node, function.scope
        found = scan(body_of(node))
        for name in found.outer:
            forget_name(scope, name)
        yield function.receiver
        yield from (look_up(scope, name) for name in found.reached(lambda _: False) - names_of(node).local)
        yield from (value for value in map(partial(look_up, scope), found.read) if _is_closure(value))

    def forget_globals(self, *scopes: NameScope) -> None:
        """Note that functions of the program may have run: what they put into the module's names, as far as the tool's code reaches, is not known."""
        reached = self.reached()
        for top in {id(one.top): one.top for one in (*scopes, *self.scopes)}.values():
            self.lose_all(top.names[name] for name in noted(top, CHANGED, reached) if name in top.names)
            for name in noted(top, REBOUND, reached):
                forget_name(top, name)


CHANGED, REBOUND = " changed", " rebound"
"""Under these names a module's scope holds which of its names its functions change, and which they bind anew; no program can use them."""


def _all_names() -> Reached:
    return None


def noted(top: NameScope, what: str, reached: Reached) -> list[str]:
    """Return the names of a module that its functions change, or bind anew, of those that are reached."""
    return [name for name in top.names.get(what, ()) if reached is None or (top.module, name) in reached]


def look_up(scope: NameScope | None, name: str) -> Any:
    """Return what a name stands for, as seen from a scope; None where it stands for nothing."""
    while scope is not None:
        if name in scope.names:
            return scope.names[name]
        scope = scope.parent
    return None


def forget_name(scope: NameScope, name: str) -> None:
    """Make a name stand for an unknown value of the shape that it had."""
    place: NameScope | None = scope.outer.get(name, scope)
    while place is not None and name not in place.names:
        place = place.parent
    place = place or scope
    before = place.names.get(name)
    if isinstance(before, (Func, Class)):
        place.bind(name, Unknown(name=name))
    else:
        place.bind(name, Unknown(name=name, like=before))


def _is_closure(value: Any) -> bool:
    return isinstance(value, Func) and value.scope.parent is not None


def _is_scalar(value: Any) -> bool:
    return type(value) in SCALARS or (
        isinstance(value, Unknown) and value.sure and value.kind in {"string", "number", "integer"}
    )


@lru_cache(maxsize=16_384)
def named(node: ast.AST) -> str:
    """Return how the code writes something, shortened."""
    try:
        text = " ".join(ast.unparse(node).split())
    except ValueError:  # a number that is as long as a page, in hexadecimal
        text = type(node).__name__
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}\u2026"


def spoken(text: Any, node: ast.AST) -> str:
    """Return a text with what is not known of it in angle brackets, by its name or as the code writes it."""
    parts = getattr(text, "parts", ()) or (text,)
    return "".join(
        one if isinstance(one, str) else f"<{getattr(one, 'name', '') or named(node)}>" for one in parts
    )


_OPPOSITES: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


def opposite(test: ast.expr) -> str:
    """Return how the code would write that a test does not hold."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return named(operand)
        case ast.Compare(left=left, ops=[op], comparators=comparators):
            return named(ast.Compare(left, [_OPPOSITES[type(op)]()], comparators))
    return named(ast.UnaryOp(ast.Not(), test))
