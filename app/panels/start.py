"""The start page: choose an agent, say what it shall be asked, and begin."""

from collections.abc import Callable, Sequence

import streamlit as st
from pydantic import Field

from app.cast import Cast
from app.commands import ChooseAgent, StartCommand, StartRecorded, StartSession, TryAgain
from app.kept import slug
from app.labels import literal, safe_label
from app.opening import AgentChoice, StartForm
from app.panels.agent_list import agent_list
from app.panels.parts import problem
from app.panels.script_start import script_start
from app.players import AGENT_PLAYERS, PLAYERS, not_at_first
from simulator.agents import AgentEntry
from simulator.facts import Value

COLUMNS = (1, 1.5)
QUERY_KEY = "start_query"
_SHOWN_TOOLS = 12
_AGENT_CHOICES: tuple[AgentChoice, ...] = ("auto", *AGENT_PLAYERS)


class Choice(Value):
    """What is known of the chosen agent; `without_model` gives a reason for each agent that no model can play."""

    cast: Cast = Cast()
    without_model: dict[str, str] = Field(default_factory=dict)


def start(
    entries: Sequence[AgentEntry],
    chosen: AgentEntry | None,
    choice: Choice,
    failed: str | None,
    *,
    script_failed: str | None = None,
    recorded: Callable[[AgentEntry], StartRecorded | None] = lambda _: None,
) -> StartCommand | None:
    """Draw the page; give what was asked for. `failed` says why the last attempt to begin did not work, by a script or without.

    `recorded` draws where a recorded case is chosen.
    """
    with st.container(key="start_head", gap="xxsmall"):
        st.subheader("Author a golden trace", anchor=False)
        st.caption(
            "Pick an agent, ask it something, and play its world: each tool call waits for your answer. "
            "Nothing real runs unless you say so. At the end, export what happened as an eval case for `adk eval`."
        )
    left, right = st.columns(COLUMNS, gap="medium")
    with left:
        asked = _agents(entries, chosen)
    with right, st.container(border=True, key="start_form", gap="small"):
        if chosen is None:
            st.caption("Choose an agent on the left.")
            return asked
        begun = _form(chosen, choice, failed) or script_start(chosen.name, script_failed)
        return begun or recorded(chosen) or asked


def _agents(entries: Sequence[AgentEntry], chosen: AgentEntry | None) -> StartCommand | None:
    with st.container(horizontal=True, vertical_alignment="center", key="agents_head"):
        st.markdown("**Agents**", width="content")
        st.space("stretch")
        any_failed = any(entry.state == "failed" for entry in entries)
        if any_failed and st.button(
            "Load again", key="agents_again", type="tertiary", icon=":material/refresh:"
        ):
            return TryAgain()
    if not entries:
        st.caption("There is no agent yet. Start the studio with a folder of agents:")
        st.code("streamlit run app -- --agents-dir path/to/agents", language="bash")
        return None
    clicked = agent_list(entries, chosen.name if chosen else None)
    _own_agents()
    return ChooseAgent(name=clicked) if clicked else None


def _own_agents() -> None:
    """Say how to bring agents along, once somebody looks: what draws code is the largest part that a browser loads."""
    body = st.expander("Use your own agents", type="compact", key="own_agents", on_change="rerun")
    if not body.open:
        return
    with body:
        st.caption(
            "Start the studio with a folder in ADK's own convention, or with a Python file that lists "
            "`SimulatedAgentConfig`s:"
        )
        st.code("streamlit run app -- --agents-dir path/to/agents", language="bash", wrap_lines=True)
        st.code("streamlit run app -- --agents my_agents.py", language="bash", wrap_lines=True)


def _form(chosen: AgentEntry, choice: Choice, failed: str | None) -> StartCommand | None:
    _about(chosen, choice)
    _examples(chosen)
    query = st.text_area(
        "What shall the agent be asked?",
        key=QUERY_KEY,
        height=120,
        placeholder="Write what a user would say. Leave it empty to set up rules and seats first.",
        on_change="ignore",
    )
    more = _settings()
    if failed:
        problem("The session was not opened.", failed)
    if not st.button(
        "Start session",
        key="start_session",
        type="primary",
        icon=":material/play_arrow:",
        shortcut="Mod+Enter",
        disabled=chosen.state == "failed",
    ):
        return None
    return StartSession(form=StartForm.model_validate({"agent": chosen.name, "query": query or "", **more}))


def _about(chosen: AgentEntry, choice: Choice) -> None:
    st.markdown(f"**{safe_label(chosen.name)}**")
    if chosen.state == "unread":
        st.caption(":material/progress_activity: Loading this agent\u2026")
    names = [tool.name for tool in choice.cast.tools]
    if names:
        with st.container(horizontal=True, gap="xxsmall", key="agent_tools"):
            for name in names[:_SHOWN_TOOLS]:
                st.badge(safe_label(name, 32), icon=":material/build:", color="gray")
            if len(names) > _SHOWN_TOOLS:
                st.badge(f"{len(names) - _SHOWN_TOOLS} more", color="gray")
    if choice.without_model:
        st.info(
            "Not every model can be reached from here, so you make the turns of these agents. You see exactly what "
            "the model would see.",
            icon=":material/person:",
        )
        for name, reason in choice.without_model.items():
            st.text(literal(f"{name}: {reason}"))


def _examples(chosen: AgentEntry) -> None:
    if not chosen.example_queries:
        return
    with st.container(gap="xxsmall", key="examples"):
        st.caption("Try one of these")
        for place, example in enumerate(chosen.example_queries):
            st.button(
                safe_label(example, 90),
                key=f"example_{place}_{slug(chosen.name)}",
                type="tertiary",
                icon=":material/lightbulb:",
                on_click=_use_example,
                args=(example,),
                wrap=False,
            )


def _use_example(example: str) -> None:
    st.session_state[QUERY_KEY] = example


def _settings() -> dict[str, str]:
    with st.expander("Settings", icon=":material/tune:", key="start_settings"):
        with st.container(gap=None, key="start_players"):
            players = _players()
        one, two = st.columns(2)
        user_id = one.text_input("User id", value="user", key="start_user", on_change="ignore")
        seed = two.text_input(
            "Seed",
            key="start_seed",
            placeholder="by chance",
            help="Ids and draws come from it: the same seed gives the same session",
            on_change="ignore",
        )
        initial_state = st.text_area(
            "Initial state (JSON object)",
            value="{}",
            key="start_state_json",
            height=100,
            help="What the session's state holds before the first query; it becomes part of the eval case",
            on_change="ignore",
        )
    return {**players, "user_id": user_id or "", "seed": seed or "", "initial_state": initial_state or ""}


def _players() -> dict[str, str]:
    """Draw who plays; what is chosen for the tools is explained at once, and so is what it lacks."""
    one, two = st.columns(2)
    agent_player = one.selectbox(
        "Who makes the agents' turns",
        _AGENT_CHOICES,
        format_func=_agent_player_name,
        key="start_agent_player",
        on_change="ignore",
    )
    with two:
        tool_player = st.selectbox(
            "Who answers the tools",
            list(PLAYERS),
            format_func=lambda player: PLAYERS[player].name,
            key="start_tool_player",
        )
        missing = not_at_first(tool_player)
        if missing:
            st.warning(missing, icon=":material/event_seat:")
        else:
            st.caption(PLAYERS[tool_player].does)
    return {"agent_player": agent_player, "tool_player": tool_player}


def _agent_player_name(choice: AgentChoice) -> str:
    return "Its own model where it can be reached, else you" if choice == "auto" else AGENT_PLAYERS[choice]
