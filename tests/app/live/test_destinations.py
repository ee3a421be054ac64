"""Where several people use a server, nobody reads or writes a file of it through the path of an eval set."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.live.destinations import check_destination
from app.live.live_sessions import LiveSession
from simulator.agent_config import SimulatedAgentConfig
from tests.app.fakes import FakeAgent, FakeSimulation


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of an agent, with a link that leads out of it."""
    made = tmp_path / "agents" / "desk"
    made.mkdir(parents=True)
    (tmp_path / "secret.json").write_text("{}")
    (made / "out").symlink_to(tmp_path)
    return made


def live(folder: Path, owner: str) -> LiveSession:
    """A session of an owner with that agent."""
    agent: Any = FakeAgent()
    config = SimulatedAgentConfig(name="desk", agent=agent, eval_set_path=folder / "desk.evalset.json")
    return LiveSession("a", FakeSimulation(), config, owner=owner)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "{0}/../../secret.json",
        "{0}/out/secret.json",
        "{0}/agent.py",
        "~/x.evalset.json",
        "~nobody-here/x.evalset.json",
        "x.evalset.json",
    ],
)
def test_another_place_is_refused(folder: Path, path: str) -> None:
    """Beside the folder, by a link out of it, and code in it; whose machine it is may write eval sets anywhere."""
    with pytest.raises(ValueError, match=r"path|folder"):
        check_destination(path.format(folder), live(folder, "browser-1"))
    if path.endswith(".evalset.json") and not path.startswith("~nobody"):  # is a path for nobody
        check_destination(path.format(folder), live(folder, "local"))


OTHERS = [
    "environment_data.json",
    "test_config.json",
    "root_agent.json",
    "agent.json",
    "new/x.json",
    "a.environment.json",
]


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("content", [None, "[]", "{}", '{"orders": []}', "", "not JSON"])
@pytest.mark.parametrize("owner", ["local", "browser-1"])
def test_a_file_that_is_no_eval_set_is_neither_made_nor_overwritten(
    folder: Path, name: str, content: str | None, owner: str
) -> None:
    """What an agent is made of is no place for cases, whoever names it; the error names the file."""
    path = folder / name
    if content is not None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    with pytest.raises(ValueError, match=re.escape(path.name)):
        check_destination(str(path), live(folder, owner))
    assert path.exists() == (content is not None)
    assert content is None or path.read_text() == content


def test_an_eval_set_of_another_name_gets_more_cases_and_an_agents_own_file_too(folder: Path) -> None:
    """It is one by what it holds; and a developer may have named the agent's file otherwise."""
    there = folder / "goldens.json"
    there.write_text('{"eval_set_id": "goldens", "eval_cases": []}')
    check_destination(str(there), live(folder, "browser-1"))
    own = live(folder, "browser-1")
    own.config = replace(own.config, eval_set_path=folder / "mine.json")
    check_destination(str(folder / "mine.json"), own)
    assert sorted(each.name for each in folder.iterdir()) == ["goldens.json", "out"]


def test_a_dataset_has_its_ending_or_its_folder(folder: Path) -> None:
    """As the export of datasets offers it, also in a project of agents-cli."""
    check_destination(str(folder / "case-dataset.json"), live(folder, "browser-1"))
    (folder / "agents-cli-manifest.yaml").write_text("agent_directory: app\n")
    check_destination(str(folder / "tests" / "eval" / "datasets" / "any.json"), live(folder, "browser-1"))
    with pytest.raises(ValueError, match=r"any\.json"):
        check_destination(str(folder / "tests" / "any.json"), live(folder, "browser-1"))


@pytest.mark.parametrize("path", ["{0}/desk.evalset.json", " {0}/sets/more.test.json", ""])
def test_the_folder_of_the_agent_is_everybodys(folder: Path, path: str) -> None:
    """There its eval set is, and others may stand beside it."""
    check_destination(path.format(folder), live(folder, "login-1"))
    check_destination(path.format(folder), live(folder, "local"))
    assert folder.is_dir()
