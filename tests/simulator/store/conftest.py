"""Gives each test of the store an empty database: a file, and for `make test-long` one of PostgreSQL too."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.postgres import Postgres, postgres
from tests.simulator.store.databases import Kept, NewUrl


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    """Run one PostgreSQL server for all tests of this process."""
    with postgres() as running:
        yield running


@pytest.fixture
def new_file(tmp_path: Path) -> NewUrl:
    """Return what gives the path of another file that is not there."""
    return lambda: Path(tempfile.mkdtemp(dir=tmp_path)) / "sessions.db"


@pytest.fixture
def new_database(server: Postgres) -> NewUrl:
    """Return what gives the URL of another empty database of PostgreSQL."""
    return server.new_database


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    """Return an empty database; what was opened of it is closed behind the test."""
    is_file = request.param == "sqlite"
    url = tmp_path / "data" / "sessions.db" if is_file else request.getfixturevalue("new_database")()
    databases = Kept(url)
    yield databases
    databases.drop_all()
