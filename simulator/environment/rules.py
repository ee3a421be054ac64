"""Decides which injection answers a tool call.

The rules say what ADK's `InjectionConfig` says (google-adk 2.13, `tools/environment_simulation`) and more, in one
ordered list with a switch for each rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Self

from pydantic import Field, model_validator

from simulator.environment.calls import NOTHING_SO_FAR, CallContext, Tally
from simulator.environment.conditions import Condition
from simulator.environment.effects import (
    LETS_GO_ON,
    MAX_LATENCY_SECONDS,
    Effect,
    ErrorEffect,
    LatencySpread,
    ResponseEffect,
)
from simulator.environment.value import Value
from simulator.jsonvalue import JsonObject, NotJsonError, canonical, same

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
    "Tally",
    "Verdict",
    "evaluate",
    "nearest_first",
]

EVERY_TOOL = "*"
"""The tool name of a rule for every tool."""

_SHOWN_LENGTH = 120


class InjectionRule(Value):
    """One injection for one tool, or for every tool (`*`).

    `match_args` asks for equality of each named argument at the top level, `when` for anything else. `latency_seconds`
    is fixed, `latency` is drawn for each call; a rule has one of the two. `random_seed` starts this rule's own stream
    of draws; without one the stream comes from the session's seed, so every run can be repeated.
    """

    rule_id: str = Field(min_length=1)
    tool_name: str = Field(min_length=1)
    effect: Effect
    label: str = ""
    enabled: bool = True
    probability: float = Field(default=1.0, ge=0.0, le=1.0)
    match_args: JsonObject | None = None
    when: Condition | None = None
    latency_seconds: float = Field(default=0.0, ge=0.0, le=MAX_LATENCY_SECONDS)
    latency: LatencySpread | None = None
    random_seed: int | None = None

    @model_validator(mode="after")
    def _has_one_latency(self) -> Self:
        if self.latency_seconds and self.latency is not None:
            raise ValueError("latency_seconds and latency are both set; set one")
        return self


class Miss(Value):
    """Why one rule did not answer a call, and how near it came: 0 is not at all, 1 would be an answer."""

    rule_id: str
    reason: str
    nearness: float = 0.0


def nearest_first(misses: Iterable[Miss]) -> tuple[Miss, ...]:
    """Sort misses for people: those that came nearest to an answer first, equal ones in their order."""
    return tuple(sorted(misses, key=lambda miss: -miss.nearness))


class Verdict(Value):
    """What the rules say about one call.

    Attributes:
        fired: The rule that answers it, if any.
        modifiers: The rules that fired before it and only delay, distort or lose the answer, in their order.
        misses: Why the others for this tool did not fire, in their order.
        drawn: The rules that took a value from their stream for this call, in order.
        counted: The rules whose own counter moves with this call, in order.
    """

    fired: InjectionRule | None
    modifiers: tuple[InjectionRule, ...] = ()
    misses: tuple[Miss, ...] = ()
    drawn: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()


def evaluate(
    rules: Iterable[InjectionRule], call: CallContext, draw: Callable[[InjectionRule], float]
) -> Verdict:
    """Find the rules that fire for a call: the first in order that answers it, and those before it that let it go on.

    A rule draws only when it is switched on, is for this tool, all that it asks for holds, and no earlier rule
    answered: the stream of one rule does not move when another is switched.

    Args:
        rules: All rules of the session, in their order.
        call: The call.
        draw: Gives a rule's next value in [0, 1); called at most once for each rule.
    """
    modifiers: list[InjectionRule] = []
    misses: list[Miss] = []
    drawn: list[str] = []
    fired: InjectionRule | None = None
    for rule in rules:
        if rule.tool_name not in {call.tool_name, EVERY_TOOL}:
            continue
        reason = _mismatch(rule, call.arguments)
        if reason is None:
            drawn.append(rule.rule_id)
            value = draw(rule)
            if value < rule.probability:
                if rule.effect.kind not in LETS_GO_ON:
                    fired = rule
                    break
                modifiers.append(rule)
                continue
            reason = f"drew {value:.6g}, needed less than {rule.probability:g}"
        misses.append(Miss(rule_id=rule.rule_id, reason=reason))
    names = tuple(drawn)
    return Verdict(fired=fired, modifiers=tuple(modifiers), misses=tuple(misses), drawn=names, counted=names)


def _mismatch(rule: InjectionRule, arguments: JsonObject) -> str | None:
    if not rule.enabled:
        return "switched off"
    for name, wanted in (rule.match_args or {}).items():
        if name not in arguments:
            return f"args.{name} is absent, wanted {_shown(wanted)}"
        if not same(arguments[name], wanted):
            return f"args.{name} was {_shown(arguments[name])}, wanted {_shown(wanted)}"
    return None


def _shown(value: object) -> str:
    try:
        text = canonical(value)
    except NotJsonError:
        text = repr(value)
    return text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]}..."
