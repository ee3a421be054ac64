"""Proves that mocks and injections together answer as in google-adk 2.13, call by call, for one scripted model.

Both get the same configuration, the same calls in one session, and a model that says the same. Left out, because ADK is
wrong there (test_adk_defects.py shows each): tools that are listed with neither a hit nor a mock, answers that are no JSON
object or do not fit what the tool declares, and arguments of which one is true and another 1.
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from google.adk.tools.environment_simulation.environment_simulation_engine import EnvironmentSimulationEngine
from google.adk.tools.function_tool import FunctionTool
from hypothesis import event, given
from hypothesis import strategies as st

from simulator.runtime.plugin import create_callback
from tests.simulator.runtime.plugin.adk_engine import ByHeart, busy, configured, scripted_by, seen_by
from tests.simulator.runtime.plugin.order_tools import create_order, find_order
from tests.simulator.runtime.stage import agent_of, call

TOOLS: dict[str, Any] = {
    "create_order": FunctionTool(create_order),
    "find_order": FunctionTool(find_order),
}
NAMES = ("A-1", "B-2", "C-3")
ARGUMENT = {"create_order": "item", "find_order": "order_id"}

Call = tuple[str, str]


@st.composite
def sessions(draw: st.DrawFn) -> tuple[dict[str, Any], list[Call]]:
    """Return a configuration in which each tool is mocked, most with injections before, and calls."""
    tools = []
    for name, argument in ARGUMENT.items():
        injections = draw(
            st.lists(
                st.builds(
                    lambda chance, seed, wanted, code, argument=argument: busy(
                        injection_probability=chance,
                        random_seed=seed,
                        match_args={argument: wanted} if wanted else None,
                        injected_error={"injected_http_error_code": code, "error_message": "busy"},
                    ),
                    st.sampled_from([0.0, 0.3, 0.7, 1.0]),
                    st.integers(0, 99),
                    st.sampled_from([None, *NAMES]),
                    st.sampled_from([404, 500, 503]),
                ),
                max_size=3,
            )
        )
        tools.append({"tool_name": name, "mock_strategy_type": 1, "injection_configs": injections})
    calls = draw(
        st.lists(st.tuples(st.sampled_from([*ARGUMENT]), st.sampled_from(NAMES)), min_size=3, max_size=20)
    )
    return {"tools": tools, "environment_data": draw(st.sampled_from([None, "A small shop."]))}, calls


def numbered() -> Any:
    """Return what a model says: another answer to each call."""
    count = iter(range(1_000))
    return lambda _: {"answer": next(count)}


def by_adk(config: Any, calls: list[Call]) -> list[Any]:
    """Put the calls through ADK's engine."""
    scripted_by(numbered())
    engine = EnvironmentSimulationEngine(config)
    context = SimpleNamespace(_invocation_context=SimpleNamespace(agent=None))

    async def run() -> list[Any]:
        return [await engine.simulate(TOOLS[name], {ARGUMENT[name]: value}, context) for name, value in calls]

    return asyncio.run(run())


def by_us(config: Any, calls: list[Call]) -> list[Any]:
    """Put the calls through our callback, by hand as it is done with ADK's."""
    scripted_by(numbered())
    callback: Any = create_callback(config)

    async def run() -> list[Any]:
        return [await callback(TOOLS[name], {ARGUMENT[name]: value}, None) for name, value in calls]

    return asyncio.run(run())


@given(sessions())
def test_mocks_and_injections_answer_as_in_adk(session: tuple[dict[str, Any], list[Call]]) -> None:
    """The same answers, injected or the model's, in the same order."""
    written, calls = session
    config = configured(*written["tools"], environment_data=written["environment_data"])
    expected = by_adk(config, calls)
    assert by_us(config, calls) == expected
    event(f"{sum('answer' in each for each in expected) * 4 // len(calls)} quarters or more by the model")


def test_a_whole_run_is_answered_as_in_adk() -> None:
    """Under ADK's runner, with an analysis, made and found orders: the agent sees the same.

    What does not exist is not found in both: in ADK as the model says, in ours by rule and in our words.
    """
    turns = [
        [call("create_order", item="lamp")],
        [call("find_order", order_id="A-1"), call("find_order", order_id="NO-9")],
    ]
    said = {
        "create_order": {"order_id": "A-1", "item": "lamp", "status": "new"},
        "A-1": {"order_id": "A-1", "item": "lamp", "status": "new"},
        "NO-9": {"error_code": 404, "error_message": "There is no order NO-9."},
    }

    def answer(prompt: str) -> Any:
        asked = prompt.rpartition("simulating the following tool call")[2] or prompt
        return said["NO-9" if "NO-9" in asked else "A-1" if '"order_id": "A-1"' in asked else "create_order"]

    seen: dict[str, list[Any]] = {}
    for whose in ("adk", "ours"):
        scripted_by(answer)
        config = configured({"tool_name": "create_order"}, {"tool_name": "find_order"})
        seen[whose] = seen_by(whose, agent_of(*turns, tools=[create_order, find_order]), config)
    *ours, ours_missing = seen["ours"]
    *adk, adk_missing = seen["adk"]
    assert ours == adk == [said["create_order"], said["A-1"]]
    assert ours_missing["error_code"] == adk_missing["error_code"] == 404
    assert "NO-9" in ours_missing["error_message"]


def test_tracing_in_words_is_told_too() -> None:
    """What is no recording is told to the model as it is."""
    scripted_by(lambda _: {"status": "open"})
    config = configured({"tool_name": "find_order"}, tracing="Last week every order was late.")
    seen_by("ours", agent_of([call("find_order", order_id="A-1")], tools=[find_order]), config)
    assert "Last week every order was late." in ByHeart.prompts[-1]
