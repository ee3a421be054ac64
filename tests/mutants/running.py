"""Changes the pure parts, one place at a time, and counts which changes their own tests notice: `make mutants`.

    make mutants MUTANTS="--each 100 --seed 7 session"

A part's mutants are drawn by `drawing.py`, in an environment that has cosmic-ray. They are tried in a copy of the repository, each in a process that is
forked from one with all libraries imported, by the part's own tests; the first test that fails ends it. A mutant that takes far
longer than the tests do without it counts as noticed.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
DRAWING = (ROOT / ".venv-mutants" / "bin" / "python", Path(__file__).with_name("drawing.py"))
LIBRARIES = (
    "google.adk.runners",
    "google.genai",
    "pandas",
    "hypothesis",
    "jinja2",
    "jsonschema",
    "regex",
    "sqlalchemy",
    "yaml",
)
"""What most of the tests import: looked for once, not for each mutant."""
LONGEST, PATIENCE = 5, 60
"""A mutant has so many times as long as the tests take without it, and so many seconds more."""


@dataclass(frozen=True)
class Part:
    """Some files or folders, and their tests."""

    files: tuple[str, ...]
    tests: tuple[str, ...]

    def modules(self) -> list[str]:
        """Return the files, those of the folders among them."""
        found = [path for name in self.files for path in sorted((ROOT / name).rglob("*.py")) or [ROOT / name]]
        return [str(path.relative_to(ROOT)) for path in found if path.name != "__init__.py"]


PARTS = {
    "golden_trace": Part(("evalset/golden_trace",), ("tests/evalset/golden_trace",)),
    "case_following": Part(
        ("evalset/replay/case_following.py", "evalset/replay/session_following.py"), ("tests/evalset/replay",)
    ),
    "session": Part(
        ("simulator/session",), ("tests/simulator/session", "tests/simulator/test_journal.py")
    ),  # the fold says what a journal takes
    "conditions": Part(
        ("simulator/environment/injection/conditions.py",),
        ("tests/simulator/environment/injection",),
    ),
}


@dataclass(frozen=True)
class Mutant:
    """One changed file."""

    file: str
    line: int
    change: str
    text: str

    def shown(self) -> str:
        """Say where it is, and what became of the line."""
        before = (ROOT / self.file).read_text().splitlines()
        changes = difflib.unified_diff(before, self.text.splitlines(), n=0, lineterm="")
        lines = [f"        {line}" for line in changes if not line.startswith(("---", "+++", "@@"))]
        return "\n".join([f"    {self.file}:{self.line} {self.change}", *lines])


def drawn(part: Part, seed: str, each: int) -> list[Mutant]:
    """Draw a part's mutants."""
    command = [*DRAWING, ROOT, seed, str(each), *part.modules()]
    found = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    return [Mutant(**one) for one in json.loads(found.stdout)]


def copied(to: Path) -> Path:
    """Copy what git knows, and what it would; return the folder."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, to / name)
    return to


def _test(folder: Path, tests: tuple[str, ...]) -> NoReturn:
    """Run the tests in this process, which is a fork, with what lies in the folder and nothing of the repository itself."""
    os.setsid()
    with (folder / "said.txt").open("wb") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    os.chdir(folder)
    sys.path[:] = [str(folder), *(each for each in sys.path if Path(each or ".").resolve() != ROOT)]
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    chosen = ["-x", "-q", "-p", "no:xdist", "-m", "not browser and not process"]
    chosen += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of the libraries that are there already
    os._exit(int(pytest.main([*chosen, "--rootdir", str(folder), *tests])))


def passes(folder: Path, tests: tuple[str, ...], seconds: float) -> bool:
    """Return whether the tests pass in the folder, and within so many seconds."""
    child = os.fork()
    if not child:
        try:
            _test(folder, tests)
        except BaseException:  # noqa: BLE001 - a fork returns to nobody
            traceback.print_exc()
            os._exit(3)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def survives(mutant: Mutant, folder: Path, tests: tuple[str, ...], seconds: float) -> bool:
    """Return whether no test notices a mutant."""
    file = folder / mutant.file
    kept = file.read_text()
    try:
        file.write_text(mutant.text)
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
            compiled.unlink()  # it may be as old and as long as the mutant, and would be taken for it
        return passes(folder, tests, seconds)
    finally:
        file.write_text(kept)


def report(name: str, seed: str, each: int) -> str:
    """Try the mutants of a part; say how many were noticed, and show the others."""
    part = PARTS[name]
    for library in LIBRARIES:
        importlib.import_module(library)
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        folder = copied(Path(place))
        began = time.monotonic()
        if not passes(folder, part.tests, 3600):
            said = (folder / "said.txt").read_text()[-2000:]
            return f"{name}: its tests fail without any mutant\n{said}"
        sys.dont_write_bytecode = True
        limit = (time.monotonic() - began) * LONGEST + PATIENCE
        mutants = drawn(part, seed, each)
        left = [mutant for mutant in mutants if survives(mutant, folder, part.tests, limit)]
    killed = len(mutants) - len(left)
    share = f"{killed / len(mutants):.0%}" if mutants else "-"
    return "\n".join(
        [f"{name}: {killed} of {len(mutants)} noticed ({share})", *(each.shown() for each in left)]
    )


def _reported(name: str, seed: str, each: int) -> str:
    command = [sys.executable, "-m", "tests.mutants.running", "--seed", seed, "--each", str(each), name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else f"{name}: {done.stderr[-2000:]}\n"


def main(arguments: Sequence[str]) -> None:
    """Try the mutants of some parts, as many parts at once as there are processors."""
    parser = argparse.ArgumentParser(prog="make mutants")
    parser.add_argument("--seed", default="0", help="another seed draws other mutants")
    parser.add_argument("--each", type=int, default=25, help="how many of each part")
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all of them, if none is named")
    given = parser.parse_args(arguments)
    names: list[str] = given.parts or [*PARTS]
    if len(names) == 1:
        sys.stdout.write(f"{report(names[0], given.seed, given.each)}\n")
        return
    with ThreadPoolExecutor(os.cpu_count()) as at_once:
        for said in at_once.map(lambda name: _reported(name, given.seed, given.each), names):
            sys.stdout.write(said)
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
