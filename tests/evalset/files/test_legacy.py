"""Files in ADK's old form are converted when a case is added, and the old text is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

from evalset import EvalSetError, EvalSetWriter
from tests.evalset.files.examples import AGENT, a_case, held_ids

TURN: dict[str, Any] = {
    "query": "Where is A-1?",
    "expected_tool_use": [{"tool_name": "find_order", "tool_input": {"order_id": "A-1"}}],
    "reference": "On its way.",
}
NAMED: dict[str, Any] = {
    "name": "asks",
    "data": [TURN, TURN],
    "initial_session": {"state": {"tier": "gold"}, "app_name": "order_desk", "user_id": "u"},
}


@pytest.mark.parametrize(
    ("old", "ids"), [([NAMED], ["asks"]), (NAMED, ["asks"]), ([TURN], ["set"]), ([], [])]
)
def test_an_old_file_is_converted_and_its_text_kept(tmp_path: Path, old: Any, ids: list[str]) -> None:
    """Every shape of the old form becomes today's with the new case behind; the copy holds the old text."""
    path = tmp_path / "set.evalset.json"
    text = json.dumps(old, indent=3)
    path.write_text(text)
    written = EvalSetWriter(path, AGENT).write_eval_case(a_case("new"))
    assert written.converted_copy == tmp_path / "set.legacy-1.json"
    assert written.converted_copy.read_text() == text
    assert held_ids(path) == [*ids, "new"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["set.evalset.json", "set.legacy-1.json"]


def test_the_conversion_is_adks_own(tmp_path: Path) -> None:
    """What ADK's loader reads of the converted file is what it read of the old one; a copy from before stays."""
    path = tmp_path / "set.evalset.json"
    path.write_text(json.dumps([NAMED]))
    (tmp_path / "set.legacy-1.json").write_text("mine")
    before = load_eval_set_from_file(str(path), "set").eval_cases[0]
    written = EvalSetWriter(path, AGENT).write_eval_case(a_case("new"))
    assert written.converted_copy == tmp_path / "set.legacy-2.json"
    assert (tmp_path / "set.legacy-1.json").read_text() == "mine"
    after = load_eval_set_from_file(str(path), "set").eval_cases[0]
    assert before.conversation
    assert after.conversation
    assert after.session_input == before.session_input
    one, other = (
        [turn.model_dump(exclude={"invocation_id", "creation_timestamp"}) for turn in case.conversation or ()]
        for case in (before, after)
    )
    assert one == other


def test_a_failed_conversion_leaves_no_copy(tmp_path: Path) -> None:
    """When the case cannot be written the old file stays alone and as it was; so with a duplicate id."""

    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(13, "Permission denied", str(target))

    path = tmp_path / "set.evalset.json"
    text = json.dumps([NAMED])
    path.write_text(text)
    with pytest.raises(EvalSetError, match="Permission denied"):
        EvalSetWriter(path, AGENT, replace=refuse).write_eval_case(a_case("new"))
    with pytest.raises(EvalSetError, match="already has"):
        EvalSetWriter(path, AGENT).write_eval_case(a_case("asks"))
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == text
