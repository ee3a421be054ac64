"""Sits in front of the studio as a person does: finds what is on the page by its labels and keys, and waits for what a click brings."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from tests.harness.processes import REPOSITORY, Served, quiet_environment, serve
from tests.harness.reruns import Reruns

_SOMETHING = re.compile(r"\S")

PATIENCE_MS = 60_000
"""After so many milliseconds something that was waited for does not come any more."""
ALL_LOADED_MS = 180_000
"""A dozen agents, each in a process that imports ADK, beside whatever else the machine does."""

STREAMLIT = REPOSITORY / ".venv" / "bin" / "streamlit"
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
    # Letters stand where the page puts them, not at whole pixels.
    "--font-render-hinting=none",
    # Nobody but this machine is asked: no page may wait for a font from elsewhere.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
)
_CHROMIUMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first is Chromium without the window that a headless test never sees: it takes less time and memory."""

_AFTER_WHAT_WAS_DONE = """async () => {
  for (let turn = 0; turn < 5; turn++) await new Promise((done) => setTimeout(done));
}"""
"""Answers when the page has done what its last key or click sets going, and what it sent for that has been heard here."""

_HAS_DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Answers when the page has drawn what it has heard."""

_AT_REST = (
    '[data-testid="stApp"][data-test-connection-state="CONNECTED"][data-test-script-state="notRunning"]'
)
"""The page, while its script does not run. `expect` is slow here: each time it looks and finds something else, it describes the whole page for its
error, which takes the page a tenth of a second."""

_STANDS_STILL = """async (part) => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const where = () => JSON.stringify(part.getBoundingClientRect());
  const ends = (one) => one.playState === "running" && Number.isFinite(one.effect.getComputedTiming().endTime);
  for (let still = 0, turns = 0; still < 5 && turns < 600; turns++) {
    const before = where();
    await frame();
    still = where() === before && !document.getAnimations().some(ends) ? still + 1 : 0;
  }
}"""
"""Answers when a part has its place and size for some frames, and nothing on the page grows or moves any more.

Nobody presses a button that still moves; a browser that is steered would, and let go beside it.
"""


def chromium_path() -> str:
    """Return the browser's program: what the variable CHROMIUM names, else what the machine has."""
    names = (os.environ.get("CHROMIUM", ""), *_CHROMIUMS)
    return next(found for name in names if name and (found := shutil.which(name)))


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run a headless browser while the block runs.

    No other event loop can run in this thread meanwhile.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=_ARGUMENTS)
        expect.set_options(timeout=PATIENCE_MS)
        yield browser
        browser.close()


def visitor(
    browser: Browser,
    width: int = 1440,
    height: int = 900,
    scheme: Literal["light", "dark"] = "light",
) -> BrowserContext:
    """Make the browser of one person, who has asked for less motion.

    What moves is drawn sixty times a second, and a third of a story's time went into that.
    """
    return browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )


@contextmanager
def studio_server(
    agents_dir: Path | None = None, *, environment: Mapping[str, str] | None = None
) -> Iterator[Served]:
    """Run the studio as `streamlit run app` does, without any key, while the block runs."""
    options = ["--server.port", "0", "--server.headless", "true"]
    agents: list[str | Path] = ["--agents-dir", agents_dir.resolve()] if agents_dir else []
    variables = quiet_environment(**(environment or {}))
    command: list[str | Path] = [STREAMLIT, "run", "app", *options, "--", *agents]
    address = "http://localhost:{port}"
    with serve(command, url=address, ready="/_stcore/health", environment=variables) as served:
        yield served


class Studio:
    """One tab of the studio. `troubles` are the errors that the page reported to the browser's console."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url = url
        self.page: Page = context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.troubles: list[str] = []
        self._reruns = Reruns(self.page)
        self._at_rest = self.page.locator(_AT_REST)
        self.page.on("pageerror", lambda error: self.troubles.append(f"{error.name}: {error.message}"))
        self.page.on(
            "console",
            lambda said: self.troubles.append(said.text) if said.type == "error" else None,
        )

    # ------------------------------------------------------------ finding

    def keyed(self, key: str) -> Locator:
        """Find the widget or container with exactly this key."""
        return self.page.locator(f".st-key-{key}")

    def like(self, start: str) -> Locator:
        """Find the widgets whose keys begin like this; of a decision, the key's end names the request."""
        return self.page.locator(f'[class*=" st-key-{start}"], [class^="st-key-{start}"]')

    def button(self, key: str) -> Locator:
        """Find the button whose key begins like this."""
        return self.like(key).get_by_role("button").first

    def rest(self) -> None:
        """Wait until the page's script has run to its end."""
        self.page.evaluate(_AFTER_WHAT_WAS_DONE)
        self._at_rest.wait_for(state="attached")
        while self._reruns.owed:
            self._reruns.next_word()
            self._at_rest.wait_for(state="attached")

    def still(self, part: Locator) -> None:
        """Wait until a part has its place and size, and nothing on the page moves any more."""
        part.evaluate(_STANDS_STILL)

    def heard(self) -> None:
        """Wait until the server has done all that the page asked of it; the page itself may not know that yet."""
        self.page.evaluate(_AFTER_WHAT_WAS_DONE)
        while self._reruns.owed:
            self._reruns.next_word()

    def choose(self, key: str, option: str) -> None:
        """Choose one of the words that stand side by side in a control."""
        self.rest()
        self.like(key).get_by_text(option, exact=True).first.click()
        self.rest()

    def select(self, key: str, option: str) -> None:
        """Choose an option of a list that opens."""
        self.rest()
        wanted = self.page.get_by_role("option", name=option, exact=True)
        self.keyed(key).get_by_role("combobox").click()
        if not wanted.is_visible():  # it closes where the window or the page changes at this moment
            self.rest()
            if not wanted.is_visible():
                self.keyed(key).get_by_role("combobox").click()
        wanted.click()
        self.rest()

    def unfold(self, key: str) -> None:
        """Open a folded part; as long as it grows, it would close each list that is opened in it."""
        self.like(key).locator("summary").first.click()
        self.rest()
        self.still(self.like(key).first)

    def open_step(self, words: str) -> Locator:
        """Open the last step of the timeline whose line holds these words; return it when all of it is there."""
        step = self.like("step_").filter(has=self.page.locator("summary").filter(has_text=words)).last
        step.locator("summary").click()
        self.rest()
        self.still(step)
        return step

    # ------------------------------------------------------------ beginning

    def open(self, address: str | None = None) -> Studio:
        """Go to an address, by default that of the start page."""
        self.page.goto(address or f"{self.url}/")
        self.rest()
        return self

    def pick_agent(self, name: str) -> Studio:
        """Choose an agent on the start page."""
        chosen = self.keyed(f"agent_chosen_{name}")
        # While the list is drawn again, the button may be there twice.
        self.keyed(f"choose_{name}").first.wait_for()
        self.rest()
        if not chosen.count():
            self.press(self.keyed(f"choose_{name}").get_by_role("button"))
        chosen.wait_for()
        self.rest()
        return self

    def start(self, query: str = "", *, agents: str | None = None, tools: str | None = None) -> Studio:
        """Begin a session with the chosen agent; `agents` and `tools` say who plays them, in the page's words."""
        # Each agent that is loaded draws the page anew, and what is clicked then may have moved away.
        expect(self.like("agent_unread_")).to_have_count(0, timeout=ALL_LOADED_MS)
        self.rest()
        if agents or tools:
            self.unfold("start_settings")
        if agents:
            self.select("start_agent_player", agents)
        if tools:
            self.select("start_tool_player", tools)
        self.like("start_query").get_by_role("textbox").fill(query)
        self.press(self.button("start_session"))
        self.keyed("session_header").wait_for()
        self.settle()
        return self

    # ------------------------------------------------------------ how it stands

    @property
    def session_id(self) -> str:
        """The session in the page's address."""
        return self.page.url.rpartition("session=")[2].partition("&")[0]

    @property
    def header(self) -> Locator:
        """The line above the panes: title, status, steps."""
        return self.keyed("session_header")

    @property
    def decision(self) -> Locator:
        """The middle pane."""
        return self.keyed("pane_decision")

    @property
    def steps(self) -> list[str]:
        """The lines of the timeline that are drawn, oldest first."""
        found: list[str] = self.like("step_").locator("summary").all_inner_texts()
        return [" ".join(text.split()) for text in found]

    def step_number(self) -> str:
        """Return the words that count the session's steps."""
        return self.keyed("timeline_count").text_content() or ""

    def settle(self) -> None:
        """Wait until the page shows what comes next: a pause, an answer, an error."""
        self.header.filter(has_not_text="Running").wait_for()
        self.rest()

    def wait_for_pause(self, words: str) -> Studio:
        """Wait until the decision pane is headed by these words: a tool, an agent."""
        self.keyed("decision_heading").filter(has_text=words).wait_for()
        self.rest()
        return self

    def wait_for_status(self, status: str) -> Studio:
        """Wait until the session stands like this: Paused, Completed, Stopped, Failed."""
        self.header.filter(has_text=status).wait_for()
        self.rest()
        return self

    def press(self, button: Locator) -> None:
        """Click a button once it stands still, as slowly as a person does.

        Between pressing and letting go the page hears what leaving a field has changed: a button that is made anew
        then takes no click.
        """
        self.still(button)
        button.hover()
        self.page.mouse.down()
        self.heard()
        self.page.evaluate(_HAS_DRAWN)
        self.page.mouse.up()

    def click(self, key: str) -> None:
        """Press the button whose key begins like this."""
        self.press(self.button(key))

    def act(self, button: Locator) -> None:
        """Click what brings the session on, and wait for what comes next."""
        self.rest()
        before = self.step_number()
        self.press(button)
        self.keyed("timeline_count").filter(
            has_not_text=re.compile(rf"^\s*{re.escape(before)}\s*$")
        ).wait_for()
        self.settle()

    # ------------------------------------------------------------ playing the world

    def ask(self, text: str) -> None:
        """Say something as the user."""
        self.like("query_text").get_by_role("textbox").fill(text)
        self.act(self.button("query_send"))

    def accept_draft(self) -> None:
        """Answer the call with what stands in its editor."""
        self.act(self.decision.locator('[class*="st-key-accept_"]').get_by_role("button").last)

    def draft(self) -> Any:
        """Read the JSON in the editor."""
        editor = self.like("response_").get_by_role("textbox")
        expect(editor).not_to_have_value("")
        return json.loads(editor.input_value())

    def write_response(self, value: Any) -> None:
        """Answer the call with a value of one's own."""
        self.rest()
        self.like("response_").get_by_role("textbox").fill(json.dumps(value, indent=2))
        self.accept_draft()

    def fail_with(self, code: int, message: str) -> None:
        """Answer the call with an error."""
        self.choose("mode_", "Error")
        self.rest()
        self.like("error_code").get_by_role("textbox").fill(str(code))
        self.like("error_message").get_by_role("textbox").fill(message)
        self.accept_draft()

    def begin_real(self) -> None:
        """Let the real tool answer, and don't wait for it."""
        self.rest()
        self.like("real_menu").get_by_test_id("stPopoverButton").click()
        self.press(self.page.get_by_role("button", name="Run real tool now"))

    def run_real(self) -> None:
        """Let the real tool answer."""
        self.rest()
        self.like("real_menu").get_by_test_id("stPopoverButton").click()
        self.act(self.page.get_by_role("button", name="Run real tool now"))

    def confirm(self) -> None:
        """Say that the tool may run."""
        self.act(self.decision.locator('[class*="st-key-confirm_"]').get_by_role("button"))

    def seat_real_tool(self, name: str) -> None:
        """Let the real tool answer all its calls from now on."""
        self.choose("context_view", "Seats")
        self.select(f"seat_tool_{name}", "Real tool")
        expect(self.keyed("pane_context")).to_contain_text("the real tool")
        self.rest()
        self.choose("context_view", "Rules")

    def add_error_rule(self, tool: str, code: int, message: str) -> None:
        """Write an injection rule: each call of the tool fails."""
        self.click("rule_here")
        self.keyed("head_rule_editor").wait_for()
        self.rest()
        fields = (
            (self.like("tool_rule").get_by_role("textbox"), tool),
            (self.like("error-code_rule").get_by_role("spinbutton"), str(code)),
            (self.like("error-message_rule").get_by_role("textbox"), message),
        )
        for field, text in fields:
            field.fill(text)
            field.press("Tab")
            self.rest()
        self.click("rule_save")
        expect(self.like("rule_on_")).to_be_visible()
        expect(self.keyed("head_rule_editor")).to_have_count(0)
        self.rest()

    # ------------------------------------------------------------ the way out

    def export_to(self, path: Path | None = None, eval_id: str | None = None) -> Path:
        """Write the golden trace, by default to its agent's own eval set; return the file, back in the session."""
        self.rest()
        self.click("open_export")
        self.keyed("head_export_ways").wait_for()
        self.rest()
        for key, text in (("export_path_", path), ("export_eval_id_", eval_id)):
            if text is not None:
                field = self.like(key).get_by_role("textbox")
                field.fill(str(text))
                field.press("Enter")
                self.rest()
        self.click("export_write")
        written = first_code(self.keyed("export_done"))
        self.rest()
        self.click("export_back")
        self.keyed("session_header").wait_for()
        self.rest()
        return Path(written)


def first_code(inside: Locator) -> str:
    """Return the text of the first block of code inside of something; the page gets ready for the first one only when it comes."""
    block = inside.get_by_test_id("stCode").first
    block.filter(has_text=_SOMETHING).wait_for()
    return block.inner_text().strip()


NewTab = Callable[[], Studio]
"""Opens another tab."""
