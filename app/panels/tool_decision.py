"""Where a person answers a tool call: with a value, an error, an exception, later, or by the real tool."""

from collections.abc import Sequence

import streamlit as st

from app.commands import ChangeSeat
from app.decisions import AnswerTool, Decision, RunReal
from app.kept import Kept
from app.labels import safe_label
from app.offers import set_aside
from app.panels.asked import (
    accept,
    arguments,
    heading,
    may_have_run,
    run_for_real,
    was_clicked,
)
from app.panels.contradictions import contradictions
from app.panels.draft_source import draft_source
from app.panels.from_now_on import from_now_on
from app.panels.ready_answers import draft_difference, ready_answers
from app.panels.tool_outcomes import (
    error_inputs,
    exception_inputs,
    later_words,
    response_inputs,
    say_unready,
    state_inputs,
)
from app.panels.why_mine import what_else, why_mine
from app.surroundings import NOTHING_AROUND, Surroundings
from app.tool_answer import NotReadyError, ToolInputs
from simulator.environment.drafting.blanks import is_guess
from simulator.jsonvalue import canonical, digest
from simulator.session.history import HistoryEntry

_HELD = "held"
_WARNING = (
    "The tool's own code runs, with these arguments and with whatever it does to the world. "
    "The other calls stay with you."
)
_OFF_SCHEMA = ("off schema", ":material/warning:", "orange")
_ON_SCHEMA = ("schema ok", ":material/check:", "green")
_GUESS = ("guess", ":material/help:", "orange")
_LABELS = {
    "Response": "Accept",
    "Error": "Answer with this error",
    "Exception": "Raise this exception",
    "Later": "Answer later",
}


def tool_decision(
    inputs: ToolInputs, around: Surroundings = NOTHING_AROUND, history: Sequence[HistoryEntry] = ()
) -> Decision | None:
    """Draw one tool call; give how it was answered, or what else was asked for.

    Args:
        inputs: The inputs of the call.
        around: What is known of the session beside the call.
        history: What has happened, for what an answer contradicts.
    """
    kept = inputs.kept
    lost = inputs.begin()
    if lost is not None:
        set_aside(inputs, lost)
    other = _asked(inputs, around)
    at_once = ready_answers(inputs)
    settings = around.settings
    asked = draft_source(inputs, settings)
    draft_difference(inputs)
    tried = was_clicked(kept, "accept") or at_once
    _inputs(inputs, tried=tried)
    insists = _contradictions(inputs, around, history, tried=tried)
    clicked, real = _buttons(inputs)
    if real:
        return RunReal(key=inputs.request.key)
    sent = insists or ((clicked or at_once) and not _is_held(inputs))
    return (_answer(inputs, despite=insists) if sent else None) or other or asked


def _inputs(inputs: ToolInputs, *, tried: bool) -> None:
    """Draw what the answer is written in, and what is wrong with it."""
    match inputs.mode:
        case "Response":
            response_inputs(inputs, tried=tried)
        case "Error":
            error_inputs(inputs)
        case "Exception":
            exception_inputs(inputs)
        case "Later":
            later_words()
    if inputs.mode != "Response":
        say_unready(inputs.outcome, always=True, tried=tried)
    state_inputs(inputs)
    say_unready(inputs.state_delta, always=True, tried=tried)


def _asked(inputs: ToolInputs, around: Surroundings) -> ChangeSeat | None:
    """Draw what the agent wants of which tool, and why a person has to say it; give a change of who answers."""
    request = inputs.request
    line = heading(request.tool_name, *_badges(inputs))
    with line:
        st.space("stretch")
        changed = from_now_on(inputs.kept, request.tool_name, around)
    if request.may_have_run:
        may_have_run("tool")
    why_mine(inputs, around)
    arguments(dict(request.arguments))
    what_else(inputs, around)
    return changed


def _contradictions(
    inputs: ToolInputs, around: Surroundings, history: Sequence[HistoryEntry], *, tried: bool
) -> bool:
    """Hold the answer against the world; one that was to be given and contradicts it is held. True: give it all the same."""
    try:
        outcome = inputs.outcome()
    except NotReadyError:
        return False
    found = around.against(inputs.request.key, outcome)
    mark = digest(canonical(outcome.model_dump(mode="json")))
    if tried or not found:
        inputs.kept.put(_HELD, mark if found else None) if found or _is_held(inputs) else None
    is_held = bool(found) and inputs.kept.value(_HELD) == mark
    return contradictions(inputs.kept, found, history, is_held=is_held)


def _is_held(inputs: ToolInputs) -> bool:
    return inputs.kept.value(_HELD) is not None


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
    if inputs.is_draft():
        return [*badges, _GUESS if is_guess(request.draft_blanks) else ("draft", "", "gray")]
    offer = inputs.offer()
    if offer is not None:
        return [*badges, (safe_label(offer.title, 28), "", "violet")]
    if request.draft is not None:
        badges.append(("edited", "", "green"))
    return badges


def _is_ready(inputs: ToolInputs) -> bool:
    try:
        inputs.answer()
    except NotReadyError:
        return False
    return True


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


def _answer(inputs: ToolInputs, *, despite: bool) -> AnswerTool | None:
    try:
        return AnswerTool(key=inputs.request.key, answer=inputs.answer(despite_contradictions=despite))
    except NotReadyError:
        return None
