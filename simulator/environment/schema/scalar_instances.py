"""Makes single values for a schema, which a seed repeats: choices, texts that match a pattern, numbers within bounds and steps."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from re import _constants as op  # type: ignore[attr-defined] # the parser of `re` has no public name since 3.11
from re import _parser as parser  # type: ignore[attr-defined] # as above
from typing import Any, TypeVar

from simulator.base.json_values import JsonObject
from simulator.base.work_limit import PatternError, SearchError, searcher, size_of

Item = TypeVar("Item")


class Chance:
    """A stream of choices that hangs on a seed alone. Each choice names what it is for, so order does not matter."""

    def __init__(self, *seed: str) -> None:
        self._seed = "\x1f".join(seed)

    def number(self, name: str, below: int) -> int:
        """Return a whole number from 0 up to, but not including, `below` (at least 1)."""
        digest = hashlib.sha256(f"{self._seed}\x1f{name}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % below

    def choice(self, name: str, among: Sequence[Item]) -> Item:
        """Return one of a sequence that is not empty."""
        return among[self.number(name, len(among))]

    def within(self, name: str, low: float, high: float, digits: int) -> float | int:
        """Return a number between two, rounded; a whole number where `digits` is 0."""
        value = low + (high - low) * self.number(name, 10_001) / 10_000
        return round(value, digits) if digits else round(value)


_TRIES = 24
_MOST_STEPS = 60_000
"""How many parts are written for one text, in all tries together."""
_MOST_REPEATS = 64
LARGEST = 20_000
"""How many signs a text may have that is made, so many as the pattern must have with its repetitions written out."""
_DIGITS = "0123456789"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORD = f"{_LETTERS}{_LETTERS.upper()}{_DIGITS}_"
_PRINTED = "".join(map(chr, range(32, 127)))
_ANY = f"{_LETTERS}{_DIGITS} "


def matching(
    pattern: str, chance: Chance, name: str = "", *, least: int = 0, most: int = 1_000
) -> str | None:
    """Make a text that `re.search` finds the pattern in, of a length between two; None where none was found.

    The same chance and name give the same text. A pattern, or a length, of more than `LARGEST` signs gives None, and so
    does one that takes too long to search for.
    """
    tree = tree_of(pattern)
    if tree is None or least > LARGEST or least_size(pattern) > LARGEST:
        return None
    steps = _MOST_STEPS
    for place in range(_TRIES):
        writer = _Writer(
            Chance(str(chance.number(f"pattern:{name}:{place}", 2**53))),
            stretch=place // 2,
            least=least,
            steps=steps,
        )
        text = writer.text(tree)
        if text is None:
            return None
        steps = writer.steps
        if len(text) < least and not writer.anchored:
            text = text + "x" * (least - len(text))
        try:
            if least <= len(text) <= most and searcher(pattern).search(text):
                return text
        except (PatternError, SearchError):
            return None
    return None


def pattern_cost(pattern: object) -> int:
    """Say how many plain values a text of a pattern takes as much work as; 0 where there is no pattern."""
    return 1 + min(least_size(pattern), LARGEST) // 40 if isinstance(pattern, str) else 0


def matches(pattern: str, text: str) -> bool:
    """Return whether a pattern is found in a text; one that takes too long is not."""
    try:
        return searcher(pattern).search(text)
    except (PatternError, SearchError):
        return False


class _Writer:
    """Writes one text along a parsed pattern, in as many steps as are left, or gives it up.

    `stretch` is how far repetitions go beyond the least.
    """

    def __init__(self, chance: Chance, *, stretch: int, least: int, steps: int) -> None:
        self._chance = chance
        self._stretch = stretch
        self._least = least
        self.steps = steps
        self._draws = 0
        self._groups: dict[int, str] = {}
        self.anchored = False

    def text(self, tree: Any) -> str | None:
        parts = []
        for code, value in tree:
            self.steps -= 1
            part = self._part(code, value) if self.steps >= 0 else None
            if part is None:
                return None
            parts.append(part)
        return "".join(parts)

    def _part(self, code: Any, value: Any) -> str | None:  # noqa: PLR0911, PLR0912, C901 - one per construct
        match code:
            case op.LITERAL:
                return chr(value)
            case op.NOT_LITERAL:
                return self._one(_ANY.replace(chr(value), ""))
            case op.ANY:
                return self._one(_ANY)
            case op.IN:
                return self._one(_set(value))
            case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
                return self._repeated(*value)
            case op.SUBPATTERN:
                inner = self.text(value[-1])
                if inner is not None and value[0] is not None:
                    self._groups[value[0]] = inner
                return inner
            case op.ATOMIC_GROUP:
                return self.text(value)
            case op.BRANCH:
                return self.text(value[1][self._draw(len(value[1]))])
            case op.GROUPREF:
                return self._groups.get(value, "")
            case op.AT:
                self.anchored = self.anchored or value in (op.AT_END, op.AT_END_STRING)
                return ""
            case op.ASSERT | op.ASSERT_NOT:
                return ""  # the text is searched for the whole pattern in the end
            case _:
                return None

    def _repeated(self, low: int, high: int, inner: Any) -> str | None:
        most = min(int(high), max(int(low), 1) + max(self._stretch, self._least), _MOST_REPEATS + int(low))
        usual = min(most, max(int(low), 4))
        times = int(low) + self._draw(usual - int(low) + 1)
        if self._stretch:
            times = int(low) + self._draw(most - int(low) + 1)
        written: list[str] = []
        for _ in range(times):
            self.steps -= 1  # an empty part is a step too
            part = self.text(inner) if self.steps >= 0 else None
            if part is None:
                return None
            written.append(part)
        return "".join(written)

    def _one(self, among: str) -> str | None:
        return among[self._draw(len(among))] if among else None

    def _draw(self, below: int) -> int:
        self._draws += 1
        return self._chance.number(str(self._draws), max(below, 1))


def _set(items: Any) -> str:
    """Return the printable letters of a character set; of a set of others, its first few."""
    negated = bool(items) and items[0][0] is op.NEGATE
    found: list[str] = []
    for code, value in items:
        match code:
            case op.LITERAL:
                found.append(chr(value))
            case op.RANGE:
                found.extend(map(chr, range(value[0], min(value[1], value[0] + 200) + 1)))
            case op.CATEGORY:
                found.extend(_category(value))
            case _:
                pass
    if negated:
        left = [letter for letter in _ANY if letter not in found] or [
            one for one in _PRINTED if one not in found
        ]
        return "".join(left)
    return "".join(dict.fromkeys(found))


def _category(kind: Any) -> str:
    match kind:
        case op.CATEGORY_DIGIT:
            return _DIGITS
        case op.CATEGORY_WORD:
            return _WORD
        case op.CATEGORY_SPACE:
            return " "
        case op.CATEGORY_NOT_DIGIT:
            return _LETTERS
        case op.CATEGORY_NOT_WORD:
            return " -"
        case _:
            return _LETTERS + _DIGITS


def is_found(pattern: str, text: str) -> bool:
    """Return whether a pattern is found in a text.

    Raises:
        SearchError: It would take too much time or memory to tell.
        PatternError: It cannot be read.
    """
    try:
        return searcher(pattern).search(text)
    except SearchError as error:
        raise SearchError(f"cannot check whether it matches {pattern[:200]!r}, which {error}") from None


@lru_cache(maxsize=512)
def tree_of(pattern: str) -> Any:
    """Return a pattern as Python's own parser reads it; None where it cannot. Must not be changed, as it is kept."""
    if len(pattern) > LARGEST:
        return None
    try:
        return parser.parse(pattern)
    except (re.error, OverflowError, RecursionError):
        return None


@lru_cache(maxsize=512)
def least_size(pattern: str) -> int:
    """Say how many signs a pattern comes to, with each repetition written out as often as it must be; 0 where unknown."""
    tree = tree_of(pattern)
    try:
        return 0 if tree is None else size_of(tree, least=True)
    except RecursionError:
        return LARGEST + 1


_LARGEST = 1_000_000_000
_NEARBY = 200


def fitted(wanted: float, schema: JsonObject, *, whole: bool, shift: int = 0) -> float | int | None:
    """Return the number nearest to the wanted one that a schema lets through; None where it lets none through.

    Args:
        wanted: What the number would be without bounds.
        schema: A plain schema of a number, with the bounds and `multipleOf`.
        whole: Whether it must be an integer.
        shift: Give the next number but so many instead, where the bounds leave room; it tells items apart.
    """
    if (
        not shift
        and "multipleOf" not in schema
        and (not whole or wanted == int(wanted))
        and _inside(wanted, schema)
    ):
        return int(wanted) if whole else wanted
    low, high = _limits(schema)
    step = _step(schema, whole=whole)
    if step is None:
        made = _between(wanted, low, high, schema)
        return made if not shift or made is None else _shifted(made, shift, low, high)
    first = None if low is None else math.ceil(low / step)
    last = None if high is None else math.floor(high / step)
    for count in _counts(round(Fraction(wanted) / step) + shift, first, last):
        number = count * step
        made = int(number) if number.denominator == 1 else float(number)
        if _passes(made, schema):
            return made
    return None


def highest(schema: JsonObject, *, whole: bool) -> float | int | None:
    """Return the greatest number that a schema lets through, at most 1,000,000,000 where it sets no bound itself."""
    _, high = _limits(schema)
    return fitted(_LARGEST if high is None else float(high), schema, whole=whole)


def _limits(schema: JsonObject) -> tuple[Fraction | None, Fraction | None]:
    lows = [value for key in ("minimum", "exclusiveMinimum") if (value := _bound(schema, key)) is not None]
    highs = [value for key in ("maximum", "exclusiveMaximum") if (value := _bound(schema, key)) is not None]
    return max(lows, default=None), min(highs, default=None)


def _bound(schema: JsonObject, key: str) -> Fraction | None:
    value = schema.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    # As it is written: the fraction of the float 0.1 is not a tenth.
    return Fraction(str(value))


def _step(schema: JsonObject, *, whole: bool) -> Fraction | None:
    value = schema.get("multipleOf")
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or value <= 0
        or not math.isfinite(value)
    ):
        return Fraction(1) if whole else None
    step = Fraction(str(value))
    return Fraction(math.lcm(step.numerator, step.denominator), step.denominator) if whole else step


def _counts(wanted: int, first: int | None, last: int | None) -> Iterator[int]:
    if first is not None and last is not None:
        if first > last:
            return
        if wanted > last and last - first < _NEARBY:
            wanted = first + (wanted - first) % (last - first + 1)
    start = wanted if first is None else max(wanted, first)
    start = start if last is None else min(start, last)
    yield start
    for distance in range(1, _NEARBY):
        for count in (start + distance, start - distance):
            if (first is None or count >= first) and (last is None or count <= last):
                yield count


def _passes(made: float, schema: JsonObject) -> bool:
    """Return whether a validator that reckons with floats agrees."""
    step = schema.get("multipleOf")
    if isinstance(step, float):
        quotient = made / step
        if not math.isfinite(quotient) or int(quotient) != quotient:
            return False
    elif isinstance(step, int) and not isinstance(step, bool) and step and made % step:
        return False
    return _inside(made, schema)


def _inside(made: float, schema: JsonObject) -> bool:
    low, above = _raw(schema, "minimum"), _raw(schema, "exclusiveMinimum")
    high, below = _raw(schema, "maximum"), _raw(schema, "exclusiveMaximum")
    return (
        low <= made <= high and (above < made or above == -math.inf) and (made < below or below == math.inf)
    )


def _raw(schema: JsonObject, key: str) -> float:
    value = schema.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.inf if "ax" in key else -math.inf
    return value


def _between(
    wanted: float, low: Fraction | None, high: Fraction | None, schema: JsonObject
) -> float | int | None:
    made = wanted if low is None else max(wanted, float(low))
    made = made if high is None else min(made, float(high))
    tries = [made, round(made, 2)]
    if low is not None:
        tries.append(math.nextafter(float(low), math.inf) if high is None else float(low + (high - low) / 2))
        tries.extend([float(low) + 1, float(low) + 0.5])
    if high is not None:
        tries.extend([float(high) - 1, float(high) - 0.5, math.nextafter(float(high), -math.inf)])
    return next((one for one in tries if _inside(one, schema)), None)


def _shifted(made: float, shift: int, low: Fraction | None, high: Fraction | None) -> float:
    """Return another number inside the bounds."""
    if high is None:
        return made + shift
    if low is None:
        return made - shift
    part = float(high - low) * shift / 64
    return made + part if made + part < high else max(made - part, float(low))
