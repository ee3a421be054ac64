"""Says what an injection rule does to a call: answers it, delays it, changes the answer that follows, or asks a person."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, JsonValue, field_validator, model_validator

from simulator.base.builtin_errors import builtin_error, builtin_name
from simulator.base.json_values import JsonObject, copied
from simulator.environment.environment_value import FiniteValue, Number, Whole
from simulator.environment.injection.distortions import Distortion

MAX_LATENCY_SECONDS = 120.0

# ---------------------------------------------------------------- latency


class UniformLatency(FiniteValue):
    """Any time between two, in seconds, each as likely as the other."""

    kind: Literal["uniform"] = "uniform"
    low: Number = Field(ge=0.0, le=MAX_LATENCY_SECONDS)
    high: Number = Field(ge=0.0, le=MAX_LATENCY_SECONDS)

    @model_validator(mode="after")
    def _is_ordered(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low is {self.low:g} s, which is above high, {self.high:g} s")
        return self


class LogNormalLatency(FiniteValue):
    """Mostly near `median` seconds, with a long tail: `sigma` is the spread of its logarithm. Cut at 120 s."""

    kind: Literal["log_normal"] = "log_normal"
    median: Number = Field(gt=0.0, le=MAX_LATENCY_SECONDS)
    sigma: Number = Field(default=0.5, ge=0.0, le=3.0)


LatencySpread: TypeAlias = Annotated[UniformLatency | LogNormalLatency, Field(discriminator="kind")]

# ---------------------------------------------------------------- effects that answer


class _Templated(FiniteValue):
    """An effect whose texts can hold `{{ ... }}`, which are filled in from the call where it is `templated`."""

    templated: bool = False

    @model_validator(mode="after")
    def _can_be_filled_in(self) -> Self:
        if self.templated:
            # Templates bring a library that takes longer to import than all else here, and few rules have one.
            from simulator.environment.expressions.templates import check_template  # noqa: PLC0415 - see above

            check_template(self.model_dump(mode="json", exclude={"kind", "templated", "then", "error_type"}))
        return self


class ErrorEffect(_Templated):
    """Answers with ADK's error dict: `{"error_code": ..., "error_message": ...}`, and what else `details` says."""

    kind: Literal["error"] = "error"
    error_code: Whole
    error_message: str
    details: JsonObject = Field(default_factory=dict)

    def response(self) -> JsonObject:
        """Return the dict that the agent sees."""
        return {"error_code": self.error_code, "error_message": self.error_message, **copied(self.details)}


class ResponseEffect(_Templated):
    """Answers with a fixed dict; `{}` is a response too. Where it is `templated`, `{{ ... }}` in its texts is filled in."""

    kind: Literal["response"] = "response"
    value: JsonObject

    def response(self) -> JsonObject:
        """Return the dict that the agent sees: a copy, so that no change of it reaches a later answer."""
        answer: JsonObject = copied(self.value)
        return answer


class SequenceEffect(_Templated):
    """Answers with one value after the other, each time that the rule fires; `then` says what follows the last.

    `repeat` gives the last one again, `cycle` begins anew, `pass` lets the call go on to the next rule.
    """

    kind: Literal["sequence"] = "sequence"
    values: tuple[JsonValue, ...] = Field(min_length=1)
    then: Literal["repeat", "cycle", "pass"] = "repeat"


class RaiseEffect(_Templated):
    """Raises an exception: a builtin by its name, or `module:Name` of a module that the agent has imported."""

    kind: Literal["raise"] = "raise"
    error_type: str = Field(
        default="RuntimeError", pattern=r"^([A-Za-z_][\w.]*:)?[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"
    )
    message: str = ""

    @field_validator("error_type")
    @classmethod
    def _can_be_raised(cls, error_type: str) -> str:
        # Of another module, only the run can tell, when the agent has imported it.
        name = builtin_name(error_type)
        if name and builtin_error(name, "") is None:
            raise ValueError(
                f"{name!r} is not a builtin exception that a tool can raise, such as TimeoutError; "
                "write an exception of a module as module:Name"
            )
        return error_type


class HangEffect(FiniteValue):
    """Gives no answer until the turn is stopped, or until `timeout_seconds` have passed: then it raises `TimeoutError`."""

    kind: Literal["hang"] = "hang"
    timeout_seconds: Number | None = Field(default=None, gt=0.0, le=3600.0)
    message: str = "The tool did not answer in time."


# ---------------------------------------------------------------- effects on the answer that follows


class DelayEffect(FiniteValue):
    """Only takes its time: the tool's player answers after the rule's latency."""

    kind: Literal["delay"] = "delay"


class DistortEffect(FiniteValue):
    """Changes whatever answer follows, step by step; what really happened in the world stays."""

    kind: Literal["distort"] = "distort"
    distortions: tuple[Distortion, ...] = Field(min_length=1)


class LoseEffect(FiniteValue):
    """Loses whatever answer follows: the call takes effect in the world, and the agent sees a timeout."""

    kind: Literal["lose"] = "lose"
    way: Literal["error", "raise"] = "error"
    error_code: Whole = 504
    message: str = "The request timed out. It may or may not have taken effect."


class AskEffect(FiniteValue):
    """Leaves the call to a person instead of the tool's player; `note` tells them why."""

    kind: Literal["ask"] = "ask"
    note: str = ""


Effect: TypeAlias = Annotated[
    ErrorEffect
    | ResponseEffect
    | SequenceEffect
    | RaiseEffect
    | HangEffect
    | DelayEffect
    | DistortEffect
    | LoseEffect
    | AskEffect,
    Field(discriminator="kind"),
]

LETS_GO_ON = ("delay", "distort", "lose")
"""Kinds of effects after which the rules that follow, or else the tool's player, answer the call."""

OF_A_RESPONSE = ("delay", "distort")
"""Kinds of effects of one call that need a response, which comes late or is changed."""

OF_ONE_CALL = ("error", "response", "sequence", "raise", "hang", *OF_A_RESPONSE)
"""Kinds of effects that a person can let answer one call: a lost response has to reach the world, and the others do not answer."""
