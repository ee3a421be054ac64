"""Where a recorded case is chosen to be replayed in a session: each call gets its recorded answer, all else is asked."""

import os
from collections.abc import Callable, Mapping
from typing import get_args

import streamlit as st

from app.commands import StartRecorded
from app.labels import literal, safe_label
from app.panels.parts import problem
from app.recorded_play import Agents, RecordedForm

PATH_KEY = "recorded_path"
_CASE_KEY = "recorded_case"
AGENTS: dict[Agents, str] = {"moves": "Make the recorded moves", "model": "Are played by their own models"}
assert set(AGENTS) == set(get_args(Agents))  # noqa: S101 - a new way must get a name here
_LONGEST = 60


def recorded_start(
    agent: str, default_path: str, cases: Callable[[str], Mapping[str, str]], failed: str | None
) -> StartRecorded | None:
    """Draw it for an agent; give the case that is to be replayed.

    Args:
        agent: The agent.
        default_path: The agent's eval set.
        cases: Gives the recorded cases at a path, each with what the user says first; a ValueError says why there are none.
        failed: Why the last attempt did not work.
    """
    body = st.expander(
        "Replay a recorded case",
        icon=":material/replay:",
        key="recorded_start",
        on_change="rerun",
        expanded=False,
    )
    if not (body.open or failed):
        return None
    with body:
        return _form(agent, default_path, cases, failed)


def _form(
    agent: str, default_path: str, cases: Callable[[str], Mapping[str, str]], failed: str | None
) -> StartRecorded | None:
    st.caption(
        "Beside each eval set lies what its world answered. A session replays it, and pauses where the agent asks for what was not "
        "recorded: you answer, see the recorded call that is nearest, and can add your answer to the case."
    )
    path = st.text_input("Eval set or recorded environment", value=default_path, key=PATH_KEY) or ""
    found = _found(path, cases, is_default=path == default_path)
    names = list(found)
    if st.session_state.get(_CASE_KEY) not in names:
        st.session_state[_CASE_KEY] = names[0] if names else None
    case = st.selectbox(
        "Case",
        names,
        key=_CASE_KEY,
        format_func=lambda name: literal(f"{name}: {_short(found.get(name, ''))}"),
        placeholder="No case is recorded there",
    )
    agents = st.segmented_control(
        "The agents",
        list(AGENTS),
        format_func=AGENTS.__getitem__,
        required=True,
        key="recorded_agents",
        default="moves",
    )
    if failed:
        problem("The case cannot be replayed.", failed)
    if (
        not st.button("Replay", key="play_recorded", icon=":material/replay:", disabled=case is None)
        or case is None
    ):
        return None
    return StartRecorded(form=RecordedForm(agent=agent, path=path, case=case, agents=agents))


def _found(path: str, cases: Callable[[str], Mapping[str, str]], *, is_default: bool) -> Mapping[str, str]:
    """Give the cases at a path; where there are none, say why, or how there will be some."""
    try:
        return cases(path) if path.strip() else {}
    except ValueError as error:  # no such file, not theirs, or something else
        if is_default and not os.path.lexists(path):
            st.caption(
                "Nothing is recorded for this agent yet: export one of its sessions, or give the path of another set."
            )
        else:
            problem("There is nothing to replay.", str(error))
        return {}


def _short(text: str) -> str:
    return safe_label(text, _LONGEST)
