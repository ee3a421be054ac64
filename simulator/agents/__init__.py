"""Find and load agents, and the demo agents that ship with the studio. Importing this imports no ADK.

`catalogue` lists them; `agent_folder`, `configs_file` and `named_agent` are the places they come from. The studio's own process loads none of them:
`simulator.kernel` does, with `agent_directory` and the rest working on a likeness.
"""

from simulator.agents.agent_settings import (
    AGENTS_DIR_VARIABLE,
    AGENTS_VARIABLE,
    DEMOS,
    DEMOS_DIR,
    AgentSettings,
    AgentSettingsError,
    Demo,
    demo_agent,
    demo_eval_set,
    demo_sets_folder,
    settings_from,
)
from simulator.agents.catalogue import (
    AgentCatalogue,
    AgentEntry,
    UnknownAgentError,
    catalogue_for,
    find_agents,
)
from simulator.agents.load_failure import AgentLoadError
from simulator.agents.named_agent import absolute_agent, agent_named

__all__ = [
    "AGENTS_DIR_VARIABLE",
    "AGENTS_VARIABLE",
    "DEMOS",
    "DEMOS_DIR",
    "AgentCatalogue",
    "AgentEntry",
    "AgentLoadError",
    "AgentSettings",
    "AgentSettingsError",
    "Demo",
    "UnknownAgentError",
    "absolute_agent",
    "agent_named",
    "catalogue_for",
    "demo_agent",
    "demo_eval_set",
    "demo_sets_folder",
    "find_agents",
    "settings_from",
]
