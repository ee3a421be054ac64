"""Every shape of agent, with what its user says and decides, so that a play of it depends on nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from simulator.agent_config import SimulatedAgentConfig
from simulator.base.json_values import JsonObject
from simulator.facts import Deferred
from simulator.seats.answers import ToolAnswer, failed, raised, returned
from simulator.seats.requests import ToolRequest
from tests.simulator.runtime import graph_ways, more_ways, ways
from tests.simulator.runtime.traces import Traces


def _plays(request: ToolRequest) -> ToolAnswer:
    return returned({"played": request.tool_name, "with": request.arguments})


@dataclass(frozen=True)
class Shape:
    """An agent, and what the user and the environment do.

    `make` gives an App, an agent or a graph. `answer` is the person's answer to a tool call, `late` the user's to a
    call that a turn left open and that is no confirmation.
    """

    make: Callable[[Traces], Any]
    queries: Sequence[str | JsonObject] = ("go", "once more")
    confirmed: bool = True
    answer: Callable[[ToolRequest], ToolAnswer] = _plays
    late: Any = "late"
    state: JsonObject = field(default_factory=dict)
    streaming: bool = False

    def config(self, traces: Traces) -> SimulatedAgentConfig:
        """Make the agent, as a process that was just started would."""
        return SimulatedAgentConfig("stage", self.make(traces), "stage.evalset.json", app_name="stage")


def _writes_state(request: ToolRequest) -> ToolAnswer:
    delta: JsonObject = {"last": request.arguments.get("mark", "?"), "user:name": {"first": request.call_id}}
    return returned([request.arguments], state_delta=delta)


def _defers(request: ToolRequest) -> ToolAnswer:
    return ToolAnswer(outcome=Deferred()) if request.is_long_running else _plays(request)


def _fails(request: ToolRequest) -> ToolAnswer:
    return failed(404, f"no {request.tool_name}")


def _raises(request: ToolRequest) -> ToolAnswer:
    return raised("LookupError", f"no {request.tool_name}")


_WAYS = (
    ways.plain,
    ways.asynchronous,
    ways.generator,
    ways.confirmed,
    ways.confirmed_by_function,
    ways.confirmed_in_toolset,
    ways.parallel_calls,
    ways.subclass,
    ways.deep_copy,
    ways.made_by_toolset,
    ways.prefixed,
    ways.agent_tool,
    ways.agent_tool_without_plugins,
    ways.agent_tool_with_answering_callback,
    ways.answering_callback,
    ways.transferred,
    ways.inherited_model,
    ways.sequential,
    ways.looping,
    ways.side_by_side,
    ways.tool_in_graph,
    ways.agent_in_graph,
    ways.tool_run_by_node,
    ways.graph_tool,
    more_ways.unknown_tool,
    more_ways.unknown_tool_healed,
    more_ways.raising_tool,
    more_ways.raising_model,
    more_ways.raising_model_healed,
    more_ways.not_json_state,
    more_ways.writing_callbacks,
    more_ways.app_with_plugin,
    more_ways.output_schema,
    more_ways.output_schema_with_tools,
    more_ways.planning,
    more_ways.coding,
    more_ways.provided_instruction,
    more_ways.repeating_ids,
    more_ways.silent,
    more_ways.quick_and_slow,
    graph_ways.transferred_and_confirmed,
    graph_ways.handed_back,
    graph_ways.nested_agent_tools,
    graph_ways.agent_tool_with_schemas,
    graph_ways.searching,
    graph_ways.escaping_loop,
    graph_ways.merging,
    graph_ways.single_turn,
    graph_ways.task_mode,
    graph_ways.made_at_run_time,
    graph_ways.fan_out,
    graph_ways.asking_graph,
    graph_ways.asking_agent,
    graph_ways.worker_graph,
)

_PICTURE: JsonObject = {"inline_data": {"mime_type": "image/png", "data": "iVBORw0KGgo="}}
_PLAIN = Shape(ways.plain)

SHAPES: dict[str, Shape] = {
    **{way.__name__: Shape(way) for way in _WAYS},
    "long_running": Shape(ways.long_running),
    "long_running_deferred": Shape(ways.long_running, answer=_defers),
    "resumable_app": Shape(more_ways.resumable_app),
    "resumable_app_deferred": Shape(more_ways.resumable_app, answer=_defers),
    "rejected": Shape(ways.confirmed, confirmed=False),
    "rejected_after_transfer": Shape(graph_ways.transferred_and_confirmed, confirmed=False),
    "state_and_files": Shape(more_ways.state_and_files, answer=_writes_state, state={"last": "first"}),
    "error_answers": replace(_PLAIN, answer=_fails),
    "raised_answers": replace(_PLAIN, answer=_raises),
    "raised_in_parallel": Shape(ways.parallel_calls, answer=_raises),
    "streamed": Shape(more_ways.planning, streaming=True),
    "streamed_merging": Shape(graph_ways.merging, streaming=True),
    "asked_in_json": Shape(more_ways.input_schema, queries=('{"number": "7"}',)),
    "asked_with_a_file": replace(_PLAIN, queries=({"parts": [{"text": "go"}, _PICTURE]},)),
}
