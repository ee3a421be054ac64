"""Checks whether a value fits the pattern of a `case`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from simulator.environment.evidence.expression_evaluation import evaluate, store
from simulator.environment.evidence.program_run import ProgramRun
from simulator.environment.evidence.unknown_values import (
    CONTAINERS,
    KNOWN,
    MAPPINGS,
    SCALARS,
    External,
    NameScope,
    Unknown,
)

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
            return _any_of(run, patterns, value, scope)
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


def _any_of(run: ProgramRun, patterns: Sequence[ast.pattern], value: Any, scope: NameScope) -> bool | None:
    for one in patterns:
        so = matches(run, one, value, scope)
        if so is not False:
            return so
    return False


def _all_of(run: ProgramRun, pairs: Sequence[tuple[ast.pattern, Any]], scope: NameScope) -> bool | None:
    for pattern, value in pairs:
        so = matches(run, pattern, value, scope)
        if not so:
            return so
    return True


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
    return _all_of(run, list(zip(patterns, value, strict=True)), scope)


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
