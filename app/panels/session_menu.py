"""The menu of each session in the list: drawn only while it is open, and by itself, as a list of them would cost most of the page."""

from collections.abc import Callable
from typing import Annotated

import streamlit as st
from pydantic import Field, TypeAdapter

from app import state
from app.commands import (
    ArchiveSession,
    CloseSession,
    DeleteSession,
    DescribeSession,
    DuplicateSession,
    MenuCommand,
)
from app.fragments import fragment
from app.kept import slug
from app.panels.sharing import sharing
from app.session_lines import SessionLine

_COMMAND: TypeAdapter[MenuCommand] = TypeAdapter(Annotated[MenuCommand, Field(discriminator="kind")])

Export = Callable[[str], str]
"""Gives a kept session as a file."""


def asked_in_menu() -> MenuCommand | None:
    """Give what was asked for in a menu, once; call it before the menus are drawn."""
    asked = state.get("menu_asked")
    state.put("menu_asked", None)
    return None if asked is None else _COMMAND.validate_python(asked)


def session_menu(line: SessionLine, export: Export | None) -> None:
    """Draw the menu of a session: of a kept one, or the way to end another.

    To open and to close it draws nothing else anew: whoever clicks beside it to close it is not kept waiting, and what
    they click there is heard.
    """
    fragment(_kept_menu if line.is_kept else _close_menu)(line, export)


def _ask(label: str, command: MenuCommand, key: str, icon: str, help_: str | None = None) -> None:
    """Draw a button that asks for something; a callback, as that is run whatever else is drawn in the same moment."""
    st.button(label, key=key, icon=icon, help=help_, on_click=_asked, args=(command,))


def _asked(command: MenuCommand) -> None:
    state.put("menu_asked", command.model_dump(mode="json"))


def _close_menu(line: SessionLine, export: Export | None) -> None:
    del export
    name = slug(line.session_id)
    menu = st.popover(
        ":material/close:",
        key=f"close_menu_{name}",
        type="tertiary",
        help="End this session; what was not exported is lost",
        on_change="rerun",
    )
    if menu.open:
        with menu:
            st.text("Close this session? It cannot be brought back.")
            ended = CloseSession(session_id=line.session_id)
            _ask("Close", ended, f"close_{name}", ":material/delete:")
    _carry_on()


def _kept_menu(line: SessionLine, export: Export | None) -> None:
    name = slug(line.session_id)
    menu = st.popover(
        ":material/more_vert:",
        key=f"kept_menu_{name}",
        type="tertiary",
        help="Name, tags, notes; share, copy, download, archive, delete",
        on_change="rerun",
    )
    if menu.open:
        with menu:
            _within(line, name, export)
    _carry_on()


def _within(line: SessionLine, name: str, export: Export | None) -> None:
    this = line.session_id
    _description(line, name)
    sharing(line, name, _ask)
    _ask("Duplicate", DuplicateSession(session_id=this), f"duplicate_{name}", ":material/content_copy:")
    if export is not None:
        st.download_button(
            "Download as a file",
            lambda: export(this),
            f"{this}.session.json",
            key=f"download_{name}",
            icon=":material/download:",
            on_click="ignore",
        )
    word = "Take out of the archive" if line.archived else "Archive"
    archived = ArchiveSession(session_id=this, archived=not line.archived)
    _ask(word, archived, f"archive_{name}", ":material/archive:")
    _ask("Delete", DeleteSession(session_id=this), f"delete_{name}", ":material/delete:")


def _description(line: SessionLine, name: str) -> None:
    st.text_input("Name", value=line.title, key=f"name_{name}", max_chars=120, on_change="ignore")
    st.text_input(
        "Tags",
        value=", ".join(line.tags),
        key=f"tags_{name}",
        placeholder="refunds, smoke test",
        on_change="ignore",
    )
    st.text_area("Notes", value=line.notes, key=f"notes_{name}", height=80, on_change="ignore")
    st.button("Save", key=f"describe_{name}", icon=":material/check:", on_click=_describe, args=(line, name))


def _describe(line: SessionLine, name: str) -> None:
    called, tags, notes = (str(st.session_state[f"{field}_{name}"]) for field in ("name", "tags", "notes"))
    words = tuple(filter(None, (tag.strip() for tag in tags.split(","))))
    _asked(DescribeSession(session_id=line.session_id, name=called.strip(), tags=words, notes=notes))


def _carry_on() -> None:
    """Draw the page anew where something was asked for: what it does is no part of the menu."""
    if state.get("menu_asked") is not None:
        st.rerun()
