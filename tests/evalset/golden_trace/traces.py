"""Builds the case of a played session, checks what holds for every case, and reads it for the tests."""

from __future__ import annotations

from typing import Any

from google.adk.evaluation.eval_case import (
    EvalCase,
    IntermediateData,
    Invocation,
    get_all_tool_calls,
    get_all_tool_responses,
)
from google.adk.evaluation.evaluation_generator import EvaluationGenerator
from google.adk.events.event import Event
from google.genai import types

from evalset import GoldenTraceBuilder, case_document, read_back
from simulator.runtime import Simulation
from simulator.session import SimulationSession
from tests.evalset.sessions import ask, opened
from tests.evalset.there import there

Calls = list[tuple[str | None, dict[str, Any] | None]]


def built(sim: Simulation, **more: Any) -> EvalCase:
    """Build a session's case, after checking what holds for every case."""
    session = sim.session
    case = GoldenTraceBuilder(session, **more).build()
    events = GoldenTraceBuilder(session, form="invocation_events").build()
    for one in (case, events):
        read_back(case_document("Order Desk", one, at=1.0), one)
    assert [calls(turn) for turn in turns(case)] == [calls(turn) for turn in turns(events)]
    assert [answers(turn) for turn in turns(case)] == [answers(turn) for turn in turns(events)]
    assert calls_of_adk(session) == [pair for turn in turns(case) for pair in calls(turn)]
    return case


def calls_of_adk(session: SimulationSession) -> Calls:
    """Return the calls that ADK's own converter, which `adk eval` uses, sees in the events of all turns."""
    events = [Event.model_validate(event) for turn in session.turns for event in turn.events]
    found = EvaluationGenerator.convert_events_to_eval_invocations(events)
    return [pair for turn in found for pair in calls(turn)]


def turns(case: EvalCase) -> list[Invocation]:
    """Return a case's invocations."""
    return there(case.conversation)


def calls(turn: Invocation) -> Calls:
    """Return the calls that ADK's evaluator compares."""
    return [(each.name, each.args) for each in get_all_tool_calls(turn.intermediate_data)]


def answers(turn: Invocation) -> list[tuple[str | None, dict[str, Any] | None]]:
    """Return the tools' answers."""
    return [(each.name, each.response) for each in get_all_tool_responses(turn.intermediate_data)]


def data(turn: Invocation) -> IntermediateData:
    """Return what lies between the query and the final response."""
    assert isinstance(turn.intermediate_data, IntermediateData)
    return turn.intermediate_data


def text(content: types.Content | None) -> str | None:
    """Return a content's text."""
    assert content is not None
    return there(content.parts)[0].text


def roles(turn: Invocation) -> tuple[str | None, str | None]:
    """Return the roles of the query and of the final response."""
    return turn.user_content.role, there(turn.final_response).role


def traced(of: Any, *said: Any) -> Invocation:
    """Let the user ask an agent once, answer its tools, and return the one turn of the case."""
    with opened(of) as sim:
        ask(sim, *said)
        (turn,) = turns(built(sim))
    return turn
