"""Decides who answers for the agents' models in a replay, and what becomes of calls that were not recorded: for the commands, pytest and the page. Imports no ADK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from evalset.replay.hermetic_environment import Players

Models: TypeAlias = Literal["auto", "real", "recorded"]
"""What a person chooses; `auto` leaves it to what can be asked, and to the case."""

BY_HAND: Models = "auto"
"""Where a person looks at the result: `golden-trace verify`, `golden-trace eval`, the page."""

IN_TESTS: Models = "recorded"
"""In `pytest --goldens`, and so in the workflow of `golden-trace init ci`: it needs no key, and is the same on each run."""

ANSWERED_BY: Mapping[str, str] = {
    "real": "with the agent's own model",
    "recorded": "with the recorded models",
}
"""What each result says of who answered."""


Policy: TypeAlias = Literal["fail", "rules", "generate"]
"""What becomes of a call that was not recorded: an error; the answer of the case's rules, and an error where none answers; or
the answer of the rules, and else one that is drafted offline."""


class ModelChoice(NamedTuple):
    """Who answers for the models of a case, and why."""

    players: Players
    why: str

    @property
    def words(self) -> str:
        """Both, for a person."""
        return f"{ANSWERED_BY[self.players]} ({self.why})"


def model_choice(
    asked: Models, lacks: str | None, *, is_recorded: bool, asks_none: bool = False
) -> ModelChoice | None:
    """Decide who answers for the models of a case.

    Args:
        asked: What a person has chosen, or the default of the place.
        lacks: Why a model of the agent cannot be asked from here; None where all can.
        is_recorded: Whether the case has what its models answered.
        asks_none: Whether no model is asked in the replay, so that nothing in it needs the network.

    Returns:
        The choice; None where nothing answers.
    """
    if asked != "auto":
        return ModelChoice(asked, "as requested")
    if asks_none:
        return ModelChoice("recorded", "no model is asked")
    if not lacks:
        return ModelChoice("real", "all are reachable")
    return ModelChoice("recorded", lacks) if is_recorded else None
