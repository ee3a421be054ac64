"""The right pane: the injections, the state, what the model sees, and who sits where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from app.commands import Command
from app.jsontext import write_json
from app.labels import literal
from app.panels.injections import injections
from app.panels.model_sees import model_sees
from app.panels.parts import pane, pane_head
from app.panels.seats import seats
from app.panels.to_read import rules_to_read, seats_to_read
from app.panels.user_seat import user_seat
from app.scene import Scene
from app.surroundings import surroundings
from simulator.facts import SavedArtifact
from simulator.seats.requests import ModelRequest

if TYPE_CHECKING:
    from app.live import LiveSimulation
    from simulator.runtime import SimulationView

VIEWS = ("Rules", "State", "Model", "Seats")


def context(scene: Scene) -> Command | None:
    """Draw the pane; give what was asked for in it."""
    view = scene.view
    chosen = pane_head("Context", VIEWS, "context_view")
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
                return seats(view, scene.cast, surroundings(scene.live.simulation, view)) or asked
            case "State":
                _state(view)
            case _:
                _model_view(view, scene.live.simulation)
    return None


def _state(view: SimulationView) -> None:
    session = view.session
    st.caption("What the session's state holds, as of the last turn that ended")
    _json(dict(session.current_state), empty="The state is empty. Tools and agents may write to it.")
    if session.initial_state:
        st.caption("What it held at the start")
        _json(dict(session.initial_state), empty="")
    _artifacts([artifact for turn in session.turns for artifact in turn.artifacts])


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
            alt="Artifacts that were saved in this session",
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


def _model_view(view: SimulationView, simulation: LiveSimulation) -> None:
    request = next((each for each in view.pending if isinstance(each, ModelRequest)), None)
    request = request or simulation.model_view()
    if request is None:
        st.caption("Once the agent is asked for a turn, you see here exactly what its model sees.")
        return
    st.caption("What the model of this agent was shown last")
    st.text(literal(f"{request.agent} \u00b7 {request.model_name}"))
    model_sees(request, "context")
