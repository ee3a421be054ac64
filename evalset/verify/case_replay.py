"""Replays one case: the queries of its golden, one after the other, with ADK's own runner and without the agent's world.

`replayed` makes a runner of the agent with one plugin, which answers as the hermetic environment does and keeps what the models say (`_Listening`).
Where an import is replayed, `PassedCallbacks` notices what the agent's callbacks change a second time: its source kept what they had made already.
`run_to_end` runs such coroutines from anywhere: in a thread without an event loop, and in one whose loop runs. What an agent began does not
keep a loop from its end.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.evaluation.eval_case import EvalCase, Invocation
from google.adk.evaluation.evaluation_generator import EvaluationGenerator
from google.adk.events.event import Event
from google.adk.memory import InMemoryMemoryService
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.telemetry.context import ContentCapturingMode, TelemetryConfig
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from evalset.recorded.recording import (
    Author,
    MadeAnswer,
    RecordedCall,
    RecordedCase,
    RecordedEnvironment,
    RecordedModelTurn,
    is_imported,
)
from evalset.replay.case_following import IncomingCall
from evalset.replay.hermetic_environment import HermeticEnvironment, UnrecordedCallError
from evalset.replay.model_choice import Policy
from evalset.replay.session_replay import SessionReplay
from evalset.verify.results import PLAY_RECORDED, Players
from evalset.verify.verify_request import PATIENCE
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.load_advice import absent_package, lacks_credentials
from simulator.agents.load_failure import AbsentPackageError, absent_words
from simulator.base.adk_names import lasting
from simulator.base.json_values import JsonObject, copied, same
from simulator.base.secret_masking import error_words
from simulator.runtime.adk.adk_private import invocation_of
from simulator.runtime.adk.boundaries import senders
from simulator.runtime.adk.codec import jsonable, written_error
from simulator.runtime.adk.watched_services import WatchedSessions
from simulator.runtime.plugin.call_claims import within
from simulator.runtime.turns.waiting_request import Call


class CaseReplay(NamedTuple):
    """The replay of a case: an invocation for each turn that was begun, and what its models answered; `error` where it ended early."""

    turns: list[Invocation]
    models: list[tuple[RecordedModelTurn, ...]]
    final_state: JsonObject
    unrecorded: tuple[str, ...]
    made: tuple[MadeAnswer, ...]
    error: str
    seconds: float
    asked: tuple[tuple[int, str, JsonObject], ...] = ()
    began: float = 0.0
    refused_hosts: tuple[str, ...] = ()
    refused_calls: tuple[str, ...] = ()
    unasked: str = ""
    inner: tuple[tuple[int, IncomingCall], ...] = ()
    otherwise: str = ""
    ran: tuple[tuple[int, IncomingCall], ...] = ()
    """When it began, in seconds since the epoch; `asked` holds each call of a tool, with the number of its turn and its arguments;
    `refused_calls` says which calls the agent's tools do not accept any more, `unasked` why a model could not be asked, a tool set not listed, or what an imported trace does not tell; `inner` holds the
    calls inside of agent tools, `otherwise` what the agent does otherwise than recorded though no golden tells it, `ran` the calls of agent tools as
    they came to their agents."""


class ReplayOptions(NamedTuple):
    """The options of a replay: who answers for the agents' models, and calls that were not recorded; how long it may take, and whether tools take their time."""

    models: Players = "real"
    unrecorded: Policy = "fail"
    seconds: float = PATIENCE
    latencies: bool = False

    @property
    def quiet(self) -> ReplayOptions:
        """The same with the recorded models, and without waiting."""
        return self._replace(models="recorded", latencies=False)


_USER, _ROUTE = "user", "route"
_QUIET = RunConfig(
    telemetry=TelemetryConfig(
        genai_semconv_stability_opt_in="stable", capture_message_content=ContentCapturingMode.NO_CONTENT
    )
)
"""Writing down each request for telemetry takes a third of a replay, and says nothing of the agent."""


_MISSING_KEY = re.compile(r"Context variable not found: `([^`]+)`")
"""ADK's own words."""


Again: TypeAlias = Callable[[EvalCase, RecordedCase], Awaitable[CaseReplay]]
"""Replays a case once more, in the way that it was replayed."""


async def replayed(
    case: EvalCase, recorded: RecordedCase, config: SimulatedAgentConfig, ways: ReplayOptions
) -> CaseReplay:
    """Replay a case in a session of its own; whatever the agent raises ends it, and is told as its error.

    Args:
        case: The case, for what the user says.
        recorded: What was recorded for it.
        config: The agent.
        ways: How it is replayed.
    """
    replay = _Replay(case, recorded, config, ways)
    began, moment = time.perf_counter(), time.time()
    try:
        async with asyncio.timeout(ways.seconds):
            error = await replay.run()
    except TimeoutError:
        error = f"the run took longer than {ways.seconds:g} s"
    return CaseReplay(
        turns=replay.turns,
        models=replay.models,
        final_state=await replay.final_state(),
        unrecorded=tuple(replay.environment.missed),
        made=tuple(replay.environment.made),
        error=error,
        seconds=time.perf_counter() - began,
        asked=tuple(replay.environment.asked),
        began=moment,
        refused_hosts=replay.environment.refused_hosts,
        refused_calls=tuple(replay.environment.refused),
        unasked=_unasked(replay.environment, config),
        inner=tuple(replay.environment.inner),
        otherwise="".join(replay.environment.otherwise[:1]),
        ran=tuple(replay.environment.ran),
    )


def _unasked(environment: _Listening, config: SimulatedAgentConfig) -> str:
    lacking = filter(None, [absent_words(config.absent)])
    told = (*environment.unlisted, *environment.untold, *environment.passed.twice, *lacking)
    return environment.unasked or "; ".join(told)


class _Replay:
    def __init__(
        self, case: EvalCase, recorded: RecordedCase, config: SimulatedAgentConfig, ways: ReplayOptions
    ) -> None:
        self._case, self._recorded, self._origin = case, recorded, config.origin
        cases = RecordedEnvironment(cases={case.eval_id: recorded})
        self.environment = _Listening(
            cases,
            case=case.eval_id,
            models=ways.models,
            unrecorded=ways.unrecorded,
            latencies=ways.latencies,
            name="verified_environment",
        )
        self.environment.is_imported = is_imported(recorded)
        self.environment.advice = f". {PLAY_RECORDED}" if any(turn.models for turn in recorded.turns) else ""
        self._sessions = WatchedSessions()
        self._runner = Runner(
            **_agent_of(config, [self.environment], ways.models),
            session_service=self._sessions,
            artifact_service=InMemoryArtifactService(),
            memory_service=InMemoryMemoryService(),
        )
        self._session: dict[str, Any] = {}
        self.turns: list[Invocation] = []
        self.models: list[tuple[RecordedModelTurn, ...]] = []

    async def run(self) -> str:
        """Replay all turns; return what ended it early."""
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
            error = error_words(_of_ours(raised))
            lacking = _lacking(raised, error, self._origin) or _unknown_state(raised, self._recorded)
            self.environment.unasked = self.environment.unasked or lacking
        finally:
            self.turns.append(_invocation(query, _with_raised(events, self.environment.raised)))
            self.models.append(self.environment.taken())
        return error or _error_told(events)

    async def final_state(self) -> JsonObject:
        """Return the session's state, without what lasts one invocation only."""
        session = await self._sessions.get_session(app_name=self._runner.app_name, **self._session)
        state = session.state if session is not None else {}
        written: JsonObject = jsonable(lasting(state))
        told = (self._recorded.final_state or {}).get(_ROUTE)
        if self._recorded.is_partial and told in self.environment.routes:
            written.setdefault(_ROUTE, told)  # its maker wrote where a node led as the state that it set
        return written


def _agent_of(config: SimulatedAgentConfig, plugins: list[BasePlugin], models: Players) -> dict[str, Any]:
    """Return what a runner is made of: the agent with these plugins first, and its app's own, but for one that replays already.

    Recorded models read no events, so that nothing sums them up.
    """
    if not isinstance(config.agent, App):
        return {"app_name": config.app_name, "agent": config.root_agent, "plugins": plugins}
    left_out = senders(config.agent)
    own = [
        plugin
        for plugin in config.agent.plugins
        if not isinstance(plugin, HermeticEnvironment) and plugin not in left_out
    ]
    app = config.agent.model_copy(update={"plugins": [*plugins, *own]})
    if models == "recorded":
        app = app.model_copy(update={"events_compaction_config": None})
    return {"app": app, "app_name": config.app_name}


def _invocation(query: types.Content, events: list[Event]) -> Invocation:
    """Make one invocation of a turn's events, as ADK's evaluation does."""
    if not events:
        return Invocation(user_content=query)
    asked = Event(author=_USER, content=query, invocation_id=events[0].invocation_id)
    made = EvaluationGenerator.convert_events_to_eval_invocations([asked, *events])
    return made[0]


def _with_raised(events: list[Event], raised: Mapping[str, JsonObject]) -> list[Event]:
    """Put behind each call what it raised, where ADK has no event that says it, as a golden holds it: a node that was retried."""
    responded = {each.id for event in events for each in event.get_function_responses()}
    told: list[Event] = []
    for event in events:
        told.append(event)
        for call in event.get_function_calls():
            if call.id and call.id in raised and call.id not in responded:
                response = types.FunctionResponse(id=call.id, name=call.name, response=raised[call.id])
                content = types.Content(role="user", parts=[types.Part(function_response=response)])
                told.append(event.model_copy(update={"content": content}))
    return told


def _of_ours(raised: BaseException) -> BaseException:
    """Return the error of a replay itself where ADK has put words about its plugin around it."""
    cause = raised.__cause__
    return cause if isinstance(cause, UnrecordedCallError) else raised


def _lacking(raised: BaseException, words: str, origin: str) -> str:
    """Say what the agent's own code lacks here, where its error is about that; empty where it is not.

    Args:
        raised: What it raised.
        words: The same in words.
        origin: The agent's folder or file; empty where it has none.
    """
    if lacks_credentials(words):
        return f"the agent's own code asks a service, and finds no credentials for it. {words}"
    missing = next((each for each in (raised, raised.__cause__) if isinstance(each, ImportError)), None)
    if missing is not None and origin and (module := absent_package(missing, Path(origin))):
        return f"the agent's own code needs {module}, and it is not installed. {words}"
    return words if isinstance(raised, AbsentPackageError) else ""


def _unknown_state(raised: BaseException, recorded: RecordedCase) -> str:
    """Say which key of the state an instruction needs, where an imported trace does not tell what the state was."""
    missing = (
        _MISSING_KEY.match(str(raised.args[0])) if isinstance(raised, KeyError) and raised.args else None
    )
    if missing is None or not is_imported(recorded) or recorded.final_state is not None:
        return ""
    return f"an instruction needs {missing[1]!r} of the state, and the imported trace does not contain what the state was"


def _error_told(events: list[Event]) -> str:
    """Return the error that the last event tells, as of a model that refused."""
    last = events[-1] if events else None
    if last is None or not last.error_code or (last.content and last.content.parts):
        return ""
    return f"the model responded with the error {last.error_code}: {last.error_message or 'no reason given'}"


class _Listening(HermeticEnvironment):
    """Replays what was recorded, and keeps what the agents' models answer, as a recording holds it."""

    restores_state = False  # the state is the golden's, which may have been edited
    advice = ""
    is_imported = False
    _heard: tuple[RecordedModelTurn, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.raised: dict[str, JsonObject] = {}
        self.asked: list[tuple[int, str, JsonObject]] = []
        self.unasked = ""
        self.passed = PassedCallbacks()
        self._answered: set[str] = set()
        self._asks_models = kwargs.get("models") == "real"
        self.inner: list[tuple[int, IncomingCall]] = []
        self._turn = 0
        self.routes: list[Any] = []

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> None:
        """Keep what a call raised, by its id."""
        del tool, tool_args
        if tool_context.function_call_id:
            written = written_error(error)
            told: JsonObject = {"type": written.short_type, "message": written.message}
            self.raised[tool_context.function_call_id] = {"error": told}

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> None:
        """Keep why a model could not be asked; what the recording says in its place, it says itself."""
        if self._asks_models and not self.unasked:
            name = llm_request.model or "the model"
            words = error_words(error).removesuffix(".")
            self.unasked = f"{callback_context.agent_name} could not ask {name}: {words}{self.advice}"

    async def recorded(self, replayed: SessionReplay, question: Call) -> RecordedCall:
        """Answer a call as it was recorded, and keep what was asked."""
        self.asked.append((self._turn, question.name, question.arguments))
        if inside := within():
            self.inner.append((self._turn, IncomingCall(question.name, question.arguments, inside)))
        else:
            self._answered.add(question.call_id)
        return await super().recorded(replayed, question)

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Keep a whole answer."""
        if not llm_response.partial:
            if self.is_imported and not self._asks_models and not within():
                self.passed.model_said(callback_context, llm_response.content)
            response = llm_response.model_dump(mode="json", by_alias=True, exclude_none=True)
            turn = RecordedModelTurn(
                agent=callback_context.agent_name,
                within=within(),
                responses=(response,),
                author=Author(source="model"),
            )
            self._heard = (*self._heard, turn)
        return None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> None:
        """Note what a tool responded."""
        del tool, tool_args
        if self.is_imported and tool_context.function_call_id in self._answered:
            self.passed.tool_gave(tool_context, result)

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> None:
        """Note what became of what a model said, or a tool responded."""
        await super().on_event_callback(invocation_context=invocation_context, event=event)
        if event.actions.route is not None:
            self.routes.append(jsonable(event.actions.route))
        if self.is_imported and not within():
            self.passed.happened(event, self._turn)

    def taken(self) -> tuple[RecordedModelTurn, ...]:
        """Return what was heard since the last time."""
        turns, self._heard = self._heard, ()
        self._turn += 1
        return turns


_TWICE = (
    "changed what the import contains as it was changed before, so the two cannot be compared. To compare them, play the session in the studio: it records what comes "
    "before callbacks"
)
_MODEL, _TOOL = "after_model_callback", "after_tool_callback"


class PassedCallbacks:
    """Compares what recorded models and tools gave with what the events of a run hold of it.

    Attributes:
        changing: The callbacks that changed something, in words, each with the first turn in which it did, from 0.
    """

    def __init__(self) -> None:
        self.changing: dict[str, int] = {}
        self._said: dict[str, tuple[JsonObject, str]] = {}
        self._given: dict[str, tuple[JsonObject, str]] = {}

    def model_said(self, context: Any, content: types.Content | None) -> None:
        """Take in what the model of an agent said, before a callback gets it."""
        invocation = invocation_of(context)
        words = _words(invocation.agent, invocation, _MODEL)
        self._said[invocation.agent.name] = _said(content), words

    def tool_gave(self, context: Any, response: Any) -> None:
        """Take in what a tool responded, before a callback gets it."""
        invocation = invocation_of(context)
        value = response if isinstance(response, dict) else {"result": response}
        words = _words(invocation.agent, invocation, _TOOL)
        self._given[context.function_call_id or ""] = jsonable(value), words

    @property
    def twice(self) -> tuple[str, ...]:
        """Why a run cannot be compared with what was imported, in sentences."""
        return tuple(f"turn {turn + 1}: {words} {_TWICE}" for words, turn in self.changing.items())

    def happened(self, event: Event, turn: int) -> None:
        """Compare an event of a turn with what was taken in."""
        for answer in event.get_function_responses():
            self._compare(self._given.pop(answer.id or "", None), jsonable(answer.response or {}), turn)
        if not event.partial and not event.get_function_responses():
            self._compare(self._said.pop(event.author, None), _said(event.content), turn)

    def _compare(self, given: tuple[JsonObject, str] | None, now: JsonObject, turn: int) -> None:
        if given is not None and given[1] and not same(given[0], now):
            self.changing.setdefault(given[1], turn)


def _said(content: types.Content | None) -> JsonObject:
    """Return the texts and the calls of a model's turn, without the ids that ADK draws."""
    parts = (content.parts if content else None) or []
    calls = [part.function_call for part in parts if part.function_call]
    return {
        "texts": [part.text for part in parts if part.text],
        "calls": [[call.name, jsonable(call.args or {})] for call in calls],
    }


def _words(agent: Any, invocation: Any, kind: str) -> str:
    """Name the callbacks of a kind that an agent and the plugins have; empty where there are none."""
    own = getattr(agent, kind, None) or []
    listed = own if isinstance(own, list) else [own]
    names = [getattr(each, "__name__", type(each).__name__) for each in listed]
    names += [
        f"plugin {plugin.name}"
        for plugin in invocation.plugin_manager.plugins
        if getattr(type(plugin), kind) is not getattr(BasePlugin, kind)
        and not isinstance(plugin, HermeticEnvironment)
    ]
    return f"the {kind} of {agent.name} ({', '.join(names)})" if names else ""


Result = TypeVar("Result")

ENDING = 10.0
"""Seconds that what an agent began, such as the server of its tools, may take to end once its replays are done."""

_KILLED = 2.0
"""Seconds that it may take then, when its processes were killed."""

_LOG = logging.getLogger(__name__)
_left: list[Any] = []
"""Loops with tasks that do not end: let go of, each would be complained about."""

_Loop: Any = getattr(
    asyncio, "ProactorEventLoop", asyncio.SelectorEventLoop
)  # the former is of Windows alone


class _WatchedLoop(_Loop):  # type: ignore[misc]  # which class that is depends on the system
    """A loop that knows its worker threads and the processes that were started on it."""

    def __init__(self) -> None:
        super().__init__()
        self.workers = ThreadPoolExecutor(thread_name_prefix="asyncio")
        self.set_default_executor(self.workers)
        self.started: list[asyncio.SubprocessTransport] = []

    async def subprocess_exec(self, *given: Any, **named: Any) -> Any:
        """Start a process, and remember it."""
        found = await super().subprocess_exec(*given, **named)
        self.started.append(found[0])
        return found

    async def subprocess_shell(self, *given: Any, **named: Any) -> Any:
        """Start a shell, and remember it."""
        found = await super().subprocess_shell(*given, **named)
        self.started.append(found[0])
        return found


def run_to_end(work: Coroutine[Any, Any, Result]) -> Result:
    """Run in this thread; in one of its own where this one has a loop that runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_run, work).result()


def _run(work: Coroutine[Any, Any, Result]) -> Result:
    runner = asyncio.Runner(loop_factory=_WatchedLoop)
    try:
        return runner.run(work)
    finally:
        loop: Any = runner.get_loop()
        left = _still_running(loop)
        if left:
            _left.append((runner, loop))
            asyncio.set_event_loop(None)
            _LOG.warning("left running after the replay, as it does not end: %s", ", ".join(left))
        else:
            runner.close()


def _still_running(loop: _WatchedLoop) -> list[str]:
    """End what was begun on a loop, at last by killing its processes; return what does not end."""
    tasks = _cancelled(loop, ENDING)
    if tasks:
        for process in loop.started:
            with suppress(ProcessLookupError):
                process.kill()
        tasks = _cancelled(loop, _KILLED)
    if tasks:
        return [getattr(task.get_coro(), "__qualname__", task.get_name()) for task in tasks]
    waiting = threading.Thread(target=loop.workers.shutdown, name="asyncio-ending", daemon=True)
    waiting.start()
    waiting.join(ENDING)
    return ["a worker thread"] if waiting.is_alive() else []


def _cancelled(loop: _WatchedLoop, seconds: float) -> set[asyncio.Task[Any]]:
    """Cancel all tasks of a loop, and then end its generators; return those that are not done after some seconds."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    pending = _not_done(loop, tasks, seconds) if tasks else set()
    return pending or _not_done(loop, {loop.create_task(loop.shutdown_asyncgens())}, seconds)


def _not_done(loop: _WatchedLoop, tasks: set[asyncio.Task[Any]], seconds: float) -> set[asyncio.Task[Any]]:
    return set(loop.run_until_complete(asyncio.wait(tasks, timeout=seconds))[1])
