"""The one module that owns Streamlit's session state and the address of the page. Ids and JSON only.

A refresh of the browser starts with empty state, so the session's id stands in the address; everything richer is in
the registry, on the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

import streamlit as st
from pydantic import JsonValue
from streamlit.errors import StreamlitAPIException

from app.forms.widget_store import count_change, has_seen, hold, set_input
from app.live.live_sessions import LiveSession, UnsentTexts, registry
from app.live.reopened_sessions import NotReopenedError, kept_drafts
from app.live.session_store import store_if_open
from app.live.shared_sessions import shared_session
from app.server.browser_tabs import new_token
from app.server.login import visitor

_SESSION = "session"
_SHARED = "shared"
_VIEW = "view"
_PAGE, _SETS = "page", "sets"
_SET, _CASE, _OTHER, _FORM, _SEARCH = "set", "case", "other", "form", "search"
_DOCUMENT = "document"
Part: TypeAlias = Literal[
    "tab", "part", "kind", "results", "criteria", "cases", "steps", "filter", "table", "context", "turns"
]
"""A choice between views that stands in the address: of a page, of a tab of it, of a pane, and of a page of a long list."""
_WITHIN: Mapping[Part, tuple[Part, ...]] = {
    "tab": ("part", "kind", "results", "criteria", "cases"),
    "part": ("kind", "results", "criteria"),
    "steps": ("filter", "table"),
}
"""The choices that another view does not have, or has for itself."""
_PLACES = (_SESSION, _SHARED, _VIEW, _PAGE, _SET, _CASE, _OTHER, _FORM, _SEARCH, _DOCUMENT, *get_args(Part))
"""All that says where the page is: a step to another place leaves none of it."""
_PREFIX = "studio:"
_SEEN = "studio:seen:"
_HERE = "studio:here"
_TOLD = "studio:told"
_MOVED = "studio:moved"
_TAB = "studio:tab"
_LOOKS_AT = "studio:looks_at"
View: TypeAlias = Literal["export", "environment", "branches"]
RULE_HERE = "rule_here"
"""The key of the editor of a new rule that opens over the session: while it is open, its keys send nothing else."""
VIEWS: tuple[View, ...] = get_args(View)
"""The pages of a session beside the session itself."""

Flag: TypeAlias = Literal[
    "added_rule",
    "agent",
    "branches_listed",
    "case_forms",
    "case_seen",
    "cases_drawn",
    "cases_found",
    "cases_restored",
    "changed",
    "changed_elsewhere",
    "context_fold",
    "continue_with",
    "corrected",
    "dataset",
    "deleted_case",
    "deleted_rules",
    "deleted_session",
    "earlier",
    "editing_rule",
    "editing_tool",
    "exported",
    "fail_call",
    "faults_shown",
    "folder_problem",
    "found",
    "go_to",
    "looked",
    "menu_asked",
    "own_set",
    "part_failed",
    "problem",
    "python_problem",
    "replaced_rules",
    "review_asked",
    "review_taken",
    "rule_closed",
    "rule_looked_for",
    "rule_looked_for_here",
    "saving_rule",
    "saving_set",
    "scenario_added",
    "script_problem",
    "recorded_problem",
    "searching",
    "seen_step",
    "set_saved",
    "shown",
    "shown_set",
    "step_back",
    "taken",
    "taken_back",
    "tried",
    "turn_menu_done",
    "unnamed_review",
    "unsaved_set",
    "unstored_input",
    "unwritten",
    "without_drafts",
]
_OF_ONE_SESSION: tuple[Flag, ...] = (
    "branches_listed",
    "corrected",
    "earlier",
    "editing_rule",
    "editing_tool",
    "added_rule",
    "deleted_rules",
    "fail_call",
    "faults_shown",
    "go_to",
    "replaced_rules",
    "rule_closed",
    "rule_looked_for",
    "rule_looked_for_here",
    "saving_rule",
    "scenario_added",
    "script_problem",
    "recorded_problem",
    "unsaved_set",
    "exported",
    "problem",
    "changed",
    "taken",
    "taken_back",
    "tried",
    "unwritten",
    "part_failed",
    "saving_set",
    "set_saved",
)


def session_id() -> str | None:
    """Return the id in the page's address, or None on the start page."""
    return _here().get(_SESSION)


def shared_token() -> str | None:
    """Return the token in the address of a session that somebody shares; None where a session of one's own is named."""
    return None if session_id() else _here().get(_SHARED)


def look_at(token: str | None) -> None:
    """Note under which token the session on the page is shared; None where it is one's own. A browser cannot change it, as it can its address."""
    st.session_state[_LOOKS_AT] = token


def looks_at() -> str | None:
    """Return the token under which the session on the page is shared."""
    found: str | None = st.session_state.get(_LOOKS_AT)
    return found


def current() -> LiveSession | None:
    """Return the session that the address names: a live one of the visitor's, or one that is shared, to look at.

    None where they have none with this id, or none any more, and where nothing can be shown under this token.
    """
    if wanted := session_id():
        return own(wanted)
    token = shared_token()
    try:
        return shared_session(token) if token else None
    except NotReopenedError:
        return None


def own(wanted: str) -> LiveSession | None:
    """Return the visitor's live session with this id; another's is no more than none."""
    return registry().of(visitor().owner, wanted)


def go_to(wanted: str) -> None:
    """Show another session; call `st.rerun` after."""
    _leave_for({_SESSION: wanted})


def leave() -> None:
    """Go back to the start page; call `st.rerun` after."""
    _leave_for({})


def _leave_for(place: Mapping[str, str | None]) -> None:
    for name in _OF_ONE_SESSION:
        st.session_state.pop(_PREFIX + name, None)
    forget_followed()
    _go({name: place.get(name) for name in _PLACES})


def arrive() -> None:
    """Go where the browser has gone by itself: by a link, a reload, or its way back; call it once, before the page is drawn."""
    told, at = st.session_state.get(_TOLD, (None, 0))
    said = _said()
    # Where the page itself is on its way, or the browser has not seen where it is, the address is an old one.
    if told is None or (_here() == told and has_seen(at) and said != told):
        st.session_state[_HERE], st.session_state[_TOLD], st.session_state[_MOVED] = said, (said, at), True


def settle(filters: Mapping[str, str | list[str]] | None = None) -> None:
    """Let the address say where the page is, in one step: the browser's way back has one entry for it.

    Call it when all is drawn, or before the filters of a list are, which Streamlit itself writes into the address.

    Args:
        filters: What is set in the filters that are drawn next, by their keys.
    """
    st.session_state[_MOVED] = False
    here, told = _here(), st.session_state[_TOLD][0]
    if here == told:
        return
    if {name for name, _ in here.items() ^ told.items()} == {"cases"}:  # the same list, with its filters
        if "cases" in here:
            st.query_params.update(here)
        else:
            del st.query_params["cases"]
    else:
        try:
            st.query_params.from_dict({**here, **(filters or {})})
        except StreamlitAPIException:  # a filter is Streamlit's still: it writes it by itself
            st.query_params.from_dict(here)
    st.session_state[_TOLD] = (here, count_change())


def has_moved() -> bool:
    """Return whether the address decides which views are shown; else the person has chosen them, or the page."""
    return bool(st.session_state.get(_MOVED))


def _here() -> dict[str, str]:
    here: dict[str, str] | None = st.session_state.get(_HERE)
    return _said() if here is None else here


def _said() -> dict[str, str]:
    return {name: value for name in _PLACES if (value := st.query_params.get(name))}


def _go(changes: Mapping[str, str | None]) -> None:
    """Go to another place, where what was chosen last is shown."""
    _name(changes)
    st.session_state[_MOVED] = False


def _name(changes: Mapping[str, str | None]) -> None:
    """Change what the address will say; None takes a name out."""
    wanted = {**_here(), **changes}
    st.session_state[_HERE] = {name: value for name, value in wanted.items() if value is not None}


def is_on_sets() -> bool:
    """Return whether the address names the pages of the eval sets."""
    return _here().get(_PAGE) == _SETS


def document() -> str | None:
    """Return the document in the address, by the name of its file; None where it names none."""
    return _here().get(_DOCUMENT)


def set_path() -> str | None:
    """Return the path of the eval set in the address; None where it names none, and the list of sets is shown."""
    return _here().get(_SET)


def case_key() -> str | None:
    """Return the case in the address; None where it names none."""
    return _here().get(_CASE)


def other_case() -> str | None:
    """Return the case in the address with which its case is compared; None where it is shown alone."""
    return _here().get(_OTHER)


def show_sets(path: str | None = None, case: str | None = None) -> None:
    """Show the list of eval sets, or the set at a path, or a case of it; call `st.rerun` after."""
    _leave_for({_PAGE: _SETS, _SET: path, _CASE: case if path is not None else None})


def show_case(
    key: str | None, found_by: str | None = None, other: str | None = None, form: str | None = None
) -> None:
    """Show a case of the set in the address, or the list of them; call `st.rerun` after.

    Args:
        key: The case; None for all.
        found_by: The search of the list that it was found in; None for that in the address.
        other: The case with which it is compared; None where it is shown alone.
        form: The token of the form that is open there; None for the one that this tab left open.
    """
    put("part_failed", None)
    kept = (search() if found_by is None else found_by) or None
    put("cases_restored", kept if key is None else None)
    form_there = form or (get("case_forms") or {}).get(key)
    # The list is the first view of its set, at the page where it was left.
    views = dict.fromkeys(
        each for each in get_args(Part) if each == "turns" or (key is None and each != "cases")
    )
    _go({_CASE: key, _OTHER: other, _FORM: form_there, _SEARCH: kept if key is not None else None, **views})
    st.session_state[_MOVED] = True


def search() -> str:
    """Return the search of the list of cases that the address of a case keeps, as it is written there."""
    return _here().get(_SEARCH, "")


def form() -> str | None:
    """Return the token of the form that is open in this tab; None where the address names none."""
    return _here().get(_FORM)


def show_form(token: str | None) -> None:
    """Show a form on the page of the case, or none; call `st.rerun` after."""
    _name({_FORM: token})


def view() -> View | None:
    """Return the page of the session that the address names, so that the browser's way back leads out of it; None is the session itself."""
    named = _here().get(_VIEW)
    return next((each for each in VIEWS if each == named), None)


def show(wanted: View | None) -> None:
    """Show a page of the session in the address, or the session itself; call `st.rerun` after."""
    _go({_VIEW: wanted, **dict.fromkeys(get_args(Part))})


def part(name: Part) -> str | None:
    """Return which view the address names; None where it names none, and the first one is meant."""
    return _here().get(name)


def name_part(name: Part, word: str | None) -> None:
    """Let the address name the view that was chosen; None for the first one."""
    if word != part(name):
        _name({**dict.fromkeys(_WITHIN.get(name, ())), name: word})


def get(flag: Flag) -> Any:
    """Return a small JSON value that this tab keeps, or None."""
    return st.session_state.get(_PREFIX + flag)


def put(flag: Flag, value: JsonValue) -> None:
    """Keep a small JSON value in this tab; None drops it."""
    if value is None:
        st.session_state.pop(_PREFIX + flag, None)
    else:
        st.session_state[_PREFIX + flag] = value


def is_owed() -> bool:
    """Return whether something was asked for in a part of the page that the whole page has to carry out."""
    return any(get(flag) is not None for flag in ("found", "go_to", "fail_call", "menu_asked"))


def tab() -> str:
    """Return the token of this tab, which nobody else is told."""
    token: str = st.session_state.setdefault(_TAB, new_token())
    return token


def drafts() -> UnsentTexts:
    """Return the drafts of the session in the address; where there is none, drafts that nobody keeps."""
    live = current()
    return live.drafts if live else UnsentTexts()


def drafts_of(shown: str) -> UnsentTexts:
    """Return the drafts of a session that was on the screen in the run before, and may have left this server since."""
    live, store = own(shown), store_if_open().store
    if live is not None or store is None:
        return live.drafts if live is not None else UnsentTexts()
    try:
        is_mine = store.record(shown).owner == visitor().owner
        return kept_drafts(store, shown) if is_mine else UnsentTexts()
    except ValueError:  # a StoreError: the page goes on, and what is typed stays in its inputs
        return UnsentTexts()


def start_texts() -> UnsentTexts:
    """Return what the visitor has typed on the start page and not sent; the server keeps it."""
    return registry().start_texts(visitor().owner)


def follow(key: str, value: JsonValue) -> None:
    """Let the widget with this key show `value` whenever the session has changed it; call before the widget.

    Between two changes the widget is the person's: what they chose there is not overwritten before it was read.
    """
    seen = _SEEN + key
    if key not in st.session_state or st.session_state.get(seen, _PREFIX) != value:
        set_input(key, value)
        st.session_state[seen] = value
    hold(key)


def agree(key: str, value: JsonValue) -> None:
    """Note that the session has taken over what the widget with this key says: `follow` leaves it as it is then."""
    st.session_state[_SEEN + key] = value


def forget_followed() -> None:
    """Let every followed widget show the session's own value again, after a command was carried out or failed."""
    for name in [str(name) for name in st.session_state if str(name).startswith(_SEEN)]:
        del st.session_state[name]
