"""Finds which case `adk eval` is running right now: ADK tells its plugins nothing of that, so its own frames are looked at."""

from __future__ import annotations

import inspect
from types import FrameType
from typing import Any

_HOME = ("google", "adk", "evaluation")
_LOCAL = "eval_case"


def running_eval_id() -> str | None:
    """Return the id of the case whose inference is running in this task; None outside of ADK's evaluation.

    google-adk 2.13's evaluation calls the runner from coroutines that hold the case as `eval_case`. Without it two cases
    that begin alike would be told apart only by what the user says later, or not at all.
    """
    eval_id: str | None = getattr(_running_case(), "eval_id", None)
    return eval_id


def runs_scenario() -> bool:
    """Return whether a simulated user plays the case that is running in this task."""
    return getattr(_running_case(), "conversation_scenario", None) is not None


def _running_case() -> Any:
    frame = inspect.currentframe()
    while frame is not None:
        if (found := _case_in(frame)) is not None:
            return found
        frame = frame.f_back
    return None


def _case_in(frame: FrameType) -> Any:
    module = frame.f_globals.get("__name__", "")
    if tuple(str(module).split(".")[:3]) != _HOME:
        return None
    case = frame.f_locals.get(_LOCAL)
    eval_id = getattr(case, "eval_id", None)
    return case if isinstance(eval_id, str) and eval_id else None
