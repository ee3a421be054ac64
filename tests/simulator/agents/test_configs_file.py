"""Agents in a Python file or module that lists configs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from simulator.agents import AgentCatalogue, AgentEntry, AgentSettings, find_agents
from tests.simulator.base.rows import for_each

HEAD = """
from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from simulator.agent_config import SimulatedAgentConfig

def config(name, path="evals/traces.evalset.json"):
    return SimulatedAgentConfig(name, LlmAgent(name=name.lower() or "nameless", model="gemini-2.5-flash", description="D"), path)
"""


def listed(path: Path, source: str) -> tuple[AgentEntry, ...]:
    """Write a file of agents and find what it lists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD + source, encoding="utf-8")
    return find_agents(agents_file=str(path), demos=False)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("AGENTS = [config('One'), config('Two')]", ["One", "Two"]),
        ("AGENTS = (config('One'),)\nother = config('Two')", ["One"]),
        ("second = config('Two')\nfirst = config('One')", ["Two", "One"]),
        ("all_of_them = [config('One'), config('Two')]\n_hidden = config('Three')", ["One", "Two"]),
        ("one = config('One')\nsame = one\nboth = [one, config('Two')]", ["One", "Two"]),
    ],
)
def test_what_a_file_lists_is_found(tmp_path: Path, source: str, names: list[str]) -> None:
    """`AGENTS` counts alone where it is there; else every public config or list of configs, each once."""
    entries = listed(tmp_path / "agents.py", source)
    assert [entry.name for entry in entries] == names
    assert {(entry.source, entry.state, entry.description) for entry in entries} == {("file", "ready", "D")}


def test_a_config_is_kept_as_it_was_written(tmp_path: Path) -> None:
    """Name, agent, App and path are the file's own; a relative path counts from the working directory."""
    config = "SimulatedAgentConfig('Mine', App(name='app', root_agent=LlmAgent(name='a')), 'x.json')"
    (entry,) = listed(tmp_path / "agents.py", f"AGENTS = [{config}]")
    assert entry.config
    assert (entry.config.name, entry.config.app_name, entry.config.root_agent.name) == ("Mine", "app", "a")
    assert entry.config.resolve_eval_set_path() == Path.cwd() / "x.json"


def test_agents_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    """The first keeps its name, the next gets its source and a number; a demo's name is no exception."""
    file = tmp_path / "agents.py"
    listed(file, "AGENTS = [config('Same'), config('Same'), config('Same'), config('order_desk')]")
    catalogue = AgentCatalogue(AgentSettings(agents_file=str(file)))
    assert catalogue.names() == (
        "Same",
        "Same (file)",
        "Same (file 2)",
        "order_desk",
        "order_desk (demo)",
        "travel_planner",
        "expense_approver",
    )
    for name in catalogue.names():
        assert catalogue.config(name).name == name


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", ("lists no agents", "AGENTS = [SimulatedAgentConfig")),
        ("AGENTS = []", ("AGENTS", " list")),
        ("AGENTS = config('One')", ("AGENTS", " list")),
        ("AGENTS = [config('One'), LlmAgent(name='two')]", ("AGENTS[1] is of type LlmAgent",)),
        ("AGENTS = [config('')]", ("AgentConfigError", "name is empty", "agents.py, line")),
        ("AGENTS = [LlmAgent(name='two words')]", ("two words", "agents.py, line")),
        ("AGENTS = [config('One', '')]", ("AgentConfigError", "eval_set_path is empty")),
        ("AGENTS = [SimulatedAgentConfig('One', 'me', 'x')]", ("of type str,",)),
        ("def (", ("SyntaxError", "agents.py, line")),
        ("import nobody_has_this", ("ModuleNotFoundError", "nobody_has_this", "agents.py, line")),
        ("raise SystemExit(3)", ("SystemExit: 3", "agents.py, line")),
    ],
)
def test_a_file_that_fails_is_one_entry_with_what_and_where(
    tmp_path: Path, source: str, words: tuple[str, ...]
) -> None:
    """The error names what is wrong, the file and the line; the demo agents are there none the less."""
    file = tmp_path / "agents.py"
    file.write_text(HEAD + source, encoding="utf-8")
    first, *demos = AgentCatalogue(AgentSettings(agents_file=str(file))).load_all()
    assert first.state == "failed"
    for word in words:
        assert word in (first.error or "")
    assert "further information" not in (first.error or "")
    assert [entry.state for entry in demos] == ["ready"] * 3


@for_each(
    ("name", "words"),
    [
        ("nowhere.py", "does not exist"),
        ("no_such_module_at_all", "ModuleNotFoundError"),
        ("json.", "does not exist"),
        ("..relative", "does not exist"),
        ("..", "is a folder"),
        (".", "is a folder"),
    ],
)
def test_a_file_or_module_that_is_not_there_is_named(name: str, words: str) -> None:
    """A wrong path or module name is one entry with the reason."""
    (entry,) = find_agents(agents_file=name, demos=False)
    assert words in (entry.error or "")
    assert name in (entry.error or "")


def test_a_file_imports_what_lies_beside_it_and_in_its_project(tmp_path: Path) -> None:
    """As for a script, modules beside the file are found; those of another file's folder are not mixed up.

    As an agent's folder does, it finds those in the folders above it, and in their `src`.
    """
    (tmp_path / ".git").mkdir()
    for folder in ("east", "west", "src/helper_of_files"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "beside_it.py").write_text(f"NAME = {folder!r}\n", encoding="utf-8")
    source = "from {} import NAME\nAGENTS = [config(NAME.replace('/', '_'))]"
    beside = source.format("beside_it")
    names = [listed(tmp_path / side / "agents.py", beside)[0].name for side in ("east", "west", "east")]
    assert names == ["east", "west", "east"]
    (entry,) = listed(tmp_path / "east" / "agents.py", source.format("helper_of_files.beside_it"))
    assert (entry.name, entry.error) == ("src_helper_of_files", None)


def test_a_module_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dotted name is imported as `python -m` does, also from the working directory."""
    package = tmp_path / "my_project_of_agents"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "listed.py").write_text(f"{HEAD}AGENTS = [config('Moduled')]", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (entry,) = find_agents(agents_file="my_project_of_agents.listed", demos=False)
    assert (entry.name, entry.error) == ("Moduled", None)


def test_a_file_is_run_once_and_again_on_demand(tmp_path: Path) -> None:
    """Listing and loading share one run; `reload` reads the changed file; a failed file is tried after `refresh`."""
    file = tmp_path / "agents.py"
    counted = f"with open({str(tmp_path / 'ran')!r}, 'a') as ran:\n    ran.write('x')\n"
    file.write_text(f"{HEAD}{counted}AGENTS = [config('One')]", encoding="utf-8")
    catalogue = AgentCatalogue(AgentSettings(agents_file=str(file), demos=False))
    catalogue.names()
    first = catalogue.config("One")
    assert catalogue.config("One") is first
    assert (tmp_path / "ran").read_text(encoding="utf-8") == "x"
    assert catalogue.reload("One").config is not first
    file.write_text("raise OSError('for a while')", encoding="utf-8")
    assert catalogue.reload("One").state == "failed"
    file.write_text(f"{HEAD}AGENTS = [config('Mended')]", encoding="utf-8")
    catalogue.refresh()
    assert catalogue.names() == ("Mended",)
    assert catalogue.load("Mended").state == "ready"
