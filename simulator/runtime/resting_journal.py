"""Answers questions about a session that nobody plays here, from its journal; nothing runs for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from simulator.environment.evidence.sketch import FunctionSource
from simulator.environment.world.connections import ToolShape
from simulator.journal import Journal
from simulator.runtime.knowledge.live_knowledge import LiveKnowledge
from simulator.runtime.knowledge.tool_shapes import ToolShapes
from simulator.runtime.performing import look
from simulator.session.commands import Question


def questions_to(journal: Journal, agent: Any) -> Callable[[Question], Any]:
    """Return what answers a question about the environment of a session that is not played here.

    Args:
        journal: The session's; it may grow.
        agent: The ADK agent, for the tools that stand in it.
    """
    tools = ToolShapes(agent)

    def shapes() -> Mapping[str, ToolShape]:
        return tools.known({}, journal.fold.environment.declared)

    known: Any = _Known(
        journal, LiveKnowledge(journal, lambda: shapes, tools.own_settings), _Modelling(), tools.codes
    )
    lock = Lock()

    def asked(question: Question) -> Any:
        with lock:
            return look(known, question)

    return asked


@dataclass(frozen=True)
class _Modelling:
    """No model is at work."""

    progress: str = ""


@dataclass(frozen=True)
class _Known:
    """What of an engine says what is known."""

    journal: Journal
    knowledge: LiveKnowledge
    modelling: _Modelling
    tool_codes: Callable[[], Mapping[str, FunctionSource]]
