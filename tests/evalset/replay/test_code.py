"""Replays what an agent's code printed: a third boundary beside tools and models."""

from __future__ import annotations

import asyncio

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App
from google.adk.code_executors import BaseCodeExecutor
from google.adk.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult
from google.adk.runners import InMemoryRunner

from evalset import HermeticEnvironment, UnrecordedCallError
from evalset.recorded.recorder import recorded_case
from evalset.recorded.recording import RecordedEnvironment
from simulator.seats.answers import CodeAnswer
from tests.simulator.runtime.stage import PATIENCE, agent_of, opened, say

CODE = "print(6 * 7)"


class Trap(BaseCodeExecutor):
    """Must not run in a replay."""

    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        """Fail the test."""
        raise SystemExit("the code ran")


def coder(code: str = CODE) -> LlmAgent:
    """Make an agent that writes code, and then says something."""
    return agent_of([say(f"```python\n{code}\n```")], [say("So it is.")], name="coder", code_executor=Trap())


@pytest.fixture
def recorded() -> RecordedEnvironment:
    """A session in which a person said what the code prints."""
    simulation = opened(coder())
    simulation.query("go", wait=PATIENCE)
    simulation.answer(simulation.pending[0], CodeAnswer(stdout="42"), wait=PATIENCE)
    facts = [fact for _, fact in simulation.journal.path()]
    return RecordedEnvironment(cases={"one": recorded_case(simulation.session, facts)})


def run(agent: LlmAgent, plugin: HermeticEnvironment) -> str:
    """Ask the agent under ADK's own runner; return all that was said and printed."""

    async def asked() -> str:
        app = App(name="coder", root_agent=agent, plugins=[plugin])
        async with InMemoryRunner(app=app) as runner:
            events = await runner.run_debug("go", quiet=True)
            return "\n".join(str(event.content) for event in events)

    return asyncio.run(asked())


def test_code_prints_what_was_recorded(recorded: RecordedEnvironment) -> None:
    """And does not run."""
    heard = run(coder(), HermeticEnvironment(recorded))
    assert "42" in heard
    assert "So it is." in heard


def test_other_code_was_not_recorded(recorded: RecordedEnvironment) -> None:
    """It does not run either; the plugin says what is missing."""
    plugin = HermeticEnvironment(recorded)
    with pytest.raises(UnrecordedCallError, match=r"turn 1 .* coder: print\(1\)"):
        run(coder("print(1)"), plugin)
    assert len(plugin.missed) == 1
