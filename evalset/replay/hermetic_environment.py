"""A plugin that replays recorded environments: no real tool runs, and each session gets its own case's answers.

It is an ADK plugin, so it works wherever ADK's runner does. Before a turn it finds the cases that fit what the user has said so far
(`session_following`); with each call of a tool some of them fall away. A call is answered as the case recorded it, with what the tool did beside its
answer. A call that no case holds follows the policy: it fails and names the nearest, or is drafted by the pipeline that answers live calls too
(`session_replay`). With recorded models the agent's turns are answered in the same way, and connections to other machines are refused.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from google.adk.agents import LlmAgent
from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import Session
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import PrivateAttr

from evalset.recorded.known_agents import gone_agent, gone_tool, misfit, moved_tool
from evalset.recorded.recorded_turns import agents_that_ran
from evalset.recorded.recording import MadeAnswer, RecordedCall, RecordedEnvironment, is_imported
from evalset.recorded.recording_files import read_environment
from evalset.replay.case_following import (
    AmbiguousError,
    IncomingCall,
    OtherwiseError,
    UnrecordedError,
    UntoldError,
)
from evalset.replay.model_choice import Policy
from evalset.replay.session_following import (
    FreeSession,
    SessionFollowed,
    follow,
    running_eval_id,
    runs_scenario,
)
from evalset.replay.session_replay import RecordedConversation, SessionReplay, words_of
from simulator.agents.agent_directory import runs_elsewhere
from simulator.agents.load_failure import USES, AbsentPackageError
from simulator.base.json_values import JsonObject, copied
from simulator.environment.world.tool_settings import TRANSFER
from simulator.facts import NOTHING_EARLIER
from simulator.runtime.adk.adk_private import (
    Run,
    has_own_code,
    invocation_of,
    is_unknown,
    let_plugins_go_on,
    runs_agents,
)
from simulator.runtime.adk.boundaries import ToolBoundaryCall, seat_agent, seat_agents_elsewhere
from simulator.runtime.adk.codec import event_json, jsonable, made_error
from simulator.runtime.adk.outside_work import UNLISTED, AllowedHosts
from simulator.runtime.adk.tool_guards import with_set
from simulator.runtime.adk.turn_context import MODEL_STAND_IN
from simulator.runtime.adk.watched_services import give_earlier
from simulator.runtime.knowledge.knowledge import described, shape_of
from simulator.runtime.plugin.adk_plugin import failed_unseen, watched
from simulator.runtime.plugin.call_claims import Claiming, innermost_call, is_inside, within
from simulator.runtime.plugin.session_play import SessionName, Sessions
from simulator.runtime.turns.outcomes import as_tools_give, repeated
from simulator.runtime.turns.waiting_request import Call
from simulator.session.adk_event_fields import USER_AUTHOR

MOST_SESSIONS = 10_000
"""Of how many sessions of one service it is kept how far they are."""

_TAKE_TIME = frozenset({"real", "injected", "recorded", "model"})
"""Whose answers take a time of their own: tools, rules, recordings and models, and no person with a draft before them."""

Players: TypeAlias = Literal["real", "recorded"]
_LOG = logging.getLogger(__name__)
_STILL = 200
"""After so many turns of the event loop in which nothing was answered, a branch that would come later goes on all the same."""


class UnrecordedCallError(RuntimeError):
    """The agent asked for what was not recorded; the text names the case, what is nearest, and what differs."""


class ToolsChangedError(UnrecordedCallError):
    """A recorded call does not fit the tools that the agent has now; the text names the tool, and what it does not accept."""


class _Answers(Claiming[SessionReplay]):
    """Answers calls from the recording."""

    def __init__(self, plugin: HermeticEnvironment) -> None:
        super().__init__(Sessions(lambda: SessionReplay(plugin.environment_data), MOST_SESSIONS))
        self._plugin = plugin

    def lists(self, tool_name: str) -> bool:  # noqa: ARG002 - what runs agents runs them, and those are replayed
        return False

    def takes_over(self, tool_name: str, context: Any) -> bool:
        return self._plugin.answers_agent_tool(self.session(context), tool_name)

    def may_answer(self, tool: BaseTool) -> bool:  # noqa: ARG002 - nothing real runs
        return True

    async def answered(self, call: ToolBoundaryCall) -> Any:
        question = Call.of(call.tool, call.arguments, call.context)
        replayed = self.session(call.context)
        if runs_agents(call.tool):
            runs, told = self._plugin.runs_agent(replayed, question)
            if runs:
                return await _run_and_told(call, told)
        recorded = await self._plugin.recorded(replayed, question)
        self._plugin.check_confirmed(replayed, recorded, call.context)
        self._plugin.check_waits(recorded, call.tool)
        await asyncio.sleep(self._plugin.latency_of(recorded))
        await repeated(recorded.effects, call.context)
        return _given(recorded)

    def chose(self, tool: BaseTool) -> bool:  # noqa: ARG002 - nothing real runs
        return False

    def told_refused(self, text: str) -> None:
        self._plugin.missed.append(text)

    async def by_hand(self, tool: BaseTool, arguments: dict[str, Any], context: Any) -> dict[str, Any] | None:
        given = _given(await self._plugin.recorded(self.session(context), Call.of(tool, arguments, context)))
        return given if isinstance(given, dict) else {"result": given}


class HermeticEnvironment(BasePlugin):
    """Replays what was recorded, so that an agent's traces can be evaluated without its world.

    Put it into the plugins of an `App`; it works under `adk eval`, `adk web`, pytest and a `Runner`. A tool's answer, error
    or exception, what it did to the state and to artifacts, and what a person said to its confirmation are as recorded; sub-agents,
    and agents run as tools, are covered. The same call, asked again in a turn, gets the next of its answers. Where a graph or an
    agent asks the user for input, it gets what a person typed, and the same run goes on. The data that a graph ends with is its
    final response where no agent in it wrote a text, as in a golden.

    Which case a session replays is known under `adk eval`; elsewhere it is found by the session's first state and by what
    the user says, and by `case` where that is not enough. A session may begin with events of earlier turns: they are found in the
    recording, and the replay goes on from there.

    Under `adk eval` a case that a simulated user plays follows no recording: a call gets the response of the same call in any recorded case, or
    else what `unrecorded` says. So does a case without a recording, with `generate`.

    A session that lacks some of the state that its case began with, or that tools changed in earlier turns, gets it from the recording before its first
    turn here; what it has is kept. Under `adk eval` the state is that of the eval set. What a later message of the user set in the state is set again.

    The artifacts and the memory that its case began with are given to it before its first turn here, under `adk eval` too.

    Args:
        path: The recorded environment, `<set>.environment.json`, or one that was read already. A path that is not absolute is
            taken from the folder of the module that makes the plugin.
        case: The eval id of the case that every session replays.
        models: Who answers for the agents' models: themselves, or the recording, which needs no key.
        unrecorded: What becomes of a call that was not recorded. By default it is an error, with what is nearest. With `rules`
            the injection rules of the case may answer it, with `generate` an offline draft where they do not.
        latencies: Let each tool take as long as it did when it was recorded. How long a person took is not waited for. A run that is
            cancelled meanwhile ends at once.
        allow_hosts: Names and addresses that the agent's own code may connect to, beside this machine, where the recording answers for
            the models. A tool set may always ask its server which tools it has.
        name: The plugin's name; no two of an app may have the same.

    Raises:
        RecordedEnvironmentError: The file holds no recorded environment, or not this case.
        OSError: The file cannot be read.

    Attributes:
        missed: What was asked and not recorded, in sentences, since it was made; they say who answered all the same.
        made: The calls that were answered though they were not recorded, each with its author.
        refused: The recorded calls that the agent's tools do not accept any more, in sentences.
        ran: The calls of agent tools whose agents ran, each with its turn, where what came of such calls is recorded.
        otherwise: What the agent does otherwise than its recording though its golden does not tell it, as `no longer asks for confirmation of note`.
        unlisted: The tool sets that could not say which tools they have, in sentences.
        restores_state: Whether sessions get the state that they lack.
        environment_data: What there is in the agent's world when a session begins, JSON of tables or words: drafts agree with it.
    """

    restores_state = True
    environment_data = ""

    def __init__(
        self,
        path: str | PathLike[str] | RecordedEnvironment,
        *,
        case: str | None = None,
        models: Players = "real",
        unrecorded: Policy = "fail",
        latencies: bool = False,
        allow_hosts: Iterable[str] = (),
        name: str = "hermetic_environment",
    ) -> None:
        super().__init__(name)
        self._environment = path if isinstance(path, RecordedEnvironment) else read_environment(_beside(path))
        self._case, self._models, self._policy = case, models, unrecorded
        self._latencies = latencies
        if case is not None:
            self._check(case)
        self.missed: list[str] = []
        self.made: list[MadeAnswer] = []
        self.refused: list[str] = []
        self.otherwise: list[str] = []
        self.ran: list[tuple[int, IncomingCall]] = []
        self.unlisted: dict[str, None] = {}
        self.untold: dict[str, None] = {}
        self._answers = _Answers(self)
        self._seats: dict[int, Any] = {}
        self._root: Any = None
        if models == "recorded":
            self._answers.connections = AllowedHosts(allow_hosts)
        let_plugins_go_on()
        seat_agents_elsewhere()

    @property
    def refused_hosts(self) -> tuple[str, ...]:
        """The hosts to which Python code was refused a connection, each once."""
        connections = self._answers.connections
        return tuple(connections.refused) if connections is not None else ()

    def latency_of(self, call: RecordedCall) -> float:
        """Return the seconds to wait before a call is answered; 0 where nobody asked for latencies, and for what a person answered."""
        takes_time = self._latencies and call.author.source in _TAKE_TIME
        return call.latency_ms / 1000 if takes_time else 0.0

    def _check(self, eval_id: str) -> None:
        if eval_id not in self._environment.cases:
            known = ", ".join(map(repr, sorted(self._environment.cases)[:5])) or "none"
            raise UnrecordedCallError(f"no recording of the case {eval_id!r}; recorded: {known}")

    @staticmethod
    def answers_agent_tool(replayed: SessionReplay, tool_name: str) -> bool:
        """Return whether it is recorded what came of the calls of a tool that is an agent: what was imported, what a rule or a player said in its place, or that it ran."""
        nearest = replayed.nearest
        return nearest is not None and nearest.answers_agent(tool_name)

    def runs_agent(self, replayed: SessionReplay, question: Call) -> tuple[bool, RecordedCall | None]:
        """Return whether the agent of an agent tool runs for a call, and what the agent that called is told then, if not what it says."""
        with replayed.lock:
            followed = replayed.followed
            asked = IncomingCall(question.name, question.arguments, within())
            by_itself = not has_own_code(question.tool)
            if followed is None:
                return by_itself, None
            runs, told = followed.agent_runs(asked, by_itself=by_itself)
            self.ran += [(followed.turn, asked)] if runs else []
            return runs, told

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> None:
        """Follow what the user says; inside of an agent tool nobody has said anything."""
        seat_agents_elsewhere()  # an `App` may be made before the class of its remote agents is known
        if within() or is_inside(self._answers):
            return
        replayed = self._answers.sessions.of(_Context(invocation_context))
        message = user_message.model_dump(mode="json", exclude_none=True)
        state: JsonObject = {}
        earlier = NOTHING_EARLIER
        with replayed.lock:
            if replayed.followed is not None:
                replayed.followed.hear(message)
            else:
                replayed.followed = self._followed(invocation_context.session, message)
                if self.restores_state and running_eval_id() is None:
                    state = replayed.followed.state
                earlier = replayed.followed.earlier
            given = replayed.followed.state_delta
        await _restore_state(invocation_context, state, given)
        session = invocation_context.session
        where = {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id}
        services = invocation_context.artifact_service, invocation_context.memory_service
        await give_earlier(earlier, *services, where)

    def _followed(self, session: Session, message: JsonObject) -> SessionFollowed:
        """Return a session that is new to the plugin, followed up to a message; it may have begun before."""
        cases, events = self._environment.cases, list(map(event_json, session.events))
        eval_id = self._case or running_eval_id()
        if eval_id is not None:
            if self._case is None and (
                runs_scenario() or (self._policy == "generate" and eval_id not in cases)
            ):
                free = FreeSession(eval_id, cases)
                free.hear(message)
                return free
            self._check(eval_id)
            return follow({eval_id: cases[eval_id]}, message, events=events)
        return follow(cases, message, events=events, state=jsonable(dict(session.state)))

    async def gone_on(self, runner: Runner, run: Run, given: dict[str, Any]) -> AsyncGenerator[Event, None]:
        """Yield the events of a run, and of those that go on with what a person typed when they were asked for input.

        Raises:
            UnrecordedCallError: The user is asked for what nobody was asked when it was recorded.
            UnchosenToolError: Code of the agent called a tool past its seat; nothing is real here.
            AbsentPackageError: The agent's code used a package that is not installed, though it may have gone on without.
        """
        uses: list[str] = []
        self._root = self._root if within() else runner.agent
        goes_on = run if within() else functools.partial(self._conversed, runner, run)
        watching = functools.partial(watched, self._answers, self, runner, goes_on, given)
        async with aclosing(with_set({UNLISTED: self._stand_ins, USES: uses}, watching)) as events:
            async for event in events:
                yield event
        if uses:
            raise AbsentPackageError("; ".join(uses))

    async def _conversed(self, runner: Runner, run: Run, **given: Any) -> AsyncGenerator[Event, None]:
        name = SessionName(runner.app_name, str(given.get("user_id")), str(given.get("session_id")))
        replayed = self._answers.sessions.kept(runner.session_service, name)
        try:
            async with aclosing(RecordedConversation(replayed).events(run, given)) as events:
                async for event in events:
                    yield event
        except UnrecordedError as error:
            raise self._missed(error) from None

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> None:
        """Give an event its invocation where the code of an agent left that out: ADK's conversion parts turns by it."""
        event.invocation_id = event.invocation_id or invocation_context.invocation_id

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Claim a call, so that it is answered after the agent's own callbacks and the confirmation gate."""
        if tool.name == TRANSFER:
            self._check_agents(self._answers.session(tool_context), tool, tool_args, tool_context)
        if is_unknown(tool) or runs_agents(tool):
            replayed = self._answers.session(tool_context)
            self._check_declared(replayed, tool, jsonable(tool_args), tool_context)
        if is_unknown(tool):
            self._check_told(replayed, IncomingCall(tool.name, jsonable(tool_args), within()))
        self._confirm(tool, tool_args, tool_context)
        return await self._answers.before_tool(tool, tool_args, tool_context, self)

    def _check_told(self, replayed: SessionReplay, asked: IncomingCall) -> None:
        """Check that what ADK answers in the place of a tool that is not there says something.

        Raises:
            UnrecordedCallError: Nobody knows what was answered when it was recorded.
        """
        nearest = replayed.nearest
        untold = nearest.misses(asked) if nearest else None
        if untold is not None and self._policy == "fail":
            raise self._missed(untold)

    def _confirm(self, tool: BaseTool, arguments: dict[str, Any], context: ToolContext) -> None:
        """Say to a tool's confirmation what a person had said."""
        if context.tool_confirmation is not None:
            return
        replayed = self._answers.session(context)
        asked = IncomingCall(tool.name, jsonable(arguments), within())
        with replayed.lock:
            said = replayed.followed.confirmation(asked) if replayed.followed else None
        if said is not None:
            context.tool_confirmation = _RecordedConfirmation(
                confirmed=bool(said.get("confirmed")), payload=copied(said.get("payload"))
            )

    def check_confirmed(self, replayed: SessionReplay, call: RecordedCall, context: ToolContext) -> None:
        """Check that a confirmation was looked for that a person gave before the tool ran. A tool that asks for it itself does not run here.

        Raises:
            UnrecordedCallError: Nobody looked for it.
        """
        said, case = context.tool_confirmation, replayed.nearest
        if case is None or case.now is None or not isinstance(said, _RecordedConfirmation):
            return
        asked_itself = any(each is not call and each.id == call.id for each in case.now.calls)
        if call.confirmed and not (said.was_read or asked_itself or is_imported(case.case)):
            raise self._missed(OtherwiseError(f"no longer asks for confirmation of {call.tool}"))

    def check_waits(self, call: RecordedCall, tool: BaseTool) -> None:
        """Check that a tool may still be answered later, where it was when it was recorded. In a replay, what came later is there at once.

        Raises:
            UnrecordedCallError: It does not run long any more.
        """
        waited = call.later is not None or call.outcome.kind == "deferred"
        if call.long_running and waited and not tool.is_long_running:
            raise self._missed(OtherwiseError(f"no longer waits for a later response of {call.tool}"))

    async def recorded(self, replayed: SessionReplay, question: Call) -> RecordedCall:
        """Return a call as it was recorded, or as the policy has it answered.

        Raises:
            UnrecordedCallError: There is no answer.
        """
        asked = IncomingCall(question.name, question.arguments, within())
        self._check_declared(replayed, question.tool, question.arguments, question.context)
        try:
            with replayed.lock:
                call = replayed.case.call(asked)
        except UnrecordedError as error:
            if self._policy == "fail" or replayed.followed is None or isinstance(error, AmbiguousError):
                raise self._missed(error) from None
            return await self._made_up(replayed, replayed.followed, question, error)
        if self._policy != "fail":
            replayed.improvised.hear(question, call)
        return call

    def _stand_ins(self, unlisted: str, context: Any) -> list[BaseTool] | None:
        """Return the tools that a case was recorded with and that nobody declares now; None where a real model had to know their declarations."""
        if unlisted not in self.unlisted:
            self.unlisted[unlisted] = None
            _LOG.warning("%s", unlisted)
        if self._models == "real" or context is None:
            return None
        invocation = invocation_of(context)
        nearest = self._answers.session(_Context(invocation)).nearest
        calls = [call for turn in (nearest.case.turns if nearest else ()) for call in turn.calls]
        own = {call.tool: call for call in calls if call.agent == invocation.agent.name}
        return [
            _StandIn(name, call.long_running)
            for name, call in own.items()
            if nearest is not None and name not in nearest.case.tools
        ]

    def _check_declared(
        self, replayed: SessionReplay, tool: BaseTool, arguments: JsonObject, context: ToolContext
    ) -> None:
        """Check that a call fits the tool as it is declared now. What is declared as it was when the case was recorded is not looked at: it was so then.

        Raises:
            ToolsChangedError: It does not fit, or there is no such tool any more.
        """
        if isinstance(tool, _StandIn):
            return
        nearest = replayed.nearest
        recorded = nearest.case.tools if nearest else {}
        asked, then = IncomingCall(tool.name, arguments, within()), recorded.get(tool.name)
        digest = then.schema_digest if then else nearest.brought(tool.name) if nearest else ""
        is_gone = is_unknown(tool)
        if (is_gone or (recorded and then is None)) and not (nearest and nearest.had(tool.name)):
            return  # no tool had answered: ADK says again what it said then of a tool that nobody has
        now = None if is_gone else shape_of(tool) or (described(tool) if runs_agents(tool) else None)
        if now is None and not is_gone:
            return  # nothing tells what it accepts
        if is_gone:  # of a tool set nobody recorded what it declared, but it was there
            words = "" if nearest is None or is_imported(nearest.case) else gone_tool(tool.name)
            words = words and (moved_tool(tool.name, context.agent_name, self._root) or words)
        else:
            words = misfit(tool.name, arguments, digest, now)
        if words and not (nearest and nearest.never_fitted(asked)):
            raise self._changed(words, is_known=bool(digest or (is_gone and recorded)))

    def _check_agents(
        self, replayed: SessionReplay, tool: BaseTool, arguments: Mapping[str, Any], context: ToolContext
    ) -> None:
        """Check that an agent is still there that ran in the recording after a transfer.

        Raises:
            ToolsChangedError: It is gone.
        """
        nearest = replayed.nearest
        if nearest is None:
            return
        root, target = getattr(invocation_of(context).agent, "root_agent", None), arguments.get("agent_name")
        if tool.name != TRANSFER or root is None or target not in agents_that_ran(nearest.case):
            return
        if root.find_agent(target) is None:
            raise self._changed(gone_agent(target), is_known=bool(nearest.case.tools))

    def _changed(self, words: str, *, is_known: bool) -> UnrecordedCallError:
        self.refused.append(words)
        changed = "the agent's tools changed after the recording: " if is_known else ""
        return self._failed(ToolsChangedError(f"{changed}{words}"))

    async def _made_up(
        self,
        replayed: SessionReplay,
        followed: SessionFollowed,
        question: Call,
        missing: UnrecordedError,
    ) -> RecordedCall:
        """Have a call answered that was not recorded.

        Raises:
            UnrecordedCallError: Nobody may answer it.
        """
        with replayed.lock:
            eval_id, known, turn = followed.eval_id, followed.known, followed.turn
        made = await replayed.improvised.answer(eval_id, known, question, within(), self._policy)
        if made is None:
            raise self._missed(UnrecordedError(f"{missing}; no rule answers it")) from None
        text = f"{missing}; it was answered by {words_of(made.author)}"
        self.missed.append(text)
        self.made.append(MadeAnswer(eval_id=eval_id, turn=turn, call=made, why=str(missing)))
        _LOG.warning("%s", text)
        return made

    def _missed(self, error: UnrecordedError) -> UnrecordedCallError:
        if isinstance(error, UntoldError):
            self.untold[str(error)] = None
        words = str(error)
        if isinstance(error, OtherwiseError):
            self.otherwise.append(words)
            words = f"the agent {words}"
        return self._failed(UnrecordedCallError(words))

    def _failed(self, error: UnrecordedCallError) -> UnrecordedCallError:
        self.missed.append(str(error))
        _LOG.error("%s", error)
        failed_unseen(error)
        return error

    async def before_agent_callback(self, *, agent: BaseAgent, callback_context: CallbackContext) -> None:
        """Seat what an agent asks beside its tools: its model, and what runs its code."""
        if isinstance(agent, LlmAgent):
            seat_agent(agent, self._seats)
        elif runs_elsewhere(agent):
            replayed = self._answers.session(callback_context)
            path = innermost_call() or callback_context.node_path
            MODEL_STAND_IN.set(_RecordedAgent(self, replayed, agent.name, path))

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Stand in for the model that is about to be asked, and for what runs the code that it writes."""
        agent = invocation_of(callback_context).agent
        if isinstance(agent, LlmAgent):
            seat_agent(agent, self._seats)
        replayed = self._answers.session(callback_context)
        MODEL_STAND_IN.set(_RecordedModel(self, replayed, callback_context, llm_request))
        return None

    def model_turn(
        self, replayed: SessionReplay, agent: str, path: str, *, is_elsewhere: bool = False
    ) -> list[LlmResponse] | None:
        """Return what was recorded for the model of an agent, or raise its error; None where the model itself answers.

        An agent that runs elsewhere never answers itself here: it is a part of the world.

        Raises:
            UnrecordedCallError: Nothing was recorded.
        """
        if self._models == "real" and not is_elsewhere:
            return None
        try:
            with replayed.lock:
                turn = replayed.case.model_turn(agent, within(), path)
        except UnrecordedError as error:
            raise self._missed(error) from None
        if turn.error is not None:
            raise made_error(turn.error)
        return [LlmResponse.model_validate(copied(response)) for response in turn.responses]

    async def in_recorded_order(self, replayed: SessionReplay, agent: str, path: str) -> None:
        """Wait until the models of other branches have said what they had said before; no longer than anything moves."""
        if self._models == "real":
            return
        still, before = 0, -1
        while still < _STILL and (case := replayed.nearest) and case.comes_later(agent, within(), path):
            still, before = (0, case.given) if case.given != before else (still + 1, before)
            await asyncio.sleep(0)

    def printed(self, replayed: SessionReplay, agent: str, code: str) -> JsonObject:
        """Return what was recorded for a block of an agent's code, as the fields of ADK's `CodeExecutionResult`, or raise its error.

        Raises:
            UnrecordedCallError: Nothing was recorded.
        """
        try:
            with replayed.lock:
                ran = replayed.case.code(agent, within(), code)
        except UnrecordedError as error:
            raise self._missed(error) from None
        if ran.error is not None:
            raise made_error(ran.error)
        return dict(copied(ran.result or {}))


async def _restore_state(invocation: InvocationContext, recorded: JsonObject, given: JsonObject) -> None:
    """Put state that a session lacks into it, and what the user's message set when it was recorded, as an event without content."""
    state = invocation.session.state
    lacking = {key: value for key, value in recorded.items() if key not in state}
    if lacking or given:
        actions = EventActions(state_delta=copied({**lacking, **given}))
        event = Event(author=USER_AUTHOR, invocation_id=invocation.invocation_id, actions=actions)
        await invocation.session_service.append_event(invocation.session, event)


async def _run_and_told(call: ToolBoundaryCall, told: RecordedCall | None) -> Any:
    """Let an agent run, and return what it says, or what rules had made of that."""
    try:
        own = await call.real()
    except Exception:
        if told is None:
            raise
        own = None
    return own if told is None else _given(told)


class _RecordedConfirmation(ToolConfirmation):
    """What a person had said to a confirmation. It notes whether anybody looks at it: the gate of a tool, or a callback."""

    _was_read: bool = PrivateAttr(default=False)

    @property
    def was_read(self) -> bool:
        """Whether anybody has looked at it."""
        return self._was_read

    def __bool__(self) -> bool:
        self._was_read = True
        return True

    def __getattribute__(self, name: str) -> Any:
        if name in ToolConfirmation.model_fields:
            self._was_read = True
        return super().__getattribute__(name)


class _RecordedModel:
    """Answers one request of one model, and runs the code that comes of it."""

    def __init__(
        self,
        plugin: HermeticEnvironment,
        replayed: SessionReplay,
        context: CallbackContext,
        request: LlmRequest,
    ) -> None:
        self._plugin, self._replayed, self._request = plugin, replayed, request
        self._agent, self._invocation_id = context.agent_name, context.invocation_id
        self._path = innermost_call() or context.node_path

    async def model(self, request: Any) -> list[Any] | None:
        if request is not self._request:  # of a run without this plugin, later in the same task
            return None
        await self._plugin.in_recorded_order(self._replayed, self._agent, self._path)
        return self._plugin.model_turn(self._replayed, self._agent, self._path)

    def code(self, invocation: Any, code: str) -> JsonObject | None:
        if invocation.invocation_id != self._invocation_id:  # as above
            return None
        return self._plugin.printed(self._replayed, self._agent, code)


class _RecordedAgent(NamedTuple):
    """Answers for an agent that runs elsewhere."""

    plugin: HermeticEnvironment
    replayed: SessionReplay
    agent: str
    path: str

    async def model(self, _: Any) -> list[Any] | None:
        await self.plugin.in_recorded_order(self.replayed, self.agent, self.path)
        return self.plugin.model_turn(self.replayed, self.agent, self.path, is_elsewhere=True)

    def code(self, *_: Any) -> None:
        """Run none: what runs elsewhere has no code here."""


class _StandIn(BaseTool):
    """A tool of a tool set that cannot be asked for it. It answers as it was recorded, and nobody knows its declaration."""

    def __init__(self, name: str, is_long_running: bool) -> None:
        super().__init__(name=name, description="A recorded tool.", is_long_running=is_long_running)

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description)


class _Context:
    """Stands for the context of a callback that ADK gives the invocation alone."""

    def __init__(self, invocation: InvocationContext) -> None:
        self._invocation_context = invocation


def _given(call: RecordedCall) -> Any:
    """Return an answer as its tool does; what came later is there at once: nobody brings it, under `adk eval` at least."""
    return as_tools_give(call.outcome) if call.later is None else copied(call.later)


def _beside(path: str | PathLike[str]) -> Path:
    """Take a path from the folder of the module that makes the plugin: `adk eval` is started from anywhere."""
    if Path(path).is_absolute():
        return Path(path)
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    file = frame.f_globals.get("__file__") if frame is not None else None
    return Path(file).parent / path if isinstance(file, str) else Path(path)
