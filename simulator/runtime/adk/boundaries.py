"""Seats an agent's models, tools and code executors, in place, so that a turn in progress answers for them; a plugin that runs before every other seats what the walk at loading could not reach.

`install` goes through all that can be reached from an agent or a graph. A model and a code executor are exchanged for
a copy whose class is made of their own, with one method of ours, which holds whatever somebody set on the object itself. A tool
stays the object that it is, with a `run_async` of ours on it. So seated objects have the same fields and declarations, and are still instances of their classes: ADK's
flow, its plugins, the agent's callbacks and the confirmation gate before a tool run as in production. Tools
that steer ADK's flow have no seat.

A call of a seated object takes one of these ways:

- A turn is in progress (`CURRENT_TURN`): the call, with a way to the real thing, is put to the turn, which gives the
  answer (`ModelCall`, `ToolBoundaryCall`, `CodeCall`).
- The call comes from inside of a real tool, model or executor (`INSIDE_REAL_CALL`): it is real as well.
- No turn is in progress, but a plugin has claimed the call (`stand_in_of`, `MODEL_STAND_IN`): the plugin answers.
- Else it works as if it had no seat.

An agent that another program runs (`seat_agents_elsewhere`) is asked as a whole, as a model is.
An agent that is used as a tool runs where it was called, in a scope of its own. Its models and tools have seats
themselves, so it is put to the turn only where a rule or a player was set for it by its name. What ADK makes anew for
each request (the tools of tool sets, agents in nested runners) is seated when a model is shown it.

Fails closed: a tool that comes to a call unseated (made at run time, resumed, in a graph) is seated here, before
ADK can run it.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing
from typing import Any, NamedTuple, TypeAlias, cast

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App
from google.adk.code_executors import BaseCodeExecutor, BuiltInCodeExecutor
from google.adk.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import Field

from simulator.agents.agent_directory import ELSEWHERE, is_elsewhere
from simulator.agents.agent_fingerprint import keep_declared_model
from simulator.base.secret_masking import error_words
from simulator.facts import ToolAnswered
from simulator.runtime.adk.adk_private import (
    ToolSeat,
    children_of,
    has_own_code,
    invocation_of,
    is_steering,
    let_codes_stay_here,
    let_known_answers_be_quick,
    let_missing_a2a_be_known,
    let_plugins_go_on,
    node_of,
    own_run,
    runs_agents,
    with_plugins,
    with_summarizing_model,
)
from simulator.runtime.adk.event_loop import StudioLoop
from simulator.runtime.adk.outside_work import unlisted_words
from simulator.runtime.adk.tool_guards import AnswersItself, is_only_declared, let_run
from simulator.runtime.adk.turn_context import (
    CURRENT_TURN,
    GUARD_NAME,
    INSIDE_REAL_CALL,
    MODEL_STAND_IN,
    PLACE,
    SCOPE,
    stand_in_of,
)
from simulator.runtime.errors import SimulationError

_SEATED_SELF = "_seated_self"
_RUN, _TOOL_RUN = "_run_async_impl", "run_async"
_AGENT_LABEL = "adk_agent_name"
_UNNAMED = "model"
_SENDERS = frozenset({"BigQueryAgentAnalyticsPlugin", "ModelArmorPlugin"})

_Run: TypeAlias = Callable[..., Awaitable[Any]]
_seated_classes: dict[type, type] = {}
"""The class of ours, whose objects are seated, that stands for each class of others."""
_SEATED: dict[type, type] = {}
"""The other way round: the class for which each of ours stands."""


class ModelCall(NamedTuple):
    """A call of a model at the boundary; `place` and `scope` say where in the turn it happens."""

    agent: str
    model: BaseLlm
    request: LlmRequest
    real: Callable[[], AsyncGenerator[LlmResponse, None]]
    scope: str
    place: str


class ToolBoundaryCall(NamedTuple):
    """A call of a tool at the boundary.

    `runs_agent` is set where an agent with seats of its own does the tool's work, `has_own_code` where the tool's class
    has a say in that. `has_code` is not set where the tool is only declared, so that nothing real can run.
    """

    tool: BaseTool
    arguments: dict[str, Any]
    context: ToolContext
    real: Callable[[], Awaitable[Any]]
    scope: str
    runs_agent: bool = False
    has_own_code: bool = False
    has_code: bool = True


class CodeCall(NamedTuple):
    """Code of an agent at the boundary. `real` blocks."""

    agent: str
    branch: str
    code: str
    real: Callable[[], CodeExecutionResult]
    scope: str


class UnreachableModel(BaseLlm):
    """Stands where an agent names a model that ADK cannot make, so that a person can still play the agent."""

    reason: str = Field(min_length=1)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Raise why there is no model.

        Raises:
            RuntimeError: Always, with the first response asked for.
        """
        if self.reason:
            raise RuntimeError(self.reason)
        yield LlmResponse()


def install(agent: Any) -> None:
    """Seat everything that can be reached from an agent or graph; harmless when done again."""
    let_known_answers_be_quick()
    let_missing_a2a_be_known()
    let_plugins_go_on()
    let_codes_stay_here()
    seat_agents_elsewhere()
    _install(agent, set())


def _install(node: Any, seen: set[int]) -> None:
    if id(node) in seen:
        return
    seen.add(id(node))
    if getattr(node, "timeout", None) is not None:
        node.timeout = None  # a person who thinks must not time out
    if isinstance(node, LlmAgent):
        seat_agent(node)
    if isinstance(getattr(getattr(node, "classifier", None), "model", None), str | BaseLlm):
        _seat_classifier(node.classifier, node.name)
    for tool in (*(getattr(node, "tools", None) or ()), getattr(node, "tool", None)):
        if isinstance(tool, BaseTool):
            seat_tool(tool, seen)
        elif isinstance(tool, BaseToolset):
            _seat_toolset(tool)
    for child in children_of(node):
        _install(child, seen)


def seat_agent(agent: LlmAgent, seats: dict[int, Any] | None = None) -> None:
    """Seat an agent's model and its code executor.

    Args:
        agent: The agent; ADK runs a copy of it in each turn.
        seats: What was seated before, by the identity of what it stands for: what it notes in itself stays with it from turn to turn.
    """
    if type(agent.model) not in _SEATED:
        _seat_model(agent, lambda: agent.canonical_model, seats)
    executor = agent.code_executor
    if isinstance(executor, BaseCodeExecutor) and not isinstance(executor, BuiltInCodeExecutor):
        seated_executor = _seated(executor, "execute_code", _code_run, seats)
        if seated_executor is not None:
            agent.code_executor = seated_executor


def _seat_model(owner: Any, made: Callable[[], BaseLlm], seats: dict[int, Any] | None = None) -> None:
    """Seat the model that an agent or a classifier names or holds."""
    try:
        model = made()
    except Exception as error:  # noqa: BLE001 - a model's own constructor may raise anything
        model = UnreachableModel(model=str(owner.model), reason=error_words(error))
    if (seated := _seated(model, "generate_content_async", _model_run, seats)) is not None:
        keep_declared_model(seated, owner.model)
        owner.model = seated


def _seat_classifier(classifier: Any, name: str) -> None:
    """Seat the model by which a node of a graph chooses its way; its requests have the node's name, as ADK gives those of agents theirs."""
    named = classifier.model
    _seat_model(classifier, lambda: named if isinstance(named, BaseLlm) else LLMRegistry.new_llm(named))
    config = classifier.generate_content_config or types.GenerateContentConfig()
    labels = {_AGENT_LABEL: name, **(config.labels or {})}
    classifier.generate_content_config = config.model_copy(update={"labels": labels})


def seated_app(app: App) -> App:
    """Return an app in which the model is seated that sums its events up: ADK asks it beside all agents. One of the agent's own kind is not known."""
    config = app.events_compaction_config
    summarizer = with_summarizing_model(
        config.summarizer if config else None,
        lambda model: _seated(model, "generate_content_async", _model_run),
    )
    if config is None or summarizer is None:
        return app
    kept = config.model_copy(update={"summarizer": summarizer})
    return app.model_copy(update={"events_compaction_config": kept})


def senders(app: Any) -> tuple[BasePlugin, ...]:
    """Return the plugins of an app that send what happens to another machine: ADK's own ones, and what is made of them."""
    return tuple(
        plugin
        for plugin in getattr(app, "plugins", ())
        if any(
            kind.__name__ in _SENDERS and kind.__module__.startswith("google.adk.")
            for kind in type(plugin).__mro__
        )
    )


def without_senders(app: App) -> App:
    """Return an app without the plugins that send what happens to another machine: nobody chose that it is real."""
    sent = senders(app)
    return app.model_copy(update={"plugins": [plugin for plugin in app.plugins if plugin not in sent]})


def _seated(target: Any, method: str, ours: Any, seats: dict[int, Any] | None = None) -> Any:
    """Return a copy whose class is a subclass of its own with one method of ours; None if it is seated already.

    A wrapper of a foreign class would break ADK's own `isinstance` tests.
    """
    kind = type(target)
    if kind in _SEATED:
        return None
    if seats is not None and id(target) in seats:
        return seats[id(target)]
    if kind not in _seated_classes:
        body = {"__module__": __name__, "__doc__": kind.__doc__}
        made = type(f"Seated{kind.__name__}", (kind,), body)
        setattr(made, method, _Held(method, lambda held: getattr(super(made, held), method), ours))
        _seated_classes[kind], _SEATED[made] = made, kind
    clone = copy.copy(target)
    object.__setattr__(clone, "__class__", _seated_classes[kind])
    if seats is not None:
        seats[id(target)] = clone
        weakref.finalize(target, seats.pop, id(target), None)
    return clone


class _Held:
    """A method of ours in a class, also where an object has one of its own: that is what is real then.

    What is real is looked up with the method, so that a method of an object which calls what it replaced gets there.
    """

    def __init__(self, name: str, real: Callable[[Any], Any], ours: Callable[..., Any]) -> None:
        self._name, self._real, self._ours = name, real, ours

    def __get__(self, target: Any, kind: type | None = None) -> Any:
        if target is None:
            return self
        return functools.partial(self._ours, target, vars(target).get(self._name) or self._real(target))

    def __set__(self, target: Any, own: Any) -> None:
        vars(target)[self._name] = own

    def __delete__(self, target: Any) -> None:
        vars(target).pop(self._name, None)

    def __call__(self, target: Any, *args: Any, **named: Any) -> Any:
        return self.__get__(target)(*args, **named)


def unseated_class(target: Any) -> type:
    """Return the class that an object had before it was seated."""
    return _SEATED.get(type(target), type(target))


def seat_agents_elsewhere() -> None:
    """Seat all agents that other programs run, at their classes: ADK has taken an agent's method before any plugin sees the agent. Harmless when done again."""
    for kind in _all_below(BaseAgent):
        own = kind.__dict__.get(_RUN)  # what ADK's documents have an agent of one's own override
        if own is not None and is_elsewhere(kind) and not isinstance(own, _Held):
            setattr(kind, _RUN, _Held(_RUN, functools.partial(_bound, own), _elsewhere_run))


def _bound(method: Any, target: Any) -> Any:
    return method.__get__(target, type(target))


def _all_below(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from _all_below(each)


async def _elsewhere_run(
    self: Any, real: Callable[..., AsyncGenerator[Event, None]], ctx: InvocationContext
) -> AsyncGenerator[Event, None]:
    """Put a whole run of an agent to the turn, as one request of a model's: what was said so far, and what it says now."""
    own = functools.partial(real, ctx)
    given = await _said_in_its_place(self.name, ctx, own)
    if given is None:
        async with aclosing(own()) as events:
            async for event in events:
                yield event
    for response in given or ():
        fields = {name: getattr(response, name) for name in response.model_fields_set}
        yield Event(author=self.name, invocation_id=ctx.invocation_id, branch=ctx.branch, **fields)


async def _said_in_its_place(
    agent: str, ctx: InvocationContext, own: Callable[[], AsyncGenerator[Event, None]]
) -> list[LlmResponse] | None:
    """Return what an agent says by its turn, or by who stands in for it; None where it speaks for itself."""
    said = (event.content for event in ctx.session.events if event.content)
    request = LlmRequest(contents=[content.model_copy(deep=True) for content in said])
    turn = CURRENT_TURN.get()
    if turn is None:
        stand_in = MODEL_STAND_IN.get()
        return None if stand_in is None else await stand_in.model(request)
    if INSIDE_REAL_CALL.get():
        return None
    model = UnreachableModel(model=ELSEWHERE, reason=ELSEWHERE)
    responses = functools.partial(_responses, own)
    return await turn.ask_model(ModelCall(agent, model, request, responses, SCOPE.get(), PLACE.get()))


async def _responses(real: Callable[[], AsyncGenerator[Event, None]]) -> AsyncGenerator[LlmResponse, None]:
    """Yield events as responses of a model: what ADK knows of both."""
    async with aclosing(real()) as events:
        async for event in events:
            known = event.model_fields_set & LlmResponse.model_fields.keys()
            yield LlmResponse(**{name: getattr(event, name) for name in known})


async def _model_run(
    self: Any, own: Callable[..., Any], llm_request: LlmRequest, stream: bool = False
) -> AsyncGenerator[LlmResponse, None]:
    real = functools.partial(own, llm_request, stream)
    turn = CURRENT_TURN.get()
    if turn is None or INSIDE_REAL_CALL.get():
        stand_in = MODEL_STAND_IN.get() if turn is None else None
        given = await stand_in.model(llm_request) if stand_in is not None else None
        for response in given or ():
            yield response
        if given is not None:
            return
        async with aclosing(real()) as responses:
            async for response in responses:
                yield response
        return
    if turn.declared:
        _join(llm_request, turn.declared)
    for tool in llm_request.tools_dict.values():
        seat_tool(tool)
    labels = llm_request.config.labels or {}
    call = ModelCall(
        agent=labels.get(_AGENT_LABEL, _UNNAMED),
        model=self,
        request=llm_request,
        real=real,
        scope=SCOPE.get(),
        place=PLACE.get(),
    )
    for response in await turn.ask_model(call):
        yield response


def _join(request: LlmRequest, declared: Iterable[BaseTool]) -> None:
    """Show tools that only are declared to a model, but for those whose names the agent has taken itself."""
    new = [tool for tool in declared if tool.name not in request.tools_dict]
    if new:
        request.append_tools(new)


def is_seated(tool: BaseTool) -> bool:
    """Recognise a tool that has a seat of its own; those that steer ADK's own flow never have one."""
    seat = tool.__dict__.get(_TOOL_RUN)
    return isinstance(seat, ToolSeat) and seat.args[0]() is tool


def seat_tool(tool: BaseTool, seen: set[int] | None = None, *, alone: bool = False) -> None:
    """Seat a tool in place, but for those that steer ADK's own flow; and the agents inside of it.

    Args:
        tool: The tool.
        seen: The ids of agents and nodes that are seated already, or are about to be.
        alone: Leave the agents inside of it as they are.
    """
    if is_seated(tool) or is_steering(tool):
        return
    # ADK's copies of a tool (for a name prefix) carry the seat of the original along: they get their own.
    theirs, inner = own_run(tool), node_of(tool)
    ours = _scoped_run if inner is not None and runs_agents(tool) else _tool_run
    # Held weakly: ADK makes its tools anew for each request, and a circle would leave them to the garbage collector.
    itself = weakref.ref(tool)
    setattr(tool, _TOOL_RUN, ToolSeat(ours, itself, theirs))
    if not alone and inner is not None:
        _install(inner, set() if seen is None else seen)


def _unseated(itself: weakref.ref[BaseTool], theirs: _Run | None) -> tuple[BaseTool, _Run]:
    """Return a seated tool, and what it ran before: what somebody had put on it, or what its class does.

    Raises:
        ReferenceError: The tool is gone; only its method was kept.
    """
    if (tool := itself()) is None:
        raise ReferenceError("the tool no longer exists; only its run_async is left")
    return tool, theirs or type(tool).run_async.__get__(tool)


async def _scoped_run(
    itself: weakref.ref[BaseTool], theirs: _Run | None, *, args: dict[str, Any], tool_context: ToolContext
) -> Any:
    tool, real = _unseated(itself, theirs)
    turn = CURRENT_TURN.get()
    if turn is None or asyncio.get_running_loop() is not turn.loop:  # where nobody can wait for its seats
        return await _without_turn(tool, real, args, tool_context)
    if INSIDE_REAL_CALL.get():
        return await _in_scope(tool, real, args, tool_context)
    runs = functools.partial(
        let_run, tool, _in_scope, tool=tool, real=real, args=args, tool_context=tool_context
    )
    call = _boundary_call(tool, real, args, tool_context)._replace(
        runs_agent=True, has_own_code=has_own_code(tool)
    )
    return await turn.ask_agent_tool(call, runs)


async def _in_scope(tool: BaseTool, real: _Run, args: dict[str, Any], tool_context: ToolContext) -> Any:
    """Let the agent of a tool run; what is asked in there has a scope of its own."""
    token = SCOPE.set(f"{SCOPE.get()}>{tool_context.function_call_id}")
    if isinstance(tool, AgentTool) and not tool.include_plugins:
        # A nested runner without plugins would have no guard, and agents made in it no seats.
        guarded = copy.copy(tool)
        guarded.include_plugins = True
        real = type(tool).run_async.__get__(guarded)
        tool_context = with_plugins(tool_context, GUARD_NAME)
    try:
        return await real(args=args, tool_context=tool_context)
    finally:
        SCOPE.reset(token)


async def _tool_run(
    itself: weakref.ref[BaseTool], theirs: _Run | None, *, args: dict[str, Any], tool_context: ToolContext
) -> Any:
    tool, real = _unseated(itself, theirs)
    turn = CURRENT_TURN.get()
    if turn is None or INSIDE_REAL_CALL.get() or asyncio.get_running_loop() is not turn.loop:
        return await _without_turn(tool, real, args, tool_context)
    has_code = not is_only_declared(tool)
    if stand_in_of(tool_context) is not None:
        real = functools.partial(_without_turn, tool, real)
    elif isinstance(tool, AnswersItself):
        real = functools.partial(_from_its_environment, tool, turn.answered_calls)
    elif not has_code:
        real = functools.partial(_nothing_real, tool.name)
    return await turn.ask_tool(_boundary_call(tool, real, args, tool_context)._replace(has_code=has_code))


async def _from_its_environment(
    tool: AnswersItself,
    answered: Callable[[], tuple[ToolAnswered, ...]],
    *,
    args: dict[str, Any],
    tool_context: ToolContext,
) -> Any:
    return await tool.answer_after(answered(), args, tool_context)


async def _nothing_real(name: str, **_: Any) -> Any:
    raise SimulationError(f"the tool {name} is only declared; it has no code to run")


async def _without_turn(tool: BaseTool, real: _Run, args: dict[str, Any], tool_context: ToolContext) -> Any:
    """Let who stands in for the tool answer the call, or else the tool itself."""
    stand_in = stand_in_of(tool_context)
    if stand_in is None:
        return await real(args=args, tool_context=tool_context)
    return await stand_in.answer(_boundary_call(tool, real, args, tool_context))


def _boundary_call(
    tool: BaseTool, real: _Run, args: dict[str, Any], tool_context: ToolContext
) -> ToolBoundaryCall:
    return ToolBoundaryCall(
        tool=tool,
        arguments=args,
        context=tool_context,
        real=functools.partial(let_run, tool, real, args=args, tool_context=tool_context),
        scope=SCOPE.get(),
    )


def _code_run(
    _: Any, own: Callable[..., Any], invocation_context: Any, code_execution_input: CodeExecutionInput
) -> CodeExecutionResult:
    """Ask for the result from the worker thread in which ADK calls this; the turn's loop runs elsewhere."""
    real = functools.partial(own, invocation_context, code_execution_input)
    turn: Any = CURRENT_TURN.get()
    if turn is None or INSIDE_REAL_CALL.get():
        stand_in = MODEL_STAND_IN.get() if turn is None else None
        given = stand_in.code(invocation_context, code_execution_input.code) if stand_in is not None else None
        return cast("CodeExecutionResult", real()) if given is None else _code_result(given)
    call = CodeCall(
        agent=invocation_context.agent.name,
        branch=invocation_context.branch or "",
        code=code_execution_input.code,
        real=real,
        scope=SCOPE.get(),
    )
    loop: StudioLoop = turn.loop
    answer = asyncio.run_coroutine_threadsafe(turn.ask_code(call), loop)
    turn.note_waiting_thread(answer)
    return _code_result(answer.result())


def _code_result(fields: dict[str, Any]) -> CodeExecutionResult:
    return CodeExecutionResult(**fields)


def _seat_toolset(toolset: BaseToolset) -> None:
    """Let a tool set that cannot be reached say so: ADK would only log it and go on without its tools."""
    own = toolset.__dict__
    if own.get(_SEATED_SELF) is toolset:
        return
    real = toolset.get_tools

    async def get_tools(readonly_context: Any = None) -> list[BaseTool]:
        try:
            tools = await real(readonly_context)
        except Exception as error:
            if turn := CURRENT_TURN.get():
                turn.note_problem(unlisted_words(type(toolset).__name__, error_words(error)))
            raise
        for tool in tools:
            seat_tool(tool)
        return tools

    setattr(toolset, _SEATED_SELF, toolset)
    setattr(toolset, "get_tools", get_tools)  # noqa: B010 - a plain assignment is no override to the type checker


class GuardPlugin(BasePlugin):
    """Seats agents and tools right before they work, in a turn of a simulation; changes nothing else."""

    def __init__(self) -> None:
        super().__init__(GUARD_NAME)

    async def before_agent_callback(self, *, agent: BaseAgent, callback_context: CallbackContext) -> None:
        """Seat an agent that was made at run time."""
        if CURRENT_TURN.get() is not None and isinstance(agent, LlmAgent):
            seat_agent(agent)

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Note where in the turn the model is called."""
        invocation = invocation_of(callback_context)
        isolation = getattr(invocation, "isolation_scope", None) or ""
        PLACE.set(f"{invocation.branch or ''}~{isolation}~{callback_context.node_path}")
        if CURRENT_TURN.get() is not None and isinstance(invocation.agent, LlmAgent):
            seat_agent(invocation.agent)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> None:
        """Seat a tool that no model request has shown."""
        if (turn := CURRENT_TURN.get()) is None or is_seated(tool):
            return
        if is_steering(tool):
            turn.note_steering(tool.name)
        seat_tool(tool)
