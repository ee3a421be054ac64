"""The base of the environment's values: frozen, with no unknown field and no number that JSON lacks."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Strict

Number: TypeAlias = Annotated[float, Strict()]
"""A number: no truth value, and no text that looks like one."""

Whole: TypeAlias = Annotated[int, Strict()]
"""A whole number, as strictly."""


class Value(BaseModel):
    """A value that never changes."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
