"""A project may have modules with the names of the studio's packages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evalset import EvalSetWriter, GoldenTraceBuilder
from simulator.agents.agent_settings import project_python
from simulator.kernel import agent_kernels
from simulator.kernel.kernel_agent import KernelLoader
from simulator.seats.answers import called, said
from tests.simulator.kernel.projects import DESK, PATIENCE, config_of, greeted, project

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("name", "imported"),
    [
        ("simulator", "WORD = 'of the project'  # the tool is the first to import"),
        pytest.param("simulator", "import {0}.helper\nWORD = {0}.helper.WORD", marks=pytest.mark.long),
        pytest.param(
            "evalset", "WORD = __import__('pkgutil').resolve_name('{0}:WORD')", marks=pytest.mark.long
        ),
        pytest.param(
            "simulator",
            "import importlib.util\nWORD = importlib.util.find_spec('{0}') and importlib.import_module('{0}').WORD",
            marks=pytest.mark.long,
        ),
        pytest.param("evalset", "from {0} import WORD", marks=pytest.mark.long),
        pytest.param("app", "from {0}.helper import WORD", marks=pytest.mark.long),
    ],
)
def test_a_project_with_a_module_of_the_studios_name_gets_its_own(
    tmp_path: Path, name: str, imported: str
) -> None:
    """Where its agent imports it, by a statement or by its name, at the top and in a tool; and the session is played and verified by the studio's own code."""
    tool = f'    import importlib\n    module = importlib.import_module("{name}.late")\n    from {name} import late\n    assert module is late\n    assert importlib.util.find_spec("{name}").origin == importlib.import_module("{name}").__file__\n    return {{"word": late.WORD}}\n'
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


@pytest.mark.long
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
    assert [name for name, _ in loader.listed()] == ["one"]


def environment(folder: Path, name: str = ".venv", adk: str = "2.12.0") -> Path:
    """Make what looks like a virtual environment with google-adk; return its interpreter."""
    python = folder / name / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    (folder / name / "pyvenv.cfg").touch()
    installed = folder / name / "lib" / "python3.12" / "site-packages"
    (installed / (f"google_adk-{adk}.dist-info" if adk else "requests-2.0.dist-info")).mkdir(parents=True)
    return python


def test_the_nearest_environment_counts(tmp_path: Path) -> None:
    """In the agent's folder, or in the project's, as `agents-cli create` and uv lay it out."""
    agent = tmp_path / "project" / "app"
    agent.mkdir(parents=True)
    assert project_python(agent) is None
    outer = environment(tmp_path / "project")
    assert project_python(agent) == outer
    inner = environment(agent, "venv")
    assert project_python(agent) == inner


def test_a_project_without_one_takes_none_from_above(tmp_path: Path) -> None:
    """What lies above the root of a project belongs to something else."""
    environment(tmp_path)
    agent = tmp_path / "project" / "app"
    agent.mkdir(parents=True)
    (tmp_path / "project" / "pyproject.toml").touch()
    assert project_python(agent) is None


def test_a_folder_of_that_name_that_is_no_environment_does_not_count(tmp_path: Path) -> None:
    """Without `pyvenv.cfg` it is something else."""
    environment(tmp_path)
    (tmp_path / ".venv" / "pyvenv.cfg").unlink()
    assert project_python(tmp_path) is None


@pytest.mark.parametrize("adk", ["", "1.18.0", "2.10.3"])
def test_an_environment_that_cannot_play_is_left_alone(tmp_path: Path, adk: str) -> None:
    """The agent is loaded with what the studio has, as before."""
    environment(tmp_path, adk=adk)
    assert project_python(tmp_path) is None


def test_the_environment_of_a_workspace_is_that_of_its_projects(tmp_path: Path) -> None:
    """Uv makes one at the workspace's root, however deep a project lies in it; what else lies above a project stays away."""
    agent = tmp_path / "packages" / "desk" / "src" / "app"
    agent.mkdir(parents=True)
    (tmp_path / "packages" / "desk" / "pyproject.toml").touch()
    outer = environment(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.other]")
    assert project_python(agent) is None
    (tmp_path / "pyproject.toml").write_text("[tool.uv.workspace]\nmembers = ['packages/*']\n")
    assert project_python(agent) == outer


def test_the_studios_own_environment_needs_no_kernel(tmp_path: Path) -> None:
    """An agent that lies in the checkout of the studio, say."""
    agent = Path(sys.prefix).parent / "agents" / "desk"
    assert project_python(agent) is None
    assert project_python(tmp_path) is None
