"""Proves that each tool effect of Strands' chaos testing can be said with these rules, and more beside.

There, an effect before the call cancels it with an error's text (timeout, network error, execution error, validation
error; each with a message of one's own), and an effect after it truncates texts to a length, removes a share of the
fields, or corrupts a share of the values. An effect is for one tool and strikes at every call.
"""

from __future__ import annotations

from random import Random
from typing import Any

from simulator.environment.injection.distortions import distorted
from simulator.environment.injection.realized_effects import GivesError, Raises, answered
from simulator.environment.injection.rule_call import CallContext
from simulator.environment.injection.rule_effects import DistortEffect
from simulator.environment.injection.rules import InjectionRule, evaluate
from tests.simulator.base.rows import for_each

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
    assert answered(raising, {}, 0) == Raises(error_type=error_type, message="no")
    said = answered(effect_of("error", error_code=code, error_message="no"), {}, 0)
    assert isinstance(said, GivesError)
    assert list(said.response.items()) == [("error_code", code), ("error_message", "no")]


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
