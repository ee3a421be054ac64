"""Every touch of what ADK does not promise, in one place; `tests/simulator/runtime/adk/test_adk_private.py`, and `test_missing_a2a.py`, fail when it changes.

Contexts keep their invocation and their actions in private attributes, the tools that steer the flow (rather than
ask the world) have private classes, and static children are found by a private method. What a model is shown is put
together by a private processor, and reported by a private module.

google-adk 2.11, 2.12 and 2.13 differ in some of this. Nothing here asks for a version: each touch looks for what it
needs, so that this module can be imported with any ADK. `adk_check` says what is missing before a session begins.
"""

from __future__ import annotations

import copy
import functools
import importlib
import importlib.util
import inspect
import itertools
import random
import sys
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.plugin_manager import PluginManager
from google.adk.runners import Runner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.exit_loop_tool import exit_loop
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.set_model_response_tool import SetModelResponseTool
from google.adk.tools.tool_context import ToolContext
from google.adk.tools.transfer_to_agent_tool import TransferToAgentTool
from google.adk.workflow import BaseNode, FunctionNode
from google.genai import types

from simulator.runtime.adk.turn_context import CURRENT_TURN, GUARD_NAME, INSIDE_REAL_CALL, WATCH

_ItemT = TypeVar("_ItemT")


class Later(list[_ItemT]):
    """Is made by `make` with the first look into it, and a list like every other from then on.

    Code that reads a list's memory without asking it (pydantic's own, for one) finds none: `made` gives a plain list for that.
    """

    def __init__(self, make: Callable[[], Iterable[_ItemT]]) -> None:
        super().__init__()
        self._make: Callable[[], Iterable[_ItemT]] | None = make

    @property
    def is_unread(self) -> bool:
        """Whether nobody has looked so far."""
        return self._make is not None

    def look(self) -> None:
        """Put the list together, once."""
        make, self._make = self._make, None
        if make is not None:
            super().extend(make())


def made(values: list[_ItemT]) -> list[_ItemT]:
    """Return a list as a plain one; itself where it is one already."""
    return [*values] if isinstance(values, Later) else values


def _looking(name: str) -> Callable[..., Any]:
    plain = getattr(list, name)

    @functools.wraps(plain)
    def looks_first(self: Later[Any], *given: Any, **named: Any) -> Any:
        self.look()
        return plain(self, *(made(each) if isinstance(each, Later) else each for each in given), **named)

    return looks_first


def _added_to(self: Later[_ItemT], before: list[_ItemT]) -> list[_ItemT]:
    return [*before, *self]


# Each way to ask a list for what it holds, to compare it and to change it.
_ASKING = frozenset(vars(list)) - frozenset(vars(object)) - {"__class_getitem__"}
_COMPARING = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__repr__"}
for _name in _ASKING | _COMPARING:
    setattr(Later, _name, _looking(_name))
setattr(Later, "__radd__", _added_to)  # noqa: B010 - a list of its own would take this one's memory without asking
setattr(Later, "__reduce_ex__", lambda self, _: (list, ([*self],)))  # noqa: B010 - a copy is a plain list


class _Absent:
    """Stands for a class that this ADK does not have: nothing is one of these."""


def _found(*places: str, otherwise: Any = None) -> Any:
    """Return the first of ADK's names that is there, each written `module:name`."""
    for place in places:
        module, _, name = place.partition(":")
        try:
            return getattr(importlib.import_module(f"google.adk.{module}"), name)
        except (ImportError, AttributeError):
            continue
    return otherwise


MADE_CALL_ID: str = _found(
    "utils._function_call_names:AF_FUNCTION_CALL_ID_PREFIX",
    "flows.llm_flows.tools._functions:AF_FUNCTION_CALL_ID_PREFIX",  # 2.11
    otherwise="adk-",
)
"""How the ids of function calls begin that no model gave: ADK takes those out of what models are shown."""

FinishTaskTool: Any = _found("agents.llm.task._finish_task_tool:FinishTaskTool", otherwise=_Absent)
NodeTool: Any = _found("tools._node_tool:NodeTool", otherwise=_Absent)
ToolNode: Any = _found("workflow._tool_node:_ToolNode", otherwise=_Absent)
request_input: Any = _found("tools._request_input_tool:request_input", otherwise=_Absent)
_call_tool: Any = _found("flows.llm_flows.tools._caller:_call_tool_async")
_contents_processor: Any = _found("flows.llm_flows.context._contents:request_processor")
_set_random_provider: Any = _found("platform._random:set_random_provider")
_tracing: Any = _found("telemetry.tracing:use_inference_span") and importlib.import_module(
    "google.adk.telemetry.tracing"
)

_HEARD = "_simulation_heard"
_OPENAPI = "google.adk.tools.openapi_tool.openapi_spec_parser.rest_api_tool"
_NEEDS_A2A = "google.adk.agents.remote_a2a_agent"
_TOOL_FLOWS = frozenset(
    step.__code__.co_filename
    for step in (_call_tool, getattr(ToolNode, "_run_impl", None))
    if step is not None
)
_RUN = frozenset({"run_async", "_run_async_impl", "_invoke_callable", "func"})
"""What a class of tools that is made of one of ADK's may run in its place."""

_RUN_BY_ADK = frozenset({"_run_async_impl", "_invoke_callable"})
"""What of these ADK itself calls, also where somebody set it on one tool alone."""

_STEERING = (FinishTaskTool, SetModelResponseTool, TransferToAgentTool)


def is_steering(tool: Any) -> bool:
    """Recognise the tools that steer ADK's flow; an answer in their place would suppress what they do.

    They are told by type: a person's own tool with such a name is a tool like any other, and so is one that is made of
    such a tool and runs code of its own.
    """
    if tool is request_input:
        return True
    if isinstance(tool, _STEERING) or (isinstance(tool, FunctionTool) and tool.func is exit_loop):
        return not has_own_code(tool)
    return False


def has_own_code(tool: BaseTool) -> bool:
    """Return whether a tool that is one of ADK's, or of a class that is made of one, runs any code besides ADK's."""
    function = getattr(tool, "func", None)
    if function is not None and not _is_adks(getattr(function, "__module__", None)):
        return True
    if own_run(tool) is not None or not vars(tool).keys().isdisjoint(_RUN_BY_ADK):
        return True
    kinds = itertools.takewhile(lambda kind: kind is not BaseTool, type(tool).__mro__)
    return any(not _is_adks(kind.__module__) and not _RUN.isdisjoint(vars(kind)) for kind in kinds)


class ToolSeat(functools.partial[Any]):
    """A `run_async` of ours on a tool: what is called, with the tool, held weakly, and what somebody had set there."""


def own_run(tool: BaseTool) -> Any:
    """Return the `run_async` that somebody set on a tool itself, whether it is seated or not; None where nobody did."""
    run = vars(tool).get("run_async")
    return run.args[1] if isinstance(run, ToolSeat) else run


def _is_adks(module: str | None) -> bool:
    return (module or "").startswith("google.adk.")


def schema_of_final_tool(request: Any) -> Any:
    """Return the output schema of an agent that has tools too: ADK then asks for it by a tool, and checks texts all the same."""
    tools = (tool for tool in request.tools_dict.values() if isinstance(tool, SetModelResponseTool))
    return next((tool.output_schema for tool in tools), None)


def runs_agents(tool: Any) -> bool:
    """Recognise the tools whose work is done by agents or graphs that are seated themselves."""
    if isinstance(tool, NodeTool):
        # A function node is somebody's code: as a tool it asks the world, like every other function.
        return not isinstance(tool.node, FunctionNode)
    return isinstance(tool, AgentTool)


def node_of(tool: Any) -> BaseNode | None:
    """Return the agent or node that a tool wraps."""
    if isinstance(tool, AgentTool):
        return tool.agent
    return tool.node if isinstance(tool, NodeTool) else None


def runs_nodes(tool: Any) -> bool:
    """Recognise the tools that run a node of a workflow, but for agents that take a turn."""
    return type(tool) is NodeTool


def node_function(tool: Any) -> Any:
    """Return the function of the node that a tool runs, looking at no more than what it keeps; None where that is no function's node."""
    node = inspect.getattr_static(tool, "node", None)
    if type(node) is not FunctionNode:
        return None
    return (node.__pydantic_private__ or {}).get("_func")


def openapi_operation(tool: Any) -> Any:
    """Return the OpenAPI operation that a tool sends; None for other tools.

    The tools of Google's APIs and of application integrations keep the tool that sends it for them.
    """
    module = sys.modules.get(_OPENAPI)  # no such tool is there before it was imported, which takes its time
    if module is None:
        return None
    for sender in (tool, getattr(tool, "_rest_api_tool", None)):
        if isinstance(sender, module.RestApiTool):
            return sender.operation.model_dump(mode="json", by_alias=True, exclude_none=True)
    return None


def invocation_of(context: Any) -> Any:
    """Return the invocation context behind a callback's or a tool's context."""
    return context._invocation_context  # noqa: SLF001 - ADK offers no public way


def with_plugins(context: ToolContext, *names: str) -> ToolContext:
    """Return a tool's context whose invocation has only the plugins of these names; all else is shared."""
    invocation = invocation_of(context)
    kept = [plugin for plugin in invocation.plugin_manager.plugins if plugin.name in names]
    clone = copy.copy(context)
    clone._invocation_context = invocation.model_copy(update={"plugin_manager": PluginManager(plugins=kept)})  # noqa: SLF001 - ADK offers no public way
    return clone


def with_plugin(context: ToolContext, plugin: BasePlugin) -> ToolContext:
    """Return a tool's context whose invocation has one more plugin, unless it has that one; all else is shared."""
    invocation = invocation_of(context)
    now = invocation.plugin_manager.plugins
    if plugin in now:
        return context
    clone = copy.copy(context)
    manager = PluginManager(plugins=[*now, plugin])
    clone._invocation_context = invocation.model_copy(update={"plugin_manager": manager})  # noqa: SLF001 - ADK offers no public way
    return clone


def is_about_to_run(context: Any) -> bool:
    """Return whether we are called by ADK itself, which will run the tool of this context if nobody answers."""
    frame = inspect.currentframe() if context is not None else None
    while frame is not None:
        if frame.f_code.co_filename in _TOOL_FLOWS:
            names = frame.f_locals
            if context is names.get("tool_context", names.get("ctx")):
                return True
        frame = frame.f_back
    return False


def is_unknown(tool: Any) -> bool:
    """Return what ADK puts in the place of a tool that a model has made up: nothing can run there."""
    return type(tool) is BaseTool


def let_events_be_heard(context: ToolContext) -> None:
    """Let the real call in `INSIDE_REAL_CALL` have each event that is sent to ADK's runner from inside a tool, right before the runner."""
    # Where pydantic keeps private attributes: asking for one by its name takes it many times as long.
    queue = (invocation_of(context).__pydantic_private__ or {}).get("_event_queue")
    if queue is None or _HEARD in queue.__dict__:
        return
    itself, put = weakref.ref(queue), type(queue).put  # weakly, as the queue is about to hold this

    async def heard(item: Any) -> None:
        if (inside := INSIDE_REAL_CALL.get()) and inside.take_event:
            inside.take_event(item[0])
        await put(itself(), item)

    setattr(queue, _HEARD, True)
    queue.put = heard


async def send_event(context: ToolContext, event: Event) -> None:
    """Send an event to ADK's runner, and wait until it is part of the session."""
    await invocation_of(context)._enqueue_event(event)  # noqa: SLF001 - ADK offers no public way


def own_actions(context: ToolContext) -> EventActions:
    """Return the actions of a tool's context without the flush that reading them in public does."""
    return context._event_actions  # noqa: SLF001 - ADK offers no public way


def is_graph_tool(context: ToolContext) -> bool:
    """Return whether a tool stands in a workflow's graph itself: then ADK makes up its call id."""
    return isinstance(context.node, ToolNode)


def children_of(node: Any) -> Iterator[Any]:
    """Yield the agents and nodes right below one, in a workflow's graph too."""
    static = getattr(node, "_iter_static_children", None)  # since 2.13
    yield from _children_as_kept(node) if static is None else static()
    graph = getattr(node, "graph", None)
    yield from getattr(graph, "nodes", None) or ()


def all_below(root: Any) -> Iterator[Any]:
    """Yield a root and all agents and nodes that it reaches, those behind its tools too, each once."""
    yield from _below(root, set())


def _below(node: Any, seen: set[int]) -> Iterator[Any]:
    if id(node) in seen:
        return
    seen.add(id(node))
    yield node
    inside = (node_of(tool) for tool in getattr(node, "tools", None) or ())
    for child in (*filter(None, inside), *children_of(node)):
        yield from _below(child, seen)


def _children_as_kept(node: Any) -> Iterator[Any]:
    """Yield what ADK 2.13 calls the static children, from where 2.11 and 2.12 keep them too."""
    yield from getattr(node, "sub_agents", ())
    for tool in getattr(node, "tools", ()):
        if isinstance(tool, NodeTool):
            yield tool.node
        elif isinstance(tool, BaseNode):
            yield tool
    # A node that is run once for each item of a list keeps what it runs in one of these.
    inside = getattr(node, "__pydantic_private__", None) or {}
    yield from (inside[name] for name in ("_node", "_inner_node") if isinstance(inside.get(name), BaseNode))


class _AskedState(dict[str, str]):
    """A state that has each key but one, and remembers the keys that it was asked for."""

    def __init__(self, lacks: str = "") -> None:
        self._lacks = lacks

    def __contains__(self, key: object) -> bool:
        self.setdefault(str(key), "")
        return key != self._lacks


async def _some_artifact(**_: Any) -> str:
    return ""


def _is_made(instruction: str, state: _AskedState) -> bool:
    """Return whether ADK makes an instruction with a state, where each artifact is there."""
    from google.adk.utils.instructions_utils import inject_session_state  # noqa: PLC0415 - only who looks at instructions needs it

    session = SimpleNamespace(state=state, app_name="", user_id="", id="")
    within = SimpleNamespace(session=session, artifact_service=SimpleNamespace(load_artifact=_some_artifact))
    context: Any = SimpleNamespace(_invocation_context=within, agent_name="")
    try:
        inject_session_state(instruction, context).send(None)  # nothing in it waits
    except KeyError:
        return False
    except StopIteration:
        return True
    return True


def instruction_keys(instruction: str) -> tuple[str, ...]:
    """Return the keys of the state without which ADK cannot make an instruction, as its own code decides it."""
    asked = _AskedState()
    _is_made(instruction, asked)
    return tuple(key for key in asked if not _is_made(instruction, _AskedState(key)))


Run: TypeAlias = Callable[..., AsyncGenerator[Event, None]]
"""A runner's `run_async`."""


@runtime_checkable
class GoesOn(Protocol):
    """A plugin that goes on with a run where it ended."""

    def gone_on(self, runner: Runner, run: Run, given: dict[str, Any]) -> AsyncGenerator[Event, None]:
        """Yield the events of `run(**given)`, and of what comes after it."""


def let_plugins_go_on() -> None:
    """Let a plugin that `GoesOn` stand around the `run_async` of its runner: ADK's plugins see a run, and cannot begin another.

    A runner that code of a watched run makes itself is left to the one who watches. All others are as before. Harmless when done again.
    """
    run_async = Runner.run_async
    if hasattr(run_async, _HEARD):
        return

    @functools.wraps(run_async)
    def gone_on(self: Runner, **given: Any) -> AsyncGenerator[Event, None]:
        if (watch := WATCH.get()) is not None:
            return watch.within(self, run_async, given)
        return going_on(self, run_async, given)

    setattr(gone_on, _HEARD, True)
    Runner.run_async = gone_on  # type: ignore[method-assign] # on the class: `adk eval` makes runners of its own


def going_on(
    runner: Runner, run_async: Callable[..., AsyncGenerator[Event, None]], given: dict[str, Any]
) -> AsyncGenerator[Event, None]:
    """Return the events of `run_async(runner, **given)`, with the runner's first plugin that `GoesOn` around it."""
    plugin = next((each for each in runner.plugin_manager.plugins if isinstance(each, GoesOn)), None)
    if plugin is None:
        return run_async(runner, **given)
    return plugin.gone_on(runner, functools.partial(run_async, runner), given)


def runner_with(runner: Runner, plugin: BasePlugin) -> Runner:
    """Return a runner that has one more plugin, the first of all, unless it has one of that name; all else is shared."""
    now = runner.plugin_manager.plugins
    if any(each.name == plugin.name for each in now):
        return runner
    clone = copy.copy(runner)
    clone.plugin_manager = PluginManager(plugins=[plugin, *now])
    return clone


class _MissingA2A:
    """Fails the import of what needs A2A at once, where that is not installed, as it would fail a few milliseconds later."""

    def find_spec(self, name: str, *_: Any) -> None:
        """Leave finding all else to the others."""
        if name == _NEEDS_A2A and "a2a" not in sys.modules and importlib.util.find_spec("a2a") is None:
            raise ModuleNotFoundError("No module named 'a2a'", name="a2a")


def let_missing_a2a_be_known() -> None:
    """Let ADK know at once that A2A is not installed: it tries to import it anew at each node of each turn, a tenth of a quick one.

    Harmless when done again; who imports A2A is told as ever that it is not there.
    """
    if not any(type(each) is _MissingA2A for each in sys.meta_path):
        sys.meta_path.insert(0, _MissingA2A())


def let_codes_stay_here() -> None:
    """Let ADK exchange no authorization code for a token beside the seats of a turn: a tool that somebody chose to be real does it itself.

    Harmless when done again; where no turn is in progress all is as before.
    """
    handler: Any = _found("auth.auth_handler:AuthHandler", otherwise=_Absent)
    exchange = getattr(handler, "exchange_auth_token", None)
    if exchange is None or hasattr(exchange, _HEARD):
        return

    @functools.wraps(exchange)
    async def kept(self: Any) -> Any:
        turn = CURRENT_TURN.get()
        if turn is None or INSIDE_REAL_CALL.get():
            return await exchange(self)
        turn.note_problem("The authorization code was not exchanged for a token. Nothing was sent.")
        return self.auth_config.exchanged_auth_credential

    setattr(kept, _HEARD, True)
    handler.exchange_auth_token = kept


def set_random_provider(source: Callable[[], random.Random]) -> None:
    """Let ADK draw from what this gives in the current context."""
    if _set_random_provider is not None:
        _set_random_provider(source)


def let_known_answers_be_quick() -> None:
    """Let ADK put together what a model is shown only where somebody looks into it, and not report the call, where the journal holds the answer.

    In a long session that takes most of the time of an undo; all other calls are as before. Harmless when done again.
    """
    processor, inference = _contents_processor, getattr(_tracing, "use_inference_span", None)
    if processor is None or inference is None or hasattr(inference, _HEARD):
        return
    put_together = processor.run_async

    async def contents(context: InvocationContext, request: LlmRequest) -> AsyncGenerator[Event, None]:
        turn = CURRENT_TURN.get()
        if turn is not None and turn.replay.models_ahead > 1 and _nobody_looks(context, request):
            events = [*context.session.events]
            request.contents = Later(lambda: _contents_of(put_together, context, request, events))
            return
        async for event in put_together(context, request):
            yield event

    @asynccontextmanager
    async def unless_known(request: LlmRequest, *others: Any) -> AsyncIterator[Any]:
        if isinstance(request.contents, Later) and request.contents.is_unread:
            yield None
            return
        async with inference(request, *others) as span:
            yield span

    setattr(unless_known, _HEARD, True)
    processor.run_async, _tracing.use_inference_span = (
        contents,
        unless_known,
    )  # in place, as every flow holds this one processor


def _nobody_looks(context: InvocationContext, request: LlmRequest) -> bool:
    """Recognise an agent with nothing that is shown a model's request besides the model, and with nothing to be made for it."""
    agent = context.agent
    return (
        type(agent) is LlmAgent
        and not (agent.before_model_callback or agent.on_model_error_callback)
        and agent.planner is None
        and agent.code_executor is None
        and all(plugin.name == GUARD_NAME for plugin in context.plugin_manager.plugins)
        and not request.contents
        and all(_is_as_said(event, agent) for event in context.session.events)
    )


def _is_as_said(event: Event, agent: LlmAgent) -> bool:
    """Recognise an event that a model is shown as it is: where ADK makes another one of it, it draws an id and a time for that."""
    return event.author in {agent.name, "user"} and event.actions.compaction is None


def _contents_of(
    put_together: Callable[[InvocationContext, LlmRequest], AsyncGenerator[Event, None]],
    context: InvocationContext,
    request: LlmRequest,
    events: list[Event],
) -> list[types.Content]:
    """Return what ADK would have put together when there were these events; it waits for nothing meanwhile."""
    session = context.session.model_copy(update={"events": events})
    asked = request.model_copy(update={"contents": []})
    steps = put_together(context.model_copy(update={"session": session}), asked)
    try:
        steps.__anext__().send(None)
    except StopAsyncIteration:
        return asked.contents
    raise RuntimeError("ADK waited while it built the context for a model")


def simulator_config_type(simulator: type) -> type[Any] | None:
    """Return the configuration class that a user simulator is registered for; None where it is not registered.

    ADK's public way, `register_user_simulator`, only writes.
    """
    from google.adk.evaluation.simulation import (  # noqa: PLC0415 - the evaluation package takes seconds to import
        user_simulator,
    )

    known = user_simulator._SIMULATOR_BY_CONFIG_TYPE  # noqa: SLF001 - as above
    return next((kind for kind, made in known.items() if made is simulator), None)


def with_summarizing_model(summarizer: Any, seated: Callable[[Any], Any]) -> Any:
    """Return a copy of a summarizer of events whose model is seated; None where it has none that is known here, or it is seated."""
    model = getattr(summarizer, "_llm", None)
    if model is None or (own := seated(model)) is None:
        return None
    found = copy.copy(summarizer)
    found._llm = own  # noqa: SLF001 - ADK takes it at the making alone, with a prompt that it does not tell
    return found
