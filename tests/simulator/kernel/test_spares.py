"""A spare kernel takes the place of one that would have to be started, and another spare follows it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.kernel import spare_kernel
from simulator.kernel.kernel import Kernel
from simulator.kernel.spare_kernel import Spare
from tests.harness.processes import wait_until
from tests.simulator.kernel.projects import PATIENCE, until_gone

pytestmark = pytest.mark.process


@pytest.fixture
def spare() -> Iterator[Spare]:
    """A spare that was begun."""
    made = Spare()
    made.begin()
    yield made
    made.end()


def test_one_that_is_taken_works_in_its_folder_and_another_one_follows(spare: Spare, tmp_path: Path) -> None:
    """With the environment as it is when it is taken."""
    python = Path(sys.executable)
    os.environ["GOLDEN_SPARE"] = "now"
    try:
        first = spare.take(python, tmp_path)
    finally:
        del os.environ["GOLDEN_SPARE"]
    assert first is not None
    (tmp_path / "agent.py").write_text(
        "import os, pathlib\n"
        "pathlib.Path('seen.txt').write_text(os.environ['GOLDEN_SPARE'])\n"
        "from google.adk.agents import LlmAgent\nroot_agent = LlmAgent(name='one', model='none')\n"
    )
    first.ask("load", {"folder": str(tmp_path), "name": tmp_path.name})
    assert (tmp_path / "seen.txt").read_text() == "now"
    second = spare.take(python, tmp_path)
    assert second is not None
    assert second.process_id != first.process_id
    for kernel in (first, second):
        kernel.end()


def test_none_is_taken_elsewhere_and_none_stays_once_it_has_ended(spare: Spare, tmp_path: Path) -> None:
    """Another interpreter has other packages; who takes one for no folder starts one of its own, and reads why that fails.

    At the end neither the one that waits is left nor one that would follow.
    """
    python = Path(sys.executable)
    assert spare.take(tmp_path / "python", tmp_path) is None
    assert spare.take(python, tmp_path / "nothing") is None
    kernel = spare.take(python, tmp_path)
    assert kernel is not None
    kernel.end()
    spare.end()
    assert [spare.take(python, tmp_path) for _ in range(2)] == [
        None,
        None,
    ]  # the first look would start another one
    until_gone(kernel.process_id)


@pytest.mark.long
def test_one_that_is_being_started_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is stopped just then stops at once, and the process ends when it has started."""
    goes_on, made = threading.Event(), list[Kernel]()

    def held(python: Path, folder: Path) -> Kernel:
        assert goes_on.wait(PATIENCE)
        made.append(Kernel(python, folder))
        return made[0]

    monkeypatch.setattr(spare_kernel, "Kernel", held)
    spare = Spare()
    spare.begin()
    spare.end()
    assert not made
    goes_on.set()
    wait_until(lambda: bool(made), what="the process", seconds=PATIENCE)
    until_gone(made[0].process_id)
