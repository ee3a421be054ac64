"""Changes the list of a session's injection rules: moves, copies, replaces and removes rules, and names new ones. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simulator.environment.injection.rules import InjectionRule


def unused_name(tool: str, taken: Iterable[str]) -> str:
    """Return an id that no other rule has: the tool's name and the first free number."""
    others = set(taken)
    return next(name for number in range(1, len(others) + 2) if (name := f"{tool}-{number}") not in others)


def without(rules: Iterable[InjectionRule], rule_id: str) -> tuple[InjectionRule, ...]:
    """Return the rules without the one called `rule_id`."""
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


def moved_to_top(rules: Sequence[InjectionRule], rule_id: str) -> tuple[InjectionRule, ...]:
    """Let one rule speak before all others."""
    first = [rule for rule in rules if rule.rule_id == rule_id]
    return (*first, *without(rules, rule_id))


def duplicated(rules: Sequence[InjectionRule], rule_id: str) -> tuple[InjectionRule, ...]:
    """Put a copy of one rule, with an id of its own, right after it."""
    place = next((index for index, rule in enumerate(rules) if rule.rule_id == rule_id), None)
    if place is None:
        return tuple(rules)
    copy = rules[place].model_copy(
        update={"rule_id": unused_name(f"{rule_id}-copy", (rule.rule_id for rule in rules))}
    )
    return (*rules[: place + 1], copy, *rules[place + 1 :])


def put_back(rules: Sequence[InjectionRule], rule: InjectionRule, place: int) -> tuple[InjectionRule, ...]:
    """Put a rule that was deleted at its old place; under another id where somebody took its own."""
    taken = [other.rule_id for other in rules]
    if rule.rule_id in taken:
        rule = rule.model_copy(update={"rule_id": unused_name(rule.rule_id, taken)})
    return (*rules[:place], rule, *rules[place:])
