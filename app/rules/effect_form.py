"""Turns what a rule does into the inputs of its editor, and back.

The inputs of each kind of effect have names of their own, so that nothing is lost while a person looks at another.
The inputs of the distortion in row 3 are called `d3.kind`, `d3.at` and so on, the texts of a sequence `s3.value`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar, assert_never

from pydantic import JsonValue, ValidationError

from app.forms.typed_fields import Fields, UnreadableError, as_percent
from app.forms.typed_json import write_json
from simulator.environment.injection.distortions import Distortion
from simulator.environment.injection.rule_effects import (
    MAX_LATENCY_SECONDS,
    AskEffect,
    DelayEffect,
    DistortEffect,
    Effect,
    ErrorEffect,
    HangEffect,
    LatencySpread,
    LogNormalLatency,
    LoseEffect,
    RaiseEffect,
    ResponseEffect,
    SequenceEffect,
    UniformLatency,
)

KINDS = {
    "error": "Answer with an error",
    "response": "Answer with a fixed response",
    "sequence": "Answer with one response after the other",
    "raise": "Raise an exception",
    "hang": "Hang: give no answer",
    "delay": "Only take time",
    "distort": "Change the answer that follows",
    "lose": "Lose the answer that follows (it takes effect)",
    "ask": "Ask me",
}
LATENCIES = {"none": "None", "fixed": "Fixed", "uniform": "Between two", "log_normal": "Long tail"}
THEN = {"repeat": "the last one again", "cycle": "from the first again", "pass": "let the call go on"}
WAYS = {"error": "An error dict", "raise": "A raised TimeoutError"}
DISTORTIONS = {
    "truncate": "Cut texts",
    "drop": "Drop fields",
    "corrupt": "Corrupt values",
    "wrong_type": "Give the wrong type",
    "null": "Make values null",
    "empty_list": "Empty lists",
    "duplicate": "Repeat items of lists",
    "stale": "Give an earlier answer",
    "huge": "Blow the answer up",
    "malformed": "Break the JSON",
    "hostile": "Put hostile text in",
}
AMOUNTS = {
    "truncate": "Characters left",
    "duplicate": "Times repeated",
    "stale": "Answers ago",
    "huge": "Size in bytes",
}
"""What the amount of a distortion means, for the kinds that have one."""

DEFAULTS: Mapping[str, JsonValue] = {
    "e.kind": "error",
    "error.code": 503,
    "error.message": "Service unavailable",
    "error.details": "",
    "error.templated": False,
    "response.value": "{}",
    "response.templated": False,
    "s.value": "{}",
    "s:rows": [0, 1],
    "s:next": 2,
    "sequence.then": "repeat",
    "sequence.templated": False,
    "raise.type": "RuntimeError",
    "raise.message": "",
    "raise.templated": False,
    "hang.message": "The tool did not answer in time.",
    "d:rows": [0],
    "d:next": 1,
    "d.kind": "truncate",
    "d.at": "",
    "d.share": 100.0,
    "d.text": "",
    "lose.way": "error",
    "lose.code": 504,
    "lose.message": "The request timed out. It may or may not have taken effect.",
    "ask.note": "",
    "l.kind": "none",
    "l.seconds": 2.0,
    "l.low": 0.5,
    "l.high": 3.0,
    "l.median": 1.0,
    "l.sigma": 0.5,
}
Seeds: TypeAlias = dict[str, JsonValue]
_Made = TypeVar("_Made")


# ---------------------------------------------------------------- an effect becomes inputs


def seed_effect(effect: Effect) -> Seeds:  # noqa: C901 - one case for each kind
    """Return what the inputs hold at first."""
    seeds: Seeds = {"e.kind": effect.kind}
    match effect:
        case ErrorEffect():
            details = write_json(dict(effect.details)) if effect.details else ""
            seeds |= {"error.code": effect.error_code, "error.message": effect.error_message}
            seeds |= {"error.details": details, "error.templated": effect.templated}
        case ResponseEffect():
            seeds |= {
                "response.value": write_json(dict(effect.value)),
                "response.templated": effect.templated,
            }
        case SequenceEffect():
            seeds |= {"s:rows": [*range(len(effect.values))], "s:next": len(effect.values)}
            seeds |= {f"s{row}.value": write_json(value) for row, value in enumerate(effect.values)}
            seeds |= {"sequence.then": effect.then, "sequence.templated": effect.templated}
        case RaiseEffect():
            seeds |= {"raise.type": effect.error_type, "raise.message": effect.message}
            seeds["raise.templated"] = effect.templated
        case HangEffect():
            seeds |= {"hang.timeout": effect.timeout_seconds, "hang.message": effect.message}
        case DistortEffect():
            seeds |= {"d:rows": [*range(len(effect.distortions))], "d:next": len(effect.distortions)}
            for row, step in enumerate(effect.distortions):
                seeds |= {f"d{row}.{name}": value for name, value in step.model_dump(mode="json").items()}
                seeds |= {f"d{row}.share": as_percent(step.share), f"d{row}.share:exact": step.share}
        case LoseEffect():
            seeds |= {"lose.way": effect.way, "lose.code": effect.error_code, "lose.message": effect.message}
        case AskEffect():
            seeds["ask.note"] = effect.note
        case DelayEffect():
            pass
        case never:
            assert_never(never)
    return seeds


def seed_latency(seconds: float, spread: LatencySpread | None) -> Seeds:
    """Return what the inputs of the latency hold at first."""
    match spread:
        case None if seconds:
            return {"l.kind": "fixed", "l.seconds": seconds}
        case None:
            return {"l.kind": "none"}
        case UniformLatency() | LogNormalLatency():
            return {f"l.{name}": value for name, value in spread.model_dump(mode="json").items()}
        case never:
            assert_never(never)


# ---------------------------------------------------------------- inputs become an effect


def read_effect(fields: Fields) -> Effect:  # noqa: PLR0911 - one case for each kind
    """Read what the rule does.

    Raises:
        UnreadableError: An input says nothing usable; it is among the fields' problems.
    """
    match fields.get("e.kind"):
        case "error":
            return _error(fields)
        case "response":
            value = fields.object("response.value")
            return _made(
                fields,
                "response",
                {"value": "value"},
                lambda: ResponseEffect(value=value, templated=fields.flag("response.templated")),
            )
        case "sequence":
            return _sequence(fields)
        case "raise":
            return _raise(fields)
        case "hang":
            return _hang(fields)
        case "distort":
            return DistortEffect(distortions=read_distortions(fields))
        case "lose":
            return LoseEffect(
                way=fields.get("lose.way"),
                error_code=fields.whole("lose.code", "Write the code of the error."),
                message=fields.written("lose.message"),
            )
        case "ask":
            return AskEffect(note=fields.written("ask.note"))
        case _:
            return DelayEffect()


def _hang(fields: Fields) -> HangEffect:
    return _made(
        fields,
        "hang",
        {"timeout_seconds": "timeout", "message": "message"},
        lambda: HangEffect(
            timeout_seconds=fields.get("hang.timeout"), message=fields.written("hang.message")
        ),
    )


def _error(fields: Fields) -> ErrorEffect:
    code = fields.whole("error.code", "Write the code of the error.")
    message = fields.needed("error.message", "Write the message that the agent shall see.")
    details = fields.object("error.details")
    return _made(
        fields,
        "error",
        {"error_message": "message", "details": "details"},
        lambda: ErrorEffect(
            error_code=code,
            error_message=message,
            details=details,
            templated=fields.flag("error.templated"),
        ),
    )


def _sequence(fields: Fields) -> SequenceEffect:
    rows = fields.rows("s")
    if not rows:
        fields.refuse("sequence.then", "Add at least one response.")
    values = _each(rows, lambda row: fields.json(f"s{row}.value"))
    return _made(
        fields,
        "sequence",
        {"values": "then"},
        lambda: SequenceEffect(
            values=tuple(values),
            then=fields.get("sequence.then"),
            templated=fields.flag("sequence.templated"),
        ),
    )


def _raise(fields: Fields) -> RaiseEffect:
    named = fields.needed("raise.type", "Choose an exception, or type the name of one.")
    try:
        return RaiseEffect(
            error_type=named,
            message=fields.written("raise.message"),
            templated=fields.flag("raise.templated"),
        )
    except ValidationError as error:
        if any(found["loc"][:1] == ("error_type",) for found in error.errors()):
            fields.refuse("raise.type", "Write a name such as TimeoutError, or httpx:ReadTimeout.")
        return fields.refuse_all("raise", error, {"message": "message"})


def read_distortions(fields: Fields) -> tuple[Distortion, ...]:
    """Read the steps that change an answer, in their order."""
    rows = fields.rows("d")
    if not rows:
        fields.refuse("e.kind", "Add at least one change.")
    return tuple(_each(rows, lambda row: _distortion(fields, f"d{row}")))


def _distortion(fields: Fields, at: str) -> Distortion:
    kind = fields.get(f"{at}.kind")
    percent = fields.number(f"{at}.share", "Write the share of the places, up to 100 %.")
    amount = fields.get(f"{at}.amount")
    return _made(
        fields,
        at,
        {"at": "at", "share": "share", "amount": "amount", "text": "text", "kind": "kind"},
        lambda: Distortion(
            kind=kind,
            at=fields.line(f"{at}.at"),
            share=fields.exact(f"{at}.share", percent),
            amount=amount if kind in AMOUNTS else None,
            text=fields.written(f"{at}.text") if kind == "hostile" else "",
        ),
    )


def read_latency(fields: Fields) -> tuple[float, LatencySpread | None]:
    """Read how long the rule takes: fixed seconds, or a spread."""
    words = "Write a number of seconds."
    names = {name: name for name in ("low", "high", "median", "sigma")}
    match fields.get("l.kind"):
        case "fixed":
            seconds = fields.number("l.seconds", words)
            if not 0 <= seconds <= MAX_LATENCY_SECONDS:
                fields.refuse("l.seconds", f"Write a number from 0 to {MAX_LATENCY_SECONDS:g}.")
            return seconds, None
        case "uniform":
            low, high = fields.number("l.low", words), fields.number("l.high", words)
            return 0.0, _made(fields, "l", names, lambda: UniformLatency(low=low, high=high))
        case "log_normal":
            median, sigma = fields.number("l.median", words), fields.number("l.sigma", words)
            spread = _made(
                fields,
                "l",
                {"median": "median", **names},
                lambda: LogNormalLatency(median=median, sigma=sigma),
            )
            return 0.0, spread
        case _:
            return 0.0, None


def _made(fields: Fields, at: str, names: Mapping[str, str], make: Callable[[], _Made]) -> _Made:
    try:
        return make()
    except ValidationError as error:
        return fields.refuse_all(at, error, names)


def _each(rows: list[int], read: Callable[[int], _Made]) -> list[_Made]:
    """Read every row, so that each that says nothing usable is named."""
    found: list[Any] = []
    failed: UnreadableError | None = None
    for row in rows:
        try:
            found.append(read(row))
        except UnreadableError as error:
            failed = error
    if failed:
        raise failed
    return found
