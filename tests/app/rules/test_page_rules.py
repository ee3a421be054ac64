"""The rules on their own page and beside a session: listed, written, mended, switched, explained, tried and previewed while it runs."""

from __future__ import annotations

import re
from typing import Any

import pytest

from simulator.environment.injection.conditions import AnyOf, ArgumentIs, CallNumber, Equals, Not
from simulator.environment.injection.distortions import Distortion
from simulator.environment.injection.rule_effects import (
    DistortEffect,
    ErrorEffect,
    LogNormalLatency,
    ResponseEffect,
    SequenceEffect,
)
from simulator.environment.injection.rules import InjectionRule, Miss
from simulator.facts import Provenance, Returned
from simulator.session.commands import FailCall, SwitchRule
from tests.app.fakes import FakeSimulation, paused, put_live, rule, tool_request
from tests.app.page_driver import HOSTILE, Tab

SESSION = "session-0001-abcdef"


@pytest.fixture
def simulation() -> FakeSimulation:
    """A session with a call that was answered and one that waits."""
    fake = FakeSimulation(SESSION).ask("Where is order A-1?").call("c0", order_id="A-0")
    fake.give("c0", Returned(value={"status": "shipped", "lines": [{"sku": "mug"}]})).call(
        "c1", order_id="A-1"
    )
    fake.pending = (tool_request("c1"),)
    put_live(fake)
    return fake


class Page(Tab):
    """The page of the rules, with the editor's inputs by their names."""

    def __init__(self) -> None:
        super().__init__(SESSION)
        self.click("open_environment")

    def input_key(self, name: str) -> str:
        """Return the key of the editor's input with this name."""
        return self.key(f"{name}_rule-")

    def put(self, name: str, value: Any) -> Page:
        """Put a value into the editor's input with this name."""
        self.fill(self.input_key(name), value).run()
        return self

    def press(self, name: str) -> Page:
        """Click a button of the editor."""
        self.click(self.input_key(name))
        return self

    def menu(self, rule_id: str, item: str) -> Page:
        """Choose from the menu of a rule."""
        self.fill(f"rule_menu_{rule_id}", item).run()
        return self


def the_rule(simulation: FakeSimulation) -> InjectionRule:
    """Return the one rule in force."""
    (only,) = simulation.session.rules
    return only


def test_a_rule_is_written_in_the_editor(simulation: FakeSimulation) -> None:
    """What was chosen and typed is in force once it is saved, and the editor is closed; a preset fills the error in.

    A spread of latencies is shown as a curve with its quantiles.
    """
    page = Page().click("rule_add")
    assert isinstance(page, Page)
    page.put("error.code", 429).put("error.message", "Too many").put("name", "busy")
    page.click("rule_save")
    assert the_rule(simulation) == rule("busy", effect=ErrorEffect(error_code=429, error_message="Too many"))
    assert not page.has("rule_save")
    assert "find_order: error 429" in page.literal
    page.click("rule_add")
    page.put("error:preset", "http_404").click("rule_save")
    effect = simulation.session.rules[-1].effect
    assert isinstance(effect, ErrorEffect)
    assert effect.error_code == 404
    assert effect.details
    page.click("rule_add")
    page.put("l.kind", "log_normal").put("l.median", 2.0)
    assert re.search(r"50 %.* 2 s\b", page.words)
    page.click("rule_save")
    assert simulation.session.rules[-1].latency == LogNormalLatency(median=2.0)


@pytest.mark.long
def test_conditions_are_built_in_rows_and_groups(simulation: FakeSimulation) -> None:
    """Rows are added, turned, nested and removed; the values are of the type that earlier calls had."""
    page = Page()
    page.click("rule_add")
    page.press("c0:add").put("c1.path", "order_id").put("c1.value", "A-1")
    page.fill(page.input_key("c1.not"), True)
    page.press("c0:add_group").put("c3.kind", "call_number").put("c3.n", 3)
    page.press("c2:add").press("c2:add").put("c4.path", "order_id").press("c5:remove")
    page.press("c4:remove").put("c0.kind", "any_of").click("rule_save")
    first = Not(condition=ArgumentIs(path="order_id", test=Equals(value="A-1")))
    group = AnyOf(conditions=(CallNumber(which="nth", n=3),))
    assert the_rule(simulation).when == AnyOf(conditions=(first, group))


def test_a_rule_that_cannot_be_read_stays_in_its_editor(simulation: FakeSimulation) -> None:
    """Broken JSON is named at its input, nothing is saved, the text is still there, also after a refresh, and where the session refuses.

    A new row says nothing wrong; saved empty, it says what it needs.
    """
    page = Page()
    page.click("rule_add")
    assert not page.press("c0:add").keys("rule_unsaved")
    assert page.click("rule_save").keys("rule_unsaved")
    page.press("c1:remove").put("e.kind", "response").put("response.value", "{'order_id': 1}")
    page.click("rule_save")
    assert simulation.session.rules == ()
    assert "1 problem " in page.words
    assert "Line 1, column 2" in page.literal
    again = Page()
    assert again.app.text_area(key=again.input_key("response.value")).value == "{'order_id': 1}"
    again.put("response.value", '{"order_id": 1}')
    simulation.fails_with = "refused"
    again.click("rule_save")
    assert "refused" in again.literal
    assert again.app.text_area(key=again.input_key("response.value")).value == '{"order_id": 1}'


@pytest.mark.long
def test_a_rule_saved_as_it_was_is_no_change(simulation: FakeSimulation) -> None:
    """The editor closes, and the session has no further step. A switch in the list meanwhile loses nothing in it, and the rule stays off."""
    simulation.set_rules([rule()])
    before = list(simulation.asked)
    page = Page()
    page.click("rule_edit_find_order-1").click("rule_save")
    assert not page.has("rule_save")
    assert simulation.asked == before
    assert the_rule(simulation) == rule()
    page.click("rule_edit_find_order-1")
    page.put("error.message", "mine")
    page.fill("rule_on_find_order-1", False).run()
    page.run().click("rule_save")
    saved = the_rule(simulation)
    assert (saved.enabled, saved.effect) == (False, ErrorEffect(error_code=503, error_message="mine"))


def test_the_editor_previews_what_the_agent_gets(simulation: FakeSimulation) -> None:
    """The call that waits shows what the rule would make of it: the draft before and after, or the answer filled in."""
    effects: dict[str, tuple[Any, str]] = {
        "cut": (DistortEffect(distortions=(Distortion(kind="drop", at="status"),)), "status: removed"),
        "fill": (
            ResponseEffect(value={"id": "{{ args.order_id }}"}, templated=True),
            '{"id": "A-1"}',
        ),
        "turns": (SequenceEffect(values=({"n": 1}, {"n": 2})), '{"n": 1}'),
    }
    simulation.set_rules([rule(name, effect=effect) for name, (effect, _) in effects.items()])
    page = Page()
    for name, (_, shown) in effects.items():
        assert shown in page.click(f"rule_edit_{name}").literal
        page.click("rule_cancel")


@pytest.mark.long
def test_the_editor_tries_the_rule_as_it_stands(simulation: FakeSimulation) -> None:
    """Before it is saved, a rule says of a past call whether it would have fired, and why not."""
    simulation.set_rules([rule(match_args={"order_id": "A-0"})])
    page = Page()
    page.click("rule_edit_find_order-1")
    assert "A-0" in page.literal
    assert not _fires(page)
    assert _fires(page.put("match", ""))
    assert _fires(page.put("match", '{"order_id": "A-0"}').put("try_call", "c0"))
    assert the_rule(simulation).match_args == {"order_id": "A-0"}


def _fires(page: Page) -> bool:
    """Return whether the mark of a rule that fires is on the page."""
    return ":material/bolt:" in page.words


def test_rules_are_copied_moved_deleted_and_brought_back(simulation: FakeSimulation) -> None:
    """The menu of a rule changes the list; what was deleted comes back to its place."""
    simulation.set_rules([rule("a"), rule("b")])
    page = Page().menu("a", "Duplicate").menu("b", "Move to top").menu("b", "Delete")
    assert [each.rule_id for each in simulation.session.rules] == ["a", "a-copy-1"]
    page.click("rule_undelete")
    assert [each.rule_id for each in simulation.session.rules] == ["b", "a", "a-copy-1"]


def test_nothing_from_outside_comes_alive(simulation: FakeSimulation) -> None:
    """Names, arguments, answers and rules are shown letter for letter, in the list and in the editor."""
    simulation.call("c9", HOSTILE, **{HOSTILE: HOSTILE}).give(
        "c9", Returned(value={HOSTILE: HOSTILE}), HOSTILE
    )
    condition = ArgumentIs(path="order_id", test=Equals(value=HOSTILE))
    effect = DistortEffect(distortions=(Distortion(kind="hostile", text=HOSTILE),))
    simulation.set_rules([rule(HOSTILE, tool_name=HOSTILE, label=HOSTILE, when=condition, effect=effect)])
    page = Page()
    assert page.live_marks() == []
    page.click(page.key("rule_edit_"))
    page.put("match", f'{{"{HOSTILE}": }}')
    assert page.live_marks() == []


def test_a_fault_is_found_by_words_and_given_to_a_tool(simulation: FakeSimulation) -> None:
    """Searching narrows the cards, and so does a kind; adding one puts its rule in force for the chosen tool and opens it for editing."""
    page = Page()
    page.fill("search_fault-library", "zzzzqq").run()
    assert page.keys("fault_add_") == []
    page.fill("search_fault-library", "too many requests").run()
    assert page.keys("fault_add_")[0] == "fault_add_http_429"
    page.fill("tool_fault-library", "refund_order").run().click("fault_add_http_429")
    added = the_rule(simulation)
    assert (added.rule_id, added.tool_name) == ("http_429", "refund_order")
    assert page.app.text_input(key=page.input_key("name")).value == "http_429"
    page.click("rule_cancel").type("search_fault-library", "").fill("kind_fault-library", "people")
    (only,) = page.run().keys("fault_add_")
    page.click(only).click("rule_cancel").click(only)
    name = only.removeprefix("fault_add_")
    assert [each.rule_id for each in simulation.session.rules] == ["http_429", name, f"{name}-1"]


@pytest.fixture
def waiting() -> FakeSimulation:
    """A session that waits for an answer."""
    return paused(SESSION)


def test_each_rule_says_what_it_does_and_is_switched_and_edited(waiting: FakeSimulation) -> None:
    """A line of words and a count, but of a rule that never fired; the toggle switches it off once, and follows the session after that.

    The pencil of a rule leads to its editor, on the rules' own page.
    """
    waiting.set_rules([rule(match_args={"order_id": "A-1"}), rule("other")])
    by = Provenance(source="injected", by="find_order-1", fired=("find_order-1",))
    waiting.give("c1", provenance=by).call("c2").give("c2", provenance=by)
    waiting.pending = ()
    waiting.asked.clear()
    tab = Tab(SESSION)
    assert 'find_order: error 503 \u201cbusy\u201d, when order_id is "A-1"' in tab.literal
    assert tab.words.count("2\u00d7") == 1
    tab.fill("rule_on_find_order-1", False).run().run()
    assert waiting.asked == [SwitchRule(rule_id="find_order-1", enabled=False)]
    assert tab.app.toggle(key="rule_on_find_order-1").value is False
    waiting.switch_rule("find_order-1", enabled=True)
    assert tab.run().app.toggle(key="rule_on_find_order-1").value is True
    tab.click("rule_edit_other")
    assert tab.app.text_input(key=tab.key("name_rule")).value == "other"
    assert tab.click("rule_cancel").has("environment_tab")
    assert not tab.has("rule_save")


def test_of_many_rules_that_did_not_answer_the_rail_names_the_nearest(waiting: FakeSimulation) -> None:
    """Twenty stand there with their reasons, the nearest first, and how many more there are; those that came while the call waits are told, too."""
    misses = [Miss(rule_id=f"r{n}", reason="switched off", nearness=n / 100) for n in range(25)]
    waiting.pending = (tool_request("c1", misses=tuple(misses)),)
    waiting.set_rules([rule(miss.rule_id) for miss in misses])
    tab = Tab(SESSION)
    assert tab.literal.count("r24: switched off") == 2
    assert tab.literal.index("r24: ") < tab.literal.index("r23: ")
    assert tab.literal.count("r4: switched off") == 1
    assert "and 5 more" in tab.words
    waiting.pending = (tool_request("c1"),)
    waiting.set_rules([rule("late")])
    assert "late: " in tab.run().literal


def test_a_rule_is_written_where_the_session_is(waiting: FakeSimulation) -> None:
    """The editor opens over the session, for the tool that waits; its keys send no answer, and the added rule is named.

    A page that is loaded again opens it where something in it is not saved.
    """
    tab = Tab(SESSION)
    accept = tab.key("accept_")
    assert tab.app.button(key=accept).proto.shortcut
    tab.unfold("rule_here").click("rule_cancel")
    assert not tab.has("rule_save")
    tab.unfold("rule_here")
    assert not tab.app.button(key=accept).proto.shortcut
    assert tab.app.text_input(key=tab.key("tool_rule")).value == "find_order"
    tab.fill("chance_rule", None)
    assert tab.click("rule_save").has("rule_save")
    assert list(waiting.session.rules) == []
    tab.fill("chance_rule", 50).click("rule_save")
    assert [each.probability for each in waiting.session.rules] == [0.5]
    assert not tab.has("rule_save")
    assert tab.app.button(key=accept).proto.shortcut
    assert "**find_order-1**" in tab.words
    assert tab.keys("pane_timeline")
    assert not Tab(SESSION).has("rule_save")
    tab.unfold("rule_here").type("name_rule", "slow")
    again = Tab(SESSION)
    assert again.app.text_input(key=again.key("name_rule")).value == "slow"
    assert not again.app.button(key=accept).proto.shortcut
    assert not again.click("rule_cancel").has("rule_save")
    assert waiting.session.rules[0].rule_id not in tab.click("rule_added_undo").words
    assert list(waiting.session.rules) == []


def test_a_fault_is_added_where_the_session_is(waiting: FakeSimulation) -> None:
    """The library opens over the session; what was added is named with the ways to change it and to take it away again."""
    tab = Tab(SESSION).unfold("library_here").click("fault_add_http_400")
    assert [each.rule_id for each in waiting.session.rules] == ["http_400"]
    assert tab.keys("pane_timeline")
    assert "**400 Bad Request**" in tab.words
    tab.click("rule_added_undo")
    assert waiting.session.rules == ()
    assert not tab.has("rule_added_undo")
    tab.click("fault_add_http_400").click("rule_added_edit")
    assert tab.app.segmented_control(key="environment_tab").value == "Rules"
    assert tab.keys("pane_rule_editor")


def test_a_fault_answers_the_waiting_call_alone(waiting: FakeSimulation) -> None:
    """It is handed over with the call's key, and with the response that it may change; there is no rule of it."""
    tab = Tab(SESSION)
    tab.unfold(tab.key("accept_").replace("accept_", "fail_menu_"))
    tab.click(tab.key("fail_with_distort_truncate_"))
    (asked,) = waiting.asked
    assert isinstance(asked, FailCall)
    assert (asked.key, asked.rule.rule_id) == ("tool-c1", "distort_truncate")
    assert asked.outcome == Returned(value={"status": "shipped"})
    tab.fill("fail_search_", "slow").run()
    assert tab.app.button(key=tab.key("fail_with_http_504_")).label == "504 Gateway Timeout, after 10 s"
    tab.click(tab.key("fail_with_latency_fixed_"))
    late = waiting.asked[-1]
    assert isinstance(late, FailCall)
    assert (late.rule.latency_seconds, late.outcome) == (2.0, asked.outcome)
    assert waiting.session.rules == ()
