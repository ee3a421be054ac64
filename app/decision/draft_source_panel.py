"""Draws where the draft of a tool call comes from, the ways to another one, and a draft that came while somebody typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.decision.ready_answers import (
    keep_typed_text,
    newer_against_typed,
    read_example,
    take_draft,
    take_example,
)
from app.decision.ready_answers_panel import difference_lines
from app.decision.request_panel import misfit_list, not_ready
from app.decision.tool_answer import ARE_RIGHT, ToolInputs
from app.forms.common_panel import place
from app.forms.form_reading import place_in_words
from app.forms.safe_labels import literal, safe_label
from app.forms.typed_json import TypedJsonError
from app.forms.widget_store import KeptInputs
from app.live.player_names import NO_MODEL
from app.session.provenance_labels import RIGHT, RIGHT_HELP
from simulator.environment.drafts.draft import Blank, is_guess
from simulator.environment.world.tool_settings import EnvironmentSettings
from simulator.session.commands import AskForDraft, ChangeSettings, DrawAgain, StopDrafting

_LABEL = 28
_LONGEST_SOURCE = 400
_ASKED = "model_asked"


def draft_source(
    inputs: ToolInputs, settings: EnvironmentSettings, line: DeltaGenerator
) -> AskForDraft | StopDrafting | DrawAgain | ChangeSettings | None:
    """Draw where the draft comes from and what it does not know; return what was asked for.

    Args:
        inputs: The inputs of the call.
        settings: Those of the environment: its model, and whether that is asked once for each call without a click.
        line: Has room for one line on the source, above the editor.
    """
    request = inputs.request
    asked = _at_work(inputs) if request.drafting else _offline_or_made(inputs, settings, line)
    if request.draft_problem:
        with st.container(horizontal=True, gap="xsmall", key="draft_problem"):
            st.badge("No model draft", icon=":material/warning:", color="orange")
            st.text(literal(request.draft_problem))
    if inputs.newer_draft:
        _newer(inputs)
    by_itself = settings.simulation_model and settings.drafts_by_model
    if asked is None and by_itself and _is_first_time(inputs):
        return AskForDraft(key=request.key)
    return asked


def _is_first_time(inputs: ToolInputs) -> bool:
    """Return whether the model was never asked for this call; from now on it was."""
    request, kept = inputs.request, inputs.kept
    is_tried = bool(request.drafting or request.draft_problem) or request.draft_by != "offline"
    if is_tried or kept.value(_ASKED, initial=False):
        return False
    kept.put(_ASKED, value=True)
    return True


def _at_work(inputs: ToolInputs) -> StopDrafting | None:
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="drafting"):
        st.badge("Model is drafting", icon=":material/progress_activity:", color="blue")
        st.text(literal(inputs.request.drafting))
        st.space("stretch")
        stop = st.button(
            "Stop", key=inputs.kept.key("stop_drafting"), icon=":material/stop_circle:", type="tertiary"
        )
    return StopDrafting(key=inputs.request.key) if stop else None


def _offline_or_made(
    inputs: ToolInputs, settings: EnvironmentSettings, line: DeltaGenerator
) -> AskForDraft | DrawAgain | ChangeSettings | None:
    request, is_model = inputs.request, inputs.request.draft_by != "offline"
    asks = draws = False
    with line.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", key="draft_source", wrap=False
    ):
        if request.draft_from or is_model:
            words = f"Draft by {safe_label(request.draft_by, _LABEL)}" if is_model else "Draft"
            st.badge(
                words,
                icon=":material/smart_toy:" if is_model else None,
                color="violet" if is_model else "gray",
                help=safe_label("; ".join(request.draft_from), _LONGEST_SOURCE) or None,
            )
            st.text(literal("; ".join(request.draft_from)), wrap=False)
        if request.draft_varies:
            draws = _draw_button(inputs)
        if settings.simulation_model and not is_guess(request.draft_blanks):
            asks = _ask_button(
                inputs, settings.simulation_model, again=is_model or bool(request.draft_problem)
            )
    with place():
        if drawn := [blank for blank in inputs.doubtful if blank.drawn]:
            drawn_places(drawn)
    way = guess(inputs, settings) if is_guess(request.draft_blanks) else WayOut()
    with place():
        if inputs.uncertain:
            st.checkbox(RIGHT, key=inputs.kept.widget(ARE_RIGHT, initial=False), help=RIGHT_HELP)
    if way.example is not None:
        return way.example
    if asks or way.asks_model:
        return AskForDraft(key=request.key)
    return DrawAgain(key=request.key) if draws else None


def _draw_button(inputs: ToolInputs) -> bool:
    return st.button(
        "New draft",
        key=inputs.kept.key("draw_again"),
        icon=":material/casino:",
        type="tertiary",
        help="Redraw the random values of this draft, such as names and numbers. Undo restores this draft.",
    )


def _ask_button(inputs: ToolInputs, model: str, *, again: bool) -> bool:
    return st.button(
        f"Ask {safe_label(model, _LABEL)}{' again' if again else ''}",
        key=inputs.kept.key("ask_model"),
        icon=":material/auto_awesome:",
        type="tertiary",
        help="The environment model drafts a response. You can answer before it is done.",
    )


def _newer(inputs: ToolInputs) -> None:
    """Offer a draft that has become another one since somebody began to type."""
    with st.container(border=True, gap="xsmall", key="newer_draft"):
        st.badge("The draft has changed since you started typing", icon=":material/difference:", color="blue")
        found = newer_against_typed(inputs)
        st.caption("Lines with + are yours, lines with - are the new draft.")
        difference_lines(found.text, is_cut=found.is_cut)
        with st.container(horizontal=True, gap="xsmall"):
            kept = inputs.kept
            st.button("Use new draft", key=kept.key("take_draft"), on_click=take_draft, args=(inputs,))
            st.button(
                "Keep mine",
                key=kept.key("keep_mine"),
                type="tertiary",
                on_click=keep_typed_text,
                args=(inputs,),
            )


# Draws what a draft does not know: its blanks by their path, and the two ways out, a model and a pasted example.


_MOST_BLANKS = 12
_LONGEST_PATH = 60
_LONGEST_NAME = 28
_OPEN = "example_open"


class WayOut(NamedTuple):
    """What was asked for in place of a guess: a draft by the model, or a change of settings that holds an example."""

    asks_model: bool = False
    example: ChangeSettings | None = None


def guess(inputs: ToolInputs, settings: EnvironmentSettings) -> WayOut:
    """Draw the blanks of a draft that no one has filled in, with the ways out beside them."""
    blanks = [blank for blank in inputs.doubtful if not blank.drawn]
    with st.container(gap="xsmall", key="draft_guess"):
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
            if blanks:
                st.badge("Guess", icon=":material/help:", color="orange")
                st.caption("No source for:", width="content")
                _places(blanks, ":material/check_box_outline_blank:", "orange")
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            asks = _ask(inputs, settings.simulation_model)
            st.button(
                "Paste example",
                key=inputs.kept.key("paste_example"),
                icon=":material/content_paste:",
                type="tertiary",
                help="Paste a response of this tool. Drafts take its fields, and its values where nothing of the session decides them.",
                on_click=_open_or_close,
                args=(inputs.kept,),
            )
            if not settings.simulation_model:
                st.caption(NO_MODEL, width="content")
        is_open = bool(inputs.kept.value(_OPEN, initial=False))
        return WayOut(asks_model=asks, example=_paste(inputs, settings) if is_open else None)


def drawn_places(blanks: Sequence[Blank]) -> None:
    """Draw the places of a draft whose values may be others: they are random, or the tool's code may return others."""
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="draft_drawn"):
        st.caption("Uncertain values:", width="content")
        _places(blanks, ":material/casino:", "gray")


def _places(blanks: Sequence[Blank], icon: str, color: Literal["orange", "gray"]) -> None:
    # One element: a browser takes a dozen times as long for a dozen.
    st.markdown(" ".join(f":{color}-badge[{icon} {blank_words(one)}]" for one in blanks[:_MOST_BLANKS]))
    if len(blanks) > _MOST_BLANKS:
        st.caption(f"and {len(blanks) - _MOST_BLANKS} more", width="content")


def _open_or_close(kept: KeptInputs) -> None:
    kept.put(_OPEN, value=not kept.value(_OPEN, initial=False))


def blank_words(blank: Blank) -> str:
    """Name a blank as the form labels it, with its type; safe in a label."""
    path = safe_label(place_in_words(blank.path), _LONGEST_PATH)
    return f"{path} ({blank.kind})" if blank.kind else path


def _ask(inputs: ToolInputs, model: str) -> bool:
    return st.button(
        f"Ask {safe_label(model, _LONGEST_NAME)}" if model else "Ask a model",
        key=inputs.kept.key("ask_model"),
        icon=":material/auto_awesome:",
        type="tertiary",
        disabled=not model,
        help="The environment model drafts a response. You can answer before it is done."
        if model
        else NO_MODEL,
    )


def _paste(inputs: ToolInputs, settings: EnvironmentSettings) -> ChangeSettings | None:
    """Draw the field for an example; return the change that it asks for."""
    kept, request = inputs.kept, inputs.request
    text = st.text_area(
        "Example response (JSON or plain text)",
        key=kept.widget("example_text", ""),
        height=110,
        placeholder='{"status": "done"}',
        on_change="ignore",
    )
    if not st.button("Use as example", key=kept.key("use_example"), icon=":material/check:"):
        return None
    try:
        example = read_example(text or "", request.response_schema)
    except TypedJsonError as error:
        not_ready(f"The example is not valid JSON. {error}")
        return None
    if example.misfits:
        not_ready("The example does not match the tool's output schema.")
        misfit_list(example.misfits)
        return None
    kept.put(_OPEN, value=False)
    return take_example(settings, request.tool_name, request.response_schema, example.value)
