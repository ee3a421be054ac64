"""The face of a simulation: plain synchronous commands and one frozen view, from any thread."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from google.adk.models.base_llm import BaseLlm
from pydantic import ValidationError

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_source import EnvironmentDataError
from simulator.base.json_values import JsonObject
from simulator.base.validation_words import check_kind, flaws
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import NOTHING_EARLIER, EarlierData
from simulator.journal import Journal
from simulator.runtime import performing, session_views
from simulator.runtime.adk.event_loop import LoopThread
from simulator.runtime.adk.watched_services import checked_earlier
from simulator.runtime.commanding import Commanding, SimulationView
from simulator.runtime.errors import SimulationError
from simulator.runtime.session_engine import Engine, opening_facts
from simulator.runtime.turns.undo_targets import redo_target, redone, undo_target, undone
from simulator.seats.requests import Request
from simulator.session import IllegalFactError, Seats, SimulationSession
from simulator.session.commands import Command, Question

if TYPE_CHECKING:
    from google.adk.apps import App
    from google.adk.workflow import BaseNode


class Simulation(Commanding):
    """A session that is being played in this process."""

    def __init__(self, config: SimulatedAgentConfig, journal: Journal, clock: Callable[[], float]) -> None:
        """Use `open` or `resume`."""
        check_kind(config, "runs_elsewhere", "a SimulatedAgentConfig")
        check_kind(journal, "session", "a Journal")
        if config.runs_elsewhere:
            raise SimulationError(
                f"the agent {config.name!r} runs in a separate process, so it cannot run in this one"
            )
        self.config = config
        self._loop = LoopThread.shared()
        self._closed = False

        async def made() -> Engine:
            engine = Engine(config, journal, clock)
            await engine.open()
            return engine

        self._engine = self._loop.run(made())

    @classmethod
    def open(
        cls,
        config: SimulatedAgentConfig | BaseNode | App,
        *,
        rules: Iterable[InjectionRule] = (),
        seats: Seats | None = None,
        initial_state: JsonObject | None = None,
        earlier: EarlierData = NOTHING_EARLIER,
        seed: str | None = None,
        user_id: str = "user",
        session_id: str | None = None,
        clock: Callable[[], float] = time.time,
        keep: Callable[[Journal], Journal] | None = None,
    ) -> Simulation:
        """Begin a session with an agent.

        Args:
            config: The agent, or its configuration.
            rules: Injection rules that are in force from the start.
            seats: Who plays from the start; by default each agent's own model if it can be reached, else a person, who plays the tools.
            initial_state: What ADK's session state holds at first.
            earlier: The artifacts and the memory that there are at first: `simulator.earlier_data` makes them of files and texts.
            seed: Where ids and draws come from; a random one by default, as `session_id`.
            user_id: ADK's user.
            session_id: The session's id.
            clock: Gives the time in seconds since the epoch.
            keep: Gives the journal to go on with instead of one that is only in memory: a store's.

        Raises:
            AgentConfigError: `config` is nothing that can be simulated.
            SimulationError: Two rules have one id, or something of what the session begins with cannot be used.
        """
        config = SimulatedAgentConfig.of(config)
        header = {"session_id": session_id or _new_id(), "user_id": user_id, "seed": seed or _new_id()}
        _check_kinds(rules, seats, initial_state, header)
        state, now = performing.plain(initial_state or {}, "initial state"), round(clock(), 3)
        begins = {"initial_state": state, "earlier": checked_earlier(earlier, now)}
        with _as_simulation_error():
            journal = Journal(opening_facts(config, header, begins, seats, rules, now=now))
            return cls(config, keep(journal) if keep else journal, clock)

    @classmethod
    def resume(
        cls,
        journal: Journal,
        config: SimulatedAgentConfig | BaseNode | App,
        *,
        clock: Callable[[], float] = time.time,
        wait: float | None = None,
    ) -> Simulation:
        """Go on with the session of a journal, as a command does: no model and no real tool is asked again.

        Raises:
            AgentConfigError: `config` is nothing that can be simulated.
            SimulationError: The journal's session has no agent yet, or another one.
        """
        config = SimulatedAgentConfig.of(config)
        check_kind(journal, "session", "a Journal")
        session = journal.session()
        if session.agent_name != config.name:
            raise SimulationError(
                f"the session belongs to the agent {session.agent_name!r}, not to {config.name!r}"
            )
        simulation = cls(config, journal, clock)
        simulation.wait(wait)
        return simulation

    # ------------------------------------------------------------ what there is to see

    @property
    def session(self) -> SimulationSession:
        """The session as it stands."""
        return self._loop.call(session_views.session_of, self._engine)

    @property
    def pending(self) -> tuple[Request, ...]:
        """The requests that wait for a person, oldest first."""
        return self._loop.call(session_views.pending_of, self._engine)

    @property
    def journal(self) -> Journal:
        """The session's journal; to be read, not to be appended to."""
        return self._engine.journal

    @property
    def version(self) -> int:
        """A number that grows with every change; cheap to read."""
        return self._engine.version

    def view(self) -> SimulationView:
        """Return one consistent snapshot."""
        return self._loop.call(self.view_here)

    def view_here(self) -> SimulationView:
        """Return the snapshot for somebody who is on the loop's thread already, as the work of `read` is."""
        engine = self._engine
        return SimulationView(
            session=session_views.session_of(engine),
            pending=session_views.pending_of(engine),
            running=session_views.running_of(engine),
            busy=not engine.at_rest(),
            version=engine.version,
            problems=tuple(engine.problems),
            divergence=engine.divergence,
            head=engine.journal.head,
            user=session_views.user_view(engine),
            undoes=undone(engine.journal),
            redoes=redone(engine.journal),
        )

    def when_changed(self, notify: Callable[[], None]) -> None:
        """Call `notify` after each change, on the loop's thread; it must not wait."""
        self._engine.notify = notify

    def look(self, question: Question) -> Any:
        """Return the answer to a question."""
        performing.check_question(question)
        return self._loop.call(performing.look, self._engine, question)

    # ------------------------------------------------------------ commands

    def send(self, command: Command, wait: float | None = None) -> bool:
        """Carry a command out, and wait for rest where it is one after which the agent goes on. True if it came to rest."""
        performing.check_command(command)

        async def both() -> bool:  # in one, as each crossing to the loop's thread costs time
            if self._closed:
                raise SimulationError("the simulation is closed")
            await performing.perform(self._engine, command)
            return await self._engine.rest(wait) if command.settles else True

        with _as_simulation_error():
            return self._loop.run(both())

    def give_model(self, model: BaseLlm) -> str:
        """Take a model object, which is known by its name from now on in this session; return that name."""
        if not isinstance(model, BaseLlm):
            raise SimulationError(
                f"the model is of type {type(model).__name__}; pass a name, an empty string for none, or a model"
            )

        def take(engine: Engine) -> None:
            engine.modelling.objects[model.model] = engine.user.models[model.model] = model

        self.read(take)
        return model.model

    def can_undo(self) -> bool:
        """Return whether there is a step to take back."""
        return self.read(lambda engine: undo_target(engine.journal)) is not None

    def can_redo(self) -> bool:
        """Return whether there is a step to bring back."""
        return self.read(lambda engine: redo_target(engine.journal)) is not None

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the agent needs a person or the turn has ended; False if `timeout` seconds were not enough."""
        return self._loop.run(self._engine.rest(timeout))

    def close(self) -> None:
        """Let go of everything that runs. The journal stays, and can be resumed; this simulation takes no command more.

        Closing again does nothing.
        """

        async def shut() -> None:
            self._closed = True
            if self._engine.modelling.analysing is not None:
                self._engine.modelling.analysing.cancel()
            await self._engine.close()

        self._loop.run(shut())

    def read(self, work: Callable[[Engine], Any]) -> Any:
        """Return what some work reads from the engine, on its thread."""
        return self._loop.call(work, self._engine)


def _new_id() -> str:
    return uuid.uuid4().hex


def _check_kinds(rules: object, seats: object, initial_state: object, header: dict[str, Any]) -> None:
    check_kind(rules, "__iter__", "`rules` as a list of InjectionRule")
    check_kind(Seats() if seats is None else seats, "agents", "`seats` as Seats")
    check_kind({} if initial_state is None else initial_state, "items", "`initial_state` as a dict")
    for name, value in header.items():
        check_kind(value, "encode", f"`{name}` as a text")


@contextmanager
def _as_simulation_error() -> Iterator[None]:
    try:
        yield
    except (IllegalFactError, EnvironmentDataError) as error:
        raise SimulationError(str(error)) from error
    except ValidationError as error:
        raise SimulationError("; ".join(flaws(error))) from error
