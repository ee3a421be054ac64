"""The error of this room: what cannot be verified, accepted or repaired, in words for a person."""

from __future__ import annotations

from pathlib import Path

from evalset.errors import ASK_THE_MODEL
from simulator.base.validation_words import InputError

NO_GOLDEN = (
    "a scenario case has no golden conversation to compare with. To score it, use `golden-trace eval`. To compare it, play it into a golden with "
    "`golden-trace run AGENT --scenario SET --case ID --out NEW_SET`"
)
"""Why a case cannot be verified that a simulated user plays: nothing is wrong with it."""

NOT_RECORDED = (
    "the dataset does not have the model turns and tool responses of the last turn, so this case cannot be checked without real tools and models. To check it, "
    "run it with `agents-cli eval generate` and save the traces as a `-dataset.json` file, or play it in the studio and export it as a dataset"
)
"""Why a case of a dataset cannot be verified that only asks."""

NOT_WHOLE = "the events of this case do not form a complete session, so it cannot be checked: "
"""What the error of a case of a dataset begins with whose trace lacks something; what follows names that."""

NO_MODEL_TURNS = f"no model turns are recorded for this case, so it cannot be replayed with recorded models. {ASK_THE_MODEL}"
"""Why a case cannot be verified with recorded models."""

PLAY_RECORDED = (
    "To replay the recorded model turns instead, choose the recorded models (`--models recorded`)."
)
"""What can be done where the agent's own models cannot be asked, or are not who made the golden."""

UNCHECKED = (NO_GOLDEN, NOT_RECORDED, NOT_WHOLE, NO_MODEL_TURNS)
"""How the errors begin of cases that have nothing to be checked against, though nothing is wrong with them."""


class VerifyError(InputError):
    """Something cannot be done with an eval set or one of its cases; the text names it, and nothing was changed."""


class UnreadableSetError(VerifyError):
    """A file is not an eval set that can be read; the text says why.

    Attributes:
        eval_set: The file.
    """

    def __init__(self, eval_set: Path, reason: str) -> None:
        super().__init__(reason)
        self.eval_set = eval_set
