"""The demo agents that ship with the studio."""

from __future__ import annotations

import importlib
from pathlib import Path

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.failure import AgentLoadError

DEMOS_DIR = Path(__file__).parent / "demos"
"""The demo agents' folder, in ADK's convention."""

DEMOS = {
    "order_desk": "Finds, creates, cancels and refunds orders of a small shop.",
    "travel_planner": "Plans a trip: the weather and the papers itself, flights and hotels through its sub-agents.",
    "expense_approver": "Checks expense reports against policy and budget, and pays back what is allowed.",
}
"""Each demo agent's name and description, so that they can be listed without importing ADK."""


def demo_agent(name: str) -> SimulatedAgentConfig:
    """Load a demo agent: "order_desk", "travel_planner" or "expense_approver".

    Its golden traces go into its own folder, where `adk web simulator/agents/demos` finds them.

    Raises:
        AgentLoadError: There is no demo agent of this name.
    """
    if name not in DEMOS:
        raise AgentLoadError(f"there is no demo agent {name!r}; there are {', '.join(DEMOS)}")
    module = importlib.import_module(f"{__package__}.demos.{name}.agent")
    return SimulatedAgentConfig(
        name=name,
        agent=module.root_agent,
        eval_set_path=DEMOS_DIR / name / f"{name}_evals.evalset.json",
        app_name=name,
        origin="ships with the studio",
    )
