"""Tests of what a fired rule answers, and how long it takes."""

from __future__ import annotations

import random
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, ValidationError

from simulator.environment.expressions.expressions import TemplateError, variables_of
from simulator.environment.injection.rule_call import DrawStreams
from simulator.environment.injection.rule_effects import (
    AnsweringEffect,
    ErrorEffect,
    GivesValue,
    LatencySpread,
    LogNormalLatency,
    PassesOn,
    RaiseEffect,
    Realized,
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


@for_each(
    ("effect", "expected"),
    [
        (ResponseEffect(value={"id": RAW}), GivesValue(value={"id": RAW})),
        (ResponseEffect(value={"id": RAW, "n": "{{ args.n * 2 }}"}, templated=True), GivesValue(value={"id": "o-7", "n": 4})),
        (
            ErrorEffect(error_code=404, error_message=f"no {RAW}", details={"id": RAW}, templated=True),
            ErrorEffect(error_code=404, error_message="no o-7", details={"id": "o-7"}),
        ),
        (
            ErrorEffect(error_code=404, error_message=RAW),
            ErrorEffect(error_code=404, error_message=RAW),
        ),
        (RaiseEffect(error_type="KeyError", message=RAW, templated=True), RaiseEffect(error_type="KeyError", message="o-7")),
        (RaiseEffect(message="{{ args.n }}", templated=True), RaiseEffect(error_type="RuntimeError", message="2")),
        (RaiseEffect(message=RAW), RaiseEffect(error_type="RuntimeError", message=RAW)),
    ],
)  # fmt: skip
def test_an_effect_answers_with_its_templates_filled_in(effect: AnsweringEffect, expected: Realized) -> None:
    """What is templated is filled in from the call, and what is not is given as it stands."""
    assert effect.answered(CALL, 0) == expected


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
    given_values = [effect.answered(CALL, n) for n in range(5)]
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
    first = effect.answered(CALL, 0)
    assert isinstance(first, GivesValue)
    for given_value in (first.value, effect.response()):
        given_value["rows"].append(2)  # type: ignore[index, union-attr, call-overload] # it is an object
    assert effect.answered(CALL, 1) == GivesValue(value=effect.response()) == GivesValue(value={"rows": [1]})


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
def test_a_template_without_a_value_names_its_place(effect: AnsweringEffect, place: str) -> None:
    """The error says where in the effect the expression stands."""
    with pytest.raises(TemplateError) as caught:
        effect.answered(CALL, 1)
    assert str(caught.value).startswith(place)


def test_templates_are_read_when_a_rule_is_made() -> None:
    """A broken template is known before the rule fires; without `templated` nothing is read."""
    broken: dict[str, JsonValue] = {"a": "{{ 1 + }}"}
    assert ResponseEffect(value=broken).answered(CALL, 0) == GivesValue(value=broken)
    with pytest.raises(ValidationError, match=r"value\.a: expression '1 \+': "):
        ResponseEffect(value=broken, templated=True)
    with pytest.raises(ValidationError, match=r"values\[0\]\.a: expression"):
        SequenceEffect(values=(broken,), templated=True)


@given(
    seed=st.integers(),
    latency=st.builds(LogNormalLatency, median=st.floats(0.001, 120), sigma=st.floats(0, 3))
    | st.tuples(st.floats(0, 120), st.floats(0, 120)).map(
        lambda two: UniformLatency(low=min(two), high=max(two))
    ),
)
def test_a_latency_is_never_longer_than_two_minutes(seed: int, latency: LatencySpread) -> None:
    """Whatever is drawn lies within 0 and 120 seconds, and the same seed draws the same."""
    seconds = latency.seconds(seeded(seed))
    assert 0.0 <= seconds <= 120.0
    assert latency.seconds(seeded(seed)) == seconds
    if isinstance(latency, UniformLatency):
        assert latency.low <= seconds <= latency.high


def test_latencies_follow_their_spread() -> None:
    """The median of a log-normal one is its median."""
    rng = seeded()
    drawn = sorted(LogNormalLatency(median=2.0, sigma=0.5).seconds(rng) for _ in range(2_001))
    assert 1.8 < drawn[1_000] < 2.2
    assert drawn[-1] > 5.0


def rule(rule_id: str = "r", seed: int | None = None) -> InjectionRule:
    """Make a rule of which only its stream matters."""
    effect = ErrorEffect(error_code=500, error_message="down")
    return InjectionRule(rule_id=rule_id, tool_name="t", effect=effect, random_seed=seed)


def expected(seed: int, count: int) -> list[float]:
    """Return the first values of ADK's stream for a seed."""
    generator = random.Random(seed)  # noqa: S311 - the very stream that ADK draws from
    return [generator.random() for _ in range(count)]


@given(seed=st.integers(), order=st.lists(st.integers(0, 60), max_size=40), session=st.text())
def test_a_seeded_rule_draws_adks_stream_at_any_place(seed: int, order: list[int], session: str) -> None:
    """The nth value is that of `random.Random(seed)`, in whatever order the places are asked for."""
    streams = DrawStreams(session)
    known = expected(seed, 61)
    assert [streams.value(rule(seed=seed), n) for n in order] == [known[n] for n in order]


@given(order=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 30)), max_size=40))
def test_an_unseeded_rule_draws_the_same_in_every_run_of_the_session(order: list[tuple[str, int]]) -> None:
    """A second run with the session's seed gives the same values, though it asks in another order."""
    first, second = DrawStreams("seed"), DrawStreams("seed")
    forwards = {(name, n): first.value(rule(name), n) for name, n in order}
    backwards = {(name, n): second.value(rule(name), n) for name, n in reversed(order)}
    assert forwards == backwards


def test_unseeded_rules_and_sessions_have_streams_of_their_own() -> None:
    """Neither two rules of a session nor one rule in two sessions share a stream, nor do look-alike names."""
    firsts = {
        DrawStreams(session).value(rule(name), 0)
        for session, name in [("s", "a"), ("s", "b"), ("t", "a"), ("s:a", "b"), ("s", "a:b"), ("", "s:a")]
    }
    assert len(firsts) == 6


def test_every_value_can_be_compared_with_a_probability() -> None:
    """Values lie in [0, 1), so probability 1 always fires and 0 never does."""
    streams = DrawStreams("s")
    values = [streams.value(rule(), n) for n in range(5_000)]
    assert min(values) >= 0.0
    assert max(values) < 1.0
    assert 0.45 < sum(values) / len(values) < 0.55


def test_a_draw_before_the_first_is_refused() -> None:
    """A negative place is a mistake of the caller, not the end of the stream."""
    with pytest.raises(ValueError, match="'r': draw -1 "):
        DrawStreams("s").value(rule(), -1)
