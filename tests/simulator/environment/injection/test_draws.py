"""Tests of the streams of draws."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.environment.injection.rule_draws import DrawStreams
from simulator.environment.injection.rules import ErrorEffect, InjectionRule


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
