"""Keeps what the environment of one ADK session has counted, drawn and learnt, however many calls come at once."""

from __future__ import annotations

import logging
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from google.adk.tools.base_tool import BaseTool

from simulator.base.json_values import JsonObject, canonical, copied
from simulator.environment.drafts.candidates import candidates
from simulator.environment.drafts.draft_request import DraftCall, Sources
from simulator.environment.evidence.sketch import Code
from simulator.environment.expressions.templates import variables_of
from simulator.environment.injection.rule_call import CallContext, Tally
from simulator.environment.injection.rule_draws import DrawStreams
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.prompts.tool_prompt import AskedCall
from simulator.environment.recordings.nearest_calls import Near, nearest
from simulator.environment.world.connections import Connections, ToolShape
from simulator.environment.world.entities import WorldCall
from simulator.environment.world.shared_state import SharedState, StateRegistry
from simulator.facts import ToolAnswered
from simulator.runtime.adk.codec import jsonable, written_state
from simulator.runtime.adk.tool_code import code_of
from simulator.runtime.answering.draft_maker import Drafts, Inside, offline_drafts, offline_question
from simulator.runtime.knowledge.knowledge import Knowledge
from simulator.runtime.models.environment_model import asked_call
from simulator.runtime.models.model_evidence import model_evidence
from simulator.runtime.plugin.answered_call import AnsweredCall
from simulator.runtime.turns.fired_rules import Firing, judged
from simulator.runtime.turns.request_views import describe_tool, held_to
from simulator.seats.requests import ToolDeclaration
from simulator.session.environment_state import SessionEnvironment

T = TypeVar("T")
_LOG = logging.getLogger(__name__)


class Question:
    """One call, as the environment looks at it.

    Args:
        tool: The tool.
        arguments: What it is asked, in JSON.
        context: ADK's context of the call, or what a person gave in its place.
        refusal: What the agent is told where nobody may answer.
    """

    def __init__(self, tool: BaseTool, arguments: Mapping[str, Any], context: Any, refusal: str = "") -> None:
        self.tool, self.name, self.context, self.refusal = tool, tool.name, context, refusal
        self.arguments: JsonObject = jsonable(dict(arguments))
        self.agent = _text(context, "agent_name")
        self.branch = _text(context, "branch")
        self.call_id = _text(context, "function_call_id")
        self.firing = Firing()
        self.number = 0

    def state(self) -> JsonObject:
        """Return ADK's session state as the call sees it."""
        return written_state(self.context) or {}


def _text(context: Any, name: str) -> str:
    found = getattr(context, name, None)
    return found if isinstance(found, str) else ""


class SessionPlay:
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
    ) -> None:
        self._rules, self._registry, self._beginnings = rules, registry, beginnings
        self._seed = uuid.uuid4().hex if seed is None else seed
        self._drafts_seed = seed or ""
        self._lock = lock or threading.RLock()
        self._environment = environment
        self._streams = DrawStreams(self._seed)
        self._shapes: dict[str, ToolShape] = {}
        self._looked_for: dict[str, Code | None] = {}
        self._declared: dict[str, ToolDeclaration] = {}
        self._drawn, self._counted = Counter[str](), Counter[str]()
        self._fired, self._asked = Counter[str](), Counter[str]()
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

    def declaration(self, tool: BaseTool) -> ToolDeclaration:
        """Return a tool as it is declared, with the output schema that is set for it."""
        declared = self._declared.get(tool.name)
        if declared is None:
            declared = held_to(_described(tool), self._environment.settings.tool(tool.name).output_schema)
            self._declared[tool.name] = declared
            shape = ToolShape(
                name=tool.name,
                description=declared.description,
                parameters=declared.parameters,
                response_schema=declared.response,
            )
            self.know({tool.name: shape})
        return declared

    # ------------------------------------------------------------ one call

    def judge(self, question: Question) -> None:
        """Ask the rules about a call, which counts from now on."""
        with self._lock:
            known, name = self.known, question.name
            asked = CallContext(
                tool_name=name,
                arguments=question.arguments,
                agent=question.agent,
                branch=question.branch,
                tally=Tally(
                    drawn=self._drawn,
                    counted=self._counted,
                    fired=self._fired,
                    tool_calls=self._asked[name],
                    session_calls=self._asked.total(),
                ),
                world=known.world.collections,
                state=question.state,
                calls=lambda: known.calls_of(name),
            )
            firing = question.firing = judged(self._rules, asked, self._streams, self._seed)
            self._asked[name] += 1
            question.number = self._asked[name]
            self._drawn.update(firing.drawn)
            self._counted.update(firing.counted)
            self._fired.update(firing.fired)

    def variables(self, question: Question, seed: str) -> Mapping[str, object]:
        """Return what the templates of a rule may name."""
        with self._lock:
            return variables_of(
                args=question.arguments,
                state=question.state(),
                world=copied(self.known.world.collections()),
                calls=list(self.known.calls_of(question.name)),
                answers=self.known.last_answers(),
                agent=question.agent,
                call_number=question.number,
                seed=seed,
            )

    def offline(self, question: Question) -> Drafts:
        """Draft an answer offline: for the same calls before it, the same one in every session with this seed."""
        with self._lock:
            tool = self.declaration(question.tool)
            return offline_drafts(tool, self._question(question, tool))

    def _question(self, question: Question, tool: ToolDeclaration) -> tuple[DraftCall, Sources]:
        seed = f"{self._drafts_seed}/{question.name}/{question.number}/{canonical(question.arguments)}"
        inside = Inside(seed, self._codes(question), question.state())
        return offline_question(self.known, tool, question.arguments, inside)

    def _codes(self, question: Question) -> Mapping[str, Code]:
        """Return where the tools are written that were asked, by name; each is looked for once."""
        if question.name not in self._looked_for:
            self._looked_for[question.name] = code_of(question.tool).code
        return {name: code for name, code in self._looked_for.items() if code is not None}

    def is_schema_set(self, question: Question) -> bool:
        """Return whether a schema was set for the tool's answers."""
        return self._environment.settings.tool(question.name).output_schema is not None

    def is_about_nothing(self, question: Question) -> bool:
        """Return whether the world says that a thing does not exist that a call is about."""
        with self._lock:
            return self.known.world.not_found(question.name, question.arguments) is not None

    def asked_of_model(self, question: Question) -> AskedCall:
        """Gather what a model is told about a call."""
        with self._lock:
            tool, drafts = self.declaration(question.tool), self.offline(question)
            asked = self._question(question, tool)
            evidence = model_evidence(
                drafts.draft,
                drafts.sources,
                candidates(*asked),
                code_of(question.tool).code,
                with_source=self._environment.settings.source_to_model,
            )
            return asked_call(self.known, tool, question.arguments, evidence)

    def nearest_recorded(self, question: Question) -> Near | None:
        """Return the recorded call of the tool that is most like this one."""
        with self._lock:
            calls = self.known.recorded_calls()
            used = self.known.used_recordings
            found = nearest(calls, question.name, question.arguments, n=1, used=used)
            return found[0] if found else None

    def against(self, question: Question, response: Any) -> tuple[str, ...]:
        """Return what an answer would contradict."""
        with self._lock:
            call = WorldCall(question.name, question.arguments, response)
            return tuple(each.what for each in self.known.against(call))

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
                _LOG.exception("nothing is learnt from the answer of %s", call.tool_name)
            found = tuple(each.what for flag in self.known.flags[flags:] for each in flag.contradictions)
            call = call.model_copy(update={"contradicts": found}) if found else call
            self._answered.append(call)
            return call

    def recall(self, fact: ToolAnswered) -> None:
        """Learn from a call that was answered in a session that is played: the rules count it, and its answer is known."""
        tool = BaseTool(name=fact.tool_name, description="")
        self.judge(Question(tool, fact.arguments, None))
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
