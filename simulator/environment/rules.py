"""Decides which injection answers a tool call.

The rules say what ADK's `InjectionConfig` says (google-adk 2.13, `tools/environment_simulation`), in one
ordered list with a switch for each rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from simulator.jsonvalue import JsonObject, NotJsonError, canonical, copied, same

MAX_LATENCY_SECONDS = 120.0

_SHOWN_LENGTH = 120


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ErrorEffect(_Value):
    """Answers with ADK's error dict: `{"error_code": ..., "error_message": ...}`."""

    kind: Literal["error"] = "error"
    error_code: int
    error_message: str

    def response(self) -> JsonObject:
        """Give the dict that the agent sees."""
        return {"error_code": self.error_code, "error_message": self.error_message}


class ResponseEffect(_Value):
    """Answers with a fixed dict; `{}` is a response too."""

    kind: Literal["response"] = "response"
    value: JsonObject

    def response(self) -> JsonObject:
        """Give the dict that the agent sees: a copy, so that no change of it reaches a later answer."""
        answer: JsonObject = copied(self.value)
        return answer


Effect: TypeAlias = Annotated[ErrorEffect | ResponseEffect, Field(discriminator="kind")]


class InjectionRule(_Value):
    """One injection for one tool.

    `match_args` asks for equality of each named argument at the top level. `random_seed` starts this rule's
    own stream of draws; without one the stream comes from the session's seed, so every run can be repeated.
    """

    rule_id: str = Field(min_length=1)
    tool_name: str = Field(min_length=1)
    effect: Effect
    enabled: bool = True
    probability: float = Field(default=1.0, ge=0.0, le=1.0)
    match_args: JsonObject | None = None
    latency_seconds: float = Field(default=0.0, ge=0.0, le=MAX_LATENCY_SECONDS)
    random_seed: int | None = None


class Miss(_Value):
    """Why one rule did not answer a call."""

    rule_id: str
    reason: str


class Verdict(_Value):
    """What the rules say about one call: the rule that answers it, if any, and why the others did not.

    `drawn` names the rules that took a value from their stream for this call, in order.
    """

    fired: InjectionRule | None
    misses: tuple[Miss, ...]
    drawn: tuple[str, ...]


def evaluate(
    rules: Iterable[InjectionRule],
    tool_name: str,
    arguments: JsonObject,
    draw: Callable[[InjectionRule], float],
) -> Verdict:
    """Find the first rule, in order, that answers the call.

    A rule draws only when it is switched on, is for this tool, its arguments match, and no earlier rule
    answered: the stream of one rule does not move when another is switched.

    Args:
        rules: All rules of the session, in their order.
        tool_name: The tool that is called.
        arguments: The call's arguments.
        draw: Gives a rule's next value in [0, 1); called at most once for each rule.
    """
    misses: list[Miss] = []
    drawn: list[str] = []
    for rule in rules:
        if rule.tool_name != tool_name:
            continue
        reason = _mismatch(rule, arguments)
        if reason is None:
            drawn.append(rule.rule_id)
            value = draw(rule)
            if value < rule.probability:
                return Verdict(fired=rule, misses=tuple(misses), drawn=tuple(drawn))
            reason = f"drew {value:.6g}, needed less than {rule.probability:g}"
        misses.append(Miss(rule_id=rule.rule_id, reason=reason))
    return Verdict(fired=None, misses=tuple(misses), drawn=tuple(drawn))


def _mismatch(rule: InjectionRule, arguments: JsonObject) -> str | None:
    if not rule.enabled:
        return "switched off"
    for name, wanted in (rule.match_args or {}).items():
        if name not in arguments:
            return f"args.{name} is absent, wanted {_shown(wanted)}"
        if not same(arguments[name], wanted):
            return f"args.{name} was {_shown(arguments[name])}, wanted {_shown(wanted)}"
    return None


def _shown(value: object) -> str:
    try:
        text = canonical(value)
    except NotJsonError:
        text = repr(value)
    return text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]}..."
