"""Draws what a draft does not know: its blanks by their path, and the two ways out, a model and a pasted example."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import streamlit as st

from app.examples import read_example, take_example
from app.jsontext import JsonTextError
from app.kept import Kept
from app.labels import safe_label
from app.panels.asked import misfit_list, not_ready
from app.players import NO_MODEL
from app.shaping import ChangeSettings
from app.tool_answer import ToolInputs
from simulator.environment.drafting.blanks import Blank
from simulator.environment.things.tool_settings import EnvironmentSettings

_MOST_BLANKS = 12
_LONGEST_PATH = 60
_LONGEST_NAME = 28
_OPEN = "example_open"


class WayOut(NamedTuple):
    """What was asked for in place of a guess: a draft by the model, or a change of settings that holds an example."""

    asks_model: bool = False
    example: ChangeSettings | None = None


def guess(inputs: ToolInputs, settings: EnvironmentSettings) -> WayOut:
    """Draw the blanks of a draft, with the ways out beside them."""
    blanks = [blank for blank in inputs.request.draft_blanks if not blank.drawn]
    with st.container(gap="xsmall", key="draft_guess"):
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
            st.badge("Guess", icon=":material/help:", color="orange")
            st.caption("No source for:", width="content")
            _places(blanks, ":material/check_box_outline_blank:", "orange")
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            asks = _ask(inputs, settings.simulation_model)
            st.button(
                "Paste an example",
                key=inputs.kept.key("paste_example"),
                icon=":material/content_paste:",
                type="tertiary",
                help="Paste a response of this tool: it becomes the draft, and the shape of later drafts",
                on_click=_open_or_close,
                args=(inputs.kept,),
            )
            if not settings.simulation_model:
                st.caption(NO_MODEL, width="content")
        is_open = bool(inputs.kept.value(_OPEN, initial=False))
        return WayOut(asks_model=asks, example=_paste(inputs, settings) if is_open else None)


def drawn_places(blanks: Sequence[Blank]) -> None:
    """Draw the places of a draft whose values were drawn: no source says what they are."""
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="draft_drawn"):
        st.caption("Drawn, with no source:", width="content")
        _places(blanks, ":material/casino:", "gray")


def _places(blanks: Sequence[Blank], icon: str, color: Literal["orange", "gray"]) -> None:
    for blank in blanks[:_MOST_BLANKS]:
        st.badge(blank_words(blank), icon=icon, color=color)
    if len(blanks) > _MOST_BLANKS:
        st.caption(f"and {len(blanks) - _MOST_BLANKS} more", width="content")


def _open_or_close(kept: Kept) -> None:
    kept.put(_OPEN, value=not kept.value(_OPEN, initial=False))


def blank_words(blank: Blank) -> str:
    """Name a blank by its path and its type; safe in a label."""
    path = safe_label(blank.path, _LONGEST_PATH)
    return f"{path} ({blank.kind})" if blank.kind else path


def _ask(inputs: ToolInputs, model: str) -> bool:
    return st.button(
        f"Ask {safe_label(model, _LONGEST_NAME)}" if model else "Ask a model",
        key=inputs.kept.key("ask_model"),
        icon=":material/auto_awesome:",
        type="tertiary",
        disabled=not model,
        help="The environment's model drafts a response; you can answer meanwhile" if model else NO_MODEL,
    )


def _paste(inputs: ToolInputs, settings: EnvironmentSettings) -> ChangeSettings | None:
    """Draw the field for an example; give the change that it asks for."""
    kept, request = inputs.kept, inputs.request
    text = st.text_area(
        "Example of a response (JSON or plain text)",
        key=kept.widget("example_text", ""),
        height=110,
        placeholder='{"status": "done"}',
        on_change="ignore",
    )
    if not st.button("Use as example", key=kept.key("use_example"), icon=":material/check:"):
        return None
    try:
        example = read_example(text or "", request.response_schema)
    except JsonTextError as error:
        not_ready(f"The example is not JSON. {error}")
        return None
    if example.misfits:
        not_ready("The example does not fit the output schema of the tool.")
        misfit_list(example.misfits)
        return None
    kept.put(_OPEN, value=False)
    return take_example(settings, request.tool_name, request.response_schema, example.value)
