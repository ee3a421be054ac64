"""Eval sets as tests: a real pytest collects and replays them, beside a project's own tests, which notice nothing of it."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from evalset.recorded.recording import CaseNote
from evalset.recorded.recording_files import put_all, sidecar_of
from evalset.verify import verify
from tests.evalset.verify.desks import agents, copied_set, recorded_set
from tests.harness.processes import REPOSITORY, quiet_environment

OWN = """
import sys

def test_own():
    assert not {"google.adk", "desk.agent"} & set(sys.modules)
"""
SCENARIO = {"starting_prompt": "Hello.", "conversation_plan": "Ask."}
EDITED = (('"order": "A"', '"order": "Y"'), ('"order": "B"', '"order": "Z"'))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of three cases, one of them with tags."""
    cases: dict[str, Sequence[str]] = {"one": ["check A"], "two": ["check B"], "three": ["check C"]}
    eval_set = recorded_set(tmp_path_factory.mktemp("kept"), cases)
    put_all(sidecar_of(eval_set), {}, {"three": CaseNote(tags=("on call", "skip"))})
    return eval_set


@pytest.fixture
def project(kept: Path, tmp_path: Path) -> Path:
    """A project that is stricter than most: two of its goldens were edited, and it has a test of its own."""
    agents(tmp_path)
    evals = tmp_path / "tests" / "eval"
    copied_set(kept, evals, *EDITED)
    (evals / "test_own.py").write_text(OWN)
    settings = ("addopts = --strict-markers --strict-config", "filterwarnings = error")
    options = "goldens_options = --agents-dir agents"
    (tmp_path / "pytest.ini").write_text("\n".join(("[pytest]", *settings, options, "")))
    return tmp_path


def ran(project: Path, *words: str, inside: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Run pytest in a project, with the plugin as an installation has it."""
    started = [sys.executable, "-m", "pytest", "-p", "golden_trace", "-p", "no:cacheprovider", "-q", *words]
    environment = quiet_environment(NO_MODEL="1", PYTHONPATH=str(REPOSITORY))
    return subprocess.run(
        started,
        cwd=project.joinpath(*inside),
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_an_installation_declares_the_plugin() -> None:
    """Any pytest beside it finds the options; the module is the one name that an installation has."""
    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["entry-points"]
    assert declared == {"pytest11": {"golden_trace": "golden_trace"}}


@pytest.mark.process
def test_each_case_is_a_test_and_what_fails_shows_where(project: Path) -> None:
    """In two workers: passed, failed, skipped; and what is no eval set is named with its place, as is its recording."""
    evals = project / "tests" / "eval"
    scenarios = {"eval_set_id": "s", "eval_cases": [{"eval_id": "open", "conversation_scenario": SCENARIO}]}
    (evals / "scenarios.evalset.json").write_text(json.dumps(scenarios))
    (evals / "broken.evalset.json").write_text('{"eval_set_id": "b", "eval_cases": [\n{]}')
    (evals / "newer.evalset.json").write_text(json.dumps({"eval_set_id": "n", "eval_cases": []}))
    (evals / "newer.environment.json").write_text(
        '{"format": "golden-trace-studio/environment", "version": 99}'
    )
    done = ran(project, "--goldens", "-n", "2", "-rA", "--continue-on-collection-errors", "tests/eval")
    assert "2 failed, 2 passed, 1 skipped, 2 errors" in done.stdout, done.stdout[-6000:] + done.stderr
    assert done.returncode == 1
    for line in (
        "PASSED tests/eval/test_own.py::test_own",
        "PASSED tests/eval/desk.evalset.json::three",
        "FAILED tests/eval/desk.evalset.json::one",
        "FAILED tests/eval/desk.evalset.json::two",
        "golden stale: The arguments of check in turn 1 were edited after the recording.",
        "first divergence: turn 1, step 2",
        '  golden: check({"order":"Y"})',
        '  actual: check({"order":"A"})',
        "broken.evalset.json: is not valid JSON: key must be a string at line 2 column 2",
        "newer.environment.json: its version is 99, but this release reads up to 5",
    ):
        assert line in done.stdout, done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.process
def test_what_happened_becomes_the_golden(project: Path) -> None:
    """Two workers accept two cases of one file; the tags choose a case, also one that pytest has another meaning for."""
    eval_set = project / "tests" / "eval" / "desk.evalset.json"
    done = ran(project, "--goldens", "--goldens-update", "-n", "2", "-m", "golden", "tests/eval")
    assert "3 passed" in done.stdout, done.stdout[-4000:] + done.stderr
    updated = done.stdout.partition("updated goldens")[2]
    assert "::one" in updated
    assert "::two" in updated
    assert "::three" not in updated
    assert verify(eval_set, agents_dir=project / "agents", models="recorded").status == "passed"
    chosen = ran(project, "--goldens", "-m", "on_call and tag_skip", "eval", inside=["tests"])
    assert "1 passed, 3 deselected" in chosen.stdout, chosen.stdout


@pytest.mark.process
def test_without_the_option_nothing_is_imported(project: Path) -> None:
    """Neither ADK nor anything of ours; the eval sets are no tests, and a mistake in the options is told with the option alone."""
    (project / "tests" / "eval" / "test_own.py").write_text(
        "import sys\n\ndef test_own():\n    assert not {'google.adk', 'google.genai', 'evalset', 'simulator'} & set(sys.modules)\n"
    )
    done = ran(project, "tests", "-p", "no:benchmark")
    assert "1 passed" in done.stdout, done.stdout[-4000:]
    wrong = ran(project, "--goldens", "--goldens-options=--nothing", "tests")
    assert wrong.returncode == 4
    assert "--goldens-options: '--nothing' are not options of `golden-trace verify`" in wrong.stderr
