"""An agent has one fingerprint: before it is seated, after any number of sessions, and in every process."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.google_llm import Gemini
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import START, Workflow
from hypothesis import given
from hypothesis import strategies as st

from simulator.agents import catalogue_for
from simulator.agents.agent_fingerprint import agent_fingerprint, changes, loaded_fingerprint
from simulator.agents.agent_settings import DEMOS, AgentSettings, demo_agent
from simulator.agents.catalogue import AgentCatalogue
from simulator.runtime.adk.boundaries import install
from tests.harness.processes import REPOSITORY, completed
from tests.simulator.runtime.playing import Mode, played
from tests.simulator.runtime.shapes import SHAPES, Shape
from tests.simulator.runtime.traces import Traces

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated in favor of Workflow:DeprecationWarning")

_SEED = "1"
_FILE = '''
from google.adk.agents import LlmAgent
from simulator.agent_config import SimulatedAgentConfig

def find(name: str, among: set = frozenset({"a", "b", "c", "d"}), marker: object = object()) -> dict:
    """Find something."""
    return {}

asker = LlmAgent(name="asker", model="gemini-2.5-flash", tools=[find])
AGENTS = [SimulatedAgentConfig("asker", asker, "asker.evalset.json")]
'''


def _root(shape: Shape) -> Any:
    made = shape.make(Traces())
    return getattr(made, "root_agent", None) or made


def _named(model: Any) -> LlmAgent:
    """Make an agent with every place at which a model can be declared or left out."""
    inheriting = LlmAgent(name="inheriting")
    below = LlmAgent(name="below", model=model, sub_agents=[inheriting])
    asked = AgentTool(agent=LlmAgent(name="asked", model=model))
    return LlmAgent(name="root", model=model, tools=[asked], sub_agents=[below])


def _in_graph(model: Any) -> Workflow:
    return Workflow(name="graph", edges=[(START, _named(model))])


def _lite_llm() -> Any:
    from google.adk.models.lite_llm import LiteLlm  # noqa: PLC0415 - takes seconds

    return LiteLlm(model="openai/gpt-x", api_key="none")


_MODELS: dict[str, Callable[[], Any]] = {
    "a name": lambda: "gemini-2.5-flash",
    "a name that ADK cannot resolve": lambda: "no-such-model",
    "an object": lambda: Gemini(model="gemini-2.5-flash"),
    "LiteLLM": _lite_llm,
    "none": lambda: "",
}


_SOME = (
    "plain",
    "nested_agent_tools",
    "streamed_merging",
    "agent_in_graph",
    "task_mode",
    "confirmed",
    "made_by_toolset",
)
"""Shapes that differ in what is seated: tools, agents as tools, a graph, a toolset, a model that streams."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in _SOME else pytest.mark.long) for name in SHAPES]
)
def test_sessions_leave_the_fingerprint_of_every_shape(name: str) -> None:
    """Real models and tools, then a person: the agent that was played is the one that was declared."""
    shape, traces = SHAPES[name], Traces()
    made = shape.make(traces)
    root = getattr(made, "root_agent", None) or made
    before = agent_fingerprint(root)
    modes: tuple[Mode, ...] = ("real", "held")
    for mode in modes:
        played(replace(shape, make=lambda _: made), mode)
        assert changes(before, agent_fingerprint(root)) == ()
        assert agent_fingerprint(root) == before


@pytest.mark.long
@pytest.mark.parametrize("model", _MODELS)
@pytest.mark.parametrize("make", [_named, _in_graph])
def test_seating_leaves_the_fingerprint_of_every_model(make: Callable[[Any], Any], model: str) -> None:
    """By name, as an object, inherited; in a sub-agent, in an agent used as a tool, and in a graph."""
    agent = make(_MODELS[model]())
    before = agent_fingerprint(agent)
    install(agent)
    install(agent)
    assert agent_fingerprint(agent) == before == agent_fingerprint(make(_MODELS[model]()))
    other = make("gemini-other")
    install(other)
    assert any(
        "agent below" in one and "(its model)" in one for one in changes(before, agent_fingerprint(other))
    )


@given(
    st.lists(st.sampled_from(["gemini-a", "gemini-b", "", "no-such"]), min_size=1, max_size=4),
    st.lists(st.integers(0, 3), max_size=6),
)
def test_the_order_of_seating_does_not_count(models: list[str], seated: list[int]) -> None:
    """Agents below each other may be seated in any order, each any number of times, as agents made at run time are."""
    below: list[LlmAgent] = []
    for place, model in reversed(list(enumerate(models))):
        below.insert(0, LlmAgent(name=f"agent_{place}", model=model, sub_agents=below[:1]))
    before = agent_fingerprint(below[0])
    for place in seated:
        install(below[place % len(below)])
    assert agent_fingerprint(below[0]) == before


@pytest.mark.long
@pytest.mark.process
def test_another_process_gives_the_same_fingerprints(tmp_path: Path) -> None:
    """One that hashes texts in another order and has seated its agents agrees on all shapes, demos and files of configs."""
    (tmp_path / "listed.py").write_text(_FILE)
    here = _fingerprints(tmp_path / "listed.py", seated=False)
    words = (sys.executable, "-W", "ignore", "-m", __name__, tmp_path / "listed.py")
    run = completed(*words, folder=REPOSITORY, environment={**os.environ, "PYTHONHASHSEED": _SEED})
    assert json.loads(run.stdout) == here, run.stderr


def _fingerprints(listed: Path, *, seated: bool) -> dict[str, str]:
    roots = {name: _root(shape) for name, shape in SHAPES.items()}
    roots |= {f"demo {name}": demo_agent(name).root_agent for name in DEMOS}
    catalogue = AgentCatalogue(AgentSettings(None, str(listed), demos=False))
    roots["listed"] = catalogue.config("asker").root_agent
    if seated:
        for root in roots.values():
            install(root)
    return {name: agent_fingerprint(root) for name, root in roots.items()}


@pytest.fixture
def listed(tmp_path: Path) -> Iterator[Path]:
    """A file that lists an agent."""
    path = tmp_path / "listed.py"
    path.write_text(_FILE)
    yield path
    catalogue_for.cache_clear()


def test_an_edit_of_the_file_does_not_change_the_agent_that_is_loaded(listed: Path) -> None:
    """The agent that runs is the one that was loaded; what stands in its file now is not asked before it is loaded again."""
    catalogue = AgentCatalogue(AgentSettings(None, str(listed), demos=False))
    agent = catalogue.config("asker").root_agent
    before = loaded_fingerprint(agent)
    listed.write_text("# moved\n" * 3 + _FILE.replace("return {}", 'return {"found": name}'))
    install(agent)
    assert loaded_fingerprint(agent) == before


def test_a_session_from_before_forms_says_nothing_of_models() -> None:
    """Its fingerprint may have been taken of a seated agent: the name of its model then decides nothing. The rest is compared."""
    agent = _named("gemini-2.5-flash")
    parts = json.loads(agent_fingerprint(agent))
    del parts["form"]
    for said in parts.values():
        if "declared_model" in said:
            said["model"] = said.pop("declared_model")[::-1]
    assert changes(json.dumps(parts), agent_fingerprint(agent)) == ()
    agent.instruction = "Help."
    (change,) = changes(json.dumps(parts), agent_fingerprint(agent))
    assert "agent root" in change
    assert "(its instruction)" in change


if __name__ == "__main__":
    print(json.dumps(_fingerprints(Path(sys.argv[1]), seated=True)))  # noqa: T201 - read by the test


def find_order(order_id: str) -> dict[str, Any]:
    """Find an order."""
    return {"order_id": order_id}


def other() -> Any:
    """Make a tool of the same name that takes more and does something else."""

    def find_order(order_id: str, limit: int = 1) -> dict[str, Any]:
        """Find an order."""
        return {"order_id": order_id, "limit": limit}

    return find_order


def said(found: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return of each change which part it is of, and what happened to it: the last word, or what the brackets hold."""
    parts = (re.match(r"the (\S+ \S+) .*?(?:\((.*)\)|(\w+))$", one) for one in found)
    return tuple((part[1], part[2] or part[3]) if part else ("", "") for part in parts)


def desk(*tools: Any, **more: Any) -> LlmAgent:
    """Make an agent."""
    return LlmAgent(
        **{"name": "desk", "model": "gemini-x", "instruction": "Help.", **more}, tools=list(tools)
    )


def test_what_has_changed_is_named() -> None:
    """What was removed first, then what was added, then what is another than it was, and in what; a sub-agent's tools too."""
    before = desk(find_order, AgentTool(agent=LlmAgent(name="adviser", model="gemini-x")))
    below = LlmAgent(name="below", tools=[desk])
    after = desk(other(), instruction="Help fast.", model="gemini-y", sub_agents=[below])
    assert said(changes(agent_fingerprint(before), agent_fingerprint(after))) == (
        ("agent adviser", "removed"),
        ("tool adviser", "removed"),
        ("agent below", "added"),
        ("tool desk", "added"),
        ("agent desk", "its instruction, its model"),
        ("tool find_order", "its arguments, its code"),
    )
    assert changes(agent_fingerprint(desk(find_order)), agent_fingerprint(desk(find_order))) == ()


def test_a_fingerprint_that_cannot_be_read_says_so_much() -> None:
    """Of a fingerprint of another kind nothing can be told but that it is another."""
    now = agent_fingerprint(desk())
    assert len(changes("0123abcd", now)) == 1
    assert changes("0123abcd", now) == changes("[1]", now)
