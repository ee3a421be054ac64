"""The graph of the connections says what each tool does to which things, and shows names letter for letter."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.forms.dot_graph import DARK, LIGHT, MOST_EDGES, Edge, Palette, dot, graph_of, quoted
from simulator.environment.world.connections import Connections, ParameterUse, Produced, ToolRole

CONNECTIONS = Connections(
    uses=(
        ParameterUse(tool_name="refund", parameter="order_id", kind="order", use="reads"),
        ParameterUse(tool_name="refund", parameter="related_id", kind="order", use="reads"),
        ParameterUse(tool_name="cancel", parameter="order_id", kind="order", use="changes"),
    ),
    produces=(
        Produced(tool_name="refund", field="refund_id", kind="refund", creates=True),
        Produced(tool_name="find", field="orders[*].order_id", kind="order"),
        Produced(tool_name="cancel", field="order_id", kind="order"),
    ),
    roles=(
        ToolRole(tool_name="cancel", use="changes", kind="order"),
        ToolRole(tool_name="wipe", use="deletes", kind="customer"),
        ToolRole(tool_name="ping", use="reads"),
    ),
)


def test_edges_are_gathered_by_tool_kind_and_use() -> None:
    """Two parameters of one use are one edge that names both; a role, and ids that an answer repeats, are drawn only where nothing else is."""
    graph = graph_of(CONNECTIONS, ["ping"])
    assert set(graph.edges) == {
        Edge("refund", "order", "reads", ("order_id", "related_id")),
        Edge("cancel", "order", "changes", ("order_id",)),
        Edge("refund", "refund", "creates", ("refund_id",)),
        Edge("find", "order", "gives", ("orders[*].order_id",)),
        Edge("wipe", "customer", "deletes", ()),
    }
    assert "ping" in graph.tools


def test_a_filter_keeps_the_edges_of_its_names() -> None:
    """With a tool or a kind chosen, only their edges are drawn."""
    assert {edge.tool for edge in graph_of(CONNECTIONS, ["ping"], only=["order"]).edges} == {
        "refund",
        "cancel",
        "find",
    }
    only_ping = graph_of(CONNECTIONS, ["ping", "cancel"], only=["ping"])
    assert (only_ping.tools, only_ping.edges) == (("ping",), ())


def test_a_graph_has_an_end() -> None:
    """Of a very large agent the first edges are drawn, and the others are counted."""
    many = Connections(
        uses=tuple(
            ParameterUse(tool_name=f"t{n}", parameter="x", kind="thing", use="reads") for n in range(400)
        )
    )
    graph = graph_of(many)
    assert (len(graph.edges), graph.hidden) == (MOST_EDGES, 400 - MOST_EDGES)


def test_the_drawing_names_uses_in_words_and_in_colour() -> None:
    """A tool is a box, a kind an ellipse; what is read comes from the things, what is made goes to them."""
    drawn = dot(graph_of(CONNECTIONS))
    assert re.search(r'label="refund", shape="box"', drawn)
    assert re.search(r'label="order", shape="ellipse"', drawn)
    reads = LIGHT.uses["reads"]
    assert re.search(rf't0 -> k0 \[label="reads order_id, related_id", dir="back", color="{reads}"', drawn)
    creates = LIGHT.uses["creates"]
    assert re.search(rf'-> k\d \[label="creates refund_id", dir="forward", color="{creates}"', drawn)
    assert DARK.uses["reads"] in dot(graph_of(CONNECTIONS), DARK)


@given(st.text(max_size=60))
def test_no_name_gets_out_of_its_quotes(name: str) -> None:
    """Whatever a name holds, it is one DOT string, in which each printable letter stands for itself."""
    written = quoted(name or "x")
    assert re.fullmatch(r'"(?:[^"\\\n]|\\[\\"])*"', written)
    shown = html.unescape(re.sub(r"\\(.)", r"\1", written[1:-1]))
    assert set(shown) <= set(name or "x") | set("\u2026 \\u0123456789abcdef")


def test_hostile_names_are_letters() -> None:
    """An escape, an entity and a quote are shown as they were written."""
    assert quoted('a"];b [URL="javascript:x') == '"a\\"];b [URL=\\"javascript:x"'
    assert quoted("&lt;b&gt; \\N") == '"&amp;lt;b&amp;gt; \\\\N"'


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_words_can_be_read(palette: Palette) -> None:
    """Words and edges stand out from what is behind them by at least 4.5 to 1, in light and in dark."""
    for color in palette.uses.values():
        assert _contrast(color, palette.ground) >= 4.5
    assert _contrast(palette.text, palette.tool) >= 4.5
    assert _contrast(palette.text, palette.kind) >= 4.5


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: str) -> float:
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4) for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
