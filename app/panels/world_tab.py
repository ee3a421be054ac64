"""The world of a session: its things, what must hold for them, and the data it begins with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import streamlit as st

from app.commands import Command, ShapeEnvironment
from app.panels.world_data import given_data
from app.panels.world_invariants import invariants
from app.panels.world_things import things
from app.scene import Scene
from app.shaping import Shape

if TYPE_CHECKING:
    from simulator.runtime.world_view import WorldView

Part: TypeAlias = Callable[[Scene, "WorldView"], Shape | None]

PARTS: Mapping[str, Part] = {"Things": things, "Invariants": invariants, "Data": given_data}


def world_tab(scene: Scene) -> Command | None:
    """Draw the world; give what was asked for."""
    names = list(PARTS)
    chosen = st.segmented_control(
        "Part of the world",
        names,
        default=names[0],
        required=True,
        key="world_part",
        label_visibility="collapsed",
        persist_state="session",
    )
    asked = PARTS[chosen or names[0]](scene, scene.live.simulation.environment.world())
    return ShapeEnvironment(what=asked) if asked is not None else None
