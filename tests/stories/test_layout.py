"""The page fits: on a wide and on a narrow window, in light and in dark, nothing is cut off."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from app.live.player_names import PLAYERS
from tests.harness.browser import ALL_LOADED_MS, Studio, visitor
from tests.harness.processes import Served

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.long]

_TOO_WIDE = """() => {
    const outside = [];
    const root = document.scrollingElement;
    if (root.scrollWidth > root.clientWidth) outside.push(`document ${root.scrollWidth} > ${root.clientWidth}`);
    const panes = document.querySelectorAll('[data-testid="stMain"], [class*="st-key-pane_"], [class*="st-key-start_form"]');
    for (const pane of panes) {
        if (pane.scrollWidth > pane.clientWidth) {
            outside.push(`${pane.className} ${pane.scrollWidth} > ${pane.clientWidth}`);
        }
    }
    for (const button of document.querySelectorAll('[data-testid="stMain"] button')) {
        const box = button.getBoundingClientRect();
        if (box.width && (box.right > window.innerWidth + 1 || box.left < 0)) {
            outside.push(`button ${button.innerText} from ${box.left} to ${box.right}`);
        }
    }
    const top = (one) => Math.round(one.getBoundingClientRect().top);
    for (const line of document.querySelectorAll('.st-key-decision_buttons, .st-key-export_buttons')) {
        const buttons = [...line.querySelectorAll('button')].filter((one) => one.getBoundingClientRect().width);
        if (new Set(buttons.map(top)).size > 1) outside.push(`wrapped: ${line.innerText}`);
    }
    for (const text of document.querySelectorAll('.st-key-ready_words_shown > :first-child')) {
        const share = text.getBoundingClientRect().width / text.parentElement.getBoundingClientRect().width;
        if (share < 0.3) outside.push(`preview of a candidate with a share of ${share}: ${text.innerText}`);
    }
    for (const line of document.querySelectorAll('[class*="st-key-head_"]')) {
        if (line.scrollWidth > line.clientWidth + 1) outside.push(`${line.className} ${line.scrollWidth} > ${line.clientWidth}`);
    }
    const cut = '[data-testid="stNumberInputContainer"] input, .st-key-start_players input';
    for (const input of document.querySelectorAll(cut)) {
        if (input.scrollWidth > input.clientWidth) outside.push(`cut: ${input.value}`);
    }
    if (document.querySelector('[data-testid="stSidebarNav"]')) outside.push('pages of files in the sidebar');
    return outside;
}"""
"""Lists what is wider than the place it has: parts of the page, lines of buttons, ready answers, numbers, names; and a list of pages that Streamlit made."""

_STAYS = f"""async () => {{
    for (let turn = 0; turn < 100; turn++) {{
        if (!({_TOO_WIDE})().length) return [];
        await new Promise((done) => setTimeout(done, 50));
    }}
    return ({_TOO_WIDE})();
}}"""
"""Gives what is too wide for as long as somebody would wait for a page to take its place."""

_DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Answers when the page has been drawn twice: what a new width sets going is done in the first drawing."""

_WIDTHS = (1440, 1024)
_HEIGHT = 768


def test_nothing_is_cut_off(browser: Browser, server: Served) -> None:
    """Each view of the page has room for all that is in it, and what sends an answer is in sight.

    Each view is looked at in both widths: from one to the next the window changes by turns.
    """
    context = visitor(browser, _WIDTHS[1], _HEIGHT, "dark")
    studio = Studio(context, server.url).open()
    expect(studio.like("agent_unread_")).to_have_count(0, timeout=ALL_LOADED_MS)
    assert _outside(studio) == []
    studio.pick_agent("travel_planner")
    _players_fit(studio)
    studio.start(
        "What is the weather like in Rome, Lisbon and Athens? I have a week in May, and want to know which of the three is warm enough to swim in the sea."
    )
    studio.wait_for_pause("get_weather")
    assert _background(studio) == "rgb(14, 17, 23)"
    _check_menu(studio)
    for now in _in_each_width(studio):
        expect(studio.button("accept_0")).to_be_in_viewport(ratio=1)
        if now < _WIDTHS[0]:  # the context is folded away where three panes have no room
            studio.click("context_show")
            studio.rest()
    for key, view in (
        *(("mode_", mode) for mode in ("Error", "Exception", "Response")),
        *(("style_", style) for style in ("Form", "Text", "JSON", "Both")),
        *(("context_view", view) for view in ("State", "Model", "Seats", "Rules")),
    ):
        studio.choose(key, view)
        assert _outside(studio) == [], view
    _check_rules(studio)
    _environment_fits(studio)
    studio.settle()
    studio.click("accept_all")
    studio.wait_for_status("Completed")
    studio.click("open_export")
    studio.keyed("head_export_ways").wait_for()
    studio.rest()
    assert _outside(studio) == []
    assert studio.troubles == []
    context.close()


def _check_menu(studio: Studio) -> None:
    """A menu has the colours of the dark scheme, though it is next to the app and not in it."""
    studio.click("fail_menu_")
    fault = studio.like("fail_with_http_503_").get_by_role("button")
    fault.hover()
    expect(fault).to_have_css("color", "rgb(169, 184, 255)")
    studio.page.keyboard.press("Escape")
    expect(fault).to_have_count(0)


_EDITOR = """() => {
    const inside = (part, frame) => {
        const all = frame ? frame.getBoundingClientRect() : {left: 0, top: 0, right: innerWidth, bottom: innerHeight};
        const one = part.getBoundingClientRect();
        return one.height > 0 && one.top >= all.top && one.left >= all.left && one.right <= all.right && one.bottom <= all.bottom;
    };
    const pane = document.querySelector('.st-key-pane_decision');
    const foot = document.querySelector('.st-key-decision_buttons').getBoundingClientRect();
    const field = document.querySelector('[class*="st-key-response_"] textarea');
    const send = document.querySelector('.st-key-decision_buttons [class*="st-key-accept_"] button');
    const below = [...document.querySelectorAll('[class*="st-key-context_view"] button')].filter((one) => one.getBoundingClientRect().width);
    return {
        field: inside(field) && inside(field, pane) && field.getBoundingClientRect().bottom <= foot.top,
        send: inside(send),
        tabs: below.every((one) => inside(one, one.closest('.stColumn'))),
        scrolled: pane.scrollTop + document.querySelector('[data-testid="stMain"]').scrollTop,
    };
}"""
"""Says whether the editor of the call and the button that sends it are whole in sight, and no view of the context is cut off."""


def test_the_editor_is_in_sight_without_scrolling(browser: Browser, server: Served) -> None:
    """Three calls wait: the editor of the first and what sends it are in sight, in each window, also at 150 %.

    The context is folded away where there is no room for it, and its views are whole where it is shown.
    """
    context = visitor(browser)
    studio = Studio(context, server.url).open()
    studio.pick_agent("travel_planner").start("What is the weather like in Rome, Lisbon and Athens?")
    studio.wait_for_pause("get_weather")
    expected = {"field": True, "send": True, "tabs": True, "scrolled": 0}
    for width, height in ((1440, 900), (1280, 800), (1024, 768), (960, 600)):
        studio.page.set_viewport_size({"width": width, "height": height})
        studio.page.evaluate(_DRAWN)
        assert _editor(studio) == expected, (width, height)
        assert studio.keyed("pane_context").is_visible() == (width == _WIDTHS[0]), width
    studio.click("context_show")
    expect(studio.keyed("pane_context")).to_be_visible()
    studio.page.reload()
    studio.wait_for_pause("get_weather")
    expect(studio.keyed("pane_context")).to_be_visible()
    assert _editor(studio) == expected
    studio.click("context_hide")
    expect(studio.keyed("pane_context")).to_be_hidden()
    assert studio.troubles == []
    context.close()


def _editor(studio: Studio) -> dict[str, object]:
    """Measure the editor and what sends it, once both are drawn."""
    expect(studio.like("response_").get_by_role("textbox")).to_be_visible()
    expect(studio.button("accept_0")).to_be_visible()
    found: dict[str, object] = studio.page.evaluate(_EDITOR)
    return found


_ENDS_EARLY = """
format: golden-trace-studio/script
version: 1
otherwise: fail
turns:
- say: Please cancel order A-1001 and refund me, because it came broken and much too late.
  moves:
  - {tool: refund_order, args: {order_id: B-1}, returns: {status: refunded}}
  - {tool: cancel_order, args: {order_id: B-1}, returns: {status: cancelled}}
"""


_ON_A_PHONE = """() => {
    const box = (key) => document.querySelector(`.st-key-${key}`).getBoundingClientRect();
    return {
        words: box('script_words').width > 0.6 * box('script_strip').width,
        decision: box('pane_decision').bottom <= box('pane_timeline').top,
    };
}"""
"""Says whether what a script has to say is a text and no column of letters, and whether the decision stands above the timeline."""


_EXPORT_HEAD = """() => {
    const back = document.querySelector('.st-key-export_back button'), words = back.querySelector('p');
    const head = document.querySelector('.st-key-export_head').getBoundingClientRect();
    return {
        lines: Math.round(words.getBoundingClientRect().height / parseFloat(getComputedStyle(words).lineHeight)),
        inside: back.getBoundingClientRect().right <= head.right + 1,
    };
}"""
"""Says on how many lines the way back from the export is, and whether it is within its line."""


def test_a_script_leaves_the_session_its_room(browser: Browser, server: Served) -> None:
    """What a script has to say takes one line, however much it is: the page need not be scrolled, and the rest is a click away."""
    context = visitor(browser, _WIDTHS[0], _HEIGHT)
    studio = Studio(context, server.url).open()
    studio.pick_agent("order_desk")
    expect(studio.like("agent_unread_")).to_have_count(0)
    studio.choose("start_from", "Script")
    studio.like("start_script_text").get_by_role("textbox").fill(_ENDS_EARLY)
    studio.click("play_script")
    expect(studio.keyed("script_strip")).to_contain_text("Script ended early")
    studio.wait_for_pause("find_order")
    assert _background(studio) == "rgb(253, 253, 253)"
    main = studio.page.get_by_test_id("stMain")
    for _ in _in_each_width(studio):
        for key in ("session_header", "script_strip"):
            expect(studio.keyed(key)).to_be_in_viewport(ratio=1)
        expect(studio.button("accept_")).to_be_in_viewport(ratio=1)
        assert main.evaluate("main => main.scrollHeight - main.clientHeight") <= 1
    assert _outside(studio) == []
    studio.page.set_viewport_size({"width": 390, "height": 844})
    assert studio.page.evaluate(_STAYS) == []
    assert studio.page.evaluate(_ON_A_PHONE) == {"words": True, "decision": True}
    studio.keyed("script_details").get_by_test_id("stPopoverButton").click()
    expect(studio.page.get_by_test_id("stPopoverBody")).to_contain_text("find_order")
    studio.page.keyboard.press("Escape")
    studio.click("open_export")
    studio.button("export_back").wait_for()
    for width in (390, 260, 960):  # a phone, also at 150 %, and a window of 1440 at 150 %
        studio.page.set_viewport_size({"width": width, "height": 844})
        assert studio.page.evaluate(_STAYS) == []
        assert studio.page.evaluate(_EXPORT_HEAD) == {"lines": 1, "inside": True}, width
    assert studio.troubles == []
    context.close()


def _players_fit(studio: Studio) -> None:
    """Look at who may play from the start: the longest name is whole, and one that lacks something says so."""
    studio.keyed("agent_tools").wait_for()
    expect(studio.like("agent_unread_")).to_have_count(0)
    studio.unfold("start_settings")
    longest = max((player.name for player in PLAYERS.values()), key=len)
    for name in (longest, PLAYERS["model"].name):
        studio.select("start_tool_player", name)
        assert _outside(studio) == [], name
    expect(studio.keyed("start_players")).to_contain_text("not available")
    studio.select("start_tool_player", PLAYERS["person"].name)


def _check_rules(studio: Studio) -> None:
    """Look at the page of the rules: what is beside their list, and the editor with conditions in a group."""
    studio.click("open_environment")
    studio.keyed("environment_head").wait_for()
    for side in ("Try it", "Sets and files", "Fault library"):
        studio.choose("rules_side", side)
        assert _outside(studio) == [], side
    studio.click("fault_add_")
    studio.keyed("head_rule_editor").wait_for()
    studio.rest()
    studio.press(studio.like("c0-add_group_rule").get_by_role("button"))
    studio.rest()
    assert _outside(studio) == [], "editor"
    studio.click("rule_save")
    studio.keyed("rule_unsaved").wait_for()
    studio.rest()
    assert _outside(studio) == [], "editor with a mistake"
    studio.click("rule_cancel")
    studio.rest()
    studio.click("environment_back")
    studio.keyed("session_header").wait_for()
    studio.rest()
    assert _outside(studio) == [], "session with a rule"


def _environment_fits(studio: Studio) -> None:
    """Look at the other parts of the environment's page."""
    studio.click("open_environment")
    studio.keyed("environment_tab").wait_for()
    for key, view in (
        ("environment_tab", "World"),
        *(("world_part", part) for part in ("Data", "Invariants", "Entities")),
        ("environment_tab", "Connections"),
        ("environment_tab", "Sources"),
        *(("sources_part", part) for part in ("Model", "Memory", "Response schemas", "Recordings")),
        ("environment_tab", "Tools"),
    ):
        studio.choose(key, view)
        assert _outside(studio) == [], view
    studio.click("environment_back")
    studio.keyed("session_header").wait_for()


def _in_each_width(studio: Studio) -> Iterator[int]:
    """Yield the window's width as it is, and then the other width, which the window has from then on."""
    size = studio.page.viewport_size
    assert size is not None
    yield size["width"]
    (other,) = {*_WIDTHS} - {size["width"]}
    studio.page.set_viewport_size({"width": other, "height": _HEIGHT})
    studio.page.evaluate(_DRAWN)
    yield other


def _outside(studio: Studio) -> list[str]:
    """List what is cut off, in either width; a window that has just changed its width is given some seconds to follow."""
    return [f"{width}: {each}" for width in _in_each_width(studio) for each in studio.page.evaluate(_STAYS)]


def _background(studio: Studio) -> str:
    return str(studio.page.get_by_test_id("stApp").evaluate("app => getComputedStyle(app).backgroundColor"))
