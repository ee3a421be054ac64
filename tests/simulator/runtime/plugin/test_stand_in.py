"""Proves the environment without the page: who answers, what rules and a model do, and what of ADK goes on around a call."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from pydantic import BaseModel

from simulator.environment.plugin_config import SimulatedEnvironmentConfig
from simulator.environment.world.invariants import InvariantError
from simulator.environment.world.tool_settings import EnvironmentSettings
from simulator.runtime.knowledge.knowledge import Knowledge
from simulator.runtime.plugin import create_callback
from simulator.runtime.plugin.session_play import SessionPlay
from tests.simulator.runtime.plugin.adk_engine import OUR_CONNECTIONS, is_analysis
from tests.simulator.runtime.plugin.order_tools import breaks, create_order, find_order, really_ran
from tests.simulator.runtime.plugin.standing import (
    BUSY,
    FIND,
    Form,
    Oracle,
    config,
    in_threads,
    played,
    responses,
    rule,
    staged,
)
from tests.simulator.runtime.stage import PATIENCE, agent_of, call


class Weather(BaseModel):
    """The weather of a city."""

    city: str
    temperature: float


DOWN = rule("down", "breaks", {"kind": "raise", "error_type": "ConnectionError", "message": "no line"})

# ---------------------------------------------------------------- who answers


def test_a_rule_answers_and_the_log_says_so(form: Form) -> None:
    """The agent sees the rule's error, nothing real runs, and the log names the rule and what was asked."""
    (seen,), stage = played(form, agent_of(FIND, tools=[find_order]), config(rule("busy")))
    assert seen == BUSY
    (logged,) = stage.ours.calls("s")
    assert (logged.tool_name, logged.arguments, logged.response) == ("find_order", {"order_id": "A-1"}, BUSY)
    assert (logged.agent, logged.provenance.source, logged.provenance.by) == ("clerk", "injected", "busy")
    assert logged.provenance.fired == ("busy",)


def test_what_no_rule_hits_and_what_is_not_listed_is_refused_with_the_way_to_allow_it(form: Form) -> None:
    """Where no rule fires and nobody is set, and where nothing names the tool: nothing is generated; the error names what to set."""
    only_b = rule("only B-2", match_args={"order_id": "B-2"})
    agent = agent_of([*FIND, call("create_order", item="lamp")], tools=[find_order, create_order])
    (listed, unlisted), stage = played(form, agent, SimulatedEnvironmentConfig(rules=(only_b,)))
    assert listed["error_code"] == unlisted["error_code"] == "refused"
    assert '{"find_order": "offline"}' in listed["error_message"]
    assert "create_order" in unlisted["error_message"]
    assert "unlisted" in unlisted["error_message"]
    missed, unnamed = stage.ours.calls()
    assert missed.provenance.source == unnamed.provenance.source == "refused"
    assert "B-2" in missed.provenance.misses[0].reason


@pytest.mark.parametrize("where", ["argument", "field"])
def test_an_unlisted_tool_runs_for_real_only_where_that_is_said(form: Form, where: str) -> None:
    """`unlisted="real"`, as an argument or in the configuration, lets other tools run; listed ones still do not."""
    agent = agent_of([*FIND, call("create_order", item="lamp")], tools=[find_order, create_order])
    said: dict[str, Any] = {"unlisted": "real"}
    given = config(rule("busy"), **(said if where == "field" else {}))
    seen, stage = played(form, agent, given, **(said if where == "argument" else {}))
    assert seen == [BUSY, {"order_id": "REAL-1", "item": "lamp", "status": "really new"}]
    assert really_ran() == [("create_order", "lamp")]
    assert [each.provenance.source for each in stage.ours.calls()] == ["injected", "real"]


def test_a_function_without_a_body_is_answered_and_never_run(form: Form) -> None:
    """A signature and a docstring are enough: nothing is there that could run, whatever is said of unlisted tools."""

    def weather(city: str) -> Weather:  # type: ignore[empty-body] # that is the point
        """Get the weather of a city."""
        ...  # noqa: PIE790 - this is what such functions look like

    async def forecast(city: str) -> dict[str, Any]:  # type: ignore[empty-body] # that is the point
        """Get the weather of tomorrow."""

    turn = [call("weather", city="Rome"), call("forecast", city="Oslo")]
    agent = agent_of(turn, tools=[weather, forecast])
    (now, then), stage = played(form, agent, config(unlisted="real"))
    assert now["city"] == "Rome"
    assert isinstance(now["temperature"], (int, float))
    assert isinstance(then, dict)
    assert then != {"result": None}
    assert [each.provenance.source for each in stage.ours.calls()] == ["generated"] * 2


def test_a_tool_that_is_made_up_is_answered_only_where_it_is_listed(form: Form) -> None:
    """For a name that the agent does not have, a listed tool answers as in ADK; any other is ADK's to refuse."""
    agent = agent_of([*FIND, call("made_up")], tools=[create_order])
    (found, unknown), _ = played(form, agent, config(rule("busy")))
    assert found == BUSY
    assert "made_up" in str(unknown)


# ---------------------------------------------------------------- what ADK does around a call


def test_an_exception_reaches_the_error_callbacks_of_agent_and_plugins(form: Form) -> None:
    """What a rule raises is what a tool raises: the agent's and a plugin's `on_tool_error` see it, and may answer."""
    heard: list[Any] = []

    class Hears(BasePlugin):
        async def on_tool_error_callback(self, *, error: Exception, **_: Any) -> None:
            heard.append(("plugin", type(error), str(error)))

    def on_error(tool: Any, args: Any, tool_context: Any, error: Exception) -> dict[str, str]:
        heard.append(("agent", type(error), str(error)))
        return {"caught": str(error)}

    agent = agent_of([call("breaks")], tools=[breaks], on_tool_error_callback=on_error)
    seen, stage = played(form, agent, config(DOWN), plugins=[Hears("hears")])
    assert seen == [{"caught": "no line"}]
    assert heard == [("plugin", ConnectionError, "no line"), ("agent", ConnectionError, "no line")]
    assert stage.ours.calls()[0].outcome.kind == "raised"


@pytest.mark.parametrize(
    ("given", "words", "ran"),
    [(config(DOWN), "no line", []), (config(unlisted="real"), "the line is dead", [("breaks", None)])],
)
def test_an_exception_that_nobody_catches_ends_the_turn(form: Form, given: Any, words: str, ran: Any) -> None:
    """A rule's, and the own one of a real tool that was let through, come out of the runner."""
    with pytest.raises(ConnectionError, match=words):
        played(form, agent_of([call("breaks")], tools=[breaks]), given)
    assert really_ran() == ran


def test_the_agents_own_callbacks_run_before_and_after(form: Form) -> None:
    """The agent's `before_tool` may change the arguments, or answer what never comes to the environment; its `after_tool` may change the answer."""
    seen: list[Any] = []

    def before(tool: Any, args: dict[str, Any], tool_context: Any) -> dict[str, Any] | None:
        seen.append(("before", dict(args)))
        args["order_id"] = args["order_id"].replace("A-1", "B-2")
        return {"mine": True} if args["order_id"] == "C-3" else None

    def after(tool: Any, args: Any, tool_context: Any, tool_response: Any) -> dict[str, Any]:
        seen.append(("after", tool_response))
        return {**tool_response, "looked": True}

    turns = FIND, [call("find_order", order_id="C-3")]
    agent = agent_of(*turns, tools=[find_order], before_tool_callback=before, after_tool_callback=after)
    found, stage = played(form, agent, config(rule("busy")))
    assert seen[:3] == [("before", {"order_id": "A-1"}), ("after", BUSY), ("before", {"order_id": "C-3"})]
    assert found == [{**BUSY, "looked": True}, {"mine": True, "looked": True}]
    assert [each.arguments for each in stage.ours.calls()] == [{"order_id": "B-2"}]


def confirming(events: list[Any], *, yes: bool) -> types.Part:
    """Return the person's reply to the one question to confirm among some events."""
    calls = [call for event in events for call in event.get_function_calls()]
    (asked,) = [call for call in calls if "confirmation" in str(call.name)]
    said = types.FunctionResponse(id=asked.id, name=asked.name, response={"confirmed": yes})
    return types.Part(function_response=said)


@pytest.mark.parametrize("yes", [True, False])
def test_the_confirmation_gate_holds_and_only_the_approved_call_counts(form: Form, yes: bool) -> None:
    """An unapproved call is ADK's to refuse and moves no counter; once approved, the environment answers; rejected, ADK does."""
    first = rule("first", when={"kind": "call_number", "which": "first", "n": 1})
    tool = FunctionTool(find_order, require_confirmation=True)
    stage = staged(form, agent_of(FIND, tools=[tool]), config(first))

    async def session() -> tuple[list[Any], list[Any]]:
        events = await stage.turn()
        return responses(events), responses(await stage.turn(query=[confirming(events, yes=yes)]))

    before, after = asyncio.run(session())
    assert "requires confirmation" in str(before)
    assert after == [BUSY] if yes else "rejected" in str(after)
    assert len(stage.ours.calls("s")) == int(yes)


# ---------------------------------------------------------------- what rules do here


def test_rules_act_here_as_on_the_page(form: Form) -> None:
    """Sequences and templates follow the session, a distortion changes a real answer.

    A broken template or a question to a person leaves the call to the player; the log says what happened.
    """
    values = [{"order": "{{ args.order_id }}", "n": "{{ call_number }}"}, {"of": "{{ state.who }}"}]
    broken = {"kind": "response", "value": {"x": "{{ args.nothing.at_all }}"}, "templated": True}
    rules = [
        rule("told", effect={"kind": "sequence", "values": values, "templated": True, "then": "pass"}),
        rule("broken", effect=broken, match_args={"order_id": "B-2"}),
        rule("asks", effect={"kind": "ask"}, match_args={"order_id": "C-3"}),
        rule("empty", "create_order", {"kind": "distort", "distortions": [{"kind": "drop"}]}),
    ]

    def sign(callback_context: Any) -> None:
        callback_context.state["who"] = "Ada"

    calls = [call("find_order", order_id=order_id) for order_id in ("A-1", "A-1", "B-2", "C-3")]
    turns = [[each] for each in (*calls, call("create_order", item="lamp"))]
    agent = agent_of(*turns, tools=[find_order, create_order], before_agent_callback=sign)
    seen, stage = played(form, agent, config(*rules, players={"create_order": "real"}))
    assert seen[:2] == [{"order": "A-1", "n": 1}, {"of": "Ada"}]
    assert [each["order_id"] for each in seen[2:4]] == ["B-2", "C-3"]
    assert really_ran() == [("create_order", "lamp")]
    real = {"order_id": "REAL-1", "item": "lamp", "status": "really new"}
    assert stage.ours.calls()[-1].really == real != seen[-1]
    by = [each.provenance for each in stage.ours.calls()]
    assert [each.source for each in by] == ["injected"] * 2 + ["generated"] * 2 + ["real"]
    assert "told" in {miss.rule_id for miss in by[2].misses}
    assert ("broken" in by[2].notes[0], "asks" in by[3].notes[0]) == (True, True)


# ---------------------------------------------------------------- what goes wrong inside


def test_what_is_wrong_in_here_does_not_end_the_agents_run(
    form: Form, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Rules that cannot be asked, and answers that nothing can be learnt from, leave the agent an answer and a log.

    Where the real tool was to answer, that is an error, and nothing is made up.
    """

    def broken(*_: object, **__: object) -> None:
        raise InvariantError("a line that was never checked")

    # Nothing that is known raises here: this stands for what is not known yet.
    monkeypatch.setattr(SessionPlay, "judge", broken)
    monkeypatch.setattr(Knowledge, "take", broken)
    agent = agent_of(FIND, tools=[find_order])
    (refused,), _ = played(form, agent.clone(), config(rule("x"), players={"find_order": "real"}))
    assert refused["error_code"] == "simulation_failed"
    caplog.clear()
    (seen,), stage = played(form, agent, config(players={"find_order": "offline"}))
    assert seen["order_id"] == "A-1"
    (logged,) = stage.ours.calls()
    assert "a line that was never checked" in logged.provenance.notes[0]
    failed = [record for record in caplog.records if record.levelno == logging.ERROR and record.exc_info]
    assert ["find_order" in record.getMessage() for record in failed] == [True, True]


def test_players_of_tools_that_there_are_not_are_told_once(
    form: Form, caplog: pytest.LogCaptureFixture
) -> None:
    """A misspelt name is logged at the first call, and not again; a tool that is there is not named."""
    given = config(players={"find_order": "offline", "find_ordr": "real"})
    seen, _ = played(form, agent_of(FIND, FIND, tools=[find_order]), given)
    assert len(seen) == 2
    told = [record.message for record in caplog.records if record.message.startswith("players: ")]
    assert ["'find_ordr'" in message for message in told] == [True]


FINDS: Any = FunctionTool(find_order)
CREATES: Any = FunctionTool(create_order)
BY_MODEL = {"find_order": "model", "create_order": "model"}


def oracle(answer: Callable[[str], Any] = lambda _: {"status": "said"}) -> Oracle:
    """Make a model that knows nothing of connections, and answers calls so."""
    return Oracle(say=lambda prompt: OUR_CONNECTIONS if is_analysis(prompt) else answer(prompt))


def test_the_model_answers_and_the_log_says_what_it_cost(form: Form) -> None:
    """A tool that the model plays is answered by it; the log names it."""
    model = oracle()
    agent = agent_of(FIND, tools=[find_order, create_order])
    seen, stage = played(form, agent, config(players=BY_MODEL), model=model)
    assert seen == [{"status": "said"}]
    (logged,) = stage.ours.calls()
    assert (logged.provenance.source, logged.provenance.by) == ("generated", "oracle")
    assert [is_analysis(prompt) for prompt in model.prompts] == [True, False]


def test_one_look_at_the_connections_serves_all_sessions_and_threads() -> None:
    """Eight threads, each with an event loop of its own, begin at once: one analysis, eight answers."""
    model = oracle()
    callback: Any = create_callback(config(players=BY_MODEL), model=model)
    callback.environment.note_tools(None, {"find_order": FINDS, "create_order": CREATES})
    work = [lambda: asyncio.run(callback(FINDS, {"order_id": "A-1"}, None))] * 8
    assert in_threads(work) == [{"status": "said"}] * 8
    assert sum(map(is_analysis, model.prompts)) == 1


def test_who_waits_for_the_analysis_goes_on_when_the_first_one_is_cancelled() -> None:
    """The call that asked is stopped: another one asks, and answers."""
    begun = asyncio.Event()

    class Slow(Oracle):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            is_first = not self.prompts
            async for response in super().generate_content_async(llm_request, stream):
                if is_first:
                    begun.set()
                    await asyncio.Event().wait()
                yield response

    model = Slow(say=lambda prompt: OUR_CONNECTIONS if is_analysis(prompt) else {"status": "said"})
    callback: Any = create_callback(config(players=BY_MODEL), model=model)
    callback.environment.note_tools(None, {"find_order": FINDS, "create_order": CREATES})

    async def run() -> Any:
        first = asyncio.ensure_future(callback(FINDS, {"order_id": "A-1"}, None))
        await begun.wait()
        second = asyncio.ensure_future(callback(FINDS, {"order_id": "A-2"}, None))
        await asyncio.sleep(0)
        first.cancel()
        return await asyncio.wait_for(second, PATIENCE), first

    answer, first = asyncio.run(run())
    assert answer == {"status": "said"}
    assert first.cancelled()
    assert [each.arguments for each in callback.calls()] == [{"order_id": "A-2"}]
    assert sum(map(is_analysis, model.prompts)) == 2


def test_an_analysis_that_fails_is_asked_for_again_by_the_next_session_only() -> None:
    """The connections that were found offline stand meanwhile, and the answers are the model's."""
    model = Oracle(say=lambda prompt: "no JSON" if is_analysis(prompt) else {"status": "said"})
    turns = [FIND, [call("find_order", order_id="A-2")]]
    agent = agent_of(*turns, tools=[find_order, create_order])
    seen, stage = played("plugin", agent, config(players=BY_MODEL), model=model)
    first = sum(map(is_analysis, model.prompts))
    assert seen == [{"status": "said"}] * 2
    asyncio.run(stage.turn("another"))
    assert sum(map(is_analysis, model.prompts)) == 2 * first


@pytest.mark.parametrize(
    ("says", "wrong", "asked_twice"),
    [
        ({"product_id": "P-1", "name": "Mug", "stock": -5}, "stock", False),
        ("no JSON at all", "second response", True),
    ],
)
def test_an_answer_of_no_use_is_not_taken_and_has_its_cost_too(
    form: Form, says: Any, wrong: str, asked_twice: bool
) -> None:
    """Whether it contradicts the world or is no JSON: the offline draft stands, and the log says what was wrong, and what it cost."""
    data = json.dumps({"products": [{"product_id": "P-1", "name": "Mug", "stock": 12}]})

    def find_product(product_id: str) -> dict[str, Any]:
        """Find a product."""
        raise AssertionError("the real tool ran")

    agent = agent_of([call("find_product", product_id="P-1")], tools=[find_product])
    settings = EnvironmentSettings(invariants=("stock >= 0",))
    given = config(players={"find_product": "model"}, environment_data=data, settings=settings)
    (seen,), stage = played(form, agent, given, model=oracle(lambda _: says))
    assert seen["stock"] == 12
    (logged,) = stage.ours.calls()
    assert logged.provenance.by == "offline"
    reason, cost, *_ = logged.provenance.notes
    assert wrong in reason
    assert re.match(r"oracle, \d+\.\d s", cost)
    assert ("asked 2 times" in cost) is asked_twice
    assert logged.contradicts == ()


def test_a_recorded_answer_comes_before_the_model(form: Form) -> None:
    """`auto` takes the recorded answer to the same call, in its order, and asks the model for any other."""
    uses = [
        {"name": "find_order", "args": {"order_id": "A-1"}, "response": {"status": status}}
        for status in ("one", "two")
    ]
    trace = json.dumps([{"intermediate_data": {"tool_uses": uses}}])
    turns = [[call("find_order", order_id=order_id)] for order_id in ("A-1", "A-1", "B-2")]
    agent = agent_of(*turns, tools=[find_order])
    given = config(players={"find_order": "auto"}, tracing=trace)
    seen, stage = played(form, agent, given, model=oracle())
    assert seen == [{"status": "one"}, {"status": "two"}, {"status": "said"}]
    assert [each.provenance.source for each in stage.ours.calls()] == ["recorded", "recorded", "generated"]


@pytest.mark.parametrize("model", ["gemini-x-without-a-key", "nobody-has-this-model"])
def test_a_model_that_cannot_be_asked_leaves_the_draft_at_once(
    model: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No key or no such model: the offline draft answers, the log and a warning say why, and nothing real runs."""
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    given = SimulatedEnvironmentConfig(
        players={"find_order": "model"}, settings=EnvironmentSettings(simulation_model=model)
    )
    agent = agent_of(FIND, tools=[find_order])
    (seen,), stage = played("callback", agent, given)
    assert seen["order_id"] == "A-1"
    assert model in stage.ours.calls()[0].provenance.notes[0]
    (warning,) = (each.getMessage() for each in caplog.records if "find_order" in each.getMessage())
    assert model in warning
