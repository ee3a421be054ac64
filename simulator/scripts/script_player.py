"""Plays a script in a session that is open: says what the user says, answers each request with the line that fits it, and changes what it says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from itertools import takewhile
from typing import Any, TypeAlias, assert_never

from simulator.agent_config import SimulatedAgentConfig
from simulator.base.frozen_value import Value
from simulator.base.json_values import canonical
from simulator.branches import failed_step
from simulator.environment.injection.rules import EVERY_TOOL
from simulator.environment.schema.schema_checks import misfit_calls
from simulator.facts import (
    EVERY,
    AgentPlayer,
    EnvironmentChanged,
    EnvironmentDataGiven,
    Fact,
    RecordingGiven,
    StateCleared,
    ToolAnswered,
    ToolPlayer,
    ToolsDeclared,
    TurnStarted,
    WorldEdited,
)
from simulator.journal import Journal
from simulator.runtime import ContradictionError, Simulation, SimulationError
from simulator.runtime.models.reachability import default_seats
from simulator.scripts.script import (
    AgentMove,
    Change,
    CodeMove,
    EnvironmentChange,
    Otherwise,
    Place,
    PlayerChange,
    RulesChange,
    Script,
    ScriptTurn,
    Shaping,
    ToolMove,
)
from simulator.scripts.script_lines import BY_SCRIPT, Leftover, Lines, Taken
from simulator.scripts.script_text import (
    MisplacedError,
    Waits,
    is_left_unasked,
    open_call,
    waits_for,
    waits_for_user,
    words_of,
)
from simulator.seats.answers import CodeAnswer, returned
from simulator.seats.requests import CodeRequest, ModelRequest, Request, ToolRequest
from simulator.session import Seats, SimulationSession


def change(simulation: Simulation, asked: Change) -> None:
    """Make a change.

    Raises:
        SimulationError: It does not fit the session.
    """
    match asked:
        case RulesChange():
            simulation.set_rules(asked.rules)
        case PlayerChange():
            player: Any = asked.player
            simulation.set_player(asked.seat, player, asked.target)
        case EnvironmentChange():
            _shape(simulation, asked.environment)
        case never:
            assert_never(never)


def _shape(simulation: Simulation, asked: Shaping) -> None:
    environment = simulation.environment
    match asked:
        case EnvironmentChanged():
            environment.change(asked.settings)
        case EnvironmentDataGiven():
            environment.give_data(asked.text)
        case WorldEdited():
            environment.edit(*asked.changes)
        case StateCleared():
            environment.clear_state(asked.state_key)
        case RecordingGiven():
            environment.give_recording(asked.name, asked.calls)
        case ToolsDeclared():
            environment.declare(*asked.tools)
        case never:
            assert_never(never)


def answered_tools(script: Script) -> frozenset[str]:
    """Return the tools that the script has answers for, `*` where it answers any."""
    entries = [*script.environment, *(entry for _, entry in script.entries_of_turns())]
    return frozenset(entry.tool for entry in entries if isinstance(entry, ToolMove))


def fallback(script: Script, tool: str) -> ToolPlayer:
    """Return who answers a tool where the script has no answer; a person where nobody was named."""
    return script.players.get(tool) or script.players.get(EVERY_TOOL, "person")


def seats_of(script: Script, config: SimulatedAgentConfig) -> Seats:
    """Return the seats from the start; the script sits in a person's place."""
    answered = answered_tools(script)
    if EVERY_TOOL in answered:
        return Seats(agents=_agents(script, config), tools={EVERY: "person"})
    tools: dict[str, ToolPlayer] = {EVERY: "person", **script.players}
    return Seats(agents=_agents(script, config), tools=tools | dict.fromkeys(answered, "person"))


def _agents(script: Script, config: SimulatedAgentConfig) -> dict[str, AgentPlayer]:
    agent = script.agent
    if isinstance(agent, str):
        return {EVERY: agent}
    if isinstance(agent, tuple):
        return {EVERY: "person"}
    usual = default_seats(config).agents
    if isinstance(agent, dict):
        own: dict[str, AgentPlayer] = {
            name: player if isinstance(player, str) else "person" for name, player in agent.items()
        }
        return own if EVERY in own else usual | own
    moving = {entry.agent or EVERY for _, entry in script.entries_of_turns() if isinstance(entry, AgentMove)}
    return usual | dict.fromkeys(sorted(moving), "person")


_PATIENCE = 1.0
"""How many seconds a turn that is to be stopped may take for each step."""

_SLICE = 0.25
"""For how many seconds it waits for the session without looking whether it is to stop."""

WENT_BACK = "You went back a step."
MOVED = "You moved to another step."
STOPPED = "You stopped the turn."


class ScriptStep(Value):
    """One step of a script that is played: which of the turns it is in (counted from 1), and what happens, in words; `place` is the line's that answers, which ends them."""

    turn: int
    turns: int
    words: str
    place: Place = ()


class Played(Value):
    """How it went.

    Attributes:
        session: The session as it stands.
        facts: Its facts, from the first to the head.
        waits: What the script had no answer to; it ended there.
        refused: The line that did not fit where it was used, and why; it ended there.
        failure: Why a turn ended with an error that was to end well; the script ended there.
        stopped: Why somebody ended it before its end, in words.
        leftovers: The lines that were not used, or not where they stand.
        problems: What else there is to know, such as why a model could not be asked.
    """

    session: SimulationSession
    facts: tuple[Fact, ...] = ()
    waits: tuple[Waits, ...] = ()
    refused: Leftover | None = None
    failure: str = ""
    stopped: str = ""
    leftovers: tuple[Leftover, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def came_through(self) -> bool:
        """Whether every turn was played to its end."""
        return not (self.waits or self.refused or self.failure or self.stopped)


Asks: TypeAlias = Callable[[tuple[Waits, ...]], bool]
"""Lets somebody answer what the script has no answer to. True when the session has changed since, False where nobody answers."""


class _Ends(Exception):  # noqa: N818 - it ends the script, which need not be an error
    def __init__(self, **how: Any) -> None:
        super().__init__()
        self.how = how


class ScriptPlay:
    """A script on its way through a session that stays open.

    `timed` is told when each turn happens, in seconds since the epoch, or None for the present time.

    Args:
        simulation: The session; the seats are as the script wants them.
        script: The script.
        asks: Who is asked where the script says so; by default nobody, and the script ends there.
        resumes: Go on where the script was: what it has said and answered on the way to the journal's head is known by
            its provenance. By default it begins with its first turn.
        first: The turn, from 0, before which it does not go on: somebody has spoken in the place of those before it.
    """

    def __init__(
        self,
        simulation: Simulation,
        script: Script,
        *,
        asks: Asks | None = None,
        resumes: bool = False,
        first: int = 0,
    ) -> None:
        self.simulation, self.script = simulation, script
        self.timed: Callable[[float | None], None] = lambda _: None
        self._asks, self._resumes, self._first = asks, resumes, first
        self._otherwise: Otherwise = script.otherwise
        self._lines = Lines(script)
        self._surprises: list[Leftover] = []
        self._problems: dict[str, None] = {}
        self._handed_over: set[str] = set()
        self._watch: Callable[[ScriptStep], None] = lambda _: None
        self._turn = 0
        self._head = -1
        self._ended = threading.Event()

    def stop(self) -> None:
        """Let it end before its next step; the session stays as it is."""
        self._ended.set()

    # ------------------------------------------------------------ the whole script

    def play(self, watch: Callable[[ScriptStep], None] | None = None) -> Played:
        """Play the script from its first turn to its last, or to where it cannot go on; `watch` is told of each step."""
        self._watch = watch or self._watch
        how: dict[str, Any] = {}
        try:
            for number in range(self._caught_up(), len(self.script.turns)):
                self._play(number)
            self._answer_what_is_open()
        except _Ends as end:
            how = end.how
        view = self.simulation.view()
        self._problems.update(dict.fromkeys(view.problems))
        self.timed(None)
        return Played(
            session=view.session,
            facts=self.simulation.read(lambda engine: tuple(fact for _, fact in engine.journal.path())),
            leftovers=(*self._lines.leftovers(), *self._surprises),
            problems=tuple(self._problems),
            **how,
        )

    def _caught_up(self) -> int:
        """Count what the script has done as done, and play the turn that is running to its end; return the turn to go on with."""
        self._notice()
        if not self._resumes:
            return 0
        begun = 0
        replaced = self.simulation.read(lambda engine: _given_before(engine.journal))
        for _, fact in self.simulation.read(lambda engine: engine.journal.path()):
            if _begins(fact):
                self._lines.begin(begun)
                begun += 1
            self._lines.recall(replaced.get(_call_of(fact), fact))
        if begun and self.simulation.session.is_running:
            self._turn = begun - 1
            self._finish(self.script.turns[self._turn].ends)
        return max(begun, self._first)

    def _play(self, number: int) -> None:
        self._turn, turn = number, self.script.turns[number]
        self.timed(turn.at)
        self._lines.begin(number)
        for place, each in enumerate(turn.before):
            self._within(("turns", number, "before", place), partial(change, self.simulation, each))
        self._speak(turn)
        self._finish(turn.ends)

    def _finish(self, ends: str) -> None:
        while self._goes_on(ends):
            pass
        self._check_end(ends)

    def _answer_what_is_open(self) -> None:
        """Let somebody answer what waits for the user in the end; the script answers what then is asked of its lines."""
        self._turn = len(self.script.turns)
        while calls := [call for call in self.simulation.session.open_calls if not call.answered]:
            self._lines.begin(self._turn)
            self._ask(tuple(waits_for_user(call, self._turn) for call in calls))
            self._finish("well")

    # ------------------------------------------------------------ one turn

    def _speak(self, turn: ScriptTurn) -> None:
        self._tell("the user message is sent")
        place = ("turns", self._turn)
        if turn.say is not None:
            said = turn.say
            more: Any = {"streaming": turn.streaming, "max_llm_calls": turn.max_llm_calls, "by": BY_SCRIPT}
            more["state_delta"] = turn.state_delta
            self._within(place, lambda: self.simulation.query(said, wait=0.0, **more))
        else:
            self._within(place, partial(self._reply, turn))
        self._rest(turn.ends)

    def _reply(self, turn: ScriptTurn) -> None:
        call = open_call(turn, self.simulation.session.open_calls)
        if turn.confirm is None:
            self.simulation.reply(call.call_id, turn.reply, wait=0.0, by=BY_SCRIPT)
        else:
            self.simulation.confirm(call.call_id, turn.confirm, turn.payload, wait=0.0, by=BY_SCRIPT)

    def _goes_on(self, ends: str) -> bool:
        """Do the next step of the turn; False where it has ended."""
        self._check_place()
        stops = ends == "stopped"
        if stops and self._lines.all_used:
            self._stop()
        pending = self.simulation.pending
        self._problems.update(dict.fromkeys(self.simulation.view().problems))
        if not self.simulation.session.is_running:
            while (left := self._lines.skip()) is not None:
                change(self.simulation, left)
            self._notice()
            return False
        if (due := self._lines.due()) is not None:
            self._change(due)
        elif (taken := self._lines.take(pending)) is not None:
            self._answer(taken, ends)
        elif (skipped := self._lines.skip()) is not None:
            self._change(skipped)
        elif stops:
            self._stop()
        else:
            self._without_a_line(pending)
        return True

    def _change(self, due: Any) -> None:
        self._tell("a change is applied")
        self._within(("turns", self._turn), partial(change, self.simulation, due))
        self._rest()

    def _answer(self, taken: Taken, ends: str) -> None:
        self._tell(f"{_name(taken.request)} is answered by {words_of(taken.place)}", taken.place)
        try:
            self._give(taken)
        except SimulationError as error:
            if taken.request.key not in {request.key for request in self.simulation.pending}:
                self._lines.put_back(taken)  # somebody else was faster
            elif ends == "well":
                raise _Ends(refused=Leftover(place=taken.place, words=str(error))) from error
            else:
                self._stop()  # the agent's own model may say what a person may not, and the turn failed of it
                return
        self._rest(ends)

    def _give(self, taken: Taken) -> None:
        simulation, request, line = self.simulation, taken.request, taken.line
        match line:
            case CodeMove():
                printed = CodeAnswer(stdout=line.prints, stderr=line.errors, by=BY_SCRIPT)
                simulation.answer(request, printed, wait=0.0)
            case AgentMove(model=True) | ToolMove(real=True):
                simulation.run_real(request, wait=0.0)
            case AgentMove():
                self._note_refused(taken)
                simulation.answer(request, line.answer().model_copy(update={"by": BY_SCRIPT}), wait=0.0)
            case ToolMove():
                answer = line.answer()
                given = (
                    request.draft
                    if answer is None and isinstance(request, ToolRequest)
                    else (answer or returned(None)).model_copy(update={"by": BY_SCRIPT})
                )
                simulation.answer(request, given, wait=0.0)
            case never:
                assert_never(never)

    def _note_refused(self, taken: Taken) -> None:
        """Keep that a line has the agent call a tool as its declaration does not allow."""
        if not (isinstance(taken.line, AgentMove) and isinstance(taken.request, ModelRequest)):
            return
        for misfit in misfit_calls(taken.line.answer().parts, taken.request.tools):
            self._surprises.append(Leftover(place=taken.place, words=misfit.words))

    def _stop(self) -> None:
        if self.simulation.session.is_running:
            self._tell("the turn is stopped")
            self.simulation.stop()
            self._notice()

    # ------------------------------------------------------------ where the script has no line

    def _without_a_line(self, pending: tuple[Request, ...]) -> None:
        for request in pending:
            if self._is_answered_by_others(request):
                self._rest()
                return
        if not pending:
            self._rest()
        else:
            self._ask(tuple(waits_for(request, self._turn) for request in pending))

    def _ask(self, waits: tuple[Waits, ...]) -> None:
        if self._otherwise != "ask" or self._asks is None:
            raise _Ends(waits=waits)
        self._tell(f"waiting for you: {waits[0].words}")
        if not self._asks(waits):
            self._check_stopped()
            raise _Ends(waits=waits)
        self._rest()

    def _is_answered_by_others(self, request: Request) -> bool:
        """Let the player that the script names answer in its place."""
        player = fallback(self.script, request.tool_name) if isinstance(request, ToolRequest) else "person"
        if isinstance(request, ToolRequest) and request.failure:
            if self._otherwise == "ask" and self._asks is not None:
                return False
            raise _Ends(failure=f"{request.tool_name} was not answered: {request.failure}")
        if isinstance(request, ToolRequest) and player == "real":
            self._tell(f"{request.tool_name} runs")
            self.simulation.run_real(request, wait=0.0)
            return True
        is_new = isinstance(request, ToolRequest) and request.tool_name not in self._handed_over
        if isinstance(request, ToolRequest) and is_new and player not in {"person", "offline"}:
            self._handed_over.add(request.tool_name)
            self._tell(f"{request.tool_name} is answered by {player}")
            self.simulation.set_player("tool", player, request.tool_name, wait=0.0)
            return True
        return self._is_generated(request, drafts=player == "offline")

    def _is_generated(self, request: Request, *, drafts: bool) -> bool:
        generates = self._otherwise == "generate"
        if isinstance(request, ToolRequest) and (drafts or generates):
            self._tell(f"{request.tool_name} is answered with its draft")
            try:
                self.simulation.answer(request, request.draft, wait=0.0)
            except ContradictionError as error:
                raise _Ends(
                    failure=f"{request.tool_name} was not answered with its draft: {error}"
                ) from error
            return True
        if isinstance(request, ModelRequest) and generates and not is_left_unasked(request):
            self._tell(f"{request.agent} is played by its model")
            self.simulation.run_real(request, wait=0.0)
            return True
        return False

    # ------------------------------------------------------------ how it ended

    def _check_end(self, ends: str) -> None:
        ended = self.simulation.session.turns[-1]
        if ended.error is not None and ends != "failed":
            step = failed_step(self.simulation.journal)
            of = f"an error of {step.words}: " if step is not None else ""
            told = f"{ended.error.short_type}: {ended.error.message}"
            raise _Ends(failure=f"turn {self._turn + 1} ended with {of}{told}")
        if ended.stopped and ends == "well":
            raise _Ends(stopped=STOPPED)
        how = "stopped" if ended.stopped else "failed" if ended.error else "well"
        if how == "well" and ends == "failed":
            words = "the turn should have ended with an error, but ended normally"
            self._surprises.append(Leftover(place=("turns", self._turn, "ends"), words=words))

    def _rest(self, ends: str = "well") -> None:
        """Wait until the session is at rest; a turn that is to be stopped is waited for only so long."""
        if ends == "stopped":
            self.simulation.wait(_PATIENCE)
        else:
            while not self.simulation.wait(_SLICE):
                self._check_stopped()
        self._check_place()

    def _notice(self) -> None:
        self._head = self.simulation.journal.head

    def _check_place(self) -> None:
        """End where a person has gone back, or to another branch, since the script did something."""
        self._check_stopped()
        if left := self.left():
            raise _Ends(stopped=left)
        self._notice()

    def left(self) -> str:
        """Return in words how a person has left the branch on which the script was last; empty where nobody has."""
        if self.simulation.read(lambda engine: _leads_to(engine.journal, self._head)):
            return ""
        is_earlier = self.simulation.read(lambda engine: _comes_from(engine.journal, self._head))
        return WENT_BACK if is_earlier else MOVED

    @property
    def has_all_turns(self) -> bool:
        """Whether all of its turns have ended on the branch where the session is, also where somebody answered in the place of a line."""
        begun = self.simulation.read(lambda engine: sum(_begins(fact) for _, fact in engine.journal.path()))
        return begun >= len(self.script.turns) and not self.simulation.session.is_running

    def _check_stopped(self) -> None:
        if self._ended.is_set():
            raise _Ends(stopped="You stopped the script.")

    def _within(self, place: Place, work: Callable[[], Any]) -> None:
        try:
            work()
        except (MisplacedError, SimulationError) as error:
            raise _Ends(refused=Leftover(place=place, words=str(error))) from error

    def _tell(self, words: str, place: Place = ()) -> None:
        turns = len(self.script.turns)
        self._watch(ScriptStep(turn=min(self._turn + 1, turns), turns=turns, words=words, place=place))


def _begins(fact: Fact) -> bool:
    """Return whether the script begins a turn by a fact."""
    by = fact.provenance.by if isinstance(fact, TurnStarted) and fact.provenance else ""
    return by == BY_SCRIPT


def _leads_to(journal: Journal, number: int) -> bool:
    """Return whether the way to the journal's head goes by this fact; a fact's number is greater than those before it."""
    since = takewhile(lambda pair: pair[0] >= number, journal.backwards())
    return any(each == number for each, _ in since)


def _given_before(journal: Journal) -> dict[str, ToolAnswered]:
    """Return the answers of the script on all branches, by their calls: another answer to such a call takes the place of its line."""
    facts = (fact for tip in journal.tips() for _, fact in journal.path(tip))
    return {_call_of(fact): fact for fact in facts if isinstance(fact, ToolAnswered) and fact.provenance.by == BY_SCRIPT}  # fmt: skip


def _call_of(fact: Fact) -> str:
    return canonical([fact.call_id, fact.tool_name, fact.arguments]) if isinstance(fact, ToolAnswered) else ""


def _comes_from(journal: Journal, number: int) -> bool:
    """Return whether the way to this fact goes by the journal's head."""
    return any(each == journal.head for each, _ in journal.backwards(number))


def _name(request: Request) -> str:
    if isinstance(request, ToolRequest):
        return request.tool_name
    return f"code of {request.agent}" if isinstance(request, CodeRequest) else request.agent
