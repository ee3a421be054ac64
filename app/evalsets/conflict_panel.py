"""The page of a set that another person wrote while it was edited here: what differs in each case, and whose version stays."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from app.evalsets.run.verify_jobs import TEXT_MARKS, marked_text
from app.evalsets.set_context import MergeSet, ReloadSet, SetCommand
from app.forms.safe_labels import literal, safe_label
from app.forms.widget_store import slug
from app.server.viewer_time import short_time
from evalset.editing.set_changes import differences
from evalset.editing.set_saving import Conflict, DecidedTwice
from evalset.editing.sidecars import named_decision
from evalset.verify.divergence import text_pieces, value_differences
from evalset.verify.results import TextPiece

_MOST_CASES = 50
_MOST_PLACES = 20
_MOST_WORDS = 6
_LONGEST_PLACE = 200
_PLACES = {
    r"^conversation\[(\d+)\]\.": "turn {} \u203a ",
    r"user_?[cC]ontent\.parts\[0\]\.text$": "user message",
    r"final_?[rR]esponse\.parts\[0\]\.text$": "final response",
    r"intermediate_?[dD]ata\.": "",
    r"tool_?[uU]ses\[(\d+)\]\.(?:args\.)?": "call {} \u203a ",
    r"tool_?[rR]esponses\[(\d+)\]\.(?:response\.)?": "response {} \u203a ",
    r"^session_?[iI]nput\.state\.": "initial state \u203a ",
    r"^final_?[sS]ession_?[sS]tate\.": "final state \u203a ",
}
"""What the places of a case's JSON are called on its page."""
_LONGEST = 10_000
"""Longer texts are not compared word by word."""


def conflict_page(path: Path, both: Sequence[Conflict], decided: Sequence[DecidedTwice]) -> SetCommand | None:
    """Draw what to do where the file was changed since it was opened; return what was asked for."""
    st.warning(
        f"The eval set or its reviews changed on disk since you opened it.{_written(path)}",
        icon=":material/sync_problem:",
    )
    if both:
        st.caption(
            "These cases changed in both versions. Choose a version for each. All other changes are merged."
        )
    elif not decided:
        st.caption("No case changed in both versions. All changes can be merged.")
    if decided:
        st.caption(
            "Another person decided about these cases, too. Choose a status for each. The other one becomes a comment."
        )
    statuses = {each.eval_id: _whose_status(each) for each in decided}
    chosen = {conflict.key: _whose(conflict) for conflict in both[:_MOST_CASES]}
    if len(both) > _MOST_CASES:
        st.caption(
            f"{len(both) - _MOST_CASES} more cases changed in both versions. Of these, theirs are kept."
        )
    is_open = None in {*chosen.values(), *statuses.values()}
    with st.container(horizontal=True, gap="xsmall", key="conflict_buttons"):
        merged = st.button(
            "Merge my edits",
            key="conflict_merge",
            type="primary",
            icon=":material/merge:",
            disabled=is_open,
            help="Choose a version for each case first." if is_open else None,
        )
        dropped = st.button("Discard edits and reload", key="conflict_reload", icon=":material/refresh:")
    if merged:
        return MergeSet(
            keep_mine=tuple(key for key, whose in chosen.items() if whose == "Mine"),
            keep_their_status=tuple(eval_id for eval_id, whose in statuses.items() if whose == "Theirs"),
        )
    return ReloadSet() if dropped else None


def _written(path: Path) -> str:
    """Say when the file was written; by whom is not known of a file."""
    with suppress(OSError):
        return f" The set was last written {short_time(path.stat().st_mtime)}."
    return ""


def _whose(conflict: Conflict) -> str | None:
    with st.container(border=True, gap="xsmall", key=f"conflict_{slug(conflict.key)}"):
        st.text(literal(conflict.eval_id))
        _compared(conflict)
        return _choice("Version to keep", f"whose_{slug(conflict.key)}")


def _whose_status(decided: DecidedTwice) -> str | None:
    key = slug(decided.eval_id)
    with st.container(border=True, gap="xsmall", key=f"decided_{key}"):
        st.text(literal(decided.eval_id))
        mine = named_decision(decided.mine) if decided.mine else "the case is deleted"
        st.text(literal(f"Mine: {mine}\nTheirs: {named_decision(decided.theirs)}"))
        return _choice("Status to keep", f"whose_status_{key}")


def _choice(label: str, key: str) -> str | None:
    chosen: str | None = st.segmented_control(
        label, ["Mine", "Theirs"], key=key, label_visibility="collapsed"
    )
    return chosen


def _compared(conflict: Conflict) -> None:
    mine, theirs = conflict.mine, conflict.theirs
    if mine is None or theirs is None:
        st.caption(
            "Deleted in mine, changed in theirs" if mine is None else "Changed in mine, deleted in theirs"
        )
        return
    st.caption(
        f"Differs: {difference_words(tuple(differences(theirs, mine)))}. {TEXT_MARKS.format('in theirs', 'in mine')}"
    )
    shown_differences(theirs, mine)


def shown_differences(before: Any, after: Any) -> None:
    """Draw the places in which two versions of a case differ, by their fields; of many the first ones."""
    lines = list(itertools.islice(difference_lines(before, after), _MOST_PLACES + 1))
    for line in lines[:_MOST_PLACES]:
        st.markdown(line)
    if len(lines) > _MOST_PLACES:
        st.caption(f"Only the first {_MOST_PLACES} places that differ are shown.")


def difference_words(words: Sequence[str]) -> str:
    """Write what differs in one line, and how much more does; safe in a label."""
    shown = ", ".join(safe_label(word, 40) for word in words[:_MOST_WORDS])
    return f"{shown} and {len(words) - _MOST_WORDS} more" if len(words) > _MOST_WORDS else shown


def difference_lines(theirs: Any, mine: Any) -> Iterator[str]:
    """Yield a line for each place in which two versions of a case differ, with the words that differ in it; safe in Markdown."""
    for each in value_differences(theirs, mine):
        old, new = each.golden, each.actual
        if isinstance(old, str) and isinstance(new, str) and len(old) + len(new) <= _LONGEST:
            yield f"{_place(each.path)}: {marked_text(text_pieces(old, new))}"
            continue
        pieces = [TextPiece(kind="golden", text=_text(old))] if each.in_golden else []
        pieces += [TextPiece(kind="actual", text=_text(new))] if each.in_actual else []
        yield f"{_place(each.path)}: {marked_text(pieces)}"


def _place(path: str) -> str:
    """Name a place of a case as its timeline does, such as "final response" of a turn; safe in Markdown."""
    words = path
    for pattern, name in _PLACES.items():
        words = re.sub(pattern, partial(_named, name), words)
    words = words.removesuffix(".").removesuffix(" \u203a ")
    return safe_label(words[:1].upper() + words[1:], _LONGEST_PLACE)


def _named(name: str, found: re.Match[str]) -> str:
    return name.format(*(int(number) + 1 for number in found.groups()))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
