"""A session as somebody has it: what there is to see of it, and its methods, each of which sends one command or asks one question."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel

from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.base.validation_words import check_kind
from simulator.environment.injection.rules import InjectionRule, Trial
from simulator.environment.recordings import ObservedCall, read_recording
from simulator.environment.world.entities import Contradiction, EntityChange
from simulator.environment.world.invariants import InvariantStatus, check_invariant
from simulator.environment.world.tool_settings import DeclaredTool, EnvironmentSettings
from simulator.facts import EVERY, AgentPlayer, Fact, Outcome, ToolPlayer, UserPlayer
from simulator.journal import Journal
from simulator.runtime.errors import ReplayDivergence, SimulationError
from simulator.seats.answers import Answer, CodeAnswer, ModelAnswer, ToolAnswer
from simulator.seats.requests import ModelRequest, Request, RunningCall, ToolRequest
from simulator.session import SimulationSession, commands
from simulator.session.commands import Command, Question
from simulator.session.model import SessionEnvironment, UserSeat

if TYPE_CHECKING:
    from google.adk.models.base_llm import BaseLlm
    from google.genai import types

    from simulator.runtime.knowledge.world_view import WorldView


class UserView(Value):
    """What there is to see of the user's seat.

    `running` says that a message is being made, `progress` what goes on and `since` when it began. `words` say why
    nobody but a person speaks next; empty where the player does, or has spoken. `may_go_on` says that `go_on` would let
    the player speak.
    """

    seat: UserSeat = UserSeat()
    running: bool = False
    progress: str = ""
    since: float = 0.0
    words: str = ""
    may_go_on: bool = False

    @property
    def held(self) -> JsonObject | None:
        """The message that waits for a person."""
        return self.seat.proposed.message if self.seat.proposed is not None and not self.running else None


class SimulationView(Value):
    """Everything there is to see of a simulation at one moment.

    `pending` are the requests that wait for a person, oldest first; `running` what is at work right now. `busy`
    says that something will happen by itself. `version` grows with every change. `head` is the journal's.
    `user` is the user's seat. `undoes` is what an undo would take back, and `redoes` what a redo would bring back; None where there is nothing.
    """

    session: SimulationSession
    pending: tuple[Request, ...] = ()
    running: tuple[RunningCall, ...] = ()
    busy: bool = False
    version: int = 0
    problems: tuple[str, ...] = ()
    divergence: ReplayDivergence | None = None
    head: int = -1
    user: UserView = UserView()
    undoes: Fact | None = None
    redoes: Fact | None = None


class Commanding(ABC):
    """A session, as somebody has it: in this process, in a kernel, or only to look at.

    A method with `wait` waits until the agent needs a person again (or the turn has ended), at most so many seconds
    where that is given, and returns whether it has. A command that does not fit raises `SimulationError` and changes nothing.
    """

    @abstractmethod
    def send(self, command: Command, wait: float | None = None) -> bool:
        """Have a command carried out. True if the agent came to rest.

        Raises:
            SimulationError: It does not fit what the session is doing, or this session takes no commands.
        """

    @abstractmethod
    def look(self, question: Question) -> Any:
        """Return the answer to a question.

        Raises:
            SimulationError: What it asks about is not there, or nobody answers.
        """

    @property
    @abstractmethod
    def session(self) -> SimulationSession:
        """The session as it stands."""

    @property
    @abstractmethod
    def journal(self) -> Journal:
        """The session's journal; to be read, not to be appended to."""

    @property
    @abstractmethod
    def version(self) -> int:
        """A number that grows with every change; cheap to read."""

    @abstractmethod
    def view(self) -> SimulationView:
        """Return one consistent snapshot."""

    @abstractmethod
    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the agent needs a person or the turn has ended; False if `timeout` seconds were not enough."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything that runs. The journal stays, and can be resumed; no command is taken any more."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, work: Callable[[Any], Any]) -> Any:
        """Return what some work reads from the journal, between two of its changes; it is given what has `journal`."""
        return work(self)

    def give_model(self, model: BaseLlm) -> str:
        """Take a model object, which is known by its name from now on in this session; return that name.

        Raises:
            SimulationError: Models of this session are made in another process.
        """
        raise SimulationError(
            f"an agent in a separate process takes the name of a model, not a value of type {type(model).__name__}"
        )

    @property
    def environment(self) -> SimulatedEnvironment:
        """What the tools find: its world, its settings, and how a person shapes it."""
        return SimulatedEnvironment(self)

    def model_view(self) -> ModelRequest | None:
        """Return what the model was last shown in the turn in progress (or the last one), as a person in its seat would see it."""
        seen: ModelRequest | None = self.look(commands.SeenByModel())
        return seen

    # ------------------------------------------------------------ the user

    def query(
        self,
        message: str | JsonObject | types.Content,
        *,
        state_delta: JsonObject | None = None,
        wait: float | None = None,
        streaming: bool = False,
        max_llm_calls: int = 500,
        by: str = "",
    ) -> bool:
        """Let the user say something: text, or google-genai's `Content`, also in JSON.

        A content may have files: parts with `inline_data`, as `types.Part.from_bytes` makes them.
        `by` names who says it, where that is neither a person nor who sits in the user's seat: a script.
        """
        said = commands.Query(
            message=_plain(message),
            state_delta=state_delta,
            streaming=streaming,
            max_llm_calls=max_llm_calls,
            by=by,
        )
        return self.send(said, wait)

    def confirm(
        self, call_id: str, confirmed: bool, payload: Any = None, *, wait: float | None = None, by: str = ""
    ) -> bool:
        """Let the user confirm or reject the tool call that ADK asks about; `by` as for `query`."""
        return self.send(commands.Confirm(call_id=call_id, confirmed=confirmed, payload=payload, by=by), wait)

    def reply(self, call_id: str, response: Any, *, wait: float | None = None, by: str = "") -> bool:
        """Let the user answer a call that was left open; anything but a dict becomes `{"result": response}`."""
        return self.send(commands.Reply(call_id=call_id, response=response, by=by), wait)

    def set_user(
        self,
        player: UserPlayer,
        *,
        script: Iterable[str | JsonObject | types.Content] = (),
        scenario: JsonObject | None = None,
        config: JsonObject | None = None,
        model: BaseLlm | None = None,
        hold: bool = True,
        wait: float | None = None,
    ) -> bool:
        """Let somebody else speak for the user, from the next message on.

        Args:
            player: Who: a person, a script, a recording or a scenario.
            script: The messages of a script or recording: texts, or google-genai's `Content`, also in JSON.
            scenario: ADK's `ConversationScenario` in JSON; its persona is an object, or the id of one of ADK's own.
            config: ADK's `LlmBackedUserSimulatorConfig` in JSON. An empty `model` is none: after the starting prompt, a
                person is asked. A `max_allowed_invocations` of -1 is no limit. An address, headers and keys in it hold in this
                simulation alone: a session that is resumed has to be given them again.
            model: A model object in place of a name; a session that is resumed has to be given it again.
            hold: Keep each message until a person has accepted it; else they go out by themselves, until the end or
                a failure.
            wait: How many seconds to wait at most.

        Raises:
            SimulationError: The scenario, its configuration or a message is not as ADK wants it, or one is missing.
        """
        if model is not None:
            config = {**(config or {}), "model": self.give_model(model)}
        said = tuple(map(_plain, script))
        return self.send(
            commands.SetUser(player=player, script=said, scenario=scenario, config=config, hold=hold), wait
        )

    def accept(
        self, message: str | JsonObject | types.Content | None = None, *, wait: float | None = None
    ) -> bool:
        """Let the user say the message that is held, or what a person has made of it.

        Raises:
            SimulationError: None is held.
        """
        return self.send(commands.Accept(message=_plain(message)), wait)

    def complete(self, over: bool = True, *, wait: float | None = None) -> bool:
        """Say that the conversation is over after the agent's answer, so that nobody speaks for the user; or that it goes on.

        Saying something goes on, too.

        Raises:
            SimulationError: The agent has given no final response, or it has been said before.
        """
        return self.send(commands.Complete(over=over), wait)

    # ------------------------------------------------------------ what waits

    def answer(self, request: Request | str, answer: Answer | Any, *, wait: float | None = None) -> bool:
        """Answer a pending request.

        A plain value stands for what the tool returns, or (as text) for what the agent says or code prints.
        """
        is_answer = isinstance(answer, (ToolAnswer, ModelAnswer, CodeAnswer))
        given = answer if is_answer else commands.PlainAnswer(value=answer)
        return self.send(commands.AnswerRequest(key=key_of(request), answer=given), wait)

    def run_real(self, request: Request | str, *, wait: float | None = None) -> bool:
        """Let the real tool (or code, or the agent's own model) answer this one request."""
        return self.send(commands.RunReal(key=key_of(request)), wait)

    def inject(
        self,
        request: Request | str,
        rule: InjectionRule,
        outcome: Outcome | None = None,
        *,
        wait: float | None = None,
    ) -> bool:
        """Let one fault answer this one tool call, or change its `outcome`; no rule of the session has to match."""
        return self.send(commands.FailCall(key=key_of(request), rule=rule, outcome=outcome), wait)

    # ------------------------------------------------------------ who plays, where, and by which rules

    def set_player(
        self,
        seat: Literal["agent", "tool"],
        player: AgentPlayer | ToolPlayer,
        target: str = EVERY,
        *,
        wait: float | None = None,
    ) -> bool:
        """Let somebody else sit down, for one agent or tool by name or for all others; open requests move along."""
        return self.send(commands.SetPlayer(seat=seat, player=player, target=target), wait)

    def set_rules(self, rules: Iterable[InjectionRule]) -> None:
        """Put these injection rules in force, in this order, from the next call on."""
        self.send(commands.SetRules(rules=tuple(rules)))

    def switch_rule(self, rule_id: str, enabled: bool) -> None:
        """Switch one injection rule on or off, from the next call on."""
        self.send(commands.SwitchRule(rule_id=rule_id, enabled=enabled))

    def go_on(self, *, wait: float | None = None) -> bool:
        """Let those who sit there answer what a person came back to."""
        return self.send(commands.GoOn(), wait)

    def stop(self) -> None:
        """End the turn in progress, whatever is running; what has happened stays in the timeline."""
        self.send(commands.StopTurn())

    def move_head(self, fact: int, *, wait: float | None = None) -> bool:
        """Go to a fact of the journal, on this branch or another one; the way there is re-executed, and nothing is deleted.

        Seats, rules, the world and all that is set go along. What is asked there waits for a person, also where somebody else
        sits: `go_on` lets them answer.
        """
        return self.send(commands.MoveHead(fact=fact), wait)

    def undo(self, *, wait: float | None = None) -> bool:
        """Take back the last step that a person took, as `move_head`: something said, answered, set, edited or stopped."""
        return self.send(commands.Undo(), wait)

    def redo(self, *, wait: float | None = None) -> bool:
        """Bring back the step that was taken back last, as `move_head`; after another step there is none."""
        return self.send(commands.Redo(), wait)


class SimulatedEnvironment:
    """The environment of a simulation. Each change is a fact; one that does not fit raises `SimulationError`."""

    def __init__(self, simulation: Commanding) -> None:
        self._simulation = simulation

    # ------------------------------------------------------------ what there is to see

    @property
    def now(self) -> SessionEnvironment:
        """What is set: settings, data, recordings, declared tools."""
        found: SessionEnvironment = self._simulation.read(lambda one: one.journal.fold.environment)
        return found

    @property
    def settings(self) -> EnvironmentSettings:
        """What is set for the environment as a whole and for each tool."""
        return self.now.settings

    def world(self) -> WorldView:
        """Return what the environment knows: things as tables, connections, flags, remembered calls."""
        found: WorldView = self._simulation.look(commands.KnownWorld())
        return found

    def sources_for_model(self) -> dict[str, str]:
        """Return exactly what is sent of each tool's source where `source_to_model` is set, without secrets, by the tool's name.

        A tool without source that can be read is not in it.
        """
        found: dict[str, str] = self._simulation.look(commands.SourcesForModel())
        return found

    def judge(self, line: str) -> InvariantStatus:
        """Say how an invariant stands in the world as it is now; it need not be in force.

        Raises:
            InvariantError: The line is no invariant; the text says what is wrong.
        """
        check_invariant(line)
        found: InvariantStatus = self._simulation.look(commands.JudgeInvariant(line=line))
        return found

    def try_rules(self, rules: Iterable[InjectionRule], call: ToolRequest | str | int) -> tuple[Trial, ...]:
        """Say of each rule whether it would have fired for a call, and why not; the nearest first.

        Args:
            rules: The rules, which need not be in force.
            call: A call that waits (or its key), or the number of the fact that answered one.
        """
        place = call if isinstance(call, int) else key_of(call)
        found: tuple[Trial, ...] = self._simulation.look(commands.TryRules(rules=tuple(rules), call=place))
        return found

    def against(self, request: ToolRequest | str, outcome: Outcome) -> tuple[Contradiction, ...]:
        """Say what an answer to a call that waits would contradict; nothing where the call waits no more."""
        asked = commands.FindContradictions(key=key_of(request), outcome=outcome)
        found: tuple[Contradiction, ...] = self._simulation.look(asked)
        return found

    def late_result(self, call_id: str) -> ToolRequest | None:
        """Return the draft of what a call that was left open may be answered later; None where its tool is not known."""
        found: ToolRequest | None = self._simulation.look(commands.DraftLateResult(call_id=call_id))
        return found

    # ------------------------------------------------------------ shaping it

    def change(self, settings: EnvironmentSettings | None = None, **fields: Any) -> None:
        """Set the settings, or some of their fields by name: `change(invariants=("stock >= 0",))`.

        An address, headers and keys in `simulation_model_configuration` hold in this simulation alone, as a model object does.
        """
        self._simulation.send(commands.ChangeSettings(settings=settings, fields=fields))

    def give_data(self, text: str) -> None:
        """Give the environment's data: JSON of tables, or words; an empty text takes it away."""
        self._simulation.send(commands.GiveData(text=text))

    def edit(self, *changes: EntityChange | Mapping[str, Any]) -> None:
        """Change things of the world by hand; an undo takes it back. A mapping stands for the change with these fields."""
        self._simulation.send(commands.EditWorld(changes=changes))

    def rename(self, kind: str, old: str, new: str) -> None:
        """Give a thing another id, in it and wherever it is referred to."""
        self._simulation.send(commands.RenameThing(kind=kind, old=old, new=new))

    def clear_state(self, state_key: str) -> None:
        """Forget what is remembered under a state key: its beginning, and its calls so far."""
        self._simulation.send(commands.ClearState(state_key=state_key))

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
        self._simulation.send(commands.GiveRecording(name=name, calls=calls))
        return problems

    def drop_recording(self, name: str) -> None:
        """Take a recording away."""
        self._simulation.send(commands.GiveRecording(name=name, calls=()))

    def declare(self, *tools: DeclaredTool | Callable[..., Any]) -> None:
        """Let tools that do not exist join the agent from the next turn on: these, and no others.

        A function stands for its name, its docstring and its signature; its body is never run.
        """
        from simulator.runtime.turns.waiting_request import declared_from  # noqa: PLC0415 - ADK's import takes a second

        self._simulation.send(commands.DeclareTools(tools=tuple(map(declared_from, tools))))

    # ------------------------------------------------------------ models

    def ask_for_draft(self, request: ToolRequest | str) -> None:
        """Ask the environment's model for a draft of a call that waits; it goes on meanwhile and can be answered.

        What the model is at shows in the request's `drafting`; in the end its draft is the request's, or
        `draft_problem` says why it has none.
        """
        self._simulation.send(commands.AskForDraft(key=key_of(request)))

    def stop_drafting(self, request: ToolRequest | str) -> None:
        """End what a model is at that makes a draft."""
        self._simulation.send(commands.StopDrafting(key=key_of(request)))

    def draw_again(self, request: ToolRequest | str) -> None:
        """Draw another offline draft of a call that waits, where `draft_varies`; the same one each time for the session, and undone as a step."""
        self._simulation.send(commands.DrawAgain(key=key_of(request)))

    def use_model(self, model: str | BaseLlm) -> None:
        """Set the environment's model: a name that ADK resolves, or an object; an empty name sets none.

        An object is known by its name in this simulation alone: a session that is resumed has to be given it again.
        """
        name = model if isinstance(model, str) else self._simulation.give_model(model)
        self._simulation.send(commands.UseModel(model=name))

    def analyse_connections(self) -> None:
        """Ask the environment's model how the agent's tools hang together; it goes on meanwhile.

        What it is at shows in the world's `analysing`; in the end its word stands beside what was found offline, or
        `not_analysed` says why it does not.
        """
        self._simulation.send(commands.AnalyseConnections())

    def stop_analysing(self) -> None:
        """End the analysis of the connections."""
        self._simulation.send(commands.StopAnalysing())


def key_of(request: Request | str) -> str:
    """Return the key of a request."""
    if isinstance(request, str):
        return request
    check_kind(request, "key", "a request of `pending`, or its key")
    return request.key


def _plain(message: Any) -> Any:
    """Return google-genai's `Content` in JSON, and anything else as it is."""
    return message.model_dump(mode="json", exclude_none=True) if isinstance(message, BaseModel) else message
