"""The demo agents that ship with the studio."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.load_failure import AgentLoadError
from simulator.base.user_files import data_folder

DEMOS_DIR = Path(__file__).parent / "demos"
"""The demo agents' folder, in ADK's convention."""


@dataclass(frozen=True)
class Demo:
    """What there is to know of a demo agent before it is loaded: what it does, and what one may ask it."""

    description: str
    example_queries: tuple[str, ...]


DEMOS: Mapping[str, Demo] = MappingProxyType(
    {
        "order_desk": Demo(
            "Finds, creates, cancels and refunds orders of a small shop.",
            (
                "Where is order A-1002?",
                "Please cancel order A-1001 and refund me.",
                "Which orders does ada@example.com have?",
                "Order 2 mugs and 1 lamp for C-18, by express please.",
            ),
        ),
        "travel_planner": Demo(
            "Plans a trip: the weather and the papers itself, flights and hotels through its sub-agents.",
            (
                "Plan a trip from Oslo to Rome from 2026-05-03 to 2026-05-06 for 2 people with a Norwegian passport.",
                "What is the weather like in Rome, Lisbon and Athens?",
                "Which day is the cheapest to fly from Oslo to Lisbon: 4, 5 or 6 May 2026?",
                "Book a hotel in Vienna from 2026-06-12 for 3 nights. My name is Ada Lovelace.",
            ),
        ),
        "expense_approver": Demo(
            "Checks expense reports against policy and budget, and pays back what is allowed.",
            (
                "E-7 of engineering: hotel 180 EUR and dinner 75 EUR",
                "E-7 of engineering: flight 640 EUR",
                "E-12 of sales: tickets for a show 150 EUR and taxi 30 EUR without receipt",
                '{"employee_id": "E-7", "department": "engineering", "lines": [{"category": "equipment", "amount": 420}]}',
            ),
        ),
    }
)
"""Each demo agent by name, so that they can be listed without importing ADK."""


def demo_sets_folder() -> Path:
    """Return the folder of the demo agents' eval sets, among the user's data; it need not be there."""
    return data_folder(os.environ).absolute() / "eval_sets"


def demo_eval_set(name: str) -> Path:
    """Return the eval set that the golden traces of a demo agent go into by default."""
    return demo_sets_folder() / name / f"{name}_evals.evalset.json"


def demo_agent(name: str) -> SimulatedAgentConfig:
    """Load a demo agent: "order_desk", "travel_planner" or "expense_approver".

    Its golden traces go among the user's data, never into the installed package.

    Raises:
        AgentLoadError: There is no demo agent of this name.
    """
    if name not in DEMOS:
        raise AgentLoadError(f"no demo agent named {name!r}; available: {', '.join(DEMOS)}")
    module = importlib.import_module(f"{__package__}.demos.{name}.agent")
    return SimulatedAgentConfig(
        name=name,
        agent=module.root_agent,
        eval_set_path=demo_eval_set(name),
        app_name=name,
        origin=str(DEMOS_DIR / name),
        environment_data=DEMOS_DIR / name,
    )
