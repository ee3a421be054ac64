"""Draws a tab of the environment that has parts of its own, one of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from app.session.named_view_widgets import named_views
from app.session.page_commands import Asked
from app.session.session_context import SessionContext

if TYPE_CHECKING:
    from simulator.runtime.knowledge.world_view import WorldView

Part: TypeAlias = Callable[[SessionContext, "WorldView"], Asked | None]
"""Draws one part; returns what was asked for in it."""


def parted_tab(scene: SessionContext, label: str, parts: Mapping[str, Part], key: str) -> Asked | None:
    """Draw the choice of a part, and the chosen one; return what was asked for."""
    chosen = named_views(label, list(parts), key, "part")
    return parts[chosen](scene, scene.live.simulation.environment.world())
