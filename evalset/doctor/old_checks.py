"""Checks eval data in ADK's old form, and says what today's form will not hold of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.adk.evaluation.eval_case import EvalCase
from google.adk.evaluation.eval_set import EvalSet

from evalset.doctor.notes import Notes
from evalset.doctor.shown import listed
from evalset.documents import loaded, set_json
from evalset.errors import EvalSetError
from evalset.legacy import convert_old_form

_TURN = frozenset({"query", "reference", "expected_tool_use", "expected_intermediate_agent_responses"})
_USE = frozenset({"tool_name", "tool_input"})
_SAID = frozenset({"author", "text"})
_CASE = frozenset({"name", "data", "initial_session"})
_SESSION = frozenset({"app_name", "user_id", "state"})


def note_old_form(file: Path, value: Any, text: bytes, notes: Notes) -> int:
    """Note that a file is in the old form, and bring it into today's; give how many cases it holds."""
    try:
        converted = convert_old_form(file, text)
    except (EvalSetError, RecursionError) as error:
        reason = str(error).removeprefix(f"{file}: ")
        notes.add(
            "legacy-unreadable",
            (),
            f"ADK cannot read the file: it {reason}.",
            "Mend the entry that it names.",
        )
        return 0
    if converted is None:
        return 0
    notes.converted = set_json(_settled(converted, text)).encode()
    refused = _refused(text)
    lost = listed(_lost(value))
    notes.add(
        "legacy-format", (),
        f"The file is in ADK's old form, and `adk eval` and `adk web` fail on it ({refused}); only AgentEvaluator reads it."
        if refused else "The file is in ADK's old form: ADK converts it anew each time that it reads it, with other invocation ids.",
        mend="converts it as ADK does, into today's form", whole=True,
        loses=f"what ADK's converter passes over: {lost}" if lost else "",
        severity="error" if refused else None,
    )  # fmt: skip
    return len(converted.eval_cases)


def _refused(text: bytes) -> str:
    """Say what ADK's own loader raises, which `adk eval` and `adk web` use; nothing where it reads the text."""
    try:
        loaded(text.decode())
    except Exception as error:  # noqa: BLE001 - the loader raises what it likes
        return f"ADK's loader raises {type(error).__name__}: {error}"
    return ""


def _settled(converted: EvalSet, text: bytes) -> EvalSet:
    """Take ADK's fresh ids and clock out: the same text becomes the same file each time."""
    seed = hashlib.sha256(text).hexdigest()[:8]
    cases: list[EvalCase] = []
    for number, case in enumerate(converted.eval_cases, 1):
        turns = [
            turn.model_copy(update={"invocation_id": f"{seed}-{number}-{place}", "creation_timestamp": 0.0})
            for place, turn in enumerate(case.conversation or (), 1)
        ]
        cases.append(case.model_copy(update={"conversation": turns, "creation_timestamp": 0.0}))
    return converted.model_copy(update={"eval_cases": cases, "creation_timestamp": 0.0})


def _lost(value: Any) -> Iterator[str]:
    """Name what the converter drops."""
    for case in value if isinstance(value, list) else [value]:
        if not isinstance(case, dict):
            continue
        if "query" in case:
            yield from _lost_of_turn(case)
            continue
        yield from _others(case, _CASE, "")
        session = case.get("initial_session")
        yield from _others(session, _SESSION, "initial_session.")
        data = case.get("data")
        for turn in data if isinstance(data, list) else ():
            yield from _lost_of_turn(turn)


def _lost_of_turn(turn: Any) -> Iterator[str]:
    yield from _others(turn, _TURN, "")
    for name, known in (("expected_tool_use", _USE), ("expected_intermediate_agent_responses", _SAID)):
        held = turn.get(name) if isinstance(turn, dict) else None
        for each in held if isinstance(held, list) else ():
            yield from _others(each, known, f"{name}.")


def _others(value: Any, known: frozenset[str], where: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"{where}{name}" for name in value if name not in known)
