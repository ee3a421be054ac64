"""The page of the branches: it teaches where there is one way, shows the tree and the list, leads there, and compares two."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.elements.lib import policies

from app.branches.branch_labels import ending, forks, newest_of, tree_dot
from app.branches.branches_panel import PAGE_BRANCHES
from simulator.branches import branches, tree
from simulator.facts import Failed, Outcome, RaisedError, Returned, RulesChanged, TurnEnded
from simulator.journal import ROOT
from simulator.session.commands import MoveHead
from tests.app.fakes import AT, FakeSimulation, put_live
from tests.app.page_driver import HOSTILE, Tab

SESSION = "session-0041-abcdef"


def two_ways(answer: str = "lost", words: str = "Sorry.", outcome: Outcome | None = None) -> FakeSimulation:
    """A session whose call was answered in two ways; it is on the second."""
    simulation = FakeSimulation(SESSION).ask("Where is order A-1?").call("c1", order_id="A-1")
    fork = simulation.journal.head
    simulation.give("c1", Returned(value={"order": {"status": "shipped"}})).say("Soon.").end("Soon.")
    simulation.journal.move_head(fork)
    simulation.give("c1", outcome or Returned(value={"order": {"status": answer}})).say(words).end(words)
    put_live(simulation)
    return simulation


def opened(simulation: FakeSimulation) -> Tab:
    """Open the page of the branches as its address names it."""
    tab = Tab(simulation.session.session_id)
    tab.app.query_params["view"] = "branches"
    return tab.run()


def test_the_way_to_the_branches_is_there_where_there_are_several() -> None:
    """A session that went one way has no button for them; its page, by address, says how a branch is made."""
    simulation = FakeSimulation(SESSION).ask("Where is it?")
    put_live(simulation)
    assert not Tab(SESSION).has("open_branches")
    tab = opened(simulation)
    assert tab.app.info
    assert tab.keys("branch_") == []
    two_ways()
    tab = Tab(SESSION).click("open_branches")
    assert tab.app.query_params["view"] == "branches"
    tab.click("branches_back")
    assert "view" not in tab.app.query_params
    assert tab.has("open_branches")


def test_each_branch_says_where_it_forks_and_what_differs_first() -> None:
    """The list has the newest first, with how each ended; the other branch's answer stands beside the one that was given here.

    What failed is called so, with its words, and not compared place by place with what did not.
    """
    simulation = two_ways()
    tab = opened(simulation)
    assert tab.keys("branch_line_") == ["branch_line_2", "branch_line_1"]
    assert forks(simulation.journal, branches(simulation.journal)[1].fork) in tab.words
    other, _, here = tab.literal.partition("Here:")
    assert '"shipped"' in other
    assert '"lost"' in here
    (drawn,) = tab.app.get("graphviz_chart")
    assert "Branch 1" in drawn.proto.spec
    tab = opened(two_ways(outcome=Failed(error_code=503, error_message="busy")))
    here = tab.literal.partition("Here:")[2]
    beside = "\n".join(one.value for one in tab.click("branch_compare_1").app.code)
    assert all(each in here for each in ("find_order failed", "busy"))
    assert all(each in beside for each in ("busy", "shipped"))
    assert "missing" not in here + beside


def test_going_there_leads_to_the_end_of_the_branch_in_the_session() -> None:
    """The head moves to the branch's last fact, and the session is on the screen; where that fails it says why."""
    simulation = two_ways()
    tab = opened(simulation)
    assert tab.app.button(key="branch_go_2").disabled
    tab.click("branch_go_1")
    assert simulation.asked == [MoveHead(fact=branches(simulation.journal)[1].tip)]
    assert "view" not in tab.app.query_params
    assert tab.has("undo_step")
    assert not tab.app.error
    simulation.fails_with = "no way"
    tab.click("open_branches").click("branch_go_1")
    assert tab.app.error
    assert "no way" in tab.literal


def test_two_branches_stand_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer that differs is marked with the path of what differs; what is the same is folded, and opens; not one with itself.

    Streamlit has no warning for the log that the view was set next to its default.
    """
    simulation = two_ways(words="Soon.")
    warned: list[object] = []
    monkeypatch.setattr(policies, "runtime", SimpleNamespace(exists=lambda: True))
    monkeypatch.setattr(policies, "_shown_default_value_warning", False)
    monkeypatch.setattr(policies, "_LOGGER", SimpleNamespace(warning=lambda *said, **_: warned.append(said)))
    tab = opened(simulation).click("branch_compare_1")
    assert warned == []
    assert tab.app.selectbox(key="compare_left_abcdef").value == 2
    assert tab.app.selectbox(key="compare_right_abcdef").value == 1
    assert 'result.order.status: "lost"' in tab.literal
    assert 'result.order.status: "shipped"' in tab.literal
    assert len(tab.keys("compared_left_changed")) == 1
    assert tab.keys("compared_left_same") == []
    folded = tab.key("same_rows_")
    tab.app.session_state[folded] = True
    tab.run()
    assert len(tab.keys("compared_left_same")) == 1
    tab.fill("compare_left_abcdef", 1).run()
    assert tab.keys("compared_left_changed") == []
    tab.fill("compare_right_abcdef", 2).run()
    assert len(tab.keys("compared_right_changed")) == 1


def test_a_row_that_one_side_lacks_says_so() -> None:
    """A call that only one branch made stands beside nothing."""
    simulation = two_ways()
    simulation.journal.move_head(branches(simulation.journal)[1].fork)
    simulation.give("c1").call("c2", "refund_order").give("c2", tool="refund_order").say("Done.").end("Done.")
    tab = opened(simulation).choose("branches_view", "Compare")
    assert len(tab.keys("compared_left_only_left")) == 2
    assert any("only here" in str(each.label) for each in tab.app.expander)


@pytest.mark.long
def test_nothing_from_outside_comes_alive() -> None:
    """Queries, answers and texts of a model are shown letter for letter, in the list, the picture and the comparison."""
    tab = opened(two_ways(answer=HOSTILE, words=HOSTILE))
    assert HOSTILE in tab.literal
    assert tab.live_marks() == []
    tab.click("branch_compare_1")
    assert HOSTILE in tab.literal
    assert tab.live_marks() == []


def test_a_long_list_is_drawn_in_parts() -> None:
    """Of many branches the newest are listed, the older ones with a click; the picture says how many it leaves out."""
    simulation = two_ways()
    for _ in range(PAGE_BRANCHES + 20):
        simulation.journal.move_head(2)
        simulation.add(RulesChanged(at=AT, rules=()))
    tab = opened(simulation)
    assert len(tab.keys("branch_line_")) == PAGE_BRANCHES
    _, hidden = newest_of(tree(simulation.journal))
    assert hidden > 0
    assert any(each.value.split()[0] == str(hidden) for each in tab.app.caption)
    tab.click("branches_older")
    assert len(tab.keys("branch_line_")) == 2 * PAGE_BRANCHES


def test_a_branch_that_ended_says_how() -> None:
    """The words are those of a session's status."""
    simulation = FakeSimulation(SESSION)
    journal = simulation.journal
    assert ending(journal, journal.head).text == "Ready"
    simulation.ask("Where is it?")
    asked = journal.head
    assert ending(journal, asked).text == "Paused"
    error = RaisedError(type="m:E", message="no")
    for fact, word in (
        (TurnEnded(at=AT, turn=0, stopped=True), "Stopped"),
        (TurnEnded(at=AT, turn=0, error=error), "Failed"),
        (TurnEnded(at=AT, turn=0), "Ended"),
    ):
        journal.move_head(asked)
        simulation.add(fact, RulesChanged(at=AT, rules=()))
        assert ending(journal, journal.head).text == word
    journal.move_head(asked)
    assert ending(simulation.end().journal, journal.head).text == "Completed"


@given(st.lists(st.integers(0, 30), max_size=20), st.integers(1, 5))
def test_the_picture_keeps_the_newest_branches_and_where_the_session_is(moves: list[int], most: int) -> None:
    """What is drawn hangs together from the start; what is left out is counted."""
    simulation = FakeSimulation(SESSION)
    journal = simulation.journal
    for move in moves:
        journal.move_head(1 + move % (len(journal) - 1))
        simulation.add(RulesChanged(at=AT + 1, rules=()))
    whole = tree(journal)
    drawn, hidden = newest_of(whole, most)
    places = {node.fact for node in drawn.nodes}
    tips = [node.fact for node in drawn.nodes if node.branch is not None]
    assert {edge.end for edge in drawn.edges} == places - {ROOT}
    assert {edge.start for edge in drawn.edges} <= places
    assert hidden + len(tips) == len(branches(journal))
    assert set([branch.tip for branch in branches(journal)][:most]) <= set(tips)
    assert any(node.is_here for node in drawn.nodes)
    assert tree_dot(drawn, journal).count(" -> ") == len(drawn.edges)
