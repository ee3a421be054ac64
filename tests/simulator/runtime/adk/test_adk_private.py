"""Fails when google-adk changes what `simulator.runtime.adk.adk_private` relies on without ADK's promise."""

from __future__ import annotations

import ast
import asyncio
import copy
import inspect
import json
import random
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from fastapi.openapi.models import OAuth2, OAuthFlows
from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.auth.auth_credential import AuthCredential, OAuth2Auth
from google.adk.auth.auth_handler import AuthHandler
from google.adk.auth.auth_tool import AuthConfig
from google.adk.auth.exchanger.oauth2_credential_exchanger import OAuth2CredentialExchanger
from google.adk.evaluation.simulation.llm_backed_user_simulator import (
    LlmBackedUserSimulator,
    LlmBackedUserSimulatorConfig,
)
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.platform import _random as platform_random
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner, Runner
from google.adk.tools._request_input_tool import request_input
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.exit_loop_tool import exit_loop
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.openapi_tool import RestApiTool
from google.adk.tools.openapi_tool.openapi_spec_parser.openapi_spec_parser import OperationEndpoint
from google.adk.tools.set_model_response_tool import SetModelResponseTool
from google.adk.tools.tool_context import ToolContext
from google.adk.tools.transfer_to_agent_tool import TransferToAgentTool
from google.adk.workflow import START, FunctionNode, Workflow
from google.genai import types
from pydantic import BaseModel

import simulator
from simulator.base.python_source import parsed
from simulator.runtime.adk import adk_private
from simulator.runtime.adk.boundaries import seat_tool
from simulator.runtime.adk.turn_context import CURRENT_TURN, INSIDE_REAL_CALL, WATCH, RealCall
from tests.simulator.runtime.past_seats import Announcing, Renamed
from tests.simulator.runtime.stage import Scripted, agent_of, by_adk, call, say, scripted


class Answer(BaseModel):
    """A structured answer."""

    text: str


def find(order_id: str = "A-1") -> str:
    """Find an order."""
    return order_id


def run_by_adk(agent: Any, *plugins: BasePlugin) -> list[Event]:
    """Let stock ADK run an agent or graph once; return its events."""
    return asyncio.run(by_adk(agent, *plugins))


def offered(**agent: Any) -> dict[str, BaseTool]:
    """Return the tools that ADK offers the model of an agent like this."""
    seen: dict[str, BaseTool] = {}
    run_by_adk(agent_of(before_model_callback=noting_tools(seen), **agent))
    return seen


def noting_tools(seen: dict[str, BaseTool]) -> Callable[..., None]:
    """Make a callback that takes down the tools that a model is offered."""

    def look(callback_context: Any, llm_request: LlmRequest) -> None:
        seen.update(llm_request.tools_dict)

    return look


def in_tool(look: Callable[[ToolContext], Any], *plugins: BasePlugin) -> Any:
    """Return what a function finds in the context of a tool that stock ADK runs."""
    found: list[Any] = []

    async def tool(tool_context: ToolContext) -> str:
        """Look around."""
        result = look(tool_context)
        found.append(await result if inspect.isawaitable(result) else result)
        return "seen"

    run_by_adk(agent_of([call("tool")], tools=[tool]), *plugins)
    (seen,) = found
    return seen


def _nothing() -> dict[str, str]:
    """Begin."""
    return {}


# ---------------------------------------------------------------- tools that steer, tools that run agents


@pytest.mark.parametrize(
    ("name", "agent"),
    [
        ("transfer_to_agent", {"sub_agents": [LlmAgent(name="helper", model=scripted())]}),
        ("set_model_response", {"tools": [find], "output_schema": Answer}),
        ("exit_loop", {"tools": [exit_loop]}),
        ("adk_request_input", {"tools": [request_input]}),
    ],
)
def test_the_steering_tools_that_adk_offers_are_known(name: str, agent: dict[str, Any]) -> None:
    """ADK's own steering tools are told from others by what they are, and are left unseated."""
    tool = offered(**agent)[name]
    assert adk_private.is_steering(tool)
    seat_tool(tool)
    assert "run_async" not in vars(tool)


def test_the_tool_that_ends_a_task_is_known() -> None:
    """An agent in task mode is offered ADK's tool for ending it."""
    seen: dict[str, BaseTool] = {}
    worker = agent_of(
        [call("finish_task", result="done")],
        name="worker",
        mode="task",
        before_model_callback=noting_tools(seen),
    )
    run_by_adk(agent_of([call("worker", request="go")], sub_agents=[worker]))
    assert adk_private.is_steering(seen["finish_task"])


def test_steering_tools_with_code_of_their_own_are_tools_like_any_other() -> None:
    """Only what ADK alone runs is left to ADK, whether the code is a class's or a function that was put there; a seat is none."""
    with_function, with_method, seated = (TransferToAgentTool(["desk"]) for _ in range(3))
    with_function.func = find
    setattr(with_method, "run_async", adk_private.ToolSeat(find, None, find))  # noqa: B010 - a plain assignment is no override to the type checker
    setattr(seated, "run_async", adk_private.ToolSeat(find, None, None))  # noqa: B010 - as above
    assert [adk_private.own_run(tool) for tool in (with_method, seated)] == [find, None]
    assert adk_private.is_steering(seated)
    assert [adk_private.has_own_code(tool) for tool in (Renamed([]), AgentTool(agent_of()))] == [False, False]
    assert [adk_private.is_steering(tool) for tool in (Renamed([]), TransferToAgentTool([]))] == [True, True]
    for tool in (Announcing([]), with_function, with_method, FunctionTool(find)):
        assert adk_private.has_own_code(tool)
        assert not adk_private.is_steering(tool)


def test_tools_that_run_agents_are_known_with_what_they_run() -> None:
    """An agent tool, an agent in single-turn mode and a graph as a tool run seated agents; a function node does not."""
    inner = LlmAgent(name="inner", model=scripted())
    turn = LlmAgent(name="turn", model=scripted(), mode="single_turn")
    graph = Workflow(name="graph", description="A graph.", input_schema=Answer, edges=[(START, _nothing)])
    function = FunctionNode(func=find, name="function")
    tools = offered(tools=[AgentTool(inner), graph, function], sub_agents=[turn])
    assert adk_private.node_of(tools["inner"]) is inner
    assert adk_private.node_of(tools["graph"]) is graph
    assert adk_private.runs_agents(tools["inner"])
    assert adk_private.runs_agents(tools["graph"])
    assert adk_private.runs_agents(tools["turn"])
    assert not adk_private.runs_agents(tools["function"])
    assert adk_private.node_of(FunctionTool(find)) is None
    assert [name for name, tool in tools.items() if adk_private.runs_nodes(tool)] == ["graph", "function"]
    assert adk_private.node_function(tools["function"]) is find
    assert adk_private.node_function(tools["graph"]) is None
    assert adk_private.node_function(FunctionTool(find)) is None


def test_the_operation_of_an_openapi_tool_is_found_through_the_tools_around_it() -> None:
    """ADK's REST tool keeps the operation in public, the tools that wrap it keep that in private."""
    operation = {"operationId": "find", "responses": {"200": {"description": "found"}}}
    endpoint = OperationEndpoint(base_url="http://x.test", path="/", method="get")
    tool = RestApiTool(name="find", description="d", endpoint=endpoint, operation=json.dumps(operation))
    assert adk_private.openapi_operation(tool) == operation
    assert adk_private.openapi_operation(FunctionTool(find)) is None
    wrapping = BaseTool(name="find", description="d")
    wrapping._rest_api_tool = tool  # type: ignore[attr-defined] # as these do, whose packages may not be installed
    assert adk_private.openapi_operation(wrapping) == operation
    tools = Path(inspect.getfile(BaseTool)).parent
    for name in (
        "google_api_tool/google_api_tool",
        "application_integration_tool/integration_connector_tool",
    ):
        assert "self._rest_api_tool = rest_api_tool" in (tools / f"{name}.py").read_text()


# ---------------------------------------------------------------- contexts


def test_a_tools_context_holds_its_invocation_and_its_actions() -> None:
    """The invocation is ADK's own, and the actions are those that the public property gives."""

    def look(context: ToolContext) -> Any:
        context.state["seen"] = 1
        return adk_private.invocation_of(context), adk_private.own_actions(context), context.actions

    invocation, own, public = in_tool(look)
    assert isinstance(invocation, InvocationContext)
    assert invocation.session.id == "s"
    assert isinstance(own, EventActions)
    assert own is public
    assert own.state_delta == {"seen": 1}


def test_a_context_can_have_fewer_plugins_or_one_more() -> None:
    """A copy has the named ones only, or one more at the end, once; the original stays, and nothing else differs."""
    more = BasePlugin("more")

    def look(context: ToolContext) -> None:
        fewer = adk_private.with_plugins(context, "one")
        one_more = adk_private.with_plugin(context, more)
        assert [
            [plugin.name for plugin in adk_private.invocation_of(each).plugin_manager.plugins]
            for each in (fewer, one_more, context)
        ] == [["one"], ["one", "two", "more"], ["one", "two"]]
        assert fewer.state.to_dict() == context.state.to_dict()
        assert fewer.function_call_id == context.function_call_id
        assert adk_private.with_plugin(one_more, more) is one_more
        assert one_more.state is context.state

    in_tool(look, BasePlugin("one"), BasePlugin("two"))


@pytest.mark.parametrize("graph", [True, False])
def test_it_is_known_that_adk_is_about_to_run_a_tool(graph: bool) -> None:
    """Inside of a plugin's and of an agent's callback it is so for the call's own context, and for no other.

    A tool that is a node itself is told from one of an agent.
    """
    seen: list[tuple[bool, ...]] = []

    def look(context: Any) -> None:
        about_to_run = (adk_private.is_about_to_run(each) for each in (context, copy.copy(context), None))
        seen.append((*about_to_run, adk_private.is_graph_tool(context)))

    class Looks(BasePlugin):
        async def before_tool_callback(self, *, tool_context: ToolContext, **_: Any) -> None:
            look(tool_context)

    def own(tool: Any, args: Any, tool_context: ToolContext) -> None:
        look(tool_context)

    if graph:
        run_by_adk(Workflow(name="graph", edges=[(START, _nothing, FunctionTool(find))]), Looks("looks"))
    else:
        run_by_adk(agent_of([call("find")], tools=[find], before_tool_callback=own), Looks("looks"))
    assert seen == [(True, False, False, graph)] * (1 if graph else 2)


def test_what_stands_for_a_tool_that_a_model_made_up_is_known() -> None:
    """ADK shows callbacks a bare `BaseTool` in its place; a real tool is none."""
    seen: list[tuple[str, bool]] = []

    def look(tool: BaseTool, args: Any, tool_context: Any) -> None:
        seen.append((tool.name, adk_private.is_unknown(tool)))

    run_by_adk(agent_of([call("find"), call("made_up")], tools=[find], before_tool_callback=look))
    assert seen == [("find", False), ("made_up", True)]


def test_events_from_inside_a_tool_are_heard_before_the_runner() -> None:
    """A generator's events pass the context's queue, and one that we send arrives in the session."""
    heard: list[Event] = []

    async def look(context: ToolContext) -> None:
        adk_private.let_events_be_heard(context)
        token = INSIDE_REAL_CALL.set(RealCall("k", take_event=heard.append))
        try:
            await adk_private.send_event(context, Event(author="clerk", content=types.ModelContent("sent")))
        finally:
            INSIDE_REAL_CALL.reset(token)

    in_tool(look)
    assert [str(event.content.parts[0].text) for event in heard if event.content and event.content.parts] == [
        "sent"
    ]


# ---------------------------------------------------------------- ids, chance, labels


def test_adk_hides_the_ids_that_it_makes_from_models() -> None:
    """Stock ADK's made-up call ids begin as ours do, and the model is not shown them."""
    agent = agent_of([call("find")], tools=[find])
    events = run_by_adk(agent)
    (made,) = [made for event in events for made in event.get_function_calls()]
    assert (made.id or "").startswith(adk_private.MADE_CALL_ID)
    assert isinstance(agent.model, Scripted)
    assert adk_private.MADE_CALL_ID not in str(agent.model.asked[-1])


def test_adk_draws_from_the_source_that_is_set() -> None:
    """ADK's own random numbers come from the provider of the current context."""

    def drawn() -> float:
        adk_private.set_random_provider(lambda: random.Random(7))  # noqa: S311 - not for secrets
        return platform_random.get_random().random()

    assert drawn() == random.Random(7).random()  # noqa: S311 - not for secrets


def test_a_models_request_is_labelled_with_its_agent() -> None:
    """The label says whose call it is where two agents share a model."""
    seen: list[Any] = []

    def turn(request: LlmRequest) -> list[types.Part]:
        seen.append((request.config.labels or {}).get("adk_agent_name"))
        return [say("done")]

    run_by_adk(agent_of(turn, name="somebody"))
    assert seen == ["somebody"]


# ---------------------------------------------------------------- nothing private elsewhere


@pytest.mark.parametrize("schema", [Answer, None])
def test_the_tool_for_a_final_answer_holds_the_output_schema(schema: type[BaseModel] | None) -> None:
    """An agent with an output schema and tools is asked for its answer by ADK's own tool; others have none."""
    request = LlmRequest()
    request.append_tools([SetModelResponseTool(schema)] if schema else [])
    assert adk_private.schema_of_final_tool(request) is schema


def test_what_a_model_is_shown_can_be_put_together_later_and_is_not_reported() -> None:
    """Where the journal holds the answer, ADK's flow looks at nothing and opens no span; who looks finds the same."""
    adk_private.let_known_answers_be_quick()
    shown: list[tuple[Any, Any]] = []

    class Looks(Scripted):
        def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
            contents = llm_request.contents
            is_unread = isinstance(contents, adk_private.Later) and contents.is_unread
            shown.append((is_unread, [*adk_private.made(contents)]))
            return super().generate_content_async(llm_request, stream)

    turns: tuple[Any, ...] = (None, SimpleNamespace(replay=SimpleNamespace(models_ahead=2)))
    for turn in turns:
        token = CURRENT_TURN.set(turn)
        run_by_adk(LlmAgent(name="clerk", model=Looks(turns=[[call("find")]]), tools=[find]))
        CURRENT_TURN.reset(token)
    assert shown[2:] == [(True, contents) for _, contents in shown[:2]]


class Twice(BasePlugin):
    """Runs each query once more."""

    async def gone_on(
        self, runner: Runner, run: adk_private.Run, given: dict[str, Any]
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of two runs."""
        assert runner.app_name == "stage"
        for _ in range(2):
            async for event in run(**given):
                yield event


def said(events: list[Event]) -> list[Any]:
    """Return all that is said."""
    return [part.text for event in events if event.content for part in event.content.parts or []]


def texts(*plugins: BasePlugin) -> list[Any]:
    """Return what an agent says in a run with these plugins."""
    return said(run_by_adk(agent_of([say("first")], [say("second")]), *plugins))


def test_a_plugin_goes_on_where_a_run_ended() -> None:
    """Each runner asks its own plugins, so one without such a plugin gives what it gave before."""
    adk_private.let_plugins_go_on()
    adk_private.let_plugins_go_on()
    assert isinstance(Twice("twice"), adk_private.GoesOn)
    assert texts() == ["first"]
    assert texts(Twice("twice")) == ["first", "second"]


def test_no_plugin_goes_on_with_a_run_that_is_watched() -> None:
    """The one who watches gets the runner and its run, and may give it one more plugin."""
    adk_private.let_plugins_go_on()

    class Watching:
        """Watches a run in which no runner is to go on."""

        def within(self, runner: Runner, run: Any, given: dict[str, Any]) -> AsyncGenerator[Event, None]:
            """Run once, with one more plugin."""
            with_one_more = adk_private.runner_with(runner, BasePlugin("one_more"))
            assert adk_private.runner_with(with_one_more, BasePlugin("one_more")) is with_one_more
            names = [plugin.name for plugin in with_one_more.plugin_manager.plugins]
            assert names == ["one_more", *(plugin.name for plugin in runner.plugin_manager.plugins)]
            events: AsyncGenerator[Event, None] = run(with_one_more, **given)
            return events

    watch: Any = Watching()
    token = WATCH.set(watch)
    try:
        assert texts(Twice("twice")) == ["first"]
    finally:
        WATCH.reset(token)


def test_a_run_that_was_handed_on_is_begun_with_the_plugin_that_goes_on() -> None:
    """One without such a plugin begins as it is."""

    async def events() -> list[Event]:
        runner = InMemoryRunner(agent_of([say("first")]), app_name="stage")
        await runner.session_service.create_session(app_name="stage", user_id="user", session_id="s")
        given = {"user_id": "user", "session_id": "s", "new_message": types.Content(parts=[say("go")])}
        return [event async for event in adk_private.going_on(runner, Runner.run_async, given)]

    assert said(asyncio.run(events())) == ["first"]


def test_the_configuration_of_a_registered_user_simulator_is_found() -> None:
    """ADK keeps what was registered in a table of its own; a simulator that is not in it has none."""
    config_type = adk_private.simulator_config_type(LlmBackedUserSimulator)
    assert config_type is LlmBackedUserSimulatorConfig
    assert adk_private.simulator_config_type(int) is None


def test_all_that_a_root_reaches_is_walked_once() -> None:
    """Agents below, agents behind tools and the nodes of a graph, also where one is reached on two ways."""
    helper = LlmAgent(name="helper", model="none", instruction="Help.")
    child = LlmAgent(name="child", model="none", tools=[find, AgentTool(agent=helper)])
    root = LlmAgent(name="root", model="none", sub_agents=[child], tools=[AgentTool(agent=helper)])
    assert list(adk_private.children_of(root)) == [child]
    assert [node.name for node in adk_private.all_below(root)] == ["root", "helper", "child"]
    worker = LlmAgent(name="worker", model="none", mode="single_turn")
    graph = Workflow(name="graph", edges=[(START, _nothing), (_nothing, worker)])
    assert {"graph", "_nothing", "worker"} <= {node.name for node in adk_private.all_below(graph)}


@pytest.mark.parametrize(
    ("instruction", "keys"),
    [
        ("Teach {subject} and { user:level }, then {subject}.", ("subject", "user:level")),
        ("Teach {subject?}, {artifact.notes}, {artifact.more?} and {two words}.", ()),
        ('Answer {question} in JSON like {{"a": 1}} or {{answer}}.', ("question", "answer")),
        ("Teach.", ()),
    ],
)
def test_the_keys_of_an_instruction_are_those_that_adk_asks_for(
    instruction: str, keys: tuple[str, ...]
) -> None:
    """Those without which it fails: no optional ones, no artifacts, and nothing that is no name."""
    assert adk_private.instruction_keys(instruction) == keys


def test_the_model_that_sums_events_up_is_found() -> None:
    """ADK keeps it in a private attribute; what has none is left as it is."""
    summarizer = LlmEventSummarizer(llm=Gemini(model="its own"))
    copied = adk_private.with_summarizing_model(
        summarizer, lambda model: Gemini(model=f"in place of {model.model}")
    )
    assert (summarizer._llm.model, copied._llm.model) == ("its own", "in place of its own")
    assert adk_private.with_summarizing_model(None, lambda model: model) is None


def test_a_code_is_exchanged_for_a_token_by_nobody_while_a_turn_is_in_progress() -> None:
    """The code stays what the user gave, and that is said; without a turn ADK exchanges it."""
    adk_private.let_codes_stay_here()
    credential = AuthCredential(auth_type="oauth2", oauth2=OAuth2Auth(client_id="c", auth_code="code"))
    flows = OAuthFlows(authorizationCode={"authorizationUrl": "https://a", "tokenUrl": "https://t"})
    scheme = OAuth2(flows=flows)
    asked = AuthConfig(auth_scheme=scheme, exchanged_auth_credential=credential, credential_key="own")
    handler = AuthHandler(asked)
    exchanged, noted = list[AuthCredential](), list[str]()

    async def exchange(_: Any, given: AuthCredential, __: Any) -> Any:
        exchanged.append(given)
        return SimpleNamespace(credential=given)

    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(OAuth2CredentialExchanger, "exchange", exchange)
        token = CURRENT_TURN.set(cast("Any", SimpleNamespace(note_problem=noted.append)))
        try:
            assert asyncio.run(handler.exchange_auth_token()) is credential
        finally:
            CURRENT_TURN.reset(token)
        assert (exchanged, len(noted)) == ([], 1)
        asyncio.run(handler.exchange_auth_token())
    assert (exchanged, len(noted)) == ([credential], 1)


def test_every_function_of_the_module_is_proved_here() -> None:
    """Each name of `adk_private` is used in this file, or in the one beside it."""
    named = vars(adk_private).items()
    own = {name for name, value in named if getattr(value, "__module__", None) == adk_private.__name__}
    names = {name for name in own if not name.startswith("_")}
    here = Path(__file__)
    text = here.read_text() + here.with_name("test_missing_a2a.py").read_text()
    assert {name for name in {*names, "MADE_CALL_ID"} if f"adk_private.{name}" not in text} == set()


def test_no_other_module_imports_what_adk_does_not_promise() -> None:
    """Private modules and names of ADK are imported in one place only."""
    root = Path(str(simulator.__file__)).parent
    found = [
        f"{path.relative_to(root)}: {node.module}"
        for path in root.rglob("*.py")
        for node in ast.walk(parsed(path.read_text()))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("google.adk")
        and any(
            part.startswith("_") for part in [*str(node.module).split("."), *(a.name for a in node.names)]
        )
        and path.name != "adk_private.py"
    ]
    assert found == []
