"""What holds for each test of the environment without the page: in which forms it is tried, and that nothing real runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.simulator.runtime.plugin.order_tools import really_ran
from tests.simulator.runtime.plugin.standing import FORMS, Form


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> Form:
    """The callback, and the plugin."""
    given: Form = request.param
    return given


@pytest.fixture(autouse=True)
def nothing_really_ran() -> Iterator[None]:
    """No tool runs for real, but what a test itself asks `really_ran` for."""
    really_ran()
    yield
    assert really_ran() == []
