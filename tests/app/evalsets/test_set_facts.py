"""What the tabs know of a set without ADK: of new and old spellings, and of what is none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from app.evalsets.set_facts import SetFacts, facts_of

CASES: list[Any] = [
    {"eval_id": "a", "session_input": {"app_name": "desk"}, "conversation": []},
    {"evalId": "b", "sessionInput": {"appName": "shop"}, "conversationScenario": {"starting_prompt": "hi"}},
    {"eval_id": "a"},
    {"eval_id": 3, "session_input": "odd", "conversation_scenario": None},
    "no case",
]


@pytest.mark.parametrize("name", ["eval_cases", "evalCases"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_ids_apps_and_scenarios_are_read(name: str, mark: bytes, tmp_path: Path) -> None:
    """Each once, in order; what is odd is passed over; a byte order mark as well."""
    path = tmp_path / "set.json"
    path.write_bytes(mark + json.dumps({"eval_set_id": "x", name: CASES}).encode())
    assert facts_of(path) == SetFacts(eval_ids=("a", "b"), app_names=("desk", "shop"), scenarios=("b",))


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    """And one that does not is not."""
    path = tmp_path / "set.json"
    path.write_text(json.dumps({"eval_cases": CASES[:1]}))
    assert facts_of(path) is facts_of(path)
    path.write_text(json.dumps({"eval_cases": CASES[:2]}))
    os.utime(path, ns=(1, 1))
    assert facts_of(path).eval_ids == ("a", "b")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"eval_cases": 3}', "3", '{"eval_cases": [{"eval_id": "a"'])
def test_what_is_no_set_has_no_cases(text: str, tmp_path: Path) -> None:
    """It raises nothing; broken JSON says where."""
    path = tmp_path / "set.json"
    path.write_text(text)
    facts = facts_of(path)
    assert facts.eval_ids == ()
    assert facts_of(tmp_path / "nowhere.json").problem
    if text in {"", "{"}:
        assert str(path) in facts.problem
