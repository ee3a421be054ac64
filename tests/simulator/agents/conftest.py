"""Gives each test agents of its own: what another test imported by an agent's name is not what is loaded by that name here."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def _no_agent_is_known_by_its_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The agents that tests write lie in pytest's folder: neither their modules nor their folders are of use in another test."""
    written = str(tmp_path_factory.getbasetemp())
    monkeypatch.setattr(sys, "path", [place for place in sys.path if not place.startswith(written)])
    for name, module in [*sys.modules.items()]:
        places = [getattr(module, "__file__", None) or "", *map(str, getattr(module, "__path__", ()))]
        if any(place.startswith(written) for place in places):
            monkeypatch.delitem(sys.modules, name)
