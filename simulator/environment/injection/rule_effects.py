"""Says what an injection rule does to a call: answers it, delays it, changes the answer that follows, or asks a person.

Those that answer also say what they answer to one call (`AnsweringEffect.answered`); what the others do to an answer or to time is the runtime's.
"""

from __future__ import annotations

import builtins
import math
from abc import abstractmethod
from collections.abc import Mapping
from random import Random
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import Field, JsonValue, field_validator, model_validator

from simulator.base.frozen_value import FiniteValue, Number, Whole
from simulator.base.json_values import Json, JsonObject, copied
from simulator.environment.expressions.expressions import TemplateError, check_template, filled
from simulator.environment.injection.distortions import Distortion

MAX_LATENCY_SECONDS = 120.0


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

    def seconds(self, draw: Random) -> float:
        """Draw a time."""
        return draw.uniform(self.low, self.high)


class LogNormalLatency(FiniteValue):
    """Mostly near `median` seconds, with a long tail: `sigma` is the spread of its logarithm. Cut at 120 s."""

    kind: Literal["log_normal"] = "log_normal"
    median: Number = Field(gt=0.0, le=MAX_LATENCY_SECONDS)
    sigma: Number = Field(default=0.5, ge=0.0, le=3.0)

    def seconds(self, draw: Random) -> float:
        """Draw a time."""
        return min(draw.lognormvariate(math.log(self.median), self.sigma), MAX_LATENCY_SECONDS)


LatencySpread: TypeAlias = Annotated[UniformLatency | LogNormalLatency, Field(discriminator="kind")]


_PREFIX = "builtins:"


def builtin_name(error_type: str) -> str:
    """Return the name of a builtin, written with its module or without; empty for one of another module."""
    name = error_type.removeprefix(_PREFIX)
    return "" if ":" in name else name


def builtin_error(name: str, message: str) -> Exception | None:
    """Make a builtin exception; None where there is none of that name that an agent could handle."""
    kind = getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return None
    if issubclass(kind, UnicodeDecodeError):
        return kind("utf-8", b"\x80", 0, 1, message)
    if issubclass(kind, UnicodeEncodeError):
        return kind("ascii", "\x80", 0, 1, message)
    if issubclass(kind, UnicodeTranslateError):
        return kind("\x80", 0, 1, message)
    if issubclass(kind, ExceptionGroup):
        return kind(message, [RuntimeError(message)])
    return kind(message)


class RuleEffect(FiniteValue):
    """What a rule does."""

    @property
    def most(self) -> float:
        """How often it can be done."""
        return math.inf


class GivesValue(FiniteValue):
    """The tool gives this value; the agent sees a dict as it is and anything else as `{"result": value}`."""

    kind: Literal["value"] = "value"
    value: Json


class PassesOn(FiniteValue):
    """The rule has nothing more to say: the next rule, or else the tool's player, answers; `reason` says why."""

    kind: Literal["passes_on"] = "passes_on"
    reason: str


class AnsweringEffect(RuleEffect):
    """An effect that says by itself what the agent gets. `{{ ... }}` in its texts is filled in where it is `templated`."""

    templated: bool = False

    @model_validator(mode="after")
    def _can_be_filled_in(self) -> Self:
        if self.templated:
            check_template(self.model_dump(mode="json", exclude={"kind", "templated", "then", "error_type"}))
        return self

    @abstractmethod
    def answered(self, variables: Mapping[str, object], fired_before: int) -> Realized:
        """Say what it answers to one call: a value, or the effect itself, filled in, where that is an error.

        Args:
            variables: What its templates can name (`templates.variables_of`); not read where it is not `templated`.
            fired_before: How often the rule fired in this session before this call.

        Raises:
            TemplateError: A template has no value; says where in the effect.
        """

    def _filled(self, value: JsonValue, place: str, variables: Mapping[str, object]) -> Any:
        if not self.templated:
            return copied(value)
        try:
            return filled(value, variables)
        except TemplateError as error:
            separator = "." if error.place and not error.place.startswith("[") else ""
            raise TemplateError(f"{place}{separator}{error.place}", error.reason) from error

    def _filled_text(self, text: str, place: str, variables: Mapping[str, object]) -> str:
        said = self._filled(text, place, variables)
        # What one expression alone makes may be no text: with a blank behind it, it is written as one.
        return said if isinstance(said, str) else str(self._filled(f"{text} ", place, variables))[:-1]


class ErrorEffect(AnsweringEffect):
    """Answers with ADK's error dict: `{"error_code": ..., "error_message": ...}`, and what else `details` says."""

    kind: Literal["error"] = "error"
    error_code: Whole
    error_message: str
    details: JsonObject = Field(default_factory=dict)

    def response(self) -> JsonObject:
        """Return the dict that the agent sees."""
        return {"error_code": self.error_code, "error_message": self.error_message, **copied(self.details)}

    def answered(self, variables: Mapping[str, object], fired_before: int) -> ErrorEffect:  # noqa: ARG002 - the base's
        """Return the error, filled in."""
        message = self._filled_text(self.error_message, "error_message", variables)
        details = self._filled(self.details, "details", variables)
        return ErrorEffect(error_code=self.error_code, error_message=message, details=details)


class ResponseEffect(AnsweringEffect):
    """Answers with a fixed dict; `{}` is a response too. Where it is `templated`, `{{ ... }}` in its texts is filled in."""

    kind: Literal["response"] = "response"
    value: JsonObject

    def response(self) -> JsonObject:
        """Return the dict that the agent sees: a copy, so that no change of it reaches a later answer."""
        answer: JsonObject = copied(self.value)
        return answer

    def answered(self, variables: Mapping[str, object], fired_before: int) -> GivesValue:  # noqa: ARG002 - the base's
        """Return the dict, filled in."""
        return GivesValue(value=self._filled(self.value, "value", variables))


class SequenceEffect(AnsweringEffect):
    """Answers with one value after the other, each time that the rule fires; `then` says what follows the last.

    `repeat` gives the last one again, `cycle` begins anew, `pass` lets the call go on to the next rule.
    """

    kind: Literal["sequence"] = "sequence"
    values: tuple[JsonValue, ...] = Field(min_length=1)
    then: Literal["repeat", "cycle", "pass"] = "repeat"

    @property
    def most(self) -> float:
        """As often as there are values, where other rules answer after them."""
        return len(self.values) if self.then == "pass" else math.inf

    def answered(self, variables: Mapping[str, object], fired_before: int) -> GivesValue | PassesOn:
        """Return the value whose turn it is."""
        count = len(self.values)
        if fired_before >= self.most:
            return PassesOn(reason=f"its {count} values are used up")
        index = fired_before % count if self.then == "cycle" else min(fired_before, count - 1)
        return GivesValue(value=self._filled(self.values[index], f"values[{index}]", variables))


class RaiseEffect(AnsweringEffect):
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

    def answered(self, variables: Mapping[str, object], fired_before: int) -> RaiseEffect:  # noqa: ARG002 - the base's
        """Return the exception, its message filled in."""
        message = self._filled_text(self.message, "message", variables)
        return RaiseEffect(error_type=self.error_type, message=message)


Realized: TypeAlias = GivesValue | ErrorEffect | RaiseEffect | PassesOn
"""What an effect answers to one call, its templates filled in."""


class HangEffect(RuleEffect):
    """Gives no answer until the turn is stopped, or until `timeout_seconds` have passed: then it raises `TimeoutError`."""

    kind: Literal["hang"] = "hang"
    timeout_seconds: Number | None = Field(default=None, gt=0.0, le=3600.0)
    message: str = "The tool did not answer in time."


class DelayEffect(RuleEffect):
    """Only takes its time: the tool's player answers after the rule's latency."""

    kind: Literal["delay"] = "delay"


class DistortEffect(RuleEffect):
    """Changes whatever answer follows, step by step; what really happened in the world stays."""

    kind: Literal["distort"] = "distort"
    distortions: tuple[Distortion, ...] = Field(min_length=1)


class LoseEffect(RuleEffect):
    """Loses whatever answer follows: the call takes effect in the world, and the agent sees a timeout."""

    kind: Literal["lose"] = "lose"
    way: Literal["error", "raise"] = "error"
    error_code: Whole = 504
    message: str = "The request timed out. It may or may not have taken effect."


class AskEffect(RuleEffect):
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
