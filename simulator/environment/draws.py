"""Gives each injection rule its own stream of draws, which any run of the session repeats."""

from __future__ import annotations

from array import array
from random import Random

from simulator.environment.injections import InjectionRule


class _Stream:
    """The values of one generator, kept so that any of them can be read again."""

    def __init__(self, seed: int | str) -> None:
        self._random = Random(seed)  # noqa: S311 - a repeatable stream is what is asked for, not a secret
        self.values = array("d")

    def extend(self, n: int) -> None:
        while len(self.values) <= n:
            self.values.append(self._random.random())


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
        """Give the rule's nth value in [0, 1), counted from 0; after an undo a lower n gives the old value again.

        Raises:
            ValueError: `n` is negative.
        """
        if n < 0:
            raise ValueError(f"rule {rule.rule_id!r}: draw {n} does not exist; the first is 0")
        seed = rule.random_seed
        name: int | str = rule.rule_id if seed is None else seed
        stream = self._streams.get(name)
        if stream is None:
            stream = self._streams[name] = _Stream(self._seed(rule))
        if n >= len(stream.values):
            stream.extend(n)
        return stream.values[n]

    def _seed(self, rule: InjectionRule) -> int | str:
        if rule.random_seed is not None:
            return rule.random_seed
        return f"{len(self._session_seed)}:{self._session_seed}:{rule.rule_id}"
