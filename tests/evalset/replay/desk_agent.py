"""Writes an agent that does as it is told, with tools that must never run in a replay; and records sessions with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalset import EvalSetWriter, GoldenTraceBuilder
from evalset.recorded.recorder import recorded_case
from evalset.recorded.recording_files import put_cases, sidecar_of
from simulator import Seats, SimulatedAgentConfig, Simulation
from simulator.agents import AgentSettings, catalogue_for
from simulator.seats.answers import ToolAnswer, returned
from simulator.seats.requests import ToolRequest

NAME = "desk"
PATIENCE = 60.0

SOURCE = '''
"""Does what the user lists: `check A, check B; note A; until A; advisor visas; transfer refunds`."""

import os
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.tools import AgentTool, FunctionTool, LongRunningFunctionTool, ToolContext
from google.genai import types


def said(parts):
    return LlmResponse(content=types.Content(role="model", parts=parts))


def calls(name, **arguments):
    return types.Part.from_function_call(name=name, args=arguments)


def since_the_query(contents):
    """Give the query, and the calls and answers after it."""
    first = max(n for n, each in enumerate(contents) if each.role == "user" and each.parts[0].text)
    later = contents[first + 1 :]
    made = [[p.function_call for p in each.parts if p.function_call] for each in later]
    answered = [p.function_response for each in later for p in each.parts if p.function_response]
    return contents[first].parts[0].text, [each for each in made if each], answered


class Clerk(BaseLlm):
    model: str = "clerk"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        if os.environ.get("NO_MODEL"):
            raise SystemExit("the real model was asked")
        query, made, answered = since_the_query(llm_request.contents)
        steps = [step.strip() for step in query.split(";")]
        left = len(made)
        for step in steps:
            if step.startswith("until"):
                order = step.split()[1]
                asked = [a.response.get("status") for a in answered if a.name == "check"]
                if "done" in asked:
                    left -= len(asked)
                    continue
                yield said([calls("check", order=order)])
                return
            if left > 0:
                left -= 1
                continue
            yield said([self.part(each.split()) for each in step.split(",")])
            return
        yield said([types.Part(text="; ".join(f"{a.name}: {a.response}" for a in answered) or "nothing to do")])

    def part(self, words):
        match words:
            case ["check" | "note" as tool, order]:
                return calls(tool, order=order)
            case ["advisor", topic]:
                return calls("advisor", request=topic)
            case ["transfer", agent]:
                return calls("transfer_to_agent", agent_name=agent)
            case ["break"]:
                return calls("breaks", hard=True)
            case ["wait"]:
                return calls("takes_long", job="J-1")
            case ["wipe", order]:
                return calls("wipe", order=order)
            case ["ship", order]:
                return calls("ship", order=order)


class Once(BaseLlm):
    """Calls one tool, and tells its answer."""

    model: str = "once"
    tool: str = ""
    argument: str = ""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        if os.environ.get("NO_MODEL"):
            raise SystemExit("the real model was asked")
        parts = [part for content in llm_request.contents for part in content.parts or []]
        answers = [p.function_response for p in parts if p.function_response and p.function_response.name == self.tool]
        if answers:
            yield said([types.Part(text=f"{self.tool} says {answers[-1].response}")])
        else:
            text = llm_request.contents[-1].parts[-1].text or "it"
            yield said([calls(self.tool, **{self.argument: text[-20:] if self.tool == "look_up" else "5"})])


def trap(*_, **__):
    raise SystemExit("a real tool ran")


def check(order: str) -> dict:
    """Check an order."""
    trap()


def note(order: str) -> dict:
    """Note an order."""
    trap()


def breaks(hard: bool) -> dict:
    """Break."""
    trap()


def look_up(topic: str) -> dict:
    """Look a topic up."""
    trap()


def pay(amount: str) -> dict:
    """Pay back."""
    trap()


def wipe(order: str) -> dict:
    """Wipe an order out."""
    trap()


def ship(order: str, tool_context: ToolContext) -> dict:
    """Ship an order; it asks for itself whether it may."""
    if not os.environ.get("MAY_SHIP"):
        trap()
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Ship it?", payload={"by": "sea"})
        return {"waiting": True}
    return {"shipped": tool_context.tool_confirmation.confirmed, **(tool_context.tool_confirmation.payload or {})}


def takes_long(job: str) -> dict:
    """Begin what takes long."""
    trap()


def on_error(tool, args, tool_context, error):
    return {"broke": str(error)}


advisor = LlmAgent(
    name="advisor", model=Once(tool="look_up", argument="topic"), description="Advises.", instruction="Advise.", tools=[look_up]
)
refunds = LlmAgent(
    name="refunds", model=Once(tool="pay", argument="amount"), description="Refunds.", instruction="Refund.", tools=[pay]
)
root_agent = LlmAgent(
    name="desk",
    model=Clerk(),
    instruction="Do as you are told.",
    tools=[
        check,
        note,
        breaks,
        ship,
        FunctionTool(wipe, require_confirmation=True),
        LongRunningFunctionTool(takes_long),
        AgentTool(advisor),
    ],
    sub_agents=[refunds],
    on_tool_error_callback=on_error,
)
'''

PLUGIN = """
from evalset import HermeticEnvironment

app = App(name="desk", root_agent=root_agent, plugins=[HermeticEnvironment(ENVIRONMENT)])
"""
"""What a person adds to an agent."""


def write_desk(agents_dir: Path, environment: str = "") -> Path:
    """Write the agent's folder; with the arguments of the plugin, in Python, it replays what they name."""
    folder = agents_dir / NAME
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").write_text("from . import agent\n")
    added = PLUGIN.replace("ENVIRONMENT", environment) if environment else ""
    (folder / "agent.py").write_text(SOURCE + added)
    return folder


def config(agents_dir: Path) -> SimulatedAgentConfig:
    """Load the agent as the studio does."""
    return catalogue_for(AgentSettings(agents_dir=agents_dir, demos=False)).config(NAME)


def played(
    config: SimulatedAgentConfig,
    queries: Sequence[str],
    answers: Mapping[str, Any],
    *,
    real: str = "*none*",
    state: dict[str, Any] | None = None,
) -> Simulation:
    """Play a session: each tool gives the next of its answers, or always the same one.

    Confirmations are given as `answers` says of `confirmed`, and what takes long is answered later. The tool `real` runs.
    """
    seats = Seats(tools={"*": "person", real: "real"})
    simulation = Simulation.open(config, seats=seats, initial_state=state)
    left = {name: list(each) if isinstance(each, list) else each for name, each in answers.items()}
    for query in queries:
        simulation.query(query, wait=PATIENCE)
        while _answered(simulation, left):
            pass
    return simulation


def _answered(simulation: Simulation, left: dict[str, Any]) -> bool:
    """Answer one thing that waits; False where nothing does."""
    for request in simulation.pending:
        assert isinstance(request, ToolRequest)
        answer = left[request.tool_name]
        given = answer.pop(0) if isinstance(answer, list) else answer
        made = given if isinstance(given, ToolAnswer) else returned(given)
        simulation.answer(request, made.model_copy(update={"despite_contradictions": True}), wait=PATIENCE)
        return True
    for call in simulation.view().session.open_calls:
        if not call.answered or left.get("later"):
            if call.is_confirmation:
                simulation.confirm(call.call_id, bool(left.get("confirmed", True)), wait=PATIENCE)
            else:
                simulation.reply(call.call_id, {"status": "finished"}, wait=PATIENCE)
            return True
    return False


def keep(simulation: Simulation, eval_set: Path, eval_id: str, **more: Any) -> Path:
    """Export a session with its environment; return the path of the environment. `more` is for the builder of the case."""
    made = {"confirmations": "beside", **more}
    case = GoldenTraceBuilder(simulation.session, eval_id=eval_id, **made).build()
    EvalSetWriter(eval_set, NAME).write_eval_case(case)
    facts = [fact for _, fact in simulation.journal.path()]
    put_cases(sidecar_of(eval_set), {eval_id: recorded_case(simulation.session, facts)})
    return sidecar_of(eval_set)
