"""Tests of the decision which injection answers a call."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, ValidationError

from simulator.environment.injection.rule_call import DrawStreams
from simulator.environment.injection.rules import (
    CallContext,
    InjectionRule,
    RuleVerdict,
    Tally,
    evaluate,
    nearest_first,
)
from tests.simulator.base.rows import for_each

TOOLS = ("find", "pay")
NTH = {"kind": "call_number", "which": "nth", "n": 2}


def rule(rule_id: str, tool_name: str = "find", **fields: object) -> InjectionRule:
    """Make a rule that answers with its own id."""
    effect = {"kind": "response", "value": {"by": rule_id}}
    return InjectionRule.model_validate(
        {"rule_id": rule_id, "tool_name": tool_name, "effect": effect, **fields}
    )


def never(_: InjectionRule) -> float:
    """Stand for a draw that no call may make."""
    raise AssertionError("drew")


def fired(verdict: RuleVerdict) -> str | None:
    """Name the rule that answered."""
    return verdict.fired.rule_id if verdict.fired else None


@for_each(
    ("wanted", "there", "fits"),
    [(1, True, False), (True, 1, False), (0, False, False), (False, 0.0, False), ([1], [True], False), (1, 1.0, True)],
)  # fmt: skip
def test_numbers_match_by_value_and_a_boolean_is_none(wanted: object, there: JsonValue, fits: bool) -> None:
    """1 and 1.0 are one JSON number. ADK takes true for 1; here they are two values, also inside lists."""
    verdict = evaluate(
        [rule("a", match_args={"x": wanted})], CallContext("find", {"x": there}), lambda _: 0.0
    )
    assert bool(verdict.fired) is fits
    assert fits or "wanted" in verdict.misses[0].reason


@for_each(
    "fields",
    [
        {"probability": -1},
        {"probability": float("nan")},
        {"latency_seconds": -0.1},
        {"latency_seconds": 121},
        {"latency_seconds": float("inf")},
        {"match_args": {"x": float("nan")}},
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused(fields: dict[str, Any]) -> None:
    """Probabilities beyond 0 to 1 and negative or endless latency never become a rule."""
    with pytest.raises(ValidationError):
        rule("a", **fields)


def test_arguments_that_json_cannot_hold_are_a_miss_not_a_crash() -> None:
    """A model's NaN is shown in the reason, and a long argument is cut."""
    rules = [rule("a", match_args={"x": 1})]
    assert "nan" in evaluate(rules, CallContext("find", {"x": float("nan")}), never).misses[0].reason
    assert len(evaluate(rules, CallContext("find", {"x": "y" * 10_000}), never).misses[0].reason) < 200


def test_each_rule_that_did_not_answer_says_why() -> None:
    """Switched off, absent, unequal, unlucky and too late are told apart."""
    rules = [
        rule("off", enabled=False),
        rule("absent", match_args={"x": 1}),
        rule("unequal", match_args={"y": "Rome"}),
        rule("unlucky", probability=0.2),
        rule("other", tool_name="pay"),
        rule("hit"),
        rule("late"),
    ]
    verdict = evaluate(rules, CallContext("find", {"y": "Oslo"}), lambda _: 0.25)
    reasons = [
        ("off", "switched off"),
        ("absent", "args.x is absent, wanted 1"),
        ("unequal", 'args.y was "Oslo", wanted "Rome"'),
        ("unlucky", "drew 0.25, needed less than 0.2"),
        ("late", "rule 'hit' answered"),
    ]
    assert [miss.rule_id for miss in verdict.misses] == [rule_id for rule_id, _ in reasons]
    for miss, (_, reason) in zip(verdict.misses, reasons, strict=True):
        assert miss.reason.startswith(reason)
    assert fired(verdict) == "hit"
    assert verdict.drawn == ("unlucky", "hit")
    nearest = [miss.rule_id for miss in nearest_first(verdict.misses)]
    assert nearest == ["unlucky", "unequal", "off", "absent", "late"]


# ---------------------------------------------------------------- counters, sequences, and rules that let a call go on


@dataclass(frozen=True)
class Plain:
    """A rule for the model below: which argument it wants, which of its calls, how often it can fire, and what it does."""

    tool: str
    wanted: int | None
    number: tuple[str, int] | None
    values: int | None
    goes_on: bool
    probability: float
    enabled: bool

    def rule(self, rule_id: str) -> InjectionRule:
        """Make the rule."""
        effect: dict[str, Any] = {"kind": "lose"} if self.goes_on else {"kind": "ask"}
        if self.values is not None and not self.goes_on:
            effect = {"kind": "sequence", "values": list(range(self.values)), "then": "pass"}
        when: list[dict[str, Any]] = []
        if self.wanted is not None:
            test = {"test": "equals", "value": self.wanted}
            when.append({"kind": "argument", "path": "x", "test": test})
        if self.number is not None:
            when.append({"kind": "call_number", "which": self.number[0], "n": self.number[1]})
        return rule(
            rule_id,
            self.tool,
            effect=effect,
            when={"kind": "all_of", "conditions": when} if when else None,
            probability=self.probability,
            enabled=self.enabled,
        )


_PLAIN = st.builds(
    Plain,
    tool=st.sampled_from([*TOOLS, "*"]),
    wanted=st.none() | st.integers(0, 1),
    number=st.none() | st.tuples(st.sampled_from(["nth", "first", "every", "after"]), st.integers(1, 3)),
    values=st.none() | st.integers(1, 3),
    goes_on=st.booleans(),
    probability=st.sampled_from([0.0, 0.5, 1.0]),
    enabled=st.sampled_from([True, True, True, False]),
)


class Model:
    """Says what has to happen, rule by rule, with plain counters."""

    def __init__(self, rules: list[Plain], streams: DrawStreams) -> None:
        self.rules, self.streams = rules, streams
        self.counted, self.drawn, self.fired = Counter[str](), Counter[str](), Counter[str]()

    def switch(self, number: int) -> None:
        """Switch a rule on or off, if there is one with this number."""
        self.rules = [
            replace(plain, enabled=plain.enabled is not (i == number)) for i, plain in enumerate(self.rules)
        ]

    def call(self, tool: str, x: int) -> tuple[list[str], list[str]]:
        """Return the rules that fire for a call, and those that do not."""
        hits: list[str] = []
        misses: list[str] = []
        for i, plain in enumerate(self.rules):
            name = f"r{i}"
            if plain.tool not in {tool, "*"}:
                continue
            ended = hits and not self.rules[int(hits[-1][1:])].goes_on
            if not ended and self._fires(name, plain, x):
                hits.append(name)
            else:
                misses.append(name)
        self.fired.update(hits)
        return hits, misses

    def _fires(self, name: str, plain: Plain, x: int) -> bool:
        if not plain.enabled or plain.wanted not in {None, x}:
            return False
        self.counted[name] += 1
        if plain.number is not None:
            which, n = plain.number
            this = self.counted[name]
            if not {"nth": this == n, "first": this <= n, "every": this % n == 0, "after": this > n}[which]:
                return False
        if plain.values is not None and not plain.goes_on and self.fired[name] >= plain.values:
            return False
        self.drawn[name] += 1
        value = self.streams.value(plain.rule(name), self.drawn[name] - 1)
        return value < plain.probability


@given(
    plain=st.lists(_PLAIN, min_size=1, max_size=6),
    calls=st.lists(
        st.tuples(st.sampled_from([*TOOLS, "other"]), st.integers(0, 1), st.integers(0, 12)), max_size=20
    ),
)
def test_rules_do_what_a_plain_model_says(plain: list[Plain], calls: list[tuple[str, int, int]]) -> None:
    """Over a session: the same rules fire, the same count and draw, and each of the others says why it did not.

    Before a call the rule with its last number, if there is one, is switched: that moves no other rule's stream.
    """
    model = Model(list(plain), DrawStreams("session"))
    counted, drawn, times_fired = Counter[str](), Counter[str](), Counter[str]()
    for tool, x, switched in calls:
        model.switch(switched)
        rules = tuple(each.rule(f"r{i}") for i, each in enumerate(model.rules))
        tally = Tally(drawn=dict(drawn), counted=dict(counted), fired=dict(times_fired))
        verdict = evaluate(
            rules,
            CallContext(tool, {"x": x}, tally=tally),
            lambda each: model.streams.value(each, drawn[each.rule_id]),
        )
        hits = [each.rule_id for each in (*verdict.modifiers, *([verdict.fired] if verdict.fired else []))]
        expected, misses = model.call(tool, x)
        assert (hits, [each.rule_id for each in verdict.misses]) == (expected, misses)
        for counter, names in ((counted, verdict.counted), (drawn, verdict.drawn), (times_fired, hits)):
            assert len(set(names)) == len(names)
            counter.update(names)
        assert (counted, drawn) == (model.counted, model.drawn)


def test_a_counter_moves_with_calls_that_only_the_number_holds_back() -> None:
    """Also where the number stands among other conditions, and not where another condition fails."""
    either = {"kind": "any_of", "conditions": [{"kind": "agent", "agent": "a"}, NTH]}
    both = {"kind": "all_of", "conditions": [{"kind": "agent", "agent": "a"}, NTH]}
    rules = (
        rule("either", when=either),
        rule("both", when=both),
        rule("not", when={"kind": "not", "condition": NTH}),
    )
    verdict = evaluate(rules, CallContext("find", {}, agent="b"), lambda _: 0.0)
    assert verdict.counted == ("either", "not")
    assert fired(verdict) == "not"
    assert fired(evaluate(rules, CallContext("find", {}, agent="a"), lambda _: 0.0)) == "either"
    both_now = evaluate(
        rules[1:2], CallContext("find", {}, agent="a", tally=Tally(counted={"both": 1})), lambda _: 0.0
    )
    assert fired(both_now) == "both"


def test_rules_that_change_are_judged_as_they_are() -> None:
    """What was made ready for one tuple of rules is not used for another, nor for a list that changes."""
    call = CallContext("find", {})
    first = (rule("a"),)
    assert fired(evaluate(first, call, lambda _: 0.0)) == "a"
    assert fired(evaluate((first[0].model_copy(update={"enabled": False}),), call, lambda _: 0.0)) is None
    changing = [rule("a")]
    assert fired(evaluate(changing, call, lambda _: 0.0)) == "a"
    changing[0] = rule("b")
    assert fired(evaluate(changing, call, lambda _: 0.0)) == "b"


COSTLY = "(['ab'] * 99999) | select('in', 'b' * 999999) | list | length == 0"
SLOW = "range(99999) | map('string') | map('upper') | list | length > 0"


def asks(rule_id: str, text: str) -> InjectionRule:
    """Make a rule that fires where an expression is true."""
    return rule(rule_id, when={"kind": "expression", "text": text})


def test_a_costly_rule_is_skipped_with_the_reason_and_the_next_one_answers() -> None:
    """What takes too much work counts as a rule in error, whether or not it is negated, and holds nobody up."""
    negated = {"kind": "not", "condition": {"kind": "expression", "text": COSTLY}}
    rules = (
        asks("costly", COSTLY),
        rule("negated", when=negated),
        asks("slow", SLOW),
        asks("plain", "1 == 1"),
    )
    verdict = evaluate(rules, CallContext("find", {}), lambda _: 0.0)
    assert fired(verdict) == "plain"
    told = {miss.rule_id: miss.reason for miss in verdict.misses}
    assert set(told) == {"costly", "negated", "slow"}
    assert all("it takes " in reason for reason in told.values())


def test_one_rule_has_one_budget_and_all_rules_of_a_call_share_their_time() -> None:
    """Fifty conditions of one rule leave the next rule its time; after ten slow rules there is none left for another."""
    slow = {"kind": "expression", "text": SLOW}
    many = rule("many", when={"kind": "any_of", "conditions": [slow] * 50})
    light = asks("light", "range(300) | map('string') | list | length > 0")
    assert fired(evaluate((many, light), CallContext("find", {}), lambda _: 0.0)) == "light"
    ten = tuple(asks(f"slow {number}", SLOW) for number in range(10))
    assert fired(evaluate((*ten, light), CallContext("find", {}), lambda _: 0.0)) is None
