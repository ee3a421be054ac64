"""`golden-trace init ci`: what it writes works as it stands, and what is there stays."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from evalset.cli.init_command import NAMED_HUNKS
from tests.evalset.doctor.examples import a_case, a_set, in_bytes
from tests.evalset.ending import Ends
from tests.evalset.verify.desks import agents, copied_set, recorded_set
from tests.harness.processes import REPOSITORY, completed, quiet_environment
from tests.harness.tiny_agent import write_agent

WORKFLOW, HOOKS, ATTRIBUTES, IGNORE = (
    Path(".github/workflows/goldens.yml"),
    Path(".pre-commit-config.yaml"),
    Path(".gitattributes"),
    Path(".gitignore"),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An eval set of one case."""
    return recorded_set(tmp_path_factory.mktemp("made"), {"one": ["check A"]})


@pytest.fixture
def project(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an agent and its goldens, where one stands in it."""
    root = tmp_path / "a project"
    agents(root)
    copied_set(made, root / "tests" / "eval")
    (root / "requirements.txt").write_text("google-adk\n")
    monkeypatch.chdir(root)
    return root


def shell(line: str, code: int | None = 0, **environment: str) -> str:
    """Run a line as CI and git do, with the programs of this environment and the plugin as an installation has it; return its output."""
    there = quiet_environment(
        NO_MODEL="1",
        PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        PYTHONPATH=str(REPOSITORY),
        PYTEST_PLUGINS="golden_trace",
        **environment,
    )
    done = completed("bash", "-c", line, environment=there)
    assert (done.returncode == 0) is (code == 0), done.stdout + done.stderr
    return done.stdout


def written() -> tuple[list[str], dict[str, str]]:
    """Return the commands of the workflow, and those of the hooks by their ids."""
    workflow: Any = yaml.safe_load(WORKFLOW.read_text())
    hooks: Any = yaml.safe_load(HOOKS.read_text())["repos"][0]["hooks"]
    steps = [step["run"] for step in workflow["jobs"]["goldens"]["steps"] if "run" in step]
    return steps, {hook["id"]: hook["entry"] for hook in hooks}


@pytest.mark.parametrize(
    ("agent", "goldens", "option"),
    [
        ("agents/desk", "agents/desk/evals", "--agents-dir agents"),
        ("desk", "desk", "--agents-dir ."),
        ("", "tests", "--agents-dir ."),
        ("desk_app", "tests/eval", "--agents-dir desk_app"),
        ("agents/desk", "tests", ""),
    ],
)
def test_the_doctor_is_given_the_agents_in_whose_folders_the_goldens_lie(
    here: Path, agent: str, goldens: str, option: str, ends: Ends
) -> None:
    """Without `--agents-dir`, too, so that calls are checked against the tools; the option works as it stands."""
    root = here
    (root / goldens).mkdir(parents=True, exist_ok=True)
    code = 'from google.adk.agents import LlmAgent\n\nroot_agent = LlmAgent(name="desk", model="none")\n'
    write_agent(root / agent, code)
    (root / goldens / "orders.evalset.json").write_bytes(in_bytes(a_set(a_case(session_input=None))))
    if agent == "desk_app":
        (root / "agents-cli-manifest.yaml").write_text("agent_directory: desk_app\n")
    ends(0, "init", "ci")
    (doctor,) = (step for step in written()[0] if "doctor" in step)
    program, *words = shlex.split(doctor)
    assert (program, words) == ("golden-trace", ["doctor", *option.split(), "--strict", goldens])
    # The agent has no tool, so that the call of the case is an error where the agent is known.
    ends(int(bool(option)), *words)


def test_a_set_that_is_in_no_agents_folder_is_not_held_against_another_agent(here: Path, ends: Ends) -> None:
    """The doctor has no agent then; and sets that have no folder in common are named by the current one."""
    write_agent(
        here / "desk",
        'from google.adk.agents import LlmAgent\n\nroot_agent = LlmAgent(name="desk", model="none")\n',
    )
    for folder in (here / "desk", here / "data"):
        folder.mkdir(exist_ok=True)
        (folder / "orders.evalset.json").write_bytes(in_bytes(a_set(a_case(session_input=None))))
    ends(0, "init", "ci")
    (doctor,) = (step for step in written()[0] if "doctor" in step)
    assert shlex.split(doctor) == ["golden-trace", "doctor", "--strict", "."]


@pytest.mark.long
@pytest.mark.process
def test_the_commands_of_the_workflow_and_the_hooks_work_as_they_stand(project: Path, ends: Ends) -> None:
    """Each is run in the project: what pip is asked for is there, no golden is wrong, each passes; a broken one stops both."""
    ends(0, "init", "ci", "--agents-dir", "agents", "--package", "golden-trace-studio")
    (install, *checks), lines = written()
    told = shell(install, PIP_DRY_RUN="1", PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1")
    assert "Would install" not in told
    lines["goldens-doctor"] += " tests/eval/desk.evalset.json tests/eval/desk.environment.json"
    for line in (*checks, lines["goldens-doctor"]):
        shell(line)
    eval_set = project / "tests" / "eval" / "desk.evalset.json"
    eval_set.write_text(eval_set.read_text().replace('"order": "A"', '"order": "Z"'))
    assert "The golden was edited" in shell(checks[1], 1)
    eval_set.write_text("{")
    shell(lines["goldens-doctor"], 1)


def test_the_diff_of_a_golden_is_of_what_changed_and_names_its_case(project: Path, ends: Ends) -> None:
    """Written with the line ends of another system it is no other file; git's own words for a change have the id of the case."""
    ends(0, "init", "ci")
    eval_set, dataset = project / "tests" / "eval" / "desk.evalset.json", project / "desk-dataset.json"
    case = {"eval_case_id": "two", "agent_data": {"turns": [{"turn_index": each} for each in range(9)]}}
    dataset.write_text(json.dumps({"eval_cases": [case]}, indent=2))
    shell(f"git init -q && {NAMED_HUNKS} && git add . && git -c user.name=n -c user.email=e commit -qm m")
    for path, old, new, named in (
        (eval_set, '"order": "A"', '"order": "Z"', '"eval_id": "one"'),
        (dataset, ": 8", ": 9", '"eval_case_id": "two"'),
    ):
        path.write_bytes(path.read_text().replace(old, new, 1).replace("\n", "\r\n").encode())
        lines = shell(f"git diff -- {path.relative_to(project)}").splitlines()
        assert len([line for line in lines if line.startswith(("+ ", "- "))]) == 2, lines
        assert any(line.startswith("@@") and named in line for line in lines), lines
    told = shell("git check-attr linguist-generated -- tests/eval/desk.environment.json")
    assert re.search("generated: (true|set)", told)


def test_git_ignores_what_is_of_one_machine_alone(project: Path, ends: Ends) -> None:
    """Kept runs, results of `adk eval` and the copies of a fix, written by the commands themselves; a recording and reviews are committed. A line that the project turned round stays."""
    folder = project / "tests" / "eval"
    committed = ("desk.evalset.json", "desk.environment.json", "desk.review.json", "data.bak")
    for name in ("desk.review.json", "data.bak"):
        (folder / name).write_text("{}")
    text = (folder / "desk.evalset.json").read_text()
    (folder / "desk.evalset.json").write_text(f"\ufeff{text}")
    ends(0, "doctor", folder / "desk.evalset.json", "--fix")
    ends(0, "verify", folder / "desk.evalset.json", "--agents-dir", "agents", "--save", "--quiet")
    results = folder / ".adk" / "eval_history"  # where `adk eval` writes
    results.mkdir(parents=True)
    (results / "desk_desk_1.0.evalset_result.json").write_text("{}")
    assert f"{IGNORE}: written" in ends(0, "init", "ci").out
    shell("git init -q && git add .")
    added = {Path(line) for line in shell("git ls-files tests").splitlines()}
    assert added == {folder.relative_to(project) / name for name in committed}
    IGNORE.write_text("*.log\n!.golden-trace\n")
    assert f"{IGNORE}: lines added" in ends(0, "init", "ci").out
    lines = IGNORE.read_text().splitlines()
    assert (lines[:2], ".golden-trace/" in lines) == (["*.log", "!.golden-trace"], False)


@pytest.mark.parametrize("models", ["recorded", "real", "auto"])
def test_the_tests_ask_the_models_that_were_chosen(project: Path, models: str, ends: Ends) -> None:
    """As the page and `verify` name the choice; without one the recorded models answer, and no key is needed."""
    ends(0, "init", "ci", "--agents-dir", "agents", *(("--models", models) if models != "recorded" else ()))
    steps, hooks = written()
    more = "" if models == "recorded" else f" --models {models}"
    for line in (steps[-1], hooks["goldens"]):
        assert f"--goldens-options='--agents-dir agents{more}'" in line
    assert ("no key is needed" in WORKFLOW.read_text()) is (models == "recorded")


def test_what_is_there_stays_and_the_rest_is_told(project: Path, ends: Ends) -> None:
    """Other files are left alone, with what to add."""
    HOOKS.write_text("repos: []\n")
    ATTRIBUTES.write_text("*.png binary\n*.review.json -diff")
    told = ends(1, "init", "ci", "--goldens", "tests/eval").out
    assert ".pre-commit-config.yaml: left alone" in told
    assert "      - id: goldens-doctor" in told
    assert "    *.review.json text eol=lf\n" in told
    assert HOOKS.read_text() == "repos: []\n"
    assert ATTRIBUTES.read_text().startswith("*.png binary\n*.review.json -diff\n*.evalset.json text")


def test_what_names_the_address_of_this_package_is_a_whole_command(project: Path, ends: Ends) -> None:
    """With the options that were given, and what to put in place of its blank."""
    assert project.is_dir()
    shown = ends(0, "init", "ci", "--goldens", "tests/eval").out.splitlines()
    assert "in place of ADDRESS" in shown[-2]
    assert shown[-1].split() == [
        "golden-trace",
        "init",
        "ci",
        "--goldens",
        "tests/eval",
        "--package",
        "ADDRESS",
        "--force",
    ]
    ends(0, *shown[-1].replace("ADDRESS", "git+https://example.com/studio").split()[1:])
    assert "git+https://example.com/studio" in WORKFLOW.read_text()


def test_a_second_run_changes_nothing(project: Path, ends: Ends) -> None:
    """Only our own workflow can be forced.

    The hook takes a dataset anywhere, and nothing else that is named like one. What pip is to install is told until it is named.
    """
    (project / "data").mkdir()
    (project / "data" / "a: b-dataset.json").write_text('{"images": []}')
    (project / "tests" / "eval" / "camel-dataset.json").write_text('{"evalCases": []}')
    assert "--package" in ends(0, "init", "ci").out
    before = {path: path.read_text() for path in (WORKFLOW, HOOKS, ATTRIBUTES, IGNORE)}
    hook: Any = yaml.safe_load(before[HOOKS])["repos"][0]["hooks"][0]
    for name, is_taken in {
        "desk-dataset.json": True,
        "e/new-dataset.json": True,
        "tests/eval/camel-dataset.json": True,
        "data/a: b-dataset.json": False,
    }.items():
        found = re.search(hook["files"], name) and not re.search(hook["exclude"], name)
        assert bool(found) == is_taken, name
    assert "# golden-trace-studio" in before[WORKFLOW]
    assert "--package" in before[WORKFLOW]
    assert ends(0, "init", "ci").out.count(": unchanged") == 4
    WORKFLOW.write_text("name: mine\n")
    HOOKS.write_text("repos: []\n")
    assert "--force" not in ends(1, "init", "ci").out
    assert WORKFLOW.read_text() == "name: mine\n"
    ends(1, "init", "ci", "--force")
    assert WORKFLOW.read_text() == before[WORKFLOW]
    told = ends(1, "init", "ci", "--force", "--package", "git+https://example.com/studio").out
    assert "--package" not in WORKFLOW.read_text() + told.rpartition(str(WORKFLOW))[2]
    assert HOOKS.read_text() == "repos: []\n"


BLANK = "golden-trace-studio @ ADDRESS"
_CHECKOUT = "git init -q . && git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m a && git rev-parse HEAD"


@pytest.mark.parametrize(
    ("noted", "remote", "installed"),
    [
        ({"url": "https://example.com/studio.whl", "archive_info": {}}, "", "https://example.com/studio.whl"),
        (
            {"url": "https://example.com/studio", "vcs_info": {"vcs": "git", "commit_id": "5a1c"}},
            "",
            "git+https://example.com/studio@5a1c",
        ),
        ({"url": "{project}/dist/studio.whl", "archive_info": {}}, "", "./dist/studio.whl"),
        ({"url": "{outside}/studio.whl", "archive_info": {}}, "", BLANK),
        ({"url": "{outside}", "dir_info": {"editable": True}}, "", BLANK),
        (
            {"url": "{outside}", "dir_info": {"editable": True}},
            "https://me:word@example.com/studio.git",
            "git+https://example.com/studio.git@{commit}",
        ),
        (
            {"url": "{outside}", "dir_info": {}},
            "git@example.com:desk/studio.git",
            "git+ssh://git@example.com/desk/studio.git@{commit}",
        ),
        ({"url": "{outside}", "dir_info": {}}, "../studio", BLANK),
        ({"url": "{outside}", "dir_info": {}}, "unpushed https://example.com/studio.git", BLANK),
    ],
)
def test_the_workflow_installs_this_package_from_where_it_was_installed(  # noqa: PLR0917 - fixtures
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ends: Ends,
    noted: dict[str, Any],
    remote: str,
    installed: str,
) -> None:
    """Where that is an address that CI reaches, and `--package` names no other. Otherwise a line that installs nothing is to be filled in."""
    outside = tmp_path / "the studio"
    outside.mkdir()
    commit = shell(f"cd '{outside}'\n{_CHECKOUT}").split()[-1] if remote else ""
    if remote:
        shell(f"git -C '{outside}' remote add mine {remote.rsplit(maxsplit=1)[-1]}")
    if remote and not remote.startswith("unpushed"):
        shell(f"git -C '{outside}' update-ref refs/remotes/mine/main HEAD")
    url = noted["url"].replace("{project}", project.as_uri()).replace("{outside}", outside.as_uri())
    this = SimpleNamespace(read_text=lambda _: json.dumps({**noted, "url": url}))
    monkeypatch.setattr("evalset.cli.init_command.distribution", lambda _: this)
    told = ends(0, "init", "ci").out
    assert shlex.split(written()[0][0])[4] == installed.format(commit=commit)
    is_blank = installed == BLANK
    assert ("--package" in told, "--package" in WORKFLOW.read_text()) == (is_blank, is_blank)


def test_a_project_without_goldens_is_told_so(tmp_path: Path, ends: Ends) -> None:
    """Nothing is written that would fail, nor where nothing is."""
    assert re.search(f"{tmp_path}.*--goldens", ends(2, "init", "ci", "--folder", tmp_path).err)
    ends(2, "init", "ci", "--folder", tmp_path, "--goldens", "none")
    ends(2, "init", "ci", "--folder", tmp_path / "none")
    assert list(tmp_path.iterdir()) == []
