"""Finds what an undo takes back, and what it leaves as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from simulator.environment.rules import InjectionRule
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
from simulator.session import Seats

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
        case TurnEnded():
            return fact.stopped
        case ModelAnswered() | ToolAnswered() | CodeAnswered():
            return fact.provenance.source in _BY_PERSON | {"real"}
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


def changed_settings(
    now: Seats,
    seats: Seats,
    rules_now: tuple[InjectionRule, ...],
    rules: tuple[InjectionRule, ...],
    at: float,
) -> Iterator[Fact]:
    """Give the facts that bring the seats and rules that are in force now to what they shall be."""
    for target, agent_player in seats.agents.items():
        if now.agents.get(target) != agent_player:
            yield SeatChanged(at=at, seat="agent", target=target, player=agent_player)
    for target, tool_player in seats.tools.items():
        if now.tools.get(target) != tool_player:
            yield SeatChanged(at=at, seat="tool", target=target, player=tool_player)
    if rules_now != rules:
        yield RulesChanged(at=at, rules=rules)


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
