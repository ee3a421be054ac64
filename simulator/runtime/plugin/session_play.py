"""Keeps what the environment of each ADK session has counted, drawn and learnt, however many calls come at once, as long as the session is in use."""

from __future__ import annotations

import logging
import threading
import uuid
import weakref
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

from google.adk.agents.invocation_context import InvocationContext
from google.adk.sessions import Session
from google.adk.tools.base_tool import BaseTool

from simulator.base.json_values import JsonObject, canonical
from simulator.environment.evidence.sketch import FunctionSource
from simulator.environment.injection.rule_call import DrawStreams, Tally
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.world.connections import Connections, ToolShape
from simulator.environment.world.tool_settings import SharedState, StateRegistry
from simulator.facts import Outcome, Provenance, ToolAnswered
from simulator.runtime.adk.adk_private import invocation_of
from simulator.runtime.adk.tool_code import code_of
from simulator.runtime.answering.call_environment import CallEnvironment
from simulator.runtime.knowledge.knowledge import AnsweredCall, Knowledge, shape_as_declared
from simulator.runtime.turns.waiting_request import Call, describe_tool, held_to
from simulator.seats.requests import ToolDeclaration
from simulator.session.model import SessionEnvironment

KeptT = TypeVar("KeptT")


class SessionName(NamedTuple):
    """What names a session in its service."""

    app_name: str
    user_id: str
    session_id: str


BY_HAND = SessionName("", "", "")
"""Of calls that no session makes, as those of a test."""


class Sessions(Generic[KeptT]):
    """Something of its own for each session. Of one service, those used longest ago make room beyond `most`.

    What was used last stays in any case. Two services may know sessions of the same name; what was kept for a service goes with it. Threads may use it at once.
    """

    def __init__(self, make: Callable[[], KeptT], most: int) -> None:
        self._make, self._most = make, most
        self._lock = threading.Lock()
        self._shelves: dict[int, tuple[Any, OrderedDict[SessionName, KeptT]]] = {}
        self._last: tuple[SessionName, KeptT] | None = None

    def of(self, context: Any) -> KeptT:
        """Return what is kept for the session of a context; what is no context of ADK's shares one."""
        return self.kept(*_place(context))

    def kept(self, service: Any, name: SessionName) -> KeptT:
        """Return what is kept for a session of a service, by its name."""
        with self._lock:
            kept = self._shelf(service)
            if name not in kept:
                kept[name] = self._make()
                if len(kept) > self._most:
                    kept.popitem(last=False)
            kept.move_to_end(name)
            found = kept[name]
            self._last = name, found
            return found

    def put(self, context: Any, value: KeptT) -> None:
        """Keep something else for the session of a context."""
        self.of(context)
        service, name = _place(context)
        with self._lock:
            self._shelf(service)[name] = value
            self._last = name, value

    def _shelf(self, service: Any) -> OrderedDict[SessionName, KeptT]:
        number = id(service)
        if number not in self._shelves:
            kept: OrderedDict[SessionName, KeptT] = OrderedDict()
            self._shelves[number] = (self._held(service, number), kept)
        return self._shelves[number][1]

    def _held(self, service: Any, number: int) -> Any:
        """Hold a service so that its place is not another's; weakly, where it lets itself be held so."""
        shelves = self._shelves
        try:
            return weakref.ref(service, lambda _: shelves.pop(number, None))
        except TypeError:
            return service

    def find(self, session: Session | str | None) -> KeptT | None:
        """Return what is kept for a session, by itself or by its id; for None, that of the session used last."""
        last = self._last
        if session is None:
            return last[1] if last else None
        if last and _is(last[0], session):
            return last[1]
        found = [kept for name, kept in self._all() if _is(name, session)]
        return found[-1] if found else None

    def forget(self, session: Session | str) -> None:
        """Let go of what is kept for a session."""
        with self._lock:
            if self._last and _is(self._last[0], session):
                self._last = None
            for _, kept in list(self._shelves.values()):
                for name in [name for name in kept if _is(name, session)]:
                    del kept[name]

    def all(self) -> tuple[KeptT, ...]:
        """Return all that is kept."""
        return tuple(kept for _, kept in self._all())

    def _all(self) -> Iterator[tuple[SessionName, KeptT]]:
        with self._lock:
            return iter([pair for _, kept in list(self._shelves.values()) for pair in kept.items()])


def real_invocation_of(context: Any) -> InvocationContext | None:
    """Return ADK's invocation behind a context; None for what stands for one in a test."""
    try:
        invocation = invocation_of(context)
    except AttributeError:
        return None
    return invocation if isinstance(invocation, InvocationContext) else None


def _place(context: Any) -> tuple[Any, SessionName]:
    invocation = real_invocation_of(context)
    session = getattr(invocation, "session", None)
    if invocation is None or not isinstance(session, Session):
        return None, BY_HAND
    return invocation.session_service, SessionName(session.app_name, session.user_id, session.id)


def _is(name: SessionName, session: Session | str) -> bool:
    if isinstance(session, str):
        return name.session_id == session
    return name == (session.app_name, session.user_id, session.id)


T = TypeVar("T")
_LOG = logging.getLogger(__name__)


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


class SessionPlay(CallEnvironment[Call]):
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

    def declaration(self, call: Call) -> ToolDeclaration:
        """Return a call's tool as it is declared, with the output schema that is set for it."""
        return self.declared(call.tool)

    def declared(self, tool: BaseTool) -> ToolDeclaration:
        """Return a tool as `declaration` does, and know it from now on."""
        declared = self._declared.get(tool.name)
        if declared is None:
            declared = held_to(_described(tool), self._environment.settings.tool(tool.name).output_schema)
            self._declared[tool.name] = declared
            self.know({tool.name: shape_as_declared(declared, tool.name)})
        return declared

    # ------------------------------------------------------------ one call

    @contextmanager
    def knowing(self) -> Iterator[Knowledge]:
        """Hold what is known, against other threads, while somebody looks at it."""
        with self._lock:
            yield self.known

    def rules_for(self, call: Call) -> tuple[InjectionRule, ...]:  # noqa: ARG002 - they are the same for each call
        """Return the rules."""
        return self._rules

    def tally(self, call: Call) -> Tally:
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

    def count(self, call: Call) -> None:
        """Count a call that was judged, and what its rules drew, counted and did."""
        self._called[call.name] += 1
        self._drawn.update(call.firing.drawn)
        if self._shared:
            self._shared.count(name for name in call.firing.drawn if name in self._seeded)
        self._counted.update(call.firing.counted)
        self._fired.update(call.firing.fired)

    def set_schema(self, call: Call) -> JsonObject | None:
        """Return the schema that was set for the tool's answers."""
        return self._environment.settings.tool(call.name).output_schema

    def now(self, call: Call) -> float:
        """Return when the call is asked."""
        return call.at

    def draft_seed(self, call: Call) -> str:
        """Return a seed that is the same in every session with this seed, for the same calls before."""
        return f"{self._drafts_seed}/{call.name}/{call.number}/{canonical(call.arguments)}"

    def codes(self, call: Call) -> Mapping[str, FunctionSource]:
        """Return where the tools are written that were asked, by name; each is looked for once."""
        if call.name not in self._looked_for:
            self._looked_for[call.name] = code_of(call.tool).code
        return {name: code for name, code in self._looked_for.items() if code is not None}

    def take(self, call: Call, outcome: Outcome, provenance: Provenance, **more: Any) -> AnsweredCall:
        """Learn from an answered call, and keep it.

        Args:
            call: The call.
            outcome: What the agent got.
            provenance: Who answered.
            more: Other fields of the answered call.
        """
        with self._lock:
            flags = len(self.known.flags)
            answered = AnsweredCall(
                number=len(self._answered) + 1,
                call_id=call.call_id,
                agent=call.agent,
                tool_name=call.name,
                arguments=call.arguments,
                outcome=outcome,
                provenance=provenance,
                **more,
            )
            try:
                self.known.take(answered.number, answered)
            except Exception:  # noqa: BLE001 - whatever it is, the agent is to go on
                _LOG.exception("the response of %s was not added to the world", call.name)
            found = tuple(each.what for flag in self.known.flags[flags:] for each in flag.contradictions)
            answered = answered.model_copy(update={"contradicts": found}) if found else answered
            self._answered.append(answered)
            return answered

    def recall(self, fact: ToolAnswered) -> None:
        """Learn from a call that was answered in a session that is played: the rules count it, and its answer is known."""
        call = Call.of(BaseTool(name=fact.tool_name, description=""), fact.arguments, None)
        self.judge(call)
        call.agent, call.call_id = fact.agent, fact.call_id
        self.take(call, fact.outcome, fact.provenance, at=fact.at, beneath=fact.beneath, effects=fact.effects)

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
