"""Cases leave the house in other forms, and what reads these forms is asked: `adk test`, pytest, ADK's loader."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from google.adk.evaluation.conversation_scenarios import ConversationScenario
from google.adk.evaluation.eval_case import EvalCase, SessionInput
from google.adk.evaluation.eval_set import EvalSet
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

from evalset import (
    EXPORT_FORMS,
    Exported,
    ExportError,
    GoldenTraceBuilder,
    export_cases,
    import_cases,
    read_cases,
    read_scenarios,
)
from evalset.recorded.recorder import recorded_case
from evalset.recorded.recording import RecordedEnvironment
from evalset.recorded.recording_files import environment_text, parsed, read_environment, sidecar_of
from simulator import demo_agent
from simulator.facts import Deferred
from simulator.seats.answers import ToolAnswer
from tests.evalset.replay import asking
from tests.evalset.replay.desk_agent import config, keep, played, write_desk
from tests.evalset.replay.test_demos import QUERIES, played_demo, write_trapped
from tests.evalset.replay.test_hermetic import ANSWERS, EVERYTHING
from tests.evalset.verify import small_agents
from tests.harness.adk_process import ADK
from tests.harness.processes import quiet_environment


class Desk(NamedTuple):
    """Recorded cases of an agent whose tools must not run."""

    cases: list[EvalCase]
    environments: RecordedEnvironment


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A case with everything, one with a rejected call, and two with calls that run long: answered late, and at once only."""
    folder = tmp_path_factory.mktemp("desk")
    write_desk(folder / "played")
    of, eval_set = config(folder / "played"), folder / "desk.evalset.json"
    keep(played(of, [EVERYTHING], ANSWERS), eval_set, "all")
    keep(played(of, ["check A, wipe A; note A", "check B"], {**ANSWERS, "confirmed": False}), eval_set, "no")
    late = {**ANSWERS, "takes_long": ToolAnswer(outcome=Deferred())}
    keep(played(of, ["wait; check A", "check B"], late), eval_set, "late")
    begun = {**ANSWERS, "takes_long": {"status": "begun"}}
    sidecar = keep(played(of, ["wait; note B"], begun), eval_set, "begun")
    return Desk(list(read_cases(eval_set.read_text()).values()), read_environment(sidecar))


def scenario(name: str = "s") -> EvalCase:
    """Make a case whose conversation has yet to be held."""
    held = ConversationScenario(starting_prompt="Hello.", conversation_plan="Ask for a refund.")
    session = SessionInput(app_name="desk", user_id="u", state={"tier": "gold"})
    return EvalCase(eval_id=name, conversation_scenario=held, session_input=session)


def ran(command: list[Any], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in which neither a model nor a tool may be asked."""
    return subprocess.run(
        [*map(str, command)],
        cwd=folder,
        env=quiet_environment(NO_MODEL="1"),
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def lay(folder: Path, exported: Exported) -> None:
    """Write the files of an export."""
    for file in exported.files:
        path = folder / file.path
        path.parent.mkdir(exist_ok=True)
        path.write_text(file.text)


ENDS = """
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.tools import ToolContext

from evalset import HermeticEnvironment


def count(what: str, tool_context: ToolContext) -> dict:
    tool_context.actions.skip_summarization = True
    return {"rows": 3, "by": what}


root_agent = LlmAgent(name="small", model="gemini-2.5-flash", tools=[count])
"""


def write_ending_tool(tmp_path: Path, agents: Path) -> None:
    """Write an agent and its test: what the tool did, and the final text that the replay shows."""
    written = small_agents.played(
        small_agents.agent(tmp_path / "played" / "agents", ENDS),
        {"say": "How many?", "moves": [{"calls": [{"name": "count", "args": {"what": "all"}}]}]},
        players={"count": "real"},
    )
    plugin = f'HermeticEnvironment({str(sidecar_of(written))!r}, models="recorded")'
    app = f'app = App(name="small", root_agent=root_agent, plugins=[{plugin}])\n'
    cases, known = read_cases(written.read_text()).values(), read_environment(sidecar_of(written))
    lay(small_agents.agent(agents, ENDS + app), export_cases(list(cases), "adk_test", environments=known))


def write_demos(tmp_path: Path, agents: Path) -> None:
    """Write a trace of each demo agent as its test."""
    for name in QUERIES:
        config = demo_agent(name)
        session, facts = played_demo(config)
        case = GoldenTraceBuilder(session, eval_id=name).build()
        known = RecordedEnvironment(cases={name: recorded_case(session, facts)})
        sidecar = tmp_path / f"{name}.environment.json"
        sidecar.write_text(environment_text(known))
        folder = write_trapped(agents, config, f'{str(sidecar)!r}, case={name!r}, models="recorded"')
        lay(folder, export_cases([case], "adk_test", environments=read_environment(sidecar)))


@pytest.mark.long
@pytest.mark.process
def test_adk_test_passes_what_it_is_given(desk: Desk, tmp_path: Path) -> None:
    """All events are the same: of parallel calls, sub-agents, agents as tools, changed state; a changed answer fails its test.

    So are a turn that a tool's response ends, and what the demo agents' models say beside contents, agents that hand over
    and back, and an answer with a schema; no real tool runs.
    """
    exported = export_cases(desk.cases, "adk_test", environments=desk.environments)
    assert desk.environments.version == 10, "an older release must not read what it does not know as damage"
    (needs,) = exported.losses
    assert "Add `HermeticEnvironment(" in needs
    sidecar, agents = tmp_path / "desk.environment.json", tmp_path / "agents"
    lay(tmp_path, export_cases(desk.cases, "evalset", environments=desk.environments, name="desk"))
    folder = write_desk(agents, f'{str(sidecar)!r}, models="recorded"')
    lay(folder, exported)
    late = folder / "tests" / "late.json"
    (folder / "tests" / "other.json").write_text(late.read_text().replace('"finished"', '"begun"'))
    write_ending_tool(tmp_path, agents)
    write_demos(tmp_path, agents)
    done = ran([ADK, "test", agents], tmp_path)
    assert "1 failed, 8 passed" in done.stdout, done.stdout[-4000:]
    assert "FAILED" in done.stdout
    assert "desk/other.json" in done.stdout


@pytest.mark.long
@pytest.mark.process
def test_the_pytest_file_replays_the_set_without_a_key(desk: Desk, tmp_path: Path) -> None:
    """It is unpacked into the agent's folder and run; where the environment is another one, the test says what differs."""
    folder = write_desk(tmp_path / "agents")
    exported = export_cases([*desk.cases, scenario()], "pytest", environments=desk.environments, name="desk")
    assert (exported.name, len(exported.files)) == ("test_desk.zip", 3)
    (untested,) = exported.losses
    assert "'s'" in untested
    with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
        archive.extractall(folder)
    other = export_cases(desk.cases, "pytest", environments=desk.environments, name="other")
    for file in other.files:
        is_recorded = file.path.endswith(".environment.json")
        (folder / file.path).write_text(
            file.text.replace('"finished"', '"begun"') if is_recorded else file.text
        )
    done = ran([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder], tmp_path)
    assert "1 failed, 7 passed" in done.stdout, done.stdout[-4000:]
    assert "test_other.py::test_golden_trace[late]" in done.stdout
    assert "became" in done.stdout


def test_a_graph_without_a_model_is_tested_too(tmp_path: Path) -> None:
    """No turn of a model is recorded of it because none was asked; a case whose models were not recorded is left out."""
    eval_set = asking.kept(asking.played(asking.one(), ["Rome"]), tmp_path)
    cases = list(read_cases(eval_set.read_text()).values())
    recorded = read_environment(sidecar_of(eval_set))
    exported = export_cases(cases, "pytest", environments=recorded)
    assert exported.losses == ()
    assert "'case'" in exported.files[0].text
    text = environment_text(recorded).replace('"agent": "unknown"', '"agent": "desk"')
    with pytest.raises(ExportError, match="recorded models"):
        export_cases(cases, "pytest", environments=parsed(eval_set, text.encode()))


@pytest.mark.long
def test_the_folder_of_the_agents_can_be_named(desk: Desk) -> None:
    """Where the set does not lie in it."""
    test = export_cases(desk.cases, "pytest", environments=desk.environments, agents_dir="../agents").files[0]
    assert "AGENTS_DIR = Path(__file__).parent / '../agents'\n" in test.text
    assert 'models="recorded", agents_dir=AGENTS_DIR)' in test.text
    compile(test.text, test.path, "exec")


@pytest.mark.long
def test_an_eval_set_comes_with_what_is_recorded_and_back_in(desk: Desk, tmp_path: Path) -> None:
    """ADK's loader reads it, our import gives the same, and the same cases make the same bytes."""
    exported = export_cases(desk.cases, "evalset", environments=desk.environments, name="My desk")
    assert exported.name == "my_desk.zip"
    assert (
        exported.content
        == export_cases(desk.cases, "evalset", environments=desk.environments, name="My desk").content
    )
    for file in exported.files:
        (tmp_path / file.path).write_text(file.text)
    path = tmp_path / "my_desk.evalset.json"
    assert load_eval_set_from_file(str(path), "desk").eval_cases == desk.cases
    imported = import_cases(path)
    assert (list(imported.cases), imported.environments) == (desk.cases, desk.environments.cases)
    alone = export_cases(EvalSet(eval_set_id="desk", eval_cases=desk.cases), "evalset")
    assert alone.name == "desk.evalset.json"
    assert json.loads(alone.content)["eval_set_id"] == "desk"
    assert parsed(tmp_path, exported.files[1].text.encode()) == desk.environments


def test_without_a_recording_a_test_is_written_as_said_by_one_agent(desk: Desk) -> None:
    """With a word about it, and about a state that `adk test` cannot begin with."""
    case = desk.cases[0].model_copy(update={"session_input": scenario().session_input})
    exported = export_cases([case], "adk_test")
    assert exported.name == "all.json"
    (with_state, unknown) = exported.losses
    assert "initial state" in with_state
    assert "recorded environment" in unknown
    assert "real tools" in unknown
    recorded = desk.environments.cases["all"]
    first = recorded.turns[0].model_copy(update={"state_delta": {"tier": "gold"}})
    sent = {"all": recorded.model_copy(update={"turns": (first, *recorded.turns[1:])})}
    named = export_cases(
        desk.cases[:1], "adk_test", environments=desk.environments.model_copy(update={"cases": sent})
    )
    assert "messages that set state" in named.losses[0]


def test_an_unknown_form_is_an_error_that_names_the_forms(desk: Desk) -> None:
    """Nothing else is given back."""
    unknown: Any = "adk-test"
    with pytest.raises(
        ValueError,
        match=r"'adk-test'.*: 'evalset', 'dataset', 'adk_test', .*'simulation_python'",
    ):
        export_cases(desk.cases, unknown)


def test_scenarios_make_a_scenario_file(desk: Desk) -> None:
    """Conversations are left out, with a word."""
    exported = export_cases([scenario("a"), *desk.cases[:1], scenario("b")], "scenarios", name="desk")
    assert exported.name == "desk.scenarios.json"
    assert len(read_scenarios(exported.files[0].text)) == 2
    assert "'all'" in exported.losses[0]
    assert "initial state" in exported.losses[1]


def test_adks_simulation_config_is_made_of_all_cases(desk: Desk) -> None:
    """In each of its forms, with its losses."""
    made = {form: export_cases(desk.cases, form, environments=desk.environments) for form in EXPORT_FORMS[5:]}
    assert [each.name for each in made.values()] == ["simulation.json", "simulation.yaml", "simulation.py"]
    assert len({each.losses for each in made.values()}) == 1
    assert "raised ValueError" in "".join(made["simulation_json"].losses)


@pytest.mark.parametrize("form", EXPORT_FORMS)
def test_what_a_form_cannot_hold_at_all_is_an_error(form: Any) -> None:
    """It says why."""
    with pytest.raises(ExportError, match="no cases"):
        export_cases([], form)
    if form in {"evalset", "dataset", "scenarios"}:
        assert export_cases([scenario()], form).files
    else:
        with pytest.raises(ExportError, match=r"no case\b"):
            export_cases([scenario()], form)
