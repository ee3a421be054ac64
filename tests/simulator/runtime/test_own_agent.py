"""An agent is simulated as it is: no configuration is needed for it, and what is none is refused with what is wanted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App

import evalset
import simulator
from simulator import Simulation
from simulator.agent_config import AgentConfigError


def desk() -> LlmAgent:
    """Make an agent."""
    return LlmAgent(name="desk", model="gemini-2.5-flash", instruction="Help.")


@pytest.mark.parametrize("given", [desk(), App(name="counter", root_agent=desk())])
def test_an_agent_and_an_app_are_opened_as_they_are(given: Any) -> None:
    """By their names; the journal goes on with the same."""
    with Simulation.open(given) as opened:
        assert (opened.session.agent_name, opened.config.eval_set_path) == (
            given.name,
            f"{given.name}.evalset.json",
        )
        journal = opened.journal
    with Simulation.resume(journal, given) as again:
        assert again.session.agent_name == given.name


@pytest.mark.parametrize("given", ["desk", None, 3, LlmAgent])
def test_what_is_no_agent_is_refused_with_what_is_wanted(given: Any) -> None:
    """Both where a session begins and where it goes on."""
    with pytest.raises(AgentConfigError, match="give an ADK agent, Workflow or App"):
        Simulation.open(given)


@pytest.mark.parametrize("package", [simulator, evalset])
def test_the_public_names_are_shown(package: Any) -> None:
    """`dir()` has them before they are used, as an editor completes them."""
    assert set(package.__all__) <= set(dir(package))


_AGENT = """
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types

class Asks(BaseLlm):
    async def generate_content_async(self, request, stream=False):
        part = types.Part.from_function_call(name="look", args={})
        yield LlmResponse(content=types.Content(role="model", parts=[part]))

def look() -> str: ...

root_agent = LlmAgent(name="desk", model=Asks(model="asks"), tools=[look])
"""

_FAILS = """
from desk import root_agent
from simulator import Simulation

simulation = Simulation.open(root_agent)
simulation.query("Look.")
assert simulation.pending
raise ValueError("of the script")
"""


def test_a_script_that_fails_with_a_call_waiting_shows_its_own_error(tmp_path: Path) -> None:
    """And no other: what ran ends before Python does."""
    (tmp_path / "desk.py").write_text(_AGENT)
    (tmp_path / "fails.py").write_text(_FAILS)
    done = subprocess.run(
        [sys.executable, tmp_path / "fails.py"], capture_output=True, text=True, check=False
    )
    assert "ValueError: of the script" in done.stderr
    assert done.stderr.count("Traceback") == 1
    assert "was destroyed" not in done.stderr
