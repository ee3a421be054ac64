"""Where a person says what a block of the agent's code prints, or lets it run."""

import streamlit as st

from app.decisions import AnswerCode, Decision, RunReal
from app.kept import Kept
from app.labels import literal
from app.panels.asked import accept, editor, heading, may_have_run, run_for_real
from simulator.seats.answers import CodeAnswer
from simulator.seats.requests import CodeRequest

_TALL = 240
_MANY_LINES = 11
_WARNING = "The code runs in the agent's own code executor, with all that it does to the world."


def code_decision(kept: Kept, request: CodeRequest) -> Decision | None:
    """Draw the code; give what it is said to print."""
    heading(request.agent, ("runs code", ":material/code:", "gray"))
    if request.may_have_run:
        may_have_run("code")
    tall = request.code.count("\n") >= _MANY_LINES
    st.code(literal(request.code), language="python", wrap_lines=True, height=_TALL if tall else "content")
    printed = editor(kept, "response_stdout", "What it prints (stdout)", fewest=5)
    errors = editor(kept, "response_stderr", "Errors (stderr)", fewest=2)
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="decision_buttons"):
        clicked = accept(kept, "Answer")
        real = run_for_real(kept, "code", _WARNING)
    if real:
        return RunReal(key=request.key)
    return AnswerCode(key=request.key, answer=CodeAnswer(stdout=printed, stderr=errors)) if clicked else None
