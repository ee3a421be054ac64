"""Every version of google-adk that is supported gives the same events, in first runs and in re-execution."""

import json
from pathlib import Path

import google.adk
import pytest

from simulator.journal import Journal
from tests.interop.telling import MODES, told
from tests.simulator.runtime.playing import Mode, facts_of, played, resumed
from tests.simulator.runtime.shapes import SHAPES
from tests.simulator.runtime.traces import Traces

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated in favor of Workflow:DeprecationWarning")

EVENTS = json.loads(Path(__file__).with_name("events.json").read_text())
VERSION = tuple(map(int, google.adk.__version__.split(".")[:2]))


def expected(name: str, mode: Mode) -> list[str]:
    """Return the lines of a play as this version gives them: what differs is ADK's own, and is stated here."""
    lines: list[str] = EVENTS[name][mode]
    if VERSION < (2, 13) and (name, mode) == ("state_and_files", "real"):
        # A list that a tool changes in place is in the state's delta since 2.13.
        return [line.replace('"list": ["a", "c"], ', "") for line in lines]
    if VERSION < (2, 12) and (name, mode) == ("generator", "real"):
        # What a function yields is one event each since 2.12, where the last is the response.
        listed = [line.replace('{"real": "a"}}', '{"result": [{"real": "a"}]}}') for line in lines]
        return [line for line in listed if line != "hits"]
    return lines


def test_each_way_is_written_down() -> None:
    """The file holds the plays that are compared, and no other."""
    assert {name: set(plays) for name, plays in EVENTS.items()} == {name: set(MODES) for name in SHAPES}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SHAPES)
def test_a_play_gives_the_events_of_the_newest_version(name: str, mode: Mode) -> None:
    """Who says what, calls which tool with what, gets which response, and what it does to the state: line by line."""
    assert told(played(SHAPES[name], mode)) == expected(name, mode)


@pytest.mark.parametrize("name", SHAPES)
def test_a_play_that_was_cut_in_its_last_turn_goes_on_from_its_journal(name: str) -> None:
    """ADK runs the turn again; the recorded answers are released, and nothing is asked for a second time."""
    shape = SHAPES[name]
    play = played(shape, "held")
    path = [fact for _, fact in play.journal.path()]
    number = max((n for n, fact in enumerate(path) if fact.kind != "turn_ended"), default=0)
    traces = Traces()
    with resumed(Journal(path[: number + 1]).to_json(), shape, traces) as sim:
        view = sim.view()
        assert view.divergence is None
        assert facts_of(sim.journal) == facts_of(Journal(path))[: len(sim.journal)]
    assert traces.ran == []
