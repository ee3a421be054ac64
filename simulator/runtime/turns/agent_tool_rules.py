"""Decides, from a journal's facts alone, whether a call of an agent tool is a request, and what rules do to its agent's answer.

An agent that is used as a tool runs by itself, with its own seats, until a rule or a player is set for the tool by its name. Then its
calls are requests like those of any other tool: a rule or a player answers, or lets the agent run, which is a fact (`AgentRan`).
What was set counts as of the answer that was released last, so that a re-execution decides the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from simulator.environment.injection.rule_effects import DistortEffect, LoseEffect
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import (
    AgentRan,
    Answered,
    Fact,
    RulesChanged,
    SeatChanged,
    ToolAnswered,
    TurnStarted,
)
from simulator.runtime.turns.fired_rules import NOTHING_FIRED, Firing

Path = Iterable[tuple[int, Fact]]


def is_set_for(path: Path, tool_name: str, released: int | None) -> bool:
    """Return whether a rule or a player was set for a tool by its name.

    Args:
        path: The facts with their numbers.
        tool_name: The tool.
        released: The number of the answer that counts; -1 for the start of the turn, None for the last answer.
    """
    by_rule = by_player = found = False
    for number, fact in path:
        if released is not None and number > released >= 0:
            break
        if isinstance(fact, RulesChanged):
            by_rule = any(rule.tool_name == tool_name for rule in fact.rules)
        elif isinstance(fact, SeatChanged):
            by_player = by_player or (fact.seat == "tool" and fact.target == tool_name)
        elif isinstance(fact, TurnStarted) or (isinstance(fact, Answered) and released != -1):
            found = by_rule or by_player
    return found


def firing_of(path: Path, ran: AgentRan, seed: str) -> Firing:
    """Return what the rules that fired for a call do to its agent's answer; nothing where they only took time."""
    rules: tuple[InjectionRule, ...] = ()
    fired: Counter[str] = Counter()
    for _, fact in path:
        if isinstance(fact, RulesChanged):
            rules = fact.rules
        elif isinstance(fact, AgentRan | ToolAnswered):
            if (fact.turn, fact.key) == (ran.turn, ran.key):
                break
            fired.update(fact.provenance.fired)
    changing = tuple(
        rule
        for rule in rules
        if rule.rule_id in ran.provenance.fired and isinstance(rule.effect, DistortEffect | LoseEffect)
    )
    if not changing:
        return NOTHING_FIRED
    return Firing(
        modifiers=changing,
        before={rule.rule_id: fired[rule.rule_id] for rule in changing},
        seed=seed,
        words={"tool": ran.tool_name, "agent": ran.agent},
    )


def cannot_answer(rule_id: str, tool_name: str) -> str:
    """Return why a rule for a tool that steers ADK's flow is silent."""
    return (
        f"the rule {rule_id!r} cannot answer {tool_name}: ADK runs this tool itself. "
        "Use the rule for another tool, or for an agent that is used as a tool"
    )
