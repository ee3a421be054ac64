"""What the environment's answers are drawn from: recordings, a model, what tools remember, what their answers look like."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.environment.parted_tab import Part, parted_tab
from app.environment.sources import (
    as_text,
    call_rows,
    counted,
    read_output_schema,
    read_problems,
    remembered_rows,
    tools_line,
    with_states,
)
from app.environment.table_widgets import editor_state, frame, height, is_new, look_at
from app.forms.common_panel import not_used, problem
from app.forms.safe_labels import literal
from app.forms.typed_json import TypedJsonError, parse_object, write_json
from app.forms.upload_panel import upload
from app.forms.widget_store import KeptInputs, slug
from app.session import page_state
from app.session.page_commands import Asked, with_tool
from app.session.session_context import SessionContext
from simulator.agent_config import SimulatedAgentConfig
from simulator.base.json_values import JsonObject, canonical, digest
from simulator.base.model_settings import server_settings
from simulator.environment.recordings import (
    ObservedCall,
    Recording,
    RecordingError,
    read_recording,
)
from simulator.environment.world.tool_settings import EnvironmentSettings
from simulator.kernel.kernel_agent import model_problem
from simulator.session.commands import ChangeSettings, ClearState, GiveRecording

if TYPE_CHECKING:
    from simulator.runtime.knowledge.world_view import RememberedState, WorldView


# Recorded calls to answer from: uploaded or pasted, listed with what they hold, taken away again.


_RECORDINGS_HELP = (
    "Recorded tool calls: an ADK trace, an eval set, an ADK session, a journal of this studio, or a plain list of "
    '{"name", "args", "response"}. A waiting call gets the response of the closest recorded call of its tool as its draft.'
)
_SHOWN_PROBLEMS = 8
_SHOWN_CALLS = 300


def recordings(scene: SessionContext, _: WorldView) -> Asked | None:
    """Draw the recordings; return what was asked for."""
    given = scene.live.simulation.environment.now.recordings
    left, right = st.columns(2, gap="medium")
    with left:
        asked = _recording_form(scene, set(given))
    with right:
        if not given:
            st.caption("No recordings yet. Load a recording to list its tools and call counts here.")
        for name, calls in given.items():
            asked = _recording(scene, name, calls) or asked
    return asked


def _recording_form(scene: SessionContext, taken: set[str]) -> Asked | None:
    kept = _inputs(scene, len(taken))
    st.caption(_RECORDINGS_HELP)
    upload(kept, "recording_json", "Upload recording", ["json", "jsonl", "txt"], name_into="recording_name")
    name = st.text_input(
        "Name", key=kept.widget("recording_name", ""), placeholder="production-traces", on_change="ignore"
    )
    text = st.text_area("Or paste it (JSON or JSON Lines)", key=kept.widget("recording_json", ""), height=220)
    read = _read(text or "")
    give = st.button(
        "Load recording",
        key="recording_give",
        type="primary",
        icon=":material/check:",
        disabled=read is None or not read.calls,
    )
    if read is not None:
        if read.calls:
            st.text(literal(f"{counted(read.calls)}: {tools_line(read.calls)}"))
            look_at(call_rows(read.calls[:_SHOWN_CALLS]), "recording_preview", "Calls of the recording")
        _problems(list(read.problems))
    if not give or read is None:
        return None
    called = (name or "").strip() or _unused(taken)
    if called in taken:
        problem("The recording was not loaded.", f"A recording named {called!r} already exists.")
        return None
    scene.drafts[_problems_key(called)] = json.dumps(read.problems)
    return GiveRecording(name=called, calls=read.calls)


def _inputs(scene: SessionContext, count: int) -> KeptInputs:
    """Return the inputs for one more recording; others for each number of them, so that what was given leaves them."""
    return KeptInputs(scene.drafts, f"recording-{count}")


def _put_back(scene: SessionContext, name: str, calls: tuple[ObservedCall, ...]) -> None:
    kept = _inputs(scene, len(scene.live.simulation.environment.now.recordings) - 1)
    kept.put("recording_name", name)
    kept.put("recording_json", as_text(calls))


def _read(text: str) -> Recording | None:
    if not text.strip():
        return None
    try:
        return read_recording(text)
    except RecordingError as error:
        problem("Cannot read this recording.", str(error))
        return None


def _unused(taken: set[str]) -> str:
    number = 1
    while f"recording {number}" in taken:
        number += 1
    return f"recording {number}"


def _problems(said: list[str]) -> None:
    if said:
        st.warning(f"Skipped: {len(said)}", icon=":material/warning:")
        more = [f"and {len(said) - _SHOWN_PROBLEMS} more"] if len(said) > _SHOWN_PROBLEMS else []
        st.code(literal("\n".join([*said[:_SHOWN_PROBLEMS], *more])), language=None, wrap_lines=True)


def _recording(scene: SessionContext, name: str, calls: tuple[ObservedCall, ...]) -> Asked | None:
    with st.container(border=True, gap="xsmall", key=f"recording_{slug(name)}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.text(literal(name))
            st.space("stretch")
            view = st.toggle("Calls", key=f"recording_view_{slug(name)}")
            drop = st.button(
                "Remove",
                key=f"recording_drop_{slug(name)}",
                type="tertiary",
                icon=":material/delete:",
                help="Moves its calls back to the input, so that you can load them again",
                on_click=lambda: _put_back(scene, name, calls),
            )
        st.text(literal(f"{counted(calls)}: {tools_line(calls)}"))
        _problems(read_problems(scene.drafts.get(_problems_key(name))))
        if view:
            look_at(call_rows(calls[:_SHOWN_CALLS]), f"recording_calls_{slug(name)}", f"Calls of {name}")
    return GiveRecording(name=name, calls=()) if drop else None


def _problems_key(name: str) -> str:
    return f"problems of recording {name}"


# The model that may answer for the environment: its name, its configuration, and whether it can be asked from here.


_MODEL_HELP = (
    "Any model that ADK supports. Gemini models need GOOGLE_API_KEY. Other models are written as provider/name, such "
    "as openai/gpt-4o or ollama_chat/llama3, and need the package litellm and the provider's key. A model is "
    "optional: without one, drafts are generated offline."
)
_USE = (
    "The model answers the tools that are set to **Model**. You can also ask it for a draft of a waiting call and for "
    "the connections of the tools."
)


def simulation_model(scene: SessionContext, _: WorldView) -> Asked | None:
    """Draw the model's settings; return what was asked for."""
    settings = scene.live.simulation.environment.settings
    st.caption(_MODEL_HELP)
    left, right = st.columns(2, gap="medium")
    with left:
        asked = _model_form(scene, settings, right)
        asked = asked or _every_draft(settings) or _connections(settings)
    return asked or _source(scene, settings)


def _model_form(scene: SessionContext, settings: EnvironmentSettings, beside: DeltaGenerator) -> Asked | None:
    configuration = settings.simulation_model_configuration
    kept = KeptInputs(scene.drafts, "simulation-model", canonical([settings.simulation_model, configuration]))
    name = st.text_input(
        "Model",
        key=kept.widget("model_name", settings.simulation_model),
        placeholder="gemini-2.5-flash",
    )
    text = st.text_area(
        "Configuration (JSON object)",
        key=kept.widget("model_json", write_json(configuration) if configuration else ""),
        placeholder='{"temperature": 0.2}',
        help="Fields of ADK's GenerateContentConfig: temperature, max_output_tokens, thinking_config ...",
        height=140,
    )
    not_used(configuration)
    save = st.button("Save", key="model_save", type="primary", icon=":material/check:")
    with beside:
        _state((name or "").strip(), scene.live.config)
        st.caption(_USE)
    if not save:
        return None
    try:
        written = parse_object(text or "")
    except TypedJsonError as error:
        problem("The model was not saved.", f"Configuration: {error}")
        return None
    if refused := server_settings(written):
        problem("The model was not saved.", "\n".join(f"Configuration: {each}." for each in refused))
        return None
    fields = {"simulation_model": (name or "").strip(), "simulation_model_configuration": written}
    return ChangeSettings(fields=fields)


def _every_draft(settings: EnvironmentSettings) -> Asked | None:
    page_state.follow("model_drafts", settings.drafts_by_model)
    wanted = st.toggle(
        "Ask the model for a draft of each waiting call",
        key="model_drafts",
        disabled=not settings.simulation_model,
        help="The generated draft appears at once. It stays if the model returns no valid draft",
    )
    return ChangeSettings(fields={"drafts_by_model": wanted}) if wanted != settings.drafts_by_model else None


def _connections(settings: EnvironmentSettings) -> Asked | None:
    page_state.follow("model_connections", settings.connections_by_model)
    wanted = st.toggle(
        "Ask the model once for the connections of the tools",
        key="model_connections",
        disabled=not settings.simulation_model,
        help="Sent with the first other request. The result is stored for each agent and shown in Connections",
    )
    if wanted == settings.connections_by_model:
        return None
    return ChangeSettings(fields={"connections_by_model": wanted})


def _source(scene: SessionContext, settings: EnvironmentSettings) -> Asked | None:
    """Draw the switch for the source of tools, and exactly what it sends."""
    page_state.follow("model_source", settings.source_to_model)
    wanted = st.toggle(
        "Send the tool's source code to the model",
        key="model_source",
        disabled=not settings.simulation_model,
        help="Used when the model drafts a response. Without the source, the model gets the tool's declaration, the offline "
        "draft, the world of this session, and which shape the code returns under which condition, but no constants",
    )
    body = st.expander("What is sent", type="compact", key="model_source_shown", on_change="rerun")
    if body.open:
        with body:
            _sent(scene)
    if wanted == settings.source_to_model:
        return None
    return ChangeSettings(fields={"source_to_model": wanted})


def _sent(scene: SessionContext) -> None:
    sources = scene.live.simulation.environment.sources_for_model()
    if not sources:
        st.caption("No tool of this agent has readable source code.")
        return
    tool = st.selectbox("Tool", [*sources], format_func=literal, key="model_source_tool", width=360)
    st.caption(
        "The function and the code in its file that it uses. Secrets are masked. No other code is sent."
    )
    st.code(literal(sources[tool]), language="python", wrap_lines=True, height=320)


def _state(name: str, config: SimulatedAgentConfig) -> None:
    """Return whether the model can be asked."""
    with st.container(border=True, gap="xsmall", key="model_state"):
        if not name:
            st.markdown(":material/cloud_off: **No model set.** Drafts are generated offline.")
            return
        reason = model_problem(name, config)
        if reason is None:
            st.markdown(":material/check_circle: **Ready.** Checked without sending a request.")
        else:
            st.markdown(":material/error: **Cannot be used here.**")
            st.text(literal(reason))


# What tools remember: which of them share a state, how it begins, and the calls that are remembered.


MOST_CALLS = 1_000
_MEMORY_HELP = (
    "Each tool remembers its latest calls. Tools with the same **shared state** also see each other's calls: enter the "
    "same word for all of them, such as room_1. **Initial state** describes in words the state before the first call."
)


def shared_state(scene: SessionContext, world: WorldView) -> Asked | None:
    """Draw what is remembered; return what was asked for."""
    settings = scene.live.simulation.environment.settings
    st.caption(_MEMORY_HELP)
    names = list(dict.fromkeys((*scene.tools(), *(tool.name for tool in world.tools), *settings.tools)))
    asked = _table(scene, names) if names else None
    for text in world.problems:
        st.text(literal(f"\u26a0 {text}"))
    page_state.follow("state_size", settings.max_tool_call_cache_size)
    size = st.number_input(
        "Calls remembered per state",
        min_value=1,
        max_value=MOST_CALLS,
        step=1,
        key="state_size",
        width=260,
    )
    if size is not None and size != settings.max_tool_call_cache_size:
        asked = ChangeSettings(fields={"max_tool_call_cache_size": int(size)})
    if not world.states:
        st.caption("No calls remembered yet.")
    for remembered in world.states:
        asked = _remembered(remembered, settings.max_tool_call_cache_size) or asked
    return asked


def _table(scene: SessionContext, names: list[str]) -> Asked | None:
    settings = scene.live.simulation.environment.settings
    rows = [settings.tool(name) for name in names]
    cells = {
        "tool": names,
        "shared": [row.share_state_id for row in rows],
        "begins": [row.initial_state_description for row in rows],
    }
    key = f"states_{digest(canonical(cells))[:10]}"
    column = st.column_config
    st.data_editor(
        frame(cells),
        key=key,
        num_rows="fixed",
        hide_index=True,
        disabled=["tool"],
        column_config={
            "tool": column.TextColumn("Tool", width="medium"),
            "shared": column.TextColumn("Shared state", width="medium"),
            "begins": column.TextColumn("Initial state", width="large"),
        },
        height=height(len(names)),
        alt="Shared state and initial state of each tool",
    )
    done = editor_state(key)
    tools = with_states(settings, names, done.get("edited_rows", {}))
    if tools == settings.tools or not is_new(key, done, scene.view.version):
        return None
    return ChangeSettings(fields={"tools": tools})


def _remembered(remembered: RememberedState, size: int) -> Asked | None:
    with st.container(border=True, gap="xsmall", key=f"state_of_{slug(remembered.key)}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.text(literal(remembered.key))
            st.caption(f"{len(remembered.calls)} of at most {size} calls")
            st.space("stretch")
            clear = st.button(
                "Clear",
                key=f"state_clear_{slug(remembered.key)}",
                type="tertiary",
                icon=":material/delete_sweep:",
                help="Discards the initial state and these calls",
            )
        shared = [name for name in remembered.tools if name != remembered.key]
        if shared:
            st.text(literal(f"Shared by {', '.join(remembered.tools)}"))
        if remembered.initial_state:
            st.text(literal(f"Initial state: {remembered.initial_state}"))
        if remembered.calls:
            rows = remembered_rows(remembered.calls)
            look_at(rows, f"state_calls_{slug(remembered.key)}", f"Remembered calls of {remembered.key}")
    return ClearState(state_key=remembered.key) if clear else None


# The JSON schema that the answers of a tool are held to, beside the one that the tool itself declares.


_SCHEMAS_HELP = (
    "Drafts follow this schema. A response that does not match it is reported before you send it. Without a schema "
    "here, the one that the tool declares applies."
)


def output_schemas(scene: SessionContext, world: WorldView) -> Asked | None:
    """Draw the schemas of one tool's answers; return what was asked for."""
    settings = scene.live.simulation.environment.settings
    names = list(dict.fromkeys((*scene.tools(), *(tool.name for tool in world.tools), *settings.tools)))
    if not names:
        st.caption("No tools known yet. They appear after the first message to the agent.")
        return None
    st.caption(_SCHEMAS_HELP)
    with_schema = {name for name, tool in settings.tools.items() if tool.output_schema is not None}
    tool = st.selectbox(
        "Tool",
        names,
        format_func=lambda name: literal(f"{name} (set)" if name in with_schema else name),
        key="schema_tool",
        width=360,
        persist_state="session",
    )
    declared = next((each.response_schema for each in world.tools if each.name == tool), None)
    now = settings.tool(tool).output_schema
    left, right = st.columns(2, gap="medium")
    with right:
        st.markdown("**Declared by the tool**")
        if declared:
            st.code(literal(write_json(declared)), language="json", wrap_lines=True)
        else:
            st.caption("No schema. Any response is valid.")
    with left:
        return _schema_form(scene, tool, now, declared)


def _schema_form(
    scene: SessionContext, tool: str, now: JsonObject | None, declared: JsonObject | None
) -> Asked | None:
    settings = scene.live.simulation.environment.settings
    kept = KeptInputs(scene.drafts, f"output-schema-{tool}", canonical(now))
    text = st.text_area(
        "Response schema (JSON schema)",
        key=kept.widget("schema_json", "" if now is None else write_json(now)),
        height=320,
        placeholder='{"type": "object", "properties": {"status": {"type": "string"}}}',
    )
    wrong = ""
    schema: JsonObject | None = None
    try:
        schema = read_output_schema(text or "")
    except ValueError as error:
        wrong = str(error)
        problem("Invalid schema.", wrong)
    with st.container(horizontal=True, gap="xsmall"):
        save = st.button(
            "Save",
            key="schema_save",
            type="primary",
            icon=":material/check:",
            disabled=bool(wrong) or schema == now,
        )
        drop = st.button("Remove", key="schema_drop", type="tertiary", disabled=now is None)
        if declared:
            st.button(
                "Copy the declared schema",
                key="schema_begin",
                type="tertiary",
                on_click=lambda: kept.put("schema_json", write_json(declared)),
            )
    if drop or (save and not wrong):
        return ChangeSettings(
            fields={"tools": with_tool(settings, tool, output_schema=None if drop else schema)}
        )
    return None


# What the environment's answers are drawn from: recordings, a model, what tools remember, what their answers look like.


PARTS: Mapping[str, Part] = {
    "Recordings": recordings,
    "Model": simulation_model,
    "Memory": shared_state,
    "Response schemas": output_schemas,
}


def sources_tab(scene: SessionContext) -> Asked | None:
    """Draw the sources; return what was asked for."""
    return parted_tab(scene, "Kind of source", PARTS, "sources_part")
