"""What cannot be taken back is asked for twice: the end of a session, real calls for all that waits."""

from __future__ import annotations

import pytest

from app.live.live_sessions import registry
from app.screens.sidebar_panel import SHOWN_SESSIONS
from simulator.seats.requests import CodeRequest
from tests.app.fakes import FakeSimulation, put_live, tool_request
from tests.app.page_driver import Tab

ID = "session-0031-abcdef"


def waiting() -> FakeSimulation:
    """Two calls of one tool, one of another and a block of code wait for a person."""
    simulation = FakeSimulation(ID).ask("Refund both").call("c1").call("c2").call("c3", "refund_order")
    simulation.pending = (
        tool_request("c1"),
        tool_request("c2"),
        tool_request("c3", "refund_order"),
        CodeRequest(key="code-1", turn=0, agent="order_desk", code="print(1)"),
    )
    put_live(simulation)
    return simulation


def seated(target: str, player: str) -> Tab:
    """Choose who answers a tool."""
    tab = Tab(ID).choose("context_view", "Seats")
    tab.app.selectbox(key=tab.keys(f"seat_tool_{target}")[0]).set_value(player)
    return tab.run()


@pytest.mark.long
def test_real_calls_that_wait_are_asked_for_first() -> None:
    """A choice that would set off waiting calls says how many, and runs none before the second click; left, it is as if it was never made."""
    for target, count in (("find_order", 2), ("refund_order", 1), ("-", 4)):
        simulation = waiting()
        tab = seated(target, "real")
        assert f"{count} waiting" in tab.words, target
        assert simulation.asked == []
        if target == "find_order":
            tab.click("sure_no_seat_tool_find_order")
            assert tab.app.selectbox(key="seat_tool_find_order").value == "person"
            assert not tab.keys("sure_yes_")
            assert simulation.asked == []
            tab.fill("seat_tool_find_order", "real").run()
        tab.click(tab.key("sure_yes_"))
        assert simulation.asked == [("set_player", ("tool", "real", "*" if target == "-" else target))]
        assert not tab.keys("sure_yes_")


def test_what_sets_off_nothing_needs_no_second_click() -> None:
    """Another player, or a tool of which nothing waits, is seated at once; what waits for the person in a named seat is not counted."""
    simulation = waiting()
    seated("find_order", "refuse")
    simulation.pending = (tool_request("c3", "refund_order"),)
    seated("find_order", "real")
    assert [value for _, value in simulation.asked] == [
        ("tool", "refuse", "find_order"),
        ("tool", "real", "find_order"),
    ]
    simulation = waiting()
    simulation.set_player("tool", "person", "find_order")
    assert "2 waiting" in seated("-", "real").words


def test_every_session_can_be_reached() -> None:
    """The newest are listed, those before them are one switch away, and open and close as the others do."""
    names = [f"session-{number:04}-abcdef" for number in range(SHOWN_SESSIONS + 3)]
    for name in names:
        put_live(FakeSimulation(name))
    tab = Tab(names[-1])
    assert tab.app.toggle(key="older_sessions").label == "Show 3 older"
    assert not tab.has(f"recent_{names[0]}")
    tab.fill("older_sessions", True).run()
    assert all(tab.has(f"recent_{name}") for name in names)
    assert tab.click(f"recent_{names[0]}").session_id == names[0]
    tab.in_menu("close", names[1])
    assert registry().get(names[1]) is None
    assert registry().get(names[2]) is not None
