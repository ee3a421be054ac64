"""Draws the candidates to a tool call: a row of chips, each with a preview, which a key chooses or gives at once.

All previews are in the same place, and the style sheet shows one of them: that of the chip under the mouse, else of the
chip with the focus, else of the candidate that is in the editor. So a look at another one takes no run of the page.
"""

from __future__ import annotations

import streamlit as st

from app.decision.ready_answers import (
    against_draft,
    bring_back,
    choose,
    preview,
    set_aside_now,
    switch_back,
    switched_from,
)
from app.decision.request_panel import misfit_list, was_clicked
from app.decision.tool_answer import ToolInputs
from app.forms.common_panel import place
from app.forms.safe_labels import literal
from app.session.provenance_labels import places_named
from simulator.environment.drafts.candidates import Candidate

_NAMES = {
    "expected": "Expected",
    "outcome": "Outcome",
    "empty": "Empty",
    "error": "Error",
    "edge": "Extreme",
    "hostile": "Hostile",
    "golden": "Golden",
    "recorded": "Golden",
    "case": "Case",
}

_MOST_LINES = 9
_TALL = 200
"""A longer difference scrolls inside, so that the editor below it stays near."""


def ready_answers(inputs: ToolInputs) -> bool:
    """Draw the candidates; True where one was chosen to be given at once, and it is in the inputs then."""
    offered = inputs.candidates
    if not offered:
        return False
    kept, held = inputs.kept, inputs.offer()
    with st.container(gap=None, key="ready_answers"):
        st.caption("Candidates", width="content", help=_HELP)
        for number, candidate in enumerate(offered, start=1):
            _chip(inputs, candidate, number, is_held=candidate == held)
        with st.container(key="ready_own"):
            if held is None:
                st.caption("Your own response, none of the candidates.")
    with place():
        _say_switched(inputs)
        if held is not None:
            misfit_list(held.problems)
        if set_aside_now(inputs) is not None:
            st.button(
                "Restore your text",
                key=kept.key("bring_back"),
                type="tertiary",
                icon=":material/restore:",
                on_click=bring_back,
                args=(inputs,),
            )
    return any(was_clicked(kept, f"give_{_key(one, number)}") for number, one in enumerate(offered, start=1))


def _say_switched(inputs: ToolInputs) -> None:
    """Say that a candidate is of another kind than what stood there, with the way back."""
    before = switched_from(inputs)
    if before is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="switched"):
        st.badge(f"{before} changed to {inputs.mode}", icon=":material/swap_horiz:", color="blue")
        st.caption("The candidate is of this kind. What you had is kept.", width="content")
        st.button(
            f"Back to {before}",
            key=inputs.kept.key("switch_back"),
            type="tertiary",
            icon=":material/undo:",
            on_click=switch_back,
            args=(inputs,),
        )


def _name(inputs: ToolInputs, candidate: Candidate) -> str:
    """Return what is on a candidate's chip; several outcomes of a tool's code are numbered."""
    outcomes = [one for one in inputs.candidates if one.label == "outcome"]
    is_one_of_several = candidate.label == "outcome" and len(outcomes) > 1
    number = f" {outcomes.index(candidate) + 1}" if is_one_of_several else ""
    return f"{_NAMES[candidate.label]}{number}"


def _key(candidate: Candidate, number: int) -> str:
    """Name a candidate; there may be several outcomes of a tool's code."""
    return f"outcome_{number}" if candidate.label == "outcome" else candidate.label


_HELP = (
    "Press a number to put a candidate into the editor. Press Shift and the number to send it at once. "
    "The keys work only when no input has focus."
)


def _chip(inputs: ToolInputs, candidate: Candidate, number: int, *, is_held: bool) -> None:
    kept, label = inputs.kept, _key(candidate, number)
    with st.container(gap=None, key=f"ready_line_{label}"):
        st.button(
            _name(inputs, candidate),
            key=kept.key(f"choose_{label}"),
            shortcut=str(number),
            on_click=choose,
            args=(inputs, candidate),
        )
        with st.container(
            horizontal=True,
            vertical_alignment="center",
            gap="xsmall",
            wrap=False,
            key="ready_words_shown" if is_held else f"ready_words_of_{label}",
        ):
            is_whole = candidate is inputs.candidates[0] or candidate is inputs.request.candidates[0]
            compared = None if is_whole else inputs.request.candidates[0].value
            st.text(literal(preview(candidate, compared)), wrap=False)
            st.text(
                literal(_source(candidate)), wrap=is_held and not is_whole
            )  # that of the draft stands below
            st.button(
                "Use",
                key=kept.key(f"give_{label}"),
                type="tertiary",
                shortcut=f"Shift+{number}",
                on_click=choose,
                args=(inputs, candidate),
                help="Send this candidate at once",
            )


def _source(candidate: Candidate) -> str:
    """Return where an answer comes from, and what of it is not known."""
    empty = [one.path for one in candidate.blanks if not one.drawn]
    drawn = [one.path for one in candidate.blanks if one.drawn]
    said = [f"{word} at {places_named(at)}" for word, at in (("blank", empty), ("uncertain", drawn)) if at]
    return f"{candidate.why} ({'; '.join(said)})" if said else candidate.why


def draft_difference(inputs: ToolInputs) -> None:
    """Show what differs from the draft, folded."""
    found = against_draft(inputs)
    if not found.text and not found.is_cut:
        return
    is_offer = inputs.mode == "Response" and inputs.offer() is not None
    words = f"Changes to the draft: :green-badge[+{found.added}] :red-badge[\u2212{found.removed}]"
    key = inputs.kept.key(f"diff_{'offer' if is_offer else 'typed'}")
    with st.expander(words, type="compact", key=key):
        difference_lines(found.text, is_cut=found.is_cut)


def difference_lines(text: str, *, is_cut: bool = False) -> None:
    """Show a difference as code: what comes from outside stays a text."""
    is_tall = text.count("\n") >= _MOST_LINES
    st.code(literal(text), language="diff", wrap_lines=True, height=_TALL if is_tall else "content")
    if is_cut:
        st.caption("The rest of this long text was not compared.")
