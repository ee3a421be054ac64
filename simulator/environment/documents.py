"""Reads and writes JSON values as JSON or YAML text, so that each of the two says the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import yaml
from pydantic import JsonValue

from simulator.jsonvalue import NotJsonError, taken

_MOST_CHARACTERS = 20_000_000
_MOST_LEVELS = 200
_TOO_DEEP = "it is nested too deeply"
_CORE = "tag:yaml.org,2002:"
_BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
_NULL = re.compile(r"~|null|Null|NULL|")
_INTEGER = re.compile(r"[-+]?[0-9]{1,4000}")
_ODD_BREAKS = frozenset("\x85\u2028\u2029\ufeff")
"""What PyYAML takes for the end of a line, or leaves out, where it is not escaped."""

_NO_HINDRANCE = str.maketrans({"\t": " ", **dict.fromkeys(_ODD_BREAKS, "?")})
"""What stands for characters that JSON may hold as they are, where only the lines of a text count."""

_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


class DocumentError(ValueError):
    """A text cannot be read as a JSON value; says what is wrong, and in which line."""


def read_document(text: str) -> JsonValue:
    """Read JSON, or else YAML without its surprises: `no` is a text, `2024-01-01` too, and there are no aliases.

    Raises:
        DocumentError: It is neither, names a field twice, or holds what JSON has no word for.
    """
    if len(text) > _MOST_CHARACTERS:
        raise DocumentError(f"the text has {len(text):,} characters; {_MOST_CHARACTERS:,} are the most")
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise DocumentError("the text is empty")
    try:
        read = _json(text) if text.lstrip()[0] in "{[" else None
        value: JsonValue = taken(_yaml(text) if read is None else read)
    except NotJsonError as error:
        raise DocumentError(f"the text holds what is {error}") from error
    except RecursionError as error:
        raise DocumentError("the text is nested too deeply") from error
    return value


class Located:
    """A text that `read_document` can read, in which lines are looked for; it is gone through once.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        # What JSON allows and YAML does not is in the way of no line.
        text = _Loader.NON_PRINTABLE.sub("?", text.removeprefix("\ufeff")).translate(_NO_HINDRANCE)
        try:
            self._root: yaml.Node | None = yaml.compose(text, Loader=_Loader)
        except (yaml.YAMLError, ValueError, RecursionError):
            self._root = None

    def line(self, place: Iterable[str | int]) -> int | None:
        """Give the line, counted from 1, of what stands at a place.

        Steps that are not there are left out, as a checker's own names for the kinds of values are. None where the text
        cannot be read so.
        """
        node = self._root
        if node is None:
            return None
        line: int = node.start_mark.line
        for step in place:
            if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
                line = node.start_mark.line
            elif isinstance(node, yaml.MappingNode):
                inside = next(((key, value) for key, value in node.value if key.value == step), None)
                if inside is not None:
                    line, node = inside[0].start_mark.line, inside[1]
        return line + 1


def line_of(text: str, place: Iterable[str | int]) -> int | None:
    """Give the line of one place, as `Located.line`."""
    return Located(text).line(place)


def write_json(value: JsonValue) -> str:
    """Write JSON for people: indented, with a line break at the end."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_yaml(value: JsonValue) -> str:
    """Write YAML that every YAML reader takes for the same."""
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100))


def _json(text: str) -> Any:
    """Read JSON; None where it may still be YAML, whose short form looks alike."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_constant)
    except json.JSONDecodeError as error:
        try:
            return _yaml(text)
        except DocumentError:
            place = f"line {error.lineno}, column {error.colno}"
            raise DocumentError(f"the text is no JSON: {error.msg}, at {place}") from error
    except ValueError as error:
        raise DocumentError(str(error)) from error


def _constant(name: str) -> object:
    raise ValueError(f"the text holds {name}, which JSON has no word for")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for name, value in pairs:
        if name in read:
            raise DocumentError(f"the field {name!r} stands twice in one object")
        read[name] = value
    return read


def _yaml(text: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a subclass of the safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f", at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise DocumentError(f"the text is no YAML: {error.problem or error.context}{place}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise DocumentError(f"the text is no YAML: {error}") from error


class _Loader(yaml.SafeLoader):
    """Reads what JSON can say, by the rules of YAML 1.2."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - as PyYAML declares it
    _depth = 0

    def fetch_flow_collection_start(self, TokenClass: type[yaml.Token]) -> None:  # noqa: N803 - PyYAML's name
        """Refuse what is nested too deeply before it takes minutes: each level makes the next one slower to look through."""
        if self.flow_level >= _MOST_LEVELS:
            raise yaml.scanner.ScannerError(None, None, _TOO_DEEP, self.get_mark())
        super().fetch_flow_collection_start(TokenClass)

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Refuse aliases: a few lines of them grow without bounds."""
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call] # its stubs leave it untyped
            raise yaml.composer.ComposerError(None, None, "aliases are not read", mark)
        self._depth += 1
        if self._depth > _MOST_LEVELS:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call] # as above
            raise yaml.composer.ComposerError(None, None, _TOO_DEEP, mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Refuse names that are no texts, and names that stand twice."""
        names: set[str] = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            problem = "the name of a field has to be a text" if not isinstance(name, str) else ""
            if not problem and name in names:
                problem = f"the field {name!r} stands twice in one object"
            if problem:
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            names.add(name)
        return super().construct_mapping(node, deep=deep)


class _Dumper(yaml.SafeDumper):
    """Quotes each text that a reader of YAML 1.1 or 1.2 would take for something else, and writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write a value that stands in two places twice."""
        del data
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = '"' if _ODD_BREAKS & set(text) else None
    return dumper.represent_scalar(f"{_CORE}str", text, style=style)


_Dumper.add_representer(str, _text)


def _whole(pattern: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(f"^(?:{pattern.pattern})$")


for _kind, _pattern, _starts in (
    ("bool", _BOOLEAN, "tTfF"),
    ("null", _NULL, "~nN\0"),
    ("int", _INTEGER, "-+0123456789"),
    ("float", _FLOAT, "-+.0123456789"),
):
    _first = [start if start != "\0" else "" for start in _starts]
    _Loader.add_implicit_resolver(f"{_CORE}{_kind}", _whole(_pattern), _first)
    _Dumper.add_implicit_resolver(f"{_CORE}{_kind}", _whole(_pattern), _first)


def _number(kind: type[int | float]) -> Callable[[_Loader, yaml.Node], int | float]:
    return lambda _, node: kind(node.value)


_Loader.add_constructor(f"{_CORE}int", _number(int))
_Loader.add_constructor(f"{_CORE}float", _number(float))
for _kind in ("binary", "set", "omap", "pairs", "timestamp"):  # which JSON has no word for
    _Loader.yaml_constructors.pop(f"{_CORE}{_kind}", None)
