"""Says of a call of the session whether each rule would have fired, and why not. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from app.past_calls import Before, PastCall
from simulator.environment.draws import DrawStreams
from simulator.environment.rules import InjectionRule
from simulator.environment.trials import Trial, explain


def tried(
    rules: Iterable[InjectionRule], call: PastCall, there: Before, session_seed: str
) -> tuple[Trial, ...]:
    """Try each rule on a call as if it stood alone and first, with the draw of that moment; nearest first."""
    streams = DrawStreams(session_seed)
    drawn = there.tally.drawn
    return explain(rules, there.context(call), lambda rule: streams.value(rule, drawn.get(rule.rule_id, 0)))
