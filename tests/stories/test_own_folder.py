"""A folder of agents that somebody brings along, in the list on the start page."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from simulator.agents import AGENTS_VARIABLE, DEMOS
from tests.harness.browser import ALL_LOADED_MS, Studio, studio_server, visitor
from tests.harness.tiny_agent import write_tiny_agent

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.long]


_WATCH = """() => {
  const parts = (start) => document.querySelectorAll(`[class*="st-key-${start}"]`);
  const keyed = (part) => [...part.classList].find((name) => name.startsWith("st-key-"));
  const place = (part) => Math.round(part.getBoundingClientRect().top);
  const places = new Map([...parts("agent_card_")].map((card) => [keyed(card), place(card)]));
  const buttons = new Map([...parts("choose_")].map((one) => [keyed(one), one.querySelector("button")]));
  window.replaced = new Set();
  window.moved = {};
  new MutationObserver(() => {
    for (const one of parts("choose_"))
      if (buttons.has(keyed(one)) && buttons.get(keyed(one)) !== one.querySelector("button")) replaced.add(keyed(one));
    for (const card of parts("agent_card_"))
      if (places.has(keyed(card)) && Math.abs(places.get(keyed(card)) - place(card)) > 2) moved[keyed(card)] ??= [places.get(keyed(card)), place(card), document.querySelector(".st-key-agent_list").innerText];
  }).observe(document.body, { childList: true, subtree: true });
}"""
"""Notes which cards get a new button or another place, by more than two pixels, from now on: the first time with what the list showed then."""

_WITHOUT_ITS_LINE = """(card) => {
  const line = card.querySelector('[class*="st-key-agent_line_"]'), before = card.offsetHeight;
  for (const part of line.children) part.style.display = "none";
  const shrinks = before - card.offsetHeight;
  for (const part of line.children) part.style.display = "";
  return shrinks;
}"""
"""Returns by how much a card shrinks while the text of its line is being replaced, as a busy machine shows."""

_WHEN_TOLD = """
from pathlib import Path
from time import sleep

while not Path({gate!r}).exists():
    sleep(0.02)
"""
_FAILS = 'raise ImportError("no module of mine has this name")'
_LISTS = """
from google.adk.agents import LlmAgent
from simulator import SimulatedAgentConfig

configs = [
    SimulatedAgentConfig(name=name, agent=LlmAgent(name=name, model="gemini-2.5-flash"), eval_set_path=name, app_name=name)
    for name in ("listed_one", "listed_two", "listed_three")
]
"""


def test_cards_stay_where_they_are_while_agents_load(browser: Browser, tmp_path: Path) -> None:
    """Neither an agent that fails nor a file of several takes a card from under the mouse; the file's part of the list grows."""
    gate, listed, folder = tmp_path / "gate", tmp_path / "listed.py", tmp_path / "agents"
    for name in ("adder", "whole"):  # before and after the one that fails
        write_tiny_agent(folder, name)
    (folder / "broken").mkdir(parents=True)
    (folder / "broken" / "agent.py").write_text(_WHEN_TOLD.format(gate=str(gate)) + _FAILS)
    listed.write_text(_WHEN_TOLD.format(gate=str(gate)) + _LISTS)
    with studio_server(folder, environment={AGENTS_VARIABLE: str(listed)}) as fresh:
        studio = Studio(visitor(browser), fresh.url).open()
        for name in ("adder", *DEMOS):
            expect(studio.keyed(f"choose_{name}").get_by_role("button")).to_be_visible()
        studio.still(studio.keyed("agent_card_whole"))
        studio.page.evaluate(_WATCH)
        assert studio.keyed("agent_card_broken").evaluate(_WITHOUT_ITS_LINE) == 0
        # An import that takes long changes its line.
        expect(studio.keyed("agent_slow_broken")).to_be_visible()
        gate.touch()
        expect(studio.like("agent_unread_")).to_have_count(0, timeout=ALL_LOADED_MS)
        studio.rest()
        expect(studio.keyed("agent_failure_broken")).to_be_visible()
        expect(studio.keyed("choose_listed_three")).to_be_visible()
        still_there = "[...window.replaced].filter((name) => document.querySelector(`.${name}`))"
        assert studio.page.evaluate(still_there) == []
        moved = studio.page.evaluate("window.moved")
        assert moved.keys() <= {f"st-key-agent_card_{demo}" for demo in DEMOS}, moved
        studio.keyed("agent_card_whole").get_by_text("No description").click(force=True)
        expect(studio.keyed("agent_chosen_whole")).to_be_visible(timeout=20_000)  # by a click anywhere on it
        studio.page.context.close()
