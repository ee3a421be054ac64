"""Where a person answers a tool call: with a value, an error, an exception, later, or by the real tool."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from app.decisions import AnswerTool, Decision, RunReal
from app.kept import Kept
from app.labels import safe_label
from app.panels.asked import (
    accept,
    arguments,
    details,
    heading,
    may_have_run,
    misfit_list,
    not_ready,
    run_for_real,
    was_clicked,
)
from app.panels.tool_outcomes import (
    error_inputs,
    exception_inputs,
    later_words,
    response_inputs,
    state_inputs,
)
from app.tool_answer import NotReadyError, ToolInputs
from simulator.environment.rules import nearest_first

_WARNING = (
    "The tool's own code runs, with these arguments and with whatever it does to the world. "
    "The other calls stay with you."
)
_OFF_SCHEMA = ("off schema", ":material/warning:", "orange")
_ON_SCHEMA = ("schema ok", ":material/check:", "green")
_LABELS = {
    "Response": "Accept",
    "Error": "Answer with this error",
    "Exception": "Raise this exception",
    "Later": "Answer later",
}


def tool_decision(inputs: ToolInputs) -> Decision | None:
    """Draw one tool call; give how it was answered."""
    request, kept = inputs.request, inputs.kept
    _asked(inputs)
    tried = was_clicked(kept, "accept")
    match inputs.mode:
        case "Response":
            response_inputs(inputs, tried=tried)
        case "Error":
            error_inputs(inputs)
        case "Exception":
            exception_inputs(inputs)
        case "Later":
            later_words()
    _say(inputs.outcome, always=inputs.style == "JSON", tried=tried)
    misfit_list(inputs.misfits())
    state_inputs(inputs)
    _say(inputs.state_delta, always=True, tried=tried)
    clicked, real = _buttons(inputs)
    if real:
        return RunReal(key=request.key)
    return _answer(inputs) if clicked else None


def _asked(inputs: ToolInputs) -> None:
    """Draw what the agent wants of which tool."""
    request = inputs.request
    heading(request.tool_name, *_badges(inputs))
    if request.may_have_run:
        may_have_run("tool")
    arguments(dict(request.arguments))
    details("What the tool says of itself", request.description)
    reasons = "\n".join(f"{miss.rule_id}: {miss.reason}" for miss in nearest_first(request.misses))
    details("Why no rule answered, nearest first", reasons)


def _badges(inputs: ToolInputs) -> list[tuple[str, str, str]]:
    request = inputs.request
    badges = [(f"by {safe_label(request.agent, 28)}", ":material/smart_toy:", "gray")]
    if request.is_long_running:
        badges.append(("long-running", ":material/schedule:", "violet"))
    if inputs.mode != "Response":
        return badges
    if not _is_ready(inputs):
        return [*badges, ("not ready", ":material/error:", "red")]
    if request.response_schema is not None:
        badges.append(_OFF_SCHEMA if inputs.misfits() else _ON_SCHEMA)
    if request.draft is not None:
        badges.append(("draft", "", "gray") if inputs.is_draft() else ("edited", "", "green"))
    return badges


def _is_ready(inputs: ToolInputs) -> bool:
    try:
        inputs.answer()
    except NotReadyError:
        return False
    return True


def _say(read: Callable[[], object], *, always: bool, tried: bool) -> None:
    """Name what is wrong with an input: a mistake in JSON always, what is still empty once it was to be sent."""
    try:
        read()
    except NotReadyError as error:
        if tried or always:
            not_ready(str(error))


def _buttons(inputs: ToolInputs) -> tuple[bool, bool]:
    """Draw the row of buttons; give whether the answer was sent, and whether the real tool was asked for."""
    kept = inputs.kept
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="decision_buttons"):
        clicked = accept(kept, _LABELS[inputs.mode])
        real = run_for_real(kept, "tool", _WARNING)
        st.button(
            "Reset",
            key=kept.key("reset"),
            type="tertiary",
            help="Go back to the draft as it was offered",
            on_click=_reset,
            args=(kept,),
        )
    return clicked, real


def _reset(kept: Kept) -> None:
    kept.forget()


def _answer(inputs: ToolInputs) -> AnswerTool | None:
    try:
        return AnswerTool(key=inputs.request.key, answer=inputs.answer())
    except NotReadyError:
        return None
