"""Imports what the first session would otherwise wait for."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterable

PAGES = ("app.screens.session_page", "app.screens.eval_sets_page", "app.screens.shared_page")
"""What draws the pages that come after the start page."""

_SLOW_TO_IMPORT = (
    "simulator.kernel.remote_simulation",
    "simulator.runtime.models.reachability",
    "simulator.store",
    "google.adk.evaluation.local_eval_sets_manager",
    "evalset",
    "pandas",
)
_LOG = logging.getLogger(__name__)


def warm_up(modules: Iterable[str] = _SLOW_TO_IMPORT) -> list[str]:
    """Import what the first session would otherwise wait for; return the names that could not be imported.

    A failure here is only logged: the page imports the same module when it needs it, and shows the error then.
    """
    failed: list[str] = []
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001 - whatever a foreign module raises at import
            _LOG.exception("Warming up: %s could not be imported", name)
            failed.append(name)
    return failed
