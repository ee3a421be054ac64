"""Draws mutants of some files: `python drawing.py ROOT SEED HOW_MANY FILE...` prints them as JSON.

Runs in an environment of its own, which has cosmic-ray and nothing of ours. First places are drawn, then one change for each: an operator
that can become ten others counts no more often than one that can become two. What says the same as before is no mutant: what stands in an annotation
alone, and `is` beside `==`.
"""

from __future__ import annotations

import ast
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

_ALIKE = frozenset({"Is_Eq", "Eq_Is", "IsNot_NotEq", "NotEq_IsNot"})


def operators() -> Iterator[tuple[str, Any]]:
    """Yield each kind of change that needs nothing to be said about it."""
    for name in sorted(operator_names()):
        kind = get_operator(name)
        if not kind.arguments() and name.partition("Operator_")[2] not in _ALIKE:
            yield name, kind()


def meaning(text: str) -> str | None:
    """Return what a module does, without its annotations; None for what is no Python."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(tree)


def places(text: str) -> dict[tuple[Any, ...], list[tuple[str, int]]]:
    """Return where a text can be changed, and how: the operator's name and the number of its occurrence."""
    nodes = list(ast_nodes(get_ast(text)))
    found: defaultdict[tuple[Any, ...], list[tuple[str, int]]] = defaultdict(list)
    for name, operator in operators():
        spots = [start for node in nodes for start, _ in operator.mutation_positions(node)]
        for occurrence, start in enumerate(spots):
            found[tuple(start)].append((name, occurrence))
    return dict(found)


def mutant(text: str, name: str, occurrence: int) -> str | None:
    """Return the changed text; None where that says the same, or nothing that Python could read."""
    changed = mutate_code(text, get_operator(name)(), occurrence)
    if changed is None or meaning(changed) in {None, meaning(text)}:
        return None
    return str(changed)


def draw(root: Path, seed: str, how_many: int, files: list[str]) -> list[dict[str, Any]]:
    """Return up to so many mutants, in the order of their places."""
    chance = random.Random(seed)  # noqa: S311 - a sample, no secret
    texts = {file: (root / file).read_text() for file in files}
    waiting = [(file, start, ways) for file in files for start, ways in sorted(places(texts[file]).items())]
    chance.shuffle(waiting)
    drawn: list[dict[str, Any]] = []
    for file, start, ways in waiting:
        if len(drawn) == how_many:
            break
        name, occurrence = chance.choice(ways)
        changed = mutant(texts[file], name, occurrence)
        if changed is not None:
            drawn.append({"file": file, "line": start[0], "change": name.partition("/")[2], "text": changed})
    return sorted(drawn, key=lambda each: (each["file"], each["line"]))


if __name__ == "__main__":
    where, with_seed, number, *named = sys.argv[1:]
    json.dump(draw(Path(where), with_seed, int(number), named), sys.stdout)
