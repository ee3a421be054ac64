"""An answer's consequences are waited for: draws are counted, and rest is rest; what is at work says since when."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from itertools import count
from threading import Event

import pytest

from simulator import Simulation
from simulator.environment.injection.rules import ErrorEffect, InjectionRule
from simulator.runtime.adk.event_loop import LoopThread, Settling
from simulator.runtime.turns import replay_release
from simulator.session import Seats
from tests.harness.processes import wait_until
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, going, opened, tool_facts, tool_requests
from tests.simulator.runtime.traces import Traces

_RULE = InjectionRule(
    rule_id="half",
    tool_name="hit",
    probability=0.5,
    random_seed=7,
    effect=ErrorEffect(error_code=1, error_message="injected"),
)
_CALLS = 12
_STEPS_AFTER_AN_ANSWER = 10


def _drawn(calls: int) -> list[bool]:
    stream = random.Random(7)  # noqa: S311 - the stream that the rule is documented to draw from
    return [stream.random() < 0.5 for _ in range(calls)]


@pytest.mark.parametrize("at_once", [False, True])
def test_each_call_in_a_turn_takes_the_next_draw(at_once: bool) -> None:
    """One after the other, or in one turn of the model: in the order in which they were asked."""
    calls = [call("hit", mark=str(number)) for number in range(_CALLS)]
    agent = agent_of(*([calls] if at_once else [[each] for each in calls]), tools=[Traces().hit])
    with going(agent, tools="refuse", rules=[_RULE]) as sim:
        facts = tool_facts(sim)
        by_mark = sorted(facts, key=lambda fact: int(str(fact.arguments["mark"]))) if at_once else facts
        assert [fact.provenance.source == "injected" for fact in by_mark] == _drawn(_CALLS)


def test_an_answer_can_be_given_the_instant_its_call_is_pending() -> None:
    """Answers that come at once, without waiting for the agent to settle, are taken, each once and in order."""

    async def slow(callback_context: object, llm_request: object) -> None:
        await asyncio.sleep(0.01)

    calls = [call("hit", mark=str(number)) for number in range(5)]
    agent = agent_of(calls, [call("hit", mark="last")], tools=[Traces().hit], before_model_callback=slow)
    with opened(agent) as sim:
        sim.query("go", wait=0)
        answered: set[str] = set()
        while len(answered) < 6:
            for request in tool_requests(sim):
                if request.key not in answered:
                    answered.add(request.key)
                    sim.answer(request, {"mark": request.arguments["mark"]}, wait=0)
        assert sim.wait(PATIENCE)
        assert sim.session.state.value == "completed"
        assert [fact.arguments["mark"] for fact in tool_facts(sim)] == ["0", "1", "2", "3", "4", "last"]


def test_who_waits_for_rest_also_waits_for_an_answer_that_another_gives_at_that_moment() -> None:
    """Two wait for the same moment; what the one sets going when it comes is waited for by the other."""
    loop = LoopThread.shared()
    settling, done = Settling(loop.loop), list[str]()

    async def answers() -> None:
        await settling.settle()
        settling.activity += 1
        for _ in range(_STEPS_AFTER_AN_ANSWER):
            await asyncio.sleep(0)
        done.append("what follows from the answer")

    async def rests() -> list[str]:
        answering = asyncio.create_task(answers())
        await asyncio.sleep(0)
        await settling.settle()
        seen = list(done)
        await answering
        return seen

    assert loop.run(rests()) == ["what follows from the answer"]


def test_the_time_that_a_person_thought_is_not_counted() -> None:
    """A real tool that was started long after the call is at work since its start."""
    seconds = count(1000)
    later = [0.0]
    go_on = Event()

    def dig() -> dict[str, str]:
        """Dig until it is enough."""
        go_on.wait(PATIENCE)
        return {"found": "gold"}

    agent = agent_of([call("dig")], tools=[dig])
    with opened(agent, clock=lambda: next(seconds) + later[0]) as simulation:
        assert simulation.query("Dig", wait=PATIENCE)
        later[0] = 50_000.0
        simulation.run_real(simulation.pending[0], wait=0.0)
        wait_until(lambda: bool(simulation.view().running), what="the digging", seconds=PATIENCE)
        (running,) = simulation.view().running
        go_on.set()
        assert simulation.wait(PATIENCE)
    assert running.name == "dig"
    assert running.since > 50_000


LONG = 0.2


def find(order: str) -> dict[str, str]:
    """Find an order."""
    return {"order": order}


async def _in_a_thread() -> None:
    await asyncio.to_thread(time.sleep, LONG)


async def _by_the_clock() -> None:
    await asyncio.sleep(LONG)


async def _holding_up_the_loop() -> None:
    await asyncio.sleep(0)
    time.sleep(LONG)  # noqa: ASYNC251 - as an import does
    await asyncio.sleep(0)


@pytest.mark.parametrize("work", [_in_a_thread, _by_the_clock, _holding_up_the_loop])
def test_an_agent_that_works_long_before_it_asks_is_no_other_agent(
    work: Callable[[], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits where it waited, whether a thread, a timer or the loop itself was at work. Patience is shorter than the work."""

    async def slow(callback_context: object) -> None:
        del callback_context
        await work()

    agent = agent_of([call("find", order="A-1")], tools=[find], before_agent_callback=slow)
    with Simulation.open(agent, seats=Seats(tools={"*": "person"})) as simulation:
        simulation.query("Hello")
        journal, waiting = simulation.journal, [request.key for request in simulation.pending]
    monkeypatch.setattr(replay_release, "_LOOK_SECONDS", LONG / 10)
    monkeypatch.setattr(replay_release, "_PATIENCE", 5)
    with Simulation.resume(journal, agent) as simulation:
        assert simulation.view().divergence is None
        assert [request.key for request in simulation.pending] == waiting != []
