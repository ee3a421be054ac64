"""Where the user answers what a turn left open: a confirmation, a late result, a question of the agent."""

from typing import Any

import streamlit as st
from pydantic import JsonValue

from app.decisions import Confirm, Reply, SubmitQuery
from app.forms import schema_form
from app.jsontext import write_json
from app.kept import Kept
from app.labels import literal, safe_label
from app.panels.asked import accept, arguments, editor, heading, json_of, misfit_list, not_ready, was_clicked
from simulator.session.history import FinalResponse
from simulator.session.model import OpenCall, SessionState, SimulationSession


def open_call(kept: Kept, call: OpenCall) -> Confirm | Reply | None:
    """Draw one open call; give the user's answer to it."""
    return _confirmation(kept, call) if call.is_confirmation else _late(kept, call)


def _confirmation(kept: Kept, call: OpenCall) -> Confirm | None:
    original = _object(call.arguments, "originalFunctionCall")
    asked = _object(call.arguments, "toolConfirmation")
    heading(str(original.get("name") or "tool"), ("asks for confirmation", ":material/front_hand:", "orange"))
    st.text(literal(str(asked.get("hint") or "May this tool run?")))
    arguments(original.get("args"))
    payload, ready = _payload(kept, asked.get("payload"))
    with st.container(horizontal=True, gap="small", key="decision_buttons"):
        yes = accept(kept, "Confirm", "confirm", shortcut=False)
        no = st.button("Reject", key=kept.key("reject"), icon=":material/close:")
    if (yes and ready) or no:
        return Confirm(call_id=call.call_id, confirmed=yes, payload=payload if ready else None)
    return None


def _payload(kept: Kept, wanted: JsonValue) -> tuple[JsonValue, bool]:
    """Draw the editor for what the tool wants to know beside yes or no, if it does."""
    if wanted is None:
        return None, True
    text = editor(kept, "response_payload", "What the tool wants to know (JSON)", write_json(wanted))
    return json_of(text, "The payload")


def _late(kept: Kept, call: OpenCall) -> Reply | None:
    badge = ("has answered once", "", "gray") if call.answered else ("waits for its result", "", "orange")
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
    text = editor(kept, "response_late", "Late result (JSON)", '{"status": "done"}', fewest=6)
    value, ready = json_of(text, "The result")
    clicked = accept(kept, "Send the result")
    return Reply(call_id=call.call_id, response=value) if clicked and ready else None


_SHOWN_APART = frozenset({"message", "response_schema", "responseSchema"})


def _by_form(kept: Kept, call: OpenCall, schema: dict[str, Any]) -> Reply | None:
    tried = was_clicked(kept, "accept")
    result = schema_form(kept, "answer", schema, tried=tried)
    misfit_list(result.misfits)
    if tried and result.problems:
        not_ready("The answer is not complete yet.")
    clicked = accept(kept, "Send the answer")
    return Reply(call_id=call.call_id, response=result.value) if clicked and not result.problems else None


def another_query(kept: Kept, session: SimulationSession) -> SubmitQuery | None:
    """Draw the way to ask something while calls are open."""
    final = session.history[-1] if session.history else None
    if session.state is SessionState.COMPLETED and isinstance(final, FinalResponse):
        st.success(
            "The agent has answered. Export the trace, or go on asking.", icon=":material/check_circle:"
        )
        st.text(literal(final.content))
    else:
        st.caption("What is open stays open; the agent hears your query first.")
    text = editor(kept, "again_text", "Query", fewest=5)
    if accept(kept, "Send"):
        if text.strip():
            return SubmitQuery(message=text)
        not_ready("There is nothing to send yet; write a query first.")
    return None


def _object(value: dict[str, JsonValue], name: str) -> dict[str, JsonValue]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}
