"""Draws what a rule does: the kind of its effect, with inputs of its own for each, and the time that it takes."""

from __future__ import annotations

import streamlit as st

from app.forms.safe_labels import literal
from app.forms.typed_fields import UnreadableInputError
from app.rules.effect_form import AMOUNTS, DISTORTIONS, EFFECTS, LATENCIES, THEN, WAYS, read_latency
from app.rules.latency_plot import curve, quantiles
from app.rules.preset_texts import exceptions, hostile_names, http_presets, http_seeds
from app.rules.rule_inputs_panel import Inputs
from simulator.environment.injection.rule_effects import MAX_LATENCY_SECONDS

_WIDE = 220
_MIDDLE = 150
_TEMPLATED = "Fill in {{ ... }}"
_VARIABLES = """\
{{ args.order_id }}        an argument of the call
{{ state.user }}           the session's state
{{ world.orders }}         the world, by kind and id
{{ calls | length }}       earlier calls of this tool, each with arguments and response
{{ answers.find_order }}   the last response of another tool
{{ agent }}, {{ call_number }}
{{ fake.name() }}          generated and repeatable: fake.city(), fake.email(), fake.date(), ..."""


def then(inputs: Inputs, paths: tuple[str, ...]) -> None:
    """Draw the effect and the latency; `paths` are suggested as places of an answer."""
    kind = inputs.choice("Effect", "e.kind", {kind: each.label for kind, each in EFFECTS.items()})
    match kind:
        case "error":
            _error(inputs)
        case "response":
            inputs.area("Response (JSON object)", "response.value", height=180)
            _templated(inputs, "response.templated")
        case "sequence":
            _sequence(inputs)
        case "raise":
            inputs.suggested(
                "Exception", "raise.type", exceptions(), placeholder="TimeoutError, or httpx:ReadTimeout"
            )
            inputs.line("Message", "raise.message")
            _templated(inputs, "raise.templated")
        case "hang":
            _hang(inputs)
        case "distort":
            _distortions(inputs, paths)
        case "lose":
            _lose(inputs)
        case "ask":
            inputs.line("Note for you", "ask.note", placeholder="Why this call comes to you")
        case _:
            st.caption("The call is answered as usual, after the latency below.")
    _latency(inputs)


def _error(inputs: Inputs) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        inputs.number("Error code", "error.code", step=1, width=_MIDDLE)
        key = inputs.kept.key("error:preset")
        st.menu_button(
            "HTTP preset",
            list(http_presets()),
            key=key,
            format_func=http_presets().__getitem__,
            on_click=_preset,
            args=(inputs, key),
        )
    inputs.line("Error message", "error.message")
    inputs.area(
        "More error fields (JSON object)",
        "error.details",
        height=80,
        placeholder='{"retry_after": 30}',
    )
    _templated(inputs, "error.templated")


def _preset(inputs: Inputs, key: str) -> None:
    chosen = st.session_state.get(key)
    for name, value in http_seeds(chosen).items() if chosen in http_presets() else ():
        inputs.kept.put(name, value)


def _sequence(inputs: Inputs) -> None:
    rows = inputs.fields.rows("s")
    for place, row in enumerate(rows, start=1):
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="top", wrap=False):
            inputs.area(f"Response {place} (JSON)", f"s{row}.value", height=90)
            inputs.row_buttons("s", row, f"s{row}", f"response {place}", movable=rows)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.button(
            "Add response",
            key=inputs.kept.key("s:add"),
            icon=":material/add:",
            on_click=inputs.add_row,
            args=("s", "s"),
        )
        inputs.choice("After the last", "sequence.then", THEN, width=_WIDE)
    _templated(inputs, "sequence.templated")


def _templated(inputs: Inputs, name: str) -> None:
    if inputs.flag(_TEMPLATED, name, help="Fills placeholders from the call, the session and generated data"):
        with st.expander("Available placeholders"):
            st.code(literal(_VARIABLES), language=None)


def _hang(inputs: Inputs) -> None:
    inputs.number(
        "Seconds until TimeoutError",
        "hang.timeout",
        min_value=0.1,
        max_value=3600.0,
        format="%g",
        placeholder="empty: until you stop the turn",
    )
    inputs.line("TimeoutError message", "hang.message")


def _lose(inputs: Inputs) -> None:
    st.caption("The call changes the world, but the agent does not see the response.")
    if inputs.choice("What the agent sees", "lose.way", WAYS) == "error":
        inputs.number("Error code", "lose.code", step=1, width=_MIDDLE)
    inputs.line("Message", "lose.message")


def _distortions(inputs: Inputs, paths: tuple[str, ...]) -> None:
    st.caption("Applied in this order to the response of any player:")
    rows = inputs.fields.rows("d")
    for place, row in enumerate(rows, start=1):
        with st.container(border=True, gap="xsmall", key=inputs.kept.key(f"d{row}:box")):
            _step(inputs, row, f"change {place}", rows, paths)
    st.button(
        "Add change",
        key=inputs.kept.key("d:add"),
        icon=":material/add:",
        on_click=inputs.add_row,
        args=("d", "d"),
    )


def _step(inputs: Inputs, row: int, what: str, rows: list[int], paths: tuple[str, ...]) -> None:
    at = f"d{row}"
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        kind = inputs.choice("Change", f"{at}.kind", DISTORTIONS, label_visibility="collapsed", width=_WIDE)
        st.space("stretch")
        inputs.row_buttons("d", row, at, what, movable=rows)
    with st.container(horizontal=True, gap="small", vertical_alignment="top"):
        inputs.suggested("Where", f"{at}.at", paths, placeholder="everywhere", width=_WIDE)
        inputs.number(
            "Share of places %", f"{at}.share", max_value=100.0, step=10.0, format="%g", width=_MIDDLE
        )
        if kind in AMOUNTS:
            inputs.number(
                AMOUNTS[kind], f"{at}.amount", min_value=0, step=1, width=_MIDDLE, placeholder="default"
            )
        if kind == "hostile":
            _hostile(inputs, at)


def _hostile(inputs: Inputs, at: str) -> None:
    names = hostile_names()
    inputs.suggested(
        "Hostile text",
        f"{at}.text",
        names,
        placeholder="random from the library, or type any text",
        format_func=lambda name: literal(names.get(name) or name),
    )


def _latency(inputs: Inputs) -> None:
    kind = inputs.ways("Latency", "l.kind", LATENCIES)
    seconds = {
        "min_value": 0.0,
        "max_value": MAX_LATENCY_SECONDS,
        "step": 0.5,
        "format": "%g",
        "width": _MIDDLE,
    }
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        match kind:
            case "fixed":
                inputs.number("Seconds", "l.seconds", **seconds)
            case "uniform":
                inputs.number("From (seconds)", "l.low", **seconds)
                inputs.number("To (seconds)", "l.high", **seconds)
            case "log_normal":
                inputs.number("Median (seconds)", "l.median", **seconds)
                spread = {"min_value": 0.0, "max_value": 3.0, "step": 0.1, "format": "%g", "width": _MIDDLE}
                inputs.number("Spread (sigma)", "l.sigma", **spread)
            case _:
                pass
    _plot(inputs)


def _plot(inputs: Inputs) -> None:
    """Show how the latency is spread, as soon as its numbers can be read."""
    known = dict(inputs.fields.problems)
    try:
        _, spread = read_latency(inputs.fields)
    except UnreadableInputError:
        spread = None
    inputs.fields.problems = known
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
