"""Draws the tree of a session's branches in the DOT language; every name is quoted. Pure."""

from __future__ import annotations

from app.branches.branch_labels import brief, ending, step_before
from app.forms.dot_graph import LIGHT, Palette, quoted
from app.session.session_summary import counted_steps
from simulator.branches.branch_tree import BranchTree, TreeEdge, TreeNode
from simulator.journal import ROOT, Journal

MOST_TIPS = 30
"""How many branches are drawn, the newest; more are no picture any more."""

_FONT = 'fontname="Helvetica,Arial,sans-serif"'


def newest_of(tree: BranchTree, most: int = MOST_TIPS) -> tuple[BranchTree, int]:
    """Keep the newest branches and where the session is, with the ways that lead there; return how many were left out."""
    tips = sorted((node.fact for node in tree.nodes if node.branch is not None), reverse=True)
    above = {edge.end: edge.start for edge in tree.edges}
    kept = {ROOT}
    for wanted in (*tips[:most], *(node.fact for node in tree.nodes if node.is_here)):
        place = wanted
        while place not in kept:
            kept.add(place)
            place = above[place]
    drawn = BranchTree(
        nodes=tuple(node for node in tree.nodes if node.fact in kept),
        edges=tuple(edge for edge in tree.edges if edge.end in kept),
    )
    return drawn, sum(tip not in kept for tip in tips)


def tree_dot(tree: BranchTree, journal: Journal, palette: Palette = LIGHT) -> str:
    """Write a tree in the DOT language, from left to right: the way to where the session is stands out."""
    return "\n".join(
        (
            "digraph {",
            '  graph [bgcolor="transparent", rankdir="LR", nodesep="0.2", ranksep="0.35"];',
            f'  node [{_FONT}, fontsize="11", fontcolor="{palette.text}", color="{palette.line}"];',
            '  node [shape="box", style="filled,rounded", margin="0.12,0.06", height="0.3"];',
            f'  edge [{_FONT}, fontsize="10", fontcolor="{palette.text}", color="{palette.line}", arrowsize="0.6"];',
            *(_node(node, journal, palette) for node in tree.nodes),
            *(_edge(edge, palette) for edge in tree.edges),
            "}",
        )
    )


def _key(fact: int) -> str:
    return "start" if fact == ROOT else f"f{fact}"


def _node(node: TreeNode, journal: Journal, palette: Palette) -> str:
    lines = [*_lines(node, journal), "you are here" if node.is_here else ""]
    fill = palette.tool if node.kind == "tip" else palette.kind
    border = f', color="{palette.uses["reads"]}", penwidth="2"' if node.is_here else ""
    return f'  {_key(node.fact)} [label={quoted(*lines)}, fillcolor="{fill}"{border}];'


def _lines(node: TreeNode, journal: Journal) -> tuple[str, ...]:
    if node.kind == "start":
        return ("start",)
    if node.branch is not None:
        return (f"Branch {node.branch}", ending(journal, node.fact).text)
    return (brief(step_before(journal, node.fact)),)


def _edge(edge: TreeEdge, palette: Palette) -> str:
    strong = f', color="{palette.uses["reads"]}", penwidth="2"' if edge.is_taken else ""
    return f"  {_key(edge.start)} -> {_key(edge.end)} [label={quoted(counted_steps(edge.steps))}{strong}];"
