"""Two tabs on one session show the same thing at once, and neither loses what is typed or done there."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import pytest
from playwright.sync_api import Browser, expect

from tests.harness.browser import Studio, visitor
from tests.harness.processes import Served

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.xdist_group("stories session")]

CANCEL = "Please cancel order A-1001 and refund me."
TYPED = '{"order_id": "A-1001", "status": "cancelled", "reason": "mine"}'
ROUNDS = 3

_WAIT = """(word) => {
  window.asked = new Promise((done) => { window.asks = () => done(Date.now()); });
  window.arrived = new Promise((done, late) => {
    setTimeout(() => late(new Error(`no ${word}`)), 30000);
    const look = () => {
      const heading = document.querySelector(".st-key-decision_heading");
      if (heading && heading.innerText.includes(word)) {
        done(Date.now());
        window.asks();
      } else setTimeout(look, 10);
    };
    look();
  });
}"""
"""Notes when the page asks the server for what is new, having heard that it is behind, and when the decision pane is headed by a word.

Where it came to that without having heard, because it looked by itself, both are the same moment.
"""

_HEARS = """(() => {
  const { send } = WebSocket.prototype;
  let hears = false;
  WebSocket.prototype.send = function (what) {
    if (this.url.endsWith("/wake")) this.addEventListener("message", () => { hears = true; });
    else if (hears && window.asks) { hears = false; window.asks(); }
    return send.call(this, what);
  };
})();"""
"""Lets a page tell when it asks the server for something after a word of the line that wakes it."""


def _second_of(tab: Studio, moment: str) -> float:
    return float(tab.page.evaluate(f"() => window.{moment}")) / 1000


def _lags(first: Studio, second: Studio, word: str, button: str) -> tuple[float, float]:
    """Click in the first tab; return how many seconds later than it shows what comes the second asks for that, and shows it."""
    first.rest()
    for tab in (first, second):
        tab.page.evaluate(_WAIT, word)
    first.press(first.like(button).get_by_role("button").last)
    shown = _second_of(first, "arrived")
    lags = _second_of(second, "asked") - shown, _second_of(second, "arrived") - shown
    first.wait_for_pause(word)
    second.wait_for_pause(word)
    return lags


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


def test_what_one_tab_does_is_in_the_other_at_once(tabs: tuple[Studio, Studio]) -> None:
    """What was typed there meanwhile, and not even sent, comes back with the call.

    At once means: the other tab asks for it within a second of when this one shows it, and does not only look by itself.
    How long a browser then takes to draw it is a matter of what else the machine does.
    """
    first, second = tabs
    first.open()
    first.pick_agent("order_desk").start(CANCEL)
    first.wait_for_pause("find_order").run_real()
    first.wait_for_pause("cancel_order")
    second.open(first.page.url)
    second.wait_for_pause("cancel_order")
    second.like("response_").get_by_role("textbox").fill(TYPED)
    lags = []
    for _ in range(ROUNDS):
        lags.append(_lags(first, second, "refund_order", "accept_"))
        lags.append(_lags(first, second, "cancel_order", "undo_step"))
    words = " ".join(f"{asked:.2f}/{shown:.2f}" for asked, shown in lags)
    print("seconds later than in the tab of the click, asked for and shown:", words)  # noqa: T201 - the figures
    assert median(asked for asked, _ in lags) < 1
    for tab in (second, first):
        expect(tab.like("response_").get_by_role("textbox")).to_have_value(TYPED)


def test_what_is_typed_is_kept_where_no_word_reaches_the_page(browser: Browser, server: Served) -> None:
    """A tab whose line is cut looks by itself; what it draws anew then is not put over what was typed there."""
    contexts = [visitor(browser) for _ in range(2)]
    contexts[1].route_web_socket("**/wake", lambda line: line.close())
    first, second = (Studio(context, server.url) for context in contexts)
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
    for context in contexts:
        context.close()


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
    expect(second.keyed("pane_context")).to_contain_text("Each call runs the real tool")
