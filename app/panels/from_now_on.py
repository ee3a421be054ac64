"""Draws who shall answer a tool from now on, in the decision pane itself."""

import streamlit as st

from app.commands import ChangeSeat
from app.kept import Kept
from app.labels import safe_label
from app.players import PLAYERS, lacks
from app.surroundings import Surroundings
from simulator.facts import ToolPlayer

_NAME = 28


def from_now_on(kept: Kept, tool_name: str, around: Surroundings) -> ChangeSeat | None:
    """Draw the choice, its body only while it is open; give the change of seats. This call moves along, too."""
    now = around.seats.of_tool(tool_name)
    body = st.popover(
        f"From now on: {PLAYERS[now].short}",
        icon=":material/switch_account:",
        key=kept.key("players"),
        on_change="rerun",
    )
    if not body.open:
        return None
    with body:
        return _players(kept, tool_name, now, around)


def _players(kept: Kept, tool_name: str, now: ToolPlayer, around: Surroundings) -> ChangeSeat | None:
    chosen: ChangeSeat | None = None
    st.caption(f"Who answers {safe_label(tool_name, _NAME)} from now on, this call too")
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
            chosen = ChangeSeat(seat="tool", target=tool_name, player=player)
    return chosen
