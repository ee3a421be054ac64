"""The model that may answer for the environment: its name, its configuration, and whether it can be asked from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import state
from app.jsontext import JsonTextError, parse_object, write_json
from app.kept import Kept
from app.labels import literal
from app.model_names import model_problem
from app.panels.parts import problem
from app.scene import Scene
from app.shaping import ChangeSettings, Shape
from simulator.environment.things.tool_settings import EnvironmentSettings
from simulator.jsonvalue import canonical

if TYPE_CHECKING:
    from simulator.runtime.world_view import WorldView

_HELP = (
    "Any model that ADK can reach: a Gemini by its name, which needs GOOGLE_API_KEY; others by provider and name, such "
    "as openai/gpt-4o or ollama_chat/llama3, which need the package litellm and the provider's key. None is needed: "
    "without one, drafts are made offline."
)
_USE = (
    "It answers the calls of tools for which a model makes up answers, can be asked for a draft of a call that waits, and "
    "for the connections of the tools."
)


def simulation_model(scene: Scene, _: WorldView) -> Shape | None:
    """Draw the model's settings; give what was asked for."""
    settings = scene.live.simulation.environment.settings
    st.caption(_HELP)
    left, right = st.columns(2, gap="medium")
    with left:
        asked = _form(scene, settings, right)
        asked = asked or _every_draft(settings) or _connections(settings)
    return asked or _source(scene, settings)


def _form(scene: Scene, settings: EnvironmentSettings, beside: DeltaGenerator) -> Shape | None:
    configuration = settings.simulation_model_configuration
    kept = Kept(scene.drafts, "simulation-model", canonical([settings.simulation_model, configuration]))
    name = st.text_input(
        "Model",
        key=kept.widget("model_name", settings.simulation_model),
        placeholder="gemini-2.5-flash",
    )
    text = st.text_area(
        "Configuration (JSON object)",
        key=kept.widget("model_json", write_json(configuration) if configuration else ""),
        placeholder='{"temperature": 0.2}',
        help="What ADK's GenerateContentConfig takes: temperature, max_output_tokens, thinking_config ...",
        height=140,
    )
    save = st.button("Save", key="model_save", type="primary", icon=":material/check:")
    with beside:
        _state((name or "").strip())
        st.caption(_USE)
    if not save:
        return None
    try:
        written = parse_object(text or "")
    except JsonTextError as error:
        problem("The model was not saved.", f"Configuration: {error}")
        return None
    fields = {"simulation_model": (name or "").strip(), "simulation_model_configuration": written}
    return ChangeSettings(fields=fields)


def _every_draft(settings: EnvironmentSettings) -> Shape | None:
    state.follow("model_drafts", settings.drafts_by_model)
    wanted = st.toggle(
        "Ask it for a draft of each call that waits for you",
        key="model_drafts",
        disabled=not settings.simulation_model,
        help="The offline draft is there at once, and stays where the model gives none that fits",
    )
    return ChangeSettings(fields={"drafts_by_model": wanted}) if wanted != settings.drafts_by_model else None


def _connections(settings: EnvironmentSettings) -> Shape | None:
    state.follow("model_connections", settings.connections_by_model)
    wanted = st.toggle(
        "Ask it once how the tools hang together",
        key="model_connections",
        disabled=not settings.simulation_model,
        help="With the first thing that it is asked for; what it says is kept for each agent, and shown in Connections",
    )
    if wanted == settings.connections_by_model:
        return None
    return ChangeSettings(fields={"connections_by_model": wanted})


def _source(scene: Scene, settings: EnvironmentSettings) -> Shape | None:
    """Draw the switch for the source of tools, and exactly what it sends."""
    state.follow("model_source", settings.source_to_model)
    wanted = st.toggle(
        "Send the tool's source code to the model",
        key="model_source",
        disabled=not settings.simulation_model,
        help="When it drafts a response. Without it, the model gets the tool's declaration, the offline draft, what is known in "
        "this session, and when the code returns what shape, but neither source nor constants",
    )
    body = st.expander("What is sent", type="compact", key="model_source_shown", on_change="rerun")
    if body.open:
        with body:
            _sent(scene)
    if wanted == settings.source_to_model:
        return None
    return ChangeSettings(fields={"source_to_model": wanted})


def _sent(scene: Scene) -> None:
    sources = scene.live.simulation.environment.sources_for_model()
    if not sources:
        st.caption("No tool of this agent has source code that can be read.")
        return
    tool = st.selectbox("Tool", [*sources], format_func=literal, key="model_source_tool", width=360)
    st.caption(
        "The function, and what it uses of its own file. Secrets are masked. Nothing else of the code is sent."
    )
    st.code(literal(sources[tool]), language="python", wrap_lines=True, height=320)


def _state(name: str) -> None:
    """Say whether the model can be asked."""
    with st.container(border=True, gap="xsmall", key="model_state"):
        if not name:
            st.markdown(":material/cloud_off: **No model is set.** Drafts are made offline.")
            return
        reason = model_problem(name)
        if reason is None:
            st.markdown(
                ":material/check_circle: **It can be asked**, as far as can be told without a request."
            )
        else:
            st.markdown(":material/error: **It cannot be asked from here.**")
            st.text(literal(reason))
