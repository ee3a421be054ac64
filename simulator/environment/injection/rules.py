"""Decides which injection answers a tool call.

The rules say what ADK's `InjectionConfig` says (google-adk 2.13, `tools/environment_simulation`) and more, in one
ordered list with a switch for each rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from simulator.base.json_values import JsonObject, same
from simulator.environment.injection.compiled_conditions import Seen
from simulator.environment.injection.injection import EVERY_TOOL, InjectionRule
from simulator.environment.injection.ready_rules import ReadyRule, ReadyRules, ready_rules
from simulator.environment.injection.rule_call import NOTHING_SO_FAR, CallContext, Tally
from simulator.environment.injection.rule_effects import (
    MAX_LATENCY_SECONDS,
    Effect,
    ErrorEffect,
    ResponseEffect,
)
from simulator.environment.injection.rule_verdicts import Miss, RuleVerdict, nearest_first

__all__ = [
    "EVERY_TOOL",
    "MAX_LATENCY_SECONDS",
    "NOTHING_SO_FAR",
    "CallContext",
    "Effect",
    "ErrorEffect",
    "InjectionRule",
    "Miss",
    "ResponseEffect",
    "RuleVerdict",
    "Tally",
    "evaluate",
    "judged",
    "nearest_first",
]

_ABSENT = object()


def evaluate(
    rules: Iterable[InjectionRule], call: CallContext, draw: Callable[[InjectionRule], float]
) -> RuleVerdict:
    """Find the rules that fire for a call: the first in order that answers it, and those before it that let it go on.

    Each rule for the tool that is switched on is judged in this order: `match_args` and `when`, where what it asks of
    its own call numbers is left open; then its counter moves; then its own call numbers, and whether its answers are
    used up; then the draw, which is taken at a probability of 1 too. So one rule's counter and stream do not move when
    another is switched, unless that one has answered before.

    Args:
        rules: All rules of the session, in their order. A tuple is made ready once, and then known.
        call: The call.
        draw: Gives a rule's next value in [0, 1); called at most once for each rule.
    """
    return judged(ready_rules(rules), Seen(call), draw)


def judged(rules: ReadyRules, seen: Seen, draw: Callable[[InjectionRule], float]) -> RuleVerdict:
    """Do as `evaluate`, with rules that are ready and a call that others may have looked at."""
    judge = _Judge(seen, draw)
    for_tool = rules.for_tool(seen.call.tool_name)
    fired = judge.first(for_tool)

    def explain() -> Iterator[Miss]:
        for step, rule, value in judge.missed:
            yield judge.miss(step, rule, value)
        if fired is not None:
            for rule in for_tool[for_tool.index(fired) + 1 :]:
                yield rule.comes_after(fired.rule_id) if rule.enabled else rule.is_off()

    return RuleVerdict(
        fired=fired.rule if fired else None,
        modifiers=tuple(judge.modifiers),
        drawn=tuple(judge.drawn),
        counted=tuple(judge.counted),
        explain=explain,
    )


_OFF, _CONDITIONS, _NUMBER, _USED_UP, _DRAW = range(5)


class _Judge:
    """Judges the rules for one call; what is to be said of those that miss is put into words when it is asked for."""

    def __init__(self, seen: Seen, draw: Callable[[InjectionRule], float]) -> None:
        self._arguments, self._draw, self._seen = seen.call.arguments, draw, seen
        self.modifiers: list[InjectionRule] = []
        self.missed: list[tuple[int, ReadyRule, float]] = []
        self.drawn: list[str] = []
        self.counted: list[str] = []

    def first(self, rules: tuple[ReadyRule, ...]) -> ReadyRule | None:
        """Return the first rule that answers, and note what the others before it do."""
        arguments, missed, draw = self._arguments, self.missed, self._draw
        counted, drawn = self.counted.append, self.drawn.append
        for rule in rules:
            if not rule.enabled:
                missed.append((_OFF, rule, 0.0))
                continue
            if rule.wanted and not _fits(rule, arguments):
                missed.append((_CONDITIONS, rule, 0.0))
                continue
            if rule.asks_for_more and (step := self._stops_at(rule)):
                missed.append((step, rule, 0.0))
                continue
            rule_id = rule.rule_id
            counted(rule_id)
            drawn(rule_id)
            value = draw(rule.rule)
            if value >= rule.probability:
                missed.append((_DRAW, rule, value))
            elif rule.lets_go_on:
                self.modifiers.append(rule.rule)
            else:
                return rule
        return None

    def _stops_at(self, rule: ReadyRule) -> int | None:
        """Return the step at which a rule fails whose `match_args` fit, before the draw; None where it comes so far."""
        seen = self._seen
        seen.next_rule()
        held = True if rule.condition is None else rule.condition.holds(seen, None)
        if held is False:
            return _CONDITIONS
        if held is None and rule.condition is not None and not rule.condition.holds(seen, rule.number(seen)):
            self.counted.append(rule.rule_id)
            return _NUMBER
        if rule.is_used_up(seen):
            self.counted.append(rule.rule_id)
            return _USED_UP
        return None

    def miss(self, step: int, rule: ReadyRule, value: float) -> Miss:
        """Say why a rule did not fire that failed at a step."""
        if step == _OFF:
            return rule.is_off()
        self._seen.next_rule()
        if step == _CONDITIONS:
            return rule.does_not_match(self._seen)
        if step == _NUMBER:
            return rule.has_another_number(self._seen)
        return rule.ran_out() if step == _USED_UP else rule.had_no_luck(value)


def _fits(rule: ReadyRule, arguments: JsonObject) -> bool:
    for wanted in rule.wanted:
        given = arguments.get(wanted.name, _ABSENT)
        if not (given == wanted.value if wanted.plain else same(given, wanted.value)):
            return False
    return True
