"""Tells which files of tests start nothing and play no agent: `pytest --quick`, or `make quick`, runs these alone.

A file is left out where it, a helper of the tests that it imports, or a `conftest.py` above it imports what starts a process, a server, a
browser or a page, or what plays agents (`STARTS`), or marks a test as starting something. The files are only read for that: what is left out is not
even imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STARTS = (
    "multiprocessing", "playwright", "socketserver", "streamlit.testing", "subprocess",
    "evalset.adk_runs", "simulator.Simulation", "simulator.kernel", "simulator.runtime", "tests.harness",
)  # fmt: skip
"""What stands for a process, a server, a browser, a page, or an agent that plays; with all below it."""
_MARKED = re.compile(r"\bmark\.(browser|process)\b")


def starts_nothing(file: Path) -> bool:
    """Return whether all tests of a file run in this process, without a page and without an agent."""
    above = [folder / "conftest.py" for folder in file.parents if ROOT / "tests" in folder.parents]
    return not any(_starts(each) for each in (file, *above))


@cache
def _starts(file: Path) -> bool:
    """Return whether a file, or a helper that it imports, starts something."""
    if not file.is_file():
        return False
    text = file.read_text()
    if _MARKED.search(text):
        return True
    helpers = set()
    for name in imported(ast.walk(ast.parse(text))):
        if any(name == start or name.startswith(f"{start}.") for start in STARTS):
            return True
        if name.startswith("tests."):
            helpers.add((ROOT / name.replace(".", "/")).with_suffix(".py"))
    return any(_starts(helper) for helper in helpers - {file})


def imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the modules that a file imports, here and in its functions."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
