"""Completes the script of a case with what a graph did by itself: no model called it, so only the recorded environment holds it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalset.recorded.graph_calls import is_of_graph
from evalset.recorded.inputs import REQUEST_INPUT, inputs_of
from evalset.recorded.model import RecordedCall, RecordedCase, RecordedInput, RecordedTurn
from evalset.recorded.playing import answer_line
from evalset.replay.following import only_asked
from simulator.scripts import Script, ScriptTurn
from simulator.scripts.entries import AgentMove


def with_graph(script: Script, recorded: RecordedCase) -> Script:
    """Return a script with the answers to the tools that stand in a graph, and without final responses that no agent says.

    The turns are those that were recorded, or their beginning.
    """
    typed: list[RecordedInput] = []
    lines = [answer_line(call) for turn in recorded.turns for call in _graph_calls(turn)]
    turns: list[ScriptTurn] = []
    kept: RecordedTurn | None = None
    left = list(recorded.turns)
    for turn in script.turns:
        if turn.speaks == "say":
            kept = left.pop(0) if left else None
            typed = list(inputs_of(kept)) if kept else []
        made = _without_speech(turn) if kept is not None and _is_of_graph(kept) else turn
        if turn.tool == REQUEST_INPUT and kept is not None and typed:
            made = _of_one_question(made, typed.pop(0), kept)
        turns.append(made)
    changed: dict[str, Any] = {"turns": tuple(turns), "environment": (*script.environment, *lines)}
    return script.model_copy(update=changed)


def _of_one_question(turn: ScriptTurn, typed: RecordedInput, recorded: RecordedTurn) -> ScriptTurn:
    """Name the question that a reply answers by its node, where others have the same words."""
    words = [(each.arguments or {}).get("message") for each in inputs_of(recorded)]
    if words.count((typed.arguments or {}).get("message")) == 1:
        return turn
    return turn.model_copy(update={"node": typed.path, "question": ""})


def _graph_calls(turn: RecordedTurn) -> Iterator[RecordedCall]:
    for place, call in enumerate(turn.calls):
        if is_of_graph(call, turn) and not only_asked(turn.calls, place):
            yield call


def _is_of_graph(turn: RecordedTurn) -> bool:
    """Tell a turn in which a graph ran and no agent spoke."""
    return not turn.models and (bool(turn.inputs) or any(is_of_graph(call, turn) for call in turn.calls))


def _without_speech(turn: ScriptTurn) -> ScriptTurn:
    return turn.model_copy(
        update={"moves": tuple(move for move in turn.moves if not isinstance(move, AgentMove))}
    )
