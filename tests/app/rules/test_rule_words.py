"""The words of rules: each kind of condition and effect says what it is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from app.rules.rule_text import condition_words, effect_words, latency_words, rule_line
from simulator.environment.injection.conditions import (
    AgentIs,
    AllOf,
    AnyOf,
    ArgumentIs,
    Between,
    CallNumber,
    Condition,
    Equals,
    Matches,
    Not,
    Present,
    WorldIs,
)
from simulator.environment.injection.distortions import Distortion
from simulator.environment.injection.rule_effects import (
    DistortEffect,
    Effect,
    HangEffect,
    LogNormalLatency,
    LoseEffect,
    RaiseEffect,
    SequenceEffect,
    UniformLatency,
)
from simulator.environment.injection.rules import InjectionRule
from tests.app.fakes import rule
from tests.app.rules.rules_drawn import rules

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
    asked = rule(match_args={"order_id": "A-1"}, when=AnyOf(conditions=(MANY, Not(condition=ID))))
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
