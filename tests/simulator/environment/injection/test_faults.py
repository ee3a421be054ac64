"""Tests of the library of faults."""

from __future__ import annotations

import builtins
from random import Random
from typing import Any, get_args

from pydantic import JsonValue

from simulator.environment.expressions.expressions import variables_of
from simulator.environment.injection.distortions import DistortionKind, categories, distorted
from simulator.environment.injection.rule_call import CallContext
from simulator.environment.injection.rule_effects import (
    DistortEffect,
    ErrorEffect,
    GivesValue,
    RaiseEffect,
    SequenceEffect,
)
from simulator.environment.injection.rule_sets import Fault, faults, search
from simulator.environment.injection.rules import InjectionRule, evaluate
from tests.simulator.base.rows import for_each

CALL = variables_of(args={"city": "Oslo"}, seed="s")
HTTP = (400, 401, 402, 403, 404, 408, 409, 410, 422, 429, 500, 501, 502, 503, 504)


def seeded() -> Random:
    """Return a stream of draws."""
    return Random(3)  # noqa: S311 - a repeatable stream


def fault(name: str) -> Fault:
    """Return the fault of a name."""
    return next(each for each in faults() if each.name == name)


def test_each_fault_makes_a_rule_that_survives_being_written() -> None:
    """A preset becomes one rule for the tool, named for people, the same after JSON."""
    for each in faults():
        rule = each.rule("book", "r-1")
        assert (rule.tool_name, rule.rule_id, rule.label, rule.enabled) == ("book", "r-1", each.title, True)
        assert InjectionRule.model_validate_json(rule.model_dump_json()) == rule
    assert len({each.name for each in faults()}) == len({each.title for each in faults()}) == len(faults())


def test_http_faults_say_in_adks_error_shape_what_a_real_service_says() -> None:
    """The code, a message and details: 429 and 503 when to try again, 404 what was not found, 422 which field."""
    said: dict[int, Any] = {}
    for code in HTTP:
        effect = fault(f"http_{code}").rule("book", "r").effect
        assert isinstance(effect, ErrorEffect)
        given = effect.answered(CALL, 0)
        said[code] = given.response()
        assert said[code]["error_code"] == code
        assert said[code]["error_message"]
        assert len(said[code]) > 2
    assert said[429]["retry_after"] == 30
    assert said[503]["headers"] == {"Retry-After": "120"}
    assert '{"city": "Oslo"}' in said[404]["error_message"]
    assert [(each["field"], each["code"]) for each in said[422]["errors"]] == [("city", "invalid")]


def test_faults_that_raise_name_exceptions_that_there_are() -> None:
    """Each raises a builtin exception."""
    raised = [each.rule("t", "r").effect for each in faults() if each.category == "exceptions"]
    assert len(raised) >= 10
    for effect in raised:
        assert isinstance(effect, RaiseEffect)
        given = effect.answered(CALL, 0)
        assert issubclass(getattr(builtins, given.error_type), Exception)
        assert given.message


def test_every_distortion_and_every_hostile_category_has_its_fault() -> None:
    """Nothing that can be distorted is missing in the list, and each distorts a plain answer."""
    kinds: set[str] = set()
    answer: JsonValue = {
        "rows": [{"name": "a long name", "n": n} for n in range(5)],
        "text": "something to read",
    }
    for each in faults():
        effect = each.rule("t", "r").effect
        if isinstance(effect, DistortEffect):
            kinds.update(step.kind for step in effect.distortions)
            result = distorted(answer, effect.distortions, seeded(), earlier=[{"rows": []}])
            assert result.value != answer, each.name
    assert kinds == set(get_args(DistortionKind))
    assert {each.name for each in faults() if each.category == "hostile"} == {
        f"hostile_{c}" for c in categories()
    }


def test_slow_faults_are_slow() -> None:
    """Each fault of latency takes its time, and only the plain ones leave the answer to others."""
    for name in ("latency_fixed", "latency_uniform", "latency_log_normal", "latency_very_long"):
        rule = fault(name).rule("t", "r")
        assert rule.effect.kind == "delay"
        assert (rule.latency.seconds(seeded()) if rule.latency else rule.latency_seconds) > 0.1
    assert fault("slow_error").rule("t", "r").latency_seconds == 8.0


def test_a_polled_job_comes_to_its_end() -> None:
    """The sequence goes from pending to done and stays there."""
    effect = fault("status_sequence").rule("t", "r").effect
    assert isinstance(effect, SequenceEffect)
    given = [effect.answered(CALL, n) for n in range(5)]
    statuses = [each.value["status"] for each in given if isinstance(each, GivesValue)]  # type: ignore[index, call-overload] # it is an object
    assert statuses == ["pending", "processing", "done", "done", "done"]


@for_each(
    ("text", "first"),
    [
        ("429", "http_429"),
        ("rate limit", "rate_limit_after_calls"),
        ("not found", "http_404"),
        ("TimeoutError", "raise_timeout_error"),
        ("ambiguous", "ambiguous_timeout"),
        ("log normal", "latency_log_normal"),
        ("hostile unicode", "hostile_unicode"),
        ("mallformed json", "distort_malformed"),
        ("stale", "distort_stale"),
        ("ask", "ask"),
        ("every second flaky", "flaky_every_second"),
    ],
)
def test_search_finds_what_a_person_means(text: str, first: str) -> None:
    """Numbers, names, parts of words and small mistakes lead to the fault."""
    assert search(text)[0].name == first


def test_search_gives_only_what_fits() -> None:
    """Nothing written gives all, and nonsense gives none."""
    assert search("  ") == faults()
    assert search("zzzzqqq") == ()
    assert {each.name for each in search("prompt injection")} >= {
        f"hostile_{category}" for category in categories()
    }
    assert len(search("latency")) < len(faults()) / 2


ANSWER: dict[str, Any] = {
    "status": "success, all was found",
    "flights": [{"id": "LH-100-2031", "price": 420.5}, {"id": "SK-200-2031", "price": 310.0}],
    "total": 2,
}


def effect_of(kind: str, **fields: Any) -> Any:
    """Return the effect of a rule that fires for its tool."""
    rule = InjectionRule.model_validate(
        {"rule_id": "chaos", "tool_name": "search", "effect": {"kind": kind, **fields}}
    )
    verdict = evaluate((rule,), CallContext("search", {"to": "Rome"}), lambda _: 0.5)
    assert rule in (verdict.fired, *verdict.modifiers)
    return rule.effect


@for_each(
    ("error_type", "code"),
    [("TimeoutError", 504), ("ConnectionError", 503), ("RuntimeError", 500), ("ValueError", 422)],
)
def test_an_effect_that_cancels_the_call(error_type: str, code: int) -> None:
    """Timeout, network, execution and validation errors: as an exception, or as the error that the agent sees."""
    raising = effect_of("raise", error_type=error_type, message="no")
    assert raising.answered({}, 0) == RaiseEffect(error_type=error_type, message="no")
    said = effect_of("error", error_code=code, error_message="no").answered({}, 0)
    assert list(said.response().items()) == [("error_code", code), ("error_message", "no")]


@for_each(
    ("kind", "fields", "places"),
    [
        ("truncate", {"amount": 5}, 3),
        ("drop", {"at": "flights[*].*", "share": 0.5}, 2),
        *((kind, {"share": 0.5}, 3) for kind in ("corrupt", "wrong_type", "null")),
    ],
)
def test_an_effect_that_changes_the_answer(kind: str, fields: dict[str, Any], places: int) -> None:
    """It strikes texts, or a share of the fields or values, so many as is said; the same ones for the same seed."""
    effect = effect_of("distort", distortions=[{"kind": kind, **fields}])
    assert isinstance(effect, DistortEffect)
    first, again = (distorted(ANSWER, effect.distortions, Random(1)) for _ in range(2))  # noqa: S311 - a repeatable choice
    assert first == again
    assert first.value != ANSWER
    assert len(first.notes) == places
