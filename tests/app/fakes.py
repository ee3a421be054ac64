"""A small simulation for the tests of the page: it holds facts, gives views, and notes every command."""

from __future__ import annotations

from typing import Any

from app.forms.widget_store import KeptInputs
from app.live.live_sessions import LiveSession, registry
from app.session.past_calls import before, past_calls
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_directory import AgentCard, AgentDirectory, ToolCard
from simulator.environment.injection.rule_call import CallContext
from simulator.environment.injection.rules import ErrorEffect, InjectionRule, Trial, explain
from simulator.facts import (
    AgentSelected,
    Fact,
    ModelAnswered,
    Outcome,
    Provenance,
    RequestDigests,
    Returned,
    RulesChanged,
    SeatChanged,
    SessionOpened,
    ToolAnswered,
    TurnEnded,
    TurnStarted,
)
from simulator.journal import Journal
from simulator.runtime import SimulationError, SimulationView
from simulator.runtime.commanding import Commanding
from simulator.runtime.knowledge.world_view import WorldView
from simulator.runtime.turns.undo_targets import redone, undone
from simulator.seats.requests import ModelRequest, Request, RunningCall, ToolDeclaration, ToolRequest
from simulator.session import SimulationSession
from simulator.session.commands import (
    AnswerRequest,
    Command,
    KnownWorld,
    Question,
    SeenByModel,
    SetPlayer,
    SetRules,
    SwitchRule,
    TryRules,
)


class Typed(KeptInputs):
    """What was typed into inputs, by their names, without a page."""

    language = None

    def __init__(self, typed: dict[str, Any] | None = None) -> None:
        self.typed = typed or {}

    def value(self, name: str, initial: Any = None) -> Any:
        """Return what was typed, else `initial`."""
        return self.typed.get(name, initial)

    def key(self, name: str) -> str:
        """Return the name."""
        return name


AT = 1_760_000_000.0
DIGESTS = RequestDigests(parts={}, chain="")
CAST = AgentDirectory(
    agents=(
        AgentCard(
            name="order_desk",
            description="Finds and refunds orders.",
            model="demo",
            is_played=True,
            tools=(
                ToolCard(name="find_order", description="Find an order."),
                ToolCard(name="refund_order", description="Refund an order."),
            ),
        ),
    )
)


class FakeAgent:
    """Looks enough like an agent to be configured."""

    name = "order_desk"
    model_fields: dict[str, Any] = {}  # noqa: RUF012 - stands for pydantic's class attribute

    def run(self) -> None:
        """Do nothing."""


class FakeSimulation(Commanding):
    """Stands for `Simulation`: the tests set `pending`, `running` and `busy`, and read `asked`."""

    def __init__(self, session_id: str = "session-0001-abcdef") -> None:
        self.told = Journal(
            [
                SessionOpened(at=AT, session_id=session_id, seed="seed"),
                AgentSelected(at=AT, agent_name="Order desk", app_name="order_desk"),
            ]
        )
        self.pending: tuple[Request, ...] = ()
        self.running: tuple[RunningCall, ...] = ()
        self.busy = False
        self.problems: tuple[str, ...] = ()
        self.seen: ModelRequest | None = None
        self.asked: list[Command] = []
        self.fails_with: str | None = None
        self.refuses: dict[str, str] = {}
        self.bumps = 0
        self.closed = False

    @property
    def journal(self) -> Journal:
        """The session's journal."""
        return self.told

    @property
    def session(self) -> SimulationSession:
        """The session as it stands."""
        return self.journal.session()

    @property
    def version(self) -> int:
        """Grows with every fact and command."""
        return len(self.journal) + self.bumps

    def view(self) -> SimulationView:
        """One snapshot."""
        return SimulationView(
            session=self.session,
            pending=self.pending,
            running=self.running,
            busy=self.busy,
            version=self.version,
            problems=self.problems,
            head=self.journal.head,
            undoes=undone(self.journal),
            redoes=redone(self.journal),
        )

    def look(self, question: Question) -> Any:
        """Nothing is known of the world, so nothing contradicts it; rules are tried on the calls of the session."""
        match question:
            case SeenByModel():
                return self.seen
            case KnownWorld():
                return WorldView()
            case TryRules():
                return self._tried(question.rules, question.call)
        return ()

    def _tried(self, rules: tuple[InjectionRule, ...], call: str | int) -> tuple[Trial, ...]:
        calls = past_calls(self.session, [each for each in self.pending if each.kind == "tool"])
        found = next((each for each in calls if each.place == call), None)
        if found is None:
            raise SimulationError(f"no tool call {call} is waiting")
        there = before(self.session, calls, found)
        context = CallContext(
            tool_name=found.tool_name, arguments=found.arguments, agent=found.agent, tally=there.tally
        )
        return explain(rules, context, lambda _: 0.5)

    def send(self, command: Command, wait: float | None = None) -> bool:
        """Note a command, refuse what `fails_with` or `refuses` says, and carry out changes of seats and rules."""
        self.asked.append(command)
        if self.fails_with:
            raise SimulationError(self.fails_with)
        self.bumps += 1
        match command:
            case AnswerRequest() if reason := self.refuses.get(command.key):
                raise SimulationError(reason)
            case SetPlayer():
                self.journal.append(SeatChanged.model_validate({"at": AT, **command.model_dump()}))
            case SetRules():
                self.journal.append(RulesChanged(at=AT, rules=command.rules))
            case SwitchRule():
                switched = {"enabled": command.enabled}
                rules = self.session.rules
                self.journal.append(
                    RulesChanged(
                        at=AT,
                        rules=tuple(
                            rule.model_copy(update=switched) if rule.rule_id == command.rule_id else rule
                            for rule in rules
                        ),
                    )
                )
        return True

    def wait(self, timeout: float | None = None) -> bool:
        """It is at rest unless a test says that it is busy."""
        return not self.busy

    def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True

    # ------------------------------------------------------------ what has happened

    def add(self, *facts: Fact) -> FakeSimulation:
        """Append facts."""
        for fact in facts:
            self.journal.append(fact)
        return self

    def ask(self, text: str) -> FakeSimulation:
        """Begin a turn."""
        turn = len(self.session.turns)
        return self.add(TurnStarted(at=AT, turn=turn, message={"role": "user", "parts": [{"text": text}]}))

    def call(
        self, call_id: str, tool: str = "find_order", agent: str = "order_desk", **arguments: Any
    ) -> FakeSimulation:
        """Let an agent's model call a tool."""
        part = {"function_call": {"id": call_id, "name": tool, "args": arguments}}
        return self._model(f"model-{call_id}", {"content": {"role": "model", "parts": [part]}}, agent)

    def say(self, text: str, key: str = "final") -> FakeSimulation:
        """Let the agent's model speak."""
        return self._model(key, {"content": {"role": "model", "parts": [{"text": text}]}})

    def _model(self, key: str, response: Any, agent: str = "order_desk") -> FakeSimulation:
        return self.add(
            ModelAnswered(
                at=AT,
                turn=len(self.session.turns) - 1,
                key=key,
                agent=agent,
                responses=(response,),
                digests=DIGESTS,
                provenance=Provenance(source="model", by="demo"),
            )
        )

    def give(
        self,
        call_id: str,
        outcome: Outcome | None = None,
        tool: str = "find_order",
        provenance: Provenance | None = None,
        beneath: Outcome | None = None,
    ) -> FakeSimulation:
        """Answer a call."""
        return self.add(
            ToolAnswered(
                at=AT + 1,
                turn=len(self.session.turns) - 1,
                key=f"tool-{call_id}",
                call_id=call_id,
                agent="order_desk",
                tool_name=tool,
                arguments={},
                outcome=outcome or Returned(value={"status": "found", "total": 59.9}),
                digests=DIGESTS,
                provenance=provenance or Provenance(source="edited"),
                beneath=beneath,
                elapsed_ms=12.0,
            )
        )

    def end(self, text: str = "It is on its way.") -> FakeSimulation:
        """End the turn with a final response."""
        event = {
            "author": "order_desk",
            "id": "e1",
            "timestamp": AT + 2,
            "content": {"role": "model", "parts": [{"text": text}]},
        }
        return self.add(
            TurnEnded(at=AT + 2, turn=len(self.session.turns) - 1, events=(event,), state={"seen": 1})
        )


def tool_request(call_id: str = "c1", tool: str = "find_order", **more: Any) -> ToolRequest:
    """A tool call that waits for a person."""
    return ToolRequest(
        key=f"tool-{call_id}",
        turn=0,
        call_id=call_id,
        agent="order_desk",
        tool_name=tool,
        **{"arguments": {"order_id": "A-1"}, "draft": {"status": "shipped"}, **more},
    )


def model_request(**more: Any) -> ModelRequest:
    """A model call as a person in its seat sees it."""
    return ModelRequest(
        key="model-1",
        turn=0,
        agent="order_desk",
        model_name="demo-model",
        system_instruction="You are the order desk.",
        contents=({"role": "user", "parts": [{"text": "Where is A-1?"}]},),
        tools=(ToolDeclaration(name="find_order", description="Find an order."),),
        **more,
    )


def rule(rule_id: str = "find_order-1", **more: Any) -> InjectionRule:
    """A rule that fails every call of find_order."""
    return InjectionRule(
        **{
            "rule_id": rule_id,
            "tool_name": "find_order",
            "effect": ErrorEffect(error_code=503, error_message="busy"),
            **more,
        }
    )


def put_live(simulation: FakeSimulation) -> LiveSession:
    """Take a simulation into the registry of this process, in the place of one with its id."""
    agent: Any = FakeAgent()
    config = SimulatedAgentConfig(
        name="Order desk", agent=agent, eval_set_path="order_desk_evals.evalset.json", app_name="order_desk"
    )
    registry().close(simulation.session.session_id)
    return registry().add(simulation, config, CAST)


def paused(session_id: str = "session-0001-abcdef") -> FakeSimulation:
    """Open a session whose agent waits for the answer to a call."""
    simulation = FakeSimulation(session_id).ask("Where is order A-1?").call("c1", order_id="A-1")
    simulation.pending = (tool_request("c1"),)
    put_live(simulation)
    return simulation
