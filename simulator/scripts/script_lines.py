"""The lines of a script beside a session: which one answers a request, which were used, and what comes next, also where the session has gone another way."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from pydantic import JsonValue

from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject, same
from simulator.environment.recordings import ObservedCall, nearest
from simulator.environment.world.tool_settings import TRANSFER
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
    TurnStarted,
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
    ScriptTurn,
    ToolMove,
    answers_any_tool,
)
from simulator.scripts.script_text import MisplacedError, open_call
from simulator.seats.requests import CodeRequest, ModelRequest, Request, ToolRequest
from simulator.session.adk_event_fields import parts_of
from simulator.session.model import OpenCall

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
                return isinstance(asked, ToolRequest | ToolAnswered | AgentRan) and _fits_call(move, asked)
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


def _fits_call(move: ToolMove, asked: ToolRequest | ToolAnswered | AgentRan) -> bool:
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


_TEXT = ""
"""Stands for a text that an agent says without a call; a call stands under its tool's name."""


class NextMove(NamedTuple):
    """The next move of an agent: its parts as google-genai's in JSON. `is_here` says that the agent has done what came before it, and nothing else last."""

    parts: tuple[JsonObject, ...]
    is_here: bool


class NextAnswer(NamedTuple):
    """The answer to a call of a tool that is nearest.

    `place` is where the script has it, `is_here` says that it is of this turn and of these arguments, and `differs` says in words
    which arguments differ.
    """

    move: ToolMove
    place: str
    is_here: bool
    differs: tuple[str, ...]


class _Step(NamedTuple):
    """A call or a text of an agent: what it is compared by, the move that it is of, and its parts."""

    name: str
    move: int
    parts: tuple[JsonObject, ...]


class NextLines:
    """A script beside a session that began with it and can go another way.

    A message of the user is at the same place if as many were sent before it. An agent's moves are compared by the tools
    that it calls: what it does in addition, leaves out or calls with other arguments does not lose its place.

    Args:
        script: The script.
        facts: Those of the session, from the first to the head.
        root: The agent that the session begins with: a move that names no agent is its own, if no other is in the script.
    """

    def __init__(self, script: Script, facts: Iterable[Fact], *, root: str = "") -> None:
        self._root = root
        self._rounds: list[list[ScriptTurn]] = []
        for turn in script.turns:
            if turn.speaks == "say" or not self._rounds:
                self._rounds.append([])
            self._rounds[-1].append(turn)
        self._answers = [*_answers(self._rounds), *_of_any_round(script)]
        moves = [*_moves(script.turns)]
        names = {move.agent for move in moves}
        self._is_one_agents = len(names) == 1 and not any(_hands_over(move) for move in moves)
        self._now, self._replies = -1, 0
        self._said: defaultdict[str, list[list[_Step]]] = defaultdict(list)
        self._called: list[ToolAnswered] = []
        for fact in facts:
            self._take(fact)

    def _take(self, fact: Fact) -> None:
        match fact:
            case TurnStarted(purpose="query"):
                self._now, self._replies = self._now + 1, 0
                self._said.clear()
                self._called.clear()
            case TurnStarted():
                self._replies += 1
            case ModelAnswered(error=None):
                whole = (each for each in fact.responses if not each.get("partial"))
                parts = [part for each in whole for part in parts_of(each.get("content"))]
                self._said[fact.agent].append(list(_steps(parts)))
            case ToolAnswered():
                self._called.append(fact)
            case _:
                pass

    # ------------------------------------------------------------ the user

    @property
    def is_at_end(self) -> bool:
        """Whether the session has as many messages of the user as the script."""
        return self._now + 1 == len(self._rounds)

    @property
    def place(self) -> tuple[int, int]:
        """In which turn the session is, and how many the script has: each begins with a message of the user."""
        return max(self._now + 1, 1), len(self._rounds)

    @property
    def next_turn(self) -> int:
        """The number, from 0, of the turn with the user's next message, or of one after the last."""
        return sum(len(turns) for turns in self._rounds[: self._now + 1])

    def message(self) -> ScriptTurn | None:
        """Return the turn with the user's next message; None where the script has said all of its."""
        place = self._now + 1
        turn = self._rounds[place][0] if place < len(self._rounds) else None
        return turn if turn is not None and turn.speaks == "say" else None

    def reply(self, call: OpenCall) -> ScriptTurn | None:
        """Return the turn in which the user answers an open call; None where the script does not answer such a call here."""
        replies = [turn for turn in self._round() if turn.speaks != "say"]
        fitting = [place for place, turn in enumerate(replies) if _is_about(turn, call)]
        place = next((each for each in fitting if each >= self._replies), None)
        return None if place is None else replies[place]

    def _round(self) -> Sequence[ScriptTurn]:
        return self._rounds[self._now] if 0 <= self._now < len(self._rounds) else ()

    # ------------------------------------------------------------ the agent

    @property
    def tells_moves(self) -> bool:
        """Whether the script tells what agents do between these two messages of the user; it need not, as their own models can play."""
        return any(True for _ in _moves(self._round()))

    def calls(self, tool: str) -> bool:
        """Return whether an agent calls a tool anywhere in the script, be it answered or not."""
        moves = _moves(turn for turns in self._rounds for turn in turns)
        return any(step.name == tool for move in moves for step in _steps(move.answer().parts))

    def move(self, agent: str) -> NextMove | None:
        """Return what an agent does next; None where the script has no move of it any more."""
        moves = [move for move in _moves(self._round()) if self._is_of(move, agent)]
        steps: Sequence[_Step] = [
            step for place, each in enumerate(moves) for step in _steps(each.answer().parts, place)
        ]
        is_here = True
        for said in self._said[agent]:
            steps, is_here = _after(said, steps)
        parts = tuple(part for step in steps if step.move == steps[0].move for part in step.parts)
        return NextMove(parts, is_here) if parts else None

    def _is_of(self, move: AgentMove, agent: str) -> bool:
        """Return whether a move is an agent's; the only agent of a script can have been renamed since."""
        return move.agent == agent or (self._is_one_agents and agent == self._root)

    @property
    def tells_agents(self) -> bool:
        """Whether the script tells whose each move is between these two messages of the user."""
        return self._is_one_agents or all(move.agent for move in _moves(self._round()))

    # ------------------------------------------------------------ the environment

    def answer(self, tool: str, arguments: JsonObject) -> NextAnswer | None:
        """Return the answer to a call: of the same arguments, or of those that are nearest; None where the script does not answer the tool."""
        used: Counter[int] = Counter()
        for fact in self._called:
            if fact.tool_name == tool:
                used.update(self._nearest(tool, fact.arguments, used))
        for place in self._nearest(tool, arguments, used):
            line = self._answers[place]
            (found,) = nearest([line.call], tool, arguments, n=1)
            is_here = line.round in {self._now, None} and not found.differs
            return NextAnswer(line.move, line.call.place, is_here, found.differs)
        return None

    def _nearest(self, tool: str, arguments: JsonObject, used: Mapping[int, int]) -> tuple[int, ...]:
        """Return the number of the nearest answer; of equal ones that of this turn which is not used yet, as the recorded player does.

        To a call of other arguments an answer of this turn comes first, however near others are.
        """
        order = sorted(range(len(self._answers)), key=lambda each: self._answers[each].round != self._now)
        calls = [self._answers[each].call for each in order]
        given = {place: used.get(each, 0) for place, each in enumerate(order)}
        found = nearest(calls, tool, arguments, n=len(calls), used=given)
        places = ((bool(near.differs), order[near.index]) for near in found)
        ordered = sorted(places, key=lambda each: each[0] and self._answers[each[1]].round != self._now)
        return tuple(place for _, place in ordered[:1])


class _Answer(NamedTuple):
    """A line that answers a tool, with its call; the number of its message, from 0, or None where it answers at any."""

    move: ToolMove
    call: ObservedCall
    round: int | None


def _answers(rounds: Sequence[Sequence[ScriptTurn]]) -> Iterator[_Answer]:
    for number, turns in enumerate(rounds):
        moves = (line for turn in turns for line in turn.moves if isinstance(line, ToolMove))
        for place, move in enumerate(moves, start=1):
            if move.answer() is not None:
                yield _Answer(move, _observed(move, f"turn {number + 1}, call {place}"), number)


def _of_any_round(script: Script) -> Iterator[_Answer]:
    for move in script.environment:
        if isinstance(move, ToolMove) and move.answer() is not None:
            yield _Answer(move, _observed(move, "any turn"), None)


def _observed(move: ToolMove, place: str) -> ObservedCall:
    return ObservedCall(tool_name=move.tool, arguments=move.args, response=None, place=place)


def _is_about(turn: ScriptTurn, call: OpenCall) -> bool:
    try:
        open_call(turn, (call,))
    except MisplacedError:
        return False
    return True


def _moves(turns: Iterable[ScriptTurn]) -> Iterator[AgentMove]:
    """Yield the moves of agents of which a script tells what they are: not those of the agents' own models."""
    for turn in turns:
        yield from (line for line in turn.moves if isinstance(line, AgentMove) and not line.model)


def _steps(parts: Sequence[Any], move: int = 0) -> Iterator[_Step]:
    """Divide what an agent said at once into its calls; what is said before a call belongs to it, and without one it is a text."""
    before: list[JsonObject] = []
    has_call = False
    for part in parts:
        call = part.get("function_call")
        before.append(part)
        if call:
            yield _Step(_called(call), move, tuple(before))
            before, has_call = [], True
    if before and not has_call:
        yield _Step(_TEXT, move, tuple(before))


def _hands_over(move: AgentMove) -> bool:
    return any(step.name.partition(" ")[0] == TRANSFER for step in _steps(move.answer().parts))


def _called(call: JsonObject) -> str:
    """Return what calls are compared by: the tool's name, and whom the agent hands over to."""
    name, arguments = str(call.get("name") or ""), call.get("args")
    target = arguments.get("agent_name") if name == TRANSFER and isinstance(arguments, dict) else None
    return f"{name} {target}" if target else name


def _after(said: Sequence[_Step], steps: Sequence[_Step]) -> tuple[Sequence[_Step], bool]:
    """Return the steps that are left after what an agent said at once, and whether all of that was among them; calls that are made at once have no order."""
    is_here = True
    for each in said:
        found = next((step for step in steps if step.name == each.name), None)
        if found is None:
            is_here = False
        else:
            steps = [step for step in steps if step is not found and step.move >= found.move]
    return steps, is_here
