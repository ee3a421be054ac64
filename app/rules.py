"""Reads and words injection rules: what was typed into the form becomes a rule, and a rule becomes a line. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from pydantic import JsonValue, ValidationError

from app.jsontext import JsonTextError, parse_object, show_json, write_json
from simulator.environment.rules import ErrorEffect, InjectionRule, ResponseEffect
from simulator.facts import Value
from simulator.seats.requests import Request, ToolRequest

EffectKind: TypeAlias = Literal["error", "response"]
Field: TypeAlias = Literal[
    "name", "tool", "code", "message", "response", "match", "chance", "latency", "seed"
]


class RuleFormError(ValueError):
    """A field of the form cannot be read; `field` names it, the text says what is wrong with it."""

    def __init__(self, field: Field, message: str) -> None:
        super().__init__(message)
        self.field = field


class RuleForm(Value):
    """The form's fields as they were typed. `chance` is in percent, `latency` in seconds."""

    name: str = ""
    tool: str = ""
    effect: EffectKind = "error"
    code: int = 503
    message: str = "Service unavailable"
    response: str = "{}"
    match: str = ""
    chance: float = 100.0
    latency: float = 0.0
    seed: str = ""


def form_of(rule: InjectionRule) -> RuleForm:
    """Give the fields that `read_form` makes this rule of."""
    effect = rule.effect
    common = {
        "name": rule.rule_id,
        "tool": rule.tool_name,
        "match": write_json(dict(rule.match_args)) if rule.match_args is not None else "",
        "chance": round(rule.probability * 100, 10),
        "latency": rule.latency_seconds,
        "seed": "" if rule.random_seed is None else str(rule.random_seed),
    }
    if isinstance(effect, ErrorEffect):
        return RuleForm.model_validate(
            {**common, "effect": "error", "code": effect.error_code, "message": effect.error_message}
        )
    if not isinstance(effect, ResponseEffect):
        raise RuleFormError("name", f"The form has no fields for an effect of the kind {effect.kind!r}.")
    return RuleForm.model_validate(
        {**common, "effect": "response", "response": write_json(dict(effect.value))}
    )


def read_form(form: RuleForm, taken: Iterable[str], *, enabled: bool = True) -> InjectionRule:
    """Make a rule of the form's fields.

    Args:
        form: The fields.
        taken: The ids of the other rules; a rule without a name gets an id of its own, a doubled name is refused.
        enabled: Whether the rule is switched on.

    Raises:
        RuleFormError: A field cannot be read; it names the field.
    """
    others = set(taken)
    if not form.tool.strip():
        raise RuleFormError("tool", "Choose the tool that the rule is for.")
    name = form.name.strip() or unused_name(form.tool.strip(), others)
    if name in others:
        raise RuleFormError("name", "Another rule has this name already.")
    match = _object(form.match, "match") if form.match.strip() else None
    try:
        return InjectionRule(
            rule_id=name,
            tool_name=form.tool.strip(),
            effect=_effect(form),
            enabled=enabled,
            probability=form.chance / 100,
            match_args=match,
            latency_seconds=form.latency,
            random_seed=_whole(form.seed),
        )
    except ValidationError as error:
        raise RuleFormError("chance", "; ".join(found["msg"] for found in error.errors())) from error


def _effect(form: RuleForm) -> ErrorEffect | ResponseEffect:
    if form.effect == "response":
        return ResponseEffect(value=_object(form.response, "response"))
    if not form.message.strip():
        raise RuleFormError("message", "Write the message that the agent shall see.")
    return ErrorEffect(error_code=form.code, error_message=form.message)


def _whole(text: str) -> int | None:
    if not text.strip():
        return None
    try:
        return int(text)
    except ValueError as error:
        raise RuleFormError("seed", "A seed is a whole number.") from error


def _object(text: str, field: Field) -> dict[str, JsonValue]:
    try:
        return parse_object(text)
    except JsonTextError as error:
        raise RuleFormError(field, str(error)) from error


def unused_name(tool: str, taken: Iterable[str]) -> str:
    """Give an id that no other rule has: the tool's name and the first free number."""
    others = set(taken)
    return next(name for number in range(1, len(others) + 2) if (name := f"{tool}-{number}") not in others)


def effect_line(rule: InjectionRule) -> str:
    """Say in a line what the rule answers, and under which conditions. Plain text."""
    effect = rule.effect
    what = f"error {effect.error_code}" if isinstance(effect, ErrorEffect) else effect.kind
    what = "fixed response" if isinstance(effect, ResponseEffect) else what
    conditions = [
        f"when {show_json(dict(rule.match_args))}" if rule.match_args else "",
        f"{rule.probability * 100:g} %" if rule.probability < 1 else "",
        f"after {rule.latency_seconds:g} s" if rule.latency_seconds else "",
    ]
    return ", ".join([what, *filter(None, conditions)])


def without(rules: Iterable[InjectionRule], rule_id: str) -> tuple[InjectionRule, ...]:
    """Give the rules without the one called `rule_id`."""
    return tuple(rule for rule in rules if rule.rule_id != rule_id)


def replaced(
    rules: Sequence[InjectionRule], rule_id: str | None, rule: InjectionRule
) -> tuple[InjectionRule, ...]:
    """Put `rule` in the place of the one called `rule_id`, or at the end where that is None or not there."""
    if rule_id is None or all(other.rule_id != rule_id for other in rules):
        return (*rules, rule)
    return tuple(rule if other.rule_id == rule_id else other for other in rules)


def moved(rules: Sequence[InjectionRule], rule_id: str, by: int) -> tuple[InjectionRule, ...]:
    """Move one rule up (-1) or down (+1); at the end of the list it stays."""
    order = list(rules)
    place = next((index for index, rule in enumerate(order) if rule.rule_id == rule_id), None)
    if place is None or not 0 <= place + by < len(order):
        return tuple(order)
    order.insert(place + by, order.pop(place))
    return tuple(order)


def reasons(pending: Iterable[Request]) -> dict[str, tuple[str, ...]]:
    """Give what each rule says about the calls that wait now: by rule id, why it did not answer."""
    found: dict[str, tuple[str, ...]] = {}
    for request in pending:
        if isinstance(request, ToolRequest):
            for miss in request.misses:
                found[miss.rule_id] = (*found.get(miss.rule_id, ()), miss.reason)
    return found
