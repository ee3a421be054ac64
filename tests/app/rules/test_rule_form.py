"""Rules become inputs and inputs become rules; what cannot be read is named at its input."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from pydantic import JsonValue

from app.rules.effect_form import EFFECTS
from app.rules.rule_form import read_rule, rule_fields
from simulator.environment.injection.conditions import (
    AllOf,
    AnyOf,
    ArgumentIs,
    Condition,
    Equals,
    Expression,
    Not,
    OneOf,
)
from simulator.environment.injection.rule_effects import (
    DistortEffect,
    Effect,
    ErrorEffect,
    LogNormalLatency,
    SequenceEffect,
)
from simulator.environment.injection.rules import InjectionRule
from tests.app.fakes import rule as a_rule
from tests.app.rules.rules_drawn import rules


class Typed(dict[str, Any]):
    """What was typed, by the name of the input."""

    def value(self, name: str, initial: JsonValue = None) -> Any:
        """Return what was typed, else `initial`."""
        return self.get(name, initial)


def written(typed: dict[str, Any], rule: InjectionRule | None = None) -> InjectionRule:
    """Make the rule, which must be readable."""
    fields = rule_fields(Typed(typed), rule, "find_order")
    read = read_rule(fields, ())
    assert read is not None, fields.problems
    return read


def problems(typed: dict[str, Any], taken: tuple[str, ...] = ()) -> dict[str, str]:
    """Return what is wrong with what was typed."""
    fields = rule_fields(Typed(typed), None, "find_order")
    assert read_rule(fields, taken) is None
    return fields.problems


def test_each_kind_of_effect_has_its_inputs() -> None:
    """Whatever a rule can do, the editor offers."""
    union, _ = get_args(Effect)
    assert set(EFFECTS) == {model.model_fields["kind"].default for model in get_args(union)}


def _meant(condition: Condition, *, root: bool = True) -> Condition:
    """Return a condition with no group of one at its root, which means the same without."""
    if root and isinstance(condition, AllOf | AnyOf) and len(condition.conditions) == 1:
        return condition.conditions[0]
    return condition


@given(rules())
def test_nothing_of_a_rule_is_lost_in_the_editor(rule: InjectionRule) -> None:
    """Opened and saved without a change, a rule of any kind means the same to the last digit."""
    again = read_rule(rule_fields(Typed(), rule), (), enabled=rule.enabled)
    expected = rule.model_copy(update={"when": _meant(rule.when) if rule.when else None})
    assert again == expected


def test_a_new_rule_needs_no_more_than_a_tool() -> None:
    """What nobody touched is an error 503 for each call of the tool; without a name the rule gets one."""
    rule = written({})
    assert rule == InjectionRule(
        rule_id="find_order-1",
        tool_name="find_order",
        effect=ErrorEffect(error_code=503, error_message="Service unavailable"),
    )


def test_conditions_are_read_as_they_stand_in_their_groups() -> None:
    """Rows of the root and of a group inside of it, with a switched row, make the condition that they show."""
    rule = written(
        {
            "c0.kind": "any_of",
            "c0:rows": [1, 2],
            "c1.path": "order_id",
            "c1.value": "A-1",
            "c1.not": True,
            "c2.kind": "all_of",
            "c2:rows": [3, 4],
            "c3.path": "city",
            "c3.test": "one_of",
            "c3.values": "Rome\n\nOslo ",
            "c4.kind": "expression",
            "c4.text": "args.n > 1",
        }
    )
    asked = ArgumentIs(path="order_id", test=Equals(value="A-1"))
    city = ArgumentIs(path="city", test=OneOf(values=("Rome", "Oslo")))
    inner = AllOf(conditions=(city, Expression(text="args.n > 1")))
    assert rule.when == AnyOf(conditions=(Not(condition=asked), inner))


@pytest.mark.parametrize(
    ("kind", "typed", "value"),
    [("text", "12", "12"), ("number", "12", 12), ("boolean", "true", True), ("json", "[1]", [1])],
)
def test_a_value_is_of_the_type_that_was_chosen(kind: str, typed: str, value: JsonValue) -> None:
    """The same letters are a text or a number, as the person says."""
    rule = written({"c0:rows": [1], "c1.path": "n", "c1.as": kind, "c1.value": typed})
    assert rule.when == ArgumentIs(path="n", test=Equals(value=value))


@pytest.mark.parametrize(
    ("typed", "field", "words"),
    [
        ({"tool": " "}, "tool", "Choose a tool"),
        ({"name": "taken"}, "name", "Another rule"),
        ({"seed": "x"}, "seed", "whole number"),
        ({"match": "{'a': 1}"}, "match", "Line 1, column 2"),
        ({"chance": None}, "chance", "0 to 100"),
        ({"error.message": ""}, "error.message", "Enter the message"),
        ({"error.details": "[1]"}, "error.details", "JSON object"),
        ({"e.kind": "response", "response.value": "{"}, "response.value", "Line 1"),
        ({"e.kind": "sequence", "s1.value": "nope"}, "s1.value", "JSON value"),
        ({"e.kind": "sequence", "s:rows": []}, "sequence.then", "at least one"),
        ({"e.kind": "raise", "raise.type": "not a name"}, "raise.type", "such as TimeoutError"),
        ({"e.kind": "distort", "d0.share": 0.0}, "d0.share", "greater than 0"),
        ({"l.kind": "uniform", "l.low": 5.0}, "l.low", "above high"),
        ({"l.kind": "fixed", "l.seconds": 500.0}, "l.seconds", "0 to 120"),
        ({"c0:rows": [1]}, "c1.path", "Enter an argument"),
        (
            {"c0:rows": [1], "c1.path": "n", "c1.as": "number", "c1.value": "many"},
            "c1.value",
            "number",
        ),
        ({"c0:rows": [1], "c1.path": "n", "c1.as": "number", "c1.value": ""}, "c1.value", "Enter a value"),
        ({"c0:rows": [1], "c1.path": "n", "c1.test": "between"}, "c1.low", "Enter a minimum"),
        ({"c0:rows": [1], "c1.kind": "any_of"}, "c1.kind", "empty"),
        ({"c0:rows": [1], "c1.kind": "agent"}, "c1.agent", "both empty"),
        ({"c0:rows": [1], "c1.kind": "world", "c1.entity": "order"}, "c1.id_from", "Enter the argument"),
        ({"c0:rows": [1], "c1.kind": "json", "c1.json": '{"kind": "no"}'}, "c1.json", "kind"),
    ],
)
def test_what_cannot_be_read_is_named_at_its_input(typed: dict[str, Any], field: str, words: str) -> None:
    """One mistake is one problem, at the input where it was made, in words; all that are made are named at once."""
    found = problems(typed, taken=("taken",))
    assert list(found) == [field]
    assert words in found[field]
    others = {
        key: text for key, text in {"seed": "x", "match": "[", "chance": None}.items() if key not in typed
    }
    assert problems({**typed, **others}, taken=("taken",)).keys() == {field, *others}


def test_only_what_counts_is_read() -> None:
    """Only the inputs of the chosen effect; rows in their order, whatever their numbers; a chance as it was typed, not in its hidden digits."""
    rule = written({"e.kind": "distort", "error.message": "", "l.kind": "log_normal"})
    assert isinstance(rule.effect, DistortEffect)
    assert rule.latency == LogNormalLatency(median=1.0)
    rule = written({"e.kind": "sequence", "s:rows": [2, 0], "s2.value": "1", "s0.value": '"two"'})
    assert rule.effect == SequenceEffect(values=(1, "two"))
    old = a_rule(probability=1 / 3)
    assert [written(typed, old).probability for typed in ({}, {"chance": 50.0})] == [1 / 3, 0.5]
