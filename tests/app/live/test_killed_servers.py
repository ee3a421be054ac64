"""What a page has shown, and what was typed there, is on the disk: servers are killed at any moment, and nothing is lost.

`KILLED_SERVERS=200 pytest tests/app/live/test_killed_servers.py` kills so many of them with each kind of database.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.postgres import postgres
from tests.harness.processes import REPOSITORY, quiet_environment

KILLS = int(os.environ.get("KILLED_SERVERS", "5"))
SECONDS_EACH = 120.0


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database of each kind."""
    if request.param == "sqlite":
        yield str(tmp_path / "sessions.db")
    else:
        with postgres() as server:
            yield server.new_database()


@pytest.mark.process
@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the servers are forks")
def test_nothing_that_was_shown_or_typed_is_lost_with_a_server(database: str, tmp_path: Path) -> None:
    """Each step that was shown is there on the next server, and each text that was typed and taken in."""
    program = [sys.executable, "-W", "ignore", "-m", "tests.app.live.killed_servers"]
    done = subprocess.run(
        [*program, database, str(tmp_path), str(KILLS), "seed"],
        cwd=REPOSITORY,
        env=quiet_environment(),
        capture_output=True,
        text=True,
        timeout=60 + KILLS * SECONDS_EACH,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    report = json.loads(done.stdout)
    assert not report["lost"], "\n".join([*report["lost"], done.stderr[-9000:]])
    assert report["kills"] == KILLS
    assert report["seen"]["steps"] > 0
    assert KILLS < 20 or report["seen"]["drafts"] > 0
