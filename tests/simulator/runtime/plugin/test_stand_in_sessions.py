"""Proves that the environment without the page keeps sessions apart, however many run at once, and lets go of them."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.tools.function_tool import FunctionTool

from simulator.runtime.plugin import SimulatedEnvironmentConfig, create_callback
from simulator.runtime.plugin.plugin_environment import StandInEnvironment
from simulator.runtime.plugin.session_play import Sessions
from tests.simulator.runtime.plugin.order_tools import create_order, find_order
from tests.simulator.runtime.plugin.standing import (
    BUSY,
    Form,
    Stage,
    config,
    in_threads,
    responses,
    rule,
    staged,
)
from tests.simulator.runtime.stage import agent_of, call, say

MANY = [[call("find_order", order_id=f"A-{number}")] for number in range(12)]
HALF = config(rule("half", probability=0.5), rule("seeded", probability=0.5, random_seed=7))


def pattern(answers: list[Any]) -> list[bool]:
    """Say of each answer whether a rule gave it."""
    return [answer == BUSY for answer in answers]


def turns_at_once(stage: Stage, count: int) -> list[list[Any]]:
    """Run a turn in each of several sessions, all in one event loop."""

    async def run() -> list[list[Any]]:
        events = await asyncio.gather(*(stage.turn(f"s{number}") for number in range(count)))
        return [responses(each) for each in events]

    return asyncio.run(run())


# ---------------------------------------------------------------- apart


@pytest.mark.long
def test_chance_is_the_same_in_each_session_whatever_runs_beside_it(form: Form) -> None:
    """Twelve calls with two rules of chance: alone, four at once in one loop, and in four threads, one pattern."""

    def stage() -> Stage:
        return staged(form, agent_of(*MANY, tools=[find_order]), HALF, unlisted="offline")

    alone = pattern(responses(asyncio.run(stage().turn())))
    assert 2 <= sum(alone) <= 11
    at_once = [pattern(answers) for answers in turns_at_once(stage(), 4)]
    shared = stage().ours
    assert at_once == [alone] * 4

    def own_thread(number: int) -> Callable[[], list[bool]]:
        def run() -> list[bool]:
            agent = agent_of(*MANY, tools=[find_order], before_tool_callback=shared)
            mine = staged("plugin", agent, config(), unlisted="real")
            return pattern(responses(asyncio.run(mine.turn(f"t{number}"))))

        return run

    if form == "callback":
        assert in_threads([own_thread(number) for number in range(4)]) == [alone] * 4


def test_state_counters_and_worlds_are_each_sessions_own(form: Form) -> None:
    """The first call of each session is its first; what one session made, another does not know."""
    first = rule("first", when={"kind": "call_number", "which": "first", "n": 1})
    made = [[call("create_order", item="lamp")], [call("find_order", order_id="A-1")]]
    listed = dict.fromkeys(("create_order", "find_order"), "offline")
    stage = staged(form, agent_of(*made, tools=[create_order, find_order]), config(first, players=listed))
    answers = turns_at_once(stage, 3)
    assert [each[1] for each in answers] == [BUSY] * 3
    assert answers[0][0] == answers[1][0] == answers[2][0]
    for number in range(3):
        world = stage.ours.world(f"s{number}")
        assert world is not None
        assert [len(table.ids) for table in world.tables if table.kind == "order"] == [1]
        assert len(stage.ours.get_state("create_order", f"s{number}")["previous_calls"]) == 1
        assert len(stage.ours.calls(f"s{number}")) == 2


def test_a_session_goes_on_in_its_next_turn_until_it_is_forgotten(form: Form) -> None:
    """Counters and the world last from turn to turn; forgotten, the session's next call is its first again."""
    second = rule("second", when={"kind": "call_number", "which": "nth", "n": 2})
    agent = agent_of(MANY[0], [say("done")], MANY[1], [say("done")], MANY[2], tools=[find_order])
    stage = staged(form, agent, config(second))
    for _ in range(2):
        asyncio.run(stage.turn("s"))
    assert [each.provenance.by for each in stage.ours.calls("s")] == ["offline", "second"]
    stage.ours.forget("s")
    assert stage.ours.calls("s") == ()
    asyncio.run(stage.turn("s"))
    assert [each.provenance.by for each in stage.ours.calls("s")] == ["offline"]


def test_two_services_may_have_sessions_of_one_name() -> None:
    """A session's service is part of its name: two runners with a session `s` each share nothing."""
    first = rule("first", when={"kind": "call_number", "which": "first", "n": 1})
    environment = create_callback(config(first))
    stages = [
        staged(
            "plugin",
            agent_of(*MANY[:2], tools=[find_order], before_tool_callback=environment),
            config(),
            unlisted="real",
        )
        for _ in range(2)
    ]
    seen = [pattern(responses(asyncio.run(stage.turn("s")))) for stage in stages]
    assert seen == [[True, False]] * 2


def test_parallel_calls_move_each_counter_once(form: Form) -> None:
    """Of twelve calls at once, every third is hit, in the order of the calls, though each takes its time; each has its own answer."""
    third = rule("third", when={"kind": "call_number", "which": "every", "n": 3}, latency_seconds=0.01)
    calls = [part for turn in MANY for part in turn]
    ways: list[dict[str, Any]] = [{}, {"tool_thread_pool_config": {"max_workers": 4}}]
    for settings in ways:
        stage = staged(form, agent_of(calls, tools=[find_order]), config(third))
        seen = responses(asyncio.run(stage.turn(**settings)))
        assert pattern(seen) == [number % 3 == 2 for number in range(12)]
        found = [each["order_id"] for each in seen if each != BUSY]
        assert found == [f"A-{number}" for number in range(12) if number % 3 != 2]


@pytest.mark.long
def test_calls_by_hand_from_many_threads_are_counted_once_each() -> None:
    """A hundred calls from eight threads: the rule for every tenth call fires ten times."""
    tenth = rule("tenth", when={"kind": "call_number", "which": "every", "n": 10})
    callback = create_callback(config(tenth))
    tool: Any = FunctionTool(find_order)

    def work() -> int:
        answers = [asyncio.run(callback(tool, {"order_id": "A-1"}, None)) for _ in range(25)]  # type: ignore[arg-type] # by hand
        return answers.count(BUSY)

    assert sum(in_threads([work] * 8)) == 20
    assert len(callback.calls()) == 200
    assert [each.number for each in callback.calls()] == list(range(1, 201))


# ---------------------------------------------------------------- letting go


@pytest.mark.long
def test_what_is_known_of_a_session_goes_with_its_service() -> None:
    """Once a runner and its sessions are gone, nothing of them is left but what was used last."""
    environment = create_callback(HALF)
    kept: list[weakref.ref[Any]] = []
    for number in range(3):
        agent = agent_of(*MANY[:1], tools=[find_order], before_tool_callback=environment)
        stage = staged("plugin", agent, config(), unlisted="real")
        asyncio.run(stage.turn(f"s{number}"))
        kept.append(weakref.ref(environment.environment.sessions.find(f"s{number}")))
        del stage, agent
    gc.collect()
    assert [ref() is not None for ref in kept] == [False, False, True]


def test_the_sessions_used_longest_ago_make_room() -> None:
    """Of one service as many sessions are kept as is said; others begin anew."""
    made: list[int] = []

    class Kept:
        def __init__(self) -> None:
            made.append(1)

    sessions = Sessions(Kept, most=1)
    assert sessions.of(None) is sessions.of("no context either")
    assert len(made) == 1
    environment = StandInEnvironment(SimulatedEnvironmentConfig(), most_sessions=2)
    agent = agent_of(*MANY[:1], tools=[find_order])
    stage = staged("callback", agent, config())
    stage.ours.environment = environment
    turns_at_once(stage, 3)
    assert [len(environment.calls(f"s{number}")) for number in range(3)] == [0, 1, 1]
