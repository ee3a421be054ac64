"""Runs the real `adk` program on an agent's folder: what it says of an eval set is the last word."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.harness.forked import CAN_FORK, start_forked
from tests.harness.processes import (
    ProcessError,
    Served,
    Start,
    end,
    quiet_environment,
    serve,
    start_program,
)

ADK = Path(sys.executable).with_name("adk")
EXACT_TRAJECTORY: Mapping[str, float] = {"tool_trajectory_avg_score": 1.0}

_START: Start = start_forked if CAN_FORK else start_program

# `google.adk.evaluation.evaluator.EvalStatus.PASSED`; importing it costs five seconds.
_PASSED = 1


@dataclass(frozen=True)
class CaseOutcome:
    """What `adk eval` found for one case: its verdict, and each metric's score."""

    eval_id: str
    passed: bool
    scores: Mapping[str, float | None]


@dataclass(frozen=True)
class EvalOutcome:
    """What one `adk eval` process found; no cases when it could not read the agent or the set."""

    exit_code: int
    cases: tuple[CaseOutcome, ...]
    output: str

    @property
    def passed(self) -> int:
        """How many cases passed."""
        return sum(case.passed for case in self.cases)

    @property
    def failed(self) -> int:
        """How many cases did not pass."""
        return len(self.cases) - self.passed

    @property
    def scores(self) -> Mapping[str, Mapping[str, float | None]]:
        """Each case's score by metric, by case id."""
        return {case.eval_id: case.scores for case in self.cases}


def run_adk_eval(
    agent_dir: Path,
    eval_set: Path,
    *,
    criteria: Mapping[str, Any] = EXACT_TRAJECTORY,
    config: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float = 180,
    start: Start = _START,
) -> EvalOutcome:
    """Evaluate an agent's folder against an eval-set file in a process of its own; `config` is more of ADK's `EvalConfig`.

    The process works on a copy, since `adk eval` writes its history into the agent's folder.

    Raises:
        ProcessError: it has not ended after `seconds`.
    """
    with tempfile.TemporaryDirectory(prefix="adk-eval-") as folder:
        copy = _copy_agent(agent_dir, Path(folder, "agents"))
        written = Path(folder, "criteria.json")
        written.write_text(json.dumps({"criteria": dict(criteria), **(config or {})}))
        options: list[str | Path] = ["--config_file_path", written, "--print_detailed_results"]
        command: list[str | Path] = [ADK, "eval", copy, eval_set.resolve(), *options]
        log = Path(folder, "output.txt")
        variables = quiet_environment(**(environment or {}))
        process = start(command, folder=Path(folder), environment=variables, log=log)
        try:
            exit_code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            message = f"`adk eval` has not ended after {seconds:g} s\n{log.read_text()[-4000:]}"
            raise ProcessError(message) from None
        finally:
            end(process)
        return EvalOutcome(exit_code, _cases(copy), log.read_text())


class AdkWeb:
    """What `adk web` answers about the eval sets that lie in its agents' folders."""

    def __init__(self, served: Served) -> None:
        self.url = served.url
        self._served = served

    def eval_sets(self, agent: str) -> list[str]:
        """The ids of the agent's eval sets: their file names without the ending."""
        found = self._get(f"/dev/apps/{agent}/eval-sets")["evalSetIds"]
        return [str(eval_set) for eval_set in found]

    def eval_cases(self, agent: str, eval_set: str) -> list[str]:
        """The ids of the set's cases, sorted."""
        return [str(case) for case in self._get(f"/dev/apps/{agent}/eval_sets/{eval_set}/evals")]

    def eval_case(self, agent: str, eval_set: str, case: str) -> dict[str, Any]:
        """One case as `adk web` shows it: camel case, no nulls."""
        answer = self._get(f"/dev/apps/{agent}/eval-sets/{eval_set}/eval-cases/{case}")
        assert isinstance(answer, dict)
        return answer

    def run(self, agent: str, eval_set: str, cases: list[str]) -> list[CaseOutcome]:
        """Evaluate cases in the server, as its page does, with an exact trajectory."""
        metrics = [{"metricName": name, "threshold": least} for name, least in EXACT_TRAJECTORY.items()]
        answer = httpx.post(
            f"{self.url}/dev/apps/{agent}/eval-sets/{eval_set}/run",
            json={"evalCaseIds": cases, "evalMetrics": metrics},
            timeout=120,
            trust_env=False,
        )
        assert answer.is_success, f"{answer.text}\n{self._served.output[-4000:]}"
        return [_case(result) for result in answer.json()["runEvalResults"]]

    def chat(self, agent: str, *messages: str) -> list[dict[str, Any]]:
        """Say messages to an agent in a new session, as its page does; return all events, in camel case."""
        session = self._post(f"/apps/{agent}/users/user/sessions", {})
        events: list[dict[str, Any]] = []
        for message in messages:
            said = {"role": "user", "parts": [{"text": message}]}
            names = {"appName": agent, "userId": "user", "sessionId": session["id"], "newMessage": said}
            events += self._post("/run", names)
        return events

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        answer = httpx.post(self.url + path, json=dict(body), timeout=60, trust_env=False)
        assert answer.is_success, f"{answer.text}\n{self._served.output[-4000:]}"
        return answer.json()

    def _get(self, path: str) -> Any:
        answer = httpx.get(self.url + path, timeout=30, trust_env=False)
        assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"
        return answer.json()


@contextmanager
def adk_web(
    agents_dir: Path, *, environment: Mapping[str, str] | None = None, adk: Path = ADK
) -> Iterator[AdkWeb]:
    """Run `adk web` on the folder of agents itself, while the block runs; sessions stay in its memory. `adk` is the program."""
    options = ["--port", "0", "--no-reload", "--no_use_local_storage"]
    command: list[str | Path] = [adk, "web", *options, agents_dir.resolve()]
    served_at, variables = "http://127.0.0.1:{port}", quiet_environment(**(environment or {}))
    with serve(
        command, url=served_at, ready="/list-apps", folder=agents_dir, environment=variables, start=_START
    ) as served:
        yield AdkWeb(served)


def _copy_agent(agent_dir: Path, agents: Path) -> Path:
    """The folder's copy under the same name, without what earlier runs left in it."""
    leave = shutil.ignore_patterns("__pycache__", ".adk")
    return Path(shutil.copytree(agent_dir.resolve(), agents / agent_dir.resolve().name, ignore=leave))


def _cases(agent_dir: Path) -> tuple[CaseOutcome, ...]:
    """The outcome of each case in the history that `adk eval` left, in its order."""
    results = sorted((agent_dir / ".adk" / "eval_history").glob("*.evalset_result.json"))
    return tuple(_case(case) for path in results for case in _results(path))


def _results(path: Path) -> list[dict[str, Any]]:
    """The case results of one history file."""
    found = json.loads(path.read_text())["eval_case_results"]
    assert isinstance(found, list)
    return found


def _case(result: Mapping[str, Any]) -> CaseOutcome:
    """A case result as ADK writes it: snake case in files, camel case from the server."""
    given = {_snake(name): value for name, value in result.items()}
    metrics = [{_snake(name): value for name, value in metric.items()} for metric in _metrics(given)]
    scores = {str(metric["metric_name"]): metric.get("score") for metric in metrics}
    return CaseOutcome(str(given["eval_id"]), given["final_eval_status"] == _PASSED, scores)


def _metrics(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = result["overall_eval_metric_results"]
    assert isinstance(found, list)
    return found


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
