"""Where a person sits in the agent's seat: makes its turn, or judges the one that its own model proposed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias, TypeGuard, assert_never

import streamlit as st
from pydantic import JsonValue

from app.decision.agent_turn import TRANSFER, TurnInputs, parts_before
from app.decision.call_arguments import CallArguments
from app.decision.call_prefills import quotes
from app.decision.decision_context import NOTHING_AROUND, Surroundings
from app.decision.golden_candidate import ANOTHER_WAY, HERE
from app.decision.golden_panel import golden_step
from app.decision.request_panel import (
    accept,
    buttons,
    choice,
    details,
    editor,
    heading,
    json_editor,
    misfit_list,
    not_ready,
    was_clicked,
)
from app.forms.common_panel import place, shown_file
from app.forms.field_widgets import problem_line, suggested
from app.forms.form_reading import incomplete
from app.forms.safe_labels import literal, safe_label
from app.forms.schema_form_widgets import schema_form
from app.forms.typed_json import show_json, write_json
from app.forms.widget_store import slug
from app.session.page_commands import Asked
from simulator.agents.agent_directory import ELSEWHERE
from simulator.base.json_values import JsonObject, canonical, digest
from simulator.scripts.script_lines import BY_SCRIPT
from simulator.seats.answers import AnswerSource, ModelAnswer
from simulator.seats.requests import ModelRequest
from simulator.session.commands import AnswerRequest, RunReal
from simulator.session.history import file_of

View: TypeAlias = Literal["Turn", "Model sees"]
VIEWS: tuple[View, ...] = ("Turn", "Model sees")


def model_decision(inputs: TurnInputs, around: Surroundings = NOTHING_AROUND) -> Asked | None:
    """Draw the agent's turn that waits; return the turn that was made."""
    request = inputs.request
    held = request.proposal is not None
    heading(
        request.agent,
        ("next turn", ":material/smart_toy:", "gray"),
        (safe_label(request.model_name or "no model", 28), "", "gray"),
        *([("held", ":material/front_hand:", "orange")] if held else ()),
    )
    if inputs.kept.value("view") == "Model sees":
        model_sees(request)
        return None
    _last_message(inputs)
    if request.failure is not None:
        st.error(
            "The agent's model failed. Write the turn yourself, or ask the model again.",
            icon=":material/error:",
        )
        st.code(literal(request.failure), language=None, wrap_lines=True)
    with place():
        golden = _golden(inputs, around) or _before(inputs, around)
    if held and request.failure is None and not inputs.kept.value("writing", initial=False):
        return _proposal(inputs, around) or golden
    return _own_turn(inputs, around, held=held) or golden


def _golden(inputs: TurnInputs, around: Surroundings) -> AnswerRequest | None:
    """Draw the golden's next turn of the agent; return it where it is to be sent as it is."""
    if around.golden is None or not around.golden.tells_moves:
        return None
    found = around.golden.move(inputs.request.agent)
    if found is None:
        if around.golden.tells_agents:
            words = f"{ANOTHER_WAY} It has no further turn of this agent."
        else:
            words = "The golden does not tell which agent did what here."
        golden_step(inputs.kept, words, uses=False)
        return None
    words = HERE if found.is_here else f"{ANOTHER_WAY} Its next step:"
    used = golden_step(
        inputs.kept,
        words,
        lambda: draw_parts(found.parts, inputs.kept.key("golden")),
        edit=lambda: inputs.edit(found.parts),
        uses=found.is_here,
    )
    if not used or _is_held_up(inputs, found.parts):
        return None
    answer = ModelAnswer(parts=found.parts, by=BY_SCRIPT)  # as if its script had played this line
    return AnswerRequest(key=inputs.request.key, answer=answer)


def _before(inputs: TurnInputs, around: Surroundings) -> AnswerRequest | None:
    """Draw what a person wrote here before they went back, as to correct a response; return it where it is to be sent as it is."""
    answered = around.before.get(inputs.request.key)
    parts = parts_before(answered) if answered is not None else ()
    if not parts or inputs.holds(parts):
        return None
    used = golden_step(
        inputs.kept,
        "What you sent here before",
        lambda: draw_parts(parts, inputs.kept.key("before_step")),
        edit=lambda: inputs.edit(parts),
        of="before",
    )
    return _answer(inputs, parts, "written") if used and not _is_held_up(inputs, parts) else None


def _last_message(inputs: TurnInputs) -> None:
    """Show what the turn answers; everything before it is a click away."""
    contents = inputs.request.contents
    if not contents:
        return
    parts = contents[-1].get("parts")
    with (
        st.expander("Last message", expanded=True, type="compact", key=inputs.kept.key("last_fold")),
        st.container(gap="xsmall", key="last_message"),
    ):
        quoted = quotes(parts)
        if quoted is None:
            draw_parts(parts, inputs.kept.key("last"))
            return
        for who, words in quoted:
            st.caption(safe_label(who, _WHO))
            st.text(literal(words))
    with st.expander("Last message as the agent gets it", type="compact", key=inputs.kept.key("last_raw")):
        draw_parts(parts, inputs.kept.key("last"))


def _proposal(inputs: TurnInputs, around: Surroundings) -> Asked | None:
    kept, parts = inputs.kept, inputs.proposed
    st.caption("Proposed by the agent's model")
    with st.container(border=True, gap="xsmall"):
        draw_parts(parts, kept.key("proposed"))
        if not parts:
            st.caption("Empty: no text and no calls.")
    real = _real_tools(parts, around)
    with buttons():
        accepted = bool(parts) and accept(kept, "Accept", "accept_proposal", shortcut=not real)
        if parts:
            st.button(
                "Edit", key=kept.key("edit"), icon=":material/edit:", on_click=inputs.edit, args=(parts,)
            )
        st.button(
            "Reject",
            key=kept.key("write"),
            icon=":material/block:",
            help="Write another turn instead",
            on_click=inputs.write_another,
        )
        again = _own_model(inputs, around, "Ask again")
    _say_what_holds_it(inputs, around, real)
    if again:
        return RunReal(key=inputs.request.key)
    return _answer(inputs, parts, "generated") if accepted else None


def _own_turn(inputs: TurnInputs, around: Surroundings, *, held: bool) -> Asked | None:
    kept = inputs.kept
    tried = was_clicked(kept, "accept")
    with place():
        parts, lacks = turn_form(inputs, tried=tried)
    real = _real_tools(parts or (), around)
    _say_what_holds_it(inputs, around, real)  # above the buttons, which stay in sight and would cover it
    with buttons() as above:
        sent = accept(kept, "Send", shortcut=not real)
        if held:
            st.button(
                "Back to proposal", key=kept.key("back"), type="tertiary", on_click=inputs.show_proposal
            )
        own = _own_model(inputs, around, "Ask the model again" if held else "Ask the model")
    if own:
        return RunReal(key=inputs.request.key)
    if not sent:
        return None
    with above:
        if parts is None:
            problem_line(lacks)
        elif not _is_held_up(inputs, parts):
            inputs.keep_kind()
            return _answer(inputs, parts, _source(inputs, parts))
    return None


def _is_held_up(inputs: TurnInputs, parts: Sequence[JsonObject]) -> bool:
    """Say once where calls do not fit their tools; a model may make such calls, so sending again sends them."""
    misfits = inputs.misfits(parts)
    if not misfits or inputs.is_sent_again(parts):
        return False
    problem_line("A call does not fit its tool's declaration. Change it, or send again to send it as it is.")
    for words in misfits:
        st.text(literal(words))
    return True


def _real_tools(parts: Sequence[JsonObject], around: Surroundings) -> list[str]:
    """Name the tools that would really run as soon as a turn is sent."""
    calls = [part.get("functionCall") or part.get("function_call") for part in parts]
    names = (str(call.get("name") or "") for call in calls if isinstance(call, dict))
    return [name for name in dict.fromkeys(names) if around.seats.of_tool(name) == "real"]


def _say_what_holds_it(inputs: TurnInputs, around: Surroundings, real: list[str]) -> None:
    """Say why keys do not send a turn, and why its model cannot be asked; the words come from outside."""
    if real:
        st.caption(
            "These tools run for real when you send this turn. Only a click sends it, not the keyboard:"
        )
        st.text(literal(", ".join(real)))
    if reason := around.without_model.get(inputs.request.agent):
        if not _is_elsewhere(inputs):
            st.caption("The agent's model is not available:")
        st.text(literal(reason))


def _is_elsewhere(inputs: TurnInputs) -> bool:
    """Return whether another program makes the agent's turns: it can be asked, where somebody chooses so."""
    return inputs.request.model_name == ELSEWHERE


def _own_model(inputs: TurnInputs, around: Surroundings, label: str) -> bool:
    return st.button(
        "Ask the other program" if _is_elsewhere(inputs) else label,
        key=inputs.kept.key("own_model"),
        type="tertiary",
        icon=":material/smart_toy:",
        disabled=inputs.request.agent in around.without_model and not _is_elsewhere(inputs),
        help="The agent's model makes this turn only. Later turns stay with the current player.",
    )


def _source(inputs: TurnInputs, parts: tuple[JsonObject, ...]) -> AnswerSource:
    if not inputs.is_editing:
        return "written"
    is_proposal = inputs.begun_with == inputs.proposed
    return "edited" if parts != inputs.begun_with else "generated" if is_proposal else "written"


def _answer(inputs: TurnInputs, parts: tuple[JsonObject, ...], source: AnswerSource) -> AnswerRequest:
    return AnswerRequest(key=inputs.request.key, answer=ModelAnswer(parts=parts, source=source))


# Draws the inputs in which a person makes the agent's next turn, and gives its parts once they are whole.


_CHIP, _SUMMARY = 40, 200
"""How many characters of a tool's name and of its description are shown."""
_PARTS_EXAMPLE = '[{"text": ""}]'
_NO_PARTS = 'The parts must be a JSON list of objects, for example [{"text": "Hello"}].'


class Made(NamedTuple):
    """The turn as far as it is made: its parts, or None with the words on what it lacks, in which names may come from outside."""

    parts: tuple[JsonObject, ...] | None
    lacks: str = ""


def turn_form(inputs: TurnInputs, *, tried: bool) -> Made:
    """Draw the turn in the making, and return it.

    Args:
        inputs: The inputs.
        tried: Somebody wants to send it in this run: mark everything that is missing.
    """
    if len(inputs.kinds) > 1:
        choice(inputs.kept, "kind", "Kind of turn", inputs.kinds, first=inputs.kind)
    kind = inputs.kind
    match kind:
        case "Reply":
            return _say(inputs)
        case "Final":
            return _final(inputs, tried=tried)
        case "Call tools":
            return _calls(inputs, tried=tried)
        case "Transfer":
            return _transfer(inputs)
        case "JSON":
            return _json(inputs)
        case _:
            assert_never(kind)


def _say(inputs: TurnInputs) -> Made:
    text = editor(inputs.kept, "say", "Agent reply (ends the turn)", fewest=6)
    if text.strip():
        return Made(({"text": text},))
    return Made(None, "Nothing to send yet. Write a reply first.")


def _final(inputs: TurnInputs, *, tried: bool) -> Made:
    st.caption("Final response, in the agent's output schema")
    name = f"final_{digest(canonical([*inputs.begun_with]))[:6]}" if inputs.is_editing else "final"
    result = schema_form(inputs.kept, name, inputs.final_schema or {}, inputs.final_seed(), tried=tried)
    misfit_list(result.misfits)
    if not result.problems:
        return Made(inputs.final_parts(result.value))
    return Made(None, incomplete("The final response", result.problems))


def _calls(inputs: TurnInputs, *, tried: bool) -> Made:
    with st.expander("Add text before the calls", type="compact", key=inputs.kept.key("before_fold")):
        before = editor(inputs.kept, "before", "Text before the calls", fewest=3, bare=True)
    _tool_chips(inputs)
    drawn = [_call(inputs, number, row, tried=tried) for number, row in enumerate(inputs.rows)]
    if not drawn:
        return Made(None, "No calls yet. Add one first.")
    lacks = [f"Call {number}: {call}" for number, call in enumerate(drawn, 1) if isinstance(call, str)]
    said: list[JsonObject] = [{"text": before}] if before.strip() else []
    return (
        Made(None, lacks[0]) if lacks else Made((*said, *(call for call in drawn if isinstance(call, dict))))
    )


def _tool_chips(inputs: TurnInputs) -> None:
    """Draw a button for each tool, which adds a call of it, and one for a tool that the agent does not have."""
    st.caption("Add a call. All calls of a turn are sent together.")
    with st.container(horizontal=True, gap="xsmall", key="tool_chips"):
        for name, tool in inputs.tools.items():
            summary = tool.description.strip().partition("\n")[0]
            st.button(
                safe_label(name, _CHIP),
                key=inputs.kept.key(f"chip_{slug(name)}"),
                icon=":material/add:",
                help=safe_label(summary, _SUMMARY) if summary else None,
                on_click=inputs.add_row,
                args=(name,),
            )
        st.button(
            "Other tool",
            key=inputs.kept.key("add_call"),
            icon=":material/add:",
            type="tertiary",
            help="Add a call and type the name of its tool",
            on_click=inputs.add_row,
        )


def _call(inputs: TurnInputs, number: int, row: int, *, tried: bool) -> JsonObject | str:
    """Draw a call; return it, or what it lacks."""
    kept, tools, seed = inputs.kept, inputs.tools, inputs.seed(row)
    only = next(iter(tools)) if len(tools) == 1 else None
    first = str(seed["name"]) if seed.get("name") else only
    with st.container(border=True, gap="small"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall", wrap=False):
            label, key = f"Call {number + 1}", kept.widget(f"tool{row}", first)
            name = st.text_input(label, key=key, placeholder="Name of its tool")
            st.button(
                ":material/close:",
                key=kept.key(f"remove{row}"),
                type="tertiary",
                help="Remove this call",
                on_click=inputs.remove_row,
                args=(row,),
            )
        suggested(kept, f"tool{row}", label, tools)
        name = (name or "").strip()
        return _arguments(inputs, row, name, tried=tried) if name else "Choose its tool."


def _arguments(inputs: TurnInputs, row: int, name: str, *, tried: bool) -> JsonObject | str:
    tool, seed = inputs.tools.get(name), inputs.seed(row)
    if tool is None:
        st.caption("The agent has no tool with this name. ADK will respond that it does not exist.")
    else:
        details("Tool description", tool.description)
    is_seeded = seed.get("name") == name
    found = None if tool is None or is_seeded else inputs.prefills(tool, row)
    arguments = CallArguments(tool, found)
    result = schema_form(
        inputs.kept,
        f"args{row}_{slug(name)}",
        arguments.schema,
        seed.get("args") if is_seeded else None,
        tried=tried,
        marks=arguments.marks if found else None,
    )
    misfit_list(result.misfits)
    if result.problems:
        return incomplete(name, result.problems)
    if not isinstance(result.value, dict):
        not_ready("The arguments must be a JSON object.")
        return "The arguments must be a JSON object."
    return {"function_call": {"name": name, "args": result.value}}


def _transfer(inputs: TurnInputs) -> Made:
    target = st.selectbox(
        "Transfer to",
        inputs.request.transfer_targets,
        index=None,
        format_func=literal,
        key=inputs.kept.widget("target"),
        placeholder="Choose an agent",
        on_change="ignore",
    )
    if target:
        return Made(({"function_call": {"name": TRANSFER, "args": {"agent_name": target}}},))
    return Made(None, "Choose an agent first.")


def _json(inputs: TurnInputs) -> Made:
    label = "Parts of the turn (google-genai JSON)"
    value, ready = json_editor(
        inputs.kept, "response_parts", label, _PARTS_EXAMPLE, what="The text", fewest=8
    )
    with place():
        if ready and not _are_parts(value):
            not_ready(_NO_PARTS)
    return Made(tuple(value)) if _are_parts(value) else Made(None, _NO_PARTS)


def _are_parts(value: JsonValue) -> TypeGuard[list[JsonObject]]:
    return isinstance(value, list) and bool(value) and all(isinstance(part, dict) for part in value)


# Shows a model request exactly: the instruction, the conversation, the tools and every setting.


_WHO = 90
_CALL = "function_call"
_RESPONSE = "function_response"

SHOWN_CONTENTS = 20
"""How many messages are drawn one by one, the newest; all of them are in the JSON."""


def model_sees(request: ModelRequest, prefix: str = "sees") -> None:
    """Draw all that the model would be given, in the order in which it reads it; `prefix` begins the widgets' keys."""
    st.caption("System instruction")
    st.code(literal(request.system_instruction or "(none)"), language=None, wrap_lines=True)
    _conversation(request.contents, prefix)
    st.caption(f"Tools ({len(request.tools)})")
    for index, tool in enumerate(request.tools):
        with st.expander(safe_label(tool.name), type="compact", key=f"{prefix}_tool_{index}"):
            st.text(literal(tool.description))
            st.code(write_json(dict(tool.parameters)), language="json", wrap_lines=True)
    if request.response_schema is not None:
        st.caption("Schema of the final response")
        st.code(write_json(dict(request.response_schema)), language="json", wrap_lines=True)
    if request.other_config:
        st.caption("Other settings")
        st.code(write_json(dict(request.other_config)), language="json", wrap_lines=True)
    body = st.expander("Conversation as JSON", type="compact", key=f"{prefix}_json", on_change="rerun")
    if body.open:
        body.code(
            write_json([dict(content) for content in request.contents]), language="json", wrap_lines=True
        )


def _conversation(contents: Sequence[JsonObject], prefix: str) -> None:
    st.caption(f"Conversation ({len(contents)})")
    if len(contents) > SHOWN_CONTENTS:
        st.caption(f"{len(contents) - SHOWN_CONTENTS} earlier messages are in the JSON below.")
    for number, content in enumerate(contents[-SHOWN_CONTENTS:]):
        with st.container(border=True, gap="xsmall"):
            st.badge(safe_label(str(content.get("role") or "?")), color="gray")
            draw_parts(content.get("parts"), f"{prefix}_content_{number}")


def draw_parts(parts: object, key: str) -> None:
    """Draw parts of a message: text as text, calls and responses as code, files as such, anything else as JSON; `key` begins the keys of files."""
    for number, part in enumerate(parts if isinstance(parts, (list, tuple)) else ()):
        if not isinstance(part, dict):
            continue
        text, call, response = part.get("text"), part.get(_CALL), part.get(_RESPONSE)
        if isinstance(text, str):
            if part.get("thought"):
                st.caption("Thought")
            st.text(literal(text))
        elif isinstance(call, dict):
            _named(":material/build:", call.get("name"), call.get("args") or {})
        elif isinstance(response, dict):
            _named(":material/keyboard_return:", response.get("name"), response.get("response"))
        elif file := file_of(part):
            st.text(literal(file.words))
            shown_file(file, f"{key}_{number}")
        else:
            st.code(show_json(part), language="json", wrap_lines=True)


def _named(icon: str, name: JsonValue, value: JsonValue) -> None:
    st.badge(safe_label(str(name)), icon=icon, color="primary")
    st.code(show_json(value), language="json", wrap_lines=True)
