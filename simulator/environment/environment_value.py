"""The base of the environment's values: frozen, with no unknown field and no number that JSON lacks."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import ConfigDict, Strict

from simulator.base.frozen_value import Value

Number: TypeAlias = Annotated[float, Strict()]
"""A number: no truth value, and no text that looks like one."""

Whole: TypeAlias = Annotated[int, Strict()]
"""A whole number, as strictly."""


class FiniteValue(Value):
    """A value whose numbers are such as JSON has."""

    model_config = ConfigDict(allow_inf_nan=False)
