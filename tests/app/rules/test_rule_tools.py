"""What the editor is helped by: past calls, paths, previews, latencies and presets, without a page."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.forms.typed_json import show_json
from app.rules.argument_paths import choices_at, schema_paths, typed_as, value_paths
from app.rules.effects_panel import (
    POINTS,
    curve,
    exceptions,
    hostile_names,
    http_presets,
    http_seeds,
    quantiles,
)
from app.rules.rule_list import duplicated, moved, moved_to_top, put_back
from app.rules.rule_preview import previewed
from app.session.past_calls import before, last_misses, past_calls, times_fired
from simulator.base.json_paths import parse
from simulator.environment.injection.distortions import Distortion
from simulator.environment.injection.rule_effects import (
    AskEffect,
    DistortEffect,
    LogNormalLatency,
    LoseEffect,
    RaiseEffect,
    ResponseEffect,
    UniformLatency,
)
from simulator.environment.injection.rules import Miss
from simulator.facts import Provenance, Returned
from simulator.runtime.turns.outcomes import Firing
from tests.app.fakes import FakeSimulation, rule, tool_request
from tests.app.rules.test_rule_form import JSON


def session() -> FakeSimulation:
    """Two calls that were answered, one of them by a rule, and one that waits."""
    fake = (
        FakeSimulation()
        .ask("Go")
        .call("c1", order_id="A-1")
        .call("c2", "refund_order")
        .call("c3", order_id="A-3")
    )
    fake.give("c1", Returned(value={"status": "open"}), provenance=Provenance(source="edited", drawn=("r",)))
    fake.give(
        "c2",
        tool="refund_order",
        provenance=Provenance(source="injected", by="r", drawn=("r",), fired=("r",)),
    )
    return fake


def test_past_calls_know_what_came_before() -> None:
    """A call sees the earlier calls of its tool with their answers, the counts of its moment, and nothing later."""
    fake = session()
    calls = past_calls(fake.session, (tool_request("c3", draft={"status": "new"}),))
    assert [(call.call_id, call.waits) for call in calls] == [("c1", False), ("c2", False), ("c3", True)]
    assert calls[2].response == {"status": "new"}
    there = before(fake.session, calls, calls[2])
    assert there.earlier == ({"arguments": {"order_id": "A-1"}, "response": {"status": "open"}},)
    assert set(there.answers) == {"find_order", "refund_order"}
    assert (there.tally.drawn["r"], there.tally.fired["r"]) == (2, 1)
    assert (there.tally.tool_calls, there.tally.session_calls) == (1, 2)
    assert before(fake.session, calls, calls[0]).tally.session_calls == 0
    # A call without an answer of a tool, that does not wait either, is none for a rule.
    assert [call.call_id for call in past_calls(fake.session, ())] == ["c1", "c2"]


def test_firings_and_misses_are_counted() -> None:
    """A rule's firings add up; its last miss is forgotten once it fired, and renewed by a call that waits."""
    fake = FakeSimulation().ask("Go").call("c1").call("c2")
    fake.give("c1", provenance=Provenance(source="edited", misses=(Miss(rule_id="r", reason="drew 0.9"),)))
    assert dict(last_misses(fake.session, ())) == {"r": "drew 0.9"}
    fake.give("c2", provenance=Provenance(source="injected", by="r", fired=("r",)))
    assert dict(times_fired(fake.session)) == {"r": 1}
    assert dict(last_misses(fake.session, ())) == {}
    waiting = tool_request("c3", misses=(Miss(rule_id="r", reason="switched off"),))
    assert dict(last_misses(fake.session, (waiting,))) == {"r": "switched off"}


@pytest.mark.parametrize(
    ("effect", "before_it", "after"),
    [
        (
            DistortEffect(distortions=(Distortion(kind="null", at="status"),)),
            '{"status": "open"}',
            '{"status": null}',
        ),
        (ResponseEffect(value={"n": "{{ calls | length }}"}, templated=True), None, '{"n": 0}'),
        (RaiseEffect(error_type="TimeoutError", message="late"), None, "raises TimeoutError: late"),
        (LoseEffect(way="raise", message="gone"), '{"status": "open"}', "raises TimeoutError: gone"),
    ],
)
def test_a_preview_shows_what_the_agent_would_get(effect: object, before_it: str | None, after: str) -> None:
    """An answer that the rule changes is shown before and after; one that it gives, by itself.

    A template without a value says so, with its place; what changes no answer has no preview.
    """
    fake = session()
    calls = past_calls(fake.session, ())
    there = before(fake.session, calls, calls[0])
    shown = previewed(rule(effect=effect), calls[0], there, "seed")
    assert shown is not None
    assert (shown.before, shown.after) == (before_it, after)
    wrong = ResponseEffect(value={"n": "{{ args.nope }}"}, templated=True)
    shown = previewed(rule(effect=wrong), calls[0], there, "seed")
    assert shown is not None
    assert "nope" in shown.problem
    assert previewed(rule(effect=AskEffect()), calls[0], there, "seed") is None


@pytest.mark.parametrize("seed", [None, 7])
def test_a_preview_is_what_the_session_itself_would_tell(seed: int | None) -> None:
    """The draws of a firing are the same in the preview and in a run: the same text, at the same places."""
    steps = (Distortion(kind="hostile", share=0.5), Distortion(kind="corrupt"))
    fake = (
        session().call("c4", order_id="A-4").give("c4", Returned(value={"a": "x", "b": "y", "c": [1, "z"]}))
    )
    calls = past_calls(fake.session, ())
    there = before(fake.session, calls, calls[2])
    one = rule(effect=DistortEffect(distortions=steps), random_seed=seed)
    shown = previewed(one, calls[2], there, "the seed")
    firing = Firing(
        modifiers=(one,),
        before={one.rule_id: 0},
        seed="the seed",
        words={"tool": "find_order", "agent": "order_desk"},
    )
    told, _, notes = firing.told(Returned(value=calls[2].response), lambda: there.earlier)
    assert isinstance(told, Returned)
    assert shown is not None
    assert shown.after == show_json(told.value)
    assert [f"{one.rule_id}: {note}" for note in shown.notes] == list(notes)


SCHEMA = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "enum": ["A-1", "A-2"]},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        "vip": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        "a.b": {"type": "object"},
    },
}


def test_paths_come_from_a_schema() -> None:
    """Fields at any depth are suggested, items of lists as any item, each with how its value is typed."""
    found = schema_paths(SCHEMA)  # type: ignore[arg-type] # a plain JSON object
    assert {path: typed_as(inner) for path, inner in found.items()} == {
        "order_id": "text",
        "lines": "json",
        "lines[*]": "json",
        "lines[*].n": "number",
        "vip": "boolean",
        '["a.b"]': "json",
    }
    assert choices_at(found["order_id"]) == ("A-1", "A-2")
    assert schema_paths({"$ref": "#/nowhere"}) == {}


@given(JSON)
def test_paths_of_values_lead_to_them(value: object) -> None:
    """Each suggested path can be read, and finds something in the value that it came from."""
    for path in value_paths([value]):  # type: ignore[list-item] # JSON
        assert parse(path).found(value)  # type: ignore[arg-type] # JSON


@given(
    st.builds(
        lambda low, width: UniformLatency(low=low, high=low + width), st.floats(0, 60), st.floats(0, 60)
    )
    | st.builds(LogNormalLatency, median=st.floats(0.01, 120), sigma=st.floats(0, 3))
)
def test_a_latency_is_drawn_as_a_curve(spread: UniformLatency | LogNormalLatency) -> None:
    """Times go up, heights are from 0 to 1, and half, 90 % and 99 % are in order and never above two minutes."""
    points = curve(spread)
    times = [time for time, _ in points]
    assert len(points) >= POINTS
    assert times == sorted(times)
    assert all(0 <= height <= 1 and math.isfinite(time) for time, height in points)
    half, most, nearly_all = quantiles(spread)
    assert 0 <= half <= most <= nearly_all <= 120


def test_presets_are_there_and_can_be_read() -> None:
    """All statuses that services answer with, exceptions by name, and hostile texts with words for a person."""
    titles = " ".join(http_presets().values())
    for code in (400, 401, 403, 404, 408, 409, 422, 429, 500, 502, 503, 504):
        assert str(code) in titles
    assert all(isinstance(http_seeds(name)["error.code"], int) for name in http_presets())
    assert "TimeoutError" in exceptions()
    assert len(hostile_names()) > 30


def test_lists_of_rules_are_changed_without_loss() -> None:
    """A copy follows its original under its own name, a move keeps all rules, and what was deleted comes back."""
    rules = (rule("a"), rule("b"), rule("c"))
    assert [each.rule_id for each in duplicated(rules, "a")] == ["a", "a-copy-1", "b", "c"]
    assert [each.rule_id for each in moved(rules, "c", -1)] == ["a", "c", "b"]
    assert moved(rules, "a", -1) == rules
    assert [each.rule_id for each in moved_to_top(rules, "c")] == ["c", "a", "b"]
    assert put_back(rules[1:], rules[0], 0) == rules
    assert [each.rule_id for each in put_back(rules, rules[0], 0)] == ["a-1", "a", "b", "c"]
