"""Guards what the guide "Environment simulation for evaluations" says: its examples, given to our callback and plugin.

The examples stand as in the guide; only the module is another one, from which all names are imported.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Callable
from typing import Any, cast

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools.environment_simulation import environment_simulation_config as adks
from google.adk.tools.function_tool import FunctionTool
from pydantic import ValidationError
from typing_extensions import TypedDict

import simulator
from simulator import (
    EnvironmentSimulationConfig,
    EnvironmentSimulationFactory,
    EnvironmentSimulationPlugin,
    InjectedError,
    InjectionConfig,
    MockStrategy,
    ToolSimulationConfig,
    create_callback,
    create_plugin,
)
from simulator.base.documents import write_json, write_yaml
from simulator.base.json_values import JsonObject
from simulator.environment.injection.adk_injection_config import EnvironmentConfigError
from simulator.runtime.plugin import read_environment_config
from tests.simulator.base.rows import for_each
from tests.simulator.runtime.plugin.standing import Form, Oracle, Stage, both, responses
from tests.simulator.runtime.stage import agent_of, call

REALLY_RAN: list[str] = []
NO_CONNECTIONS: dict[str, Any] = {"uses": [], "produces": [], "roles": []}


def really(name: str) -> Any:
    """Make a tool that says that it ran."""

    def tool(user_id: str = "", item_id: str = "", recipient_id: str = "", query: str = "") -> dict[str, Any]:
        """Do it for real."""
        REALLY_RAN.append(name)
        return {"real": name, "of": user_id or item_id or recipient_id or query}

    tool.__name__ = name
    return tool


def seen_by_agent(
    form: Form, config: Any, *calls: Any, tools: tuple[str, ...] = (), **more: Any
) -> list[Any]:
    """Let an agent make these calls, in one turn each; return what it saw."""
    REALLY_RAN.clear()
    names = tools or tuple(dict.fromkeys(part.function_call.name for part in calls))
    agent = agent_of(*([part] for part in calls), tools=[really(name) for name in names])
    plugins: list[BasePlugin] = []
    if form == "callback":
        agent.before_tool_callback = create_callback(config, **more)
    else:
        plugins.append(create_plugin(config, **more))
    app = App(name="stage", root_agent=agent, plugins=plugins)
    stage = Stage(
        InMemoryRunner(app=app), create_plugin({})
    )  # the plugin is not used: the stage asks for one
    return responses(asyncio.run(stage.turn()))


def only(tool: ToolSimulationConfig, **more: Any) -> EnvironmentSimulationConfig:
    """Return a configuration of one tool."""
    return EnvironmentSimulationConfig(tool_simulation_configs=[tool], **more)


def injected(tool_name: str, *injections: InjectionConfig, **more: Any) -> EnvironmentSimulationConfig:
    """Return a configuration with these injections for a tool."""
    return only(ToolSimulationConfig(tool_name=tool_name, injection_configs=list(injections), **more))


def error(code: int, message: str) -> InjectedError:
    """Return an error."""
    return InjectedError(injected_http_error_code=code, error_message=message)


def mocked(*names: str, **more: Any) -> EnvironmentSimulationConfig:
    """Return a configuration in which these tools are mocked."""
    tools = [
        ToolSimulationConfig(tool_name=name, mock_strategy_type=MockStrategy.MOCK_STRATEGY_TOOL_SPEC)
        for name in names
    ]
    return EnvironmentSimulationConfig(tool_simulation_configs=tools, **more)


def oracle(answer: Callable[[str], Any]) -> Oracle:
    """Make a model that sees no connections between tools, and answers calls so."""
    return Oracle(say=lambda prompt: NO_CONNECTIONS if '"produces"' in prompt else answer(prompt))


# ---------------------------------------------------------------- integration


def test_using_as_a_callback() -> None:
    """A callback for one agent: the tool's error reaches the agent, the tool is not run."""
    REALLY_RAN.clear()
    config = EnvironmentSimulationConfig(
        tool_simulation_configs=[
            ToolSimulationConfig(
                tool_name="get_user_profile",
                injection_configs=[
                    InjectionConfig(
                        injected_error=InjectedError(
                            injected_http_error_code=503,
                            error_message="Service temporarily unavailable.",
                        )
                    )
                ],
            )
        ]
    )
    script = agent_of([call("get_user_profile", user_id="u-1")])
    agent = LlmAgent(
        name="my_agent",
        model=script.model,
        tools=[really("get_user_profile")],
        before_tool_callback=create_callback(config),
    )
    stage = Stage(InMemoryRunner(app=App(name="stage", root_agent=agent)), create_plugin({}))
    seen = responses(asyncio.run(stage.turn()))
    assert seen == [{"error_code": 503, "error_message": "Service temporarily unavailable."}]
    assert REALLY_RAN == []


def test_using_as_a_plugin() -> None:
    """A plugin for an app: the mock answers in the tool's place."""
    REALLY_RAN.clear()
    config = EnvironmentSimulationConfig(
        tool_simulation_configs=[
            ToolSimulationConfig(
                tool_name="search_products",
                mock_strategy_type=MockStrategy.MOCK_STRATEGY_TOOL_SPEC,
            )
        ]
    )
    my_agent = agent_of([call("search_products", query="lamp")], tools=[really("search_products")])
    model = oracle(lambda _: {"products": ["lamp"]})
    app = App(name="stage", root_agent=my_agent, plugins=[create_plugin(config, model=model)])
    stage = Stage(InMemoryRunner(app=app), create_plugin({}))
    assert responses(asyncio.run(stage.turn())) == [{"products": ["lamp"]}]
    assert REALLY_RAN == []


@both
def test_a_tool_that_is_not_in_the_config_runs_for_real(form: Form, caplog: pytest.LogCaptureFixture) -> None:
    """No-op lets the real tool execute, as the guide says; one log line names it."""
    config = injected("charge_payment", InjectionConfig(injected_error=error(402, "Payment declined.")))
    calls = [call("get_user_profile", user_id=name) for name in ("u-1", "u-2")]
    with caplog.at_level(logging.WARNING):
        seen = seen_by_agent(form, config, *calls)
    assert seen == [{"real": "get_user_profile", "of": "u-1"}, {"real": "get_user_profile", "of": "u-2"}]
    assert sum("get_user_profile" in record.getMessage() for record in caplog.records) == 1


@both
def test_a_listed_tool_whose_injections_do_not_fire_runs_for_real(
    form: Form, caplog: pytest.LogCaptureFixture
) -> None:
    """Where no injection applies and no mock strategy is set, the real tool answers; one log line names it."""
    config = injected(
        "get_item",
        InjectionConfig(match_args={"item_id": "ITEM-404"}, injected_error=error(404, "Item not found.")),
    )
    calls = [call("get_item", item_id=name) for name in ("ITEM-1", "ITEM-404", "ITEM-2")]
    with caplog.at_level(logging.WARNING):
        first, missing, last = seen_by_agent(form, config, *calls)
    assert (first, last) == ({"real": "get_item", "of": "ITEM-1"}, {"real": "get_item", "of": "ITEM-2"})
    assert missing == {"error_code": 404, "error_message": "Item not found."}
    assert REALLY_RAN == ["get_item", "get_item"]
    assert sum("get_item" in record.getMessage() for record in caplog.records) == 1


# ---------------------------------------------------------------- configuration reference


BAD: dict[str, dict[str, Any]] = {
    "no tools": {"tool_simulation_configs": []},
    "two entries for a tool": {
        "tool_simulation_configs": [{"tool_name": "a", "mock_strategy_type": 1}] * 2,
    },
    "neither an injection nor a mock": {"tool_simulation_configs": [{"tool_name": "a"}]},
    "neither an error nor a response": {
        "tool_simulation_configs": [{"tool_name": "a", "injection_configs": [{"injection_probability": 1.0}]}]
    },
    "an error and a response": {
        "tool_simulation_configs": [
            {
                "tool_name": "a",
                "injection_configs": [
                    {
                        "injected_error": {"injected_http_error_code": 500, "error_message": "x"},
                        "injected_response": {"a": 1},
                    }
                ],
            }
        ]
    },
    "more than 120 seconds": {
        "tool_simulation_configs": [
            {
                "tool_name": "a",
                "injection_configs": [{"injected_response": {"a": 1}, "injected_latency_seconds": 121}],
            }
        ]
    },
}


@for_each("what", BAD)
def test_what_adk_refuses_is_refused_in_every_form(what: str) -> None:
    """As a mapping, as JSON and as YAML: the reference's constraints hold."""
    document = BAD[what]
    with pytest.raises(ValidationError):
        EnvironmentSimulationConfig.model_validate(document)
    for form in (document, write_json(document), write_yaml(document)):
        with pytest.raises(EnvironmentConfigError):
            create_callback(form)


def test_the_default_model_is_adks() -> None:
    """A configuration that names no model asks the one that ADK asks."""
    read = read_environment_config({"tool_simulation_configs": [{"tool_name": "a", "mock_strategy_type": 1}]})
    assert (
        read.settings.simulation_model == EnvironmentSimulationConfig.model_fields["simulation_model"].default
    )


@for_each("form", ["object", "mapping", "json", "yaml"])
def test_thinking_is_enabled_by_default(form: str) -> None:
    """`simulation_model_configuration` is ADK's default, with thinking enabled."""
    plain: JsonObject = {"tool_simulation_configs": [{"tool_name": "a", "mock_strategy_type": 1}]}
    adks = EnvironmentSimulationConfig.model_validate(plain)
    forms: dict[str, Any] = {
        "object": adks,
        "mapping": plain,
        "json": write_json(plain),
        "yaml": write_yaml(plain),
    }
    read = read_environment_config(forms[form])
    default = adks.simulation_model_configuration.model_dump(mode="json", exclude_none=True)
    assert default
    assert read.settings.simulation_model_configuration == default


# ---------------------------------------------------------------- injection mode


@both
def test_injecting_errors(form: Form) -> None:
    """The agent receives the code and the message instead of a real result."""
    config = only(
        ToolSimulationConfig(
            tool_name="charge_payment",
            injection_configs=[
                InjectionConfig(
                    injected_error=InjectedError(
                        injected_http_error_code=402,
                        error_message="Payment declined.",
                    )
                )
            ],
        )
    )
    seen = seen_by_agent(form, config, call("charge_payment"))
    assert seen == [{"error_code": 402, "error_message": "Payment declined."}]
    assert REALLY_RAN == []


@both
def test_injecting_fixed_responses(form: Form) -> None:
    """The payload as it is written."""
    injection = InjectionConfig(injected_response={"status": "ok", "order_id": "ORD-9999"})
    seen = seen_by_agent(form, injected("place_order", injection), call("place_order"))
    assert seen == [{"status": "ok", "order_id": "ORD-9999"}]
    assert REALLY_RAN == []


@both
def test_conditional_injection_with_argument_matching(form: Form) -> None:
    """The error is injected for that item only; all other calls pass on to the next injection config."""
    conditional = InjectionConfig(
        match_args={"item_id": "ITEM-404"},
        injected_error=InjectedError(
            injected_http_error_code=404,
            error_message="Item not found.",
        ),
    )
    config = injected("get_item", conditional, InjectionConfig(injected_response={"found": True}))
    calls = [call("get_item", item_id=name) for name in ("ITEM-404", "ITEM-1")]
    seen = seen_by_agent(form, config, *calls)
    assert seen == [{"error_code": 404, "error_message": "Item not found."}, {"found": True}]


def by_hand(config: Any, calls: int, name: str = "flaky", **more: Any) -> list[Any]:
    """Call a callback by hand, as many times; return its answers."""
    callback: Any = create_callback(config, **more)

    async def all_calls() -> list[Any]:
        return [await callback(FunctionTool(really(name)), {}, None) for _ in range(calls)]

    return asyncio.run(all_calls())


def test_probabilistic_injection_is_reproducible() -> None:
    """`random_seed` pins the random outcome: the draws of a generator with that seed, in every run."""
    flaky = InjectionConfig(
        injection_probability=0.3,
        random_seed=42,
        injected_error=InjectedError(
            injected_http_error_code=500,
            error_message="Internal server error.",
        ),
    )
    config = injected("flaky", flaky, InjectionConfig(injected_response={"ok": True}))
    draws = random.Random(42)  # noqa: S311 - chance of a test
    expected = [
        {"error_code": 500, "error_message": "Internal server error."}
        if draws.random() < 0.3
        else {"ok": True}
        for _ in range(50)
    ]
    assert by_hand(config, 50) == expected == by_hand(config, 50)


def test_without_a_seed_chance_is_fresh() -> None:
    """Only `random_seed` makes an injection deterministic; without it, each callback draws anew."""
    flaky = InjectionConfig(injection_probability=0.5, injected_error=error(500, "Internal server error."))
    config = injected("flaky", flaky, InjectionConfig(injected_response={"ok": True}))
    assert by_hand(config, 64) != by_hand(config, 64)


def test_without_a_seed_our_own_seed_makes_chance_repeat() -> None:
    """`seed` of `create_callback` is the way to a reproducible run where the configuration has none."""
    flaky = InjectionConfig(injection_probability=0.5, injected_error=error(500, "Internal server error."))
    config = injected("flaky", flaky, InjectionConfig(injected_response={"ok": True}))
    assert (
        by_hand(config, 64, seed="one") == by_hand(config, 64, seed="one") != by_hand(config, 64, seed="two")
    )


def test_injecting_latency() -> None:
    """The delay passes before the answer."""
    slow = InjectionConfig(
        injected_latency_seconds=5.0,
        injected_response={"result": "slow but successful"},
    )
    (rule,) = read_environment_config(injected("slow", slow)).rules
    assert rule.latency_seconds == 5.0
    short = slow.model_copy(update={"injected_latency_seconds": 0.05})
    callback: Any = create_callback(injected("slow", short))
    assert asyncio.run(callback(FunctionTool(really("slow")), {}, None)) == {"result": "slow but successful"}
    assert callback.calls()[0].seconds >= 0.04


def test_combining_multiple_injection_configs() -> None:
    """They are checked in order: the out-of-stock item always, the others one time in five, by seed."""
    config = only(
        ToolSimulationConfig(
            tool_name="get_inventory",
            injection_configs=[
                # Always fail for a specific out-of-stock item
                InjectionConfig(
                    match_args={"sku": "OOS-001"},
                    injected_response={"quantity": 0, "available": False},
                ),
                # Randomly fail 20% of the time for all other items
                InjectionConfig(
                    injection_probability=0.2,
                    random_seed=7,
                    injected_error=InjectedError(
                        injected_http_error_code=503,
                        error_message="Inventory service unavailable.",
                    ),
                ),
            ],
        )
    )
    callback: Any = create_callback(config)
    tool: Any = FunctionTool(really("get_inventory"))

    async def all_calls() -> list[Any]:
        return [
            await callback(tool, {"sku": "OOS-001" if number % 2 else f"SKU-{number}"}, None)
            for number in range(60)
        ]

    seen = asyncio.run(all_calls())
    assert seen[1::2] == [{"quantity": 0, "available": False}] * 30
    draws = random.Random(7)  # noqa: S311 - chance of a test
    unavailable = {"error_code": 503, "error_message": "Inventory service unavailable."}
    fails = [draws.random() < 0.2 for _ in range(30)]
    assert [answer == unavailable for answer in seen[::2]] == fails
    assert any(fails)


# ---------------------------------------------------------------- mock strategy mode

ORDERS = mocked("create_order", "get_order", "cancel_order")


class Cancelled(TypedDict):
    """What a cancellation says."""

    order_id: str
    status: str


class Order(Cancelled):
    """An order."""

    item: str


def create_order(item: str) -> Order:
    """Create an order.

    Returns:
        A dict with order_id, item and status.
    """
    raise AssertionError(item)


def get_order(order_id: str) -> Order:
    """Get an order.

    Returns:
        A dict with order_id, item and status.
    """
    raise AssertionError(order_id)


def cancel_order(order_id: str) -> Cancelled:
    """Cancel an order.

    Returns:
        A dict with order_id and status.
    """
    raise AssertionError(order_id)


def test_mocked_tools_hang_together() -> None:
    """An order that was created is found and cancelled; one that was never created is a not-found error. No model is needed."""

    def next_calls(request: Any) -> list[Any]:
        (made,) = [part.function_response for part in request.contents[-1].parts]
        order_id = made.response["order_id"]
        return [call("get_order", order_id=order_id), call("cancel_order", order_id=order_id)]

    agent = agent_of(
        [call("create_order", item="lamp")],
        next_calls,
        [call("get_order", order_id="NEVER-1")],
        tools=[create_order, get_order, cancel_order],
    )
    config = ORDERS.model_copy(update={"simulation_model": "no-such-model"})
    app = App(name="stage", root_agent=agent, plugins=[create_plugin(config)])
    stage = Stage(InMemoryRunner(app=app), create_plugin({}))
    made, found, cancelled, missing = responses(asyncio.run(stage.turn()))
    assert made["order_id"]
    assert found["order_id"] == cancelled["order_id"] == made["order_id"]
    assert missing["error_code"] == 404
    assert "NEVER-1" in json.dumps(missing)


@both
def test_providing_environment_data(form: Form) -> None:
    """The data is in what the model is asked, and without a model the answer is made of it."""
    db_snapshot = {
        "products": [
            {"id": "P-001", "name": "Wireless Headphones", "price": 79.99, "stock": 12},
            {"id": "P-002", "name": "USB-C Hub", "price": 34.99, "stock": 0},
        ],
        "warehouse_location": "US-WEST-2",
    }
    config = mocked("search_products", environment_data=json.dumps(db_snapshot))
    model = oracle(lambda _: {"products": ["P-001"]})
    search = call("search_products", query="headphones")
    assert seen_by_agent(form, config, search, model=model) == [{"products": ["P-001"]}]
    assert "Wireless Headphones" in model.prompts[-1]
    assert "US-WEST-2" in model.prompts[-1]


@both
def test_providing_tracing_data(form: Form) -> None:
    """A call of the trace is known: the model is told of it, or it is answered as it was."""
    agent_traces = [
        {
            "invocation_id": "inv-001",
            "user_content": {"role": "user", "parts": [{"text": "Search for high-end headphones"}]},
            "intermediate_data": {
                "tool_uses": [
                    {
                        "name": "search_products",
                        "args": {"query": "high-end headphones"},
                        "response": {
                            "products": [{"id": "P-123", "name": "Premium Wireless ANC Headphones"}]
                        },
                    }
                ]
            },
        }
    ]
    config = mocked("search_products", tracing=json.dumps(agent_traces))
    model = oracle(lambda _: {"products": []})
    assert seen_by_agent(form, config, call("search_products", query="cheap ones"), model=model) == [
        {"products": []}
    ]
    assert "P-123" in model.prompts[-1]


@both
def test_mixing_injections_and_mock_strategy(form: Form) -> None:
    """Injections are checked first; the mock answers where none applies."""
    config = only(
        ToolSimulationConfig(
            tool_name="send_notification",
            injection_configs=[
                # Always fail for a known-bad recipient
                InjectionConfig(
                    match_args={"recipient_id": "INVALID"},
                    injected_error=InjectedError(
                        injected_http_error_code=400,
                        error_message="Invalid recipient.",
                    ),
                ),
            ],
            # For all other recipients, generate a plausible success response
            mock_strategy_type=MockStrategy.MOCK_STRATEGY_TOOL_SPEC,
        )
    )
    model = oracle(lambda _: {"sent": True})
    calls = [call("send_notification", recipient_id=name) for name in ("INVALID", "u-1")]
    seen = seen_by_agent(form, config, *calls, model=model)
    assert seen == [{"error_code": 400, "error_message": "Invalid recipient."}, {"sent": True}]
    assert REALLY_RAN == []


def test_the_guides_names_are_here() -> None:
    """The classes of the configuration are ADK's own; the factory makes our callback and our plugin."""
    names = (
        "EnvironmentSimulationConfig",
        "InjectedError",
        "InjectionConfig",
        "MockStrategy",
        "ToolSimulationConfig",
    )
    assert all(getattr(simulator, name) is getattr(adks, name) for name in names)
    injection = InjectionConfig(injected_response={"name": "Ada"})
    profile = ToolSimulationConfig(tool_name="get_user_profile", injection_configs=[injection])
    config = EnvironmentSimulationConfig(tool_simulation_configs=[profile])
    assert isinstance(EnvironmentSimulationFactory.create_plugin(config), EnvironmentSimulationPlugin)
    callback = EnvironmentSimulationFactory.create_callback(config)
    tool = FunctionTool(really("get_user_profile"))
    seen = asyncio.run(callback(tool, {"user_id": "U-1"}, cast("Any", None)))
    assert seen == {"name": "Ada"}
