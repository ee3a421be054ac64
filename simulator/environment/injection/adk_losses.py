"""Translates a rule into what ADK's `InjectionConfig` can say, and names what it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from pydantic import JsonValue

from simulator.base.json_values import JsonObject, copied, same
from simulator.environment.expressions import json_paths
from simulator.environment.injection.conditions import (
    AgentIs,
    AllOf,
    AnyOf,
    ArgumentIs,
    CallNumber,
    Condition,
    Equals,
    Expression,
    Not,
    WorldIs,
)
from simulator.environment.injection.rule_effects import (
    ErrorEffect,
    LatencySpread,
    LogNormalLatency,
    ResponseEffect,
    UniformLatency,
)
from simulator.environment.injection.rules import EVERY_TOOL, InjectionRule


def unwritable(rule: InjectionRule) -> str | None:
    """Return why ADK cannot have a rule at all; None where it can."""
    reason = next(_obstacles(rule), None)
    return f"rule {rule.rule_id!r} {reason}; it is left out" if reason else None


def losses(rule: InjectionRule, reads_back_as: str) -> Iterator[str]:
    """Return what gets lost or changes in a rule that ADK can have."""
    name = f"rule {rule.rule_id!r}"
    if rule.rule_id != reads_back_as:
        yield f"{name} loses its id; it reads back as {reads_back_as!r}"
    if rule.label:
        yield f"{name} loses its label, {rule.label!r}"
    if rule.latency is not None:
        told, kept = _latency(rule.latency)
        yield f"{name} has a random latency ({told}), but ADK supports only fixed ones; it is written as {kept:g} s"
    if rule.random_seed is None and 0.0 < rule.probability < 1.0:
        yield f"{name} has no random_seed, so ADK draws differently in each run"
    if isinstance(rule.effect, ErrorEffect) and rule.effect.details:
        yield f"{name} returns more fields than ADK's error has; it is written as a fixed response with the same fields"
    if any(map(_is_loose, (_match_args(rule) or {}).values())):
        yield f"{name} matches a boolean, 0 or 1 exactly; ADK takes true for 1 and false for 0"


def injection(rule: InjectionRule) -> JsonObject:
    """Write a rule that is not `unwritable` as an `InjectionConfig`."""
    written: JsonObject = {"injection_probability": rule.probability}
    if (match_args := _match_args(rule)) is not None:
        written["match_args"] = copied(match_args)
    latency = _latency(rule.latency)[1] if rule.latency is not None else rule.latency_seconds
    if latency:
        written["injected_latency_seconds"] = latency
    if rule.random_seed is not None:
        written["random_seed"] = rule.random_seed
    effect = rule.effect
    if isinstance(effect, ErrorEffect) and not effect.details:
        return {
            **written,
            "injected_error": {
                "injected_http_error_code": effect.error_code,
                "error_message": effect.error_message,
            },
        }
    if isinstance(effect, ErrorEffect | ResponseEffect):
        return {**written, "injected_response": effect.response()}
    raise ValueError(unwritable(rule))


def _obstacles(rule: InjectionRule) -> Iterator[str]:
    effect = rule.effect
    if not rule.enabled:
        yield "is switched off, which ADK does not support"
    if rule.tool_name == EVERY_TOOL:
        yield "applies to every tool, but an injection of ADK applies to one"
    if not isinstance(effect, ErrorEffect | ResponseEffect):
        yield f"has the effect {effect.kind!r}, but ADK supports only errors and fixed responses"
    elif effect.templated and _has_template(effect.response()):
        yield "has a response with placeholders, which ADK would not fill in"
    elif not effect.response():
        yield "returns {}, which ADK refuses"
    if rule.when is not None and _match_args(rule) is None:
        yield f"depends on {', '.join(sorted(_asked(rule.when)))}, but ADK supports only match_args"


def _match_args(rule: InjectionRule) -> JsonObject | None:
    """Return `match_args`, with what `when` asks for where that is the same in other words; None where it is not."""
    if rule.when is None:
        return rule.match_args
    wanted = dict(rule.match_args or {})
    for name, value in _equal(rule.when):
        if name is None or (name in wanted and not same(wanted[name], value)):
            return None
        wanted[name] = value
    return wanted


def _equal(condition: Condition) -> Iterator[tuple[str | None, JsonValue]]:
    """Yield the arguments at the top level that have to equal a value; no name for a condition of another kind."""
    match condition:
        case AllOf(conditions=conditions):
            for each in conditions:
                yield from _equal(each)
        case ArgumentIs(path=path, test=Equals(value=value)):
            steps = json_paths.parse(path).steps
            yield (steps[0] if len(steps) == 1 and isinstance(steps[0], str) else None), value
        case _:
            yield None, None


def _asked(condition: Condition) -> set[str]:
    """Return what a condition asks for that ADK has no word for."""
    match condition:
        case AllOf(conditions=conditions):
            return set[str]().union(*map(_asked, conditions))
        case AnyOf():
            words = "any of several conditions"
        case Not():
            words = "a negated condition"
        case ArgumentIs(path=path, test=test):
            plain = [name for name, _ in _equal(condition) if name is not None]
            words = f"the argument {path} ({test.test})" if not plain else f"the argument {path}"
        case CallNumber():
            words = "the call number"
        case WorldIs():
            words = "the world"
        case Expression():
            words = "an expression"
        case AgentIs():
            words = "the agent or its branch"
        case _:
            assert_never(condition)
    return {words}


def _latency(spread: LatencySpread) -> tuple[str, float]:
    """Say a spread in words, and return the middle of it in seconds."""
    match spread:
        case UniformLatency(low=low, high=high):
            return f"{low:g} to {high:g} s", (low + high) / 2
        case LogNormalLatency(median=median, sigma=sigma):
            return f"log-normal, median {median:g} s, sigma {sigma:g}", median
    assert_never(spread)


def _has_template(value: JsonValue) -> bool:
    match value:
        case dict():
            return any("{{" in name or _has_template(inner) for name, inner in value.items())
        case list():
            return any(map(_has_template, value))
        case _:
            return isinstance(value, str) and "{{" in value


def _is_loose(value: JsonValue) -> bool:
    match value:
        case dict():
            return any(map(_is_loose, value.values()))
        case list():
            return any(map(_is_loose, value))
        case bool() | int() | float():
            return value in {0, 1}
        case _:
            return False
