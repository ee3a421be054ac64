"""Runs the real `adk eval` on agents' folders of every shape that people write: each is loaded once, under its own name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from evalset.adk_runs.run_spec import AgentPlace, EvalRunSpec
from tests.evalset.adk_runs.test_run import EXACT, finished
from tests.harness.tiny_agent import _SOURCE as TINY
from tests.harness.tiny_agent import write_tiny_eval_set

MODEL, TOOLS, _ = re.split(r"\n(?=def add|root_agent)", TINY)
HEAD = "from google.adk.agents import LlmAgent\n"
AGENT = 'root_agent = LlmAgent(name="adder", model=Adder(), instruction="Add.", tools=[add])\n'
INIT = "from . import agent\n"
Files = Mapping[str, str]


def plain(imports: str, more: str = AGENT) -> Files:
    """A package of three modules, which its agent imports in one way or another."""
    return {"__init__.py": INIT, "model.py": MODEL, "tools.py": TOOLS, "agent.py": HEAD + imports + more}


SHAPES: dict[str, tuple[str, Files]] = {
    "absolute modules": (
        "my_agent",
        plain(
            "from my_agent import model, tools\nimport my_agent.tools\nadd, Adder = my_agent.tools.add, model.Adder\n"
        ),
    ),
    "sub-packages": (
        "my_agent",
        {
            "__init__.py": INIT,
            "parts/__init__.py": "",
            "parts/model.py": MODEL,
            "parts/deep/__init__.py": "from my_agent.parts.deep.tools import add\n",
            "parts/deep/tools.py": TOOLS,
            "agent.py": HEAD
            + "from .parts.deep import add\nfrom my_agent.parts.model import Adder\n"
            + AGENT,
        },
    ),
    "two names": (
        "my_agent",
        {
            "__init__.py": INIT,
            "model.py": MODEL,
            "tools.py": TOOLS,
            "sub.py": HEAD
            + "from my_agent.model import Adder\nhelper = LlmAgent(name='helper', model=Adder(), description='Helps.')\n",
            "agent.py": HEAD
            + "import my_agent.agent\nfrom my_agent.sub import helper\nfrom .sub import helper as same\nassert helper is same\n"
            + "from .model import Adder\nfrom .tools import add\n"
            + AGENT.replace("tools=[add]", "tools=[add], sub_agents=[helper]"),
        },
    ),
    "an app with plugins": (
        "my_agent",
        plain(
            "from my_agent.model import Adder\nfrom my_agent.tools import add\n",
            AGENT
            + "from google.adk.apps import App\nfrom google.adk.plugins.logging_plugin import LoggingPlugin\n"
            + "app = App(name='my_agent', root_agent=root_agent, plugins=[LoggingPlugin()])\n",
        ),
    ),
    "called agent": ("agent", plain("from agent.model import Adder\nfrom .tools import add\n")),
    "root_agent.yaml": (
        "yaml_agent",
        {
            "__init__.py": "",
            "model.py": MODEL + "\n\nadder = Adder()\n",
            "tools.py": TOOLS,
            "root_agent.yaml": "agent_class: LlmAgent\nname: adder\ninstruction: Add.\n"
            "model_code:\n  name: yaml_agent.model.adder\ntools:\n  - name: yaml_agent.tools.add\n",
        },
    ),
}


def write(folder: Path, files: Files) -> Path:
    """Write an agent's folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.process
@pytest.mark.long
@pytest.mark.parametrize(("name", "files"), SHAPES.values(), ids=SHAPES)
def test_adk_eval_runs_it(name: str, files: Files, tmp_path: Path) -> None:
    """Its parent folder has a dash in its name and is on nobody's path."""
    folder = write(tmp_path / "my-agents-dir" / name, files)
    spec = EvalRunSpec(
        eval_set=write_tiny_eval_set(tmp_path / "sums.evalset.json"),
        agent=AgentPlace(name=name, app_name=name, folder=folder),
        config=EXACT,
    )
    view = finished(spec, tmp_path / "run")
    assert view.state == "passed", f"{view.problem}\n{view.output}"
