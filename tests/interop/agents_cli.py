"""A project that the real `agents-cli create` makes is opened with its own environment, played, exported and verified.

Runs in the studio's own environment; `agents-cli` has one of its own, made by `make test-interop`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from evalset import EvalSetWriter, GoldenTraceBuilder, import_cases
from evalset.recorded.recorder import record, replay_lines
from simulator.kernel.kernel_agent import KernelAgentConfig
from simulator.seats.answers import called, said
from simulator.seats.requests import ToolRequest
from tests.harness.adk_process import adk_web
from tests.harness.browser import Studio, chromium, studio_server, visitor
from tests.harness.processes import REPOSITORY, quiet_environment
from tests.interop.dataset_runs import AGENTS_CLI, agents_cli, grade, turn_of
from tests.simulator.kernel.projects import PATIENCE, begun, config_of
from tests.stories.reading import answer_of, calls_of, case_of

HERE = Path(sys.executable).parent
QUERY = "What is the weather in San Francisco?"
FOGGY = "It's 60 degrees and foggy."
SNOW, SUN = "It's 11 degrees below zero and snowing.", "It's 31 degrees and sunny."

pytestmark = pytest.mark.skipif(not AGENTS_CLI.exists(), reason="agents-cli could not be installed")


def run(*command: str | Path, cwd: Path) -> str:
    """Run a program and return what it prints and tells on standard error; it has to succeed."""
    environment = {name: value for name, value in quiet_environment().items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(
        [str(each) for each in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout + done.stderr


def created(folder: Path, name: str) -> Path:
    """Make a project as Google's documentation says, with an environment of its own."""
    agents_cli(
        "create",
        name,
        "--yes",
        "--prototype",
        "--skip-checks",
        "--deployment-target",
        "none",
        cwd=folder,
    )
    run(HERE / "uv", "sync", "--quiet", cwd=folder / name)
    return folder / name


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One such project."""
    return created(tmp_path_factory.mktemp("projects"), "my-agent")


@pytest.fixture
def studio(project: Path, tmp_path: Path) -> Iterator[Studio]:
    """A browser on a studio with the project's folder."""
    kept = {"GOLDEN_TRACE_STORE": str(tmp_path / "kept.db")}
    with studio_server(project, environment=kept) as server, chromium() as browser:
        yield Studio(visitor(browser), server.url)


def test_it_is_played_exported_and_verified(studio: Studio, project: Path) -> None:
    """No key: a person plays the agent. The draft of the tool is what its code returns; the case passes its verification there."""
    studio.open().pick_agent("app").start(QUERY)
    studio.wait_for_pause("next turn")
    studio.choose("kind_", "Call tools")
    studio.click("chip_get_weather")
    studio.rest()
    studio.decision.get_by_label("query", exact=True).fill("San Francisco")
    studio.accept_draft()
    studio.wait_for_pause("get_weather")
    assert studio.draft() == FOGGY
    studio.accept_draft()
    studio.wait_for_pause("next turn")
    studio.like("say_").get_by_role("textbox").fill("It is foggy.")
    studio.accept_draft()
    studio.wait_for_status("Completed")
    path = studio.export_to(eval_id="foggy")
    assert path.is_relative_to(project / "app")
    case = case_of(path, "foggy")
    assert calls_of(case) == [("get_weather", {"query": "San Francisco"}, {"result": FOGGY})]
    assert answer_of(case) == "It is foggy."
    studio.open()
    studio.unfold("agent_processes")
    expect(studio.keyed("agent_processes")).to_contain_text(str(project / ".venv" / "bin" / "python"))
    assert "1 passed" in run(HERE / "golden-trace", "verify", path, cwd=project.parent)


def test_two_such_projects_are_played_at_once(project: Path, tmp_path: Path) -> None:
    """Both hold a package `app` with modules of the same names; each has its own environment."""
    other = created(tmp_path, "other-agent")
    code = other / "app" / "agent.py"
    code.write_text(code.read_text().replace("90 degrees and sunny", "10 degrees and snowing"))
    drafts = []
    for home in (project, other):
        config = config_of(home, "app", str(home / ".venv" / "bin" / "python"))
        assert isinstance(config, KernelAgentConfig)
        simulation = begun(config)
        simulation.query("How is the weather in Oslo?", wait=PATIENCE)
        simulation.answer(simulation.pending[0], called(("get_weather", {"query": "Oslo"})), wait=PATIENCE)
        (request,) = simulation.pending
        assert isinstance(request, ToolRequest)
        drafts.append(request.draft)
        simulation.answer(request, request.draft, wait=PATIENCE)
        simulation.answer(simulation.pending[0], said("See above."), wait=PATIENCE)
        assert simulation.session.turns[-1].ended
        config.kernels.end()
    assert drafts == ["It's 90 degrees and sunny.", "It's 10 degrees and snowing."]


def test_its_dataset_is_run_by_eval_generate_and_graded(project: Path) -> None:
    """In the project's own environment, without a key: what a person made up comes back, which no real tool returns.

    The server is ADK's: the one that the project's template brings does not start without Google credentials.
    """
    eval_set = project / "tests" / "eval" / "weather.evalset.json"
    _record_weather(project, eval_set)
    run(
        HERE / "golden-trace",
        "export",
        eval_set,
        "--form",
        "dataset",
        "--agent",
        project / "app",
        "--metrics",
        cwd=project,
    )
    datasets = project / "tests" / "eval" / "datasets"
    run(HERE / "uv", "pip", "install", "--quiet", "--python", project / ".venv", REPOSITORY, cwd=project)
    code = project / "app" / "agent.py"
    before = code.read_text()
    environment = datasets / "weather-dataset.environment.json"
    code.write_text(f"{before}\n\n{replay_lines('app', environment, models='recorded', has_app=True)}\n")
    traces = project / "traces.json"
    with adk_web(project, adk=project / ".venv" / "bin" / "adk") as web:
        agents_cli(
            "eval", "generate", "--dataset", datasets / "weather-dataset.json", "--output", traces,
            "--url", web.url, "--app-name", "app", cwd=project,
        )  # fmt: skip
    code.write_text(before)
    assert [turn_of((case.conversation or [])[-1]) for case in import_cases(traces).cases] == [
        ([("get_weather", {"query": "Oslo"})], [("get_weather", {"result": SNOW})], ["It snows."]),
        ([("get_weather", {"query": "Rome"})], [("get_weather", {"result": SUN})], ["The sun shines."]),
    ]
    assert grade(traces, datasets / "eval_config.yaml", project) == {
        "golden_trajectory": [1.0, 1.0],
        "golden_tool_responses": [1.0, 1.0],
        "golden_final_state": [None, None],
    }


def _record_weather(project: Path, eval_set: Path) -> None:
    config = config_of(project, "app", str(project / ".venv" / "bin" / "python"))
    simulation = begun(config)
    for city, weather, words in (("Oslo", SNOW, "It snows."), ("Rome", SUN, "The sun shines.")):
        simulation.query(f"How is the weather in {city}?", wait=PATIENCE)
        simulation.answer(simulation.pending[0], called(("get_weather", {"query": city})), wait=PATIENCE)
        simulation.answer(simulation.pending[0], weather, wait=PATIENCE)
        simulation.answer(simulation.pending[0], said(words), wait=PATIENCE)
    EvalSetWriter(eval_set, "app").write_eval_case(
        GoldenTraceBuilder(simulation.session, eval_id="weather").build()
    )
    record(
        eval_set,
        "weather",
        simulation.session,
        [fact for _, fact in simulation.journal.path()],
        config.root_agent,
    )
    config.kernels.end()
