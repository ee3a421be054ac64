"""Checks whether the installed google-adk has what `adk_private` touches without ADK's promise.

Each point is looked for where it is used. One that is needed and missing stops a session before it begins; the others,
and a version that is newer than those that were tested, give one warning in a process.
"""

import functools
import importlib
import inspect
import itertools
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import google.adk

from simulator.runtime.errors import SimulationError

TESTED = ((2, 11), (2, 13))
"""The oldest and the newest version whose events are compared by the tests."""


class TouchPoint(NamedTuple):
    """Something of ADK's that is used without its promise.

    Attributes:
        places: Where it may be, each as `module:name.attribute` below `google.adk`; one of them has to be there.
        without: What does not work where it is missing.
        needed: Whether no session can be right without it.
    """

    places: tuple[str, ...]
    without: str
    needed: bool = True


class AdkProblem(NamedTuple):
    """A touch point that the installed google-adk does not have."""

    version: str
    point: TouchPoint

    def __str__(self) -> str:
        return f"google-adk {self.version} has no {' or '.join(self.point.places)}: {self.point.without}"


class UnsupportedAdkError(SimulationError):
    """The installed google-adk lacks what a session needs; the text names the version and each point."""


class UntestedAdkWarning(UserWarning):
    """The installed google-adk is newer than those that were tested, or lacks what a session can do without."""


_CONTEXT = "tools.tool_context:ToolContext"
_INVOCATION = "agents.invocation_context:InvocationContext"

POINTS = (
    TouchPoint(
        ("agents.base_agent:BaseAgent._iter_static_children", "agents.base_agent:BaseAgent.sub_agents"),
        "sub-agents are not found and would run without seats",
    ),
    TouchPoint(
        ("tools._node_tool:NodeTool",), "tools that run a node are treated as functions, so the node does not run"
    ),
    TouchPoint(
        ("workflow._tool_node:_ToolNode._run_impl",),
        "tools in a workflow graph are treated as tools of an agent",
    ),
    TouchPoint(
        ("workflow._function_node:FunctionNode._func",),
        "drafts do not use the code of nodes",
        needed=False,
    ),
    TouchPoint(
        ("agents.llm.task._finish_task_tool:FinishTaskTool",),
        "the end of a task is treated as a tool call",
    ),
    TouchPoint(
        ("tools._request_input_tool:request_input",), "a request for input is treated as a tool call"
    ),
    TouchPoint((f"{_CONTEXT}._invocation_context",), "the invocation of a call is unknown"),
    TouchPoint((f"{_CONTEXT}._event_actions",), "side effects of real tools are not recorded"),
    TouchPoint((f"{_INVOCATION}._event_queue",), "events sent by real tools are not recorded"),
    TouchPoint((f"{_INVOCATION}._enqueue_event",), "events sent by real tools are not replayed"),
    TouchPoint(
        ("flows.llm_flows.tools._caller:_call_tool_async",),
        "callbacks called by ADK cannot be distinguished from callbacks called by other code",
    ),
    TouchPoint(
        (
            "utils._function_call_names:AF_FUNCTION_CALL_ID_PREFIX",
            "flows.llm_flows.tools._functions:AF_FUNCTION_CALL_ID_PREFIX",
        ),
        "models may see the ids of calls that ADK makes",
        needed=False,
    ),
    TouchPoint(
        ("platform._random:set_random_provider",),
        "random values from ADK differ when a session runs again",
        needed=False,
    ),
    TouchPoint(
        ("flows.llm_flows.context._contents:request_processor",), "undo is slow in long sessions", needed=False
    ),
    TouchPoint(("telemetry.tracing:use_inference_span",), "undo is slow in long sessions", needed=False),
    TouchPoint(("runners:Runner.run_async(abort_signal)",), "a turn cannot be stopped"),
)  # fmt: skip


def adk_problems(points: Iterable[TouchPoint] = POINTS) -> tuple[AdkProblem, ...]:
    """Return the touch points that the installed google-adk does not have."""
    version = google.adk.__version__
    return tuple(
        AdkProblem(version, point) for point in points if not any(_is_there(place) for place in point.places)
    )


@functools.cache
def check_adk() -> None:
    """Check the installed google-adk, once in a process.

    Raises:
        UnsupportedAdkError: It lacks what a session needs.
    """
    judge(google.adk.__version__, adk_problems())


def judge(version: str, problems: Iterable[AdkProblem]) -> None:
    """Raise, or warn, as the problems of a version ask for.

    Raises:
        UnsupportedAdkError: One of them is needed.
    """
    found = tuple(problems)
    if needed := [str(problem) for problem in found if problem.point.needed]:
        oldest, newest = (".".join(map(str, each)) for each in TESTED)
        raise UnsupportedAdkError(f"{'; '.join(needed)}. Install google-adk {oldest} to {newest}.")
    for problem in found:
        warnings.warn(str(problem), UntestedAdkWarning, stacklevel=2)
    if _numbers(version) > TESTED[1]:
        newest = ".".join(map(str, TESTED[1]))
        warnings.warn(
            f"google-adk {version} is newer than {newest}, the newest tested version. It has everything that a session needs.",
            UntestedAdkWarning,
            stacklevel=2,
        )


def _numbers(version: str) -> tuple[int, ...]:
    leading = (tuple(itertools.takewhile(str.isdigit, part)) for part in version.split(".")[:2])
    return tuple(int("".join(digits) or 0) for digits in leading)


def _is_there(place: str) -> bool:
    module, _, path = place.partition(":")
    path, _, parameter = path.rstrip(")").partition("(")
    try:
        found: Any = importlib.import_module(f"google.adk.{module}")
    except ImportError:
        return False
    for name in path.split("."):
        if not _has(found, name):
            return False
        found = getattr(found, name, None)
    return not parameter or parameter in inspect.signature(found).parameters


def _has(owner: Any, name: str) -> bool:
    """Return whether a module or a class has a name, or the class keeps it in its instances."""
    if hasattr(owner, name):
        return True
    if not inspect.isclass(owner):
        return False
    kept = {*getattr(owner, "model_fields", ()), *getattr(owner, "__private_attributes__", ())}
    made = (getattr(vars(kind).get("__init__"), "__code__", None) for kind in owner.__mro__)
    return name in kept or any(code is not None and name in code.co_names for code in made)
