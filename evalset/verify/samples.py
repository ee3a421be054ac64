"""Sets what several replays gave side by side, and finds the places that differ though all answers were the same. Pure.

What differs between two replays with the same answers is not determined by the answers: the agent's own code read a clock, drew
a random number, or counted on. A place that is the clock's time in the recording and in a replay, each of its own moment, is a time,
even where two quick replays have the same.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from google.adk.evaluation.eval_case import Invocation

from evalset.recorded.tolerances import EVERY_TOOL, Ignore, Of, Pattern, Tolerance
from evalset.verify.clocks import is_clock
from evalset.verify.results import Varying
from evalset.verify.steps import spoken, steps_of
from simulator.environment.injection.conditions import LONGEST_PATTERN
from simulator.environment.language.paths import field_place
from simulator.jsonvalue import JsonObject, same

_MISSING: Any = object()
_UUID = re.compile("[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
_ID = re.compile(r"(?=.*[0-9])[A-Za-z0-9]+([-_:.][A-Za-z0-9]+)*")
_TOKEN = re.compile(r"""[^\s,;()\[\]{}"'<>]+|\s+|.""", re.DOTALL)
_SHORTEST_ID = 6
_WORDS_OF_A_TIME = 8

Key: TypeAlias = tuple[Of, str, int, int]
"""What is compared: of which kind, of which tool, in which turn, and as manieth there."""


class Sample(NamedTuple):
    """What one replay, or the recording, gave, and when: seconds since the epoch, from and to."""

    values: Mapping[Key, Any]
    began: float
    ended: float


class Place(NamedTuple):
    """A place that differs, with its value in each sample; a final response that is text has the whole of it."""

    of: Of
    tool: str
    path: str
    values: tuple[Any, ...]


def sample_of(
    turns: Sequence[Invocation],
    state: JsonObject | None,
    asked: Sequence[tuple[int, str, JsonObject]] = (),
    *,
    began: float,
    ended: float,
) -> Sample:
    """Return what is compared of a replay.

    Args:
        turns: What happened.
        state: The final state; None where it is not known.
        asked: The calls that were asked of the environment, each with the number of its turn, its tool and its arguments.
        began: When it began.
        ended: When it ended.
    """
    values: dict[Key, Any] = {} if state is None else {("state", EVERY_TOOL, 0, 0): state}
    counts: Counter[tuple[str, int, str]] = Counter()

    def put(of: Of, tool: str, turn: int, value: Any) -> None:
        values[of, tool, turn, counts[of, turn, tool]] = value
        counts[of, turn, tool] += 1

    for number, turn in enumerate(turns):
        for step in steps_of(turn):
            if step.kind == "response":
                put("response", step.tool, number, step.value)
        put("final_response", EVERY_TOOL, number, spoken(turn.final_response))
    for number, tool, arguments in asked:
        put("arguments", tool, number, arguments)
    return Sample(values, began, ended)


def varying(golden: Sample, replays: Sequence[Sample], inputs: str = "") -> tuple[Varying, ...]:
    """Return what differs by itself, and the tolerance for each.

    Args:
        golden: What was recorded.
        replays: Several replays with the same answers.
        inputs: All that was answered, as a text: a date that stands in there is not one that a clock gave.
    """
    found: dict[tuple[Of, str, str], list[tuple[Any, ...]]] = defaultdict(list)
    for place in _places([golden, *replays]):
        found[place.of, place.tool, place.path].append(place.values)
    samples = (golden, *replays)
    made = [
        _varying((of, tool, path), seen, samples, inputs)
        for (of, tool, path), seen in found.items()
        if any(_varies(values, samples) or _is_lucky(values, samples, inputs) for values in seen)
    ]
    return tuple(_outermost(made))


def unexplained(golden: Sample, replay: Sample, known: Iterable[Varying]) -> bool:
    """Tell whether a replay differs from the recording at a place that is not known to vary."""
    places = {(each.tolerance.of, each.tolerance.tool, each.tolerance.path) for each in known}
    return any(
        not _is_inside((place.of, place.tool, place.path), places)
        for place in _places([golden, replay])
        if not same(*place.values)
    )


def _varies(values: Sequence[Any], samples: Sequence[Sample]) -> bool:
    """Tell whether a place differs between replays, or is the clock's time in the recording and in a replay."""
    of_replays = [value for value in values[1:] if value is not _MISSING]
    if len(of_replays) < len(values) - 1 or any(not same(*pair) for pair in pairwise(of_replays)):
        return True
    recorded, given = values[0], of_replays[0]
    if recorded is _MISSING or same(recorded, given):
        return False
    return is_clock(given, samples[1].began, samples[1].ended) and is_clock(
        recorded, samples[0].began, samples[0].ended
    )


def _is_lucky(values: Sequence[Any], samples: Sequence[Sample], inputs: str) -> bool:
    """Tell a day, a minute or a second that is the same everywhere because all was made in it, and that no answer holds."""
    first = values[0]
    if first is _MISSING or any(value is _MISSING or not same(value, first) for value in values):
        return False
    last = samples[-1]
    if isinstance(first, str) and _clock_words(_TOKEN.findall(first), last, inputs):
        return True
    is_one = is_clock(first, last.began, last.ended)
    return is_one and str(first) not in inputs


# ---------------------------------------------------------------- the places


def _places(samples: Sequence[Sample]) -> Iterator[Place]:
    """Give every place, with its values."""
    for key in samples[0].values:
        values = [sample.values.get(key, _MISSING) for sample in samples]
        if any(value is _MISSING for value in values):
            continue  # a call that only some made: that is no value that varies
        of, tool, _, _ = key
        read = _as_json(values) if of == "final_response" else None
        if of == "final_response" and read is None:
            yield Place(of, tool, "", tuple(values))
            continue
        yield from _within(of, tool, "", read or values)


def _as_json(texts: Sequence[str]) -> list[Any] | None:
    """Read final responses as JSON, where each of them is an object or a list."""
    try:
        read = [json.loads(text) for text in texts]
    except ValueError:
        return None
    return read if all(isinstance(each, (dict, list)) for each in read) else None


def _within(of: Of, tool: str, path: str, values: Sequence[Any]) -> Iterator[Place]:
    there = [value for value in values if value is not _MISSING]
    whole = len(there) == len(values)
    if whole and all(isinstance(value, dict) for value in values):
        for name in dict.fromkeys(name for value in values for name in value):
            inner = [value.get(name, _MISSING) for value in values]
            yield from _within(of, tool, field_place(path, name), inner)
    elif whole and all(isinstance(value, list) for value in values) and len({*map(len, values)}) == 1:
        for items in zip(*values, strict=True):
            yield from _within(of, tool, f"{path}[*]", items)
    else:
        yield Place(of, tool, path, tuple(values))


def _outermost(found: Sequence[Varying]) -> Iterator[Varying]:
    """Leave out what lies inside of something that varies as a whole."""
    places = {(each.tolerance.of, each.tolerance.tool, each.tolerance.path) for each in found}
    for each in found:
        own = each.tolerance.of, each.tolerance.tool, each.tolerance.path
        if not _is_inside(own, places - {own}):
            yield each


def _is_inside(place: tuple[str, str, str], places: Iterable[tuple[str, str, str]]) -> bool:
    """Tell whether a place is one of these, or lies inside of one."""
    return any(
        place[:2] == other[:2]
        and (place[2] == other[2] or not other[2] or place[2].startswith((f"{other[2]}.", f"{other[2]}[")))
        for other in places
    )


# ---------------------------------------------------------------- what it holds, and what lets it differ


def _varying(
    place: tuple[Of, str, str], seen: Sequence[tuple[Any, ...]], samples: Sequence[Sample], inputs: str
) -> Varying:
    of, tool, path = place
    is_text = of == "final_response" and not path
    holds = _text_holds(seen, samples, inputs) if is_text else _holds(seen, samples)
    pattern = _pattern(seen, samples, inputs) if is_text else None
    tolerance: Tolerance = (
        Ignore(of=of, tool=tool, path=path)
        if pattern is None
        else Pattern(of=of, tool=tool, path=path, pattern=pattern)
    )
    return Varying(tolerance=tolerance, holds=holds)


def _holds(seen: Sequence[tuple[Any, ...]], samples: Sequence[Sample]) -> str:
    """Say what stands at a place, as far as its values tell."""
    pairs = [
        (value, sample)
        for values in seen
        for value, sample in zip(values, samples, strict=True)
        if value is not _MISSING
    ]
    if all(is_clock(value, sample.began, sample.ended) for value, sample in pairs):
        return "a time"
    values = [value for value, _ in pairs]
    if all(isinstance(value, str) and _UUID.fullmatch(value) for value in values):
        return "an id"
    if all(
        isinstance(value, str) and len(value) >= _SHORTEST_ID and _ID.fullmatch(value) for value in values
    ):
        return "an id"
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return "a random number"
    return "a random value"


def _text_holds(seen: Sequence[tuple[Any, ...]], samples: Sequence[Sample], inputs: str) -> str:
    changed = [
        tuple(tokens) for texts in seen for tokens in zip(*_tokens(texts), strict=False) if len({*tokens}) > 1
    ]
    found = {_holds([each], samples) for each in changed}
    if "a time" in found or any(
        _clock_words(tokens[-1], samples[-1], inputs) for tokens in map(_tokens, seen)
    ):
        return "a time"
    return found.pop() if len(found) == 1 else "a random value"


def _tokens(texts: Sequence[str]) -> list[list[str]]:
    return [_TOKEN.findall(text) for text in texts]


def _pattern(seen: Sequence[tuple[Any, ...]], samples: Sequence[Sample], inputs: str) -> str | None:
    """Write a regular expression for texts that differ in some words alone; None where there is more to it."""
    cut = [tokens for texts in seen for tokens in _tokens(texts)]
    if len(seen) > 1 or len({*map(len, cut)}) != 1:
        return None
    columns = [*zip(*cut, strict=True)]
    differs = [len({*column}) > 1 for column in columns]
    for place in _clock_words(cut[-1], samples[-1], inputs):
        differs[place] = True
    if all(differs):
        return None
    written = "".join(
        r"\S+" if is_open else re.escape(column[0]).replace("\\ ", " ")
        for column, is_open in zip(columns, differs, strict=True)
    )
    return written if len(written) <= LONGEST_PATTERN else None


def _clock_words(tokens: Sequence[str], sample: Sample, inputs: str) -> set[int]:
    """Give the places of the words that together are the time at which a sample was made, and that no answer holds."""
    found: set[int] = set()
    words = [place for place, token in enumerate(tokens) if token.strip()]
    for first, start in enumerate(words):
        for end in words[first : first + _WORDS_OF_A_TIME]:
            text = "".join(tokens[start : end + 1]).strip(".,;")
            if (
                any(map(str.isdigit, text))
                and is_clock(text, sample.began, sample.ended)
                and text not in inputs
            ):
                found |= {place for place in words if start <= place <= end}
    return found
