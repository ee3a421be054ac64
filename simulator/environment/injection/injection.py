"""Describes an injection rule: for which calls it is, how likely, how slow, and what it does."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from simulator.base.json_values import JsonObject
from simulator.environment.environment_value import FiniteValue, Number, Whole
from simulator.environment.injection.conditions import Condition
from simulator.environment.injection.rule_effects import MAX_LATENCY_SECONDS, Effect, LatencySpread

EVERY_TOOL = "*"
"""The tool name of a rule for every tool."""


class InjectionRule(FiniteValue):
    """One injection for one tool, or for every tool (`*`).

    `match_args` asks for equality of each named argument at the top level, `when` for anything else. `latency_seconds`
    is fixed, `latency` is drawn for each call; a rule has one of the two. `random_seed` starts this rule's own stream
    of draws; without one the stream comes from the session's seed, so every run can be repeated.
    """

    rule_id: str = Field(min_length=1)
    tool_name: str = Field(min_length=1)
    effect: Effect
    label: str = ""
    enabled: bool = True
    probability: Number = Field(default=1.0, ge=0.0, le=1.0)
    match_args: JsonObject | None = None
    when: Condition | None = None
    latency_seconds: Number = Field(default=0.0, ge=0.0, le=MAX_LATENCY_SECONDS)
    latency: LatencySpread | None = None
    random_seed: Whole | None = None

    @model_validator(mode="after")
    def _has_one_latency(self) -> Self:
        if self.latency_seconds and self.latency is not None:
            raise ValueError("latency_seconds and latency are both set; set one")
        return self
