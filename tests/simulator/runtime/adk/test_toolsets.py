"""Proves tool sets under the seats: an MCP server as a real process, and an OpenAPI description of a real HTTP server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
from google.adk.tools.openapi_tool import OpenAPIToolset
from mcp import StdioServerParameters

from simulator.environment.injection.rules import InjectionRule, ResponseEffect
from simulator.runtime.adk.event_loop import LoopThread
from simulator.seats.answers import called
from simulator.seats.requests import ModelRequest
from simulator.session import SessionState
from tests.harness.loopback import Reply, loopback
from tests.simulator.runtime.stage import (
    PATIENCE,
    agent_of,
    call,
    entries,
    going,
    resumed,
    say,
    tool_facts,
    tool_requests,
)

# ADK's own OpenAPI tools do so.
pytestmark = pytest.mark.filterwarnings("ignore:Setting per-request cookies:DeprecationWarning")

SERVER = Path(__file__).resolve().parents[3] / "harness" / "mcp_desk.py"

FIND = [call("find_order", order_id="A-1")]
RULE = InjectionRule(rule_id="fixed", tool_name="find_order", effect=ResponseEffect(value={"fixed": 1}))


# ---------------------------------------------------------------- MCP


def toolset_of(*command: str) -> McpToolset:
    """Make a tool set that starts this command as its server."""
    server = StdioServerParameters(command=command[0], args=list(command[1:]))
    connection = StdioConnectionParams(server_params=server, timeout=PATIENCE)
    return McpToolset(connection_params=connection)


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """The file in which the MCP server notes what ran."""
    return tmp_path / "traces"


@pytest.fixture
def desk(traces: Path) -> Iterator[McpToolset]:
    """Return the tool set of a running MCP server; its process ends with the test."""
    toolset = toolset_of(sys.executable, str(SERVER), str(traces))
    yield toolset
    LoopThread.shared().run(toolset.close())


def test_an_mcp_tool_runs_on_its_server_only_where_its_player_is_real(desk: McpToolset, traces: Path) -> None:
    """A person is shown the server's schema; answered, refused or hit by a rule nothing runs there; real it runs once."""
    turns = [FIND, [say("ok")]] * 4
    with going(agent_of(*turns, tools=[desk])) as sim:
        (request,) = tool_requests(sim)
        assert "Find an order." in request.description
        properties: Any = request.parameters["properties"]
        assert properties["order_id"]["type"] == "string"
        assert properties["verbose"]["default"] is False
        assert request.response_schema is not None
        assert sim.answer(request, {"status": "played"}, wait=PATIENCE)
        assert sim.session.state is SessionState.COMPLETED
        assert not sim.view().problems
        sim.set_player("tool", "refuse")
        assert sim.query("again", wait=PATIENCE)
        sim.set_player("tool", "real")
        sim.set_rules([RULE])
        assert sim.query("again", wait=PATIENCE)
        assert entries(sim, "tool_output")[-1].result == {"fixed": 1}
        assert not traces.exists()
        sim.set_rules([])
        assert sim.query("again", wait=PATIENCE)
        assert "really open" in str(entries(sim, "tool_output")[-1].result)
        sources = [fact.provenance.source for fact in tool_facts(sim)]
        assert sources == ["written", "refused", "injected", "real"]
        with resumed(sim.journal.to_json(), sim.config.agent) as again:
            assert again.session.history == sim.session.history
    assert traces.read_text().splitlines() == ["find_order A-1 False"]


@pytest.mark.parametrize(
    "command",
    [("/no/such/program",), (sys.executable, "-c", "raise SystemExit('the server is down')")],
    ids=["missing", "exits"],
)
def test_an_mcp_server_that_cannot_be_reached_is_a_clear_message(command: tuple[str, ...]) -> None:
    """The session says whose tools are missing and goes on: the agent speaks, and its other tools work."""

    def other() -> str:
        """Do something else."""
        raise AssertionError("a person answers")

    agent = agent_of([call("other")], [say("done without")], tools=[toolset_of(*command), other])
    with going(agent) as sim:
        (problem,) = sim.view().problems
        assert "McpToolset" in problem
        assert sim.answer(tool_requests(sim)[0], "fine", wait=PATIENCE)
        assert entries(sim, "final_response")[0].content == "done without"
        assert sim.session.state is SessionState.COMPLETED


# ---------------------------------------------------------------- OpenAPI


def api_of(url: str, prefix: str | None = None) -> OpenAPIToolset:
    """Make the tool set of an HTTP server that finds and cancels orders; ADK calls no loopback address unless told to."""
    order = {"type": "object", "properties": {"order_id": {"type": "string"}, "status": {"type": "string"}}}
    parameter = {"name": "order_id", "in": "path", "required": True, "schema": {"type": "string"}}
    found = {"200": {"description": "The order", "content": {"application/json": {"schema": order}}}}
    reason = {"type": "object", "properties": {"reason": {"type": "string"}}}
    body = {"content": {"application/json": {"schema": reason}}}
    spec: dict[str, Any] = {
        "openapi": "3.0.0",
        "info": {"title": "Desk", "version": "1"},
        "servers": [{"url": url}],
        "paths": {
            "/orders/{order_id}": {
                "get": {
                    "operationId": "findOrder",
                    "summary": "Find an order.",
                    "parameters": [parameter],
                    "responses": found,
                },
                "post": {
                    "operationId": "cancelOrder",
                    "summary": "Cancel an order.",
                    "parameters": [parameter],
                    "requestBody": body,
                    "responses": found,
                },
            }
        },
    }
    return OpenAPIToolset(spec_dict=spec, tool_name_prefix=prefix, allow_private_network_access=True)


def test_openapi_tools_are_declared_to_a_person_and_a_real_call_is_sent_once() -> None:
    """Who plays the agent sees each operation with its parameters; real, it is sent to its server, whose answer is the tool's."""
    reply = Reply({"order_id": "A-1", "status": "open"})
    with (
        loopback(reply) as server,
        going(agent_of(tools=[api_of(server.url)]), agents="person", tools="real") as sim,
    ):
        (request,) = sim.pending
        assert isinstance(request, ModelRequest)
        declared = {tool.name: tool for tool in request.tools}
        assert set(declared) == {"find_order", "cancel_order"}
        cancel: Any = declared["cancel_order"].parameters
        assert set(cancel["properties"]) == {"order_id", "reason"}
        assert cancel["required"] == ["order_id"]
        assert not server.asked
        assert sim.answer(request, called(("find_order", {"order_id": "A-1"})), wait=PATIENCE)
        assert entries(sim, "tool_output")[0].result == reply.body
        assert [asked.path for asked in server.asked] == ["/orders/A-1"]


def test_a_prefixed_tool_set_is_played_by_its_prefixed_names() -> None:
    """Players and requests go by the name that the model sees; played or refused, nothing is sent to the server."""
    turn = [call("desk_find_order", order_id="A-1"), call("desk_cancel_order", order_id="B-2")]
    with loopback() as server:
        agent = agent_of(turn, tools=[api_of(server.url, "desk")])
        with going(agent, tools={"desk_cancel_order": "refuse"}) as sim:
            (request,) = tool_requests(sim)
            assert request.tool_name == "desk_find_order"
            assert sim.answer(request, {"status": "played"}, wait=PATIENCE)
            assert sim.session.state is SessionState.COMPLETED
        assert not server.asked
