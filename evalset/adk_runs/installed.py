"""Says whether `adk eval` can run here: where the program is, and what of `google-adk[eval]` is missing."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

INSTALL = 'pip install "google-adk[eval]"'
"""What a person runs where something is missing."""

_PATIENCE = 60.0
_OF_THE_EXTRA = re.compile(r"""([A-Za-z0-9][A-Za-z0-9._-]*)[^;]*;.*extra\s*==\s*["']eval["']""")


def missing(name: str = "google-adk") -> tuple[str, ...]:
    """Name the packages that `adk eval` needs and this Python does not have; none where all are there."""
    try:
        needed = requires(name) or []
    except PackageNotFoundError:
        return (name,)
    named = (found[1] for text in needed if (found := _OF_THE_EXTRA.match(text)))
    return tuple(package for package in named if not _is_there(package))


def missing_in(python: Path) -> tuple[str, ...]:
    """Name the packages that `adk eval` needs and another Python does not have.

    Raises:
        OSError: It cannot be run.
    """
    asked = [str(python), "-I", __file__]
    told = subprocess.run(asked, capture_output=True, text=True, timeout=_PATIENCE, check=False)  # noqa: S603 - the agent's own Python
    return tuple(told.stdout.split())


def install_command(requirement: str = "google-adk[eval]", python: str = sys.executable) -> str:
    """Return the command that installs a package for this Python, whatever the shell finds first."""
    return shlex.join([python, "-m", "pip", "install", requirement])


def _is_there(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True


def adk_program(python: str = sys.executable) -> Sequence[str]:
    """Return the command that starts the `adk` of this Python: the program beside it, else its module."""
    program = Path(python).with_name("adk.exe" if sys.platform == "win32" else "adk")
    return [str(program)] if program.is_file() else [python, "-m", "google.adk.cli"]


if __name__ == "__main__":
    print(*missing())  # noqa: T201 - for `missing_in`
