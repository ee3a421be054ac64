"""Draws the inputs in which a person makes the agent's next turn, and gives its parts once they are whole."""

from collections.abc import Iterator
from typing import assert_never

import streamlit as st

from app.forms import schema_form
from app.jsontext import JsonTextError, parse_json
from app.kept import slug
from app.labels import literal
from app.model_turn import TRANSFER, TurnInputs
from app.panels.asked import choice, details, editor, misfit_list, not_ready
from simulator.jsonvalue import JsonObject

_ANY_OBJECT: JsonObject = {"type": "object"}
_PARTS_EXAMPLE = '[{"text": ""}]'


def turn_form(inputs: TurnInputs, *, tried: bool) -> tuple[JsonObject, ...] | None:
    """Draw the turn in the making.

    Args:
        inputs: The inputs.
        tried: Somebody wants to send it in this run: name everything that is missing.

    Returns:
        The turn's parts, or None while something is missing.
    """
    if len(inputs.kinds) > 1:
        choice(inputs.kept, "kind", "Kind of turn", inputs.kinds)
    kind = inputs.kind
    match kind:
        case "Say":
            return _say(inputs, tried=tried)
        case "Final":
            return _final(inputs, tried=tried)
        case "Call tools":
            return _calls(inputs, tried=tried)
        case "Transfer":
            return _transfer(inputs, tried=tried)
        case "JSON":
            return _json(inputs)
        case _:
            assert_never(kind)


def _say(inputs: TurnInputs, *, tried: bool) -> tuple[JsonObject, ...] | None:
    text = editor(
        inputs.kept, "say", "What the agent says; with no call beside it, this ends its turn", fewest=6
    )
    if text.strip():
        return ({"text": text},)
    if tried:
        not_ready("There is nothing to say yet; write a text first.")
    return None


def _final(inputs: TurnInputs, *, tried: bool) -> tuple[JsonObject, ...] | None:
    st.caption("The final answer, as the agent's output schema wants it")
    name = "final_edited" if inputs.is_editing else "final"
    result = schema_form(inputs.kept, name, inputs.final_schema or {}, inputs.final_seed(), tried=tried)
    misfit_list(result.misfits)
    if not result.problems:
        return inputs.final_parts(result.value)
    if tried:
        not_ready("The final answer is not complete yet. Each field that needs something says what.")
    return None


def _calls(inputs: TurnInputs, *, tried: bool) -> tuple[JsonObject, ...] | None:
    with st.expander("Say something before the calls", type="compact", key=inputs.kept.key("before_fold")):
        before = editor(inputs.kept, "before", "Text before the calls", fewest=3, bare=True)
    drawn = [_call(inputs, place, row, tried=tried) for place, row in enumerate(inputs.rows)]
    st.button(
        "Add a call" if drawn else "Add the first call",
        key=inputs.kept.key("add_call"),
        icon=":material/add:",
        type="tertiary",
        help="All calls of one turn are made at once",
        on_click=inputs.add_row,
    )
    calls = [call for call in drawn if call is not None]
    if calls and len(calls) == len(drawn):
        said: list[JsonObject] = [{"text": before}] if before.strip() else []
        return (*said, *calls)
    if tried:
        not_ready(
            "A call is not complete yet: choose its tool, and fill in what it asks for."
            if drawn
            else "There is no call yet; add one first."
        )
    return None


def _call(inputs: TurnInputs, place: int, row: int, *, tried: bool) -> JsonObject | None:
    kept, tools, seed = inputs.kept, inputs.tools, inputs.seed(row)
    only = next(iter(tools)) if len(tools) == 1 else None
    first = str(seed["name"]) if seed.get("name") else only
    with st.container(border=True, gap="small"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall", wrap=False):
            known = str(kept.value(f"tool{row}", first) or "")
            name = st.selectbox(
                f"Call {place + 1}",
                list(tools) if known in tools or not known else [known, *tools],
                index=None,
                format_func=literal,
                key=kept.widget(f"tool{row}", first),
                placeholder="Choose a tool, or write a name",
                accept_new_options=True,
            )
            st.button(
                ":material/close:",
                key=kept.key(f"remove{row}"),
                type="tertiary",
                help="Remove this call",
                on_click=inputs.remove_row,
                args=(row,),
            )
        return _arguments(inputs, row, str(name), tried=tried) if name else None


def _arguments(inputs: TurnInputs, row: int, name: str, *, tried: bool) -> JsonObject | None:
    tool, seed = inputs.tools.get(name), inputs.seed(row)
    if tool is None:
        st.caption("The agent has no tool of this name; the framework will answer that there is none.")
    else:
        details("What the tool says of itself", tool.description)
    result = schema_form(
        inputs.kept,
        f"args{row}_{slug(name)}",
        dict(tool.parameters) if tool else _ANY_OBJECT,
        seed.get("args") if seed.get("name") == name else None,
        tried=tried,
    )
    misfit_list(result.misfits)
    if result.problems:
        return None
    if not isinstance(result.value, dict):
        not_ready("The arguments of a call are a JSON object.")
        return None
    return {"function_call": {"name": name, "args": result.value}}


def _transfer(inputs: TurnInputs, *, tried: bool) -> tuple[JsonObject, ...] | None:
    target = st.selectbox(
        "Hand over to",
        inputs.request.transfer_targets,
        index=None,
        format_func=literal,
        key=inputs.kept.widget("target"),
        placeholder="Choose an agent",
        on_change="ignore",
    )
    if target:
        return ({"function_call": {"name": TRANSFER, "args": {"agent_name": target}}},)
    if tried:
        not_ready("Choose the agent first.")
    return None


def _json(inputs: TurnInputs) -> tuple[JsonObject, ...] | None:
    text = editor(
        inputs.kept,
        "response_parts",
        "Parts of the turn, as google-genai writes them (JSON)",
        _PARTS_EXAMPLE,
        fewest=8,
    )
    try:
        return tuple(_objects(parse_json(text)))
    except JsonTextError as error:
        not_ready(f"The parts are not JSON yet. {error}")
    except TypeError as error:
        not_ready(str(error))
    return None


def _objects(value: object) -> Iterator[JsonObject]:
    if not isinstance(value, list) or not value or not all(isinstance(part, dict) for part in value):
        raise TypeError('The parts are a JSON list of objects, for example [{"text": "Hello"}].')
    yield from value
