"""Turns an injection rule into the inputs of its editor, and back: its name, what it asks for, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from pydantic import JsonValue, ValidationError

from app.forms.widget_store import KeptInputs
from app.rules import conditions_panel, effects_panel
from app.rules.conditions_panel import read_condition, seed_condition
from app.rules.effects_panel import EFFECTS, read_latency, seed_effect, seed_latency
from app.rules.rule_inputs_panel import Inputs, Seeds, UnreadableInputError, as_percent, complaints, json_seed
from app.rules.rule_list import unused_name
from simulator.environment.injection.rules import EVERY_TOOL, InjectionRule

_CHANCE = "Enter a probability from 0 to 100 %."
_DEFAULTS: Seeds = {
    **conditions_panel.DEFAULTS,
    **effects_panel.DEFAULTS,
    "name": "",
    "label": "",
    "tool": None,
    "match": "",
    "chance": 100.0,
    "seed": "",
}
"""What the inputs of a new rule hold."""


def _seeds_of(rule: InjectionRule) -> Seeds:
    """Return what the inputs hold at first, so that `read_rule` makes the same rule of them."""
    return {
        "name": rule.rule_id,
        "label": rule.label,
        "tool": rule.tool_name,
        **(json_seed("match", rule.match_args) if rule.match_args is not None else {"match": ""}),
        "chance": as_percent(rule.probability),
        "chance:exact": rule.probability,
        "seed": "" if rule.random_seed is None else str(rule.random_seed),
        **seed_condition(rule.when),
        **seed_effect(rule.effect),
        **seed_latency(rule.latency_seconds, rule.latency),
    }


def rule_inputs(kept: KeptInputs, rule: InjectionRule | None, tool: str | None = None) -> Inputs:
    """Return the inputs of the editor for a rule, or for a new one for a tool."""
    return Inputs(kept, _seeds_of(rule) if rule else {"tool": tool}, _DEFAULTS)


def read_rule(inputs: Inputs, taken: Iterable[str], *, enabled: bool = True) -> InjectionRule | None:
    """Make a rule of what was typed.

    Args:
        inputs: The inputs; what is wrong with them is among their problems after.
        taken: The ids of the other rules; a rule without a name gets an id of its own, a doubled name is refused.
        enabled: Whether the rule is switched on.

    Returns:
        The rule, or None where an input says nothing usable.
    """
    inputs.problems.clear()
    inputs.missing.clear()
    read: dict[str, Any] = {"enabled": enabled, "label": inputs.words("label")}
    for field, part in _PARTS.items():
        with suppress(UnreadableInputError):
            read[field] = part(inputs)
    with suppress(UnreadableInputError):
        read["rule_id"] = _name(inputs, set(taken))
    if inputs.problems:
        return None
    read["latency_seconds"], read["latency"] = read["latency"]
    try:
        return InjectionRule(**read)
    except ValidationError as error:
        inputs.problems["name"] = complaints(error)
        return None


def _name(inputs: Inputs, others: set[str]) -> str:
    name = inputs.words("name")
    if not name:
        tool = inputs.words("tool")
        return unused_name("every-tool" if tool == EVERY_TOOL else tool, others)
    return inputs.refuse("name", "Another rule already has this name.") if name in others else name


def _match(inputs: Inputs) -> dict[str, JsonValue] | None:
    return inputs.json_object("match") if inputs.words("match") else None


def _chance(inputs: Inputs) -> float:
    share = inputs.share("chance", _CHANCE)
    return share if 0 <= share <= 1 else inputs.refuse("chance", _CHANCE)


def _seed(inputs: Inputs) -> int | None:
    text = inputs.words("seed")
    try:
        return int(text) if text else None
    except ValueError:
        return inputs.refuse("seed", "The seed must be a whole number.")


_PARTS: Mapping[str, Callable[[Inputs], Any]] = {
    "tool_name": lambda inputs: inputs.needed("tool", "Choose a tool for the rule."),
    "match_args": _match,
    "when": read_condition,
    "probability": _chance,
    "random_seed": _seed,
    "effect": lambda inputs: EFFECTS[inputs.get("e.kind")].read(inputs, inputs.get("e.kind")),
    "latency": read_latency,
}
