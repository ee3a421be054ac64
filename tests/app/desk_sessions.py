"""Real sessions of the order desk, for the tests of pages that show, keep and share them."""

from __future__ import annotations

from typing import Any

from app.live.agent_catalogue import catalogue
from app.live.live_sessions import LiveSession, registry
from app.live.session_opening import StartForm, open_session
from app.live.session_store import close_store
from app.server.owners import LOCAL
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_directory import directory_of
from simulator.runtime import Simulation
from tests.app.page_driver import HOSTILE

CANCEL = "Please cancel order A-1001 and refund me."
TYPED = '{"order_id": "A-1001", "status": "mine"}'
"""A response that somebody has typed, and not sent."""


def begun(query: str = CANCEL, owner: str = LOCAL) -> LiveSession:
    """Open a session; with a query it waits for the answer to its first call."""
    form = StartForm(agent="order_desk", query=query, seed="one for all")
    return open_session(form, catalogue().config("order_desk"), owner)


def taken_in(simulation: Simulation, config: SimulatedAgentConfig | None = None) -> LiveSession:
    """Take a session into the registry, as the page does that opens it."""
    found = config or simulation.config
    return registry().add(simulation, found, directory_of(found.root_agent))


def answered(config: SimulatedAgentConfig, **more: Any) -> LiveSession:
    """Open a session in which a tool was answered and the agent has spoken."""
    simulation = Simulation.open(config)
    simulation.query("Where is order A-1002?")
    (request,) = simulation.pending
    order = {"order_id": "A-1002", "status": "shipped", "tracking": HOSTILE, "items": [], "total": 1.0}
    simulation.answer(request, order | more)
    return taken_in(simulation, config)


def live_of(session_id: str | None) -> LiveSession:
    """Return a session that is live on this server."""
    live = registry().get(str(session_id))
    assert live is not None
    return live


def waits(session_id: str | None) -> list[str]:
    """Return the tools whose calls wait in a session."""
    return [
        str(getattr(request, "tool_name", "")) for request in live_of(session_id).simulation.view().pending
    ]


def server_ends() -> None:
    """Let go of everything in memory, as a server that ends does."""
    registry().close_all()
    close_store()
