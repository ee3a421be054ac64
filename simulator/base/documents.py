"""Takes in what people bring: files of a size that is known before they are read, JSON values as JSON or YAML, and libraries that come with the environment as YAML.

Each file is opened here, whoever names it: a page, a command, another file. `LIMITS` has all sizes. JSON is read by
`simulator.base.json_text`, YAML by libyaml, event by event; both refuse too many values and levels. A value is validated by
`simulator.base.validation_words`, which stops where enough is wrong.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, TypeAlias, TypeVar, cast

import yaml
from pydantic import JsonValue, TypeAdapter, ValidationError

from simulator.base.frozen_value import FiniteValue
from simulator.base.json_text import JsonPlaces, JsonSyntaxError, JsonTextError, line_and_column, read_json
from simulator.base.json_values import NotJsonError, taken
from simulator.base.validation_words import InputError

FileForm: TypeAlias = Literal[
    "rules",
    "script",
    "session",
    "data",
    "reviews",
    "settings",
    "set",
    "recording",
    "dataset",
    "examined",
    "archive",
    "cases",
    "message",
]

_MB = 1 << 20
LIMITS: dict[FileForm, int] = {
    "rules": 4 * _MB,
    "settings": 4 * _MB,  # criteria, simulator configurations, scenarios, projects
    "script": 20 * _MB,
    "session": 16 * _MB,  # and journals
    "data": 16 * _MB,  # environment data, and other programs' recordings
    "reviews": 16 * _MB,
    "set": 256 * _MB,  # eval sets, datasets, results and kept runs, where all of the file is held
    "recording": 64 * _MB,  # beside an eval set; all of it becomes objects, and no larger one is written
    "dataset": 10 * _MB,  # of which all cases are made, to be verified
    "examined": 64 * _MB,  # by the doctor, which keeps where everything stands
    "archive": 256 * _MB,  # of all that is unpacked
    "cases": 1024 * _MB,  # what is read case by case, of which little is held
    "message": 4 * _MB,  # the files that a person attaches to one: a journal holds them twice, in base64
}
"""The most bytes of a file of each form. What a form makes of a megabyte decides it."""

_MOST_LISTED = 8 * _MB
_IN_LONG_SUMMARY = 0xFFFFFFFF
_END_OF_ARCHIVE = (1 << 16) + 100
"""An archive ends with a comment of at most 64 KB behind its summary."""
_KINDS = {
    stat.S_ISDIR: "a folder",
    stat.S_ISFIFO: "a named pipe",
    stat.S_ISSOCK: "a socket",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
}
_CORE = "tag:yaml.org,2002:"
_ODD_BREAKS = frozenset("\x85\u2028\u2029\ufeff")
"""What PyYAML takes for the end of a line, or leaves out, where it is not escaped."""


class DocumentError(InputError):
    """A text cannot be read as a JSON value; says what is wrong, and in which line."""


def open_file(path: Path | str, form: FileForm = "set", *, buffering: int = -1) -> BinaryIO:
    """Open a file that a person names, to read its bytes.

    Args:
        path: The file.
        form: What it should be, which decides how large it may be.
        buffering: As of `open`.

    Raises:
        OSError: There is none, it cannot be read, is larger than `LIMITS` allows, or is no regular file: what could wait for
            ever, or never end, is not opened.
    """
    _check(path, Path(path).stat(), form)
    # `Path.open` takes no opener.
    file: Any = open(path, "rb", buffering=buffering, opener=_without_waiting)  # noqa: SIM115 - the caller closes it
    try:
        _check(path, os.fstat(file.fileno()), form)
    except OSError:
        file.close()
        raise
    return cast("BinaryIO", file)


def read_file(path: Path | str, form: FileForm = "set") -> bytes:
    """Read a file that a person names; the arguments and errors are those of `open_file`."""
    with open_file(path, form) as file:
        return read_at_most(file, LIMITS[form], path)


def read_at_most(file: IO[bytes], most: int, named: Path | str) -> bytes:
    """Read all of a file that is open, also one that grows or is being unpacked.

    Raises:
        OSError: It is larger than `most` bytes.
    """
    content = file.read(most + 1)
    if len(content) > most:
        raise _too_large(named, f"more than {most / _MB:,.0f} MB", most)
    return content


def open_archive(source: Path | BinaryIO) -> zipfile.ZipFile:
    """Open a ZIP archive whose list of files is not too long to be read.

    Raises:
        zipfile.BadZipFile: It is none, or lists too many files.
        OSError: As `open_file`.
    """
    with open_file(source, "cases") if isinstance(source, Path) else contextlib.nullcontext(source) as file:
        _check_list(file)
    return zipfile.ZipFile(source)


def unpacked(packed: zipfile.ZipFile, name: str, form: FileForm) -> bytes:
    """Return a file of an archive; what the archive says of its size is not believed.

    Raises:
        OSError: It is too large.
    """
    with packed.open(name) as source:
        return read_at_most(source, LIMITS[form], name)


def _check_list(file: BinaryIO) -> None:
    """Check how long the list of an archive's files is: each entry takes a kilobyte once it is read, and 46 bytes before."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END_OF_ARCHIVE))
    end = file.read()
    start = end.rfind(b"PK\x05\x06")
    listed = [int.from_bytes(end[start + 12 : start + 16], "little")] if start >= 0 else []
    if b"PK\x06\x06" in end:  # of an archive with more than 65,535 files
        listed.append(int.from_bytes(end[(long := end.rfind(b"PK\x06\x06")) + 40 : long + 48], "little"))
    if any(_MOST_LISTED < each < _IN_LONG_SUMMARY for each in listed):
        raise zipfile.BadZipFile("it lists too many files")


def _without_waiting(path: str, flags: int) -> int:
    """Open a file that may have become a pipe by now."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check(path: Path | str, status: os.stat_result, form: FileForm) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = next((words for is_kind, words in _KINDS.items() if is_kind(status.st_mode)), "something else")
        raise OSError(errno.EINVAL, f"{kind}, not a file", str(path))
    if status.st_size > LIMITS[form]:
        raise _too_large(path, f"{status.st_size / _MB:,.1f} MB", LIMITS[form])


def _too_large(path: Path | str, size: str, most: int) -> OSError:
    return OSError(errno.EFBIG, f"it has {size}; the limit is {most // _MB:,} MB", str(path))


def read_document(text: str, form: FileForm = "script") -> JsonValue:
    """Read JSON, or else YAML without its surprises: `no` is a text, `2024-01-01` too, and there are no aliases.

    Args:
        text: The text.
        form: What it should be, which decides how long it may be.

    Raises:
        DocumentError: It is neither, is too long, names a field twice, or holds what JSON has no word for.
    """
    if len(text) > LIMITS[form]:
        raise DocumentError(f"the text has {len(text):,} characters; the limit is {LIMITS[form]:,}")
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise DocumentError("the text is empty")
    try:
        value: JsonValue = taken(_read(text))
    except NotJsonError as error:
        raise DocumentError(f"the text is {error}") from error
    except RecursionError as error:
        raise DocumentError("the text is nested too deeply") from error
    return value


class Located:
    """A text that `read_document` can read, in which lines are looked for; it is gone through once.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        text = text.removeprefix("\ufeff")
        self._json = JsonPlaces(text) if text.lstrip()[:1] in {"{", "["} else None
        self._text = text

    def line(self, place: Iterable[str | int]) -> int | None:
        """Return the line, counted from 1, of what stands at a place.

        Steps that are not there are left out, as a checker's own names for the kinds of values are. None where the text
        cannot be read so.
        """
        steps = tuple(place)
        if self._json is not None:
            try:
                return self._json.line(steps)
            except (ValueError, RecursionError):  # it is the short form of YAML
                self._json = None
        found = node = self._root
        for step in steps:
            if isinstance(node, yaml.MappingNode):
                found, node = next((pair for pair in node.value if pair[0].value == step), (found, node))
            elif (
                isinstance(node, yaml.SequenceNode) and isinstance(step, int) and 0 <= step < len(node.value)
            ):
                found = node = node.value[step]
        return None if found is None else int(found.start_mark.line) + 1

    @cached_property
    def _root(self) -> yaml.Node | None:
        try:
            return yaml.compose(self._text, Loader=_Events)
        except (yaml.YAMLError, ValueError):
            return None


def line_of(text: str, place: Iterable[str | int]) -> int | None:
    """Return the line of one place, as `Located.line`."""
    return Located(text).line(place)


def write_json(value: JsonValue) -> str:
    """Write JSON for people: indented, with a line break at the end."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_yaml(value: JsonValue) -> str:
    """Write YAML that every YAML reader takes for the same."""
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100))


def _read(text: str) -> Any:
    match text.lstrip()[0]:
        case "{" | "[":
            return _json(text)
        case '"':  # a text alone, or YAML that begins with a quoted name
            with contextlib.suppress(JsonTextError):
                return read_json(text)
    return _yaml(text)


def _json(text: str) -> Any:
    """Read JSON, or else the short form of YAML, which looks alike."""
    try:
        return read_json(text, pairs=_once)
    except JsonSyntaxError as error:
        try:
            return _yaml(text)
        except DocumentError:
            place = f"line {error.line}, column {error.column}"
            raise DocumentError(f"invalid JSON: {error.reason} at {place}") from error
    except JsonTextError as error:
        raise DocumentError(str(error)) from error


def first_twice(names: Iterable[str]) -> str | None:
    """Return the first of some names that has come before; None where each comes once."""
    seen = set[str]()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        twice = first_twice(name for name, _ in pairs)
        raise DocumentError(f"the field {twice!r} appears twice in one object")
    return read


try:
    from yaml import CLoader as _Events
except ImportError:  # a build without libyaml: the same events, thirty times slower
    from yaml import Loader as _Events  # type: ignore[assignment] # it gives the same events

MOST_CHARACTERS = 4_000_000
"""Of YAML; libyaml reads so much in two to three seconds, and JSON of the same size is read in a twentieth of that."""

MOST_LEVELS = 200
MOST_DIGITS = 4_000

BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
NULL = re.compile(r"~|null|Null|NULL|")
INTEGER = re.compile(rf"[-+]?[0-9]{{1,{MOST_DIGITS}}}")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TOO_MANY_DIGITS = re.compile(rf"[-+]?[0-9]{{{MOST_DIGITS + 1},}}")
_HALF = re.compile("[\ud800-\udfff]")
_PLAIN_STARTS = frozenset("tTfF~nN-+.0123456789")
_TRUE = frozenset({"true", "True", "TRUE"})


class _YamlError(DocumentError):
    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        place = f", at line {line}, column {column}" if line is not None else ""
        super().__init__(f"invalid YAML: {reason}{place}")


def _yaml(text: str) -> Any:
    """Read YAML without its surprises: `no` is a text, `2024-01-01` too, there are no aliases, and no name stands twice."""
    if len(text) > MOST_CHARACTERS:
        raise _YamlError(
            f"the text has {len(text):,} characters; the limit for YAML is {MOST_CHARACTERS:,}, so use JSON"
        )
    if half := _HALF.search(text):
        place = line_and_column(text, half.start())
        raise _YamlError("an unpaired surrogate, which a file cannot contain", *place)
    events = _events(text)
    value = _value(next(events), events, 1)
    for _ in events:  # what follows is looked at too
        pass
    return value


def _events(text: str) -> Iterator[yaml.Event]:
    """Yield the events of the one document."""
    loader: Any = _Events(text)
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
            raise _YamlError("the text is empty")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = (mark.line + 1, mark.column + 1) if mark else ()
        raise _YamlError(str(error.problem or error.context), *place) from error
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, _YamlError):
            raise
        raise _YamlError(" ".join(str(error).split())) from error
    finally:
        loader.dispose()


def _value(event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Any:
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event)
    _check_event(event, depth)
    if isinstance(event, yaml.SequenceStartEvent):
        _check_tag(event, "seq")
        items: list[Any] = []
        while not isinstance(inner := next(events), yaml.SequenceEndEvent):
            items.append(_value(inner, events, depth + 1))
        return items
    _check_tag(event, "map")
    made: dict[str, Any] = {}
    while not isinstance(key := next(events), yaml.MappingEndEvent):
        name = _name(key)
        if name in made:
            raise _refused(f"the field {name!r} appears twice in one object", key)
        made[name] = _value(next(events), events, depth + 1)
    return made


_AROUND = frozenset({yaml.StreamStartEvent, yaml.StreamEndEvent, yaml.DocumentEndEvent})


def _refused(reason: str, event: yaml.Event) -> _YamlError:
    return _YamlError(reason, *_place_of(event))


def _place_of(event: yaml.Event) -> tuple[int, int]:
    mark: Any = event.start_mark
    return mark.line + 1, mark.column + 1


def _check_event(event: yaml.Event, depth: int) -> None:
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


for _kind, _pattern, _starts in (
    ("bool", BOOLEAN, "tTfF"),
    ("null", NULL, "~nN\0"),
    ("int", INTEGER, "-+0123456789"),
    ("float", FLOAT, "-+.0123456789"),
):
    _first = [start if start != "\0" else "" for start in _starts]
    _Dumper.add_implicit_resolver(f"{_CORE}{_kind}", re.compile(f"^(?:{_pattern.pattern})$"), _first)


class LibraryEntry(FiniteValue):
    """An entry of a library; its `name` is unique there."""

    name: str


class LibraryError(ValueError):
    """A library's file cannot be read; says where."""


_Thing = TypeVar("_Thing", bound=LibraryEntry)


def read_library(kind: type[_Thing], what: str, text: str) -> tuple[_Thing, ...]:
    """Read a library from YAML: a list of objects with the fields of a kind of thing.

    Args:
        kind: The class of the things.
        what: What errors call them, in the plural.
        text: The YAML.

    Raises:
        LibraryError: It is no such list, or two have one name.
    """
    try:
        things: tuple[_Thing, ...] = TypeAdapter(tuple[kind, ...]).validate_python(yaml.safe_load(text))  # type: ignore[valid-type] # a class given at run time
    except (yaml.YAMLError, ValidationError) as error:
        raise LibraryError(f"the library of {what}: {error}") from error
    names = [thing.name for thing in things]
    if twice := sorted(name for name, number in Counter(names).items() if number > 1):
        raise LibraryError(f"the library of {what}: two {what} are called {twice[0]!r}")
    return things


def shipped_library(kind: type[_Thing], what: str, package: str, file: str) -> tuple[_Thing, ...]:
    """Read a library from a file of a package.

    Raises:
        LibraryError: As `read_library`.
    """
    return read_library(kind, what, (files(package) / file).read_text(encoding="utf-8"))
