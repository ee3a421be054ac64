"""Graphs that ask the user for input in every way, and sessions in which a person answers; their tools must never run in a replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.events.request_input import RequestInput
from google.adk.tools._request_input_tool import request_input
from google.adk.tools.function_tool import FunctionTool
from google.adk.workflow import START, JoinNode, Workflow, node
from google.genai import types
from pydantic import BaseModel

from evalset import EvalSetWriter, GoldenTraceBuilder
from evalset.recorded.recorder import record
from simulator import Seats, SimulatedAgentConfig, Simulation
from simulator.seats.requests import ToolRequest
from tests.simulator.runtime.stage import PATIENCE, Scripted, call, say


def book(place: str) -> dict[str, str]:
    """Book a place."""
    raise SystemExit("a real tool ran")


class Trip(BaseModel):
    """Where to, and for how long."""

    city: str
    nights: int


def asks(name: str, message: str | Callable[[], str], interrupt_id: str = "", **more: Any) -> Any:
    """Make a node that asks the user; ADK draws the id where none is given."""

    def ask() -> RequestInput:
        fixed = {"interrupt_id": interrupt_id} if interrupt_id else {}
        return RequestInput(message=message if isinstance(message, str) else message(), **fixed, **more)

    return node(ask, name=name)


def place_of(node_input: Any) -> dict[str, str]:
    """Take the user's answer as the arguments of the tool."""
    return {"place": str(node_input)}


def one(message: str | Callable[[], str] = "Which one?", interrupt_id: str = "") -> Workflow:
    """Ask once, then call a tool of the graph."""
    return Workflow(
        name="graph",
        edges=[(START, asks("ask", message, interrupt_id), place_of, FunctionTool(book))],
    )


def silent() -> Workflow:
    """Ask nothing, and book Rome."""

    def place() -> dict[str, str]:
        return {"place": "Rome"}

    return Workflow(name="silent", edges=[(START, place, FunctionTool(book))])


def several(first: str = "From where?", second: str = "Where to?") -> Workflow:
    """Ask twice in a row, and say both."""

    def keep(node_input: Any, ctx: Any) -> None:
        ctx.state["start"] = node_input

    def told(node_input: Any, ctx: Any) -> str:
        return f"from {ctx.state['start']} to {node_input}"

    return Workflow(name="graph", edges=[(START, asks("ask", first), keep, asks("again", second), told)])


def side_by_side(message: str = "Yes?", late: str = "") -> Workflow:
    """Ask the same in two branches at once, each with its tool, and join; `late` names the branch that comes to it later."""
    left, right = asks("left", message), asks("right", message)

    @node(name="left_place")
    def left_place(node_input: Any) -> dict[str, str]:
        return {"place": f"left {node_input}"}

    @node(name="right_place")
    def right_place(node_input: Any) -> dict[str, str]:
        return {"place": f"right {node_input}"}

    def told(node_input: Any) -> str:
        return str(sorted(map(str, node_input.values())))

    join = JoinNode(name="join")

    def second(place: str) -> dict[str, str]:
        """Book another place."""
        raise SystemExit("a real tool ran")

    def hop(number: int) -> Any:
        return node(lambda: None, name=f"hop_{number}")

    before = [(START, (left, right))]
    if late:
        first, last = (left, right) if late == "right" else (right, left)
        before = [(START, first), (START, *map(hop, range(5)), last)]
    return Workflow(
        name="graph",
        edges=[
            *before,
            (left, left_place, FunctionTool(book), join),
            (right, right_place, FunctionTool(second), join),
            (join, told),
        ],
    )


def with_schema(schema: Any = Trip) -> Workflow:
    """Ask for an object of a schema, with a payload beside the question."""

    def told(node_input: Any) -> dict[str, str]:
        return {"place": f"{node_input['city']} for {node_input['nights']}"}

    asked = asks("ask", "Which trip?", response_schema=schema, payload={"from": "Oslo"})
    return Workflow(name="graph", edges=[(START, asked, told, FunctionTool(book))])


def into_agent() -> Workflow:
    """Ask, then an agent calls a tool with what was said."""

    def books(request: Any) -> list[types.Part]:
        said = next(p.text for c in request.contents for p in c.parts if p.text and "place" in p.text)
        return [call("book", place=said)]

    agent = LlmAgent(name="agent", model=Scripted(turns=[books, [say("booked")]]), tools=[book])
    return Workflow(name="graph", edges=[(START, asks("ask", "Which one?"), place_of, agent)])


def resumed() -> Workflow:
    """Ask in a node that is run again with the answer, until the answer will do."""

    @node(rerun_on_resume=True)
    async def ask(ctx: Any) -> Any:
        said = ctx.resume_inputs.get("which")
        if said is None:
            yield RequestInput(interrupt_id="which", message="Which one?")
            return
        yield {"place": str(said)}

    return Workflow(name="graph", edges=[(START, ask, FunctionTool(book))])


def by_tool(message: str = "Which one?") -> LlmAgent:
    """Ask by ADK's own tool, whose call the model makes."""

    def books(request: Any) -> list[types.Part]:
        answers = [p.function_response for c in request.contents for p in c.parts if p.function_response]
        return [call("book", place=str(answers[-1].response["result"]))]

    turns = [[call("adk_request_input", message=message)], books, [say("booked")]]
    return LlmAgent(name="agent", model=Scripted(turns=turns), tools=[request_input, book])


def config(agent: Any) -> SimulatedAgentConfig:
    """Make a config of an agent."""
    return SimulatedAgentConfig("stage", agent, "stage.evalset.json", app_name="stage")


def played(agent: Any, answers: Sequence[Any], queries: Sequence[Any] = ("go",)) -> Simulation:
    """Play a session: each question that waits gets the next of the answers, each tool says what it was asked."""
    simulation = Simulation.open(config(agent), seats=Seats(tools={"*": "person"}))
    left = list(answers)
    for query in queries:
        simulation.query(query, wait=PATIENCE)
        while _answered(simulation, left):
            pass
    assert not left
    return simulation


def _answered(simulation: Simulation, left: list[Any]) -> bool:
    for request in simulation.pending:
        assert isinstance(request, ToolRequest)
        simulation.answer(request, {"booked": request.arguments}, wait=PATIENCE)
        return True
    waiting = [each for each in simulation.session.open_calls if not each.answered]
    if waiting:
        answer = left.pop(0)
        which = len(waiting) - 1 if answer == "the last" else 0
        simulation.reply(waiting[which].call_id, answer, wait=PATIENCE)
    return bool(waiting)


def kept(simulation: Simulation, folder: Path, eval_id: str = "case", **more: Any) -> Path:
    """Export a session as the page does; return the eval set."""
    eval_set = folder / "stage.evalset.json"
    made = {"confirmations": "beside", **more}
    case = GoldenTraceBuilder(simulation.session, eval_id=eval_id, **made).build()
    EvalSetWriter(eval_set, "stage").write_eval_case(case)
    facts = [fact for _, fact in simulation.journal.path()]
    record(eval_set, eval_id, simulation.session, facts, simulation.config.root_agent)
    return eval_set
