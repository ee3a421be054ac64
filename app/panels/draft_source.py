"""Draws where the draft of a tool call comes from, the ways to another one, and a draft that came while somebody typed."""

import streamlit as st

from app.commands import ShapeEnvironment
from app.decisions import AskForDraft, DrawAgain, StopDrafting
from app.labels import literal, safe_label
from app.offers import keep_typed_text, newer_against_typed, take_draft
from app.panels.guesses import WayOut, drawn_places, guess
from app.panels.ready_answers import difference_lines
from app.tool_answer import ToolInputs
from simulator.environment.drafting.blanks import is_guess
from simulator.environment.things.tool_settings import EnvironmentSettings

_LABEL = 28
_ASKED = "model_asked"


def draft_source(
    inputs: ToolInputs, settings: EnvironmentSettings
) -> AskForDraft | StopDrafting | DrawAgain | ShapeEnvironment | None:
    """Draw where the draft comes from and what it does not know; give what was asked for.

    Args:
        inputs: The inputs of the call.
        settings: Those of the environment: its model, and whether that is asked once for each call without a click.
    """
    request = inputs.request
    asked = _at_work(inputs) if request.drafting else _offline_or_made(inputs, settings)
    if request.draft_problem:
        with st.container(horizontal=True, gap="xsmall", key="draft_problem"):
            st.badge("No draft by the model", icon=":material/warning:", color="orange")
            st.text(literal(request.draft_problem))
    if inputs.newer_draft:
        _newer(inputs)
    by_itself = settings.simulation_model and settings.drafts_by_model
    if asked is None and by_itself and _is_first_time(inputs):
        return AskForDraft(key=request.key)
    return asked


def _is_first_time(inputs: ToolInputs) -> bool:
    """Tell whether the model was never asked for this call; from now on it was."""
    request, kept = inputs.request, inputs.kept
    is_tried = bool(request.drafting or request.draft_problem) or request.draft_by != "offline"
    if is_tried or kept.value(_ASKED, initial=False):
        return False
    kept.put(_ASKED, value=True)
    return True


def _at_work(inputs: ToolInputs) -> StopDrafting | None:
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="drafting"):
        st.badge("Model at work", icon=":material/progress_activity:", color="blue")
        st.text(literal(inputs.request.drafting))
        st.space("stretch")
        stop = st.button(
            "Stop", key=inputs.kept.key("stop_drafting"), icon=":material/stop_circle:", type="tertiary"
        )
    return StopDrafting(key=inputs.request.key) if stop else None


def _offline_or_made(
    inputs: ToolInputs, settings: EnvironmentSettings
) -> AskForDraft | DrawAgain | ShapeEnvironment | None:
    request, is_model = inputs.request, inputs.request.draft_by != "offline"
    asks = draws = False
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="draft_source"):
        if request.draft_from or is_model:
            words = f"Draft by {safe_label(request.draft_by, _LABEL)}" if is_model else "Draft"
            st.badge(
                words,
                icon=":material/smart_toy:" if is_model else None,
                color="violet" if is_model else "gray",
            )
            st.text(literal("; ".join(request.draft_from)))
        st.space("stretch")
        if request.draft_varies:
            draws = _draw_button(inputs)
        if settings.simulation_model and not is_guess(request.draft_blanks):
            asks = _ask_button(
                inputs, settings.simulation_model, again=is_model or bool(request.draft_problem)
            )
    if drawn := [blank for blank in request.draft_blanks if blank.drawn]:
        drawn_places(drawn)
    way = guess(inputs, settings) if is_guess(request.draft_blanks) else WayOut()
    if way.example is not None:
        return ShapeEnvironment(what=way.example)
    if asks or way.asks_model:
        return AskForDraft(key=request.key)
    return DrawAgain(key=request.key) if draws else None


def _draw_button(inputs: ToolInputs) -> bool:
    return st.button(
        "Another one",
        key=inputs.kept.key("draw_again"),
        icon=":material/casino:",
        type="tertiary",
        help="Draw anew what is drawn in this draft, such as names and numbers. Undo brings this one back",
    )


def _ask_button(inputs: ToolInputs, model: str, *, again: bool) -> bool:
    return st.button(
        f"{'Ask again' if again else 'Ask'} {safe_label(model, _LABEL)}",
        key=inputs.kept.key("ask_model"),
        icon=":material/auto_awesome:",
        type="tertiary",
        help="Let the environment's model draft an answer; you can answer meanwhile",
    )


def _newer(inputs: ToolInputs) -> None:
    """Offer a draft that has become another one since somebody began to type."""
    with st.container(border=True, gap="xsmall", key="newer_draft"):
        st.badge("The draft has changed since you began to write", icon=":material/difference:", color="blue")
        found = newer_against_typed(inputs)
        st.caption("What is yours has a plus, what the draft says now a minus.")
        difference_lines(found.text, is_cut=found.is_cut)
        with st.container(horizontal=True, gap="xsmall"):
            kept = inputs.kept
            st.button("Take the new draft", key=kept.key("take_draft"), on_click=take_draft, args=(inputs,))
            st.button(
                "Keep mine",
                key=kept.key("keep_mine"),
                type="tertiary",
                on_click=keep_typed_text,
                args=(inputs,),
            )
