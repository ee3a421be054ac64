"""The scripted models and the play of a session that the tests of the seats share."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import Field

from simulator.agent_config import SimulatedAgentConfig
from simulator.base.json_values import JsonObject
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import ToolAnswered
from simulator.journal import Journal
from simulator.runtime import Simulation
from simulator.runtime.adk.codec import jsonable
from simulator.seats.requests import CodeRequest, ModelRequest, ToolRequest
from simulator.session import Seats

Turn = list[types.Part] | Exception | Callable[[LlmRequest], list[types.Part]]

PATIENCE = 60.0
"""Seconds after which a session that does not come to rest has failed its test."""


class StandIn(BaseLlm):
    """A model that gives what `does` makes of a request: responses or texts, one or several; a coroutine is waited for."""

    model: str = "stand-in"
    does: Callable[[LlmRequest], Any] = lambda _: None

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Give them."""
        given = self.respond(llm_request)
        if inspect.isawaitable(given):
            given = await given
        for each in [given] if isinstance(given, (str, LlmResponse)) else given or ():
            if isinstance(each, str):
                yield LlmResponse(content=types.ModelContent(each))
            else:
                yield each.model_copy(deep=True)

    def respond(self, request: LlmRequest) -> Any:
        """Make something of a request."""
        return self.does(request)


ASKED: list[str] = []
"""The name of each scripted model of this process, each time that it is asked."""


class Scripted(BaseLlm):
    """A model that makes its turns in order, whatever it is asked, and keeps what it was asked as JSON.

    Which turn it is follows from the request alone (the turns of its own that stand in it), so that a model made
    anew goes on where a resumed session is, and one model serves several sessions. An exception in place of a
    turn is raised, once. After its last turn the model says "done".
    """

    model: str = "scripted"
    turns: list[Any] = Field(default_factory=list)
    asked: list[JsonObject] = Field(default_factory=list)
    raised: list[Exception] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Make the next turn."""
        ASKED.append(self.model)
        self.asked.append(as_asked(llm_request))
        parts = self.turn(llm_request)
        if stream:
            for part in parts:
                if part.text:
                    half = types.Part(text=part.text[: len(part.text) // 2], thought=part.thought)
                    yield LlmResponse(content=types.Content(role="model", parts=[half]), partial=True)
        yield LlmResponse(content=types.Content(role="model", parts=parts))

    def turn(self, request: LlmRequest) -> list[types.Part]:
        """Return the parts of the turn that comes next in a conversation, or raise in its place."""
        made = sum(content.role == "model" for content in request.contents)
        place = made + len(self.raised)
        turn = self.turns[place] if place < len(self.turns) else [say("done")]
        if isinstance(turn, Exception):
            self.raised.append(turn)
            raise turn
        parts = turn(request) if callable(turn) else turn
        return [part.model_copy(deep=True) for part in parts]


def as_asked(request: LlmRequest) -> JsonObject:
    """Write a request as JSON, without what is no part of the question: where it goes and who is billed."""
    config = request.config
    asked = {
        name: getattr(config, name)
        for name in config.model_fields_set
        if name not in {"labels", "http_options"}
    }
    written: JsonObject = {
        "model": request.model,
        "contents": [content.model_dump(mode="json", exclude_none=True) for content in request.contents],
        "config": jsonable({name: value for name, value in asked.items() if value is not None}),
        "tools": [*sorted(request.tools_dict)],
    }
    return written


def say(text: str) -> types.Part:
    """Make a part that says something."""
    return types.Part(text=text)


def call(name: str, **arguments: Any) -> types.Part:
    """Make a part that calls a tool."""
    return types.Part(function_call=types.FunctionCall(name=name, args=arguments))


def scripted(*turns: Turn) -> Scripted:
    """Make a model of turns; each a list of parts, a function of the request, or an exception."""
    return Scripted(turns=list(turns))


def agent_of(*turns: Turn, tools: Iterable[Any] = (), **more: Any) -> LlmAgent:
    """Make an agent whose model follows a script."""
    return LlmAgent(name=more.pop("name", "clerk"), model=scripted(*turns), tools=list(tools), **more)


def opened(
    agent: Any, *, tools: Any = None, agents: Any = None, rules: Iterable[InjectionRule] = (), **more: Any
) -> Simulation:
    """Open a session with an agent; `tools` and `agents` say who plays, by name or for all as one word."""
    seats = Seats(agents=_players(agents), tools=_players(tools))
    seed = more.pop("seed", "seed")
    return Simulation.open(stage_config(agent), rules=rules, seats=seats, seed=seed, **more)


@contextmanager
def going(agent: Any, **more: Any) -> Iterator[Simulation]:
    """Open a session of an agent in which the user has asked, and nothing goes on by itself any more."""
    with opened(agent, **more) as sim:
        assert sim.query("go", wait=PATIENCE)
        yield sim


def resumed(journal: str | Journal, agent: Any, **more: Any) -> Simulation:
    """Resume a session with an agent, from its journal or from the JSON of that."""
    read = Journal.from_json(journal) if isinstance(journal, str) else journal
    return Simulation.resume(read, stage_config(agent), **more)


def stage_config(agent: Any) -> SimulatedAgentConfig:
    """Configure an agent as all sessions here have it."""
    return SimulatedAgentConfig("stage", agent, "stage.evalset.json", app_name="stage")


async def by_adk(agent: Any, *plugins: BasePlugin) -> list[Event]:
    """Let stock ADK run an agent or graph once, in a session `s`; return its events."""
    app = App(name="stage", root_agent=agent, plugins=list(plugins))
    async with InMemoryRunner(app=app) as runner:
        return await runner.run_debug("go", session_id="s", quiet=True)


def let_the_loop_forget() -> None:
    """Run something else on the loop's thread, which lets go of the task that it ran before."""
    with opened(agent_of()) as other:
        other.wait()


def _players(players: Any) -> Any:
    if players is None:
        return {}
    return {"*": players} if isinstance(players, str) else players


def play(sim: Simulation, query: str = "go", answer: Any = None) -> None:
    """Let the user ask, and answer everything until the agent is done: tools and code with `answer`, confirmations with yes."""
    assert sim.query(query, wait=PATIENCE), f"not at rest: {sim.view()}"
    while True:
        answer_all(sim, answer)
        asked = [open_call for open_call in sim.session.open_calls if open_call.is_confirmation]
        if not asked:
            return
        assert sim.confirm(asked[0].call_id, confirmed=True, wait=PATIENCE)


def answer_all(sim: Simulation, answer: Any = None) -> None:
    """Answer pending tools and code until nothing waits."""
    while pending := sim.pending:
        request = pending[0]
        assert not isinstance(request, ModelRequest), request
        given = "printed" if isinstance(request, CodeRequest) else answer or {"played": request.tool_name}
        assert sim.answer(request, given, wait=PATIENCE)


def tool_requests(sim: Simulation) -> list[ToolRequest]:
    """Return the tool calls that wait for a person."""
    return [request for request in sim.pending if isinstance(request, ToolRequest)]


def tool_facts(sim: Simulation) -> list[ToolAnswered]:
    """Return the answers to tool calls so far."""
    return [fact for _, fact in sim.journal.path() if isinstance(fact, ToolAnswered)]


def entries(sim: Simulation, *types_: str) -> list[Any]:
    """Return the timeline's entries of these types, or all."""
    return [entry for entry in sim.session.history if not types_ or entry.type in types_]
