"""Turns an injection rule into the inputs of its editor, and back: its name, what it asks for, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from pydantic import JsonValue, ValidationError

from app.forms.typed_fields import Fields, UnreadableInputError, Values, as_percent, complaints
from app.forms.typed_json import write_json
from app.rules import condition_form, effect_form
from app.rules.condition_form import read_condition, seed_condition
from app.rules.effect_form import read_effect, read_latency, seed_effect, seed_latency
from app.rules.rule_list import unused_name
from simulator.environment.injection.rules import EVERY_TOOL, InjectionRule

Seeds: TypeAlias = dict[str, JsonValue]

DEFAULTS: Mapping[str, JsonValue] = {
    **condition_form.DEFAULTS,
    **effect_form.DEFAULTS,
    "name": "",
    "label": "",
    "tool": None,
    "match": "",
    "chance": 100.0,
    "seed": "",
    "c0.kind": "all_of",
    "c0:rows": [],
    "c:next": 1,
}
"""What the inputs of a new rule hold."""


def seeds_of(rule: InjectionRule) -> Seeds:
    """Return what the inputs hold at first, so that `read_rule` makes the same rule of them."""
    return {
        "name": rule.rule_id,
        "label": rule.label,
        "tool": rule.tool_name,
        "match": write_json(dict(rule.match_args)) if rule.match_args is not None else "",
        "chance": as_percent(rule.probability),
        "chance:exact": rule.probability,
        "seed": "" if rule.random_seed is None else str(rule.random_seed),
        **seed_condition(rule.when),
        **seed_effect(rule.effect),
        **seed_latency(rule.latency_seconds, rule.latency),
    }


def rule_fields(values: Values, rule: InjectionRule | None, tool: str | None = None) -> Fields:
    """Return the inputs of the editor for a rule, or for a new one for a tool."""
    return Fields(values, seeds_of(rule) if rule else {"tool": tool}, DEFAULTS)


def read_rule(fields: Fields, taken: Iterable[str], *, enabled: bool = True) -> InjectionRule | None:
    """Make a rule of what was typed.

    Args:
        fields: The inputs; what is wrong with them is among their problems after.
        taken: The ids of the other rules; a rule without a name gets an id of its own, a doubled name is refused.
        enabled: Whether the rule is switched on.

    Returns:
        The rule, or None where an input says nothing usable.
    """
    fields.clear()
    read: dict[str, Any] = {"enabled": enabled, "label": fields.line("label")}
    for name, part in _PARTS.items():
        with suppress(UnreadableInputError):
            read[name] = part(fields)
    with suppress(UnreadableInputError):
        read["rule_id"] = _name(fields, set(taken))
    if fields.problems:
        return None
    read["latency_seconds"], read["latency"] = read["latency"]
    try:
        return InjectionRule(**read)
    except ValidationError as error:
        fields.problems["name"] = complaints(error)
        return None


def _name(fields: Fields, others: set[str]) -> str:
    name = fields.line("name")
    if not name:
        tool = fields.line("tool")
        return unused_name("every-tool" if tool == EVERY_TOOL else tool, others)
    if name in others:
        fields.refuse("name", "Another rule already has this name.")
    return name


def _tool(fields: Fields) -> str:
    return fields.needed("tool", "Choose a tool for the rule.")


def _match(fields: Fields) -> dict[str, JsonValue] | None:
    return fields.object("match") if fields.line("match") else None


def _chance(fields: Fields) -> float:
    percent = fields.number("chance", "Enter a probability from 0 to 100 %.")
    if not 0 <= percent <= 100:  # noqa: PLR2004 - percent
        fields.refuse("chance", "Enter a probability from 0 to 100 %.")
    return fields.exact("chance", percent)


def _seed(fields: Fields) -> int | None:
    text = fields.line("seed")
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        return fields.refuse("seed", "The seed must be a whole number.")


_PARTS: Mapping[str, Callable[[Fields], Any]] = {
    "tool_name": _tool,
    "match_args": _match,
    "when": read_condition,
    "probability": _chance,
    "random_seed": _seed,
    "effect": read_effect,
    "latency": read_latency,
}
