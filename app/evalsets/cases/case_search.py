"""Finds the cases of a set by what was searched and chosen, and writes that as one word of an address. No drawing here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode

from app.evalsets.cases.review_panel import STATUS_WORDS, review_words
from app.evalsets.set_context import SetContext
from app.evalsets.workspace import workspaces
from app.session import page_state
from evalset.editing.opened_set import CaseRow
from evalset.kept_runs import runs_folder

if TYPE_CHECKING:
    from app.evalsets.run.last_results import LastResult

TURNS = {"Any length": (0, 10**9), "1 turn": (1, 1), "2 to 4 turns": (2, 4), "5 turns or more": (5, 10**9)}
NO_STATUS = "none"
KINDS = ("Conversations", "Scenarios", "Recorded", "Not recorded", "With rubrics", "With notes")
_BY: dict[str, Callable[[CaseRow], Any]] = {
    "Case": lambda row: row.eval_id.casefold(),
    "First message": lambda row: row.query.casefold(),
    "Turns": lambda row: row.turns,
}
ORDERS = ("File order", *_BY, "Review", "Result")
_WORST_FIRST = ("failed", "error", "skipped", "stopped", "passed", None)

_ONE: Mapping[str, Sequence[str] | None] = {"search": None, "turns": (*TURNS,), "sort": ORDERS}
"""What is one text, and which texts it can be."""

_SEVERAL: Mapping[str, Sequence[str] | None] = {
    "tools": None,
    "agents": None,
    "tags": None,
    "reviews": (*STATUS_WORDS, NO_STATUS),
    "kinds": KINDS,
}
"""What is a list of texts, as above."""

_USUAL = ("Any length", ORDERS[0])


def narrowing(said: Callable[[str], Any]) -> dict[str, Any]:
    """Return what the inputs of the list say, by their names, without what finds all."""
    values = {name: said(name) for name in (*_ONE, *_SEVERAL)}
    return {name: value for name, value in values.items() if value and value not in _USUAL}


def written(search: Mapping[str, Any]) -> str:
    """Write a search for an address."""
    return urlencode(search, doseq=True)


def read(text: str) -> dict[str, Any]:
    """Read a search of an address, which anybody may have written."""
    said = parse_qs(text)
    one = {name: said[name][0] for name, can in _ONE.items() if name in said and _fits(said[name][:1], can)}
    several = {name: said[name] for name, can in _SEVERAL.items() if name in said and _fits(said[name], can)}
    return one | several


def _fits(words: Sequence[str], can: Sequence[str] | None) -> bool:
    return can is None or set(words) <= set(can)


def remember(scene: SetContext, found: Sequence[CaseRow]) -> None:
    """Keep which cases the list shows, for the way from one to the next."""
    count = len(scene.work.state.order)
    page_state.put("cases_found", [str(scene.path), count, *(row.key for row in found)])


def found_keys(scene: SetContext) -> Sequence[str]:
    """Return the cases that the list showed; where this tab has shown none, or there are others since, those that the address tells."""
    path, count, *found = page_state.get("cases_found") or ["", 0]
    if (path, count) == (str(scene.path), len(scene.work.state.order)):
        return found
    rows = scene.work.rows()
    search = read(page_state.search())
    rows = sorted_rows(scene, matching(scene, rows, search), results_of(scene, rows), search)
    remember(scene, rows)
    return [row.key for row in rows]


def results_of(scene: SetContext, rows: Sequence[CaseRow]) -> Mapping[str, LastResult]:
    """Return the last result of each case that was ever run, by its id."""
    workspace = workspaces().of(scene.owner, scene.path)
    if not (workspace.jobs or runs_folder(scene.path).is_dir()):
        return {}
    from app.evalsets.run.last_results import last_results  # noqa: PLC0415 - not before something was run

    return {one.eval_id: one for one in last_results(workspace, [row.eval_id for row in rows])}


def matching(scene: SetContext, rows: Sequence[CaseRow], search: Mapping[str, Any]) -> list[CaseRow]:
    """Return the cases that a search finds, in the order of the file."""
    wanted = str(search.get("search", "")).casefold().split()
    least, most = TURNS[search.get("turns", "Any length")]
    tools, agents, tags, reviews, kinds = (search.get(name, ()) for name in _SEVERAL)
    return [
        row
        for row in rows
        if (not wanted or scene.work.says(row.key, wanted))
        and (not tools or not set(tools).isdisjoint(row.tools))
        and (not agents or not set(agents).isdisjoint(row.agents))
        and (not tags or not set(tags).isdisjoint(scene.work.note(row.key).tags))
        and (not reviews or (scene.work.review(row.key).status or NO_STATUS) in reviews)
        and least <= row.turns <= most
        and all(_is(scene, row, kind) for kind in kinds)
    ]


def sorted_rows(
    scene: SetContext,
    rows: list[CaseRow],
    results: Mapping[str, LastResult],
    search: Mapping[str, Any],
) -> list[CaseRow]:
    """Bring all that was found into the order that was chosen; by their results, what did not pass comes first."""
    order = search.get("sort", ORDERS[0])
    if order == "Result":
        status = {eval_id: one.status for eval_id, one in results.items()}
        return sorted(rows, key=lambda row: _WORST_FIRST.index(status.get(row.eval_id)))
    if order == "Review":
        return sorted(rows, key=lambda row: review_words(scene.work, row.key))
    by = _BY.get(order)
    return sorted(rows, key=by) if by else rows


def _is(scene: SetContext, row: CaseRow, kind: str) -> bool:
    match kind:
        case "Conversations":
            return not row.is_scenario
        case "Scenarios":
            return row.is_scenario
        case "Recorded":
            return scene.work.is_recorded(row.key)
        case "Not recorded":
            return not scene.work.is_recorded(row.key)
        case "With rubrics":
            return row.rubrics > 0
        case _:
            note = scene.work.note(row.key)
            return bool(note.text or note.tags)
