"""The search on every page: gathers what can be found, and goes where was asked."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path

import streamlit as st

from app.evalsets.set_discovery import folders, found_sets
from app.evalsets.set_facts import facts_of
from app.live.agent_catalogue import known_agents
from app.screens.search_panel import search_dialog
from app.screens.search_targets import Searchable, Target
from app.screens.session_list import SessionLine
from app.server.login import visitor
from app.session import page_state
from app.session.session_summary import short_id
from app.session.timeline_panel import MOST_STEPS, PAGE_STEPS
from app.session.timeline_view import rows, said
from evalset.editing.opened_set import OpenedSet, identity_at, open_set
from evalset.errors import EvalSetError
from simulator.session.model import SimulationSession

MOST_CASES, MOST_SECONDS = 5_000, 1.0
"""So many cases of the eval sets in the list can be found, and so long is looked for them."""
_MOST_OPENED = 32

_EVERYWHERE = {"new": "New session", "sets": "Eval sets"}
_IN_SESSION = {
    "session": "Back to session",
    "export": "Export session",
    "environment": "Open environment",
    "branches": "Open branches",
    "undo": "Undo step",
    "redo": "Redo step",
}


def search(sessions: Sequence[SessionLine]) -> None:
    """Draw the search while it is open; go where was asked, which ends this run."""
    chosen = page_state.get("found")
    if chosen is not None:
        page_state.put("found", None)
        page_state.put("searching", None)
        _go(Target.model_validate(chosen))
        st.rerun()
    if page_state.get("searching"):
        search_dialog(partial(_prepared, sessions))


def _prepared(sessions: Sequence[SessionLine]) -> Searchable:
    kept = [each for each in sessions if not each.deleted]
    lines = [
        Target(
            kind="session",
            name=each.session_id,
            label=each.title,
            about=f"{each.about} \u00b7 {short_id(each.session_id)}",
        )
        for each in kept
    ]
    live, by_id = page_state.current(), {each.session_id: each for each in kept}
    session = live.simulation.view().session if live is not None and not live.read_only else None

    def says(target: Target, words: list[str]) -> bool:
        match target.kind:
            case "session":
                return by_id[target.name].holds(words)
            case "step" if session is not None:
                text = said(session.history[int(target.name)]).casefold()
                return all(word in text for word in words)
            case _:
                return _says(target, words)

    return Searchable(
        [*_commands(), *_agents(), *lines], says, lambda: [*_steps(session), *_cases()], time.monotonic
    )


def _commands() -> Iterator[Target]:
    named = dict(_EVERYWHERE)
    live = page_state.current()
    if live is not None and not live.read_only:
        view = live.simulation.view()
        lacking = {"undo": not view.undoes, "redo": not view.redoes}
        named |= {name: label for name, label in _IN_SESSION.items() if not lacking.get(name)}
    for name, label in named.items():
        yield Target(kind="command", name=name, label=label)


def _agents() -> Iterator[Target]:
    for entry in known_agents():
        if entry.state != "failed":
            yield Target(kind="agent", name=entry.name, label=entry.name, about=entry.description)


def _cases() -> Iterator[Target]:
    left, ends, owner = MOST_CASES, time.monotonic() + MOST_SECONDS, visitor().owner
    for listed in found_sets(folders(known_agents(), owner), owner):
        path = Path(listed.path)
        for eval_id in facts_of(path).eval_ids[:left] if time.monotonic() < ends else ():
            left -= 1
            yield Target(kind="case", name=eval_id, label=eval_id, about=path.name, path=listed.path)


def _says(target: Target, words: list[str]) -> bool:
    """Return whether words are said in a case, as the search on the page of its set finds them."""
    path = Path(target.path)
    opened = _opened(path, identity_at(path)) if target.kind == "case" else None
    return opened is not None and target.name in opened.places and opened.says(target.name, words)


@lru_cache(maxsize=_MOST_OPENED)
def _opened(path: Path, _: object) -> OpenedSet | None:
    try:
        return open_set(path)
    except EvalSetError:
        return None


def _steps(session: SimulationSession | None) -> Iterator[Target]:
    for row in rows(session) if session is not None else ():
        about = f"turn {row.turn + 1}, {row.what}"
        yield Target(kind="step", name=str(row.index), label=f"{row.who}: {row.detail}", about=about)


def _go(target: Target) -> None:
    match target.kind:
        case "session":
            page_state.go_to(target.name)
        case "case":
            page_state.show_sets(target.path, target.name)
        case "agent":
            page_state.leave()
            page_state.put("agent", target.name)
        case "step":
            _show_step(int(target.name))
        case "command":
            _command(target.name)


def _show_step(place: int) -> None:
    """Open a step in the timeline of the session; where so many are not drawn, the table of all steps."""
    live = page_state.current()
    page_state.show(None)
    if live is None:
        return
    st.session_state["timeline_filter"] = "All"
    behind = len(live.simulation.view().session.history) - place
    if behind > MOST_STEPS:
        st.session_state["timeline_table"] = True
        return
    st.session_state["timeline_table"] = False
    page_state.put("earlier", max(int(page_state.get("earlier") or 0), (behind - 1) // PAGE_STEPS))
    st.session_state[f"step_{place}"] = True


def _command(name: str) -> None:
    match name:
        case "new":
            page_state.leave()
        case "sets":
            page_state.show_sets()
        case "session":
            page_state.show(None)
        case "export" | "environment" | "branches":
            page_state.show(name)
        case _:
            page_state.show(None)
            page_state.put("step_back", name)
