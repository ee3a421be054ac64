"""Tests of trying rules against a call that was made."""

from __future__ import annotations

from typing import Any

from simulator.environment.injection.rule_call import CallContext, Tally
from simulator.environment.injection.rules import InjectionRule, explain


def rule(rule_id: str, tool_name: str = "find", **fields: Any) -> InjectionRule:
    """Make a rule that answers with an error."""
    effect = {"kind": "error", "error_code": 500, "error_message": rule_id}
    return InjectionRule.model_validate(
        {"rule_id": rule_id, "tool_name": tool_name, "effect": effect, **fields}
    )


def test_each_rule_is_tried_as_if_it_stood_alone() -> None:
    """None hides another, those for other tools and those that are off are told too, and the nearest comes first."""
    second = {"kind": "call_number", "which": "nth", "n": 2}
    used_up = {"kind": "sequence", "values": [1, 2], "then": "pass"}
    rules = [
        rule("other", tool_name="pay"),
        rule("city", match_args={"city": "Rome"}),
        rule("off", enabled=False),
        rule("off too", enabled=False, match_args={"city": "Rome"}),
        rule("hit"),
        rule("every", tool_name="*", probability=0.5),
        rule("unlucky", probability=0.3),
        rule("second", when=second),
        rule("empty", effect=used_up),
        rule("delay", effect={"kind": "delay"}),
    ]
    call = CallContext("find", {"city": "Oslo"}, tally=Tally(counted={"second": 3}, fired={"empty": 2}))
    trials = explain(rules, call, lambda _: 0.4)
    expected = [
        ("hit", True, "all conditions hold"),
        ("every", True, "drew 0.4, needed less than 0.5"),
        ("delay", True, "all conditions hold"),
        ("unlucky", False, "drew 0.4, needed less than 0.3"),
        ("empty", False, "2 responses"),
        ("off", False, "switched off"),
        ("second", False, "call 4 that matches since the rule was added, wanted call 2"),
        ("city", False, 'args.city was "Oslo", wanted "Rome"'),
        ("off too", False, 'switched off; args.city was "Oslo", wanted "Rome"'),
        ("other", False, "applies to pay, "),
    ]
    assert [(trial.rule_id, trial.fired) for trial in trials] == [each[:2] for each in expected]
    assert all(each[2] in trial.reason for trial, each in zip(trials, expected, strict=True))
    assert [trial.nearness for trial in trials] == sorted((t.nearness for t in trials), reverse=True)


def test_what_several_rules_ask_for_is_fetched_once() -> None:
    """However many are tried."""
    fetched: list[str] = []

    def world() -> dict[str, dict[str, Any]]:
        fetched.append("world")
        return {}

    when = {"kind": "world", "entity": "order", "entity_id": "1", "test": {"test": "present"}}
    explain([rule(f"r{n}", when=when) for n in range(5)], CallContext("find", {}, world=world), lambda _: 0.0)
    assert fetched == ["world"]
