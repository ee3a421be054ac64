"""Proves which parts of a module are picked as a tool's source, and that there is a limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.environment.evidence.sketch import FunctionSource, Module
from simulator.environment.prompts.tool_source import source_of_tool
from tests.simulator.base.rows import for_each

TEXT = '''"""Tools."""
import os
from elsewhere import helper

RATE = 2
TABLE: dict = {
    "a": RATE,
}
UNUSED = "nobody sees this"


@helper
def find(order_id):
    """Find an order."""
    return _row(order_id)


def _row(order_id):
    return TABLE[order_id]


class Desk:
    def close(self):
        return UNUSED

    method = lambda self: 3
'''


def code(name: str, line: int, text: str = TEXT, **held: int) -> FunctionSource:
    """Say where a function is written."""
    return FunctionSource(Module("shop/tools.py", text, "shop.tools"), name, line, held)


def test_a_function_comes_with_what_it_uses_in_the_order_of_the_file() -> None:
    """Directly or not; each part names file and line, and what is not used stays away."""
    source = source_of_tool(code("find", 12))
    assert [line for line in source.splitlines() if line.startswith("#")] == [
        "# shop/tools.py, line 5",
        "# shop/tools.py, line 6",
        "# shop/tools.py, line 12",
        "# shop/tools.py, line 18",
    ]
    assert '@helper\ndef find(order_id):\n    """Find an order."""\n    return _row(order_id)' in source
    assert 'TABLE: dict = {\n    "a": RATE,\n}' in source
    assert "nobody" not in source


@pytest.mark.parametrize(("name", "line"), [("close", 23), ("<lambda>", 26)])
def test_a_method_comes_with_its_class(name: str, line: int) -> None:
    """And so does a lambda with the statement that it stands in."""
    source = source_of_tool(code(name, line))
    assert "class Desk:" in source
    assert "nobody" in source


def test_what_was_given_from_outside_is_named() -> None:
    """A closure's variables are no part of its text."""
    assert source_of_tool(code("_row", 18, fee=3)).splitlines()[1] == "fee = 3"


@for_each("text", ["def find(", "x = 1\n" * 200_000, "(" * 10_000, "\0", ""])
def test_what_cannot_be_read_gives_nothing(text: str) -> None:
    """Half a module, a large one, a deep one: no text and no crash."""
    assert source_of_tool(code("find", 12, text)) == ""


@given(st.integers(0, 400))
def test_the_nearest_parts_are_kept_where_there_is_little_room(most: int) -> None:
    """The function itself is cut if need be; what is left out is said."""
    source = source_of_tool(code("find", 12), most)
    assert len(source) <= most + 120
    assert "nobody" not in source
    whole = source_of_tool(code("find", 12))
    assert source == whole or "left out" in source or "cut here" in source
