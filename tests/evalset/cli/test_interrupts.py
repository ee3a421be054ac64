"""An interrupt, a closed terminal and a closed pipe end each command without a traceback, and with the exit code that shells know."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import psutil
import pytest

from evalset.cli.main import main
from evalset.cli.terminal_output import WORDS
from tests.evalset.cli.test_run_command import FINE
from tests.evalset.doctor.examples import a_case, a_set, in_bytes
from tests.evalset.there import there
from tests.evalset.verify.small_agents import agent, played
from tests.harness.processes import REPOSITORY, quiet_environment, wait_until

WAITS = """
import signal, sys
from evalset.cli.terminal_output import as_program

def run():
    print("ready", flush=True)
    {}

sys.exit(as_program(run))
"""
ENDS = {"SIGINT": 130, "SIGHUP": 129}
HELLO = {"say": "Hello.", "moves": [{"text": "Hello there."}]}
_TELLS_IMPORTS = {"PYTHONPROFILEIMPORTTIME": "1"}
HANGS = "rules: [{rule_id: hang, tool_name: find_order, effect: {kind: hang}}]\n"


@pytest.fixture(autouse=True)
def _heeded() -> Iterator[None]:
    """Hand no ignored signals on: who starts the tests in the background, or with `nohup`, ignores some."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    for number in before:
        signal.signal(number, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@contextmanager
def started(*words: str | Path, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Start a Python with these arguments, in a group of its own, as a shell does."""
    process = subprocess.Popen(
        [sys.executable, *map(str, words)],
        cwd=REPOSITORY,
        env=quiet_environment(PYTHONPATH=str(REPOSITORY), **variables),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def heard(stream: IO[str] | None, words: str) -> str:
    """Wait for a line of a stream that holds these words."""
    assert stream is not None
    return next(line for line in stream if re.search(words, line))


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Wait for the end; return what stands on both outputs, without a traceback."""
    out, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    return out, said


@pytest.mark.parametrize(("name", "code"), ENDS.items())
def test_a_signal_ends_a_program_with_the_code_of_shells(name: str, code: int) -> None:
    """The word that is left says what happened."""
    with started("-c", WAITS.format("input()")) as process:
        heard(process.stdout, "ready")
        os.killpg(process.pid, getattr(signal, name))
        assert ended(process) == ("", "\ninterrupted\n")
        assert process.returncode == code


DEAF = """while True:
        try:
            print("deaf", flush=True)
            input()
        except KeyboardInterrupt:
            print("swallowed", flush=True)
"""


@pytest.mark.long
def test_an_interrupt_that_is_swallowed_ends_the_program_too() -> None:
    """An agent's code, or a library, may make nothing of it; then the process is ended."""
    with started("-c", WAITS.format(DEAF)) as process:
        heard(process.stdout, "deaf")
        process.send_signal(signal.SIGINT)
        heard(process.stdout, "swallowed")
        assert there(process.stderr).read() == "\ninterrupted\n"
        assert process.wait(timeout=60) == 130


def test_any_other_end_stays_as_it_is() -> None:
    """An exit code, the words of an exit, and an error of ours with its traceback."""
    with started("-c", WAITS.format("return 3")) as process:
        assert process.wait(timeout=60) == 3
    with started("-c", WAITS.format("sys.exit('words')")) as process:
        assert "words" in ended(process)[1]
        assert process.returncode == 1
    with started("-c", WAITS.format("raise ValueError('broken')")) as process:
        assert "Traceback" in process.communicate(timeout=60)[1]
        assert process.returncode == 1


def test_a_signal_that_the_shell_ignores_stays_ignored() -> None:
    """`nohup` wants a command to survive its terminal."""
    ignored = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    with started("-c", ignored + WAITS.format("input()")) as process:
        heard(process.stdout, "ready")
        os.killpg(process.pid, signal.SIGHUP)
        process.communicate("\n", timeout=60)
    assert process.returncode == 0


@pytest.mark.parametrize("options", [["--json"], pytest.param([], marks=pytest.mark.long)])
def test_a_reader_that_has_seen_enough_ends_the_command(tmp_path: Path, options: list[str]) -> None:
    """`python -m evalset doctor SET --json | head -1`."""
    path = tmp_path / "set.evalset.json"
    path.write_bytes(in_bytes(a_set(a_case())))
    with started("-m", "evalset", "doctor", path, *options) as process:
        there(process.stdout).close()
        assert there(process.stderr).read() == ""
        assert process.wait(timeout=60) == 141


@pytest.mark.parametrize(
    "words", [["import", "{}", "--out", "new.evalset.json"], ["export", "{}", "--form", "dataset"]]
)
def test_no_command_takes_a_reader_that_is_gone_for_a_broken_file(
    words: list[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no error of the file that is written."""
    Path("set.evalset.json").write_bytes(in_bytes(a_set(a_case())))
    monkeypatch.setattr(sys, "stdout", _Gone())
    with pytest.raises(BrokenPipeError):
        main([word.format("set.evalset.json") for word in words])


class _Gone(io.StringIO):
    def write(self, _: str) -> int:
        raise BrokenPipeError


@pytest.mark.long
def test_an_interrupt_while_adk_is_imported_has_no_traceback(tmp_path: Path) -> None:
    """The seconds before a command begins are the ones in which people find their mistake."""
    words = ("run", "order_desk", "--script", tmp_path / "no", "--out", tmp_path / "no.evalset.json")
    with started("-m", "simulator", *words, **_TELLS_IMPORTS) as process:
        heard(process.stderr, r"\bgoogle\.adk\.")
        os.killpg(process.pid, signal.SIGINT)
        assert ended(process)[1].endswith(f"\n{WORDS}\n")
        # Python ends by the signal itself where the import was just running code made from a text.
        assert process.returncode in {130, -signal.SIGINT}


@pytest.mark.long
@pytest.mark.parametrize("name", ENDS)
def test_a_run_that_hangs_ends(tmp_path: Path, name: str) -> None:
    """While a call hangs: nothing is written, and nothing is left of it."""
    script, out = tmp_path / "script.yaml", tmp_path / "set.evalset.json"
    script.write_text(FINE + HANGS)
    with started("-m", "simulator", "run", "order_desk", "--script", script, "--out", out) as process:
        heard(process.stderr, "turn 1 of 1")
        os.killpg(process.pid, getattr(signal, name))
        assert ended(process)[1].endswith(f"{WORDS}\n")
    assert process.returncode == ENDS[name]
    assert list(tmp_path.iterdir()) == [script]


def _of_the_command(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


@pytest.mark.long
@pytest.mark.process
@pytest.mark.parametrize("name", ENDS)
def test_the_processes_of_a_command_end_with_it(tmp_path: Path, name: str) -> None:
    """Kernels that replay one case again and again; an interrupt shows what was done, and what was written is whole."""
    folder = agent(tmp_path / "agents", 'root_agent = LlmAgent(name="desk", model="gemini-2.5-flash")\n')
    words = ("verify", played(folder, HELLO), "--runs", "100000", "--processes", "2", "--json")
    with started("-m", "evalset", *words) as process:
        heard(process.stderr, "1 of 100000: pass")
        kernels = _of_the_command(process)
        os.killpg(process.pid, getattr(signal, name))
        out, _ = ended(process)
    assert kernels
    assert process.returncode == ENDS[name]
    if name == "SIGINT":
        document = json.loads(out)
        assert (document["status"], len(document["cases"])) == ("stopped", 1)
    wait_until(lambda: not any(map(_runs, kernels)), what="the end of the kernels")


def _runs(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


WAITING = """
import threading
from pathlib import Path

def before(callback_context):
    begun = Path(__file__).with_name("begun")
    if begun.exists():
        begun.write_text("now")
        threading.Event().wait()

root_agent = LlmAgent(name="desk", model="gemini-2.5-flash", before_agent_callback=before)
"""


@pytest.mark.long
@pytest.mark.process
@pytest.mark.parametrize("name", ENDS)
def test_adk_eval_ends_with_the_command_that_runs_it(tmp_path: Path, name: str) -> None:
    """While an agent hangs in it; the set is as it was, and no results are left."""
    folder = agent(tmp_path / "agents", WAITING)
    golden = played(folder, HELLO)
    begun, before = folder / "begun", golden.read_bytes()
    begun.touch()
    with started("-m", "evalset.cli", "eval", folder, golden) as process:
        wait_until(lambda: begun.read_text() == "now", what="the agent's turn")
        processes = _of_the_command(process)
        os.killpg(process.pid, getattr(signal, name))
        assert "`adk eval` was stopped" in ended(process)[1]
    assert process.returncode == ENDS[name]
    assert processes
    wait_until(lambda: not any(map(_runs, processes)), what="the end of the processes")
    assert golden.read_bytes() == before
    assert not (folder / ".adk").exists()


@pytest.mark.long
def test_the_studio_ends_in_order() -> None:
    """By an interrupt as by a closed terminal, also while it starts; its exit code is the signal's."""
    for early, name in ((True, "SIGINT"), (False, "SIGINT"), (False, "SIGHUP")):
        words = ("-m", "evalset.cli", "studio", "--no-browser", "--port", "0")
        with started(*words, **(_TELLS_IMPORTS if early else {})) as process:
            heard(process.stderr if early else process.stdout, r"\bstreamlit\." if early else r"\?token=")
            os.killpg(process.pid, getattr(signal, name))
            ended(process)
        assert process.returncode == -(signal.SIGTERM if name == "SIGHUP" else signal.SIGINT)
