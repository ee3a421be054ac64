"""Finds the line of a script that answers a request, and keeps account of what was used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from pydantic import JsonValue

from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject, same
from simulator.facts import (
    AgentRan,
    Answered,
    CodeAnswered,
    Fact,
    ModelAnswered,
    Provenance,
    RulesChanged,
    SeatChanged,
    ToolAnswered,
)
from simulator.scripts.script import (
    CHANGES,
    SHAPING,
    AgentMove,
    Change,
    CodeMove,
    EnvironmentChange,
    Place,
    PlayerChange,
    RulesChange,
    Script,
    ToolMove,
    answers_any_tool,
)
from simulator.seats.requests import CodeRequest, ModelRequest, Request, ToolRequest

Line: TypeAlias = AgentMove | ToolMove | CodeMove

BY_SCRIPT = "script"
"""Who answered, in the provenance of what a script says itself."""


class Leftover(Value):
    """A line that was not used, or not where it stands; `words` say which one it is, and what was wrong."""

    place: Place
    words: str


class Taken(NamedTuple):
    """A request, and the line that answers it."""

    request: Request
    line: Line
    place: Place


@dataclass(eq=False)
class _Slot:
    """A line of the script, and how often it was used; `agent` says whose move it is."""

    place: Place
    entry: Line | Change
    agent: str = ""
    used: int = 0
    late: Place | None = None

    @property
    def most(self) -> float:
        """How often it can be used."""
        times = self.entry.times if isinstance(self.entry, ToolMove) else 1
        return float("inf") if times == "any" else times

    @property
    def is_left(self) -> bool:
        """Whether it can be used again."""
        return self.used < self.most

    @property
    def is_done(self) -> bool:
        """Whether it was used as often as it says; one for any number of calls is done with the first."""
        return self.used >= (1 if self.most == float("inf") else self.most)

    def fits(self, asked: Request | Answered) -> bool:
        """Return whether it can answer what is asked, or could answer what was."""
        if not self.is_left or (self.agent and self.agent != asked.agent):
            return False
        match self.entry:
            case AgentMove():
                return isinstance(asked, ModelRequest | ModelAnswered)
            case CodeMove():
                return isinstance(asked, CodeRequest | CodeAnswered)
            case ToolMove() as move:
                return isinstance(asked, ToolRequest | ToolAnswered | AgentRan) and _answers(move, asked)
            case _:
                return False

    def may_have_given(self, provenance: Provenance) -> bool:
        """Return whether an answer of this provenance may be this line's."""
        match self.entry:
            case ToolMove(draft=True):
                return provenance.source == "generated"
            case ToolMove(real=True):
                return provenance.source == "real"
            case AgentMove(model=True):
                return provenance.source == "model"
            case _:
                return provenance.by == BY_SCRIPT


def _answers(move: ToolMove, asked: ToolRequest | ToolAnswered | AgentRan) -> bool:
    if move.call_id and move.call_id != asked.call_id:
        return False
    if not (answers_any_tool(move) or move.tool == asked.tool_name):
        return False
    return same(asked.arguments, move.args) if move.exactly else holds(asked.arguments, move.args)


def holds(given: JsonValue, wanted: JsonValue) -> bool:
    """Return whether a value holds what is wanted: each field of an object, at any depth; all else has to be equal."""
    if isinstance(given, dict) and isinstance(wanted, dict):
        return all(name in given and holds(given[name], item) for name, item in wanted.items())
    return same(given, wanted)


class Lines:
    """The lines of a script while it is played, turn by turn."""

    def __init__(self, script: Script) -> None:
        self._turns: list[list[_Slot]] = [[] for _ in script.turns]
        for place, entry in script.entries_of_turns():
            self._turns[int(place[1])].append(_Slot(place, entry, getattr(entry, "agent", "")))
        self._agents = [_Slot(place, move, agent) for place, move, agent in script.moves_of_agents()]
        self._environment = [
            _Slot(("environment", number), entry, entry.agent)
            for number, entry in enumerate(script.environment)
        ]
        self._now: list[_Slot] = []

    def begin(self, turn: int) -> None:
        """Go on to a turn, which may be one after the last; what is left of the one before can be used no more."""
        self._now = self._turns[turn] if turn < len(self._turns) else []

    def take(self, requests: Sequence[Request]) -> Taken | None:
        """Take the first line that fits one of the requests: of this turn up to its next change, then of the whole script.

        It counts as used.
        """
        for slot in self._in_order():
            request = next((each for each in requests if slot.fits(each)), None)
            if request is not None and not isinstance(slot.entry, CHANGES):
                self._use(slot)
                return Taken(request, slot.entry, slot.place)
        return None

    def put_back(self, taken: Taken) -> None:
        """Count a line as not used after all: somebody else has answered meanwhile."""
        for slot in self._in_order():
            if slot.place == taken.place:
                slot.used -= 1

    def recall(self, fact: Fact) -> None:
        """Count the line that a fact of this turn came from as used, where it came from one."""
        match fact:
            case ModelAnswered() | ToolAnswered() | AgentRan() | CodeAnswered():
                found = (each for each in self._in_order() if each.fits(fact))
                slot = next((each for each in found if each.may_have_given(fact.provenance)), None)
                if slot is not None:
                    self._use(slot)
            case _ if isinstance(fact, (RulesChanged, SeatChanged, *SHAPING)):
                changes = (each for each in self._now if isinstance(each.entry, CHANGES) and each.is_left)
                slot = next(changes, None)
                if slot is not None and _is_made(slot.entry, fact):
                    self._use(slot)
            case _:
                return

    def _in_order(self) -> list[_Slot]:
        return [*self._up_to_change(), *self._agents, *self._environment]

    def due(self) -> Change | None:
        """Return the turn's next change where all the lines before it are used; it counts as made."""
        for slot in self._now:
            if isinstance(slot.entry, CHANGES) and slot.is_left:
                self._use(slot)
                return slot.entry
            if not slot.is_done:
                return None
        return None

    def skip(self) -> Change | None:
        """Return the turn's next change, though lines before it were not used; it counts as made."""
        for slot in self._now:
            if isinstance(slot.entry, CHANGES) and slot.is_left:
                self._use(slot)
                return slot.entry
        return None

    @property
    def all_used(self) -> bool:
        """Whether each line of this turn was used."""
        return all(slot.is_done for slot in self._now)

    def leftovers(self) -> tuple[Leftover, ...]:
        """Return the lines that were not used, those that were used out of order, in the order of the script."""
        slots = [*self._agents, *self._environment, *(slot for turn in self._turns for slot in turn)]
        return tuple(_left_over(slots))

    def _up_to_change(self) -> list[_Slot]:
        for number, slot in enumerate(self._now):
            if isinstance(slot.entry, CHANGES) and slot.is_left:
                return self._now[:number]
        return self._now

    def _use(self, slot: _Slot) -> None:
        slot.used += 1
        if slot in self._now and (slot.used == 1 or slot.most != float("inf")):
            behind = self._now[self._now.index(slot) + 1 :]
            slot.late = next((other.place for other in behind if other.used), slot.late)


def _is_made(change: Line | Change, fact: Fact) -> bool:
    match change, fact:
        case RulesChange(), RulesChanged():
            return change.rules == fact.rules
        case PlayerChange(), SeatChanged():
            return (change.seat, change.target, change.player) == (fact.seat, fact.target, fact.player)
        case EnvironmentChange(), _:
            return change.environment.model_copy(update={"at": fact.at}) == fact
        case _:
            return False


def _left_over(slots: Iterable[_Slot]) -> Iterator[Leftover]:
    for slot in slots:
        what = described(slot.entry)
        if not slot.used:
            yield Leftover(place=slot.place, words=f"{what} was never used")
        elif not slot.is_done:
            yield Leftover(place=slot.place, words=f"{what} was used {slot.used} of {slot.most:g} times")
        elif slot.late:
            behind = ".".join(map(str, slot.late))
            yield Leftover(
                place=slot.place, words=f"{what} was used after {behind}, which comes later in the script"
            )


def described(entry: Line | Change) -> str:
    """Name a line of a script for a person, in a few words."""
    match entry:
        case ToolMove():
            return f"the answer to {_call(entry.tool, entry.args)}"
        case CodeMove():
            return f"the output of code ({entry.prints!r:.40})"
        case AgentMove():
            return f"the move of {entry.agent or 'the agent'} ({_move(entry)})"
        case RulesChange():
            return "the change of the rules"
        case PlayerChange():
            return f"the change of player for {entry.target}"
        case EnvironmentChange():
            return f"the change of the environment ({entry.environment.kind})"


def _call(tool: str, args: JsonObject) -> str:
    written = ", ".join(f"{name}={value!r:.30}" for name, value in args.items())
    return f"{tool}({written:.100})"


def _move(move: AgentMove) -> str:
    if move.calls:
        return "calls " + ", ".join(call.name for call in move.calls)
    if move.transfer:
        return f"transfers to {move.transfer}"
    return (
        f"says {move.text!r:.40}"
        if move.text
        else "its own model"
        if move.model
        else f"{len(move.parts)} parts"
    )
