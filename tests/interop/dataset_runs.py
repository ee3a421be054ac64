"""What `agents-cli` made of our datasets: the turns of its traces, and what `eval grade` says by our metrics."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from google.adk.evaluation.eval_case import Invocation, get_all_tool_calls, get_all_tool_responses

from simulator.runtime.adk.codec import jsonable
from tests.harness.processes import REPOSITORY, quiet_environment

AGENTS_CLI = REPOSITORY / ".venv-interop" / "agents-cli" / "bin" / "agents-cli"
NO_SERVICE = {
    "type": "authorized_user",
    "client_id": "none",
    "client_secret": "none",
    "refresh_token": "none",
}
"""Credentials that open nothing: `eval grade` wants some before it calls metrics that run here."""

Turn = tuple[list[tuple[str | None, Any]], list[tuple[str | None, Any]], list[str | None]]


def turn_of(turn: Invocation) -> Turn:
    """Return the calls, the responses and the texts of a turn."""
    data = turn.intermediate_data
    return (
        [(call.name, jsonable(call.args or {})) for call in get_all_tool_calls(data)],
        [(each.name, jsonable(each.response)) for each in get_all_tool_responses(data)],
        [part.text for part in (turn.final_response.parts if turn.final_response else None) or ()],
    )


def agents_cli(*command: str | Path, cwd: Path, fails: bool = False, **more: str) -> str:
    """Run agents-cli and return what it prints and tells on standard error; it has to succeed, or to fail. `more` are variables."""
    given = quiet_environment(**more)
    environment = {name: value for name, value in given.items() if name != "VIRTUAL_ENV"}
    words = [str(each) for each in (AGENTS_CLI, *command)]
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode != 0) is fails, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout + done.stderr


def grade(traces: Path, config: Path, project: Path) -> Mapping[str, Sequence[float | None]]:
    """Let `eval grade` call our metrics; return the score of each case by the metric. None where a metric does not judge."""
    key, results = traces.with_name("credentials.json"), traces.with_name(f"{traces.stem}-results")
    key.write_text(json.dumps(NO_SERVICE))
    agents_cli(
        "eval", "grade", "--traces", traces, "--config", config, "--output", results,
        cwd=project, GOOGLE_APPLICATION_CREDENTIALS=str(key), GOOGLE_CLOUD_PROJECT="none",
    )  # fmt: skip
    (told,) = results.glob("*.json")
    scores: dict[str, list[float | None]] = {}
    for case in json.loads(told.read_text())["eval_case_results"]:
        for name, result in case["response_candidate_results"][0]["metric_results"].items():
            assert result["error_message"] is None, result
            scores.setdefault(name, []).append(result["score"])
    return scores
