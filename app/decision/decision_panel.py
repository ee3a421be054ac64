"""The middle pane: everything that waits for a person, one thing at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, assert_never

import streamlit as st
from pydantic import JsonValue
from streamlit.delta_generator import DeltaGenerator

from app.decision.agent_turn import turn_inputs
from app.decision.agent_turn_panel import VIEWS, model_decision
from app.decision.call_prefills import is_own_question
from app.decision.decision_context import NOTHING_AROUND, Surroundings
from app.decision.golden_panel import golden_message, golden_reply
from app.decision.queue_panel import Queue, Thing, answered_beside, open_at_top, waiting
from app.decision.request_panel import (
    accept,
    arguments,
    buttons,
    choice,
    decision_head,
    details,
    editor,
    heading,
    may_have_run,
    misfit_list,
    not_ready,
    run_for_real,
    was_clicked,
)
from app.decision.tool_answer import NotReadyError, tool_inputs
from app.decision.tool_panel import call_arguments, tool_decision
from app.forms.common_panel import pane, place, reports
from app.forms.described_fields import without_null
from app.forms.field_widgets import problem_line
from app.forms.form_reading import incomplete
from app.forms.safe_labels import Badge, literal, safe_label
from app.forms.schema_form_widgets import FormResult, schema_form
from app.forms.upload_panel import attach, attached
from app.forms.value_editor_widgets import ValueEditor
from app.forms.widget_store import DraftStore, KeptInputs, inputs_of_request
from app.session.page_commands import AnswerTools, Asked
from app.session.provenance_labels import places_named
from app.session.running_panel import running
from app.session.timeline_view import would_answer
from simulator.base.json_values import JsonObject, same
from simulator.environment.conventions import is_identifier
from simulator.environment.drafts.draft import unsure_of, without_blanks
from simulator.environment.schema.schema_fields import inferred_schema
from simulator.facts import Returned
from simulator.seats.answers import CodeAnswer
from simulator.seats.requests import CodeRequest, ModelRequest, ToolRequest
from simulator.session.commands import AnswerRequest, Confirm, GoOn, Query, Reply, RunReal
from simulator.session.history import FinalResponse, ToolOutput, message_of
from simulator.session.model import OpenCall, SessionState, SimulationSession

if TYPE_CHECKING:
    from simulator.runtime import SimulationView


_FEWEST_FOR_ALL = 2
_ONE = "1 call waiting; you can also send a message"


def decision_panel(
    view: SimulationView, drafts: DraftStore, around: Surroundings = NOTHING_AROUND
) -> Asked | None:
    """Draw what waits for a person, and what is at work; return what was decided."""
    line = waiting(view)
    head = decision_head(_waiting_words([each.thing for each in line if each.thing]) if len(line) > 1 else "")
    with pane("decision"):
        with place():
            if view.session.is_running or view.running or view.busy:
                reports(view.problems)
            decided: Asked | None = running(view, alone=not line)
        if not line:
            if not (view.running or view.busy):
                st.caption("Nothing is waiting for you.")
            return decided
        with place():
            decided = came_back(view) or decided
        queue = Queue(drafts, line)
        chosen = queue.chosen.thing
        open_at_top(queue.chosen)
        with place():
            if queue.is_line:
                decided = _line(view, drafts, queue, around) or decided
        return _draw(view, drafts, head, chosen, around) or decided


def _draw(
    view: SimulationView, drafts: DraftStore, head: DeltaGenerator, thing: Thing, around: Surroundings
) -> Asked | None:
    """Draw the one thing that was chosen."""
    match thing:
        case ToolRequest():
            with place():
                answered_beside(view, thing)
            places = call_arguments(thing)
            _ = thing.candidates  # the draft comes with them; looked at first, it would be made by itself
            tool = tool_inputs(drafts, thing, around)
            with head:
                choice(tool.kept, "mode", "How to answer", tool.modes, first=tool.mode)
            return tool_decision(tool, places, around, view.session.history)
        case ModelRequest():
            turn = turn_inputs(drafts, thing, around.golden)
            with head:
                choice(turn.kept, "view", "What to show", VIEWS)
            return model_decision(turn, around)
        case CodeRequest():
            return code_decision(inputs_of_request(drafts, thing.key, thing.code), thing)
        case OpenCall():
            kept = KeptInputs(drafts, f"open {thing.call_id}")
            with place():
                used = golden_reply(kept, around.golden, thing)
            return open_call(kept, thing, _pending(view.session, thing), around) or used
        case None:
            again = KeptInputs(drafts, "again", str(len(view.session.turns)))
            used_message = golden_message(again, around.golden, "again_text")
            return another_query(again, view.session) or used_message
        case _:
            assert_never(thing)


def _line(view: SimulationView, drafts: DraftStore, queue: Queue, around: Surroundings) -> AnswerTools | None:
    """Draw what waits, with the way to answer all its tool calls at once."""
    requests = [request for request in view.pending if isinstance(request, ToolRequest)]
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="line_head"):
        with st.container(key="line_queue"):
            queue.draw()
        clicked = len(requests) >= _FEWEST_FOR_ALL and st.button(
            f"Accept all {len(requests)}",
            key="accept_all",
            type="tertiary",
            icon=":material/done_all:",
            help="Each call gets the response in its editor: its draft, or your edits",
        )
    return _all_drafts(requests, drafts, around) if clicked else None


def _waiting_words(things: Sequence[Thing]) -> str:
    """Say how many things wait: calls, or turns of agents among them."""
    if len(things) == 1:
        return _ONE
    calls = "calls " if all(isinstance(thing, (ToolRequest, OpenCall)) for thing in things) else ""
    return f"{len(things)} {calls}waiting; answer in any order"


def _all_drafts(requests: list[ToolRequest], drafts: DraftStore, around: Surroundings) -> AnswerTools | None:
    """Answer each call with what its own inputs hold; say which of them holds no answer."""
    answers: list[AnswerRequest] = []
    for number, request in enumerate(requests, start=1):
        try:
            inputs = tool_inputs(drafts, request, around)
            answer = inputs.answer()
        except NotReadyError as error:
            not_ready(f"Call {number} cannot be sent, so none was sent. {error}")
            return None
        value = answer.outcome.value if isinstance(answer.outcome, Returned) else None
        if not answer.is_sure and (
            blanks := unsure_of(inputs.request.draft_blanks, inputs.request.draft, value).blanks
        ):
            not_ready(
                f"Call {number} cannot be sent with the others, so none was sent. Its draft is blank at {places_named(blanks)}."
            )
            return None
        answers.append(AnswerRequest(key=request.key, answer=answer))
    return AnswerTools(answers=tuple(answers))


# Draws that a person came back to what waits, and who would answer it by themselves.


def came_back(view: SimulationView) -> GoOn | None:
    """Draw it where somebody would answer; return the wish that they do."""
    names = dict.fromkeys(filter(None, map(would_answer, view.pending)))
    if not names:
        return None
    with st.container(
        border=True, horizontal=True, vertical_alignment="center", gap="small", key="came_back"
    ):
        with st.container(width="stretch", gap=None):
            st.badge("You returned to this step", icon=":material/history:", color="blue")
            st.text(
                literal(
                    f"Would be answered by: {', '.join(names)}. Answer differently, or continue as before."
                )
            )
        asked = st.button("Continue", key="go_on", icon=":material/play_arrow:")
    return GoOn() if asked else None


# Where a person says what a block of the agent's code prints, or lets it run.


_TALL = 240
_MANY_LINES = 11
_WARNING = "The code runs in the agent's code executor, with all its side effects."


def code_decision(kept: KeptInputs, request: CodeRequest) -> Asked | None:
    """Draw the code; return what it is said to print."""
    heading(request.agent, ("runs code", ":material/code:", "gray"))
    if request.may_have_run:
        may_have_run("code")
    tall = request.code.count("\n") >= _MANY_LINES
    st.code(literal(request.code), language="python", wrap_lines=True, height=_TALL if tall else "content")
    printed = editor(kept, "response_stdout", "Output (stdout)", fewest=5)
    errors = editor(kept, "response_stderr", "Errors (stderr)", fewest=2)
    with buttons():
        clicked = accept(kept, "Send output")
        real = run_for_real(kept, "code", _WARNING)
    if real:
        return RunReal(key=request.key)
    return (
        AnswerRequest(key=request.key, answer=CodeAnswer(stdout=printed, stderr=errors)) if clicked else None
    )


# Where the user answers what a turn left open: a confirmation, a late result, a question of the agent.


def open_call(
    kept: KeptInputs, call: OpenCall, pending: JsonObject, around: Surroundings
) -> Confirm | Reply | None:
    """Draw one open call, with what it was answered at first; return the user's answer to it."""
    return _confirmation(kept, call) if call.is_confirmation else _late(kept, call, pending, around)


def _pending(session: SimulationSession, call: OpenCall) -> JsonObject:
    """Return the fields of a call's first response that identify it: its late result is about the same thing."""
    results = (
        each.result
        for each in session.history
        if isinstance(each, ToolOutput) and each.call_id == call.call_id
    )
    first = next(results, None)
    return (
        {name: value for name, value in first.items() if is_identifier(name)}
        if isinstance(first, dict)
        else {}
    )


def _confirmation(kept: KeptInputs, call: OpenCall) -> Confirm | None:
    original = _object(call.arguments, "originalFunctionCall")
    asked = _object(call.arguments, "toolConfirmation")
    heading(str(original.get("name") or "tool"), ("asks for confirmation", ":material/front_hand:", "orange"))
    hint = str(asked.get("hint") or "")
    is_plain = not hint or is_own_question(hint)
    st.text(literal("Allow this tool to run?" if is_plain else hint))
    arguments(original.get("args"))
    if is_plain:
        details("Text from ADK", hint)
    with place():
        payload, ready = _payload(kept, asked.get("payload"))
    with buttons() as above:
        yes = accept(kept, "Confirm", "confirm", shortcut=False)
        no = st.button("Reject", key=kept.key("reject"), icon=":material/close:")
    with above:
        if yes and not ready:
            problem_line("The payload is incomplete. See the marked fields.")
    if (yes and ready) or no:
        return Confirm(call_id=call.call_id, confirmed=yes, payload=payload if ready else None)
    return None


def _payload(kept: KeptInputs, wanted: JsonValue) -> tuple[JsonValue, bool]:
    """Draw the editor for what the tool wants to know beside yes or no, if it does."""
    if wanted is None:
        return None, True
    editor = ValueEditor(kept, "response_payload", wanted, label="Payload for the tool (JSON)")
    result = editor.draw(tried=was_clicked(kept, "confirm"))
    return result.value, not result.problems


def _late(kept: KeptInputs, call: OpenCall, pending: JsonObject, around: Surroundings) -> Reply | None:
    badge = ("answered once", "", "gray") if call.answered else ("waiting for its result", "", "orange")
    heading(call.tool_name, (f"by {safe_label(call.agent, 28)}", ":material/smart_toy:", "gray"), badge)
    schema: Any = call.arguments.get("response_schema") or call.arguments.get("responseSchema")
    message = call.arguments.get("message")
    if isinstance(message, str) and message:
        st.text(literal(message))
    others = {name: item for name, item in call.arguments.items() if name not in _SHOWN_APART}
    if others:
        arguments(others)
    if isinstance(schema, dict) and schema:
        return _by_form(kept, call, schema)
    shape, known = _late_shape(kept, call, around)
    first: JsonValue = {**known, **pending} if shape else {**pending, "status": "done"}
    editor = ValueEditor(kept, "response_late", first, shape, "Late result (JSON)")
    now = editor.result().value
    if isinstance(now, dict):
        editor.marks = {(name,): _FIRST for name, value in pending.items() if same(now.get(name), value)}
    result = editor.draw(tried=was_clicked(kept, "accept"))
    return _reply(kept, call, "Send result", result)


def _late_shape(
    kept: KeptInputs, call: OpenCall, around: Surroundings
) -> tuple[JsonObject | None, JsonObject]:
    """Return the schema of a call's late result, declared or as its draft has it, and what is known of it; it is drafted once."""
    found = kept.value("late_draft")
    if found is None and around.environment is not None:
        made = around.environment.late_result(call.call_id)
        draft = made.draft if made else None
        if made is None or not isinstance(draft, dict):
            found = {}
        else:
            known = without_blanks(draft, [blank.path for blank in made.draft_blanks])
            declared = made.response_schema or {}
            inferred = without_null(inferred_schema([draft], call.tool_name, closed=False))
            shape = declared if declared.get("properties") else {**inferred, "additionalProperties": True}
            found = {"shape": shape, "known": known}
        kept.put("late_draft", found)
    return (found or {}).get("shape"), (found or {}).get("known", {})


_FIRST = Badge(text="From the first response", color="blue", icon=":material/search:")
_SHOWN_APART = frozenset({"message", "response_schema", "responseSchema"})


def _by_form(kept: KeptInputs, call: OpenCall, schema: dict[str, Any]) -> Reply | None:
    result = schema_form(kept, "answer", schema, tried=was_clicked(kept, "accept"))
    with place():
        misfit_list(result.misfits)
    return _reply(kept, call, "Send reply", result)


def _reply(kept: KeptInputs, call: OpenCall, label: str, result: FormResult) -> Reply | None:
    """Draw the button that gives what a form says; return that once it is clicked and the form is complete."""
    with buttons() as above:
        clicked = accept(kept, label)
    with above:
        if clicked and result.problems:
            problem_line(incomplete("The result", result.problems))
    is_sent = clicked and not result.problems
    return Reply(call_id=call.call_id, response=result.value) if is_sent else None


def another_query(kept: KeptInputs, session: SimulationSession) -> Query | None:
    """Draw the way to ask something while calls are open."""
    final = session.history[-1] if session.history else None
    if session.state is SessionState.COMPLETED and isinstance(final, FinalResponse):
        st.success(
            "The agent has replied. Export the trace, or send another message.",
            icon=":material/check_circle:",
        )
        st.text(literal(final.content))
    else:
        st.caption("Open calls stay open. The agent gets your message first.")
    text = editor(kept, "again_text", "Message", fewest=5)
    with buttons() as above:
        is_sent = accept(kept, "Send")
        uploaded = attach(f"attached_{kept.owner}_{len(session.turns)}")
    with above:
        files = attached(uploaded)
        if not is_sent or files is None:
            return None
        if text.strip() or files:
            return Query(message=message_of(text, files))
        problem_line("Nothing to send yet. Write a message first.")
    return None


def _object(value: dict[str, JsonValue], name: str) -> dict[str, JsonValue]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}
