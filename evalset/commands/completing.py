"""Finds the case that an earlier run has written and whose environment it could not write, so that another run completes it.

The same script may play otherwise each time, as what nobody wrote is drawn anew. So it is the case itself that is played then;
but where the user confirmed something, or typed what was asked for, only the script holds it, and is played again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.adk.evaluation.eval_case import EvalCase
from google.adk.evaluation.eval_set import EvalSet
from pydantic import ValidationError

from evalset.recorded.files import RecordedEnvironmentError, read_environment, recording_of
from simulator.jsonvalue import JsonObject
from simulator.scripts.script import ScriptTurn

_OF_ONE_RUN = frozenset({"invocation_id", "creation_timestamp"})
_OF_CALLS = ({"name", "args"}, {"name", "response"})


def unrecorded_cases(eval_set: Path) -> tuple[EvalCase, ...]:
    """Give the cases of an eval set beside which nothing is recorded that can be read."""
    try:
        cases = EvalSet.model_validate_json(eval_set.read_bytes()).eval_cases
    except (OSError, ValidationError):  # there is none yet; or the writer says what is wrong with it
        return ()
    try:
        recorded = read_environment(recording_of(eval_set)).cases
    except (OSError, RecordedEnvironmentError):
        recorded = {}
    return tuple(case for case in cases if case.eval_id not in recorded)


def said_in(turns: Sequence[ScriptTurn]) -> list[str]:
    """Give what the user says in a script, turn by turn; what a turn answers is a part of the turn before it."""
    return [_text(turn.say) for turn in turns if turn.say is not None]


def waiting_case(waiting: Sequence[EvalCase], said: Sequence[str], eval_id: str | None) -> EvalCase | None:
    """Give the case in which the user says this, the newest first; the one with this id alone, where one is given."""
    for case in reversed(waiting):
        if eval_id in {None, case.eval_id} and said and _said(case) == list(said):
            return case
    return None


def says_the_same(case: EvalCase, other: EvalCase) -> bool:
    """Tell whether two cases hold the same but for their ids and times."""
    return bool(_lasting(case) == _lasting(other))


def _said(case: EvalCase) -> list[str]:
    """Give what the user says in a case, turn by turn."""
    parts = [invocation.user_content.parts or () for invocation in case.conversation or ()]
    return ["".join(part.text or "" for part in turn) for turn in parts]


def _text(said: str | JsonObject | None) -> str:
    """Give the text of what a script's user says: as it is, or that of a `Content` in JSON."""
    if not isinstance(said, dict):
        return said or ""
    parts: Any = said.get("parts") or ()
    return "".join(str(part.get("text") or "") for part in parts if isinstance(part, dict))


def _lasting(case: EvalCase) -> Any:
    """Give what two runs of one script have in common: all of a case but its id, times, and the ids of invocations and calls."""
    return _without_ids(case.model_dump(mode="json", exclude_none=True, exclude={"eval_id"}))


def _without_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_ids(each) for each in value]
    if not isinstance(value, dict):
        return value
    is_call = any(names <= value.keys() for names in _OF_CALLS)
    left_out = _OF_ONE_RUN | {"id"} if is_call else _OF_ONE_RUN
    return {name: _without_ids(each) for name, each in value.items() if name not in left_out}
