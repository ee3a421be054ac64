"""The core of Golden Trace Studio: seats, journal, environment, and ADK's runner between them.

`from simulator import Simulation` and the other names below import what they need when they are first used:
a journal can be read, and a rule can be checked, without waiting for ADK.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.adk.tools.environment_simulation.environment_simulation_config import (
        EnvironmentSimulationConfig,
        InjectedError,
        InjectionConfig,
        MockStrategy,
        ToolSimulationConfig,
    )

    from simulator.agent_config import SimulatedAgentConfig
    from simulator.agents import demo_agent
    from simulator.environment.injection.rules import ErrorEffect, InjectionRule, ResponseEffect
    from simulator.environment.world.tool_settings import DefaultToolResponse, StateRegistry
    from simulator.journal import Journal
    from simulator.runtime import Simulation, SimulationError
    from simulator.runtime.plugin import (
        EnvironmentSimulationFactory,
        EnvironmentSimulationPlugin,
        RegisteredTool,
        SimulatedEnvironmentConfig,
        ToolSimulator,
        create_callback,
        create_plugin,
    )
    from simulator.seats.answers import called, failed, raised, returned, said, transferred
    from simulator.session import Seats, SessionState, SimulationSession
    from simulator.session.history import (
        FinalResponse,
        HistoryEntry,
        ToolCall,
        ToolError,
        ToolOutput,
        UserQuery,
        earlier_data,
    )

_HOMES = {
    "DefaultToolResponse": "simulator.environment.world.tool_settings",
    "EnvironmentSimulationConfig": "google.adk.tools.environment_simulation.environment_simulation_config",
    "EnvironmentSimulationFactory": "simulator.runtime.plugin",
    "EnvironmentSimulationPlugin": "simulator.runtime.plugin",
    "ErrorEffect": "simulator.environment.injection.rules",
    "FinalResponse": "simulator.session.history",
    "HistoryEntry": "simulator.session.history",
    "InjectedError": "google.adk.tools.environment_simulation.environment_simulation_config",
    "InjectionConfig": "google.adk.tools.environment_simulation.environment_simulation_config",
    "InjectionRule": "simulator.environment.injection.rules",
    "Journal": "simulator.journal",
    "MockStrategy": "google.adk.tools.environment_simulation.environment_simulation_config",
    "RegisteredTool": "simulator.runtime.plugin",
    "ResponseEffect": "simulator.environment.injection.rules",
    "Seats": "simulator.session",
    "SessionState": "simulator.session",
    "SimulatedAgentConfig": "simulator.agent_config",
    "SimulatedEnvironmentConfig": "simulator.environment.plugin_config",
    "Simulation": "simulator.runtime",
    "SimulationError": "simulator.runtime",
    "SimulationSession": "simulator.session",
    "StateRegistry": "simulator.environment.world.tool_settings",
    "ToolCall": "simulator.session.history",
    "ToolError": "simulator.session.history",
    "ToolOutput": "simulator.session.history",
    "ToolSimulationConfig": "google.adk.tools.environment_simulation.environment_simulation_config",
    "ToolSimulator": "simulator.runtime.plugin",
    "UserQuery": "simulator.session.history",
    "called": "simulator.seats.answers",
    "create_callback": "simulator.runtime.plugin",
    "create_plugin": "simulator.runtime.plugin",
    "demo_agent": "simulator.agents",
    "earlier_data": "simulator.session.history",
    "failed": "simulator.seats.answers",
    "raised": "simulator.seats.answers",
    "returned": "simulator.seats.answers",
    "said": "simulator.seats.answers",
    "transferred": "simulator.seats.answers",
}

__all__ = [
    "DefaultToolResponse",
    "EnvironmentSimulationConfig",
    "EnvironmentSimulationFactory",
    "EnvironmentSimulationPlugin",
    "ErrorEffect",
    "FinalResponse",
    "HistoryEntry",
    "InjectedError",
    "InjectionConfig",
    "InjectionRule",
    "Journal",
    "MockStrategy",
    "RegisteredTool",
    "ResponseEffect",
    "Seats",
    "SessionState",
    "SimulatedAgentConfig",
    "SimulatedEnvironmentConfig",
    "Simulation",
    "SimulationError",
    "SimulationSession",
    "StateRegistry",
    "ToolCall",
    "ToolError",
    "ToolOutput",
    "ToolSimulationConfig",
    "ToolSimulator",
    "UserQuery",
    "called",
    "create_callback",
    "create_plugin",
    "demo_agent",
    "earlier_data",
    "failed",
    "raised",
    "returned",
    "said",
    "transferred",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'simulator' has no attribute {name!r}")
    return getattr(__import__(home, globals(), None, (name,)), name)


def __dir__() -> list[str]:
    return sorted(__all__)
