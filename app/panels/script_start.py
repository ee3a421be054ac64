"""Where a script is brought along: uploaded or pasted, with what to do where it has no answer."""

from contextlib import suppress
from typing import Any, get_args

import streamlit as st

from app.commands import StartScript
from app.labels import literal
from app.panels.parts import problem
from app.script_play import Otherwise, ScriptForm, case_losses, text_of_upload
from evalset.kinds import holds_cases, importable_kind

TEXT_KEY = "start_script"
_UPLOAD_KEY = "start_script_file"
_CASE_KEY = "start_script_case"
_EXAMPLE = """\
format: golden-trace-studio/script
version: 1
turns:
- say: Where is order A-1002?
"""
OTHERWISE: dict[Otherwise, str] = {
    "": "As the script says",
    "ask": "Ask me, and go on then",
    "generate": "Take the draft, or the agent's own model",
    "fail": "End there",
}
assert set(OTHERWISE) == set(get_args(Otherwise))  # noqa: S101 - a new way must get a name here


def script_start(agent: str, failed: str | None) -> StartScript | None:
    """Draw it for an agent; give the script that is to be played. `failed` says why the last one was not."""
    body = st.expander(
        "Play a script", icon=":material/description:", key="script_start", on_change="rerun", expanded=False
    )
    if not (body.open or failed):
        return None
    with body:
        return _form(agent, failed)


def _form(agent: str, failed: str | None) -> StartScript | None:
    st.caption(
        "A session as a file, YAML or JSON: what the user says, what the agent does, what the tools answer. Any session that was "
        "recorded can be downloaded as one where it is exported. An eval set will do too, or a downloaded archive of one: one of its "
        "golden traces is played."
    )
    _upload()
    text = st.text_area(
        "Script", key=TEXT_KEY, height=200, placeholder=_EXAMPLE, on_change="ignore", persist_state="session"
    )
    if what := importable_kind((text or "").encode()):
        problem(
            "This is no script.",
            f"It is {what}. Open it under Eval sets: its cases are imported, and can be played there.",
        )
        return None
    case = _case(text or "")
    otherwise = st.selectbox(
        "Where the script has no answer",
        list(OTHERWISE),
        format_func=OTHERWISE.__getitem__,
        key="start_script_otherwise",
        on_change="ignore",
    )
    if failed:
        problem("The script cannot be played.", failed)
    if not st.button("Play the script", key="play_script", icon=":material/play_circle:"):
        return None
    if not (text or "").strip():
        problem("There is nothing to play yet; upload a script, or paste one.")
        return None
    if holds_cases(text or "") and not case:
        return None
    return StartScript(form=ScriptForm(agent=agent, text=text or "", otherwise=otherwise, case=case))


def _upload() -> None:
    uploaded: Any = st.file_uploader(
        "Script or eval set", type=["yaml", "yml", "json", "zip"], key=_UPLOAD_KEY, on_change=_take
    )
    if uploaded is not None:
        try:
            text_of_upload(uploaded.getvalue())
        except ValueError as error:
            problem("This file cannot be read.", str(error))


def _case(text: str) -> str:
    """Draw the choice of a golden trace where the text is an eval set; give its name, empty for none."""
    if not holds_cases(text):
        return ""
    try:
        found = case_losses(text)
    except ValueError as error:  # a ScenarioError
        problem("The eval set cannot be played.", str(error))
        return ""
    names = list(found)
    is_new = st.session_state.get(_CASE_KEY) not in names
    if is_new:
        st.session_state[_CASE_KEY] = names[0]
    case: str = st.selectbox("Golden trace", names, format_func=literal, key=_CASE_KEY)
    for loss in found[case]:
        st.text(literal(f"Not in the trace: {loss}"))
    # Who has just pasted several has not seen yet what can be chosen.
    return "" if is_new and len(names) > 1 else case


def _take() -> None:
    """Put a file that was uploaded into the text, where it can be changed."""
    uploaded: Any = st.session_state.get(_UPLOAD_KEY)
    if uploaded is not None:
        with suppress(ValueError):  # said where the file is drawn
            st.session_state[TEXT_KEY] = text_of_upload(uploaded.getvalue())
