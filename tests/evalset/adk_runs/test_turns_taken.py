"""How far a run of `adk eval` is: each turn counts once."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import evalset
from evalset.adk_runs import eval_process
from evalset.adk_runs.eval_process import AdkEvalRun, turns_taken
from evalset.adk_runs.run_spec import ASKED_FILE, PROGRESS_FILE, AgentPlace, EvalRunSpec
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


def test_nobody_is_asked_between_turns(tmp_path: Path) -> None:
    """Who was asked last is named while a turn of any case is under way, and no longer."""
    counting = TurnsTaken(tmp_path / PROGRESS_FILE)
    asked = tmp_path / ASKED_FILE
    one, two = ({"invocation_context": SimpleNamespace(invocation_id=name)} for name in ("one", "two"))
    who: Any = {
        "callback_context": SimpleNamespace(agent_name="desk"),
        "llm_request": SimpleNamespace(model="m"),
    }

    async def turn(*contexts: Any) -> None:
        for context in contexts:
            await asyncio.create_task(_begun(context))
        assert asked.read_text() == "the model m of desk"
        for context in contexts:
            assert asked.read_text()
            await counting.after_run_callback(**context)
        assert not asked.read_text()

    async def _begun(context: Any) -> None:
        await counting.before_run_callback(**context)
        await counting.before_model_callback(**who)

    asyncio.run(turn(one, two))


@pytest.mark.parametrize(("asked", "is_ended"), [("", False), ("the model m of desk", True)])
def test_the_scores_of_scenarios_take_as_long_as_they_take(
    asked: str, is_ended: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows how many turns there are: a run is ended where a turn does not go on, and not between turns."""
    monkeypatch.setattr(eval_process, "end_group", lambda _: None)
    path, folder, clock = tmp_path / "desk.evalset.json", tmp_path / "run", itertools.count(step=1_000)
    plan: Any = {"starting_prompt": "Hi", "conversation_plan": "Ask."}
    case = evalset.scenario_case(plan, app_name="desk", user_id="user", at=1.0)
    evalset.add_scenario(evalset.EvalSetWriter(path, "desk"), case)
    looks = iter((False, False, False, True))

    def wait(_: float | None = None) -> int:
        (folder / PROGRESS_FILE).write_text('{"eval_id": "x", "turn": "one"}\n')
        (folder / ASKED_FILE).write_text(asked)
        if next(looks):
            return 0
        raise subprocess.TimeoutExpired("adk", 1.0)

    def started(command: Any, *, folder: Path, environment: Any, log: Path) -> Any:
        log.write_text("")
        return SimpleNamespace(wait=wait, pid=0)

    folder.mkdir()
    place = AgentPlace(name="desk", app_name="desk", folder=tmp_path)
    spec = EvalRunSpec(eval_set=path, agent=place, patience=600.0)
    run = AdkEvalRun(spec, folder, start=started, clock=lambda: float(next(clock)))
    run.start()
    problem = run.wait(60.0).problem
    assert ("no turn was done in 600 s" in problem) == is_ended, problem
