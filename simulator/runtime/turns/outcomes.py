"""What becomes of a tool's answer: what the rules do to it that fired for the call, and what the real tool did beside it, taken down and done again from the journal.

- `judged` asks the rules about a call and gives a `Firing`: which rule answers, which only delay or change, and why the others did not fire. `Firing.outcome` is
  the rule's own answer, `Firing.told` what becomes of one that somebody else gave, and `Firing.provenance` who authored it.
- `watched` runs a real tool, and gives its outcome with all that it did beside it (`ToolEffects`). `repeated` does that again from the journal.
- `outcome_of`, `as_response` and `as_tools_give` lead from a value to an outcome, to those who read it, and to ADK.

An agent that is used as a tool runs by itself, with its own seats, until a rule or a player is set for the tool by its name. Then its
calls are requests like those of any other tool: a rule or a player answers, or lets the agent run, which is a fact (`AgentRan`).
What was set counts as of the answer that was released last, so that a re-execution decides the same.
"""

from __future__ import annotations

import asyncio
import operator
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import ValidationError

from simulator.base.json_values import Json, JsonObject, canonical, copied
from simulator.environment.drafts.draft import SURE, Unsure
from simulator.environment.injection.distortions import distorted
from simulator.environment.injection.rule_call import DrawStreams
from simulator.environment.injection.rule_effects import (
    OF_A_RESPONSE,
    AnsweringEffect,
    DistortEffect,
    LoseEffect,
    RaiseEffect,
)
from simulator.environment.injection.rules import CallContext, InjectionRule, Miss, evaluate, nearest_first
from simulator.environment.schema.schema_plans import breach
from simulator.facts import (
    AgentRan,
    Answered,
    Fact,
    Failed,
    Outcome,
    Provenance,
    Raised,
    Returned,
    RulesChanged,
    SavedArtifact,
    SeatChanged,
    ToolAnswered,
    ToolEffects,
    TurnStarted,
)
from simulator.runtime.adk.adk_private import invocation_of, let_events_be_heard, own_actions, send_event
from simulator.runtime.adk.cancellation import OwnSteps
from simulator.runtime.adk.codec import (
    SimulatedToolError,
    event_json,
    jsonable,
    made_error,
    survives_json,
    tool_result,
    tool_value,
    whole_text,
    written_error,
    written_traceback,
)
from simulator.runtime.adk.turn_context import CURRENT_TURN, INSIDE_REAL_CALL, RealCall
from simulator.runtime.errors import SimulationError, ends_the_work
from simulator.seats.answers import raised

_MOST_MISSES = 20
"""How many of the rules that did not fire are kept with an answer; those that came nearest."""

_REAL = Provenance(source="real")
_OF_ERRORS = frozenset({"error_code", "error_message"})


@dataclass(frozen=True, slots=True)
class Firing:
    """What the rules said about one call.

    Attributes:
        rule: The rule that answers the call, if any.
        modifiers: The rules that only delay, distort or lose whatever answers it, in their order.
        before: For each of those, how often it had fired before, by its id.
        seed: Where the session's chance comes from.
        misses: Why the other rules for this tool did not fire, those first that came nearest.
        drawn: The rules that took a value from their stream.
        counted: The rules whose own counter moved.
        words: What hostile texts may name: the tool, and the agent that called it.
    """

    rule: InjectionRule | None = None
    modifiers: tuple[InjectionRule, ...] = ()
    before: Mapping[str, int] = field(default_factory=dict)
    seed: str = ""
    misses: tuple[Miss, ...] = ()
    drawn: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def fired(self) -> tuple[str, ...]:
        """The ids of the rules that fired."""
        return tuple(self.before)

    @property
    def is_empty(self) -> bool:
        """Whether no rule had anything to say about the call."""
        return not (self.before or self.misses or self.drawn or self.counted)

    @property
    def has_a_say(self) -> bool:
        """Whether the rules have anything to do with, or to say about, an answer that is there."""
        raises = self.rule is not None and isinstance(self.rule.effect, RaiseEffect)
        return bool(self.modifiers) or raises

    # ------------------------------------------------------------ what follows from it

    def provenance(
        self, source: Any, by: str | None = None, notes: tuple[str, ...] = (), unsure: Unsure = SURE
    ) -> Provenance:
        """Say who authored an answer, what the rules had said before, and of which places nobody said what belongs there."""
        if source == "real" and not notes and self.is_empty:
            return _REAL
        return Provenance(
            source=source,
            by=by,
            misses=self.misses[:_MOST_MISSES],
            drawn=self.drawn,
            counted=self.counted,
            fired=tuple(self.before),
            notes=notes,
            blanks=unsure.blanks,
            uncertain=unsure.uncertain,
        )

    @property
    def rules(self) -> tuple[InjectionRule, ...]:
        """The rules that have a part in the answer, the one that answers last."""
        return (*self.modifiers, *((self.rule,) if self.rule else ()))

    def latency(self) -> float:
        """Return the time that the rules which fired take, in seconds."""
        return sum(
            rule.latency_seconds
            if rule.latency is None
            else rule.latency.seconds(self._chance(rule, "latency"))
            for rule in self.rules
        )

    def outcome(self, variables: Callable[[str], Mapping[str, object]]) -> Outcome:
        """Return what the rule answers.

        Args:
            variables: Gives what the rule's templates may name, for a seed.

        Raises:
            ValueError: No rule answers this call, or a template cannot be filled in.
        """
        if self.rule is None or not isinstance(self.rule.effect, AnsweringEffect):
            raise ValueError("no rule answers this call")
        given = self.rule.effect.answered(
            variables(self._seed(self.rule, "fake")), self.before.get(self.rule.rule_id, 0)
        )
        match given.kind:
            case "value":
                return Returned(value=given.value)
            case "error":
                return Failed(
                    error_code=given.error_code,
                    error_message=given.error_message,
                    details={key: value for key, value in given.details.items() if key not in _OF_ERRORS},
                )
            case "raise":
                return raised(given.error_type, given.message).outcome
            case _:
                raise ValueError(f"rule {self.rule.rule_id!r} gives no response: {given.reason}")

    def told(
        self, outcome: Outcome, earlier: Callable[[], Sequence[JsonObject]]
    ) -> tuple[Outcome, Outcome | None, tuple[str, ...]]:
        """Change an answer as the rules that fired say.

        Args:
            outcome: The answer.
            earlier: Gives the earlier calls of the tool, oldest first, each with its `response`.

        Returns:
            What the agent is told, what really happened where that is something else, and what was done, in words.
        """
        now, notes = outcome, list[str]()
        for rule in self.modifiers:
            if isinstance(rule.effect, DistortEffect):
                now, done = self._distorted(rule, rule.effect, now, earlier)
                notes += (f"{rule.rule_id}: {note}" for note in done)
        for rule in self.modifiers:
            if isinstance(rule.effect, LoseEffect):
                now = _lost(rule.effect)
                notes.append(f"{rule.rule_id}: the response was lost")
                break
        notes += self._of_its_exception(now)
        return now, None if now == outcome else outcome, tuple(notes)

    def _of_its_exception(self, outcome: Outcome) -> tuple[str, ...]:
        """Return where the exception that the rule names cannot be raised here, and another one is that names it."""
        if (
            self.rule is None
            or not isinstance(self.rule.effect, RaiseEffect)
            or not isinstance(outcome, Raised)
        ):
            return ()
        if not isinstance(made_error(outcome.error), SimulatedToolError):
            return ()
        named = self.rule.effect.error_type
        why = "is not a loaded exception that takes only a message"
        return (f"{self.rule.rule_id}: {named} {why}, so an error that names it is raised",)

    def _distorted(
        self,
        rule: InjectionRule,
        effect: DistortEffect,
        outcome: Outcome,
        earlier: Callable[[], Sequence[JsonObject]],
    ) -> tuple[Outcome, tuple[str, ...]]:
        if not isinstance(outcome, (Returned, Failed)):
            return outcome, ("there was no response to distort",)
        value = outcome.value if isinstance(outcome, Returned) else outcome.response()
        before = [call["response"] for call in earlier()]
        chance = self._chance(rule, "distort")
        changed = distorted(value, effect.distortions, chance, before, words=self.words)
        return (outcome if changed.value == value else Returned(value=changed.value)), changed.notes

    def _chance(self, rule: InjectionRule, what: str) -> random.Random:
        return random.Random(self._seed(rule, what))  # noqa: S311 - repeatable, and no secret

    def _seed(self, rule: InjectionRule, what: str) -> str:
        """Return where the chance of one firing comes from: the same in every run of the session."""
        source = self.seed if rule.random_seed is None else str(rule.random_seed)
        return f"{len(source)}:{source}:{rule.rule_id}:{what}:{self.before.get(rule.rule_id, 0)}"


NOTHING_FIRED = Firing()
"""Of a call that no rule has looked at."""


def of_one(rule: InjectionRule, seed: str, words: Mapping[str, str]) -> Firing:
    """Return what one rule says about a call that a person lets it answer, whatever it asks of calls.

    Args:
        rule: The rule. It counts as no rule of the session.
        seed: Where its chance comes from.
        words: What hostile texts may name.
    """
    if rule.effect.kind in OF_A_RESPONSE:
        return Firing(modifiers=(rule,), seed=seed, words=words)
    return Firing(rule=rule, seed=seed, words=words)


def judged(rules: Sequence[InjectionRule], call: CallContext, streams: DrawStreams, seed: str) -> Firing:
    """Ask the rules about a call, which counts as one from now on."""
    tally = call.tally
    verdict = evaluate(rules, call, lambda rule: streams.value(rule, tally.drawn.get(rule.rule_id, 0)))
    fired = (*verdict.modifiers, *((verdict.fired,) if verdict.fired else ()))
    return Firing(
        rule=verdict.fired,
        modifiers=verdict.modifiers,
        before={rule.rule_id: tally.fired.get(rule.rule_id, 0) for rule in fired},
        seed=seed,
        misses=nearest_first(verdict.misses),
        drawn=verdict.drawn,
        counted=verdict.counted,
        words={"tool": call.tool_name, "agent": call.agent},
    )


def _lost(effect: LoseEffect) -> Outcome:
    if effect.way == "raise":
        return raised("TimeoutError", effect.message).outcome
    return Failed(error_code=effect.error_code, error_message=effect.message)


Path = Iterable[tuple[int, Fact]]


def is_set_for(path: Path, tool_name: str, released: int | None) -> bool:
    """Return whether a rule or a player was set for a tool by its name.

    Args:
        path: The facts with their numbers.
        tool_name: The tool.
        released: The number of the answer that counts; -1 for the start of the turn, None for the last answer.
    """
    by_rule = by_player = found = False
    for number, fact in path:
        if released is not None and number > released >= 0:
            break
        if isinstance(fact, RulesChanged):
            by_rule = any(rule.tool_name == tool_name for rule in fact.rules)
        elif isinstance(fact, SeatChanged):
            by_player = by_player or (fact.seat == "tool" and fact.target == tool_name)
        elif isinstance(fact, TurnStarted) or (isinstance(fact, Answered) and released != -1):
            found = by_rule or by_player
    return found


def firing_of(path: Path, ran: AgentRan, seed: str) -> Firing:
    """Return what the rules that fired for a call do to its agent's answer; nothing where they only took time."""
    rules: tuple[InjectionRule, ...] = ()
    fired: Counter[str] = Counter()
    for _, fact in path:
        if isinstance(fact, RulesChanged):
            rules = fact.rules
        elif isinstance(fact, AgentRan | ToolAnswered):
            if (fact.turn, fact.key) == (ran.turn, ran.key):
                break
            fired.update(fact.provenance.fired)
    changing = tuple(
        rule
        for rule in rules
        if rule.rule_id in ran.provenance.fired and isinstance(rule.effect, DistortEffect | LoseEffect)
    )
    if not changing:
        return NOTHING_FIRED
    return Firing(
        modifiers=changing,
        before={rule.rule_id: fired[rule.rule_id] for rule in changing},
        seed=seed,
        words={"tool": ran.tool_name, "agent": ran.agent},
    )


def cannot_answer(rule_id: str, tool_name: str) -> str:
    """Return why a rule for a tool that steers ADK's flow is silent."""
    return (
        f"the rule {rule_id!r} cannot answer {tool_name}: ADK runs this tool itself. "
        "Use the rule for another tool, or for an agent that is used as a tool"
    )


_CODE, _MESSAGE = "error_code", "error_message"


def outcome_of(value: Json) -> Outcome:
    """Return what a value that was made for a tool is: an error where it has ADK's form, else what the tool returns."""
    code, message = (value.get(_CODE), value.get(_MESSAGE)) if isinstance(value, dict) else (None, None)
    if not isinstance(value, dict) or not isinstance(message, str):
        return Returned(value=value)
    if isinstance(code, bool) or not isinstance(code, (int, str)):
        return Returned(value=value)
    details = {name: inner for name, inner in value.items() if name not in {_CODE, _MESSAGE}}
    return Failed(error_code=code, error_message=message, details=details)


def as_response(outcome: Outcome) -> Any:
    """Return what a tool's outcome is for those who read answers: its value, or its error dict; None where it raised."""
    match outcome.kind:
        case "returned":
            return outcome.value
        case "failed":
            return outcome.response()
        case _:
            return None


def breach_of(outcome: Outcome, schema: JsonObject | None) -> str:
    """Return where what a tool returns breaks a schema, as `breach`; an error and an exception break none."""
    return breach(outcome.value, schema) if isinstance(outcome, Returned) else ""


def as_tools_give(outcome: Outcome) -> Any:
    """Return ADK an outcome as its tools do: a value, None where there is none yet, or an exception that is raised."""
    match outcome.kind:
        case "raised":
            raise made_error(outcome.error)
        case "failed":
            return outcome.response()
        case "deferred":
            return None
        case _:
            return tool_result(outcome.value)


# These two are taken down apart: state by its keys, artifacts with their bytes.
_APART = frozenset({"state_delta", "artifact_delta"})
_UNKNOWN = RealCall("real call")
_NO_EFFECTS = ToolEffects()
_CANCELLED_ITSELF = Failed(
    error_code="cancelled", error_message="The tool cancelled its own task, so it gave no response."
)
_NONE: dict[str, str] = {}
_OTHER_ACTIONS = tuple(name for name in EventActions.model_fields if name not in _APART)
_their_values = operator.itemgetter(*_OTHER_ACTIONS)


class _Heard(NamedTuple):
    """Takes down what a real tool does while it runs: the artifacts that it saves, the events that it sends, and what it raises."""

    saved: list[SavedArtifact]
    sent: list[JsonObject]
    note_traceback: Callable[[str], None]
    note_steps: Callable[[OwnSteps], None]


async def watched(
    key: str,
    real: Callable[[], Awaitable[Any]],
    context: ToolContext,
    note_problem: Callable[[str], None],
    note_traceback: Callable[[str], None] = lambda _: None,
    *,
    note_steps: Callable[[OwnSteps], None] = lambda _: None,
) -> tuple[Outcome, ToolEffects]:
    """Run a real tool for the request with this key, and return its outcome and its effects, which stand in the context already.

    A state value that JSON cannot hold is replaced by what JSON makes of it, at once and with a word to the
    person: otherwise this run and its re-execution would differ. Where the tool raises, `note_traceback` gets the text;
    `note_steps` gets its steps when it begins.
    """
    before = context.actions
    written = before.state_delta
    state = {name: canonical(jsonable(value)) for name, value in written.items()} if written else {}
    others = _other_actions(before)
    saved: list[SavedArtifact] = []
    sent: list[JsonObject] = []
    outcome = await _outcome(key, real, context, _Heard(saved, sent, note_traceback, note_steps))
    after = context.actions  # reading it flushes what the tool wrote into lists and dicts of the state
    ends = bool(invocation_of(context).end_invocation)
    now = _other_actions(after)
    if not (after.state_delta or others or now or saved or sent or ends):
        return outcome, _NO_EFFECTS
    delta = _state_since(state, after, context, note_problem)
    names = [] if now == others else [name for name in _OTHER_ACTIONS if now.get(name) != others.get(name)]
    changed = {name: jsonable(getattr(after, name)) for name in names}
    if not (delta or saved or changed or sent or ends):
        return outcome, _NO_EFFECTS
    return outcome, ToolEffects(
        state_delta=delta,
        artifacts=tuple(saved),
        actions=changed,
        events=tuple(sent),
        end_invocation=ends,
    )


def _state_since(
    before: dict[str, str], after: EventActions, context: ToolContext, note_problem: Callable[[str], None]
) -> JsonObject:
    """Return what a tool wrote into the state; what JSON cannot hold is replaced there by what JSON makes of it."""
    delta: JsonObject = {
        whole_text(name): jsonable(value)
        for name, value in after.state_delta.items()
        if before.get(name) != canonical(jsonable(value))
    }
    # Names are made whole here too, as they will be from the journal; the state's are written below.
    for name in [name for name in after.state_delta if whole_text(name) != name]:
        del after.state_delta[name]
    for name in [name for name in after.artifact_delta if whole_text(name) != name]:
        after.artifact_delta[whole_text(name)] = after.artifact_delta.pop(name)
    for name, value in delta.items():
        if name not in after.state_delta or not survives_json(after.state_delta[name]):
            note_problem(f"state {name!r} has a value that JSON cannot represent; it was converted to JSON")
            context.state[name] = copied(value)
    return delta


async def _outcome(
    key: str,
    real: Callable[[], Awaitable[Any]],
    context: ToolContext,
    heard: _Heard,
) -> Outcome:
    turn = CURRENT_TURN.get()

    def hear(event: Event) -> None:
        if turn is not None and not event.partial:
            turn.note_effect(event)
            heard.sent.append(event_json(event))

    let_events_be_heard(context)
    inside = INSIDE_REAL_CALL.set(RealCall(key, heard.saved.append, hear))
    steps = OwnSteps(real())
    heard.note_steps(steps)
    try:
        value = await steps
        if steps.own and await steps.take_back_cancellation():
            return _CANCELLED_ITSELF
        return Returned.known(value=tool_value(value))
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and await steps.take_back_cancellation():
            return _CANCELLED_ITSELF
        if ends_the_work(error) and not steps.exits:
            raise
        heard.note_traceback(written_traceback(error))
        return Raised(error=written_error(error))
    finally:
        INSIDE_REAL_CALL.reset(inside)


def _other_actions(actions: EventActions) -> dict[str, str]:
    """Write the actions that are set; most tools set none."""
    held = actions.__dict__
    if not any(_their_values(held)):
        return _NONE
    return {name: canonical(jsonable(value)) for name in _OTHER_ACTIONS if (value := held[name])}


def checked_actions(actions: JsonObject) -> JsonObject:
    """Return actions that a person or a script has written for a call.

    Raises:
        SimulationError: Naming the one that ADK does not have, or whose value it does not take.
    """
    if unknown := sorted(actions.keys() - set(_OTHER_ACTIONS)):
        raise SimulationError(f"ADK has no action {unknown[0]!r} of a tool; state changes are written apart")
    try:
        EventActions.model_validate(copied(actions))
    except ValidationError as error:
        place = error.errors()[0]
        raise SimulationError(f"the action {place['loc'][0]!r}: {place['msg']}") from error
    return actions


async def repeated(effects: ToolEffects, context: ToolContext) -> None:
    """Do again, in a tool's context, what the journal says a tool did."""
    inside = INSIDE_REAL_CALL.set(INSIDE_REAL_CALL.get() or _UNKNOWN)
    try:
        turn = CURRENT_TURN.get()
        for written in effects.events:
            event = Event.model_validate(copied(written))
            if turn is not None:
                turn.note_effect(event)
            await send_event(context, event)
        if effects.state_delta:
            context.state.update(copied(effects.state_delta))
        if effects.actions:
            actions = EventActions.model_validate(copied(effects.actions))
            for name in effects.actions:
                setattr(own_actions(context), name, getattr(actions, name))
        if effects.end_invocation:
            invocation_of(context).end_invocation = True
        for artifact in effects.artifacts:
            part = types.Part.model_validate(copied(artifact.part))
            await context.save_artifact(artifact.filename, part, artifact.custom_metadata)
    finally:
        INSIDE_REAL_CALL.reset(inside)
