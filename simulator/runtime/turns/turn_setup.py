"""Reads from a journal's facts what a turn starts with, and makes what it runs in."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import TypeAlias

from google.adk.apps import App

from simulator.agent_config import SimulatedAgentConfig
from simulator.base.json_values import digest
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import (
    Answered,
    Fact,
    RulesChanged,
    SeatChanged,
    TurnStarted,
)
from simulator.runtime.adk.guard_plugin import GuardPlugin

Path: TypeAlias = Sequence[tuple[int, Fact]]
"""Facts in order, each with its number in the journal."""


def random_of(seed: str, turn: int) -> random.Random:
    """Return the chance that ADK has in a turn: the same in every execution."""
    return random.Random(digest(seed, str(turn)))  # noqa: S311 - not for secrets


def guarded_app(config: SimulatedAgentConfig) -> App:
    """Return the agent as an app whose first plugin is the guard."""
    agent, guard = config.agent, GuardPlugin()
    if isinstance(agent, App):
        return agent.model_copy(update={"plugins": [guard, *agent.plugins]})
    return App(name=config.app_name, root_agent=agent, plugins=[guard])


def turn_in_progress(facts: Path) -> tuple[TurnStarted, list[tuple[int, Answered]]]:
    """Return the fact with which the last turn started, and the answers in it."""
    place, started = next(
        (place, fact)
        for place, (_, fact) in reversed(list(enumerate(facts)))
        if isinstance(fact, TurnStarted)
    )
    return started, [(number, fact) for number, fact in facts[place:] if isinstance(fact, Answered)]


def is_as_answered(facts: Path) -> bool:
    """Return whether no seat and no rule was changed since the last answer."""
    since = itertools.takewhile(
        lambda fact: not isinstance(fact, Answered), (fact for _, fact in reversed(facts))
    )
    return not any(isinstance(fact, (SeatChanged, RulesChanged)) for fact in since)


def rules_at_rest(facts: Path) -> tuple[InjectionRule, ...]:
    """Return the rules as they were when the turn came to rest: a later switch counts from the next call on."""
    rules: tuple[InjectionRule, ...] = ()
    at_rest = rules
    for _, fact in facts:
        if isinstance(fact, RulesChanged):
            rules = fact.rules
        elif isinstance(fact, Answered | TurnStarted):
            at_rest = rules
    return at_rest
