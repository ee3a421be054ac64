"""Names what the rule editor offers to start from: errors, exceptions and hostile texts, out of the libraries. Pure."""

from __future__ import annotations

from functools import cache

from pydantic import JsonValue

from app.rules.effect_form import seed_effect
from simulator.environment.injection.distortions import CATEGORY, categories, hostile_texts
from simulator.environment.injection.fault_library import faults
from simulator.environment.injection.rule_effects import ErrorEffect, RaiseEffect

_MORE_EXCEPTIONS = ("FileNotFoundError", "TypeError", "NotImplementedError")


@cache
def http_presets() -> dict[str, str]:
    """Return the HTTP errors of the fault library: titles by name."""
    return {
        fault.name: fault.title
        for fault in faults()
        if fault.category == "http" and isinstance(fault.rule("tool", "rule").effect, ErrorEffect)
    }


def http_seeds(name: str) -> dict[str, JsonValue]:
    """Return what the inputs of an error hold for one of them."""
    fault = next(each for each in faults() if each.name == name)
    return seed_effect(fault.rule("tool", "rule").effect)


@cache
def exceptions() -> tuple[str, ...]:
    """Return the exceptions that tools raise, most likely ones first."""
    effects = (fault.rule("tool", "rule").effect for fault in faults())
    named = (effect.error_type for effect in effects if isinstance(effect, RaiseEffect))
    return tuple(dict.fromkeys((*named, *_MORE_EXCEPTIONS)))


@cache
def hostile_names() -> dict[str, str]:
    """Return what may stand for a hostile text, with words for a person: any of a category, or one by its name."""
    any_of = {f"{CATEGORY}{each}": f"Any: {each.replace('_', ' ')}" for each in categories()}
    return any_of | {text.name: text.title for text in hostile_texts()}
