"""The page without a session: gathers what the start panel shows, and carries out what it gives back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NoReturn

import streamlit as st

from app.agents.processes_panel import ChoosePython, PythonChoice, RestartProcess
from app.agents.scenario_start_panel import ScenarioStart, open_scenario
from app.forms.common_panel import problem
from app.forms.widget_store import KeptInputs
from app.live.agent_catalogue import catalogue, load_in_background
from app.live.destinations import default_destination
from app.live.live_sessions import LiveSession
from app.live.session_opening import StartForm, open_session
from app.screens.sidebar_panel import has_no_sessions
from app.screens.start_panel import (
    OWNER,
    QUERY_KEY,
    AddFolder,
    ChooseAgent,
    ChosenAgent,
    LoadWithPlaceholders,
    RemoveFolder,
    ShownStart,
    StartCommand,
    StartRecorded,
    StartScenario,
    StartScript,
    StartSession,
    StopLoading,
    TryAgain,
    recorded_start,
    start,
)
from app.scripts.script_play import RecordedForm, ScriptForm, open_recorded, open_script, recorded_cases
from app.server.login import visitor
from app.server.owners import LOCAL
from app.session import page_state
from app.session.page_fragments import fragment
from app.session.refresh_panel import keep_unsent
from simulator.agents import AgentCatalogue, AgentEntry, AgentLoadError, AgentSettingsError
from simulator.agents.agent_directory import directory_of
from simulator.agents.agent_settings import choose_python, chosen_python, interpreter_named
from simulator.agents.load_failure import load_with_placeholders
from simulator.base.secret_masking import error_words
from simulator.kernel.kernel import KernelError
from simulator.kernel.kernel_agent import KernelAgentConfig, needs_of, unreachable
from simulator.kernel.kernel_processes import agent_processes, restart

LOOK_AGAIN_SECONDS = 0.2
LOOK_AGAIN_LOADING_SECONDS = 0.5
"""While agents are loaded: each look makes the browser compute, which slows the agents down where there are few processors."""
LOOKS_BEFORE_LOADING = 1
SLOW_SECONDS = 5.0
"""How long an import takes before it can be stopped: most never come to show a button."""
_AGENT = "chosen agent"
"""Names the agent that was chosen last among what is kept of the start page."""
_LOG = logging.getLogger(__name__)


def start_page() -> None:
    """Draw the start page."""
    _say_what_is_missing()
    texts = page_state.start_texts()
    try:
        agents = catalogue()
    except AgentSettingsError as error:
        problem("The studio was started with an invalid option.", str(error))
        return
    entries = agents.entries()
    slow = agents.loading(SLOW_SECONDS)
    chosen = _chosen(entries)
    shown = ShownStart(
        entries,
        chosen,
        _choice(chosen),
        _failed("problem"),
        _failed("script_problem"),
        slow,
        has_no_sessions(),
        _recorded,
        agent_processes,
        partial(_python_of, agents),
        texts,
        visitor().owner == LOCAL,
        _failed("folder_problem"),
        [str(path) for path in agents.added],
    )
    asked = start(shown)
    keep_unsent(texts)
    _carry_out(agents, asked)
    unread = sum(entry.state == "unread" for entry in entries)
    if unread:
        wanted = chosen.name if chosen is not None else ""
        is_loading = int(page_state.get("looked") or 0) > LOOKS_BEFORE_LOADING
        every = LOOK_AGAIN_LOADING_SECONDS if is_loading else LOOK_AGAIN_SECONDS
        fragment(_look_again, every)(agents, unread, slow, wanted)


def _carry_out(agents: AgentCatalogue, asked: StartCommand | None) -> None:
    match asked:
        case ChooseAgent(name=name):
            _choose(name)
        case AddFolder(path=path):
            _add_folder(agents, path)
        case RemoveFolder(path=path) if visitor().owner == LOCAL:
            agents.remove_folder(Path(path))
            st.rerun()
        case TryAgain() | StopLoading() | LoadWithPlaceholders() | RestartProcess() | ChoosePython() as asked:
            _load_otherwise(agents, asked)
        case StartSession(form=form):
            _open(form.agent, partial(_session, agents, form), "problem")
        case StartScenario(form=form, scenario=scenario):
            _open(form.agent, partial(_played_user, agents, form, scenario), "problem")
        case StartScript(form=script):
            _open(script.agent, partial(_script, agents, script), "script_problem")
        case StartRecorded(form=recorded):
            _open(recorded.agent, partial(_replayed, agents, recorded), "recorded_problem")


def _choose(name: str) -> NoReturn:
    page_state.put("agent", name)
    page_state.start_texts()[_AGENT] = name
    page_state.put("problem", None)
    st.rerun()


def _add_folder(agents: AgentCatalogue, path: str) -> None:
    """List the agents of a folder, too, and choose its first one; say why where there is none."""
    page_state.put("folder_problem", None)
    before = {entry.name for entry in agents.entries()}
    try:
        if visitor().owner == LOCAL:
            agents.add_folder(Path(path))
    except (AgentLoadError, OSError, RuntimeError) as error:  # also a home folder that is not known
        page_state.put("folder_problem", str(error))
        st.rerun()
    new = (entry.name for entry in agents.entries() if entry.name not in before)
    _choose(next(new, page_state.start_texts().get(_AGENT, "")))


def _say_what_is_missing() -> None:
    if page_state.session_id():
        st.info("You have no session at this address. Open another one, or start a new session.")
    if page_state.shared_token():
        st.info("Nothing is shared under this link. Ask the sender for a new one.")


def _load_otherwise(
    agents: AgentCatalogue,
    asked: TryAgain | StopLoading | LoadWithPlaceholders | RestartProcess | ChoosePython,
) -> None:
    """Load again what failed, give up what takes long, or start the process of an agent anew."""
    match asked:
        case StopLoading(name=name):
            agents.stop(name)
        case RestartProcess(key=key):
            _restart(key)
        case ChoosePython(name=name, python=python):
            _use_python(agents, name, python)
        case LoadWithPlaceholders() | TryAgain():
            if isinstance(asked, LoadWithPlaceholders):
                load_with_placeholders()
            agents.refresh()
            st.rerun()


def _python_of(agents: AgentCatalogue, entry: AgentEntry) -> PythonChoice | None:
    """Return what is known of an agent's Python; None where nobody may choose it: it can be any program of the machine."""
    place = agents.place(entry.name) if visitor().owner == LOCAL else None
    if place is None:
        return None
    chosen, config = chosen_python(place), entry.config
    used = config.kernels.python if isinstance(config, KernelAgentConfig) else chosen
    failed = page_state.get("python_problem")
    return PythonChoice(
        used=str(used or ""),
        is_chosen=chosen is not None,
        failed=str(failed[1]) if isinstance(failed, list) and failed[0] == entry.name else "",
    )


def _use_python(agents: AgentCatalogue, name: str, python: str) -> None:
    """Keep which Python runs an agent, and load the agent anew with it."""
    page_state.put("python_problem", None)
    place = agents.place(name)
    try:
        if place is not None and visitor().owner == LOCAL:
            choose_python(place, interpreter_named(python.strip()))
            agents.forget(name)
    except (AgentSettingsError, OSError) as error:
        page_state.put("python_problem", [name, str(error).removeprefix("--python ")])
    st.rerun()


def _restart(key: str) -> None:
    """Start the process of an agent anew; say why where it does not start."""
    try:
        with st.spinner("Starting the agent's process"):
            restart(key)
    except KernelError as error:
        page_state.put("problem", str(error))
    st.rerun()


def _failed(flag: page_state.Flag) -> str | None:
    failed = page_state.get(flag)
    return str(failed) if failed else None


def _recorded(entry: AgentEntry) -> StartRecorded | None:
    """Draw where a recorded case of an agent is chosen."""
    config = entry.config
    if config is None:
        return None
    path = str(default_destination(visitor().owner, config))
    cases = partial(recorded_cases, owner=visitor().owner, config=config)
    return recorded_start(entry.name, path, cases, _failed("recorded_problem"))


def _look_again(agents: AgentCatalogue, unread_before: int, slow_before: frozenset[str], wanted: str) -> None:
    """Begin to load the agents, the wanted one first, and draw the page anew when another one was loaded, failed to, or takes long.

    Once the browser has come back it has drawn the page, and the agents' processes keep no processor from it.
    """
    looked = int(page_state.get("looked") or 0)
    if looked >= LOOKS_BEFORE_LOADING:
        load_in_background(agents, wanted)
    page_state.put("looked", looked + 1)
    unread = sum(entry.state == "unread" for entry in agents.entries())
    if unread != unread_before or agents.loading(SLOW_SECONDS) != slow_before:
        st.rerun()


def _chosen(entries: tuple[AgentEntry, ...]) -> AgentEntry | None:
    usable = [entry for entry in entries if entry.state != "failed"]
    wanted = page_state.get("agent") or page_state.start_texts().get(_AGENT)
    return next((entry for entry in usable if entry.name == wanted), next(iter(usable), None))


def _choice(chosen: AgentEntry | None) -> ChosenAgent:
    if chosen is None or chosen.config is None:
        return ChosenAgent()
    return ChosenAgent(
        directory=directory_of(chosen.config.root_agent),
        without_model=unreachable(chosen.config),
        needed_state=needs_of(chosen.config).certain,
    )


def _session(agents: AgentCatalogue, form: StartForm) -> LiveSession:
    live = open_session(form, agents.config_of_now(form.agent, as_listed=True), visitor().owner)
    KeptInputs(page_state.start_texts(), OWNER).renew(QUERY_KEY)  # what was sent is no unsent text
    return live


def _played_user(agents: AgentCatalogue, form: StartForm, scenario: ScenarioStart) -> LiveSession:
    return open_scenario(form, scenario, agents.config_of_now(form.agent, as_listed=True), visitor().owner)


def _script(agents: AgentCatalogue, form: ScriptForm) -> LiveSession:
    return open_script(form, agents.config_of_now(form.agent, as_listed=True), visitor().owner)


def _replayed(agents: AgentCatalogue, form: RecordedForm) -> LiveSession:
    return open_recorded(form, agents.config_of_now(form.agent, as_listed=True), visitor().owner)


def _open(agent: str, opened: Callable[[], LiveSession], flag: page_state.Flag) -> None:
    """Open a session and go to it; keep what went wrong for the next run, where `flag` says."""
    page_state.put("problem", None)
    page_state.put("script_problem", None)
    page_state.put("recorded_problem", None)
    try:
        with st.spinner("Opening the session"):
            live = opened()
    except ValueError as error:  # a field, the script, the agent or the registry; nothing was opened
        page_state.put(flag, str(error))
    except Exception as error:  # noqa: BLE001 - the page's edge: an agent's own code may raise anything
        _LOG.exception("A session was not opened")
        page_state.put(flag, error_words(error))
    else:
        page_state.put("agent", agent)
        page_state.go_to(live.session_id)
    st.rerun()
