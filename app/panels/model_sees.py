"""Shows a model request exactly: the instruction, the conversation, the tools and every setting."""

from collections.abc import Mapping, Sequence

import streamlit as st
from pydantic import JsonValue

from app.jsontext import show_json, write_json
from app.labels import literal, safe_label
from simulator.jsonvalue import JsonObject
from simulator.seats.requests import ModelRequest

_CALL = "function_call"
_RESPONSE = "function_response"

SHOWN_CONTENTS = 20
"""How many messages are drawn one by one, the newest; all of them are in the JSON."""


def model_sees(request: ModelRequest, prefix: str = "sees") -> None:
    """Draw all that the model would be given, in the order in which it reads it; `prefix` begins the widgets' keys."""
    st.caption("System instruction")
    st.code(literal(request.system_instruction or "(none)"), language=None, wrap_lines=True)
    _conversation(request.contents)
    st.caption(f"Tools ({len(request.tools)})")
    for index, tool in enumerate(request.tools):
        with st.expander(safe_label(tool.name), type="compact", key=f"{prefix}_tool_{index}"):
            st.text(literal(tool.description))
            st.code(write_json(dict(tool.parameters)), language="json", wrap_lines=True)
    if request.response_schema is not None:
        st.caption("The final answer must fit")
        st.code(write_json(dict(request.response_schema)), language="json", wrap_lines=True)
    if request.other_config:
        st.caption("Other settings")
        st.code(write_json(dict(request.other_config)), language="json", wrap_lines=True)
    body = st.expander("Conversation as JSON", type="compact", key=f"{prefix}_json", on_change="rerun")
    if body.open:
        body.code(
            write_json([dict(content) for content in request.contents]), language="json", wrap_lines=True
        )


def _conversation(contents: Sequence[JsonObject]) -> None:
    st.caption(f"Conversation ({len(contents)})")
    if len(contents) > SHOWN_CONTENTS:
        st.caption(f"{len(contents) - SHOWN_CONTENTS} earlier messages are in the JSON below.")
    for content in contents[-SHOWN_CONTENTS:]:
        draw_content(content)


def draw_content(content: Mapping[str, JsonValue]) -> None:
    """Draw one message: who speaks, and each of its parts."""
    parts = content.get("parts")
    with st.container(border=True, gap="xsmall"):
        st.badge(safe_label(str(content.get("role") or "?")), color="gray")
        draw_parts([part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else [])


def draw_parts(parts: Sequence[JsonObject]) -> None:
    """Draw parts of a message: text as text, calls and responses as code, anything else as JSON."""
    for part in parts:
        text, call, response = part.get("text"), part.get(_CALL), part.get(_RESPONSE)
        if isinstance(text, str):
            if part.get("thought"):
                st.caption("Thought")
            st.text(literal(text))
        elif isinstance(call, dict):
            _named(":material/build:", call.get("name"), call.get("args") or {})
        elif isinstance(response, dict):
            _named(":material/keyboard_return:", response.get("name"), response.get("response"))
        else:
            st.code(show_json(part), language="json", wrap_lines=True)


def _named(icon: str, name: JsonValue, value: JsonValue) -> None:
    st.badge(safe_label(str(name)), icon=icon, color="primary")
    st.code(show_json(value), language="json", wrap_lines=True)
