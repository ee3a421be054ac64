"""Proves that a tool that nobody chose to be real does not run while a turn is active, even where the agent's own code passes its seat by."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.transfer_to_agent_tool import TransferToAgentTool
from google.genai import types

from simulator.facts import ToolAnswered, TurnEnded
from simulator.runtime import Simulation
from simulator.runtime.adk.tool_guards import UnchosenToolError
from tests.simulator.runtime import past_seats
from tests.simulator.runtime.past_seats import ASKED, NAME, REFUSED, Way, before, hitting, marks, used
from tests.simulator.runtime.stage import (
    PATIENCE,
    agent_of,
    answer_all,
    by_adk,
    call,
    going,
    let_the_loop_forget,
    opened,
)

pytestmark = pytest.mark.filterwarnings(
    # What ADK's agents and tools that are tried here are marked with.
    "ignore:.*(deprecated|experimental|EXPERIMENTAL).*"
)

every_player = pytest.mark.parametrize(
    "player",
    ["person", *(pytest.param(name, marks=pytest.mark.long) for name in ("offline", "recorded", "refuse"))],
)
refused_way = pytest.mark.parametrize("way", REFUSED.values(), ids=REFUSED)
asked_way = pytest.mark.parametrize(("way", "name"), ASKED.values(), ids=ASKED)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """Where the tool leaves its marks."""
    return tmp_path / "marks"


def played(agent: Any, tools: Any) -> Simulation:
    """Let the user ask, and a person answer everything."""
    sim = opened(agent, tools=tools)
    assert sim.query("go", wait=PATIENCE), sim.view()
    answer_all(sim)
    return sim


def error_of(sim: Simulation) -> str:
    """Return the error that the last turn ended with."""
    (*_, ended) = [fact for _, fact in sim.journal.path() if isinstance(fact, TurnEnded)]
    return ended.error.message if ended.error else ""


# ---------------------------------------------------------------- nobody chose real


@refused_way
@every_player
def test_a_tool_that_is_called_past_its_seat_fails_the_turn_by_name(
    way: Way, player: str, marker: Path
) -> None:
    """It leaves no mark, though the code swallows what it raises; the turn's error names the tool and where it was called."""
    tools = {"*": player, "outer": "real"}
    with played(way(hitting(marker)), tools) as sim:
        assert marks(marker) == []
        assert f"tool {NAME} " in error_of(sim)
        assert "past_seats.py:" in error_of(sim) or "in the thread" in error_of(sim)
        assert error_of(sim) in sim.view().problems
    assert marks(marker) == []


@asked_way
@every_player
def test_what_can_be_asked_about_has_its_seat(way: Way, name: str, player: str, marker: Path) -> None:
    """A runner of the agent's own has seats too, and so has a tool that is made of one of ADK's and runs code of its own."""
    with played(way(hitting(marker)), player) as sim:
        assert not error_of(sim)
        answered = [fact for _, fact in sim.journal.path() if isinstance(fact, ToolAnswered)]
        assert [fact.tool_name for fact in answered] == [name]
    assert marks(marker) == []


class Late:
    """A callback that leaves a task behind, which runs a tool past its seat when it is told to."""

    def __init__(self, tool: BaseTool) -> None:
        self.tool, self.go, self.tasks = tool, asyncio.Event(), list[asyncio.Task[Any]]()

    def begin(self, callback_context: Any) -> None:
        """Leave the task behind."""
        self.tasks.append(asyncio.get_running_loop().create_task(self._run(callback_context)))

    async def _run(self, context: Any) -> Any:
        await self.go.wait()
        return await self.tool.run_async(args={"mark": "late"}, tool_context=context)


def test_a_task_that_outlives_its_turn_runs_no_tool(marker: Path) -> None:
    """What comes too late to fail its turn is refused all the same, and said."""
    late = Late(FunctionTool(hitting(marker)))
    with played(before(late.begin), "person") as sim:
        assert not error_of(sim)
        sim._loop.call(late.go.set)

        async def ended() -> BaseException | None:
            await asyncio.wait(late.tasks)
            return late.tasks[0].exception()

        assert isinstance(sim._loop.run(ended()), UnchosenToolError)
        sim.wait(PATIENCE)
        assert NAME in str(sim.view().problems)
    assert marks(marker) == []


def test_a_turn_with_a_refused_tool_ends_while_a_person_is_asked(marker: Path) -> None:
    """Nobody is kept busy with a turn that has failed already."""
    late = Late(FunctionTool(hitting(marker)))
    agent = agent_of(before_agent_callback=late.begin)
    with going(agent, agents="person") as sim:
        assert sim.pending
        sim._loop.call(late.go.set)
        turn = sim._engine._task
        assert turn is not None
        sim._loop.run(asyncio.wait([*late.tasks, turn]))
        assert not sim.pending
        assert NAME in error_of(sim)
    assert marks(marker) == []


def test_each_session_answers_for_its_own_threads(marker: Path) -> None:
    """While another session waits, only the one whose agent tried fails."""
    with opened(agent_of(), agents="person") as waits:
        assert waits.query("go", wait=PATIENCE)
        with played(past_seats.callback_in_a_thread(hitting(marker)), "person") as sim:
            assert NAME in error_of(sim)
        assert waits.pending
        assert not waits.view().problems
    assert marks(marker) == []


# ---------------------------------------------------------------- someone chose real


@pytest.mark.parametrize(
    ("way", "name"), [*((way, NAME) for way in REFUSED.values()), *ASKED.values()], ids=[*REFUSED, *ASKED]
)
def test_a_tool_that_someone_chose_to_be_real_runs_once(way: Way, name: str, marker: Path) -> None:
    """By its own name, on every way."""
    with played(way(hitting(marker)), {"*": "refuse", name: "real", "outer": "real"}) as sim:
        assert not error_of(sim)
    assert len(marks(marker)) == 1


class Counting(BaseTool):
    """A tool without parameters that counts its runs, and may let another one do its work."""

    def __init__(self, name: str, inner: BaseTool | None = None) -> None:
        super().__init__(name=name, description="Do something.")
        self.ran, self.inner = list[str](), inner

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description)

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        """Count, and let the other one work."""
        self.ran.append(self.name)
        return self.inner and await self.inner.run_async(args=args, tool_context=tool_context)


class Derived(Counting):
    """A tool that runs what it inherits."""

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        """Run what it inherits."""
        return await super().run_async(args=args, tool_context=tool_context)


def test_a_real_tool_runs_what_its_class_inherits_and_what_has_its_name() -> None:
    """It is one choice, as ADK's tools of Google's APIs send another tool of their name."""
    derived = Derived("derived")
    inner = Counting("sent")
    sending = Counting("sent", inner)
    agent = agent_of([call("derived"), call("sent")], tools=[derived, sending])
    with played(agent, {"derived": "real", "sent": "real"}) as sim:
        assert not error_of(sim)
    assert derived.ran == ["derived"]
    assert inner.ran == ["sent"]


def test_what_a_real_tool_calls_is_a_choice_of_its_own() -> None:
    """Under another name it is refused, also where it is seated; with everything real it runs."""
    for tools, ran in (({"outer": "real"}, []), ({"*": "real"}, ["inner"])):
        inner = Counting("inner")
        agent = agent_of([call("outer")], tools=[Counting("outer", inner), inner])
        with played(agent, tools) as sim:
            assert ("inner" in error_of(sim)) is (not ran)
        assert inner.ran == ran


# ---------------------------------------------------------------- outside of turns


def test_where_no_turn_is_active_tools_run_as_ever(marker: Path) -> None:
    """A seated agent's do before a turn and between turns of its session, and after it, though the turn was refused one."""
    agent = past_seats.canonical_again(hitting(marker))

    def alone() -> None:
        asyncio.run(by_adk(agent))

    with opened(agent) as sim:
        alone()
        assert sim.query("go", wait=PATIENCE)
        assert NAME in error_of(sim)
        alone()
    alone()
    assert marks(marker) == ["past"] * 3


def test_while_a_turn_is_active_a_thread_that_nobody_knows_runs_no_tool(marker: Path) -> None:
    """It might be the agent's; so the error says why, and no turn fails for it. Where the turn runs it for real it runs."""
    hit = hitting(marker)
    tool: Any = FunctionTool(hit)
    for tools, ran in (("person", []), ({NAME: "real"}, ["past"])):
        with going(agent_of(), agents="person", tools=tools) as sim:
            if ran:
                asyncio.run(used(tool, None))
            else:
                with pytest.raises(UnchosenToolError, match=NAME):
                    asyncio.run(tool.run_async(args={"mark": "past"}, tool_context=None))
            assert sim.pending
        assert marks(marker) == ran


@pytest.mark.long
def test_the_classes_are_as_before_when_nothing_is_left() -> None:
    """The guards stand around the classes of tools, threads and pools; all of that is restored. In a process without other sessions."""
    program = "from tests.simulator.runtime.adk import test_enforced; test_enforced.look_at_the_classes()"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def look_at_the_classes() -> None:
    """Compare them before, in and after a session."""
    let_the_loop_forget()
    gc.collect()
    before_all = _as_they_are()
    assert not hasattr(FunctionTool.run_async, "__wrapped__")
    sim = opened(past_seats.callback(str.upper))
    assert sim.query("go", wait=PATIENCE)

    class Later(BaseTool):
        """A tool whose class is defined meanwhile."""

        async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
            """Do nothing."""

    assert hasattr(Later.run_async, "__wrapped__")
    assert _as_they_are() != before_all
    sim.close()
    del sim
    let_the_loop_forget()
    gc.collect()
    assert _as_they_are() == before_all
    assert not hasattr(Later.run_async, "__wrapped__")


def _as_they_are() -> list[Any]:
    return [
        BaseTool.run_async,
        FunctionTool.run_async,
        TransferToAgentTool.run_async,
        vars(BaseTool).get("__init_subclass__"),
        threading.Thread.start,
        ThreadPoolExecutor.submit,
    ]
