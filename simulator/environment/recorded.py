"""Answers a call as a recorded one was answered: word for word, or adapted to this call's arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from pydantic import JsonValue

from simulator.environment.attempt import Try
from simulator.environment.plausible import is_identifier
from simulator.environment.recall import is_error
from simulator.jsonvalue import JsonObject, same

_FAR = 0.5
"""From this share of arguments that differ on, another call says nothing about this one."""


class RecordedAnswer(Protocol):
    """A recorded call with its answer."""

    @property
    def tool_name(self) -> str:
        """The tool."""

    @property
    def arguments(self) -> JsonObject:
        """What it was asked."""

    @property
    def response(self) -> JsonValue:
        """What it answered."""


def recorded_answer(
    recorded: Sequence[RecordedAnswer],
    tool_name: str,
    arguments: JsonObject,
    fits: Callable[[JsonValue], bool],
    *,
    exactly: bool,
) -> Try | None:
    """Give the recorded answer to a call; None where none is near enough and fits the tool's schema.

    Args:
        recorded: The recorded calls, oldest first; of equally near ones the latest counts.
        tool_name: The tool that is called.
        arguments: What it is asked.
        fits: Tells whether the tool may give an answer.
        exactly: Whether only a call with the same arguments counts; else the nearest, with the values of its arguments
            replaced by those of this call wherever its answer repeats them.
    """
    best: tuple[float, RecordedAnswer] | None = None
    for one in reversed(recorded):
        if one.tool_name != tool_name:
            continue
        distance = _distance(one.arguments, arguments)
        if exactly and not distance and fits(one.response):
            return Try(one.response, f"as {tool_name} was recorded for the same arguments")
        if not exactly and not is_error(one.response) and (best is None or distance < best[0]):
            best = (distance, one)
    if exactly or best is None or best[0] > _FAR:
        return None
    adapted = adapted_answer(best[1].response, best[1].arguments, arguments)
    other = ", ".join(_differing(best[1].arguments, arguments))
    return Try(adapted, f"as {tool_name} was recorded, with another {other}") if fits(adapted) else None


def adapted_answer(response: JsonValue, before: JsonObject, now: JsonObject) -> JsonValue:
    """Give an answer with the values of one call's arguments replaced by those of another, wherever it repeats them."""
    swaps = [
        (old, now[name], is_identifier(name))
        for name, old in before.items()
        if name in now and not same(old, now[name])
    ]
    return _swapped(response, swaps) if swaps else response


def _swapped(value: JsonValue, swaps: list[tuple[JsonValue, JsonValue, bool]]) -> JsonValue:
    for old, new, _ in swaps:
        if same(value, old) and not isinstance(value, bool) and value not in (None, "", 0, 1):
            return new
    if isinstance(value, dict):
        return {key: _swapped(inner, swaps) for key, inner in value.items()}
    if isinstance(value, list):
        return [_swapped(inner, swaps) for inner in value]
    if isinstance(value, str):
        for old, new, is_id in swaps:
            if is_id and isinstance(old, str) and len(old) > 2 and old in value:  # noqa: PLR2004 - a shorter id stands in any word
                value = value.replace(old, str(new))
    return value


def _distance(before: JsonObject, now: JsonObject) -> float:
    names = before.keys() | now.keys()
    return sum(1.0 for _ in _differing(before, now)) / len(names) if names else 0.0


def _differing(before: JsonObject, now: JsonObject) -> Iterator[str]:
    for name in dict.fromkeys((*now, *before)):
        if name not in before or name not in now or not same(before[name], now[name]):
            yield name
