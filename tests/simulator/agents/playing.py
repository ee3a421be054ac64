"""Plays a session with a demo agent from beginning to end: a script speaks for the user and answers each tool call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from simulator import Seats, SimulatedAgentConfig, Simulation, SimulationSession, demo_agent
from simulator.base.json_values import JsonObject
from simulator.seats.requests import ToolRequest
from simulator.session.history import FinalResponse, ModelError, ToolCall, TurnFailed

SECONDS = 60
"""How long one step may take before a test fails; steps take milliseconds."""

MOST_ANSWERS = 150
"""More answers than this are asked only by an agent that never ends."""

SEED = "played"
"""Where ids and drafts come from: the same in each session, so that equal answers give equal sessions."""

Message = str | bool
"""What the user says; a bool confirms or rejects the call that ADK asks about."""

Answerer = Callable[[ToolRequest], Any]
"""Plays the environment: gives a plain value or a `ToolAnswer`."""

Confirmer = Callable[[], bool]
"""Says whether the user confirms the call that ADK asks about."""


def play(
    name: str, *messages: Message, answer: Answerer, confirms: Confirmer | None = None
) -> SimulationSession:
    """Play a session with a demo agent whose every tool call is answered by `answer`, as in `play_config`."""
    return play_config(demo_agent(name), *messages, answer=answer, confirms=confirms)


def play_real(name: str, *messages: Message) -> SimulationSession:
    """Play a session with a demo agent and its real tools."""
    return play_config(demo_agent(name), *messages, seats=Seats(tools={"*": "real"}))


def play_config(
    config: SimulatedAgentConfig,
    *messages: Message,
    answer: Answerer | None = None,
    confirms: Confirmer | None = None,
    seats: Seats | None = None,
) -> SimulationSession:
    """Play a session; without `answer` nobody may be asked, and without `confirms` only messages confirm a call."""
    with Simulation.open(config, seats=seats, seed=SEED, session_id=SEED) as simulation:
        for message in messages:
            _speak(simulation, message)
            _answer_all(simulation, answer, confirms)
        view = simulation.view()
        assert not view.problems
        assert not view.busy
        return view.session


def _speak(simulation: Simulation, message: Message) -> None:
    if isinstance(message, str):
        assert simulation.query(message, wait=SECONDS)
        return
    _confirm(simulation, yes=message)


def _confirm(simulation: Simulation, *, yes: bool) -> None:
    (waiting,) = [call for call in simulation.session.open_calls if call.is_confirmation]
    assert simulation.confirm(waiting.call_id, yes, wait=SECONDS)


def _answer_all(simulation: Simulation, answer: Answerer | None, confirms: Confirmer | None) -> None:
    for _ in range(MOST_ANSWERS):
        if not simulation.pending:
            if confirms is None or not simulation.session.open_calls:
                return
            _confirm(simulation, yes=confirms())
            continue
        request = simulation.pending[0]
        assert isinstance(request, ToolRequest)
        assert answer is not None
        assert simulation.answer(request, answer(request), wait=SECONDS)
    raise AssertionError(f"the agent still asks after {MOST_ANSWERS} answers")


def scripted(answers: Mapping[str, Any]) -> Answerer:
    """Answer by the tool's name; a tuple gives one answer after the other, the last one for ever."""
    left = {name: list(value) if isinstance(value, tuple) else [value] for name, value in answers.items()}

    def answer(request: ToolRequest) -> Any:
        following = left[request.tool_name]
        return following.pop(0) if len(following) > 1 else following[0]

    return answer


def calls(session: SimulationSession) -> list[tuple[str, JsonObject]]:
    """List the calls of a session: tool and arguments, in order."""
    return [(one.tool_name, one.arguments) for one in session.history if isinstance(one, ToolCall)]


def tools(session: SimulationSession) -> list[str]:
    """List the called tools of a session, in order."""
    return [name for name, _ in calls(session)]


def last_words(session: SimulationSession) -> str:
    """Return the latest final response."""
    return next(one.content for one in reversed(session.history) if isinstance(one, FinalResponse))


def failures(session: SimulationSession) -> list[str]:
    """List what went wrong: turns that failed, models that raised."""
    return [
        f"{one.error_type}: {one.error_message}"
        for one in session.history
        if isinstance(one, (TurnFailed, ModelError))
    ]
