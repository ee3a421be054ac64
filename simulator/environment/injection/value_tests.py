"""Tells whether a value passes a condition's test, what the test wants in words, and how near the value came."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from pydantic import JsonValue

from simulator.environment.injection.conditions import (
    Absent,
    Between,
    Equals,
    Holds,
    Matches,
    OneOf,
    Present,
    Test,
    compiled_pattern,
)
from simulator.environment.regexes import SearchError
from simulator.jsonvalue import NotJsonError, canonical, same

_SHOWN_LENGTH = 120
_SEARCH_SECONDS = 0.05
_ALL_SEARCHES_SECONDS = 0.5

_OTHER_TYPE, _SAME_TYPE, _NEARLY = 0.2, 0.5, 0.9


class UndecidedError(Exception):
    """Whether a condition holds cannot be told; the text says why. The condition then counts as one that does not hold."""


class Patience:
    """How long regular expressions may still take in one decision, in seconds of those that were given up."""

    def __init__(self) -> None:
        self.left = _ALL_SEARCHES_SECONDS

    def give_up(self, pattern: str, error: SearchError) -> UndecidedError:
        """Count a search that was given up."""
        self.left -= _SEARCH_SECONDS
        return UndecidedError(f"the pattern {shown(pattern)} {error}")


@dataclass(frozen=True, slots=True)
class ReadyTest:
    """A test of one value, made ready.

    Attributes:
        passes: Tells whether a value passes; raises `UndecidedError` where a pattern takes too long.
        wanted: What it wants, in words that follow "wanted".
        near: Tells how near a value that does not pass came, from 0 to 1.
        asks_for_absence: Whether no value is what it wants.
    """

    passes: Callable[[JsonValue, Patience], bool]
    wanted: str
    near: Callable[[JsonValue], float]
    asks_for_absence: bool = False


def ready_test(test: Test) -> ReadyTest:
    """Make a test ready."""
    match test:
        case Equals(value=wanted):
            return ReadyTest(
                lambda value, _: same(value, wanted), shown(wanted), lambda value: likeness(value, wanted)
            )
        case Holds(value=wanted):
            return ReadyTest(
                lambda value, _: holds(value, wanted),
                f"something that holds {shown(wanted)}",
                lambda value: _share_held(value, wanted),
            )
        case Matches():
            return _ready_pattern(test)
        case Between():
            return ReadyTest(
                lambda value, _: _is_between(value, test), _range(test), lambda v: _near(v, test)
            )
        case OneOf(values=values):
            return ReadyTest(
                lambda value, _: any(same(value, wanted) for wanted in values),
                f"one of {shown(list(values))}",
                lambda value: max(likeness(value, wanted) for wanted in values),
            )
        case Present() | Absent():
            absence = isinstance(test, Absent)
            return ReadyTest(
                lambda _value, _: not absence, "none" if absence else "a value", lambda _value: 0.0, absence
            )
    assert_never(test)


def shown(value: object) -> str:
    """Show a value in a line, as JSON where it is that; a long one is cut."""
    try:
        text = canonical(value)
    except NotJsonError:
        text = repr(value)
    return text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]}..."


def holds(value: JsonValue, wanted: JsonValue) -> bool:
    """Tell whether a value holds another: each named field of an object, and for each item of a list one that holds it."""
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(
            name in value and holds(value[name], inner) for name, inner in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(value, list) and all(any(holds(item, inner) for item in value) for inner in wanted)
    return same(value, wanted)


def likeness(value: object, wanted: object) -> float:
    """Tell how like two values are that are not the same, from 0.2 for another type to 0.9 for a slip of the hand."""
    if isinstance(value, str) and isinstance(wanted, str):
        return _NEARLY if value.strip().casefold() == wanted.strip().casefold() else _SAME_TYPE
    if isinstance(value, bool) or isinstance(wanted, bool):
        return _SAME_TYPE if type(value) is type(wanted) else _OTHER_TYPE
    if isinstance(value, (int, float)) and isinstance(wanted, (int, float)):
        return _SAME_TYPE + (_NEARLY - _SAME_TYPE) * _closeness(float(value), float(wanted))
    if isinstance(value, (str, int, float)) and isinstance(wanted, (str, int, float)):
        return _NEARLY if str(value) == str(wanted) else _OTHER_TYPE
    return _SAME_TYPE if type(value) is type(wanted) else _OTHER_TYPE


def _closeness(value: float, wanted: float) -> float:
    """Give 1 for equal numbers, and less the farther they are apart, in relation to what was wanted."""
    apart = abs(value - wanted) / max(1.0, abs(wanted))
    return 1.0 / (1.0 + apart) if apart == apart else 0.0  # noqa: PLR0124 - only NaN is not itself


def _share_held(value: JsonValue, wanted: JsonValue) -> float:
    if isinstance(wanted, dict) and isinstance(value, dict) and wanted:
        held = sum(name in value and holds(value[name], inner) for name, inner in wanted.items())
        return _OTHER_TYPE + (_NEARLY - _OTHER_TYPE) * held / len(wanted)
    if isinstance(wanted, list) and isinstance(value, list) and wanted:
        held = sum(any(holds(item, inner) for item in value) for inner in wanted)
        return _OTHER_TYPE + (_NEARLY - _OTHER_TYPE) * held / len(wanted)
    return likeness(value, wanted)


def _ready_pattern(test: Matches) -> ReadyTest:
    pattern = compiled_pattern(test)
    search = pattern.fullmatch if test.whole else pattern.search

    def passes(value: JsonValue, patience: Patience) -> bool:
        if not isinstance(value, str):
            return False
        if patience.left <= 0:
            raise UndecidedError(f"the pattern {shown(test.pattern)} was not tried, as others took too long")
        try:
            return search(value, _SEARCH_SECONDS)
        except SearchError as error:
            raise patience.give_up(test.pattern, error) from None

    what = "a text that is all a match of" if test.whole else "a match of"
    return ReadyTest(
        passes,
        f"{what} {shown(test.pattern)}",
        lambda value: _SAME_TYPE if isinstance(value, str) else _OTHER_TYPE,
    )


def _is_between(value: JsonValue, test: Between) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    low, high = test.low, test.high
    if test.exclusive:
        return (low is None or value > low) and (high is None or value < high)
    return (low is None or value >= low) and (high is None or value <= high)


def _near(value: JsonValue, test: Between) -> float:
    ends = [end for end in (test.low, test.high) if end is not None]
    return max(likeness(value, end) for end in ends)


def _range(test: Between) -> str:
    ends = "" if not test.exclusive else ", without the ends" if None not in {test.low, test.high} else ""
    if test.low is None:
        return f"a number {'below' if test.exclusive else 'of at most'} {test.high:g}"
    if test.high is None:
        return f"a number {'above' if test.exclusive else 'of at least'} {test.low:g}"
    return f"a number from {test.low:g} to {test.high:g}{ends}"
