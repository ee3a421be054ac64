"""Finds what an undo takes back, and what it leaves as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from simulator.environment.facts import (
    ConnectionsAnalysed,
    EnvironmentChanged,
    EnvironmentDataGiven,
    EnvironmentFact,
    RecordingGiven,
    StateCleared,
    ToolsDeclared,
    WorldEdited,
)
from simulator.facts import (
    AgentPlayer,
    CodeAnswered,
    Fact,
    ModelAnswered,
    RulesChanged,
    SeatChanged,
    ToolAnswered,
    ToolPlayer,
    TurnEnded,
    TurnStarted,
)
from simulator.journal import Journal
from simulator.runtime.turn import asked_at
from simulator.session import Seats, SessionFold
from simulator.session.environment import SessionEnvironment

_BY_PERSON = frozenset({"written", "edited", "generated"})


def undo_target(journal: Journal) -> int | None:
    """Find the fact before the last step that a person took; None where there is none.

    A step is what the user said, an answer, something real that was let run, and a stop: taking back a stop leads to
    the pause that it ended.
    """
    is_next = False
    for number, fact in journal.backwards():
        if is_next:
            return number
        is_next = _is_step(fact) or (
            isinstance(fact, ModelAnswered)
            and fact.provenance.source == "model"
            and seats_at(journal, number).of_agent(fact.agent) != "model"
        )
    return None


def _is_step(fact: Fact) -> bool:
    match fact:
        case TurnStarted():
            return True
        case WorldEdited() | StateCleared():
            return True
        case TurnEnded():
            return fact.stopped
        case ModelAnswered() | ToolAnswered() | CodeAnswered():
            # What a generator answered by itself names it; a draft that a person took does not.
            by_itself = fact.provenance.source == "generated" and fact.provenance.by is not None
            return fact.provenance.source in _BY_PERSON | {"real"} and not by_itself
        case _:
            return False


def seats_at(journal: Journal, number: int) -> Seats:
    """Give who sat where when a fact was appended."""
    agents: dict[str, AgentPlayer] = {}
    tools: dict[str, ToolPlayer] = {}
    for _, fact in journal.backwards(number):
        if isinstance(fact, SeatChanged):
            players: Any = agents if fact.seat == "agent" else tools
            players.setdefault(fact.target, fact.player)
    return Seats(agents=agents, tools=tools)


def changed_settings(now: SessionFold, before: SessionFold, at: float) -> Iterator[Fact]:
    """Give the facts that bring the seats, the rules and what is set for the environment to what they were before."""
    for target, agent_player in before.seats.agents.items():
        if now.seats.agents.get(target) != agent_player:
            yield SeatChanged(at=at, seat="agent", target=target, player=agent_player)
    for target, tool_player in before.seats.tools.items():
        if now.seats.tools.get(target) != tool_player:
            yield SeatChanged(at=at, seat="tool", target=target, player=tool_player)
    if now.rules != before.rules:
        yield RulesChanged(at=at, rules=before.rules)
    yield from _changed_environment(now.environment, before.environment, at)


def _changed_environment(
    now: SessionEnvironment, before: SessionEnvironment, at: float
) -> Iterator[EnvironmentFact]:
    if now.settings != before.settings:
        yield EnvironmentChanged(at=at, settings=before.settings)
    if now.data != before.data:
        yield EnvironmentDataGiven(at=at, text=before.data)
    for name in {**now.recordings, **before.recordings}:
        calls = before.recordings.get(name, ())
        if now.recordings.get(name, ()) != calls:
            yield RecordingGiven(at=at, name=name, calls=calls)
    told = ConnectionsAnalysed(
        at=at, model=before.analysed_by, connections=before.by_model, reason=before.not_analysed
    )
    if now != now.after(told):
        yield told
    if now.declared != before.declared:
        yield ToolsDeclared(at=at, tools=before.declared)


def may_have_run(journal: Journal, path: Sequence[tuple[int, Fact]]) -> frozenset[str]:
    """Give the keys of real calls that never answered, and of those that did on other branches, with what was asked.

    Args:
        journal: The journal.
        path: The facts up to its head, with their numbers.
    """
    unanswered = journal.fold.may_have_run()
    if len(path) == len(journal):
        return unanswered
    here = {number for number, _ in path}
    others = (journal.fact(number) for number in range(len(journal)) if number not in here)
    ran = (
        fact
        for fact in others
        if isinstance(fact, (ToolAnswered, CodeAnswered)) and fact.provenance.source == "real"
    )
    return unanswered | {
        asked_at(fact.key, fact.digests.parts, fact.arguments if isinstance(fact, ToolAnswered) else {})
        for fact in ran
    }
