"""The injection rules beside a session: switched and explained while it runs, with the way to their own page."""

from __future__ import annotations

import pytest

from simulator.environment.injection.rules import Miss
from simulator.facts import Provenance, Returned
from tests.app.fakes import FakeSimulation, paused, rule, tool_request
from tests.app.page_driver import Tab

SESSION = "session-0001-abcdef"


@pytest.fixture
def simulation() -> FakeSimulation:
    """A session that waits for an answer."""
    return paused(SESSION)


def test_each_rule_says_what_it_does_and_is_switched_and_edited(simulation: FakeSimulation) -> None:
    """A line of words and a count, but of a rule that never fired; the toggle switches it off once, and follows the session after that.

    The pencil of a rule leads to its editor, on the rules' own page.
    """
    simulation.set_rules([rule(match_args={"order_id": "A-1"}), rule("other")])
    by = Provenance(source="injected", by="find_order-1", fired=("find_order-1",))
    simulation.give("c1", provenance=by).call("c2").give("c2", provenance=by)
    simulation.pending = ()
    simulation.asked.clear()
    tab = Tab(SESSION)
    assert 'find_order: error 503 \u201cbusy\u201d, when order_id is "A-1"' in tab.literal
    assert tab.words.count("2\u00d7") == 1
    tab.fill("rule_on_find_order-1", False).run().run()
    assert [name for name, _ in simulation.asked] == ["switch_rule", "set_rules"]
    assert tab.app.toggle(key="rule_on_find_order-1").value is False
    simulation.switch_rule("find_order-1", enabled=True)
    assert tab.run().app.toggle(key="rule_on_find_order-1").value is True
    tab.click("rule_edit_other")
    assert tab.app.text_input(key=tab.key("name_rule")).value == "other"
    assert tab.click("rule_cancel").has("environment_tab")
    assert not tab.has("rule_save")


def test_of_many_rules_that_did_not_answer_the_rail_names_the_nearest(simulation: FakeSimulation) -> None:
    """Twenty stand there with their reasons, the nearest first, and how many more there are; those that came while the call waits are told, too."""
    misses = [Miss(rule_id=f"r{n}", reason="switched off", nearness=n / 100) for n in range(25)]
    simulation.pending = (tool_request("c1", misses=tuple(misses)),)
    simulation.set_rules([rule(miss.rule_id) for miss in misses])
    tab = Tab(SESSION)
    assert tab.literal.count("r24: switched off") == 2
    assert tab.literal.index("r24: ") < tab.literal.index("r23: ")
    assert tab.literal.count("r4: switched off") == 1
    assert "and 5 more" in tab.words
    simulation.pending = (tool_request("c1"),)
    simulation.set_rules([rule("late")])
    assert "late: " in tab.run().literal


def test_a_rule_is_written_where_the_session_is(simulation: FakeSimulation) -> None:
    """The editor opens over the session, for the tool that waits; its keys send no answer, and the added rule is named."""
    tab = Tab(SESSION)
    accept = tab.key("accept_")
    assert tab.app.button(key=accept).proto.shortcut
    tab.unfold("rule_here").click("rule_cancel")
    assert not tab.has("rule_save")
    tab.unfold("rule_here")
    assert not tab.app.button(key=accept).proto.shortcut
    assert tab.app.selectbox(key=tab.key("tool_rule")).value == "find_order"
    tab.fill("chance_rule", None)
    assert tab.click("rule_save").has("rule_save")
    assert list(simulation.session.rules) == []
    tab.fill("chance_rule", 50).click("rule_save")
    assert [each.probability for each in simulation.session.rules] == [0.5]
    assert not tab.has("rule_save")
    assert tab.app.button(key=accept).proto.shortcut
    assert "**find_order-1**" in tab.words
    assert tab.keys("pane_timeline")
    assert simulation.session.rules[0].rule_id not in tab.click("rule_added_undo").words
    assert list(simulation.session.rules) == []


def test_a_fault_is_added_where_the_session_is(simulation: FakeSimulation) -> None:
    """The library opens over the session; what was added is named with the ways to change it and to take it away again."""
    tab = Tab(SESSION).unfold("library_here").click("fault_add_http_400")
    assert [each.rule_id for each in simulation.session.rules] == ["http_400"]
    assert tab.keys("pane_timeline")
    assert "**400 Bad Request**" in tab.words
    tab.click("rule_added_undo")
    assert simulation.session.rules == ()
    assert not tab.has("rule_added_undo")
    tab.click("fault_add_http_400").click("rule_added_edit")
    assert tab.app.segmented_control(key="environment_tab").value == "Rules"
    assert tab.keys("pane_rule_editor")


def test_a_fault_answers_the_waiting_call_alone(simulation: FakeSimulation) -> None:
    """It is handed over with the call's key, and with the response that it may change; there is no rule of it."""
    tab = Tab(SESSION)
    tab.unfold(tab.key("accept_").replace("accept_", "fail_menu_"))
    tab.click(tab.key("fail_with_distort_truncate_"))
    ((name, (key, given, outcome)),) = simulation.asked
    assert (name, key) == ("inject", "tool-c1")
    assert given.rule_id == "distort_truncate"
    assert outcome == Returned(value={"status": "shipped"})
    assert simulation.session.rules == ()
