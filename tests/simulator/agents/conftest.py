"""Gives each test agents of its own: what another test imported by an agent's name is not what is loaded by that name here."""

from __future__ import annotations

import sys
import tempfile

import pytest


@pytest.fixture(autouse=True)
def _no_agent_is_known_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agents that tests write lie among the temporary files: neither their modules nor their folders are of use in another test."""
    monkeypatch.setattr(
        sys, "path", [place for place in sys.path if not place.startswith(tempfile.gettempdir())]
    )
    for name, module in [*sys.modules.items()]:
        places = [getattr(module, "__file__", None) or "", *map(str, getattr(module, "__path__", ()))]
        if any(place.startswith(tempfile.gettempdir()) for place in places):
            monkeypatch.delitem(sys.modules, name)
