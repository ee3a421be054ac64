"""Tests of the decision which injection answers a call."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from simulator.environment.draws import DrawStreams
from simulator.environment.rules import (
    CallContext,
    ErrorEffect,
    InjectionRule,
    ResponseEffect,
    Verdict,
    evaluate,
)
from simulator.jsonvalue import JsonObject

TOOLS = ("find", "pay")


def rule(rule_id: str, tool_name: str = "find", **fields: object) -> InjectionRule:
    """Make a rule that answers with its own id."""
    effect = {"kind": "response", "value": {"by": rule_id}}
    return InjectionRule.model_validate(
        {"rule_id": rule_id, "tool_name": tool_name, "effect": effect, **fields}
    )


def never(_: InjectionRule) -> float:
    """Stand for a draw that no call may make."""
    raise AssertionError("drew")


def fired(verdict: Verdict) -> str | None:
    """Name the rule that answered."""
    return verdict.fired.rule_id if verdict.fired else None


@pytest.mark.parametrize(
    ("wanted", "given_value"), [(1, True), (True, 1), (0, False), (False, 0.0), ([1], [True])]
)
def test_a_boolean_is_no_number(wanted: object, given_value: object) -> None:
    """ADK takes true for 1; here they are two values, also inside lists."""
    verdict = evaluate([rule("a", match_args={"x": wanted})], CallContext("find", {"x": given_value}), never)  # type: ignore[dict-item] # any JSON value
    assert fired(verdict) is None
    assert "wanted" in verdict.misses[0].reason


def test_numbers_match_by_value() -> None:
    """1 and 1.0 are one JSON number."""
    assert (
        fired(evaluate([rule("a", match_args={"x": 1})], CallContext("find", {"x": 1.0}), lambda _: 0.0))
        == "a"
    )


def test_an_empty_response_is_an_answer() -> None:
    """ADK refuses `{}`; here it fires like any other response."""
    empty = InjectionRule(rule_id="e", tool_name="find", effect=ResponseEffect(value={}))
    verdict = evaluate([empty], CallContext("find", {}), lambda _: 0.0)
    assert verdict.fired is not None
    assert isinstance(verdict.fired.effect, ResponseEffect)
    assert verdict.fired.effect.response() == {}


@pytest.mark.parametrize(
    "fields",
    [
        {"probability": 7},
        {"probability": -1},
        {"probability": float("nan")},
        {"latency_seconds": -0.1},
        {"latency_seconds": 121},
        {"latency_seconds": float("inf")},
        {"probabilty": 0.5},
        {"match_args": {"x": float("nan")}},
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused(fields: dict[str, Any]) -> None:
    """Probabilities beyond 0 to 1, negative or endless latency and misspelt fields never become a rule."""
    with pytest.raises(ValidationError):
        rule("a", **fields)


def test_an_edit_of_an_answer_stays_in_that_answer() -> None:
    """ADK hands its configuration out; here each answer is a copy, down to the last list."""
    source: JsonObject = {"items": [{"n": 1}]}
    effect = ResponseEffect(value=source)
    source["items"] = []
    first = effect.response()
    items = first["items"]
    assert isinstance(items, list)
    items.append("changed")
    assert effect.response() == {"items": [{"n": 1}]}


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
    assert [(miss.rule_id, miss.reason) for miss in verdict.misses] == [
        ("off", "switched off"),
        ("absent", "args.x is absent, wanted 1"),
        ("unequal", 'args.y was "Oslo", wanted "Rome"'),
        ("unlucky", "drew 0.25, needed less than 0.2"),
        ("late", "rule 'hit' answered before it was its turn"),
    ]
    assert fired(verdict) == "hit"
    assert verdict.drawn == ("unlucky", "hit")


class Session:
    """Folds the draws of each call as a session does, and keeps what each rule drew."""

    def __init__(self) -> None:
        self.streams = DrawStreams("session")
        self.drawn: dict[str, list[float]] = {}

    def call(self, rules: list[InjectionRule], tool_name: str, arguments: JsonObject) -> str | None:
        """Answer one call, and name the rule that did."""

        def draw(chosen: InjectionRule) -> float:
            value = self.streams.value(chosen, len(self.drawn.get(chosen.rule_id, ())))
            pending.append((chosen.rule_id, value))
            return value

        pending: list[tuple[str, float]] = []
        verdict = evaluate(rules, CallContext(tool_name, arguments), draw)
        assert tuple(name for name, _ in pending) == verdict.drawn
        for name, value in pending:
            self.drawn.setdefault(name, []).append(value)
        return fired(verdict)


_RULES = st.lists(
    st.builds(
        lambda tool, probability, seed: (tool, probability, seed),
        st.sampled_from(TOOLS),
        st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]),
        st.none() | st.integers(0, 3),
    ),
    min_size=1,
    max_size=5,
).map(
    lambda parts: [
        rule(f"r{i}", tool_name=tool, probability=probability, random_seed=seed)
        for i, (tool, probability, seed) in enumerate(parts)
    ]
)


@given(rules=_RULES, steps=st.lists(st.tuples(st.sampled_from(TOOLS), st.integers(0, 9)), max_size=40))
def test_a_switch_moves_no_other_rules_stream(
    rules: list[InjectionRule], steps: list[tuple[str, int]]
) -> None:
    """Whatever is switched between calls, each rule draws its own stream from the start with no gap.

    A step is a call, after the rule with that number (if there is one) was switched.
    """
    session, now = Session(), list(rules)
    for tool_name, switched in steps:
        now = [
            each.model_copy(update={"enabled": not each.enabled}) if i == switched else each
            for i, each in enumerate(now)
        ]
        session.call(now, tool_name, {})
    untouched = DrawStreams("session")
    for each in rules:
        values = session.drawn.get(each.rule_id, [])
        assert values == [untouched.value(each, n) for n in range(len(values))]


@given(rules=_RULES, calls=st.lists(st.tuples(st.sampled_from(TOOLS), st.booleans()), max_size=40))
def test_rules_for_one_tool_are_deaf_to_those_for_another(
    rules: list[InjectionRule], calls: list[tuple[str, bool]]
) -> None:
    """Switching every rule of `pay` between calls changes no answer of `find`."""
    toggled, plain = Session(), Session()
    for tool_name, enabled in calls:
        now = [
            each.model_copy(update={"enabled": enabled}) if each.tool_name == "pay" else each
            for each in rules
        ]
        answers = toggled.call(now, tool_name, {}), plain.call(rules, tool_name, {})
        if tool_name == "find":
            assert answers[0] == answers[1]


def test_an_error_has_adks_shape() -> None:
    """`error_code` and `error_message`, in that order."""
    effect = ErrorEffect(error_code=404, error_message="no such order")
    assert list(effect.response().items()) == [("error_code", 404), ("error_message", "no such order")]
