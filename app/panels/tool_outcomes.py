"""Draws the inputs for the ways in which a tool call can end, and says what the agent will see of each."""

from __future__ import annotations

import streamlit as st

from app.jsontext import show_json
from app.kept import Kept
from app.labels import literal
from app.panels.asked import choice, editor
from app.tool_answer import FIRST_CODE, FIRST_EXCEPTION, FIRST_MESSAGE, NotReadyError, ToolInputs
from simulator.facts import Failed, Raised, RaisedError

LOOK_AGAIN_SECONDS = 1.0
"""How often a preview is drawn anew: what is typed changes it, without a rerun of the page."""

_FOLLOWS = " (as soon as you leave a field, with what you typed)"

_ERRORS = (
    ("404", "Not found"),
    ("429", "Too many requests"),
    ("500", "Internal error"),
    ("503", "Unavailable"),
)
_EXCEPTIONS = ("RuntimeError", "ValueError", "TimeoutError", "ConnectionError", "PermissionError", "KeyError")


def response_inputs(inputs: ToolInputs, *, tried: bool) -> None:
    """Draw the response: as JSON, in a form where the tool has a schema, or as plain text."""
    kept = inputs.kept
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="style_line"):
        st.caption("Response", width="content")
        st.space("stretch")
        choice(kept, "style", "How to write the response", inputs.styles, on_change=inputs.switch_style)
    match inputs.style:
        case "JSON":
            editor(kept, "response", "Response (JSON)", inputs.form.initial_text(), fewest=7, bare=True)
        case "Form":
            inputs.form.draw(tried=tried)
        case "Text":
            editor(kept, "response_text", 'Text; the agent sees it as {"result": "..."}', fewest=6)


def error_inputs(inputs: ToolInputs) -> None:
    """Draw an error's code and message, with common ones to choose from."""
    kept = inputs.kept
    st.caption("The tool answers with an error, as data: the agent goes on and can react.")
    with st.container(horizontal=True, gap="xsmall"):
        for code, message in _ERRORS:
            st.button(
                f"{code} {message}",
                key=kept.key(f"preset_{code}"),
                type="tertiary",
                on_click=_preset,
                args=(kept, code, message),
            )
    left, right = st.columns((1, 2.6))
    left.text_input("Code", key=kept.widget("error_code", FIRST_CODE), on_change="ignore")
    right.text_input("Message", key=kept.widget("error_message", FIRST_MESSAGE), on_change="ignore")
    _live_preview(inputs)


def _preset(kept: Kept, code: str, message: str) -> None:
    kept.put("error_code", code)
    kept.put("error_message", message)


def exception_inputs(inputs: ToolInputs) -> None:
    """Draw an exception's type and message."""
    kept = inputs.kept
    st.caption(
        "The tool raises. An error handler of the agent may answer in its place; without one the turn ends."
    )
    known = str(kept.value("exception_type", FIRST_EXCEPTION) or "")
    options = _EXCEPTIONS if known in _EXCEPTIONS or not known else (known, *_EXCEPTIONS)
    st.selectbox(
        "Type",
        options,
        key=kept.widget("exception_type", FIRST_EXCEPTION),
        accept_new_options=True,
        help="A built-in exception, or module:Name of a class that the agent's code has loaded",
    )
    editor(kept, "exception_message", "Message", fewest=3)
    _live_preview(inputs)


def later_words() -> None:
    """Say what the agent will see of a call that is answered later."""
    st.caption(
        "The tool keeps working. For now the agent sees no response to this call: its turn goes on with the "
        "responses to the other calls beside it, and ends where there are none. The late result is given here "
        "once the turn has ended, and the agent sees it in a turn of its own."
    )


def _live_preview(inputs: ToolInputs) -> None:
    st.fragment(_preview, run_every=LOOK_AGAIN_SECONDS)(inputs)


def _preview(inputs: ToolInputs) -> None:
    """Show what comes of the inputs as they are now; nothing where they are no answer yet."""
    try:
        outcome = inputs.outcome()
    except NotReadyError:
        st.empty()
        return
    match outcome:
        case Failed():
            st.caption(f"The agent sees{_FOLLOWS}")
            st.code(show_json(outcome.response()), language="json", wrap_lines=True)
        case Raised():
            st.caption(f"The agent's code sees{_FOLLOWS}")
            st.code(literal(_as_raised(outcome.error)), language=None, wrap_lines=True)
        case _:
            st.empty()


def _as_raised(error: RaisedError) -> str:
    """Give the exception as Python's traceback would: one without a message is its class alone."""
    from simulator.runtime.encoding import made_error  # noqa: PLC0415 - importing ADK takes a second: not before a call

    made = made_error(error)
    return f"{type(made).__name__}: {made}" if str(made) else f"{type(made).__name__} (without a message)"


def state_inputs(inputs: ToolInputs) -> None:
    """Draw the changes of the session's state that come with the answer, folded until there are some."""
    kept = inputs.kept
    try:
        changed = len(inputs.state_delta())
        words = "State changes" + (f" :blue-badge[{changed}]" if changed else "")
    except NotReadyError:
        words = "State changes :red-badge[not JSON]"
    with st.expander(words, type="compact", key=kept.key("state_fold")):
        editor(
            kept,
            "state_delta",
            "What the call writes into the session's state (JSON object)",
            placeholder='{"last_order": "A-1"}',
            fewest=3,
        )
