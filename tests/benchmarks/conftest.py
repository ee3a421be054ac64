"""Lets each benchmark run once at its smallest size: `pytest tests/benchmarks -o python_files='bench_*.py' --smallest`.

A benchmark says in `SMALLEST` which sizes it has then, and of several parameters the first is taken. Nothing is held to a bar that was measured
so; all else is asserted. What drives a browser is left out: each names the story that goes the same way.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

_HERE = Path(__file__).parent


def _smallest(config: pytest.Config) -> bool:
    # The option is known where this folder is named alone: `pytest` finds this file on its way.
    return bool(config.getoption("smallest", default=False))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the option."""
    parser.addoption(
        "--smallest", action="store_true", help="each benchmark once, at its smallest size, untimed"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the first of each benchmark, where only the smallest are wanted; tests beside them stay."""
    if not _smallest(config):
        return
    kept: dict[str, pytest.Item] = {}
    for item in items:
        is_bench = item.path.parent == _HERE
        if not (is_bench and item.get_closest_marker("browser")):
            kept.setdefault(item.nodeid.partition("[")[0] if is_bench else item.nodeid, item)
    left = {id(item) for item in kept.values()}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in left])
    items[:] = kept.values()


@pytest.fixture(scope="module", autouse=True)
def _sizes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Make a benchmark small, where that is wanted."""
    with pytest.MonkeyPatch.context() as patch:
        if _smallest(request.config):
            # Nothing is measured, and beside all that other tests have left one takes seconds.
            patch.setattr(gc, "collect", lambda *_: 0)
            for name, size in getattr(request.module, "SMALLEST", {}).items():
                patch.setattr(request.module, name, size)
        yield


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Wait for no log lines, and for no garbage of others."""
    logging.disable(logging.CRITICAL)
    gc.collect()
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> bool:
    """Whether what was measured is held to its bar."""
    return not _smallest(request.config)
