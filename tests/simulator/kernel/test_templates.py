"""Kernels are forks of one process that has imported ADK, and differ in nothing from those that are started."""

from __future__ import annotations

import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from simulator.kernel import kernel_templates
from simulator.kernel.kernel import Kernel
from simulator.kernel.kernel_templates import CAN_FORK, TEMPLATES, ForkedKernel, Templates
from tests.simulator.kernel.projects import until_gone

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not CAN_FORK, reason="kernels are forked on Linux alone"),
]
PYTHON = Path(sys.executable)

TELLS = """
import json, os, random, sys, threading
from pathlib import Path
from google.adk.agents import LlmAgent

Path(__file__).with_name("told.json").write_text(json.dumps({
    "folder": os.getcwd(), "first": sys.path[0], "variable": os.environ.get("GOLDEN_TOLD"), "drawn": random.random(),
    "inherited": sorted(os.listdir("/proc/self/fd")), "signals": str(__import__("signal").getsignal(17)),
    "nobody": "pytest" in sys.modules, "replays": "evalset.verify.in_process" in sys.modules,
}))
root_agent = LlmAgent(name="teller", model="none")
"""


def told(folder: Path) -> dict[str, Any]:
    """Load an agent in a kernel, and return what it has seen of its process."""
    folder.mkdir()
    (folder / "agent.py").write_text(TELLS)
    kernel = Kernel(PYTHON, folder)
    assert isinstance(kernel._process, ForkedKernel)
    kernel.ask("load", {"folder": str(folder.parent), "name": folder.name})
    kernel.end()
    found: dict[str, Any] = json.loads((folder / "told.json").read_text())
    return found


def test_a_fork_works_in_its_folder_with_the_environment_of_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds no file of the template, draws other numbers than the next one, and hears its children end as any process does.

    What a replay needs has been imported already.
    """
    monkeypatch.setenv("GOLDEN_TOLD", "first")
    first = told(tmp_path / "first")
    monkeypatch.setenv("GOLDEN_TOLD", "second")
    second = told(tmp_path / "second")
    assert [each["variable"] for each in (first, second)] == ["first", "second"]
    assert [each["folder"] for each in (first, second)] == [
        str(tmp_path / "first"),
        str(tmp_path / "second"),
    ]
    assert first["drawn"] != second["drawn"]
    assert first["inherited"] == second["inherited"]
    assert first["signals"] == str(signal.SIG_DFL)
    assert (first["nobody"], first["replays"]) == (False, True)


@pytest.mark.long
def test_kernels_outlive_a_template_that_is_killed(tmp_path: Path) -> None:
    """Those that it has forked go on, the next one is a fork of another, and the end of the old ones is still heard."""
    old = Kernel(PYTHON, tmp_path)
    parent = psutil.Process(old.process_id).ppid()
    os.kill(parent, signal.SIGKILL)
    until_gone(parent)
    assert old.ask("pulse", {}) is None
    new = Kernel(PYTHON, tmp_path)
    assert psutil.Process(new.process_id).ppid() != parent
    old.kill("it was killed")
    until_gone(old.process_id)
    old._process.wait(60)
    new.end()


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="processes are not grouped here")
@pytest.mark.parametrize("is_asked", [pytest.param(False, marks=pytest.mark.long), True])
def test_a_template_comes_behind_others_until_somebody_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_asked: bool
) -> None:
    """It then hurries on with what it has begun; what it forks comes behind nobody."""
    seen, begun, asked = list[str](), threading.Event(), threading.Event()

    def wait(given: Any, **how: Any) -> Any:
        said, wanted = given
        (process,) = (each.pid for each in psutil.Process().children() if each.pid not in before)
        seen.append(group_niceness(process))
        begun.set()
        found = concurrent.futures.wait([wanted if is_asked else said], **how)
        asked.set()
        return found

    monkeypatch.setattr(kernel_templates, "wait", wait)
    before = {each.pid for each in psutil.Process().children()}
    templates = Templates()
    templates.prepare(PYTHON)
    assert begun.wait(60)
    if not is_asked:
        assert asked.wait(60)
    life, end = os.pipe()
    kernel = templates.fork(PYTHON, tmp_path, life)
    assert kernel is not None
    assert asked.is_set()
    seen += [group_niceness(psutil.Process(kernel.pid).ppid()), group_niceness(kernel.pid)]
    for stream in (kernel.stdin, kernel.stdout, kernel.stderr):
        stream.close()
    kernel.wait(60)
    os.close(end)
    os.close(life)
    templates.end()
    assert seen == ["nice 10", "nice 0", "nice 0"]


def group_niceness(process: int) -> str:
    """Read how a session of processes comes behind others."""
    return Path(f"/proc/{process}/autogroup").read_text().strip().partition(" ")[2]


@pytest.mark.long
def test_what_was_installed_since_makes_another_template(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have imported what is another version now."""
    template = TEMPLATES._template(PYTHON)
    assert template is not None
    seen = [template.is_current]
    monkeypatch.setattr(template, "_places", [tmp_path])
    monkeypatch.setattr(template, "_installed", template._stamps())
    seen.append(template.is_current)
    (tmp_path / "another-1.0.dist-info").mkdir()
    os.utime(tmp_path, ns=(0, 0))
    assert [*seen, template.is_current] == [True, True, False]


@pytest.mark.long
def test_a_template_that_cannot_fork_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The kernel is started as a program of its own."""

    def refuses(*_: object) -> None:
        raise OSError("no process is left")

    monkeypatch.setattr(kernel_templates.Template, "fork", refuses)
    kernel = Kernel(PYTHON, tmp_path)
    assert isinstance(kernel._process, subprocess.Popen)
    assert kernel.ask("pulse", {}) is None
    assert "no process is left" in caplog.text
    kernel.end()


def test_an_interpreter_without_adk_has_none(tmp_path: Path) -> None:
    """A program that ends at once is no template, and a file that is none cannot be started."""
    ends = tmp_path / "python"
    ends.write_text("#!/bin/sh\nexit 3\n")
    ends.chmod(0o755)
    read, write = os.pipe()
    try:
        assert TEMPLATES.fork(ends, tmp_path, read) is None
        assert TEMPLATES.fork(tmp_path / "nothing", tmp_path, read) is None
    finally:
        os.close(read)
        os.close(write)


@pytest.mark.long
def test_kernels_share_what_they_have_not_changed(tmp_path: Path) -> None:
    """Two take far less memory than twice one that was started."""
    kernels = [Kernel(PYTHON, tmp_path) for _ in range(2)]
    shares = [psutil.Process(each.process_id).memory_full_info() for each in kernels]
    assert all(share.uss < share.rss / 2 for share in shares)
    for each in kernels:
        each.end()
