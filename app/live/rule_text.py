"""Says in plain words what an injection rule asks for and does. Pure; the words hold names and values from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from pydantic import JsonValue

from app.forms.safe_labels import Color
from simulator.base.json_values import canonical
from simulator.environment.injection.conditions import (
    Absent,
    AgentIs,
    AllOf,
    AnyOf,
    ArgumentIs,
    Between,
    CallNumber,
    Condition,
    Equals,
    Expression,
    Holds,
    Matches,
    Not,
    OneOf,
    Present,
    Test,
    WorldIs,
)
from simulator.environment.injection.distortions import CATEGORY, Distortion
from simulator.environment.injection.rule_effects import (
    AskEffect,
    DelayEffect,
    DistortEffect,
    Effect,
    ErrorEffect,
    HangEffect,
    LatencySpread,
    LogNormalLatency,
    LoseEffect,
    RaiseEffect,
    ResponseEffect,
    SequenceEffect,
    UniformLatency,
)
from simulator.environment.injection.rules import EVERY_TOOL, InjectionRule

NO_RULES = (
    "No rules yet. Rules run before a tool is answered. They can fail, delay or change its response. "
    "Add one from the fault library, or write your own. A change applies from the next call."
)
"""What is shown where a session has no rules."""

_LONGEST = 60


def rule_line(rule: InjectionRule) -> str:
    """Say in a line which calls a rule is for, what it does, and when."""
    return f"{tool_words(rule.tool_name)}: {', '.join([effect_words(rule.effect), *_conditions(rule)])}"


def fired_color(rule: InjectionRule) -> Color:
    """Return the colour in which a rule is said to have fired: red where it is a fault."""
    fault = (ErrorEffect, RaiseEffect, HangEffect, LoseEffect, DistortEffect)
    return "red" if isinstance(rule.effect, fault) else "violet"


def does_words(rule: InjectionRule) -> str:
    """Return what a rule does to a call, and how long that takes."""
    return ", ".join(
        filter(None, [effect_words(rule.effect), latency_words(rule.latency_seconds, rule.latency)])
    )


def tool_words(name: str) -> str:
    """Name the tool that a rule is for."""
    return "every tool" if name == EVERY_TOOL else name


def _conditions(rule: InjectionRule) -> list[str]:
    asked = [f"{name} is {_json(value)}" for name, value in (rule.match_args or {}).items()]
    if rule.when is not None:
        inner = condition_words(rule.when)
        asked.append(f"({inner})" if asked and isinstance(rule.when, AnyOf) else inner)
    words = [
        f"when {' and '.join(asked)}" if asked else "",
        f"{rule.probability * 100:.6g} %" if rule.probability < 1 else "",
        latency_words(rule.latency_seconds, rule.latency),
    ]
    return [each for each in words if each]


# ---------------------------------------------------------------- what it does


def effect_words(effect: Effect) -> str:  # noqa: C901, PLR0911 - one case for each kind
    """Return what a rule does to a call."""
    match effect:
        case ErrorEffect():
            return f"error {effect.error_code}" + _said(effect.error_message)
        case ResponseEffect():
            return f"fixed response {_json(effect.value)}" + (
                ", with placeholders" if effect.templated else ""
            )
        case SequenceEffect():
            after = {
                "repeat": "the last one again",
                "cycle": "from the start again",
                "pass": "calls pass through",
            }
            count = len(effect.values)
            return f"{count} response{_s(count)} in turn, then {after[effect.then]}"
        case RaiseEffect():
            return f"raises {effect.error_type.rpartition(':')[2]}" + _said(effect.message)
        case HangEffect():
            if effect.timeout_seconds is None:
                return "hangs until the turn is stopped"
            return f"hangs for {effect.timeout_seconds:g} s, then raises TimeoutError"
        case DelayEffect():
            return "delays the response"
        case DistortEffect():
            return "changes the response: " + "; ".join(map(distortion_words, effect.distortions))
        case LoseEffect():
            seen = f"error {effect.error_code}" if effect.way == "error" else "a TimeoutError"
            return f"loses the response: the call takes effect, but the agent sees {seen}"
        case AskEffect():
            return "asks you" + _said(effect.note)
        case never:
            assert_never(never)


_CHANGES: Mapping[str, tuple[str, str]] = {
    "truncate": ("truncates text", " to {} characters"),
    "drop": ("removes fields", ""),
    "corrupt": ("corrupts values", ""),
    "wrong_type": ("uses wrong types", ""),
    "null": ("sets values to null", ""),
    "empty_list": ("empties lists", ""),
    "duplicate": ("repeats list items", " {} times"),
    "stale": ("returns an old response", ", {} back"),
    "huge": ("inflates the response", " to {:,} bytes"),
    "malformed": ("breaks the JSON", ""),
    "hostile": ("inserts hostile text", ""),
}
"""What each kind of distortion does, and how much of it where an amount is given."""


def distortion_words(distortion: Distortion) -> str:
    """Return how one step changes an answer."""
    does, amount = _CHANGES[distortion.kind]
    words = [
        does,
        amount.format(distortion.amount) if distortion.amount is not None else "",
        f" ({_hostile(distortion.text)})" if distortion.kind == "hostile" and distortion.text else "",
        f" at {distortion.at}" if distortion.at else "",
        f", {distortion.share * 100:.4g} % of places" if distortion.share < 1 else "",
    ]
    return "".join(words)


def _hostile(text: str) -> str:
    return (
        f"any of {text.removeprefix(CATEGORY).replace('_', ' ')}"
        if text.startswith(CATEGORY)
        else _short(text)
    )


def latency_words(seconds: float, spread: LatencySpread | None) -> str:
    """Return how long a rule takes; nothing where it takes no time."""
    match spread:
        case None:
            return f"after {seconds:g} s" if seconds else ""
        case UniformLatency():
            return f"after {spread.low:g} to {spread.high:g} s"
        case LogNormalLatency():
            return f"after about {spread.median:g} s"
        case never:
            assert_never(never)


# ---------------------------------------------------------------- what it asks for


def condition_words(condition: Condition) -> str:  # noqa: PLR0911 - one case for each kind
    """Return what a condition asks for."""
    match condition:
        case ArgumentIs():
            return f"{condition.path} {_test(condition.test)}"
        case CallNumber():
            return _number(condition)
        case WorldIs():
            which = f"from {condition.id_from}" if condition.id_from else condition.entity_id
            field = f"{condition.field} of " if condition.field else ""
            return f"{field}{condition.entity} {which} {_test(condition.test)}"
        case Expression():
            return condition.text
        case AgentIs():
            who = f"agent is {condition.agent}" if condition.agent else ""
            where = f"branch is {condition.branch}" if condition.branch else ""
            return " and ".join(filter(None, (who, where)))
        case AllOf():
            return " and ".join(_inner(each, AnyOf) for each in condition.conditions)
        case AnyOf():
            return " or ".join(_inner(each, AllOf) for each in condition.conditions)
        case Not():
            return f"not ({condition_words(condition.condition)})"
        case never:
            assert_never(never)


def _inner(condition: Condition, parted: type[AllOf | AnyOf]) -> str:
    words = condition_words(condition)
    return f"({words})" if isinstance(condition, parted) else words


def _test(test: Test) -> str:  # noqa: PLR0911 - one case for each kind
    match test:
        case Equals():
            return f"is {_json(test.value)}"
        case Holds():
            return f"contains {_json(test.value)}"
        case Matches():
            return f"{'fully matches' if test.whole else 'matches'} /{_short(test.pattern)}/{'i' if test.ignore_case else ''}"
        case Between():
            return _between(test)
        case OneOf():
            return f"is one of {', '.join(map(_json, test.values))}"
        case Present():
            return "is present"
        case Absent():
            return "is missing"
        case never:
            assert_never(never)


def _between(test: Between) -> str:
    if test.low is None:
        return f"is {'below' if test.exclusive else 'at most'} {test.high:g}"
    if test.high is None:
        return f"is {'above' if test.exclusive else 'at least'} {test.low:g}"
    return f"is {'strictly ' if test.exclusive else ''}between {test.low:g} and {test.high:g}"


def _number(number: CallNumber) -> str:
    n = number.n
    which = {
        "nth": f"it is call {n}",
        "first": "it is the first call" if n == 1 else f"it is among the first {n} calls",
        "every": "it is any call" if n == 1 else f"it is every {_ordinal(n)} call",
        "after": f"it comes after call {n}",
    }[number.which]
    return which + {"rule": "", "tool": " of this tool", "session": " of the session"}[number.counted]


def _ordinal(n: int) -> str:
    teen = 10 <= n % 100 <= 20  # noqa: PLR2004 - 11th, 12th and 13th go their own way
    return f"{n}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def _said(message: str) -> str:
    return f" \u201c{_short(message)}\u201d" if message.strip() else ""


def _json(value: JsonValue) -> str:
    return _short(canonical(value))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1].rstrip() + "\u2026"


def _s(count: int) -> str:
    return "" if count == 1 else "s"
