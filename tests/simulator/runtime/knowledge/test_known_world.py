"""What an environment knows of its calls stays, whatever tools are seen later."""

from __future__ import annotations

from simulator.environment.world.connections import ToolShape
from simulator.facts import Provenance, Returned
from simulator.runtime.knowledge.knowledge import Knowledge
from simulator.runtime.plugin.session_play import AnsweredCall
from simulator.session.environment_state import SessionEnvironment


def test_the_world_outlives_another_tool() -> None:
    """A tool that is seen for the first time changes how tools hang together, and loses no call."""
    known = Knowledge(SessionEnvironment(), {})
    known.take(
        1,
        AnsweredCall(
            number=1,
            at=0.0,
            tool_name="find_order",
            arguments={"order_id": "A-1"},
            outcome=Returned(value={"order_id": "A-1", "status": "shipped"}),
            provenance=Provenance(source="written"),
        ),
    )
    assert known.world.entity("order", "A-1")
    known.connect(SessionEnvironment(), {"find_order": ToolShape(name="find_order")})
    assert known.world.entity("order", "A-1")
