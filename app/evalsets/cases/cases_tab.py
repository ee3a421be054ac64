"""The cases of a set in a table, with search and filters; a page of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.evalsets.cases.case_search import (
    KINDS,
    NO_STATUS,
    ORDERS,
    TURNS,
    matching,
    narrowing,
    read,
    remember,
    results_of,
    sorted_rows,
)
from app.evalsets.cases.review_panel import STATUS_WORDS, review_words
from app.evalsets.choices_panel import csv_button, keep_option, option_key
from app.evalsets.set_context import OpenCase, SetCommand, SetContext
from app.evalsets.workspace import Workspace
from app.forms.common_panel import name_width
from app.forms.safe_labels import literal
from app.session import page_state
from app.session.named_view_widgets import named_page, page_choice
from evalset.editing.opened_set import CaseRow

if TYPE_CHECKING:
    from app.evalsets.run.last_results import LastResult

PAGE_CASES = 50
_LOW = 12
"""So many rows have room in a window; a table of more scrolls."""

_MOST_OPTIONS = 200
_START = "case_"
_IN_ADDRESS: Any = {
    "label_visibility": "collapsed",
    "persist_state": "session",
    "bind": "query-params",
    "width": 210,
}
"""Of each filter: a copied link keeps what was chosen, and none pushes others off its line."""


_REVIEWS: dict[str, str] = {status: STATUS_WORDS[status] for status in STATUS_WORDS} | {
    NO_STATUS: "No status"
}
_SHOWN: Mapping[str, Callable[[str], str]] = {
    "sort": lambda order: f"Sort: {order.lower()}",
    "reviews": _REVIEWS.__getitem__,
    "tools": literal,
    "agents": literal,
    "tags": literal,
}
"""How the options of a filter are shown, and so how Streamlit writes them into the address."""


def cases_tab(scene: SetContext) -> SetCommand | None:
    """Draw the table; return the case that was chosen."""
    rows = scene.work.rows()
    if not rows:
        st.caption("No cases yet. Play a session and export it into this set.")
        return None
    named_page("cases_page", "cases")
    page_state.settle(_handed_back())
    _sort_by_header()
    results = results_of(scene, rows)
    _filters(scene, rows)
    search = chosen()
    found = sorted_rows(scene, matching(scene, rows, search), results, search)
    remember(scene, found)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="cases_count"):
        of = f" of {len(rows):,}" if len(found) < len(rows) else ""
        many = f"{len(found):,}{of} case{'' if len(rows) == 1 else 's'}"
        st.caption(many, width="content")
        # At the left: while the mouse is on the table, its own buttons lie over what is above its right end.
        work = scene.work
        csv_button(
            lambda: found,
            "cases.csv",
            "cases_csv",
            lambda: {row.eval_id: work.review(row.key) for row in found},
        )
        page = page_choice(-(-len(found) // PAGE_CASES) or 1, "cases_page")
    if not found:
        st.caption("No matching cases. Remove a filter or change the search.")
        return None
    shown = found[(page - 1) * PAGE_CASES : page * PAGE_CASES]
    return _table(scene, shown, results)


def chosen() -> dict[str, Any]:
    """Return the search and filters that the inputs of the list hold."""
    return narrowing(lambda name: st.session_state.get(_START + name))


def _handed_back() -> dict[str, Any]:
    """Let the inputs of the list, which are drawn next, hold the search of the case that was left; return it as the address has it."""
    told: dict[str, Any] = {}
    for name, value in read(str(page_state.get("cases_restored") or "")).items():
        st.session_state[_START + name] = value
        shown = _SHOWN.get(name, str)
        told[_START + name] = shown(value) if isinstance(value, str) else [*map(shown, value)]
    page_state.put("cases_restored", None)
    return told


def _table_key() -> str:
    return f"cases_table_{page_state.get('cases_drawn') or 0}"


def _sort_by_header() -> None:
    """Sort by the column whose name was clicked, on all pages and for the way to the next case; a second click restores the file's order."""
    picked: Any = st.session_state.get(_table_key())
    if picked and (columns := picked["selection"]["columns"]):
        order = next((each for each in ORDERS if each.lower() == columns[0]), ORDERS[0])
        st.session_state["case_sort"] = ORDERS[0] if st.session_state.get("case_sort") == order else order
        draw_anew()


def draw_anew() -> None:
    """Draw another table from now on, in which nothing is selected."""
    page_state.put("cases_drawn", int(page_state.get("cases_drawn") or 0) + 1)


def _table(
    scene: SetContext, shown: Sequence[CaseRow], results: Mapping[str, LastResult]
) -> SetCommand | None:
    st.caption(
        "To open a case, tick the box at the left of its row. By keyboard: arrow keys, then Shift+Space."
    )
    picked: Any = st.dataframe(
        [_line(scene, row, results) for row in shown],
        key=_table_key(),
        hide_index=True,
        height="auto" if len(shown) <= _LOW else 460,
        on_select="rerun",
        selection_mode=("single-row", "single-column"),  # so a browser sorts nothing by itself
        column_config={
            "case": st.column_config.TextColumn(width=name_width(row.eval_id for row in shown)),
            "first message": st.column_config.TextColumn(width="medium"),
            "turns": st.column_config.NumberColumn(width="small"),
        },
        alt="Cases of the set",
    )
    places = picked.selection.rows
    if places and places[0] < len(shown):
        return OpenCase(key=shown[places[0]].key)
    return None


def _line(scene: SetContext, row: CaseRow, results: Mapping[str, LastResult]) -> dict[str, Any]:
    work = scene.work
    result = {"result": _result_words(scene, results.get(row.eval_id))} if results else {}
    info = ["edited"] if work.is_case_edited(row.key) else []
    info += ["recorded"] if work.is_recorded(row.key) else []
    info += ["has blanks"] if work.blanks(row.key) else []
    info += ["scenario"] if row.is_scenario else []
    info += [f"{row.rubrics} rubric{'s' if row.rubrics > 1 else ''}"] if row.rubrics else []
    return {
        "case": literal(row.eval_id),
        **result,
        "review": review_words(work, row.key),
        "first message": literal(row.query),
        "turns": row.turns,
        "tools": literal(", ".join(row.tools)),
        "agents": literal(", ".join(row.agents)),
        "info": ", ".join(info),
        "tags": literal(", ".join(work.note(row.key).tags)),
    }


def _filters(scene: SetContext, rows: list[CaseRow]) -> None:
    # On a phone, the style sheet hides all but the search and the switch while that is off; elsewhere it hides the switch.
    key = f"case_filters_{'open' if st.session_state.get('case_more') else 'shut'}"
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key=key):
        st.text_input(
            "Search cases",
            key="case_search",
            placeholder="Search cases",
            icon=":material/search:",
            **_IN_ADDRESS,
        )
        st.toggle("Filters", key="case_more")
        _choices("Tools", "case_tools", (row.tools for row in rows))
        _choices("Agents", "case_agents", (row.agents for row in rows))
        _choices("Tags", "case_tags", (note.tags for note in _notes(scene)))
        _reviews(scene)
        st.selectbox(
            "Length",
            list(TURNS),
            key="case_turns",
            **_IN_ADDRESS,
        )
        st.multiselect(
            "Kind",
            KINDS,
            key="case_kinds",
            placeholder="Kind",
            **_IN_ADDRESS,
        )
        _sort_choice()


def _sort_choice() -> None:
    st.selectbox(
        "Sort by",
        ORDERS,
        key="case_sort",
        format_func=_SHOWN["sort"],
        **_IN_ADDRESS,
        help="Sorts all cases that were found, on all pages",
    )


def _result_words(scene: SetContext, result: LastResult | None) -> str:
    if result is None:
        return ""
    from app.evalsets.run.last_results import result_words  # noqa: PLC0415 - as above

    return result_words(result, unsaved=scene.work.is_edited)


def _reviews(scene: SetContext) -> None:
    """Draw the filter by status, where some case has one."""
    held = [each.review for each in scene.work.state.held.values()]
    if not any(review.status for review in (*scene.work.reviews.reviews.values(), *held)):
        st.session_state.pop("case_reviews", None)
        return
    st.multiselect(
        "Review",
        list(_REVIEWS),
        key="case_reviews",
        format_func=_SHOWN["reviews"],
        placeholder="Review",
        **_IN_ADDRESS,
    )


def _notes(scene: SetContext) -> list[Any]:
    held = [each.note for each in scene.work.state.held.values()]
    return [*scene.work.beside.notes.values(), *held]


def _choices(name: str, key: str, found: Any) -> None:
    """Draw a filter by words that the cases have, where there are some."""
    options = sorted({each for several in found for each in several if each})[:_MOST_OPTIONS]
    if not options:
        st.session_state.pop(key, None)
        return
    chosen = st.session_state.get(key)
    if chosen and not set(chosen) <= set(options):
        st.session_state[key] = [each for each in chosen if each in options]
    st.multiselect(
        name,
        options,
        key=key,
        format_func=literal,
        placeholder=name,
        **_IN_ADDRESS,
    )


# The line above a table of results: words to be found in it, and a choice of what each line is.


def find_bar(
    workspace: Workspace, tab: str, find: tuple[str, str], kind: str, choices: Mapping[str, str]
) -> tuple[str, str]:
    """Draw it; return the words and the choice, which is "all" where nothing was chosen.

    Args:
        workspace: Where both are kept.
        tab: The tab's name, with which the keys begin.
        find: What is said of the words, and what stands where none are.
        kind: What is said of the choice.
        choices: What a line can be, and how that is shown.
    """
    label, placeholder = find
    words_name, kind_name = f"{tab}_find", f"{tab}_{kind.lower()}"
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="bottom", key=f"{tab}_filter"):
        words = st.text_input(
            label, key=option_key(workspace, words_name, ""), placeholder=placeholder, width=260
        )
        chosen = st.selectbox(
            kind,
            ("all", *choices),
            key=option_key(workspace, kind_name, "all"),
            format_func=lambda each: choices.get(each, each),
            width=180,
        )
    keep_option(workspace, words_name, words or "")
    keep_option(workspace, kind_name, chosen)
    return words or "", chosen
