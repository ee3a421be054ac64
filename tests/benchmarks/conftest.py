"""Lets each benchmark run once at its smallest size: `pytest tests/benchmarks -o python_files='bench_*.py' --smallest`.

A benchmark says in `SMALLEST` which sizes it has then, and of several parameters the first is taken. Nothing is held to a bar that was measured
so; all else is asserted. What drives a browser is left out: each names the story that goes the same way.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest


def _smallest(config: pytest.Config) -> bool:
    # The option is known where this folder is named alone: `pytest` finds this file on its way.
    return bool(config.getoption("smallest", default=False))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the option."""
    parser.addoption(
        "--smallest", action="store_true", help="each benchmark once, at its smallest size, untimed"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the first of each, where only the smallest are wanted."""
    if not _smallest(config):
        return
    first: dict[str, pytest.Item] = {}
    for item in items:
        if not item.get_closest_marker("browser"):
            first.setdefault(item.nodeid.partition("[")[0], item)
    config.hook.pytest_deselected(items=[item for item in items if item not in first.values()])
    items[:] = first.values()


@pytest.fixture(scope="module", autouse=True)
def _sizes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Make a benchmark small, where that is wanted."""
    with pytest.MonkeyPatch.context() as patch:
        if _smallest(request.config):
            for name, size in getattr(request.module, "SMALLEST", {}).items():
                patch.setattr(request.module, name, size)
        yield


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> bool:
    """Whether what was measured is held to its bar."""
    return not _smallest(request.config)
