"""Reads eval sets as ADK does, and changes them as somebody would by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.adk.evaluation.eval_case import EvalCase, get_all_tool_calls_with_responses
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

from tests.harness.adk_process import EvalOutcome

Call = tuple[str, dict[str, Any], Any]


def case_of(path: Path, eval_id: str) -> EvalCase:
    """Return one case of a file, as ADK's own loader reads it."""
    (case,) = [
        case for case in load_eval_set_from_file(str(path), path.stem).eval_cases if case.eval_id == eval_id
    ]
    return case


def calls_of(case: EvalCase) -> list[Call]:
    """List the calls of a case: tool, arguments and response, in order."""
    return [
        (call.name or "", call.args or {}, response.response if response else None)
        for turn in case.conversation or ()
        for call, response in get_all_tool_calls_with_responses(turn.intermediate_data)
    ]


def tools_of(case: EvalCase) -> list[str]:
    """List the called tools of a case, in order."""
    return [name for name, _, _ in calls_of(case)]


def answer_of(case: EvalCase) -> str:
    """Return what the agent said last."""
    turn = (case.conversation or [])[-1]
    parts = (turn.final_response.parts if turn.final_response else None) or []
    return "".join(part.text or "" for part in parts)


def add_changed_case(path: Path, eval_id: str, call: int, **arguments: Any) -> None:
    """Add a copy of a case to its file, called `changed`, in which one call has other arguments."""
    eval_set = json.loads(path.read_text(encoding="utf-8"))
    (case,) = [case for case in eval_set["eval_cases"] if case["eval_id"] == eval_id]
    changed = json.loads(json.dumps(case)) | {"eval_id": "changed"}
    changed["conversation"][0]["intermediate_data"]["tool_uses"][call]["args"].update(arguments)
    cases = [*eval_set["eval_cases"], changed]
    path.write_text(json.dumps(eval_set | {"eval_cases": cases}), encoding="utf-8")


def trajectory_scores(outcome: EvalOutcome) -> Mapping[str, float | None]:
    """Return how well each case's calls were met, by its id."""
    return {name: found["tool_trajectory_avg_score"] for name, found in outcome.scores.items()}
