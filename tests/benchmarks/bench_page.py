"""How long a click takes to the next pause in a real browser, in a long session beside a short one in the same run.

`tests/stories/test_deciding.py` goes the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest
from playwright.sync_api import expect

from tests.harness.browser import Studio, chromium, studio_server

SHORT, LONG = 10, 1_000
"""So many entries the two histories hold, at least, when the clicks begin."""

MOST = 1.3
"""How many times longer a click may take in the long session."""

CLICKS, ROUNDS = 6, 2
"""The sessions take turns: so many clicks in one, then in the other."""

_BATCH = 250

_AGENT = '''
"""Fills a history with as many calls as it is told, a few hundred at a time; then asks a person one thing after another."""

from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types


class Counter(BaseLlm):
    model: str = "counter"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        said = max(i for i, content in enumerate(llm_request.contents) if content.parts[0].text)
        made = [
            part.function_call
            for content in llm_request.contents[said + 1 :]
            for part in content.parts
            if part.function_call
        ]
        what, count = llm_request.contents[said].parts[0].text.split()
        if what == "fill":
            numbers = range(int(count)) if not made else []
        else:
            numbers = [len(made)] if len(made) < int(count) else []
        parts = [types.Part.from_function_call(name=what, args={"place": number}) for number in numbers]
        yield LlmResponse(content=types.Content(role="model", parts=parts or [types.Part(text="Done.")]))


def fill(place: int) -> dict[str, int]:
    """Fill one place."""
    return {"place": place}


def step(place: int) -> dict[str, object]:
    """Take one step."""
    return {"place": place, "words": "as many as a small answer has", "places": [1, 2, 3]}


root_agent = LlmAgent(name="counter", model=Counter(), instruction="Count.", tools=[fill, step])
'''

_CLICK = """([wanted]) => new Promise((shown) => {
    const arrived = () => {
        const code = document.querySelector('.st-key-pane_decision [data-testid="stCode"]');
        const heading = document.querySelector('.st-key-decision_heading');
        return heading && heading.checkVisibility() && code && code.innerText.includes(wanted);
    };
    const button = document.querySelector('.st-key-decision_buttons button');
    const observer = new MutationObserver(() => {
        if (arrived()) {
            observer.disconnect();
            requestAnimationFrame(() => shown(performance.now() - began));
        }
    });
    observer.observe(document.body, {childList: true, subtree: true, characterData: true});
    const began = performance.now();
    button.click();
})"""
"""Clicks the button that sends, and gives the milliseconds until the next call is drawn."""


@pytest.fixture
def tabs(tmp_path: Path) -> Iterator[tuple[Studio, Studio]]:
    """Two tabs on one server, each with a session of its own."""
    (tmp_path / "counter").mkdir()
    (tmp_path / "counter" / "__init__.py").write_text("from . import agent\n")
    (tmp_path / "counter" / "agent.py").write_text(_AGENT)
    with studio_server(tmp_path) as served, chromium() as browser:
        # A context of its own for each: tabs in the background of one window are drawn rarely.
        contexts = [browser.new_context(viewport={"width": 1440, "height": 900}) for _ in range(2)]
        first, second = (Studio(context, served.url).open() for context in contexts)
        yield first, second
        for context in contexts:
            context.close()


def entries(studio: Studio) -> int:
    """Read the length of the history."""
    found = re.search(r"\d+", studio.step_number())
    assert found is not None
    return int(found[0])


def grow(studio: Studio, least: int) -> None:
    """Let the real tool fill the history, then stand before the first of many calls that wait for a person."""
    studio.pick_agent("counter").start()
    studio.seat_real_tool("fill")
    while entries(studio) < least:
        count = min(_BATCH, (least - entries(studio)) // 2)
        studio.ask(f"fill {max(count, 1)}")
        studio.wait_for_status("Completed")
    studio.ask(f"step {CLICKS * ROUNDS + 5}")
    studio.wait_for_pause("step")


def clicks(studio: Studio, first: int) -> list[float]:
    """Accept one draft after another; return the milliseconds of each."""
    taken = []
    for place in range(first, first + CLICKS):
        expect(studio.decision.get_by_test_id("stCode").first).to_contain_text(f'"place": {place}')
        studio.rest()
        taken.append(float(studio.page.evaluate(_CLICK, [f'"place": {place + 1}'])))
    return taken


@pytest.mark.browser
def test_a_click_in_a_long_session_is_as_fast_as_in_a_short_one(tabs: tuple[Studio, Studio]) -> None:
    """Accepts drafts; measures from the click to the frame that shows the next call."""
    short, long = tabs
    grow(short, SHORT)
    grow(long, LONG)
    began = entries(long)
    taken: dict[str, list[float]] = {"short": [], "long": []}
    for turn in range(ROUNDS):
        taken["short"] += clicks(short, turn * CLICKS)
        taken["long"] += clicks(long, turn * CLICKS)
    in_short, in_long = median(taken["short"]), median(taken["long"])
    print(  # noqa: T201 - figures are what a benchmark is run for
        f"\nclick to next pause: {in_short:.0f} ms at {SHORT} entries, {in_long:.0f} ms at {began}: "
        f"{in_long / in_short:.2f} times (at most {MOST})"
    )
    assert began >= LONG
    assert in_long <= MOST * in_short
