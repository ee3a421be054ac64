"""Asks the injection rules about a tool call, and gives what one of them answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Generic

from simulator.environment.expressions.templates import variables_of
from simulator.environment.injection.rule_call import CallContext, Tally
from simulator.environment.injection.rule_draws import DrawStreams
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import Outcome
from simulator.runtime.knowledge.knowledge import Knowledge
from simulator.runtime.turns.fired_rules import judged
from simulator.runtime.turns.waiting_request import C


class RuleGate(ABC, Generic[C]):
    """Lets the rules of a session speak about its tool calls. Who uses it says which rules there are, and counts.

    `seed` is where the session's chance comes from, and `streams` are the rules' streams of draws.
    """

    seed: str
    streams: DrawStreams

    @abstractmethod
    def knowing(self) -> AbstractContextManager[Knowledge]:
        """Hold what the environment knows, as it is now, while somebody looks at it."""

    @abstractmethod
    def rules_for(self, call: C) -> tuple[InjectionRule, ...]:
        """Return the rules that are in force for a call."""

    @abstractmethod
    def tally(self, call: C) -> Tally:
        """Return what was counted before a call."""

    @abstractmethod
    def count(self, call: C) -> None:
        """Count a call that was judged, and what its rules drew, counted and did."""

    def judge(self, call: C) -> None:
        """Ask the rules about a call, which counts as one from now on."""
        with self.knowing():
            asked = self.asked(call)
            call.firing = judged(self.rules_for(call), asked, self.streams, self.seed)
            call.number = asked.tally.tool_calls + 1
            self.count(call)

    def asked(self, call: C) -> CallContext:
        """Describe a call as the rules look at it."""
        with self.knowing() as known:
            return CallContext(
                tool_name=call.name,
                arguments=call.arguments,
                agent=call.agent,
                branch=call.branch,
                tally=self.tally(call),
                world=known.world.collections,
                state=lambda: call.state() or {},
                calls=lambda: known.calls_of(call.name),
            )

    def answered(self, call: C) -> Outcome:
        """Return what the rule that fired answers.

        Raises:
            ValueError: No rule answers, or a template of the rule cannot be filled in.
        """
        with self.knowing() as known:
            return call.firing.outcome(
                lambda seed: variables_of(
                    args=call.arguments,
                    state=call.state(),
                    world=known.world.collections(),
                    calls=known.calls_of(call.name),
                    answers=known.last_answers(),
                    agent=call.agent,
                    call_number=call.number,
                    seed=seed,
                )
            )

    def told(self, call: C, outcome: Outcome) -> tuple[Outcome, Outcome | None, tuple[str, ...]]:
        """Change an answer as the rules that fired say; as `Firing.told`."""
        with self.knowing() as known:
            return call.firing.told(outcome, lambda: known.calls_of(call.name))
