"""Says how far the property tests search, and lets the longest tests begin first.

The suite tries the same few examples in every run, so that it ends the same way twice. A wider search draws new
ones: `HYPOTHESIS_PROFILE=thorough pytest tests/simulator/environment`.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import xdist.scheduler
from hypothesis import HealthCheck, settings

from tests.harness.imported import forget_written
from tests.quick import starts_nothing

_IN_MEMORY, _ROOM = Path("/dev/shm"), 4 << 30  # noqa: S108 - each run has a folder of its own there


def _is_roomy(place: Path) -> bool:
    """Return whether files may be kept there, and programs among them run."""
    if not (hasattr(os, "statvfs") and os.access(place, os.W_OK)):
        return False
    told = os.statvfs(place)
    return told.f_bavail * told.f_frsize >= _ROOM and not told.f_flag & os.ST_NOEXEC


# Thousands of small files are written: in memory that takes a tenth of the time. pytest puts the folders of tests there.
if "PYTEST_DEBUG_TEMPROOT" not in os.environ and _is_roomy(_IN_MEMORY):
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(_IN_MEMORY)

# Nothing is kept among the data of whoever runs the tests; those that keep sessions name a store of their own.
os.environ["GOLDEN_TRACE_STORE"] = "none"
_DATA = tempfile.TemporaryDirectory(prefix="golden-trace-data-", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT"))
os.environ["GOLDEN_TRACE_DATA_DIR"] = _DATA.name

# nltk, which ADK's response match imports, does without these two; they take each worker four seconds.
for _name in ("scipy", "sklearn"):
    sys.modules.setdefault(_name, None)  # type: ignore[arg-type] # Python's own way to say that there is no such module

# What lies in the home folder of whoever runs the tests is not looked at, and nothing is left there.
for _name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
    os.environ[_name] = tempfile.mkdtemp(dir=_DATA.name)

# Who starts the tests in the background ignores Ctrl-C, and all that is started would do so too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no fault of a test.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

settings.register_profile("suite", _PATIENT, max_examples=15, derandomize=True)
settings.register_profile("thorough", _PATIENT, max_examples=600)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


_SLOW = ("browser", "process")
_SELDOM = (20_000, 20, 50)


WAITING = 1
"""So many more workers than processors: now and then a test waits for a process, a browser or a model. Each one more imports all again."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Take as many workers as keep the processors busy; quick tests do not wait."""
    given = os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(given) if given else cores + (0 if config.getoption("quick") else WAITING)


STORIES = "tests/stories/test_"
LITELLM = (
    "tests/simulator/runtime/models/test_model_addresses.py",
    "tests/simulator/runtime/models/test_model_clients.py",
)
"""The files that import it, which takes as long as a dozen tests."""


class Scheduler(xdist.scheduler.LoadFileScheduling):  # type: ignore[misc] # xdist says nothing of its types
    """Gives a worker a file of tests at a time, and what shares something large together.

    The stories go to one worker, which starts a browser and a studio; where there are all of them, to two. The tests of the
    repository read each of its files once.
    """

    def _split_scope(self, nodeid: str) -> str:
        """Return what stays in one worker: the method that xdist's documents name for that."""
        if nodeid.startswith(STORIES):
            is_second = self.config.getoption("markexpr") == "long" and nodeid >= f"{STORIES}f"
            return "second stories" if is_second else "stories"
        if nodeid.startswith("tests/test_"):
            return "repository"
        if nodeid.startswith(LITELLM):
            return "litellm"
        return str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduler:
    """Run the tests of a file, and of some files together, in one process."""
    return Scheduler(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer `--quick` and `--shuffle`."""
    parser.addoption(
        "--quick", action="store_true", help="only the files of tests that start nothing and play no agent"
    )
    parser.addoption("--shuffle", metavar="SEED", help="run files, and the tests of each, in a drawn order")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what starts something, where only the quick tests are wanted: such a file is not even imported."""
    if not config.getoption("quick") or collection_path.suffix != ".py":
        return None
    return None if starts_nothing(collection_path) else True


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Leave what is imported to no garbage collector: it stays to the end, and each look at all of it takes 0.3 seconds.

    What tests leave is searched seldom too: some let the collector look at everything again.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*_SELDOM)
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put first the files that drive a browser, then those that start a process: a long one that begins last keeps one core alone."""
    if seed := config.getoption("shuffle"):
        _shuffle(items, random.Random(seed))  # noqa: S311 - an order is no secret
        return
    places: dict[Path, int] = {}
    for item in items:
        places[item.path] = min(_place(item), places.get(item.path, len(_SLOW)))
    items.sort(key=lambda item: places[item.path])


def _place(item: pytest.Item) -> int:
    return next((place for place, mark in enumerate(_SLOW) if item.get_closest_marker(mark)), len(_SLOW))


def _shuffle(items: list[pytest.Item], drawn: random.Random) -> None:
    """Put files in a drawn order, and the tests of each, so that none can rely on another."""
    files = sorted({item.path for item in items})
    drawn.shuffle(files)
    items.sort(key=lambda item: item.nodeid)
    drawn.shuffle(items)
    items.sort(key=lambda item: files.index(item.path))


@pytest.fixture(scope="module", autouse=True)
def _what_tests_wrote_is_forgotten(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Leave the next file no module and no folder of modules in pytest's folder: its own may have the same names."""
    yield
    forget_written(sys.modules, sys.path, tmp_path_factory.getbasetemp())
