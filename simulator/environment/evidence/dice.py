"""Says of what a program draws by chance all that the code states: its kind, its bounds, what it is drawn from."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simulator.environment.evidence.expression_evaluation import JSON_KINDS
from simulator.environment.evidence.program_run import ProgramRun, named
from simulator.environment.evidence.unknown_values import External, Unknown

_SAME: Mapping[str, str] = {
    "secrets.choice": "choice", "secrets.randbelow": "randrange", "secrets.SystemRandom": "Random", "numpy.random.default_rng": "Random",
    "numpy.random.RandomState": "Random", "numpy.random.choice": "choice", "numpy.random.integers": "randrange",
    "numpy.random.normal": "gauss", "numpy.random.rand": "random", "numpy.random.randint": "randrange", "numpy.random.random": "random",
    "numpy.random.random_sample": "random", "numpy.random.seed": "seed", "numpy.random.shuffle": "shuffle", "numpy.random.uniform": "uniform",
}  # fmt: skip
"""What draws as a function of `random` does."""

_MOST = 1_000
"""So many values are told one by one."""


def dice_named(path: str) -> str:
    """Return which function of `random` draws as the one at a path does; empty text where none does."""
    return path.removeprefix("random.") if path.startswith("random.") else _SAME.get(path, "")


def drawn(run: ProgramRun, path: str, args: Sequence[Any], keywords: Mapping[str, Any], node: ast.AST) -> Any:
    """Return what a function gives that draws by chance: not known, with all that the code states of it."""
    name = dice_named(path)
    if name in {"Random", "SystemRandom", "seed"}:
        return None if name == "seed" else External("numpy.random" if path.startswith("numpy.") else "random")
    if run.knows(*args, *keywords.values()):
        values = [*args, *keywords.values()] if keywords.keys() <= {"k"} else []
        if name == "shuffle" and len(values) == 1 and type(values[0]) is list:
            run.changes(values[0])
            values[0][:] = [_one_of(values[0], node) for _ in values[0]]
            return None
        work = _STATED.get((name, len(values)))
        found = None if work is None else work(node, *values)
        if found is not None:
            return found
    run.lose_all([*args, *keywords.values()])
    run.may_raise(node)
    return Unknown(name=named(node))


def _between(kind: str, node: ast.AST, low: Any, high: Any) -> Unknown | None:
    types = {int} if kind == "integer" else {int, float}
    if type(low) not in types or type(high) not in types or (kind == "integer" and low > high):
        return None
    return Unknown(kind, named(node), sure=True, low=min(low, high), high=max(low, high))  # type: ignore[arg-type] # a kind


def _below(node: ast.AST, low: Any, high: Any) -> Unknown | None:
    return _between("integer", node, low, high - 1) if type(high) is int else None


def _one_of(values: Any, node: ast.AST) -> Any:
    if type(values) not in {list, tuple, str} or not values:
        return None
    kinds = {JSON_KINDS.get(type(one), "") for one in values}
    kind = next(iter(kinds)) if len(kinds) == 1 else ""
    sure = kind in {"string", "integer", "number", "boolean"}
    return Unknown(kind, named(node), sure=sure, choices=tuple(values), like=values[0])


def _several(values: Any, count: Any, node: ast.AST, *, each_once: bool = False) -> list[Any] | None:
    if type(values) not in {list, tuple, str} or type(count) is not int or not values:
        return None
    most = min(len(values), _MOST) if each_once else _MOST
    return [_one_of(values, node) for _ in range(count)] if 0 <= count <= most else None


_STATED: Mapping[tuple[str, int], Callable[..., Any]] = {
    ("random", 0): lambda node: _between("number", node, 0, 1),
    ("triangular", 0): lambda node: _between("number", node, 0, 1),
    ("uniform", 2): lambda node, low, high: _between("number", node, low, high),
    ("randint", 2): lambda node, low, high: _between("integer", node, low, high),
    ("randrange", 1): lambda node, high: _below(node, 0, high),
    ("randrange", 2): _below,
    ("gauss", 2): lambda node, *_: Unknown("number", named(node), sure=True),
    ("choice", 1): lambda node, values: _one_of(values, node),
    ("choices", 1): lambda node, values: _several(values, 1, node),
    ("choices", 2): lambda node, values, count: _several(values, count, node),
    ("sample", 2): lambda node, values, count: _several(values, count, node, each_once=True),
}
"""What is stated of a draw, by its function and how many values it is given."""
