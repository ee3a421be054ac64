"""What the tabs that run an eval set need to know of it: its cases, the apps that they name, and what lies beside it."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from simulator.facts import Value


class SetFacts(Value):
    """What is known of an eval set without ADK.

    Attributes:
        eval_ids: The ids of its cases, in their order.
        app_names: The apps that its cases name.
        scenarios: How many cases are played by a simulated user.
        problem: Why it could not be read; empty where it could.
    """

    eval_ids: tuple[str, ...] = ()
    app_names: tuple[str, ...] = ()
    scenarios: int = 0
    problem: str = ""


def facts_of(path: Path) -> SetFacts:
    """Read an eval set, once as long as it stays as it is."""
    try:
        status = path.stat()
    except OSError as error:
        return SetFacts(problem=f"{path}: {error.strerror or error}")
    return _facts(path, status.st_mtime_ns, status.st_size, status.st_ino)


@lru_cache(maxsize=16)
def _facts(path: Path, *_: int) -> SetFacts:
    try:
        found = from_json(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except (OSError, ValueError) as error:
        return SetFacts(problem=f"{path}: {error}")
    cases = [case for case in _list(found, "eval_cases", "evalCases") if isinstance(case, dict)]
    inputs = [_field(case, "session_input", "sessionInput") for case in cases]
    apps = (_field(each, "app_name", "appName") for each in inputs)
    ids = (_field(case, "eval_id", "evalId") for case in cases)
    return SetFacts(
        eval_ids=tuple(dict.fromkeys(each for each in ids if isinstance(each, str) and each)),
        app_names=tuple(dict.fromkeys(app for app in apps if isinstance(app, str) and app)),
        scenarios=sum(bool(_field(case, "conversation_scenario", "conversationScenario")) for case in cases),
    )


def _list(found: Any, *names: str) -> list[Any]:
    held = _field(found, *names)
    return held if isinstance(held, list) else []


def _field(found: Any, *names: str) -> Any:
    if not isinstance(found, dict):
        return None
    return next((found[name] for name in names if name in found), None)


def environment_of(eval_set: Path) -> Path | None:
    """Give the recorded environment beside an eval set; None where there is none."""
    from evalset.recorded.files import sidecar_of  # noqa: PLC0415 - it stands behind a second of imports

    sidecar = sidecar_of(eval_set)
    return sidecar if os.access(sidecar, os.R_OK) and sidecar.is_file() else None
