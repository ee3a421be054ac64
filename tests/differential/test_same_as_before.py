"""The studio as it was before its core was made anew, and as it is: the same moves leave the same files and the same words.

Both run as programs: the earlier one lies with what it needs in `.venv-before`, which `make test-long` makes out of the history.
Numbers draw what is played (`programs/`), with public names and commands alone. What differs is a decision, of `LEFT_OUT` or `EXPLAINED`, or a defect.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
BEFORE = ROOT / ".venv-before"
PROGRAMS = Path(__file__).with_name("programs")
FILES = ROOT / "tests" / "conformance" / "files"
PLAYS, RULE_SETS, AT_ONCE = 2_000, 10_000, 250
"""How many sessions and rule sets are drawn, and how many sessions one process plays."""

BY_CHANCE = re.compile(
    r"(?<=_ms\": )[\d.e-]+|(?<=\"at_once\": )\w+|\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.+:Z]*|\b1\d{9}\.\d+|\b[\d.]+ m?s\b|(?<=tools\.py, line )\d+|(?<=,)\d+\.\d{2,}(?=,)"
)
"""What differs between two runs of one program: how long a thing took, when it was, and in which line of a demo's tools a value was found."""


LEFT_OUT = {
    r"(own|real) models could be asked": "The line names whose models could be asked.",
    r"recorded_calls = ": "A recording notes which calls its golden had, so that an edit of them is told from another run.",
    r"tools\.entry_advisor\.": "A recording keeps how agents that are tools were declared, so that a changed schema is noticed.",
    r"files\.\d+\.cases = {}": "The doctor says by case what it found.",
    r"response_words_of_code|checks\.4\.": "The words that an agent's code writes are compared beside those of its models.",
    r"^version = ": "A recording has the version of the newest that it holds.",
    r"(fingerprint|source_sha256) = ": "The demo agents' files are others, with the same tools and answers.",
    r"(^|\.)seconds = ": "How long a replay took.",
    r"recorded_models = ": "A recording notes which turns of models its golden had, so that an edit of them is told from another run.",
    r"models\.\d+\.path = ": "A turn of a model inside of an agent tool has the call that it belongs to, so that two at once are not swapped.",
}
"""The lines that are compared no more, each found by what it holds, and why they differ."""

EXPLAINED = {
    r"price_per_night = (120|185)\.0": "A draft for two guests has what the code computes for two, and not the price of an earlier call for one.",
    r"its code may also write": "The source of a draft names what the code may write besides, and states its conditions once.",
}
"""The first lines of a session that differ, as they are now, where the rest of it follows from them, and what is better now."""


@dataclass(frozen=True)
class Version:
    """One of the two: its interpreter, and the folder that its packages lie in."""

    python: Path
    source: Path

    def run(self, *words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run its Python."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "GOLDEN_TRACE"))
        }
        given = {"PYTHONPATH": str(self.source), "PYTHONHASHSEED": "0", "COLUMNS": "140", "NO_COLOR": "1"}
        return subprocess.run(
            [self.python, *words],
            cwd=cwd,
            env=kept | given,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )


NOW = Version(Path(sys.executable), ROOT)


@pytest.fixture(scope="module")
def then() -> Version:
    """The earlier version."""
    if not (BEFORE / ".ready").exists():
        pytest.skip(
            "no earlier version: `make test-long` installs it into .venv-before, out of a clone with its history"
        )
    return Version(BEFORE / "bin" / "python", BEFORE / "source")


def drawn(version: Version, program: str, out: Path, first: int, count: int) -> None:
    """Run a program for some numbers."""
    done = version.run(PROGRAMS / program, out, str(first), str(count), cwd=out.parent)
    assert done.returncode == 0, done.stderr


def left(version: Version, program: str, count: int, each: int, work: Path) -> Path:
    """Return the folder of what a program left; that of the earlier version is kept, since neither it nor its numbers change."""
    text = (PROGRAMS / program).read_bytes()
    kept = BEFORE / f"{program}-{hashlib.sha256(text).hexdigest()[:12]}-{count}"
    out = work / "now" if version is NOW else kept
    if not out.exists():
        making = out.with_name(f"{out.name}.{os.getpid()}")
        making.mkdir(parents=True)
        with ThreadPoolExecutor(2) as two:
            tuple(two.map(partial(drawn, version, program, making, count=each), range(0, count, each)))
        making.rename(out)
    return out


def flat(value: Any, place: str = "") -> Iterator[str]:
    """Give each value of a JSON text in a line with its place."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not inside:
        yield f"{place} = {json.dumps(value)}"
    for name, each in inside:
        yield from flat(each, f"{place}.{name}" if place else str(name))


def lines(path: Path) -> list[str]:
    """Return what a file says, without what two runs of one program differ in and what is left out by a decision."""
    text = BY_CHANCE.sub("0", path.read_text(encoding="utf-8"))
    before, bracket, after = text.partition("{")
    told = text.splitlines()
    with suppress(ValueError):
        value, end = json.JSONDecoder().raw_decode(bracket + after)
        told = [*before.splitlines(), *flat(value), *(bracket + after)[end:].splitlines()]
    return [line for line in told if not any(re.search(each, line) for each in LEFT_OUT)]


def differences(old: Path, new: Path) -> Iterator[tuple[str, str, str]]:
    """Give the first difference of each file: its place, the line as it was and as it is; what follows from it says no more."""
    names = {path.relative_to(root) for root in (old, new) for path in root.rglob("*") if path.is_file()}
    for name in sorted(names):
        if not (old / name).exists() or not (new / name).exists():
            yield str(name), *_pair(str((root / name).exists()) for root in (old, new))
            continue
        was, has = lines(old / name), lines(new / name)
        for number in range(max(len(was), len(has))):
            pair = _pair(each[number] if number < len(each) else "(the end)" for each in (was, has))
            if pair[0] != pair[1]:
                yield f"{name}:{number + 1}", *pair
                break


def _pair(of: Iterable[str]) -> tuple[str, str]:
    was, has = of
    return was, has


def undecided(found: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return the differences that no decision explains. All files of a play that begins to differ by a decision are explained."""
    explained = {
        place.partition("/")[0] for place, _, now in found if any(re.search(each, now) for each in EXPLAINED)
    }
    return [
        f"{place}\n  then: {was}\n  now:  {now}"
        for place, was, now in found
        if place.partition("/")[0] not in explained
    ]


def test_drawn_sessions_leave_the_same(then: Version, tmp_path: Path) -> None:
    """The journal of each, and its golden trace with what is recorded beside it."""
    old, new = (left(one, "plays.py", PLAYS, AT_ONCE, tmp_path) for one in (then, NOW))
    assert len([*new.iterdir()]) == PLAYS
    found = undecided([*differences(old, new)])
    assert not found, f"{len(found)} of {PLAYS} differ:\n" + "\n".join(found[:20])


def test_drawn_rule_sets_answer_the_same(then: Version, tmp_path: Path) -> None:
    """Injections in ADK's form, what they are refused for, and what each call gets."""
    old, new = (left(one, "rules.py", RULE_SETS, RULE_SETS, tmp_path) for one in (then, NOW))
    assert len((new / "answers.txt").read_text().splitlines()) == RULE_SETS
    assert undecided([*differences(old, new)]) == []


def test_agents_of_each_shape_give_the_same_events(then: Version) -> None:
    """Each version plays its own tests' shapes of agents; a shape that is new has nothing beside it."""
    told: list[dict[str, Any]] = []
    for version in (then, NOW):
        done = version.run("-m", "tests.interop.telling", cwd=version.source)
        assert done.returncode == 0, done.stderr
        told.append(json.loads(done.stdout))
    then_told, now_told = told
    assert then_told
    assert {name: now_told.get(name) for name in then_told} == then_told


COMMANDS = [
    *(
        (name, command)
        for name in ("order_desk", "travel_planner", "expense_approver")
        for command in (
            f"verify {name}.evalset.json {name}",
            f"verify {name}.evalset.json {name} --json --exactly",
            f"doctor {name}.evalset.json --agent {name} --json",
            f"run {name} {name}.script.yaml --out new.evalset.json --eval-id new",
            f"run {name} {name}.script.json --out new.evalset.json --eval-id new --strict --json",
            f"export {name}.evalset.json --form pytest --agent {name} --out made",
            f"export {name}.evalset.json --form dataset --agent {name} --metrics --out made",
            f"import {name}.evalset.json --out other.evalset.json --json",
        )
    ),
    *(
        ("files", command)
        for command in (
            "doctor . --json",
            "verify tolerant.evalset.json order_desk",
            "import confirming.session.json finished.session.json parallel.session.json --out other.evalset.json",
            "script undone.session.json",
            "script finished.session.json --agent model --form json",
        )
    ),
]


def done(version: Version, command: str, folder: Path) -> Path:
    """Run a command in a folder with the files of documents, and write down what it said."""
    shutil.copytree(FILES, folder, ignore=shutil.ignore_patterns("*.db"))
    package = "simulator" if command.startswith(("run", "script")) else "evalset"
    said = version.run("-m", package, *command.split(), cwd=folder)
    assert "invalid choice" not in said.stderr
    heard = f"exit {said.returncode}\n{said.stdout}\n{said.stderr}".replace(str(folder), "HERE")
    (folder / "said.txt").write_text(heard.replace(str(version.source), "SOURCE"))
    return folder


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[command for _, command in COMMANDS])
def test_commands_say_and_write_the_same(then: Version, name: str, command: str, tmp_path: Path) -> None:
    """Words, exit codes, and all files of the folder."""
    old, new = (done(one, command, tmp_path / str(place) / name) for place, one in enumerate((then, NOW)))
    assert undecided([*differences(old, new)]) == []
