"""What a rule does, in its editor: each kind of effect with its inputs, and the time that it takes.

The inputs of each kind of effect have names of their own, so that nothing is lost while a person looks at another.
The inputs of the distortion in row 3 are called `d3.kind`, `d3.at` and so on, the texts of a sequence `s3.value`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import streamlit as st
from pydantic import JsonValue

from app.forms.safe_labels import literal
from app.rules.rule_inputs_panel import (
    Input,
    Inputs,
    Kind,
    Seeds,
    UnreadableInputError,
    as_percent,
    chosen,
    json_seed,
    line,
    number,
    numberless,
    text_read,
)
from simulator.environment.injection.distortions import CATEGORY, Distortion, categories, hostile_texts
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
from simulator.environment.injection.rule_sets import faults

_WIDE = 220
_MIDDLE = 150
_THEN = {"repeat": "repeat the last", "cycle": "start over", "pass": "let the call through"}
_WAYS = {"error": "Error dict", "raise": "Raised TimeoutError"}
_VARIABLES = """\
{{ args.order_id }}        an argument of the call
{{ state.user }}           the session's state
{{ world.orders }}         the world, by kind and id
{{ calls | length }}       earlier calls of this tool, each with arguments and response
{{ answers.find_order }}   the last response of another tool
{{ agent }}, {{ call_number }}
{{ fake.name() }}          generated and repeatable: fake.city(), fake.email(), fake.date(), ..."""
_MORE_EXCEPTIONS = ("FileNotFoundError", "TypeError", "NotImplementedError")


# ---------------------------------------------------------------- what the editor offers to start from


@cache
def http_presets() -> dict[str, str]:
    """Return the HTTP errors of the fault library: titles by name."""
    return {
        fault.name: fault.title
        for fault in faults()
        if fault.category == "http" and isinstance(fault.rule("tool", "rule").effect, ErrorEffect)
    }


def http_seeds(name: str) -> Seeds:
    """Return what the inputs of an error hold for one of them."""
    fault = next(each for each in faults() if each.name == name)
    return seed_effect(fault.rule("tool", "rule").effect)


@cache
def exceptions() -> tuple[str, ...]:
    """Return the exceptions that tools raise, most likely ones first."""
    effects = (fault.rule("tool", "rule").effect for fault in faults())
    named = (effect.error_type for effect in effects if isinstance(effect, RaiseEffect))
    return tuple(dict.fromkeys((*named, *_MORE_EXCEPTIONS)))


@cache
def hostile_names() -> dict[str, str]:
    """Return what may stand for a hostile text, with words for a person: any of a category, or one by its name."""
    any_of = {f"{CATEGORY}{each}": f"Any: {each.replace('_', ' ')}" for each in categories()}
    return any_of | {text.name: text.title for text in hostile_texts()}


# ---------------------------------------------------------------- inputs of several effects


def _draw_templated(inputs: Inputs, name: str) -> None:
    words = "Fills placeholders from the call, the session and generated data"
    if inputs.flag("Fill in {{ ... }}", name, help=words):
        with st.expander("Available placeholders"):
            st.code(literal(_VARIABLES), language=None)


_templated = Input("templated", _draw_templated, Inputs.is_on)
_message = line("message", "Message")


def _code(inputs: Inputs, name: str) -> int:
    return int(inputs.amount(name, "Enter an error code."))


def _draw_code(inputs: Inputs, name: str) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        inputs.number("Error code", name, step=1, width=_MIDDLE)
        key = inputs.kept.key("error:preset")
        st.menu_button(
            "HTTP preset",
            list(http_presets()),
            key=key,
            format_func=http_presets().__getitem__,
            on_click=_preset,
            args=(inputs, key),
        )


def _preset(inputs: Inputs, key: str) -> None:
    chosen = st.session_state.get(key)
    for name, value in http_seeds(chosen).items() if chosen in http_presets() else ():
        inputs.kept.put(name, value)


def _draw_lost_code(inputs: Inputs, name: str) -> None:
    if inputs.get("lose.way") == "error":
        inputs.number("Error code", name, step=1, width=_MIDDLE)


# ---------------------------------------------------------------- responses in turn


def _seed_values(_: str, values: tuple[JsonValue, ...]) -> Seeds:
    seeds: Seeds = {"s:rows": [*range(len(values))], "s:next": len(values)}
    for row, value in enumerate(values):
        seeds |= json_seed(f"s{row}.value", value)
    return seeds


def _read_values(inputs: Inputs, name: str) -> tuple[JsonValue, ...]:
    rows = inputs.rows("s")
    if not rows:
        inputs.refuse(name, "Add at least one response.")
    return inputs.each(rows, lambda row: inputs.json(f"s{row}.value"))


def _draw_values(inputs: Inputs, _: str) -> None:
    rows = inputs.rows("s")
    for place, row in enumerate(rows, start=1):
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="top", wrap=False):
            inputs.area(f"Response {place} (JSON)", f"s{row}.value", height=90)
            inputs.row_buttons("s", row, f"s{row}", f"response {place}", movable=rows)


def _draw_then(inputs: Inputs, name: str) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        inputs.adder("Add response", "s", "s")
        inputs.choice("After the last", name, _THEN, width=_WIDE)


# ---------------------------------------------------------------- changes of the response


_DISTORTIONS = {
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
_AMOUNTS = {
    "truncate": "Characters kept",
    "duplicate": "Times repeated",
    "stale": "Responses back",
    "huge": "Size in bytes",
}
"""What the amount of a distortion means, for the kinds that have one."""


def _distortion(inputs: Inputs, name: str) -> str:
    return str(inputs.get(f"{name.partition('.')[0]}.kind"))


def _draw_amount(inputs: Inputs, name: str) -> None:
    if label := _AMOUNTS.get(_distortion(inputs, name)):
        inputs.number(label, name, min_value=0, step=1, width=_MIDDLE, placeholder="default")


def _draw_hostile(inputs: Inputs, name: str) -> None:
    if _distortion(inputs, name) == "hostile":
        inputs.suggested(
            "Hostile text",
            name,
            (names := hostile_names()),
            placeholder="random from the library, or type any text",
            words=lambda each: names.get(each) or each,
        )


_STEP = Kind(
    "Change",
    Distortion,
    (
        chosen("kind", "Change", _DISTORTIONS, label_visibility="collapsed", width=_WIDE),
        Input(
            "at",
            lambda each, at: each.suggested(
                "Where", at, each.hints.answer_paths, placeholder="everywhere", width=_WIDE
            ),
            Inputs.words,
        ),
        Input(
            "share",
            lambda each, at: each.number(
                "Share of places %", at, max_value=100.0, step=10.0, format="%g", width=_MIDDLE
            ),
            lambda each, at: each.share(at, "Enter the share of places, up to 100 %."),
            lambda name, share: {name: as_percent(share), f"{name}:exact": share},
        ),
        Input(
            "amount",
            _draw_amount,
            lambda each, at: each.get(at) if _distortion(each, at) in _AMOUNTS else None,
        ),
        Input(
            "text",
            _draw_hostile,
            lambda each, at: each.written(at) if _distortion(each, at) == "hostile" else "",
        ),
    ),
    whole="at",
)


def _seed_steps(_: str, steps: tuple[Distortion, ...]) -> Seeds:
    seeds: Seeds = {"d:rows": [*range(len(steps))], "d:next": len(steps)}
    for row, step in enumerate(steps):
        seeds |= _STEP.seed(f"d{row}", step)
    return seeds


def _read_steps(inputs: Inputs, _: str) -> tuple[Distortion, ...]:
    rows = inputs.rows("d")
    if not rows:
        inputs.refuse("e.kind", "Add at least one change.")
    return inputs.each(rows, lambda row: _STEP.read(inputs, f"d{row}"))


def _draw_steps(inputs: Inputs, _: str) -> None:
    rows = inputs.rows("d")
    head, rest = _STEP._replace(inputs=_STEP.inputs[:1]), _STEP._replace(inputs=_STEP.inputs[1:])
    for place, row in enumerate(rows, start=1):
        with st.container(border=True, gap="xsmall", key=inputs.kept.key(f"d{row}:box")):
            with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
                head.draw(inputs, f"d{row}")
                st.space("stretch")
                inputs.row_buttons("d", row, f"d{row}", f"change {place}", movable=rows)
            with st.container(horizontal=True, gap="small", vertical_alignment="top"):
                rest.draw(inputs, f"d{row}")
    inputs.adder("Add change", "d", "d")


# ---------------------------------------------------------------- all effects


def _object(field: str, label: str, height: int, placeholder: str = "") -> Input:
    def draw(inputs: Inputs, name: str) -> None:
        inputs.area(label, name, height=height, placeholder=placeholder or None)

    return Input(field, draw, Inputs.json_object, json_seed)


EFFECTS: Mapping[str, Kind] = {
    "error": Kind(
        "Return an error",
        ErrorEffect,
        (
            Input("error_code", _draw_code, _code, name="code"),
            line("error_message", "Error message", "Enter the message that the agent sees.", name="message"),
            _object("details", "More error fields (JSON object)", 80, '{"retry_after": 30}')._replace(
                seed=lambda name, value: json_seed(name, value) if value else {name: ""}
            ),
            _templated,
        ),
        whole="message",
        start=ErrorEffect(error_code=503, error_message="Service unavailable"),
    ),
    "response": Kind(
        "Return a fixed response",
        ResponseEffect,
        (_object("value", "Response (JSON object)", 180), _templated),
        start=ResponseEffect(value={}),
    ),
    "sequence": Kind(
        "Return a sequence of responses",
        SequenceEffect,
        # What is wrong with all of them is told at the choice of what follows.
        (
            Input("values", _draw_values, _read_values, _seed_values, name="then"),
            Input("then", _draw_then),
            _templated,
        ),
        start=SequenceEffect(values=({}, {})),
    ),
    "raise": Kind(
        "Raise an exception",
        RaiseEffect,
        (
            Input(
                "error_type",
                lambda each, at: each.suggested(
                    "Exception", at, exceptions(), placeholder="TimeoutError, or httpx:ReadTimeout"
                ),
                text_read("Choose an exception or type its name."),
                name="type",
                unfit="Enter a name such as TimeoutError or httpx:ReadTimeout.",
            ),
            _message,
            _templated,
        ),
        whole="message",
        start=RaiseEffect(),
    ),
    "hang": Kind(
        "Hang without a response",
        HangEffect,
        (
            number(
                "timeout_seconds",
                "Seconds until TimeoutError",
                name="timeout",
                min_value=0.1,
                max_value=3600.0,
                format="%g",
                placeholder="empty: until you stop the turn",
            ),
            line("message", "TimeoutError message"),
        ),
        start=HangEffect(),
    ),
    "delay": Kind(
        "Delay the response",
        DelayEffect,
        start=DelayEffect(),
        caption="The call is answered as usual, after the latency below.",
    ),
    "distort": Kind(
        "Change the response",
        DistortEffect,
        (Input("distortions", _draw_steps, _read_steps, _seed_steps),),
        start=DistortEffect(distortions=(Distortion(kind="truncate"),)),
        caption="Applied in this order to the response of any player:",
    ),
    "lose": Kind(
        "Lose the response (the call takes effect)",
        LoseEffect,
        (
            chosen("way", "What the agent sees", _WAYS),
            Input("error_code", _draw_lost_code, _code, name="code"),
            _message,
        ),
        start=LoseEffect(),
        caption="The call changes the world, but the agent does not see the response.",
    ),
    "ask": Kind(
        "Ask me",
        AskEffect,
        (line("note", "Note for you", placeholder="Why this call comes to you"),),
        start=AskEffect(),
    ),
}
"""What the editor knows of each kind of effect, in the order in which it offers them."""


def seed_effect(effect: Effect) -> Seeds:
    """Return what the inputs hold at first."""
    return {"e.kind": effect.kind, **EFFECTS[effect.kind].seed(effect.kind, effect)}


# ---------------------------------------------------------------- latency


def _seconds(field: str, label: str, most: float = MAX_LATENCY_SECONDS, step: float = 0.5) -> Input:
    words = "Enter a number of seconds."
    return number(field, label, words, min_value=0.0, max_value=most, step=step, format="%g", width=_MIDDLE)


def _read_fixed(inputs: Inputs, name: str) -> float:
    seconds = inputs.amount(name, "Enter a number of seconds.")
    if not 0 <= seconds <= MAX_LATENCY_SECONDS:
        inputs.refuse(name, f"Enter a number from 0 to {MAX_LATENCY_SECONDS:g}.")
    return seconds


_LATENCIES: Mapping[str, Kind] = {
    "none": Kind("None", lambda: 0.0),
    "fixed": Kind(
        "Fixed", lambda seconds: seconds, (_seconds("seconds", "Seconds")._replace(read=_read_fixed),)
    ),
    "uniform": Kind(
        "Range", UniformLatency, (_seconds("low", "From (seconds)"), _seconds("high", "To (seconds)"))
    ),
    "log_normal": Kind(
        "Long tail",
        LogNormalLatency,
        (_seconds("median", "Median (seconds)"), _seconds("sigma", "Spread (sigma)", 3.0, 0.1)),
    ),
}

DEFAULTS: Seeds = {
    "e.kind": "error",
    **{
        name: value
        for kind, each in EFFECTS.items()
        for name, value in numberless(each.seed(kind, each.start)).items()
    },
    "l.kind": "none",
    "l.seconds": 2.0,
    "l.low": 0.5,
    "l.high": 3.0,
    "l.median": 1.0,
    "l.sigma": 0.5,
}


def seed_latency(seconds: float, spread: LatencySpread | None) -> Seeds:
    """Return what the inputs of the latency hold at first."""
    if spread is not None:
        return {"l.kind": spread.kind, **_LATENCIES[spread.kind].seed("l", spread)}
    return {"l.kind": "fixed", "l.seconds": seconds} if seconds else {"l.kind": "none"}


def read_latency(inputs: Inputs) -> tuple[float, LatencySpread | None]:
    """Read how long the rule takes: fixed seconds, or a spread."""
    found: Any = _LATENCIES[inputs.get("l.kind")].read(inputs, "l")
    return (found, None) if isinstance(found, float) else (0.0, found)


# ---------------------------------------------------------------- drawing


def then(inputs: Inputs) -> None:
    """Draw the effect and the latency."""
    kind = inputs.choice("Effect", "e.kind", {kind: each.label for kind, each in EFFECTS.items()})
    EFFECTS[kind].draw(inputs, kind)
    kind = inputs.choice(
        "Latency",
        "l.kind",
        {kind: each.label for kind, each in _LATENCIES.items()},
        st.segmented_control,
        required=True,
    )
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        _LATENCIES[kind].draw(inputs, "l")
    _plot(inputs)


def _plot(inputs: Inputs) -> None:
    """Show how the latency is spread, as soon as its numbers can be read."""
    known = dict(inputs.problems)
    try:
        _, spread = read_latency(inputs)
    except UnreadableInputError:
        spread = None
    inputs.problems = known
    if spread is None:
        return
    points = curve(spread)
    st.area_chart(
        {"seconds": [time for time, _ in points], "likelihood": [height for _, height in points]},
        x="seconds",
        y="likelihood",
        height=130,
        alt="Likelihood of each latency",
    )
    half, most, nearly_all = quantiles(spread)
    st.caption(
        f"50 % of calls take less than {half:.2g} s, 90 % less than {most:.2g} s, 99 % less than {nearly_all:.2g} s."
    )


# ---------------------------------------------------------------- how a latency is spread


POINTS = 48
_TAIL = 2.6
_NARROWEST = 1e-3


def curve(spread: LatencySpread) -> tuple[tuple[float, float], ...]:
    """Return points of the distribution: seconds, and how likely they are, from 0 to 1 relative to the likeliest."""
    match spread:
        case UniformLatency():
            return _box(spread.low, spread.high)
        case LogNormalLatency():
            return _tailed(spread.median, spread.sigma)


def quantiles(spread: LatencySpread) -> tuple[float, float, float]:
    """Return the seconds that half, 90 % and 99 % of the calls stay below."""
    match spread:
        case UniformLatency():
            width = spread.high - spread.low
            half, most, nearly_all = (spread.low + share * width for share in (0.5, 0.9, 0.99))
        case LogNormalLatency():
            half, most, nearly_all = (
                min(spread.median * math.exp(z * spread.sigma), MAX_LATENCY_SECONDS)
                for z in (0.0, 1.2816, 2.3263)
            )
    return half, most, nearly_all


def _box(low: float, high: float) -> tuple[tuple[float, float], ...]:
    margin = max((high - low) * 0.25, 0.05)
    start, end = max(low - margin, 0.0), high + margin
    times = [start + (end - start) * step / (POINTS - 1) for step in range(POINTS)]
    return tuple((time, 1.0 if low <= time <= high else 0.0) for time in times)


def _tailed(median: float, sigma: float) -> tuple[tuple[float, float], ...]:
    if sigma < _NARROWEST:
        return _box(median, median)
    end = min(median * math.exp(_TAIL * sigma), MAX_LATENCY_SECONDS)
    times = [end * (step + 1) / POINTS for step in range(POINTS)]
    heights = [math.exp(-(math.log(time / median) ** 2) / (2 * sigma**2)) / time for time in times]
    highest = max(heights)
    return ((0.0, 0.0), *((time, height / highest) for time, height in zip(times, heights, strict=True)))
