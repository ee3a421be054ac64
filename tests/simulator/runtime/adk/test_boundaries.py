"""Proves that callbacks, plugins, the confirmation gate and limits work under the seats as they do without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.apps import App
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.exit_loop_tool import exit_loop
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from hypothesis import given
from hypothesis import strategies as st

from simulator.seats.answers import raised
from tests.simulator.runtime.beside import Decision, Log, Message, assert_same, both
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, going, say
from tests.simulator.runtime.watching import (
    AGENT_CALLBACKS,
    ANSWERS,
    FAILS,
    FIND,
    KEEPS,
    RUN_CALLBACKS,
    app_of,
    clerk,
    tools_of,
    watching,
)

# The agents that steer others are deprecated in ADK, and in use all the same.
pytestmark = pytest.mark.filterwarnings("ignore:.* is deprecated in favor of Workflow:DeprecationWarning")


# ---------------------------------------------------------------- the agent's callbacks


@pytest.mark.parametrize("asynchronous", [False, True], ids=["plain", "async"])
def test_all_callbacks_of_an_agent_run_in_adks_order_with_adks_arguments(asynchronous: bool) -> None:
    """Watching callbacks see the same calls, and the events are the same, over tools that work, keep and fail."""

    def make(log: Log) -> BaseAgent:
        return clerk(
            log,
            FIND,
            KEEPS,
            FAILS,
            **watching(log, {"on_tool_error": ANSWERS["on_tool_error"]()}, asynchronous=asynchronous),
        )

    ours = assert_same(make, ["go", "again"])
    names = [line[0] for line in ours.log]
    assert names[:6] == [
        "agent.before_agent",
        "agent.before_model",
        "agent.after_model",
        "agent.before_tool",
        "find ran",
        "agent.after_tool",
    ]
    assert "agent.on_tool_error" in names


def turns_for(name: str) -> list[Any]:
    """Return what the model does where this callback is to answer."""
    return [RuntimeError("no model"), FIND] if name == "on_model_error" else [FIND, FAILS]


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_a_callback_that_answers_is_honoured(name: str) -> None:
    """What an agent's or a plugin's gives back stands in place of what it replaces; the plugin's wins, as in stock ADK."""

    def make(log: Log) -> App:
        agent = clerk(log, *turns_for(name), answering={"on_tool_error": {"own": 1}})
        return app_of(log, agent, {name: ANSWERS[name]()})

    ours = assert_same(make)
    assert ours.errors == [None]
    if name in AGENT_CALLBACKS:
        answering = {"on_tool_error": ANSWERS["on_tool_error"](), name: ANSWERS[name]()}
        ours = assert_same(lambda log: clerk(log, *turns_for(name), answering=answering))
        assert ("answered" if "tool" in name else "said by") in str(ours.events)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in AGENT_CALLBACKS if not name.startswith("on_")])
def test_a_callback_that_raises_ends_the_turn_as_in_adk(name: str) -> None:
    """An exception out of a callback ends the turn with the same error after the same events, and a next query works."""

    def fall(**_given: Any) -> None:
        raise ZeroDivisionError(f"in {name}")

    ours = assert_same(lambda log: clerk(log, FIND, answering={name: fall}), ["go", "again"])
    assert ours.errors[0] == f"ZeroDivisionError: in {name}"


def test_callbacks_change_requests_arguments_and_state_as_in_adk() -> None:
    """What callbacks change in place (the request, a response, arguments, state) arrives where it does in ADK."""

    def instruct(callback_context: Any, llm_request: Any) -> None:
        llm_request.append_instructions(["Be brief."])
        callback_context.state["asked"] = callback_context.state.get("asked", 0) + 1

    def redirect(tool: Any, args: dict[str, Any], tool_context: ToolContext) -> None:
        args["order_id"] = "C-3"
        tool_context.state["redirected"] = True

    def enrich(tool: Any, args: Any, tool_context: Any, tool_response: dict[str, Any]) -> None:
        tool_response["seen"] = True

    def make(log: Log) -> BaseAgent:
        answering = {"before_model": instruct, "before_tool": redirect, "after_tool": enrich}
        return clerk(log, FIND, answering=answering)

    ours = assert_same(make, ["go", "again"])
    assert ours.state == {"asked": 3, "redirected": True}
    assert ["find ran", "C-3"] in ours.log
    assert "'seen': True" in str(ours.events)


def test_lists_of_callbacks_stop_at_the_first_that_answers() -> None:
    """Of a list of callbacks those after the first answer are not called, as in stock ADK."""

    def make(log: Log) -> BaseAgent:
        lists = [
            watching(log, {"before_tool": {"by": who}} if who == "two" else None, who=who)
            for who in ("one", "two", "three")
        ]
        listed: dict[str, Any] = {name: [each[name] for each in lists] for name in lists[0]}
        return clerk(log, FIND, **listed)

    ours = assert_same(make)
    before = [line[0] for line in ours.log if line[0].endswith("before_tool")]
    assert before == ["one.before_tool", "two.before_tool"]


# ---------------------------------------------------------------- gate, errors, limits, flow


@pytest.mark.parametrize("confirmed", [True, False], ids=["confirmed", "rejected"])
@pytest.mark.parametrize("needed", [True, lambda order_id: order_id == "B-2"], ids=["always", "by function"])
def test_the_confirmation_gate_works_as_in_adk(confirmed: bool, needed: Any) -> None:
    """A tool that needs confirmation runs once after a yes and never after a no, between the same callbacks."""

    def make(log: Log) -> BaseAgent | App:
        tools = [FunctionTool(tools_of(log)[0], require_confirmation=needed)]
        return app_of(log, agent_of(FIND, tools=tools, **watching(log)))

    ours = assert_same(make, ["go", Decision(confirmed), "again"])
    assert ours.log.count(["find ran", "B-2"]) == int(confirmed)


@pytest.mark.parametrize("limit", [1, 3])
def test_max_llm_calls_ends_the_turn_as_in_adk(limit: int) -> None:
    """The call of the model beyond the limit raises ADK's own error after the same events; a next query works."""
    ours = assert_same(lambda log: clerk(log, *[FIND] * 4), ["go", "again"], max_llm_calls=limit)
    assert (ours.errors[0] or "").startswith("LlmCallsLimitExceededError")


SHAPES: dict[str, Callable[[Log], BaseAgent]] = {
    "unknown tool": lambda log: clerk(log, [call("no_such_tool", a=1)]),
    "missing argument": lambda log: clerk(log, [call("keeps")]),
    "raising model": lambda log: clerk(log, RuntimeError("no model")),
    "raising tool": lambda log: clerk(log, FAILS),
    "text beside a call": lambda log: clerk(log, [say("one moment"), *FIND]),
    "long-running": lambda log: agent_of(
        FIND, tools=[LongRunningFunctionTool(tools_of(log)[0])], **watching(log)
    ),
    "transfer": lambda log: clerk(
        log,
        [call("transfer_to_agent", agent_name="helper")],
        sub_agents=[agent_of(FIND, tools=tools_of(log), name="helper", **watching(log, who="helper"))],
    ),
    "agent tool": lambda log: agent_of(
        [call("helper", request="look")],
        tools=[
            AgentTool(agent_of(FIND, KEEPS, tools=tools_of(log), name="helper", **watching(log, who="in")))
        ],
        **watching(log),
    ),
    "sequence": lambda log: SequentialAgent(
        name="row", sub_agents=[clerk(log, FIND), clerk(log, KEEPS, name="b")]
    ),
    "loop": lambda log: LoopAgent(
        name="ring",
        max_iterations=3,
        sub_agents=[
            agent_of(
                FIND, [say("on")], [call("exit_loop")], tools=[*tools_of(log), exit_loop], **watching(log)
            )
        ],
    ),
    "output key": lambda log: clerk(log, FIND, output_key="answer"),
}


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_every_shape_of_agent_behaves_as_in_adk(shape: str) -> None:
    """Callbacks, also those of plugins, events, errors and state are those of stock ADK."""
    assert_same(lambda log: app_of(log, SHAPES[shape](log)), ["go", "again"])


def test_parallel_calls_run_the_same_callbacks_for_each_call() -> None:
    """Three calls at once give one event in the order of the calls; each call has the callbacks that it has in ADK."""
    stock, ours = both(lambda log: clerk(log, [*FIND, call("find", order_id="C-3"), *KEEPS]))
    assert ours.events == stock.events
    assert ours.state == stock.state
    assert sorted(map(str, ours.log)) == sorted(map(str, stock.log))


def test_parallel_agents_run_the_same_callbacks_for_each_agent() -> None:
    """Of agents side by side each has the callbacks and the events that it has in ADK, in the same order."""

    def make(log: Log) -> BaseAgent:
        two = [
            agent_of(FIND, KEEPS, tools=tools_of(log), name=name, **watching(log, who=name))
            for name in ("one", "two")
        ]
        return ParallelAgent(name="both", sub_agents=list(two))

    stock, ours = both(make)
    for name in ("one", "two"):
        theirs, our = (
            [line for line in played.log if line[0].startswith(f"{name}.")] for played in (stock, ours)
        )
        assert [line[0] for line in our] == [line[0] for line in theirs]
        theirs, our = (
            [event["content"]["parts"] for event in played.events if event["author"] == name]
            for played in (stock, ours)
        )
        assert [sorted(part) for parts in our for part in parts] == [sorted(p) for ps in theirs for p in ps]


# ---------------------------------------------------------------- with a person in the seat


def played_by_person(agent: BaseAgent, answer: Any) -> list[Any]:
    """Play an agent whose one tool call a person answers; return the responses that the agent saw."""
    with going(agent) as sim:
        assert sim.answer(sim.pending[0], answer, wait=PATIENCE)
        parts = [part for event in sim.session.turns[0].events for part in event["content"]["parts"]]  # type: ignore[index, call-overload, union-attr] # JSON of ADK's events
        assert sim.session.turns[0].error is None
    return [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]  # type: ignore[index, operator, call-overload] # as above


@pytest.mark.parametrize(
    ("name", "answer", "given"),
    [
        (
            "after_tool",
            {"status": "lost"},
            {"tool_response": {"status": "lost"}, "args": {"order_id": "B-2"}},
        ),
        ("on_tool_error", raised("TimeoutError", "too slow"), {"error": "TimeoutError: too slow"}),
    ],
)
def test_callbacks_see_what_a_person_answers_or_raises(name: str, answer: Any, given: dict[str, Any]) -> None:
    """As the tool's result or error; what the callback makes of it is what the agent sees."""
    log = Log()
    assert played_by_person(clerk(log, FIND, answering={name: {"made": name}}), answer) == [{"made": name}]
    noted = next(line[1] for line in log.lines if line[0] == f"agent.{name}")
    assert {key: noted[key] for key in given} == given


@pytest.mark.parametrize("by_plugin", [False, True])
def test_nobody_is_asked_where_a_callback_answers_first(by_plugin: bool) -> None:
    """A before_tool callback that answers is honoured: nothing waits for a person."""
    log, answering = Log(), {"before_tool": {"short": 1}}
    made: Any = clerk(log, FIND) if by_plugin else clerk(log, FIND, answering=answering)
    with going(app_of(log, made, answering) if by_plugin else made) as sim:
        assert not sim.pending
        assert "short" in str(sim.session.turns[0].events)


TURNS = st.sampled_from(["find", "keeps", "fails", "raise", "say", "unknown"])
MADE = {"find": FIND, "keeps": KEEPS, "fails": FAILS, "say": [say("so")], "unknown": [call("nothing")]}


def _turn(word: str) -> Any:
    return RuntimeError("no model") if word == "raise" else MADE[word]


@pytest.mark.long
@given(
    turns=st.lists(TURNS, max_size=4),
    own=st.sets(st.sampled_from(AGENT_CALLBACKS), max_size=3),
    of_plugin=st.sets(st.sampled_from(sorted(ANSWERS)), max_size=2),
    limit=st.sampled_from([2, 500]),
    messages=st.integers(1, 2),
)
def test_any_mixture_of_answering_callbacks_behaves_as_in_adk(
    turns: list[str], own: set[str], of_plugin: set[str], limit: int, messages: int
) -> None:
    """Whatever the model does and whichever callbacks answer: same calls, same events, same errors, same state."""

    def make(log: Log) -> BaseAgent | App:
        agent = clerk(log, *map(_turn, turns), answering={name: ANSWERS[name]() for name in own})
        return app_of(log, agent, {name: ANSWERS[name]() for name in of_plugin})

    asked: list[Message] = ["go", "again"][:messages]  # type: ignore[assignment] # a list of texts is one of messages
    assert_same(make, asked, max_llm_calls=limit)


def test_the_watchers_cover_all_callbacks_that_adk_has() -> None:
    """ADK's plugin has no callback that these tests do not watch."""
    known = {f"{name}_callback" for name in (*AGENT_CALLBACKS, *RUN_CALLBACKS)}
    assert {name for name in vars(BasePlugin) if name.endswith("_callback")} == known
    assert {name for name in LlmAgent.model_fields if name.endswith("_callback")} == {
        f"{name}_callback" for name in AGENT_CALLBACKS
    }
