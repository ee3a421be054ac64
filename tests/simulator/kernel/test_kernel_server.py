"""What a kernel shows: its side in this process can be asked at once, and the likeness of an agent looks like the agent."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, cast

import pytest
from google.adk.agents import BaseAgent, LlmAgent
from google.adk.tools.agent_tool import AgentTool
from pydantic import BaseModel

from simulator import SimulatedAgentConfig, demo_agent
from simulator.agents import DEMOS
from simulator.agents.agent_directory import directory_of
from simulator.kernel.agent_outline import AgentOutline, likeness, outlined
from simulator.kernel.kernel_server import FOR_KERNELS, FOR_REPLAYS, Server
from simulator.kernel.messages import Channel, KernelCall, KernelReply, SessionDisplay
from simulator.runtime.knowledge.knowledge import ToolShapes, agents_as_tools
from simulator.session.commands import Query, written
from tests.simulator.kernel.projects import PATIENCE, PERSON


class QuickStudio:
    """A studio that asks for the draft of a request as soon as it is shown the request."""

    def __init__(self) -> None:
        self.server = Server(cast("Channel", self))
        self.server._config = demo_agent("order_desk")
        self.replies: list[KernelReply] = []

    def ask(self, name: str, **arguments: Any) -> None:
        """Ask for something."""
        self.server._answer(KernelCall(number=1, session="s", name=name, arguments=arguments))

    def send(self, message: object) -> None:
        """Hear what the kernel sends."""
        if isinstance(message, SessionDisplay):
            for key in message.later:
                self.ask("fields", key=key, names=["draft"])
        if isinstance(message, KernelReply):
            self.replies.append(message)


def test_the_draft_of_a_request_can_be_asked_for_as_soon_as_it_is_shown() -> None:
    """A studio that is faster than the kernel's own thread is not told that the call no longer waits."""
    studio = QuickStudio()
    seats = PERSON.model_copy(update={"agents": {}})
    named = {"name": "order_desk", "app_name": "order_desk", "root": "order_desk"}
    studio.ask("open", called=named, at=None, seats=seats.model_dump(mode="json"), seed="seed")
    studio.ask("send", command=written(Query(message="Where is order A-1002?")), wait=PATIENCE)
    assert [reply.error for reply in studio.replies if reply.error is not None] == []
    given: list[Any] = [reply.value for reply in studio.replies if isinstance(reply.value, dict)]
    assert {each["draft"]["order_id"] for each in given} == {"A-1002"}
    studio.ask("close")


def likeness_of(config: SimulatedAgentConfig) -> object:
    """Make one from the outline as it comes over."""
    return likeness(AgentOutline.model_validate_json(outlined(config).model_dump_json()))


@pytest.mark.parametrize("name", sorted(DEMOS))
def test_a_demo_and_its_likeness_look_the_same(name: str) -> None:
    """To the page, and to all that compares schemas."""
    config = demo_agent(name)
    like = likeness_of(config)
    assert directory_of(like) == directory_of(config.root_agent)
    assert ToolShapes(like).known({}, ()) == ToolShapes(config.root_agent).known({}, ())
    assert agents_as_tools(like) == agents_as_tools(config.root_agent)


class Ticket(BaseModel):
    """What the agent takes."""

    number: int


def test_agents_as_tools_and_below_workflows() -> None:
    """Their tools are found where they were."""

    def look_up(word: str) -> dict[str, str]:
        """Look up a word."""
        return {"word": word}

    helper = LlmAgent(name="helper", model="gemini-2.5-flash", description="Helps.", tools=[look_up])
    first = LlmAgent(name="first", model="gemini-2.5-flash", tools=[AgentTool(helper)], input_schema=Ticket)
    config = SimulatedAgentConfig("flow", BaseAgent(name="flow", sub_agents=[first]), "flow.evalset.json")
    like = likeness_of(config)
    assert directory_of(like) == directory_of(config.root_agent)
    assert agents_as_tools(like) == {"helper": "helper"}
    assert ToolShapes(like).known({}, ()).keys() == {"look_up"}


def test_a_kernel_needs_nothing_but_what_an_agent_has() -> None:
    """An agent with packages of its own has no psutil: only the studio's process, which starts others, asks the system about them."""
    modules = sorted({*FOR_KERNELS.values(), FOR_REPLAYS, "simulator.kernel.kernel_server"})
    names = "sys.modules.update(psutil=None, streamlit=None, pandas=None)"
    text = f"import importlib, sys; {names}; [importlib.import_module(each) for each in {modules}]"
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
