"""Says in a few words what a branch is, where it forks, what was done there instead and how it ended, and draws their tree in the DOT language; every name is quoted. Pure."""

from __future__ import annotations

import itertools
from typing import Any

from app.forms.dot_graph import LIGHT, Palette, quoted
from app.forms.safe_labels import Badge
from app.forms.typed_json import show_json
from app.server.viewer_time import viewer_time
from app.session.provenance_labels import as_value
from app.session.timeline_view import arguments_line, counted_steps, step_words
from simulator.base.json_paths import ABSENT, differing
from simulator.branches import BY_ITSELF, Branch, BranchTree, TreeEdge, TreeNode
from simulator.facts import (
    AgentSelected,
    CallStarted,
    CodeAnswered,
    Fact,
    ModelAnswered,
    SessionOpened,
    ToolAnswered,
    TurnEnded,
    TurnStarted,
)
from simulator.journal import ROOT, Journal
from simulator.session.adk_event_fields import (
    calls_in,
    content_text,
    final_event,
    final_output,
    message_text,
    open_calls,
)

_OF_TURNS = (TurnStarted, ModelAnswered, ToolAnswered, CodeAnswered, CallStarted, TurnEnded)
_SHOWN = 200
_PLACES = 3
_COMPLETED = Badge(text="Completed", color="green", icon=":material/check_circle:")
_PAUSED = Badge(text="Paused", color="orange", icon=":material/pause_circle:")
_STOPPED = Badge(text="Stopped", color="gray", icon=":material/stop_circle:")
_FAILED = Badge(text="Failed", color="red", icon=":material/error:")
_ENDED = Badge(text="Ended", color="gray", icon=":material/check:")
_READY = Badge(text="Ready", color="gray", icon=":material/edit:")


def name(branch: Branch) -> str:
    """Name a branch; it keeps its name while others grow."""
    return f"Branch {branch.number}"


def at(branch: Branch) -> str:
    """Return when the last fact of a branch was appended."""
    return viewer_time(branch.at).strftime("%d %b, %H:%M:%S")


def ending(journal: Journal, tip: int) -> Badge:
    """Say how a branch ended, in the words that a session's status has."""
    last = next((fact for _, fact in journal.backwards(tip) if isinstance(fact, _OF_TURNS)), None)
    if last is None:
        return _READY
    if not isinstance(last, TurnEnded):
        return _PAUSED
    if last.stopped or last.error is not None:
        return _STOPPED if last.stopped else _FAILED
    if any(not call.answered for call in open_calls(last.events)):
        return _PAUSED
    is_final = final_event(last.events) is not None or final_output(last.events) is not None
    return _COMPLETED if is_final else _ENDED


def step_before(journal: Journal, fork: int) -> Fact | None:
    """Return the step after which a branch forks; None at the start."""
    return next(
        (
            fact
            for _, fact in (journal.backwards(fork) if fork != ROOT else ())
            if not isinstance(fact, (*BY_ITSELF, CallStarted, SessionOpened, AgentSelected))
        ),
        None,
    )


def forks(journal: Journal, fork: int) -> str:
    """Return where a branch forks; safe in a label."""
    before = step_before(journal, fork)
    return f"Forks after {step_words(before)}" if before else "Forks at the start"


def brief(fact: Fact | None) -> str:
    """Name a step in plain text, which may come from outside."""
    match fact:
        case None:
            return "the start"
        case ToolAnswered():
            went_wrong = fact.outcome.kind in {"failed", "raised"}
            return f"{fact.tool_name} {'failed' if went_wrong else 'answered'}"
        case ModelAnswered():
            called = [str(call.get("name")) for call in calls_in(fact.responses)]
            return f"{', '.join(called)} called" if called else f"turn of {fact.agent}"
        case _:
            return step_words(fact).removeprefix("the ")


def done(fact: Fact) -> str:
    """Return what somebody did, with what they said or answered, in plain text that may come from outside."""
    return _short(brief(fact), _said(fact))


def done_otherwise(there: Fact, here: Fact) -> tuple[str, str]:
    """Return what was done there and what here, as `done`; of two answers of one tool only the places that differ."""
    if (
        isinstance(there, ToolAnswered)
        and isinstance(here, ToolAnswered)
        and there.tool_name == here.tool_name
        and there.outcome.kind == here.outcome.kind
    ):
        answers = as_value(there.outcome), as_value(here.outcome)
        places = list(itertools.islice(differing(*answers), _PLACES))
        if places and all(place.place for place in places):
            return (
                _short(brief(there), ", ".join(f"{place.place}: {held(place.left)}" for place in places)),
                _short(brief(here), ", ".join(f"{place.place}: {held(place.right)}" for place in places)),
            )
    return done(there), done(here)


def held(value: Any) -> str:
    """Write what one side of a comparison has at a place, in one line; it may be `ABSENT`."""
    return "missing" if value is ABSENT else show_json(value)


def _short(name: str, said: str) -> str:
    line = " ".join(said.split())
    short = line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}\u2026"
    return f"{name}: {short}" if short else name


def _said(fact: Fact) -> str:
    match fact:
        case TurnStarted():
            return message_text(fact.message)
        case ToolAnswered():
            return show_json(as_value(fact.outcome))
        case ModelAnswered():
            return _turn_said(fact)
        case CodeAnswered():
            return show_json(fact.result) if fact.result else fact.error.message if fact.error else ""
        case _:
            return ""


def _turn_said(fact: ModelAnswered) -> str:
    if fact.error is not None:
        return f"{fact.error.short_type}: {fact.error.message}"
    calls: Any = calls_in(fact.responses)
    texts = [content_text(each.get("content")) for each in fact.responses if each.get("content")]
    called = [f"{call.get('name')}({arguments_line(call.get('args') or {})})" for call in calls]
    return ", ".join(called) or " ".join(texts)


def option(branch: Branch) -> str:
    """Name a branch in a list to choose from."""
    return f"{name(branch)} \u00b7 you are here" if branch.is_current else name(branch)


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
