"""Who speaks for the user: a person, or what sits down in their place."""

from __future__ import annotations

import importlib
from typing import Any

import streamlit as st

import evalset
from app.agents.scenario_cases import AddScenario
from app.forms.common_panel import not_used, place, problem
from app.forms.safe_labels import literal, safe_label
from app.forms.typed_json import parse_json, write_json
from app.forms.upload_panel import upload
from app.forms.value_editor_widgets import ValueEditor
from app.forms.widget_store import KeptInputs
from app.live.destinations import default_destination, whole_path
from app.session import page_state
from app.session.page_commands import Asked
from app.session.session_context import SessionContext
from app.session.user_form import (
    NO_PERSONA,
    OWN_PERSONA,
    USER_PLAYERS,
    FormError,
    ScenarioForm,
    form_of,
    script_of,
    script_text,
    seat_words,
)
from simulator.agent_config import SimulatedAgentConfig
from simulator.base.json_values import JsonObject
from simulator.facts import UserPlayer
from simulator.kernel.kernel_agent import model_problem
from simulator.session.commands import SetUser

_SEAT = "Play the user"


def user_seat(scene: SessionContext) -> Asked | None:
    """Draw the seat; return what was asked for."""
    seat = scene.view.user.seat
    st.caption("User messages come from")
    # The new player is shown, whichever button chose it: an earlier choice is not revived.
    choice = KeptInputs(scene.drafts, "user", f"{seat.player} {seat.changes}")
    chosen: UserPlayer = st.selectbox(
        "User",
        list(USER_PLAYERS),
        format_func=USER_PLAYERS.__getitem__,
        key=choice.widget("seat", seat.player),
    )
    if seat.player != "person":
        st.caption(seat_words(seat))
    if chosen == "person":
        return _take_over(scene)
    kept = KeptInputs(scene.drafts, f"user {chosen}")
    with st.container(border=True, gap="xsmall", key="user_seat_form"):
        match chosen:
            case "script":
                return _script(kept, scene)
            case "recording":
                return _recording(kept, scene)
            case "scenario":
                return _scenario(kept, scene)


def _take_over(scene: SessionContext) -> Asked | None:
    if scene.view.user.seat.player == "person":
        return None
    taken = st.button("Take over", key="seat_user_sit", icon=":material/front_hand:")
    return SetUser(player="person") if taken else None


def _ready(kept: KeptInputs, scene: SessionContext) -> tuple[bool, bool]:
    """Draw what all have in common; return whether messages are held, and whether it shall sit down."""
    hold = st.toggle(
        "Hold each message",
        key=kept.widget("hold", scene.view.user.seat.hold),
        help="You accept, edit or replace each message. Otherwise, messages are sent automatically until the end or a failure.",
    )
    return hold, st.button(_SEAT, key="seat_user_sit", type="primary", icon=":material/record_voice_over:")


def _script(kept: KeptInputs, scene: SessionContext) -> Asked | None:
    seat = scene.view.user.seat
    text = st.text_area(
        "Messages",
        key=kept.widget("script", script_text(seat.script) if seat.player == "script" else ""),
        placeholder="One message per line, or a JSON list",
        height=140,
    )
    hold, sit = _ready(kept, scene)
    if not sit:
        return None
    try:
        return SetUser(player="script", script=script_of(text or ""), hold=hold)
    except FormError as error:
        problem("The script is incomplete.", str(error))
        return None


def _recording(kept: KeptInputs, scene: SessionContext) -> Asked | None:
    st.caption("User messages of an eval case")
    upload(kept, "set", "Eval set", ["json"])
    text = st.text_area("Eval set (JSON)", key=kept.widget("set", ""), height=100)
    if not (text or "").strip():
        return None
    try:
        turns = evalset.user_turns(text or "")
    except evalset.ScenarioError as error:
        problem("This eval set cannot be read.", str(error))
        return None
    names = list(turns)
    first = kept.value("case")
    case = st.selectbox(
        "Case",
        names,
        key=kept.widget("case", first if first in names else names[0]),
        format_func=lambda name: f"{literal(name)} ({len(turns.get(name, ()))})",
    )
    hold, sit = _ready(kept, scene)
    return SetUser(player="recording", script=turns[case], hold=hold) if sit and case in turns else None


def _scenario(kept: KeptInputs, scene: SessionContext) -> Asked | None:
    seat = scene.view.user.seat
    begins = form_of(seat.scenario or {}, seat.config)
    loaded_scenarios(kept)
    form = scenario_form(kept, begins)
    not_used(seat.config)
    hold, sit = _ready(kept, scene)
    # Below the button: what appears when the model's field is left must not move the button while it is pressed.
    with place():
        say_unreachable(form.model, scene.live.config)
        save_scenario(form)
    add = _add_to_set(kept, scene)
    if not (sit or add):
        return None
    try:
        if add:
            return AddScenario(scenario=form.scenario(), path=whole_path(add, scene.live))
        return SetUser(player="scenario", scenario=form.scenario(), config=form.config(), hold=hold)
    except FormError as error:
        problem("The scenario is incomplete.", str(error))
        return None


def _add_to_set(kept: KeptInputs, scene: SessionContext) -> str:
    """Draw the way into an eval set; return its path where it was clicked."""
    path = st.text_input(
        "Eval set for the scenario case",
        key=kept.widget("set_path", str(default_destination(scene.live.owner, scene.live.config))),
    )
    clicked = st.button(
        "Add to eval set as scenario case",
        key="scenario_add",
        icon=":material/playlist_add:",
        help="Does the same as `adk eval_set add_eval_case`. This session's user and initial state become the session input.",
    )
    done = page_state.get("scenario_added")
    if done and not clicked:
        st.success("The scenario is in the eval set.", icon=":material/check_circle:")
        st.text(literal(str(done)))
    if clicked and not (path or "").strip():
        problem("The scenario was not added.", "Enter the path of an eval set file.")
    return (path or "").strip() if clicked else ""


# The form of a scenario: what the user says first, is after and is like, and the model that plays them.


_PROMPTS = ("starting_prompt", "conversation_plan", "persona")


def loaded_scenarios(kept: KeptInputs) -> None:
    """Draw the way to load a scenario file; a click on one of its scenarios fills the form in."""
    with st.expander("Load scenario file", type="compact", key="scenario_load"):
        upload(kept, "file", "Scenario file", ["json"])
        text = str(kept.value("file") or "")
        if not text.strip():
            st.caption("In the format of ADK's commands, with a list of scenarios")
            return
        try:
            found = evalset.read_scenarios(text)
        except evalset.ScenarioError as error:
            problem("This file cannot be read.", str(error))
            return
        for number, scenario in enumerate(found):
            st.button(
                f"Use: {safe_label(str(scenario['starting_prompt']), 48)}",
                key=f"scenario_use_{number}",
                type="tertiary",
                on_click=lambda chosen=scenario: _fill(kept, chosen),
            )


def _fill(kept: KeptInputs, scenario: JsonObject) -> None:
    form = form_of(scenario, {})
    for name in _PROMPTS:
        kept.put(name, getattr(form, name))
    if form.persona == OWN_PERSONA:
        kept.put("own_persona", form.own_persona)
        _own_persona(kept, form).begin(parse_json(form.own_persona))


def scenario_form(kept: KeptInputs, begins: ScenarioForm) -> ScenarioForm:
    """Draw the form; return what stands in it. `begins` is what it holds before anything was typed."""
    prompt = st.text_area(
        "Starting prompt",
        key=kept.widget("starting_prompt", begins.starting_prompt),
        height=70,
        placeholder="The first user message, word for word",
    )
    plan = st.text_area(
        "Plan",
        key=kept.widget("conversation_plan", begins.conversation_plan),
        height=120,
        placeholder="What the user wants to achieve, step by step",
    )
    with place():
        persona, own = _persona(kept, begins)
    model, limit = _model(kept, begins)
    with st.expander("Model options", type="compact", key="scenario_more"):
        return ScenarioForm(
            starting_prompt=prompt or "",
            conversation_plan=plan or "",
            persona=persona,
            own_persona=own,
            model=model,
            limit=limit,
            **_more(kept, begins),
        )


def _model(kept: KeptInputs, begins: ScenarioForm) -> tuple[str, int]:
    model = st.text_input(
        "User model",
        key=kept.widget("model", begins.model),
        placeholder="gemini-2.5-flash",
        help="Any model that ADK can reach. Without one, the starting prompt is sent, and then you are asked.",
    )
    limit = st.number_input(
        "Message limit",
        key=kept.widget("limit", begins.limit),
        min_value=-1,
        step=1,
        help="Includes the starting prompt. -1 means no limit.",
    )
    return model or "", int(limit)


def say_unreachable(model: str, config: SimulatedAgentConfig) -> None:
    """Say why a model that was named cannot be asked by the agent's process."""
    reason = model_problem(model, config) if model.strip() else None
    if reason:
        st.text(literal(reason))


def _more(kept: KeptInputs, begins: ScenarioForm) -> dict[str, Any]:
    """Draw what most scenarios leave to ADK; return it by the form's fields."""
    configuration = st.text_area(
        "Model configuration (JSON object)",
        key=kept.widget("model_configuration", begins.model_configuration),
        placeholder='{"temperature": 0.2}',
        height=70,
    )
    instructions = st.text_area(
        "Custom instructions",
        key=kept.widget("custom_instructions", begins.custom_instructions),
        help="A Jinja template with {{ stop_signal }}, {{ conversation_plan }} and {{ conversation_history }}",
        height=100,
    )
    calls = st.toggle(
        "Include the agent's tool calls",
        key=kept.widget("include_function_calls", begins.include_function_calls),
    )
    return {
        "model_configuration": configuration or "",
        "custom_instructions": instructions or "",
        "include_function_calls": calls,
    }


def _persona(kept: KeptInputs, begins: ScenarioForm) -> tuple[str, str]:
    # Importing ADK's evaluation takes a second: not before a scenario is written.
    known: dict[str, str] = importlib.import_module("simulator.runtime.adk.user_simulator").personas()
    names = {NO_PERSONA: "None", **{each: each for each in known}, OWN_PERSONA: "Custom"}
    persona = st.selectbox(
        "Persona", list(names), format_func=names.__getitem__, key=kept.widget("persona", begins.persona)
    )
    if persona in known:
        st.caption(known[persona])
    if persona != OWN_PERSONA:
        return persona, ""
    with st.container(border=True, gap="xsmall", key="persona_form"):
        editor = _own_persona(kept, begins)
        said = editor.draw(tried=True)
    if not said.problems:
        return persona, write_json(said.value)
    return persona, str(kept.value("own_persona") or "") if editor.is_json else ""


def _own_persona(kept: KeptInputs, begins: ScenarioForm) -> ValueEditor:
    """Return the editor of a persona: a form of ADK's fields, or JSON."""
    schema = importlib.import_module("simulator.runtime.adk.user_simulator").persona_schema()
    value = parse_json(begins.own_persona) if begins.own_persona else {}
    label = "Persona (JSON object)"
    return ValueEditor(kept, "own_persona", value, schema, label, is_blank=not begins.own_persona)


def save_scenario(form: ScenarioForm) -> None:
    """Draw the way to keep the scenario in a file of its own."""
    try:
        text = evalset.scenarios_text([form.scenario()])
    except (FormError, evalset.ScenarioError) as error:
        st.caption("Complete the scenario to save it as a file.")
        if form.starting_prompt.strip() and form.conversation_plan.strip():
            st.text(literal(str(error)))
        return
    st.download_button(
        "Save as scenario file",
        data=text,
        file_name="scenarios.json",
        mime="application/json",
        key="scenario_save",
        icon=":material/download:",
        on_click="ignore",
    )
