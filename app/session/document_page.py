"""Shows the documents that come with the studio, each at an address of its own, and says which of them is about a page."""

from __future__ import annotations

import re
from pathlib import Path

import streamlit as st

from app.session import page_state

FOLDER = Path(__file__).parents[1] / "docs"
_PICTURE = re.compile(r"^!\[(.*)\]\(([\w-]+\.png)\)$", re.MULTILINE)
_TO_DOCUMENT = re.compile(r"\]\(([\w-]+)\.md(#[\w-]+)?\)")
_OF_VIEW = {"environment": "environment", "export": "goldens"}


def wanted() -> Path | None:
    """Return the document that the address names; None where it names none that there is."""
    name = page_state.document()
    return next((file for file in FOLDER.glob("*.md") if file.stem == name), None)


def document_link() -> None:
    """Draw a link to the document about the page that is shown; it opens in another tab, and leaves the page as it is."""
    st.link_button(
        "Documentation",
        f"?document={_about()}",
        icon=":material/help:",
        type="tertiary",
        help="Opens in a new tab",
    )


def _about() -> str:
    if page_state.is_on_sets():
        return "eval-sets"
    if page_state.shared_token():
        return "many-people"
    if page_state.session_id():
        return _OF_VIEW.get(page_state.view() or "", "sessions")
    return "agents"


def draw(file: Path) -> None:
    """Draw a document: what it says, its pictures, and links to the others."""
    parts = _PICTURE.split(file.read_text(encoding="utf-8"))
    with st.container(key="document", width=880):
        st.markdown(_linked(parts[0]))
        for words, picture, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            st.image(FOLDER / picture, caption=words)
            st.markdown(_linked(text))


def _linked(text: str) -> str:
    """Let links lead to the other documents' addresses, and that to the README to the studio."""
    return _TO_DOCUMENT.sub(r"](?document=\1\2)", text.replace("](../../README.md)", "](./)"))
