"""Runs one session on the loop's thread: from the journal to ADK's runner and back, and from the facts with which it begins.

The journal is all that lasts. Whatever a person does becomes a fact in it, and the engine brings ADK to where its
head is. There is one way there, `open`, for the next turn, for a session that is resumed, an undo and a branch:

- ADK's own session is made anew, as the turns that have ended left it (`_restored`).
- Where a turn was in progress, its agent is run again from its beginning (`_run_turn`). The answers that the journal
  holds are released in their order (`turns.replay_release`), so the agent gets to the same place.
- From there on new requests are offered to their players (`offer`, `answering.dispatcher`), and each answer is
  appended as a fact before the agent has it.

A turn is two tasks. `_run_agent` runs ADK with the turn as its context: ids, times and chance come from the turn, so
they are the same in every execution. `_drive` waits for it, and appends `TurnEnded` with the events and the state. If
the agent asks for something else than the journal answers, the session has diverged: it stays as it is until somebody
goes back to before that.

The session is at rest where nothing happens before a person does something. Each change raises `version`, and wakes
those who wait for rest. A turn that is closed leaves no word in the journal, and is resumed from there; one that is
stopped has ended.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import weakref
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.platform import time as platform_time
from google.adk.platform import uuid as platform_uuid
from google.adk.runners import Runner
from google.adk.sessions import Session
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_source import environment_data_of
from simulator.base.json_values import JsonObject, copied
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.world.connections import ToolShape
from simulator.facts import (
    EVERY,
    AgentSelected,
    Answered,
    Fact,
    RaisedError,
    RulesChanged,
    SeatChanged,
    SessionOpened,
    TurnEnded,
    TurnStarted,
)
from simulator.journal import Journal
from simulator.runtime.adk.adk_check import check_adk
from simulator.runtime.adk.adk_private import set_random_provider
from simulator.runtime.adk.boundaries import ModelCall, ToolBoundaryCall, install
from simulator.runtime.adk.cancellation import PATIENCE_WITH_CANCELLATION, cancelled, end_of
from simulator.runtime.adk.codec import jsonable, survives_json, written_error
from simulator.runtime.adk.tool_guards import PlayedTool, all_refused
from simulator.runtime.adk.turn_context import CURRENT_TURN, WATCH
from simulator.runtime.adk.watched_services import Ground, WatchedArtifacts, WatchedMemory, WatchedSessions
from simulator.runtime.answering.call_environment import LiveEnvironment
from simulator.runtime.answering.dispatcher import SessionAnswering
from simulator.runtime.answering.pipeline import LivePipeline
from simulator.runtime.errors import Diverged, ReplayDivergence, SimulationError
from simulator.runtime.knowledge.knowledge import LiveKnowledge, ToolShapes
from simulator.runtime.models.environment_model import Modelling
from simulator.runtime.models.reachability import default_seats
from simulator.runtime.turns.replay_release import (
    guarded_app,
    is_as_answered,
    left_out,
    random_of,
    restored,
    rules_at_rest,
    run_config,
    turn_in_progress,
)
from simulator.runtime.turns.turn import SessionWatch, TurnRun
from simulator.runtime.turns.undo_targets import may_have_run
from simulator.runtime.turns.waiting_request import WaitingRequest
from simulator.runtime.user_player import UserAtWork, let_speak, look, still
from simulator.session import Seats
from simulator.session.model import SimulationSession


def opening_facts(
    config: SimulatedAgentConfig,
    header: Mapping[str, str],
    begins: Mapping[str, Any],
    seats: Seats | None,
    rules: Iterable[InjectionRule],
    *,
    now: float,
) -> Iterator[Fact]:
    """Yield them, in their order.

    Args:
        config: The agent.
        header: The session's id, ADK's user and the seed, by the names of `SessionOpened`.
        begins: What ADK's session holds at first, by the names of `AgentSelected`.
        seats: Who plays; by default each agent's own model if it can be reached, else a person.
        rules: The injection rules that are in force.
        now: The time, in seconds since the epoch.

    Raises:
        EnvironmentDataError: The environment data that the agent brings along cannot be used.
    """
    yield SessionOpened(at=now, **header)
    yield AgentSelected(
        at=now,
        agent_name=config.name,
        app_name=config.app_name,
        environment_data=environment_data_of(config),
        **begins,
    )
    # A person answers the tools anyway: the journal need not say so.
    seats = Seats(agents=default_seats(config).agents) if seats is None else seats
    for target, agent_player in seats.agents.items():
        yield SeatChanged(at=now, seat="agent", target=target, player=agent_player)
    for target, tool_player in seats.tools.items():
        yield SeatChanged(at=now, seat="tool", target=target, player=tool_player)
    if in_force := tuple(rules):
        yield RulesChanged(at=now, rules=in_force)


_PATIENCE_WITH_STOP = 0.05


class Engine:
    """One live session. Every method runs on the loop's thread."""

    def __init__(self, config: SimulatedAgentConfig, journal: Journal, clock: Callable[[], float]) -> None:
        check_adk()
        self.config, self.journal, self._clock = config, journal, clock
        self.append: Callable[[Fact], int] = journal.append
        self.seed = self._header_seed()
        self.tools = ToolShapes(config.root_agent)
        # Held weakly, as a circle would leave a session that is over to the garbage collector.
        self.knowledge = LiveKnowledge(journal, weakref.WeakMethod(self.tool_shapes), self.tools.own_settings)
        self.modelling = Modelling(self.knowledge, clock)
        self.drafting = LiveEnvironment(self.seed, journal, self.knowledge, self.tools)
        self.user = UserAtWork()
        self.problems: list[str] = []
        self.divergence: ReplayDivergence | None = None
        self.version = 0
        self.notify: Callable[[], None] | None = None
        self.run: TurnRun | None = None
        self.answering: SessionAnswering | None = None
        self._task: asyncio.Task[None] | None = None
        self._agent: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._events: dict[int, list[Event]] = {}
        self._ground: Ground | None = None
        self._rules_at_rest: tuple[InjectionRule, ...] = ()
        self._last_model_call: ModelCall | None = None
        self._came_back_to = self._place() if journal.head != len(journal) - 1 else None
        self.user.came_back_to = self._came_back_to
        install(config.root_agent)
        self._watch = SessionWatch(self)
        # One for all turns, as making it takes time; each turn sets its own services.
        self._runner = Runner(
            app=guarded_app(config),
            app_name=config.app_name,
            session_service=WatchedSessions(),
            artifact_service=WatchedArtifacts(),
            memory_service=WatchedMemory(),
        )

    def _header_seed(self) -> str:
        return first.seed if (first := self.journal.fact(0)).kind == "session_opened" else ""

    # ------------------------------------------------------------ what turns and players need

    def now(self) -> float:
        """Return the time, in seconds since the epoch, to the millisecond."""
        return int(self._clock() * 1000 + 0.5) / 1000

    def after_opening(self) -> float:
        """Return the time, and in any case one after the session was opened: a setting of the same moment is one that it was opened with."""
        opened = self.journal.fact(0).at
        return max(self.now(), int(opened * 1000 + 1.5) / 1000)

    def knowledge_along(self, journal: Journal) -> LiveKnowledge:
        """Return what the environment knows along another journal of this session."""
        own = self.tools.own_settings
        return LiveKnowledge(journal, weakref.WeakMethod(self.tool_shapes), own).up_to_date()

    def tool_shapes(self) -> Mapping[str, ToolShape]:
        """Return the tools that the agent is known to have, by name."""
        shown = self.last_model_call()
        # A call that was confirmed before the process began comes without a model that was shown its tool.
        tools = shown.request.tools_dict if shown else self._tools_of_calls()
        return self.tools.known(tools, self.journal.fold.environment.declared)

    def brought(self, tool_name: str) -> str:
        """Return the digest of the declaration of a tool that only a tool set brings; empty for the agent's own."""
        self.tool_shapes()
        shape = self.tools.shown.get(tool_name)
        return shape.schema_digest if shape else ""

    def _tools_of_calls(self) -> Mapping[str, Any]:
        waiting = self.run.waiting.values() if self.run else ()
        return {each.name: each.call.tool for each in waiting if isinstance(each.call, ToolBoundaryCall)}

    def offer(self, waiting: WaitingRequest[Any]) -> Awaitable[Answered | None] | None:
        """Hand a request to its player; return the work of one who answers it where it is asked."""
        if self.answering is None or self.run is None:
            raise SimulationError("no turn is running")
        fold = self.journal.fold
        # Those in force when it is asked: a switch counts from the next call on.
        waiting.rules = fold.rules if self.run.caught_up.is_set() else self._rules_at_rest
        if proposed := fold.proposals.get(waiting.key):
            waiting.proposal, waiting.failure = proposed.responses, proposed.error
        if self._came_back_to is not None:
            waiting.came_back = waiting.proposal is None and self._came_back_to == self._place()
        return self.answering.offer(waiting, is_new=True)

    async def durable(self) -> None:
        """Wait until what was appended is kept, where the journal outlives this process."""
        if self.journal.outlives:
            await asyncio.to_thread(self.journal.keep)

    def changed(self) -> None:
        """Count a change, and wake those who wait for rest once it is there."""
        self.noticed()
        if self.run is None:
            look(self)
        if self.at_rest():
            self._news.set()

    def noticed(self) -> None:
        """Count a change that cannot be the one that others wait for."""
        self.version += 1
        if self.notify is not None:
            self.notify()

    def problem(self, text: str) -> None:
        """Keep a word for the person, once."""
        if text not in self.problems:
            self.problems.append(text)
            self.changed()

    # ------------------------------------------------------------ opening

    async def start_turn(self, fact: TurnStarted) -> None:
        """Record that the user spoke, and let the agent run."""
        if self.divergence is not None:
            raise SimulationError(f"{self.divergence.sentence()}; go back to a step before it first")
        self.journal.append(fact)
        self.problems[:] = left_out(self.config.agent)  # those of the turn before have been seen
        await self.open()

    async def open(self) -> None:
        """Bring ADK to where the journal's head is: the one way for the next turn, for resuming, undo and branch."""
        await self.close()
        self.divergence = None
        facts = self.journal.path()
        ground = self._ground or await self._restored(facts)
        self._ground = None if self.journal.fold.is_running else ground
        if self._ground is None:
            self._run_turn(facts, ground)
        self.user.is_open = True
        self.changed()

    async def _restored(self, facts: list[tuple[int, Fact]]) -> Ground:
        fold = self.journal.fold
        ended = [(number, fact) for number, fact in facts if isinstance(fact, TurnEnded)]
        return await restored(ended, fold.initial_state, fold.earlier, fold.place_in_adk(), self.events_of)

    async def move(self, number: int) -> None:
        """Go to another fact and execute the way there again; what is asked there, a person has first."""
        await self.close()
        self._ground = None
        self.problems.clear()
        self.journal.move_head(number)
        self._came_back_to = self.user.came_back_to = self._place()
        await self.open()

    def _place(self) -> tuple[int, int]:
        """Say how far the session is, in turns and in answers of the last one."""
        fold = self.journal.fold
        return fold.turns_so_far, fold.answers_in_turn

    def go_on(self, *, seat: str | None = None, target: str = EVERY) -> None:
        """Let those who sit there answer what a person came back to: all of it, or what is asked of one seat."""
        if seat is None:
            self._came_back_to = None
            let_speak(self)
        for waiting in list(self.run.waiting.values()) if self.run and self.answering else ():
            of = ("agent", waiting.agent) if isinstance(waiting.call, ModelCall) else ("tool", waiting.name)
            if waiting.came_back and (seat is None or (of[0] == seat and target in {EVERY, of[1]})):
                waiting.is_let_go()
                if self.answering is not None and not waiting.is_taken:
                    self.answering.offer(waiting)
        self.changed()

    def events_of(self, number: int, fact: TurnEnded) -> list[Event]:
        """Read a turn's events once; a session that is long would pay for it in every turn."""
        if number not in self._events:
            self._events[number] = [Event.model_validate(copied(event)) for event in fact.events]
        return self._events[number]

    def _run_turn(self, facts: list[tuple[int, Fact]], ground: Ground) -> None:
        started, recorded = turn_in_progress(facts)
        run = TurnRun(
            self,
            started,
            recorded,
            self.journal.fold.call_ids(),
            may_have_run(self.journal, facts),
            as_then=not recorded or is_as_answered(facts),
        )
        run.declared = tuple(map(PlayedTool, self.journal.fold.declared_tools))
        self.run = run
        pipeline = LivePipeline(self, self.drafting.within(run), self.modelling)
        self.answering = SessionAnswering(self, run, pipeline)
        self._rules_at_rest = rules_at_rest(facts) if recorded else ()
        loop = asyncio.get_running_loop()
        self._agent = loop.create_task(self._run_agent(run, started, ground))
        self._task = loop.create_task(self._drive(run, self._agent, ground))

    # ------------------------------------------------------------ driving

    async def _drive(self, run: TurnRun, agent: asyncio.Task[None], ground: Ground) -> None:
        replay = asyncio.create_task(run.replay.run()) if run.replay.keys else None
        agent.add_done_callback(run.replay.agent_ended)
        try:
            error = await self._both(run, agent, replay)
        except Diverged as diverged:
            self.divergence = diverged.divergence
            self.run = self.answering = None
            return
        except asyncio.CancelledError:
            if self.run is not run:  # the session is being closed
                raise
            error = written_error(RuntimeError("the agent's code cancelled the tasks of its process"))
        finally:
            await cancelled(agent, replay)
            self._agent = None  # its context holds the turn, and so this
            self.changed()
        self._end(run, ground, error)

    async def _both(
        self, run: TurnRun, agent: asyncio.Task[None], replay: asyncio.Task[None] | None
    ) -> RaisedError | None:
        """Wait for the agent, while the journal's answers are released; return the error that it ended with.

        Raises:
            Diverged: The agent asked for something else than the journal answers, or ended before it asked for all.
        """
        if replay is not None:
            await asyncio.wait({agent, replay}, return_when=asyncio.FIRST_COMPLETED)
            if not replay.done() and not run.abort.is_set():
                await asyncio.wait({replay})
        diverged = replay.exception() if replay is not None and replay.done() else None
        if diverged is None:
            diverged = await end_of(agent)
        if run.abort.is_set():
            return None
        if run.refused:
            return written_error(all_refused(run.refused))
        if isinstance(diverged, Diverged):
            raise diverged
        return None if diverged is None else written_error(diverged)

    async def _run_agent(self, run: TurnRun, started: TurnStarted, ground: Ground) -> None:
        CURRENT_TURN.set(run)
        WATCH.set(self._watch)
        platform_uuid.set_id_provider(run.new_id)
        platform_time.set_time_provider(run.time)
        set_random_provider(functools.cache(functools.partial(random_of, self.seed, run.number)))
        self._runner.session_service, self._runner.artifact_service = ground.sessions, ground.artifacts
        self._runner.memory_service = ground.memory
        running = self._runner.run_async(
            user_id=ground.where["user_id"],
            session_id=ground.where["session_id"],
            new_message=types.Content.model_validate(copied(started.message)),
            state_delta=copied(started.state_delta) or None,
            run_config=run_config(started),
            abort_signal=run.abort,
        )
        with self._watch.active():
            async with aclosing(running) as events:
                async for _ in events:
                    pass

    def give_up(self, run: TurnRun) -> None:
        """End a turn in which a tool was refused."""
        if run is self.run and self._agent is not None:
            self._agent.cancel()

    def _end(self, run: TurnRun, ground: Ground, error: RaisedError | None) -> None:
        state = ground.sessions.state_of(**ground.where)
        for name, value in state.items():
            if not survives_json(value):
                self.problem(
                    f"state {name!r} has a value that JSON cannot represent; it was converted to JSON"
                )
        self._last_model_call = run.last_model_call
        self.run = self.answering = None
        self.journal.append(
            TurnEnded.known(
                at=self.now(),
                turn=run.number,
                events=tuple(run.events),
                state=jsonable(state),
                artifacts=tuple(run.artifacts),
                memories=ground.memory.taken(),
                error=error,
                stopped=run.abort.is_set(),
            )
        )
        self.changed()

    def last_model_call(self) -> ModelCall | None:
        """Return the last call of a model in this activation."""
        return (
            self._last_model_call if self.run is None else self.run.last_model_call or self._last_model_call
        )

    # ------------------------------------------------------------ waiting and stopping

    def at_rest(self) -> bool:
        """Return whether nothing happens before a person does something."""
        if self.run is None or self._task is None or self._task.done():
            return not self.user.speaks
        return self.run.at_rest()

    async def rest(self, patience: float | None) -> bool:
        """Wait until nothing happens before a person does something; False if `patience` seconds were not enough."""
        try:
            async with asyncio.timeout(patience):
                while True:
                    while not self.at_rest():
                        self._news.clear()
                        await self._news.wait()
                    if self.run is not None:
                        await self.run.settling.settle()
                    if self.at_rest():  # else what was on its way meanwhile has ended it
                        return True
        except TimeoutError:
            return self.at_rest()

    async def stop(self) -> None:
        """End the turn in progress, or what the user's player is at; what has happened so far stays."""
        if await still(self):
            return
        run, task = self.run, self._task
        if run is None or task is None or task.done():
            raise SimulationError("no turn is running, so there is nothing to stop")
        run.abort.set()
        run.let_threads_go()
        await asyncio.wait({task}, timeout=_PATIENCE_WITH_STOP)
        if not task.done():
            await cancelled(self._agent)
            await asyncio.wait({task}, timeout=PATIENCE_WITH_CANCELLATION)
        if not task.done():
            raise SimulationError("the agent's code ignores cancellation, so the turn cannot be stopped")

    async def close(self) -> None:
        """Drop the turn in progress without a word in the journal; it can be resumed from there."""
        await self.user.close()
        task, agent, run = self._task, self._agent, self.run
        self._task = self._agent = self.run = self.answering = None
        if run is not None:
            run.is_over = True
            run.let_threads_go()
        await cancelled(task)
        await cancelled(agent)  # which the one before ends, but if it has not begun itself


class AgentBehind:
    """What stands behind one view of a session.

    Args:
        config: The configuration that the session was opened with.
        events: ADK's events of the turn in progress, in JSON, up to that view.
    """

    def __init__(self, config: SimulatedAgentConfig, events: tuple[JsonObject, ...]) -> None:
        self.agent_config = config
        self._events = events
        self._tools: list[BaseTool] | None = None

    def tools(self) -> list[BaseTool]:
        """Return the tools of the root agent, asked once; those of a tool set that cannot be reached are missing."""
        agent = self.agent_config.root_agent
        if self._tools is None and isinstance(agent, LlmAgent):
            # In a thread of its own: the caller may be on a loop.
            with ThreadPoolExecutor(1) as apart:
                context = contextvars.copy_context()
                self._tools = apart.submit(context.run, asyncio.run, agent.canonical_tools()).result()
        return list(self._tools or ())

    def adk_session(self, session: SimulationSession) -> Session:
        """Return ADK's session: the events of all turns, and the state after them."""
        ended = [event for turn in session.turns for event in turn.events]
        events = [Event.model_validate(copied(event)) for event in (*ended, *self._events)]
        return Session(
            id=session.session_id,
            app_name=session.app_name,
            user_id=session.user_id,
            state=copied(session.current_state),
            events=events,
            last_update_time=events[-1].timestamp if events else session.start_timestamp,
        )
