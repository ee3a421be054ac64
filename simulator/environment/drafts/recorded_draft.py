"""Answers a call as the same call was recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pydantic import JsonValue

from simulator.base.json_values import JsonObject, same
from simulator.environment.conventions.tool_verbs import EarlierAnswer
from simulator.environment.recordings.recorded_calls import RecordedCall


def recorded_answer(
    recorded: Sequence[RecordedCall],
    tool_name: str,
    arguments: JsonObject,
    earlier: Sequence[EarlierAnswer],
    fits: Callable[[JsonValue], bool],
) -> tuple[RecordedCall, bool] | None:
    """Return the call that was recorded with the same arguments, and whether its answer is a new one; None where none was.

    The same call asked again gets the next answer that was recorded for it; the last one once all were given.
    """
    calls = [one for one in recorded if one.tool_name == tool_name and same(one.arguments, arguments)]
    calls = [one for one in calls if fits(one.response)]
    given = [one for one in earlier if one.tool_name == tool_name and one.arguments == arguments]
    left = list(calls)
    for answer in given:
        used = next((one for one in left if same(one.response, answer.response)), None)
        if used is not None:
            left.remove(used)
    return (left[0], True) if left else (calls[-1], False) if calls else None
