"""The command `golden-trace studio`: starts the page with Streamlit, from any folder, with the studio's own configuration.

The page is found beside this package and started as a process: what leaves the house knows nothing of the screen.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import evalset
from simulator.agents import AGENTS_DIR_VARIABLE, AGENTS_VARIABLE

BAD_INPUT = 2
_STREAMLIT = """
import signal
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
from streamlit.web.cli import main
main(prog_name="streamlit")
"""
"""`python -m streamlit`, whose import an interrupt ends without a traceback. Once it listens, its server closes in order and then ends as the interrupt has it."""
_EPILOG = (
    "Options of Streamlit are passed on, for example --server.headless=true or --theme.base=dark; `streamlit run --help` "
    "lists them. Exit codes: those of Streamlit; 2 bad input."
)


def main(argv: Sequence[str], *, prog: str = "golden-trace studio") -> int:
    """Start the studio, and return its exit code; on POSIX the studio takes the place of this process.

    Args:
        argv: The arguments behind `studio`.
        prog: What started it, for the help.
    """
    try:
        command = studio_command(argv, prog=prog)
    except ValueError as error:
        sys.stderr.write(f"{prog}: error: {error}\n")
        return BAD_INPUT
    if os.name == "posix":
        sys.stdout.flush()
        os.execv(command[0], command)  # noqa: S606 - this Python, with arguments that need no shell
    return subprocess.call(command)  # noqa: S603 - as above


def studio_command(argv: Sequence[str], *, prog: str = "golden-trace studio") -> list[str]:
    """Return the command that starts the studio.

    Raises:
        ValueError: A folder or file that was named is not there, or the page is not installed.
    """
    given, passed_on = _parsed(argv, prog)
    page = _page()
    options = [*_option("--server.port", given.port), *_option("--server.address", given.address)]
    if given.no_browser:
        options.append("--server.headless=true")
    agents = [
        *_option("--agents-dir", _folder(given.agents_dir)),
        *_option("--agents", _file_or_module(given.agents)),
        *_option("--python", given.python),
        *(["--no-demos"] if given.no_demos else []),
    ]
    # -P: an `app` or a `streamlit.py` in the working directory is not the studio's.
    start = [sys.executable, "-P", "-c", _STREAMLIT, "run", str(page)]
    return [*start, *options, *passed_on, "--", *agents]


def _page() -> Path:
    """Return the folder of the page: beside this package in a checkout, beside `packages` in an installation.

    Raises:
        ValueError: The page is not installed.
    """
    packages = Path(evalset.__file__).parents[1]
    page = (packages.parent if packages.name == "packages" else packages) / "app"
    if not (page / "streamlit_app.py").is_file():
        raise ValueError(f"the page is not installed: {page} not found")
    return page


def _parsed(argv: Sequence[str], prog: str) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog=prog, description="Open the studio in the browser.", epilog=_EPILOG, allow_abbrev=False
    )
    parser.add_argument(
        "--agents-dir",
        metavar="DIR",
        help=f"a folder of one or more agents in ADK's layout (default: {AGENTS_DIR_VARIABLE})",
    )
    parser.add_argument(
        "--agents",
        metavar="FILE",
        help=f"a Python file or module that lists configs (default: {AGENTS_VARIABLE})",
    )
    parser.add_argument(
        "--python",
        metavar="PATH",
        help="the Python interpreter that runs the agents of the folder, each in a separate process",
    )
    parser.add_argument("--no-demos", action="store_true", help="hide the demo agents")
    parser.add_argument(
        "--port", type=int, metavar="N", help="the port (default: 8501, or the next free port)"
    )
    parser.add_argument("--address", help="the address to listen on (default: localhost, only this machine)")
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address instead of opening a browser"
    )
    given, rest = parser.parse_known_args([each for each in argv if each != "--"])
    if rest and not rest[0].startswith("--"):
        parser.error(f"unexpected {rest[0]!r}; name agents with --agents-dir DIR or --agents FILE")
    for each in rest:
        if each.startswith("-") and "." not in each.partition("=")[0]:
            parser.error(f"unknown option {each.partition('=')[0]}")
    return given, rest


def _option(name: str, value: object) -> list[str]:
    return [] if value is None else [f"{name}={value}"]


def _folder(named: str | None) -> str | None:
    if named is None:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise ValueError(f"--agents-dir: no such folder: {folder}")
    return str(folder.absolute())


def _file_or_module(named: str | None) -> str | None:
    """Return a file by its whole path, and a dotted module as it is."""
    if named is None:
        return None
    path = Path(named).expanduser()
    if path.is_file():
        return str(path.absolute())
    if named.endswith(".py") or os.sep in named:
        raise ValueError(f"--agents: no such file: {path}")
    return named
