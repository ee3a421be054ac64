"""The search on every page: gathers what can be found, draws the dialog, and goes where was asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path

import streamlit as st

from app.evalsets.set_discovery import folders, found_sets
from app.forms.safe_labels import safe_label
from app.live.agent_catalogue import known_agents
from app.live.session_store import store_if_open
from app.screens.keyboard_panel import SEARCH_OPENED
from app.screens.search_targets import Kind, Searchable, Target, around
from app.screens.session_list import SessionLine
from app.server.login import visitor
from app.session import page_state
from app.session.timeline_panel import MOST_STEPS, PAGE_STEPS, VIEWS
from app.session.timeline_view import FILTERS, rows, said, short_id
from evalset.editing.case_texts import SaidStep, found_step
from evalset.editing.opened_set import OpenedSet, identity_at, open_set
from evalset.editing.sidecars import RecordingSidecar, open_beside
from evalset.errors import EvalSetError
from evalset.recorded.recording_files import sidecar_of
from simulator.session.model import SimulationSession

WORDS_KEY = "search_words"
_ICONS: dict[Kind, str] = {
    "command": ":material/bolt:",
    "agent": ":material/smart_toy:",
    "session": ":material/chat:",
    "case": ":material/checklist:",
    "step": ":material/timeline:",
}
_LABEL, _ABOUT = 70, 50
_SHORT, _FOUND = 30, 90
"""As above, where words were found in a step."""

_KEYS = f"""
const search = {{ words: null, waits: null }};
const field = () => document.querySelector(".st-key-{WORDS_KEY} input");
const results = () => [...document.querySelectorAll('[class*="st-key-found_"] button')];

// A list that is chosen from by the keyboard: the arrows go through it, Enter in the field takes its first line.
function pressed(event) {{
  const typing = field();
  const lines = [typing, ...results()];
  const at = lines.indexOf(event.target);
  if (!typing || at < 0) return;
  const by = {{ ArrowDown: 1, ArrowUp: -1 }}[event.key];
  if (by) {{
    event.preventDefault();
    lines[Math.min(Math.max(at + by, 0), lines.length - 1)].focus();
  }}
  if (event.key === "Enter" && event.target === typing && !event.isComposing) {{
    // What is listed may be of fewer words than were typed.
    if (search.words === typing.value) results()[0]?.click();
    else search.waits = typing.value;
  }}
}}

function begin(frames) {{
  const typing = field();
  if (typing) {{
    typing.focus();
    document.dispatchEvent(new Event("{SEARCH_OPENED}"));
  }} else if (frames) requestAnimationFrame(() => begin(frames - 1));
}}

export default function ({{ data }}) {{
  const isNew = search.words === null;
  search.words = data.words;
  const isListed = search.waits === data.words;
  if (isListed) requestAnimationFrame(() => results()[0]?.click());
  if (isListed || search.waits !== field()?.value) search.waits = null;
  if (isNew) {{
    document.addEventListener("keydown", pressed, true);
    begin(60);
  }}
  return () => {{
    search.words = null;
    document.removeEventListener("keydown", pressed, true);
  }};
}}
"""
_keys = st.components.v2.component("studio_search_keys", html="<span></span>", js=_KEYS)


def search_button() -> bool:
    """Draw the way in; True when it was taken, by a click or its keys."""
    return st.button(
        "Search", key="search", icon=":material/search:", width="content", type="tertiary", shortcut="Mod+K"
    )


def search_dialog(prepared: Callable[[], Searchable]) -> None:
    """Draw the dialog. A target that is chosen is kept as `found`, and the page is drawn again."""
    targets = prepared()

    def within() -> None:
        words = st.text_input(
            "Search",
            key=WORDS_KEY,
            type="search",
            live=True,
            placeholder="Sessions, cases, steps, agents and commands",
            label_visibility="collapsed",
        )
        found = targets.found(words or "")
        with st.container(gap=None, key="search_found"):
            for number, target in enumerate(found):
                _line(number, target)
        if targets.is_cut:
            st.caption("Not everything was searched yet. Type more words.")
        elif not found:
            st.caption("No matches. Search by a name, a message, a tool or an ID.")
        st.caption("Arrow keys choose. Enter opens.")
        with st.container(key="search_unseen"):
            _keys(data={"words": words or ""}, key="search_keys")
        if page_state.get("found") is not None:
            st.rerun()

    st.dialog("Search", width="medium", icon=":material/search:", on_dismiss=_closed)(within)()


def _line(number: int, target: Target) -> None:
    label, about = (_SHORT, _FOUND) if target.step else (_LABEL, _ABOUT)
    more = f" \u00b7 {safe_label(target.about, about)}" if target.about else ""
    st.button(
        f"{safe_label(target.label, label)}{more}",
        key=f"found_{number}",
        type="tertiary",
        icon=_ICONS[target.kind],
        width="stretch",
        wrap=False,
        on_click=_chosen,
        args=(target,),
    )


def _chosen(target: Target) -> None:
    page_state.put("found", target.model_dump(mode="json"))


def _closed() -> None:
    page_state.put("searching", None)


MOST_CASES, MOST_SECONDS = 5_000, 1.0
"""So many cases of the eval sets in the list can be found, and so long is looked for them."""
_MOST_OPENED, _MOST_TOLD = 64, 256
"""So many eval sets and sessions are kept as they were read."""

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
    stored = cache(_stored_sessions)

    def says(target: Target, words: list[str]) -> Target | None:
        match target.kind:
            case "session":
                return _within_session(target, by_id[target.name], words, stored)
            case "step" if session is not None:
                text = said(session.history[int(target.name)]).casefold()
                return target if all(word in text for word in words) else None
            case "case":
                return _within_case(target, words)
        return None

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
    from app.evalsets.set_context import facts_of  # noqa: PLC0415 - it takes ADK along, for which no first page waits

    left, ends, owner = MOST_CASES, time.monotonic() + MOST_SECONDS, visitor().owner
    for listed in found_sets(folders(known_agents(), owner), owner):
        path = Path(listed.path)
        for eval_id in facts_of(path).eval_ids[:left] if time.monotonic() < ends else ():
            left -= 1
            yield Target(kind="case", name=eval_id, label=eval_id, about=path.name, path=listed.path)


def _stored_sessions(words: tuple[str, ...]) -> frozenset[str]:
    """Return the stored sessions that may say words, without reading one."""
    store = store_if_open().store
    try:
        return store.saying(visitor().owner, words) if store is not None else frozenset()
    except ValueError:  # a StoreError: what is stored cannot be looked at
        return frozenset()


def _within_session(
    target: Target,
    line: SessionLine,
    words: list[str],
    stored: Callable[[tuple[str, ...]], frozenset[str]],
) -> Target | None:
    """Return a session in which words are said, with the step; the steps of the open one are targets themselves."""
    left = tuple(word for word in words if not line.holds([word]))
    live = page_state.own(line.session_id)
    if not left:
        return target
    if line.session_id == page_state.session_id() or (live is None and line.session_id not in stored(left)):
        return None
    journal = live.simulation.journal if live is not None else None
    steps = _told(line.session_id, line.changed_at if journal is None else (journal.head, len(journal)))
    return _found_at(target, found_step(steps, left), left, len(steps))


@lru_cache(maxsize=_MOST_TOLD)
def _told(session_id: str, _: object) -> tuple[SaidStep, ...]:
    """Return the steps of a session, read once as long as it stays as it is."""
    live, store = page_state.own(session_id), store_if_open().store
    try:
        stored = None if live or not store else store.load(session_id, up_to_damage=True)
    except ValueError:  # a StoreError: it was deleted, or cannot be read
        return ()
    journal = live.simulation.journal if live else stored
    if journal is None:
        return ()
    session = journal.session()
    return tuple(
        SaidStep(row.turn, row.index, row.what, f"{row.who} {said(session.history[row.index])}")
        for row in rows(session)
    )


def _within_case(target: Target, words: list[str]) -> Target | None:
    """Return a case in which words are said, with the step, as the search on the page of its set finds it."""
    path = Path(target.path)
    opened, beside = _opened(path, identity_at(path), identity_at(sidecar_of(path))) or (None, None)
    if opened is None or beside is None or target.name not in opened.places:
        return None
    return _found_at(target, opened.says(target.name, words, beside=beside.raw(target.name)), words)


def _found_at(target: Target, step: SaidStep | None, words: Sequence[str], steps: int = 0) -> Target | None:
    if step is None or not step.name:
        return target if step else None
    number = "" if step.place is None else f"step {step.place + 1}, "
    about = f"turn {step.turn + 1}, {number}{step.name}: {around(step.text, words)}"
    place = f"{step.turn}_{step.place}" if number else ""
    return target.model_copy(update={"about": about, "step": place, "behind": steps - (step.place or 0)})


@lru_cache(maxsize=_MOST_OPENED)
def _opened(path: Path, *_: object) -> tuple[OpenedSet, RecordingSidecar] | None:
    try:
        return open_set(path), open_beside(path)
    except EvalSetError:
        return None


def _steps(session: SimulationSession | None) -> Iterator[Target]:
    shown = rows(session) if session is not None else ()
    for row in shown:
        about, behind = f"turn {row.turn + 1}, {row.what}", len(shown) - row.index
        label = f"{row.who}: {row.detail}"
        yield Target(kind="step", name=str(row.index), label=label, about=about, behind=behind)


def _go(target: Target) -> None:
    match target.kind:
        case "session":
            page_state.go_to(target.name)
            if target.step:
                _show_step(int(target.step.split("_")[1]), target.behind)
        case "case":
            page_state.show_sets(target.path, target.name)
            if target.step:
                from app.evalsets.cases.case_panel import unfold_step  # noqa: PLC0415 - as `facts_of`

                unfold_step(target.name, *map(int, target.step.split("_")))
        case "agent":
            page_state.leave()
            page_state.put("agent", target.name)
        case "step":
            page_state.show(None)
            _show_step(int(target.name), target.behind)
        case "command":
            _command(target.name)


def _show_step(place: int, behind: int) -> None:
    """Open a step in the timeline of the session, by how many come from it on; where so many are not drawn, the table of all steps."""
    st.session_state.update(timeline_view=VIEWS[0], timeline_filter=FILTERS[0])
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
