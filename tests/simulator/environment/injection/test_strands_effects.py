"""Proves that each tool effect of Strands' chaos testing can be said with these rules, and more beside.

There, an effect before the call cancels it with an error's text (timeout, network error, execution error, validation
error; each with a message of one's own), and an effect after it truncates texts to a length, removes a share of the
fields, or corrupts a share of the values. An effect is for one tool and strikes at every call.
"""

from __future__ import annotations

from random import Random
from typing import Any

from pydantic import JsonValue

from simulator.environment.injection.distortions import distorted
from simulator.environment.injection.injection import InjectionRule
from simulator.environment.injection.realized_effects import Raises, answered
from simulator.environment.injection.rule_call import CallContext, Tally
from simulator.environment.injection.rule_effects import (
    DistortEffect,
    ErrorEffect,
    RaiseEffect,
    ResponseEffect,
)
from simulator.environment.injection.rules import evaluate
from tests.simulator.base.rows import for_each

ANSWER: dict[str, JsonValue] = {
    "status": "success, all was found",
    "flights": [
        {"id": "LH-100-2031", "airline": "Lufthansa Airlines", "price": 420.5, "seats": 9},
        {"id": "SK-200-2031", "airline": "Scandinavian Airlines", "price": 310.0, "seats": 2},
    ],
    "total": 2,
}


def fired(effect: dict[str, Any], tool_name: str = "search_flights", **fields: Any) -> InjectionRule:
    """Return the rule with this effect, which fires at the first, the second and the hundredth call of its tool only."""
    rule = InjectionRule.model_validate(
        {"rule_id": "chaos", "tool_name": "search_flights", "effect": effect, **fields}
    )
    for before in (0, 1, 99):
        tally = Tally(tool_calls=before, counted={"chaos": before}, fired={"chaos": before})
        verdict = evaluate((rule,), CallContext(tool_name, {"to": "Rome"}, tally=tally), lambda _: 0.5)
        assert rule in (verdict.fired, *verdict.modifiers)
        other = evaluate((rule,), CallContext("book_flight", {"to": "Rome"}, tally=tally), lambda _: 0.5)
        assert other.fired is None
        assert other.modifiers == ()
    return rule


@for_each(
    ("name", "error_type", "code", "message"),
    [
        ("timeout", "TimeoutError", 504, "Request timed out after 30s"),
        ("network error", "ConnectionError", 503, "Connection refused"),
        ("execution error", "RuntimeError", 500, "The tool crashed"),
        ("validation error", "ValueError", 422, "Invalid input"),
    ],
)
def test_an_effect_that_cancels_the_call(name: str, error_type: str, code: int, message: str) -> None:
    """Timeout, network, execution and validation errors: as an exception, or as the error that the agent sees."""
    raising = fired({"kind": "raise", "error_type": error_type, "message": message}, label=name).effect
    assert isinstance(raising, RaiseEffect)
    assert answered(raising, {}, 0) == Raises(error_type=error_type, message=message)
    saying = fired({"kind": "error", "error_code": code, "error_message": message}, label=name).effect
    assert isinstance(saying, ErrorEffect)
    assert saying.response() == {"error_code": code, "error_message": message}


def struck(*distortions: dict[str, Any], seed: int = 1) -> Any:
    """Return the answer that follows after a rule has distorted it."""
    effect = fired({"kind": "distort", "distortions": distortions}).effect
    assert isinstance(effect, DistortEffect)
    return distorted(ANSWER, effect.distortions, Random(seed)).value  # noqa: S311 - a repeatable choice, not a secret


def test_truncate_fields() -> None:
    """Each text, however deep, has at most so many characters; all else stays."""
    answer = struck({"kind": "truncate", "amount": 5})
    assert answer == {
        "status": "succe",
        "flights": [
            {"id": "LH-10", "airline": "Lufth", "price": 420.5, "seats": 9},
            {"id": "SK-20", "airline": "Scand", "price": 310.0, "seats": 2},
        ],
        "total": 2,
    }


def fields(value: JsonValue) -> int:
    """Count the fields of all objects in a value."""
    if isinstance(value, dict):
        return len(value) + sum(map(fields, value.values()))
    return sum(map(fields, value)) if isinstance(value, list) else 0


def test_remove_fields() -> None:
    """A share of the fields goes, at the top level or in the objects of a list; the same ones for the same seed."""
    for share, left in ((0.34, 2), (0.67, 1), (1.0, 0)):
        answer = struck({"kind": "drop", "at": "*", "share": share})
        assert len(answer) == left
        assert all(ANSWER[name] == value for name, value in answer.items())
    inside = struck({"kind": "drop", "at": "flights[*].*", "share": 0.5})
    assert fields(inside) == fields(ANSWER) - 4
    assert inside == struck({"kind": "drop", "at": "flights[*].*", "share": 0.5})


def pairs(before: Any, after: Any) -> list[tuple[Any, Any]]:
    """Return the values of an answer that hold no others, each with what stands in its place."""
    if isinstance(before, dict):
        assert before.keys() == after.keys()
        return [pair for name in before for pair in pairs(before[name], after[name])]
    if isinstance(before, list):
        return [pair for one, other in zip(before, after, strict=True) for pair in pairs(one, other)]
    return [(before, after)]


@for_each("kind", ["corrupt", "wrong_type", "null"])
def test_corrupt_values(kind: str) -> None:
    """A share of the values becomes garbage: of the same type, of another one, or null; the fields stay."""
    answer = struck({"kind": kind, "share": 0.4})
    changed = [(before, after) for before, after in pairs(ANSWER, answer) if before != after]
    assert len(changed) == 4
    assert {type(before) is type(after) for before, after in changed} == {kind == "corrupt"}
    assert answer == struck({"kind": kind, "share": 0.4})


def test_several_effects_on_one_call_and_only_on_some() -> None:
    """What cannot be said there: several at once, for some calls by number, arguments and chance, with a seed."""
    both = struck({"kind": "truncate", "amount": 3}, {"kind": "empty_list", "at": "flights"})
    assert both == {"status": "suc", "flights": [], "total": 2}
    rule = InjectionRule.model_validate(
        {
            "rule_id": "chaos",
            "tool_name": "*",
            "effect": ResponseEffect(value={}),
            "when": {"kind": "call_number", "which": "first", "n": 2},
            "match_args": {"to": "Rome"},
            "probability": 0.6,
            "random_seed": 7,
        }
    )
    answers = [
        evaluate(
            (rule,), CallContext("any", {"to": to}, tally=Tally(counted={"chaos": n})), lambda _: 0.5
        ).fired
        for n, to in enumerate(["Rome", "Rome", "Rome"])
    ]
    assert [each is rule for each in answers] == [True, True, False]
