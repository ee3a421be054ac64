"""The frame of all commands: options as a table, ADK's warnings kept off the terminal, progress, and how an error or an interrupt ends one.

A module of a command holds it as a value, `main = ShellCommand(...)`. Called with arguments, it carries the command out and returns the
exit code. What a table of options says is what `argparse` is told. Importing this imports no ADK.
"""

from __future__ import annotations

import argparse
import codecs
import errno
import logging
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO, TypeAlias

from evalset.cli.terminal_output import BAD_INPUT, INTERRUPTED, Ends, ProgressLine
from evalset.files.eval_names import importable_kind
from simulator.base.documents import open_file, read_file

Option: TypeAlias = Mapping[str, Any]
"""What `argparse` is told of an option or an argument; with a `group`, it stands under that title of the help."""
Options: TypeAlias = Mapping[str, Option]

ONE_OF = "one of"
"""The group of options of which exactly one is given."""


def flag(meaning: str) -> Option:
    """Return an option without a value."""
    return {"action": "store_true", "help": meaning}


def file_option(meaning: str, metavar: str = "FILE", **more: Any) -> Option:
    """Return an option or an argument that names a file or a folder."""
    return {"type": Path, "metavar": metavar, "help": meaning, **more}


def option(meaning: str, metavar: str | None = None, **more: Any) -> Option:
    """Return an option or an argument that takes a word."""
    return {"metavar": metavar, "help": meaning, **more}


def repeated(meaning: str, metavar: str | None = None, **more: Any) -> Option:
    """Return an option that may be given several times."""
    return {"action": "append", "default": [], "metavar": metavar, "help": f"{meaning}; repeatable", **more}


QUIET: Options = {"--quiet": flag("show no progress")}
AGENT_WORDS = (
    "a folder of one or more agents, a file of configs (with #name if there are several), or a demo agent"
)
PYTHON: Options = {
    "--python": option(
        "the Python interpreter that runs the agent in a separate process (default: the interpreter of the project's "
        "environment if that has google-adk, otherwise this one)",
        "PATH",
        default="",
    )
}
ENVIRONMENT: Options = {
    "--environment": file_option("the recorded environment (default: the file next to the set)"),
}
LATENCIES: Options = {
    "--latencies": flag(
        "delay each tool response as recorded; the time a person took to answer is not included"
    )
}


def unrecorded(more: str = "") -> Options:
    """Return the option of what answers a call that was not recorded; `more` is said of `generate`."""
    return {
        "--unrecorded": option(
            "what answers a call that was not recorded: nothing, it fails (`fail`, default); the case's rules (`rules`); or the "
            f"rules, then a generated draft (`generate`){more}",
            choices=("fail", "rules", "generate"),
            default="fail",
        )
    }


RESULT: Options = {"--json": flag("write the result as one JSON object")}
RESULTS: Options = {
    "--json": flag("write the results as one JSON object"),
    "--junit": file_option("also write the results to a JUnit XML file"),
}


def with_options(parser: argparse.ArgumentParser, options: Options) -> argparse.ArgumentParser:
    """Add options to a parser, and return it."""
    groups: dict[str, Any] = {"": parser}
    for name, option in options.items():
        given = dict(option)
        title = given.pop("group", "")
        if title not in groups:
            is_choice = title == ONE_OF
            groups[title] = (
                parser.add_mutually_exclusive_group(required=True)
                if is_choice
                else parser.add_argument_group(title)
            )
        groups[title].add_argument(name, **given)
    return parser


class UsageError(ValueError):
    """What was asked for cannot be done; the text says why."""


@dataclass(frozen=True)
class ShellCommand:
    """A command.

    Attributes:
        prog: What starts it, where nothing else is said.
        about: What it does, for its help.
        codes: Its exit codes, for its help.
        options: Its options.
        work: Carries it out and returns the exit code; the arguments also hold `prog`, and as `typed` where a person types.
        read: Reads the arguments, by a parser.
        told: The errors that are told as bad input; others are faults of ours.
        logged: Below this level nothing is logged, save with `--verbose`.
        interrupted: What is said to an interrupt; where that is empty, the process says it.
    """

    prog: str
    about: str
    codes: str
    options: Options
    work: Callable[[argparse.Namespace, ProgressLine], int]
    read: Callable[[argparse.ArgumentParser, Sequence[str]], argparse.Namespace] = (
        argparse.ArgumentParser.parse_args
    )
    told: tuple[type[Exception], ...] = (ValueError, OSError)
    logged: int = logging.ERROR
    interrupted: str = ""

    def parser(self, prog: str = "") -> argparse.ArgumentParser:
        """Return the parser of its arguments; `prog` is what started it."""
        return with_options(
            argparse.ArgumentParser(
                prog=prog or self.prog, description=self.about, epilog=self.codes, allow_abbrev=False
            ),
            self.options,
        )

    def __call__(self, argv: Sequence[str], *, prog: str = "", typed: TextIO | None = None) -> int:
        """Run the command, and return its exit code.

        Args:
            argv: The arguments behind its name.
            prog: What started it, for the help.
            typed: Where a person types; the standard input by default.
        """
        given = self.read(self.parser(prog), argv)
        given.prog, given.typed = prog or self.prog, typed or sys.stdin
        if not getattr(given, "verbose", False):
            logging.basicConfig(level=self.logged, format="%(message)s")
            if not sys.warnoptions:
                warnings.simplefilter("ignore")
        progress = ProgressLine(sys.stderr, quiet=getattr(given, "quiet", False))
        try:
            return self.work(given, progress)
        except BrokenPipeError:
            raise
        except Ends as end:
            if str(end):
                progress.say(str(end))
            return end.code
        except self.told as error:
            progress.say(f"error: {_words(error, given)}")
            return BAD_INPUT
        except KeyboardInterrupt:
            if not self.interrupted:
                raise
            progress.say(self.interrupted)
            return INTERRUPTED


def _words(error: Exception, given: argparse.Namespace) -> str:
    from evalset.verify.results import UnreadableSetError  # noqa: PLC0415 - most commands end without an error

    if isinstance(error, UnreadableSetError):
        return f"{error}{_doctor_advice(error.eval_set)}"
    if not isinstance(error, OSError):
        return str(error)
    where = error.filename or getattr(given, "out", None)
    return f"{where}: {error.strerror or error}" if where else str(error.strerror or error)


def _doctor_advice(path: Path) -> str:
    """Return a sentence to append to the error on an eval set; empty where the doctor finds nothing."""
    from evalset.doctor import examine  # noqa: PLC0415 - most files need no doctor
    from evalset.importing.import_files import import_advice  # noqa: PLC0415 - as above

    with suppress(OSError, ValueError):
        if what := importable_kind(read_file(path)):
            return f". It is {what}. {import_advice(path)}"
    found = [each for file in examine([path]).files if file.file == path for each in file.findings]
    errors = [each for each in found if each.severity == "error"]
    if not errors:
        return ""
    if all(each.mendable for each in errors):
        return f". `golden-trace doctor --fix {shlex.quote(str(path))}` fixes it"
    return f". `golden-trace doctor {shlex.quote(str(path))}` shows the details"


_DATA = frozenset({".json", ".jsonl", ".yaml", ".yml", ".zip"})


def agent_and_file(first: str, second: str) -> tuple[str, Path]:
    """Return the agent and the file, in whichever order they are written: an agent's name never ends like a file of data where the other word does."""
    if _is_data(first) and not _is_data(second):
        first, second = second, first
    return first, Path(second)


def _is_data(words: str) -> bool:
    return Path(words).suffix.lower() in _DATA


def check_readable(path: Path) -> None:
    """Check that a file can be read, before ADK is imported to read it.

    Raises:
        UsageError: It cannot; the text says why.
    """
    try:
        open_file(path).close()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error


Kind: TypeAlias = Literal["JUnit", "CSV", "script", "EvalConfig"]

_BEGINNINGS: dict[Kind, re.Pattern[bytes]] = {
    "JUnit": re.compile(rb"(?:<\?xml[^>]*\?>)?\s*<testsuite"),
    "CSV": re.compile(rb"(?:eval_id|file,line),"),
    "script": re.compile(
        rb"(?:[^\n]*\n)*?(?:format: [\"']?golden-trace-studio/script|turns:)|\{[^{]*?\"(?:format|turns)\""
    ),
    "EvalConfig": re.compile(rb"\{[^{]*?\"(?:criteria|custom_metrics|user_simulator_config)\""),
}
"""How a file of each kind begins, behind a byte order mark and blanks."""
_CODE = ".py"
_LOOKED_AT = 1 << 16


def write_output(option: str, path: Path, content: bytes, kind: Kind) -> None:
    """Write the file that an option names, also over an earlier one of its kind, and over an empty one.

    A file of another kind is not overwritten: a slip would cost somebody's code.

    Raises:
        UsageError: It cannot be written.
    """
    try:
        if path.exists():
            with open_file(path, "cases") as held:
                before = held.read(_LOOKED_AT).removeprefix(codecs.BOM_UTF8).lstrip()
            if before and (path.suffix == _CODE or not _BEGINNINGS[kind].match(before)):
                words = f"is there and is no {kind} file, so it was not overwritten. Name another file"
                raise FileExistsError(errno.EEXIST, words, str(path))
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{option}: {path}: cannot be written: {error.strerror or error}") from error
