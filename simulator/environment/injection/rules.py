"""Decides which injection answers a tool call.

The rules say what ADK's `InjectionConfig` says (google-adk 2.13, `tools/environment_simulation`) and more, in one
ordered list with a switch for each rule. `evaluate` judges them for one call, `explain` tries each as if it stood alone.
What is to be said of those that miss is put into words when it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, Literal, NamedTuple, Self, TypeAlias

from pydantic import ConfigDict, Field, JsonValue, model_validator

from simulator.base.frozen_value import FiniteValue, Number, Whole
from simulator.base.json_paths import field_place
from simulator.base.json_values import JsonObject, same
from simulator.environment.injection.conditions import Condition, likeness, shown
from simulator.environment.injection.rule_call import NOTHING_SO_FAR, CallContext, Seen, Tally, Why
from simulator.environment.injection.rule_effects import (
    LETS_GO_ON,
    MAX_LATENCY_SECONDS,
    Effect,
    ErrorEffect,
    LatencySpread,
    ResponseEffect,
)

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
    "Trial",
    "evaluate",
    "explain",
    "nearest_first",
]

EVERY_TOOL = "*"
"""The tool name of a rule for every tool."""


class InjectionRule(FiniteValue):
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
    probability: Number = Field(default=1.0, ge=0.0, le=1.0)
    match_args: JsonObject | None = None
    when: Condition | None = None
    latency_seconds: Number = Field(default=0.0, ge=0.0, le=MAX_LATENCY_SECONDS)
    latency: LatencySpread | None = None
    random_seed: Whole | None = None

    @model_validator(mode="after")
    def _has_one_latency(self) -> Self:
        if self.latency_seconds and self.latency is not None:
            raise ValueError("latency_seconds and latency are both set; set one")
        return self


@dataclass(frozen=True, slots=True)
class Miss:
    """Why one rule did not fire for a call, and how near it came: 0 is not at all, 1 would be to fire.

    A dataclass, as hundreds are made for a call, and a pydantic model takes twice as long.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    rule_id: str
    reason: str
    nearness: float = 0.0


def nearest_first(misses: Iterable[Miss]) -> tuple[Miss, ...]:
    """Sort misses for people: those that came nearest to firing first, equal ones in their order."""
    return tuple(sorted(misses, key=lambda miss: -miss.nearness))


def evaluate(
    rules: Iterable[InjectionRule], call: CallContext, draw: Callable[[InjectionRule], float]
) -> RuleVerdict:
    """Find the rules that fire for a call: the first in order that answers it, and those before it that let it go on.

    Each rule for the tool that is switched on is judged in this order: `match_args` and `when`, where what it asks of
    its own call numbers is left open; then its counter moves; then its own call numbers, and whether its answers are
    used up; then the draw, which is taken at a probability of 1 too. So one rule's counter and stream do not move when
    another is switched, unless that one has answered before.

    Args:
        rules: All rules of the session, in their order.
        call: The call.
        draw: Gives a rule's next value in [0, 1); called at most once for each rule.
    """
    return RuleVerdict(rules, Seen(call), draw)


_ABSENT = object()
# How near a rule came at least: with none of its conditions, for its number alone, and with all but luck or answers.
_CONDITIONS, _NUMBER, _ALL_BUT_ONE = 0.8, 0.1, 0.9

_Step: TypeAlias = Literal["off", "too late", "conditions", "number", "used up", "draw"]
"""Where a rule fails on its way to fire; its counter moves where it comes to its number."""


class _Ready(NamedTuple):
    """A rule, and what is asked of each of hundreds for a call, where a model's attributes would take most of the time.

    `wanted` has each of its `match_args`, with whether it is a text: nothing but a text equals one. `asks_for_more` than them and luck.
    """

    rule: InjectionRule
    rule_id: str
    enabled: bool
    wanted: tuple[tuple[str, JsonValue, bool], ...]
    asks_for_more: bool
    probability: float


class _Rules:
    """Rules that are known by which tuple they are, as comparing hundreds of them would take too long."""

    def __init__(self, rules: Iterable[InjectionRule]) -> None:
        self.rules = rules

    def __hash__(self) -> int:
        return id(self.rules)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rules) and other.rules is self.rules


def _ready(rules: _Rules, tool_name: str) -> tuple[_Ready, ...]:
    """Make those of some rules ready that are for a tool."""
    return tuple(
        _Ready(
            rule,
            rule.rule_id,
            rule.enabled,
            tuple((name, value, isinstance(value, str)) for name, value in (rule.match_args or {}).items()),
            rule.when is not None or rule.effect.most < math.inf,
            rule.probability,
        )
        for rule in rules.rules
        if rule.tool_name in {tool_name, EVERY_TOOL}
    )


_ready_once = lru_cache(maxsize=256)(_ready)


class RuleVerdict:
    """The verdict of the rules on one call, as `evaluate` says; `seen` is the call, which others may have looked at.

    Attributes:
        fired: The rule that answers it, if any.
        modifiers: The rules that fired before it and only delay, distort or lose the answer, in their order.
        drawn: The rules that took a value from their stream for this call, in order.
        counted: The rules whose own counter moves with this call, in order.
    """

    def __init__(
        self, rules: Iterable[InjectionRule], seen: Seen, draw: Callable[[InjectionRule], float]
    ) -> None:
        self._seen = seen
        self._missed: list[tuple[_Step, InjectionRule, float]] = []
        self.fired: InjectionRule | None = None
        arguments, missed = seen.call.arguments, self._missed.append
        modifiers, drawn, counted = list[InjectionRule](), list[str](), list[str]()
        find = _ready_once if isinstance(rules, tuple) else _ready
        step: _Step
        for rule, rule_id, enabled, wanted, asks_for_more, probability in find(
            _Rules(rules), seen.call.tool_name
        ):
            value = 0.0
            if not enabled:
                step = "off"
            elif self.fired is not None:
                step = "too late"
            elif wanted and not _fits(wanted, arguments):
                step = "conditions"
            else:
                step = self._stops_at(rule) if asks_for_more else "draw"
                if step != "conditions":
                    counted.append(rule_id)
                if step == "draw":
                    drawn.append(rule_id)
                    value = draw(rule)
                    if value < probability:
                        if rule.effect.kind in LETS_GO_ON:
                            modifiers.append(rule)
                        else:
                            self.fired = rule
                        continue
            missed((step, rule, value))
        self.modifiers, self.drawn, self.counted = tuple(modifiers), tuple(drawn), tuple(counted)

    def _stops_at(self, rule: InjectionRule) -> _Step:
        """Return the step at which a rule fails whose `match_args` fit, before it draws, or the draw."""
        seen, when = self._seen, rule.when
        if when is not None:
            seen.next_rule()
            held = when.holds(seen, None)
            if held is False:
                return "conditions"
            if held is None and not when.holds(seen, self._number(rule)):
                return "number"
        is_used_up = seen.call.tally.fired.get(rule.rule_id, 0) >= rule.effect.most
        return "used up" if is_used_up else "draw"

    def _number(self, rule: InjectionRule) -> int:
        """Return the number of this call among those that the rule counts."""
        return self._seen.call.tally.counted.get(rule.rule_id, 0) + 1

    @cached_property
    def misses(self) -> tuple[Miss, ...]:
        """Why the other rules for this tool did not fire, in their order.

        Put into words when they are first read, from the call as it is then: read them before its arguments change.
        """
        return tuple(Miss(rule.rule_id, *self._why(step, rule, value)) for step, rule, value in self._missed)

    def _why(self, step: _Step, rule: InjectionRule, value: float) -> Why:
        if step == "off":
            return Why("switched off", 0.0)
        if step == "too late" and self.fired is not None:
            return Why(f"rule {self.fired.rule_id!r} answered first", 0.0)
        if step == "used up":
            answers = (
                "its one response is" if rule.effect.most == 1 else f"its {rule.effect.most} responses are"
            )
            return Why(f"{answers} used up", _ALL_BUT_ONE)
        if step == "draw":
            lacking = (1 - _ALL_BUT_ONE) * (1 - value + rule.probability) * 0.99
            reason = f"drew {value:.6g}, needed less than {rule.probability:g}"
            return Why(reason, _ALL_BUT_ONE + lacking)
        self._seen.next_rule()
        if step == "number" and rule.when is not None:
            why = rule.when.why(self._seen, self._number(rule))
            return Why(why.reason, _CONDITIONS + _NUMBER * why.nearness)
        whys = _unmet(rule, self._seen)
        near = sum(1.0 if why is None else why.nearness for why in whys) / len(whys)
        return Why(next(why.reason for why in whys if why is not None), _CONDITIONS * near)


def _fits(wanted: Iterable[tuple[str, JsonValue, bool]], arguments: JsonObject) -> bool:
    for name, value, is_text in wanted:
        given = arguments.get(name, _ABSENT)
        if given != value if is_text else not same(given, value):
            return False
    return True


def _unmet(rule: InjectionRule, seen: Seen) -> list[Why | None]:
    """Say of each argument, and of the condition, what is wrong with it; None where nothing is."""
    whys: list[Why | None] = []
    for name, wanted in (rule.match_args or {}).items():
        given = seen.call.arguments.get(name, _ABSENT)
        if same(given, wanted):
            whys.append(None)
            continue
        said = seen.words.get(name)
        if said is None:
            there = "is absent" if given is _ABSENT else f"was {shown(given)}"
            said = seen.words[name] = f"{field_place('args', name)} {there}"
        near = 0.0 if given is _ABSENT else likeness(given, wanted)
        whys.append(Why(f"{said}, wanted {shown(wanted)}", near))
    if rule.when is not None:
        fails = rule.when.holds(seen, None) is False
        whys.append(rule.when.why(seen, None) if fails else None)
    return whys


_ALMOST, _NOT_EVEN_ON = 0.99, 0.9
"""How near a rule came that is switched off and would have fired, and how much less near it came for being off."""


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
    tool_name, value = seen.call.tool_name, 0.0
    if rule.tool_name not in {tool_name, EVERY_TOOL}:
        reason = f"it applies to {rule.tool_name}, but this call was to {tool_name}"
        return Trial(rule_id=rule.rule_id, fired=False, reason=reason, nearness=0.0)

    def noted(of: InjectionRule) -> float:
        nonlocal value
        value = draw(of)
        return value

    misses = RuleVerdict([rule.model_copy(update={"enabled": True})], seen, noted).misses
    if misses:
        reason, nearness = misses[0].reason, misses[0].nearness
    else:
        chance = rule.enabled and rule.probability < 1
        drawn = f"; drew {value:.6g}, needed less than {rule.probability:g}" if chance else ""
        reason, nearness = f"all conditions hold{drawn}", 1.0 if rule.enabled else _ALMOST
    if not rule.enabled:
        reason, nearness = f"switched off; {reason}", nearness * _NOT_EVEN_ON
    return Trial(rule_id=rule.rule_id, fired=rule.enabled and not misses, reason=reason, nearness=nearness)
