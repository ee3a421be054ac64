"""The page of an eval set that cannot be opened: why, and what helps: an import, or the doctor."""

from pathlib import Path

import streamlit as st

from app.bench import benches
from app.labels import literal
from app.panels.evalsets.scene import CloseSet, ImportFile
from app.panels.parts import problem
from app.set_facts import facts_of
from app.set_imports import importable


def broken_set(path: Path, owner: str, why: str, failed: str | None = None) -> CloseSet | ImportFile | None:
    """Draw the page; give what was asked for. `failed` says why the last import of it was not possible."""
    asked: CloseSet | ImportFile | None = None
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="set_head"):
        with st.container(key="session_title", width="content"):
            st.text(literal(path.name), wrap=False)
        st.space("stretch")
        if st.button("All eval sets", key="set_back", icon=":material/arrow_back:", type="tertiary"):
            asked = CloseSet()
    if what := importable(path):
        return _import(path, what, failed) or asked
    problem("The eval set was not opened.", why)
    if path.is_file():
        from app.panels.evalsets.doctor_tab import doctor_tab  # noqa: PLC0415 - not before a set is broken

        st.caption(
            "The doctor says what is wrong with it, and mends what can be mended. It opens as soon as it can be read."
        )
        doctor_tab(benches().of(owner, path), facts_of(path))
    return asked


def _import(path: Path, what: str, failed: str | None) -> ImportFile | None:
    """Offer to import a file that is no eval set, but holds cases."""
    st.info(
        f"This file is {what}, not an eval set. Its cases can be imported into one.", icon=":material/input:"
    )
    if failed:
        problem("It cannot be imported.", failed)
    asked = st.button(
        "Import as a new eval set",
        key="import_as_set",
        type="primary",
        icon=":material/library_add:",
        help="The new set is written beside the file, with the tool responses as far as they are known. The file stays as it is",
    )
    return ImportFile(path=str(path)) if asked else None
