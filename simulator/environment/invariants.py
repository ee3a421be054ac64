"""Tells which invariants an answer would break, and which earlier turn it would contradict."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.environment.entities import EntityChange, Origin, WorldCall
from simulator.environment.value import Value
from simulator.environment.world import World


class InvariantError(ValueError):
    """A line is no invariant; the text says which and what is wrong with it."""


class Contradiction(Value):
    """What an answer says against an invariant, or against what was said before.

    `invariant` is empty where no rule of a person is broken. `earlier` is where the value was set that it contradicts;
    None where the answer contradicts itself alone.
    """

    invariant: str = ""
    kind: str = ""
    id: str = ""
    what: str
    earlier: Origin | None = None


def check_invariant(text: str) -> None:
    """Check that a line is an invariant.

    Raises:
        InvariantError: It is not; the text says what is wrong.
    """
    raise NotImplementedError


def contradictions(
    world: World,
    changes: Sequence[EntityChange],
    invariants: Sequence[str],
    *,
    call: WorldCall | None = None,
) -> tuple[Contradiction, ...]:
    """Give what some changes, those of a preview, would contradict.

    Only what the changes break is told, not what was broken before. With `call`, the answer of that call is also held
    against what earlier calls said: a field that identifies a thing and that a mere question changes, or a thing that
    was taken away and lives again.
    """
    raise NotImplementedError
