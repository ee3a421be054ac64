"""Says of a model by its name whether it can be asked from here. Nothing is sent anywhere."""

from __future__ import annotations

import os


def model_problem(name: str) -> str | None:
    """Return why a model cannot be asked; None where it can, as far as can be told."""
    # Importing ADK takes a second: not before a model is named.
    from simulator.runtime.models.reachability import model_problem as reason_for  # noqa: PLC0415 - as above

    return reason_for(name.strip(), os.environ)
