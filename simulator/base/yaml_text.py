"""Reads YAML through libyaml, event by event: nothing grows without bounds, and where something stands is looked up only when asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import yaml

from simulator.base.json_text import line_and_column
from simulator.base.validation_words import InputError

try:
    from yaml import CLoader as _Events
except ImportError:  # a build without libyaml: the same events, thirty times slower
    from yaml import Loader as _Events  # type: ignore[assignment] # it gives the same events

MOST_CHARACTERS = 4_000_000
"""Of YAML; libyaml reads so much in two to three seconds, and JSON of the same size is read in a twentieth of that."""

MOST_LEVELS = 200
MOST_DIGITS = 4_000

_CORE = "tag:yaml.org,2002:"
BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
NULL = re.compile(r"~|null|Null|NULL|")
INTEGER = re.compile(rf"[-+]?[0-9]{{1,{MOST_DIGITS}}}")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TOO_MANY_DIGITS = re.compile(rf"[-+]?[0-9]{{{MOST_DIGITS + 1},}}")
_HALF = re.compile("[\ud800-\udfff]")
_PLAIN_STARTS = frozenset("tTfF~nN-+.0123456789")
_TRUE = frozenset({"true", "True", "TRUE"})


class YamlTextError(InputError):
    """A text is no YAML that stands for a JSON value; `line` and `column` are counted from 1, where they are known."""

    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        place = f", at line {line}, column {column}" if line is not None else ""
        super().__init__(f"{reason}{place}")
        self.reason, self.line, self.column = reason, line, column


class YamlPosition(NamedTuple):
    """The line of a value, counted from 1, and the lines of what is in it; a member's line is that of its name."""

    line: int
    inside: list[YamlPosition] | Mapping[str, YamlPosition] | None = None

    def at(self, step: str | int) -> YamlPosition | None:
        """Return where an entry or a member stands; None where there is none."""
        if isinstance(self.inside, list):
            return self.inside[step] if isinstance(step, int) and 0 <= step < len(self.inside) else None
        return self.inside.get(step) if self.inside is not None and isinstance(step, str) else None


def read_yaml(text: str) -> Any:
    """Read YAML without its surprises: `no` is a text, `2024-01-01` too, there are no aliases, and no name stands twice.

    Raises:
        YamlTextError: It is no such YAML.
    """
    return _Reader(text).read()


def located(text: str) -> YamlPosition:
    """Return where the values of a text stand.

    Raises:
        YamlTextError: As `read_yaml`.
    """
    return _Reader(text).places()


class _Reader:
    def __init__(self, text: str) -> None:
        if len(text) > MOST_CHARACTERS:
            raise YamlTextError(
                f"the text has {len(text):,} characters; the limit for YAML is {MOST_CHARACTERS:,}, so use JSON"
            )
        if half := _HALF.search(text):
            place = line_and_column(text, half.start())
            raise YamlTextError("an unpaired surrogate, which a file cannot contain", *place)
        self._text = text

    def read(self) -> Any:
        """Build the value."""
        events = self._events()
        value = self._value(next(events), events, 1)
        for _ in events:  # what follows is looked at too
            pass
        return value

    def places(self) -> YamlPosition:
        """Build the places alone."""
        events = self._events()
        return self._place(next(events), events, 1)

    def _events(self) -> Iterator[yaml.Event]:
        """Yield the events of the one document."""
        loader: Any = _Events(self._text)
        seen = False
        try:
            while (event := loader.get_event()) is not None:
                kind = type(event)
                if kind is yaml.DocumentStartEvent:
                    if seen:
                        raise _refused("the text has more than one document", event)
                    seen = True
                elif kind not in _AROUND:
                    yield event
            if not seen:
                raise YamlTextError("the text is empty")
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark
            place = (mark.line + 1, mark.column + 1) if mark else ()
            raise YamlTextError(str(error.problem or error.context), *place) from error
        except (yaml.YAMLError, ValueError) as error:
            if isinstance(error, YamlTextError):
                raise
            raise YamlTextError(" ".join(str(error).split())) from error
        finally:
            loader.dispose()

    def _value(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Any:
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event)
        _check(event, depth)
        if isinstance(event, yaml.SequenceStartEvent):
            _check_tag(event, "seq")
            items: list[Any] = []
            while not isinstance(inner := next(events), yaml.SequenceEndEvent):
                items.append(self._value(inner, events, depth + 1))
            return items
        _check_tag(event, "map")
        made: dict[str, Any] = {}
        while not isinstance(key := next(events), yaml.MappingEndEvent):
            name = _name(key)
            if name in made:
                raise _refused(f"the field {name!r} appears twice in one object", key)
            made[name] = self._value(next(events), events, depth + 1)
        return made

    def _place(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> YamlPosition:
        line, _ = _place_of(event)
        if isinstance(event, yaml.ScalarEvent):
            return YamlPosition(line)
        _check(event, depth)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[YamlPosition] = []
            while not isinstance(inner := next(events), yaml.SequenceEndEvent):
                items.append(self._place(inner, events, depth + 1))
            return YamlPosition(line, items)
        made: dict[str, YamlPosition] = {}
        while not isinstance(key := next(events), yaml.MappingEndEvent):
            name, value = _name(key), self._place(next(events), events, depth + 1)
            made.setdefault(name, YamlPosition(_place_of(key)[0], value.inside))
        return YamlPosition(line, made)


_AROUND = frozenset({yaml.StreamStartEvent, yaml.StreamEndEvent, yaml.DocumentEndEvent})


def _refused(reason: str, event: yaml.Event) -> YamlTextError:
    return YamlTextError(reason, *_place_of(event))


def _place_of(event: yaml.Event) -> tuple[int, int]:
    mark: Any = event.start_mark
    return mark.line + 1, mark.column + 1


def _check(event: yaml.Event, depth: int) -> None:
    """Refuse aliases, a few lines of which grow without bounds, and what is nested too deeply."""
    if isinstance(event, yaml.AliasEvent):
        raise _refused("aliases are not supported", event)
    if depth > MOST_LEVELS:
        raise _refused("nested too deeply", event)


def _check_tag(event: Any, wanted: str) -> None:
    if event.tag not in {None, "!", f"{_CORE}{wanted}"}:
        raise _refused(f"{event.tag!r} has no JSON equivalent", event)


def _name(key: yaml.Event) -> str:
    if isinstance(key, yaml.AliasEvent):
        raise _refused("aliases are not supported", key)
    name = _scalar(key) if isinstance(key, yaml.ScalarEvent) else None
    if not isinstance(name, str):
        raise _refused("field names must be strings", key)
    return name


def _scalar(event: yaml.ScalarEvent) -> Any:
    text: str = event.value
    tag = event.tag
    if tag is None:
        if not event.implicit[0] or (text and text[0] not in _PLAIN_STARTS):
            return text
        return _plain(text, event)
    kind = tag.removeprefix(_CORE) if tag.startswith(_CORE) else tag
    pattern = {"bool": BOOLEAN, "null": NULL, "int": INTEGER, "float": FLOAT}.get(kind)
    if kind in {"str", "!"}:
        return text
    if pattern is None:
        raise _refused(f"{tag!r} has no JSON equivalent", event)
    if not pattern.fullmatch(text):
        raise _refused(f"{text!r:.40} is not a valid {kind}", event)
    return float(text) if kind == "float" else _plain(text, event)


def _plain(text: str, event: yaml.ScalarEvent) -> Any:
    if INTEGER.fullmatch(text):
        return int(text)
    if FLOAT.fullmatch(text):
        if _TOO_MANY_DIGITS.fullmatch(text):
            raise _refused(
                f"a number has {len(text.lstrip('+-')):,} digits; the limit is {MOST_DIGITS:,}", event
            )
        return float(text)
    if BOOLEAN.fullmatch(text):
        return text in _TRUE
    return None if NULL.fullmatch(text) else text
