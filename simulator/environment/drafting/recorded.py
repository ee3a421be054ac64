"""Answers a call as a recorded one was answered: word for word, or adapted to this call's arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from pydantic import JsonValue

from simulator.environment.conventions.answers import EarlierAnswer, is_error
from simulator.environment.conventions.names import is_identifier
from simulator.environment.drafting.attempt import Try
from simulator.environment.recording.nearest_calls import nearest
from simulator.environment.recording.recordings import RecordedCall
from simulator.jsonvalue import JsonObject, same

_FAR = 0.5
"""From this distance on another call says nothing about this one."""
_LOOKED_AT = 5


class RecordedAnswers:
    """What recorded calls say about one call. The same call asked again gets the next answer that was recorded for it."""

    def __init__(
        self,
        recorded: Sequence[RecordedCall],
        tool_name: str,
        arguments: JsonObject,
        *,
        earlier: Sequence[EarlierAnswer],
        fits: Callable[[JsonValue], bool],
    ) -> None:
        self._recorded = recorded
        self._tool = tool_name
        self._arguments = arguments
        self._earlier = earlier
        self._fits = fits

    @cached_property
    def _used(self) -> dict[int, int]:
        """How often each recorded call was given to this very call before."""
        used: dict[int, int] = {}
        asked = [
            one for one in self._earlier if one.tool_name == self._tool and one.arguments == self._arguments
        ]
        for answer in asked:
            for index, call in enumerate(self._recorded):
                if (
                    call.tool_name == self._tool
                    and index not in used
                    and same(call.response, answer.response)
                ):
                    used[index] = 1
                    break
        return used

    @cached_property
    def _near(self) -> tuple[tuple[float, bool, RecordedCall, tuple[str, ...]], ...]:
        if not self._recorded:
            return ()
        found = nearest(self._recorded, self._tool, self._arguments, n=_LOOKED_AT, used=self._used)
        return tuple((one.distance, one.index in self._used, one.call, one.differs) for one in found)

    def exact(self, *, again: bool) -> Try | None:
        """Give the answer that was recorded for the same arguments; `again` allows one that was given before."""
        for distance, is_used, call, _ in self._near:
            if not distance and (again or not is_used) and self._fits(call.response):
                return Try(
                    call.response, f"as {self._tool} was recorded for the same arguments: {call.place}"
                )
        return None

    def adapted(self) -> Try | None:
        """Give the answer to the nearest recorded call, with its arguments' values replaced by those of this one."""
        for distance, _, call, differs in self._near:
            if not 0 < distance <= _FAR or is_error(call.response):
                continue
            answer = adapted_answer(call.response, call.arguments, self._arguments)
            if self._fits(answer):
                return Try(
                    answer, f"as {self._tool} was recorded ({call.place}), where {'; '.join(differs[:3])}"
                )
        return None


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
