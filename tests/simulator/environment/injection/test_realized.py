"""Tests of what a fired rule answers, and how long it takes."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, ValidationError

from simulator.environment.expressions.templates import TemplateError, variables_of
from simulator.environment.injection.realized_effects import (
    GivesError,
    GivesValue,
    PassesOn,
    Raises,
    Realized,
    answered,
    latency_of,
)
from simulator.environment.injection.rule_effects import (
    ErrorEffect,
    LatencySpread,
    LogNormalLatency,
    RaiseEffect,
    ResponseEffect,
    SequenceEffect,
    UniformLatency,
)
from simulator.environment.injection.rules import InjectionRule
from tests.simulator.base.rows import for_each

CALL = variables_of(args={"id": "o-7", "n": 2}, seed="s", call_number=3)
RAW = "{{ args.id }}"


def seeded(seed: int = 1) -> Random:
    """Return a stream of draws."""
    return Random(seed)  # noqa: S311 - a repeatable stream


def slow(latency: LatencySpread | None, seconds: float = 0.0) -> InjectionRule:
    """Make a rule of which only its latency matters."""
    effect = ResponseEffect(value={})
    return InjectionRule(rule_id="r", tool_name="t", effect=effect, latency=latency, latency_seconds=seconds)


@for_each(
    ("effect", "expected"),
    [
        (ResponseEffect(value={"id": RAW}), GivesValue(value={"id": RAW})),
        (ResponseEffect(value={"id": RAW, "n": "{{ args.n * 2 }}"}, templated=True), GivesValue(value={"id": "o-7", "n": 4})),
        (
            ErrorEffect(error_code=404, error_message=f"no {RAW}", details={"id": RAW}, templated=True),
            GivesError(
                error_code=404, error_message="no o-7", response={"error_code": 404, "error_message": "no o-7", "id": "o-7"}
            ),
        ),
        (
            ErrorEffect(error_code=404, error_message=RAW),
            GivesError(error_code=404, error_message=RAW, response={"error_code": 404, "error_message": RAW}),
        ),
        (RaiseEffect(error_type="KeyError", message=RAW, templated=True), Raises(error_type="KeyError", message="o-7")),
        (RaiseEffect(message="{{ args.n }}", templated=True), Raises(error_type="RuntimeError", message="2")),
        (RaiseEffect(message=RAW), Raises(error_type="RuntimeError", message=RAW)),
    ],
)  # fmt: skip
def test_an_effect_answers_with_its_templates_filled_in(
    effect: ErrorEffect | ResponseEffect | RaiseEffect, expected: Realized
) -> None:
    """What is templated is filled in from the call, and what is not is given as it stands."""
    assert answered(effect, CALL, 0) == expected


@for_each(
    ("then", "expected"),
    [
        ("repeat", ["a", 2, None, None, None]),
        ("cycle", ["a", 2, None, "a", 2]),
        ("pass", ["a", 2, None, ..., ...]),
    ],
)
def test_a_sequence_gives_one_value_after_the_other(then: str, expected: list[object]) -> None:
    """Values follow how often the rule fired; `then` says what follows the last."""
    effect = SequenceEffect.model_validate({"values": ["a", 2, None], "then": then})
    given_values = [answered(effect, CALL, n) for n in range(5)]
    assert [each.value if isinstance(each, GivesValue) else ... for each in given_values] == expected
    if then == "pass":
        last = given_values[-1]
        assert isinstance(last, PassesOn)
        assert "3 values" in last.reason


def test_an_answer_shares_nothing_with_its_rule() -> None:
    """Whoever changes an answer, or what the rule was made of, changes no later one."""
    value: dict[str, Any] = {"rows": [1]}
    effect = ResponseEffect(value=value)
    value["rows"] = []
    first = answered(effect, CALL, 0)
    assert isinstance(first, GivesValue)
    for given_value in (first.value, effect.response()):
        given_value["rows"].append(2)  # type: ignore[index, union-attr, call-overload] # it is an object
    assert answered(effect, CALL, 1) == GivesValue(value=effect.response()) == GivesValue(value={"rows": [1]})


@for_each(
    ("effect", "place"),
    [
        (ResponseEffect(value={"a": ["{{ args.x }}"]}, templated=True), "value.a[0]: expression 'args.x'"),
        (
            SequenceEffect(values=(1, {"a": "{{ args.x }}"}), templated=True),
            "values[1].a: expression 'args.x'",
        ),
        (
            ErrorEffect(error_code=1, error_message="{{ args.x }}", templated=True),
            "error_message: expression 'args.x'",
        ),
        (RaiseEffect(message="{{ args.x }}", templated=True), "message: expression 'args.x'"),
    ],
)
def test_a_template_without_a_value_names_its_place(
    effect: ErrorEffect | ResponseEffect | SequenceEffect | RaiseEffect, place: str
) -> None:
    """The error says where in the effect the expression stands."""
    with pytest.raises(TemplateError) as caught:
        answered(effect, CALL, 1)
    assert str(caught.value).startswith(place)


def test_templates_are_read_when_a_rule_is_made() -> None:
    """A broken template is known before the rule fires; without `templated` nothing is read."""
    broken: dict[str, JsonValue] = {"a": "{{ 1 + }}"}
    assert answered(ResponseEffect(value=broken), CALL, 0) == GivesValue(value=broken)
    with pytest.raises(ValidationError, match=r"value\.a: expression '1 \+': "):
        ResponseEffect(value=broken, templated=True)
    with pytest.raises(ValidationError, match=r"values\[0\]\.a: expression"):
        SequenceEffect(values=(broken,), templated=True)


@given(
    seed=st.integers(),
    latency=st.none()
    | st.builds(LogNormalLatency, median=st.floats(0.001, 120), sigma=st.floats(0, 3))
    | st.tuples(st.floats(0, 120), st.floats(0, 120)).map(
        lambda two: UniformLatency(low=min(two), high=max(two))
    ),
)
def test_a_latency_is_never_longer_than_two_minutes(seed: int, latency: LatencySpread | None) -> None:
    """Whatever is drawn lies within 0 and 120 seconds, and the same seed draws the same."""
    rule = slow(latency)
    seconds = latency_of(rule, seeded(seed))
    assert 0.0 <= seconds <= 120.0
    assert latency_of(rule, seeded(seed)) == seconds
    if isinstance(latency, UniformLatency):
        assert latency.low <= seconds <= latency.high


def test_latencies_follow_their_spread() -> None:
    """A fixed latency draws nothing; the median of a log-normal one is its median."""
    rng = seeded()
    assert latency_of(slow(None, 2.5), rng) == 2.5
    assert rng.random() == seeded().random()
    drawn = sorted(latency_of(slow(LogNormalLatency(median=2.0, sigma=0.5)), rng) for _ in range(2_001))
    assert 1.8 < drawn[1_000] < 2.2
    assert drawn[-1] > 5.0


def test_a_rule_cannot_have_fired_less_than_never() -> None:
    """A negative count is a mistake of the caller."""
    with pytest.raises(ValueError, match="-1 times"):
        answered(ResponseEffect(value={}), CALL, -1)
