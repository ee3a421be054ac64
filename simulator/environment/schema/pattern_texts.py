"""Makes texts that match a regular expression."""

from __future__ import annotations

import re
from functools import lru_cache
from re import _constants as op  # type: ignore[attr-defined] # the parser of `re` has no public name since 3.11
from re import _parser as parser  # type: ignore[attr-defined] # as above
from typing import Any

from simulator.base.work_limit import PatternError, SearchError, searcher, size_of
from simulator.environment.conventions.seeded_choice import Chance

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
