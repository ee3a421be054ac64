"""Describes what injection rules see: one tool call, who calls what and what the session counted before, and each rule's own stream of draws."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from simulator.base.json_values import JsonObject
from simulator.base.work_limit import MOST_SECONDS, WorkLimit

if TYPE_CHECKING:
    from simulator.environment.injection.rules import InjectionRule


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


_IN_ADVANCE = 32


class _Stream:
    """The values of one generator, kept so that any of them can be read again."""

    __slots__ = ("draw", "values")

    def __init__(self, seed: int | str) -> None:
        self.draw = Random(seed).random  # noqa: S311 - a repeatable stream is what is asked for, not a secret
        self.values = array("d")


class DrawStreams:
    """The streams of a session's rules. How far each has moved is the caller's to count (facts say who drew).

    A rule with a `random_seed` has the stream that ADK 2.13 gives an injection with that seed. A rule without one
    has a stream of its own, made from the session's seed and the rule's id. Switching, moving or changing other
    rules moves no stream. One thread at a time.
    """

    def __init__(self, session_seed: str) -> None:
        self._session_seed = session_seed
        self._streams: dict[int | str, _Stream] = {}

    def value(self, rule: InjectionRule, n: int) -> float:
        """Return the rule's nth value in [0, 1), counted from 0; after an undo a lower n gives the old value again.

        Raises:
            ValueError: `n` is negative.
        """
        seed = rule.random_seed
        stream = self._streams.get(rule.rule_id if seed is None else seed)
        if stream is None or not 0 <= n < len(stream.values):
            stream = self._reaching(rule, n)
        return stream.values[n]

    def _reaching(self, rule: InjectionRule, n: int) -> _Stream:
        """Return a stream that holds the nth value, with some in advance: hundreds of rules may draw for one call."""
        if n < 0:
            raise ValueError(f"rule {rule.rule_id!r}: draw {n} does not exist; the first is 0")
        name = rule.rule_id if rule.random_seed is None else rule.random_seed
        stream = self._streams.get(name) or self._begun(name)
        while n >= len(stream.values):
            stream.values.extend([stream.draw() for _ in range(_IN_ADVANCE)])
        return stream

    def _begun(self, name: int | str) -> _Stream:
        own = f"{len(self._session_seed)}:{self._session_seed}:{name}"
        stream = self._streams[name] = _Stream(name if isinstance(name, int) else own)
        return stream
