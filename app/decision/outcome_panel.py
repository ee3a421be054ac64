"""Draws the inputs for the ways in which a tool call can end, and says what the agent will see of each."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from pydantic import JsonValue
from streamlit.delta_generator import DeltaGenerator

from app.decision.request_panel import choice, editor, json_line, misfit_list, not_ready
from app.decision.tool_answer import (
    FIRST_CODE,
    FIRST_MESSAGE,
    NotReadyError,
    ToolInputs,
    kept_name,
    seen_of,
    value_name,
)
from app.forms.common_panel import place
from app.forms.field_widgets import problem_line, suggested
from app.forms.safe_labels import literal, safe_label
from app.forms.schema_form_widgets import add_field
from app.forms.typed_json import show_json, write_json
from app.forms.widget_store import KeptInputs
from app.session.page_fragments import fragment
from simulator.base.json_values import canonical
from simulator.environment.recordings import ToolEffects
from simulator.facts import Failed, Raised, RaisedError, Returned

LOOK_AGAIN_SECONDS = 1.0
"""How often a preview is drawn anew: what is typed changes it, without a rerun of the page."""

_FOLLOWS = " (updates when you leave a field)"

_ERRORS = (
    ("404", "Not found"),
    ("429", "Too many requests"),
    ("500", "Internal error"),
    ("503", "Unavailable"),
)
_ACTIONS = {
    "escalate": "End the loop (escalate)",
    "skip_summarization": "End the turn with this response (skip_summarization)",
    "transfer_to_agent": "Transfer to an agent (transfer_to_agent)",
}
_NAME = 40
_COLUMNS = 2
"""A table of more columns has no room beside the text: it stands below."""
_EXCEPTIONS = ("RuntimeError", "ValueError", "TimeoutError", "ConnectionError", "PermissionError", "KeyError")


def response_inputs(inputs: ToolInputs, line: DeltaGenerator, *, tried: bool) -> None:
    """Draw the response: as JSON and in a form beside it, in one of them, or as plain text; which, is chosen in `line`."""
    with line:
        choice(inputs.kept, "style", "How to write the response", inputs.styles, first=inputs.style)
    with place():
        _response_in_style(inputs, tried=tried)


def _response_in_style(inputs: ToolInputs, *, tried: bool) -> None:
    kept = inputs.kept
    match inputs.style:
        case "Both":
            is_wide = inputs.form.most_columns > _COLUMNS
            key = "stacked_sides" if is_wide else "both_sides"
            with st.container(horizontal=not is_wide, gap="small", key=key):
                with st.container(key="side_text", gap="xsmall"):
                    _json(inputs, tried=tried)
                    _misfits(inputs)
                with st.container(key="side_form", gap="xsmall"):
                    _form(inputs, tried=tried)
        case "JSON":
            _json(inputs, tried=tried)
        case "Form" if not inputs.form.shows_text:  # an invalid text has to be visible to be fixed
            _json(inputs, tried=tried)
            _form(inputs, tried=tried)
        case "Form":
            _form(inputs, tried=tried)
        case "Text":
            editor(kept, "response_text", 'Text (the agent sees {"result": "..."})', fewest=6)
    if inputs.style != "Both":
        _misfits(inputs)


def _misfits(inputs: ToolInputs) -> None:
    """Say where the response breaks the schema."""
    with place():
        misfit_list(inputs.misfits())


def say_unready(
    read: Callable[[], object], *, always: bool, tried: bool, say: Callable[[str], None] = not_ready
) -> None:
    """Name what is wrong with an input: a mistake in JSON always, what is still empty once it was to be sent."""
    try:
        read()
    except NotReadyError as error:
        if tried or always:
            say(str(error))


def _json(inputs: ToolInputs, *, tried: bool) -> None:
    """Draw the editor, and above it what is wrong with it; leaving it, or Ctrl with Enter, draws the page anew."""
    with json_line("JSON"):
        is_begun = inputs.style == "Both" and inputs.form.shows_text and inputs.form.is_being_added
        say_unready(inputs.outcome, always=not is_begun, tried=tried, say=problem_line)
    editor(inputs.kept, "response", "Response (JSON)", inputs.draft_text, fewest=7, bare=True, live=True)


def _form(inputs: ToolInputs, *, tried: bool) -> None:
    with place():
        if not inputs.form.shows_text:
            st.caption("Invalid JSON. The form shows the last valid version.")
    objects = inputs.objects
    if objects == {(): ()} and inputs.form.is_filled():
        st.caption("No fields yet.")
    else:
        inputs.form.draw(
            tried=tried or bool(inputs.kept.value("fields_tried")),
            misfits=inputs.misfits(),
            live=True,
            on_remove=inputs.remove_field if objects else None,
        )
    with place():
        if objects:
            add_field(inputs.kept, inputs.form.input_name, objects, inputs.add_field)


def error_inputs(inputs: ToolInputs) -> None:
    """Draw an error's code and message, with common ones to choose from."""
    kept = inputs.kept
    st.caption("The tool returns an error as data. The agent continues and can react to it.")
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
    if inputs.error_shape is not None:
        st.toggle(
            "Use this tool's error format",
            key=kept.widget("error_own", initial=True),
            help="Otherwise the error has only a code and a message",
        )
    _live_preview(inputs)


def _preset(kept: KeptInputs, code: str, message: str) -> None:
    kept.put("error_code", code)
    kept.put("error_message", message)


def exception_inputs(inputs: ToolInputs) -> None:
    """Draw an exception's type and message."""
    kept = inputs.kept
    st.caption(
        "The tool raises an exception. An error handler of the agent can respond instead. Without one, the turn ends."
    )
    if inputs.expected_exception:
        has_enum = '"enum":' in canonical(inputs.request.parameters)
        why = "The tool's code raises this exception for these arguments."
        st.caption(f"{why} ADK passes the value of an enum as text." if has_enum else why)
    known, message = inputs.exception
    options = [one for one in dict.fromkeys((*inputs.own_exceptions, *_EXCEPTIONS, known)) if one]
    st.text_input(
        "Type",
        key=kept.widget("exception_type", known),
        help="A built-in exception, or module:Name of a class that the agent's code has loaded",
    )
    suggested(kept, "exception_type", "Type", options, most=len(options))
    editor(kept, "exception_message", "Message", message, fewest=3)
    _live_preview(inputs)


def later_words() -> None:
    """Say what the agent will see of a call that is answered later."""
    st.caption(
        "The tool keeps working. For now, the agent gets no response to this call. Its turn continues with "
        "the responses to its other calls, or ends if there are none. You enter the late result here after "
        "the turn has ended. The agent gets it in a separate turn."
    )


def _live_preview(inputs: ToolInputs) -> None:
    fragment(_preview, LOOK_AGAIN_SECONDS)(inputs)


def _preview(inputs: ToolInputs) -> None:
    """Show what comes of the inputs as they are now; nothing where they are no answer yet."""
    try:
        outcome = inputs.outcome()
    except NotReadyError:
        st.empty()
        return
    match outcome:
        case Failed() | Returned():
            st.caption(f"The agent sees{_FOLLOWS}")
            st.code(literal(show_json(seen_of(outcome))), language="json", wrap_lines=True)
        case Raised():
            st.caption(f"The agent's code sees{_FOLLOWS}")
            st.code(literal(_as_raised(outcome.error)), language=None, wrap_lines=True)
        case _:
            st.empty()


def _as_raised(error: RaisedError) -> str:
    """Return the exception as Python's traceback would: one without a message is its class alone."""
    from simulator.runtime.adk.codec import made_error  # noqa: PLC0415 - importing ADK takes a second: not before a call

    made = made_error(error)
    return f"{type(made).__name__}: {made}" if str(made) else f"{type(made).__name__} (without a message)"


def state_inputs(inputs: ToolInputs, *, tried: bool) -> None:
    """Draw what the call does besides its response: what the tool's code does, each to be left out, and other changes of the state.

    It is folded where the code does nothing: one fold that opens by itself for the next call would be drawn closed, and take two clicks. What is
    wrong is said inside, above the editor, and by a badge on the fold.
    """
    kept, proposed = inputs.kept, inputs.proposed()
    title = "State changes and actions" if proposed.actions else "State changes"
    try:
        now = inputs.effects()
        count = len(now.state_delta) + len(now.actions)
        words = title + (f" :blue-badge[{count}]" if count else "")
    except NotReadyError:
        words = f"{title} :red-badge[invalid JSON]"
    key = kept.key("state_fold")
    body = st.container(key=key) if proposed.written else st.expander(words, type="compact", key=key)
    with body:
        with place():
            _proposed(inputs, proposed, words)
        with place():
            say_unready(inputs.effects, always=True, tried=tried, say=problem_line)
        editor(
            kept,
            "state_delta",
            "Changes to the session state (JSON object)",
            placeholder='{"last_order": "A-1"}',
            fewest=3,
        )


def _proposed(inputs: ToolInputs, proposed: ToolEffects, title: str) -> None:
    """Draw each effect with a switch that leaves it out; a value of the state is edited as JSON."""
    if proposed.written:
        st.markdown(f"**{title}**")
        st.caption(f"{inputs.proposed_from}. Switch off what this call does not do.")
    for name, value in proposed.state_delta.items():
        with st.container(horizontal=True, gap="small", vertical_alignment="top"):
            key = inputs.kept.widget(kept_name(name), initial=True)
            st.toggle(f"Set {safe_label(name, _NAME)}", key=key)
            if inputs.keeps(name):
                label = f"Value of {safe_label(name, _NAME)} (JSON)"
                editor(inputs.kept, value_name(name, value), label, write_json(value), fewest=1, bare=True)
    for name, value in proposed.actions.items():
        key = inputs.kept.widget(kept_name(name, is_action=True), initial=True)
        st.toggle(f"{_ACTIONS.get(name, safe_label(name, _NAME))}{_to(value)}", key=key)


def _to(value: JsonValue) -> str:
    return f": {safe_label(show_json(value), _NAME)}" if value is not True else ""
