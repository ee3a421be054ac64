"""Guards what the Chinese guide to environment simulation says: its examples with their Chinese texts, in every form that is read."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.adk.tools.function_tool import FunctionTool

from simulator import create_callback
from simulator.base.documents import write_json, write_yaml
from simulator.base.json_values import JsonObject
from simulator.runtime.plugin import read_environment_config

INVENTORY = """
from google.adk.tools.environment_simulation.environment_simulation_config import (
    EnvironmentSimulationConfig,
    InjectedError,
    InjectionConfig,
    MockStrategy,
    ToolSimulationConfig,
)

config = EnvironmentSimulationConfig(
    tool_simulation_configs=[
        ToolSimulationConfig(
            tool_name="get_inventory",
            injection_configs=[
                # 对于特定的缺货商品始终失败
                InjectionConfig(
                    match_args={"sku": "OOS-001"},
                    injected_response={"quantity": 0, "available": False, "note": "缺货"},
                ),
                # 对于所有其他商品
                InjectionConfig(
                    injected_error=InjectedError(
                        injected_http_error_code=503,
                        error_message="库存服务不可用。",
                    ),
                ),
            ],
        ),
        # 对于所有其他接收者,生成合理的成功响应
        ToolSimulationConfig(
            tool_name="send_notification",
            mock_strategy_type=MockStrategy.MOCK_STRATEGY_TOOL_SPEC,
        ),
    ]
)
"""

SAME: JsonObject = {
    "tool_simulation_configs": [
        {
            "tool_name": "get_inventory",
            "injection_configs": [
                {
                    "match_args": {"sku": "OOS-001"},
                    "injected_response": {"quantity": 0, "available": False, "note": "缺货"},
                },
                {"injected_error": {"injected_http_error_code": 503, "error_message": "库存服务不可用。"}},
            ],
        },
        {"tool_name": "send_notification", "mock_strategy_type": "MOCK_STRATEGY_TOOL_SPEC"},
    ]
}


def get_inventory(sku: str) -> dict[str, Any]:
    """查询库存."""
    raise AssertionError(sku)


@pytest.mark.parametrize("form", ["python", "mapping", "json", "yaml"])
def test_the_example_with_chinese_comments_and_texts(form: str) -> None:
    """As Python code, as a mapping, as JSON and as YAML: the injections answer in order, their texts unharmed."""
    forms: dict[str, Any] = {
        "python": INVENTORY,
        "mapping": SAME,
        "json": write_json(SAME),
        "yaml": write_yaml(SAME),
    }
    callback: Any = create_callback(forms[form])
    tool: Any = FunctionTool(get_inventory)
    seen = [asyncio.run(callback(tool, {"sku": sku}, None)) for sku in ("OOS-001", "缺-2")]
    assert seen == [
        {"quantity": 0, "available": False, "note": "缺货"},
        {"error_code": 503, "error_message": "库存服务不可用。"},
    ]


def test_its_default_model() -> None:
    """The Chinese guide names the model that ADK 2.13 asks by default, and so it is here."""
    assert read_environment_config(SAME).settings.simulation_model == "gemini-2.5-flash"
