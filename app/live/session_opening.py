"""Opens a session from what was typed on the start page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic import Field

from app.forms.typed_json import TypedJsonError, parse_object
from app.live.click_waits import AT_ONCE, settle
from app.live.live_sessions import LiveSession, registry, title
from app.live.player_names import not_at_first
from app.live.reopened_sessions import kept_drafts
from app.live.session_store import server_store
from app.live.upload_quota import check_attached
from app.server.owners import LOCAL
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_directory import UnfitMessageError, directory_of
from simulator.agents.agent_fingerprint import loaded_fingerprint
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.facts import EVERY, AgentPlayer, EarlierData, SavedArtifact, ToolPlayer
from simulator.journal import Journal
from simulator.kernel.kernel_agent import check_message, unreachable
from simulator.runtime.commanding import Commanding
from simulator.session import Seats
from simulator.session.history import earlier_data, files_in, message_of

if TYPE_CHECKING:
    from simulator.store import JournalStore

_UNFIT = "First user message: it does not match the agent's input schema. Leave it empty to open the session with a form for it."

AgentChoice: TypeAlias = AgentPlayer | Literal["auto"]
"""Who makes the agents' turns; `auto`: each agent's own model where it can be asked, else the person."""


class StartFormError(ValueError):
    """A field of the start page cannot be read; the text names it."""


class StartForm(Value):
    """The fields of the start page as they were typed; an empty seed stands for one of chance. `files` are parts of the first message.

    `needed_state` has a text for each key of the state that the agent needs; an empty one is none. `artifacts` are the files that the session begins with, as parts, and `memory` has a line for each text that it remembers.
    """

    agent: str
    query: str = ""
    files: tuple[JsonObject, ...] = ()
    user_id: str = "user"
    seed: str = ""
    initial_state: str = "{}"
    needed_state: dict[str, str] = Field(default_factory=dict)
    artifacts: tuple[JsonObject, ...] = ()
    memory: str = ""
    agent_player: AgentChoice = "auto"
    tool_player: ToolPlayer = "person"


class StartSettings(Value):
    """What a session starts with."""

    user_id: str
    seed: str | None
    initial_state: JsonObject
    earlier: EarlierData
    seats: Seats


def read_form(form: StartForm, without_model: dict[str, str]) -> StartSettings:
    """Read the fields.

    Args:
        form: The fields.
        without_model: The agents whose model cannot be asked, as `unreachable` gives them.

    Raises:
        StartFormError: The user id is empty, the state is no JSON object, or who shall answer the tools lacks something.
    """
    if not form.user_id.strip():
        raise StartFormError("User ID: it must not be empty. ADK keeps sessions by user.")
    try:
        initial_state = parse_object(form.initial_state)
    except TypedJsonError as error:
        raise StartFormError(f"Initial state: {error}") from error
    if missing := not_at_first(form.tool_player):
        raise StartFormError(f"Tool calls are answered by: {missing}")
    return StartSettings(
        user_id=form.user_id.strip(),
        seed=form.seed.strip() or None,
        initial_state={**initial_state, **{key: text for key, text in form.needed_state.items() if text}},
        earlier=_earlier(form),
        seats=_seats(form, without_model),
    )


def _earlier(form: StartForm) -> EarlierData:
    """Return what a session begins with; files of one name are versions of one artifact."""
    named = zip(files_in({"parts": [*form.artifacts]}), form.artifacts, strict=True)
    saved = tuple(SavedArtifact(filename=file.name, part=part, version=0) for file, part in named)
    memory = earlier_data(memory=[line.strip() for line in form.memory.splitlines() if line.strip()]).memory
    return EarlierData(artifacts=saved, memory=memory)


def _seats(form: StartForm, without_model: dict[str, str]) -> Seats:
    agents: dict[str, AgentPlayer] = {}
    if form.agent_player == "auto":
        agents = dict.fromkeys(without_model, "person")
    elif form.agent_player != "model":
        agents = {EVERY: form.agent_player}
    tools: dict[str, ToolPlayer] = {} if form.tool_player == "person" else {EVERY: form.tool_player}
    return Seats(agents=agents, tools=tools)


def _check_query(query: str | JsonObject, config: SimulatedAgentConfig) -> None:
    """Hold a first query to the agent's input schema, as the later ones are; no query needs no check."""
    if not query:
        return
    try:
        check_message(config, query)
    except UnfitMessageError as error:
        raise StartFormError(f"{_UNFIT}\n{error}") from error


def _check_files(form: StartForm, owner: str) -> None:
    """Check that there is room for the files."""
    for name, files in (("Attach files", form.files), ("Artifacts", form.artifacts)):
        try:
            check_attached(owner, {"parts": [*files]})
        except ValueError as error:
            raise StartFormError(f"{name}: {error}") from error


def _keeper(store: JournalStore, config: SimulatedAgentConfig, owner: str) -> Callable[[Journal], Journal]:
    print_ = loaded_fingerprint(config.root_agent)

    def kept(journal: Journal) -> Journal:
        stored = store.begin(journal, owner=owner, agent_key=config.name, agent_digest=print_)
        stored.claim()
        return stored

    return kept


def open_session(form: StartForm, config: SimulatedAgentConfig, owner: str = LOCAL) -> LiveSession:
    """Open a session of an owner, ask its first query where there is one, and take it into the registry.

    Raises:
        StartFormError: A field cannot be read, or the query does not fit the agent's input schema.
        app.live.live_sessions.RegistryFullError: No further session can be opened.
        simulator.runtime.SimulationError: The agent cannot be simulated.
        simulator.store.StoreError: The session cannot be kept.
    """
    from simulator.kernel.remote_simulation import opened  # noqa: PLC0415 - importing ADK takes a second

    settings = read_form(form, unreachable(config))
    query = message_of(form.query.strip() and form.query, form.files)
    _check_files(form, owner)
    _check_query(query, config)
    live = taken_in(
        lambda keep: opened(
            config,
            seats=settings.seats,
            initial_state=settings.initial_state,
            earlier=settings.earlier,
            seed=settings.seed,
            user_id=settings.user_id,
            keep=keep,
        ),
        config,
        owner,
    )
    if query:
        _ask(live, query)
    return live


def taken_in(
    begin: Callable[[Callable[[Journal], Journal] | None], Commanding],
    config: SimulatedAgentConfig,
    owner: str,
) -> LiveSession:
    """Open a simulation for an owner, keep it, and take it into the registry.

    Args:
        begin: Opens it, with what gives the journal that is kept.
        config: The agent.
        owner: Whose it is.

    Raises:
        app.live.live_sessions.RegistryFullError: No further session can be opened.
        simulator.runtime.SimulationError: The agent cannot be simulated.
        simulator.store.StoreError: The session cannot be kept.
    """
    registry().check_room()
    store = server_store().store
    simulation = begin(_keeper(store, config, owner) if store else None)
    try:
        live = registry().add(simulation, config, directory_of(config.root_agent), owner=owner)
    except ValueError:
        simulation.close()
        raise
    if store is not None:
        live.drafts = kept_drafts(store, live.session_id)
    return live


def _ask(live: LiveSession, query: str | JsonObject) -> None:
    """Ask the first query; where the agent's process ends over it, the session's page says so.

    Raises:
        simulator.runtime.SimulationError: It cannot be asked: no turn has begun.
    """
    try:
        live.simulation.query(query, wait=AT_ONCE)
        settle(live.simulation)
    except ValueError:
        if not live.simulation.journal.fold.turns_so_far:
            raise
    live.title = title(live.simulation.session)
