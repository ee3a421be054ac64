"""What is kept of a run of an eval set: its circumstances, and each case's verdict with its first divergence. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from evalset.verify.results import Verdict, What
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.runtime.adk.private_network import NetworkUse

FORMAT = "golden-trace-studio/run"
VERSION = 1
"""The newest version. A file of a newer one is refused."""

Engine: TypeAlias = Literal["verify", "adk eval"]
KeptStatus: TypeAlias = Literal["passed", "failed", "error", "stopped"]
"""A case that was skipped is not kept."""

KeptVerdict: TypeAlias = Literal["passed", "flaky", "failed", "error", "stopped"]


class KeptDivergence(Value):
    """The first step at which a run went another way than its golden.

    Attributes:
        turn: The turn, from 1.
        step: The step among the golden's steps of that turn, from 1.
        what: What differs there.
        verdict: What has changed.
        sentence: What happened.
        golden: The step of the golden in a short line.
        actual: The step of the run.
    """

    turn: int
    step: int
    what: What
    verdict: Verdict
    sentence: str = ""
    golden: str = ""
    actual: str = ""


class KeptCase(Value):
    """What became of a case.

    Attributes:
        eval_id: The case.
        status: Its status.
        passed: How many of its runs passed.
        runs: How many runs it had.
        models: Who answered for the agents' models: `real` or `recorded`; empty where nobody knows.
        seconds: How long its runs took.
        error: Why it could not be run, or what ended a run early.
        divergence: The first divergence; None where there is none, and where the engine names none.
    """

    eval_id: str
    status: KeptStatus
    passed: int = 0
    runs: int = 0
    models: str = ""
    seconds: float = 0.0
    error: str = ""
    divergence: KeptDivergence | None = None

    @property
    def verdict(self) -> KeptVerdict:
        """Its status; `flaky` where only some of its runs passed."""
        return "flaky" if self.status == "failed" and self.passed else self.status

    @property
    def why(self) -> str:
        """Why it did not pass, in a line; empty where it did, or nobody knows."""
        if self.divergence is None:
            return self.error
        return f"turn {self.divergence.turn}, step {self.divergence.step}: {self.divergence.sentence}"


class KeptAgent(Value):
    """An agent of a run: ADK's name of its app, the digests of what was loaded and of its files, and the names of its models."""

    app_name: str
    fingerprint: str = ""
    source_sha256: str = ""
    models: tuple[str, ...] = ()


class KeptRun(Value):
    """A run of an eval set.

    Attributes:
        format: What kind of file this is.
        version: The version of the file.
        engine: What ran the cases.
        eval_set: The name of the eval set's file.
        at: When it ended, as an ISO time in UTC.
        seconds: How long it took.
        set_sha256: The digest of the eval set; empty where nobody knows.
        recording_sha256: The digest of the recorded environment; empty where there was none.
        agents: The agents.
        adk: The version of google-adk.
        studio: The version of golden-trace-studio.
        criteria: What was asked of each run: of a verification as `Criteria` says it, of `adk eval` as an `EvalConfig` does.
        is_partial: Whether only some cases were chosen.
        cases: What became of each, in the order of the set.
        network: Which hosts the agents tried to reach, and whether all could be refused; None where nobody knows.
    """

    format: Literal["golden-trace-studio/run"] = "golden-trace-studio/run"
    version: Literal[1] = 1
    engine: Engine = "verify"
    eval_set: str
    at: str
    seconds: float = 0.0
    set_sha256: str = ""
    recording_sha256: str = ""
    agents: tuple[KeptAgent, ...] = ()
    adk: str = ""
    studio: str = ""
    criteria: JsonObject = Field(default_factory=dict)
    is_partial: bool = False
    cases: tuple[KeptCase, ...] = ()
    network: NetworkUse | None = None

    def count(self, verdict: KeptVerdict) -> int:
        """Count the cases of a verdict."""
        return sum(case.verdict == verdict for case in self.cases)

    @property
    def counts(self) -> str:
        """How many cases have which verdict, in words."""
        words = {
            "passed": "passed",
            "flaky": "flaky",
            "failed": "failed",
            "error": "could not run",
            "stopped": "stopped",
        }
        found = ((verdict, self.count(verdict)) for verdict in _VERDICTS)
        return ", ".join(f"{count} {words[verdict]}" for verdict, count in found if count) or "no cases"

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models of all its agents, each once."""
        return tuple(dict.fromkeys(name for agent in self.agents for name in agent.models))


_VERDICTS: tuple[KeptVerdict, ...] = ("passed", "flaky", "failed", "error", "stopped")
