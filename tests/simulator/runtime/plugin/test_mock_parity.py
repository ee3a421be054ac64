"""Proves that ADK's own configuration behaves here as in google-adk 2.13: mocks and injections together, call by call, and more.

Both get the same configuration, the same calls in one session, and one scripted model that says the same. Left out, because ADK is
wrong there (test_adk_defects.py shows some): tools that are listed with neither a hit nor a mock, answers that are no JSON
object or do not fit what the tool declares, and arguments of which one is true and another 1.
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from google.adk.tools.environment_simulation.environment_simulation_engine import EnvironmentSimulationEngine
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from hypothesis import event, given
from hypothesis import strategies as st

from simulator.runtime.plugin import create_callback
from tests.simulator.runtime.plugin.adk_engine import ByHeart, busy, configured, scripted_by, seen_by
from tests.simulator.runtime.plugin.order_tools import create_order, find_order, really_ran
from tests.simulator.runtime.plugin.standing import FIND, Form, played, responses, staged
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


def answers(simulate: Any, calls: list[Call], context: Any = None) -> list[Any]:
    """Put the calls through ADK's engine, or through our callback by hand, as it is done with ADK's."""
    scripted_by(numbered())

    async def run() -> list[Any]:
        return [await simulate(TOOLS[name], {ARGUMENT[name]: value}, context) for name, value in calls]

    return asyncio.run(run())


@given(sessions())
def test_mocks_and_injections_answer_as_in_adk(session: tuple[dict[str, Any], list[Call]]) -> None:
    """The same answers, injected or the model's, in the same order."""
    written, calls = session
    config = configured(*written["tools"], environment_data=written["environment_data"])
    no_agent = SimpleNamespace(_invocation_context=SimpleNamespace(agent=None))
    expected = answers(EnvironmentSimulationEngine(config).simulate, calls, no_agent)
    assert answers(create_callback(config), calls) == expected
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
    seen_by("ours", agent_of(FIND, tools=[find_order]), config)
    assert "Last week every order was late." in ByHeart.prompts[-1]


HIT = {"injected": True}
REAL = {"order_id": "A-1", "status": "really open", "total": 1.0}


def hit(**more: Any) -> Any:
    """Return a configuration of `find_order` with an injection of a fixed response."""
    injection = {"injected_response": HIT, **more}
    return configured({"tool_name": "find_order", "injection_configs": [injection]})


def test_latency_holds_up_no_other_task() -> None:
    """It is awaited: what runs beside it goes on, and may cancel it."""
    callback: Any = create_callback(hit(injected_latency_seconds=120))

    async def beside() -> bool:
        answer: asyncio.Future[Any] = asyncio.ensure_future(
            callback(TOOLS["find_order"], {"order_id": "A-1"}, None)
        )
        for _ in range(100):
            await asyncio.sleep(0)
        return answer.cancel()

    assert asyncio.run(beside())


def test_chance_without_a_seed_is_fresh_in_every_session(form: Form) -> None:
    """Two sessions of one environment draw other patterns of 64 calls at once."""
    stage = staged(form, agent_of(FIND * 64, tools=[find_order]), hit(injection_probability=0.5))
    one, two = (responses(asyncio.run(stage.turn(session))) for session in ("one", "two"))
    assert len(one) == len(two) == 64
    assert {HIT["injected"], None} == {each.get("injected") for each in one}
    assert one != two
    assert really_ran() == [("find_order", "A-1")] * (one + two).count(REAL)


def test_adks_thinking_configuration_is_sent(form: Form) -> None:
    """The model gets what ADK's class has by default; an empty configuration, which somebody set, stays empty."""
    mocked = {"tool_name": "find_order"}
    given = configured(mocked)
    empty = configured(mocked, simulation_model_configuration=types.GenerateContentConfig())
    for config, wanted in ((given, given.simulation_model_configuration.thinking_config), (empty, None)):
        scripted_by(lambda _: {"mocked": True})
        seen, _ = played(form, agent_of(FIND, tools=[find_order]), config)
        assert seen == [{"mocked": True}]
        assert [asked.config.thinking_config for asked in ByHeart.requests] == [wanted]
