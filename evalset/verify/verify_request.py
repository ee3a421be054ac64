"""What is verified and how: one value, which a worker process can be given as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from pydantic import Field

from evalset.recorded.recording_files import recording_of
from evalset.replay.model_choice import BY_HAND, Models
from evalset.replay.unrecorded_calls import Policy
from evalset.verify.coroutines import PATIENCE
from evalset.verify.criteria import Criteria
from evalset.verify.results import VerifyProgress
from simulator.agents import absolute_agent
from simulator.base.frozen_value import Value

AT_ONCE = 4
"""How many cases are replayed at a time, as `adk eval` does."""


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
