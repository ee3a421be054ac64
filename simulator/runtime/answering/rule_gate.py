"""Asks the injection rules about each tool call of a turn, once, and lets those that fire have their time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any

from simulator.base.json_values import JsonObject
from simulator.environment.expressions.templates import variables_of
from simulator.environment.injection.rule_call import CallContext, Tally
from simulator.environment.injection.rule_draws import DrawStreams
from simulator.environment.injection.rule_effects import HangEffect
from simulator.facts import Outcome
from simulator.runtime.adk.boundaries import ToolBoundaryCall
from simulator.runtime.adk.codec import jsonable
from simulator.runtime.knowledge.live_knowledge import LiveKnowledge
from simulator.runtime.turns.fired_rules import Firing, judged
from simulator.runtime.turns.session_port import SessionPort
from simulator.runtime.turns.turn import TurnRun
from simulator.runtime.turns.waiting_request import Waiting
from simulator.seats.answers import raised


class Injecting:
    """Lets the rules speak about the tool calls of a turn.

    Args:
        table: The session.
        run: The turn.
        streams: The rules' streams of draws.
        knowledge: What the environment knows.
    """

    def __init__(
        self, table: SessionPort, run: TurnRun, streams: DrawStreams, knowledge: LiveKnowledge
    ) -> None:
        self._table, self._run, self._streams, self._knowledge = table, run, streams, knowledge

    async def judge(self, waiting: Waiting[ToolBoundaryCall]) -> Firing:
        """Ask the rules about a call, and let the time pass that those which fire take."""
        async with self._run.its_turn():
            asked = self.asked(waiting)
            waiting.number = asked.tally.tool_calls + 1
            waiting.firing = judged(waiting.rules, asked, self._streams, self._table.seed)
            waiting.judged = True
        if (seconds := waiting.firing.latency()) and not waiting.came_back:
            waiting.latency = seconds
            self._at_work(waiting)
            await asyncio.sleep(seconds)
        return waiting.firing

    async def outcome(self, waiting: Waiting[ToolBoundaryCall]) -> Outcome:
        """Return what the rule that fired answers; one that hangs takes until its timeout, or for ever.

        Raises:
            ValueError: A template of the rule cannot be filled in.
        """
        firing = waiting.firing
        effect = firing.rule.effect if firing.rule else None
        if isinstance(effect, HangEffect):
            self._at_work(waiting)
            await _hang(effect.timeout_seconds)
            return raised("TimeoutError", effect.message).outcome
        return firing.outcome(lambda seed: self._variables(waiting, seed))

    def told(
        self, waiting: Waiting[ToolBoundaryCall], outcome: Outcome
    ) -> tuple[Outcome, Outcome | None, tuple[str, ...]]:
        """Change an answer as the rules that fired say; as `Firing.told`."""
        return waiting.firing.told(outcome, lambda: self._knowledge.up_to_date().calls_of(waiting.name))

    def asked(self, waiting: Waiting[ToolBoundaryCall]) -> CallContext:
        """Describe a call as the rules look at it."""
        knowledge, name = self._knowledge.up_to_date(), waiting.name
        return CallContext(
            tool_name=name,
            arguments=waiting.arguments,
            agent=waiting.agent,
            branch=waiting.call.context.branch or "",
            tally=self._tally(waiting),
            world=knowledge.world.collections,
            state=lambda: state_of(waiting),
            calls=lambda: knowledge.calls_of(name),
        )

    def _tally(self, waiting: Waiting[ToolBoundaryCall]) -> Tally:
        """Count what is a fact, and what calls have taken that were judged before and are not answered yet."""
        counts = self._table.counts
        drawn, counted, fired = Counter(counts.drawn), Counter(counts.counted), Counter(counts.fired)
        calls = Counter(counts.calls)
        for other in self._run.waiting.values():
            is_before = other is not waiting and other.judged and not other.future.done()
            if is_before and isinstance(other.call, ToolBoundaryCall):
                drawn.update(other.firing.drawn)
                counted.update(other.firing.counted)
                fired.update(other.firing.fired)
                calls[other.name] += 1
        return Tally(
            drawn=drawn,
            counted=counted,
            fired=fired,
            tool_calls=calls[waiting.name],
            session_calls=calls.total(),
        )

    def _at_work(self, waiting: Waiting[Any]) -> None:
        waiting.running, waiting.since = True, self._table.now()
        waiting.running_by = ", ".join(waiting.firing.fired)
        self._table.changed()

    def _variables(self, waiting: Waiting[ToolBoundaryCall], seed: str) -> Mapping[str, object]:
        knowledge = self._knowledge.up_to_date()
        return variables_of(
            args=waiting.arguments,
            state=state_of(waiting),
            world=knowledge.world.collections(),
            calls=knowledge.calls_of(waiting.name),
            answers=knowledge.last_answers(),
            agent=waiting.agent,
            call_number=waiting.number,
            seed=seed,
        )


async def _hang(seconds: float | None) -> None:
    """Wait for a while, or until the turn is stopped."""
    if seconds is None:
        await asyncio.Event().wait()
    else:
        await asyncio.sleep(seconds)


def state_of(waiting: Waiting[ToolBoundaryCall]) -> JsonObject:
    """Return ADK's session state as a tool call sees it."""
    state: Any = waiting.call.context.state
    written: JsonObject = jsonable(state.to_dict())
    return written
