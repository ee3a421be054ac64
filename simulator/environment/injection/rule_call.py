"""Describes one tool call as the injection rules see it: who calls what, and what the session counted before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from simulator.base.json_values import JsonObject


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


def _no_world() -> Mapping[str, Mapping[str, JsonObject]]:
    return {}


def _no_state() -> JsonObject:
    return {}


def _no_calls() -> Sequence[JsonObject]:
    return ()


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
    world: Callable[[], Mapping[str, Mapping[str, JsonObject]]] = field(default=_no_world)
    state: Callable[[], JsonObject] = field(default=_no_state)
    calls: Callable[[], Sequence[JsonObject]] = field(default=_no_calls)
