"""What asks another machine beside agents' models and tools: it is a seat, or it is left out and said."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents import LlmAgent, ManagedAgent
from google.adk.apps import App
from google.adk.code_executors import UnsafeLocalCodeExecutor
from google.adk.code_executors.code_execution_utils import CodeExecutionResult
from google.adk.events.event import Event
from google.adk.labs.classifiers import Choice, ClassifierNode, LlmClassifier
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.exit_loop_tool import exit_loop
from google.adk.tools.function_tool import FunctionTool
from google.adk.workflow import START, Workflow
from google.genai import types

from simulator import Seats, SimulatedAgentConfig, Simulation
from simulator.agents.agent_directory import directory_of
from simulator.seats.answers import said
from tests.simulator.runtime.desk import FIND, find
from tests.simulator.runtime.stage import ASKED, PATIENCE, Scripted, agent_of, call, say

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
WAYS = {"billing": "Invoices.", "technical": "Bugs."}


def config_of(agent: Any) -> SimulatedAgentConfig:
    """Describe an agent or app."""
    return SimulatedAgentConfig("stage", agent, "stage.evalset.json", app_name="stage")


def desk() -> Workflow:
    """Make a graph in which a model chooses who answers."""
    ASKED.clear()
    asks = ClassifierNode(
        name="sorter",
        classifier=LlmClassifier(model=Scripted(model="sorting", turns=[[say('{"x": 1}')]])),
        question=Choice(criteria=WAYS),
    )
    answering = {way: LlmAgent(name=way, model=Scripted(turns=[[say(way)]])) for way in WAYS}
    return Workflow(name="stage", edges=[(START, asks), (asks, answering)])


def test_the_model_by_which_a_graph_chooses_its_way_is_a_seat() -> None:
    """A person answers for it by the node's name, and the graph goes that way."""
    graph = desk()
    assert [card.name for card in directory_of(graph).agents if card.is_played] == ["sorter", *WAYS]
    with Simulation.open(config_of(graph), seats=Seats(agents={"*": "person"})) as simulation:
        simulation.query("My app crashes.", wait=PATIENCE)
        (request,) = simulation.pending
        assert request.agent == "sorter"
        chosen = json.dumps({"route": {"billing": 0.1, "technical": 0.9}})
        simulation.answer(request, said(chosen), wait=PATIENCE)
        assert [each.agent for each in simulation.pending] == ["technical"]
    assert ASKED == []


def test_an_agent_that_google_runs_is_asked_by_nobody_who_was_not_chosen() -> None:
    """A person answers in its place; no client is made, which would need a key."""
    managed = ManagedAgent(name="stage", agent_id="agents/research")
    with Simulation.open(config_of(managed)) as simulation:
        simulation.query("Hello", wait=PATIENCE)
        simulation.answer(simulation.pending[0], said("Here."), wait=PATIENCE)
        assert "Here." in str(simulation.session.turns[-1].events)
    assert managed._api_client is None


def _model() -> tuple[Any, Any, str]:
    model = Scripted(turns=[[say("of its class")]])
    return LlmAgent(name="stage", model=model), model, "generate_content_async"


def _tool() -> tuple[Any, Any, str]:
    tool = FunctionTool(find)
    return agent_of(FIND, tools=[tool], name="stage"), tool, "run_async"


def _steering() -> tuple[Any, Any, str]:
    tool = FunctionTool(exit_loop)
    return agent_of([call("exit_loop")], tools=[tool], name="stage"), tool, "run_async"


def _code() -> tuple[Any, Any, str]:
    executor = UnsafeLocalCodeExecutor()
    turn = [types.Part(text="```python\nprint(1)\n```")]
    return agent_of(turn, name="stage", code_executor=executor), executor, "execute_code"


def _elsewhere() -> tuple[Any, Any, str]:
    managed = ManagedAgent(name="stage", agent_id="agents/research")
    return managed, managed, "_run_async_impl"


def own_method(method: str, target: Any, asked: list[str]) -> Any:
    """Make what somebody sets on one object in the place of a method: the same way of answering."""
    if method == "execute_code":

        def execute(*_: Any) -> CodeExecutionResult:
            asked.append(method)
            return CodeExecutionResult(stdout="own")

        return execute
    if method == "run_async":

        async def run(**_: Any) -> Any:
            asked.append(method)
            return {"by": "own"}

        return run

    async def events(*_: Any) -> Any:
        asked.append(method)
        given = types.ModelContent("own")
        yield LlmResponse(content=given) if isinstance(target, BaseLlm) else Event(author="x", content=given)

    return events


@pytest.mark.parametrize(
    ("make", "late"),
    [
        *((make, late) for make in (_model, _tool, _steering, _code) for late in (False, True)),
        (_elsewhere, False),  # ADK has taken its method before any callback
    ],
)
def test_a_method_that_somebody_set_on_one_object_has_the_seat_of_its_class(
    make: Callable[[], tuple[Any, Any, str]], late: bool
) -> None:
    """It is not run while somebody else answers, and is what answers where the real thing does."""
    agent, target, method = make()
    asked: list[str] = []
    is_played = method in {"generate_content_async", "_run_async_impl"}

    def patch(callback_context: Any = None) -> None:
        held = agent.model if method == "generate_content_async" else target
        held = agent.code_executor if method == "execute_code" else held
        object.__setattr__(held, method, own_method(method, held, asked))

    if late:
        agent.before_agent_callback = patch
    else:
        patch()
    played = Seats(agents={"*": "person" if is_played else "model"})
    with Simulation.open(config_of(agent), seats=played) as simulation:
        simulation.query("Hello", wait=PATIENCE)
        assert asked == []
        simulation.run_real(simulation.pending[0], wait=PATIENCE)
        assert asked == [method]
        assert not simulation.session.turns[-1].error


class BigQueryAgentAnalyticsPlugin(BasePlugin):
    """Stands for ADK's, which writes what happens to a table of the project."""

    __module__ = "google.adk.plugins.bigquery_agent_analytics_plugin"
    sent = 0

    async def on_event_callback(self, *, invocation_context: Any, event: Event) -> None:
        """Count what would be sent."""
        type(self).sent += 1


def test_a_plugin_that_sends_what_happens_elsewhere_is_left_out_and_named() -> None:
    """A simulated session is not written among real ones; other plugins are left in."""
    reports = BigQueryAgentAnalyticsPlugin(name="reports")
    app = App(
        name="stage",
        root_agent=LlmAgent(name="stage", model=Scripted(turns=[[say("x")]])),
        plugins=[reports],
    )
    with Simulation.open(config_of(app), seats=Seats(agents={"*": "model"})) as simulation:
        simulation.query("Hello", wait=PATIENCE)
        assert simulation.session.turns[-1].ended
        assert [text for text in simulation.view().problems if "reports" in text]
    assert (reports.sent, app.plugins) == (0, [reports])
