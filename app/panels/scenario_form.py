"""The form of a scenario: what the user says first, is after and is like, and the model that plays them."""

import importlib
from typing import Any

import streamlit as st

import evalset
from app.kept import Kept
from app.labels import literal, safe_label
from app.model_names import model_problem
from app.panels.parts import problem
from app.panels.uploads import upload
from app.user_form import NO_PERSONA, OWN_PERSONA, FormError, ScenarioForm, form_of
from simulator.jsonvalue import JsonObject

_PROMPTS = ("starting_prompt", "conversation_plan", "persona", "own_persona")


def loaded_scenarios(kept: Kept) -> None:
    """Draw the way to load a scenario file; a click on one of its scenarios fills the form in."""
    with st.expander("Load a scenario file", type="compact", key="scenario_load"):
        upload(kept, "file", "Scenario file", ["json"])
        text = str(kept.value("file") or "")
        if not text.strip():
            st.caption("As ADK's commands take it, with a list of scenarios")
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


def _fill(kept: Kept, scenario: JsonObject) -> None:
    form = form_of(scenario, {})
    for name in _PROMPTS:
        kept.put(name, getattr(form, name))


def scenario_form(kept: Kept, begins: ScenarioForm) -> ScenarioForm:
    """Draw the form; give what stands in it. `begins` is what it holds before anything was typed."""
    prompt = st.text_area(
        "Starting prompt",
        key=kept.widget("starting_prompt", begins.starting_prompt),
        height=70,
        placeholder="What the user says first, word by word",
    )
    plan = st.text_area(
        "Plan",
        key=kept.widget("conversation_plan", begins.conversation_plan),
        height=120,
        placeholder="What the user is after, step by step",
    )
    persona, own = _persona(kept, begins)
    model, limit = _model(kept, begins)
    with st.expander("More about the model", type="compact", key="scenario_more"):
        return ScenarioForm(
            starting_prompt=prompt or "",
            conversation_plan=plan or "",
            persona=persona,
            own_persona=own,
            model=model,
            limit=limit,
            **_more(kept, begins),
        )


def _model(kept: Kept, begins: ScenarioForm) -> tuple[str, int]:
    model = st.text_input(
        "Model of the user",
        key=kept.widget("model", begins.model),
        placeholder="gemini-2.5-flash",
        help="Any model that ADK can reach. Without one, the starting prompt goes out and then you are asked.",
    )
    reason = model_problem(model) if (model or "").strip() else None
    if reason:
        st.text(literal(reason))
    limit = st.number_input(
        "Most messages",
        key=kept.widget("limit", begins.limit),
        min_value=-1,
        step=1,
        help="The starting prompt counts; -1 is no limit",
    )
    return model or "", int(limit)


def _more(kept: Kept, begins: ScenarioForm) -> dict[str, Any]:
    """Draw what most scenarios leave to ADK; give it by the form's fields."""
    configuration = st.text_area(
        "Model configuration (JSON object)",
        key=kept.widget("model_configuration", begins.model_configuration),
        placeholder='{"temperature": 0.2}',
        height=70,
    )
    instructions = st.text_area(
        "Custom instructions",
        key=kept.widget("custom_instructions", begins.custom_instructions),
        help="Jinja, with {{ stop_signal }}, {{ conversation_plan }} and {{ conversation_history }}",
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


def _persona(kept: Kept, begins: ScenarioForm) -> tuple[str, str]:
    # Importing ADK's evaluation takes a second: not before a scenario is written.
    known: dict[str, str] = importlib.import_module("simulator.runtime.adk_user").personas()
    names = {NO_PERSONA: "None", **{each: each for each in known}, OWN_PERSONA: "My own (JSON)"}
    persona = st.selectbox(
        "Persona", list(names), format_func=names.__getitem__, key=kept.widget("persona", begins.persona)
    )
    if persona in known:
        st.caption(known[persona])
    if persona != OWN_PERSONA:
        return persona, str(kept.value("own_persona") or "")
    own = st.text_area(
        "Persona (JSON object)",
        key=kept.widget("own_persona", begins.own_persona),
        placeholder='{"id": "SHY", "description": "...", "behaviors": []}',
        height=140,
    )
    return persona, own or ""


def save_scenario(form: ScenarioForm) -> None:
    """Draw the way to keep the scenario in a file of its own."""
    try:
        text = evalset.scenarios_text([form.scenario()])
    except (FormError, evalset.ScenarioError) as error:
        st.caption("It can be saved as a file once it is complete.")
        if form.starting_prompt.strip() and form.conversation_plan.strip():
            st.text(literal(str(error)))
        return
    st.download_button(
        "Save as a scenario file",
        data=text,
        file_name="scenarios.json",
        mime="application/json",
        key="scenario_save",
        icon=":material/download:",
        on_click="ignore",
    )
