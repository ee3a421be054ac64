"""What several panels draw alike: the head of a pane, its frame, and text from outside."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath
from typing import Literal, TypeAlias, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer

from app.forms.safe_labels import Badge, DetailBlock, literal, safe_label
from app.forms.widget_store import KeptInputs, slug
from simulator.base.json_values import JsonObject
from simulator.base.model_settings import server_settings
from simulator.session.history import AttachedFile

PANE_HEIGHT = 620
"""In pixels, before the style sheet fits the panes to the window."""

SHOWN_REPORTS = 3

Gap: TypeAlias = Literal["xxsmall", "xsmall", "small"]
"""How far apart things stand."""

_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The types that a browser shows as a picture in which nothing runs."""

Option = TypeVar("Option", bound=str)


def pane_head(
    title: str,
    options: Sequence[str],
    key: str,
    choose: Callable[[str, Sequence[str], str], str] | None = None,
) -> str:
    """Draw a pane's title with the views it offers, as `choose` draws them, and return the chosen one."""
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False, key=f"head_{key}"
    ):
        st.markdown(f"**{title}**", width="content")
        st.space("stretch")
        return (choose or views)(f"{title}: view", options, key)


def needed_state(kept: KeptInputs, keys: Sequence[str], otherwise: str) -> dict[str, str]:
    """Draw a field for each key of the state that the agent's instruction needs; return what they hold. `otherwise` says what happens without."""
    typed = {
        key: st.text_input(
            f"Needed by the agent: {safe_label(key, 40)}",
            key=kept.widget(f"start_state_{slug(key)}", ""),
            on_change="ignore",
        )
        for key in keys
    }
    if keys:
        st.caption(f"The agent's instruction contains these keys of the state. {otherwise}")
    return {key: text or "" for key, text in typed.items()}


def page_head(name: str, session: str, shown: Badge, key: str, *, back_help: str | None = None) -> bool:
    """Draw the head of a page of a session; True when it was asked for the session itself.

    Args:
        name: The page's name.
        session: The session's title, which may come from outside.
        shown: How the session stands.
        key: What the keys begin with.
        back_help: The help of the button that leads back.
    """
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", key=f"{key}_head", wrap=False
    ):
        st.subheader(name, anchor=False, width="content")
        with st.container(key="session_title", width="content"):
            st.text(literal(session), wrap=False)
        badge(shown)
        st.space("stretch")
        return st.button(
            "Back to session",
            key=f"{key}_back",
            type="tertiary",
            icon=":material/arrow_back:",
            help=back_help,
        )


def views(label: str, options: Sequence[Option], key: str) -> Option:
    """Draw a choice between views, which stays for the session; return the chosen one."""
    chosen = st.segmented_control(
        label,
        options,
        default=None if key in st.session_state else options[0],
        required=True,
        key=key,
        label_visibility="collapsed",
        persist_state="session",
    )
    return chosen or options[0]


def pane(name: str, *, autoscroll: bool = False) -> DeltaGenerator:
    """Return the frame of a pane; all have the same height and scroll inside."""
    return st.container(
        border=True, height=PANE_HEIGHT, key=f"pane_{name}", gap="xsmall", autoscroll=autoscroll
    )


def place(gap: Gap = "xsmall") -> DeltaGenerator:
    """Return a container for parts that come and go, so that nothing below them changes its position in the page.

    Streamlit replaces a button whose position changes. Pressing a button leaves the field that is edited, which redraws the
    page: a button that is replaced between press and release gets no click.
    """
    return st.container(gap=gap)


_LETTER, _FEWEST, _WIDEST = 8, 8, 400
"""A letter of a table in pixels, how many a column of names has room for at least, and its greatest width."""


def name_width(names: Iterable[str]) -> int:
    """Return how wide a column of names is, in pixels: each is whole up to a length, and what is behind it is scrolled to."""
    return min((max((_FEWEST, *map(len, names))) + 4) * _LETTER, _WIDEST)


def unfolding(label: str, key: str, icon: str) -> ExpanderContainer:
    """Return a step that can be unfolded, and stays so when its label changes: to Streamlit it is another one then."""
    if st.session_state.get(key):
        st.session_state[key] = True
    return st.expander(label, type="step", icon=icon, key=key, on_change="rerun")


def badge(shown: Badge) -> None:
    """Draw a badge."""
    st.badge(shown.text, icon=shown.icon or None, color=shown.color)


def block(shown: DetailBlock, key: str = "") -> None:
    """Draw a text from outside: as text or code, which nothing in it can make into anything else; `key` is that of a file's button."""
    if shown.title:
        st.caption(shown.title)
    if shown.file is not None:
        shown_file(shown.file, key)
    elif shown.language is None:
        st.text(literal(shown.text))
    else:
        language = None if shown.language == "text" else shown.language
        st.code(literal(shown.text), language=language, wrap_lines=True)


def shown_file(file: AttachedFile, key: str) -> None:
    """Draw a file from outside: a picture as such, anything as a download that the browser does not open."""
    if file.mime_type in _PICTURES and (content := file.content):
        # By its data: Streamlit would unpack a picture in the studio's process, whatever size that has.
        st.image(
            f"data:{file.mime_type};base64,{base64.b64encode(content).decode()}",
            alt=literal(file.name) or "Picture",
        )
    st.download_button(
        f"Download {safe_label(file.name or 'file', 40)}",
        data=lambda: file.content,
        file_name=PurePosixPath(file.name.replace("\\", "/")).name.lstrip(".") or "file",
        mime="application/octet-stream",
        key=key,
        type="tertiary",
        icon=":material/download:",
        on_click="ignore",
    )


def reports(texts: Sequence[str]) -> None:
    """Show what parts of the agent reported, the newest first; every word of it comes from outside."""
    if not texts:
        return
    with st.container(border=True, gap="xsmall", key="reports"):
        st.warning(
            "A component of the agent reported a problem in this turn.",
            icon=":material/warning:",
        )
        for text in list(reversed(texts))[:SHOWN_REPORTS]:
            st.code(literal(text), language=None, wrap_lines=True)
        if len(texts) > SHOWN_REPORTS:
            st.caption("The notes above list all of them.")


def not_used(configuration: JsonObject) -> None:
    """Name what a model's configuration from an earlier version or another person has and nobody heeds."""
    with place():
        if refused := server_settings(configuration):
            st.warning("The model is called without these fields.", icon=":material/warning:")
            st.text(literal("\n".join(map(str, refused))))


def problem(title: str, detail: str = "") -> None:
    """Say that something went wrong. `title` is our own sentence, `detail` may come from outside."""
    st.error(title, icon=":material/error:")
    if detail:
        st.code(literal(detail), language=None, wrap_lines=True)
