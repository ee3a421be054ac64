"""The page fits: on a wide and on a narrow window, in light and in dark, nothing is cut off."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from tests.harness.browser import Studio
from tests.harness.processes import Served

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.xdist_group("stories session")]

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
    return outside;
}"""
"""Lists what is wider than the place it has."""


@pytest.mark.parametrize("width", [1440, 1024])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_off(
    browser: Browser, server: Served, scheme: Literal["light", "dark"], width: int
) -> None:
    """Each view of the page has room for all that is in it, and what sends an answer is in sight."""
    context = browser.new_context(viewport={"width": width, "height": 768}, color_scheme=scheme)
    studio = Studio(context, server.url).open()
    assert _outside(studio) == []
    studio.pick_agent("travel_planner").start("What is the weather like in Rome, Lisbon and Athens?")
    studio.wait_for_pause("get_weather")
    assert _background(studio) == {"light": "rgb(253, 253, 253)", "dark": "rgb(14, 17, 23)"}[scheme]
    expect(studio.button("accept_0")).to_be_in_viewport(ratio=1)
    for key, view in (
        *(("mode_", mode) for mode in ("Error", "Exception", "Response")),
        *(("style_", style) for style in ("Form", "Text", "JSON")),
        *(("context_view", view) for view in ("State", "Model", "Seats", "Rules")),
    ):
        studio.choose(key, view)
        assert _outside(studio) == [], view
    _environment_fits(studio)
    studio.settle()
    studio.button("accept_all").click()
    studio.wait_for_status("Completed")
    studio.button("open_export").click()
    studio.keyed("head_export_ways").wait_for()
    studio.rest()
    assert _outside(studio) == []
    assert studio.troubles == []
    context.close()


def _environment_fits(studio: Studio) -> None:
    studio.button("open_environment").click()
    studio.keyed("environment_tab").wait_for()
    for key, parts in (
        ("World", ("world_part", "Data", "Invariants", "Things")),
        ("Connections", ()),
        ("Sources", ("sources_part", "Model", "Memory", "Answer schemas", "Recordings")),
        ("Tools", ()),
    ):
        studio.choose("environment_tab", key)
        assert _outside(studio) == [], key
        for part in parts[1:]:
            studio.choose(parts[0], part)
            assert _outside(studio) == [], part
    studio.button("environment_back").click()
    studio.keyed("pane_timeline").wait_for()


def _outside(studio: Studio) -> list[str]:
    found: list[str] = studio.page.evaluate(_TOO_WIDE)
    return found


def _background(studio: Studio) -> str:
    return str(studio.page.get_by_test_id("stApp").evaluate("app => getComputedStyle(app).backgroundColor"))
