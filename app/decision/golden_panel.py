"""Draws what the golden did next that the session began with: it is used with one click, or edited first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import streamlit as st

from app.decision.golden_candidate import ANOTHER_WAY, HERE
from app.decision.ready_answers import choose
from app.decision.request_panel import was_clicked
from app.decision.tool_answer import ToolInputs
from app.forms.common_panel import place
from app.forms.safe_labels import literal
from app.forms.typed_json import show_json
from app.forms.value_editor_widgets import shown_value
from app.forms.widget_store import KeptInputs
from simulator.base.json_values import JsonObject
from simulator.scripts.script_lines import BY_SCRIPT
from simulator.session.commands import Confirm, Query, Reply
from simulator.session.model import OpenCall

if TYPE_CHECKING:
    from simulator.scripts.script_lines import NextLines

_TITLES: dict[str, tuple[str, str, Literal["violet", "gray"]]] = {
    "golden": ("Golden", ":material/flag:", "violet"),
    "before": ("Before", ":material/history:", "gray"),
}


def golden_step(
    kept: KeptInputs,
    words: str,
    draw: Callable[[], object] = lambda: None,
    *,
    use: Callable[[], None] | None = None,
    edit: Callable[[], None] | None = None,
    uses: bool = True,
    of: Literal["golden", "before"] = "golden",
) -> bool:
    """Draw a step of the golden; True where it is to be used as it is.

    `use` is what a click on "Use" does first, and `edit` puts the step into the inputs; None where it cannot stand there.
    `uses` says whether it fits, so that it can be used as it is, and `of` whose step it is.
    """
    title, icon, color = _TITLES[of]
    with st.container(border=True, gap="xsmall", key=f"{of}_step"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.badge(title, icon=icon, color=color)
            st.caption(words, width="content")
            st.space("stretch")
            key, words_of_use = kept.key(f"{of}_use"), "Sends this step as it is"
            used = uses and st.button(
                "Use", key=key, icon=":material/check:", help=words_of_use, on_click=use
            )
            if edit is not None:
                st.button(
                    "Edit",
                    key=kept.key(f"{of}_edit"),
                    type="tertiary",
                    icon=":material/edit:",
                    help="Puts this step into the editor",
                    on_click=edit,
                )
        draw()
    return used


def golden_response(inputs: ToolInputs, golden: NextLines | None) -> bool:
    """Draw what the golden has for a tool call; True where it is to be given at once, and it is in the inputs then."""
    if golden is None:
        return False
    found, kept = inputs.golden, inputs.kept
    if found is None:
        why = "" if golden.calls(inputs.request.tool_name) else f"{ANOTHER_WAY} "
        return golden_step(kept, f"{why}The golden has no response of this tool.", uses=False)
    words = found.title if found.label == "golden" else f"{found.title}:"

    def put() -> None:
        choose(inputs, found)

    def draw() -> None:
        if found.label != "golden":
            st.text(literal(found.why))

    golden_step(kept, words, draw, use=put, edit=put)
    return was_clicked(kept, "golden_use")


def golden_message(kept: KeptInputs, golden: NextLines | None, name: str) -> Query | None:
    """Draw the golden's next user message; return it where it is to be sent as it is.

    Args:
        kept: Has the input for the message.
        golden: The golden.
        name: That of the input: for JSON, or for a text. Empty where the message is written in a form.
    """
    if golden is None:
        return None
    with place():
        turn = golden.message()
        if turn is None or turn.say is None:
            ends = f"{ANOTHER_WAY} It has no further user message."
            golden_step(kept, "The golden ends here." if golden.is_at_end else ends, uses=False)
            return None
        said: str | JsonObject = turn.say if isinstance(turn.say, str) else dict(turn.say)
        text = said if isinstance(said, str) else show_json(said)
        is_json = name.endswith("json")
        typed = show_json({"parts": [{"text": said}]}) if is_json and isinstance(said, str) else text
        is_editable = is_json or (bool(name) and isinstance(said, str))
        edit = (lambda: kept.put(name, typed)) if is_editable else None
        used = golden_step(kept, HERE, lambda: st.text(literal(text)), edit=edit)
    return Query(message=said, state_delta=dict(turn.state_delta), by=BY_SCRIPT) if used else None


def golden_reply(kept: KeptInputs, golden: NextLines | None, call: OpenCall) -> Confirm | Reply | None:
    """Draw what the user answered to an open call in the golden; return it where it is to be sent as it is."""
    if golden is None:
        return None
    turn = golden.reply(call)
    if turn is None:
        golden_step(kept, f"{ANOTHER_WAY} It has no reply to this.", uses=False)
        return None
    is_confirmed = turn.confirm
    if is_confirmed is None:
        used = golden_step(kept, HERE, lambda: shown_value(turn.reply, "golden_reply"))
        return Reply(call_id=call.call_id, response=turn.reply) if used else None
    payload = turn.payload

    def draw() -> None:
        st.text(literal("Confirmed" if is_confirmed else "Rejected"))
        if payload is not None:
            shown_value(payload, "golden_payload")

    used = golden_step(kept, HERE, draw)
    return Confirm(call_id=call.call_id, confirmed=is_confirmed, payload=payload) if used else None
