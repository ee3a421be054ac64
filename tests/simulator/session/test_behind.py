"""What stands behind a session that is played is reached from it, and is no part of its value."""

from __future__ import annotations

import copy
import pickle

import pytest

from simulator.runtime.adk.codec import LONGEST_TRACEBACK, written_traceback
from simulator.session.model import NoLiveAgentError
from tests.simulator.runtime.answering.going import going
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, say


def find(order_id: str) -> dict[str, str]:
    """Find an order."""
    raise AssertionError(order_id)


def test_it_is_no_part_of_the_value() -> None:
    """A session equals what its journal says, is written and read as before, and a pickled one has no agent."""
    with going(agent_of([call("find", order_id="A")], tools=[find])) as simulation:
        session, plain = simulation.session, simulation.journal.session(simulation.session.adk_session and ())
        assert session.agent is simulation.config.agent
        assert session.model_dump(exclude={"history"}) == plain.model_dump(exclude={"history"})
        read = type(session).model_validate_json(session.model_dump_json())
        assert read == session
        for apart in (plain, read, pickle.loads(pickle.dumps(session)), copy.deepcopy(session)):  # noqa: S301 - our own
            for name in ("agent_config", "agent", "tools", "adk_session"):
                with pytest.raises(NoLiveAgentError):
                    getattr(apart, name)


def test_adks_session_of_a_turn_in_progress() -> None:
    """It holds the events so far, and the state that they add up to."""

    def remember(tool: object, args: object, tool_context: object, tool_response: object) -> None:
        tool_context.state["seen"] = 1  # type: ignore[attr-defined] # it is ADK's

    agent = agent_of([call("find", order_id="A")], [call("find", order_id="B")], [say("done")], tools=[find])
    agent.after_tool_callback = remember
    with going(agent) as simulation:
        before = simulation.session
        assert simulation.answer(simulation.pending[0], {"found": True}, wait=PATIENCE)
        after = simulation.session
        assert (before.adk_session.state, len(before.adk_session.events)) == ({}, 2)
        assert (after.adk_session.state, len(after.adk_session.events)) == ({"seen": 1}, 4)


def test_a_long_traceback_keeps_its_ends() -> None:
    """The head says where it was raised, the end says what, and half a surrogate pair does no harm; of one long line the message is cut."""

    def where_it_happens(message: str) -> None:
        raise ValueError(message)

    texts = []
    for message in ("x\n" * 2 * LONGEST_TRACEBACK + "\ud800 the end", "x" * 3 * LONGEST_TRACEBACK):
        with pytest.raises(ValueError, match="x") as caught:
            where_it_happens(message)
        texts.append(written_traceback(caught.value))
    assert all(len(text) < LONGEST_TRACEBACK + 100 and text.startswith("Traceback (") for text in texts)
    assert texts[0].endswith("? the end\n")
    assert "in where_it_happens" in texts[1]
    assert "ValueError: xxx" in texts[1]
    assert texts[1].endswith("x... (shortened)\n")
