"""Follows generator functions: as far as they are asked for, as Python does."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from simulator.environment.evidence.expression_evaluation import assign, evaluate, iterate, truth, truth_of
from simulator.environment.evidence.program_run import ProgramRun
from simulator.environment.evidence.unknown_values import NameScope, TooMuchError, TouchedError

_ENDS = (ast.Return, ast.Break, ast.Continue)


class _LeftSignal(Exception):  # noqa: N818 - a loop or the generator is left
    """What is left, by the kind of its statement."""

    def __init__(self, kind: type[ast.stmt]) -> None:
        super().__init__()
        self.kind = kind


def is_followed(node: ast.FunctionDef) -> bool:
    """Return whether a generator function is written in a way that can be followed."""
    return all(map(_is_plain, node.body))


def _is_plain(node: ast.stmt) -> bool:
    """Return whether each `yield` of a statement stands in a place from which it can be gone on."""
    if not _yields(node) and not _leaves(node):
        return True
    match node:
        case ast.Return(value=None) | ast.Break() | ast.Continue():
            return True
        case ast.Return(value=ast.expr() as value):
            return not _yields(value)
        case ast.Expr(value=ast.Yield() | ast.YieldFrom() as given):
            return given.value is None or not _yields(given.value)
        case ast.Assign(value=ast.Yield() as given):
            return given.value is None or not _yields(given.value)
        case ast.If(test=test, body=body, orelse=orelse) | ast.While(test=test, body=body, orelse=orelse):
            return not _yields(test) and all(map(_is_plain, [*body, *orelse]))
        case ast.For(iter=source, body=body, orelse=orelse):
            return not _yields(source) and all(map(_is_plain, [*body, *orelse]))
    return False


def _own(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        for one in ast.iter_child_nodes(node):
            yield from _own(one)


def _yields(node: ast.AST) -> bool:
    return any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in _own(node))


def _leaves(node: ast.AST) -> bool:
    return any(isinstance(one, _ENDS) for one in _own(node))


def elements(run: ProgramRun, node: ast.FunctionDef, scope: NameScope) -> Iterator[Any]:
    """Return what a call of a generator function gives, one at a time.

    Raises:
        TouchedError: How it goes on is not known: then nothing that it changes is known either.
    """
    try:
        yield from _body(run, node.body, scope)
    except _LeftSignal:
        return
    except TouchedError:
        run.forget(node.body, scope)
        run.forget_globals(scope)
        raise


def _body(run: ProgramRun, body: Sequence[ast.stmt], scope: NameScope) -> Iterator[Any]:
    for node in body:
        run.budget.spend()
        if not _yields(node) and not _leaves(node):
            run.execute(run, [node], scope)
            continue
        match node:
            case ast.Return() | ast.Break() | ast.Continue():
                if isinstance(node, ast.Return) and node.value is not None:
                    evaluate(run, node.value, scope)
                raise _LeftSignal(type(node))
            case ast.Expr(value=ast.YieldFrom(value=source)):
                yield from iterate(run, evaluate(run, source, scope))
            case ast.Expr(value=ast.Yield(value=value)) | ast.Assign(value=ast.Yield(value=value)):
                yield None if value is None else evaluate(run, value, scope)
                if isinstance(node, ast.Assign):
                    for target in node.targets:
                        assign(run, target, None, scope)
            case ast.If():
                yield from _body(run, node.body if truth(run, node.test, scope) else node.orelse, scope)
            case ast.For() | ast.While():
                yield from _loop(run, node, scope)
            case _:
                raise TooMuchError


def _loop(run: ProgramRun, node: ast.For | ast.While, scope: NameScope) -> Iterator[Any]:
    for _ in _rounds(run, node, scope):
        try:
            yield from _body(run, node.body, scope)
        except _LeftSignal as left:
            if left.kind is ast.Break:
                return
            if left.kind is ast.Return:
                raise
    yield from _body(run, node.orelse, scope)


def _rounds(run: ProgramRun, node: ast.For | ast.While, scope: NameScope) -> Iterator[None]:
    if isinstance(node, ast.For):
        for one in iterate(run, evaluate(run, node.iter, scope)):
            assign(run, node.target, one, scope)
            yield
        return
    while True:
        known = truth_of(run, evaluate(run, node.test, scope))
        if known is None:
            raise TouchedError
        if not known:
            return
        yield
