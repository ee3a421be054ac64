"""Works out what a rule would make of one call of the session: the answer before, and what the agent gets. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import TypeAlias

from pydantic import JsonValue

from app.forms.typed_json import show_json
from app.session.past_calls import Before, PastCall
from simulator.base.frozen_value import Value
from simulator.environment.expressions.expressions import TemplateError, variables_of
from simulator.environment.injection.distortions import distorted
from simulator.environment.injection.rule_effects import (
    AnsweringEffect,
    DistortEffect,
    LoseEffect,
)
from simulator.environment.injection.rules import InjectionRule


class Preview(Value):
    """What a person sees of a rule's work.

    Attributes:
        before: The answer as it was, in JSON; None where the rule answers by itself.
        after: What the agent gets, in JSON or in words.
        notes: What was done where.
        problem: Why it cannot be shown; then nothing else is.
    """

    before: str | None = None
    after: str = ""
    notes: tuple[str, ...] = ()
    problem: str = ""


World: TypeAlias = Callable[[], Mapping[str, object]]
"""Gives the things of the world, by plural kind and id; called only where a template is filled in."""


def previewed(
    rule: InjectionRule, call: PastCall, there: Before, session_seed: str, world: World = dict
) -> Preview | None:
    """Return what the rule would make of the call if it fired; None where it changes no answer (a delay, a hang).

    The draws are those that the session itself would take for this firing.
    """
    effect = rule.effect
    fired_before = there.tally.fired.get(rule.rule_id, 0)
    source = session_seed if rule.random_seed is None else str(rule.random_seed)
    seed = f"{len(source)}:{source}:{rule.rule_id}"
    match effect:
        case AnsweringEffect():
            known = world() if effect.templated else {}
            return _answer(
                effect, _variables(call, there, known, f"{seed}:fake:{fired_before}"), fired_before
            )
        case DistortEffect():
            return _changed(effect, call, there, random.Random(f"{seed}:distort:{fired_before}"))  # noqa: S311 - repeatable, and no secret
        case LoseEffect():
            after = _lost(effect)
            return Preview(before=show_json(call.response), after=after)
        case _:
            return None


def _variables(call: PastCall, there: Before, world: Mapping[str, object], seed: str) -> Mapping[str, object]:
    return variables_of(
        args=call.arguments,
        seed=seed,
        state=there.state,
        world=world,
        calls=there.earlier,
        answers=there.answers,
        agent=call.agent,
        call_number=there.tally.tool_calls + 1,
    )


def _answer(effect: AnsweringEffect, variables: Mapping[str, object], fired_before: int) -> Preview:
    try:
        given = effect.answered(variables, fired_before)
    except TemplateError as error:
        return Preview(problem=str(error))
    match given.kind:
        case "value":
            return Preview(after=show_json(given.value))
        case "error":
            return Preview(after=show_json(given.response()))
        case "raise":
            return Preview(after=f"raises {given.error_type}: {given.message}")
        case _:
            return Preview(after="", notes=(given.reason,))


def _changed(effect: DistortEffect, call: PastCall, there: Before, chance: random.Random) -> Preview:
    earlier: list[JsonValue] = [each["response"] for each in there.earlier]
    words = {"tool": call.tool_name, "agent": call.agent}
    changed = distorted(call.response, effect.distortions, chance, earlier, words=words)
    return Preview(before=show_json(call.response), after=_cut(show_json(changed.value)), notes=changed.notes)


def _lost(effect: LoseEffect) -> str:
    if effect.way == "raise":
        return f"raises TimeoutError: {effect.message}"
    return show_json({"error_code": effect.error_code, "error_message": effect.message})


def _cut(text: str, longest: int = 6_000) -> str:
    """Show the beginning of a huge answer, and how long it is."""
    return text if len(text) <= longest else f"{text[:longest]}\n... {len(text):,} characters in total"
