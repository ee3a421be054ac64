"""Reads files that version 0.1.0 wrote: each loads, says what it said then, and can be gone on with.

The files under `files/` were written once and are never written anew. A test that fails here means that people's files of that
version no longer work: a decision to be made, not a file to be replaced.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

from evalset import import_cases, read_cases, script_of_case
from evalset.cli.main import simulator_main as main
from evalset.doctor import examine
from evalset.recorded.recording_files import environment_text, read_environment, sidecar_of
from evalset.verify import verify
from simulator import Journal, Simulation, create_callback, demo_agent
from simulator.agents import DEMOS
from simulator.environment.injection.adk_config_text import read_config_text
from simulator.environment.injection.rule_sets import read_rule_set
from simulator.scripts import read_script
from simulator.store import JournalStore, read_session

FILES = Path(__file__).with_name("files")
PATIENCE = 60.0
KEPT = {
    "finished": ("order_desk", "ada", "completed"),
    "undone": ("order_desk", "ada", "completed"),
    "confirming": ("expense_approver", "bob", "running"),
    "parallel": ("travel_planner", "ada", "running"),
}
"""The sessions of the store: the agent, the owner, and whether something waits."""
ENVIRONMENTS = {"order_desk": 1, "tolerant": 2, "travel_planner": 3, "expense_approver": 1}
"""The recorded environments, and the versions of their files."""


@pytest.fixture
def store(tmp_path: Path) -> Any:
    """A store of schema version 2, copied, so that nothing is written to the file itself."""
    opened = JournalStore.open(shutil.copy(FILES / "store_schema_2.db", tmp_path / "sessions.db"))
    yield opened
    opened.close()


@pytest.mark.parametrize("session_id", KEPT)
def test_a_session_of_the_store_is_as_it_was(store: JournalStore, session_id: str) -> None:
    """Its journal is the same to the character, and its record names its owner and its agent."""
    agent, owner, _ = KEPT[session_id]
    record = store.record(session_id)
    assert (record.owner, record.agent_key) == (owner, agent)
    loaded = json.loads(store.load(session_id).to_json())
    assert loaded == json.loads((FILES / f"{session_id}.journal.json").read_text())


def test_what_was_typed_is_there(store: JournalStore) -> None:
    """A draft that was typed and not sent comes back with its session."""
    assert store.drafts("parallel") == {"draft": "typed and not sent"}
    assert store.drafts("finished") == {}


@pytest.mark.parametrize("session_id", KEPT)
def test_a_session_of_the_store_goes_on(store: JournalStore, session_id: str) -> None:
    """Re-execution finds no divergence; what waited is answered, and its turn ends."""
    agent, _, _ = KEPT[session_id]
    with Simulation.resume(store.load(session_id), demo_agent(agent)) as simulation:
        assert simulation.wait(PATIENCE)
        before = len(simulation.journal)
        while simulation.pending:
            call = simulation.pending[0]
            assert simulation.answer(call, call.draft, wait=PATIENCE)  # type: ignore[union-attr] # these wait for tools
        for asked in [call for call in simulation.session.open_calls if call.is_confirmation]:
            assert simulation.confirm(asked.call_id, False, wait=PATIENCE)
        if session_id in {"parallel", "confirming"}:
            assert len(simulation.journal) > before
        assert not simulation.session.turns[-1].error
        assert getattr(simulation.session.history[-1], "content", "")


@pytest.mark.parametrize("session_id", KEPT)
def test_a_session_file_is_taken_in(store: JournalStore, session_id: str, tmp_path: Path) -> None:
    """A download of then is an upload of now: the same journal, drafts too."""
    text = (FILES / f"{session_id}.session.json").read_text()
    other = JournalStore.open(tmp_path / "other.db")
    record = other.import_(text, "eve")
    assert record.session_id == session_id
    assert other.load(session_id).to_json() == store.load(session_id).to_json()
    assert other.drafts(session_id) == store.drafts(session_id)
    assert read_session(text).to_json() == store.load(session_id).to_json()
    other.close()


@pytest.mark.parametrize("session_id", KEPT)
def test_a_journal_is_read_and_written_unchanged(session_id: str) -> None:
    """Each fact of the file is a fact today, written the same way."""
    text = (FILES / f"{session_id}.journal.json").read_text()
    assert json.loads(Journal.from_json(text).to_json()) == json.loads(text)


@pytest.mark.parametrize(("name", "version"), ENVIRONMENTS.items())
def test_a_recorded_environment_is_read_and_written_unchanged(name: str, version: int) -> None:
    """Versions 1 to 3 are read; what is written of them is the same to the byte."""
    path = FILES / f"{name}.environment.json"
    assert json.loads(path.read_text())["version"] == version
    assert environment_text(read_environment(path)) == path.read_text()


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_golden_still_verifies(name: str) -> None:
    """Each set passes against its recording, with the models' recorded turns."""
    verification = verify(FILES / f"{name}.evalset.json", models="recorded")
    assert [case.status for case in verification.cases] == ["passed"]


@pytest.mark.parametrize("name", DEMOS)
def test_an_eval_set_is_read_by_adk_and_by_the_doctor(name: str) -> None:
    """ADK's own loader takes it, and the doctor finds no error in it or in its recording."""
    path = FILES / f"{name}.evalset.json"
    assert [case.eval_id for case in load_eval_set_from_file(str(path), name).eval_cases] == [f"{name}_case"]
    assert [finding for finding in examine([path]).findings if finding.severity == "error"] == []
    imported = import_cases(path)
    assert [case.eval_id for case in imported.cases] == [f"{name}_case"]
    assert imported.environments[f"{name}_case"] == read_environment(sidecar_of(path)).cases[f"{name}_case"]


@pytest.mark.parametrize("form", ["yaml", pytest.param("json", marks=pytest.mark.long)])
@pytest.mark.parametrize("name", DEMOS)
def test_a_script_plays_and_gives_its_case(name: str, form: str, tmp_path: Path) -> None:
    """A script of then, played by the command, writes the case that stands beside it, to the value."""
    out = tmp_path / f"{name}.evalset.json"
    script = FILES / f"{name}.script.{form}"
    words = ["--script", str(script), "--out", str(out), "--eval-id", f"{name}_case", "--strict", "--quiet"]
    assert main(["run", name, *words]) == 0
    then = FILES / f"{name}.evalset.json"
    assert json.loads(out.read_text())["eval_cases"] == json.loads(then.read_text())["eval_cases"]


def test_both_forms_of_a_script_say_the_same() -> None:
    """YAML and JSON of one session are one script."""
    for name in DEMOS:
        yaml, made = (read_script((FILES / f"{name}.script.{form}").read_text()) for form in ("yaml", "json"))
        assert yaml.script == made.script


@pytest.mark.parametrize("name", DEMOS)
def test_a_case_is_a_script(name: str) -> None:
    """An eval set goes where a script goes."""
    (case,) = read_cases((FILES / f"{name}.evalset.json").read_text()).values()
    assert script_of_case(case).script.turns


def test_a_set_of_rules_is_read() -> None:
    """Both forms, and what they say."""
    for form in ("json", "yaml"):
        (rule,) = read_rule_set((FILES / f"order_desk.rules.{form}").read_text()).rule_set.rules
        assert (rule.rule_id, rule.tool_name, rule.effect.kind) == ("busy", "refund_order", "error")


def test_an_exported_simulation_config_is_read() -> None:
    """JSON, YAML and Python say the same, and stand in for an agent's tools."""
    folder = FILES / "exports"
    texts = {
        form: next((folder / f"simulation_{form}").iterdir()).read_text()
        for form in ("json", "yaml", "python")
    }
    read = {form: read_config_text(text) for form, text in texts.items()}
    assert read["json"] == read["yaml"] == read["python"]
    assert callable(create_callback(json.loads(texts["json"])))


@pytest.mark.parametrize("name", ["order_desk", "expense_approver"])
def test_an_exported_pytest_file_passes(name: str, tmp_path: Path) -> None:
    """The test file of then passes with the packages of now."""
    folder = tmp_path / "exported"
    shutil.copytree(FILES / "exports" / "pytest", folder)
    spec = importlib.util.spec_from_file_location(f"exported_{name}", folder / f"test_{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (mark,) = module.test_golden_trace.pytestmark
    for eval_id in mark.args[1]:
        module.test_golden_trace(eval_id)
    assert mark.args[1] == [f"{name}_case"]


@pytest.mark.parametrize("name", ["order_desk", "expense_approver"])
def test_an_exported_adk_test_is_imported(name: str) -> None:
    """A file of `adk test` gives its case back, with what its tools answered."""
    imported = import_cases(FILES / "exports" / "adk_test" / "tests" / f"{name}_case.json")
    assert imported.problems == ()
    (case,) = imported.cases
    (then,) = read_cases((FILES / f"{name}.evalset.json").read_text()).values()
    assert len(case.conversation or []) >= len(then.conversation or [])
    assert imported.environments
