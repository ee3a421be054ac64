"""Where the user speaks: the first query of a session, and the next one after each answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import streamlit as st

from app.decision.golden_panel import golden_message
from app.decision.held_message_panel import held_message
from app.decision.request_panel import buttons, misfit_list, send_keys
from app.forms.common_panel import needed_state, pane, pane_head, place, problem
from app.forms.field_widgets import problem_line
from app.forms.form_reading import incomplete
from app.forms.safe_labels import literal
from app.forms.schema_form_widgets import schema_form
from app.forms.typed_json import TypedJsonError, parse_object, show_json
from app.forms.upload_panel import attach, attached, name_files
from app.forms.widget_store import KeptInputs
from app.live.live_sessions import UnsentTexts
from app.session.context_fold_panel import seats_button
from app.session.page_commands import Steps
from app.session.timeline_view import query_said
from app.session.user_form import text_and_files
from simulator.base.json_values import JsonObject, canonical
from simulator.branches import FailedStep
from simulator.facts import TurnStarted
from simulator.session.commands import Accept, Complete, GoOn, MoveHead, Query, SetPlayer, SetUser, Undo
from simulator.session.history import FinalResponse, message_of
from simulator.session.model import Seats, SessionState

if TYPE_CHECKING:
    from simulator.runtime import SimulationView
    from simulator.scripts.script_lines import NextLines


Asked: TypeAlias = Query | Accept | Steps | GoOn | MoveHead | SetUser | Complete
"""What can be asked for where the user speaks."""

FORMS = ("Text", "JSON")
FORMS_BY_SCHEMA = ("Form", *FORMS)
_INPUTS = {"Text": "query_text", "JSON": "query_json"}


def query(
    view: SimulationView,
    drafts: UnsentTexts,
    schema: JsonObject | None,
    failed: FailedStep | None = None,
    golden: NextLines | None = None,
    *,
    needed: Sequence[str] = (),
) -> Asked | None:
    """Draw the pane; return the query that was sent.

    Args:
        view: The session.
        drafts: Its unsent texts.
        schema: What the agent expects, where it expects JSON.
        failed: The answer that ended the last turn with an error.
        golden: What the case does next that the session began with.
        needed: The keys of the state without which the agent's turn fails.
    """
    if view.user.seat.ended:
        return over(view)
    if view.session.is_running and view.problems:
        return _interrupted(view)
    if (held := view.user.held) is not None:
        return _held(view, drafts, held)
    head = (FORMS, "query_form") if schema is None else (FORMS_BY_SCHEMA, "query_form_by_schema")
    chosen = pane_head("Message", *head)
    with pane("decision"):
        with place():
            _before(view)
            asked: Asked | None = _after_failure(view, drafts, failed) or complete(view)
            asked = held_message(view) or asked
        kept = _kept(view, drafts)
        with place():
            state, again = _needed(kept, view, needed)
        asked = golden_message(kept, golden, _INPUTS.get(chosen, "")) or again or asked
        if schema is not None:
            _expected(schema)
        sent = _sent(kept, view, drafts, schema if chosen == "Form" else None, as_text=chosen == "Text")
    return sent.model_copy(update={"state_delta": state}) if sent and state else sent or asked


def _sent(
    kept: KeptInputs, view: SimulationView, drafts: UnsentTexts, schema: JsonObject | None, *, as_text: bool
) -> Query | None:
    if schema is not None:
        return _form(kept, schema)
    if as_text:
        text, files = query_said(view.redoes)
        return _text(kept, view, text or _typed_for_the_turn_before(view, drafts), files)
    return _json(kept)


def _needed(
    kept: KeptInputs, view: SimulationView, needed: Sequence[str]
) -> tuple[dict[str, str], Steps | None]:
    """Draw what the agent's instruction needs and the state does not have; return what was typed, and the wish to try the failed turn with it."""
    session, turn = view.session, view.undoes
    missing = [key for key in needed if key not in session.current_state]
    typed = needed_state(kept, missing, "Without them its turn fails. They are set with the message.")
    state = {key: text for key, text in typed.items() if text}
    if not missing or not isinstance(turn, TurnStarted) or session.turns[-1].error is None:
        return state, None
    again = st.button(
        "Undo and send again",
        key="send_again",
        icon=":material/undo:",
        help="Takes back the turn that failed, and sends its message with these values in the state",
    )
    return state, (Undo(), Query(message=dict(turn.message), state_delta=state)) if again else None


def _kept(view: SimulationView, drafts: UnsentTexts) -> KeptInputs:
    return KeptInputs(drafts, "query", str(len(view.session.turns)))


def _typed_for_the_turn_before(view: SimulationView, drafts: UnsentTexts) -> str:
    """Return what was typed here while somebody else was faster: in another tab, or a script."""
    turns = view.session.turns
    if not turns:
        return ""
    before = str(len(turns) - 1)
    # The same message stands in another field while a late result is waited for.
    places = [KeptInputs(drafts, name, before).value(f"{name}_text") for name in ("query", "again")]
    typed = str(next(filter(None, places), ""))
    said = text_and_files(turns[-1].message)
    return "" if said is not None and typed == said[0] else typed


def _held(view: SimulationView, drafts: UnsentTexts, held: JsonObject) -> Asked | None:
    """Draw a message that waits for a person, in an editor of its own."""
    said = text_and_files(held)
    pane_head("Message", ("Held message",), "query_held")
    with pane("decision"):
        with place():
            _before(view)
            asked: Asked | None = complete(view)
            asked = held_message(view) or asked
        about = str(len(view.session.turns)), canonical(held)
        kept = KeptInputs(drafts, "held", *about)
        another = bool(kept.value("another", initial=False))
        st.button(
            "Back to held message" if another else "Write another",
            key="held_another",
            type="tertiary",
            on_click=lambda: kept.put("another", not another),
        )
        if another:
            return _text(KeptInputs(drafts, "another", *about), view, "") or asked
        sent = _json(kept, held) if said is None else _text(kept, view, *said, of_held=True)
    if sent is None:
        return asked
    is_as_held = said is not None and sent.message == message_of(*said)
    return Accept(message=held if is_as_held else sent.message)


def _interrupted(view: SimulationView) -> MoveHead | None:
    """Say why a turn that has not ended does not go on, as where the agent's process ends again and again; return the wish to play it anew from here."""
    st.markdown("**Query**")
    with pane("decision"):
        problem(
            "The turn cannot continue. Try again, undo a step, or stop the turn.", " ".join(view.problems)
        )
        again = st.button("Try again", key="play_again", icon=":material/refresh:")
    return MoveHead(fact=view.head) if again else None


def _before(view: SimulationView) -> None:
    """Say what came of the turn before."""
    session = view.session
    last = session.turns[-1] if session.turns else None
    final = session.history[-1] if session.history else None
    if last is None:
        st.markdown("**First user message**")
        st.caption("Then each tool call waits here for your response, with a draft to start from.")
    elif session.state is SessionState.COMPLETED and isinstance(final, FinalResponse):
        st.success(
            "The agent has replied. Export the trace, or send another message.",
            icon=":material/check_circle:",
        )
        st.text(literal(final.content))
    elif last.stopped:
        st.info("You stopped the turn. Send another message, or undo a step to continue from there.")
    elif last.error is not None:
        problem("The turn ended with an error.", f"{last.error.short_type}: {last.error.message}")
    elif session.state is SessionState.AWAITING_QUERY:
        st.info("The agent ended this turn without a reply.", icon=":material/info:")


def _after_failure(view: SimulationView, drafts: UnsentTexts, failed: FailedStep | None) -> Steps | None:
    """Draw the ways on after an error: to another player, as where a key is not set, and back before the answer that ended the turn."""
    last = view.session.turns[-1] if view.session.turns else None
    if last is None or last.stopped or last.error is None:
        return None
    with st.container(horizontal=True, gap="xsmall"):
        asked = None if failed is None else _yourself(failed, view.session.seats)
        seats_button(drafts)
    if failed is not None and failed.seat == "tool":
        st.caption(
            "Nothing in the agent caught the exception. For an error that the agent sees, undo, and choose "
            "504 Gateway Timeout in **Fail this call**."
        )
    return asked


def _yourself(failed: FailedStep, seats: Seats) -> Steps | None:
    """Draw the way back before the answer that ended the turn."""
    clicked = st.button(
        "Undo and answer yourself",
        key="answer_yourself",
        icon=":material/undo:",
        help="Go back to this step and answer it yourself. You keep the seat until you change it.",
    )
    # In this order, as who comes back to a step has everything first, also what a model would be asked.
    back, seated = (
        MoveHead(fact=failed.before),
        SetPlayer(seat=failed.seat, player="person", target=failed.target),
    )
    player = (seats.of_tool if failed.seat == "tool" else seats.of_agent)(failed.target)
    steps: Steps = (back,) if player == "person" else (back, seated)
    return steps if clicked else None


def _expected(schema: JsonObject) -> None:
    """Say what the agent expects; the schema comes from outside."""
    st.caption("This agent has an input schema. The message must be a JSON object that matches it.")
    body = st.expander("Input schema", type="compact")
    body.code(show_json(schema), language="json", wrap_lines=True)


def _form(kept: KeptInputs, schema: JsonObject) -> Query | None:
    tried = bool(st.session_state.get("query_send"))
    result = schema_form(kept, "query_form", schema, tried=tried)
    with place():
        misfit_list(result.misfits if tried else ())
    with buttons("message") as above:
        is_sent = _send(is_first=True)
    if not is_sent:
        return None
    if result.problems:
        with above:
            problem_line(incomplete("The message", result.problems))
        return None
    return Query(message=json.dumps(result.value, ensure_ascii=False))


def _text(
    kept: KeptInputs,
    view: SimulationView,
    before: str,
    files: tuple[JsonObject, ...] = (),
    *,
    of_held: bool = False,
) -> Query | None:
    """Draw a text with files; `before` and `files` are those it begins with."""
    turn, is_first = len(view.session.turns), of_held or not view.session.turns
    text = st.text_area(
        "User message" if of_held else "Next message" if turn else "Message",
        key=kept.widget("query_text", before),
        placeholder="Write what a user would say.",
        height=140,
        on_change="ignore",
    )
    with buttons("message") as above:
        is_sent = _send(is_first=is_first, of_held=of_held)
        uploaded = attach(f"attached_{kept.owner}_{turn}")
    with above:
        carried, added = _carried(kept, files), attached(uploaded)
        if not is_sent or added is None:
            return None
        sent = (*carried, *added)
        if not (text or "").strip() and not sent:
            problem_line("Nothing to send yet. Write a message first.")
            return None
    return Query(message=message_of(text or "", sent))


def _carried(kept: KeptInputs, files: tuple[JsonObject, ...]) -> tuple[JsonObject, ...]:
    """Draw the files that a message has already; return those that stay."""
    if not files:
        return ()
    stays = st.checkbox("Keep the attached files", key=kept.widget("with_files", initial=True))
    name_files(files)
    return files if stays else ()


def _json(kept: KeptInputs, held: JsonObject | None = None) -> Query | None:
    st.caption("A full message as google-genai `Content`, for files or several parts")
    text = st.text_area(
        "Message (JSON)",
        key=kept.widget("query_json", show_json(held) if held else '{"parts": [{"text": ""}]}'),
        height=220,
        on_change="ignore",
    )
    with buttons("message") as above:
        is_sent = _send(is_first=True, of_held=held is not None)
    if not is_sent:
        return None
    try:
        return Query(message=parse_object(text or ""))
    except TypedJsonError as error:
        with above:
            problem_line(f"The message was not sent. {error}")
        return None


def _send(*, is_first: bool, of_held: bool = False) -> bool:
    """Draw the button that sends; a held message is there already, so that keys pressed once too often would send it unseen."""
    return st.button(
        "Accept" if of_held else "Send",
        key="query_send",
        type="primary" if is_first else "secondary",
        icon=":material/send:",
        shortcut=None if of_held else send_keys(),
    )


# Where a person says that the conversation is over, and where they go back on it.


def complete(view: SimulationView) -> Complete | None:
    """Draw the way to end the conversation, where the agent has given its final response."""
    if view.session.state is not SessionState.COMPLETED:
        return None
    ended = st.button(
        "End conversation",
        key="complete",
        icon=":material/task_alt:",
        help="No more user messages are sent. You can reopen the conversation.",
    )
    return Complete(over=True) if ended else None


def over(view: SimulationView) -> Complete | None:
    """Draw what stands where the user would speak, when the conversation is over."""
    pane_head("Message", ("Ended",), "query_over")
    with pane("decision"):
        turns = len(view.session.turns)
        st.success(
            f"The conversation ended after {turns} turn{'' if turns == 1 else 's'}. Export the trace.",
            icon=":material/task_alt:",
        )
        final = view.session.history[-1]
        if isinstance(final, FinalResponse):
            st.text(literal(final.content))
        again = st.button(
            "Reopen conversation",
            key="go_on_after_all",
            icon=":material/chat:",
            help="Continues the conversation with the same players",
        )
    return Complete(over=False) if again else None
