"""The last result of a case is one, wherever it is shown: of its own run, its set's, its export's replay, or a kept run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.evalsets.run.last_results import CASE_VERIFIED, last_result, last_results, last_rows
from app.evalsets.run.verify_jobs import VERIFIED
from app.evalsets.workspace import EXPORTED, Workspace, workspaces
from app.export.export_replay import ExportReplay
from app.live.background_jobs import Job
from app.server.owners import LOCAL
from evalset.kept_runs.run_files import keep_run, kept_run_of
from evalset.measured import Measured, measured_files
from evalset.verify.results import CaseResult, CaseStatus, Verification
from tests.app.evalsets.run.test_verify_tab import Changed, eval_set, opened, recorded  # noqa: F401 - fixtures


def verification(path: Path, **statuses: CaseStatus) -> Verification:
    """Return a verification of the set as it is."""
    cases = tuple(CaseResult(eval_id=name, status=status) for name, status in statuses.items())
    return Verification(
        eval_set=path, environment=path, cases=cases, measured=Measured(files=measured_files(path, None))
    )


def did(result: Any) -> Job[Any]:
    """Return work that is done."""
    job: Job[Any] = Job(lambda *_: result, "done")
    assert job.wait(60)
    return job


def test_what_was_found_last_counts(tmp_path: Path) -> None:
    """Whoever has asked; what a run does not name keeps its earlier result."""
    path = tmp_path / "a.evalset.json"
    path.write_text("{}")
    workspace = Workspace("me", path)
    assert last_result(workspace, "one") is None
    keep_run(path, kept_run_of(verification(path, one="failed", two="error"), 1_000.0))
    workspace.jobs[VERIFIED] = did(verification(path, one="passed", three="failed"))
    workspace.jobs[f"{EXPORTED} two"] = did(ExportReplay(verification(path, two="passed")))
    workspace.jobs[CASE_VERIFIED] = did(verification(path, three="passed"))
    found = last_results(workspace, ("one", "two", "three", "four"))
    assert [(one.eval_id, one.status) for one in found] == [
        (name, "passed") for name in ("one", "two", "three")
    ]
    keep_run(path, kept_run_of(verification(path, one="failed"), found[0].at + 60))
    kept = last_result(workspace, "one")
    assert kept is not None
    assert (kept.status, kept.case) == ("failed", None)
    assert kept.at == pytest.approx(found[0].at + 60, abs=0.01)
    nobody_knows = kept_run_of(Verification(eval_set=path, environment=path), found[0].at + 120)
    keep_run(
        path,
        nobody_knows.model_copy(update={"cases": kept_run_of(verification(path, one="passed"), 1.0).cases}),
    )
    assert last_result(workspace, "one") == kept
    path.write_text("{ }")
    assert kept.measured is not None
    assert kept.measured.changes() == ("the set",)


def test_a_set_that_was_not_verified_here_shows_what_is_known(eval_set: Changed) -> None:  # noqa: F811 - the fixture
    """A kept run is there after a restart of the server, with when it was made; and gone from date once the set is another."""
    path = eval_set()
    keep_run(path, kept_run_of(verification(path, one="passed", two="failed"), 1_000.0))
    workspace = workspaces().of(LOCAL, path)
    rows = last_rows(last_results(workspace, ("one", "two")), unsaved=False)
    assert [(row["case"], row["verdict"]) for row in rows] == [("one", "✓ passed"), ("two", "✗ failed")]
    assert "1970-01-01" in rows[0]["when"]
    tab = opened(path)
    (table,) = tab.app.dataframe
    assert [*table.value["verdict"]] == ["✓ passed", "✗ failed"]
    path.write_text(f"{path.read_text()} ")
    (table,) = tab.run().app.dataframe
    assert [*table.value["verdict"]] == ["✓ passed, out of date", "✗ failed, out of date"]
