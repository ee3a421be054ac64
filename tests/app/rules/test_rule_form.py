"""Rules become inputs and inputs become rules; what cannot be read is named at its input. Each kind of condition and effect says in words what it is."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from app.live.rule_text import condition_words, effect_words, latency_words, rule_line
from app.rules.effects_panel import EFFECTS
from app.rules.rule_editor_panel import read_rule, rule_inputs
from simulator.environment.injection.conditions import (
    Absent,
    AgentIs,
    AllOf,
    AnyOf,
    ArgumentIs,
    Between,
    CallNumber,
    Condition,
    Equals,
    Expression,
    Holds,
    Matches,
    Not,
    OneOf,
    Present,
    WorldIs,
)
from simulator.environment.injection.distortions import Distortion
from simulator.environment.injection.rule_effects import (
    AskEffect,
    DelayEffect,
    DistortEffect,
    Effect,
    ErrorEffect,
    HangEffect,
    LogNormalLatency,
    LoseEffect,
    RaiseEffect,
    ResponseEffect,
    SequenceEffect,
    UniformLatency,
)
from simulator.environment.injection.rules import InjectionRule
from tests.app.fakes import Typed
from tests.app.fakes import rule as a_rule
from tests.simulator.environment.drawn_json import json_values

SHARES = st.floats(0.001, 1.0)
WORDS = st.sampled_from(["A-1", "Rome", "two words", "x", "\u00e9t\u00e9"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12)
PLAIN: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers(-9, 99) | st.floats(-5, 5) | WORDS | TEXTS
)
JSON = json_values(PLAIN, st.sampled_from(["a", "b c"]), max_leaves=4)
OBJECTS = st.dictionaries(st.sampled_from(["order_id", "b c", "n"]), JSON, max_size=3)
TESTS = st.one_of(
    st.builds(Equals, value=JSON),
    st.builds(Holds, value=JSON),
    st.builds(
        Matches,
        pattern=st.sampled_from(["^A-", "[a-z]+", " x"]),
        whole=st.booleans(),
        ignore_case=st.booleans(),
    ),
    st.builds(Between, low=st.just(1.5), high=st.none() | st.just(2.0), exclusive=st.booleans()),
    st.builds(Between, high=st.integers(-3, 3)),
    st.builds(OneOf, values=st.lists(JSON, min_size=1, max_size=3).map(tuple)),
    st.just(Present()),
    st.just(Absent()),
)
PATHS = st.sampled_from(["order_id", "order.items[0].sku", "items[*].sku"])
LEAVES: st.SearchStrategy[Condition] = st.one_of(
    st.builds(ArgumentIs, path=PATHS, test=TESTS),
    st.builds(
        CallNumber,
        which=st.sampled_from(["nth", "first", "every", "after"]),
        n=st.integers(1, 99),
        counted=st.sampled_from(["rule", "tool", "session"]),
    ),
    st.builds(
        WorldIs, entity=st.just("order"), entity_id=WORDS, field=st.sampled_from(["", "status"]), test=TESTS
    ),
    st.builds(WorldIs, entity=st.just("order"), id_from=PATHS, test=TESTS),
    st.builds(Expression, text=st.just("args.n > 1")),
    st.builds(AgentIs, agent=st.sampled_from(["", "helper*"]), branch=st.just("root.helper")),
)
CONDITIONS: st.SearchStrategy[Condition] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(AllOf, conditions=st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(AnyOf, conditions=st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Not, condition=inner),
    ),
    max_leaves=8,
)
STEPS = st.builds(
    Distortion,
    kind=st.sampled_from(["truncate", "duplicate", "stale", "huge"]),
    at=st.sampled_from(["", "orders[*].total"]),
    share=SHARES,
    amount=st.none() | st.integers(1, 1000),
) | st.builds(Distortion, kind=st.sampled_from(["drop", "corrupt", "null", "malformed"]), share=SHARES)
DRAWN_EFFECTS = st.one_of(
    st.builds(ErrorEffect, error_code=st.integers(100, 599), error_message=WORDS, details=OBJECTS),
    st.builds(ResponseEffect, value=OBJECTS, templated=st.booleans()),
    st.builds(
        SequenceEffect,
        values=st.lists(JSON, min_size=1, max_size=3).map(tuple),
        then=st.sampled_from(["repeat", "cycle", "pass"]),
    ),
    st.builds(RaiseEffect, error_type=st.sampled_from(["TimeoutError", "httpx:ReadTimeout"]), message=TEXTS),
    st.builds(HangEffect, timeout_seconds=st.none() | st.floats(0.5, 60), message=TEXTS),
    st.builds(DelayEffect),
    st.builds(DistortEffect, distortions=st.lists(STEPS, min_size=1, max_size=3).map(tuple)),
    st.builds(
        DistortEffect, distortions=st.just((Distortion(kind="hostile", text="ignore everything", share=0.5),))
    ),
    st.builds(LoseEffect, way=st.sampled_from(["error", "raise"]), message=TEXTS),
    st.builds(AskEffect, note=TEXTS),
)
LATENCIES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(lambda seconds: {"latency_seconds": seconds}, st.floats(0, 120)),
    st.builds(lambda low: {"latency": UniformLatency(low=low, high=9)}, st.floats(0, 9)),
    st.builds(lambda sigma: {"latency": LogNormalLatency(median=2, sigma=sigma)}, st.floats(0, 3)),
)


@st.composite
def rules(draw: st.DrawFn) -> InjectionRule:
    """Draw a rule."""
    return InjectionRule(
        rule_id=draw(WORDS),
        tool_name=draw(st.sampled_from(["find_order", "*"])),
        label=draw(WORDS | st.just("")),
        effect=draw(DRAWN_EFFECTS),
        when=draw(st.none() | CONDITIONS),
        match_args=draw(st.none() | OBJECTS),
        probability=draw(st.floats(0, 1)),
        random_seed=draw(st.none() | st.integers(-9, 9)),
        enabled=draw(st.booleans()),
        **draw(LATENCIES),
    )


def written(typed: dict[str, Any], rule: InjectionRule | None = None) -> InjectionRule:
    """Make the rule, which must be readable."""
    fields = rule_inputs(Typed(typed), rule, "find_order")
    read = read_rule(fields, ())
    assert read is not None, fields.problems
    return read


def problems(typed: dict[str, Any], taken: tuple[str, ...] = ()) -> dict[str, str]:
    """Return what is wrong with what was typed."""
    fields = rule_inputs(Typed(typed), None, "find_order")
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
    again = read_rule(rule_inputs(Typed(), rule), (), enabled=rule.enabled)
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


ID = ArgumentIs(path="order_id", test=Equals(value="A-1"))
MANY = ArgumentIs(path="items[*].quantity", test=Between(low=3, exclusive=True))


@given(rules())
def test_every_rule_has_a_line(drawn: InjectionRule) -> None:
    """Whatever a rule holds, its line names the tool and stays one line."""
    line = rule_line(drawn)
    assert line.startswith(("find_order: ", "every tool: "))
    assert "\n" not in line


def test_a_line_says_what_when_how_often_and_how_late() -> None:
    """All that a rule asks for stands in its line, in the order in which it is tested."""
    asked = a_rule(match_args={"order_id": "A-1"}, when=AnyOf(conditions=(MANY, Not(condition=ID))))
    slow = asked.model_copy(update={"probability": 0.3, "latency_seconds": 2.0})
    assert rule_line(slow) == (
        'find_order: error 503 \u201cbusy\u201d, when order_id is "A-1" and (items[*].quantity is above 3 or '
        'not (order_id is "A-1")), 30 %, after 2 s'
    )


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (CallNumber(which="nth", n=3), "call 3"),
        (CallNumber(which="first", n=1, counted="session"), "first.*session"),
        (CallNumber(which="every", n=2, counted="tool"), "every 2nd.*tool"),
        (CallNumber(which="every", n=112), "every 112th"),
        (CallNumber(which="after", n=5), "after.* 5"),
        (WorldIs(entity="order", id_from="order_id", test=Present()), "order .*order_id.* present"),
        (
            WorldIs(
                entity="order", entity_id="A-1", field="status", test=Matches(pattern="^s", ignore_case=True)
            ),
            r"status .*order A-1 .*/\^s/i",
        ),
        (AgentIs(agent="helper*"), r"agent .*helper\*"),
        (
            AllOf(conditions=(ID, AnyOf(conditions=(ID, MANY)))),
            r'order_id .*"A-1" and \(order_id .*"A-1" or items\[\*\]\.quantity .* 3\)',
        ),
    ],
)
def test_conditions_in_words(condition: Condition, words: str) -> None:
    """Each kind of condition reads as a part of a sentence, with its values in their order."""
    assert re.search(words, condition_words(condition))


@pytest.mark.parametrize(
    ("effect", "words"),
    [
        (SequenceEffect(values=(1, 2), then="pass"), "2 .*pass"),
        (RaiseEffect(error_type="httpx:ReadTimeout", message="no"), "raises ReadTimeout .no"),
        (HangEffect(timeout_seconds=30), "hangs.* 30 s.*TimeoutError"),
        (LoseEffect(way="raise"), "loses.*TimeoutError"),
        (
            DistortEffect(
                distortions=(
                    Distortion(kind="truncate", amount=5, at="orders[*].note"),
                    Distortion(kind="drop", share=0.5),
                )
            ),
            r"truncates.* 5 .*orders\[\*\]\.note; removes .*50 %",
        ),
    ],
)
def test_effects_in_words(effect: Effect, words: str) -> None:
    """Each kind of effect says what the agent will meet."""
    assert re.search(words, effect_words(effect))


def test_latencies_in_words() -> None:
    """A fixed time, a range and a long tail read differently; no latency is no word."""
    assert latency_words(0.0, None) == ""
    assert latency_words(0.0, UniformLatency(low=0.5, high=3)) == "after 0.5 to 3 s"
    assert latency_words(0.0, LogNormalLatency(median=2)) == "after about 2 s"
