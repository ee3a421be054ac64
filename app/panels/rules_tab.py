"""The rules of a session's environment, on the whole page."""

from __future__ import annotations

from app.commands import Command
from app.panels.injections import injections
from app.scene import Scene


def rules_tab(scene: Scene) -> Command | None:
    """Draw the rules; give what was asked for."""
    return injections(scene.view, scene.cast, scene.drafts)
