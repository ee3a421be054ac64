"""Draws rules of every kind, for the tests of their editor and of their words."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

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
EFFECTS = st.one_of(
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
        effect=draw(EFFECTS),
        when=draw(st.none() | CONDITIONS),
        match_args=draw(st.none() | OBJECTS),
        probability=draw(st.floats(0, 1)),
        random_seed=draw(st.none() | st.integers(-9, 9)),
        enabled=draw(st.booleans()),
        **draw(LATENCIES),
    )
