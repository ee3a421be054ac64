"""The face of a simulation's environment: what it knows, and how a person shapes it, from any thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from google.adk.models.base_llm import BaseLlm

from simulator.environment.declared_tools import DeclaredTool
from simulator.environment.evidence.sketch import FunctionSource
from simulator.environment.injection.rule_trials import Trial
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.recordings.recorded_calls import ObservedCall, read_recording
from simulator.environment.world.entities import Contradiction, EntityChange
from simulator.environment.world.invariants import InvariantStatus, check_invariant, standing
from simulator.environment.world.tool_settings import EnvironmentSettings
from simulator.facts import Outcome
from simulator.runtime import draft_requests, environment_changes, tool_requests
from simulator.runtime.errors import SimulationError
from simulator.runtime.knowledge.world_view import WorldView, world_view
from simulator.runtime.models import connection_analysis
from simulator.runtime.models.model_evidence import source_for_model
from simulator.runtime.session_engine import Engine
from simulator.seats.requests import ToolRequest
from simulator.session.environment_state import SessionEnvironment


class Commands(Protocol):
    """How a simulation reads its engine, and commands it; both on the loop's thread."""

    def read(self, work: Callable[[Engine], Any]) -> Any:
        """Return what the work gives."""
        ...

    def command(self, work: Callable[[Engine], Any]) -> None:
        """Do the work, if the simulation is open."""
        ...


class OnlyReads:
    """Reads for somebody who may look and not command; every command raises `SimulationError`."""

    def __init__(self, read: Callable[[Callable[[Any], Any]], Any]) -> None:
        self._read = read

    def read(self, work: Callable[[Any], Any]) -> Any:
        """Return what the work gives."""
        return self._read(work)

    def command(self, work: Callable[[Any], Any]) -> None:  # noqa: ARG002 - as `Commands` has it
        """Refuse the work."""
        raise SimulationError("this session is read-only; nothing was changed")


class SimulatedEnvironment:
    """The environment of a simulation. Each change is a fact; one that does not fit raises `SimulationError`."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def looked_at(self) -> SimulatedEnvironment:
        """Return the same environment to look at: each change raises `SimulationError`."""
        return SimulatedEnvironment(OnlyReads(self._commands.read))

    # ------------------------------------------------------------ what there is to see

    @property
    def now(self) -> SessionEnvironment:
        """What is set: settings, data, recordings, declared tools."""
        found: SessionEnvironment = self._commands.read(lambda engine: engine.journal.fold.environment)
        return found

    @property
    def settings(self) -> EnvironmentSettings:
        """What is set for the environment as a whole and for each tool."""
        return self.now.settings

    def world(self) -> WorldView:
        """Return what the environment knows: things as tables, connections, flags, remembered calls."""
        view: WorldView = self._commands.read(
            lambda engine: world_view(engine.knowledge, engine.modelling.progress)
        )
        return view

    def sources_for_model(self) -> dict[str, str]:
        """Return exactly what is sent of each tool's source where `source_to_model` is set, without secrets, by the tool's name.

        A tool without source that can be read is not in it.
        """
        codes: Mapping[str, FunctionSource] = self._commands.read(lambda engine: engine.tool_codes())
        return {name: source for name, code in codes.items() if (source := source_for_model(code))}

    def judge(self, line: str) -> InvariantStatus:
        """Say how an invariant stands in the world as it is now; it need not be in force.

        Raises:
            InvariantError: The line is no invariant; the text says what is wrong.
        """
        check_invariant(line)
        judged: InvariantStatus = self._commands.read(
            lambda engine: standing(engine.knowledge.up_to_date().world, (line,))[0]
        )
        return judged

    def try_rules(self, rules: Iterable[InjectionRule], call: ToolRequest | str | int) -> tuple[Trial, ...]:
        """Say of each rule whether it would have fired for a call, and why not; the nearest first.

        Args:
            rules: The rules, which need not be in force.
            call: A call that waits (or its key), or the number of the fact that answered one.
        """
        tried = tuple(rules)
        place = call.key if isinstance(call, ToolRequest) else call
        trials: tuple[Trial, ...] = self._commands.read(
            lambda engine: environment_changes.try_rules(engine, tried, place)
        )
        return trials

    def against(self, request: ToolRequest | str, outcome: Outcome) -> tuple[Contradiction, ...]:
        """Say what an answer to a call that waits would contradict; nothing where the call waits no more."""
        key = request.key if isinstance(request, ToolRequest) else request
        found: tuple[Contradiction, ...] = self._commands.read(
            lambda engine: tool_requests.against(engine, key, outcome)
        )
        return found

    # ------------------------------------------------------------ shaping it

    def change(self, settings: EnvironmentSettings | None = None, **fields: Any) -> None:
        """Set the settings, or some of their fields by name: `change(invariants=("stock >= 0",))`.

        An address, headers and keys in `simulation_model_configuration` hold in this simulation alone, as a model object does.
        """

        def changed(engine: Engine) -> None:
            now = settings or engine.journal.fold.environment.settings
            wanted = environment_changes.settings_with(now, fields)
            if "simulation_model_configuration" in fields:
                engine.modelling.given.forget(wanted.simulation_model_configuration)
            environment_changes.change_settings(engine, wanted)

        self._commands.command(changed)

    def give_data(self, text: str) -> None:
        """Give the environment's data: JSON of tables, or words; an empty text takes it away."""
        self._commands.command(lambda engine: environment_changes.give_data(engine, text))

    def edit(self, *changes: EntityChange | Mapping[str, Any]) -> None:
        """Change things of the world by hand; an undo takes it back. A mapping stands for the change with these fields."""
        self._commands.command(lambda engine: environment_changes.edit_world(engine, changes))

    def rename(self, kind: str, old: str, new: str) -> None:
        """Give a thing another id, in it and wherever it is referred to."""
        self._commands.command(lambda engine: environment_changes.rename(engine, kind, old, new))

    def clear_state(self, state_key: str) -> None:
        """Forget what is remembered under a state key: its beginning, and its calls so far."""
        self._commands.command(lambda engine: environment_changes.clear_state(engine, state_key))

    def give_recording(self, name: str, recorded: str | Iterable[ObservedCall]) -> tuple[str, ...]:
        """Return recorded calls to answer from: the text of a trace, eval set, session or journal, or calls.

        Returns:
            What of the text could not be read, in words.
        """
        problems: tuple[str, ...] = ()
        if isinstance(recorded, str):
            try:
                read = read_recording(recorded)
            except ValueError as error:
                raise SimulationError(f"the recording {name!r} cannot be read: {error}") from error
            calls, problems = read.calls, read.problems
        else:
            calls = tuple(recorded)
        self._commands.command(lambda engine: environment_changes.give_recording(engine, name, calls))
        return problems

    def drop_recording(self, name: str) -> None:
        """Take a recording away."""
        self._commands.command(lambda engine: environment_changes.give_recording(engine, name, ()))

    def declare(self, *tools: DeclaredTool | Callable[..., Any]) -> None:
        """Let tools that do not exist join the agent from the next turn on: these, and no others.

        A function stands for its name, its docstring and its signature; its body is never run.
        """
        self._commands.command(lambda engine: environment_changes.declare(engine, tools))

    # ------------------------------------------------------------ models

    def ask_for_draft(self, request: ToolRequest | str) -> None:
        """Ask the environment's model for a draft of a call that waits; it goes on meanwhile and can be answered.

        What the model is at shows in the request's `drafting`; in the end its draft is the request's, or
        `draft_problem` says why it has none.
        """
        key = request.key if isinstance(request, ToolRequest) else request
        self._commands.command(lambda engine: draft_requests.ask_for_draft(engine, key))

    def stop_drafting(self, request: ToolRequest | str) -> None:
        """End what a model is at that makes a draft."""
        key = request.key if isinstance(request, ToolRequest) else request
        self._commands.command(lambda engine: draft_requests.stop_drafting(engine, key))

    def draw_again(self, request: ToolRequest | str) -> None:
        """Draw another offline draft of a call that waits, where `draft_varies`; the same one each time for the session, and undone as a step."""
        key = request.key if isinstance(request, ToolRequest) else request
        self._commands.command(lambda engine: draft_requests.draw_again(engine, key))

    def use_model(self, model: str | BaseLlm) -> None:
        """Set the environment's model: a name that ADK resolves, or an object; an empty name sets none.

        An object is known by its name in this simulation alone: a session that is resumed has to be given it again.
        """
        if not isinstance(model, (str, BaseLlm)):
            raise SimulationError(
                f"the environment's model is of type {type(model).__name__}; pass a name, an empty string for none, or a model"
            )
        name = model if isinstance(model, str) else model.model

        def use(engine: Engine) -> None:
            if not isinstance(model, str):
                engine.modelling.objects[name] = model
            now = engine.journal.fold.environment.settings
            if now.simulation_model != name:
                environment_changes.change_settings(engine, now.model_copy(update={"simulation_model": name}))

        self._commands.command(use)

    def analyse_connections(self) -> None:
        """Ask the environment's model how the agent's tools hang together; it goes on meanwhile.

        What it is at shows in the world's `analysing`; in the end its word stands beside what was found offline, or
        `not_analysed` says why it does not.
        """
        self._commands.command(lambda engine: connection_analysis.begin(engine.modelling, engine))

    def stop_analysing(self) -> None:
        """End the analysis of the connections."""
        self._commands.command(lambda engine: connection_analysis.stop(engine.modelling))
