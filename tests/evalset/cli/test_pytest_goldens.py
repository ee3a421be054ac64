"""Eval sets as tests: a real pytest collects and replays them, beside a project's own tests, which notice nothing of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from evalset import export_cases, read_cases
from evalset.__main__ import main
from evalset.recorded.recording import CaseNote
from evalset.recorded.recording_files import put_all, read_environment, sidecar_of
from evalset.verify import verify
from tests.evalset.ending import Ends
from tests.evalset.replay.desk_agent import write_desk
from tests.evalset.verify.desks import agents, copied_set, recorded_set
from tests.harness.processes import completed, quiet_environment

OWN = """
import sys

def test_own():
    assert not {"google.adk", "desk.agent"} & set(sys.modules)
    import app, evalset, simulator
    assert (app.OWN, evalset.OWN, simulator.OWN) == (1, 1, 1)
"""
SCENARIO = {"starting_prompt": "Hello.", "conversation_plan": "Ask."}
TAGS = ("on call", "skip", "(wip)", "#12", "area:refund", "-x", "not", "parametrise", "timeout", "?!")
EDITED = (('"order": "A"', '"order": "Y"'), ('"order": "B"', '"order": "Z"'))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of three cases, one of them with tags."""
    cases: dict[str, Sequence[str]] = {"one": ["check A"], "two": ["check B"], "three": ["check C"]}
    eval_set = recorded_set(tmp_path_factory.mktemp("kept"), cases)
    put_all(sidecar_of(eval_set), {}, {"three": CaseNote(tags=TAGS)})
    return eval_set


@pytest.fixture
def project(kept: Path, tmp_path: Path) -> Path:
    """A project that is stricter than most: two of its goldens were edited, and it has a test and modules, which have our names."""
    agents(tmp_path)
    evals = tmp_path / "tests" / "eval"
    copied_set(kept, evals, *EDITED)
    (evals / "test_own.py").write_text(OWN)
    for name in ("app", "evalset", "simulator"):
        (tmp_path / f"{name}.py").write_text("OWN = 1\n")
    settings = ("addopts = --strict-markers --strict-config", "filterwarnings = error")
    options = "goldens_options = --agents-dir agents"
    (tmp_path / "pytest.ini").write_text("\n".join(("[pytest]", *settings, options, "")))
    return tmp_path


def ran(project: Path, *words: str, inside: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Run pytest in a project, with the plugin as an installation has it."""
    started = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *words]
    environment = quiet_environment(NO_MODEL="1")
    environment.pop("PYTHONPATH", None)
    return completed(*started, folder=project.joinpath(*inside), environment=environment)


@pytest.mark.process
def test_each_case_is_a_test_and_what_fails_shows_where(project: Path) -> None:
    """Passed, failed, skipped; what is no eval set is named with its place, as is its recording; the project's own test passes beside them."""
    evals = project / "tests" / "eval"
    scenarios = {"eval_set_id": "s", "eval_cases": [{"eval_id": "open", "conversation_scenario": SCENARIO}]}
    (evals / "an-agent").mkdir()
    (evals / "an-agent" / "__init__.py").write_text(
        "from . import agent\n"
    )  # which no other process can import
    (evals / "an-agent" / "scenarios.evalset.json").write_text(json.dumps(scenarios))
    (evals / "broken.evalset.json").write_text('{"eval_set_id": "b", "eval_cases": [\n{]}')
    (evals / "newer.evalset.json").write_text(json.dumps({"eval_set_id": "n", "eval_cases": []}))
    (evals / "newer.environment.json").write_text(
        '{"format": "golden-trace-studio/environment", "version": 99}'
    )
    done = ran(project, "--goldens", "-rA", "--continue-on-collection-errors", "tests/eval")
    assert "2 failed, 2 passed, 1 skipped, 2 errors" in done.stdout, done.stdout[-6000:] + done.stderr
    assert done.returncode == 1
    for line in (
        "PASSED tests/eval/test_own.py::test_own",
        "PASSED tests/eval/desk.evalset.json::three",
        "FAILED tests/eval/desk.evalset.json::one",
        "FAILED tests/eval/desk.evalset.json::two",
        "The golden was edited: ",
        "first divergence: turn 1, step 2",
        '  golden: check({"order":"Y"})',
        '  actual: check({"order":"A"})',
        "line 2 column 2",
        'goldens: with the recorded models. --goldens-options="--models auto" asks',
    ):
        assert line in done.stdout, done.stdout
    assert re.search("newer.environment.json: .*99", done.stdout), done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.long
@pytest.mark.process
@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.long)])
def test_what_happened_becomes_the_golden(project: Path, workers: Sequence[str]) -> None:
    """Of two cases of one file, which two workers may accept; the third stays as it is."""
    eval_set = project / "tests" / "eval" / "desk.evalset.json"
    done = ran(project, "--goldens", "--goldens-update", *workers, "-m", "golden", "tests/eval")
    assert "3 passed" in done.stdout, done.stdout[-4000:] + done.stderr
    updated = done.stdout.partition("updated goldens")[2]
    assert "::one" in updated
    assert "::two" in updated
    assert "::three" not in updated
    assert verify(eval_set, agents_dir=project / "agents", models="recorded").status == "passed"


@pytest.mark.long
@pytest.mark.process
def test_tags_choose_a_case(project: Path) -> None:
    """Also one that pytest has another meaning for."""
    names = "on_call tag_skip wip 12 area_refund x tag_not tag_parametrise tag_timeout tag"
    chosen = ran(project, "--goldens", "-m", " and ".join(names.split()), "eval", inside=["tests"])
    assert "1 passed, 3 deselected" in chosen.stdout, chosen.stdout


@pytest.mark.long
@pytest.mark.process
def test_without_the_option_nothing_is_imported(project: Path) -> None:
    """Neither ADK nor anything of ours; the eval sets are no tests, and a mistake in the options is told with the option alone."""
    (project / "tests" / "eval" / "test_own.py").write_text(
        "import sys\n\ndef test_own():\n    assert not {'google.adk', 'google.genai', 'evalset', 'simulator'} & set(sys.modules)\n"
    )
    done = ran(project, "tests")
    assert "1 passed" in done.stdout, done.stdout[-4000:]
    wrong = ran(project, "--goldens", "--goldens-options=--nothing", "tests")
    assert wrong.returncode == 4
    assert re.search("--goldens-options: .*'--nothing'", wrong.stderr)


# ---------------------------------------------------------------- datasets

ASKED = {"eval_case_id": "asked", "prompt": {"role": "user", "parts": [{"text": "check A"}]}, "note": 1}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of two goldens, one of three turns with a tag."""
    folder = tmp_path_factory.mktemp("exported")
    eval_set = recorded_set(folder, {"one": ["check A"], "three": ["check B", "note C", "check D"]})
    put_all(sidecar_of(eval_set), {}, {"three": CaseNote(tags=("long",))})
    cases = list(read_cases(eval_set.read_text()).values())
    known = read_environment(sidecar_of(eval_set))
    for file in export_cases(cases, "dataset", environments=known, name="desk").files:
        (folder / file.path).write_text(file.text)
    return folder / "desk-dataset.json"


@pytest.fixture
def cli_project(exported: Path, tmp_path: Path) -> Path:
    """A project of agents-cli with that dataset, whose golden of three turns was edited in the turn in the middle."""
    write_desk(tmp_path)
    (tmp_path / "agents-cli-manifest.yaml").write_text("agent_directory: desk\n")
    datasets = tmp_path / "tests" / "eval" / "datasets"
    datasets.mkdir(parents=True)
    shutil.copy(sidecar_of(exported), datasets)
    document = json.loads(exported.read_text())
    (middle,) = [case for case in document["eval_cases"] if case["eval_case_id"] == "three_turn1"]
    (call,) = middle["golden_trace"]["invocation"]["intermediate_data"]["tool_uses"]
    call["args"] = {"order": "Y"}
    middle["owner"] = "desk"
    (datasets / exported.name).write_text(json.dumps(document, indent=4))
    return tmp_path


@pytest.mark.long
@pytest.mark.process
def test_goldens_of_a_dataset_are_tests(cli_project: Path) -> None:
    """Each golden with all its turns, and each trace, where agents-cli has its agent; what only asks is skipped, what is no dataset left alone."""
    datasets = cli_project / "tests" / "eval" / "datasets"
    (datasets / "foreign-dataset.json").write_text(json.dumps({"eval_cases": [ASKED]}))
    *_, last = json.loads((datasets / "desk-dataset.json").read_text())["eval_cases"]
    agents_and_turns = {**last["agent_data"], "turns": last["agent_data"]["turns"][:-1]}
    trace = {"eval_case_id": "trace", "agent_data": agents_and_turns}
    (datasets / "trace-dataset.json").write_text(json.dumps({"eval_cases": [trace]}))
    (datasets / "other-dataset.json").write_text("[1, 2")
    (datasets / "broken-dataset.json").write_text('{"eval_cases": [')
    (datasets / "wrong-dataset.json").write_text(json.dumps({"eval_cases": [{**ASKED, "prompt": "hi"}]}))
    words = ["--goldens", "-rA", "--continue-on-collection-errors", "-p", "no:warnings", "tests/eval"]
    done = ran(cli_project, *words)
    assert "1 failed, 2 passed, 1 skipped, 2 errors" in done.stdout, done.stdout[-6000:] + done.stderr
    for line in (
        "PASSED tests/eval/datasets/desk-dataset.json::one",
        "PASSED tests/eval/datasets/trace-dataset.json::trace",
        "FAILED tests/eval/datasets/desk-dataset.json::three",
        "first divergence: turn 2, step 2",
        '  golden: note({"order":"Y"})',
        "agents-cli eval generate",
        "wrong-dataset.json: eval_cases[0].prompt ",
    ):
        assert line in done.stdout, done.stdout


@pytest.mark.long
@pytest.mark.process
def test_a_golden_of_a_dataset_is_updated_in_all_its_cases(cli_project: Path, ends: Ends) -> None:
    """The three cases change together, the file stays a dataset with what others have put there, and `verify` passes."""
    dataset = cli_project / "tests" / "eval" / "datasets" / "desk-dataset.json"
    before = dataset.read_text()
    done = ran(cli_project, "--goldens", "--goldens-update", "-m", "long", "tests/eval")
    assert "1 passed, 1 deselected" in done.stdout, done.stdout[-4000:] + done.stderr
    now = dataset.read_text()
    assert (
        now.partition('"eval_case_id": "three_turn0"')[0]
        == before.partition('"eval_case_id": "three_turn0"')[0]
    )
    cases = {case["eval_case_id"]: case for case in json.loads(now)["eval_cases"]}
    assert list(cases) == [case["eval_case_id"] for case in json.loads(before)["eval_cases"]]
    assert cases["three_turn1"]["owner"] == "desk"
    assert '"Y"' not in now
    told = cases["three_turn2"]["agent_data"]["turns"][1]["events"]
    assert told[1]["content"]["parts"][0]["function_call"]["args"] == {"order": "C"}
    assert ends(0, "verify", dataset, "--models", "recorded", "--quiet", program=main).out.startswith(
        "PASS one\nPASS three\n"
    )
