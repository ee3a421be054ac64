"""Holds the commands to their options and exit codes: what stands in a person's CI today works there tomorrow."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import evalset.__main__
import evalset.cli.main
from tests.conformance.surface import COMMANDS, PROGRAMS, command_lines

FILES = Path(__file__).with_name("files")
PROMISED = COMMANDS.read_text().splitlines()
COMMAND_NAMES = [(program, name) for program, (_, names) in PROGRAMS.items() for name in names]


def said(line: str) -> tuple[str, bool, frozenset[str], bool]:
    """Return what a line says: an option or an argument's place, whether it may be left out, its choices, whether it takes a value."""
    token = re.sub(r"^(python -m \w+|golden-trace) \w+ ", "", line)
    optional, words = token.startswith("["), token.strip("[]").split()
    choices = re.search(r"\{(.*)\}", token)
    name = words[0] if words[0].startswith("-") else "an argument"
    return name, optional, frozenset(choices[1].split(",")) if choices else frozenset(), len(words) > 1


@pytest.mark.parametrize(("program", "command"), COMMAND_NAMES)
def test_each_option_is_still_taken(program: str, command: str) -> None:
    """Every option of then is there, takes a value or none as it did, has all of its choices, and none became necessary."""
    prefix = f"{program} {command} "
    now = {said(line)[0]: said(line) for line in command_lines() if line.startswith(prefix)}
    then = [said(line) for line in PROMISED if line.startswith(prefix)]
    assert len(then) > 3
    for name, optional, choices, takes_value in then:
        assert name in now, f"{prefix}{name} is gone"
        _, optional_now, choices_now, takes_value_now = now[name]
        assert optional_now or not optional, f"{prefix}{name} has to be given"
        assert choices <= choices_now or not choices_now, f"{prefix}{name}: {choices - choices_now} are gone"
        assert takes_value_now == takes_value or name == "an argument", f"{prefix}{name}"
    known = {name for name, *_ in then}
    needed = [name for name, (_, optional, _, _) in now.items() if not optional and name not in known]
    assert needed == [], f"{prefix}needs what it did not need"


def simulator(*words: str | Path) -> int:
    """Run `python -m simulator` in this process."""
    return evalset.cli.main.main(list(map(str, words)))


def sets(*words: str | Path) -> int:
    """Run `python -m evalset` in this process."""
    return evalset.__main__.main(list(map(str, words)))


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of then, in which the commands are run."""
    monkeypatch.chdir(shutil.copytree(FILES, tmp_path / "files"))
    lines = "turns:\n- say: Where is order A-1002?\n"
    head = "format: golden-trace-studio/script\nversion: 1\n"
    Path("short.yaml").write_text(f"{head}otherwise: fail\n{lines}")
    Path("long.yaml").write_text(
        f"{head}otherwise: generate\nenvironment:\n- tool: refund_order\n  returns: {{}}\n{lines}"
    )
    Path("bad.yaml").write_text(f"{head}otherwise: perhaps\n{lines}")
    Path("dead.yaml").write_text(
        f"{head}agent: person\notherwise: generate\nturns:\n- say: Hello\n  agent:\n  - fails: {{}}\n"
    )
    Path("changed.evalset.json").write_text(
        Path("order_desk.evalset.json").read_text().replace('"name": "refund_order"', '"name": "find_order"')
    )
    shutil.copy("order_desk.environment.json", "changed.environment.json")
    shutil.copy("order_desk.evalset.json", "alone.evalset.json")
    Path("broken.evalset.json").write_text("{")
    Path("warned.evalset.json").write_bytes(b"\xef\xbb\xbf" + Path("order_desk.evalset.json").read_bytes())
    return Path.cwd()


RUN = ("run", "order_desk", "--quiet", "--out", "out.evalset.json", "--script")
CODES: list[tuple[str, Callable[..., int], tuple[str, ...], int]] = [
    ("a script is played", simulator, (*RUN, "order_desk.script.yaml", "--strict"), 0),
    ("a script has no answer", simulator, (*RUN, "short.yaml"), 1),
    ("a line too many, strictly", simulator, (*RUN, "long.yaml", "--strict"), 1),
    ("a line too many", simulator, (*RUN, "long.yaml"), 0),
    ("a script is damaged", simulator, (*RUN, "bad.yaml"), 2),
    ("a script is not there", simulator, (*RUN, "none.yaml"), 2),
    ("there is no such agent", simulator, ("run", "nobody", *RUN[2:], "order_desk.script.yaml"), 2),
    ("sessions are listed", simulator, ("sessions", "--store", "store_schema_2.db"), 0),
    ("there are no sessions", simulator, ("sessions", "--store", "store_schema_2.db", "--archived"), 1),
    ("a store cannot be opened", simulator, ("sessions", "--store", "refund.db/none"), 2),
    ("a session becomes a script", simulator, ("script", "finished", "--store", "store_schema_2.db"), 0),
    ("there is no such session", simulator, ("script", "nothing", "--store", "store_schema_2.db"), 2),
    ("a file of a session becomes a script", simulator, ("script", "finished.session.json"), 0),
    ("all cases pass", sets, ("verify", "order_desk.evalset.json", "--models", "recorded"), 0),
    ("a case fails", sets, ("verify", "changed.evalset.json", "--models", "recorded"), 1),
    ("nothing is recorded", sets, ("verify", "alone.evalset.json"), 2),
    ("there is no such set", sets, ("verify", "none.evalset.json"), 2),
    ("there is no such case", sets, ("verify", "order_desk.evalset.json", "--case", "none"), 2),
    ("nothing is wrong", sets, ("doctor", "order_desk.evalset.json"), 0),
    ("the kinds are listed", sets, ("doctor", "--codes"), 0),
    ("a file is no JSON", sets, ("doctor", "broken.evalset.json"), 1),
    ("there is no such file", sets, ("doctor", "none.evalset.json"), 2),
    ("a byte order mark", sets, ("doctor", "warned.evalset.json"), 1),
    ("it is taken out", sets, ("doctor", "warned.evalset.json", "--fix"), 0),
]


@pytest.mark.parametrize(("what", "program", "words", "code"), CODES, ids=[what for what, *_ in CODES])
def test_exit_code(
    there: Path, what: str, program: Callable[..., int], words: tuple[str, ...], code: int
) -> None:
    """What a command ends with says how it went, as its help promises."""
    assert program(*words) == code, what


@pytest.mark.parametrize("words", [("run",), ("none",), ("script", "--form", "xml", "x")])
def test_bad_usage_ends_with_two(words: tuple[str, ...]) -> None:
    """As argparse does it, whether the command raises or returns it."""
    try:
        code: object = simulator(*words)
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert sets("none") == 2
