"""Which agent and which cases of an eval set are run, and the download of a result: what the tabs draw alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import streamlit as st
from pydantic import JsonValue

from app.evalsets.cases.case_fields import declared_tools
from app.evalsets.set_context import SetFacts, called_tools, fitting_agents
from app.evalsets.workspace import Workspace
from app.forms.safe_labels import literal
from app.forms.widget_store import slug
from app.live.agent_catalogue import known_agents
from app.session import page_state
from evalset.kept_runs import KeptRun, KeptRunError, keep_run
from evalset.replay.model_choice import BY_HAND, Models, Policy
from evalset.result_tables import Result, Reviews, table_csv
from simulator.agent_config import SimulatedAgentConfig
from simulator.base.json_values import digest


def csv_button(
    result: Callable[[], Result], file_name: str, key: str, reviews: Callable[[], Reviews] = dict
) -> None:
    """Draw the button; the text is made only when it is pressed. `reviews` gives those of cases."""
    st.download_button(
        "CSV",
        data=lambda: table_csv(result(), reviews=reviews()),
        file_name=file_name,
        mime="text/csv",
        icon=":material/download:",
        key=key,
        on_click="ignore",
    )


def keep_button(
    workspace: Workspace, name: str, ended_at: float, run: Callable[[], KeptRun], *, by_adk: bool = False
) -> None:
    """Draw the button that keeps a run, and keep it; a note says so, or why it cannot be kept.

    Args:
        workspace: The set's workspace.
        name: The name of the note.
        ended_at: When the run ended: it is kept once, whatever is done about its results.
        run: Gives what is kept.
        by_adk: ADK has kept it where the tab of the kept runs looks.
    """
    if st.button(
        "Keep run",
        key=key_of(workspace, f"{name}_keep"),
        icon=":material/bookmark_add:",
        disabled=by_adk or workspace.notes.get(f"kept_{name}") == str(ended_at),
        help="ADK keeps this run with the agent. The tab Kept runs compares it"
        if by_adk
        else "Keeps the results next to the set. The tab Kept runs compares them",
    ):
        for old in (name, f"{name}_done"):
            workspace.notes.pop(old, None)
        try:
            keep_run(workspace.eval_set, run())
        except KeptRunError as error:
            workspace.notes[name] = str(error)
        else:
            workspace.notes[f"{name}_done"] = "The run is kept. The tab Kept runs compares it with others."
            workspace.notes[f"kept_{name}"] = str(ended_at)
        st.rerun()


MODELS_FROM = "Model responses come from"
"""The label of the choice of `models_choice`."""

_UNRECORDED: dict[Policy, str] = {
    "fail": "Fail and show the closest recorded call",
    "rules": "Use rules, otherwise fail",
    "generate": "Use rules, otherwise generate",
}
_MODELS: dict[Models, str] = {
    "auto": "Live if reachable, otherwise recorded",
    "real": "Live models",
    "recorded": "Recording",
}
_FEW_ROWS, _TABLE_HEIGHT = 8, 320
_MOST_LISTED = 400
"""Of more cases than this a list is no help, and slow to send."""


def agent_and_cases(workspace: Workspace, facts: SetFacts) -> tuple[str, tuple[str, ...]]:
    """Draw both side by side; return the agent's name and the ids of the cases, none for all."""
    left, right = st.columns(2, gap="small")
    with left:
        agent = agent_choice(workspace, facts)
    with right:
        return agent, case_choice(workspace, facts)


def unrecorded_choice(workspace: Workspace, tab: str) -> Policy:
    """Draw what becomes of a call that was not recorded; `tab` tells the choices of two tabs apart."""
    name = f"{tab}_unrecorded"
    chosen = st.selectbox(
        "Unrecorded calls",
        list(_UNRECORDED),
        key=option_key(workspace, name, "fail"),
        format_func=lambda each: _UNRECORDED[each],
    )
    keep_option(workspace, name, chosen)
    return chosen


def models_choice(workspace: Workspace, tab: str) -> Models:
    """Draw who answers for the models; `tab` tells the choices of two tabs apart."""
    name = f"{tab}_models"
    chosen = st.selectbox(
        MODELS_FROM,
        list(_MODELS),
        key=option_key(workspace, name, BY_HAND),
        format_func=lambda each: _MODELS[each],
    )
    keep_option(workspace, name, chosen)
    return chosen


def agent_of_set(workspace: Workspace, facts: SetFacts) -> str:
    """Return the agent that was chosen for a set, else the set's own; empty where there is none."""
    names, is_known = _agents(workspace, facts)
    before = workspace.options.get("agent")
    return str(before) if before in names else names[0] if is_known else ""


def agent_loaded(name: str) -> SimulatedAgentConfig | None:
    """Return an agent where it is loaded by now; nothing is loaded for it."""
    return next((entry.config for entry in known_agents() if entry.name == name), None)


def _agents(workspace: Workspace, facts: SetFacts) -> tuple[tuple[str, ...], bool]:
    entries = [entry for entry in known_agents() if entry.state != "failed"]
    names, is_known = fitting_agents(entries, workspace.eval_set, facts.app_names)
    own = [entry.name for entry in entries if entry.source != "demo"]
    if facts.problem or is_known or len(own) != 1 or agent_loaded(own[0]) is None:
        return names, is_known
    fits = called_tools(workspace.eval_set) <= declared_tools(own[0]).keys()
    return tuple(sorted(names, key=lambda name: name not in own)), fits


def agent_choice(workspace: Workspace, facts: SetFacts) -> str:
    """Draw the agents, the set's own first; return the name of the chosen one, empty where there is none."""
    names, is_known = _agents(workspace, facts)
    if not names:
        st.caption("No agents found to run this set.")
        return ""
    before = workspace.options.get("agent")
    now = before if before in names else names[0] if is_known else None
    chosen = st.selectbox(
        "Agent",
        names,
        index=None,
        key=followed_key(workspace, "agent", now),
        format_func=literal,
        placeholder="Choose an agent",
    )
    keep_option(workspace, "agent", chosen)
    return str(chosen or "")


def case_choice(workspace: Workspace, facts: SetFacts) -> tuple[str, ...]:
    """Draw the cases; return the ids of the chosen ones, none for all."""
    if len(facts.eval_ids) <= _MOST_LISTED:
        before = workspace.options.get("cases")
        kept: list[JsonValue] = (
            [each for each in before if each in facts.eval_ids] if isinstance(before, list) else []
        )
        chosen = st.multiselect(
            "Cases",
            facts.eval_ids,
            key=followed_key(workspace, "cases", kept),
            format_func=literal,
            placeholder=f"All {len(facts.eval_ids)}",
        )
        keep_option(workspace, "cases", list(chosen))
        return tuple(chosen)
    said = st.text_input(
        "Cases",
        key=option_key(workspace, "case_pattern", ""),
        placeholder=f"All {len(facts.eval_ids):,}. Or ids separated by spaces, with * as a wildcard",
    )
    keep_option(workspace, "case_pattern", said or "")
    patterns = (said or "").split()
    found = tuple(each for each in facts.eval_ids if any(fnmatchcase(each, one) for one in patterns))
    if patterns:
        st.caption(f"Matching cases: {len(found):,}" if found else "No case matches, so all cases run.")
    return found


def case_table(
    workspace: Workspace, name: str, rows: Sequence[Mapping[str, object]], ids: Sequence[str], alt: str
) -> str | None:
    """Draw a row for each case; return the id of the case whose row was chosen just now, which is the option of this name then."""
    key = key_of(workspace, f"rows_{name}_{digest(*ids)[:6]}_{page_state.get('cases_drawn') or 0}")
    st.caption(
        "To choose a case, tick the box at the left of its row. By keyboard: arrow keys, then Shift+Space."
    )
    picked: Any = st.dataframe(
        rows,
        key=key,
        hide_index=True,
        height="content" if len(rows) <= _FEW_ROWS else _TABLE_HEIGHT,
        on_select="rerun",
        selection_mode="single-row",
        alt=alt,
    )
    places: list[int] = picked.selection.rows
    before, now = st.session_state.get(f"{key}_seen"), places[0] if places else None
    st.session_state[f"{key}_seen"] = now
    chosen = None if now in (None, before) else ids[now]
    if chosen is not None:
        workspace.options[name] = chosen
    return chosen


# Inputs whose values are kept at the workspace of an eval set: they are there again after a refresh, and when a tab is shown again.


def key_of(workspace: Workspace, name: str) -> str:
    """Return the key of an input of this workspace; the inputs of two eval sets are not the same."""
    return f"{slug(name)}_{digest(str(workspace.eval_set))[:6]}"


def option_key(workspace: Workspace, name: str, initial: JsonValue) -> str:
    """Let the input that is drawn next show the option of this name; return its key. `keep_option` keeps what it says."""
    return followed_key(workspace, name, workspace.options.get(name, initial))


def keep_option(workspace: Workspace, name: str, value: JsonValue) -> None:
    """Keep what the input of an option says."""
    workspace.options[name] = value
    page_state.agree(key_of(workspace, name), value)


def followed_key(workspace: Workspace, name: str, value: JsonValue) -> str:
    """Let the input that is drawn next show a value whenever that has changed; return its key."""
    key = key_of(workspace, name)
    page_state.follow(key, value)
    return key
