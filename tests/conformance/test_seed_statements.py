"""Holds the four documents to what the product does: each statement of `seed_statements.csv` has a test that proves it, or a reason why not."""

from __future__ import annotations

import ast
import csv
from collections import Counter
from functools import cache
from pathlib import Path

from simulator.base.python_source import parsed
from tests.simulator.base.rows import for_each

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("seed_statements.csv")
ROWS = [*csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines())]
HOLD = {
    "environment-simulation": 119,
    "simulator-run-data-model": 124,
    "user-simulation": 78,
    "strands-tool-simulation": 88,
}
"""How many statements of each document hold at least."""
LONGEST = 120


@cache
def named_in(path: str) -> dict[str, bool]:
    """Return the tests of a file by their names, and whether a mark of each, or of the file, may skip it."""
    tree = parsed((ROOT / path).read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    whole = " ".join(
        ast.unparse(node)
        for node in tree.body
        if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node)
    )
    marks = {one.name: " ".join([whole, *map(ast.unparse, one.decorator_list)]) for one in functions}
    return {name: any(word in text for word in ("skip", "xfail")) for name, text in marks.items()}


@for_each("seed", HOLD)
def test_each_statement_is_proved_by_tests_that_run(seed: str) -> None:
    """Each named test is a function of its file, and is not skipped; only what departs may have none."""
    for row in ROWS:
        if row["seed"] != seed:
            continue
        assert row["test"] or row["verdict"] == "departs", row["statement"]
        for test in row["test"].split():
            path, _, name = test.partition("::")
            skipped = named_in(path).get(name)
            assert name.startswith("test_"), test
            assert skipped is not None, f"{test} is not there"
            assert not skipped, f"{test} is skipped"


def test_each_row_is_whole() -> None:
    """It has a document, a section and a short statement, once; it holds without a reason, or departs with one."""
    seen = Counter((row["seed"], row["section"], row["statement"]) for row in ROWS)
    assert [key for key, number in seen.items() if number > 1] == []
    for row in ROWS:
        assert row["seed"] in HOLD
        assert row["section"]
        assert 0 < len(row["statement"]) <= LONGEST, row["statement"]
        assert row["verdict"] in {"holds", "departs"}, row["statement"]
        assert bool(row["reason"].strip()) == (row["verdict"] == "departs"), row["statement"]


def test_no_statement_that_held_is_lost() -> None:
    """Of each document as many statements hold as before, or more."""
    holds = Counter(row["seed"] for row in ROWS if row["verdict"] == "holds")
    assert {seed: holds[seed] for seed in HOLD if holds[seed] < HOLD[seed]} == {}
