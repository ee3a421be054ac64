"""Gives each injection rule its own stream of draws, which any run of the session repeats."""

from __future__ import annotations

from array import array
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.environment.injection.rules import InjectionRule

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
