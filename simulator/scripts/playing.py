"""Plays a script: says what the user says, and answers each request with the line that fits it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Self, assert_never

from simulator.agent_config import SimulatedAgentConfig
from simulator.facts import Value
from simulator.runtime import Simulation, SimulationError
from simulator.scripts.changing import change
from simulator.scripts.entries import AgentMove, CodeMove, ToolMove
from simulator.scripts.matching import Leftover, Lines, Taken
from simulator.scripts.script import Place, Script, ScriptTurn
from simulator.scripts.seating import fallback, seats_of
from simulator.scripts.snippets import Waits, waits_for, waits_for_user
from simulator.scripts.users_turn import MisplacedError, open_call
from simulator.seats.answers import CodeAnswer
from simulator.seats.requests import CodeRequest, ModelRequest, Request, ToolRequest
from simulator.session import SimulationSession

_PATIENCE = 1.0
"""How many seconds a turn that is to be stopped may take for each step."""


class Step(Value):
    """One step of a script that is played: which of the turns it is in (counted from 1), and what happens, in words."""

    turn: int
    turns: int
    words: str


class Played(Value):
    """How it went.

    Attributes:
        session: The session as it stands.
        waits: What the script had no answer to; it ended there.
        refused: The line that did not fit where it was used, and why; it ended there.
        failure: Why a turn ended with an error that was to end well; the script ended there.
        leftovers: The lines that were not used, or not where they stand.
        problems: What else there is to know, such as why a model could not be asked.
    """

    session: SimulationSession
    waits: tuple[Waits, ...] = ()
    refused: Leftover | None = None
    failure: str = ""
    leftovers: tuple[Leftover, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def came_through(self) -> bool:
        """Whether every turn was played to its end."""
        return not (self.waits or self.refused or self.failure)


class _Ends(Exception):  # noqa: N818 - it ends the script, which need not be an error
    def __init__(self, **how: Any) -> None:
        super().__init__()
        self.how = how


class ScriptedSession:
    """A session that a script drives; a context manager.

    Where the script has come to its end, or has no answer, `simulation` is still open: somebody else can go on.

    Args:
        config: The agent.
        script: The script.
        clock: Gives the time in seconds since the epoch, where the script names none.

    Raises:
        SimulationError: The session cannot be opened.
    """

    def __init__(
        self, config: SimulatedAgentConfig, script: Script, *, clock: Callable[[], float] = time.time
    ) -> None:
        self.script = script
        self._clock, self._at = clock, script.began
        self._lines = Lines(script)
        self._surprises: list[Leftover] = []
        self._problems: dict[str, None] = {}
        self._handed_over: set[str] = set()
        self._watch: Callable[[Step], None] = lambda _: None
        self._turn = 0
        self.simulation = Simulation.open(
            config,
            rules=script.rules,
            seats=seats_of(script, config),
            initial_state=script.initial_state,
            seed=script.seed or None,
            user_id=script.user_id,
            session_id=script.session_id or None,
            clock=self._now,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.simulation.close()

    def _now(self) -> float:
        return self._clock() if self._at is None else self._at

    # ------------------------------------------------------------ the whole script

    def play(self, watch: Callable[[Step], None] | None = None) -> Played:
        """Play the script from its first turn to its last, or to where it cannot go on; `watch` is told of each step."""
        self._watch = watch or self._watch
        how: dict[str, Any] = {}
        try:
            for number, turn in enumerate(self.script.turns):
                self._turn = number
                self._play(turn)
            self._check_nothing_waits()
        except _Ends as end:
            how = end.how
        view = self.simulation.view()
        self._problems.update(dict.fromkeys(view.problems))
        return Played(
            session=view.session,
            leftovers=(*self._lines.leftovers(), *self._surprises),
            problems=tuple(self._problems),
            **how,
        )

    def _play(self, turn: ScriptTurn) -> None:
        self._at = turn.at
        self._lines.begin(self._turn)
        for number, each in enumerate(turn.before):
            self._within(("turns", self._turn, "before", number), partial(change, self.simulation, each))
        self._speak(turn)
        while self._goes_on(turn):
            pass
        self._check_end(turn)

    def _check_nothing_waits(self) -> None:
        calls = [call for call in self.simulation.session.open_calls if not call.answered]
        if calls:
            turns = len(self.script.turns)
            raise _Ends(waits=tuple(waits_for_user(call, turns) for call in calls))

    # ------------------------------------------------------------ one turn

    def _speak(self, turn: ScriptTurn) -> None:
        self._tell("the user speaks")
        place = ("turns", self._turn)
        patience = _PATIENCE if turn.ends == "stopped" else None
        if turn.say is not None:
            said = turn.say
            more: Any = {"streaming": turn.streaming, "max_llm_calls": turn.max_llm_calls}
            self._within(
                place,
                lambda: self.simulation.query(said, state_delta=turn.state_delta, wait=patience, **more),
            )
            return

        def replied() -> bool:
            call = open_call(turn, self.simulation.session.open_calls)
            if turn.confirm is None:
                return self.simulation.reply(call.call_id, turn.reply, wait=patience)
            return self.simulation.confirm(call.call_id, turn.confirm, turn.payload, wait=patience)

        self._within(place, replied)

    def _goes_on(self, turn: ScriptTurn) -> bool:
        """Do the next step of the turn; False where it has ended."""
        stops = turn.ends == "stopped"
        if stops and self._lines.all_used:
            self._stop()
        pending = self.simulation.pending
        self._problems.update(dict.fromkeys(self.simulation.view().problems))
        if not self.simulation.session.is_running:
            while (left := self._lines.skip()) is not None:
                change(self.simulation, left)
            return False
        if (due := self._lines.due()) is not None:
            self._change(due)
        elif (taken := self._lines.take(pending)) is not None:
            self._answer(taken, turn)
        elif (skipped := self._lines.skip()) is not None:
            self._change(skipped)
        elif stops:
            self._stop()
        else:
            self._without_a_line(pending)
        return True

    def _change(self, due: Any) -> None:
        self._tell("something is changed")
        self._within(("turns", self._turn), partial(change, self.simulation, due))
        self.simulation.wait()

    def _answer(self, taken: Taken, turn: ScriptTurn) -> None:
        self._tell(f"{_name(taken.request)} is answered by {'.'.join(map(str, taken.place))}")
        patience = _PATIENCE if turn.ends == "stopped" else None
        try:
            self._give(taken, patience)
        except SimulationError as error:
            if turn.ends == "well":
                raise _Ends(refused=Leftover(place=taken.place, words=str(error))) from error
            self._stop()  # the agent's own model may say what a person may not, and the turn failed of it

    def _give(self, taken: Taken, patience: float | None) -> None:
        simulation, request, line = self.simulation, taken.request, taken.line
        match line:
            case CodeMove():
                simulation.answer(request, CodeAnswer(stdout=line.prints, stderr=line.errors), wait=patience)
            case AgentMove(model=True) | ToolMove(real=True):
                simulation.run_real(request, wait=patience)
            case AgentMove():
                simulation.answer(request, line.answer(), wait=patience)
            case ToolMove():
                answer = line.answer()
                drafted = request.draft if isinstance(request, ToolRequest) else None
                simulation.answer(request, drafted if answer is None else answer, wait=patience)
            case never:
                assert_never(never)

    def _stop(self) -> None:
        if self.simulation.session.is_running:
            self._tell("the turn is stopped")
            self.simulation.stop()

    # ------------------------------------------------------------ where the script has no line

    def _without_a_line(self, pending: tuple[Request, ...]) -> None:
        for request in pending:
            if self._is_answered_by_others(request):
                return
        if not pending:
            self.simulation.wait()
            return
        waits = tuple(waits_for(request, self._turn) for request in pending)
        raise _Ends(waits=waits)

    def _is_answered_by_others(self, request: Request) -> bool:
        """Let whoever the script names for this answer in its place."""
        player = fallback(self.script, request.tool_name) if isinstance(request, ToolRequest) else "person"
        if isinstance(request, ToolRequest) and player == "real":
            self._tell(f"{request.tool_name} is run")
            self.simulation.run_real(request)
            return True
        is_new = isinstance(request, ToolRequest) and request.tool_name not in self._handed_over
        if isinstance(request, ToolRequest) and is_new and player not in {"person", "offline"}:
            self._handed_over.add(request.tool_name)
            self._tell(f"{request.tool_name} is answered by {player}")
            self.simulation.set_player("tool", player, request.tool_name)
            return True
        return self._is_generated(request, drafts=player == "offline")

    def _is_generated(self, request: Request, *, drafts: bool) -> bool:
        generates = self.script.otherwise == "generate"
        if isinstance(request, ToolRequest) and (drafts or generates):
            self._tell(f"{request.tool_name} is answered with its draft")
            self.simulation.answer(request, request.draft)
            return True
        if isinstance(request, ModelRequest) and generates:
            self._tell(f"{request.agent} is played by its model")
            self.simulation.run_real(request)
            return True
        return False

    # ------------------------------------------------------------ how it ended

    def _check_end(self, turn: ScriptTurn) -> None:
        ended = self.simulation.session.turns[-1]
        if ended.error is not None and turn.ends != "failed":
            raise _Ends(
                failure=f"turn {self._turn + 1} ended with {ended.error.short_type}: {ended.error.message}"
            )
        how = "stopped" if ended.stopped else "failed" if ended.error else "well"
        if how == "well" and turn.ends == "failed":
            words = "the turn was to end with an error, and ended well"
            self._surprises.append(Leftover(place=("turns", self._turn, "ends"), words=words))

    def _within(self, place: Place, work: Callable[[], Any]) -> None:
        try:
            work()
        except (MisplacedError, SimulationError) as error:
            raise _Ends(refused=Leftover(place=place, words=str(error))) from error

    def _tell(self, words: str) -> None:
        self._watch(Step(turn=self._turn + 1, turns=len(self.script.turns), words=words))


def play_script(
    config: SimulatedAgentConfig, script: Script, watch: Callable[[Step], None] | None = None
) -> Played:
    """Play a script with an agent, from beginning to end.

    Raises:
        SimulationError: The session cannot be opened.
    """
    with ScriptedSession(config, script) as scripted:
        return scripted.play(watch)


def _name(request: Request) -> str:
    if isinstance(request, ToolRequest):
        return request.tool_name
    return f"code of {request.agent}" if isinstance(request, CodeRequest) else request.agent
