"""Our datasets are run by the real `agents-cli eval generate`, against agents whose tools and models must not run: it does what the goldens say.

Goldens with an initial state are among them: google-adk 2.13's server answers 400 to sessions that begin with events that change the state, so the
dataset has no such event, and the replay restores the state.

Runs in the studio's own environment; `agents-cli` has one of its own, made by `make test-interop`. No credentials are needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.eval_case import EvalCase

from evalset import EvalSetWriter, GoldenTraceBuilder, export_cases, import_cases, read_cases
from evalset.exporting.dataset_file import agent_cards
from evalset.golden_trace.golden_steps import without_confirmations
from evalset.recorded.recorder import record
from evalset.recorded.recording_files import read_environment, sidecar_of
from simulator import demo_agent
from tests.evalset.replay.desk_agent import config, keep, played, write_desk
from tests.evalset.replay.test_demos import QUERIES, played_demo, write_trapped
from tests.evalset.replay.test_hermetic import ANSWERS, EVERYTHING
from tests.harness.adk_process import adk_web
from tests.interop.dataset_runs import AGENTS_CLI, Turn, agents_cli, grade, turn_of

pytestmark = pytest.mark.skipif(not AGENTS_CLI.exists(), reason="agents-cli could not be installed")


class Served:
    """A folder of agents that replay goldens, as a project of agents-cli, and the goldens by the agents' names."""

    def __init__(self, folder: Path, goldens: Path) -> None:
        self.folder, self.goldens = folder, goldens
        self.cases: dict[str, list[EvalCase]] = {}
        self.url = ""
        folder.mkdir()
        (folder / "pyproject.toml").write_text(
            '[project]\nname = "p"\n[tool.agents-cli]\nagent_directory = "desk"\n'
        )
        self._add_desk()
        for name in QUERIES:
            self._add_demo(name)

    def _add_desk(self) -> None:
        write_desk(self.goldens / "played")
        of, eval_set = config(self.goldens / "played"), self.goldens / "desk.evalset.json"
        keep(
            played(of, [EVERYTHING, "check A, wipe A; note A", "check B"], {**ANSWERS, "check": {"n": 1}}),
            eval_set,
            "all",
        )
        sidecar = keep(
            played(of, ["wipe A", "check A"], {"confirmed": False, "check": {"n": 2}}), eval_set, "no"
        )
        simulation = played(of, ["note C", "check D"], ANSWERS, state={"tier": "gold"})
        sidecar = keep(simulation, eval_set, "gold")
        write_desk(self.folder, f'{str(sidecar)!r}, models="recorded"')
        self._write("desk", of.root_agent, eval_set)

    def _add_demo(self, name: str) -> None:
        of, eval_set = demo_agent(name), self.goldens / f"{name}.evalset.json"
        session, facts = played_demo(of)

        EvalSetWriter(eval_set, name).write_eval_case(GoldenTraceBuilder(session, eval_id=name).build())
        sidecar = record(eval_set, name, session, facts, of.root_agent)
        write_trapped(self.folder, of, f'{str(sidecar)!r}, models="recorded"')
        self._write(name, of.root_agent, eval_set)

    def _write(self, name: str, root: Any, eval_set: Path) -> None:
        cases = self.cases[name] = list(read_cases(eval_set.read_text()).values())
        known = read_environment(sidecar_of(eval_set))
        exported = export_cases(
            cases, "dataset", environments=known, name=name, root_agent=root, metrics=True
        )
        assert agent_cards(root).agents
        for file in exported.files:
            (self.goldens / file.path).write_text(file.text)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """All agents on one server of ADK's."""
    folder = tmp_path_factory.mktemp("datasets")
    made = Served(folder / "agents", folder)
    with adk_web(made.folder, environment={"NO_MODEL": "1"}) as web:
        made.url = web.url
        yield made


def wanted(cases: Sequence[EvalCase]) -> dict[str, Turn]:
    """Return what each turn of some goldens says, by the id of its case in the dataset."""
    return {
        f"{case.eval_id}_turn{number}" if len(case.conversation or ()) > 1 else case.eval_id: turn_of(turn)
        for case in cases
        for number, turn in enumerate(without_confirmations(case).conversation or ())
    }


@pytest.fixture(scope="module")
def traces(served: Served) -> Mapping[str, Path]:
    """What `eval generate` made of each dataset, by the agent's name: each turn with the turns before it, in parallel."""

    def generate(name: str) -> Path:
        written = served.goldens / f"{name}-traces.json"
        dataset = served.goldens / f"{name}-dataset.json"
        output = agents_cli(
            "eval", "generate", "--dataset", dataset, "--output", written,
            "--url", served.url, "--app-name", name, "--concurrency", "4", cwd=served.folder,
        )  # fmt: skip
        assert output.count("done") >= len(wanted(served.cases[name])), output
        return written

    with ThreadPoolExecutor() as at_once:
        return dict(zip(served.cases, at_once.map(generate, served.cases), strict=True))


@pytest.mark.parametrize("name", ["desk", *QUERIES])
def test_eval_generate_does_what_the_goldens_say(
    name: str, served: Served, traces: Mapping[str, Path]
) -> None:
    """Every case is done, with the calls, the responses and the text of the golden."""
    found = import_cases(traces[name])
    told: Sequence[EvalCase] = found.cases
    assert {case.eval_id: turn_of((case.conversation or [])[-1]) for case in told} == wanted(
        served.cases[name]
    )
    assert found.environments.keys() == wanted(served.cases[name]).keys()


def test_eval_grade_gives_every_trace_full_marks(served: Served, traces: Mapping[str, Path]) -> None:
    """By our metrics; how the session ends is judged where a golden says it."""
    cases = [case for path in traces.values() for case in json.loads(path.read_text())["eval_cases"]]
    together = served.goldens / "all-traces.json"
    together.write_text(json.dumps({"eval_cases": cases}))
    scores = grade(together, served.goldens / "eval_config.yaml", served.folder)
    assert set(scores["golden_trajectory"]) == {1.0}
    for name in ("golden_tool_responses", "golden_final_state"):
        assert 1.0 in scores[name]
        assert set(scores[name]) <= {1.0, None}


def test_eval_grade_asks_for_credentials_first(served: Served) -> None:
    """Our metrics need none; `eval grade` looks for some before it calls a metric, and fails where there are none."""
    traces = served.goldens / "none-traces.json"
    traces.write_text((served.goldens / "desk-dataset.json").read_text())
    config = served.goldens / "eval_config.yaml"
    told = agents_cli(
        "eval", "grade", "--traces", traces, "--config", config, "--output", served.goldens / "none",
        cwd=served.folder, fails=True,
    )  # fmt: skip
    assert "Loaded 3 local custom metric(s)" in told
    assert "Evaluation failed" in told
