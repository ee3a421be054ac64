"""Makes rules ready to be judged for many calls: sorted by tool, their conditions compiled, their reasons prepared."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from pydantic import JsonValue

from simulator.base.json_values import same
from simulator.base.place_names import field_place
from simulator.environment.injection.compiled_conditions import Seen, Why, ready_condition
from simulator.environment.injection.conditions import likeness, shown
from simulator.environment.injection.injection import EVERY_TOOL, InjectionRule
from simulator.environment.injection.rule_effects import LETS_GO_ON, SequenceEffect
from simulator.environment.injection.rule_verdicts import Miss

_MOST_KEPT = 256
_ABSENT = object()

# How near a rule came that failed at each of the steps on its way to fire, at least.
_CONDITIONS, _NUMBER, _USED_UP, _DRAW = 0.8, 0.1, 0.9, 0.9


class Wanted:
    """An argument that is to have one value.

    Attributes:
        name: The argument's name.
        value: The value.
        plain: Whether `==` is enough to compare: nothing but a text equals a text, nothing but null equals null.
    """

    __slots__ = ("_place", "_words", "name", "plain", "value")

    def __init__(self, name: str, value: JsonValue) -> None:
        self.name, self.value = name, value
        self.plain = value is None or isinstance(value, str)
        self._place = field_place("args", name)
        self._words = f", wanted {shown(value)}"

    def why(self, seen: Seen) -> Why | None:
        """Say what is wrong with the argument, and how near it came; None where it is as wanted."""
        given = seen.call.arguments.get(self.name, _ABSENT)
        if given is _ABSENT:
            return Why(f"{self._place} is absent{self._words}", 0.0)
        if given == self.value if self.plain else same(given, self.value):
            return None
        words = seen.words.get(self.name)
        if words is None:
            words = seen.words[self.name] = f"{self._place} was {shown(given)}"
        return Why(words + self._words, likeness(given, self.value))


class ReadyRule:
    """One rule, ready to be judged.

    Attributes:
        wanted: What `match_args` asks for.
        condition: What `when` asks for.
        most: How often it can fire, where that has an end.
        asks_for_more: Whether it asks for anything beside `match_args` and the draw.
    """

    __slots__ = (
        "asks_for_more",
        "condition",
        "enabled",
        "lets_go_on",
        "most",
        "probability",
        "rule",
        "rule_id",
        "wanted",
    )

    def __init__(self, rule: InjectionRule) -> None:
        self.rule, self.rule_id = rule, rule.rule_id
        self.enabled, self.probability = rule.enabled, rule.probability
        self.wanted = tuple(Wanted(name, value) for name, value in (rule.match_args or {}).items())
        self.condition = ready_condition(rule.when) if rule.when is not None else None
        self.lets_go_on = rule.effect.kind in LETS_GO_ON
        ends = isinstance(rule.effect, SequenceEffect) and rule.effect.then == "pass"
        self.most = len(rule.effect.values) if ends and isinstance(rule.effect, SequenceEffect) else None
        self.asks_for_more = self.condition is not None or self.most is not None

    def number(self, seen: Seen) -> int:
        """Return the number of this call among those that the rule counts."""
        return seen.call.tally.counted.get(self.rule_id, 0) + 1

    def is_used_up(self, seen: Seen) -> bool:
        """Return whether the rule has fired as often as it can."""
        return self.most is not None and seen.call.tally.fired.get(self.rule_id, 0) >= self.most

    # ------------------------------------------------------------ why it did not fire

    def is_off(self) -> Miss:
        """Say that it is switched off."""
        return Miss(self.rule_id, "switched off")

    def comes_after(self, answered_by: str) -> Miss:
        """Say that another rule has answered."""
        return Miss(self.rule_id, f"rule {answered_by!r} answered first")

    def does_not_match(self, seen: Seen) -> Miss:
        """Say which of its conditions does not hold."""
        if self.condition is None and len(self.wanted) == 1 and (only := self.wanted[0].why(seen)):
            return Miss(self.rule_id, only.reason, _CONDITIONS * only.nearness)
        whys = [wanted.why(seen) for wanted in self.wanted]
        if self.condition is not None:
            fails = self.condition.holds(seen, None) is False
            whys.append(self.condition.why(seen, None) if fails else None)
        near = sum(1.0 if why is None else why.nearness for why in whys) / len(whys)
        reason = next(why.reason for why in whys if why is not None)
        return Miss(self.rule_id, reason, _CONDITIONS * near)

    def has_another_number(self, seen: Seen) -> Miss:
        """Say that the number of the call is not the one that it waits for."""
        if self.condition is None:
            raise ValueError(f"rule {self.rule_id!r} does not depend on the call number")
        why = self.condition.why(seen, self.number(seen))
        return Miss(self.rule_id, why.reason, _CONDITIONS + _NUMBER * why.nearness)

    def ran_out(self) -> Miss:
        """Say that its answers are used up."""
        answers = "its one response is" if self.most == 1 else f"its {self.most} responses are"
        return Miss(self.rule_id, f"{answers} used up", _USED_UP)

    def had_no_luck(self, value: float) -> Miss:
        """Say what it drew."""
        reason = f"drew {value:.6g}, needed less than {self.probability:g}"
        nearness = _DRAW + (1 - _DRAW) * (1 - value + self.probability) * 0.99
        return Miss(self.rule_id, reason, nearness)


class _Rules:
    """Rules that are looked up by which tuple they are, as comparing hundreds of them would take too long."""

    __slots__ = ("rules",)

    def __init__(self, rules: tuple[InjectionRule, ...]) -> None:
        self.rules = rules

    def __hash__(self) -> int:
        return id(self.rules)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rules) and other.rules is self.rules


class ReadyRules:
    """Rules in their order, ready to be judged, by tool."""

    def __init__(self, rules: Iterable[InjectionRule]) -> None:
        each = [ReadyRule(rule) for rule in rules]
        names = {ready.rule.tool_name for ready in each} - {EVERY_TOOL}
        self._for_others = tuple(ready for ready in each if ready.rule.tool_name == EVERY_TOOL)
        self._by_tool = {
            name: tuple(ready for ready in each if ready.rule.tool_name in {name, EVERY_TOOL})
            for name in names
        }

    def for_tool(self, tool_name: str) -> tuple[ReadyRule, ...]:
        """Return the rules for a tool."""
        return self._by_tool.get(tool_name, self._for_others)


def ready_rules(rules: Iterable[InjectionRule]) -> ReadyRules:
    """Make rules ready; those in a tuple, which cannot change, only once."""
    return _kept(_Rules(rules)) if isinstance(rules, tuple) else ReadyRules(rules)


@lru_cache(maxsize=_MOST_KEPT)
def _kept(same_rules: _Rules) -> ReadyRules:
    return ReadyRules(same_rules.rules)
