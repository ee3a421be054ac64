"""Describes one tool call as the injection rules see it: who calls what, and what the session counted before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from simulator.base.json_values import JsonObject
from simulator.base.work_limit import MOST_SECONDS, WorkLimit

MOST_SECONDS_OF_ALL = 0.5
"""Processor time that the expressions and patterns of all rules may take for one call."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What the session's facts, and the calls that wait, have counted before this call.

    Attributes:
        drawn: By rule id, how many values the rule took from its stream.
        counted: By rule id, how many calls the rule's conditions let through, but for its own call numbers.
        fired: By rule id, how often the rule fired.
        tool_calls: Earlier calls of this tool in the session.
        session_calls: Earlier calls of any tool in the session.
    """

    drawn: Mapping[str, int] = field(default_factory=dict)
    counted: Mapping[str, int] = field(default_factory=dict)
    fired: Mapping[str, int] = field(default_factory=dict)
    tool_calls: int = 0
    session_calls: int = 0


NOTHING_SO_FAR = Tally()
"""The tally of a session's first tool call."""


@dataclass(frozen=True, slots=True)
class CallContext:
    """One tool call.

    The three functions are called at most once for each decision, and only if a condition asks for what they give.

    Attributes:
        tool_name: The tool that is called.
        arguments: The call's arguments.
        agent: The name of the agent that calls.
        branch: ADK's branch of the agent, such as `root.helper`.
        tally: What was counted before this call.
        world: Gives the entities, by plural kind and id: `{"orders": {"A-1": {"status": "open"}}}`.
        state: Gives ADK's session state.
        calls: Gives the earlier calls of this tool, oldest first: `{"arguments": ..., "response": ...}`.
    """

    tool_name: str
    arguments: JsonObject
    agent: str = ""
    branch: str = ""
    tally: Tally = NOTHING_SO_FAR
    world: Callable[[], Mapping[str, Mapping[str, JsonObject]]] = dict
    state: Callable[[], JsonObject] = dict
    calls: Callable[[], Sequence[JsonObject]] = tuple


class Seen:
    """What the rules have looked at in one decision, so that nothing is fetched twice."""

    def __init__(self, call: CallContext) -> None:
        self.call = call
        self.limit = WorkLimit()
        """What the rule that is judged may still take."""
        self.words: dict[str, str] = {}
        """What was said of an argument, by its name."""
        self._given, self._seconds = MOST_SECONDS, MOST_SECONDS_OF_ALL

    def next_rule(self) -> None:
        """Give the rule that is judged next a limit of its own, out of the time that all rules have for this call."""
        if self.limit.left < self._given:
            self._seconds -= self._given - self.limit.left
            self._given = min(MOST_SECONDS, max(self._seconds, 0.0))
            self.limit = WorkLimit(self._given)

    @cached_property
    def world(self) -> Mapping[str, Mapping[str, JsonObject]]:
        """The world's entities by plural kind and id."""
        return self.call.world()

    @cached_property
    def state(self) -> JsonObject:
        """The session's state."""
        return self.call.state()

    @cached_property
    def calls(self) -> Sequence[JsonObject]:
        """The earlier calls of the tool."""
        return self.call.calls()


class Why(NamedTuple):
    """Why a condition does not hold, and how near it came: from 0 to 1."""

    reason: str
    nearness: float
