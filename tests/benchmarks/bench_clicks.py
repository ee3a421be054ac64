"""How long a click takes that answers a call with a form of twenty fields, beside a plain Streamlit page of as many elements.

Both are held to a ratio alone: the milliseconds of a machine tell of the machine. `tests/stories/test_deciding.py` goes the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.harness.browser import PATIENCE_MS, STREAMLIT, Studio, chromium, studio_server
from tests.harness.processes import free_port, quiet_environment, serve

CLICKS = 11
MOST_TIMES_PLAIN = 1.3
"""So many times longer than a click on the plain page the median may be, to the next pause and back."""

_AGENT = '''
"""Asks for one answer of twenty fields after another."""

from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types
from pydantic import create_model

Wide = create_model("Wide", place=(int, ...), **{f"field_{number}": (str, ...) for number in range(19)})


class Asker(BaseLlm):
    model: str = "asker"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        place = sum(bool(content.parts[0].function_response) for content in llm_request.contents)
        yield LlmResponse(
            content=types.Content(role="model", parts=[types.Part.from_function_call(name="wide", args={"place": place})])
        )


def wide(place: int) -> Wide:
    """Take one step."""
    return Wide(place=place, **{f"field_{number}": f"text {number}" for number in range(19)})


root_agent = LlmAgent(name="asker", model=Asker(), instruction="Ask.", tools=[wide])
'''

_PLAIN = """
import streamlit as st

st.session_state.setdefault("count", 0)

def count():
    st.session_state.count += 1

left, middle, right = st.columns(3)
with middle:
    st.button("Next", key="next", on_click=count)
    st.code(f'"place": {st.session_state.count}')
    for number in range(INPUTS):
        st.text_input(f"field {number}", f"text {number}", key=f"field_{number}_{st.session_state.count}")
with left:
    for number in range(OTHERS):
        st.text(f"text {number} at step {st.session_state.count}")
with right:
    for number in range(BUTTONS):
        st.button(f"button {number}", key=f"button_{number}")
"""
"""A page of as many inputs, buttons and other elements, all of which it draws again with each click."""

_CLICK = """([button, code, wanted]) => new Promise((shown) => {
    const arrived = () => [...document.querySelectorAll(code)].some((each) => each.innerText.includes(wanted));
    const observer = new MutationObserver(() => {
        if (arrived()) {
            observer.disconnect();
            requestAnimationFrame(() => shown(performance.now() - began));
        }
    });
    observer.observe(document.body, {childList: true, subtree: true, characterData: true});
    const began = performance.now();
    document.querySelector(button).click();
})"""
"""Clicks a button, and gives the milliseconds until the page shows a text."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser."""
    with chromium() as running:
        yield running


@pytest.fixture
def studio(browser: Browser, tmp_path: Path) -> Iterator[Studio]:
    """A session that waits for its first answer."""
    (tmp_path / "asker").mkdir()
    (tmp_path / "asker" / "__init__.py").write_text("from . import agent\n")
    (tmp_path / "asker" / "agent.py").write_text(_AGENT)
    with studio_server(tmp_path) as served:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        opened = Studio(context, served.url).open()
        opened.pick_agent("asker").start()
        opened.ask("Begin.")
        opened.wait_for_pause("wide")
        yield opened
        context.close()


@contextmanager
def plain(browser: Browser, folder: Path, **counts: int) -> Iterator[Page]:
    """Open a plain page of so many elements."""
    source = _PLAIN
    for name, count in counts.items():
        source = source.replace(name, str(count))
    (folder / "plain.py").write_text(source)
    port = free_port()
    command: list[str | Path] = [
        STREAMLIT,
        "run",
        folder / "plain.py",
        "--server.port",
        str(port),
        "--server.headless",
        "true",
    ]
    url = f"http://localhost:{port}"
    with serve(command, url=url, ready="/_stcore/health", environment=quiet_environment()):
        page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(url)
        expect(page.get_by_test_id("stCode")).to_contain_text('"place": 0')
        yield page
        page.context.close()


def clicked(page: Page, button: str, code: str, wanted: str) -> float:
    """Click once the page is at rest; return the milliseconds until it shows a text."""
    page.wait_for_function("() => !document.querySelector('[data-testid=\"stStatusWidget\"]')")
    return float(page.evaluate(_CLICK, [button, code, wanted]))


@pytest.mark.browser
def test_a_click_costs_little_more_than_in_plain_streamlit(
    studio: Studio, browser: Browser, tmp_path: Path
) -> None:
    """The studio and the plain page take turns; a step back is measured, too."""
    code = '.st-key-pane_decision [data-testid="stCode"]'
    counts = {
        name: studio.page.locator(f'[data-testid="{kind}"]').count()
        for name, kind in (
            ("INPUTS", "stTextInput"),
            ("BUTTONS", "stButton"),
            ("OTHERS", "stElementContainer"),
        )
    }
    counts["OTHERS"] -= counts["INPUTS"] + counts["BUTTONS"]
    taken: dict[str, list[float]] = {"next": [], "undo": [], "plain": []}
    with plain(browser, tmp_path, **counts) as page:
        for place in range(CLICKS):
            studio.rest()
            forth = clicked(studio.page, ".st-key-decision_buttons button", code, f'"place": {place + 1}')
            taken["next"].append(forth)
            studio.rest()
            taken["undo"].append(clicked(studio.page, ".st-key-undo_step button", code, f'"place": {place}'))
            studio.rest()
            clicked(studio.page, ".st-key-redo_step button", code, f'"place": {place + 1}')
            wanted = f'"place": {place + 1}'
            taken["plain"].append(clicked(page, ".st-key-next button", '[data-testid="stCode"]', wanted))
    forth, back, peer = (median(taken[name]) for name in ("next", "undo", "plain"))
    print(  # noqa: T201 - figures are what a benchmark is run for
        f"\nform of 20 fields, {sum(counts.values())} elements: {forth:.0f} ms to the next pause, {back:.0f} ms back"
        f"; plain Streamlit {peer:.0f} ms: {forth / peer:.2f} and {back / peer:.2f} times (at most {MOST_TIMES_PLAIN})"
    )
    assert max(forth, back) <= MOST_TIMES_PLAIN * peer
