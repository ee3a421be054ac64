"""Writes recorded cases as ADK's `EnvironmentSimulationConfig`, as far as that has words for them, and names what gets lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from evalset.recorded.recording import RecordedCall, RecordedCase, RejectedCall
from simulator.base.json_values import JsonObject, canonical, copied
from simulator.environment.injection.adk_config_text import TextForm, WrittenText, config_text
from simulator.environment.injection.adk_injection_config import ReadConfig, unwritable
from simulator.environment.injection.rule_effects import (
    MAX_LATENCY_SECONDS,
    Effect,
    ErrorEffect,
    ResponseEffect,
)
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import Failed, Outcome, Raised, Returned

_REAL = "real"
_EVERYTHING_ELSE = (
    "ADK runs the real tool for every call that is not in the configuration, and calls the real model. HermeticEnvironment "
    "does neither"
)


class _Heard(NamedTuple):
    """A recorded call, and where it stands, in words."""

    where: str
    call: RecordedCall

    @property
    def words(self) -> str:
        return f"{self.where}: {_written(self.call)}"


def simulation_text(cases: Mapping[str, RecordedCase], form: TextForm) -> WrittenText:
    """Write recorded cases as a configuration for ADK's own environment simulation.

    Each call becomes an injection for its tool that matches its arguments, the one with the most arguments first, as ADK takes the
    first that matches. The latency is that of real tools.

    Args:
        cases: The cases, by their eval ids.
        form: JSON or YAML for `EnvironmentSimulationConfig.model_validate`, or Python code.

    Returns:
        The text, and in sentences what ADK cannot say: calls that were answered in several ways, exceptions, what was done to the
        state, confirmations, and more.
    """
    lost: list[str] = []
    rules = _rules(cases, lost)
    written = config_text(ReadConfig(rules=rules), form)
    return WrittenText(written.text, [*lost, *_others(cases), *written.losses, _EVERYTHING_ELSE])


def _rules(cases: Mapping[str, RecordedCase], lost: list[str]) -> tuple[InjectionRule, ...]:
    by_tool: dict[str, list[InjectionRule]] = {}
    first: dict[str, tuple[_Heard, Effect]] = {}
    for heard in _all_heard(cases):
        effect = _effect(heard, lost)
        if effect is None:
            continue
        lost += _losses_of(heard)
        question = canonical([heard.call.tool, heard.call.arguments])
        if question in first:
            before, told = first[question]
            if told != effect:
                lost.append(
                    f"{heard.words} has another response than the first time ({before.where}); ADK repeats the first response"
                )
            continue
        first[question] = heard, effect
        rule = _rule(heard.call, effect)
        if reason := unwritable(rule):
            lost.append(f"{heard.words}: {reason}")
        else:
            by_tool.setdefault(rule.tool_name, []).append(rule)
    return tuple(rule for rules in by_tool.values() for rule in _in_order(rules))


def _in_order(rules: Iterable[InjectionRule]) -> Iterator[InjectionRule]:
    """Put the rules of a tool with more arguments first, and number them as ADK does."""
    ordered = sorted(rules, key=lambda rule: -len(rule.match_args or {}))
    for place, rule in enumerate(ordered):
        yield rule.model_copy(update={"rule_id": f"{rule.tool_name}[{place}]"})


def _all_heard(cases: Mapping[str, RecordedCase]) -> Iterator[_Heard]:
    for eval_id in sorted(cases):
        for number, turn in enumerate(cases[eval_id].turns, start=1):
            for call in turn.calls:
                yield _Heard(f"case {eval_id!r}, turn {number}", call)


def _rule(call: RecordedCall, effect: Effect) -> InjectionRule:
    seconds = call.latency_ms / 1000 if call.author.source == _REAL else 0.0
    return InjectionRule(
        rule_id=call.tool,
        tool_name=call.tool,
        match_args=copied(call.arguments) or None,
        latency_seconds=min(round(seconds, 3), MAX_LATENCY_SECONDS),
        effect=effect,
    )


def _effect(heard: _Heard, lost: list[str]) -> Effect | None:
    """Return what ADK is to answer with; None where it has no word for it."""
    call = heard.call
    if call.later is not None:
        lost.append(f"{heard.words} was answered later; ADK returns that response immediately")
        return ResponseEffect(value=copied(call.later))
    return _of_outcome(heard, call.outcome, lost)


def _of_outcome(heard: _Heard, outcome: Outcome, lost: list[str]) -> Effect | None:
    match outcome:
        case Returned(value=value):
            return ResponseEffect(
                value=copied(value) if isinstance(value, dict) else {"result": copied(value)}
            )
        case Failed(error_code=int() as code, error_message=message):
            return ErrorEffect(error_code=code, error_message=message, details=copied(outcome.details))
        case Failed():
            return ResponseEffect(value=outcome.response())
        case Raised(error=error):
            lost.append(
                f"{heard.words} raised {error.short_type}, which ADK's injections cannot do; it is left out"
            )
        case _:
            lost.append(f"{heard.words} has no response; it is left out")
    return None


def _losses_of(heard: _Heard) -> Iterator[str]:
    call, effects = heard.call, heard.call.effects
    done = {
        f"changed the state ({', '.join(effects.state_delta)})": bool(effects.state_delta),
        f"saved {', '.join(each.filename for each in effects.artifacts)}": bool(effects.artifacts),
        f"set {', '.join(effects.actions)}": bool(effects.actions),
        "sent its own events": bool(effects.events),
        "ended the invocation": effects.end_invocation,
    }
    for what, happened in done.items():
        if happened:
            yield f"{heard.words} {what}, which ADK's injections cannot do"
    if call.confirmed is not None:
        yield f"{heard.words} was confirmed by a person; ADK's injections respond before anyone is asked"
    if call.within:
        yield f"{heard.words} was made by {' in '.join(reversed(call.within))}; ADK ignores this"


def _others(cases: Mapping[str, RecordedCase]) -> Iterator[str]:
    """Return what stands in the cases beside their calls."""
    for eval_id in sorted(cases):
        for number, turn in enumerate(cases[eval_id].turns, start=1):
            where = f"case {eval_id!r}, turn {number}"
            for refused in turn.rejected:
                yield f"{where}: {_written(refused)} was rejected by a person; ADK asks again"
            if turn.code:
                yield f"{where}: the output of the agent's code is left out, because ADK runs the code"


def _written(call: RecordedCall | RejectedCall) -> str:
    arguments: JsonObject = call.arguments
    return f"{call.tool}({', '.join(f'{name}={canonical(value)}' for name, value in arguments.items())})"
