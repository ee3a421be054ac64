"""Where a person answers a tool call: with a value, an error, an exception, later, or by the real tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.decision.decision_context import NOTHING_AROUND, Surroundings
from app.decision.draft_source_panel import draft_source
from app.decision.golden_panel import golden_response
from app.decision.outcome_panel import (
    error_inputs,
    exception_inputs,
    later_words,
    response_inputs,
    say_unready,
    state_inputs,
)
from app.decision.ready_answers import put_value, set_aside
from app.decision.ready_answers_panel import draft_difference, ready_answers
from app.decision.request_panel import (
    accept,
    arguments,
    buttons,
    heading,
    may_have_run,
    run_for_real,
    was_clicked,
)
from app.decision.tool_answer import NotReadyError, ToolInputs
from app.forms.common_panel import block, place
from app.forms.field_widgets import problem_line
from app.forms.safe_labels import literal, safe_label
from app.forms.typed_json import show_json
from app.forms.widget_store import KeptInputs
from app.live.player_names import PLAYERS, lacks
from app.live.rule_text import does_words
from app.session.fault_menu_panel import fault_menu, rule_of
from app.session.page_commands import Asked
from app.session.past_calls import unanswered
from app.session.timeline_view import blocks
from simulator.base.json_values import canonical, digest, same
from simulator.environment.drafts.draft import is_guess
from simulator.environment.recordings import NO_EFFECTS, Near, ToolEffects, nearest
from simulator.environment.world.entities import Contradiction
from simulator.facts import Failed, Outcome, Returned, ToolPlayer
from simulator.seats.requests import ToolRequest
from simulator.session.commands import AnswerRequest, FailCall, RunReal, SetPlayer
from simulator.session.history import HistoryEntry

_HELD = "held"
_FAULT = "fault"
_WARNING = (
    "The tool's code runs with these arguments and all its side effects. You still answer the other calls."
)
_OFF_SCHEMA = ("off schema", ":material/warning:", "orange")
_ON_SCHEMA = ("schema ok", ":material/check:", "green")
_GUESS = ("guess", ":material/help:", "orange")
_LABELS = {
    "Response": "Accept",
    "Error": "Return this error",
    "Exception": "Raise this exception",
    "Later": "Answer later",
}


class CallPlaces(NamedTuple):
    """Where more of a call is drawn whose arguments are shown already: above them, and in their line."""

    above: DeltaGenerator
    line: DeltaGenerator


def call_arguments(request: ToolRequest) -> CallPlaces:
    """Draw the arguments of a call, which a person reads while its draft is made."""
    with place():
        above = place()
        line = st.container(horizontal=True, gap="xsmall", wrap=False, key="call_line")
        with line.container(key="call_arguments"):
            arguments(dict(request.arguments))
    return CallPlaces(above, line)


def tool_decision(
    inputs: ToolInputs,
    places: CallPlaces,
    around: Surroundings = NOTHING_AROUND,
    history: Sequence[HistoryEntry] = (),
) -> Asked | None:
    """Draw one tool call below its arguments; return how it was answered, or what else was asked for.

    Args:
        inputs: The inputs of the call.
        places: What belongs above and beside the arguments is drawn there.
        around: What is known of the session beside the call.
        history: What has happened, for what an answer contradicts.
    """
    kept = inputs.kept
    if (lost := inputs.begin()) is not None:
        set_aside(inputs, lost)
    other = _asked(inputs, around, places)
    with place():
        at_once = _at_once(inputs, around)
    line = st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False, key="style_line"
    )
    with place():
        asked = draft_source(inputs, around.settings, line.container(key="draft_place"))
    tried = was_clicked(kept, "accept") or at_once
    with place():
        _inputs(inputs, line, tried=tried)
    with place():
        draft_difference(inputs)
    with place():
        insists = _contradictions(inputs, around, history, tried=tried)
    clicked, real, fault = _buttons(inputs, tried=tried)
    if real:
        return RunReal(key=inputs.request.key)
    if fault:
        rule, (outcome, effects) = rule_of(fault, inputs.request.tool_name), _changeable(inputs)
        return FailCall(key=inputs.request.key, rule=rule, outcome=outcome, effects=effects)
    sent = insists or ((clicked or at_once) and not _is_held(inputs))
    return (_answer(inputs, despite=insists) if sent else None) or other or asked


def _at_once(inputs: ToolInputs, around: Surroundings) -> bool:
    """Draw what the golden has, and the candidates; return whether one of them is to be given at once."""
    with place():
        uses_golden = golden_response(inputs, around.golden)
    return ready_answers(inputs) or uses_golden


def _inputs(inputs: ToolInputs, line: DeltaGenerator, *, tried: bool) -> None:
    """Draw what the answer is written in, and what is wrong with it; `line` is the one above it."""
    match inputs.mode:
        case "Response":
            response_inputs(inputs, line, tried=tried)
        case "Error":
            error_inputs(inputs)
        case "Exception":
            exception_inputs(inputs)
        case "Later":
            later_words()
    with place():
        if inputs.mode != "Response":
            say_unready(inputs.outcome, always=True, tried=tried)
    state_inputs(inputs, tried=tried)


def _asked(inputs: ToolInputs, around: Surroundings, places: CallPlaces) -> SetPlayer | None:
    """Draw which tool is called, and why a person has to answer; return a change of who answers."""
    request = inputs.request
    with places.above:
        line = heading(request.tool_name, *_badges(inputs))
        with line:
            changed = from_now_on(inputs.kept, request.tool_name, around)
        if request.may_have_run:
            may_have_run("tool")
        why_mine(inputs, around)
    with places.line:
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
        return [*badges, _GUESS if is_guess(inputs.doubtful) else ("draft", "", "gray")]
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


def _changeable(inputs: ToolInputs) -> tuple[Outcome | None, ToolEffects]:
    """Return the response in the inputs, which a fault can change or delay, and what the call does besides; None where there is none."""
    try:
        outcome, effects = inputs.outcome(), inputs.effects()
    except NotReadyError:
        return None, NO_EFFECTS
    return outcome if isinstance(outcome, (Returned, Failed)) else None, effects


def _buttons(inputs: ToolInputs, *, tried: bool) -> tuple[bool, bool, str]:
    """Draw the row of buttons; return whether the answer was sent, whether the real tool was asked for, and the fault that was chosen."""
    kept = inputs.kept
    with buttons() as above:
        clicked = accept(kept, _LABELS[inputs.mode])
        real = run_for_real(kept, "tool", _WARNING)
        fault_menu(
            kept.key("menu"),
            changes=_changeable(inputs)[0] is not None,
            help_="Answer this call with a fault, once, or let your response come late. No rule is added.",
            on_pick=_pick_fault,
            args=(kept,),
        )
        st.button(
            "Reset",
            key=kept.key("reset"),
            type="tertiary",
            help="Go back to the original draft",
            on_click=_reset,
            args=(kept,),
        )
    with above:
        say_unready(inputs.answer, always=False, tried=tried, say=problem_line)
    fault = str(kept.value(_FAULT) or "")
    if fault:
        kept.put(_FAULT, None)
    return clicked, real, fault


def _pick_fault(kept: KeptInputs, name: str) -> None:
    kept.put(_FAULT, name)


def _reset(kept: KeptInputs) -> None:
    kept.forget()


def _answer(inputs: ToolInputs, *, despite: bool) -> AnswerRequest | None:
    try:
        return AnswerRequest(key=inputs.request.key, answer=inputs.answer(despite_contradictions=despite))
    except NotReadyError:
        return None


# Draws who shall answer a tool from now on, in the decision pane itself.


_NAME = 28


def from_now_on(kept: KeptInputs, tool_name: str, around: Surroundings) -> SetPlayer | None:
    """Draw the choice, its body only while it is open; return the change of seats. This call moves along, too."""
    now = around.seats.of_tool(tool_name)
    body = st.popover(
        f"Answered by: {PLAYERS[now].short}",
        icon=":material/switch_account:",
        key=kept.key("players"),
        on_change="rerun",
    )
    if not body.open:
        return None
    with body:
        return _players(kept, tool_name, now, around)


def _players(kept: KeptInputs, tool_name: str, now: ToolPlayer, around: Surroundings) -> SetPlayer | None:
    chosen: SetPlayer | None = None
    st.caption(f"Calls to {safe_label(tool_name, _NAME)}, including this one, are answered by")
    for player, words in PLAYERS.items():
        missing = lacks(player, tool_name, around.settings.simulation_model, around.recorded)
        with st.container(gap=None, key=f"player_{player}"):
            clicked = st.button(
                words.name,
                key=kept.key(f"play_{player}"),
                type="tertiary",
                icon=":material/check:" if player == now else ":material/radio_button_unchecked:",
                disabled=bool(missing) or player == now,
            )
            st.caption(missing or words.does)
        if clicked:
            chosen = SetPlayer(seat="tool", target=tool_name, player=player)
    return chosen


# Draws what an answer contradicts, each with the earlier turn, and the second step that gives it all the same.


_MOST = 5


def contradictions(
    kept: KeptInputs, found: Sequence[Contradiction], history: Sequence[HistoryEntry], *, is_held: bool
) -> bool:
    """Draw the contradictions; True where the answer shall be given all the same.

    Args:
        kept: Names the widgets.
        found: What the answer contradicts.
        history: What has happened.
        is_held: The answer was to be given, and is held because of them.
    """
    if not found:
        return False
    insists = False
    with st.container(border=True, gap="xsmall", key="contradictions"):
        count = "1 contradiction" if len(found) == 1 else f"{len(found)} contradictions"
        words = f"Not sent: {count}" if is_held else f"This response has {count}"
        st.badge(words, icon=":material/error:", color="red" if is_held else "orange")
        for number, each in enumerate(found[:_MOST]):
            st.text(literal(each.what))
            if each.earlier is not None:
                _earlier(kept, number, each, history)
        if len(found) > _MOST:
            st.caption(f"and {len(found) - _MOST} more")
        if is_held:
            st.caption("Change the response, or send it anyway. It is then flagged in the world.")
            insists = st.button("Send anyway", key=kept.key("insist"), icon=":material/priority_high:")
    return insists


def _earlier(kept: KeptInputs, number: int, found: Contradiction, history: Sequence[HistoryEntry]) -> None:
    """Show the earlier step itself; one that is no answer of a tool is only named in the sentence."""
    earlier = found.earlier
    steps = [entry for entry in history if earlier is not None and entry.fact == earlier.fact]
    if not steps or earlier is None:
        return
    with st.expander(
        f"See {safe_label(earlier.words())}",
        type="compact",
        key=kept.key(f"earlier_{number}"),
        icon=":material/history:",
    ):
        for shown in blocks(steps[0])[:2]:
            block(shown)


# Draws why a tool call came to a person, what will happen to the answer, and what might have answered instead.


_MOST_DIFFERENCES = 6


def why_mine(inputs: ToolInputs, around: Surroundings) -> None:
    """Draw the reason where there is one, and the rules that will change whatever is answered."""
    request = inputs.request
    is_auto = around.seats.of_tool(request.tool_name) == "auto"
    if (request.note or is_auto) and not request.would_answer:
        with st.container(border=True, gap=None, key="why_mine"):
            words = "Auto stopped here" if is_auto else "Why you are asked"
            st.badge(words, icon=":material/pan_tool:", color="orange")
            st.text(literal(request.note or "A rule or missing information needs a person."))
            if is_auto:
                st.caption("Auto continues after your response.")
    rules = {rule.label or rule.rule_id: does_words(rule) for rule in reversed(around.rules)}
    for label in request.modifiers:
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
            st.badge(safe_label(label), icon=":material/tune:", color="violet")
            words = rules.get(label, "delays, changes or loses the response")
            st.text(literal(words), width="content")


def what_else(inputs: ToolInputs, around: Surroundings) -> None:
    """Draw what the tool says of itself, why no rule answered, and the recorded call that is nearest."""
    request = inputs.request
    _looked_up("Tool description", request.description, ":material/info:")
    reasons = "\n".join(f"{miss.rule_id}: {miss.reason}" for miss in unanswered(request, around.rules))
    _looked_up("Rules that did not match", reasons, ":material/rule:")
    found = nearest(around.recorded, request.tool_name, request.arguments, n=1)
    if found and (inputs.golden is None or not same(inputs.golden.value, found[0].call.response)):
        _nearest(inputs, found[0])


def _looked_up(title: str, text: str, icon: str) -> None:
    """Show a text from outside behind a button."""
    if text.strip():
        with st.popover(title, icon=icon, type="tertiary", help=title):
            st.text(literal(text))


def _nearest(inputs: ToolInputs, near: Near) -> None:
    with st.popover(
        "Closest recorded call", type="tertiary", icon=":material/history:", help="Closest recorded call"
    ):
        st.text(literal(near.call.place))
        for words in near.differs[:_MOST_DIFFERENCES]:
            st.text(literal(words))
        if not near.differs:
            st.caption("Same arguments.")
        st.code(literal(show_json(near.call.response)), language="json", wrap_lines=True)
        st.button(
            "Copy response to editor",
            key=inputs.kept.key("take_recorded"),
            on_click=put_value,
            args=(inputs, near.call.response),
        )
