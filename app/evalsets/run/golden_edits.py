"""Makes the edit that changes a golden after a run, and says how far a case is played to look at it; no drawing here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.evalsets.run.verify_jobs import steps_before
from app.evalsets.set_context import PlayCase
from app.live.agent_catalogue import catalogue
from evalset.editing.case_parts import EditError, steps_of, turns_of
from evalset.verify import accepting, repairing

if TYPE_CHECKING:
    from app.evalsets.run.verify_tab import GoldenEdit, OpenAt
    from app.evalsets.set_context import SetContext
    from evalset.editing.case_edits import Edit
    from evalset.editing.set_work import EditedCase


def _held(scene: SetContext, eval_id: str) -> EditedCase:
    """Return a case as it is edited; cases keep the key that they had in the file."""
    if eval_id not in scene.work.state.order:
        raise EditError(f"case {eval_id!r} is no longer in the set")
    return scene.work.held(eval_id)


def played_until(scene: SetContext, asked: OpenAt) -> PlayCase:
    """Say how far a case is played, so that a session stops before a step.

    Raises:
        ValueError: The set has no such case any more, or no such turn.
    """
    held = _held(scene, asked.eval_id)
    if asked.turn >= len(turns_of(held.case)):
        raise EditError(f"case {asked.eval_id!r} no longer has a turn {asked.turn + 1}")
    kinds = [step.kind for step in steps_of(held.case, asked.turn)]
    played = steps_before(asked.golden, asked.step, kinds)
    return PlayCase(agent=asked.agent, key=asked.eval_id, turn=asked.turn, steps=played)


def edit_of(scene: SetContext, asked: GoldenEdit) -> Callable[[], Edit]:
    """Return the work that makes the edit; it raises a ValueError where the golden cannot be changed like this.

    Raises:
        ValueError: The set has no such case any more.
    """
    held = _held(scene, asked.eval_id)

    def work() -> Edit:
        if asked.action == "accept":
            return accepting(held, asked.eval_id, asked.run)
        return repairing(held, asked.eval_id, catalogue().config_of_now(asked.agent))

    return work
