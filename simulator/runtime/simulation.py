"""The face of a simulation: plain synchronous commands and one frozen view, from any thread."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, Self

from google.genai import types

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.environment_data import EnvironmentDataError
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import (
    EVERY,
    NOTHING_EARLIER,
    AgentPlayer,
    EarlierData,
    Fact,
    Outcome,
    RulesChanged,
    ToolPlayer,
    TurnStarted,
)
from simulator.journal import Journal
from simulator.runtime import simulation_commands
from simulator.runtime.adk.earlier_services import checked_earlier
from simulator.runtime.adk.event_loop import LoopThread
from simulator.runtime.errors import ReplayDivergence, SimulationError
from simulator.runtime.opening_facts import opening_facts
from simulator.runtime.session_engine import Engine
from simulator.runtime.simulated_environment import SimulatedEnvironment
from simulator.runtime.turns.undo_targets import redo_target, redone, undo_target, undone
from simulator.runtime.user_commands import UserCommands, UserView, user_view
from simulator.runtime.user_player import author_of, said_by
from simulator.seats.answers import Answer
from simulator.seats.requests import CodeRequest, ModelRequest, Request, RunningCall, ToolRequest
from simulator.session import IllegalFactError, Seats, SimulationSession

if TYPE_CHECKING:
    from google.adk.apps import App
    from google.adk.workflow import BaseNode


class SimulationView(Value):
    """Everything there is to see of a simulation at one moment.

    `pending` are the requests that wait for a person, oldest first; `running` what is at work right now. `busy`
    says that something will happen by itself. `version` grows with every change. `head` is the journal's.
    `user` is the user's seat. `undoes` is what an undo would take back, and `redoes` what a redo would bring back; None where there is nothing.
    """

    session: SimulationSession
    pending: tuple[Request, ...] = ()
    running: tuple[RunningCall, ...] = ()
    busy: bool = False
    version: int = 0
    problems: tuple[str, ...] = ()
    divergence: ReplayDivergence | None = None
    head: int = -1
    user: UserView = UserView()
    undoes: Fact | None = None
    redoes: Fact | None = None


class Simulation(UserCommands):
    """A session that is being played.

    Every command waits until the agent needs a person again (or the turn has ended), at most `wait` seconds where that
    is given. A command that does not fit raises `SimulationError` and changes nothing.
    """

    def __init__(self, config: SimulatedAgentConfig, journal: Journal, clock: Callable[[], float]) -> None:
        """Use `open` or `resume`."""
        if config.runs_elsewhere:
            raise SimulationError(
                f"the agent {config.name!r} runs in a separate process, so it cannot run in this one"
            )
        self.config = config
        self._loop = LoopThread.shared()
        self._closed = False

        async def made() -> Engine:
            engine = Engine(config, journal, clock)
            await engine.open()
            return engine

        self._engine = self._loop.run(made())

    @property
    def environment(self) -> SimulatedEnvironment:
        """What the tools find: its world, its settings, and how a person shapes it."""
        return SimulatedEnvironment(self)

    @classmethod
    def open(
        cls,
        config: SimulatedAgentConfig | BaseNode | App,
        *,
        rules: Iterable[InjectionRule] = (),
        seats: Seats | None = None,
        initial_state: JsonObject | None = None,
        earlier: EarlierData = NOTHING_EARLIER,
        seed: str | None = None,
        user_id: str = "user",
        session_id: str | None = None,
        clock: Callable[[], float] = time.time,
        keep: Callable[[Journal], Journal] | None = None,
    ) -> Simulation:
        """Begin a session with an agent.

        Args:
            config: The agent, or its configuration.
            rules: Injection rules that are in force from the start.
            seats: Who plays from the start; by default each agent's own model if it can be reached, else a person, who plays the tools.
            initial_state: What ADK's session state holds at first.
            earlier: The artifacts and the memory that there are at first: `simulator.earlier_data` makes them of files and texts.
            seed: Where ids and draws come from; a random one by default, as `session_id`.
            user_id: ADK's user.
            session_id: The session's id.
            clock: Gives the time in seconds since the epoch.
            keep: Gives the journal to go on with instead of one that is only in memory: a store's.

        Raises:
            AgentConfigError: `config` is nothing that can be simulated.
            SimulationError: Two rules have one id, or something of what the session begins with cannot be used.
        """
        config = SimulatedAgentConfig.of(config)
        header = {"session_id": session_id or _new_id(), "user_id": user_id, "seed": seed or _new_id()}
        state, now = simulation_commands.plain(initial_state or {}, "initial state"), round(clock(), 3)
        begins = {"initial_state": state, "earlier": checked_earlier(earlier, now)}
        with _as_simulation_error():
            journal = Journal(opening_facts(config, header, begins, seats, rules, now=now))
            return cls(config, keep(journal) if keep else journal, clock)

    @classmethod
    def resume(
        cls,
        journal: Journal,
        config: SimulatedAgentConfig | BaseNode | App,
        *,
        clock: Callable[[], float] = time.time,
        wait: float | None = None,
    ) -> Simulation:
        """Go on with the session of a journal, as a command does: no model and no real tool is asked again.

        Raises:
            AgentConfigError: `config` is nothing that can be simulated.
            SimulationError: The journal's session has no agent yet, or another one.
        """
        config = SimulatedAgentConfig.of(config)
        session = journal.session()
        if session.agent_name != config.name:
            raise SimulationError(
                f"the session belongs to the agent {session.agent_name!r}, not to {config.name!r}"
            )
        simulation = cls(config, journal, clock)
        simulation.wait(wait)
        return simulation

    # ------------------------------------------------------------ what there is to see

    @property
    def session(self) -> SimulationSession:
        """The session as it stands."""
        return self._loop.call(lambda: simulation_commands.session_of(self._engine))

    @property
    def pending(self) -> tuple[Request, ...]:
        """The requests that wait for a person, oldest first."""
        return self._loop.call(lambda: simulation_commands.pending_of(self._engine))

    @property
    def journal(self) -> Journal:
        """The session's journal; to be read, not to be appended to."""
        return self._engine.journal

    @property
    def version(self) -> int:
        """A number that grows with every change; cheap to read."""
        return self._engine.version

    def view(self) -> SimulationView:
        """Return one consistent snapshot."""
        return self._loop.call(self.view_here)

    def view_here(self) -> SimulationView:
        """Return the snapshot for somebody who is on the loop's thread already, as the work of `read` is."""
        engine = self._engine
        return SimulationView(
            session=simulation_commands.session_of(engine),
            pending=simulation_commands.pending_of(engine),
            running=simulation_commands.running_of(engine),
            busy=not engine.at_rest(),
            version=engine.version,
            problems=tuple(engine.problems),
            divergence=engine.divergence,
            head=engine.journal.head,
            user=user_view(engine),
            undoes=undone(engine.journal),
            redoes=redone(engine.journal),
        )

    def when_changed(self, notify: Callable[[], None]) -> None:
        """Call `notify` after each change, on the loop's thread; it must not wait."""
        self._engine.notify = notify

    def model_view(self) -> ModelRequest | None:
        """Return what the model was last shown in the turn in progress (or the last one), as a person in its seat would see it."""
        return self._loop.call(lambda: simulation_commands.last_model_request(self._engine))

    # ------------------------------------------------------------ commands

    def query(
        self,
        message: str | JsonObject | types.Content,
        *,
        state_delta: JsonObject | None = None,
        wait: float | None = None,
        streaming: bool = False,
        max_llm_calls: int = 500,
        by: str = "",
    ) -> bool:
        """Let the user say something: text, or google-genai's `Content`, also in JSON. True if the agent came to rest.

        A content may have files: parts with `inline_data`, as `types.Part.from_bytes` makes them.
        `by` names who says it, where that is neither a person nor who sits in the user's seat: a script.
        """
        return self._turn(
            "query",
            simulation_commands.content_of(message),
            wait,
            state_delta=simulation_commands.plain(state_delta, "state delta") if state_delta else {},
            streaming=streaming,
            max_llm_calls=max_llm_calls,
            **said_by(by),
        )

    def confirm(
        self, call_id: str, confirmed: bool, payload: Any = None, *, wait: float | None = None, by: str = ""
    ) -> bool:
        """Let the user confirm or reject the tool call that ADK asks about; `by` as for `query`."""
        response: JsonObject = {"confirmed": confirmed}
        if payload is not None:
            response["payload"] = payload
        return self.reply(call_id, response, wait=wait, by=by)

    def reply(self, call_id: str, response: Any, *, wait: float | None = None, by: str = "") -> bool:
        """Let the user answer a call that was left open; anything but a dict becomes `{"result": response}`."""
        self._check_open()
        call = simulation_commands.open_call(self.session, call_id)
        message = simulation_commands.reply_content(call, simulation_commands.plain(response, "reply"))
        return self._turn("reply", message, wait, **said_by(by))

    def _turn(
        self, purpose: Literal["query", "reply"], message: JsonObject, wait: float | None, **more: Any
    ) -> bool:
        async def start() -> None:
            engine = self._engine
            simulation_commands.check_responses(engine, message)
            more.setdefault("provenance", author_of(engine, message))
            started = TurnStarted(
                at=engine.now(),
                turn=engine.journal.fold.turns_so_far,
                purpose=purpose,
                message=message,
                **more,
            )
            await engine.start_turn(started)

        return self._command_and_wait(start, wait)

    def answer(self, request: Request | str, answer: Answer | Any, *, wait: float | None = None) -> bool:
        """Answer a pending request.

        A plain value stands for what the tool returns, or (as text) for what the agent says or code prints.
        """
        key = _key(request)
        return self._command_and_wait(lambda: simulation_commands.answer(self._engine, key, answer), wait)

    def run_real(self, request: Request | str, *, wait: float | None = None) -> bool:
        """Let the real tool (or code, or the agent's own model) answer this one request."""
        key = _key(request)
        return self._command_and_wait(lambda: simulation_commands.run_real(self._engine, key), wait)

    def inject(
        self,
        request: Request | str,
        rule: InjectionRule,
        outcome: Outcome | None = None,
        *,
        wait: float | None = None,
    ) -> bool:
        """Let one fault answer this one tool call, or change its `outcome`; no rule of the session has to match."""
        key = _key(request)
        return self._command_and_wait(
            lambda: simulation_commands.inject(self._engine, key, rule, outcome), wait
        )

    def set_player(
        self,
        seat: Literal["agent", "tool"],
        player: AgentPlayer | ToolPlayer,
        target: str = EVERY,
        *,
        wait: float | None = None,
    ) -> bool:
        """Let somebody else sit down, for one agent or tool by name or for all others; open requests move along."""

        async def sit() -> None:
            simulation_commands.change_seat(self._engine, seat, target, player)

        return self._command_and_wait(sit, wait)

    def set_rules(self, rules: Iterable[InjectionRule]) -> None:
        """Put these injection rules in force, in this order, from the next call on."""
        in_force = tuple(rules)

        async def put() -> None:
            self._engine.append(RulesChanged(at=self._engine.after_opening(), rules=in_force))
            self._engine.changed()

        self._command(put)

    def switch_rule(self, rule_id: str, enabled: bool) -> None:
        """Switch one injection rule on or off, from the next call on."""
        self._check_open()
        rules = self.session.rules
        if all(rule.rule_id != rule_id for rule in rules):
            raise SimulationError(f"no injection rule has the id {rule_id!r}")
        self.set_rules(
            rule.model_copy(update={"enabled": enabled}) if rule.rule_id == rule_id else rule
            for rule in rules
        )

    def stop(self) -> None:
        """End the turn in progress, whatever is running; what has happened stays in the timeline."""
        self._command(self._engine.stop)

    def move_head(self, fact: int, *, wait: float | None = None) -> bool:
        """Go to a fact of the journal, on this branch or another one; the way there is re-executed, and nothing is deleted.

        Seats, rules, the world and all that is set go along. What is asked there waits for a person, also where somebody else
        sits: `go_on` lets them answer.
        """
        self._check_open()
        if fact < next(number for number, each in self.journal.path() if each.kind == "agent_selected"):
            raise SimulationError(f"fact {fact} comes before the agent was selected")
        if fact >= (length := len(self.journal)):
            raise SimulationError(f"the journal has no fact {fact}; its length is {length}")
        return self._command_and_wait(lambda: self._engine.move(fact), wait)

    def undo(self, *, wait: float | None = None) -> bool:
        """Take back the last step that a person took, as `move_head`: something said, answered, set, edited or stopped."""
        return self._move(undo_target, "undo", wait)

    def redo(self, *, wait: float | None = None) -> bool:
        """Bring back the step that was taken back last, as `move_head`; after another step there is none."""
        return self._move(redo_target, "redo", wait)

    def _move(self, target: Callable[[Journal], int | None], what: str, wait: float | None) -> bool:
        self._check_open()
        number = self._loop.call(lambda: target(self._engine.journal))
        if number is None:
            raise SimulationError(f"there is no step to {what}")
        return self._command_and_wait(lambda: self._engine.move(number), wait)

    def can_undo(self) -> bool:
        """Return whether there is a step to take back."""
        return self._loop.call(lambda: undo_target(self._engine.journal)) is not None

    def can_redo(self) -> bool:
        """Return whether there is a step to bring back."""
        return self._loop.call(lambda: redo_target(self._engine.journal)) is not None

    def go_on(self, *, wait: float | None = None) -> bool:
        """Let those who sit there answer what a person came back to."""

        async def let() -> None:
            self._engine.go_on()

        return self._command_and_wait(let, wait)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the agent needs a person or the turn has ended; False if `timeout` seconds were not enough."""
        return self._loop.run(self._engine.rest(timeout))

    def close(self) -> None:
        """Let go of everything that runs. The journal stays, and can be resumed; this simulation takes no command more.

        Closing again does nothing.
        """

        async def shut() -> None:
            self._closed = True
            if self._engine.modelling.analysing is not None:
                self._engine.modelling.analysing.cancel()
            await self._engine.close()

        self._loop.run(shut())

    def _check_open(self) -> None:
        if self._closed:
            raise SimulationError("the simulation is closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _command_and_wait(self, work: Callable[[], Any], patience: float | None) -> bool:
        """Command and wait for rest in one: each crossing to the loop's thread costs time."""

        async def both() -> bool:
            self._check_open()
            await work()
            return await self._engine.rest(patience)

        with _as_simulation_error():
            return self._loop.run(both())

    def _command(self, work: Callable[[], Any]) -> None:
        async def checked() -> None:
            self._check_open()
            await work()

        with _as_simulation_error():
            self._loop.run(checked())

    def read(self, work: Callable[[Engine], Any]) -> Any:
        """Return what some work reads from the engine, on its thread."""
        return self._loop.call(lambda: work(self._engine))

    def command(self, work: Callable[[Engine], Any]) -> None:
        """Let some work change the engine, on its thread."""

        async def worked() -> None:
            work(self._engine)

        self._command(worked)


def _new_id() -> str:
    return uuid.uuid4().hex


@contextmanager
def _as_simulation_error() -> Iterator[None]:
    try:
        yield
    except (IllegalFactError, EnvironmentDataError) as error:
        raise SimulationError(str(error)) from error


def _key(request: Request | str) -> str:
    return request.key if isinstance(request, (ModelRequest, ToolRequest, CodeRequest)) else request
