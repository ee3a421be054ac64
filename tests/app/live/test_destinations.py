"""Where several people use a server, nobody reads or writes a file of it through the path of an eval set."""

from __future__ import annotations

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
        "~/x.json",
        "~nobody-here/x.json",
        "x.json",
    ],
)
def test_another_place_is_refused(folder: Path, path: str) -> None:
    """Beside the folder, by a link out of it, and code in it; whose machine it is may write anywhere."""
    with pytest.raises(ValueError, match=r"path|folder"):
        check_destination(path.format(folder), live(folder, "browser-1"))
    if not path.startswith("~nobody"):  # is a path for nobody
        check_destination(path.format(folder), live(folder, "local"))


@pytest.mark.parametrize("path", ["{0}/desk.evalset.json", " {0}/sets/more.json", ""])
def test_the_folder_of_the_agent_is_everybodys(folder: Path, path: str) -> None:
    """There its eval set is, and others may stand beside it."""
    check_destination(path.format(folder), live(folder, "login-1"))
    check_destination(path.format(folder), live(folder, "local"))
    assert folder.is_dir()
