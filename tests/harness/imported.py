"""Modules that tests wrote and imported: their names mean something else in the next test."""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path
from types import ModuleType


def forget_written(modules: MutableMapping[str, ModuleType], path: list[str], written: Path) -> None:
    """Take out of the modules and the import path what lies in a folder."""
    path[:] = [place for place in path if not place.startswith(str(written))]
    for name, module in dict(modules).items():  # in one step: other threads may import
        places = [getattr(module, "__file__", None) or "", *map(str, getattr(module, "__path__", ()))]
        if any(place.startswith(str(written)) for place in places):
            modules.pop(name, None)
