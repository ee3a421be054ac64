"""Evaluates what a program does with texts: regular expressions, searched for with a time limit, where Python's `re` is certain to find the same, and `str.format`.

No value is handed to Python's own `format`, which reads attributes of whatever it is given.
"""

from __future__ import annotations

import ast
import itertools
import re
import string
from _string import (  # type: ignore[import-not-found] # Python's own, without a stub: `string.Formatter` reads fields with it
    formatter_field_name_split,
)
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from time import thread_time
from typing import Any

from simulator.base.work_limit import check_repetitions
from simulator.environment.evidence.expression_evaluation import as_text, attribute, item, joined, native, pay
from simulator.environment.evidence.native_functions import MOST_MADE, size, steps_of
from simulator.environment.evidence.program_run import ProgramRun
from simulator.environment.evidence.unknown_values import (
    CompiledPattern,
    Lazy,
    Match,
    ProgramException,
    TooMuchError,
    TouchedError,
)

_SECONDS = 0.05
_STEPS_PER_SECOND = 40_000
_LONGEST = 2_000
"""So long a pattern may be. A text may be ten times as long."""

_FLAGS = {
    re.IGNORECASE: "IGNORECASE", re.MULTILINE: "MULTILINE", re.DOTALL: "DOTALL", re.VERBOSE: "VERBOSE", re.ASCII: "ASCII",
}  # fmt: skip
_OTHERWISE_READ = re.compile(r"\[\[|\[\^?\[|\[:[^\]]*:\]|\{(?!\d+(,\d*)?\}|,\d+\})")
"""What the two engines read in different ways: classes in classes, named classes, and what looks like a repetition and is none."""

_OF_LETTERS = re.compile(r"\\[wWdDsSbB]|\(\?[a-z]*i")
_REPEATED_MOST = re.compile(r"\{(\d{4,}|\d*,\d{4,})")

SEARCHING = frozenset({"search", "match", "fullmatch", "findall", "finditer", "split"})


def compiled(run: ProgramRun, text: Any, flags: Any) -> CompiledPattern:
    """Return a regular expression.

    Raises:
        Raised: It is none.
        TouchedError: It is not known, or not certain to mean the same to both engines.
    """
    if isinstance(text, CompiledPattern):
        return text
    if (
        type(text) is not str
        or not isinstance(flags, int)
        or len(text) > _LONGEST
        or _REPEATED_MOST.search(text)
    ):
        raise TouchedError
    native(run, _checked, text, int(flags))
    try:
        check_repetitions(text)
    except ValueError as error:
        raise TouchedError from error
    engine = _engine(text, int(flags))
    if engine is None:
        raise TouchedError
    return CompiledPattern(text, int(flags), engine)


@lru_cache(maxsize=512)
def _checked(text: str, flags: int) -> re.Pattern[str]:
    return re.compile(text, flags)


@lru_cache(maxsize=512)
def _engine(text: str, flags: int) -> Any:
    try:
        import regex  # noqa: PLC0415 - it may be missing where an agent has its own environment: then nothing is certain
    except ModuleNotFoundError:
        return None
    wanted = 0
    for mine, theirs in _FLAGS.items():
        wanted |= int(getattr(regex, theirs)) if flags & mine else 0
    is_known = not flags & ~sum(int(one) for one in _FLAGS)
    if not is_known or _OTHERWISE_READ.search(text):
        return None
    try:
        return regex.compile(text, wanted | int(regex.VERSION0))
    except regex.error:
        return None


def search(run: ProgramRun, pattern: CompiledPattern, name: str, args: Sequence[Any]) -> Any:
    """Return what a method of a regular expression that searches gives for a known text.

    Raises:
        TouchedError: That is not certain, or takes too long to tell.
    """
    text = args[0] if args else None
    is_split = name == "split" and len(args) == 2 and type(args[1]) is int  # noqa: PLR2004 - the text, and how often
    if type(text) is not str or len(text) > _LONGEST * 10 or (len(args) != 1 and not is_split):
        raise TouchedError
    is_by_letters = pattern.flags & re.IGNORECASE or _OF_LETTERS.search(pattern.text)
    if is_by_letters and not (text.isascii() and pattern.text.isascii()):
        raise TouchedError
    run.budget.spend(1 + len(text) // 50)
    if name in {"search", "match", "fullmatch"}:
        found = _timed(run, lambda: getattr(pattern.engine, name)(text, timeout=_SECONDS))
        return None if found is None else Match(found)
    if name == "split":
        return _timed(run, lambda: _gathered(pattern.engine.splititer(*args, timeout=_SECONDS)))
    listed = _timed(run, lambda: list(pattern.engine.finditer(text, timeout=_SECONDS)))
    if name == "finditer":
        return Lazy(iter([Match(one) for one in listed]), run.epoch)
    return _gathered(map(_found, listed))


def _found(match: Any) -> Any:
    """Return what `findall` gives for a match: all of it, its only group, or its groups."""
    groups = match.groups("")
    return groups if len(groups) > 1 else groups[0] if groups else match.group()


def _gathered(pieces: Iterable[Any]) -> list[Any]:
    """Return pieces of a text in a list. They may share it: each position may be the beginning of one.

    Raises:
        TooMuchError: They are longer together than a text may be.
    """
    found, made = [], 0
    for piece in pieces:
        made += 1 + sum(map(size, piece)) if type(piece) is tuple else 1 + size(piece)
        if made > MOST_MADE:
            raise TooMuchError
        found.append(piece)
    return found


def replaced(
    run: ProgramRun, pattern: CompiledPattern, text: Any, count: Any, replacement: Callable[[Match], Any]
) -> tuple[list[Any], int]:
    """Return a text in pieces with what is found replaced, and how many were, up to `count` (0: all)."""
    if type(count) is not int:
        raise TouchedError
    listed = list(search(run, pattern, "finditer", [text]).source)[: count or None]
    made: list[Any] = []
    end = 0
    for one in listed:
        made += [text[end : one.found.start()], replacement(one)]
        end = one.found.end()
        run.budget.spend(steps_of(made[-1]))
    return [*made, text[end:]], len(listed)


_REFERENCE = re.compile(r"\\(?:([1-9])(?!\d)|g<(\w+)>|(.?))", re.DOTALL)


def expanded(run: ProgramRun, template: str, match: Match) -> str:
    """Return a replacement with the groups that it names.

    Raises:
        TouchedError: It names what there is not, or holds another escape.
        TooMuchError: It would be too long.
    """
    longest = max(map(size, (match.found.group(), *match.found.groups(""))))
    pay(run, len(template) + template.count("\\") * longest)

    def group(one: re.Match[str]) -> str:
        name = one[1] or one[2]
        if name is None:
            raise TouchedError
        try:
            return str(match.found.group(int(name) if name.isdecimal() else name) or "")
        except IndexError as error:
            raise TouchedError from error

    return _REFERENCE.sub(group, template)


def _timed(run: ProgramRun, work: Callable[[], Any]) -> Any:
    """Return what a search gives; the time that it works costs steps, so that slow ones are few."""
    begun = thread_time()
    try:
        return work()
    except TimeoutError as error:
        raise TouchedError from error
    finally:
        run.budget.spend(int((thread_time() - begun) * _STEPS_PER_SECOND))


def match_method(
    run: ProgramRun, match: Match, name: str, args: Sequence[Any], keywords: Mapping[str, Any]
) -> Any:
    """Return what a method of a match gives.

    Raises:
        TouchedError: What it is given is not known.
    """
    if not run.knows(*args, *keywords.values()):
        raise TouchedError
    return native(run, getattr(match.found, name), *args, **keywords)


# ---------------------------------------------------------------- texts that are filled in


_CONVERSIONS: Mapping[str | None, int] = {None: -1, "s": 115, "r": 114, "a": 97}


def formatted(
    run: ProgramRun, text: str, args: Sequence[Any], keywords: Mapping[str, Any], node: ast.AST
) -> Any:
    """Return what `text.format(*args, **keywords)` gives; attributes and items are those that the program would see.

    Raises:
        TouchedError: It is written in a way that is not followed.
    """
    given: dict[int | str, Any] = dict(enumerate(args)) | dict(keywords)
    numbers, numbered = itertools.count(), set[bool]()

    def filled(part: str, levels: int) -> Any:
        if levels < 0:
            raise TouchedError
        made: list[Any] = []
        for literal, field, spec, conversion in native(run, list, string.Formatter().parse(part)):
            made.append(literal)
            if field is not None:
                if conversion not in _CONVERSIONS:
                    raise TouchedError
                value = native(run, _value_of, run, field, given, (numbers, numbered), node)
                inner = filled(spec, levels - 1) if spec else ""
                made.append(as_text(run, value, inner, _CONVERSIONS[conversion], node))
        return joined(run, made)

    return filled(text, 1)


def _value_of(
    run: ProgramRun,
    field: str,
    given: Mapping[int | str, Any],
    count: tuple[Iterator[int], set[bool]],
    node: ast.AST,
) -> Any:
    """Return the value that a field names; `count` numbers those that name none, and keeps whether there were such."""
    first, rest = formatter_field_name_split(field)
    numbers, numbered = count
    if isinstance(first, int) or not first:
        numbered.add(first == "")
        first = next(numbers) if first == "" else first
    if len(numbered) > 1:
        raise TouchedError
    if first not in given:
        message = f"Replacement index {first} out of range for positional args tuple"
        is_name = isinstance(first, str)
        raise ProgramException(KeyError if is_name else IndexError, (first if is_name else message,))
    value = given[first]
    for is_attribute, name in rest:
        value = attribute(run, value, name, node) if is_attribute else item(run, value, name, node)
    return value
