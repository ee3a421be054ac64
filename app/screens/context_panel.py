"""The right pane: the injections, the state, what the model sees, and who sits where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from app.agents.user_seat_panel import user_seat
from app.decision.agent_turn_panel import model_sees
from app.decision.decision_context import NOTHING_AROUND, Surroundings, surroundings
from app.forms.common_panel import pane, place
from app.forms.safe_labels import literal, safe_label
from app.forms.typed_json import write_json
from app.forms.widget_store import slug
from app.live.player_names import AGENT_PLAYERS, PLAYERS, lacks, not_possible
from app.live.rule_text import NO_RULES, fired_color, rule_line
from app.rules.rule_editor_panel import reopen
from app.rules.rules_tab import added_line, fault_library, rule_here, switch
from app.screens.shared_panel import rules_to_read, seats_to_read
from app.session import page_state
from app.session.context_fold_panel import CONTEXT_VIEW, hide_context
from app.session.named_view_widgets import named_views
from app.session.page_commands import Asked, Show
from app.session.past_calls import times_fired, unanswered
from app.session.session_context import SessionContext
from simulator.agents.agent_directory import AgentDirectory, known_agents, known_tools, tool_player
from simulator.base.json_values import same
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import EVERY, SavedArtifact, ToolPlayer
from simulator.seats.requests import CodeRequest, ModelRequest, ToolRequest
from simulator.session.adk_event_fields import message_text
from simulator.session.commands import SetPlayer

if TYPE_CHECKING:
    from simulator.runtime import SimulationView
    from simulator.runtime.commanding import Commanding


VIEWS = ("Rules", "State", "Model", "Seats")


def context(scene: SessionContext) -> Asked | Show | None:
    """Draw the pane; return what was asked for in it."""
    view = scene.view
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False, key="head_context_view"
    ):
        chosen = named_views("Context: view", VIEWS, CONTEXT_VIEW, "context")
        st.space("stretch")
        hide_context(scene.live)
    with pane("context"):
        match chosen:
            case "Rules" if scene.live.read_only:
                rules_to_read(scene)
            case "Rules":
                return injections(scene)
            case "Seats" if scene.live.read_only:
                seats_to_read(scene)
            case "Seats":
                asked = user_seat(scene)
                return seats(view, scene.directory, surroundings(scene.live.simulation, view)) or asked
            case "State":
                _state(view)
            case _:
                _model_view(view, scene.live.simulation)
    return None


def _state(view: SimulationView) -> None:
    session = view.session
    st.caption("Session state now")
    _json(dict(session.current_state), empty="The state is empty. Tools and agents can write to it.")
    ended = next((turn.state for turn in reversed(session.turns) if turn.ended), session.initial_state)
    changed = [name for name, value in session.current_state.items() if name not in ended or not same(value, ended[name])]  # fmt: skip
    if session.is_running and changed:
        st.text(literal(f"This turn has changed: {', '.join(changed)}."))
    if session.initial_state:
        st.caption("Initial state")
        _json(dict(session.initial_state), empty="")
    saved = [artifact for turn in session.turns for artifact in turn.artifacts]
    _artifacts([*session.earlier.artifacts, *saved])
    if session.earlier.memory:
        st.caption("Memory before the first message")
        st.text(literal("\n".join(message_text(entry.get("content")) for entry in session.earlier.memory)))


def _artifacts(saved: Sequence[SavedArtifact]) -> None:
    """List the files that were saved; their contents stay where they are."""
    if saved:
        st.caption("Artifacts")
        st.dataframe(
            [
                {"file": literal(artifact.filename), "version": artifact.version, "kind": _kind(artifact)}
                for artifact in saved
            ],
            hide_index=True,
            alt="Artifacts saved in this session",
        )


def _kind(artifact: SavedArtifact) -> str:
    data = artifact.part.get("inline_data") or artifact.part.get("inlineData")
    if isinstance(data, dict):
        return literal(str(data.get("mime_type") or data.get("mimeType") or "data"))
    return "text" if artifact.part.get("text") is not None else "reference"


def _json(value: dict[str, object], *, empty: str) -> None:
    if value:
        st.code(write_json(value), language="json", wrap_lines=True)  # type: ignore[arg-type] # the state is JSON
    else:
        st.caption(empty)


def _model_view(view: SimulationView, simulation: Commanding) -> None:
    request = next((each for each in view.pending if isinstance(each, ModelRequest)), None)
    request = request or simulation.model_view()
    if request is None:
        st.caption("Nothing to show yet. On the agent's turn, you see here exactly what its model sees.")
        return
    st.caption("Last request to this agent's model")
    st.text(literal(f"{request.agent} \u00b7 {request.model_name}"))
    model_sees(request, "context")


# Who plays the agents, and who answers the tools.


def seats(
    view: SimulationView, directory: AgentDirectory, around: Surroundings = NOTHING_AROUND
) -> Asked | None:
    """Draw the seats; return the change that was chosen. `around` says who can play."""
    st.caption("Agent responses come from")
    asked = _agents(view, directory)
    st.caption("Tool calls are answered by (if no rule answers)")
    return _tools(view, directory, around) or asked


def _agents(view: SimulationView, directory: AgentDirectory) -> Asked | None:
    players = view.session.seats
    names = known_agents(directory, view.session)
    asked: Asked | None = None
    for name in names or (EVERY,):
        now = players.of_agent(name)
        key = f"seat_agent_{slug(name)}"
        page_state.follow(key, now)
        chosen = st.selectbox(
            "All agents" if name == EVERY else safe_label(name),
            list(AGENT_PLAYERS),
            format_func=AGENT_PLAYERS.__getitem__,
            key=key,
        )
        if chosen != now:
            asked = SetPlayer(seat="agent", target=name, player=chosen)
    return asked


def _tools(view: SimulationView, directory: AgentDirectory, around: Surroundings) -> Asked | None:
    agents = {tool.name for tool in directory.tools if tool.is_agent}
    asked: Asked | None = None
    for name in (EVERY, *known_tools(directory, view.session)):
        now = tool_player(directory, view.session, name)
        names = {**{player: words.name for player, words in PLAYERS.items()}}
        if name in agents:
            names["real"] = "Its agent"
        key = f"seat_tool_{slug(name)}"
        page_state.follow(key, now)
        chosen = st.selectbox(
            "All other tools and code" if name == EVERY else safe_label(name),
            list(PLAYERS),
            format_func=names.__getitem__,
            key=key,
        )
        missing = lacks(chosen, name, around.settings.simulation_model, around.recorded)
        if name in agents and now == "real":
            st.caption("Its agent runs with its own model and tools.")
        else:
            _about(now, chosen, missing)
        if chosen != now and not missing and _is_sure(view, name, key, chosen):
            asked = SetPlayer(seat="tool", target=name, player=chosen)
    return asked


def _about(now: ToolPlayer, chosen: ToolPlayer, missing: str) -> None:
    """Say what a player does, or what it lacks; one who lacks something does not sit down."""
    if missing and chosen != now:
        st.warning(not_possible(chosen, missing), icon=":material/event_seat:")
    elif now == "real":
        st.warning("Each call runs the real tool, with its side effects.", icon=":material/bolt:")
    elif now != "person":
        st.caption(missing or PLAYERS[now].does)


def _is_sure(view: SimulationView, target: str, key: str, chosen: ToolPlayer) -> bool:
    """Ask before a choice sets off real calls at once; one that sets off nothing needs no second click."""
    waiting = _run_at_once(view, target) if chosen == "real" else 0
    if not waiting:
        return True
    calls = "1 waiting call" if waiting == 1 else f"{waiting} waiting calls"
    with st.container(border=True, gap="xsmall", key=f"sure_{key}"):
        st.warning(f"{calls} will run for real now, with all side effects.", icon=":material/bolt:")
        with st.container(horizontal=True, gap="xsmall"):
            sure = st.button("Run for real", key=f"sure_yes_{key}", icon=":material/bolt:")
            st.button("Cancel", key=f"sure_no_{key}", type="tertiary", on_click=page_state.forget_followed)
    return sure


def _run_at_once(view: SimulationView, target: str) -> int:
    """Count what waits for a person now and would go to the real thing with this target."""
    named = view.session.seats.tools
    return sum(
        target == request.tool_name or (target == EVERY and request.tool_name not in named)
        if isinstance(request, ToolRequest)
        else target == EVERY and isinstance(request, CodeRequest)
        for request in view.pending
    )


# The injection rules in a session's right pane: quick switches, why none answered, and the way to their own page.


_MOST_REASONS = 20
_LIBRARY = "library_here"


def injections(scene: SessionContext) -> Asked | Show | None:
    """Draw the rules; return what was asked for."""
    asked = _ways(scene)
    with place():
        if not st.session_state.get(
            _LIBRARY
        ):  # while the library is open, it covers this place and has the line
            asked = added_line(scene) or asked
    if not scene.session.rules:
        st.caption(NO_RULES)
    for call in scene.waiting_calls():
        _reasons(call, scene.session.rules)
    fired = times_fired(scene.session)
    for rule in scene.session.rules:
        asked = _rule(rule, fired.get(rule.rule_id, 0)) or asked
    return asked


def _ways(scene: SessionContext) -> Asked | Show | None:
    reopen(scene, here=True)
    asked: Asked | Show | None = None
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        editor = st.popover("Add rule", icon=":material/add:", key=page_state.RULE_HERE, on_change="rerun")
        library = st.popover("Fault library", icon=":material/bug_report:", key=_LIBRARY, on_change="rerun")
        if st.button("All rules", key="rules_open", type="tertiary", icon=":material/tune:"):
            asked = Show(view="environment", tab="Rules")
    if editor.open:
        with editor:
            asked = rule_here(scene) or asked
    if library.open:
        with library:
            with place():
                asked = added_line(scene) or asked
            asked = fault_library(scene, stays=True) or asked
    return asked


def _rule(rule: InjectionRule, fired: int) -> Asked | Show | None:
    name = slug(rule.rule_id)
    with st.container(border=True, gap="xxsmall", key=f"rule_{name}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False):
            asked: Asked | Show | None = switch(rule, 22)
            st.space("stretch")
            if fired:
                st.badge(f"{fired}\u00d7", color=fired_color(rule), help="Times fired in this session")
            if st.button(
                ":material/edit:",
                key=f"rule_edit_{name}",
                type="tertiary",
                help=f"Edit {safe_label(rule.rule_id, 24)}",
            ):
                asked = Show(view="environment", tab="Rules", rule=rule.rule_id)
        st.text(literal(rule_line(rule)))
    return asked


def _reasons(call: ToolRequest, rules: tuple[InjectionRule, ...]) -> None:
    """Say why no rule answered a call that waits, nearest first."""
    misses = unanswered(call, rules)
    if not misses:
        return
    with st.container(border=True, gap="xxsmall", key=f"misses_{slug(call.key)}"):
        st.caption(f"Rules that did not match {safe_label(call.tool_name, 32)}")
        for miss in misses[:_MOST_REASONS]:
            st.text(literal(f"{miss.rule_id}: {miss.reason}"))
        if len(misses) > _MOST_REASONS:
            st.caption(f"and {len(misses) - _MOST_REASONS} more, listed with the call")
