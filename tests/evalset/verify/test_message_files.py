"""A file in a user message is exported, replayed, and played again, as part of the message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalset.cli.main import main
from evalset.recorded.recording_files import sidecar_of
from simulator.session.attached_files import file_part, files_in
from tests.evalset.verify.small_agents import agent, played, verified

SOURCE = """
def told(callback_context):
    parts = callback_context.user_content.parts
    callback_context.state["bytes"] = sum(len(part.inline_data.data) for part in parts if part.inline_data)

root_agent = LlmAgent(name="small", model="gemini-2.5-flash", instruction="Help.", before_agent_callback=told)
"""
PART = file_part("a.png", "image/png", bytes([0xFB, 0xFF, 0xFE, 0x01]))
TURN: dict[str, Any] = {
    "say": {"parts": [{"text": "What is this?"}, PART]},
    "moves": [{"text": "A picture."}],
}


def messages(path: Path) -> list[Any]:
    """Return the user messages of the only case of an eval set."""
    (case,) = json.loads(path.read_text())["eval_cases"]
    return [turn["user_content"] for turn in case["conversation"]]


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_file_goes_from_the_script_to_the_case_the_replay_and_the_next_case(
    tmp_path: Path, *, is_recorded: bool
) -> None:
    """The agent finds its bytes each time, also where a case is played that has no recording."""
    folder = agent(tmp_path / "agents", SOURCE)
    first, again = played(folder, TURN), tmp_path / "again.evalset.json"
    assert messages(first) == [{"role": "user", "parts": [{"text": "What is this?"}, PART]}]
    assert verified(first, tmp_path / "agents") == 0
    if not is_recorded:
        sidecar_of(first).unlink()
    words = ["--script", str(first), "--case", "one", "--out", str(again), "--eval-id", "two"]
    assert main(["run", str(folder), *words]) == 0
    (message,) = messages(again)
    assert [file.size for file in files_in(message)] == [4]
    assert json.loads(again.read_text())["eval_cases"][0]["final_session_state"] == {"bytes": 4}
    assert verified(again, tmp_path / "agents") == 0
