"""The environment without the page: it stands in for the tools of an agent that is not modified, under ADK's own runner."""

from simulator.environment.stand_in_config import (
    SimulatedEnvironmentConfig,
    read_environment_config,
    write_environment_config,
)
from simulator.runtime.stand_in.calls import AnsweredCall
from simulator.runtime.stand_in.faces import (
    EnvironmentCallback,
    EnvironmentPlugin,
    create_callback,
    create_plugin,
)
from simulator.runtime.stand_in.tool_simulator import RegisteredTool, SimulatedTool, ToolSimulator

__all__ = [
    "AnsweredCall",
    "EnvironmentCallback",
    "EnvironmentPlugin",
    "RegisteredTool",
    "SimulatedEnvironmentConfig",
    "SimulatedTool",
    "ToolSimulator",
    "create_callback",
    "create_plugin",
    "read_environment_config",
    "write_environment_config",
]
