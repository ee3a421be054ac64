"""Says what the packages promise: each public name and how it is called, each command and its options, a line each.

`python -m tests.conformance.surface` writes what is new into the two lists, and keeps every line that stands there: a promise is
taken back by hand, with the reason in the commit.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel

MODULES = ("simulator", "simulator.scripts", "simulator.store", "evalset", "evalset.doctor", "evalset.verify")
"""What the documents name as importable. Where a module is moved, its names stay importable here."""
NAMES = Path(__file__).with_name("public_names.txt")
COMMANDS = Path(__file__).with_name("command_lines.txt")
PROGRAMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "python -m simulator": ("evalset.cli.main", ("run", "script", "sessions")),
    "python -m evalset": ("evalset.__main__", ("doctor", "verify")),
    "golden-trace": (
        "evalset.cli.main",
        (
            "compare",
            "doctor",
            "eval",
            "export",
            "import",
            "init",
            "run",
            "script",
            "sessions",
            "studio",
            "verify",
        ),
    ),
}
"""Each program: the module of its `main`, and its commands."""

_MARKS = {
    inspect.Parameter.POSITIONAL_ONLY: "/",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "",
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.KEYWORD_ONLY: "=",
    inspect.Parameter.VAR_KEYWORD: "**",
}


class Given(NamedTuple):
    """One parameter: how it is passed (a mark), its name, and whether it may be left out."""

    mark: str
    name: str
    optional: bool

    def __str__(self) -> str:
        return f"{self.mark}{self.name}{'?' if self.optional else ''}"

    @classmethod
    def read(cls, text: str) -> Given:
        """Read what `str` wrote."""
        found = re.fullmatch(r"(\*\*|[*/=]|)(\w+)(\??)", text)
        assert found, text
        return cls(found[1], found[2], bool(found[3]))


def public_lines() -> list[str]:
    """Write a line for each public name, with its parameters; for each public member of a class too."""
    lines = set[str]()
    for module in MODULES:
        found = importlib.import_module(module)
        for name in found.__all__:
            lines.update(_lines(f"{module}.{name}", getattr(found, name)))
    return sorted(lines)


def _lines(name: str, value: Any) -> Iterator[str]:
    if not inspect.isclass(value):
        choices = [str(each) for each in get_args(value)] if not callable(value) or get_args(value) else []
        yield f"{name} is {'|'.join(choices)}" if choices else _called(name, value)
        return
    bases = [
        base.__name__
        for base in value.__mro__
        if base in {ValueError, RuntimeError, KeyError, OSError, LookupError}
    ]
    yield f"{_called(name, value)}{''.join(f' <{base}>' for base in bases)}"
    yield from sorted(set(_members(name, value)))


def _members(name: str, of: type) -> Iterator[str]:
    fields = of.model_fields if issubclass(of, BaseModel) else {}
    for field in fields:
        yield f"{name}.{field}"
    for base in of.__mro__:
        if not base.__module__.startswith(("simulator", "evalset")):
            continue
        for member, value in vars(base).items():
            if member.startswith(("_", "model_")) or member in fields:
                continue
            plain = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
            yield _called(f"{name}.{member}", plain) if inspect.isfunction(plain) else f"{name}.{member}"
        yield from (
            f"{name}.{each}" for each in vars(base).get("__annotations__", {}) if not each.startswith("_")
        )


def _called(name: str, value: Any) -> str:
    if not callable(value):
        return name
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except ValueError:
        return name
    given = [
        Given(
            _MARKS[each.kind],
            each.name,
            each.default is not each.empty or each.kind in {each.VAR_POSITIONAL, each.VAR_KEYWORD},
        )
        for each in parameters
        if each.name not in {"self", "cls"}
    ]
    return f"{name}({', '.join(map(str, given))})"


def command_lines() -> list[str]:
    """Write a line for each option and each argument of each command, as its help shows them."""
    return sorted(
        line
        for program, (module, names) in PROGRAMS.items()
        for name in names
        for line in _options(program, module, name)
    )


def _options(program: str, module: str, command: str) -> Iterator[str]:
    usage = _usage(importlib.import_module(module).main, [command, "--help"])
    for token in re.findall(r"\[[^\[\]]+\]|--[\w-]+ [^\s()|]+|[A-Z]+", usage):
        yield f"{program} {command} {token}"


def _usage(main: Callable[[Sequence[str]], int], words: Sequence[str]) -> str:
    """Return the line of a help that begins with `usage`, without the program."""
    shown, columns = io.StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100000"
    try:
        with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
            main(list(words))
    finally:
        os.environ.pop("COLUMNS") if columns is None else os.environ.update(COLUMNS=columns)
    (line,) = [line for line in shown.getvalue().splitlines() if line.startswith("usage: ")]
    return line.partition(words[0])[2]


def _add(path: Path, now: Sequence[str]) -> None:
    """Write new lines into a list; a line that says more of a name than before takes its place by hand."""
    known = set(path.read_text().splitlines()) if path.exists() else set()
    path.write_text("".join(f"{line}\n" for line in sorted(known | set(now))))


if __name__ == "__main__":
    _add(NAMES, public_lines())
    _add(COMMANDS, command_lines())
    sys.stdout.write(f"{NAMES.name} and {COMMANDS.name} are up to date\n")
