"""A key that an instruction needs, and that nothing in a case can have set before, is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.apps.app import App
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import START, FunctionNode, Workflow

from evalset.doctor import examine, known_agent
from simulator.agent_config import SimulatedAgentConfig
from tests.evalset.doctor.examples import (
    a_call,
    a_case,
    a_recorded_call,
    a_recorded_case,
    a_set,
    a_turn,
    an_environment,
    an_event,
    events,
    find_order,
    in_bytes,
    put,
)
from tests.evalset.doctor.pitfalls import ENVIRONMENT, SET

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated in favor of Workflow:DeprecationWarning")

TEMPLATE = (
    'Teach {subject} to {user:name?} with { level }, {artifact.notes}, {not a key} and JSON like {{"a": 1}}.'
)
OPENED = events(an_event({"text": "Plan."}, author="one"), an_event({"text": "Done."}, author="two"))


def an_agent(name: str = "desk", instruction: Any = TEMPLATE, **more: Any) -> LlmAgent:
    """Make an agent with an instruction."""
    return LlmAgent(name=name, model="none", instruction=instruction, **more)


def in_a_row(second: str, **more: Any) -> SequentialAgent:
    """Make an agent that keeps its reply, and one behind it."""
    one = an_agent("one", "Plan.", output_key="plan", **more)
    return SequentialAgent(name="desk", sub_agents=[one, an_agent("two", second)])


def lacking(
    folder: Path, agent: Any, case: dict[str, Any], recorded: dict[str, Any] | None = None
) -> list[str]:
    """Return what the doctor says is missing."""
    files = {SET: in_bytes(a_set(case))}
    if recorded is not None:
        files[ENVIRONMENT] = in_bytes(an_environment(one=recorded))
    put(folder, files)
    config = SimulatedAgentConfig("desk", agent, "x.evalset.json")
    found = examine([folder], agents={"desk": known_agent(config)}).findings
    return [each.meaning for each in found if each.code == "missing-state"]


def with_state(**state: Any) -> dict[str, Any]:
    """Make a case that begins with a state."""
    turn = a_turn(intermediate_data=None)
    return a_case("one", turn, session_input={"app_name": "desk", "user_id": "u", "state": state})


class Own(BaseAgent):
    """An agent with code of its own."""


def kept(callback_context: Any) -> None:
    """Set the state, perhaps."""


def made(_: Any) -> str:
    """Make an instruction."""
    return "{subject}"


NEEDY: dict[str, Callable[[], Any]] = {
    "alone": an_agent,
    "global": lambda: an_agent(instruction="", global_instruction=TEMPLATE),
    "row": lambda: SequentialAgent(
        name="desk", sub_agents=[LoopAgent(name="loop", sub_agents=[an_agent("inner")])]
    ),
    "both": lambda: ParallelAgent(name="desk", sub_agents=[an_agent("left", "Wait."), an_agent("right")]),
    "app": lambda: App(name="desk", root_agent=an_agent()),
}
OPEN: dict[str, Callable[[], Any]] = {
    "callback": lambda: an_agent(before_agent_callback=kept),
    "plugin": lambda: App(name="desk", root_agent=an_agent(), plugins=[BasePlugin(name="sets")]),
    "made": lambda: an_agent(instruction=made),
    "own": lambda: Own(name="desk", sub_agents=[an_agent("inner")]),
}


@pytest.mark.parametrize("kind", NEEDY)
def test_an_agent_that_speaks_first_needs_the_state_of_the_case(tmp_path: Path, kind: str) -> None:
    """Each key that is not optional, and none that is an artifact or plain text; the case may give it."""
    agent = NEEDY[kind]()
    (told,) = lacking(tmp_path, agent, with_state(level=None))
    assert "'subject'" in told
    assert all(
        f"{word!r}" not in told for word in ("user:name", "level", "artifact.notes", "notes", "not a key")
    )
    assert lacking(tmp_path, agent, with_state(subject="maths", level=1)) == []


@pytest.mark.parametrize("kind", OPEN)
def test_what_code_may_set_is_not_missed(tmp_path: Path, kind: str) -> None:
    """Callbacks before an agent, plugins and code of the agent's own may set any key."""
    assert lacking(tmp_path, OPEN[kind](), with_state()) == []


def in_order(*agents: Any) -> SequentialAgent:
    """Make an agent that asks others in their order."""
    return SequentialAgent(name="desk", sub_agents=[*agents])


PLAN, LAST = {"output_key": "plan"}, "Do {plan} for {person}."
CERTAIN: dict[str, tuple[Callable[[], Any], bool]] = {
    "behind a reply": (lambda: in_order(an_agent("one", "Plan.", **PLAN), an_agent("two", LAST)), True),
    "behind a kept one": (lambda: in_order(an_agent("one", "Plan.", output_key="person"), an_agent("two", "{person}")), False),
    "behind two": (lambda: in_order(in_order(an_agent("one", "Plan.", **PLAN)).model_copy(update={"name": "row"}), an_agent("mid", "{plan}"), an_agent("two", LAST)), True),
    "behind both": (lambda: in_order(ParallelAgent(name="both", sub_agents=[an_agent("left", "L", **PLAN), an_agent("right", "R")]), an_agent("two", LAST)), True),
    "beside one": (lambda: ParallelAgent(name="desk", sub_agents=[an_agent("left", "L", output_key="person"), SequentialAgent(name="row", sub_agents=[an_agent("right", "R", **PLAN), an_agent("two", LAST)])]), False),
    "behind a tool": (lambda: in_order(an_agent("one", "Plan.", tools=[find_order], **PLAN), an_agent("two", LAST)), False),
    "behind a callback": (lambda: in_order(an_agent("one", "Plan.", after_agent_callback=kept, **PLAN), an_agent("two", LAST)), False),
    "behind a loop": (lambda: in_order(LoopAgent(name="loop", sub_agents=[an_agent("one", "Plan.", **PLAN)], max_iterations=2), an_agent("two", LAST)), True),
    "behind a loop without end": (lambda: in_order(LoopAgent(name="loop", sub_agents=[an_agent("one", "Plan.", **PLAN)]), an_agent("two", LAST)), False),
}  # fmt: skip


@pytest.mark.parametrize("kind", CERTAIN)
def test_an_agent_that_is_certainly_asked_later_needs_what_no_reply_before_it_sets(
    tmp_path: Path, kind: str
) -> None:
    """Without any events; a tool or a callback between may set the key, and so may the case, or what is recorded."""
    make, is_missed = CERTAIN[kind]
    told = lacking(tmp_path, make(), with_state())
    assert ["'two'" in each and "'person'" in each and "plan" not in each for each in told] == [
        True
    ] * is_missed
    assert lacking(tmp_path, make(), with_state(person="Ada")) == []
    recorded = a_recorded_case() | {"final_state": {"person": "Ada"}}
    assert lacking(tmp_path, make(), with_state(), recorded) == []


def test_later_agents_need_what_nothing_before_them_sets(tmp_path: Path) -> None:
    """A kept reply, a callback, a node of a graph, and a tool of which nothing is recorded may set a key; a recorded tool sets what it set."""
    case = a_case("one", a_turn(intermediate_data=OPENED))
    agent = in_a_row("Do {plan} for {order}.", tools=[find_order])
    (told,) = lacking(tmp_path, agent, case)
    assert "'two'" in told
    assert "'order'" in told
    assert "plan" not in told
    assert lacking(tmp_path, in_a_row("{order}", after_agent_callback=kept), case) == []
    graph = Workflow(name="desk", edges=[(START, FunctionNode(func=find_order, name="set"), an_agent("two"))])
    assert lacking(tmp_path, graph, case) == []
    called = events(an_event(a_call(), author="one"), *OPENED["invocation_events"])
    calling = a_case("one", a_turn(intermediate_data=called))
    assert lacking(tmp_path, agent, calling) == []
    effects = {"state_delta": {"order": "A-1"}}
    call = a_recorded_call(id="id-find_order", agent="one")
    assert lacking(tmp_path, agent, calling, a_recorded_case(call))
    assert lacking(tmp_path, agent, calling, a_recorded_case(call | {"effects": effects})) == []


def test_an_agent_that_is_used_as_a_tool_needs_the_state_of_the_session_that_calls_it(tmp_path: Path) -> None:
    """Where it is called and nothing is recorded, or its model spoke in the recording; not where its call was answered for it."""

    def desk(**more: Any) -> LlmAgent:
        return an_agent(instruction="Ask.", tools=[AgentTool(an_agent("advisor", "Be {tone}.", **more))])

    call = a_call("advisor", request="visas")
    case = a_case("one", a_turn(intermediate_data=events(an_event(call, author="desk"))))
    (told,) = lacking(tmp_path, desk(), case)
    assert "'advisor'" in told
    assert "'tone'" in told
    assert lacking(tmp_path, desk(before_model_callback=kept), case) == []
    answered = a_recorded_case(a_recorded_call(id="id-advisor", tool="advisor", agent="desk"))
    assert lacking(tmp_path, desk(), case, answered) == []
    spoke = {"agent": "advisor", "within": ["advisor"], "responses": [], "author": {"source": "model"}}
    recorded = a_recorded_case() | {"turns": [{"query": {}, "models": [spoke]}]}
    assert lacking(tmp_path, desk(), case, recorded)
    assert lacking(tmp_path, desk(), case, recorded | {"state": {"tone": "kind"}}) == []
