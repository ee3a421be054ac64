"""The table of modules is gone through while other threads import."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from simulator.agents.agent_folder import forget
from simulator.kernel.process_setup import _known
from tests.harness.imported import forget_written


@pytest.fixture
def importing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let another thread import without end, as often as Python changes from one to the other."""
    monkeypatch.setattr(sys, "modules", {**sys.modules})
    ends = threading.Event()

    def imports() -> None:
        while not ends.is_set():
            for number in range(100):
                sys.modules[f"newly_{number}"] = ModuleType("newly")
            for number in range(100):
                del sys.modules[f"newly_{number}"]

    def collected(
        _: str, __: object
    ) -> None:  # a module may also come while a list of all is made: by what is freed then
        sys.modules[f"freed_{len(sys.modules)}"] = ModuleType("freed")

    gc.callbacks.append(collected)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=imports)
    thread.start()
    yield
    gc.callbacks.remove(collected)
    ends.set()
    thread.join()
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("importing")
@pytest.mark.parametrize(
    "look",
    [
        lambda: forget("nothing_of_this_name"),
        lambda: [*_known("nothing_of_this_name")],
        lambda: forget_written(sys.modules, [], Path("/nowhere")),
    ],
)
def test_the_table_may_grow_meanwhile(look: Callable[[], object]) -> None:
    """Nothing is raised, however often it is gone through."""
    for _ in range(20):
        look()
    assert "nothing_of_this_name" not in sys.modules
