"""Where a person sits in the agent's seat: makes its turn, or judges the one that its own model proposed."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import streamlit as st

from app.decisions import AnswerModel, Decision, RunReal
from app.labels import literal, safe_label
from app.model_turn import TurnInputs
from app.panels.asked import accept, heading, was_clicked
from app.panels.model_sees import draw_parts, model_sees
from app.panels.model_turn import turn_form
from app.surroundings import NOTHING_AROUND, Surroundings
from simulator.jsonvalue import JsonObject
from simulator.seats.answers import AnswerSource, ModelAnswer

View: TypeAlias = Literal["Turn", "Model sees"]
VIEWS: tuple[View, ...] = ("Turn", "Model sees")


def model_decision(inputs: TurnInputs, around: Surroundings = NOTHING_AROUND) -> Decision | None:
    """Draw the agent's turn that waits; give the turn that was made."""
    request = inputs.request
    held = request.proposal is not None
    heading(
        request.agent,
        ("next turn", ":material/smart_toy:", "gray"),
        (safe_label(request.model_name or "no model", 28), "", "gray"),
        *([("held", ":material/front_hand:", "orange")] if held else ()),
    )
    if inputs.kept.value("view") == "Model sees":
        model_sees(request)
        return None
    _last_message(inputs)
    if request.failure is not None:
        st.error(
            "The agent's own model failed. Make the turn yourself, or ask it once more.",
            icon=":material/error:",
        )
        st.code(literal(request.failure), language=None, wrap_lines=True)
    if held and request.failure is None and not inputs.kept.value("writing", initial=False):
        return _proposal(inputs, around)
    return _own_turn(inputs, around, held=held)


def _last_message(inputs: TurnInputs) -> None:
    """Show what the turn answers; everything before it is a click away."""
    contents = inputs.request.contents
    if not contents:
        return
    parts = contents[-1].get("parts")
    with st.expander("What it answers", expanded=True, type="compact", key=inputs.kept.key("last_fold")):
        draw_parts([part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else [])


def _proposal(inputs: TurnInputs, around: Surroundings) -> Decision | None:
    kept, parts = inputs.kept, inputs.proposed
    st.caption("The agent's own model proposes")
    with st.container(border=True, gap="xsmall"):
        draw_parts(parts)
        if not parts:
            st.caption("Nothing: its answer holds no text and no call.")
    real = _real_tools(parts, around)
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="decision_buttons"):
        accepted = bool(parts) and accept(kept, "Accept", "accept_proposal", shortcut=not real)
        if parts:
            st.button("Edit", key=kept.key("edit"), icon=":material/edit:", on_click=inputs.edit_proposal)
        st.button(
            "Reject",
            key=kept.key("write"),
            icon=":material/block:",
            help="Write another turn in its place",
            on_click=inputs.write_another,
        )
        again = _own_model(inputs, around, "Ask again")
    _say_what_holds_it(inputs, around, real)
    if again:
        return RunReal(key=inputs.request.key)
    return _answer(inputs, parts, "generated") if accepted else None


def _own_turn(inputs: TurnInputs, around: Surroundings, *, held: bool) -> Decision | None:
    kept = inputs.kept
    tried = was_clicked(kept, "accept")
    parts = turn_form(inputs, tried=tried)
    real = _real_tools(parts or (), around)
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="decision_buttons"):
        sent = accept(kept, "Make this turn", shortcut=not real)
        if held:
            st.button(
                "Back to the proposal", key=kept.key("back"), type="tertiary", on_click=inputs.show_proposal
            )
        own = _own_model(inputs, around, "Ask the model again" if held else "Let the model answer")
    _say_what_holds_it(inputs, around, real)
    if own:
        return RunReal(key=inputs.request.key)
    if not sent or parts is None:
        return None
    return _answer(inputs, parts, _source(inputs, parts))


def _real_tools(parts: Sequence[JsonObject], around: Surroundings) -> list[str]:
    """Name the tools that would really run as soon as a turn is sent."""
    calls = [part.get("functionCall") or part.get("function_call") for part in parts]
    names = (str(call.get("name") or "") for call in calls if isinstance(call, dict))
    return [name for name in dict.fromkeys(names) if around.seats.of_tool(name) == "real"]


def _say_what_holds_it(inputs: TurnInputs, around: Surroundings, real: list[str]) -> None:
    """Say why keys do not send a turn, and why its model cannot be asked; the words come from outside."""
    if real:
        st.caption("These tools really run when you send this turn, so only a click sends it:")
        st.text(literal(", ".join(real)))
    if reason := around.without_model.get(inputs.request.agent):
        st.caption("The agent's own model cannot be asked:")
        st.text(literal(reason))


def _own_model(inputs: TurnInputs, around: Surroundings, label: str) -> bool:
    return st.button(
        label,
        key=inputs.kept.key("own_model"),
        type="tertiary",
        icon=":material/smart_toy:",
        disabled=inputs.request.agent in around.without_model,
        help="The agent's own model takes this one turn; the next ones stay with whoever plays the agent",
    )


def _source(inputs: TurnInputs, parts: tuple[JsonObject, ...]) -> AnswerSource:
    if not inputs.is_editing:
        return "written"
    return "generated" if parts == inputs.proposed else "edited"


def _answer(inputs: TurnInputs, parts: tuple[JsonObject, ...], source: AnswerSource) -> AnswerModel:
    return AnswerModel(key=inputs.request.key, answer=ModelAnswer(parts=parts, source=source))
