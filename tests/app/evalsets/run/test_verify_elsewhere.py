"""A verification that the page begins runs none of the agents' code in the page's process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from app.evalsets.run.verify_jobs import VerifyOptions, verifying
from app.live import agent_catalogue as of_server
from tests.evalset.verify.desks import agents, recorded_set


@pytest.mark.long
@pytest.mark.process
def test_agents_that_the_cases_name_run_in_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nobody has chosen the agent."""
    mark = tmp_path / "ran"
    tells = (
        'if os.environ.get("NO_MODEL"):',
        f"open({str(mark)!r}, 'a').write(f'{{os.getpid()}}\\n')\n        if False:",
    )
    eval_set = recorded_set(tmp_path / "kept", {"one": ("check A",), "two": ("check B",)})
    monkeypatch.setattr(of_server, "LOADS_NONE_HERE", True)
    monkeypatch.setattr(sys, "argv", ["app"])
    monkeypatch.setenv("GOLDEN_TRACE_AGENTS_DIR", str(agents(tmp_path, tells)))
    job = verifying(VerifyOptions(eval_set=eval_set))
    assert job.wait(60)
    assert job.result is not None, job.problem
    assert job.result.status == "passed"
    assert str(os.getpid()) not in mark.read_text().split()
