"""The injection rules on the page: written, switched and explained while a session runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.registry import registry
from simulator.environment.rules import ErrorEffect, Miss
from tests.app.fakes import FakeSimulation, put_live, rule, tool_request
from tests.app.pages import Tab

SESSION = "session-0001-abcdef"


@pytest.fixture(autouse=True)
def _no_sessions_stay() -> Iterator[None]:
    yield
    registry().close_all()


@pytest.fixture
def simulation() -> FakeSimulation:
    """A session that waits for an answer."""
    fake = FakeSimulation(SESSION).ask("Where is order A-1?").call("c1", order_id="A-1")
    fake.pending = (tool_request("c1"),)
    put_live(fake)
    return fake


def test_a_rule_is_written_in_the_form(simulation: FakeSimulation) -> None:
    """The form starts with the tool that waits; saved, the rule is in force and the form is closed."""
    tab = Tab(SESSION).click("rule_add")
    tab.app.number_input(key=tab.key("code_")).set_value(429)
    tab.app.text_input(key=tab.key("message_")).input("Too many")
    tab.app.text_area(key=tab.key("match_")).input('{"order_id": "A-1"}')
    tab.click("rule_save")
    (written,) = simulation.session.rules
    assert written.tool_name == "find_order"
    assert written.effect == ErrorEffect(error_code=429, error_message="Too many")
    assert written.match_args == {"order_id": "A-1"}
    assert written.enabled
    assert not tab.has("rule_save")
    assert "find_order: error 429" in tab.literal


def test_a_rule_that_cannot_be_read_stays_in_its_form(simulation: FakeSimulation) -> None:
    """Broken JSON is named with its place, nothing is saved, and the text is still there."""
    tab = Tab(SESSION).click("rule_add")
    tab.app.text_area(key=tab.key("match_")).input("{'order_id': 1}")
    tab.click("rule_save")
    assert simulation.session.rules == ()
    assert "The rule was not saved." in tab.words
    assert "Line 1, column 2" in tab.literal
    assert tab.app.text_area(key=tab.key("match_")).value == "{'order_id': 1}"


def test_a_switch_reaches_the_running_session(simulation: FakeSimulation) -> None:
    """The toggle switches the rule off once, and follows the session after that."""
    simulation.set_rules([rule()])
    simulation.asked.clear()
    tab = Tab(SESSION)
    tab.app.toggle(key="rule_on_find_order-1").set_value(False)
    tab.run().run()
    assert [name for name, _ in simulation.asked] == ["switch_rule", "set_rules"]
    assert tab.app.toggle(key="rule_on_find_order-1").value is False
    simulation.switch_rule("find_order-1", enabled=True)
    assert tab.run().app.toggle(key="rule_on_find_order-1").value is True


def test_a_rule_that_did_not_answer_says_why(simulation: FakeSimulation) -> None:
    """The reason of a miss stands beside the rule, as plain text."""
    simulation.set_rules([rule()])
    simulation.pending = (
        tool_request("c1", misses=(Miss(rule_id="find_order-1", reason="drew 0.71, needed less than 0.3"),)),
    )
    assert "drew 0.71, needed less than 0.3" in Tab(SESSION).literal
