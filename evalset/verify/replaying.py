"""Replays one case: the queries of its golden, one after the other, with ADK's own runner and without the agent's world."""

from __future__ import annotations

import asyncio
import time
from typing import Any, NamedTuple

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.evaluation.eval_case import EvalCase, Invocation
from google.adk.evaluation.evaluation_generator import EvaluationGenerator
from google.adk.events.event import Event
from google.adk.memory import InMemoryMemoryService
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.telemetry.context import ContentCapturingMode, TelemetryConfig
from google.genai import types

from evalset.recorded.model import Author, RecordedCase, RecordedEnvironment, RecordedModelTurn
from evalset.replay.plugin import HermeticEnvironment
from evalset.replay.unrecorded import MadeAnswer, Policy
from evalset.verify.results import Players
from evalset.verify.running import PATIENCE
from simulator.agent_config import SimulatedAgentConfig
from simulator.jsonvalue import JsonObject, copied
from simulator.runtime.encoding import jsonable
from simulator.runtime.services import WatchedSessions
from simulator.runtime.stand_in.claiming import within

_TEMPORARY = "temp:"
_USER = "user"
_QUIET = RunConfig(
    telemetry=TelemetryConfig(
        genai_semconv_stability_opt_in="stable", capture_message_content=ContentCapturingMode.NO_CONTENT
    )
)
"""Writing down each request for telemetry takes a third of a replay, and says nothing of the agent."""


class Replay(NamedTuple):
    """What a replay gave: an invocation for each turn that was begun, and what its models answered; `error` where it ended early."""

    turns: list[Invocation]
    models: list[tuple[RecordedModelTurn, ...]]
    final_state: JsonObject
    unrecorded: tuple[str, ...]
    made: tuple[MadeAnswer, ...]
    error: str
    seconds: float


class Ways(NamedTuple):
    """How a case is replayed: who answers for the agents' models, and calls that were not recorded; how long it may take."""

    models: Players = "real"
    unrecorded: Policy = "fail"
    seconds: float = PATIENCE


async def replayed(
    case: EvalCase, recorded: RecordedCase, config: SimulatedAgentConfig, ways: Ways
) -> Replay:
    """Replay a case in a session of its own; whatever the agent raises ends it, and is told as its error.

    Args:
        case: The case, for what the user says.
        recorded: What was recorded for it.
        config: The agent.
        ways: How it is replayed.
    """
    replay = _Replay(case, recorded, config, ways)
    began = time.perf_counter()
    try:
        async with asyncio.timeout(ways.seconds):
            error = await replay.run()
    except TimeoutError:
        error = f"it took more than {ways.seconds:g} seconds"
    return Replay(
        turns=replay.turns,
        models=replay.models,
        final_state=await replay.final_state(),
        unrecorded=tuple(replay.environment.missed),
        made=tuple(replay.environment.made),
        error=error,
        seconds=time.perf_counter() - began,
    )


class _Replay:
    def __init__(
        self, case: EvalCase, recorded: RecordedCase, config: SimulatedAgentConfig, ways: Ways
    ) -> None:
        self._case, self._recorded = case, recorded
        cases = RecordedEnvironment(cases={case.eval_id: recorded})
        self.environment = _Listening(
            cases,
            case=case.eval_id,
            models=ways.models,
            unrecorded=ways.unrecorded,
            name="verified_environment",
        )
        self._sessions = WatchedSessions()
        self._runner = Runner(
            **_agent_of(config, [self.environment]),
            session_service=self._sessions,
            artifact_service=InMemoryArtifactService(),
            memory_service=InMemoryMemoryService(),
        )
        self._session: dict[str, Any] = {}
        self.turns: list[Invocation] = []
        self.models: list[tuple[RecordedModelTurn, ...]] = []

    async def run(self) -> str:
        """Replay all turns; give what ended it early."""
        given = self._case.session_input
        session = await self._sessions.create_session(
            app_name=self._runner.app_name,
            user_id=(given.user_id if given else "") or self._recorded.user_id,
            state=copied(jsonable(given.state if given else self._recorded.state)),
            session_id=given.session_id if given else None,
        )
        self._session = {"user_id": session.user_id, "session_id": session.id}
        for invocation in self._case.conversation or ():
            if error := await self._turn(invocation.user_content):
                return error
        return ""

    async def _turn(self, query: types.Content) -> str:
        """Replay one turn, and keep what came of it, up to where it failed."""
        events: list[Event] = []
        error = ""
        try:
            message = query.model_copy(deep=True)
            running = self._runner.run_async(**self._session, new_message=message, run_config=_QUIET)
            async for event in running:
                events.append(event)  # noqa: PERF401 - what came before an exception is kept
        except (Exception, SystemExit) as raised:  # noqa: BLE001 - an agent's own code may raise anything; it is told
            error = f"{type(raised).__name__}: {raised}"
        finally:
            self.turns.append(_invocation(query, events))
            self.models.append(self.environment.taken())
        return error or _error_told(events)

    async def final_state(self) -> JsonObject:
        """Give the session's state, without what lasts one invocation only."""
        session = await self._sessions.get_session(app_name=self._runner.app_name, **self._session)
        state = session.state if session is not None else {}
        kept = {key: value for key, value in state.items() if not key.startswith(_TEMPORARY)}
        written: JsonObject = jsonable(kept)
        return written


def _agent_of(config: SimulatedAgentConfig, plugins: list[BasePlugin]) -> dict[str, Any]:
    """Give what a runner is made of: the agent with these plugins first, and its app's own, but for one that replays already."""
    if not isinstance(config.agent, App):
        return {"app_name": config.app_name, "agent": config.root_agent, "plugins": plugins}
    own = [plugin for plugin in config.agent.plugins if not isinstance(plugin, HermeticEnvironment)]
    app = config.agent.model_copy(update={"plugins": [*plugins, *own]})
    return {"app": app, "app_name": config.app_name}


def _invocation(query: types.Content, events: list[Event]) -> Invocation:
    """Make one invocation of a turn's events, as ADK's evaluation does."""
    if not events:
        return Invocation(user_content=query)
    asked = Event(author=_USER, content=query, invocation_id=events[0].invocation_id)
    made = EvaluationGenerator.convert_events_to_eval_invocations([asked, *events])
    return made[0]


def _error_told(events: list[Event]) -> str:
    """Give the error that the last event tells, as of a model that refused."""
    last = events[-1] if events else None
    if last is None or not last.error_code or (last.content and last.content.parts):
        return ""
    return f"the model answered with the error {last.error_code}: {last.error_message or 'no reason'}"


class _Listening(HermeticEnvironment):
    """Replays what was recorded, and keeps what the agents' models answer, as a recording holds it."""

    _heard: tuple[RecordedModelTurn, ...] = ()

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Keep a whole answer."""
        if not llm_response.partial:
            response = llm_response.model_dump(mode="json", by_alias=True, exclude_none=True)
            turn = RecordedModelTurn(
                agent=callback_context.agent_name,
                within=within(),
                responses=(response,),
                author=Author(source="model"),
            )
            self._heard = (*self._heard, turn)
        return None

    def taken(self) -> tuple[RecordedModelTurn, ...]:
        """Give what was heard since the last time."""
        turns, self._heard = self._heard, ()
        return turns
