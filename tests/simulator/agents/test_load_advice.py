"""What is told to paste where an agent cannot be loaded: only what its own words, its project or google-adk say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from dotenv import dotenv_values

from simulator.agents import find_agents
from simulator.agents.load_advice import advice, pip_install
from simulator.agents.placeholder_credentials import VARIABLE, placeholder_credentials
from simulator.base.secret_masking import without_secrets

PYTHON = Path("/project/.venv/bin/python")
MISSING = "ModuleNotFoundError: No module named {!r} (agent.py, line 3)"


def told(folder: Path, words: str, **files: str) -> str:
    """Return the advice for an agent in a project with these files."""
    agent = folder / "app"
    agent.mkdir()
    (folder / ".git").mkdir()
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return advice(words, agent, PYTHON)


@pytest.mark.parametrize(
    ("module", "listed"),
    [
        ("dotenv", "python-dotenv>=1"),
        ("google.cloud.bigquery", "google-cloud-bigquery==3.2"),
        ("my_tool.parts", "My.Tool"),
    ],
)
def test_what_the_project_lists_is_installed(tmp_path: Path, module: str, listed: str) -> None:
    """The requirement is named, and the line installs all that the file lists."""
    line = told(
        tmp_path, MISSING.format(module), requirements_txt=f"# ours\nother\n{listed}  # needed\n-e .\n"
    )
    assert line.startswith(f"requirements.txt lists {listed}. ")
    assert line.endswith(f"{PYTHON} -m pip install -r {tmp_path / 'requirements.txt'}")


@pytest.mark.parametrize(
    "project",
    [
        "[project]\nname='x'\ndependencies=['requests>=2']",
        "[project.optional-dependencies]\nweb=['requests>=2']",
        "[dependency-groups]\ndev=[{include-group='x'}, 'requests>=2']",
        "[tool.poetry.dependencies]\nrequests='>=2'\nlocal={path='x'}",
    ],
)
def test_each_way_to_list_is_read(tmp_path: Path, project: str) -> None:
    """Of a project with a `pyproject.toml` the project itself is installed."""
    line = told(tmp_path, MISSING.format("requests"), pyproject_toml=project)
    assert "pyproject.toml lists requests>=2" in line
    assert line.endswith(f" install {tmp_path}")


@pytest.mark.parametrize(
    "project", ["project = 5", "[project]\ndependencies = 5", "not toml", "[tool]\npoetry = 1"]
)
def test_a_broken_list_does_not_hide_the_agents_own_error(tmp_path: Path, project: str) -> None:
    """It is somebody's file, and lists nothing that is known."""
    line = told(tmp_path, MISSING.format("requests"), pyproject_toml=project)
    assert line.startswith("If pyproject.toml lists the missing package")


def test_a_package_that_nothing_names_is_not_made_up(tmp_path: Path) -> None:
    """A file that may list it under another name is named so; without one there is no line."""
    assert told(tmp_path, MISSING.format("bs4"), requirements_txt="beautifulsoup4").startswith(
        "If requirements.txt lists"
    )
    (tmp_path / "requirements.txt").unlink()
    assert advice(MISSING.format("bs4"), tmp_path / "app", PYTHON) == ""


@pytest.mark.parametrize(("module", "extra"), [("a2a.client", "a2a"), ("mcp", "mcp")])
def test_what_an_extra_of_adk_brings_is_installed_with_it(tmp_path: Path, module: str, extra: str) -> None:
    """Unless the project lists it."""
    assert told(tmp_path, MISSING.format(module)).endswith(f" install 'google-adk[{extra}]'")


def test_what_the_error_itself_tells_comes_first(tmp_path: Path) -> None:
    """A library that says how it is installed knows best."""
    words = 'ImportError: it needs pandas. Please install it by running: pip install "sdk[eval]" (agent.py, line 1)'
    assert told(tmp_path, words, requirements_txt="pandas").endswith(f"{PYTHON} -m pip install 'sdk[eval]'")


def test_a_pin_below_what_plays_is_named(tmp_path: Path) -> None:
    """An import from another ADK is no missing package; of other packages the listed version is installed."""
    words = "ImportError: cannot import name 'Old' from 'google.adk.tools' (agent.py, line 2)"
    line = told(tmp_path, words, requirements_txt="google-adk==1.9.0\nthing==2")
    assert "google-adk==1.9.0" in line
    assert "2.11" in line
    part = "ImportError: cannot import name 'firestore' from 'google.cloud' (unknown location) (agent.py, line 2)"
    (tmp_path / "app" / "requirements.txt").write_text("google-cloud-firestore==2.19\n")
    assert "requirements.txt lists google-cloud-firestore==2.19. " in advice(part, tmp_path / "app", PYTHON)
    (tmp_path / "app" / "requirements.txt").unlink()
    thing = advice("ImportError: cannot import name 'Old' from 'thing.parts' (x)", tmp_path / "app", PYTHON)
    assert thing.endswith(" install thing==2")


@pytest.mark.parametrize(
    "words",
    [
        "KeyError: 'MAPS_API_KEY' (agent.py, line 2)",
        "ValueError: MAPS_API_KEY environment variable is not set (agent.py, line 2)",
        "RuntimeError: Please set MAPS_API_KEY in .env (agent.py, line 2)",
    ],
)
def test_an_unset_variable_gets_a_line_that_lets_the_agent_load(tmp_path: Path, words: str) -> None:
    """ADK reads the file; no mask of secrets makes the line useless."""
    line = told(tmp_path, words)
    file = tmp_path / "app" / ".env"
    assert line.endswith(f">> {file}")
    assert without_secrets(line) == line
    file.write_text("OTHER=kept")
    assert subprocess.run(["sh", "-ec", line.partition(": ")[2]], check=False).returncode == 0
    assert dotenv_values(file) == {"OTHER": "kept", "MAPS_API_KEY": "placeholder"}


def test_an_unset_variable_goes_where_adk_reads_the_others(tmp_path: Path) -> None:
    """A file nearer to the agent would hide that of its project."""
    (tmp_path / ".env").write_text("OTHER=kept\n")
    assert told(tmp_path, "KeyError: 'MAPS_API_KEY' (agent.py, line 2)").endswith(f">> {tmp_path / '.env'}")


@pytest.mark.parametrize("pin", ["google-adk<2", "google-adk==1.*", "google-adk>=1.0,<2.0"])
@pytest.mark.parametrize(
    "words",
    [
        "ImportError: cannot import name 'Other' from 'google.adk.agents' (agent.py, line 1)",
        "ModuleNotFoundError: No module named 'google.adk.new' (agent.py, line 1)",
    ],
)
def test_a_pin_that_cannot_play_is_named_and_not_installed(tmp_path: Path, pin: str, words: str) -> None:
    """A line that installs it would end in the next error."""
    line = told(tmp_path, words, requirements_txt=f"{pin}\n")
    assert line == f"The project asks for {pin}. The studio needs google-adk 2.11 or newer"


def test_an_environment_without_pip_is_installed_into_by_uv(tmp_path: Path) -> None:
    """Uv makes such; one with pip, and an interpreter that is in none, have their own."""
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    assert pip_install(python) == f"{python} -m pip install"
    (tmp_path / ".venv" / "pyvenv.cfg").touch()
    assert pip_install(python) == f"uv pip install --python {python}"
    (tmp_path / ".venv" / "lib" / "python3.12" / "site-packages" / "pip").mkdir(parents=True)
    assert pip_install(python) == f"{python} -m pip install"


AGENT = """
from google.adk.agents import LlmAgent
import google.auth
google.auth.default()
root_agent = LlmAgent(name="shop", model="gemini-2.5-flash")
"""


def test_an_agent_that_asks_for_credentials_at_import_loads_where_somebody_chose_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Off by default: then both ways are told. What was set for it is gone once it is loaded."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "agent.py").write_text(AGENT)
    (tmp_path / "shop" / "__init__.py").write_text("from . import agent\n")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    (entry,) = find_agents(tmp_path, demos=False)
    assert "gcloud auth application-default login" in str(entry.error)
    assert VARIABLE in str(entry.error)
    monkeypatch.setenv(VARIABLE, "1")
    (entry,) = find_agents(tmp_path / "shop", demos=False)
    assert entry.error is None
    assert "GOOGLE_APPLICATION_CREDENTIALS" not in os.environ


def test_credentials_that_are_set_stay(tmp_path: Path) -> None:
    """Nobody's own are replaced."""
    own = {VARIABLE: "1", "GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path)}
    with placeholder_credentials(own):
        assert own["GOOGLE_APPLICATION_CREDENTIALS"] == str(tmp_path)
    other = {VARIABLE: "1", "GOOGLE_CLOUD_PROJECT": "mine"}
    with placeholder_credentials(other):
        assert other["GOOGLE_CLOUD_PROJECT"] == "mine"
        assert Path(other["GOOGLE_APPLICATION_CREDENTIALS"]).is_file()
    assert set(other) == {VARIABLE, "GOOGLE_CLOUD_PROJECT"}
    gone = {VARIABLE: "1", "GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "gone.json")}
    with placeholder_credentials(gone):
        assert Path(gone["GOOGLE_APPLICATION_CREDENTIALS"]).is_file()
    assert gone["GOOGLE_APPLICATION_CREDENTIALS"] == str(tmp_path / "gone.json")


def test_an_agent_that_this_process_loads_gets_the_line_too(tmp_path: Path) -> None:
    """On the command line as on the page."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "agent.py").write_text("import nothing_of_that_name\nroot_agent = None\n")
    (tmp_path / "requirements.txt").write_text("nothing-of-that-name\n")
    (entry,) = find_agents(tmp_path, demos=False)
    assert f"{sys.executable} -m venv {tmp_path / '.venv'}" in str(entry.error)
