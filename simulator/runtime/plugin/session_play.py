"""Keeps what the environment of one ADK session has counted, drawn and learnt, however many calls come at once."""

from __future__ import annotations

import logging
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from google.adk.tools.base_tool import BaseTool

from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject, canonical
from simulator.environment.call_effects import NO_EFFECTS, ToolEffects
from simulator.environment.evidence.sketch import FunctionSource
from simulator.environment.injection.rule_call import Tally
from simulator.environment.injection.rule_draws import DrawStreams
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.world.connections import Connections, ToolShape
from simulator.environment.world.shared_state import SharedState, StateRegistry
from simulator.facts import Outcome, Provenance, ToolAnswered
from simulator.runtime.adk.codec import jsonable, written_state
from simulator.runtime.adk.tool_code import code_of
from simulator.runtime.answering.draft_maker import Drafting
from simulator.runtime.answering.rule_gate import RuleGate
from simulator.runtime.knowledge.knowledge import Knowledge
from simulator.runtime.turns.fired_rules import Firing
from simulator.runtime.turns.outcomes import as_response
from simulator.runtime.turns.request_views import describe_tool, held_to
from simulator.seats.requests import ToolDeclaration
from simulator.session.environment_state import SessionEnvironment

T = TypeVar("T")
_LOG = logging.getLogger(__name__)


class AnsweredCall(Value):
    """An answered call.

    Attributes:
        number: Its place among the answered calls of its session, from 1.
        at: When it was answered, in seconds since the epoch.
        call_id: ADK's id of the function call.
        agent: The agent that called.
        tool_name: The tool.
        arguments: What it was asked.
        outcome: What the agent got: a value, an error dict, or an exception.
        beneath: What really happened, where a rule distorted the answer or lost it.
        provenance: Who answered, which rules fired, and why the others did not.
        contradicts: What of the answer contradicts the world, in words.
        seconds: How long it took.
        effects: What was done besides, where no real tool did it.
    """

    number: int
    at: float
    call_id: str = ""
    agent: str = ""
    tool_name: str
    arguments: JsonObject
    outcome: Outcome
    beneath: Outcome | None = None
    provenance: Provenance
    contradicts: tuple[str, ...] = ()
    seconds: float = 0.0
    effects: ToolEffects = NO_EFFECTS

    @property
    def turn(self) -> int:
        """The place of the call, which stands for the time at which it changed the world."""
        return self.number

    @property
    def response(self) -> Any:
        """What the agent saw: a value or an error dict; None where the call raised."""
        return as_response(self.outcome)

    @property
    def really(self) -> Any:
        """What really happened, as `response` says it."""
        return as_response(self.beneath or self.outcome)


class EnvironmentCall:
    """A tool call that the environment answers.

    Args:
        tool: The tool.
        arguments: What it is asked, in JSON.
        context: ADK's context of the call, or what a person gave in its place.
        refusal: What the agent is told where nobody may answer.
        at: When it is asked, in seconds since the epoch; 0 where that is not told.
    """

    def __init__(
        self,
        tool: BaseTool,
        arguments: Mapping[str, Any],
        context: Any,
        refusal: str = "",
        *,
        at: float = 0.0,
    ) -> None:
        self.tool, self.name, self.context, self.refusal = tool, tool.name, context, refusal
        self.at = at
        self.arguments: JsonObject = jsonable(dict(arguments))
        self.agent = _text(context, "agent_name")
        self.branch = _text(context, "branch")
        self.call_id = _text(context, "function_call_id")
        self.firing = Firing()
        self.number = 0

    def state(self) -> JsonObject:
        """Return ADK's session state as the call sees it."""
        return written_state(self.context) or {}

    def answered(self, number: int, outcome: Outcome, provenance: Provenance, **more: Any) -> AnsweredCall:
        """Return the call as it was answered; `more` are other fields of that."""
        return AnsweredCall(
            number=number,
            call_id=self.call_id,
            agent=self.agent,
            tool_name=self.name,
            arguments=self.arguments,
            outcome=outcome,
            provenance=provenance,
            **more,
        )


def _text(context: Any, name: str) -> str:
    found = getattr(context, name, None)
    return found if isinstance(found, str) else ""


class SharedDraws:
    """How often seeded rules have drawn in all sessions, which share their sequences; from any thread."""

    def __init__(self) -> None:
        self._lock, self._drawn = threading.Lock(), Counter[str]()

    def numbers(self, rule_ids: Iterable[str]) -> dict[str, int]:
        """Return how often some rules have drawn."""
        with self._lock:
            return {rule_id: self._drawn[rule_id] for rule_id in rule_ids}

    def count(self, rule_ids: Iterable[str]) -> None:
        """Count a draw of each."""
        with self._lock:
            self._drawn.update(rule_ids)


class SessionPlay(RuleGate[EnvironmentCall], Drafting[EnvironmentCall]):
    """The environment of one session. Threads and event loops may use it at once: each step is one under its lock.

    Args:
        environment: What is set for it.
        rules: The injection rules.
        seed: Where its chance comes from; None draws anew, and drafts are those of an empty seed.
        registry: Where the calls are remembered; its own where it is None.
        lock: What guards that registry, where other sessions write to it too.
        beginnings: What its own registry starts with, beside what is set.
    """

    def __init__(
        self,
        environment: SessionEnvironment,
        rules: tuple[InjectionRule, ...],
        seed: str | None,
        registry: StateRegistry | None = None,
        *,
        lock: threading.RLock | None = None,
        beginnings: StateRegistry | None = None,
        shared: SharedDraws | None = None,
    ) -> None:
        self._rules, self._registry, self._beginnings = rules, registry, beginnings
        self.seed = uuid.uuid4().hex if seed is None else seed
        self._drafts_seed = seed or ""
        self._lock = lock or threading.RLock()
        self._environment = environment
        self.streams = DrawStreams(self.seed)
        self._shapes: dict[str, ToolShape] = {}
        self._looked_for: dict[str, FunctionSource | None] = {}
        self._declared: dict[str, ToolDeclaration] = {}
        self._drawn, self._counted = Counter[str](), Counter[str]()
        self._shared = shared
        self._seeded = (
            {rule.rule_id for rule in rules if rule.random_seed is not None} if shared else set[str]()
        )
        self._fired, self._called = Counter[str](), Counter[str]()
        self._answered: list[AnsweredCall] = []
        self.known = self._begun()
        self.is_analysed = False
        """Whether a model was asked how the tools hang together."""
        self.has_tools = False
        """Whether the tools that stand around the first call were taken in."""

    def _begun(self) -> Knowledge:
        known = Knowledge(self._environment, dict(self._shapes))
        if self._registry is not None:
            known.registry = self._registry
        elif self._beginnings is not None:
            known.registry.adopt(self._beginnings)
        return known

    def use(self, environment: SessionEnvironment) -> None:
        """Let something else be set from now on; what is known stays."""
        with self._lock:
            self._environment = environment
            self._declared.clear()
            self.known.connect(environment, dict(self._shapes))
            there = set(self.known.registry.list_tools())
            for name, settings in environment.settings.tools.items():
                if name not in there:
                    self.known.registry.register_tool(settings)

    # ------------------------------------------------------------ the tools

    def know(self, shapes: Mapping[str, ToolShape], connections: Connections | None = None) -> None:
        """Take in tools that the agent is known to have, and what a model says of how they hang together."""
        with self._lock:
            new = {name: shape for name, shape in shapes.items() if self._shapes.get(name) != shape}
            if not new and connections is None:
                return
            self._shapes.update(new)
            if connections is not None:
                self._environment = self._environment.model_copy(update={"by_model": connections})
            self.known.connect(self._environment, dict(self._shapes))

    def shapes(self) -> tuple[ToolShape, ...]:
        """Return the tools that are known."""
        with self._lock:
            return tuple(self._shapes.values())

    def declaration(self, call: EnvironmentCall) -> ToolDeclaration:
        """Return a call's tool as it is declared, with the output schema that is set for it."""
        return self.declared(call.tool)

    def declared(self, tool: BaseTool) -> ToolDeclaration:
        """Return a tool as `declaration` does, and know it from now on."""
        declared = self._declared.get(tool.name)
        if declared is None:
            declared = held_to(_described(tool), self._environment.settings.tool(tool.name).output_schema)
            self._declared[tool.name] = declared
            shape = ToolShape(
                name=tool.name,
                description=declared.description,
                parameters=declared.parameters,
                response_schema=declared.response,
                dropped=declared.dropped,
            )
            self.know({tool.name: shape})
        return declared

    # ------------------------------------------------------------ one call

    @contextmanager
    def knowing(self) -> Iterator[Knowledge]:
        """Hold what is known, against other threads, while somebody looks at it."""
        with self._lock:
            yield self.known

    def rules_for(self, call: EnvironmentCall) -> tuple[InjectionRule, ...]:  # noqa: ARG002 - they are the same for each call
        """Return the rules."""
        return self._rules

    def tally(self, call: EnvironmentCall) -> Tally:
        """Return what was counted before a call."""
        return Tally(
            drawn=Counter({**self._drawn, **self._shared.numbers(self._seeded)})
            if self._shared
            else self._drawn,
            counted=self._counted,
            fired=self._fired,
            tool_calls=self._called[call.name],
            session_calls=self._called.total(),
        )

    def count(self, call: EnvironmentCall) -> None:
        """Count a call that was judged, and what its rules drew, counted and did."""
        self._called[call.name] += 1
        self._drawn.update(call.firing.drawn)
        if self._shared:
            self._shared.count(name for name in call.firing.drawn if name in self._seeded)
        self._counted.update(call.firing.counted)
        self._fired.update(call.firing.fired)

    def is_schema_set(self, call: EnvironmentCall) -> bool:
        """Return whether a schema was set for the tool's answers."""
        return self._environment.settings.tool(call.name).output_schema is not None

    def now(self, call: EnvironmentCall) -> float:
        """Return when the call is asked."""
        return call.at

    def draft_seed(self, call: EnvironmentCall) -> str:
        """Return a seed that is the same in every session with this seed, for the same calls before."""
        return f"{self._drafts_seed}/{call.name}/{call.number}/{canonical(call.arguments)}"

    def codes(self, call: EnvironmentCall) -> Mapping[str, FunctionSource]:
        """Return where the tools are written that were asked, by name; each is looked for once."""
        if call.name not in self._looked_for:
            self._looked_for[call.name] = code_of(call.tool).code
        return {name: code for name, code in self._looked_for.items() if code is not None}

    def take(self, made: Callable[[int], AnsweredCall]) -> AnsweredCall:
        """Learn from an answered call, and keep it.

        Args:
            made: Makes it, given its number.
        """
        with self._lock:
            number, flags = len(self._answered) + 1, len(self.known.flags)
            call = made(number)
            try:
                self.known.take(number, call)
            except Exception:  # noqa: BLE001 - whatever it is, the agent is to go on
                _LOG.exception("the response of %s was not added to the world", call.tool_name)
            found = tuple(each.what for flag in self.known.flags[flags:] for each in flag.contradictions)
            call = call.model_copy(update={"contradicts": found}) if found else call
            self._answered.append(call)
            return call

    def recall(self, fact: ToolAnswered) -> None:
        """Learn from a call that was answered in a session that is played: the rules count it, and its answer is known."""
        tool = BaseTool(name=fact.tool_name, description="")
        self.judge(EnvironmentCall(tool, fact.arguments, None))
        self.take(
            lambda number: AnsweredCall(
                number=number,
                at=fact.at,
                call_id=fact.call_id,
                agent=fact.agent,
                tool_name=fact.tool_name,
                arguments=fact.arguments,
                outcome=fact.outcome,
                beneath=fact.beneath,
                provenance=fact.provenance,
                effects=fact.effects,
            )
        )

    # ------------------------------------------------------------ what there is to see

    def calls(self) -> tuple[AnsweredCall, ...]:
        """Return the answered calls, in the order in which they were."""
        with self._lock:
            return tuple(self._answered)

    def look(self, view: Callable[[Knowledge], T]) -> T:
        """Return what a view makes of all that is known."""
        with self._lock:
            return view(self.known)

    def state_of(self, state_key: str) -> SharedState:
        """Return what is remembered under a state key."""
        with self._lock:
            return self.known.registry.get_state(state_key)


def _described(tool: BaseTool) -> ToolDeclaration:
    try:
        described = describe_tool(tool)
    except Exception:  # noqa: BLE001 - a declaration is made by somebody's code; the call is to be answered all the same
        return ToolDeclaration(name=tool.name, description=tool.description or "")
    return described.model_copy(update={"name": tool.name})
