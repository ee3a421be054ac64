"""Says of a call of the session whether each rule would have fired, and why not. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.past_calls import Before, PastCall
from app.rule_words import tool_words
from simulator.environment.draws import DrawStreams
from simulator.environment.rules import EVERY_TOOL, CallContext, InjectionRule, evaluate
from simulator.facts import Value


class Tried(Value):
    """What came of trying one rule on one call; `reason` is empty where it would have fired."""

    rule_id: str
    fired: bool
    reason: str = ""
    nearness: float = 0.0


def tried(
    rules: Iterable[InjectionRule], call: PastCall, there: Before, session_seed: str
) -> tuple[Tried, ...]:
    """Try each rule on a call as if it stood alone and first, with the draw of that moment; nearest first.

    A rule that is switched off is tried as if it were on.
    """
    streams = DrawStreams(session_seed)
    context = there.context(call)
    found = [_tried(rule, context, streams) for rule in rules]
    return tuple(sorted(found, key=lambda each: -each.nearness))


def _tried(rule: InjectionRule, call: CallContext, streams: DrawStreams) -> Tried:
    if rule.tool_name not in {call.tool_name, EVERY_TOOL}:
        return Tried(rule_id=rule.rule_id, fired=False, reason=f"is for {tool_words(rule.tool_name)}")
    alone: Sequence[InjectionRule] = (rule.model_copy(update={"enabled": True}),)
    verdict = evaluate(alone, call, lambda each: streams.value(each, call.tally.drawn.get(each.rule_id, 0)))
    if not verdict.misses:
        return Tried(rule_id=rule.rule_id, fired=True, nearness=1.0)
    miss = verdict.misses[0]
    return Tried(rule_id=rule.rule_id, fired=False, reason=miss.reason, nearness=max(miss.nearness, 0.01))
