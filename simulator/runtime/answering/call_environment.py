"""What a session's environment has for a tool call: it asks the rules, drafts answers out of all that is known, and holds answers against it.

`CallEnvironment` is that of any session. Who plays says what is known (`knowing`), which rules are in force and what was counted before a call, how a tool is declared, and where chance
comes from: `LiveEnvironment` from the journal of a session that is played, `plugin.session_play.SessionPlay` under its own lock. `judge` asks the rules, `answered` and `told` give what
they make of a call. `offline` and `offered` draft: they ask what is known once (`offline_question`), and where something fails in it, once more without the tools' code (`attempted`).
"""

from __future__ import annotations

import copy
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

from pydantic import JsonValue

from simulator.base.json_values import JsonObject, copied
from simulator.environment.conventions import EarlierAnswer
from simulator.environment.drafts.candidates import Candidate, around, best, draft_of
from simulator.environment.drafts.draft import Blank, Draft, DraftCall, Sources
from simulator.environment.drafts.evidence_drafts import Parts
from simulator.environment.evidence.sketch import FunctionSource
from simulator.environment.expressions.expressions import variables_of
from simulator.environment.injection.rule_call import CallContext, DrawStreams, Tally
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.prompts.model_prompts import AskedCall
from simulator.environment.recordings import NO_EFFECTS, Near, ObservedCall, ToolEffects, nearest
from simulator.environment.world.invariants import Contradiction
from simulator.facts import Outcome
from simulator.journal import Journal
from simulator.runtime.adk.boundaries import ToolBoundaryCall
from simulator.runtime.adk.codec import whole_text
from simulator.runtime.adk.tool_code import code_of
from simulator.runtime.knowledge.knowledge import Knowledge, LiveKnowledge, ToolShapes
from simulator.runtime.models.environment_model import asked_call, model_evidence
from simulator.runtime.turns.outcomes import judged
from simulator.runtime.turns.turn import TurnRun
from simulator.runtime.turns.waiting_request import C, WaitingRequest, held_to
from simulator.seats.requests import ToolDeclaration

_NUMBERS = re.compile(r"([a-z]\w*)[\s:=]{1,3}(-?\d+(?:\.\d+)?)(?![\w.]*\w{3})")
_LONGEST_REASON = 300
_LONG_RUNNING = "\n\nNOTE: This is a long-running operation."
"""What ADK says below the description of a long-running tool: nothing of what it returns."""


class CallEnvironment(ABC, Generic[C]):
    """What the environment of a session has for its tool calls: what is known, rules and drafts.

    Who uses it says what is known and counted, how a tool is declared, which rules there are, and where the chance of a draft comes from.
    `seed` is where the session's chance comes from, and `streams` are the rules' streams of draws.
    """

    seed: str
    streams: DrawStreams

    @abstractmethod
    def knowing(self) -> AbstractContextManager[Knowledge]:
        """Hold what the environment knows, as it is now, while somebody looks at it."""

    @abstractmethod
    def declaration(self, call: C) -> ToolDeclaration:
        """Return a call's tool as it is declared, with the output schema that is set for it."""

    @abstractmethod
    def set_schema(self, call: C) -> JsonObject | None:
        """Return the schema that a person has set for the answers of a call's tool; takes next to no time."""

    @abstractmethod
    def draft_seed(self, call: C) -> str:
        """Return where the chance of a call's draft comes from."""

    @abstractmethod
    def codes(self, call: C) -> Mapping[str, FunctionSource]:
        """Return where the tools are written that are known when a call is made, by name."""

    def now(self, call: C) -> float:  # noqa: ARG002 - whose clock depends on the call says so
        """Return what the session's clock says where a call is drafted: the same whenever it is; 0 where it has none."""
        return 0.0

    # ------------------------------------------------------------ the rules

    @abstractmethod
    def rules_for(self, call: C) -> tuple[InjectionRule, ...]:
        """Return the rules that are in force for a call."""

    @abstractmethod
    def tally(self, call: C) -> Tally:
        """Return what was counted before a call."""

    @abstractmethod
    def count(self, call: C) -> None:
        """Count a call that was judged, and what its rules drew, counted and did."""

    def judge(self, call: C) -> None:
        """Ask the rules about a call, which counts as one from now on."""
        with self.knowing():
            asked = self.asked(call)
            call.firing = judged(self.rules_for(call), asked, self.streams, self.seed)
            call.number = asked.tally.tool_calls + 1
            self.count(call)

    def asked(self, call: C) -> CallContext:
        """Describe a call as the rules look at it."""
        with self.knowing() as known:
            return CallContext(
                tool_name=call.name,
                arguments=call.arguments,
                agent=call.agent,
                branch=call.branch,
                tally=self.tally(call),
                world=known.world.collections,
                state=lambda: call.state() or {},
                calls=lambda: known.calls_of(call.name),
            )

    def answered(self, call: C) -> Outcome:
        """Return what the rule that fired answers.

        Raises:
            ValueError: No rule answers, or a template of the rule cannot be filled in.
        """
        with self.knowing() as known:
            return call.firing.outcome(
                lambda seed: variables_of(
                    args=call.arguments,
                    state=call.state(),
                    world=known.world.collections(),
                    calls=known.calls_of(call.name),
                    answers=known.last_answers(),
                    agent=call.agent,
                    call_number=call.number,
                    seed=seed,
                )
            )

    def told(self, call: C, outcome: Outcome) -> tuple[Outcome, Outcome | None, tuple[str, ...]]:
        """Change an answer as the rules that fired say; as `Firing.told`."""
        with self.knowing() as known:
            return call.firing.told(outcome, lambda: known.calls_of(call.name))

    # ------------------------------------------------------------ the drafts

    def offline(self, call: C, draw: int = 0) -> Draft:
        """Draft an answer offline: the same one each time for the same call, world, seed and draw."""
        with self.knowing():
            self.declaration(call)  # what it raises is told, and no draft is made of it
            return attempted(lambda: self._asked(call, draw), offline_draft, _no_draft)

    def offered(self, call: C, draw: int = 0) -> tuple[Draft, tuple[Candidate, ...]]:
        """Return what `offline` does, and up to five ready answers, each of another kind, that draft first; the code is read once for both."""
        with self.knowing():
            self.declaration(call)  # as above
            return attempted(
                lambda: self._asked(call, draw), _offered, lambda why: (_no_draft(why), _no_candidate(why))
            )

    def effects_of(self, call: C, response: JsonValue) -> ToolEffects:
        """Return what the tool's code does besides, where it gives a response that was not drafted here."""
        return self._effects(call, lambda parts: parts.effects_of(response))

    def effects_of_recorded(self, call: C, recorded: ObservedCall) -> ToolEffects:
        """Return what a recorded call did besides that is the same as this one."""
        return self._effects(call, lambda parts: parts.effects_of_recorded(recorded))

    def _effects(self, call: C, of: Callable[[Parts], ToolEffects]) -> ToolEffects:
        with self.knowing():
            return attempted(
                lambda: self._asked(call, 0), lambda asked: of(Parts(*asked)), lambda _: NO_EFFECTS
            )

    def _asked(self, call: C, draw: int) -> tuple[DraftCall, Sources]:
        with self.knowing() as known:
            inside = Inside(self.draft_seed(call), self.codes(call), call.state(), draw, self.now(call))
            return offline_question(known, self.declaration(call), call.arguments, inside)

    def asked_of_model(self, call: C) -> AskedCall:
        """Gather what a model is told about a call."""
        with self.knowing() as known:
            offline, ready = self.offered(call)
            evidence = model_evidence(
                offline.value,
                offline.sources,
                ready,
                code_of(call.tool).code,
                with_source=known.environment.settings.source_to_model,
            )
            return asked_call(known, self.declaration(call), call.arguments, evidence)

    def is_about_nothing(self, call: C) -> bool:
        """Return whether the world says that a thing does not exist that a call is about: a model could only invent it."""
        with self.knowing() as known:
            return known.world.not_found(call.name, call.arguments) is not None

    def nearest_recorded(self, call: C) -> Near | None:
        """Return the recorded call of the tool that is most like this one; the same question gets its answers in order."""
        with self.knowing() as known:
            calls, used = known.recorded_calls(), known.used_recordings
            found = nearest(calls, call.name, call.arguments, n=1, used=used)
            return found[0] if found else None

    def against(self, call: C, response: JsonValue) -> tuple[Contradiction, ...]:
        """Return what an answer would contradict; one that the tool's code gives for certain contradicts invariants alone."""
        with self.knowing() as known:
            found = known.against(EarlierAnswer(call.name, call.arguments, response))
            return (
                tuple(one for one in found if one.invariant)
                if found and self._gives(call, response)
                else found
            )

    def _gives(self, call: C, response: JsonValue) -> bool:
        return attempted(
            lambda: self._asked(call, 0), lambda asked: Parts(*asked).gives(response), lambda _: False
        )


_NOTHING: JsonObject = {"result": None}
_BLANK = (Blank(path="$"),)
_M = TypeVar("_M")


def attempted(
    ask: Callable[[], tuple[DraftCall, Sources]],
    make: Callable[[tuple[DraftCall, Sources]], _M],
    otherwise: Callable[[str], _M],
) -> _M:
    """Return what is made of a question; where that fails, what is made without the tools' code, and else what says why it failed.

    Whatever a tool's code, arguments and responses are, the call can be answered: no draft is worth a call that waits for ever.

    Args:
        ask: Gathers what a draft is made of.
        make: Makes it.
        otherwise: Makes a draft of nothing, for the reason in words.
    """
    why = ""
    for is_read in (True, False):
        try:
            call, sources = ask()
            if not is_read:
                call = call.model_copy(update={"code": None, "codes": {}})
            return make((call, sources))
        except Exception as error:  # noqa: BLE001 - a `MemoryError` and a `RecursionError` are some, too
            why = (
                why
                or f"No draft could be made: {type(error).__name__}: {whole_text(str(error))[:_LONGEST_REASON]}"
            )
    return otherwise(why)


def _no_draft(why: str) -> Draft:
    return Draft(value=copied(_NOTHING), why=why, is_guess=True, blanks=_BLANK, failure=why)


def _no_candidate(why: str) -> tuple[Candidate, ...]:
    made: JsonValue = copied(_NOTHING)
    return (Candidate(label="expected", title="Expected", kind="value", value=made, why=why, blanks=_BLANK),)


class Inside(NamedTuple):
    """What a draft is made of besides the call and what the environment knows.

    Attributes:
        seed: Where its chance comes from.
        codes: Where the agent's tools are written, by name.
        state: The session's state; None where it is not known.
        draw: Which draft it is of those that may be drawn.
        now: What the session's clock says; 0 where it has none.
    """

    seed: str
    codes: Mapping[str, FunctionSource] = MappingProxyType({})
    state: JsonObject | None = None
    draw: int = 0
    now: float = 0.0


def offline_draft(asked: tuple[DraftCall, Sources]) -> Draft:
    """Draft an answer to a call offline: the same one each time for what `offline_question` gave."""
    parts = Parts(*asked)
    return draft_of(parts, best(parts))


def _offered(asked: tuple[DraftCall, Sources]) -> tuple[Draft, tuple[Candidate, ...]]:
    parts = Parts(*asked)
    made = best(parts)
    return draft_of(parts, made), around(parts, made)


def offline_question(
    known: Knowledge, tool: ToolDeclaration, arguments: JsonObject, inside: Inside
) -> tuple[DraftCall, Sources]:
    """Gather what an offline draft of the answer to a call is made of."""
    # All of it is right for certain, and in a long session there are many earlier answers to look at again.
    call = DraftCall.model_construct(
        tool_name=tool.name,
        description=tool.description.partition(_LONG_RUNNING)[0],
        parameters=tool.parameters,
        response_schema=tool.response,
        examples=tool.response_examples,
        arguments=arguments,
        earlier=tuple(known.answers),
        seed=inside.seed,
        draw=inside.draw,
        is_long_running=_LONG_RUNNING in tool.description,
        code=inside.codes.get(tool.name),
        codes=inside.codes,
        state=inside.state,
        now=inside.now,
        is_held=known.output_schema(tool.name) is not None,
    )
    if (known.output_schema(tool.name) or {}).get("examples"):
        # An example that a person gave says more of the tool's responses than its code.
        call = call.model_copy(update={"code": None})
    return call, Sources(known.world, known.recorded_calls(), _shared(known, tool.name))


def _shared(known: Knowledge, tool_name: str) -> dict[str, JsonValue]:
    """Return what the tools that share a state with this one were asked or answered last, by the names of fields.

    Before that, a number of the state's beginning that stands right behind a word is the value of the field of that name.
    """
    if not known.environment.settings.tool(tool_name).share_state_id:
        return {}
    state = known.registry.get_state(known.registry.state_key(tool_name))
    told = {name: float(value) for name, value in _NUMBERS.findall((state["initial_state"] or "").casefold())}
    said = [said for call in state["previous_calls"] for said in (call["parameters"], call["response"])]
    plain = {
        name: value
        for one in said
        for name, value in (one.items() if isinstance(one, dict) else ())
        if value is not None and not isinstance(value, (dict, list))
    }
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in {**told, **plain}.items()
    }


class LiveEnvironment(CallEnvironment[WaitingRequest[ToolBoundaryCall]]):
    """The environment of a session that is played, on the loop's thread. What rules count and draw is folded from the facts.

    Args:
        seed: Where the session's chance comes from.
        journal: Its facts.
        knowledge: What is known along them.
        tools: The agent's tools.
    """

    _run: TurnRun | None = None

    def __init__(self, seed: str, journal: Journal, knowledge: LiveKnowledge, tools: ToolShapes) -> None:
        self._journal, self._knowledge, self._tools = journal, knowledge, tools
        self.seed, self.streams = seed, DrawStreams(seed)

    def within(self, run: TurnRun) -> LiveEnvironment:
        """Return the environment in a turn, whose calls that wait count as well."""
        twin = copy.copy(self)
        twin._run = run  # noqa: SLF001 - its own class's
        return twin

    def knowing(self) -> AbstractContextManager[Knowledge]:
        """Hold what the journal's facts add up to."""
        return nullcontext(self._knowledge.up_to_date())

    def declaration(self, call: WaitingRequest[ToolBoundaryCall]) -> ToolDeclaration:
        """Return a tool as it is declared, with the output schema that a person has set for it."""
        if call.declared is None:
            call.declared = self._tools.declaration(call.tool)
        return held_to(call.declared, self._knowledge.output_schema(call.name))

    def set_schema(self, call: WaitingRequest[ToolBoundaryCall]) -> JsonObject | None:
        """Return the schema that a person has set for the tool's answers."""
        return self._knowledge.output_schema(call.name)

    def now(self, call: WaitingRequest[ToolBoundaryCall]) -> float:  # noqa: ARG002 - the calls of one turn of the agent have one time
        """Return when the agent last made calls."""
        return self._knowledge.up_to_date().asked_at

    def draft_seed(self, call: WaitingRequest[ToolBoundaryCall]) -> str:
        """Return a seed that the request's key makes its own."""
        return f"{self.seed}/{call.key}"

    def codes(self, call: WaitingRequest[ToolBoundaryCall]) -> Mapping[str, FunctionSource]:  # noqa: ARG002 - the agent's tools are the same for each call
        """Return where the agent's tools are written, by name."""
        return self._tools.codes()

    def rules_for(self, call: WaitingRequest[ToolBoundaryCall]) -> tuple[InjectionRule, ...]:
        """Return the rules that were in force when the call was made."""
        return call.rules

    def tally(self, call: WaitingRequest[ToolBoundaryCall]) -> Tally:
        """Count what is a fact, and what calls have taken that were judged before and are not answered yet."""
        counts = self._journal.fold.counts
        drawn, counted, fired = Counter(counts.drawn), Counter(counts.counted), Counter(counts.fired)
        calls = Counter(counts.calls)
        for other in self._run.waiting.values() if self._run else ():
            is_before = other is not call and other.judged and not other.future.done()
            if is_before and isinstance(other.call, ToolBoundaryCall):
                drawn.update(other.firing.drawn)
                counted.update(other.firing.counted)
                fired.update(other.firing.fired)
                calls[other.name] += 1
        return Tally(
            drawn=drawn,
            counted=counted,
            fired=fired,
            tool_calls=calls[call.name],
            session_calls=calls.total(),
        )

    def count(self, call: WaitingRequest[ToolBoundaryCall]) -> None:
        """Let the call count until its answer is a fact."""
        call.judged = True
