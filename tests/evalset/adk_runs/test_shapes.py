"""Runs the real `adk eval` on agents' folders of every shape that people write: each is loaded once, under its own name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from evalset.adk_runs.eval_process import AdkEvalRun, RunView
from evalset.adk_runs.process_groups import Start, start_process
from evalset.adk_runs.run_spec import AgentPlace, EvalRunSpec
from tests.harness.forked import CAN_FORK, start_forked
from tests.harness.processes import quiet_environment
from tests.harness.tiny_agent import write_tiny_eval_set

PATIENCE = 180.0
EXACT = {"criteria": {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}}
_START: Start = start_forked if CAN_FORK else start_process

MODEL = """
from collections.abc import AsyncGenerator

from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types


class Adder(BaseLlm):
    model: str = "adder"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        last = llm_request.contents[-1].parts[-1]
        if last.function_response is None:
            part = types.Part.from_function_call(name="add", args={"first": 2, "second": 3})
        else:
            part = types.Part(text=f"The sum is {last.function_response.response['result']}.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))
"""
TOOLS = '''
def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second
'''
HEAD = "from google.adk.agents import LlmAgent\n"
AGENT = 'root_agent = LlmAgent(name="adder", model=Adder(), instruction="Add.", tools=[add])\n'
INIT = "from . import agent\n"
Files = Mapping[str, str]


def plain(imports: str, more: str = AGENT) -> Files:
    """A package of three modules, which its agent imports in one way or another."""
    return {"__init__.py": INIT, "model.py": MODEL, "tools.py": TOOLS, "agent.py": HEAD + imports + more}


SHAPES: dict[str, tuple[str, Files]] = {
    "absolute": (
        "my_agent",
        plain("from my_agent.model import Adder\nfrom my_agent.tools import add\n"),
    ),
    "absolute modules": (
        "my_agent",
        plain(
            "from my_agent import model, tools\nimport my_agent.tools\nadd, Adder = my_agent.tools.add, model.Adder\n"
        ),
    ),
    "relative": ("my_agent", plain("from .model import Adder\nfrom .tools import add\n")),
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
    assert ran(spec, tmp_path / "run").state == "passed"


def ran(spec: EvalRunSpec, folder: Path) -> RunView:
    """Run it to its end."""
    folder.mkdir()
    run = AdkEvalRun(spec, folder, environment=quiet_environment(), start=_START)
    run.start()
    view = run.wait(PATIENCE)
    assert view.state in {"passed", "failed"}, f"{view.problem}\n{view.output}"
    return view
