"""Two servers keep their sessions in one store: one plays, the other follows, takes over, and nobody is asked twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.harness.browser import Studio, studio_server
from tests.harness.processes import Served, kill
from tests.stories.own_agents import MODEL, write_agent

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.long]

_AGENT = f'''{MODEL}
import os


def _asked(who: str) -> None:
    with open(os.environ["ASKED"], "a") as file:
        file.write(f"{{who}}\\n")


def _tool(name: str):
    def work() -> str:
        _asked(name)
        return "done"

    work.__name__ = work.__doc__ = name
    return work


class Steady(Answering):
    """Uses its three tools one after another; it and its tools write down each time that they are asked."""

    model: str = "steady"

    async def part(self, contents):
        _asked("model")
        done = sum(bool(part.function_response) for each in contents for part in each.parts)
        name = ["dig", "plant", "water", ""][done]
        return types.Part.from_function_call(name=name, args={{}}) if name else types.Part(text="It grows.")


root_agent = LlmAgent(name="gardener", model=Steady(), instruction="Grow.", tools=[_tool(name) for name in ("dig", "plant", "water")])
'''


def _moved(studio: Studio, to: Served) -> str:
    return studio.page.url.replace(studio.url, to.url)


def test_a_session_is_taken_over_and_comes_back_when_its_server_is_killed(
    context: BrowserContext, tmp_path: Path
) -> None:
    """The other server shows it to read, takes it over by a click, and gives it back by being killed; nobody is asked twice."""
    folder, asked = write_agent(tmp_path / "agents", "gardener", _AGENT), tmp_path / "asked.txt"
    kept = {"GOLDEN_TRACE_STORE": str(tmp_path / "sessions.db"), "ASKED": str(asked)}
    with (
        studio_server(folder, environment=kept) as here,
        studio_server(folder, environment=kept) as there,
    ):
        first, second = Studio(context, here.url), Studio(context, there.url)
        first.open()
        first.pick_agent("gardener").start("Grow something.")
        first.wait_for_pause("dig").run_real()
        first.wait_for_pause("plant")
        assert asked.read_text().split() == ["model", "dig", "model"]
        second.open(_moved(first, there))
        expect(second.button("take_over")).to_be_visible()
        expect(second.page.get_by_test_id("stDataFrame").first).to_be_visible()
        second.click("take_over")
        second.wait_for_pause("plant")
        expect(first.button("take_over")).to_be_visible()
        second.run_real()
        second.wait_for_pause("water")
        kill(there.process)
        first.wait_for_pause("water")
        first.run_real()
        first.wait_for_status("Completed")
        assert asked.read_text().split() == ["model", "dig", "model", "plant", "model", "water", "model"]
