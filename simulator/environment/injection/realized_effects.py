"""Makes what a fired rule answers: its effect with templates filled in, and how long it takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from typing import Literal, TypeAlias, assert_never

from pydantic import JsonValue

from simulator.base.json_values import Json, JsonObject, copied
from simulator.environment.environment_value import FiniteValue
from simulator.environment.expressions.templates import TemplateError, filled
from simulator.environment.injection.rule_effects import (
    MAX_LATENCY_SECONDS,
    ErrorEffect,
    LogNormalLatency,
    RaiseEffect,
    ResponseEffect,
    SequenceEffect,
    UniformLatency,
)
from simulator.environment.injection.rules import InjectionRule

Answering: TypeAlias = ErrorEffect | ResponseEffect | SequenceEffect | RaiseEffect
"""The effects that say by themselves what the agent gets."""


class GivesValue(FiniteValue):
    """The tool gives this value; the agent sees a dict as it is and anything else as `{"result": value}`."""

    kind: Literal["value"] = "value"
    value: Json


class GivesError(FiniteValue):
    """The tool answers with ADK's error dict: `response` holds `error_code`, `error_message` and all details."""

    kind: Literal["error"] = "error"
    error_code: int
    error_message: str
    response: JsonObject


class Raises(FiniteValue):
    """The tool raises: a builtin by its name, or `module:Name`."""

    kind: Literal["raise"] = "raise"
    error_type: str
    message: str


class PassesOn(FiniteValue):
    """The rule has nothing more to say: the next rule, or else the tool's player, answers; `reason` says why."""

    kind: Literal["passes_on"] = "passes_on"
    reason: str


Realized: TypeAlias = GivesValue | GivesError | Raises | PassesOn


def answered(effect: Answering, variables: Mapping[str, object], fired_before: int) -> Realized:
    """Say what an effect answers to one call.

    Args:
        effect: The effect of the rule that fired.
        variables: What its templates can name (`templates.variables_of`); not read where it is not `templated`.
        fired_before: How often the rule fired in this session before this call.

    Raises:
        TemplateError: A template has no value; says where in the effect.
        ValueError: `fired_before` is negative.
    """
    if fired_before < 0:
        raise ValueError(f"a rule cannot have fired {fired_before} times")
    match effect:
        case ErrorEffect():
            return _error(effect, variables)
        case ResponseEffect():
            return GivesValue(value=_said(effect.value, "value", variables, templated=effect.templated))
        case SequenceEffect():
            return _next(effect, variables, fired_before)
        case RaiseEffect():
            message = _text(effect.message, "message", variables, templated=effect.templated)
            return Raises(error_type=effect.error_type, message=message)
        case _:
            assert_never(effect)


def latency_of(rule: InjectionRule, draw: Random) -> float:
    """Return the seconds that a fired rule takes, from 0 to 120; a spread draws from the stream, a fixed one does not."""
    match rule.latency:
        case None:
            seconds = rule.latency_seconds
        case UniformLatency(low=low, high=high):
            seconds = draw.uniform(low, high)
        case LogNormalLatency(median=median, sigma=sigma):
            seconds = draw.lognormvariate(math.log(median), sigma)
        case _:
            assert_never(rule.latency)
    return min(max(seconds, 0.0), MAX_LATENCY_SECONDS)


def _error(effect: ErrorEffect, variables: Mapping[str, object]) -> GivesError:
    message = _text(effect.error_message, "error_message", variables, templated=effect.templated)
    details = _said(effect.details, "details", variables, templated=effect.templated)
    response = effect.model_copy(update={"error_message": message, "details": details}).response()
    return GivesError(error_code=effect.error_code, error_message=message, response=response)


def _next(effect: SequenceEffect, variables: Mapping[str, object], fired_before: int) -> Realized:
    count = len(effect.values)
    index = fired_before
    if fired_before >= count:
        if effect.then == "pass":
            return PassesOn(reason=f"its {count} values are used up")
        index = fired_before % count if effect.then == "cycle" else count - 1
    value = _said(effect.values[index], f"values[{index}]", variables, templated=effect.templated)
    return GivesValue(value=value)


def _said(value: JsonValue, place: str, variables: Mapping[str, object], *, templated: bool) -> JsonValue:
    if not templated:
        copy: JsonValue = copied(value)
        return copy
    try:
        return filled(value, variables)
    except TemplateError as error:
        separator = "." if error.place and not error.place.startswith("[") else ""
        raise TemplateError(f"{place}{separator}{error.place}", error.reason) from error


def _text(text: str, place: str, variables: Mapping[str, object], *, templated: bool) -> str:
    said = _said(text, place, variables, templated=templated)
    if isinstance(said, str):
        return said
    return str(_said(f"{text} ", place, variables, templated=True))[
        :-1
    ]  # a blank makes it a text with JSON in it
