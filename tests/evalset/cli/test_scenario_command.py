"""`run AGENT --scenario FILE` plays a scenario without the page; what it writes is a golden that verifies without any user."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evalset
from evalset.cli.main import simulator_main as main
from evalset.verify import verify
from tests.evalset.ending import Ends, Shown
from tests.harness.talking_agent import write_talking_agent

PLAN = {"starting_prompt": "Hello?", "conversation_plan": "Talk."}
OTHER = {"starting_prompt": "Anyone?", "conversation_plan": "Talk more."}

OWN = '''
"""Says three lines, whatever it hears, and counts them itself."""

from typing import Literal

from google.adk.evaluation.simulation.user_simulator import (
    BaseUserSimulatorConfig,
    NextUserMessage,
    Status,
    UserSimulator,
    register_user_simulator,
)
from google.genai import types


class CountingConfig(BaseUserSimulatorConfig):
    type: Literal["counting"] = "counting"
    lines: int = 3


class Counting(UserSimulator):
    def __init__(self, *, config, conversation_scenario):
        super().__init__(config, CountingConfig)
        self.scenario, self.said = conversation_scenario, 0

    async def get_next_user_message(self, events):
        if self.said >= self._config.lines:
            return NextUserMessage(status=Status.STOP_SIGNAL_DETECTED)
        self.said += 1
        heard = sum(event.author != "user" for event in events)
        text = f"line {self.said} of {self.scenario.starting_prompt} after {heard}"
        content = types.Content(role="user", parts=[types.Part(text=text)])
        return NextUserMessage(status=Status.SUCCESS, user_message=content)


class NoSimulator:
    pass


register_user_simulator(CountingConfig, Counting)
'''


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """An agent that says again what it is told, and the model `talker-1`, which plays its user."""
    return write_talking_agent(tmp_path / "agents")


@pytest.fixture
def here(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory whose modules can be imported."""
    monkeypatch.syspath_prepend(str(here))
    return here


def own_user(folder: Path, name: str) -> str:
    """Write a user simulator of somebody's own, of a type of this name; return its path."""
    (folder / f"{name}_user.py").write_text(OWN.replace('"counting"', f'"{name}"'))
    return f"{name}_user.Counting"


def scenarios(tmp_path: Path, *each: Any) -> Path:
    """Write a scenario file."""
    path = tmp_path / "scenarios.json"
    path.write_text(evalset.scenarios_text(each or (PLAN, OTHER)))
    return path


def config(tmp_path: Path, **fields: Any) -> Path:
    """Write the configuration of ADK's simulator, as an `EvalConfig`."""
    path = tmp_path / "eval_config.json"
    given = {"model": "talker-1", "model_configuration": {}, **fields}
    path.write_text(json.dumps({"criteria": {}, "user_simulator_config": given}))
    return path


Runs = Callable[..., Shown]


@pytest.fixture
def run(ends: Ends) -> Runs:
    """Runs the command in this process."""

    def made(code: int, *words: object) -> Shown:
        return ends(code, "run", "--verbose", *words, program=main)

    return made


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where cases are written."""
    return tmp_path / "out.evalset.json"


def said(out: Path) -> list[list[str]]:
    """Return what the user says in each case of a set."""
    cases = json.loads(out.read_text())["eval_cases"]
    return [[turn["user_content"]["parts"][0]["text"] for turn in case["conversation"]] for case in cases]


def test_a_scenario_of_a_file_is_frozen_and_verifies(
    agent: Path, tmp_path: Path, out: Path, run: Runs
) -> None:
    """By its number or ADK's id; the golden replays without a simulator, and its result is there as JSON."""
    words = [agent, "--scenario", scenarios(tmp_path), "--config", config(tmp_path), "--out", out]
    result = json.loads(run(0, *words, "--case", "2", "--json", "--eval-id", "other").out)
    assert (result["eval_id"], result["turns"]) == ("other", 3)
    adks = evalset.scenario_case(PLAN, app_name="talking", user_id="user", at=0.0).eval_id  # type: ignore[arg-type] # it is JSON
    run(0, *words, "--case", adks)
    rest = ["Message number 2.", "Message number 3."]
    assert said(out) == [["Anyone?", *rest], ["Hello?", *rest]]
    verified = verify(out, agent=str(agent))
    assert [case.status for case in verified.cases] == ["passed", "passed"]


@pytest.mark.long
def test_a_scenario_without_its_environment_is_completed_as_it_was_played(
    agent: Path, tmp_path: Path, out: Path, run: Runs
) -> None:
    """What stands in the error plays the case that was written, as a simulator may say something else; there is no second case."""
    environment = tmp_path / "out.environment.json"
    environment.write_text("{}")
    words = [agent, "--scenario", scenarios(tmp_path, PLAN), "--config", config(tmp_path), "--out", out]
    again = re.search(r"--script \S.* --out \S+", run(4, *words, "--eval-id", "one").err)
    assert again
    before = out.read_bytes()
    environment.unlink()
    run(0, agent, *again.group().split())
    assert out.read_bytes() == before
    assert set(json.loads(environment.read_text())["cases"]) == {"one"}


def test_a_scenario_case_of_an_eval_set_is_played(agent: Path, tmp_path: Path, out: Path, run: Runs) -> None:
    """As `adk eval_set add_eval_case` made it; the only one needs no name."""
    path = tmp_path / "plans.evalset.json"
    case = evalset.scenario_case(PLAN, app_name="talking", user_id="user", at=0.0)  # type: ignore[arg-type] # it is JSON
    evalset.add_scenario(evalset.EvalSetWriter(path, "talking"), case)
    limited = config(tmp_path, max_allowed_invocations=2)
    run(0, agent, "--scenario", path, "--config", limited, "--out", out)
    assert said(out) == [["Hello?", "Message number 2."]]


def test_a_simulator_of_ones_own_speaks(agent: Path, here: Path, out: Path, run: Runs) -> None:
    """By its dotted path, with its own configuration; it keeps its count from message to message."""
    lines = here / "lines.json"
    lines.write_text('{"lines": 2}')
    words = [agent, "--scenario", scenarios(here, PLAN), "--out", out, "--user-simulator"]
    run(0, *words, own_user(here, "counting"), "--config", lines)
    assert said(out) == [["line 1 of Hello? after 0", "line 2 of Hello? after 1"]]
    run(0, *words, "counting_user:Counting")
    assert len(said(out)[1]) == 3
    assert verify(out, agent=str(agent)).cases[1].status == "passed"


AUDIO = "sends audio, and a session is played in text."
ELSEWHERE = {"http_options": {"base_url": "http://x.example"}}


@pytest.mark.parametrize(
    ("words", "fields", "told"),
    [
        (["--case", "nope"], None, "'nope'"),
        ([], None, "--case"),
        (["--case", "1", "--user-simulator", "no_such_module.Class"], None, "no_such_module"),
        (["--case", "1", "--user-simulator", "json.JSONDecoder"], None, "json.JSONDecoder.*UserSimulator"),
        (["--case", "1", "--user-simulator", "nonsense"], None, "'nonsense'"),
        (["--case", "1", "--user-simulator", "llm_audio"], None, "sends audio.*golden-trace eval"),
        (["--case", "1", "--config", "missing.json"], None, "missing.json"),
        (["--case", "1", "--config", "commented.json"], None, r"commented\.json: .*line 3"),
        (["--case", "1"], {"model_configuration": ELSEWHERE}, r"http_options\.base_url "),
        (
            ["--case", "1"],
            {"modelConfiguration": {"httpOptions": {"extraBody": {}}}},
            r"httpOptions\.extraBody ",
        ),
        (["--case", "1"], {"api_base": "http://x.example"}, "api_base "),
        (["--case", "1"], {"model": "huggingface/http://x.example"}, "model "),
        (["--case", "1"], {"type": "imported_user.Counting"}, "type "),
        (["--case", "1"], {"type": "llm_audio"}, f"type: ADK's user simulator 'llm_audio' {AUDIO} "),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(
    words: list[str], fields: Any, told: str, *, agent: Path, here: Path, out: Path, run: Runs
) -> None:
    """Bad input ends with 2. A file names no address and no code: the file and the place are named, and nothing is imported."""
    own_user(here, "imported")
    (here / "commented.json").write_text('{\n  "criteria": {\n    # same as before\n  }\n}')
    given = [] if fields is None else ["--config", config(here, **fields)]
    error = run(2, agent, "--scenario", scenarios(here), "--out", out, *words, *given).err
    assert all(str(each) in error for each in given[1:])
    assert re.search(told, error)
    assert "imported_user" not in sys.modules
    assert not out.exists()


def test_a_user_model_that_cannot_be_asked_fails(agent: Path, tmp_path: Path, out: Path, run: Runs) -> None:
    """The reason is told, and nothing is written."""
    unknown = config(tmp_path, model="nobody-knows-me")
    words = [agent, "--scenario", scenarios(tmp_path, PLAN), "--config", unknown, "--out", out]
    assert "nobody-knows-me" in run(3, *words).err
    assert not out.exists()


def test_a_tool_waits_for_somebody_unless_drafts_are_taken(here: Path, out: Path, run: Runs) -> None:
    """Nothing real runs: without a terminal the command ends with 1; with `--otherwise generate` drafts answer."""
    asks = {**PLAN, "starting_prompt": "Where is order A-1002?"}
    lines = here / "lines.json"
    lines.write_text('{"lines": 1}')
    words = ["order_desk", "--scenario", scenarios(here, asks), "--out", out, "--config", lines]
    words += ["--user-simulator", own_user(here, "counting2")]
    assert "no answer for: " in run(1, *words, "--otherwise", "fail").err
    assert not out.exists()
    run(0, *words, "--otherwise", "generate")
    assert len(said(out)) == 1


def test_options_of_scenarios_are_for_scenarios(here: Path, run: Runs) -> None:
    """With a script they are refused, and one of the two has to be given."""
    Path("s.yaml").write_text("x")
    words = ["order_desk", "--out", "o.json"]
    assert "need --scenario" in run(2, *words, "--script", "s.yaml", "--user-simulator", "a.B").err
    run(2, *words)
