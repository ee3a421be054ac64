"""What the panels of all decisions draw alike: the head, editors for JSON, what was asked, the way to the real thing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import streamlit as st
from pydantic import JsonValue
from streamlit.delta_generator import DeltaGenerator

from app.forms.common_panel import place
from app.forms.field_widgets import problem_line
from app.forms.form_reading import place_in_words
from app.forms.safe_labels import literal, safe_label
from app.forms.typed_json import TypedJsonError, parse_json, show_json
from app.forms.widget_store import KeptInputs, slug
from app.session import page_state
from simulator.environment.schema.schema_checks import Problem, in_words

_SEND_KEYS = "Mod+Enter"
"""Ctrl or Cmd with Enter."""

_LINE = 21
_FRAME = 34
_FEWEST_LINES = 4
_MOST_LINES = 20
_TALL = 108
_SHOWN_MISFITS = 5
_LONGEST_WORDS = 400

Option = TypeVar("Option", bound=str)


def decision_head(words: str = "") -> DeltaGenerator:
    """Draw the title of the pane, with a few words of ours; return the line that it stands in, where a choice may follow."""
    line = st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False, key="head_decision"
    )
    line.markdown("**Decision**", width="content")
    if words:
        line.container(key="decision_count").caption(words)
    else:
        line.space("stretch")
    return line


def choice(
    kept: KeptInputs,
    name: str,
    label: str,
    options: Sequence[Option],
    *,
    first: Option | None = None,
    on_change: Callable[[], None] | None = None,
) -> None:
    """Draw a choice between a few words of ours; what was chosen is kept under its name. Until then it is `first`, or the first option."""
    first = first or options[0]
    if kept.value(name, first) not in options:
        kept.put(name, first)
    st.segmented_control(
        label,
        options,
        required=True,
        key=kept.widget(name, first),
        label_visibility="collapsed",
        on_change=on_change or "rerun",
    )


def heading(name: str, *badges: tuple[str, str, str]) -> DeltaGenerator:
    """Name what is asked: a tool, an agent; each badge is a safe text, an icon and a colour. Give the line for more."""
    line = st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="decision_heading")
    with line.container(horizontal=True, vertical_alignment="center", gap="xsmall", width="content"):
        st.badge(safe_label(name), color="primary")
        for text, icon, color in badges:
            st.badge(text, icon=icon or None, color=color)  # type: ignore[arg-type] # one of its colours
    return line


def arguments(value: JsonValue, title: str = "Arguments") -> None:
    """Show the arguments of a call, as far as they are not too long to leave room for the answer."""
    if not value:
        st.caption("No arguments")
        return
    text = show_json(value)
    tall = text.count("\n") > _TALL // _LINE
    with st.container(horizontal=True, gap="xsmall", wrap=False):
        st.caption(title, width="content")
        st.code(literal(text), language="json", wrap_lines=True, height=_TALL if tall else "content")


def details(title: str, text: str) -> None:
    """Show a text from outside that may be long, folded."""
    if text.strip():
        st.expander(title, type="compact").text(literal(text))


def editor(
    kept: KeptInputs,
    name: str,
    label: str,
    initial: str = "",
    *,
    placeholder: str | None = None,
    fewest: int = _FEWEST_LINES,
    bare: bool = False,
    live: bool = False,
) -> str:
    """Draw an editor; return the text as far as it is known.

    The text reaches the server with the next click; of a `live` one also when it is left, which draws the page anew.
    A bare one shows no label; `fewest` is how many lines it has room for at least.
    """
    known = str(kept.value(name, initial) or "")
    lines = min(max(known.count("\n") + 2, fewest), _MOST_LINES)
    text = st.text_area(
        label,
        key=kept.widget(name, initial),
        height=lines * _LINE + _FRAME,
        on_change="rerun" if live else "ignore",
        placeholder=placeholder,
        label_visibility="collapsed" if bare else "visible",
    )
    return text or ""


def json_line(title: str) -> DeltaGenerator:
    """Draw the line above an editor of JSON; return the place in it for what is wrong, which has room there from the start."""
    line = st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", key=f"json_line_{slug(title)}"
    )
    line.caption(title, width="content")
    return line.container(gap="xsmall", width="stretch")


def json_editor(
    kept: KeptInputs, name: str, label: str, initial: str, *, what: str, fewest: int = _FEWEST_LINES
) -> tuple[JsonValue, bool]:
    """Draw an editor for JSON, and above it what is wrong with its text.

    Args:
        kept: Keeps the text.
        name: The editor's name among the inputs.
        label: Its label.
        initial: The text that is there at first.
        what: The text in words of ours, to begin a sentence: "The payload".
        fewest: How many lines it has room for at least.

    Returns:
        The value, and whether there is one.
    """
    value: JsonValue = None
    wrong = ""
    try:
        value = parse_json(str(kept.value(name, initial) or ""))
    except TypedJsonError as error:
        wrong = f"{what} is not valid JSON. {error}"
    with json_line(label):
        if wrong:
            problem_line(wrong)
    editor(kept, name, label, initial, fewest=fewest, bare=True)
    return value, not wrong


@contextmanager
def buttons(key: str = "decision") -> Iterator[DeltaGenerator]:
    """Draw the row of buttons below a decision, which stays in sight; give the place above them.

    What is said there, such as why nothing was sent, is seen where the click was; what is below the row is covered by it.
    """
    with st.container(key=f"{key}_foot", gap="xsmall"):
        above = place()
        with st.container(horizontal=True, gap="small", vertical_alignment="center", key=f"{key}_buttons"):
            yield above


def not_ready(words: str) -> None:
    """Say why something cannot be sent yet; names in the words may come from outside."""
    st.error(safe_label(words, _LONGEST_WORDS), icon=":material/error:")


def misfit_list(misfits: Sequence[Problem]) -> None:
    """Say where a value breaks its schema; the words come from outside."""
    if not misfits:
        return
    with st.container(gap="xsmall"):
        for words in in_words(misfits[:_SHOWN_MISFITS], _SHOWN_MISFITS, partial(place_in_words, whole="")):
            with st.container(horizontal=True, gap="xsmall"):
                st.badge("Schema", icon=":material/warning:", color="orange")
                st.text(literal(words))
        if len(misfits) > _SHOWN_MISFITS:
            st.caption(f"and {len(misfits) - _SHOWN_MISFITS} more")


def was_clicked(kept: KeptInputs, name: str) -> bool:
    """Tell before a button is drawn whether it was clicked."""
    return bool(st.session_state.get(kept.key(name)))


def send_keys() -> str | None:
    """Return the keys that send; none while they save a rule in the editor over the session."""
    return None if st.session_state.get(page_state.RULE_HERE) else _SEND_KEYS


def accept(kept: KeptInputs, label: str = "Accept", name: str = "accept", *, shortcut: bool = True) -> bool:
    """Draw the one button that sends, also by Ctrl or Cmd with Enter.

    Args:
        kept: Whose it is.
        label: Its words.
        name: Its name among the inputs.
        shortcut: Let keys press it. Never where something happens that no undo takes back: keys that are pressed once too often,
            for what stood there before, would do it unseen.
    """
    return st.button(
        label,
        key=kept.key(name),
        type="primary",
        icon=":material/check:",
        shortcut=send_keys() if shortcut else None,
    )


def run_for_real(kept: KeptInputs, what: str, warning: str) -> bool:
    """Draw the way to let the real thing answer, behind a second click; True when it was asked for."""
    with st.popover(f"Run real {what}", icon=":material/bolt:", key=kept.key("real_menu")):
        st.caption(warning)
        return st.button(f"Run real {what} now", key=kept.key("real"), icon=":material/bolt:")


def may_have_run(what: str) -> None:
    """Warn that the real thing ran before: its answer never arrived, or the step was taken back."""
    st.warning(
        f"The real {what} was already started once for this step. Its response is not part of this session: "
        "it never arrived, or the step was undone. Undo does not revert real side effects. Check there "
        "first. Run it again only if running it twice is harmless.",
        icon=":material/history:",
    )
