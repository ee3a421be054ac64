"""Custom metrics for `agents-cli eval grade`: compare a trace with the golden in its case.

An export writes this file beside a dataset, once for each metric, with the two functions that it imports: it then needs nothing but the
standard library. Each function takes an instance as `eval grade` gives it: a case with the trace in `agent_data`. It returns a score of 1 or 0, and in words what differs first.
The score is None where the golden does not say what would be right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from evalset.golden_trace.steps import paired
from simulator.base.json_values import same

FIELD = "golden_trace"
MISSING: Any = object()
ANYWHERE = -(10**12)
LONGEST = 200


def trajectory(instance: dict[str, Any]) -> dict[str, Any]:
    """Score 1 where the agent made the golden's tool calls and no others, in their order, else 0."""
    wanted, made = judged(instance)["calls"], calls_of(instance)
    tolerances = tolerances_of(instance, "arguments")
    for place, (one, other) in enumerate(zip(wanted, made, strict=False), start=1):
        own = of_tool(tolerances, one["tool"])
        if one["tool"] != other["tool"] or not alike(own, (), one["arguments"], other["arguments"]):
            return verdict(f"call {place} is {shown_call(other)} instead of {shown_call(one)}")
    if len(made) > len(wanted):
        return verdict(f"call {len(wanted) + 1}, {shown_call(made[len(wanted)])}, is not in the golden")
    if len(wanted) > len(made):
        return verdict(f"call {len(made) + 1}, {shown_call(wanted[len(made)])}, was not made")
    return verdict("", f"as in the golden (tool calls: {len(made)})")


def tool_responses(instance: dict[str, Any]) -> dict[str, Any]:
    """Score 1 where the agent got the golden's tool responses, else 0. Those of one tool are compared in their order."""
    wanted = [call for call in judged(instance)["calls"] if "response" in call]
    tolerances, left = tolerances_of(instance, "response"), calls_of(instance)
    for call in wanted:
        tool = call["tool"]
        found = next((one for one in left if one["tool"] == tool), None)
        if found is None or "response" not in found:
            return verdict(f"{tool} gave no response")
        left.remove(found)
        if not alike(of_tool(tolerances, tool), (), call["response"], found["response"]):
            words = f"{tool} returned {shown(found['response'])} instead of {shown(call['response'])}"
            return verdict(words)
    return verdict("", f"as in the golden (tool responses: {len(wanted)})")


def final_state(instance: dict[str, Any]) -> dict[str, Any]:
    """Score 1 where the session ends with the state of the golden, else 0.

    Of a golden of several turns the trace only shows what the last turn changed: what earlier turns left is not looked at.
    """
    golden, tolerances = judged(instance), of_tool(tolerances_of(instance, "state"), "*")
    if "final_state" not in golden:
        return {"score": None, "explanation": "the golden has no final state for this turn"}
    wanted, ended = golden["final_state"], dict(golden.get("initial_state", {}))
    for event in events_of(instance):
        ended.update(event.get("state_delta") or {})
    ended = {name: value for name, value in ended.items() if not name.startswith("temp:")}
    looked_at = {*ended, *(wanted if golden["is_whole"] else golden["changed"])}
    recorded, given = ({name: each[name] for name in looked_at & each.keys()} for each in (wanted, ended))
    if not alike(tolerances, (), recorded, given):
        differ = [
            (alike(tolerances, (name,), one, other), name, one, other)
            for name in looked_at
            for one, other in [(recorded.get(name, MISSING), given.get(name, MISSING))]
            if one is MISSING or other is MISSING or not same(one, other)
        ]
        _, name, one, other = min(differ, key=lambda row: row[:2])
        return verdict(f"{name} is {shown(other)} instead of {shown(one)}")
    unseen = len(wanted.keys() - looked_at)
    rest = f"; left by earlier turns and not in the trace: {unseen}" if unseen else ""
    return verdict("", f"as in the golden (state values: {len(looked_at)}{rest})")


def verdict(difference: str, agreement: str = "") -> dict[str, Any]:
    """Return what `eval grade` reads: the score, and what differs or agrees."""
    return {"score": 0.0 if difference else 1.0, "explanation": difference or agreement}


# ---------------------------------------------------------------- what happened, and what the golden says


def judged(instance: dict[str, Any]) -> dict[str, Any]:
    """Return what the golden says of this turn."""
    golden: dict[str, Any] | None = (instance.get(FIELD) or {}).get("judged")
    if not golden:
        raise ValueError(f"the case has no golden: the field {FIELD} is missing, or older than this metric")
    return golden


def events_of(instance: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events of the turn that the agent played: those behind the last message of the user."""
    turns = (instance.get("agent_data") or {}).get("turns") or []
    events = [event for turn in turns for event in turn.get("events") or []]
    asked = [place for place, event in enumerate(events) if is_message(event)]
    return events[asked[-1] + 1 :] if asked else events


def is_message(event: dict[str, Any]) -> bool:
    """Return whether a user says something in an event."""
    parts = parts_of(event)
    return (
        event.get("author") == "user"
        and bool(parts)
        and not any(part.get("function_response") for part in parts)
    )


def parts_of(event: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of an event's content."""
    parts: list[dict[str, Any]] = (event.get("content") or {}).get("parts") or []
    return parts


def calls_of(instance: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tool calls of the turn, each with its response where there is one; not what ADK itself asks the user."""
    calls: list[dict[str, Any]] = []
    for part in (part for event in events_of(instance) for part in parts_of(event)):
        call, answer = part.get("function_call"), part.get("function_response")
        if call and not (call.get("name") or "").startswith("adk_request_"):
            made = {"tool": call.get("name"), "arguments": call.get("args") or {}, "id": call.get("id")}
            calls.append(made)
        if answer:
            waiting = [one for one in calls if one["tool"] == answer.get("name") and "response" not in one]
            named = [one for one in waiting if one["id"] == answer.get("id")]
            for one in (named or waiting)[:1]:
                one["response"] = answer.get("response")
    return calls


def shown_call(call: dict[str, Any]) -> str:
    """Return a call in words."""
    return f"{call['tool']}({shown(call['arguments'])})"


def shown(value: Any) -> str:
    """Return a value as JSON, cut where it is long."""
    text = "nothing" if value is MISSING else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


# ---------------------------------------------------------------- what may differ


def tolerances_of(instance: dict[str, Any], of: str) -> list[dict[str, Any]]:
    """Return the case's tolerances for one thing, those that count first at the beginning."""
    found = [each for each in judged(instance).get("tolerances", ()) if each["of"] == of]
    ranked = sorted(
        enumerate(found),
        key=lambda row: (
            sum(isinstance(step, dict) for step in row[1]["steps"]),
            row[1]["tool"] == "*",
            -row[0],
        ),
    )
    return [each for _, each in ranked]


def of_tool(tolerances: Sequence[dict[str, Any]], tool: str) -> list[dict[str, Any]]:
    """Return the tolerances that are for a tool."""
    return [each for each in tolerances if each["tool"] in {tool, "*"}]


def alike(
    tolerances: Sequence[dict[str, Any]], place: tuple[str | int, ...], recorded: Any, given: Any
) -> bool:
    """Return whether what stands at a place may stand for what was recorded there."""
    if recorded is not MISSING and given is not MISSING and same(recorded, given):
        return True
    if recorded is MISSING and given is MISSING:
        return True
    for tolerance in tolerances:
        if names(tolerance["steps"], place):
            return allowed(tolerances, tolerance, place, recorded, given)
    if isinstance(recorded, dict) and isinstance(given, dict):
        return all(
            alike(tolerances, (*place, name), recorded.get(name, MISSING), given.get(name, MISSING))
            for name in {**recorded, **given}
        )
    if isinstance(recorded, list) and isinstance(given, list) and len(recorded) == len(given):
        return all(
            alike(tolerances, (*place, number), *pair)
            for number, pair in enumerate(zip(recorded, given, strict=True))
        )
    return False


def names(steps: list[Any], place: tuple[str | int, ...]) -> bool:
    """Return whether a path names a place."""
    return len(steps) == len(place) and all(
        isinstance(there, int) == (step["any"] == "item") if isinstance(step, dict) else step == there
        for step, there in zip(steps, place, strict=True)
    )


def allowed(
    tolerances: Sequence[dict[str, Any]],
    tolerance: dict[str, Any],
    place: tuple[str | int, ...],
    recorded: Any,
    given: Any,
) -> bool:
    """Return whether a tolerance lets a value stand for the recorded one."""
    kind = tolerance["kind"]
    if kind == "ignore" or recorded is MISSING or given is MISSING:
        return bool(kind == "ignore")
    if kind == "unordered":
        return in_any_order(tolerances, place, recorded, given)
    if kind == "one_of":
        return any(same(value, given) for value in tolerance["values"])
    if kind == "regex":
        return isinstance(given, str) and re.fullmatch(tolerance["pattern"], given) is not None
    if kind == "range":
        return is_in_range(tolerance, recorded, given)
    return bool(kind == "case_insensitive") and same(folded(recorded), folded(given))


def is_in_range(tolerance: dict[str, Any], recorded: Any, given: Any) -> bool:
    """Return whether a number is within its bounds, and near enough to the recorded one."""
    if not is_number(given):
        return False
    distance, low, high = (tolerance.get(name) for name in ("distance", "low", "high"))
    if distance is not None and not (is_number(recorded) and abs(given - recorded) <= distance):
        return False
    return (low is None or given >= low) and (high is None or given <= high)


def in_any_order(
    tolerances: Sequence[dict[str, Any]], place: tuple[str | int, ...], recorded: Any, given: Any
) -> bool:
    """Return whether two lists have the same items, each of one a partner in the other."""
    if not (isinstance(recorded, list) and isinstance(given, list) and len(recorded) == len(given)):
        return False
    inner = (*place, ANYWHERE)
    choices = [
        [number for number, other in enumerate(given) if alike(tolerances, inner, item, other)]
        for item in recorded
    ]
    return len(paired(choices)) == len(choices)


def is_number(value: Any) -> bool:
    """Return whether a value is a number of JSON."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def folded(value: Any) -> Any:
    """Return a value with all its texts in one case."""
    if isinstance(value, dict):
        return {name: folded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [folded(item) for item in value]
    return value.casefold() if isinstance(value, str) else value
