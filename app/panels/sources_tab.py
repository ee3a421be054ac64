"""What the environment's answers are drawn from: recordings, a model, what tools remember, what their answers look like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import streamlit as st

from app.commands import Command, ShapeEnvironment
from app.panels.output_schemas import output_schemas
from app.panels.recordings import recordings
from app.panels.shared_state import shared_state
from app.panels.simulation_model import simulation_model
from app.scene import Scene
from app.shaping import Shape

if TYPE_CHECKING:
    from simulator.runtime.world_view import WorldView

Part: TypeAlias = Callable[[Scene, "WorldView"], Shape | None]

PARTS: Mapping[str, Part] = {
    "Recordings": recordings,
    "Model": simulation_model,
    "Memory": shared_state,
    "Answer schemas": output_schemas,
}


def sources_tab(scene: Scene) -> Command | None:
    """Draw the sources; give what was asked for."""
    names = list(PARTS)
    chosen = st.segmented_control(
        "Kind of source",
        names,
        default=names[0],
        required=True,
        key="sources_part",
        label_visibility="collapsed",
        persist_state="session",
    )
    asked = PARTS[chosen or names[0]](scene, scene.live.simulation.environment.world())
    return ShapeEnvironment(what=asked) if asked is not None else None
