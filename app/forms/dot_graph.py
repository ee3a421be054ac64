"""Draws how the tools of an agent hang together as a graph in the DOT language; every name is quoted. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple, TypeAlias

from app.forms.safe_labels import literal
from simulator.environment.world.connections import Connections

EdgeUse: TypeAlias = Literal["reads", "gives", "creates", "changes", "deletes"]
"""What an edge tells: `gives` is a tool whose answers hold ids of things that it has not made."""

MOST_EDGES = 150
"""How many edges are drawn; more are no picture any more."""

_MOST_LETTERS = 48
_MOST_PLACES = 3
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})


class Palette(NamedTuple):
    """The colours of a graph: of words, of boxes, and of each use."""

    ground: str
    text: str
    tool: str
    kind: str
    line: str
    uses: dict[EdgeUse, str]


LIGHT = Palette(
    ground="#fdfdfd",
    text="#1c2030",
    tool="#e7ecfb",
    kind="#f3efe4",
    line="#8b93a7",
    uses={
        "reads": "#3451b2",
        "gives": "#5b6478",
        "creates": "#18794e",
        "changes": "#9a4a00",
        "deletes": "#b3261e",
    },
)
DARK = Palette(
    ground="#0e1117",
    text="#eceef5",
    tool="#232c46",
    kind="#37322a",
    line="#7d869c",
    uses={
        "reads": "#a9b8ff",
        "gives": "#b4bccd",
        "creates": "#6fd3a0",
        "changes": "#ffb26b",
        "deletes": "#ff9b94",
    },
)


class Edge(NamedTuple):
    """What one tool does to the things of one kind, through which of its parameters or fields."""

    tool: str
    kind: str
    use: EdgeUse
    places: tuple[str, ...]


class Graph(NamedTuple):
    """What is drawn. `hidden` counts the edges that are left out, because there are too many."""

    tools: tuple[str, ...]
    kinds: tuple[str, ...]
    edges: tuple[Edge, ...]
    hidden: int = 0


def graph_of(connections: Connections, tools: Collection[str] = (), *, only: Collection[str] = ()) -> Graph:
    """Gather the edges.

    Args:
        connections: How the tools hang together.
        tools: All tools that are known, those without a connection too.
        only: Names of tools and kinds; where there is one, only their edges are kept, and what is at their ends.
    """
    gathered: dict[tuple[str, str, EdgeUse], list[str]] = {}
    for tool, kind, use, place in _found(connections):
        gathered.setdefault((tool, kind, use), []).append(place)
    # An answer that repeats the id it was asked about tells nothing that the other edge does not.
    spoken = {(tool, kind) for tool, kind, use in gathered if use != "gives"}
    edges = [
        Edge(*key, tuple(filter(None, places)))
        for key, places in gathered.items()
        if key[2] != "gives" or key[:2] not in spoken
    ]
    if only:
        edges = [edge for edge in edges if edge.tool in only or edge.kind in only]
    drawn = edges[:MOST_EDGES]
    alone = [name for name in tools if not only or name in only]
    return Graph(
        tools=tuple(dict.fromkeys((*(edge.tool for edge in drawn), *alone))),
        kinds=tuple(dict.fromkeys(edge.kind for edge in drawn)),
        edges=tuple(drawn),
        hidden=len(edges) - len(drawn),
    )


def _found(connections: Connections) -> Iterator[tuple[str, str, EdgeUse, str]]:
    ends = set()
    for use in connections.uses:
        ends.add((use.tool_name, use.kind))
        yield use.tool_name, use.kind, use.use, use.parameter
    for produced in connections.produces:
        ends.add((produced.tool_name, produced.kind))
        yield produced.tool_name, produced.kind, "creates" if produced.creates else "gives", produced.field
    for role in connections.roles:
        if role.kind and (role.tool_name, role.kind) not in ends:
            yield role.tool_name, role.kind, role.use, ""


def dot(graph: Graph, palette: Palette = LIGHT) -> str:
    """Write a graph in the DOT language: tools are boxes, kinds of things ellipses, an edge says its use in words."""
    tools = {name: f"t{place}" for place, name in enumerate(graph.tools)}
    kinds = {name: f"k{place}" for place, name in enumerate(graph.kinds)}
    font = 'fontname="Helvetica,Arial,sans-serif"'
    return "\n".join(
        (
            "digraph {",
            '  graph [bgcolor="transparent", rankdir="LR", nodesep="0.25", ranksep="2.2"];',
            f'  node [{font}, fontsize="12", fontcolor="{palette.text}", color="{palette.line}", style="filled"];',
            f'  edge [{font}, fontsize="10", arrowsize="0.7"];',
            *(_node(key, name, "box", palette.tool) for name, key in tools.items()),
            *(_node(key, name, "ellipse", palette.kind) for name, key in kinds.items()),
            *(_edge(edge, tools[edge.tool], kinds[edge.kind], palette) for edge in graph.edges),
            "}",
        )
    )


def _node(key: str, name: str, shape: str, fill: str) -> str:
    return f'  {key} [label={quoted(name)}, shape="{shape}", fillcolor="{fill}"];'


def _edge(edge: Edge, tool: str, kind: str, palette: Palette) -> str:
    """Draw what is read as coming from the things, all else as going to them; tools stand left, things right."""
    way = "back" if edge.use == "reads" else "forward"
    color = palette.uses[edge.use]
    style = "dashed" if edge.use == "gives" else "solid"
    drawn = f'color="{color}", fontcolor="{color}", style="{style}"'
    return (
        f'  {tool} -> {kind} [label={quoted(f"{edge.use} {_places(edge)}".strip())}, dir="{way}", {drawn}];'
    )


def _places(edge: Edge) -> str:
    shown = ", ".join(edge.places[:_MOST_PLACES])
    return f"{shown}, ..." if len(edge.places) > _MOST_PLACES else shown


def quoted(*lines: str) -> str:
    """Write lines of text as one DOT string that shows each letter as it is: no escape, no entity, no markup."""
    return '"' + r"\n".join(_escaped(line) for line in lines if line) + '"'


def _escaped(text: str) -> str:
    shown = literal(text[: _MOST_LETTERS * 8])
    plain = "".join(char for char in " ".join(shown.split()) if unicodedata.category(char) not in _INVISIBLE)
    short = plain if len(plain) <= _MOST_LETTERS else f"{plain[: _MOST_LETTERS - 1]}\u2026"
    return short.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
