"""The tolerances of a case as rows: what may differ from what was recorded, and how far."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.bench import Bench
from app.panels.evalsets.remembered import followed_key, key_of
from app.panels.parts import problem
from app.tolerance_rows import (
    HINTS,
    KINDS,
    OF,
    WITHOUT_TOOL,
    Row,
    RowError,
    new_row,
    row_of,
    tolerances_from,
)
from evalset.verify import VerifyError, keep_tolerances, propose_tolerances, tolerances_of
from evalset.verify.results import RunResult

_COLUMNS = (1.1, 1.0, 1.5, 1.3, 1.4, 0.85)
_FEWEST_RUNS = 2


class _Case(NamedTuple):
    """A case whose tolerances are edited: the rows as they are now, as they are saved, and its runs."""

    bench: Bench
    eval_id: str
    rows: list[Row]
    saved: list[Row]
    runs: Sequence[RunResult]

    @property
    def name(self) -> str:
        """The name of the option at the bench."""
        return _name(self.eval_id)

    def key(self, number: int, field: str) -> str:
        """Let the input of a field show what its row says; give its key."""
        return followed_key(self.bench, f"{field} {number} {self.name}", self.rows[number][field])

    def put(self, rows: list[Row] | None) -> None:
        """Keep other rows, None for those that are saved, and draw them."""
        held: Any = rows
        if rows is None:
            self.bench.options.pop(self.name, None)
        else:
            self.bench.options[self.name] = held
        st.rerun()


def tolerance_editor(bench: Bench, eval_id: str, runs: Sequence[RunResult]) -> None:
    """Draw the tolerances of a case, which stay at the bench until they are saved."""
    try:
        saved = [row_of(each) for each in tolerances_of(bench.eval_set, eval_id)]
    except VerifyError as error:
        problem("The tolerances cannot be read.", str(error))
        return
    held: Any = bench.options.get(_name(eval_id))
    case = _Case(bench, eval_id, saved if held is None else [dict(row) for row in held], saved, runs)
    for number in range(len(case.rows)):
        _row(case, number)
    if not case.rows:
        st.caption("None: everything that is compared has to be as it was recorded.")
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        _buttons(case)
    if wrong := bench.notes.pop(case.name, ""):
        problem("The tolerances were not saved.", wrong)


def _name(eval_id: str) -> str:
    return f"tolerances {eval_id}"


def _row(case: _Case, number: int) -> None:
    rows = case.rows
    *columns, last = st.columns(_COLUMNS, gap="xsmall", vertical_alignment="bottom")
    now = _said(case, number, columns)
    with last:
        if st.button(
            "Remove",
            key=key_of(case.bench, f"gone {number} {case.name}"),
            icon=":material/delete:",
            type="tertiary",
        ):
            case.put(rows[:number] + rows[number + 1 :])
    if now != rows[number]:
        case.put([*rows[:number], now, *rows[number + 1 :]])


def _said(case: _Case, number: int, columns: Sequence[DeltaGenerator]) -> Row:
    """Draw the inputs of a row; give what they say."""
    row, seen = case.rows[number], cast("Any", "visible" if number == 0 else "collapsed")
    of, tool, path, kind, more = columns
    key = case.key
    said = {
        "of": of.selectbox(
            "Of", list(OF), key=key(number, "of"), format_func=lambda each: OF[each], label_visibility=seen
        ),
        "tool": tool.text_input(
            "Tool",
            key=key(number, "tool"),
            label_visibility=seen,
            placeholder="*",
            disabled=row["of"] in WITHOUT_TOOL,
        ),
        "path": path.text_input(
            "Place",
            key=key(number, "path"),
            label_visibility=seen,
            placeholder="items[*].price; empty: all",
        ),
        "kind": kind.selectbox(
            "May be",
            list(KINDS),
            key=key(number, "kind"),
            format_func=lambda each: KINDS[each],
            label_visibility=seen,
        ),
        "more": more.text_input(
            "Which",
            key=key(number, "more"),
            label_visibility=seen,
            placeholder=HINTS.get(row["kind"], ""),
            disabled=row["kind"] not in HINTS,
        ),
    }
    return {field: value or "" for field, value in said.items()}


def _buttons(case: _Case) -> None:
    if st.button("Add", key=key_of(case.bench, f"add {case.name}"), icon=":material/add:"):
        case.put([*case.rows, new_row()])
    if st.button(
        "Propose from repeated runs",
        key=key_of(case.bench, f"propose {case.name}"),
        icon=":material/auto_fix_high:",
        disabled=len(case.runs) < _FEWEST_RUNS,
        help="What differs from run to run of this case. Run it several times, with the arguments ignored, so that no run ends early",
    ):
        proposed = [row_of(each) for each in propose_tolerances(case.runs)]
        case.put([*case.rows, *(row for row in proposed if row not in case.rows)])
    if st.button(
        "Save",
        key=key_of(case.bench, f"save {case.name}"),
        icon=":material/save:",
        disabled=case.rows == case.saved,
        help="Kept with the recording: replays and verifications heed it",
    ):
        _save(case)
    if case.rows != case.saved and st.button(
        "Undo", key=key_of(case.bench, f"undo {case.name}"), icon=":material/undo:", type="tertiary"
    ):
        case.put(None)


def _save(case: _Case) -> None:
    try:
        keep_tolerances(case.bench.eval_set, case.eval_id, tolerances_from(case.rows))
    except (RowError, VerifyError) as error:
        case.bench.notes[case.name] = str(error)
        case.put(case.rows)
    case.bench.wrote()
    case.put(None)
