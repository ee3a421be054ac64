"""Tests of the program that drafts for the measurement."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from simulator.environment.evidence.sketch import Module
from tests.first_sight import measuring
from tests.first_sight.choosing import folder_of
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


def test_a_checkout_that_is_missing_is_named_and_the_others_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each once; where none is there, nothing was measured."""
    tools = [
        {
            "repository": name,
            "commit": "",
            "path": "tools.py",
            "function": "add",
            "arguments": {"first": 1, "second": 2},
            "computes": True,
        }
        for name in ("a/there", "b/gone", "b/gone")
    ]
    (tmp_path / "tools.json").write_text(json.dumps({"tools": tools}))
    monkeypatch.setattr(measuring, "HOME", tmp_path)
    monkeypatch.setattr(sys, "argv", ["measuring", str(tmp_path)])
    with pytest.raises(SystemExit, match="nothing was measured"):
        measuring.main()
    checkout = folder_of(tmp_path, "a/there")
    checkout.mkdir()
    (checkout / "tools.py").write_text(CODE)
    capsys.readouterr()
    measuring.main()
    shown = capsys.readouterr()
    assert shown.err.count("b/gone has no checkout") == 1
    assert "a/there" not in shown.err
    assert shown.out.splitlines()[-1].split()[:2] == ["all", "1"]
