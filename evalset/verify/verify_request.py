"""What is verified and how: what is asked of a run, and one value of all of it, which a worker process can be given as JSON.

`Criteria` says how calls are compared, how alike the final responses are, and what else is looked at. `VerifyRequest` is what `verify` was called
with; a `WorkPart` is what one worker does of it at a time. `Told` and `Stop` are the ways back and forth while it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeAlias

from pydantic import Field

from evalset.recorded.recording import RecordedCase
from evalset.recorded.recording_files import recording_of
from evalset.recorded.tolerances import EVERY_TOOL, Ignore
from evalset.replay.model_choice import BY_HAND, Models, Policy
from simulator.agents import absolute_agent
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject

Match: TypeAlias = Literal["exact", "in_order", "any_order"]

TRAJECTORY, RESPONSE = "tool_trajectory_avg_score", "response_match_score"
"""ADK's names of the two metrics that it looks at by default."""

OVERLAP, STATE, RESPONSES = "response_word_overlap", "final_session_state", "stored_tool_responses"
INNER, CODE_WORDS, TURNS = "inner_tool_calls", "response_words_of_code", "recorded_turns"
AGENTS = "recorded_agents"
"""Our names of what ADK does not look at, and of what stands in for its response match where that is not installed."""

DEFAULT_RESPONSE = 0.8


class Metric(Value):
    """A metric of an `EvalConfig` that is none of ours: the path of its function, where it is somebody's own, and its criterion."""

    name: str
    function: str = ""
    criterion: JsonObject


class Criteria(Value):
    """What a run has to fulfil.

    Attributes:
        match: ADK's match type of the trajectory.
        ignore_args: Whether the arguments of calls may be any; a replay answers them by the tool alone then.
        trajectory: The least score of the trajectory; None to leave it out.
        response: The least score of the response match (ROUGE-1); None to leave it out.
        state: Whether the session's final state is compared.
        responses: Whether the tool responses that the eval set holds are compared.
        tolerances: Whether the tolerances of the recorded environment are heeded.
        metrics: What else is asked.
    """

    match: Match = "exact"
    ignore_args: bool = False
    trajectory: float | None = Field(default=1.0, ge=0, le=1)
    response: float | None = Field(default=DEFAULT_RESPONSE, ge=0, le=1)
    state: bool = True
    responses: bool = True
    tolerances: bool = True
    metrics: tuple[Metric, ...] = ()

    def allowing(self, recorded: RecordedCase) -> RecordedCase:
        """Return a recorded case with the tolerances that are heeded: a replay answers what is not compared, too."""
        heeded = recorded.tolerances if self.tolerances else ()
        anything = (Ignore(tool=EVERY_TOOL),) if self.ignore_args else ()
        return recorded.model_copy(update={"tolerances": (*heeded, *anything)})


PATIENCE = 300.0
"""Seconds that one replay may take."""

AT_ONCE = 4
"""How many cases are replayed at a time, as `adk eval` does."""


class VerifyProgress(Value):
    """How far a verification is: runs done of all, what was done last, and how that went: `could_run` is False where nothing is known of the agent."""

    done: int
    total: int
    eval_id: str = ""
    passed: bool | None = None
    could_run: bool = True


class Stop(Protocol):
    """Checks whether to stop; `threading.Event` does."""

    def is_set(self) -> bool:
        """Return whether to stop."""
        ...


AtWork: TypeAlias = Callable[[Sequence[str]], None]
"""Told the ids of the cases that are at work."""


class Told(NamedTuple):
    """Who is told how far a verification is: of each run that is done, and of the cases that are at work, whenever these are others."""

    done: Callable[[VerifyProgress], None] = lambda _: None
    at_work: AtWork = lambda _: None


class WorkPart(Value):
    """The part of the work that one worker does at a time.

    Attributes:
        places: The places of the cases among those that were chosen, from 0.
        first: The number of the first run, from 1.
        runs: How many runs of each.
        again: Whether a worker has ended at it before.
    """

    places: tuple[int, ...]
    first: int
    runs: int
    again: bool = False


class VerifyRequest(Value):
    """What `verify` is asked for; see there for what each attribute means.

    Attributes:
        eval_set: The eval set.
        agent: The agent of all cases in words; empty where each case names its own, or the process has loaded it.
        agents_dir: A folder of agents, or the folder of one.
        environment: The recorded environment; None for the one beside the eval set, or inside of it.
        cases: The ids of the cases; all where it is empty.
        runs: How many times each case is replayed.
        models: Who answers for the agents' models.
        unrecorded: What becomes of a call that was not recorded.
        criteria: What is asked of each run.
        at_once: How many cases one process replays at a time.
        timeout: Seconds that one run may take.
        renamed: The new name of each agent that was renamed since the recording, by its old one.
        latencies: Whether each tool takes as long as it did when it was recorded.
    """

    eval_set: Path
    agent: str = ""
    agents_dir: Path | None = None
    environment: Path | None = None
    cases: tuple[str, ...] = ()
    runs: int = 1
    models: Models = BY_HAND
    unrecorded: Policy = "fail"
    criteria: Criteria = Criteria()
    at_once: int = AT_ONCE
    timeout: float = PATIENCE
    renamed: Mapping[str, str] = Field(default_factory=dict)
    latencies: bool = False

    @property
    def recording(self) -> Path:
        """The recorded environment."""
        return self.environment if self.environment is not None else recording_of(self.eval_set)

    def absolute(self) -> VerifyRequest:
        """Return it with absolute paths, for a process that works in another folder."""
        return self.model_copy(
            update={
                "eval_set": self.eval_set.absolute(),
                "environment": self.recording.absolute(),
                "agents_dir": self.agents_dir.absolute() if self.agents_dir is not None else None,
                "agent": absolute_agent(self.agent) if self.agent else "",
            }
        )
