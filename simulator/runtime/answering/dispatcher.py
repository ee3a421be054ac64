"""Finds who answers a request, and makes the answer a fact.

A request of a turn comes to `offer` when it is new, and again when a seat was swapped. For a tool call the
rules and the generators are `answering.pipeline`'s; this module is about who else there is, when, and what becomes of
the answer:

- The agent's own model and a real tool, with no rule for it, answer in the task that asks, as without us.
- All others work in a task of their own, where everything is real (`start`): a seat that is swapped meanwhile counts.
- Real calls of a session run one at a time, after a word in the journal that is durable (`CallStarted`): after a
  crash nobody runs a tool twice without knowing. What waits for another real call can be taken back.
- Offline drafts are made one after the other, so that each knows of the ones before.
- Whatever goes wrong on the way, a person gets the request, with a word on what went wrong.
- A person who came back to a request by undo has it first; `would_answer` says who would otherwise.

`release_tool`, `release_model` and `release_code` end each way: the rules that fired change the answer, and the turn
makes it a fact with its effects and its provenance, and lets the agent have it. A person's answer comes in by
the same three.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import asdict
from typing import Any

from simulator.base.json_values import JsonObject, copied
from simulator.base.secret_masking import error_words
from simulator.environment.injection.rules import EVERY_TOOL, InjectionRule
from simulator.environment.recordings import NO_EFFECTS
from simulator.facts import (
    AgentRan,
    Answered,
    CallStarted,
    CodeAnswered,
    ModelAnswered,
    ModelProposed,
    Outcome,
    Provenance,
    RaisedError,
    ToolAnswered,
    ToolEffects,
)
from simulator.runtime.adk.boundaries import CodeCall, ModelCall, ToolBoundaryCall
from simulator.runtime.adk.codec import jsonable, response_json, written_error
from simulator.runtime.adk.turn_context import INSIDE_REAL_CALL, RealCall
from simulator.runtime.answering.pipeline import GENERATORS, AuthoredAnswer, LivePipeline, refused
from simulator.runtime.errors import ends_the_work
from simulator.runtime.turns.outcomes import Firing, of_one, watched
from simulator.runtime.turns.turn import SessionPort, TurnRun
from simulator.runtime.turns.waiting_request import WaitingRequest
from simulator.session.adk_event_fields import calls_in

_PARKED_SECONDS = 2.0
"""How long a real tool waits for other code, twice, before the calls behind it are named."""


class SessionAnswering:
    """Offers each request of a turn to its player.

    Args:
        session: The session.
        run: The turn.
        pipeline: Answers tool calls by rules and generators.
    """

    def __init__(self, session: SessionPort, run: TurnRun, pipeline: LivePipeline) -> None:
        self._session, self._run, self.pipeline = session, run, pipeline
        self._one_real_call, self._one_draft = asyncio.Lock(), asyncio.Lock()
        self.real_call: WaitingRequest[Any] | None = None
        """The real call that runs right now, if any."""
        self._behind = 0
        self._watch: asyncio.Task[None] | None = None

    # ------------------------------------------------------------ who answers

    def _needs_judging(self, waiting: WaitingRequest[Any]) -> bool:
        """Return whether there are rules that may answer a request."""
        if waiting.judged or not isinstance(waiting.call, ToolBoundaryCall):
            return False
        if waiting.own is not None:
            return True
        rules = waiting.rules
        waiting.judged = not rules or all(rule.tool_name not in {waiting.name, EVERY_TOOL} for rule in rules)
        return not waiting.judged

    def offer(
        self, waiting: WaitingRequest[Any], *, is_new: bool = False
    ) -> Awaitable[Answered | None] | None:
        """Find somebody for a request that is new, that waits, or whose seat was swapped.

        The agent's own model and a real tool answer a new one in the task that asks, as without us: that work is given back.
        """
        player = self._player(waiting)
        if waiting.is_taken or (waiting.is_queued and player == "real"):
            return None
        if waiting.is_queued and waiting.job is not None:  # a real call that has not begun is taken back
            waiting.job.cancel()
            waiting.job, waiting.is_queued = None, False
        waiting.gave_up = ""
        if not self._needs_judging(waiting):
            if player == "person":
                self._to_person(waiting)
                self._session.changed()
                return None
            if is_new and self._run.caught_up.is_set():
                if player == "model" and isinstance(waiting.call, ModelCall):
                    return self._here(waiting, self._model_answers_here)
                is_next = not (self._one_real_call.locked() or waiting.runs_agent)
                if player == "real" and is_next and isinstance(waiting.call, ToolBoundaryCall):
                    return self._here(waiting, self._tool_answers_here)
        waiting.for_person = False
        self.start(waiting, self._answer(waiting))
        return None

    def start(self, waiting: WaitingRequest[Any], work: Coroutine[Any, Any, None]) -> None:
        """Let a task find the answer: where the request was asked, but everything in it is real.

        So nothing in it is answered by a seat, and its timers are not the agent's.
        """
        context = waiting.around.copy()
        context.run(INSIDE_REAL_CALL.set, RealCall(waiting.key))
        loop = asyncio.get_running_loop()
        waiting.job = loop.create_task(self._to_its_end(waiting, work), context=context)

    async def _to_its_end(self, waiting: WaitingRequest[Any], work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except BaseException as error:
            if ends_the_work(error):
                raise
            self._leave_to_person(waiting, error)
        finally:
            if waiting.job is asyncio.current_task():  # else somebody else has taken it over
                waiting.job = None
                waiting.running = False
            self._session.changed()

    def _leave_to_person(self, waiting: WaitingRequest[Any], error: BaseException) -> None:
        """Let a person answer what could not be answered, whatever went wrong."""
        words = error_words(error)
        self._session.problem(f"{waiting.name}: {words}")
        waiting.fails(words)
        waiting.wants_person()

    async def _here(
        self, waiting: WaitingRequest[Any], work: Callable[[WaitingRequest[Any]], Awaitable[Answered | None]]
    ) -> Answered | None:
        """Answer in the task that asks."""
        waiting.here = True
        try:
            return await work(waiting)
        except BaseException as error:
            if ends_the_work(error):
                raise
            self._leave_to_person(waiting, error)
            self._session.changed()
            return None
        finally:
            waiting.here = waiting.running = False

    def _player(self, waiting: WaitingRequest[Any]) -> str:
        if waiting.may_have_run or waiting.came_back:
            return "person"
        return self._seated(waiting)

    def _seated(self, waiting: WaitingRequest[Any]) -> str:
        seats = self._session.journal.fold.seats
        if isinstance(waiting.call, ModelCall):
            return seats.of_agent(waiting.agent)
        if waiting.runs_agent and not waiting.call.has_own_code:
            return seats.tools.get(waiting.name, "real")
        player = seats.of_tool(waiting.name)
        if player == "real" and waiting.has_no_code:
            return "person"
        # Nothing here can say what code would print.
        return "person" if isinstance(waiting.call, CodeCall) and player in GENERATORS else player

    async def _answer(self, waiting: WaitingRequest[Any]) -> None:
        if not self._run.caught_up.is_set():
            await self._run.caught_up.wait()
        if isinstance(waiting.call, ToolBoundaryCall):
            if waiting.own is not None:
                await self._tell_own(waiting, *waiting.own)
                return
            if await self._injected(waiting):
                return
        match player := self._player(waiting):
            case "model" if isinstance(waiting.call, ModelCall):
                await self.ask_own_model(waiting, hold=False)
            case "held":
                await self.ask_own_model(waiting, hold=True)
            case "real":
                await self.run_real(waiting, as_seated=True)
            case "refuse":
                await self._refuse(waiting)
            case "offline" | "model" | "recorded" | "auto":
                await self._generate(waiting, player)
            case _:
                self._to_person(waiting)

    def _to_person(self, waiting: WaitingRequest[Any]) -> None:
        seated = self._seated(waiting) if waiting.came_back else "person"
        waiting.would_answer = "" if seated == "person" else seated
        if waiting.has_no_code and self._session.journal.fold.seats.of_tool(waiting.name) == "real":
            waiting.fails(f"{waiting.name} has no code, so the real tool cannot respond")
        waiting.wants_person()

    # ------------------------------------------------------------ injections

    async def _injected(self, waiting: WaitingRequest[ToolBoundaryCall]) -> bool:
        """Let the rules speak, once for each call; True if they have answered, or left it to a person."""
        if waiting.judged:
            return False
        async with self._run.its_turn():
            self.pipeline.environment.judge(waiting)
        rule = waiting.firing.rule
        if waiting.came_back:  # a person has the call first, at once
            if rule is not None:
                waiting.would_answer = rule.rule_id
                waiting.wants_person()
            return rule is not None
        waiting.latency = waiting.firing.latency()
        made = await self.pipeline.by_rule(waiting)
        if made is not None:
            await self._release_made(waiting, made)
        elif rule is not None and rule.effect.kind == "ask":
            waiting.note = rule.effect.note or f"Rule {rule.rule_id} asks you to answer this call."
            waiting.wants_person()
        return rule is not None

    def inject(
        self,
        waiting: WaitingRequest[ToolBoundaryCall],
        rule: InjectionRule,
        given: Outcome | None,
        effects: ToolEffects,
    ) -> None:
        """Let one rule, which a person has chosen for this call alone, answer it, or change or delay what is `given`."""
        waiting.for_person = False
        self.start(waiting, self._by_one(waiting, rule, given, effects))

    async def _by_one(
        self,
        waiting: WaitingRequest[ToolBoundaryCall],
        rule: InjectionRule,
        given: Outcome | None,
        effects: ToolEffects,
    ) -> None:
        judged, environment = waiting.firing, self.pipeline.environment
        seed = f"{environment.seed}/{waiting.key}"
        waiting.firing = of_one(rule, seed, {"tool": waiting.name, "agent": waiting.agent})
        notes: tuple[str, ...] = ()
        try:
            made = await self.pipeline.by_rule(waiting)
            outcome = given if made is None else made.outcome
            if outcome is None:
                raise ValueError(f"{rule.rule_id} changes a response, and there is none")
            if waiting.firing.has_a_say:
                outcome, _, notes = environment.told(waiting, outcome)
        finally:
            waiting.firing = judged
        # Nobody but the person is named: so it is their step, and no rule of the session's.
        await self._release_made(
            waiting,
            AuthoredAnswer(
                outcome,
                "injected",
                None,
                (rule.label or rule.rule_id, *notes),
                effects=effects if made is None else NO_EFFECTS,
            ),
        )

    # ------------------------------------------------------------ the agent's own model

    async def ask_own_model(self, waiting: WaitingRequest[ModelCall], *, hold: bool) -> None:
        """Let the agent's model make the turn; hold it for a person if asked to, or if it raises while held."""
        if waiting.proposal is None:
            responses, error = await self._model_speaks(waiting)
            if hold and not waiting.future.done():
                proposed = ModelProposed(
                    at=self._session.now(),
                    turn=self._run.number,
                    key=waiting.key,
                    responses=responses,
                    error=error,
                )
                self._session.append(proposed)
            waiting.proposal, waiting.failure = (responses, error) if hold else (None, None)
        else:
            responses, error = waiting.proposal, waiting.failure
        if hold:
            waiting.wants_person()
            return
        await self.release_model(
            waiting, responses, waiting.firing.provenance("model", waiting.call.model.model), error
        )

    async def _model_speaks(
        self, waiting: WaitingRequest[ModelCall]
    ) -> tuple[tuple[JsonObject, ...], RaisedError | None]:
        responses: list[JsonObject] = []

        error: RaisedError | None = None
        waiting.running, waiting.since = True, self._session.now()
        self._session.changed()
        try:
            async with aclosing(waiting.call.real()) as stream:
                async for response in stream:
                    given, is_same = response_json(response)
                    responses.append(given)
                    is_first = len(responses) == 1 and is_same
                    waiting.spoken = response if is_first else None  # else ADK is given what is a fact
                    if given.get("partial"):
                        content: Any = given.get("content") or {}
                        parts = content.get("parts") or ()
                        waiting.running_text += "".join(part.get("text") or "" for part in parts)
                        self._session.changed()
        except BaseException as raised:
            if ends_the_work(raised):
                raise
            error = written_error(raised)
        waiting.running = False
        return tuple(responses), error

    # ------------------------------------------------------------ the real thing

    async def run_real(self, waiting: WaitingRequest[Any], *, as_seated: bool = False) -> None:
        """Run the real tool or the real code; one at a time in a session, after a word in the journal.

        Args:
            waiting: The request.
            as_seated: It runs because of who sits there: until it begins, it goes along when the seat is swapped.
        """
        if not self._run.caught_up.is_set():
            await self._run.caught_up.wait()
        if waiting.runs_agent:
            await self._let_agent_run(waiting, as_seated=as_seated)
            return
        waiting.is_queued = as_seated
        await self._wait_in_line(waiting)
        waiting.is_queued, self.real_call = False, waiting
        try:
            if waiting.future.done():
                return
            await self._note_start(waiting)
            if isinstance(waiting.call, CodeCall):
                await self._run_code(waiting)
            else:
                await self._run_tool(waiting)
        finally:
            self.real_call = None
            self._one_real_call.release()

    async def _wait_in_line(self, waiting: WaitingRequest[Any]) -> None:
        """Wait until no other real call runs; say meanwhile what is waited for, and let one task watch for all that wait."""
        if not self._one_real_call.locked():
            await self._one_real_call.acquire()
            return
        waiting.is_behind, waiting.since = True, self._session.now()
        self._behind += 1
        self._session.changed()
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._watch_the_line())
        try:
            await self._one_real_call.acquire()
        finally:
            waiting.is_behind = False
            self._behind -= 1
            if not self._behind and self._watch is not None:
                self._watch.cancel()
                self._watch = None

    async def _watch_the_line(self) -> None:
        """Name the calls that may wait for each other: one that runs and waits for what other code has to do, and those behind it."""
        parked: WaitingRequest[Any] | None = None
        while True:
            await asyncio.sleep(_PARKED_SECONDS)
            now = self.real_call
            if now is None or now.steps is None or not now.steps.waits_for_other_code():
                parked = None
            elif now is parked:
                break
            else:
                parked = now
        behind = ", ".join(each.name for each in self._run.waiting.values() if each.is_behind)
        self._session.problem(
            f"{parked.name} is waiting for an event, a lock or a queue. {behind} cannot start until {parked.name} ends, because "
            "real tools run one at a time. If they wait for each other, stop the turn and answer one of them yourself."
        )

    async def _let_agent_run(self, waiting: WaitingRequest[ToolBoundaryCall], *, as_seated: bool) -> None:
        """Let the agent of a tool answer: it runs where the tool was asked, and its own seats answer what it asks."""
        by = "agent" if as_seated else None
        provenance = waiting.firing.provenance("real", by)
        await self._run.release(waiting, AgentRan, **self._asked(waiting), provenance=provenance)

    @staticmethod
    def _asked(waiting: WaitingRequest[ToolBoundaryCall]) -> dict[str, Any]:
        """Return the fields of a fact that say which tool call it answers."""
        return {
            "call_id": str(waiting.call.context.function_call_id or waiting.key),
            "tool_name": waiting.name,
            "arguments": waiting.arguments,
            "scope": waiting.call.scope,
        }

    async def _tell_own(
        self, waiting: WaitingRequest[ToolBoundaryCall], own: Outcome, firing: Firing
    ) -> None:
        """Hand on what the agent of a tool answered, changed as the rules say that fired when it began."""
        waiting.judged, waiting.firing = True, firing
        outcome, beneath, notes = self.pipeline.environment.told(waiting, own)
        provenance = Provenance(source="real", notes=notes)
        answer = self._answered(waiting, outcome, NO_EFFECTS, provenance, beneath)
        await self._run.release(waiting, ToolAnswered, **answer)

    async def _note_start(self, waiting: WaitingRequest[Any]) -> None:
        started = CallStarted.known(
            at=self._session.now(), turn=self._run.number, key=waiting.key, name=waiting.name
        )
        self._session.append(started)
        waiting.running, waiting.may_have_run, waiting.since = True, False, started.at
        waiting.running_by, waiting.delay = "", 0
        waiting.started = self._run.loop.time() - waiting.latency
        self._session.noticed()
        await self._session.durable()

    async def _tool_answers_here(self, waiting: WaitingRequest[ToolBoundaryCall]) -> Answered:
        await (
            self._one_real_call.acquire()
        )  # an `async with` takes twice as long, on the way of every real call
        self.real_call = waiting
        try:
            await self._note_start(waiting)
            outcome, effects = await self._watched(waiting)
            waiting.effects_done = True
            answer = self._answered(waiting, outcome, effects, waiting.firing.provenance("real"))
            return await self._run.release_here(waiting, ToolAnswered, **answer)
        finally:
            self.real_call = None
            self._one_real_call.release()

    async def _model_answers_here(self, waiting: WaitingRequest[ModelCall]) -> Answered:
        inside = INSIDE_REAL_CALL.set(RealCall(waiting.key))
        try:
            responses, error = await self._model_speaks(waiting)
        finally:
            INSIDE_REAL_CALL.reset(inside)
        provenance = waiting.firing.provenance("model", waiting.call.model.model)
        return await self._run.release_here(
            waiting, ModelAnswered, responses=responses, error=error, provenance=provenance
        )

    async def _run_tool(self, waiting: WaitingRequest[ToolBoundaryCall]) -> None:
        outcome, effects = await self._watched(waiting)
        waiting.effects_done = True
        await self.release_tool(waiting, outcome, effects, waiting.firing.provenance("real"))

    def _watched(self, waiting: WaitingRequest[ToolBoundaryCall]) -> Awaitable[tuple[Outcome, ToolEffects]]:
        return watched(
            waiting.key,
            waiting.call.real,
            waiting.call.context,
            self._session.problem,
            waiting.note_traceback,
            note_steps=waiting.note_steps,
        )

    async def _run_code(self, waiting: WaitingRequest[CodeCall]) -> None:
        result: JsonObject | None = None
        error: RaisedError | None = None
        try:
            result = jsonable(asdict(await asyncio.to_thread(waiting.call.real)))
        except BaseException as raised:
            if ends_the_work(raised):
                raise
            error = written_error(raised)
        await self.release_code(waiting, result, waiting.firing.provenance("real"), error)

    # ------------------------------------------------------------ generators

    async def _generate(self, waiting: WaitingRequest[ToolBoundaryCall], player: str) -> None:
        """Let a generator answer, or a person where it says that one has to look."""
        if self.pipeline.asks_a_model(player):
            await self._generated(waiting, player)
            return
        # One after the other: a draft agrees with the answers before it, and gives no new thing the id of another.
        async with self._one_draft:
            await self._generated(waiting, player)

    async def _generated(self, waiting: WaitingRequest[ToolBoundaryCall], player: str) -> None:
        made = await self.pipeline.played(waiting, player)
        if made is None:
            waiting.wants_person()
        else:
            await self._release_made(waiting, made)

    # ------------------------------------------------------------ answers become facts

    async def _refuse(self, waiting: WaitingRequest[Any]) -> None:
        message = f"{waiting.name} is not available in this simulation"
        if isinstance(waiting.call, CodeCall):
            provenance = waiting.firing.provenance("refused")
            await self.release_code(waiting, {"stdout": "", "stderr": message}, provenance)
            return
        await self._release_made(waiting, refused(message))

    async def _release_made(self, waiting: WaitingRequest[ToolBoundaryCall], made: AuthoredAnswer) -> None:
        provenance = waiting.firing.provenance(made.source, made.by, made.notes, made.unsure)
        await self.release_tool(waiting, made.outcome, made.effects, provenance)

    async def release_tool(
        self,
        waiting: WaitingRequest[ToolBoundaryCall],
        outcome: Outcome,
        effects: ToolEffects,
        provenance: Provenance,
    ) -> bool:
        """Record a tool's answer and hand it to the agent, changed as the rules that fired say."""
        beneath: Outcome | None = None
        if waiting.firing.has_a_say:
            outcome, beneath, notes = self.pipeline.environment.told(waiting, outcome)
            provenance = provenance.model_copy(update={"notes": (*provenance.notes, *notes)})
        answer = self._answered(waiting, outcome, effects, provenance, beneath)
        return await self._run.release(waiting, ToolAnswered, **answer)

    def _answered(
        self,
        waiting: WaitingRequest[ToolBoundaryCall],
        outcome: Outcome,
        effects: ToolEffects,
        provenance: Provenance,
        beneath: Outcome | None = None,
    ) -> dict[str, Any]:
        """Return the fields of a tool's answer; `beneath` is what really happened, where that is something else."""
        if broken := self.pipeline.breach(waiting, beneath or outcome, provenance.source):
            provenance = provenance.model_copy(update={"notes": (*provenance.notes, broken)})
        return {
            **self._asked(waiting),
            "outcome": outcome,
            "effects": effects,
            "beneath": beneath,
            "traceback": waiting.traceback,
            "declared": self._session.brought(waiting.name),
            "provenance": provenance,
        }

    async def release_model(
        self,
        waiting: WaitingRequest[ModelCall],
        responses: tuple[JsonObject, ...],
        provenance: Provenance,
        error: RaisedError | None = None,
    ) -> bool:
        """Record the agent's turn and hand it to ADK."""
        own = (
            copied(responses) if any(calls_in(responses)) else responses
        )  # the calls in it get ids of their own
        return await self._run.release(
            waiting, ModelAnswered, responses=tuple(own), error=error, provenance=provenance
        )

    async def release_code(
        self,
        waiting: WaitingRequest[CodeCall],
        result: JsonObject | None,
        provenance: Provenance,
        error: RaisedError | None = None,
    ) -> bool:
        """Record what code printed and hand it to the agent."""
        code = waiting.call.code
        return await self._run.release(
            waiting, CodeAnswered, code=code, result=result, error=error, provenance=provenance
        )
