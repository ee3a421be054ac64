"""A project may have modules with the names of the studio's packages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evalset import EvalSetWriter, GoldenTraceBuilder
from simulator.kernel import agent_kernels
from simulator.kernel.kernel_loader import KernelLoader
from simulator.seats.answers import called, said
from tests.simulator.kernel.projects import DESK, PATIENCE, config_of, greeted, project

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("name", "imported"),
    [
        ("simulator", "import {0}.helper\nWORD = {0}.helper.WORD"),
        pytest.param("evalset", "from {0} import WORD", marks=pytest.mark.long),
        pytest.param("app", "from {0}.helper import WORD", marks=pytest.mark.long),
    ],
)
def test_a_project_with_a_module_of_the_studios_name_gets_its_own(
    tmp_path: Path, name: str, imported: str
) -> None:
    """Where its agent imports it, at the top and in a tool; and the session is played and verified by the studio's own code."""
    tool = f'    import importlib\n    module = importlib.import_module("{name}.late")\n    from {name} import late\n    assert module is late\n    return {{"word": late.WORD}}\n'
    source = (
        DESK.replace('    state = {"A1"', f'{tool}    state = {{"A1"')
        + f"\n{imported.format(name)}\nroot_agent.description = WORD\n"
    )
    home = project(tmp_path, source)
    package = home / name
    package.mkdir()
    (package / "__init__.py").write_text("from .helper import WORD\n")
    (package / "helper.py").write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Kept:\n    held: dict[str, int]\nWORD = 'of the project'\n"
    )
    (package / "late.py").write_text("from .helper import WORD\n")
    config = config_of(home)
    assert config.root_agent.description == "of the project"
    simulation = greeted(config)
    simulation.answer(simulation.pending[0], called(("find_order", {"order_id": "A1"})), wait=PATIENCE)
    simulation.run_real(simulation.pending[0], wait=PATIENCE)
    assert '"word":"of the project"' in simulation.journal.to_json().replace(": ", ":")
    simulation.answer(simulation.pending[0], said("Here."), wait=PATIENCE)
    assert simulation.session.turns[0].ended
    simulation.complete()
    written = EvalSetWriter(tmp_path / "set.evalset.json", "desk").write_eval_case(
        GoldenTraceBuilder(simulation.session).build()
    )
    assert config.kernels.run("eval_ids_here", {"path": str(tmp_path / "set.evalset.json")}) == [
        written.eval_id
    ]
    config.kernels.end()


@pytest.mark.long
def test_an_agent_with_the_name_of_a_package_of_the_studio_plays(tmp_path: Path) -> None:
    """As `adk web` plays it."""
    config = config_of(project(tmp_path, name="simulator"), "simulator")
    assert greeted(config).pending
    config.kernels.end()


def test_a_folder_of_eval_sets_or_a_second_studio_hides_nothing_of_the_studio(tmp_path: Path) -> None:
    """A project that uses the package gets it, where a folder of its own has the name and holds no code."""
    file = tmp_path / "configs.py"
    file.write_text(
        "from google.adk.agents import LlmAgent\nfrom simulator import SimulatedAgentConfig\nimport evalset.files\n"
        "AGENTS = [SimulatedAgentConfig('one', LlmAgent(name='one'), 'x.evalset.json')]\n"
    )
    (tmp_path / "evalset").mkdir()
    (tmp_path / "evalset" / "x.evalset.json").write_text("{}")
    (tmp_path / "simulator").symlink_to(Path(agent_kernels.__file__).parents[1])
    loader = KernelLoader(Path(sys.executable)).of_file(str(file))
    assert loader is not None
    assert [each.name for each in loader.listed()] == ["one"]
