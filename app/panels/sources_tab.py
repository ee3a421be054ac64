"""What the environment's answers are drawn from: recordings, a model, what tools remember, what their answers look like."""

from collections.abc import Mapping

from app.commands import Command
from app.panels.output_schemas import output_schemas
from app.panels.parted_tab import Part, parted_tab
from app.panels.recordings import recordings
from app.panels.shared_state import shared_state
from app.panels.simulation_model import simulation_model
from app.scene import Scene

PARTS: Mapping[str, Part] = {
    "Recordings": recordings,
    "Model": simulation_model,
    "Memory": shared_state,
    "Answer schemas": output_schemas,
}


def sources_tab(scene: Scene) -> Command | None:
    """Draw the sources; give what was asked for."""
    return parted_tab(scene, "Kind of source", PARTS, "sources_part")
