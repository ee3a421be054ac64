"""The world of a session: its things, what must hold for them, and the data it begins with."""

from collections.abc import Mapping

from app.commands import Command
from app.panels.parted_tab import Part, parted_tab
from app.panels.world_data import given_data
from app.panels.world_invariants import invariants
from app.panels.world_things import things
from app.scene import Scene

PARTS: Mapping[str, Part] = {"Things": things, "Invariants": invariants, "Data": given_data}


def world_tab(scene: Scene) -> Command | None:
    """Draw the world; give what was asked for."""
    return parted_tab(scene, "Part of the world", PARTS, "world_part")
