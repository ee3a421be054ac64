"""Makes the pictures of the documents from the running studio, with the words that are on each: `make screenshots`.

`app/docs/pictures.json` keeps the words. A story compares them with those of today, so that no document shows a page that is gone.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from playwright.sync_api import Browser, expect

from evalset import EvalSetWriter, GoldenTraceBuilder
from evalset.recorded.recorder import record
from simulator import Seats, Simulation, demo_agent
from tests.harness.browser import Studio, chromium, studio_server, visitor
from tests.harness.processes import REPOSITORY

DOCS = REPOSITORY / "app" / "docs"
WORDS = DOCS / "pictures.json"
HOME = Path(tempfile.gettempdir()) / "golden-trace-studio"
"""Where the sessions and sets of the pictures are: their paths are in them."""
SIZE = {"width": 1440, "height": 900}
CANCEL = "Please cancel order A-1001 and refund me."
WEATHER = "What is the weather like in Rome, Lisbon and Athens?"
PATIENCE = 60.0

_VARIES = (
    (re.compile(re.escape(str(HOME))), "HOME"),
    (re.compile(re.escape(str(REPOSITORY))), "STUDIO"),
    (re.compile(r"\b[0-9a-f]{5,}\b"), "ID"),
    (re.compile(r"\b\d+(\.\d+)? (s|ms|min)\b"), "TIME"),
    (re.compile(r"\b\d{4}-\d\d-\d\d( \d\d:\d\d)?\b"), "DATE"),
    (re.compile(r"\b(passed|failed|Verify), \d\d:\d\d\b"), r"\1"),
    (re.compile(r" \u00b7 \d\d:\d\d\b"), ""),  # when a session was stored, which it may not be yet
)
"""What differs from one run to the next, and what stands for it."""

_SPOKEN = re.compile(r"\d+ options? available\b|option .* (focused|selected)")
"""What a list says to a screen reader for a while after it was used; no eye sees it."""

_OF_NOBODY = """(names) => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const renamed = (text) => names.reduce((so_far, [old, name]) => so_far.replaceAll(old, name), text);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (renamed(text.data) !== text.data) text.data = renamed(text.data);
  }
  for (const input of document.querySelectorAll("input, textarea")) input.value = renamed(input.value);
}"""
"""Writes other folders in place of those of this machine, on the page alone."""

Take = Callable[[str, Studio], None]
"""Is told of each page on the way: its picture's name, or nothing where no document shows it."""


@contextmanager
def of_person(browser: Browser, url: str, scheme: Literal["light", "dark"] = "light") -> Iterator[Studio]:
    """Open the studio in a browser of its own."""
    context = visitor(browser, SIZE["width"], SIZE["height"], scheme)
    yield Studio(context, url).open()
    context.close()


def take_all(browser: Browser, take: Take) -> None:
    """Go over the pages of the studio: each that a document shows, and others beside them."""
    shutil.rmtree(HOME, ignore_errors=True)
    variables = {"GOLDEN_TRACE_STORE": str(HOME / "sessions.db"), "GOLDEN_TRACE_DATA_DIR": str(HOME)}
    with studio_server(environment=variables) as server:
        with of_person(browser, server.url) as studio:
            _of_a_session(studio, take)
        with of_person(browser, server.url) as studio:
            _of_a_set(studio, take)
        with of_person(browser, server.url) as studio:
            _seeded(studio.pick_agent("order_desk")).start(CANCEL, agents="You")
            studio.wait_for_pause("next turn")
            take("agent", studio)
            studio.choose("kind_", "Call tools")
            studio.click("chip_find_order")
            studio.rest()
            expect(studio.decision.get_by_label("order_id", exact=True)).to_have_value("A-1001")
            take("", studio)
        with of_person(browser, server.url, "dark") as studio:
            _seeded(studio.pick_agent("travel_planner")).start(WEATHER)
            studio.wait_for_pause("get_weather")
            take("parallel-dark", studio)
    shutil.rmtree(HOME, ignore_errors=True)


def _seeded(studio: Studio) -> Studio:
    """Set the seed on the start page: what is drawn is the same in each run."""
    expect(studio.like("agent_unread_")).to_have_count(0)
    studio.rest()
    if not studio.like("start_seed").count():  # it is open where a seed was typed before
        studio.unfold("start_settings")
    studio.like("start_seed").get_by_role("textbox").fill("pictures")
    studio.like("start_seed").get_by_role("textbox").press("Tab")
    studio.rest()
    studio.like("start_settings").locator("summary").first.click()
    return studio


def _of_a_session(studio: Studio, take: Take) -> None:
    """Play a cancellation whose refund fails by a rule, and export it."""
    studio.pick_agent("order_desk")
    expect(studio.like("agent_unread_")).to_have_count(0)
    take("start", studio)
    _seeded(studio).start(CANCEL)
    studio.wait_for_pause("find_order")
    take("answer", studio)
    studio.click("open_environment")
    studio.keyed("environment_tab").wait_for()
    studio.rest()
    take("environment", studio)
    studio.choose("environment_tab", "World")
    studio.page.locator("canvas").first.wait_for()
    take("world", studio)
    studio.choose("environment_tab", "Connections")
    studio.page.locator("svg").get_by_text("reads order_id").first.wait_for()
    take("connections", studio)
    studio.choose("environment_tab", "Sources")
    take("", studio)
    studio.click("environment_back")
    studio.wait_for_pause("find_order")
    studio.add_error_rule("refund_order", 503, "The payment service is down.")
    studio.wait_for_pause("find_order").run_real()
    studio.wait_for_pause("cancel_order").accept_draft()
    studio.wait_for_status("Completed")
    take("completed", studio)
    studio.click("open_export")
    studio.keyed("head_export_ways").wait_for()
    studio.rest()
    studio.click("export_write")
    expect(studio.keyed("export_verified")).to_contain_text("Verified")
    studio.rest()
    take("export", studio)


def _of_a_set(studio: Studio, take: Take) -> None:
    """Open a case of a set as a timeline, and verify the set: one of its goldens was edited."""
    path = edited_set(HOME / "orders.evalset.json")
    studio.open(f"{studio.url}/?page=sets")
    take("", studio)
    studio.open(f"{studio.url}/?page=sets&set={quote(str(path))}")
    expect(studio.keyed("cases_count")).to_contain_text("2 cases")
    studio.rest()
    take("", studio)
    studio.like("cases_table_").get_by_test_id("stDataFrameResizable").click(position={"x": 16, "y": 52})
    expect(studio.keyed("case_title")).to_have_text("cancel_and_refund")
    studio.rest()
    studio.unfold("case_step_cancel_and_refund_0_2")
    studio.rest()
    take("case", studio)
    studio.click("case_back")
    studio.choose("set_tab", "Run")
    studio.click("verify_go")
    studio.keyed("divergence").wait_for()
    studio.rest()
    take("verify", studio)
    studio.click("verify_keep")
    studio.choose("set_tab", "Kept runs")
    studio.like("runs_folder").first.wait_for()
    take("", studio)


def recorded_set(path: Path, queries: dict[str, str]) -> Path:
    """Write a set of recorded cases of the order desk, by the ids of these."""
    config = demo_agent("order_desk")
    for eval_id, query in queries.items():
        with Simulation.open(config, seats=Seats(tools={"*": "offline"}), seed="seed") as simulation:
            assert simulation.query(query, wait=PATIENCE)
            facts = [fact for _, fact in simulation.journal.path()]
            case = GoldenTraceBuilder(simulation.session, eval_id=eval_id).build()
            EvalSetWriter(path, "order_desk").write_eval_case(case)
            record(path, eval_id, simulation.session, facts, config.root_agent)
    return path


def edited_set(path: Path) -> Path:
    """Write a set of two recorded cases; in the golden of the first one an argument was edited afterwards."""
    recorded_set(path, {"cancel_and_refund": CANCEL, "where_is_it": "Where is order A-1002?"})
    document = json.loads(path.read_text())
    calls = document["eval_cases"][0]["conversation"][0]["intermediate_data"]["tool_uses"]
    calls[-1]["args"]["amount"] = 1.0
    path.write_text(json.dumps(document, indent=2))
    return path


def words_of(studio: Studio) -> list[str]:
    """Return the lines of words on the page, without what differs from run to run."""
    studio.rest()
    text = studio.page.locator("body").inner_text()
    for varies, name in _VARIES:
        text = varies.sub(name, text)
    lines = (each.strip() for each in text.splitlines())
    return [line for line in lines if line and not _SPOKEN.match(line)]


def main() -> None:
    """Write the pictures, in 256 colours, and their words."""
    from PIL import Image  # noqa: PLC0415 - Streamlit brings it; only here is it needed

    words: dict[str, list[str]] = {}

    def take(name: str, studio: Studio) -> None:
        if not name:
            return
        words[name] = words_of(studio)
        file = DOCS / f"{name}.png"
        studio.page.evaluate(_OF_NOBODY, [[str(REPOSITORY), "~/studio"], [str(HOME), "~/traces"]])
        studio.page.mouse.move(1, 1)
        studio.page.screenshot(path=file, animations="disabled", caret="hide")
        Image.open(file).convert("RGB").quantize(256).save(file, optimize=True)
        sys.stdout.write(f"{file}\n")

    with chromium() as browser:
        take_all(browser, take)
    WORDS.write_text(json.dumps(words, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
