"""Who plays the agents, and who answers the tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app import state
from app.cast import Cast, known_agents, known_tools, tool_player
from app.commands import ChangeSeat, Command
from app.kept import slug
from app.labels import safe_label
from app.players import AGENT_PLAYERS, PLAYERS, lacks, not_possible
from app.surroundings import NOTHING_AROUND, Surroundings
from simulator.facts import EVERY, ToolPlayer
from simulator.seats.requests import CodeRequest, ToolRequest

if TYPE_CHECKING:
    from simulator.runtime import SimulationView


def seats(view: SimulationView, cast: Cast, around: Surroundings = NOTHING_AROUND) -> Command | None:
    """Draw the seats; give the change that was chosen. `around` says who can play."""
    st.caption("Who makes the turns of each agent")
    asked = _agents(view, cast)
    st.caption("Who answers the calls of each tool, where no rule did")
    return _tools(view, cast, around) or asked


def _agents(view: SimulationView, cast: Cast) -> Command | None:
    players = view.session.seats
    names = known_agents(cast, view.session)
    asked: Command | None = None
    for name in names or (EVERY,):
        now = players.of_agent(name)
        key = f"seat_agent_{slug(name)}"
        state.follow(key, now)
        chosen = st.selectbox(
            "All agents" if name == EVERY else safe_label(name),
            list(AGENT_PLAYERS),
            format_func=AGENT_PLAYERS.__getitem__,
            key=key,
        )
        if chosen != now:
            asked = ChangeSeat(seat="agent", target=name, player=chosen)
    return asked


def _tools(view: SimulationView, cast: Cast, around: Surroundings) -> Command | None:
    agents = {tool.name for tool in cast.tools if tool.is_agent}
    asked: Command | None = None
    for name in (EVERY, *known_tools(cast, view.session)):
        now = tool_player(cast, view.session, name)
        names = {**{player: words.name for player, words in PLAYERS.items()}}
        if name in agents:
            names["real"] = "Its own agent"
        key = f"seat_tool_{slug(name)}"
        state.follow(key, now)
        chosen = st.selectbox(
            "All other tools, and code" if name == EVERY else safe_label(name),
            list(PLAYERS),
            format_func=names.__getitem__,
            key=key,
        )
        missing = lacks(chosen, name, around.settings.simulation_model, around.recorded)
        if name in agents and now == "real":
            st.caption("Its agent runs, and asks its own model and tools.")
        else:
            _about(now, chosen, missing)
        if chosen != now and not missing and _is_sure(view, name, key, chosen):
            asked = ChangeSeat(seat="tool", target=name, player=chosen)
    return asked


def _about(now: ToolPlayer, chosen: ToolPlayer, missing: str) -> None:
    """Say what a player does, or what it lacks; one who lacks something does not sit down."""
    if missing and chosen != now:
        st.warning(not_possible(chosen, missing), icon=":material/event_seat:")
    elif now == "real":
        st.warning("Runs for real: with its side effects, at each call.", icon=":material/bolt:")
    elif now != "person":
        st.caption(missing or PLAYERS[now].does)


def _is_sure(view: SimulationView, target: str, key: str, chosen: ToolPlayer) -> bool:
    """Ask before a choice sets off real calls at once; one that sets off nothing needs no second click."""
    waiting = _run_at_once(view, target) if chosen == "real" else 0
    if not waiting:
        return True
    calls = "1 call that waits" if waiting == 1 else f"{waiting} calls that wait"
    with st.container(border=True, gap="xsmall", key=f"sure_{key}"):
        st.warning(f"{calls} will run for real now, with all side effects.", icon=":material/bolt:")
        with st.container(horizontal=True, gap="xsmall"):
            sure = st.button("Run for real", key=f"sure_yes_{key}", icon=":material/bolt:")
            st.button("Leave it", key=f"sure_no_{key}", type="tertiary", on_click=state.forget_followed)
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
