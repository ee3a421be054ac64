"""What a verification gives: frozen values that become JSON as they are, and the error of this room. Turns and steps are counted from 0.

A `Verification` has a `CaseResult` for each case, that a `RunResult` for each run, and that its checks and, where it failed, a `Divergence`.
Why a case could not be run at all is one of the sentences at the top.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import Field

from evalset.errors import ASK_THE_MODEL
from evalset.golden_trace.steps import Step
from evalset.measured import Measured
from evalset.recorded.recording import MadeAnswer, RecordedModelTurn
from evalset.recorded.tolerances import EVERY_TOOL, Tolerance
from evalset.verify.verify_request import Criteria
from simulator.base.frozen_value import Value
from simulator.base.json_values import Json, JsonObject, canonical
from simulator.base.validation_words import InputError
from simulator.runtime.adk.private_network import NetworkUse
from simulator.session.model import REQUEST_INPUT

NO_GOLDEN = (
    "a scenario case has no golden conversation to compare with. To score it, use `golden-trace eval`. To compare it, play it into a golden with "
    "`golden-trace run AGENT --scenario SET --case ID --out NEW_SET`"
)
"""Why a case cannot be verified that a simulated user plays: nothing is wrong with it."""

NOT_RECORDED = (
    "the dataset does not contain what happened in the last turn, such as model turns and tool responses, so there is nothing to replay. To check it, "
    "run it with `agents-cli eval generate` and save the traces as a `-dataset.json` file, or play it in the studio and export it as a dataset"
)
"""Why a case of a dataset cannot be verified that only asks."""

NOT_WHOLE = "the events of this case do not form a complete session, so it cannot be checked: "
"""What the error of a case of a dataset begins with whose trace lacks something; what follows names that."""

NO_MODEL_TURNS = f"no model turns are recorded for this case, so it cannot be replayed with recorded models. {ASK_THE_MODEL}"
"""Why a case cannot be verified with recorded models."""

PLAY_RECORDED = (
    "To replay the recorded model turns instead, choose the recorded models (`--models recorded`)."
)
"""What can be done where the agent's own models cannot be asked, or are not who made the golden."""

UNCHECKED = (NO_GOLDEN, NOT_RECORDED, NOT_WHOLE, NO_MODEL_TURNS)
"""How the errors begin of cases that have nothing to be checked against, though nothing is wrong with them."""


class VerifyError(InputError):
    """Something cannot be done with an eval set or one of its cases; the text names it, and nothing was changed."""


class UnreadableSetError(VerifyError):
    """A file is not an eval set that can be read; the text says why.

    Attributes:
        eval_set: The file.
    """

    def __init__(self, eval_set: Path, reason: str) -> None:
        super().__init__(reason)
        self.eval_set = eval_set


CheckStatus: TypeAlias = Literal["passed", "failed", "skipped", "error"]
CaseStatus: TypeAlias = Literal["passed", "failed", "error", "stopped", "skipped"]
Players: TypeAlias = Literal["real", "recorded"]
What: TypeAlias = Literal["query", "call", "arguments", "response", "text", "state"]
Verdict: TypeAlias = Literal[
    "agent_changed",
    "differs_from_moves",
    "differs_from_trace",
    "golden_stale",
    "recording_edited",
    "environment_changed",
    "user_changed",
    "varies",
]
Action: TypeAlias = Literal["accept", "repair", "open", "tolerate"]
VERDICTS: Mapping[Verdict, str] = {
    "agent_changed": "The agent changed",
    "differs_from_moves": "The agent and the written moves differ",
    "differs_from_trace": "The agent and the trace differ",
    "golden_stale": "The golden was edited",
    "recording_edited": "The recording was edited",
    "environment_changed": "The agent's tools changed",
    "user_changed": "The user message was edited",
    "varies": "Differs in each run",
}
"""What a person reads for each verdict."""
OF_THE_AGENT = frozenset[Verdict]({"agent_changed", "differs_from_moves", "differs_from_trace"})
"""The verdicts on what the agent does."""


class Check(Value):
    """One thing that was looked at in a run.

    Attributes:
        name: ADK's name of a metric, or one of ours: `final_session_state`, `stored_tool_responses`, `inner_tool_calls`,
            `response_word_overlap`, `response_words_of_code`, `recorded_turns`.
        status: Whether it passed; `skipped` and `error` were not looked at, and say why in `detail`. A skipped check fails no run.
        score: From 0 to 1 (or as the metric has it); None where it was not looked at.
        threshold: The least score that passes.
        turns: The score of each turn, where the check has one.
        detail: What is wrong, in a sentence; empty where nothing is.
    """

    name: str
    status: CheckStatus
    score: float | None = None
    threshold: float | None = None
    turns: tuple[float | None, ...] = ()
    detail: str = ""


class ValueDifference(Value):
    """One place at which two JSON values differ; `is_there` tells what is missing from None."""

    path: str
    golden: Json = None
    actual: Json = None
    in_golden: bool = True
    in_actual: bool = True


class TextPiece(Value):
    """A piece of a text as the golden and the actual one have it: in both, in the golden only, or in the actual one only."""

    kind: Literal["same", "golden", "actual"]
    text: str


class Pair(Value):
    """A step of the golden beside one of the run; None where there is none. `differs` leaves out what is tolerated."""

    golden: Step | None = None
    actual: Step | None = None
    differs: bool = False


class Divergence(Value):
    """Where a run first goes another way than its golden, and what that tells.

    Attributes:
        turn: The turn.
        step: The place of the step among the golden's steps of that turn; where they end, how many there are.
        what: What differs there.
        pairs: The steps of the turn side by side, from this one on.
        differences: Where arguments, a response or the state differ.
        text: The two texts, in pieces, where a text differs.
        verdict: What the evidence says has changed.
        evidence: What speaks for the verdict, in sentences.
        sentence: What has happened, for a person.
        action: What to do about it.
        also: What has changed beside, where that is more than one thing.
        migration: The option of the doctor's that migrates the golden, where a tool or an argument was renamed and both names are known.
    """

    turn: int
    step: int
    what: What
    pairs: tuple[Pair, ...]
    differences: tuple[ValueDifference, ...] = ()
    text: tuple[TextPiece, ...] = ()
    verdict: Verdict = "agent_changed"
    evidence: tuple[str, ...] = ()
    sentence: str = ""
    action: Action = "accept"
    also: tuple[Verdict, ...] = ()
    migration: str = ""


class Varying(Value):
    """A place that differs from run to run though all answers are the same: the agent's own code reads a clock, or draws by chance.

    Attributes:
        tolerance: What lets it differ.
        holds: What stands there: `a time`, `an id`, `a random number`, `a random value`, `the order of a set`,
            or what its code keeps from one run to the next.
        is_new: The golden has no value there.
    """

    tolerance: Tolerance
    holds: str
    is_new: bool = False

    @property
    def what(self) -> str:
        """What holds it: the state, a final response, the response or the arguments of a tool, a question to the user."""
        tool = "a tool" if self.tolerance.tool == EVERY_TOOL else self.tolerance.tool
        names = {
            "state": "the state",
            "final_response": "the final response",
            "response": f"the response of {tool}",
            "arguments": "a question to the user" if tool == REQUEST_INPUT else f"a call of {tool}",
        }
        return names[self.tolerance.of]

    @property
    def line(self) -> str:
        """What is proposed, in one line: `state "last_seen" contains a time: ignore its value`."""
        head = self.what.removeprefix("the ").removeprefix("a ")
        place = f' "{self.tolerance.path}"' if self.tolerance.path else ""
        ways = {"ignore": "ignore its value", "unordered": "compare the words or items in any order"}
        way = ways.get(self.tolerance.kind, "compare the text around it")
        new = " is new and" if self.is_new else ""
        return f"{head}{place}{new} contains {self.holds}: {way}"


class ActualTurn(Value):
    """What happened in a turn of a run: ADK's `Invocation` in JSON, and what the agents' models answered on the way."""

    invocation: JsonObject
    models: tuple[RecordedModelTurn, ...] = ()


class RunResult(Value):
    """One replay of one case.

    Attributes:
        number: Which of the runs it is, from 1.
        passed: Whether all checks passed and the run came to its end.
        models: Who answered for the agents' models.
        checks: What was looked at.
        divergence: The first step that differs; None where it passed.
        error: What ended the run before its time; empty where nothing did.
        unrecorded: What was asked and not recorded, in sentences; they say who answered all the same.
        made: The calls that were answered though they were not recorded, where a policy said so.
        turns: What happened, up to where the run ended.
        final_state: The session's state after it, without what lasts one invocation only.
        seconds: How long it took.
        edited: What was edited in the golden since the recording, in sentences.
        varying: What differs from run to run by itself, where the run failed: with a tolerance for each.
        refused_hosts: The hosts to which Python code of the run was refused a connection.
        unasked: Why a model could not be asked, a tool set not listed, or what an imported trace does not tell: where the run failed nothing is known of the agent then.
    """

    number: int = 1
    passed: bool
    models: Players
    checks: tuple[Check, ...] = ()
    divergence: Divergence | None = None
    error: str = ""
    unrecorded: tuple[str, ...] = ()
    made: tuple[MadeAnswer, ...] = ()
    turns: tuple[ActualTurn, ...] = ()
    final_state: JsonObject = Field(default_factory=dict)
    seconds: float = 0.0
    edited: tuple[str, ...] = ()
    varying: tuple[Varying, ...] = ()
    refused_hosts: tuple[str, ...] = ()
    unasked: str = ""

    @property
    def came_to_its_end(self) -> bool:
        """Whether every call had an answer and nothing ended the run early, so that it can be accepted as a golden."""
        return not self.error and len(self.made) >= len(self.unrecorded)


class CaseResult(Value):
    """What became of one case.

    Attributes:
        eval_id: The case.
        agent: The agent that was run, by ADK's name of its app; empty where none was found.
        status: `passed` if all runs passed; `error` if it could not be run; `stopped` if not all its runs were made; `skipped` if it has nothing to
            compare with, as its user is simulated.
        error: Why it could not be run.
        golden: The golden's steps, turn by turn.
        runs: Its runs, in their order.
        unknown: What the golden does not tell, so that no run was compared with it: `the final state`, `the tool calls of turn 1`.
        blanks: The blanks in its recorded responses, in sentences: values that no one entered, so a run that passes has them, too.
    """

    eval_id: str
    agent: str = ""
    status: CaseStatus
    error: str = ""
    golden: tuple[tuple[Step, ...], ...] = ()
    runs: tuple[RunResult, ...] = ()
    unknown: tuple[str, ...] = ()
    blanks: tuple[str, ...] = ()

    @property
    def divergence(self) -> Divergence | None:
        """The divergence of the first run that has one."""
        return next((run.divergence for run in self.runs if run.divergence is not None), None)

    def pass_power(self, k: int) -> float:
        """Estimate how likely `k` runs in a row all pass: the share of the choices of `k` of its runs that do.

        Raises:
            ValueError: It has fewer runs.
        """
        if not 0 < k <= len(self.runs):
            raise ValueError(f"the case {self.eval_id!r} has {len(self.runs)} runs, but {k} are needed")
        return comb(sum(run.passed for run in self.runs), k) / comb(len(self.runs), k)


class Verification(Value):
    """What became of the cases of an eval set.

    Attributes:
        eval_set: The eval set.
        environment: The recorded environment beside it; the eval set itself where that holds it.
        criteria: What was asked of the runs.
        runs: How many runs each case was to have.
        cases: The cases that were chosen, in the order of the file.
        models: Who answered for the agents' models, and why, in a sentence for each way that was taken.
        seconds: How long it took.
        measured: The digests of what it was measured on.
        renamed: The name that an agent of the recordings may have now, by its old one: no agent is called so, and exactly one
            declares the same tools.
        network: Which hosts the agents tried to reach, and whether all could be refused; None where nothing was replayed.
    """

    eval_set: Path
    environment: Path
    criteria: Criteria = Criteria()
    runs: int = 1
    cases: tuple[CaseResult, ...] = ()
    models: tuple[str, ...] = ()
    seconds: float = 0.0
    measured: Measured | None = None
    renamed: Mapping[str, str] = Field(default_factory=dict)
    network: NetworkUse | None = None

    @property
    def eval_ids(self) -> tuple[str, ...]:
        """The cases that there is a result of."""
        return tuple(case.eval_id for case in self.cases if case.status != "skipped")

    def count(self, status: CaseStatus) -> int:
        """Count the cases of a status."""
        return sum(case.status == status for case in self.cases)

    @property
    def status(self) -> CaseStatus:
        """What became of it all: stopped, or else failed, or else error, or else passed, or else skipped."""
        found = {case.status for case in self.cases}
        worst: tuple[CaseStatus, ...] = ("stopped", "failed", "error", "passed", "skipped")
        return next((status for status in worst if status in found), "passed")

    @property
    def exit_code(self) -> int:
        """0 all passed, or had nothing to compare with; 1 some failed; 2 some could not be run, and none failed; 130 stopped."""
        return {"passed": 0, "skipped": 0, "failed": 1, "error": 2, "stopped": 130}[self.status]

    def pass_power(self, k: int) -> float | None:
        """Return pass^k: how likely `k` runs in a row of a case all pass, on average; None where no case has so many."""
        found = [case.pass_power(k) for case in self.cases if len(case.runs) >= k]
        return sum(found) / len(found) if found else None


_AMONG = (
    "The runs differ from each other here, so nothing shows that the agent changed. If they may, propose tolerances from several runs "
    "and keep them. Otherwise fix the agent."
)


def judged_among(verification: Verification) -> Verification:
    """Say of runs with real models that differ from each other that they do: one of them alone looks like a change of the agent."""
    cases = tuple(_among(case) if len(case.runs) > 1 else case for case in verification.cases)
    return verification if cases == verification.cases else verification.model_copy(update={"cases": cases})


def _among(case: CaseResult) -> CaseResult:
    ways = {None if run.passed else _way(run) for run in case.runs if run.models == "real"}
    if len(ways) < 2:  # noqa: PLR2004 - one way is no difference
        return case
    told = {"verdict": "varies", "action": "tolerate", "sentence": _AMONG}
    runs = [
        run.model_copy(update={"divergence": run.divergence.model_copy(update=told)})
        if run.divergence is not None and run.divergence.verdict in OF_THE_AGENT
        else run
        for run in case.runs
    ]
    return case.model_copy(update={"runs": tuple(runs)})


def _way(run: RunResult) -> str:
    """Return where a run goes another way, and which."""
    found = run.divergence
    return (
        ""
        if found is None
        else canonical(
            [
                found.turn,
                found.step,
                found.what,
                [pair.actual and pair.actual.model_dump() for pair in found.pairs[:1]],
            ]
        )
    )


def rename_words(old: str, new: str) -> str:
    """Propose the new name of an agent."""
    return f"There is no agent {old}, and only {new} declares the same tools. If it was renamed, add --rename-agent {old}={new}"
