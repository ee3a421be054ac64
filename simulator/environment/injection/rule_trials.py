"""Tries rules against a call that was made: would each have fired, and if not, why not?"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from simulator.environment.environment_value import FiniteValue
from simulator.environment.injection.compiled_conditions import Seen
from simulator.environment.injection.injection import EVERY_TOOL, InjectionRule
from simulator.environment.injection.ready_rules import ReadyRules
from simulator.environment.injection.rule_call import CallContext
from simulator.environment.injection.rules import judged

_ALMOST = 0.99
_NOT_EVEN_ON = 0.9
"""How much less near a rule came because it is switched off, too."""


class Trial(FiniteValue):
    """Whether a rule would have fired for a call, had it stood alone; why, or why not; and how near it came."""

    rule_id: str
    fired: bool
    reason: str
    nearness: float


def explain(
    rules: Iterable[InjectionRule], call: CallContext, draw: Callable[[InjectionRule], float]
) -> tuple[Trial, ...]:
    """Try each rule by itself, those for other tools and those that are switched off too; nearest first.

    Args:
        rules: The rules, in their order.
        call: The call, with the tally of its moment.
        draw: Gives the value that a rule drew, or would have drawn, at that moment.
    """
    seen = Seen(call)
    return tuple(sorted((_tried(rule, seen, draw) for rule in rules), key=lambda trial: -trial.nearness))


def _tried(rule: InjectionRule, seen: Seen, draw: Callable[[InjectionRule], float]) -> Trial:
    tool_name = seen.call.tool_name
    if rule.tool_name not in {tool_name, EVERY_TOOL}:
        reason = f"it applies to {rule.tool_name}, but this call was to {tool_name}"
        return Trial(rule_id=rule.rule_id, fired=False, reason=reason, nearness=0.0)
    tried = _alone(rule.model_copy(update={"enabled": True}), seen, draw)
    if rule.enabled:
        return tried
    but = "all conditions hold" if tried.fired else tried.reason
    nearness = (_ALMOST if tried.fired else tried.nearness) * _NOT_EVEN_ON
    return Trial(rule_id=rule.rule_id, fired=False, reason=f"switched off; {but}", nearness=nearness)


def _alone(rule: InjectionRule, seen: Seen, draw: Callable[[InjectionRule], float]) -> Trial:
    drawn: list[float] = []

    def noted(of: InjectionRule) -> float:
        drawn.append(draw(of))
        return drawn[-1]

    verdict = judged(ReadyRules([rule]), seen, noted)
    if verdict.misses:
        miss = verdict.misses[0]
        return Trial(rule_id=rule.rule_id, fired=False, reason=miss.reason, nearness=miss.nearness)
    chance = f"; drew {drawn[0]:.6g}, needed less than {rule.probability:g}" if rule.probability < 1 else ""
    return Trial(rule_id=rule.rule_id, fired=True, reason=f"all conditions hold{chance}", nearness=1.0)
