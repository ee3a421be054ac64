"""Draws why a tool call came to a person, what will happen to the answer, and what might have answered instead."""

import streamlit as st

from app.jsontext import show_json
from app.labels import literal, safe_label
from app.offers import put_value
from app.panels.asked import details
from app.past_calls import unanswered
from app.surroundings import Surroundings
from app.tool_answer import ToolInputs
from simulator.environment.recording.nearest_calls import Near, nearest

_MOST_DIFFERENCES = 6


def why_mine(inputs: ToolInputs, around: Surroundings) -> None:
    """Draw the reason where there is one, and the rules that will change whatever is answered."""
    request = inputs.request
    is_auto = around.seats.of_tool(request.tool_name) == "auto"
    if (request.note or is_auto) and not request.would_answer:
        with st.container(border=True, gap=None, key="why_mine"):
            words = "Auto stopped here for you" if is_auto else "Why this call is yours"
            st.badge(words, icon=":material/pan_tool:", color="orange")
            st.text(literal(request.note or "A rule, or what is open here, needs a person."))
            if is_auto:
                st.caption("Once you have answered, it goes on by itself.")
    for label in request.modifiers:
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
            st.badge(safe_label(label), icon=":material/tune:", color="violet")
            st.caption("will delay, change or lose whatever you answer", width="content")


def what_else(inputs: ToolInputs, around: Surroundings) -> None:
    """Draw what the tool says of itself, why no rule answered, and the recorded call that is nearest."""
    request = inputs.request
    details("What the tool says of itself", request.description)
    reasons = "\n".join(f"{miss.rule_id}: {miss.reason}" for miss in unanswered(request, around.rules))
    details("Why no rule answered, nearest first", reasons)
    found = nearest(around.recorded, request.tool_name, request.arguments, n=1)
    if found:
        _nearest(inputs, found[0], is_open=around.seats.of_tool(request.tool_name) == "recorded")


def _nearest(inputs: ToolInputs, near: Near, *, is_open: bool) -> None:
    with st.expander(
        "Nearest recorded call", type="compact", key=inputs.kept.key("nearest"), expanded=is_open
    ):
        st.text(literal(near.call.place))
        for words in near.differs[:_MOST_DIFFERENCES]:
            st.text(literal(words))
        if not near.differs:
            st.caption("It was called with the same arguments.")
        st.code(literal(show_json(near.call.response)), language="json", wrap_lines=True)
        st.button(
            "Put its answer into the editor",
            key=inputs.kept.key("take_recorded"),
            on_click=put_value,
            args=(inputs, near.call.response),
        )
