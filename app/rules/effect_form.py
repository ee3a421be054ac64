"""Turns what a rule does into the inputs of its editor, and back.

The inputs of each kind of effect have names of their own, so that nothing is lost while a person looks at another.
The inputs of the distortion in row 3 are called `d3.kind`, `d3.at` and so on, the texts of a sequence `s3.value`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, TypeVar, assert_never

from pydantic import JsonValue, ValidationError

from app.forms.typed_fields import Fields, UnreadableInputError, as_percent
from app.forms.typed_json import write_json
from simulator.base.json_values import JsonObject
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

LATENCIES = {"none": "None", "fixed": "Fixed", "uniform": "Range", "log_normal": "Long tail"}
THEN = {"repeat": "repeat the last", "cycle": "start over", "pass": "let the call through"}
WAYS = {"error": "Error dict", "raise": "Raised TimeoutError"}
DISTORTIONS = {
    "truncate": "Truncate text",
    "drop": "Remove fields",
    "corrupt": "Corrupt values",
    "wrong_type": "Use wrong types",
    "null": "Set values to null",
    "empty_list": "Empty lists",
    "duplicate": "Repeat list items",
    "stale": "Return an old response",
    "huge": "Inflate the response",
    "malformed": "Break the JSON",
    "hostile": "Insert hostile text",
}
AMOUNTS = {
    "truncate": "Characters kept",
    "duplicate": "Times repeated",
    "stale": "Responses back",
    "huge": "Size in bytes",
}
"""What the amount of a distortion means, for the kinds that have one."""

Seeds: TypeAlias = dict[str, JsonValue]
_Made = TypeVar("_Made")


# ---------------------------------------------------------------- an effect becomes inputs, and they become an effect


def seed_effect(effect: Effect) -> Seeds:
    """Return what the inputs hold at first."""
    return {"e.kind": effect.kind, **EFFECTS[effect.kind].seed(effect)}


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


def read_effect(fields: Fields) -> Effect:
    """Read what the rule does.

    Raises:
        UnreadableError: An input says nothing usable; it is among the fields' problems.
    """
    return EFFECTS[fields.get("e.kind")].read(fields)


def read_distortions(fields: Fields) -> tuple[Distortion, ...]:
    """Read the steps that change an answer, in their order."""
    rows = fields.rows("d")
    if not rows:
        fields.refuse("e.kind", "Add at least one change.")
    return tuple(_each(rows, lambda row: _distortion(fields, f"d{row}")))


def _distortion(fields: Fields, at: str) -> Distortion:
    kind = fields.get(f"{at}.kind")
    percent = fields.number(f"{at}.share", "Enter the share of places, up to 100 %.")
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
    words = "Enter a number of seconds."
    names = {name: name for name in ("low", "high", "median", "sigma")}
    match fields.get("l.kind"):
        case "fixed":
            seconds = fields.number("l.seconds", words)
            if not 0 <= seconds <= MAX_LATENCY_SECONDS:
                fields.refuse("l.seconds", f"Enter a number from 0 to {MAX_LATENCY_SECONDS:g}.")
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
    failed: UnreadableInputError | None = None
    for row in rows:
        try:
            found.append(read(row))
        except UnreadableInputError as error:
            failed = error
    if failed:
        raise failed
    return found


# ---------------------------------------------------------------- all effects, each described once


class EffectInputs(NamedTuple):
    """What the editor knows of a kind of effect.

    Attributes:
        label: What it is called there.
        start: What its inputs hold as long as nobody has written into them.
        seed: Returns what its inputs hold for an effect.
        read: Reads an effect out of its inputs.
    """

    label: str
    start: Seeds
    seed: Callable[[Any], Seeds]
    read: Callable[[Fields], Effect]


class _Input(NamedTuple):
    """An input for one field of an effect: what its name ends with, how it is read, and what it holds for a value of the field.

    `unfit` stands for whatever the effect says of a value that it does not take.
    """

    field: str
    name: str
    read: Callable[[Fields, str], Any]
    seed: Callable[[Any], JsonValue] = lambda value: value
    unfit: str = ""


def _effect(label: str, start: Effect, *inputs: _Input, whole: str = "") -> EffectInputs:
    """Describe a kind of effect that has an input for each field; what is wrong with all of it is told at the input `whole`."""
    kind, model = start.kind, type(start)
    names = {"": whole} if whole else {}
    names |= {each.field: each.name for each in inputs}

    def seed(effect: Any) -> Seeds:
        return {f"{kind}.{each.name}": each.seed(getattr(effect, each.field)) for each in inputs}

    def read(fields: Fields) -> Effect:
        given = {each.field: each.read(fields, f"{kind}.{each.name}") for each in inputs}
        try:
            return model(**given)
        except ValidationError as error:
            refused = {found["loc"][0] for found in error.errors() if found["loc"]}
            for each in inputs:
                if each.unfit and each.field in refused:
                    fields.refuse(f"{kind}.{each.name}", each.unfit)
            return fields.refuse_all(kind, error, names)

    return EffectInputs(label, seed(start), seed, read)


_templated = _Input("templated", "templated", Fields.flag)
_message = _Input("message", "message", Fields.written)


def _code(fields: Fields, name: str) -> int:
    return fields.whole(name, "Enter an error code.")


def _json_or_nothing(details: JsonObject) -> str:
    return write_json(dict(details)) if details else ""


def _seed_sequence(effect: SequenceEffect) -> Seeds:
    return {
        "s:rows": [*range(len(effect.values))],
        "s:next": len(effect.values),
        **{f"s{row}.value": write_json(value) for row, value in enumerate(effect.values)},
        "sequence.then": effect.then,
        "sequence.templated": effect.templated,
    }


def _read_sequence(fields: Fields) -> SequenceEffect:
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


def _seed_distortions(effect: DistortEffect) -> Seeds:
    seeds: Seeds = {"d:rows": [*range(len(effect.distortions))], "d:next": len(effect.distortions)}
    for row, step in enumerate(effect.distortions):
        seeds |= {f"d{row}.{name}": value for name, value in step.model_dump(mode="json").items()}
        seeds |= {f"d{row}.share": as_percent(step.share), f"d{row}.share:exact": step.share}
    return seeds


EFFECTS: Mapping[str, EffectInputs] = {
    "error": _effect(
        "Return an error",
        ErrorEffect(error_code=503, error_message="Service unavailable"),
        _Input("error_code", "code", _code),
        _Input(
            "error_message",
            "message",
            lambda fields, name: fields.needed(name, "Enter the message that the agent sees."),
        ),
        _Input("details", "details", Fields.object, _json_or_nothing),
        _templated,
        whole="message",
    ),
    "response": _effect(
        "Return a fixed response",
        ResponseEffect(value={}),
        _Input("value", "value", Fields.object, lambda value: write_json(dict(value))),
        _templated,
    ),
    "sequence": EffectInputs(
        "Return a sequence of responses",
        {
            "s.value": "{}",
            "s:rows": [0, 1],
            "s:next": 2,
            "sequence.then": "repeat",
            "sequence.templated": False,
        },
        _seed_sequence,
        _read_sequence,
    ),
    "raise": _effect(
        "Raise an exception",
        RaiseEffect(),
        _Input(
            "error_type",
            "type",
            lambda fields, name: fields.needed(name, "Choose an exception or type its name."),
            unfit="Enter a name such as TimeoutError or httpx:ReadTimeout.",
        ),
        _message,
        _templated,
        whole="message",
    ),
    "hang": _effect(
        "Hang without a response", HangEffect(), _Input("timeout_seconds", "timeout", Fields.get), _message
    ),
    "delay": _effect("Delay the response", DelayEffect()),
    "distort": EffectInputs(
        "Change the response",
        {"d:rows": [0], "d:next": 1, "d.kind": "truncate", "d.at": "", "d.share": 100.0, "d.text": ""},
        _seed_distortions,
        lambda fields: DistortEffect(distortions=read_distortions(fields)),
    ),
    "lose": _effect(
        "Lose the response (the call takes effect)",
        LoseEffect(),
        _Input("way", "way", Fields.get),
        _Input("error_code", "code", _code),
        _message,
    ),
    "ask": _effect("Ask me", AskEffect(), _Input("note", "note", Fields.written)),
}
"""What the editor knows of each kind of effect, in the order in which it offers them."""

DEFAULTS: Mapping[str, JsonValue] = {
    "e.kind": "error",
    **{name: value for each in EFFECTS.values() for name, value in each.start.items()},
    "l.kind": "none",
    "l.seconds": 2.0,
    "l.low": 0.5,
    "l.high": 3.0,
    "l.median": 1.0,
    "l.sigma": 0.5,
}
