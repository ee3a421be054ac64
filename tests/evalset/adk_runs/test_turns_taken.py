"""How far a run of `adk eval` is: each turn counts once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from evalset.adk_runs.eval_process import turns_taken
from evalset.adk_runs.wrapped import TurnsTaken


def test_a_turn_that_asks_for_input_counts_once(tmp_path: Path) -> None:
    """It is run again with the answer, under the same id; the next turn has another one."""
    progress = tmp_path / "turns.jsonl"
    assert turns_taken(progress) == []
    counting = TurnsTaken(progress)
    for turn, count in (("one", 1), ("one", 1), ("two", 2)):
        context: Any = SimpleNamespace(invocation_id=turn)
        asyncio.run(counting.before_run_callback(invocation_context=context))
        asyncio.run(counting.after_run_callback(invocation_context=context))
        assert len(turns_taken(progress)) == count
