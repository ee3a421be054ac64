"""What stands behind a session that is played is reached from it, and is no part of its value."""

from __future__ import annotations

import copy
import pickle

import pytest

from simulator.runtime.adk.codec import LONGEST_TRACEBACK, written_traceback
from simulator.session.model import NoLiveAgentError
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened, say


def find(order_id: str) -> dict[str, str]:
    """Find an order."""
    raise AssertionError(order_id)


def test_it_is_no_part_of_the_value() -> None:
    """A session equals what its journal says, is written and read as before, and a pickled one has no agent."""
    with opened(agent_of([call("find", order_id="A")], tools=[find])) as simulation:
        assert simulation.query("go", wait=PATIENCE)
        session, plain = simulation.session, simulation.journal.session(simulation.session.adk_session and ())
        assert session.agent is simulation.config.agent
        assert session.model_dump(exclude={"history"}) == plain.model_dump(exclude={"history"})
        read = type(session).model_validate_json(session.model_dump_json())
        assert read == session
        for apart in (plain, read, pickle.loads(pickle.dumps(session)), copy.deepcopy(session)):  # noqa: S301 - our own
            with pytest.raises(NoLiveAgentError):
                _ = apart.agent_config


def test_adks_session_of_a_turn_in_progress() -> None:
    """It holds the events so far, and the state that they add up to."""

    def remember(tool: object, args: object, tool_context: object, tool_response: object) -> None:
        tool_context.state["seen"] = 1  # type: ignore[attr-defined] # it is ADK's

    agent = agent_of([call("find", order_id="A")], [call("find", order_id="B")], [say("done")], tools=[find])
    agent.after_tool_callback = remember
    with opened(agent) as simulation:
        assert simulation.query("go", wait=PATIENCE)
        before = simulation.session
        assert simulation.answer(simulation.pending[0], {"found": True}, wait=PATIENCE)
        after = simulation.session
        assert (before.adk_session.state, len(before.adk_session.events)) == ({}, 2)
        assert (after.adk_session.state, len(after.adk_session.events)) == ({"seen": 1}, 4)


def test_a_long_traceback_keeps_its_end() -> None:
    """The head says what it is, the end says what was raised, and half a surrogate pair does no harm."""
    text = written_traceback(ValueError("x\n" * 2 * LONGEST_TRACEBACK + "\ud800 the end"))
    assert len(text) < LONGEST_TRACEBACK + 100
    assert text.startswith("Traceback (")
    assert text.endswith("? the end\n")


def test_a_traceback_with_a_long_message_keeps_where_it_was_raised() -> None:
    """A message of one long line is cut, not the calls that led to it."""

    def where_it_happens() -> None:
        raise ValueError("x" * 3 * LONGEST_TRACEBACK)

    with pytest.raises(ValueError, match="x") as caught:
        where_it_happens()
    text = written_traceback(caught.value)
    assert len(text) < LONGEST_TRACEBACK
    assert "in where_it_happens" in text
    assert "ValueError: xxx" in text
    assert text.endswith("x... (shortened)\n")
