"""What is asked of a run: how the calls are compared, how alike the final responses are, and what else is looked at."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from evalset.recorded.recording import RecordedCase
from evalset.recorded.tolerances import EVERY_TOOL, Ignore
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
