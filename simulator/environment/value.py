"""The base of the environment's values: frozen, with no unknown field and no number that JSON lacks."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A value that never changes."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
