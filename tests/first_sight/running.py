"""Runs tools that only compute, each in a child process with limits and without network."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from tests.first_sight.arguments import parameters
from tests.first_sight.finding import Found
from tests.first_sight.slices import Slice

_SECONDS = 15
_CHILD = Path(__file__).with_name("child.py")


class Ran(NamedTuple):
    """What a function did: the value that it returned, as JSON, or why there is none."""

    value: JsonValue = None
    problem: str = ""


def ran(tool: Found, cut: Slice, arguments: dict[str, JsonValue]) -> Ran:
    """Run a tool twice, with other hashes; the value counts where both runs return the same."""
    first, second = (_once(tool, cut, arguments, seed) for seed in ("1", "2"))
    if first.problem or first == second:
        return first
    return Ran(problem="two runs differ")


def _once(tool: Found, cut: Slice, arguments: dict[str, JsonValue], seed: str) -> Ran:
    kinds = {
        one.arg: one.annotation.id
        for one in parameters(tool.function)
        if isinstance(one.annotation, ast.Name)
    }
    asked = {
        "modules": cut.modules(), "path": tool.path, "function": tool.function.name, "arguments": arguments,
        "kinds": kinds,
    }  # fmt: skip
    try:
        done = subprocess.run(
            [sys.executable, "-s", "-P", _CHILD],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            env={"PATH": os.environ["PATH"], "PYTHONHASHSEED": seed, "TZ": "UTC"},
            check=False,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError) as problem:
        return Ran(problem=f"no answer: {type(problem).__name__}")
    if "raises" in answer:
        return Ran(problem=f"{answer['raises']}: {answer['message']}")
    return Ran(answer["value"])
