"""Every shape of agent, with what its user says and decides, so that a play of it depends on nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
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


def ways_in(*modules: ModuleType) -> dict[str, Callable[[Traces], Any]]:
    """Return the ways that modules define, by name: their functions that are given traces, and nothing else."""
    functions = [value for module in modules for value in vars(module).values() if inspect.isfunction(value)]
    return {
        function.__name__: function
        for function in functions
        if function.__module__ in {module.__name__ for module in modules}
        and [*inspect.signature(function).parameters] == ["traces"]
    }


_PICTURE: JsonObject = {"inline_data": {"mime_type": "image/png", "data": "iVBORw0KGgo="}}
_PLAIN = Shape(ways.plain)

SHAPES: dict[str, Shape] = {
    **{name: Shape(way) for name, way in ways_in(ways, more_ways, graph_ways).items()},
    "long_running_deferred": Shape(ways.long_running, answer=_defers),
    "resumable_app_deferred": Shape(more_ways.resumable_app, answer=_defers),
    "rejected": Shape(ways.confirmed, confirmed=False),
    "rejected_after_transfer": Shape(graph_ways.transferred_and_confirmed, confirmed=False),
    "state_and_files": Shape(more_ways.state_and_files, answer=_writes_state, state={"last": "first"}),
    "error_answers": replace(_PLAIN, answer=_fails),
    "raised_answers": replace(_PLAIN, answer=_raises),
    "raised_in_parallel": Shape(ways.parallel_calls, answer=_raises),
    "streamed": Shape(more_ways.planning, streaming=True),
    "streamed_merging": Shape(graph_ways.merging, streaming=True),
    "asked_in_json": Shape(more_ways.asked_in_json, queries=('{"number": "7"}',)),
    "asked_with_a_file": replace(_PLAIN, queries=({"parts": [{"text": "go"}, _PICTURE]},)),
}
