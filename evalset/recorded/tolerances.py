"""Says what may differ from the recording, and how far: arguments of calls, responses, the final state, final responses. Pure.

Tolerances are kept with a case. Replay and verification heed them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from evalset.golden_trace.steps import paired
from simulator.base import json_paths
from simulator.base.frozen_value import Number, Value
from simulator.base.json_values import Json, JsonObject, same
from simulator.base.work_limit import Searcher, SearchError
from simulator.environment.injection.conditions import LONGEST_PATTERN, Matches, ValuePath, compiled_pattern

EVERY_TOOL = "*"
_SEARCH_SECONDS = 0.2
_MOST_GIVEN_UP = 3
LONGEST_FORM = LONGEST_PATTERN
"""How long a regular expression may be that is proposed."""
_WORD = re.compile(r"\s+|\S+")
_AROUND_WORDS = ",.;:!?()[]{}\"'"
"""What stands around words in a list; a sign or a point within a number belongs to it."""
_MISSING: Any = object()
_ANYWHERE = -(10**12)
"""The number of an item in a list without order, which no path names."""

Place: TypeAlias = tuple[str | int, ...]
"""Where a value stands in what is compared: names of fields and numbers of items."""

Of: TypeAlias = Literal["arguments", "response", "state", "final_response"]
"""What a tolerance is for: the arguments of calls, the tool responses that an eval set holds, the final state, final responses."""


class _Tolerance(Value):
    """What all tolerances have.

    Attributes:
        of: What it is for.
        tool: The tool of arguments and responses; `*` for every one.
        path: The place, as `items[*].price`; empty for all of it. What stands at such a place, with all that is in it, is compared
            as the tolerance says. A final response that is JSON has places, too.
    """

    of: Of = "arguments"
    tool: str = Field(default=EVERY_TOOL, min_length=1)
    path: ValuePath = ""

    @property
    def place(self) -> tuple[Of, str, str]:
        """What it is for, and where."""
        return self.of, self.tool, self.path


class Exact(_Tolerance):
    """The value is the recorded one: an exception from a wider tolerance."""

    kind: Literal["exact"] = "exact"


class Ignore(_Tolerance):
    """The value may be any, and may be missing."""

    kind: Literal["ignore"] = "ignore"


class OneOfTolerance(_Tolerance):
    """The value is one of these, or the recorded one."""

    kind: Literal["one_of"] = "one_of"
    values: tuple[Json, ...] = Field(min_length=1)


class PatternTolerance(_Tolerance):
    """The value is a text that the regular expression matches as a whole."""

    kind: Literal["regex"] = "regex"
    pattern: str = Field(max_length=LONGEST_PATTERN)

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        _compiled(self.pattern)
        return self


class Range(_Tolerance):
    """The value is a number from `low` to `high`, or not further from the recorded one than `distance`; what is None does not bound it."""

    kind: Literal["range"] = "range"
    low: Number | None = Field(default=None, allow_inf_nan=False)
    high: Number | None = Field(default=None, allow_inf_nan=False)
    distance: Number | None = Field(default=None, ge=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _has_a_bound(self) -> Self:
        if self.low is None and self.high is None and self.distance is None:
            raise ValueError("set at least one of low, high and distance")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low ({self.low:g}) is greater than high ({self.high:g})")
        return self


class Unordered(_Tolerance):
    """The value is a list with the recorded items in any order, each compared as the tolerances at `path[*]` say; or a text with the recorded words in any order."""

    kind: Literal["unordered"] = "unordered"


class CaseInsensitive(_Tolerance):
    """Texts are compared without regard to upper and lower case, at any depth."""

    kind: Literal["case_insensitive"] = "case_insensitive"


Tolerance: TypeAlias = Annotated[
    Exact | Ignore | OneOfTolerance | PatternTolerance | Range | Unordered | CaseInsensitive,
    Field(discriminator="kind"),
]


def tolerated(
    tool: str, recorded: JsonObject, asked: JsonObject, tolerances: Sequence[Tolerance] = ()
) -> bool:
    """Return whether a call may stand for a recorded one of the same tool.

    Of several tolerances for one place the one with the fewest `*` in its path counts, then one that names the tool, then the
    last. What is as it was recorded is always right.

    Args:
        tool: The tool.
        recorded: The recorded arguments.
        asked: Those of the call.
        tolerances: What may differ.
    """
    if same(recorded, asked):
        return True
    own = _for("arguments", tool, tolerances)
    return bool(own) and _Comparison(own).alike((), recorded, asked)


def as_recorded(
    of: Of, recorded: Any, given: Any, tolerances: Sequence[Tolerance] = (), tool: str = EVERY_TOOL
) -> Any:
    """Return a value with what may differ from the recorded one put as it was recorded: what is left differs.

    Args:
        of: What the two are: two responses of a tool, two states, two final responses.
        recorded: The recorded value.
        given: The other.
        tolerances: What may differ.
        tool: The tool of responses and arguments.
    """
    own = _for(of, tool, tolerances)
    if not own or same(recorded, given):
        return given
    comparison = _Comparison(own)
    if of == "final_response" and isinstance(recorded, str) and isinstance(given, str):
        return recorded if _may_be_said(comparison, recorded, given) else given
    return comparison.masked((), recorded, given)


def same_words(one: str, other: str) -> bool:
    """Return whether two texts have the same words, in whatever order."""
    return sorted(_words(one)) == sorted(_words(other))


def reordered_words(one: str, other: str) -> bool:
    """Return whether two texts have the same words in another order."""
    return same_words(one, other) and _words(one) != _words(other)


def _words(text: str) -> list[str]:
    return [word.strip(_AROUND_WORDS) for word in text.split()]


def word_form(texts: Sequence[str]) -> str | None:
    """Return a regular expression for texts that are the same but for words with digits in them; None where it would be too long."""
    columns = word_columns(texts)
    if columns is None:
        return None
    written = "".join(r"\S+" if len(column) > 1 else re.escape(*column) for column in columns)
    return written if len(written) < LONGEST_FORM else None


def word_columns(texts: Sequence[str]) -> list[set[str]] | None:
    """Return the words and gaps at each place of some texts; None where they differ in more than words with digits in them."""
    cut = [_WORD.findall(text) for text in texts]
    if len({*map(len, cut)}) != 1:
        return None
    columns = [{*column} for column in zip(*cut, strict=True)]
    if any(len(column) > 1 and not all(any(map(str.isdigit, word)) for word in column) for column in columns):
        return None
    return columns


def _for(of: Of, tool: str, tolerances: Iterable[Tolerance]) -> list[Tolerance]:
    return [each for each in tolerances if each.of == of and each.tool in {tool, EVERY_TOOL}]


def _may_be_said(comparison: _Comparison, recorded: str, said: str) -> bool:
    """Return whether a final response may stand for the recorded one: as a text, or as the JSON that both are."""
    if comparison.alike((), recorded, said):
        return True
    try:
        both = json.loads(recorded), json.loads(said)
    except ValueError:
        return False
    return comparison.alike((), *both)


class _Comparison:
    def __init__(self, tolerances: Iterable[Tolerance]) -> None:
        self._given_up = 0
        self._ranked = sorted(
            ((json_paths.parse(each.path).steps, place, each) for place, each in enumerate(tolerances)),
            key=lambda ranked: (
                sum(_is_wild(step) for step in ranked[0]),
                ranked[2].tool == EVERY_TOOL,
                -ranked[1],
            ),
        )

    def alike(self, place: Place, recorded: Any, asked: Any) -> bool:
        """Compare what stands at a place, by the tolerance for it, or else piece by piece."""
        if recorded is not _MISSING and asked is not _MISSING and same(recorded, asked):
            return True
        tolerance = self._at(place)
        if tolerance is not None:
            return self._allowed(tolerance, place, recorded, asked)
        return self._pieces(place, recorded, asked)

    def masked(self, place: Place, recorded: Any, given: Any) -> Any:
        """Return what is given at a place, with what is tolerated put as it was recorded."""
        if recorded is not _MISSING and given is not _MISSING and same(recorded, given):
            return given
        tolerance = self._at(place)
        if tolerance is not None:
            return recorded if self._allowed(tolerance, place, recorded, given) else given
        if isinstance(recorded, dict) and isinstance(given, dict):
            both = {
                name: self.masked((*place, name), recorded.get(name, _MISSING), given.get(name, _MISSING))
                for name in dict.fromkeys((*recorded, *given))
            }
            return {name: value for name, value in both.items() if value is not _MISSING}
        if isinstance(recorded, list) and isinstance(given, list) and len(recorded) == len(given):
            pairs = zip(recorded, given, strict=True)
            return [self.masked((*place, index), *pair) for index, pair in enumerate(pairs)]
        return given

    def _at(self, place: Place) -> Tolerance | None:
        return next((each for steps, _, each in self._ranked if _names(steps, place)), None)

    def _pieces(self, place: Place, recorded: Any, asked: Any) -> bool:
        if isinstance(recorded, dict) and isinstance(asked, dict):
            return all(
                self.alike((*place, name), recorded.get(name, _MISSING), asked.get(name, _MISSING))
                for name in dict.fromkeys((*recorded, *asked))
            )
        if isinstance(recorded, list) and isinstance(asked, list):
            return len(recorded) == len(asked) and all(
                self.alike((*place, index), *pair)
                for index, pair in enumerate(zip(recorded, asked, strict=True))
            )
        return False

    def _allowed(self, tolerance: Tolerance, place: Place, recorded: Any, asked: Any) -> bool:
        if tolerance.kind == "ignore":
            return True
        if recorded is _MISSING or asked is _MISSING:
            return False
        if tolerance.kind == "unordered":
            return self._in_any_order(place, recorded, asked)
        if tolerance.kind == "regex":
            return isinstance(asked, str) and self._matches(tolerance.pattern, asked)
        return _is_allowed(tolerance, recorded, asked)

    def _matches(self, pattern: str, text: str) -> bool:
        """Return whether a pattern matches; none is searched for any more where a few have taken too long."""
        if self._given_up >= _MOST_GIVEN_UP:
            return False
        try:
            return _compiled(pattern).fullmatch(text, _SEARCH_SECONDS)
        except SearchError:
            self._given_up += 1
            return False

    def _in_any_order(self, place: Place, recorded: Any, asked: Any) -> bool:
        if isinstance(recorded, str) and isinstance(asked, str):
            return same_words(recorded, asked)
        if not (isinstance(recorded, list) and isinstance(asked, list) and len(recorded) == len(asked)):
            return False
        edges = [
            [index for index, other in enumerate(asked) if self.alike((*place, _ANYWHERE), item, other)]
            for item in recorded
        ]
        return len(paired(edges)) == len(edges)


def _is_allowed(tolerance: Tolerance, recorded: Any, asked: Any) -> bool:
    match tolerance:
        case OneOfTolerance(values=values):
            return any(same(value, asked) for value in values)
        case Range():
            return _is_in(tolerance, recorded, asked)
        case CaseInsensitive():
            return same(_folded(recorded), _folded(asked))
        case _:
            return False


def _is_wild(step: Any) -> bool:
    return not isinstance(step, (str, int))


def _names(steps: Sequence[Any], place: Place) -> bool:
    """Return whether a path names a place. A number from the end names nothing here: how long a list is may differ."""
    return len(steps) == len(place) and all(
        step == there if not _is_wild(step) else isinstance(there, int) == (step.kind == "[*]")
        for step, there in zip(steps, place, strict=True)
    )


@lru_cache(maxsize=1_024)
def _compiled(pattern: str) -> Searcher:
    return compiled_pattern(Matches(pattern=pattern, whole=True))


def _is_in(tolerance: Range, recorded: Any, asked: Any) -> bool:
    if not _is_number(asked):
        return False
    is_near = tolerance.distance is None or (
        _is_number(recorded) and abs(asked - recorded) <= tolerance.distance
    )
    return (
        is_near
        and (tolerance.low is None or asked >= tolerance.low)
        and (tolerance.high is None or asked <= tolerance.high)
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _folded(value: Any) -> Any:
    if isinstance(value, str):
        return value.casefold()
    if isinstance(value, dict):
        return {name: _folded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_folded(item) for item in value]
    return value
