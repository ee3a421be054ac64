"""Two tabs on one session show the same thing, and neither loses what is typed or done there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.harness.browser import Studio, visitor
from tests.harness.processes import Served

pytestmark = [pytest.mark.browser, pytest.mark.process]

CANCEL = "Please cancel order A-1001 and refund me."
TYPED = '{"order_id": "A-1001", "status": "cancelled", "reason": "mine"}'

_HEARS = """(() => {
  const { send } = WebSocket.prototype;
  let hears = false;
  window.answeredWords = 0;
  WebSocket.prototype.send = function (what) {
    if (this.url.endsWith("/wake")) this.addEventListener("message", () => { hears = true; });
    else if (hears) { hears = false; window.answeredWords++; }
    return send.call(this, what);
  };
})();"""
"""Counts how often a page asks the server for what is new after a word of the line that wakes it."""


@pytest.fixture
def tabs(browser: Browser, server: Served) -> Iterator[tuple[Studio, Studio]]:
    """Two tabs, each in a window of its own: one in the background of the other would be drawn rarely."""
    contexts = [visitor(browser) for _ in range(2)]
    for context in contexts:
        context.add_init_script(_HEARS)
    first, second = (Studio(context, server.url) for context in contexts)
    yield first, second
    for context in contexts:
        context.close()
    assert [*first.troubles, *second.troubles] == []


def _type_here_and_act_there(first: Studio, second: Studio) -> None:
    """Type for a call in the second tab, answer it in the first and undo that: what was typed is in both."""
    first.open().pick_agent("order_desk").start(CANCEL)
    first.wait_for_pause("find_order").run_real()
    first.wait_for_pause("cancel_order")
    second.open(first.page.url)
    second.wait_for_pause("cancel_order")
    second.like("response_").get_by_role("textbox").fill(TYPED)
    first.accept_draft()
    second.wait_for_pause("refund_order")
    first.act(first.button("undo_step"))
    for tab in (second, first):
        tab.wait_for_pause("cancel_order")
        expect(tab.like("response_").get_by_role("textbox")).to_have_value(TYPED)


def test_what_one_tab_does_is_in_the_other(tabs: tuple[Studio, Studio]) -> None:
    """It is woken for that, and does not only look by itself; what was typed there and not even sent comes back with its call.

    Either of them can go on from there.
    """
    first, second = tabs
    _type_here_and_act_there(first, second)
    second.run_real()
    first.wait_for_pause("refund_order")
    assert first.steps == second.steps
    assert second.page.evaluate("window.answeredWords") > 0


@pytest.mark.long
def test_what_is_typed_is_kept_where_no_word_reaches_the_page(browser: Browser, server: Served) -> None:
    """A tab whose line is cut looks by itself; what it draws anew then is not put over what was typed there."""
    contexts = [visitor(browser) for _ in range(2)]
    contexts[1].route_web_socket("**/wake", lambda line: line.close())
    first, second = (Studio(context, server.url) for context in contexts)
    _type_here_and_act_there(first, second)
    for context in contexts:
        context.close()


@pytest.mark.long
def test_a_list_that_is_open_stays_open(tabs: tuple[Studio, Studio]) -> None:
    """What another tab does is drawn here, and the choice that was about to be made can still be made."""
    first, second = tabs
    first.open()
    first.pick_agent("order_desk").start(CANCEL)
    first.wait_for_pause("find_order")
    second.open(first.page.url)
    second.wait_for_pause("find_order")
    second.choose("context_view", "Seats")
    second.keyed("seat_tool_find_order").get_by_role("combobox").click()
    chosen = second.page.get_by_role("option", name="Real tool", exact=True)
    chosen.wait_for()
    first.run_real()
    second.wait_for_pause("cancel_order")
    chosen.click()
    second.rest()
    expect(second.keyed("pane_context")).to_contain_text("the real tool")
