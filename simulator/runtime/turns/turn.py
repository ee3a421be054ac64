"""One turn in progress: takes requests from the boundaries and releases their answers in the journal's order; says which tools are real in it, and fails by name.

Everything that the agent asks comes here: of its models, its tools and its code executors, which `adk.boundaries` has
seated. Each request has a key, made of the turn, the place in the agent and a count, which is the same in every
execution. It waits (`WaitingRequest`) until it has an answer:

- The journal holds one: `TurnReplay` releases it when it is next, if it still fits what is asked.
- Else the session is asked for somebody who answers (`SessionPort.offer`). What they say is made a fact with the
  request's fingerprint, appended, and only then given to the agent.

Answers are released one at a time, each after everything that the one before set going has come to rest
(`Settling`). That order is what makes a re-execution give the same events, so it holds while a person plays as well.
An answer that is there at once, with nothing else having run since it was asked for, becomes a fact in that moment,
and is released in that moment again.

ADK's ids, times and chance come from the turn too. What happens inside of a real call does not happen again, so it
moves none of the counts: only its answer and its effects (`outcomes.watched`) are kept, and are repeated from the fact.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import contextvars
import uuid
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any, Protocol

from google.adk.events.event import Event
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.tools.base_tool import BaseTool

from simulator.base.json_values import JsonObject, canonical, copied, digest
from simulator.environment.recordings import NO_EFFECTS
from simulator.facts import (
    AgentRan,
    Answered,
    CodeAnswered,
    Fact,
    ModelAnswered,
    Outcome,
    Raised,
    RequestDigests,
    Returned,
    SavedArtifact,
    ToolAnswered,
    TurnStarted,
)
from simulator.journal import Journal
from simulator.runtime.adk.adk_private import Later, Run, going_on, is_graph_tool, runner_with
from simulator.runtime.adk.boundaries import CodeCall, GuardPlugin, ModelCall, ToolBoundaryCall
from simulator.runtime.adk.codec import (
    chained,
    event_json,
    give_own_ids,
    jsonable,
    made_error,
    request_parts,
    tool_value,
    with_ids,
    written_error,
)
from simulator.runtime.adk.event_loop import Settling, StudioLoop
from simulator.runtime.adk.tool_guards import UnchosenToolError, Watch
from simulator.runtime.adk.turn_context import CURRENT_TURN, INSIDE_REAL_CALL
from simulator.runtime.errors import Diverged
from simulator.runtime.turns.outcomes import (
    Firing,
    as_tools_give,
    cannot_answer,
    firing_of,
    is_set_for,
    repeated,
)
from simulator.runtime.turns.replay_release import TurnReplay
from simulator.runtime.turns.waiting_request import WaitingRequest


class SessionPort(Protocol):
    """A session as its turn and its players see it: its journal, whom it asks, and where facts and words go.

    Attributes:
        seed: Where the session's chance comes from.
        journal: Its facts.
        run: The turn in progress.
        append: Appends a fact to the journal and returns its number.
    """

    seed: str
    journal: Journal
    run: TurnRun | None
    append: Callable[[Fact], int]

    def brought(self, tool_name: str) -> str:
        """Return the digest of the declaration of a tool that only a tool set brings; empty for the agent's own."""
        ...

    def offer(self, waiting: WaitingRequest[Any]) -> Awaitable[Answered | None] | None:
        """Find somebody who answers a request; return the work of one who answers it where it is asked."""
        ...

    def give_up(self, run: TurnRun) -> None:
        """End a turn in which a tool was refused."""
        ...

    def now(self) -> float:
        """Return the time."""
        ...

    async def durable(self) -> None:
        """Wait until what was appended is kept, where the journal outlives this process."""
        ...

    def changed(self) -> None:
        """Say that there is something new to see."""
        ...

    def noticed(self) -> None:
        """Say so where nobody can be waiting for it."""
        ...

    def problem(self, text: str) -> None:
        """Keep a word for the person."""
        ...


class SessionWatch(Watch):
    """The watch of one session; made on the loop's thread, and asked from any.

    Args:
        session: The session, which is held weakly: tasks of its agent may outlive it.
    """

    def __init__(self, session: SessionPort) -> None:
        super().__init__()
        self._session, self._loop = weakref.ref(session), asyncio.get_running_loop()

    def chose(self, tool: BaseTool) -> bool:
        """Return whether a tool's player is the real tool."""
        session = self._session()
        return session is not None and session.journal.fold.seats.of_tool(tool.name) == "real"

    def refused(self, error: UnchosenToolError) -> None:
        """Fail the turn in progress, or say so where it has ended."""
        session, turn = self._session(), CURRENT_TURN.get()
        if session is None:
            return
        run = session.run
        if run is not None and turn in {run, None}:  # None in a thread of the agent
            run.refused.append(error)
        else:
            run = None
        self._loop.call_soon_threadsafe(_tell, self._session, run, str(error))

    def told(self, text: str) -> None:
        """Tell the person something."""
        self._loop.call_soon_threadsafe(_tell, self._session, None, text)

    def within(self, runner: Runner, run_async: Run, given: dict[str, Any]) -> AsyncGenerator[Event, None]:
        """Return the events of a runner that the agent's code runs; its agents and tools are seated where the turn can be asked."""
        turn = CURRENT_TURN.get()
        if turn is None or INSIDE_REAL_CALL.get() or asyncio.get_running_loop() is not turn.loop:
            return going_on(runner, run_async, given)
        return going_on(runner_with(runner, GuardPlugin()), run_async, given)


def _tell(held: weakref.ref[SessionPort], run: TurnRun | None, text: str) -> None:
    if (session := held()) is not None:
        session.problem(text)
        if run is not None:
            session.give_up(run)


_SECOND = 1_000_000

# A model and tools that never wait must not keep everyone else from the loop for longer than so many seconds.
LONGEST_BREATH = 0.1


def asked_at(key: str, parts: dict[str, str], arguments: JsonObject) -> str:
    """Name a request by its key and by what is asked: after an undo another one may have the same key."""
    return f"{key} {canonical([parts, arguments])}"


class TurnRun:
    """The turn in progress; lives on the loop's thread.

    `recorded` are the answers that the journal holds for this turn, in order; they are released first. `as_then` says
    that no seat and no rule was changed since the last of them.
    `declared` are the tools that join the agent; `refused` says which tools did not run as nobody chose them to be real, which fails the turn; `may_have_run` are the keys of real calls that may have run before, or what `asked_at` gives for them.
    """

    def __init__(
        self,
        session: SessionPort,
        started: TurnStarted,
        recorded: Sequence[tuple[int, Answered]],
        used_ids: set[str],
        may_have_run: frozenset[str] = frozenset(),
        *,
        as_then: bool = True,
    ) -> None:
        self.session, self.number = session, started.turn
        self.used_ids, self.may_have_run = used_ids, may_have_run
        self.loop: StudioLoop = asyncio.get_running_loop()  # type: ignore[assignment] # LoopThread runs no other loop
        self.settling, self._breathed = Settling(self.loop), self.loop.time()
        self.waiting: dict[str, WaitingRequest[Any]] = {}
        self.events: list[JsonObject] = []
        self.artifacts: list[SavedArtifact] = []
        self.chain, self._digests = "", RequestDigests(parts={}, chain="")
        self.abort = asyncio.Event()
        self.is_over = False
        self.declared: tuple[BaseTool, ...] = ()
        self.refused: list[UnchosenToolError] = []
        self.caught_up = asyncio.Event()
        self.last_model_call: ModelCall | None = None
        self.replay = TurnReplay(self, recorded, as_then=as_then)
        self._thread_answers: list[Any] = []
        self._ordinals: collections.Counter[str] = collections.Counter()
        self._real_ids: collections.Counter[str] = collections.Counter()
        self._effects: set[str] = set()
        self._releasing = asyncio.Lock()
        self._microseconds, self._ticks, self._ids = int(started.at * _SECOND + 0.5), 0, 0
        # Half of the id is this turn's own, the other half counts: no two turns of a session share one.
        own = digest(session.seed, str(started.turn))
        self._id_begins = f"{own[:8]}-{own[8:12]}-{own[12:]}-0000-"
        if not recorded:
            self.caught_up.set()

    # ------------------------------------------------------------ what ADK's ids and times come from

    def new_id(self) -> str:
        """Return ADK's next id: the same one in every execution of this turn."""
        self.settling.activity += 1
        if inside := INSIDE_REAL_CALL.get():
            # What happens in there does not happen again, so it must not move the count of what does.
            self._real_ids[inside.key] += 1
            numbered = f"{inside.key}/{self._real_ids[inside.key]}"
            return str(
                uuid.UUID(hex=digest(self.session.seed, numbered) + digest(numbered, self.session.seed))
            )
        self._ids += 1
        return f"{self._id_begins}{self._ids:012x}"

    def time(self) -> float:
        """Return ADK's time: that of the last fact, and a microsecond more each time it is asked."""
        self.settling.activity += 1
        if not INSIDE_REAL_CALL.get():
            self._ticks += 1
        return (self._microseconds + self._ticks) / _SECOND

    # ------------------------------------------------------------ what the seated objects ask

    async def ask_model(self, call: ModelCall) -> list[LlmResponse]:
        """Ask the agent's seat for its turn; return its responses or raise its error."""
        self.last_model_call = call
        base = f"{self.number}/{call.scope}/{call.place}|{call.agent}"
        if isinstance(call.request.contents, Later):
            self.replay.show(call.request, f"{base}#{self._ordinals[base]}")
        waiting, fact = await self._ask_waiting(
            base, call, call.agent, call.agent, request_parts(call.request)
        )
        if not isinstance(fact, ModelAnswered):
            raise Diverged(-1, fact.key, ["kind"])
        if fact.error:
            raise made_error(fact.error)
        if waiting.spoken is not None and fact.provenance.source == "model":
            return [with_ids(waiting.spoken, fact.responses[0])]
        # ADK changes the response that it is given, so each gets a fresh one.
        return [LlmResponse.model_validate(copied(response)) for response in fact.responses]

    async def ask_tool(self, call: ToolBoundaryCall) -> Any:
        """Ask the environment for a tool's answer; return it as ADK takes it, or raise it."""
        waiting, fact = await self._ask_about(call)
        return await self._given(waiting, fact, call.context)

    async def _ask_about(
        self, call: ToolBoundaryCall, own: tuple[Outcome, Firing] | None = None
    ) -> tuple[WaitingRequest[Any], Answered]:
        context = call.context
        return await self._ask_waiting(
            self._base_of(call),
            call,
            context.agent_name,
            call.tool.name,
            {},
            arguments=jsonable(call.arguments),
            tool=call.tool,
            context=context,
            branch=context.branch or "",
            runs_agent=call.runs_agent,
            has_no_code=not call.has_code,
            own=own,
        )

    def _base_of(self, call: ToolBoundaryCall) -> str:
        context = call.context
        where = f"node:{context.node_path}" if is_graph_tool(context) else str(context.function_call_id)
        return f"{self.number}/{call.scope}/{where}"

    async def ask_agent_tool(self, call: ToolBoundaryCall, runs: Callable[[], Awaitable[Any]]) -> Any:
        """Let the agent of a tool run, unless a rule or a player that is set for the tool answers in its place."""
        if not self._is_played(call):
            return await runs()
        waiting, fact = await self._ask_about(call)
        if not isinstance(fact, AgentRan):
            return await self._given(waiting, fact, call.context)
        firing = firing_of(self.session.journal.path(), fact, self.session.seed)
        if not firing.has_a_say:
            return await runs()
        try:
            own: Outcome = Returned(value=tool_value(await runs()))
        except Exception as error:  # noqa: BLE001 - an agent may raise anything; the rules see it too
            own = Raised(error=written_error(error))
        return await self._given(*await self._ask_about(call, (own, firing)), call.context)

    def _is_played(self, call: ToolBoundaryCall) -> bool:
        """Return whether a call of an agent tool is a request: as the journal has it, or else as rules and players are set."""
        base = self._base_of(call)
        keys = self.replay.keys
        if f"{base}#{self._ordinals[base]}" in keys:
            return True
        inside = f"{self.number}/{call.scope}>{call.context.function_call_id}/"
        if any(key.startswith(inside) for key in keys):
            return False
        path = self.session.journal.path()
        return call.has_own_code or is_set_for(path, call.tool.name, self.replay.released)

    async def _given(self, waiting: WaitingRequest[Any], fact: Answered, context: Any) -> Any:
        if not isinstance(fact, ToolAnswered):
            raise Diverged(-1, fact.key, ["kind"])
        if not waiting.effects_done and fact.effects != NO_EFFECTS:
            await repeated(fact.effects, context)
        return as_tools_give(fact.outcome)

    async def ask_code(self, call: CodeCall) -> JsonObject:
        """Ask the environment what code prints."""
        base = f"{self.number}/{call.scope}/{call.branch}|code:{call.agent}"
        _, fact = await self._ask_waiting(base, call, call.agent, "code", {"code": digest(call.code)})
        if not isinstance(fact, CodeAnswered):
            raise Diverged(-1, fact.key, ["kind"])
        if fact.error:
            raise made_error(fact.error)
        return dict(copied(fact.result or {}))

    async def _ask_waiting(
        self,
        base: str,
        call: Any,
        agent: str,
        name: str,
        parts: dict[str, str],
        **of_tool: Any,
    ) -> tuple[WaitingRequest[Any], Answered]:
        if self.is_over:
            raise asyncio.CancelledError
        waiting = self._new_waiting(base, call, agent, name, parts=parts, **of_tool)
        key = waiting.key
        is_recorded = key in self.replay.keys
        if is_recorded and (known := self.replay.at_once(waiting)):
            return waiting, known
        self.waiting[key] = waiting
        if not self.replay.is_done:
            self.replay.asked.set()
        try:
            answering = None if is_recorded else self.session.offer(waiting)
            fact = None if answering is None else await answering
            if fact is None:
                fact = await waiting.future
        finally:
            self.waiting.pop(key, None)
            waiting.shown = None  # it leads back here
            # A job that has answered is about to see to it that everything has settled: only one that is not
            # wanted any more is cancelled.
            if waiting.job and (waiting.future.cancelled() or not waiting.future.done()):
                waiting.job.cancel()
            if waiting.drafting:
                waiting.drafting.cancel()
        return waiting, fact

    def _new_waiting(
        self,
        base: str,
        call: Any,
        agent: str,
        name: str,
        *,
        parts: dict[str, str],
        arguments: JsonObject | None = None,
        **of_tool: Any,
    ) -> WaitingRequest[Any]:
        self.settling.activity += 1
        key, arguments = f"{base}#{self._ordinals[base]}", arguments or {}
        self._ordinals[base] += 1
        return WaitingRequest(
            key=key,
            call=call,
            agent=agent,
            name=name,
            parts=parts,
            future=self.loop.create_future(),
            around=contextvars.copy_context(),
            number=1,
            started=self.loop.time(),
            asked=self.loop.scheduled,
            arguments=arguments,
            may_have_run=bool(self.may_have_run)
            and not self.may_have_run.isdisjoint({key, asked_at(key, parts, arguments)}),
            **of_tool,
        )

    def answered_calls(self) -> tuple[ToolAnswered, ...]:
        """Return the tool calls that were answered in the session so far, in order."""
        return tuple(fact for _, fact in self.session.journal.path() if isinstance(fact, ToolAnswered))

    # ------------------------------------------------------------ what the seated objects tell

    def note_event(self, event: Event) -> None:
        """Take down an event as ADK appends it: later its state delta would be another."""
        self.settling.activity += 1
        written = event_json(event)
        self.events.append(written)
        if event.id in self._effects:
            return  # it stands in the fact of the tool that sent it, so that fact cannot follow from it
        self.chain = chained(self.chain, written)
        self.session.noticed()

    def note_effect(self, event: Event) -> None:
        """Take down that an event is an effect of a tool's call, before ADK appends it."""
        self._effects.add(event.id)

    def note_artifact(self, artifact: SavedArtifact) -> None:
        """Take down an artifact."""
        self.artifacts.append(artifact)

    def note_steering(self, tool_name: str) -> None:
        """Tell the person why the rules that name such a tool do not fire."""
        for rule in self.session.journal.fold.rules:
            if rule.tool_name == tool_name:
                self.session.problem(cannot_answer(rule.rule_id, tool_name))

    def note_problem(self, text: str) -> None:
        """Tell the person something."""
        self.session.problem(text)

    def changed(self) -> None:
        """Say that there is something new to see."""
        self.session.changed()

    def note_waiting_thread(self, answer: Any) -> None:
        """Code in a worker thread waits for an answer: nothing will come from it until then."""

        def forget() -> None:
            self.settling.in_threads.clear()

        self.loop.call_soon_threadsafe(forget)
        self._thread_answers.append(answer)

    def let_threads_go(self) -> None:
        """Free worker threads that wait for an answer which will never come."""
        for answer in self._thread_answers:
            answer.cancel()

    # ------------------------------------------------------------ releasing

    def unanswered(self, key: str) -> WaitingRequest[Any] | None:
        """Return the open request with this key."""
        waiting = self.waiting.get(key)
        return None if waiting is None or waiting.future.done() else waiting

    def at_rest(self) -> bool:
        """Return whether nothing will happen before a person answers."""
        if not self.replay.is_done or self._releasing.locked():
            return False
        asks = False
        for waiting in self.waiting.values():
            if not waiting.future.done():
                if not waiting.for_person:
                    return False
                asks = True
        return asks

    async def release(self, waiting: WaitingRequest[Any], kind: type[Answered], **fields: Any) -> bool:
        """Record an answer and let the agent have it; False if it has been answered in the meantime.

        Args:
            waiting: The request.
            kind: What fact the answer is.
            fields: The fields of it that are no other answer's, and its provenance.
        """
        if not self.caught_up.is_set():
            await self.caught_up.wait()
        async with self._releasing:
            await self.settling.settle()
            if waiting.future.done() or self.waiting.get(waiting.key) is not waiting:
                return False
            self._breathed = self.loop.time()
            self._record(waiting, kind, fields)
            await self.settling.settle()
        self.session.changed()
        return True

    async def release_here(
        self, waiting: WaitingRequest[Any], kind: type[Answered], **fields: Any
    ) -> Answered:
        """Record an answer, as `release`, in the task that asked, which goes on with it."""
        # A task that waits is woken by a callback that is scheduled: without one, nothing else has run.
        nothing_ran = self.loop.scheduled == waiting.asked
        if nothing_ran and self.loop.time() - self._breathed < LONGEST_BREATH:
            fact = self._record(waiting, kind, fields, at_once=True)
        else:
            async with self._releasing:
                await self.settling.settle()
                self._breathed = self.loop.time()
                fact = self._record(waiting, kind, fields)
        self.session.changed()
        return fact

    def _record(
        self,
        waiting: WaitingRequest[Any],
        kind: type[Answered],
        fields: dict[str, Any],
        *,
        at_once: bool = False,
    ) -> Answered:
        """Make an answer the fact that it is now, and give it to the agent; `at_once` says that nothing has run since it was asked for."""
        if self.is_over:  # code that swallowed its cancellation has answered: that is no fact any more
            raise asyncio.CancelledError
        if kind is ModelAnswered:
            give_own_ids(fields["responses"], self.used_ids, self.session.seed, waiting.key)
        if waiting.parts or self._digests.parts or self._digests.chain != self.chain:
            # Calls that were made at once share them.
            self._digests = RequestDigests.known(parts=waiting.parts, chain=self.chain)
        fact = kind.known(
            at=self.session.now(),
            turn=self.number,
            key=waiting.key,
            agent=waiting.agent,
            digests=self._digests,
            elapsed_ms=int((self.loop.time() - waiting.started) * 1_000_000 + 0.5) / 1000,
            at_once=at_once,
            **fields,
        )
        self.session.append(fact)
        self.passed(fact)
        waiting.future.set_result(fact)
        return fact

    @contextlib.asynccontextmanager
    async def its_turn(self) -> Any:
        """Hold back all other answers, once everything has settled: what is decided in here has its place in the order."""
        if not self.caught_up.is_set():
            await self.caught_up.wait()
        async with self._releasing:
            await self.settling.settle()
            yield

    def passed(self, fact: Answered) -> None:
        """Note that an answer is one: its time is the turn's."""
        self.settling.activity += 1
        at = int(fact.at * _SECOND + 0.5)
        self._microseconds = max(self._microseconds, at)
