"""Every command as a person types it, each in a real shell: one that works, and one with bad input."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from evalset.cli.main import COMMANDS
from evalset.kept_runs import keep_run
from simulator.store import JournalStore, read_session
from tests.evalset.cli.test_import_export import KEPT, a_session
from tests.evalset.test_kept_runs import run_of
from tests.harness.processes import REPOSITORY, completed, quiet_environment

EVAL = "golden-trace eval order_desk ~/.local/share/golden-trace-studio/eval_sets/order_desk/order_desk_evals.evalset.json"
CI = (".gitattributes", ".github/workflows/goldens.yml", ".gitignore", ".pre-commit-config.yaml")
PLAYED = ("played.environment.json", "played.evalset.json")
IMPORTED = ("imported.environment.json", "imported.evalset.json")


class Row(NamedTuple):
    """A command line, the exit code, what the output shows (a pattern), and the files that are new."""

    line: str
    code: int
    shows: str
    files: tuple[str, ...] = ()


ROWS = (
    Row("golden-trace studio --agents-dir none", 2, "--agents-dir: .*none"),
    Row("golden-trace run order_desk --script order.yaml --out played.evalset.json --eval-id a", 0, "played.evalset.json: a", PLAYED),
    Row("golden-trace run order_desk --script order.yaml --out a.json --otherwise odd", 2, "argument --otherwise: .*'odd'"),
    Row("golden-trace run order_desk --script broken.yaml --out a.evalset.json", 3, "find_order: ValueError: broken"),
    Row("golden-trace sessions --store sessions.db", 0, "finished .*order_desk"),
    Row("golden-trace sessions --store none.db", 2, "--store: .*none.db"),
    Row("golden-trace script finished --store sessions.db --out own.yaml", 0, "own.yaml: 1 turn", ("own.yaml",)),
    Row("golden-trace script nobody --store sessions.db", 2, "SESSION: 'nobody'"),
    Row("golden-trace verify orders.evalset.json --models recorded --junit results.xml", 0, "PASS order_desk_case", ("results.xml",)),
    Row("golden-trace verify orders.evalset.json --runs 0", 2, "argument --runs: "),
    Row("golden-trace compare orders.evalset.json", 1, "FLAKY one: "),
    Row("golden-trace compare none.evalset.json", 2, "0 kept runs"),
    Row(f"{EVAL}", 0, "order_desk_case +PASS .*1.00"),
    Row("golden-trace eval order_desk orders.evalset.json --models none", 2, "argument --models: .*'none'"),
    Row("golden-trace doctor orders.evalset.json --csv found.csv", 0, "[12] files? checked", ("found.csv",)),
    Row("golden-trace doctor orders.evalset.json --only odd", 2, "--only: .*'odd'"),
    Row("golden-trace import chat.json --out imported.evalset.json", 0, "imported.evalset.json: 1 case", IMPORTED),
    Row("golden-trace import chat.json --out imported.evalset.json --rename-agent odd", 2, "error: .*odd"),
    Row("golden-trace export orders.evalset.json --form pytest --agent order_desk", 0, "test_orders.py", ("test_orders.py",)),
    Row("golden-trace export orders.evalset.json --form evalset --metrics", 2, "--metrics .*--form dataset"),
    Row("golden-trace init ci", 0, "goldens.yml", CI),
    Row("golden-trace init ci --folder none", 2, "--folder: .*none"),
    Row("python -m simulator walk", 2, "'walk'"),
)  # fmt: skip
"""The studio that starts and answers is in `test_golden_trace.py`. What needs ADK to be refused is refused by each command's own tests."""


class Ended(NamedTuple):
    """How a command ended: its exit code, all that it printed, and the files that are new."""

    code: int
    output: str
    files: tuple[str, ...]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands read: an eval set and its kept runs, a script, sessions."""
    folder = tmp_path_factory.mktemp("project")
    for end in ("evalset", "environment"):
        shutil.copy(KEPT / f"order_desk.{end}.json", folder / f"orders.{end}.json")
    for number, status in enumerate(("passed", "failed")):
        keep_run(folder / "orders.evalset.json", run_of(number, one=status))
    script = "format: golden-trace-studio/script\nversion: 1\notherwise: generate\nturns:\n- say: Where is order A-1002?\n"
    (folder / "order.yaml").write_text(script)
    broken = "  moves:\n  - tool: find_order\n    raises: 'ValueError: broken'\n"
    (folder / "broken.yaml").write_text(script + broken)
    session = Path(shutil.copy(KEPT / "finished.session.json", folder))
    store = JournalStore.open(folder / "sessions.db")
    store.begin(read_session(session.read_text()), owner="local", agent_key="order_desk")
    store.close()
    (folder / "chat.json").write_text(json.dumps(a_session("chat")))
    return folder


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a fresh shell of a person who has exported the demo's session from the studio."""
    home = tmp_path_factory.mktemp("it's home")
    exported = home / ".local" / "share" / "golden-trace-studio" / "eval_sets" / "order_desk"
    exported.mkdir(parents=True)
    for end in ("evalset", "environment"):
        shutil.copy(KEPT / f"order_desk.{end}.json", exported / f"order_desk_evals.{end}.json")
    own = ("GOLDEN_TRACE_", "XDG_", "VIRTUAL_ENV")
    bare = {name: value for name, value in quiet_environment().items() if not name.startswith(own)}
    path = f"{Path(sys.executable).parent}{os.pathsep}/usr/bin{os.pathsep}/bin"
    return bare | {"HOME": str(home), "PATH": path, "PYTHONPATH": str(REPOSITORY)}


@pytest.fixture(scope="module")
def ended(
    project: Path, variables: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Ended]:
    """Run all commands, some at a time, each in a copy of the folder; return how each ended."""
    copies = tmp_path_factory.mktemp("copies")

    def run(number: int) -> Ended:
        folder = Path(shutil.copytree(project, copies / str(number)))
        before = files_in(folder)
        done = completed("/bin/sh", "-e", "-c", ROWS[number].line, folder=folder, environment=variables)
        return Ended(done.returncode, done.stdout + done.stderr, tuple(sorted(files_in(folder) - before)))

    with ThreadPoolExecutor(4) as pool:
        return dict(zip((row.line for row in ROWS), pool.map(run, range(len(ROWS))), strict=True))


def files_in(folder: Path) -> set[str]:
    """Return the files of a folder by their paths in it, without those that a database has beside it while it is open."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {name for name in found if not name.startswith("sessions.db")}


@pytest.mark.process
@pytest.mark.parametrize("row", ROWS, ids=[row.line for row in ROWS])
def test_a_command_ends_and_writes_as_it_says(row: Row, ended: Mapping[str, Ended]) -> None:
    """The exit code, the output and the new files; bad input leaves none."""
    code, output, files = ended[row.line]
    assert code == row.code, output
    assert re.search(row.shows, output), output
    assert files == row.files
    assert "Traceback" not in output


def test_no_command_is_left_out() -> None:
    """Each has a row that works and one with bad input; the studio that works has a test where it is asked for its page."""
    for name in COMMANDS:
        codes = {row.code for row in ROWS if row.line.startswith(f"golden-trace {name} ")}
        assert (2 in codes, bool(codes - {2})) == (True, name != "studio"), name


_WITHOUT_ADK = """
import sys
from evalset.cli.main import main
code = main(sys.argv[1:])
print(code, "google.adk" in sys.modules)
"""


@pytest.mark.process
@pytest.mark.parametrize("words", ["verify {}", "eval order_desk {}", "export {} --form pytest"])
def test_a_file_that_is_not_there_is_told_before_adk_is_imported(words: str, tmp_path: Path) -> None:
    """The import takes seconds; the error names the file."""
    there = quiet_environment(PYTHONPATH=str(REPOSITORY))
    path = tmp_path / "none.evalset.json"
    done = completed(
        sys.executable, "-c", _WITHOUT_ADK, *words.format(path).split(), folder=tmp_path, environment=there
    )
    assert f"{path}: cannot be read: No such file" in done.stderr
    assert done.stdout.split() == ["2", "False"], done.stderr
