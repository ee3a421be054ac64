"""The environment without the page: it stands in for the tools of an agent that is not modified, under ADK's own runner."""

from simulator.environment.plugin_config import (
    SimulatedEnvironmentConfig,
    read_environment_config,
    write_environment_config,
)
from simulator.runtime.knowledge.knowledge import AnsweredCall
from simulator.runtime.plugin.adk_plugin import (
    EnvironmentCallback,
    EnvironmentPlugin,
    EnvironmentSimulationFactory,
    create_callback,
    create_plugin,
)
from simulator.runtime.plugin.tool_simulator import RegisteredTool, SimulatedTool, ToolSimulator

EnvironmentSimulationPlugin = EnvironmentPlugin
"""The name that ADK's document has for it."""

__all__ = [
    "AnsweredCall",
    "EnvironmentCallback",
    "EnvironmentPlugin",
    "EnvironmentSimulationFactory",
    "EnvironmentSimulationPlugin",
    "RegisteredTool",
    "SimulatedEnvironmentConfig",
    "SimulatedTool",
    "ToolSimulator",
    "create_callback",
    "create_plugin",
    "read_environment_config",
    "write_environment_config",
]
