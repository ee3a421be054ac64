"""Finds what an undo takes back, and what a redo brings back."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from simulator.branches import BY_ITSELF
from simulator.facts import (
    AgentPlayer,
    AgentRan,
    AgentSelected,
    CodeAnswered,
    ConversationEnded,
    DraftDrawn,
    EnvironmentChanged,
    EnvironmentDataGiven,
    Fact,
    ModelAnswered,
    RecordingGiven,
    RulesChanged,
    SeatChanged,
    StateCleared,
    ToolAnswered,
    ToolPlayer,
    ToolsDeclared,
    TurnEnded,
    TurnStarted,
    UserSeated,
    WorldEdited,
)
from simulator.journal import ROOT, Journal
from simulator.runtime.turns.turn import asked_at
from simulator.session import Seats

_BY_PERSON = frozenset({"written", "edited", "generated"})
_SETTINGS = (
    SeatChanged,
    UserSeated,
    RulesChanged,
    EnvironmentChanged,
    EnvironmentDataGiven,
    RecordingGiven,
    ToolsDeclared,
)
_OPENING = (SeatChanged, RulesChanged)
"""What a session can be opened with."""


def undo_target(journal: Journal) -> int | None:
    """Find the fact before the last step that a person took; None where there is none.

    A step is what the user said, an answer, something real that was let run, another draft, a swap of seats, a change of the rules, of what is set for the environment or of
    the world, and a stop: taking back a stop leads to the pause that it ended.
    """
    number = last_step(journal)
    return None if number is None else journal.parent(number)


def undone(journal: Journal) -> Fact | None:
    """Return the step that an undo takes back."""
    number = last_step(journal)
    return None if number is None else journal.fact(number)


def redo_target(journal: Journal) -> int | None:
    """Find where the step ends that was taken back last: the fact before the next one, or the end of its branch.

    That is the way on which the newest fact lies; None where the head is at its end.
    """
    way = _way_on(journal)
    steps = [place for place, (number, fact) in enumerate(way) if _is_step(journal, number, fact)]
    if not way:
        return None
    return way[steps[1] - 1][0] if len(steps) > 1 else way[-1][0]


def redone(journal: Journal) -> Fact | None:
    """Return the step that a redo brings back."""
    way = _way_on(journal)
    return next((fact for number, fact in way if _is_step(journal, number, fact)), way[0][1] if way else None)


def _way_on(journal: Journal) -> list[tuple[int, Fact]]:
    """Return the facts between the head and the end of the way on which the newest fact lies.

    What has been appended by itself since the head was moved is looked past.
    """
    behind: int | None = None
    for start, fact in journal.backwards():
        end = journal.newest_below(start, besides=behind)
        if end != start:
            return [*itertools.takewhile(lambda pair: pair[0] != start, journal.backwards(end))][::-1]  # noqa: B023 - used at once
        if not isinstance(fact, BY_ITSELF):
            return []
        behind = start
    return []


def last_step(journal: Journal) -> int | None:
    """Return the number of the last step that a person took; None where there is none."""
    return next((number for number, fact in journal.backwards() if _is_step(journal, number, fact)), None)


def _is_step(journal: Journal, number: int, fact: Fact) -> bool:
    match fact:
        case TurnStarted() | ConversationEnded() | WorldEdited() | StateCleared() | DraftDrawn():
            return True
        case TurnEnded():
            return fact.stopped
        case ModelAnswered() if fact.provenance.source == "model":
            return seats_at(journal, number).of_agent(fact.agent) != "model"
        case AgentRan():
            return fact.provenance.by is None
        case ModelAnswered() | ToolAnswered() | CodeAnswered():
            # What a generator answered by itself names it; a draft that a person took does not.
            # So does what a rule answered; a fault that a person chose for this call names nobody.
            by_itself = fact.provenance.source in {"generated", "injected"} and fact.provenance.by is not None
            return fact.provenance.source in _BY_PERSON | {"real", "injected"} and not by_itself
        case _:
            return isinstance(fact, _SETTINGS) and not (
                isinstance(fact, _OPENING) and _is_opening(journal, number)
            )


def _is_opening(journal: Journal, number: int) -> bool:
    """Recognise a setting with which the session was opened."""
    at = journal.fact(number).at
    before = itertools.dropwhile(lambda pair: isinstance(pair[1], _SETTINGS), journal.backwards(number))
    _, first = next(before, (ROOT, None))
    return isinstance(first, AgentSelected) and first.at == at


def seats_at(journal: Journal, number: int) -> Seats:
    """Return who sat where when a fact was appended."""
    agents: dict[str, AgentPlayer] = {}
    tools: dict[str, ToolPlayer] = {}
    for _, fact in journal.backwards(number):
        if isinstance(fact, SeatChanged):
            players: Any = agents if fact.seat == "agent" else tools
            players.setdefault(fact.target, fact.player)
    return Seats(agents=agents, tools=tools)


def may_have_run(journal: Journal, path: Sequence[tuple[int, Fact]]) -> frozenset[str]:
    """Return the keys of real calls that never answered, and of those that did on other branches, with what was asked.

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
