"""Plays a shape to its end, step by step, and takes down what there was to see on the way.

A step depends only on what is to be seen of the session, so a session that was resumed goes on as the one that
never stopped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from simulator.facts import CodeAnswered, ToolAnswered
from simulator.journal import Journal
from simulator.runtime import Simulation, SimulationView
from simulator.seats.answers import ModelAnswer, said
from simulator.seats.requests import CodeRequest, ModelRequest, Request
from simulator.session import Seats
from tests.simulator.runtime.shapes import Shape
from tests.simulator.runtime.stage import PATIENCE
from tests.simulator.runtime.traces import Traces

Mode = Literal["held", "real"]
"""Who plays: models' turns are held for approval and a person answers the tools; or models and tools are real."""

_SEATS = {
    "held": Seats(agents={"*": "held"}, tools={"*": "person"}),
    "real": Seats(agents={"*": "model"}, tools={"*": "real"}),
}
_MEASURED = frozenset({"elapsed_ms", "duration_ms"})
_STEPS = 200


class FactClock:
    """A clock that stands still until the journal grows, so that the same facts have the same times.

    The word that a real call was started does not count: after a crash there is one more of them.
    """

    def __init__(self) -> None:
        self.journal: Journal | None = None

    def __call__(self) -> float:
        """Return the time."""
        if self.journal is None:
            return 1_700_000_000.0
        counted = sum(fact.kind != "call_started" for _, fact in self.journal.path())
        return 1_700_000_000.0 + 1.5 * counted


@dataclass(frozen=True)
class Play:
    """A play from beginning to end. `rests` is what there was to see whenever a person was needed, by head."""

    journal: Journal
    rests: dict[int, SimulationView]
    end: SimulationView
    traces: Traces
    asked: int


def played(shape: Shape, mode: Mode) -> Play:
    """Play a shape from its beginning to its end."""
    traces, clock = Traces(), FactClock()
    sim = Simulation.open(
        shape.config(traces),
        seats=_SEATS[mode],
        initial_state=shape.state,
        seed="seed",
        session_id="session",
        clock=clock,
    )
    clock.journal = sim.journal
    with sim:
        rests = to_its_end(sim, shape)
        return Play(
            journal=Journal.from_json(sim.journal.to_json()),
            rests=rests,
            end=sim.view(),
            traces=traces,
            asked=times_asked(sim.journal),
        )


def resumed(text: str, shape: Shape, traces: Traces) -> Simulation:
    """Resume from a journal's JSON, with an agent made anew."""
    journal, clock = Journal.from_json(text), FactClock()
    clock.journal = journal
    return Simulation.resume(journal, shape.config(traces), clock=clock)


def times_asked(journal: Journal) -> int:
    """Say how often a model was asked, by the journal: each of its own turns is one fact, held or not."""
    return sum(
        fact.kind == "model_proposed" or (fact.kind == "model_answered" and fact.provenance.source == "model")
        for _, fact in journal.path()
    )


def times_run(journal: Journal) -> int:
    """Say how often a real tool or real code ran to its end, by the journal."""
    answers = [fact for _, fact in journal.path() if isinstance(fact, (ToolAnswered, CodeAnswered))]
    return sum(fact.provenance.source == "real" for fact in answers)


def to_its_end(sim: Simulation, shape: Shape) -> dict[int, SimulationView]:
    """Take steps until nothing is left to do; return what there was to see before each."""
    rests: dict[int, SimulationView] = {}
    for _ in range(_STEPS):
        view = sim.view()
        assert not view.busy
        rests[view.head] = view
        if not step(sim, shape, view):
            return rests
    raise AssertionError(f"{_STEPS} steps were not enough")


def step(sim: Simulation, shape: Shape, view: SimulationView) -> bool:
    """Take the next step, given what there is to see; False where the play is over."""
    session = view.session
    if view.pending:
        # The youngest first: parallel calls are answered in another order than they were asked.
        _answer(sim, shape, view.pending[-1])
        return True
    if session.open_calls:
        call = session.open_calls[-1]
        if call.is_confirmation:
            assert sim.confirm(call.call_id, shape.confirmed, wait=PATIENCE)
        else:
            assert sim.reply(call.call_id, shape.late, wait=PATIENCE)
        return True
    asked = sum(turn.purpose == "query" for turn in session.turns)
    if asked == len(shape.queries):
        return False
    assert sim.query(
        shape.queries[asked], wait=PATIENCE, streaming=shape.streaming, state_delta={"query": asked}
    )
    return True


def _answer(sim: Simulation, shape: Shape, request: Request) -> None:
    if isinstance(request, ModelRequest):
        assert sim.answer(request, _approved(request), wait=PATIENCE)
    elif request.may_have_run:
        assert sim.run_real(request, wait=PATIENCE)
    elif isinstance(request, CodeRequest):
        assert sim.answer(request, f"printed by {request.code}", wait=PATIENCE)
    else:
        assert sim.answer(request, shape.answer(request), wait=PATIENCE)


def _approved(request: ModelRequest) -> ModelAnswer:
    assert request.proposal is not None
    if request.failure or not request.proposal:
        return said(f"I speak for {request.agent}")
    content: Any = request.proposal[-1]["content"]
    return ModelAnswer(parts=tuple(content["parts"]))


def facts_of(journal: Journal) -> list[Any]:
    """Return the facts of the path as JSON, without what was measured and the words that a real call was started."""
    facts = [fact.model_dump(mode="json") for _, fact in journal.path() if fact.kind != "call_started"]
    return [unmeasured(fact) for fact in facts]


def unmeasured(value: Any) -> Any:
    """Leave out what was measured with a real clock: how long an answer took."""
    if isinstance(value, dict):
        return {key: unmeasured(item) for key, item in value.items() if key not in _MEASURED}
    return [unmeasured(item) for item in value] if isinstance(value, list) else value


def seen(view: SimulationView) -> Any:
    """Return what a view shows of the session, as JSON: all but what was measured, and counts of changes."""
    return unmeasured(
        view.model_dump(mode="json", include={"session", "pending", "divergence", "head", "busy"})
    )


def live_events(sim: Simulation) -> list[Any]:
    """Return ADK's events of the turn in progress, as they were appended; a view shows them only when it has ended."""
    run = sim._engine.run
    return [] if run is None else list(run.events)
