"""Executes the statements of a program that is read, and checks whether a value fits the pattern of a `case`."""

from __future__ import annotations

import ast
import itertools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from simulator.environment.conventions import is_error
from simulator.environment.evidence import native_functions
from simulator.environment.evidence.call_evaluation import ReturnSignal, call
from simulator.environment.evidence.code_names import scan
from simulator.environment.evidence.expression_evaluation import (
    assign,
    defaults_of,
    evaluate,
    family,
    item,
    iterate,
    load,
    native,
    operate,
    ordered,
    set_attribute,
    set_item,
    store,
    truth,
    truth_of,
)
from simulator.environment.evidence.program_classes import CLASS, class_statement
from simulator.environment.evidence.program_run import ProgramRun, TryBlock, forget_name, named
from simulator.environment.evidence.unknown_values import (
    CONTAINERS,
    KNOWN,
    MAPPINGS,
    SCALARS,
    Class,
    Decorated,
    External,
    Func,
    NameScope,
    ProgramException,
    TooMuchError,
    TouchedError,
    Unknown,
)

MOST_ROUNDS = 5_000
"""So many rounds of a loop are followed."""


class BreakSignal(Exception):  # noqa: N818 - the program leaves a loop
    """A loop is left."""


class ContinueSignal(Exception):  # noqa: N818 - as above
    """The next round of a loop begins."""


def execute(run: ProgramRun, body: Sequence[ast.stmt], scope: NameScope) -> None:
    """Execute statements in their order.

    Raises:
        ReturnSignal: The function returns.
        Raised: The program raises.
        TooMuchError: It takes more than the budget holds.
    """
    for statement in body:
        run.budget.spend()
        work = _WORK.get(type(statement))
        if work is None:
            raise TooMuchError
        if not run.loading or scope.parent is not None or run.depth:
            _attempted(run, work, statement, scope)
            continue
        try:
            work(run, statement, scope)
        except (ProgramException, TouchedError):
            run.forget([statement], scope)


def _attempted(
    run: ProgramRun, work: Callable[[ProgramRun, Any, NameScope], None], statement: ast.stmt, scope: NameScope
) -> None:
    try:
        work(run, statement, scope)
    except ProgramException as raised:
        raised.line = raised.line or statement.lineno
        raise
    except TouchedError:
        run.may_raise(statement)
        run.forget([statement], scope)
        if scan([statement]).leaves:
            raise


def _assign(run: ProgramRun, node: ast.Assign, scope: NameScope) -> None:
    value = evaluate(run, node.value, scope)
    for target in node.targets:
        assign(run, target, _called(value, target), scope)


def _called(value: Any, target: ast.expr) -> Any:
    """Return a value; what is not known gets the name of its variable where it has none that says more."""
    if isinstance(value, Unknown) and isinstance(target, ast.Name) and not value.name:
        value.name = target.id
    return value


def _ann_assign(run: ProgramRun, node: ast.AnnAssign, scope: NameScope) -> None:
    if node.value is not None:
        assign(run, node.target, _called(evaluate(run, node.value, scope), node.target), scope)


def _aug_assign(run: ProgramRun, node: ast.AugAssign, scope: NameScope) -> None:
    target = node.target
    if isinstance(target, ast.Name):
        before = load(run, target.id, scope)
        store(scope, target.id, _added(run, node, before, evaluate(run, node.value, scope)))
    elif isinstance(target, ast.Subscript):
        held, place = evaluate(run, target.value, scope), evaluate(run, target.slice, scope)
        before = item(run, held, place, target)
        set_item(run, held, place, _added(run, node, before, evaluate(run, node.value, scope)), target)
    else:
        held = evaluate(run, target.value, scope)
        before = evaluate(run, target, scope)
        set_attribute(
            run, held, target.attr, _added(run, node, before, evaluate(run, node.value, scope)), target
        )


def _added(run: ProgramRun, node: ast.AugAssign, before: Any, more: Any) -> Any:
    if type(before) in CONTAINERS:
        run.changes(before)
        if isinstance(node.op, ast.Add) and type(before) is list and run.holds(before):
            try:
                before.extend(list(iterate(run, more)))
            except TouchedError:
                run.may_raise(node)
                run.lose(before)
            return before
        ordered(run, more)
    if (
        isinstance(before, Unknown)
        and before.kind == ""
        and before.sure is False
        and type(before.like) in CONTAINERS
    ):
        run.lose_all([before])
    return operate(run, type(node.op), before, more, node, native_functions.IN_PLACE)


def _return(run: ProgramRun, node: ast.Return, scope: NameScope) -> None:
    value = None if node.value is None else evaluate(run, node.value, scope)
    run.last_line, run.handled = node.lineno, bool(run.handling)
    raise ReturnSignal(_reported(value) if run.handling and run.holds(value) else value)


def _reported(value: Any) -> Any:
    """Return what is returned where something has failed: an error of which nothing is known is a text, and not nothing."""
    if type(value) is not dict:
        return value
    return {
        key: replace(one, kind="string")
        if isinstance(one, Unknown) and not one.kind and is_error({key: True})
        else one
        for key, one in value.items()
    }


def _for(run: ProgramRun, node: ast.For, scope: NameScope) -> None:
    source = evaluate(run, node.iter, scope)
    try:
        found = iterate(run, source)
    except TouchedError:
        run.may_raise(node.iter)
        _unknown_rounds(run, node, scope, _element_of(source))
        return
    _loop(run, node, scope, found, _element_of(source))


def _while(run: ProgramRun, node: ast.While, scope: NameScope) -> None:
    _loop(run, node, scope, _tests(run, node, scope), None)


def _tests(run: ProgramRun, node: ast.While, scope: NameScope) -> Iterator[None]:
    while True:
        with run.without_forks():
            known = truth_of(run, evaluate(run, node.test, scope))
        if known is None:
            run.certain = False
            raise TouchedError
        if not known:
            return
        yield


def _loop(
    run: ProgramRun, node: ast.For | ast.While, scope: NameScope, rounds: Iterator[Any], element: Any
) -> None:
    """Go through a loop; `rounds` gives what begins a round, `element` has the shape of that."""
    for number in itertools.count():
        try:
            one = next(rounds)
        except StopIteration:
            break
        except TouchedError:
            _unknown_rounds(run, node, scope, element)
            return
        if number >= MOST_ROUNDS:
            raise TooMuchError
        try:
            if isinstance(node, ast.For):
                assign(run, node.target, one, scope)
            with run.one_round():
                execute(run, node.body, scope)
        except BreakSignal:
            return
        except ContinueSignal:
            continue
    execute(run, node.orelse, scope)


def _element_of(source: Any) -> Any:
    """Return a value of the shape of an element."""
    found = source.like if isinstance(source, Unknown) else source
    if isinstance(source, Unknown) and source.kind == "array":
        return found
    if type(found) in {list, tuple} and found:
        return found[0]
    return next(iter(found), None) if type(found) in MAPPINGS else None


def _async_for(run: ProgramRun, node: ast.AsyncFor, scope: NameScope) -> None:
    source = evaluate(run, node.iter, scope)
    run.may_raise(node.iter)
    run.lose_all([source])
    _unknown_rounds(run, node, scope, _element_of(source))


def _unknown_rounds(
    run: ProgramRun, node: ast.For | ast.AsyncFor | ast.While, scope: NameScope, element: Any
) -> None:
    """Go once through a loop of an unknown number of rounds, as any of them may be, and then past it."""
    if run.loading or run.unforked:
        raise TouchedError
    parts: list[ast.AST] = [
        *_staying(tuple(node.body)),
        node.test if isinstance(node, ast.While) else node.target,
    ]
    run.forget(parts, scope)
    source = (
        named(node.test) if isinstance(node, ast.While) else f"{named(node.target)} in {named(node.iter)}"
    )
    if run.decide(f"for some {source}" if not isinstance(node, ast.While) else f"while {source}", ""):
        if not isinstance(node, ast.While):
            for one in ast.walk(node.target):
                if isinstance(one, ast.Name):
                    store(scope, one.id, Unknown(name=one.id, like=element if one is node.target else None))
        left = False
        try:
            execute(run, node.body, scope)
        except BreakSignal:
            left = True
        except ContinueSignal:
            pass
        run.forget(parts, scope)
        if left:
            return
    execute(run, node.orelse, scope)


@lru_cache(maxsize=4_096)
def _staying(block: tuple[ast.stmt, ...]) -> tuple[ast.stmt, ...]:
    """Return what a round of a loop may have done after which another follows: nothing of a branch that ends with a `return`."""
    goes_on = any(isinstance(one, (ast.Break, ast.Continue)) for each in block for one in ast.walk(each))
    if block and isinstance(block[-1], ast.Return) and not goes_on:
        return ()
    return tuple(
        ast.copy_location(ast.If(one.test, [*_staying(tuple(one.body))], [*_staying(tuple(one.orelse))]), one)
        if isinstance(one, ast.If)
        else one
        for one in block
    )


def _with(run: ProgramRun, node: ast.With | ast.AsyncWith, scope: NameScope) -> None:
    match node.items:  # `contextlib.suppress` is a `try` that passes
        case [ast.withitem(ast.Call(ast.Name("suppress") | ast.Attribute(attr="suppress"), swallowed))]:
            handler = ast.ExceptHandler(ast.Tuple(swallowed, ast.Load()), None, [ast.Pass()])
            _try(run, ast.Try(node.body, [handler], [], [], lineno=node.lineno), scope)
            return
    for one in node.items:
        value = evaluate(run, one.context_expr, scope)
        is_pool = isinstance(value, External) and value.path == native_functions.POOL
        if not is_pool:
            run.lose_all([value])
            run.may_raise(one.context_expr)
        if one.optional_vars is not None:
            entered = value if is_pool else Unknown(name=named(one.optional_vars))
            assign(run, one.optional_vars, entered, scope)
    try:
        execute(run, node.body, scope)
    except ProgramException:
        run.certain = False
        raise


def _try(run: ProgramRun, node: ast.Try, scope: NameScope) -> None:
    try:
        _try_handlers(run, node, scope)
    except (ProgramException, ReturnSignal, BreakSignal, ContinueSignal):
        execute(run, node.finalbody, scope)
        raise
    execute(run, node.finalbody, scope)


def _try_handlers(run: ProgramRun, node: ast.Try, scope: NameScope) -> None:
    attempt = TryBlock([*node.body], scope)
    depth, before = len(run.attempts), {*scope.names}
    if node.handlers:
        run.attempts.append(attempt)
    try:
        if node.handlers and not run.loading and not run.tested(True, "", f"{named(node.body[0])} fails"):
            run.forget(node.body, scope)
            raise ProgramException(None)  # noqa: TRY301 - what the program would raise is handled as all else that it raises
        execute(run, node.body, scope)
    except ProgramException as raised:
        del run.attempts[depth:]
        _handle(run, node, raised, scope)
        return
    finally:
        del run.attempts[depth:]
    execute(run, node.orelse, scope)
    if run.loading and attempt.forked:
        # What it leaves where it fails is left by no other run of a module: a name that is bound there, too, may be either.
        either = scan(node.handlers).bound | (scan([*node.body, *node.orelse]).bound & before)
        for name in either & scope.names.keys():
            if type(scope.names[name]) in SCALARS:
                forget_name(scope, name)


def _handle(run: ProgramRun, node: ast.Try, raised: ProgramException, scope: NameScope) -> None:
    for handler in node.handlers:
        kinds = Unknown() if handler.type is None else evaluate(run, handler.type, scope)
        caught = True if handler.type is None else _catches(run, raised, kinds)
        if caught is None:
            caught = run.decide(f"it raises {named(handler.type)}" if handler.type is not None else "", "")
        if not caught:
            continue
        if handler.name is not None:
            store(scope, handler.name, raised)
        run.handling.append(raised)
        try:
            execute(run, handler.body, scope)
        finally:
            run.handling.pop()
            if handler.name is not None:
                scope.names.pop(handler.name, None)
        return
    raise raised


def _catches(run: ProgramRun, raised: ProgramException, kinds: Any) -> bool | None:
    """Return whether a handler is for an exception; None where that is not known."""
    every = kinds if type(kinds) is tuple else (kinds,)
    caught = _any_of(
        [_is_a(raised, native_functions.EXCEPTIONS.get(getattr(kind, "path", ""), kind)) for kind in every]
    )
    if caught is None:
        run.certain = False
    return caught


def _any_of(found: Sequence[bool | None]) -> bool | None:
    return True if True in found else None if None in found else False


def _is_a(raised: ProgramException, kind: Any) -> bool | None:
    if kind in {Exception, BaseException} if isinstance(kind, type) else False:
        return not (
            isinstance(raised.cls, type) and kind is Exception and not issubclass(raised.cls, Exception)
        )
    bases = [*family(raised.cls)] if isinstance(raised.cls, Class) else []
    if isinstance(kind, Class) and kind in bases:
        return True
    roots = [base for one in bases for base in one.bases if not isinstance(base, Class)]
    return _any_of([_is_derived(root, kind) for root in roots or [raised.cls]])


def _is_derived(root: Any, kind: Any) -> bool | None:
    """Return whether a class is derived from another; one of Python's own is from no library's, unless that is another name for it or a tuple."""
    if isinstance(root, type) and isinstance(kind, (type, Class)):
        return isinstance(kind, type) and issubclass(root, kind)
    path, _, name = getattr(kind, "path", "builtins.").rpartition(".")
    if not isinstance(root, type) or root.__module__ != "builtins" or path == "builtins":
        return None
    is_class = name[:1].isupper() and not name.isupper()
    return False if is_class and name not in {one.__name__ for one in root.__mro__} else None


def _raise(run: ProgramRun, node: ast.Raise, scope: NameScope) -> None:
    if node.exc is None:
        raise (
            run.handling[-1]
            if run.handling
            else ProgramException(RuntimeError, ("No active exception to reraise",), node.lineno)
        )
    value = evaluate(run, node.exc, scope)
    if node.cause is not None:
        evaluate(run, node.cause, scope)
    if isinstance(value, Class) or (isinstance(value, type) and issubclass(value, BaseException)):
        value = call(run, value, [], {}, node, scope)
    if not isinstance(value, ProgramException):
        run.certain = False
        value = ProgramException(None)
    value.line, value.written = node.lineno, True
    raise value


def _assert(run: ProgramRun, node: ast.Assert, scope: NameScope) -> None:
    if truth(run, node.test, scope):
        return
    message = () if node.msg is None else (evaluate(run, node.msg, scope),)
    raise ProgramException(AssertionError, message, node.lineno, written=True)


def _delete(run: ProgramRun, node: ast.Delete, scope: NameScope) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            load(run, target.id, scope)
            place = scope.outer.get(target.id, scope)
            place.bind(target.id, None)
            place.names.pop(target.id)
        elif isinstance(target, ast.Subscript):
            _delete_item(run, evaluate(run, target.value, scope), evaluate(run, target.slice, scope), target)
        else:
            raise TouchedError


def _delete_item(run: ProgramRun, held: Any, place: Any, node: ast.AST) -> None:
    run.changes(held)
    if type(held) in CONTAINERS and hasattr(held, "__delitem__") and run.holds(held) and run.knows(place):
        native(run, operator.delitem, held, place)
        return
    run.lose_all([held])
    run.may_raise(node)


def _function(run: ProgramRun, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: NameScope) -> None:
    around = scope.parent if scope.bound is CLASS and scope.parent is not None else scope
    made: Any = Func(node, around, defaults_of(run, node.args, scope))
    for decorator in reversed(node.decorator_list):
        made = _decorated(run, decorator, made, scope)
    store(scope, node.name, made)


def _decorated(run: ProgramRun, decorator: ast.expr, made: Any, scope: NameScope) -> Any:
    """Return what a decorator makes of a function. One that is not read makes something that is not known, but is mostly the function."""
    with run.without_forks():
        try:
            value = evaluate(run, decorator, scope)
            if isinstance(value, External) and value.path in _DECORATORS and isinstance(made, Func):
                return Decorated(value.path.rpartition(".")[2], made)
            if (
                isinstance(value, (External, Unknown))
                and getattr(value, "path", "") not in native_functions.DECORATORS
            ):
                return Unknown(name=named(decorator), like=made)
            return call(run, value, [made], {}, decorator, scope)
        except (ProgramException, TouchedError):
            return Unknown(name=named(decorator), like=made)


_DECORATORS = frozenset({"builtins.staticmethod", "builtins.classmethod", "builtins.property"})


def _import(run: ProgramRun, node: ast.Import, scope: NameScope) -> None:
    for one in node.names:
        run.modules(one.name)
        if one.asname is None:
            store(scope, one.name.partition(".")[0], External(one.name.partition(".")[0]))
        else:
            store(scope, one.asname, External(one.name))
    _risk(run, node, [one.name for one in node.names])


def _import_from(run: ProgramRun, node: ast.ImportFrom, scope: NameScope) -> None:
    name = _absolute(node, scope.module)
    for one in node.names:
        if one.name == "*":
            store(scope, "*", Unknown())
            continue
        module = run.modules(name)
        inner = None if module is not None and one.name in module.names else run.modules(f"{name}.{one.name}")
        if module is not None and one.name in module.names:
            found = module.names[one.name]
        elif inner is None and module is not None:
            found = Unknown(name=one.name)
        else:
            path = f"{name}.{one.name}"
            found = native_functions.CONSTANTS.get(path, External(path))
        store(scope, one.asname or one.name, found)
    _risk(run, node, [name])


def _risk(run: ProgramRun, node: ast.stmt, names: Sequence[str]) -> None:
    """Note that an import may fail, where it is not of Python's own modules."""
    if not run.attempts or all(
        name.partition(".")[0] in sys.stdlib_module_names or run.modules(name) for name in names
    ):
        return
    if run.loading:
        run.attempts[-1].forked = True
    else:
        run.may_raise(node)


def _absolute(node: ast.ImportFrom, module: str) -> str:
    if not node.level:
        return node.module or ""
    package = module.split(".")[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


def _match(run: ProgramRun, node: ast.Match, scope: NameScope) -> None:
    subject = evaluate(run, node.subject, scope)
    for case in node.cases:
        so = matches(run, case.pattern, subject, scope)
        if so is None:
            for name in scan([case.pattern]).bound:
                forget_name(scope, name)
            text = f"{named(node.subject)} is {named(case.pattern)}"
            so = run.decide(text, "")
        if so and (case.guard is None or truth(run, case.guard, scope)):
            execute(run, case.body, scope)
            return


def _break(_: ProgramRun, __: ast.Break, ___: NameScope) -> None:
    raise BreakSignal


def _continue(_: ProgramRun, __: ast.Continue, ___: NameScope) -> None:
    raise ContinueSignal


_WORK: dict[type[ast.stmt], Callable[[ProgramRun, Any, NameScope], None]] = {
    ast.Expr: lambda run, node, scope: evaluate(run, node.value, scope), ast.Assign: _assign, ast.AnnAssign: _ann_assign, ast.AugAssign: _aug_assign, ast.Return: _return,
    ast.If: lambda run, node, scope: execute(run, node.body if truth(run, node.test, scope) else node.orelse, scope), ast.For: _for, ast.AsyncFor: _async_for, ast.While: _while, ast.With: _with, ast.AsyncWith: _with, ast.Try: _try, ast.Raise: _raise,
    ast.Assert: _assert, ast.Delete: _delete, ast.FunctionDef: _function, ast.AsyncFunctionDef: _function, ast.ClassDef: class_statement,
    ast.Import: _import, ast.ImportFrom: _import_from, ast.Match: _match, ast.Pass: lambda *_: None, ast.Global: lambda *_: None,
    ast.Nonlocal: lambda *_: None, ast.Break: _break, ast.Continue: _continue,
}  # fmt: skip


# ---------------------------------------------------------------- patterns of a case


_KINDS = {f"builtins.{one.__name__}": one for one in (str, int, float, bool, list, dict, tuple, bytes)}


def matches(run: ProgramRun, pattern: ast.pattern, value: Any, scope: NameScope) -> bool | None:
    """Return whether a value fits a pattern, whose names then stand for its parts; None where that is not known."""
    match pattern:
        case ast.MatchAs(pattern=None, name=name):
            if name is not None:
                store(scope, name, value)
            return True
        case ast.MatchAs(pattern=ast.pattern() as inner, name=name):
            so = matches(run, inner, value, scope)
            if so and name is not None:
                store(scope, name, value)
            return so
        case ast.MatchOr(patterns=patterns):
            found = (matches(run, one, value, scope) for one in patterns)
            return next((so for so in found if so is not False), False)
        case ast.MatchValue(value=expected):
            wanted = evaluate(run, expected, scope)
            return bool(value == wanted) if run.knows(value, wanted) else None
        case ast.MatchSingleton(value=single):
            return None if isinstance(value, Unknown) else value is single
        case ast.MatchSequence(patterns=patterns):
            return _sequence(run, patterns, value, scope)
        case ast.MatchMapping(keys=keys, patterns=patterns, rest=None):
            return _mapping(run, keys, patterns, value, scope)
        case ast.MatchClass(cls=cls, patterns=[], kwd_patterns=[]):
            kind = evaluate(run, cls, scope)
            if isinstance(kind, External) and kind.path in _KINDS and type(value) in KNOWN:
                return isinstance(value, _KINDS[kind.path])
    return None


def _all_of(run: ProgramRun, pairs: Iterable[tuple[ast.pattern, Any]], scope: NameScope) -> bool | None:
    found = (matches(run, pattern, value, scope) for pattern, value in pairs)
    return next((so for so in found if not so), True)


def _sequence(run: ProgramRun, patterns: Sequence[ast.pattern], value: Any, scope: NameScope) -> bool | None:
    if type(value) in SCALARS or type(value) in MAPPINGS or type(value) in {set, frozenset}:
        return None if type(value) is range else False
    if (
        type(value) not in {list, tuple}
        or not run.holds(value)
        or any(isinstance(one, ast.MatchStar) for one in patterns)
    ):
        return None
    if len(value) != len(patterns):
        return False
    return _all_of(run, zip(patterns, value, strict=True), scope)


def _mapping(
    run: ProgramRun, keys: Sequence[ast.expr], patterns: Sequence[ast.pattern], value: Any, scope: NameScope
) -> bool | None:
    if type(value) in SCALARS or type(value) in CONTAINERS - MAPPINGS:
        return False
    found = [evaluate(run, one, scope) for one in keys]
    if type(value) not in MAPPINGS or not run.holds(value) or not run.knows(*found):
        return None
    if not all(key in value for key in found):
        return False
    return _all_of(run, [(pattern, value[key]) for key, pattern in zip(found, patterns, strict=True)], scope)
