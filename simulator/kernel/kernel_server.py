"""The side of a kernel: plays sessions with its agent, and tells the studio each fact as it is appended."""

from __future__ import annotations

import logging
import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_fingerprint import called
from simulator.agents.agent_folder import AgentFolder
from simulator.agents.agent_settings import demo_agent
from simulator.agents.configs_file import ConfigsFile
from simulator.agents.load_failure import AgentLoadError, failure_words
from simulator.base.json_values import JsonObject
from simulator.base.model_settings import server_settings_in
from simulator.base.secret_masking import error_words, masked_log
from simulator.facts import EarlierData, Fact
from simulator.journal import Journal
from simulator.kernel.agent_outline import outlined
from simulator.kernel.messages import (
    VERSION,
    Appended,
    Channel,
    HeadMoved,
    Keep,
    KeepReply,
    KernelCall,
    KernelReady,
    KernelReply,
    SessionDisplay,
)
from simulator.kernel.process_setup import come_behind_the_page, import_own, share_names
from simulator.runtime import Simulation, SimulationError
from simulator.runtime.adk.event_loop import LoopThread
from simulator.runtime.adk.private_network import NetworkNeededError
from simulator.runtime.commanding import SimulationView
from simulator.runtime.errors import ContradictionError
from simulator.runtime.performing import gives
from simulator.seats.requests import DraftedLater, Request
from simulator.session import Seats
from simulator.session.commands import ChangeSettings, Command, Question, SetUser, read

_FACT: TypeAdapter[Fact] = TypeAdapter(Fact)
_SEATS: TypeAdapter[Seats | None] = TypeAdapter(Seats | None)
FOR_KERNELS = {
    "check_here": "simulator.agents.agent_directory",
    "accept_here": "evalset.verify.verify_run",
    "criteria_here": "evalset.verify.verify_run",
    "eval_ids_here": "evalset.verify.verify_run",
    "problem_here": "simulator.runtime.models.reachability",
    "set_here": "simulator.runtime.models.reachability",
    "repairing_here": "evalset.verify.golden_repair",
    "replay_written_here": "evalset.verify.proposed_tolerances",
    "verify_part": "evalset.verify.verify_run",
}
"""The functions that a studio may have run, each with its module; named, as that stands above this package."""
MOST_IMPORTED = ("google.adk.agents", "google.adk.apps", "google.adk.tools", "google.adk.models.google_llm")
"""The modules that nearly every agent imports."""
FOR_REPLAYS = "evalset.verify.in_process"
"""The module that does what is asked of a kernel most: each export is replayed at once, and each case when somebody checks it."""
_LOG = logging.getLogger(__name__)
_AT_ONCE = 64
"""How many calls are at work at a time: a studio waits for each session in a few threads at most."""


class ReportedJournal(Journal):
    """A journal of which the studio is told each fact and each move of the head, in their order."""

    def __init__(self, channel: Channel, session: str, keeping: Callable[[str, float], None]) -> None:
        super().__init__()
        self._channel, self._session, self._keeping = channel, session, keeping
        self._is_left = False

    def begin(self, journal: Journal) -> ReportedJournal:
        """Tell the studio all that a journal holds, and go on from there."""
        for _, fact in journal.path():
            self.append(fact)
        return self

    def go_on(self, journal: Journal) -> ReportedJournal:
        """Go on where a journal is that the studio has sent."""
        self._hold(journal._facts, journal._parents, journal.head, journal.fold)  # noqa: SLF001 - its own class's
        return self

    @property
    def outlives(self) -> bool:
        """Whether it outlives the process: the studio keeps it."""
        return True

    def leave(self) -> None:
        """Take in nothing more: the session goes on in another process."""
        self._is_left = True

    def append(self, fact: Fact) -> int:
        """Append a fact as `Journal.append` does, and tell the studio.

        Raises:
            SimulationError: The session goes on in another process.
        """
        if self._is_left:
            raise SimulationError("the session continues in another process")
        parent = self.head
        number = super().append(fact)
        written = _FACT.dump_python(fact, mode="json")
        self._channel.send(Appended(session=self._session, parent=parent, fact=written))
        return number

    def move_head(self, number: int) -> None:
        """Move the head as `Journal.move_head` does, and tell the studio."""
        super().move_head(number)
        self._channel.send(HeadMoved(session=self._session, head=number))

    def keep(self, timeout: float = 30.0) -> None:
        """Wait until the studio has all that was appended, durably."""
        self._keeping(self._session, timeout)


@dataclass
class KernelSession:
    """A session that this kernel plays, and what the studio was last shown of it.

    `at` is the time that its clock is set to, in seconds since the epoch; None for the present time.
    """

    journal: ReportedJournal
    at: float | None
    shown: dict[str, Request] = field(default_factory=dict)
    turn: int = -1
    events: int = 0
    version: int = -1
    told: threading.Lock = field(default_factory=threading.Lock)
    simulation: Simulation = field(init=False)

    def now(self) -> float:
        """Return the time."""
        return time.time() if self.at is None else self.at


class Server:
    """Answers the calls of a studio until it ends."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._config: SimulatedAgentConfig | None = None
        self._sessions: dict[str, KernelSession] = {}
        self._kept: dict[int, tuple[threading.Event, list[str]]] = {}
        self._numbers = iter(range(1, 1 << 62))
        self._changed = threading.Event()
        self._changes: set[str] = set()
        self._loads: SimpleQueue[KernelCall] = SimpleQueue()
        self._workers = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="kernel-call")

    def serve(self) -> None:
        """Answer until the studio has ended."""
        threading.Thread(target=self._tell_changes, name="kernel-changes", daemon=True).start()
        self._channel.send(
            KernelReady(
                version=VERSION, process=os.getpid(), python=platform.python_version(), adk=adk_version()
            )
        )
        with masked_log():
            while (message := self._channel.receive()) is not None:
                match message:
                    case KernelCall(name="load"):
                        self._loads.put(message)
                    case KernelCall():
                        self._workers.submit(self._answer, message)
                    case KeepReply():
                        self._is_kept(message)

    def load_forever(self) -> None:
        """Load what is asked for; for the main thread, as the import of an agent may set handlers of signals, which run there as well."""
        while True:
            try:
                self._answer(self._loads.get())
            except BaseException:  # noqa: BLE001 - what such a handler raises
                _LOG.exception("A signal's handler of the agent failed")

    # ------------------------------------------------------------ calls

    def _answer(self, call: KernelCall) -> None:
        try:
            value = self._done(call)
            reply = KernelReply(number=call.number, value=value)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever an agent's code raises, the studio is told
            reply = KernelReply(number=call.number, error=_refusal(error))
        self._channel.send(reply)

    def _done(self, call: KernelCall) -> Any:  # noqa: C901, PLR0911 - one case for each kind of call
        """Do what is asked of the process, or of one session."""
        given: dict[str, Any] = dict(call.arguments)
        match call.name:
            case "load":
                return self._loaded(call.arguments)
            case "run":
                return self._run(given["function"], given["arguments"])
            case "pulse":
                return LoopThread.shared().call(lambda: None)
            case "open" | "resume":
                return self._begun(call.name, call.session, given)
        played = self._sessions.get(call.session)
        if played is None:
            raise SimulationError("the session is not running in this process")
        match call.name:
            case "send":
                command: Any = read(given["command"])
                _check_settings(command)
                rests = played.simulation.send(command, given["wait"])
                self._show(call.session, played)
                return rests
            case "wait":
                rests = played.simulation.wait(given["timeout"])
                self._show(call.session, played)
                return rests
            case "look":
                question: Any = read(given["question"])
                kind: type[Question] = type(question)
                return gives(kind).dump_python(played.simulation.look(question), mode="json")
            case "fields":
                return _fields(played, given["key"], given["names"])
            case "set_time":
                played.at = given["at"]
            case "leave" | "close":
                self._end(call, played)
            case _:
                raise SimulationError(f"unknown call of a kernel: {call.name!r}")
        return None

    def _loaded(self, asked: JsonObject) -> JsonObject:
        """Load an agent and outline it; of a file alone, outline each agent that it lists."""
        match asked:
            case {"file": str(file), **more} if not more:
                configs = [outlined(each).model_dump(mode="json") for each in _listed(file)]
                return {"configs": [*configs]}
            case _:
                self._config = _agent(asked)
                outline = outlined(self._config).model_dump(mode="json")
                come_behind_the_page()
                return outline

    def _run(self, function: str, arguments: Any) -> Any:
        """Run a function of ours that is made for kernels: it takes the agent, if one was loaded, and JSON, and gives JSON."""
        module = FOR_KERNELS.get(function)
        if module is None:
            raise SimulationError(f"unknown function of a kernel: {function!r}")
        return getattr(import_own(module), function)(self._config, **arguments)

    def _begun(self, name: str, session: str, given: dict[str, Any]) -> None:
        if self._config is None:
            raise SimulationError("the agent is not loaded")
        config = called(self._config, **given.pop("called"))
        reported = ReportedJournal(self._channel, session, self._keep)
        played = KernelSession(reported, given.pop("at"))
        if name == "resume":
            journal = reported.go_on(Journal.from_json(given["journal"]))
            played.simulation = Simulation.resume(journal, config, clock=played.now, wait=0.0)
        else:
            given["seats"] = _SEATS.validate_python(given.get("seats"))
            given["earlier"] = EarlierData.model_validate(given.get("earlier") or {})
            played.simulation = Simulation.open(config, **given, clock=played.now, keep=reported.begin)
        self._sessions[session] = played
        played.simulation.when_changed(lambda: self._note(session))
        self._show(session, played)

    def _end(self, call: KernelCall, played: KernelSession) -> None:
        """End a session; where it is left, as another process plays it, nothing is appended from now on."""
        if call.name == "leave":
            played.journal.leave()
        played.simulation.close()
        self._sessions.pop(call.session, None)

    # ------------------------------------------------------------ what there is to see

    def _note(self, session: str) -> None:
        self._changes.add(session)
        self._changed.set()

    def _tell_changes(self) -> None:
        while True:
            self._changed.wait()
            self._changed.clear()
            for session in list(self._changes):
                self._changes.discard(session)
                played = self._sessions.get(session)
                if played is not None:
                    self._show(session, played)

    def _show(self, session: str, played: KernelSession) -> None:
        """Send the studio what has changed, in the order of the session's own versions, as one thread does it at a time."""
        with played.told:
            view, (turn, first, events) = played.simulation.read(
                lambda engine: (played.simulation.view_here(), _new_events(engine, played))
            )
            # A look changes nothing: told of it, the page would look again, for ever.
            if view.version == played.version and not events:
                return
            shown = _shown(session, view, played.shown)
            # First, as the studio may ask for the draft of a request before the next line here runs.
            played.shown = {request.key: request for request in view.pending}
            played.turn, played.events, played.version = turn, first + len(events), view.version
            self._channel.send(
                shown.model_copy(update={"turn": turn, "first_event": first, "events": events})
            )

    # ------------------------------------------------------------ durability

    def _keep(self, session: str, timeout: float) -> None:
        number, event, problem = next(self._numbers), threading.Event(), [""]
        self._kept[number] = event, problem
        self._channel.send(Keep(session=session, number=number))
        answered = event.wait(timeout)
        del self._kept[number]
        if not answered:
            raise SimulationError("the studio did not confirm that the newest steps are saved")
        if problem[0]:
            raise SimulationError(problem[0])

    def _is_kept(self, message: KeepReply) -> None:
        event, problem = self._kept.get(message.number, (threading.Event(), [""]))
        problem[0] = message.problem
        event.set()


def _check_settings(command: Command) -> None:
    """Refuse what only the server sets of a model: a command is what somebody typed on a page, or what a file says."""
    match command:
        case SetUser():
            named: Any = {"user_simulator_config": command.config}
        case ChangeSettings():
            named = command.model_dump(mode="json")
        case _:
            return
    if refused := server_settings_in(named):
        raise SimulationError("; ".join(map(str, refused)))
    if isinstance(command, SetUser):
        _check_user(command.config)


def _check_user(config: object) -> None:
    """Refuse a user simulator that no code of the agent has imported: who names one does not choose what runs here."""
    path = config.get("type") if isinstance(config, dict) else None
    module, _, name = str(path or "").replace(":", ".").rpartition(".")
    if module and not hasattr(sys.modules.get(module), name):
        raise SimulationError(
            f"the user simulator {path!r} is not imported by the agent's code. Import its module there first"
        )


def _agent(asked: JsonObject) -> SimulatedAgentConfig:
    """Load an agent: of a folder, as `adk web` does, of a file of configs, counted from 0, or a demo agent.

    Raises:
        AgentLoadError: It cannot be loaded; the text says what failed and where.
    """
    match asked:
        case {"demo": str(name)}:
            return demo_agent(name)
        case {"file": str(file), "place": int(place)}:
            configs = _listed(file)
            if place >= len(configs):
                raise AgentLoadError(f"{file} now lists fewer agents ({len(configs)})")
            return configs[place]
        case {"folder": str(folder), "name": str(name)}:
            agents = AgentFolder(Path(folder))
            share_names(agents.home, name)
            try:
                return agents.load(name)
            except (Exception, SystemExit) as error:
                raise AgentLoadError(failure_words(error, agents.home)) from error
        case _:
            raise AgentLoadError("no agent was named")


def _listed(file: str) -> tuple[SimulatedAgentConfig, ...]:
    """Run a file, or import a module, and return the configs that it lists.

    Raises:
        AgentLoadError: It lists none; the text says what failed and where.
    """
    configs = ConfigsFile(file)
    share_names(configs.home, "" if configs.path else file)
    try:
        return configs.configs()
    except (Exception, SystemExit) as error:
        raise AgentLoadError(failure_words(error, configs.home)) from error


def adk_version() -> str:
    """Return the version of google-adk in this environment; empty where it is not installed."""
    try:
        return metadata.version("google-adk")
    except metadata.PackageNotFoundError:
        return ""


def _refusal(error: BaseException) -> JsonObject:
    if isinstance(error, NetworkNeededError):
        return {"kind": NetworkNeededError.__name__, "text": str(error)}
    if isinstance(error, ContradictionError):
        found = to_jsonable_python(error.contradictions)
        return {"kind": "contradiction", "tool": error.tool_name, "found": found}
    if isinstance(error, ValueError):
        return {"kind": "refused", "text": str(error)}
    return {"kind": "failed", "text": error_words(error)}


def _new_events(engine: Any, played: KernelSession) -> tuple[int, int, tuple[JsonObject, ...]]:
    """Return the turn in progress, and its events that the studio was not told yet with the place of the first."""
    if engine.run is None:
        return -1, 0, ()
    first = played.events if engine.run.number == played.turn else 0
    first = first if first <= len(engine.run.events) else 0
    return engine.run.number, first, tuple(engine.run.events[first:])


def _shown(session: str, view: SimulationView, before: Mapping[str, Request]) -> SessionDisplay:
    """Write a view down but for its events; of the requests those that were not shown before, or have changed."""
    new = [request for request in view.pending if before.get(request.key) is not request]
    return SessionDisplay(
        session=session,
        version=view.version,
        order=tuple(request.key for request in view.pending),
        requests=tuple(map(_known_fields, new)),
        later={request.key: names for request in new if (names := _unmade(request))},
        running=tuple(call.model_dump(mode="json") for call in view.running),
        busy=view.busy,
        problems=view.problems,
        divergence=view.divergence.model_dump(mode="json") if view.divergence else None,
        user=view.user.model_dump(mode="json"),
    )


def _fields(played: KernelSession, key: str, names: Iterable[str]) -> JsonObject:
    """Make fields of a request that the studio was shown without them."""
    request = played.shown.get(key)
    if request is None:
        raise SimulationError("the call is no longer waiting")
    written: JsonObject = to_jsonable_python({name: getattr(request, name) for name in names})
    return written


def _unmade(request: Request) -> tuple[str, ...]:
    if not isinstance(request, DraftedLater):
        return ()
    return tuple(name for name in type(request).model_fields if not request.is_made(name))


def _known_fields(request: Request) -> JsonObject:
    """Write a request without the fields that are made when somebody looks at them."""
    unmade = _unmade(request)
    known = {name: getattr(request, name) for name in type(request).model_fields if name not in unmade}
    written: JsonObject = to_jsonable_python(known)
    return written
