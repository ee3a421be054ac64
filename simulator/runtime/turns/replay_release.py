"""Executes a turn again: reads from the journal's facts what it starts with, and releases the answers that they hold, in their order, as long as they still fit.

`restored` makes ADK's services as they were after the turns that have ended, `turn_in_progress` finds the answers of the last one, and `guarded_app` and `run_config` are
what ADK's runner is given. `TurnReplay` then releases an answer when it is next: at once where it came at once, else when everything before it has settled. One that
no longer fits what is asked has diverged.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import os
import random
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from google.adk.agents.run_config import RunConfig, StreamingMode, ToolThreadPoolConfig  # type: ignore[attr-defined] # ADK documents StreamingMode there, but does not list it
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.telemetry.context import ContentCapturingMode, TelemetryConfig
from google.genai import types

from simulator.agent_config import SimulatedAgentConfig
from simulator.base.json_values import JsonObject, canonical, copied, digest
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import (
    Answered,
    EarlierData,
    Fact,
    ModelAnswered,
    RulesChanged,
    SeatChanged,
    ToolAnswered,
    TurnEnded,
    TurnStarted,
)
from simulator.runtime.adk.adk_private import Later, made
from simulator.runtime.adk.boundaries import GuardPlugin, seated_app, senders, without_senders
from simulator.runtime.adk.codec import contents_part
from simulator.runtime.adk.watched_services import (
    Ground,
    WatchedArtifacts,
    WatchedMemory,
    WatchedSessions,
    give_earlier,
)
from simulator.runtime.errors import Diverged
from simulator.runtime.turns.waiting_request import WaitingRequest

if TYPE_CHECKING:
    from simulator.runtime.turns.turn import TurnRun


_TOOL_THREADS = 16
_ASKED_FOR = (
    "OTEL_SEMCONV_STABILITY_OPT_IN",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
    "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS",
)


def run_config(started: TurnStarted) -> RunConfig:
    """Return ADK's settings for a turn, of its own."""
    asked_for = any(os.environ.get(name) for name in _ASKED_FOR)
    return _settings(started.streaming, started.max_llm_calls, asked_for).model_copy()


@functools.lru_cache(maxsize=16)
def _settings(streaming: bool, max_llm_calls: int, asked_for: bool) -> RunConfig:
    return RunConfig(
        streaming_mode=StreamingMode.SSE if streaming else StreamingMode.NONE,
        max_llm_calls=max_llm_calls,
        telemetry=_telemetry(asked_for),
        tool_thread_pool_config=ToolThreadPoolConfig(max_workers=_TOOL_THREADS),
    )


def _telemetry(asked_for: bool) -> TelemetryConfig | None:
    """Keep what people author out of traces, unless the environment asks for it.

    ADK writes each request and response into its spans otherwise, which is also a tenth of the time of a turn.
    """
    if asked_for:
        return None
    return TelemetryConfig(
        genai_semconv_stability_opt_in="stable", capture_message_content=ContentCapturingMode.NO_CONTENT
    )


Path: TypeAlias = Sequence[tuple[int, Fact]]
"""Facts in order, each with its number in the journal."""


def random_of(seed: str, turn: int) -> random.Random:
    """Return the chance that ADK has in a turn: the same in every execution."""
    return random.Random(digest(seed, str(turn)))  # noqa: S311 - not for secrets


def guarded_app(config: SimulatedAgentConfig) -> App:
    """Return the agent as an app whose first plugin is the guard."""
    agent, guard = config.agent, GuardPlugin()
    if isinstance(agent, App):
        here = without_senders(seated_app(agent))
        return here.model_copy(update={"plugins": [guard, *here.plugins]})
    return App(name=agent.name, root_agent=agent, plugins=[guard])


def left_out(agent: Any) -> tuple[str, ...]:
    """Say which plugins of an agent's app take no part in its turns."""
    return tuple(
        f"The plugin {plugin.name} did not run. It sends data to another machine."
        for plugin in senders(agent)
    )


def turn_in_progress(facts: Path) -> tuple[TurnStarted, list[tuple[int, Answered]]]:
    """Return the fact with which the last turn started, and the answers in it."""
    place, started = next(
        (place, fact)
        for place, (_, fact) in reversed(list(enumerate(facts)))
        if isinstance(fact, TurnStarted)
    )
    return started, [(number, fact) for number, fact in facts[place:] if isinstance(fact, Answered)]


def is_as_answered(facts: Path) -> bool:
    """Return whether no seat and no rule was changed since the last answer."""
    since = itertools.takewhile(
        lambda fact: not isinstance(fact, Answered), (fact for _, fact in reversed(facts))
    )
    return not any(isinstance(fact, (SeatChanged, RulesChanged)) for fact in since)


def rules_at_rest(facts: Path) -> tuple[InjectionRule, ...]:
    """Return the rules as they were when the turn came to rest: a later switch counts from the next call on."""
    rules: tuple[InjectionRule, ...] = ()
    at_rest = rules
    for _, fact in facts:
        if isinstance(fact, RulesChanged):
            rules = fact.rules
        elif isinstance(fact, Answered | TurnStarted):
            at_rest = rules
    return at_rest


async def restored(
    ended: Sequence[tuple[int, TurnEnded]],
    initial_state: JsonObject,
    earlier: EarlierData,
    where: dict[str, str],
    events_of: Callable[[int, TurnEnded], list[Event]],
) -> Ground:
    """Return the services as they were after some turns.

    Args:
        ended: How the turns ended, with the numbers of the facts.
        initial_state: What the session's state held at first.
        earlier: The artifacts and the memory that there were at first.
        where: The session in ADK: its app, user and id.
        events_of: Gives the events of a turn.
    """
    ground = Ground(WatchedSessions(), WatchedArtifacts(), WatchedMemory(), where)
    events = [event for number, fact in ended for event in events_of(number, fact)]
    state = ended[-1][1].state if ended else initial_state
    await ground.sessions.restore(where, copied(state), events)
    await give_earlier(earlier, ground.artifacts, ground.memory, where)
    ground.memory.taken()  # what the agent remembers in its turns is noted alone
    for _, fact in ended:
        for saved in fact.artifacts:
            part, more = types.Part.model_validate(copied(saved.part)), saved.custom_metadata
            await ground.artifacts.save_artifact(
                **where, filename=saved.filename, artifact=part, custom_metadata=more
            )
        await ground.memory.restore(fact.memories, where, events)
    return ground


_LOOK_SECONDS = 0.25
_PATIENCE, _LONGEST = 20, 240
"""So many looks in a row an agent may not move before it is said to stand: where nothing of it is under way, and where a timer or a thread of it is.

Looks and not seconds: what blocks the loop, or the whole machine, lets no look pass.
"""

# Instructions and settings may be changed between two runs of an agent without harm to what is recorded.
_HARMLESS = frozenset({"system", "config"})


class TurnReplay:
    """The answers of a turn that the journal holds, and how far they are released.

    An answer that was there at once is given again in the moment in which it is asked for; all others wait for their
    turn, each until everything before it has settled. `keys` are those of all of them; `asked` is set with each
    request; `is_done` says that all are released, and that what followed from them has settled. `models_ahead` counts
    the models' answers that are left, and `unread` holds what models were shown that nobody looked into, by key.

    Args:
        turn: The turn.
        recorded: The answers in order, each with its number in the journal.
        as_then: No seat and no rule was changed since the last of them.
    """

    def __init__(self, turn: TurnRun, recorded: Sequence[tuple[int, Answered]], *, as_then: bool) -> None:
        # The turn holds this, so holding it too would leave both to the garbage collector.
        self._turn: TurnRun = weakref.proxy(turn)
        self._recorded, self._as_then = recorded, as_then
        self.keys = {fact.key for _, fact in recorded}
        self.models_ahead = sum(isinstance(fact, ModelAnswered) for _, fact in recorded)
        self.unread: dict[str, Later[Any]] = {}
        self.asked = asyncio.Event()
        self.is_done = not self.keys
        self._next = 0
        self._agent_has_ended = False

    @property
    def released(self) -> int | None:
        """The number of the fact that was released last, -1 before the first; None where all are released."""
        if self._next >= len(self._recorded):
            return None
        return self._recorded[self._next - 1][0] if self._next else -1

    async def run(self) -> None:
        """Release what the journal holds, in its order, checking that it still fits.

        Raises:
            Diverged: The agent asks for something else than it did.
        """
        turn = self._turn
        while self._next < len(self._recorded):
            number, fact = self._recorded[self._next]
            waiting = await self._await_request(self._next)
            if waiting is None:
                continue
            await turn.settling.settle()
            self._compare(number, fact, waiting)
            self._released(fact)
            waiting.future.set_result(fact)
        await turn.settling.settle()
        turn.caught_up.set()
        self.is_done = True
        self.unread.clear()
        turn.changed()

    def at_once(self, waiting: WaitingRequest[Any]) -> Answered | None:
        """Return the answer that a request had at once, if it is the next one and fits; else it comes in its turn."""
        if self._next >= len(self._recorded):
            return None
        number, fact = self._recorded[self._next]
        if not fact.at_once or fact.key != waiting.key:
            return None
        try:
            self._compare(number, fact, waiting)
        except Diverged:
            return None  # `run` finds that out too, and tells
        self._released(fact)
        self.asked.set()
        return fact

    def show(self, request: LlmRequest, key: str) -> None:
        """See to it that a model finds in its request all that it is shown `Later`; one that has answered is not shown it again."""
        contents: Any = request.contents
        if key in self.keys and contents.is_unread:
            self.unread[key] = contents
        else:
            request.contents = made(contents)

    def agent_ended(self, _task: object) -> None:
        """Stop waiting for requests: none will come."""
        self._agent_has_ended = True
        self.asked.set()

    def _released(self, fact: Answered) -> None:
        self._next += 1
        self.models_ahead -= isinstance(fact, ModelAnswered)
        self._turn.passed(fact)
        if self._next == len(self._recorded) and self._as_then:
            # What follows from the last answer was answered at once where it could be, so it is again.
            self._turn.caught_up.set()

    async def _await_request(self, place: int) -> WaitingRequest[Any] | None:
        """Wait for a recorded request, as long as the agent is on its way: on a busy machine that may take a while.

        None says that it was asked and answered at once.

        Raises:
            Diverged: The agent has ended, or does not move any more.
        """
        turn, looks = self._turn, 0
        number, fact = self._recorded[place]
        while (waiting := turn.waiting.get(fact.key)) is None and self._next == place:
            self.asked.clear()
            before = turn.settling.activity
            with contextlib.suppress(TimeoutError):
                if not self._agent_has_ended:
                    await asyncio.wait_for(self.asked.wait(), _LOOK_SECONDS)
            looks = looks + 1 if turn.settling.activity == before else 0
            stands = looks >= (_LONGEST if turn.settling.is_under_way() else _PATIENCE)
            if (stands or self._agent_has_ended) and fact.key not in turn.waiting and self._next == place:
                raise Diverged(number, fact.key, ["never asked"], sorted(turn.waiting))
        return waiting

    def _compare(self, number: int, fact: Answered, waiting: WaitingRequest[Any]) -> None:
        differs = [
            part for part, known in fact.digests.parts.items() if waiting.parts.get(part, known) != known
        ]
        if isinstance(fact, ToolAnswered) and canonical(fact.arguments) != canonical(waiting.arguments):
            differs.append("arguments")
        if fact.digests.chain != self._turn.chain:
            differs.append("earlier events")
        if harmless := sorted(_HARMLESS.intersection(differs)):
            words = " and ".join(harmless)
            self._turn.note_problem(f"the agent's {words} changed since step {number} was recorded")
        if serious := [part for part in differs if part not in _HARMLESS]:
            if serious == ["contents"]:
                number, fact = self._first_that_differs(number, fact)
            raise Diverged(number, fact.key, serious)

    def _first_that_differs(self, number: int, fact: Answered) -> tuple[int, Answered]:
        """Look for the first model that was shown something else: what nobody looked into may have differed before."""
        for before, each in self._recorded[: self._next]:
            contents = self.unread.get(each.key)
            if contents is not None and contents_part(contents) != each.digests.parts.get("contents"):
                return before, each
        return number, fact
