"""Evaluates the expressions of a program that is read."""

from __future__ import annotations

import ast
import builtins
import datetime as dt
import decimal
import enum
import itertools
import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, TypeAlias

from simulator.environment.evidence import native_functions
from simulator.environment.evidence.code_names import scan
from simulator.environment.evidence.program_run import ProgramRun, forget_name, named, opposite
from simulator.environment.evidence.sketch import Kind
from simulator.environment.evidence.unknown_values import (
    CONTAINERS,
    KNOWN,
    MAPPINGS,
    MUTABLE,
    SCALARS,
    Awaitable,
    Bound,
    Class,
    ClassInstance,
    CompiledPattern,
    Context,
    Decorated,
    External,
    Func,
    Lazy,
    Match,
    NameScope,
    ProgramException,
    Super,
    ThawError,
    TooMuchError,
    TouchedError,
    Unknown,
    failing,
)

Evaluator = Callable[[ProgramRun, Any, NameScope], Any]

JSON_KINDS: Mapping[type, Kind] = {
    str: "string", int: "integer", float: "number", bool: "boolean", list: "array", tuple: "array", dict: "object", NoneType: "null",
}  # fmt: skip
_UNORDERED = frozenset({set, frozenset})
_OF_TEXT = native_functions.MOST_MADE // native_functions.MOST
_FEW = 2


def evaluate(run: ProgramRun, node: ast.expr, scope: NameScope) -> Any:
    """Return the value of an expression.

    Raises:
        Raised: The program raises in it.
        TooMuchError: It takes more than the budget holds.
    """
    run.budget.spend()
    found = EVALUATORS.get(type(node))
    if found is None:
        raise TooMuchError
    try:
        return found(run, node, scope)
    except ProgramException as raised:
        raised.line = raised.line or getattr(node, "lineno", 0)
        raise
    except TouchedError:
        run.may_raise(node)
        if run.unforked and scan([node]).has_effects:
            run.forget([node], scope)
        return Unknown(name=named(node))
    except RecursionError as error:
        raise TooMuchError from error


def native(run: ProgramRun, work: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """Return what an operation of Python gives for known values; what it raises, the program raises."""
    run.budget.spend()
    try:
        made = work(*args, **keywords)
    except (TouchedError, ProgramException, TooMuchError, ThawError):
        raise
    except (RecursionError, MemoryError) as error:
        raise TooMuchError from error
    except Exception as error:
        raise ProgramException(type(error), error.args) from error
    if isinstance(made, decimal.Decimal):
        pay(run, native_functions.size(made) * (native_functions.MOST_MADE // native_functions.MOST))
    run.budget.spend(native_functions.steps_of(made))
    return made


def pay(run: ProgramRun, cost: int) -> None:
    """Take the steps for something that is about to be made.

    Raises:
        TooMuchError: It costs too much, or no steps are left.
    """
    if cost > native_functions.MOST_MADE:
        raise TooMuchError
    run.budget.spend(cost // native_functions.LETTERS_PER_STEP)


def ordered(run: ProgramRun, *values: Any) -> None:
    """Check that no order of a set's texts shows: it differs from process to process.

    Raises:
        TouchedError: It would.
    """
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        run.budget.spend()
        if (
            type(value) in _UNORDERED
            and len(value) >= _FEW
            and not all(type(one) in {int, bool, float} for one in value)
        ):
            raise TouchedError
        if isinstance(value, Lazy):
            waiting.append(value.source)
        elif type(value) in MAPPINGS:
            waiting.extend(value.values())
        elif type(value) in CONTAINERS:
            waiting.extend(value)


def iterate(run: ProgramRun, value: Any) -> Iterator[Any]:
    """Return an iterator over a known value.

    Raises:
        TouchedError: The value, or its order, is not known.
        Raised: It cannot be iterated over.
    """
    if isinstance(value, Lazy):
        return _watched(run, value)
    if isinstance(value, Class) and value.real is not None:
        return iter(value.real)
    if isinstance(value, ClassInstance) and value.cls.kind == "namedtuple" and value.whole:
        return iter([*value.fields.values()])
    if type(value) not in KNOWN or (type(value) in CONTAINERS and not run.holds(value)):
        raise TouchedError
    if type(value) in _UNORDERED:
        ordered(run, value)
    found: Iterator[Any] = native(run, iter, value)
    return _watched(run, Lazy(found, run.epoch), value)


def _watched(run: ProgramRun, lazy: Lazy, source: Any = None) -> Iterator[Any]:
    found = native(run, iter, lazy.source)
    while True:
        if not run.fresh(lazy) if source is None else type(source) in CONTAINERS and not run.holds(source):
            raise TouchedError
        try:
            one = native(run, next, found)
        except ProgramException as raised:
            if raised.cls is StopIteration:
                return
            raise
        yield one


def truth(run: ProgramRun, test: ast.expr, scope: NameScope) -> bool:
    """Return whether a test holds; where the values do not say so, it is decided."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return not truth(run, test.operand, scope)
    value = evaluate(run, test, scope)
    known = truth_of(run, value)
    if known is not None:
        so = run.tested(known, named(test), opposite(test))
        if so is not known:
            _suppose(run, test, so, scope)
        return so
    so = run.decide(named(test), opposite(test))
    if isinstance(value, Unknown):
        run.truths[id(value)] = value, so  # not on the value: one of a module is that of all runs
        if so and value.like is None and value.kind == "" and isinstance(test, ast.Name):
            value.name = value.name or test.id
    return so


def _suppose(run: ProgramRun, test: ast.expr, so: bool, scope: NameScope) -> None:
    """Let what a test reads that is supposed to come out otherwise be unknown; the function's parameters stay as they were given.

    What the module holds is another one only where no variable of the function makes the difference.
    """
    for part in test.values if isinstance(test, ast.BoolOp) else [test]:
        nodes = [*ast.walk(part)]
        holders = [one.value for one in nodes if isinstance(one, ast.Attribute)]
        variables = {one.id for one in nodes if isinstance(one, ast.Name) and one not in holders}
        of_module = variables.isdisjoint(scope.names)
        for one in nodes:
            match one:
                case ast.Name(id=name) if name in scope.names and name not in scope.given:
                    scope.names[name] = Unknown(name=name, like=scope.names[name])
                case ast.Name(id=name) if of_module and type(scope.top.names.get(name, run)) in KNOWN:
                    forget_name(scope, name)
                case ast.Attribute(value=ast.Name() | ast.Attribute() as holder, attr=name) if of_module:
                    held = evaluate(run, holder, scope)
                    if isinstance(held, ClassInstance):
                        left = Unknown(
                            name=named(one), like=held.fields.get(name), truth=so if one is test else None
                        )
                        run.lose_all([held.fields.get(name, held), inherited(held.cls, name)[1]], calls=False)
                        if name in held.fields:
                            set_attribute(run, held, name, left, one)


def truth_of(run: ProgramRun, value: Any) -> bool | None:
    """Return whether a value counts as true; None where that is not known."""
    if isinstance(value, Unknown):
        _, decided = run.truths.get(id(value), (value, None))
        return value.truth if decided is None else decided
    if type(value) in SCALARS:
        return bool(value)
    if type(value) in CONTAINERS:
        return bool(value) if run.holds(value) else None
    if isinstance(value, ClassInstance):
        special = {"__bool__", "__len__"} & value.cls.scope.names.keys()
        return None if special or value.cls.bases else True
    return True if isinstance(value, (Func, Class, Context, Bound, Match, CompiledPattern)) else None


_OF_MODULES = frozenset(
    {"__name__", "__file__", "__builtins__", "__doc__", "__spec__", "__package__", "__loader__", "__cached__"}
)
"""The names that Python gives each module by itself."""


def load(run: ProgramRun, name: str, scope: NameScope) -> Any:
    """Return what a name stands for.

    Raises:
        Raised: It stands for nothing yet.
    """
    place: NameScope | None = scope
    while place is not None:
        place = place.outer.get(name, place)
        if name in place.names:
            return place.names[name]
        if place.bound is not None and name in place.bound and place.parent is not None:
            kind = UnboundLocalError if place is scope else NameError
            raise failing(kind)
        place = place.parent
    if "*" in scope.top.names and ONLY not in scope.top.names:
        run.certain = False
        return Unknown(name=name)
    if name in _OF_MODULES and ONLY not in scope.top.names:
        is_text = name in {"__name__", "__file__"}
        return Unknown("string" if is_text else "", name, sure=is_text)
    found = None if ONLY in scope.top.names else getattr(builtins, name, None)
    if found is None:
        raise ProgramException(NameError, (f"name '{name}' is not defined",))
    is_exception = isinstance(found, type) and issubclass(found, BaseException)
    return found if is_exception else External(f"builtins.{name}")


def _bool_op(run: ProgramRun, node: ast.BoolOp, scope: NameScope) -> Any:
    stops_at = isinstance(node.op, ast.Or)
    unknown: Unknown | None = None
    for place, operand in enumerate(node.values):
        if unknown is not None and scan([operand]).has_effects:
            rest = ast.BoolOp(node.op, node.values[:place]) if place > 1 else node.values[0]
            if run.decide(named(rest), opposite(rest)) is stops_at:
                unknown.truth = stops_at
                return unknown
            unknown = None
        value = _guarded(run, operand, scope) if unknown is not None else evaluate(run, operand, scope)
        known = truth_of(run, value)
        last = place == len(node.values) - 1
        if known is None:
            kind = _common(unknown, value)
            unknown = Unknown(kind, named(node), like=getattr(value, "like", None) if kind else None)
        elif known is stops_at or last:
            if unknown is None:
                return value
            return Unknown(
                _common(unknown, value),
                named(node),
                truth=known if known is stops_at else None,
                like=_shape(value) if _common(unknown, value) else None,
            )
    return unknown


def _guarded(run: ProgramRun, node: ast.expr, scope: NameScope) -> Any:
    """Return the value of what may not be evaluated at all; what it raises is no more than possible."""
    try:
        with run.without_forks():
            return evaluate(run, node, scope)
    except (ProgramException, TouchedError):
        run.may_raise(node)
        return Unknown(name=named(node))


def _common(first: Unknown | None, second: Any) -> Kind:
    kind: Kind = second.kind if isinstance(second, Unknown) else JSON_KINDS.get(type(second), "")
    return kind if first is None or first.kind == kind else ""


def _shape(value: Any) -> Any:
    """Return what an unknown value that may be this one is like: of a list, its elements."""
    if type(value) in {list, tuple}:
        return value[0] if value else None
    return value if type(value) in MAPPINGS else None


def _named_expr(run: ProgramRun, node: ast.NamedExpr, scope: NameScope) -> Any:
    value = evaluate(run, node.value, scope)
    place = scope
    while place.bound is COMPREHENSION and place.parent is not None:
        place = place.parent
    store(place, node.target.id, value)
    return value


ONLY = " only"
"""Under this name a scope says that it has no names but its own, not even Python's."""

COMPREHENSION: frozenset[str] = frozenset({" comprehension"})
"""Marks the scope of a comprehension, which `:=` passes over."""


def store(scope: NameScope, name: str, value: Any) -> None:
    """Let a name stand for a value."""
    place: NameScope | None = scope.outer.get(name, scope)
    (place or scope).bind(name, value)


def _bin_op(run: ProgramRun, node: ast.BinOp, scope: NameScope) -> Any:
    left, right = evaluate(run, node.left, scope), evaluate(run, node.right, scope)
    return operate(run, type(node.op), left, right, node, native_functions.BINARY)


def operate(
    run: ProgramRun,
    op: type[ast.operator],
    left: Any,
    right: Any,
    node: ast.AST,
    table: Mapping[str, Callable[[Any, Any], Any]],
) -> Any:
    """Return what a binary operation gives."""
    if op is ast.Add and (_is_text(left) and _is_text(right)):
        return joined(run, [left, right])
    if run.knows(left, right):
        is_format = op is ast.Mod and isinstance(left, (str, bytes))
        pay(
            run,
            native_functions.of_percent(left, right)
            if is_format
            else native_functions.of_operation(op, left, right),
        )
        if op is ast.Mod or type(right) in _UNORDERED:
            ordered(run, right)
        return native(run, table[op.__name__], left, right)
    if (
        op is ast.Add
        and type(left) is type(right)
        and type(left) in {list, tuple}
        and run.holds(left)
        and run.holds(right)
    ):
        pay(run, native_functions.of_operation(op, left, right))
        return native(run, table["Add"], left, right)
    if _is_number(left) and _is_number(right):
        return _of_numbers(run, op, left, right, node)
    run.may_raise(node)
    run.lose(left)
    numeric = op in {ast.Sub, ast.Div, ast.FloorDiv, ast.Pow} and (_is_number(left) or _is_number(right))
    text = op is ast.Add and (type(left) is str or type(right) is str)
    return Unknown("number" if numeric else "string" if text else "", named(node))


def _of_numbers(run: ProgramRun, op: type[ast.operator], left: Any, right: Any, node: ast.AST) -> Unknown:
    if op in {ast.Div, ast.FloorDiv, ast.Mod} and (isinstance(right, Unknown) or right == 0):
        run.may_raise(node)
    if op not in {ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod}:
        run.may_raise(node)
    whole = op is not ast.Div and _is_whole(left) and _is_whole(right)
    sure = op in {ast.Add, ast.Sub, ast.Mult, ast.Div}
    return Unknown("integer" if whole else "number", named(node), sure=sure)


def _is_text(value: Any) -> bool:
    return (type(value) is str and len(value) < native_functions.MOST) or (
        isinstance(value, Unknown) and value.kind == "string" and value.sure
    )


def _is_number(value: Any) -> bool:
    return type(value) in {int, float, bool} or (isinstance(value, Unknown) and value.is_number)


def _is_whole(value: Any) -> bool:
    return type(value) in {int, bool} or (isinstance(value, Unknown) and value.kind == "integer")


def joined(run: ProgramRun, parts: Sequence[Any]) -> Any:
    """Return a text made of known and unknown parts."""
    flat = [one for part in parts for one in (getattr(part, "parts", ()) or (part,))]
    pay(run, sum(native_functions.size(one) if isinstance(one, str) else 1 for one in flat) * _OF_TEXT)
    found: list[Any] = []
    for is_text, group in itertools.groupby(flat, lambda one: isinstance(one, str)):
        pieces = list(group)
        found += filter(None, ["".join(pieces)]) if is_text else pieces
    if all(isinstance(one, str) for one in found):
        return "".join(found)
    if len(found) == 1 and found[0].kind == "string":
        return found[0]
    return Unknown("string", sure=True, parts=tuple(found))


def _unary_op(run: ProgramRun, node: ast.UnaryOp, scope: NameScope) -> Any:
    value = evaluate(run, node.operand, scope)
    if isinstance(node.op, ast.Not):
        known = truth_of(run, value)
        return Unknown("boolean", named(node), sure=True) if known is None else not known
    if _is_number(value) and isinstance(value, Unknown):
        if isinstance(node.op, ast.Invert):
            run.may_raise(node)
        return Unknown(value.kind, named(node), sure=True)
    if not run.knows(value):
        raise TouchedError
    signs: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
        ast.USub: operator.neg,
        ast.UAdd: operator.pos,
        ast.Invert: operator.invert,
    }
    work = signs[type(node.op)]
    return native(run, work, value)


def defaults_of(run: ProgramRun, arguments: ast.arguments, scope: NameScope) -> dict[str, Any]:
    """Return the values of a function's parameters that have one."""
    plain = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(plain[len(plain) - len(arguments.defaults) :], arguments.defaults, strict=True),
        *(
            (one, value)
            for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if value is not None
        ),
    ]
    return {one.arg: evaluate(run, value, scope) for one, value in pairs}


def _dict(run: ProgramRun, node: ast.Dict, scope: NameScope) -> Any:
    made: dict[Any, Any] = {}
    lost = False
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            lost |= not _merge(run, made, evaluate(run, value, scope), value)
            continue
        stored = evaluate(run, key, scope)
        given = evaluate(run, value, scope)
        if run.knows(stored):
            native(run, made.__setitem__, stored, given)
        else:
            lost = True
    if lost:
        run.lose(made)
    return made


def _merge(run: ProgramRun, made: dict[Any, Any], more: Any, node: ast.expr) -> bool:
    """Put the entries of another dict into one; return whether all are known."""
    if type(more) in MAPPINGS:
        run.budget.spend(native_functions.steps_of(more))
        made.update(more)
        return run.holds(more)
    while isinstance(more, Unknown):
        more = more.like
    if type(more) is dict:
        made.update({key: Unknown(name=str(key), like=value) for key, value in more.items()})
    run.may_raise(node)
    return False


def _elements(run: ProgramRun, nodes: Sequence[ast.expr], scope: NameScope) -> tuple[list[Any], bool]:
    """Return the values of some expressions with those behind a star, and whether all of them are known to be there."""
    found: list[Any] = []
    whole = True
    for node in nodes:
        if not isinstance(node, ast.Starred):
            found.append(evaluate(run, node, scope))
            continue
        value = evaluate(run, node.value, scope)
        try:
            found.extend(iterate(run, value))
        except TouchedError:
            run.may_raise(node)
            whole = False
    return found, whole


def _list(run: ProgramRun, node: ast.List, scope: NameScope) -> Any:
    found, whole = _elements(run, node.elts, scope)
    if not whole:
        run.lose(found)
    return found


def _tuple(run: ProgramRun, node: ast.Tuple, scope: NameScope) -> Any:
    found, whole = _elements(run, node.elts, scope)
    return tuple(found) if whole else Unknown("array", named(node), like=found[0] if found else None)


def _set(run: ProgramRun, node: ast.Set, scope: NameScope) -> Any:
    found, whole = _elements(run, node.elts, scope)
    if not whole or not run.knows(*found):
        return Unknown("array", named(node))
    return native(run, set, found)


Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def _element(run: ProgramRun, node: Comprehension, inner: NameScope) -> Any:
    if isinstance(node, ast.DictComp):
        return evaluate(run, node.key, inner), evaluate(run, node.value, inner)
    return evaluate(run, node.elt, inner)


def _comprehension(run: ProgramRun, node: Comprehension, scope: NameScope) -> Any:
    first = evaluate(run, node.generators[0].iter, scope)
    inner = NameScope({}, scope.module, scope, COMPREHENSION)
    if isinstance(node, ast.GeneratorExp):
        if isinstance(first, Unknown):
            return _unknown_elements(run, node, inner)
        iterate(run, first)
        return Lazy(_watched_elements(run, node, first, inner), run.epoch)
    try:
        with run.without_forks():
            found = list(_generated(run, node.generators, first, inner, lambda: _element(run, node, inner)))
    except TouchedError:
        return _unknown_elements(run, node, NameScope({}, scope.module, scope, COMPREHENSION))
    if isinstance(node, ast.ListComp):
        return found
    if not run.knows(*(one[0] for one in found) if isinstance(node, ast.DictComp) else found):
        return _unknown_elements(run, node, NameScope({}, scope.module, scope, COMPREHENSION))
    return native(run, dict if isinstance(node, ast.DictComp) else set, found)


def _watched_elements(run: ProgramRun, node: ast.GeneratorExp, first: Any, inner: NameScope) -> Iterator[Any]:
    try:
        yield from _generated(run, node.generators, first, inner, lambda: _element(run, node, inner))
    except TouchedError:
        run.forget([node], inner)
        raise


def _unknown_elements(run: ProgramRun, node: Comprehension, inner: NameScope) -> Unknown:
    """Return a list of an unknown number of elements, with the shape of one, or an object of which nothing is known."""
    run.may_raise(node)
    run.forget([node], inner)
    if isinstance(node, ast.DictComp):
        return Unknown("object", named(node))
    for generator in node.generators:
        for name in ast.walk(generator.target):
            if isinstance(name, ast.Name):
                inner.names[name.id] = Unknown(name=name.id)
    return Unknown("array", named(node), like=_guarded(run, node.elt, inner))


def _generated(
    run: ProgramRun,
    generators: Sequence[ast.comprehension],
    source: Any,
    inner: NameScope,
    element: Callable[[], Any],
) -> Iterator[Any]:
    """Return the elements of a comprehension; its first source is evaluated already."""
    first, *others = generators
    if first.is_async:
        raise TouchedError
    for one in iterate(run, source):
        run.budget.spend()
        assign(run, first.target, one, inner)
        if not all(_surely(run, test, inner) for test in first.ifs):
            continue
        if others:
            yield from _generated(run, others, evaluate(run, others[0].iter, inner), inner, element)
        else:
            yield element()


def _surely(run: ProgramRun, test: ast.expr, scope: NameScope) -> bool:
    known = truth_of(run, evaluate(run, test, scope))
    if known is None:
        raise TouchedError
    return known


def assign(run: ProgramRun, target: ast.expr, value: Any, scope: NameScope) -> None:
    """Let a target stand for a value."""
    match target:
        case ast.Name(id=name):
            store(scope, name, value)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            _unpack(run, targets, value, scope, target)
        case ast.Starred(value=inner):
            assign(run, inner, value, scope)
        case ast.Subscript():
            held, place = evaluate(run, target.value, scope), evaluate(run, target.slice, scope)
            set_item(run, held, place, value, target)
        case ast.Attribute(value=holder, attr=name):
            set_attribute(run, evaluate(run, holder, scope), name, value, target)
        case _:
            raise TooMuchError


def _unpack(
    run: ProgramRun, targets: Sequence[ast.expr], value: Any, scope: NameScope, node: ast.expr
) -> None:
    try:
        found = list(iterate(run, value))
    except TouchedError:
        run.may_raise(node)
        for one in targets:
            assign(run, one, Unknown(name=named(one)), scope)
        return
    starred = next((place for place, one in enumerate(targets) if isinstance(one, ast.Starred)), -1)
    missing = len(found) - len(targets)
    if missing < (-1 if starred >= 0 else 0) or (missing > 0 and starred < 0):
        raise ProgramException(ValueError, (_unpacked(len(found), len(targets), starred),))
    if starred >= 0:
        after = len(targets) - starred - 1
        end = len(found) - after
        found = [*found[:starred], found[starred:end], *found[end:]]
    for one, given in zip(targets, found, strict=True):
        assign(run, one, given, scope)


def _unpacked(found: int, wanted: int, starred: int) -> Any:
    if found > wanted:
        return Unknown("string", "the error", sure=True)
    least = f"at least {wanted - 1}" if starred >= 0 else str(wanted)
    return f"not enough values to unpack (expected {least}, got {found})"


def set_item(run: ProgramRun, held: Any, place: Any, value: Any, node: ast.AST) -> None:
    """Put a value into a container."""
    if not (type(held) in CONTAINERS and run.knows(place)):
        run.writes(held, place, getattr(node, "slice", node))
    if type(held) in CONTAINERS:
        run.changes(held)
        if run.holds(held) and run.knows(place) and (not isinstance(place, slice) or run.knows(value)):
            if not hasattr(held, "__setitem__"):
                raise failing(TypeError)
            if isinstance(place, slice):
                pay(run, native_functions.of_operation(ast.Add, held, value))
            native(run, operator.setitem, held, place, value)
            return
        if type(held) in MAPPINGS and run.knows(place):
            held[place] = value
        elif type(held) is list and len(held) < _FEW:
            held.append(value)
        run.lose(held)
    run.may_raise(node)


def set_attribute(run: ProgramRun, held: Any, name: str, value: Any, node: ast.AST) -> None:
    """Set an attribute of an object."""
    if (
        isinstance(held, ClassInstance)
        and held.cls.kind in {"plain", "dataclass"}
        and "__setattr__" not in held.cls.scope.names
    ):
        run.changes(held)
        held.fields[name] = value
        return
    module = run.modules(held.path) if isinstance(held, External) else None
    if module is not None:
        module.bind(name, value)
        return
    if isinstance(held, (ClassInstance, Class)):
        run.lose_all([held])
        if isinstance(held, Class):
            run.changes(held)
            held.scope.names[name] = Unknown(name=name)
    run.may_raise(node)


def _compare(run: ProgramRun, node: ast.Compare, scope: NameScope) -> Any:
    match node:
        case ast.Compare(
            left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]
        ):
            return False
    left = evaluate(run, node.left, scope)
    unknown = False
    for place, (op, comparator) in enumerate(zip(node.ops, node.comparators, strict=True)):
        right = _guarded(run, comparator, scope) if unknown else evaluate(run, comparator, scope)
        known = _compared(run, op, left, right, node)
        if known is None:
            unknown = True
        elif not known:
            return Unknown("boolean", named(node), sure=True, truth=False) if unknown else False
        elif unknown and place == len(node.ops) - 1:
            return Unknown("boolean", named(node), sure=True)
        left = right
    return Unknown("boolean", named(node), sure=True) if unknown else True


def _compared(run: ProgramRun, op: ast.cmpop, left: Any, right: Any, node: ast.Compare) -> bool | None:
    """Return whether a comparison holds; None where that is not known."""
    if isinstance(op, (ast.Is, ast.IsNot)):
        same = _identical(left, right)
        return same if same is None or isinstance(op, ast.Is) else not same
    if isinstance(op, (ast.In, ast.NotIn)):
        found = _contains(run, right, left, node)
        return found if found is None or isinstance(op, ast.In) else not found
    if isinstance(left, External) and isinstance(right, External) and isinstance(op, (ast.Eq, ast.NotEq)):
        same = _identical(left, right)
        return same if same is None or isinstance(op, ast.Eq) else not same
    if run.knows(left, right):
        work = native_functions.COMPARED[type(op).__name__]
        return bool(native(run, work, left, right))
    numbers = _is_number(left) and _is_number(right)
    if not numbers and not isinstance(op, (ast.Eq, ast.NotEq)):
        run.may_raise(node)
    return None


def _identical(left: Any, right: Any) -> bool | None:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, enum.Enum) and not isinstance(other, Unknown):
            return one is other
        if isinstance(one, Unknown):
            if other is None and one.sure and one.kind not in {"", "null"}:
                return False
            return None
        if one is None or type(one) is bool:
            return one is other
    if {type(left), type(right)} & MUTABLE or (type(left) is type(right) is ClassInstance):
        return left is right
    if isinstance(left, External) and isinstance(right, External) and left.path.startswith("builtins."):
        return left.path == right.path
    return None


def _contains(run: ProgramRun, held: Any, one: Any, node: ast.AST) -> bool | None:
    if isinstance(held, Lazy):
        if type(held.source) is not type({}.keys()) or not run.fresh(held):
            raise TouchedError
        return bool(native(run, held.source.__contains__, one)) if run.knows(one) else None
    if type(held) in MAPPINGS and run.holds(held) and run.knows(one):
        return bool(native(run, held.__contains__, one))
    if run.knows(held, one):
        pay(run, native_functions.of_search(held, one) * _OF_TEXT)
        return bool(native(run, lambda: one in held))
    if type(held) in {list, tuple} and run.holds(held) and not held:
        return False
    if type(held) not in CONTAINERS:
        run.may_raise(node)
    return None


def _formatted(run: ProgramRun, node: ast.FormattedValue, scope: NameScope) -> Any:
    value = evaluate(run, node.value, scope)
    spec = evaluate(run, node.format_spec, scope) if node.format_spec is not None else ""
    return as_text(run, value, spec, node.conversion, node)


_CONVERSIONS: Mapping[int, Callable[[object], str]] = {115: str, 114: repr, 97: ascii}


def as_text(run: ProgramRun, value: Any, spec: Any, conversion: int, node: ast.AST) -> Any:
    """Return how a value is written into a text."""
    if isinstance(value, ProgramException):
        value = value.text() if conversion in {-1, 115} else Unknown("string", "the error", sure=True)
    if type(spec) is str and run.knows(value) and _is_own_format(value, spec):
        pay(run, native_functions.of_format(value, spec))
        ordered(run, value)
        converted = _CONVERSIONS.get(conversion)
        return native(run, format, native(run, converted, value) if converted else value, spec)
    if spec == "" and isinstance(value, Unknown) and conversion in {-1, 115}:
        if not value.sure:
            run.certain = run.certain and value.kind != ""
        return (
            value
            if value.kind == "string" and value.sure
            else Unknown("string", value.name or named(node), sure=True, parts=(value,))
        )
    if not (isinstance(value, Unknown) and value.is_number):
        run.may_raise(node)
    return Unknown("string", named(node).strip("f'\"{}"), sure=True)


def _is_own_format(value: Any, spec: str) -> bool:
    """Return whether a value is formatted with nothing that the process has: a date's form may ask for its time zone."""
    return not isinstance(value, (dt.date, dt.time)) or native_functions.is_date_form(spec)


def attribute(run: ProgramRun, value: Any, name: str, node: ast.AST) -> Any:
    """Return an attribute of a value."""
    special = _ATTRIBUTES.get(type(value))
    if special is not None:
        return special(run, value, name, node)
    if isinstance(value, enum.Enum):
        return _member_attribute(run, value, name, node)
    if isinstance(value, Context) and name in {"state", "actions"}:
        return value.state if name == "state" else value.actions
    if isinstance(value, Context) and name == "save_artifact":
        run.certain = False
        return Bound(value, name)
    if name == "to_dict" and value is run.state and type(value) is dict:
        return Bound(value, "copy")
    if (
        isinstance(value, ProgramException)
        and name == "args"
        and run.knows(value.args_given)
        and value.cls is not None
    ):
        return value.args_given
    if type(value) in KNOWN and native_functions.has_method(value, name):
        return Bound(value, name)
    is_absent = type(value) in SCALARS and not name.startswith("_") and not hasattr(type(value), name)
    if native_functions.has_field(value, name) or is_absent:
        return native(run, getattr, value, name)
    if isinstance(value, Unknown) and type(value.like) is dict and name in value.like:
        return Unknown(name=named(node))
    if isinstance(value, (Context, Func)):
        run.certain = False
    elif not isinstance(value, Unknown) or not value.sure:
        run.may_raise(node)
    return (
        Unknown(name=named(node))
        if not isinstance(value, Unknown)
        else Unknown(name=named(node), like=Bound(value, name))
    )


def _external_attribute(run: ProgramRun, value: External, name: str, _: ast.AST) -> Any:
    path, module = f"{value.path}.{name}", run.modules(value.path)
    if module is not None and run.modules(path) is None:
        if name in module.names:
            return module.names[name]
        raise TouchedError
    if path in native_functions.CONSTANTS:
        return native_functions.CONSTANTS[path]
    return value.path.rpartition(".")[2] if name == "__name__" else External(path)


def _record_attribute(run: ProgramRun, value: ClassInstance, name: str, node: ast.AST) -> Any:
    if name in value.fields:
        return value.fields[name]
    owner, found = inherited(value.cls, name)
    if isinstance(found, (Func, Decorated)):
        return _bound(run, found, value, owner, node)
    if owner is not None:
        return found if value.whole else Unknown(name=named(node), like=found)
    if value.cls.kind in {"model", "dataclass"} and name in {
        "model_dump",
        "dict",
        "json",
        "model_dump_json",
        "model_copy",
        "copy",
    }:
        return Bound(value, name)
    if (
        value.cls.kind == "plain"
        and value.whole
        and not name.startswith("__")
        and not any(isinstance(base, (External, Unknown)) for cls in family(value.cls) for base in cls.bases)
    ):
        raise failing(AttributeError)
    run.may_raise(node)
    return Unknown(name=named(node))


def _bound(run: ProgramRun, found: Func | Decorated, value: Any, cls: Class, node: ast.AST) -> Any:
    """Return a function of a class as an object of it has it: what a property gives, and a method that knows the object."""
    function = found.function if isinstance(found, Decorated) else found
    kind = found.kind if isinstance(found, Decorated) else ""
    if kind == "staticmethod":
        return function
    receiver = value
    if kind == "classmethod":
        receiver = (
            value if isinstance(value, Class) else value.cls if isinstance(value, ClassInstance) else cls
        )
    method = Func(function.node, function.scope, function.defaults, receiver, bound=True, cls=cls)
    return CALLS[0](run, method, [], {}, node, function.scope) if kind == "property" else method


CALLS: list[Callable[..., Any]] = []
"""How a call is evaluated; the module that knows it builds on this one."""


def _super_attribute(run: ProgramRun, value: Super, name: str, node: ast.AST) -> Any:
    for above in value.cls.bases:
        owner, found = (above, None) if not isinstance(above, Class) else inherited(above, name)
        if isinstance(found, (Func, Decorated)):
            return _bound(run, found, value.receiver, owner, node)
    raise TouchedError


def _member_attribute(run: ProgramRun, value: enum.Enum, name: str, node: ast.AST) -> Any:
    """Return an attribute of a member of an enumeration: a method of the program's class, or what Python gives it."""
    scope = run.modules(type(value).__module__)
    cls = None if scope is None else scope.names.get(type(value).__qualname__)
    if not isinstance(cls, Class) or cls.real is not type(value):
        raise TouchedError
    owner, found = inherited(cls, name)
    if isinstance(found, (Func, Decorated)):
        return _bound(run, found, value, owner, node)
    if native_functions.has_method(value, name):
        return Bound(value, name)
    if not native_functions.has_field(value, name):
        raise TouchedError
    return native(run, getattr, value, name)


def family(cls: Class) -> Iterator[Class]:
    """Return a class and those of the program that it is derived from, nearest first."""
    yield cls
    for base in cls.bases:
        if isinstance(base, Class):
            yield from family(base)


def inherited(cls: Class, name: str) -> tuple[Any, Any]:
    """Return the class, of one and those that it is derived from, that has a name of its own, and what it stands for; None twice where none has."""
    return next(
        ((one, one.scope.names[name]) for one in family(cls) if name in one.scope.names), (None, None)
    )


def _class_attribute(run: ProgramRun, value: Class, name: str, node: ast.AST) -> Any:
    if value.real is not None and name in value.real.__members__:
        return value.real[name]
    if value.real is not None and name == "__members__":
        return dict(value.real.__members__)
    owner, found = inherited(value, name)
    if owner is not None:
        if isinstance(found, Decorated) and found.kind != "property":
            return _bound(run, found, value, owner, node)
        is_open = owner.kind == "other" or isinstance(found, Decorated)
        return Unknown(name=named(node), like=found) if is_open else found
    if name == "__name__":
        return value.name
    if value.kind == "model" and name in {"model_validate", "parse_obj"}:
        return Bound(value, name)
    run.may_raise(node)
    return Unknown(name=named(node))


def _kept_attribute(_: ProgramRun, value: CompiledPattern | Match, name: str, __: ast.AST) -> Any:
    if name not in value.methods:
        if isinstance(value, Match):  # something else is done with it
            value.methods = frozenset()
        raise TouchedError
    return Bound(value, name)


_ATTRIBUTES: Mapping[type, Callable[..., Any]] = {
    External: _external_attribute, ClassInstance: _record_attribute, Class: _class_attribute, Super: _super_attribute, CompiledPattern: _kept_attribute, Match: _kept_attribute,
    Awaitable: lambda _, value, name, __: Bound(value, name),
}  # fmt: skip


def item(run: ProgramRun, held: Any, place: Any, node: ast.AST) -> Any:
    """Return what stands at a place of a container."""
    source = _with_places(run, held, place) if run.knows(place) else None
    if source is not None:
        if type(held) is defaultdict and not native(run, held.__contains__, place):
            run.changes(held)
        try:
            return native(run, operator.getitem, source, place)
        except ProgramException:
            if not run.supposing or type(held) not in CONTAINERS:
                raise
            return Unknown(name=named(node), like=like_of(run, held, place))
    if not isinstance(held, (External, Class, Func)):
        run.may_raise(node)
        return Unknown(name=named(node), like=like_of(run, held, place))
    return Unknown(name=named(node))


def _with_places(run: ProgramRun, held: Any, place: Any) -> Any:
    """Return the value of Python in which something stands at a known place; None where it is not known."""
    match held:
        case Match() if "group" in held.methods:
            return held.found
        case Class(real=type() as members) if type(place) is str:
            return members
        case ClassInstance(whole=True) if held.cls.kind == "namedtuple" and type(place) in {int, slice}:
            return tuple(held.fields.values())
    is_text = type(held) in {str, bytes, range} or (isinstance(held, enum.Enum) and isinstance(held, str))
    return held if is_text or (run.holds(held) and hasattr(held, "__getitem__")) else None


def like_of(run: ProgramRun, held: Any, place: Any) -> Any:
    """Return a value of the shape that an element of a container probably has."""
    source = held.like if isinstance(held, Unknown) else held
    if isinstance(held, Unknown) and held.kind == "array" and type(place) is int:
        return source
    if type(source) in MAPPINGS:
        if run.knows(place) and place.__hash__ is not None and place in source:
            return source[place]
        return next(iter(source.values()), None)
    return source[0] if type(source) in {list, tuple} and source else None


def _slice(run: ProgramRun, node: ast.Slice, scope: NameScope) -> Any:
    parts = [
        None if one is None else evaluate(run, one, scope) for one in (node.lower, node.upper, node.step)
    ]
    if not run.knows(*parts):
        return Unknown(name=named(node))
    return slice(*parts)


def awaited(run: ProgramRun, value: Any, node: ast.AST) -> Any:
    """Return what waiting for a value gives."""
    if isinstance(value, Awaitable):
        return value.run()
    if isinstance(value, Unknown):
        run.may_raise(node)
        return Unknown(value.kind, named(node), like=value.like)
    if value is None:
        return None
    raise TouchedError


EVALUATORS: dict[type[ast.expr], Evaluator] = {
    ast.Constant: lambda _, node, __: node.value, ast.Name: lambda run, node, scope: load(run, node.id, scope),
    ast.Lambda: lambda run, node, scope: Func(node, scope, defaults_of(run, node.args, scope)),
    ast.IfExp: lambda run, node, scope: evaluate(run, node.body if truth(run, node.test, scope) else node.orelse, scope),
    ast.JoinedStr: lambda run, node, scope: joined(run, [evaluate(run, one, scope) for one in node.values]),
    ast.Attribute: lambda run, node, scope: attribute(run, evaluate(run, node.value, scope), node.attr, node),
    ast.Subscript: lambda run, node, scope: item(run, evaluate(run, node.value, scope), evaluate(run, node.slice, scope), node),
    ast.Await: lambda run, node, scope: awaited(run, evaluate(run, node.value, scope), node),
    ast.BoolOp: _bool_op, ast.NamedExpr: _named_expr, ast.BinOp: _bin_op, ast.UnaryOp: _unary_op, ast.Dict: _dict, ast.Set: _set, ast.List: _list,
    ast.Tuple: _tuple, ast.ListComp: _comprehension, ast.SetComp: _comprehension, ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension, ast.Compare: _compare, ast.FormattedValue: _formatted, ast.Slice: _slice,
}  # fmt: skip
"""How a kind of expression is evaluated; the module that knows calls builds on this one, and adds them."""
