"""The start page: choose an agent or a demo, say what it shall be asked, and begin."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeAlias, get_args

import streamlit as st
from pydantic import Field

from app.agents.processes_panel import (
    ChoosePython,
    PythonChoice,
    RestartProcess,
    agent_processes_panel,
    interpreter,
)
from app.agents.scenario_start_panel import ScenarioStart, scenario_start
from app.forms.common_panel import needed_state, place, problem
from app.forms.safe_labels import literal, safe_label
from app.forms.upload_panel import attach, attached
from app.forms.widget_store import DraftStore, KeptInputs, slug
from app.live.player_names import AGENT_PLAYERS, PLAYERS, not_at_first
from app.live.session_opening import AgentChoice, StartForm
from app.scripts.script_play import Agents, Otherwise, RecordedForm, ScriptForm, case_losses, text_of_upload
from app.session.named_view_widgets import follow_address, tell_address
from evalset.cli.shell_lines import studio_line
from evalset.files.eval_names import holds_cases, importable_kind
from simulator.agents import AgentEntry
from simulator.agents.agent_directory import AgentDirectory, said_together
from simulator.agents.load_failure import VARIABLE, placeholder_words
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.kernel.agent_kernels import LOAD_SECONDS
from simulator.kernel.kernel_agent import KernelAgentConfig
from simulator.kernel.kernel_processes import AgentProcess

_COLUMNS = (1, 1.3)
_STEPS = """
1. **Start a demo.** Its agent gets the message next to the button.
2. **Answer the tool calls.** Each has a draft. Use it, edit it or fail the call.
3. **Export the session.** It becomes a golden case, and is verified at once.
"""


def try_demo(entries: Sequence[AgentEntry]) -> StartForm | None:
    """Draw the demos among some agents; return the session that was asked for. Without a demo nothing is drawn."""
    demos = [entry for entry in entries if _is_demo(entry)]
    if not demos:
        return None
    started: StartForm | None = None
    with st.container(border=True, key="try_demo"):
        left, right = st.columns(_COLUMNS, gap="medium")
        with left:
            st.markdown(f"**Try a demo**\n{_STEPS}")
        with right, st.container(key="demos", gap="xsmall"):
            for entry in demos:
                started = _demo(entry) or started
    return started


def _is_demo(entry: AgentEntry) -> bool:
    return entry.source == "demo" and entry.state != "failed" and bool(entry.example_queries)


def _demo(entry: AgentEntry) -> StartForm | None:
    name, query = slug(entry.name), entry.example_queries[0]
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", wrap=False, key=f"demo_{name}"
    ):
        clicked = st.button(
            f"Try {safe_label(entry.name, 40)}",
            key=f"try_{name}",
            icon=":material/play_arrow:",
            width=190,
            help="Starts a session with this message",
        )
        with st.container(key=f"demo_query_{name}", width="stretch"):
            st.text(literal(query))
    return StartForm(agent=entry.name, query=query) if clicked else None


COLUMNS = (1, 1.5)
WAYS = ("Message", "Script", "Recorded case", "Scenario")
"""What a session can be started from."""

OWNER = "start"
"""Whose inputs those of the start page are, among what is kept of them."""
QUERY_KEY = "start_query"
ARTIFACTS_KEY = "start_artifacts"
_SHOWN_TOOLS = 12
_AGENT_CHOICES: tuple[AgentChoice, ...] = ("auto", *AGENT_PLAYERS)
_CHOICES = {
    "agent_player": ("start_agent_player", _AGENT_CHOICES[0]),
    "tool_player": ("start_tool_player", next(iter(PLAYERS))),
}
_TYPED = {
    "user_id": ("start_user", "user"),
    "seed": ("start_seed", ""),
    "initial_state": ("start_state_json", "{}"),
    "memory": ("start_memory", ""),
}
"""The settings of a session: the name of each input, and what it holds at first. What is typed is kept for a refresh."""


class ChosenAgent(Value):
    """The chosen agent, and what is known of it; `without_model` gives a reason for each agent that no model can play, `needed_state` the keys that its first message needs."""

    directory: AgentDirectory = AgentDirectory()
    without_model: dict[str, str] = Field(default_factory=dict)
    needed_state: tuple[str, ...] = ()


class ChooseAgent(Value):
    """Show another agent on the start page."""

    name: str


class TryAgain(Value):
    """Load again what failed to load."""


class AddFolder(Value):
    """List the agents of another folder, too."""

    path: str


class RemoveFolder(Value):
    """List the agents of a folder that was added no more."""

    path: str


class StopLoading(Value):
    """Give up the import of an agent that takes long."""

    name: str


class StartSession(Value):
    """Open a session with what was typed on the start page."""

    form: StartForm


class StartScenario(Value):
    """Open a session in which a scenario plays the user."""

    form: StartForm
    scenario: ScenarioStart


class StartScript(Value):
    """Open a session and let a script play in it."""

    form: ScriptForm


class LoadWithPlaceholders(Value):
    """Load the agents again, and let those that ask for a variable or an account find placeholders."""


class StartRecorded(Value):
    """Open a session and replay a recorded case in it."""

    form: RecordedForm


StartCommand: TypeAlias = (
    ChooseAgent
    | TryAgain
    | AddFolder
    | RemoveFolder
    | StopLoading
    | LoadWithPlaceholders
    | RestartProcess
    | ChoosePython
    | StartSession
    | StartScenario
    | StartScript
    | StartRecorded
)
"""What is asked for on the start page."""


@dataclass(frozen=True)
class ShownStart:
    """What the start page shows.

    Attributes:
        entries: The agents, in their order.
        chosen: The one that is chosen.
        choice: What is known of it.
        problem: Why the last attempt to begin with a message or a scenario did not work.
        script_problem: The same for a script.
        slow: The agents that are being loaded and take long.
        is_first: They have no sessions yet, so that demos are offered.
        recorded: Draws where a recorded case is chosen.
        processes: Gives the agents' processes.
        pythons: Gives what is known of an agent's Python, where it can be chosen.
        texts: What was typed and not sent.
        adds_folders: Whether folders can be added.
        folder_problem: Why the last one was not added.
        added: The folders that were added.
    """

    entries: Sequence[AgentEntry]
    chosen: AgentEntry | None
    choice: ChosenAgent
    problem: str | None = None
    script_problem: str | None = None
    slow: Collection[str] = ()
    is_first: bool = False
    recorded: Callable[[AgentEntry], StartRecorded | None] = lambda _: None
    processes: Callable[[], Sequence[AgentProcess]] = tuple
    pythons: Callable[[AgentEntry], PythonChoice | None] = lambda _: None
    texts: DraftStore = field(default_factory=dict)
    adds_folders: bool = False
    folder_problem: str | None = None
    added: Sequence[str] = ()


def start(shown: ShownStart) -> StartCommand | None:
    """Draw the page; return what was asked for."""
    with st.container(key="start_head", gap="xxsmall"):
        st.subheader("Author a golden trace", anchor=False)
        st.caption(
            "Pick an agent, send it a message, and answer its tool calls. No tool, model or code executor runs "
            "for real unless you turn it on. The agent's own callbacks, plugins and nodes do run, and run again "
            "on undo. At the end, export the session as an eval case for `adk eval`."
        )
    with place():
        tried = try_demo(shown.entries) if shown.is_first else None
    left, right = st.columns(COLUMNS, gap="medium")
    with left:
        asked = _agents(shown) or agent_processes_panel(shown.processes)
    with right, st.container(border=True, key="start_form", gap="small"):
        begun = _form(shown, shown.chosen) if shown.chosen is not None else None
        if shown.chosen is None:
            st.caption("Choose an agent on the left.")
    return (StartSession(form=tried) if tried else None) or begun or asked


def _agents(shown: ShownStart) -> StartCommand | None:
    entries, chosen = shown.entries, shown.chosen
    with st.container(horizontal=True, vertical_alignment="center", key="agents_head"):
        st.markdown("**Agents**", width="content")
        st.space("stretch")
        any_failed = any(entry.state == "failed" for entry in entries)
        if any_failed and st.button("Reload", key="agents_again", type="tertiary", icon=":material/refresh:"):
            return TryAgain()
    if not entries:
        st.caption("No agents yet. Start the studio with a folder of agents:")
        st.code(literal(_line("--agents-dir", "path/to/agents")), language="bash")
        return _folder(shown)
    clicked = agent_list(entries, chosen.name if chosen else None, shown.slow, shown.pythons)
    return _own_agents(shown) or clicked


def _folder(shown: ShownStart) -> AddFolder | RemoveFolder | None:
    """Draw where a folder is added, and those that were, for who may run any program of this machine."""
    if not shown.adds_folders:
        return None
    with st.form("add_folder_form", border=False):  # Enter in the field adds it
        path = st.text_input("Folder with agents", key="folder_typed", placeholder="path/to/agents")
        is_asked = st.form_submit_button("Add folder", key="add_folder", icon=":material/create_new_folder:")
    if shown.folder_problem:
        problem("The folder was not added.", shown.folder_problem)
    for number, added in enumerate(shown.added):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.text(literal(added))
            if st.button("Remove", key=f"remove_folder_{number}", type="tertiary", icon=":material/delete:"):
                return RemoveFolder(path=added)
    return AddFolder(path=path.strip()) if is_asked and path.strip() else None


def _line(*options: str) -> str:
    """Return the command that starts this studio again, at the same address."""
    return studio_line(*options, "--port", str(st.get_option("server.port")))


def _own_agents(shown: ShownStart) -> AddFolder | RemoveFolder | None:
    """Say how to bring agents along, once somebody looks: what draws code is the largest part that a browser loads."""
    body = st.expander("Use your own agents", type="compact", key="own_agents", on_change="rerun")
    if not body.open:
        return None
    with body:
        asked = _folder(shown)
        st.caption(
            "An added folder is listed until the studio is closed. To list it each time, start the studio with a folder in "
            "ADK's layout, or with a Python file that lists `SimulatedAgentConfig` objects."
            if shown.adds_folders
            else "The folder of agents is chosen when the studio starts. Its owner starts it with a folder in "
            "ADK's layout, or with a Python file that lists `SimulatedAgentConfig` objects."
        )
        st.code(literal(_line("--agents-dir", "path/to/agents")), language="bash", wrap_lines=True)
        st.code(literal(_line("--agents", "my_agents.py")), language="bash", wrap_lines=True)
        st.caption(
            "Each agent runs in its own process. It uses its project's Python environment (`.venv`) if there is "
            "one, otherwise the studio's. To use another Python:"
        )
        st.code(
            literal(_line("--agents-dir", "path/to/agents", "--python", "path/to/python")),
            language="bash",
            wrap_lines=True,
        )
    return asked


def _form(shown: ShownStart, chosen: AgentEntry) -> StartCommand | None:
    """Draw what is known of the chosen agent, and what a session with it starts from."""
    with place("small"):
        _about(chosen, shown.choice)
    kept = KeptInputs(shown.texts, OWNER)
    follow_address(WAYS, "start_from", "tab")
    default = None if "start_from" in st.session_state else WAYS[0]
    chosen_way = st.segmented_control(
        "Start from", WAYS, default=default, required=True, key="start_from", persist_state="session"
    )
    way = chosen_way or WAYS[0]
    tell_address(WAYS, way, "tab")
    with st.container(key=f"start_way_{slug(way.lower())}", gap="small"):
        match way:
            case "Script":
                return script_start(kept, chosen.name, shown.script_problem)
            case "Recorded case":
                if chosen.config is None:
                    st.caption(":material/progress_activity: Loading this agent\u2026")
                return shown.recorded(chosen)
            case "Scenario":
                return _scenario(kept, shown, chosen)
            case _:
                return _message(kept, chosen, shown.choice.needed_state, shown.problem)


def _message(
    kept: KeptInputs, chosen: AgentEntry, needed: Sequence[str], failed: str | None
) -> StartCommand | None:
    with place("small"):
        _examples(kept, chosen)
    query = st.text_area(
        "First user message",
        key=kept.widget(QUERY_KEY, ""),
        height=120,
        placeholder="Write what a user would say. Leave it empty to set up rules and seats first.",
        on_change="ignore",
    )
    uploaded = attach("start_files")
    more = _settings(kept, needed)
    with place():
        if failed:
            problem("The session was not opened.", failed)
        files = attached(uploaded)
    if not _starts("start_session", chosen) or files is None or more is None:
        return None
    form = {"agent": chosen.name, "query": query or "", "files": files, **more}
    return StartSession(form=StartForm.model_validate(form))


def _scenario(kept: KeptInputs, shown: ShownStart, chosen: AgentEntry) -> StartCommand | None:
    scenario = scenario_start(shown.texts, chosen.config)
    more = _settings(kept, shown.choice.needed_state)
    with place():
        if shown.problem:
            problem("The session was not opened.", shown.problem)
    if not _starts("start_scenario", chosen) or more is None:
        return None
    return StartScenario(form=StartForm.model_validate({"agent": chosen.name, **more}), scenario=scenario)


def _starts(key: str, chosen: AgentEntry) -> bool:
    return _begins(key, "Start session", ":material/play_arrow:", disabled=chosen.state == "failed")


def _begins(key: str, label: str, icon: str, *, disabled: bool = False) -> bool:
    """Draw the button that begins; there is one on the page."""
    return st.button(label, key=key, type="primary", icon=icon, shortcut="Mod+Enter", disabled=disabled)


def _about(chosen: AgentEntry, choice: ChosenAgent) -> None:
    st.markdown(f"**{safe_label(chosen.name)}**")
    if chosen.state == "unread":
        st.caption(":material/progress_activity: Loading this agent\u2026")
    if isinstance(chosen.config, KernelAgentConfig):
        python = str(chosen.config.kernels.python)
        if python != sys.executable:
            st.caption("Runs with its project's Python:")
            st.text(literal(python))
    names = [tool.name for tool in choice.directory.tools]
    if names:
        with st.container(horizontal=True, gap="xxsmall", key="agent_tools"):
            for name in names[:_SHOWN_TOOLS]:
                st.badge(safe_label(name, 32), icon=":material/build:", color="gray")
            if len(names) > _SHOWN_TOOLS:
                st.badge(f"{len(names) - _SHOWN_TOOLS} more", color="gray")
    if chosen.config is not None and (words := placeholder_words(chosen.config.placeholders)):
        st.info("This agent was loaded with placeholders. Nothing accepts them.", icon=":material/key_off:")
        st.text(literal(words))
    if choice.without_model:
        st.info(
            "No model is available for these agents, so you play them. You see the same context the model would.",
            icon=":material/person:",
        )
        for line in said_together(choice.without_model):
            st.text(literal(line))


def _examples(kept: KeptInputs, chosen: AgentEntry) -> None:
    if not chosen.example_queries:
        return
    with st.container(gap="xxsmall", key="examples"):
        st.caption("Try one of these")
        for number, example in enumerate(chosen.example_queries):
            st.button(
                safe_label(example, 90),
                key=f"example_{number}_{slug(chosen.name)}",
                type="tertiary",
                icon=":material/lightbulb:",
                on_click=kept.put,
                args=(QUERY_KEY, example),
                wrap=False,
            )


def _settings(kept: KeptInputs, needed: Sequence[str]) -> dict[str, Any] | None:
    """Draw the settings once somebody looks, as a browser takes long to load lists; return what they are, None where a file cannot be used."""
    with place():
        state = needed_state(
            kept,
            needed,
            "Without a value here or in the initial state, the first message fails before the model is called.",
        )
    typed = {name: str(kept.value(key, first)) for name, (key, first) in _TYPED.items()}
    # What was typed there and kept counts, so that it is seen.
    st.session_state.setdefault(
        "start_settings", any(typed[name] != first for name, (_, first) in _TYPED.items())
    )
    body = st.expander("Settings", icon=":material/tune:", key="start_settings", on_change="rerun")
    artifacts: tuple[JsonObject, ...] | None = ()
    if body.open or st.session_state.get(ARTIFACTS_KEY):  # files that are not drawn are gone
        with body:
            with st.container(gap=None, key="start_players"):
                _players()
            _session_settings(kept)
            artifacts = _earlier(kept)
    typed = {name: str(kept.value(key, first)) for name, (key, first) in _TYPED.items()}
    chosen = {name: str(st.session_state.get(key, first)) for name, (key, first) in _CHOICES.items()}
    return None if artifacts is None else {**typed, **chosen, "needed_state": state, "artifacts": artifacts}


def _earlier(kept: KeptInputs) -> tuple[JsonObject, ...] | None:
    """Draw what a session begins with besides its state; return the files, None where one cannot be used."""
    uploaded: Any = st.file_uploader(
        "Artifacts",
        accept_multiple_files=True,
        key=ARTIFACTS_KEY,
        help="Files that the agent's tools find in ADK's artifact service from the first message on.",
    )
    artifacts = attached(uploaded)
    st.text_area(
        "Memory (one entry on each line)",
        key=kept.widget("start_memory", ""),
        height=80,
        help="Texts that the agent finds in ADK's memory service from the first message on.",
        on_change="ignore",
    )
    return artifacts


def _session_settings(kept: KeptInputs) -> None:
    one, two = st.columns(2)
    one.text_input("User ID", key=kept.widget("start_user", "user"), on_change="ignore")
    two.text_input(
        "Seed",
        key=kept.widget("start_seed", ""),
        placeholder="random",
        help="IDs and random values come from the seed. The same seed gives the same session.",
        on_change="ignore",
    )
    st.text_area(
        "Initial state (JSON object)",
        key=kept.widget("start_state_json", "{}"),
        height=100,
        help="Session state before the first message. It becomes part of the eval case.",
        on_change="ignore",
    )


def _players() -> None:
    """Draw who plays; what is chosen for the tools is explained at once, and so is what it lacks."""
    one, two = st.columns(2)
    one.selectbox(
        "Agent responses come from",
        _AGENT_CHOICES,
        format_func=_agent_player_name,
        key="start_agent_player",
        on_change="ignore",
        persist_state="session",
    )
    with two:
        tool_player = st.selectbox(
            "Tool calls are answered by",
            list(PLAYERS),
            format_func=lambda player: PLAYERS[player].name,
            key="start_tool_player",
            persist_state="session",
        )
        missing = not_at_first(tool_player)
        if missing:
            st.warning(missing, icon=":material/event_seat:")
        else:
            st.caption(PLAYERS[tool_player].does)


def _agent_player_name(choice: AgentChoice) -> str:
    return "Its model if a key is set, otherwise you" if choice == "auto" else AGENT_PLAYERS[choice]


# The agents to choose from on the start page; one that failed to load is listed with its error.


_UNDESCRIBED = {"unread": "Loading", "failed": "See the error at the end of the list."}
"""Stands where its description will be: a card that grows would move the ones below it."""

_SOURCES = {"folder": "Folder", "file": "File", "demo": "Demo"}


def agent_list(
    entries: Sequence[AgentEntry],
    chosen: str | None,
    slow: Collection[str] = (),
    pythons: Callable[[AgentEntry], PythonChoice | None] = lambda _: None,
) -> ChooseAgent | StopLoading | LoadWithPlaceholders | ChoosePython | None:
    """Draw the agents; return what was clicked. `slow` names those that are being loaded and take long; `pythons` as for `start`.

    Agents load while people click. So a card keeps its place whatever comes of its agent: the errors follow all cards,
    and what a file turns out to hold stays within the file's part of the list.
    """
    clicked: ChooseAgent | StopLoading | LoadWithPlaceholders | ChoosePython | None = None
    with st.container(gap="xsmall", key="agent_list", border=False):  # the style sheet lets it scroll
        for _, group in groupby(entries, key=lambda entry: entry.source):
            with place():
                for entry in group:
                    with place():
                        is_chosen, is_slow = entry.name == chosen, entry.name in slow
                        clicked = _card(entry, pythons, is_chosen=is_chosen, is_slow=is_slow) or clicked
        for entry in entries:
            if entry.state == "failed":
                clicked = _failure(entry, pythons(entry)) or clicked
    return clicked


def _failure(entry: AgentEntry, choice: PythonChoice | None) -> LoadWithPlaceholders | ChoosePython | None:
    """Say why an agent failed to load, and let it be loaded with another Python, or with credentials that nothing accepts."""
    with st.container(border=True, gap="xxsmall", key=f"agent_failure_{slug(entry.name)}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.text(literal(entry.name))
            _badge(entry)
        st.code(literal(entry.error or ""), language=None, wrap_lines=True)
        if choice is None:
            return None
        if VARIABLE in (entry.error or "") and st.button(
            "Load with placeholder credentials",
            key=f"placeholders_{slug(entry.name)}",
            icon=":material/key_off:",
            help="Nothing accepts them: you play the agent's models, and real tools that need an account fail. "
            "For all agents, until the studio is closed.",
        ):
            return LoadWithPlaceholders()
        return interpreter(entry, choice)


def _slow(entry: AgentEntry) -> StopLoading | None:
    """Say that its import takes long, and let it be given up, in one line as high as that of a description."""
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", key=f"agent_slow_{slug(entry.name)}"
    ):
        st.caption(
            f":material/progress_activity: Loading. Times out after {LOAD_SECONDS:.0f} s.",
            width="content",
        )
        if st.button("Stop", key=f"stop_loading_{slug(entry.name)}", type="tertiary", icon=":material/stop:"):
            return StopLoading(name=entry.name)
    return None


def _card(
    entry: AgentEntry,
    pythons: Callable[[AgentEntry], PythonChoice | None],
    *,
    is_chosen: bool,
    is_slow: bool,
) -> ChooseAgent | StopLoading | ChoosePython | None:
    kind = "chosen" if is_chosen else entry.state
    # The card and its button keep their keys, so that an agent that gets ready while it is clicked takes the click.
    with st.container(border=True, gap="xxsmall", key=f"agent_card_{slug(entry.name)}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False):
            clicked = st.button(
                safe_label(entry.name, 40),
                key=f"choose_{slug(entry.name)}",
                type="tertiary",
                icon=_icon(entry, is_chosen=is_chosen),
                disabled=entry.state == "failed",
                wrap=False,
            )
            st.space("stretch")
            with (
                st.container(key=f"agent_{kind}_{slug(entry.name)}", width="content"),
                st.container(key="agent_shown" if is_chosen else None, width="content"),
            ):
                _badge(entry)
        # The style sheet keeps the line as high where its text is being replaced: Streamlit takes the old one away first.
        with st.container(key=f"agent_line_{slug(entry.name)}"):
            stopped = _slow(entry) if is_slow else None
            if not is_slow:
                st.text(literal(entry.description or _UNDESCRIBED.get(entry.state, "No description")))
        if entry.source != "demo":
            st.text(literal(entry.location))
        choice = pythons(entry) if is_chosen else None
        python = interpreter(entry, choice) if choice is not None else None
    if stopped or python:
        return stopped or python
    return ChooseAgent(name=entry.name) if clicked and not is_chosen else None


def _icon(entry: AgentEntry, *, is_chosen: bool) -> str:
    if entry.state == "failed":
        return ":material/error:"
    return ":material/radio_button_checked:" if is_chosen else ":material/radio_button_unchecked:"


def _badge(entry: AgentEntry) -> None:
    if entry.state == "failed":
        st.badge("Failed to load", color="red")
    else:
        st.badge(_SOURCES[entry.source], color="gray")


# Where a script is brought along: uploaded or pasted, with what to do where it has no answer.


TEXT_KEY = "start_script_text"
_UPLOAD_KEY = "start_script_file"
_CASE_KEY = "start_script_case"
_EXAMPLE = """\
format: golden-trace-studio/script
version: 1
turns:
- say: Where is order A-1002?
"""
OTHERWISE: dict[Otherwise, str] = {
    "": "As set in the script",
    "ask": "Ask me, then continue",
    "generate": "Use the draft, or the agent's model",
    "fail": "Stop the script",
}
assert set(OTHERWISE) == set(get_args(Otherwise))  # noqa: S101 - a new way must get a name here


def script_start(kept: KeptInputs, agent: str, failed: str | None) -> StartScript | None:
    """Draw it for an agent; return the script that is to be played. `failed` says why the last one was not."""
    st.caption(
        "A session as a YAML or JSON file: user messages, agent turns and tool responses. You can download "
        "any session as a script from its export page. You can also upload an eval set, or a downloaded "
        "archive of one, and play one of its golden traces."
    )
    _upload(kept)
    text = st.text_area(
        "Script", key=kept.widget(TEXT_KEY, ""), height=200, placeholder=_EXAMPLE, on_change="ignore"
    )
    if what := importable_kind((text or "").encode()):
        problem(
            "This is not a script.",
            f"It is {what}. Open it under Eval sets to import its cases. You can play them there.",
        )
        return None
    case = _case(text or "")
    otherwise = _otherwise()
    if failed:
        problem("The script cannot be played.", failed)
    if not _begins("play_script", "Play script", ":material/play_circle:"):
        return None
    if not (text or "").strip():
        problem("Nothing to play. Upload or paste a script.")
        return None
    if holds_cases(text or "") and not case:
        return None
    return StartScript(form=ScriptForm(agent=agent, text=text or "", otherwise=otherwise, case=case))


def _otherwise() -> Otherwise:
    chosen: Otherwise = st.selectbox(
        "If the script has no answer",
        list(OTHERWISE),
        format_func=OTHERWISE.__getitem__,
        key="start_script_otherwise",
        on_change="ignore",
        persist_state="session",
    )
    return chosen


def _upload(kept: KeptInputs) -> None:
    uploaded: Any = st.file_uploader(
        "Script or eval set",
        type=["yaml", "yml", "json", "zip"],
        key=_UPLOAD_KEY,
        on_change=_take,
        args=(kept,),
    )
    if uploaded is not None:
        try:
            text_of_upload(uploaded.getvalue())
        except ValueError as error:
            problem("This file cannot be read.", str(error))


def _case(text: str) -> str:
    """Draw the choice of a golden trace where the text is an eval set; return its name, empty for none."""
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


def _take(kept: KeptInputs) -> None:
    """Put a file that was uploaded into the text, where it can be changed."""
    uploaded: Any = st.session_state.get(_UPLOAD_KEY)
    if uploaded is not None:
        with suppress(ValueError):  # said where the file is drawn
            kept.put(TEXT_KEY, text_of_upload(uploaded.getvalue()))


# Where a recorded case is chosen to be replayed in a session: each call gets its recorded answer, all else is asked.


PATH_KEY = "recorded_path"
_REPLAYED_KEY = "recorded_case"
AGENTS: dict[Agents, str] = {"moves": "The recording", "model": "Their models"}
assert set(AGENTS) == set(get_args(Agents))  # noqa: S101 - a new way must get a name here
_LONGEST = 60


def recorded_start(
    agent: str, default_path: str, cases: Callable[[str], Mapping[str, str]], failed: str | None
) -> StartRecorded | None:
    """Draw it for an agent; return the case that is to be replayed.

    Args:
        agent: The agent.
        default_path: The agent's eval set.
        cases: Gives the recorded cases at a path, each with what the user says first; a ValueError says why there are none.
        failed: Why the last attempt did not work.
    """
    st.caption(
        "Each eval set has a file with its recorded tool responses next to it. A session replays them, and "
        "pauses when the agent makes a call that was not recorded. You answer it, see the closest recorded "
        "call, and can add your response to the case."
    )
    said = st.text_input(
        "Eval set or recorded environment", value=default_path, key=PATH_KEY, persist_state="session"
    )
    path = said or ""
    case = _recorded_case(_found(path, cases, is_default=path == default_path))
    agents = st.segmented_control(
        "Agent responses come from",
        list(AGENTS),
        format_func=AGENTS.__getitem__,
        required=True,
        key="recorded_agents",
        default="moves",
        persist_state="session",
    )
    if failed:
        problem("The case cannot be replayed.", failed)
    is_asked = _begins("play_recorded", "Replay case", ":material/replay:", disabled=case is None)
    if case is None or not is_asked:
        return None
    return StartRecorded(form=RecordedForm(agent=agent, path=path, case=case, agents=agents))


def _recorded_case(found: Mapping[str, str]) -> str | None:
    """Draw the choice of a recorded case; return its name, None where there is none."""
    names = list(found)
    if st.session_state.get(_REPLAYED_KEY) not in names:
        st.session_state[_REPLAYED_KEY] = names[0] if names else None
    case: str | None = st.selectbox(
        "Case",
        names,
        key=_REPLAYED_KEY,
        format_func=lambda name: literal(f"{name}: {_short(found.get(name, ''))}"),
        placeholder="No recorded cases",
    )
    return case


def _found(path: str, cases: Callable[[str], Mapping[str, str]], *, is_default: bool) -> Mapping[str, str]:
    """Return the cases at a path; where there are none, say why, or how there will be some."""
    try:
        return cases(path) if path.strip() else {}
    except ValueError as error:  # no such file, not theirs, or something else
        if is_default and not os.path.lexists(path):
            st.caption(
                "No recordings for this agent yet. Export one of its sessions, or enter the path of another eval set."
            )
        else:
            problem("Nothing to replay.", str(error))
        return {}


def _short(text: str) -> str:
    return safe_label(text, _LONGEST)
