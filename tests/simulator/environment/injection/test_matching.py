"""Tests of what a rule can ask of a call, and of how it says that it was not so."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from simulator.environment.injection.conditions import Condition
from simulator.environment.injection.injection import InjectionRule
from simulator.environment.injection.rule_call import CallContext, Tally
from simulator.environment.injection.rules import Miss, evaluate
from tests.simulator.base.rows import for_each

ARGUMENTS: dict[str, Any] = {
    "city": "Oslo",
    "n": 3,
    "flag": True,
    "none": None,
    "a.b": "dotted",
    "order": {"id": "A-1", "items": [{"sku": "X-1", "n": 2}, {"sku": "Y-2", "n": 5}]},
    "ids": ["A-1", "A-9"],
}
WORLD: dict[str, Any] = {
    "orders": {"A-1": {"status": "open", "lines": [{"n": 4}]}, "A-2": {"status": "paid"}},
}


def call(**more: Any) -> CallContext:
    """Make a call of `find` as the fourth of its tool and the tenth of the session."""
    fields: dict[str, Any] = {
        "agent": "helper_2",
        "branch": "root.helper_2",
        "tally": Tally(tool_calls=3, session_calls=9),
        "world": lambda: WORLD,
        "state": lambda: {"user": {"tier": "gold"}},
        "calls": lambda: [{"arguments": {"n": 1}, "response": {"ok": True}}],
    }
    return CallContext("find", ARGUMENTS, **{**fields, **more})


def rule(when: object, rule_id: str = "r", **fields: Any) -> InjectionRule:
    """Make a rule that waits for a condition."""
    return InjectionRule.model_validate(
        {"rule_id": rule_id, "tool_name": "find", "effect": {"kind": "delay"}, "when": when, **fields}
    )


def miss(when: object, of: CallContext | None = None) -> Miss | None:
    """Return the miss of a rule, or None where it fires; the opposite condition has to do the opposite."""
    verdict = evaluate([rule(when)], of or call(), lambda _: 0.0)
    opposite = evaluate([rule({"kind": "not", "condition": when})], of or call(), lambda _: 0.0)
    assert bool(verdict.modifiers) is not bool(opposite.modifiers)
    for each in (*verdict.misses, *opposite.misses):
        assert 0.0 <= each.nearness < 1.0
        assert each.reason
    return verdict.misses[0] if verdict.misses else None


def argument(path: str, test: str, **fields: object) -> dict[str, object]:
    """Write a condition on an argument."""
    return {"kind": "argument", "path": path, "test": {"test": test, **fields}}


def world(test: str, entity: str = "order", **fields: object) -> dict[str, object]:
    """Write a condition on the world."""
    where: dict[str, object] = {
        name: fields.pop(name) for name in ("entity_id", "id_from", "field") if name in fields
    }
    return {"kind": "world", "entity": entity, **where, "test": {"test": test, **fields}}


def number(which: str, n: int, counted: str) -> dict[str, object]:
    """Write a condition on the call's number."""
    return {"kind": "call_number", "which": which, "n": n, "counted": counted}


HOLDING = [
    argument("city", "equals", value="Oslo"),
    argument("n", "equals", value=3.0),
    argument("order.items[0].sku", "equals", value="X-1"),
    argument("order.items[-1].sku", "equals", value="Y-2"),
    argument("order.items[*].sku", "equals", value="Y-2"),
    argument('["a.b"]', "equals", value="dotted"),
    argument("order", "holds", value={"items": [{"sku": "Y-2"}, {"n": 2}]}),
    argument("city", "matches", pattern="^osl", ignore_case=True),
    argument("order.id", "matches", pattern=r"[A-Z]-\d", whole=True),
    argument("n", "between", low=3, high=3),
    argument("n", "between", high=3.5, exclusive=True),
    argument("order.items[*].n", "between", low=5),
    argument("city", "one_of", values=["Rome", "Oslo"]),
    argument("none", "present"),
    argument("order.nothing", "absent"),
    argument("order.items[2]", "absent"),
    world("equals", id_from="order.id", field="status", value="open"),
    world("equals", id_from="ids", field="status", value="open"),
    world("between", id_from="ids[*]", field="lines[*].n", low=4),
    world("present", entity_id="A-1"),
    world("absent", entity_id="A-9"),
    world("absent", entity_id="A-1", field="nothing"),
    world("absent", entity="nothing", entity_id="A-1"),
    {"kind": "expression", "text": "args.n > 2 and state.user.tier == 'gold'"},
    {"kind": "expression", "text": "world.orders[args.order.id].status == 'open' and calls | length == 1"},
]


@for_each("when", HOLDING)
def test_a_condition_that_holds_lets_the_rule_fire(when: dict[str, object]) -> None:
    """And its opposite does not."""
    assert miss(when) is None


FAILING = [
    (argument("city", "equals", value="Rome"), 'args.city was "Oslo", wanted "Rome"'),
    (argument("n", "equals", value=True), "args.n was 3, wanted true"),
    (argument("flag", "equals", value=1), "args.flag was true, wanted 1"),
    (argument("nothing", "equals", value=None), "args.nothing is absent, wanted null"),
    (argument("order.items[*].sku", "equals", value="Z"), 'args.order.items[0].sku was "X-1", wanted "Z" (closest of 2)'),
    (argument("order.items[*].n", "equals", value=6), "args.order.items[1].n was 5, wanted 6 (closest of 2)"),
    (argument('["a.b"]', "one_of", values=[1]), 'args["a.b"] was "dotted", wanted one of [1]'),
    (argument("order.items", "holds", value=[{"sku": "X-1", "n": 5}]), 'wanted something that contains [{"n":5,"sku":"X-1"}]'),
    (argument("n", "matches", pattern="3"), 'args.n was 3, wanted a text that matches "3"'),
    (argument("city", "matches", pattern="sl", whole=True), 'args.city was "Oslo", wanted a text that fully matches "sl"'),
    (argument("n", "between", low=3, exclusive=True), "args.n was 3, wanted a number above 3"),
    (argument("n", "between", high=2), "args.n was 3, wanted a number of at most 2"),
    (argument("n", "between", low=4, high=5, exclusive=True), "wanted a number from 4 to 5, exclusive"),
    (argument("flag", "between", low=0), "args.flag was true, wanted a number of at least 0"),
    (argument("order.nothing", "present"), "args.order.nothing is absent"),
    (argument("none", "absent"), "args.none was null, wanted none"),
]  # fmt: skip


@for_each(("when", "reason"), FAILING)
def test_a_condition_that_does_not_hold_says_why(when: dict[str, object], reason: str) -> None:
    """What was there, where, and what was wanted; and its opposite holds."""
    found = miss(when)
    assert found is not None
    assert reason in found.reason


SLOW = argument("text", "matches", pattern="^(a|aa)+$")


def slow_call() -> CallContext:
    """Make a call with a text that some patterns never come to an end with."""
    return CallContext("find", {"text": "a" * 80 + "b", "n": 1})


def test_a_catastrophic_pattern_is_a_miss_that_says_so() -> None:
    """Negated too; another way may hold; and a hundred such rules do not add up."""
    reason = 'args.text: the pattern "^(a|aa)+$" took too long'
    for when in (SLOW, {"kind": "not", "condition": SLOW}):
        verdict = evaluate([rule(when)], slow_call(), lambda _: 0.0)
        assert verdict.modifiers == ()
        assert verdict.misses[0].reason == reason
    other = {"kind": "any_of", "conditions": [SLOW, argument("n", "equals", value=1)]}
    assert evaluate([rule(other)], slow_call(), lambda _: 0.0).modifiers
    many = evaluate([rule(SLOW, f"r{number}") for number in range(100)], slow_call(), lambda _: 0.0)
    assert many.modifiers == ()
    assert "not tried" in many.misses[-1].reason


@for_each(
    ("when", "complaint"),
    [
        (argument("a", "matches", pattern="("), "'(' cannot"),
        (argument("a", "matches", pattern="((a{1000}){1000}){1000}"), "repeats too much"),
        (argument("a", "matches", pattern="(?x)(a{1000}) {1000}"), "repeats too much"),
        (argument("a", "matches", pattern="(" * 499 + ")" * 499), "nested too deeply"),
        (argument("a", "matches", pattern="a" * 8001), "at most 8000 characters"),
        (argument("a[", "present"), "path 'a['"),
        (argument("", "present"), "at least 1 character"),
        (argument("a", "between"), "low and high"),
        (argument("a", "between", low=2, high=1), "low is 2"),
        (argument("a", "one_of", values=[]), "at least 1 item"),
        (world("present"), "entity_id or id_from"),
        (world("present", id_from="a..b"), "path 'a..b'"),
        (world("present", entity_id="a", field="["), "path '['"),
        ({"kind": "agent"}, "agent and branch"),
        ({"kind": "expression", "text": "1 +"}, "expression '1 +'"),
        ({"kind": "expression", "text": "arguments.n > 1"}, "unknown name arguments"),
        ({"kind": "any_of", "conditions": []}, "at least 1 item"),
        (number("nth", 0, "rule"), "equal to 1"),
    ],
)
def test_a_condition_that_cannot_be_meant_is_refused_when_it_is_made(
    when: dict[str, object], complaint: str
) -> None:
    """Never only at the call that it was made for."""
    with pytest.raises(ValidationError, match=re.escape(complaint)):
        TypeAdapter(Condition).validate_python(when)


def test_what_no_condition_asks_for_is_not_fetched() -> None:
    """And what several ask for is fetched once."""
    fetched: list[str] = []

    def noting(name: str, value: Any) -> Callable[[], Any]:
        def fetch() -> Any:
            fetched.append(name)
            return value

        return fetch

    watched = call(world=noting("world", WORLD), state=noting("state", {}), calls=noting("calls", []))
    asks = world("present", entity_id="A-9")
    for when in (
        argument("n", "present"),
        {"kind": "expression", "text": "args.n == 3 and agent"},
        {"kind": "all_of", "conditions": [argument("x", "present"), asks]},
    ):
        evaluate([rule(when)], watched, lambda _: 0.0)
    assert fetched == []
    text = {"kind": "expression", "text": "world and state == {} and calls | length == 1"}
    verdict = evaluate([rule(asks, "a"), rule(asks, "b"), rule(text, "c")], watched, lambda _: 0.0)
    assert len(verdict.misses) == 3
    assert sorted(fetched) == ["calls", "state", "world"]
