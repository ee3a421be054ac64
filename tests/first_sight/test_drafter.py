"""Tests of the program that drafts for the measurement."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from simulator.environment.evidence.sketch import Module
from tests.first_sight.drafter import answer

CODE = 'def add(first: int, second: int) -> dict:\n    return {"sum": first + second}\n'


def test_a_question_in_json_is_answered_with_what_the_code_returns() -> None:
    """The code comes as texts, as the version that drafts may be another one."""
    asked: dict[str, Any] = {
        "tool_name": "add",
        "description": "",
        "parameters": {},
        "response_schema": None,
        "arguments": {"first": 2, "second": 3},
        "seed": "1",
        "code": {"module": asdict(Module("tools.py", CODE)), "name": "add", "line": 1, "project": {}},
    }
    found = answer(asked)
    assert (found["value"], found["blanks"], found["is_guess"]) == ({"sum": 5}, [], False)
