"""Makes the edit that changes a golden after a run, so that a person sees it before it is saved; no drawing here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.agents import catalogue
from evalset.verify import accepting, repairing

if TYPE_CHECKING:
    from app.panels.evalsets.scene import SetScene
    from app.panels.evalsets.verify_tab import Mend
    from evalset.editing.edits import Edit


def edit_of(scene: SetScene, mend: Mend) -> Callable[[], Edit]:
    """Give the work that makes the edit; it raises a ValueError where the golden cannot be changed like this."""
    held = scene.work.held(mend.eval_id)

    def work() -> Edit:
        if mend.action == "accept":
            return accepting(held, mend.eval_id, mend.run)
        return repairing(held, mend.eval_id, catalogue().config(mend.agent))

    return work
