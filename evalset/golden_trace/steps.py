"""Says what the steps of a turn are, of a golden as of a run, and pairs what is on one side with what is on the other. Pure.

`in_order` sets calls side by side in their order, `paired` finds as many as can have one of their own. Knows no ADK, whose import takes a second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Literal, NamedTuple, TypeAlias

from simulator.base.frozen_value import Value
from simulator.base.json_values import Json, JsonObject


class Step(Value):
    """One step of a turn: what the user asks, a call, what it was answered, or the final text; behind the last turn, the state.

    Attributes:
        kind: Which of these.
        author: Who made it, where that is told.
        tool: The tool of a call or a response.
        value: The arguments of a call, a response, or the state.
        text: What was said, by the user or at last.
        within: The agent tools inside of which a call was made, outermost first, by name.
    """

    kind: Literal["query", "call", "response", "text", "state"]
    author: str = ""
    tool: str = ""
    value: Json = None
    text: str = ""
    within: tuple[str, ...] = ()

    @property
    def arguments(self) -> JsonObject:
        """The arguments of a call; none of anything else."""
        return self.value if isinstance(self.value, dict) else {}


def response_behind(steps: Sequence[Step], place: int) -> Step | None:
    """Return the response to the call at a place among the steps of a turn; None where it has none."""
    following = steps[place + 1] if place + 1 < len(steps) else None
    return following if following is not None and following.kind == "response" else None


def calls_of(steps: Sequence[Step]) -> list[tuple[Step, Step | None]]:
    """Return the calls among the steps of a turn, each with its response; None where it has none."""
    return [(step, response_behind(steps, place)) for place, step in enumerate(steps) if step.kind == "call"]


def with_state(turns: Sequence[tuple[Step, ...]], state: JsonObject | None) -> tuple[tuple[Step, ...], ...]:
    """Return the steps of all turns with the final state behind the last one, where it is known."""
    if not turns or state is None:
        return tuple(turns)
    return (*turns[:-1], (*turns[-1], Step(kind="state", value=state)))


def text_of(steps: Sequence[Step], kind: str) -> str:
    """Return what the user asks, or what the agent says at last, among the steps of a turn."""
    return next((step.text for step in steps if step.kind == kind), "")


Alike: TypeAlias = Callable[[int, int], bool]
"""Checks whether the golden call of a place and the actual one of a place are the same."""


class CallPair(NamedTuple):
    """A golden and an actual call that belong together, by their places; None where there is none."""

    golden: int | None
    actual: int | None
    alike: bool


def paired(choices: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return as many of the first as can be one of the second of their own, by augmenting paths.

    Args:
        choices: For each of the first, the places of the second that it may have; the ones it would rather have come first.
    """
    partner: dict[int, int] = {}

    def place(one: int, seen: set[int]) -> bool:
        for other in choices[one]:
            if other not in seen:
                seen.add(other)
                if other not in partner or place(partner[other], seen):
                    partner[other] = one
                    return True
        return False

    for one in range(len(choices)):
        place(one, set())
    return {one: other for other, one in partner.items()}


def in_order(golden: int, actual: int, alike: Alike) -> list[CallPair]:
    """Set calls side by side in their order; `alike` is false where a call differs, is missing, or is one too many."""
    rows: list[CallPair] = []
    g = a = 0
    for next_g, next_a in [*_longest(golden, actual, alike), (golden, actual)]:
        gap = zip_longest(range(g, next_g), range(a, next_a))
        rows += [CallPair(left, right, alike=False) for left, right in gap]
        if next_g < golden and next_a < actual:
            rows.append(CallPair(next_g, next_a, alike=True))
        g, a = next_g + 1, next_a + 1
    return rows


def _longest(golden: int, actual: int, alike: Alike) -> list[tuple[int, int]]:
    """Find a longest common subsequence; what is common at both ends is part of one."""
    start = 0
    while start < min(golden, actual) and alike(start, start):
        start += 1
    end = 0
    while end < min(golden, actual) - start and alike(golden - 1 - end, actual - 1 - end):
        end += 1
    head = [(place, place) for place in range(start)]
    tail = [(golden - place, actual - place) for place in range(end, 0, -1)]
    return [*head, *_middle(range(start, golden - end), range(start, actual - end), alike), *tail]


def _middle(golden: range, actual: range, alike: Alike) -> list[tuple[int, int]]:
    lengths = [[0] * (len(actual) + 1) for _ in range(len(golden) + 1)]
    same = {(g, a) for g in golden for a in actual if alike(g, a)}
    for row in reversed(range(len(golden))):
        for column in reversed(range(len(actual))):
            lengths[row][column] = (
                lengths[row + 1][column + 1] + 1
                if (golden[row], actual[column]) in same
                else max(lengths[row + 1][column], lengths[row][column + 1])
            )
    found: list[tuple[int, int]] = []
    row = column = 0
    while row < len(golden) and column < len(actual):
        if (golden[row], actual[column]) in same:
            found.append((golden[row], actual[column]))
            row, column = row + 1, column + 1
        elif lengths[row + 1][column] >= lengths[row][column + 1]:
            row += 1
        else:
            column += 1
    return found
