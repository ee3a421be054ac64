"""What a real tool raises is printed, reported and kept without the secrets in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalset.cli.main import main
from tests.harness.tiny_agent import write_agent
from tests.simulator.base.planted_secrets import ENVIRONMENT, LINES, SECRETS, leaks

AGENT = '''
import json, logging, pathlib
from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types

TEXTS = json.loads(pathlib.Path(__file__).with_name("texts.json").read_text())

class RefusedError(Exception):
    def __init__(self, words, password):
        super().__init__(words)
        self.password = password

def pay(kind: str) -> dict:
    """Pay."""
    logging.getLogger("desk").error("asking with %s", TEXTS[kind])
    raise RefusedError(TEXTS[kind], "hunter2")

class Caller(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        made = sum(content.role == "model" for content in llm_request.contents)
        kinds = list(TEXTS)
        part = types.Part(text="done")
        if made < len(kinds):
            part = types.Part(function_call=types.FunctionCall(name="pay", args={"kind": kinds[made]}))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))

def told(tool, args, tool_context, error):
    return {"error": f"{type(error).__name__}: {error}"}

root_agent = LlmAgent(name="desk", model=Caller(model="caller"), tools=[pay], on_tool_error_callback=CALLBACK)
'''
SCRIPT = (
    "format: golden-trace-studio/script\nversion: 1\nagent: model\nplayers: {pay: real}\nturns:\n- say: pay\n"
)


def desk(folder: Path, *, callback: str) -> Path:
    """Write an agent whose tool raises each kind of secret; a callback hands the error to the model, or the turn ends."""
    home = write_agent(folder / "desk", AGENT.replace("CALLBACK", callback))
    (home / "texts.json").write_text(json.dumps({kind: text for kind, (text, _) in SECRETS.items()}))
    return home


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two keys of the process."""
    monkeypatch.setenv("DESK_API_KEY", ENVIRONMENT)
    monkeypatch.setenv("DESK_SIGNING_KEY", LINES)


def everything(folder: Path, captured: pytest.CaptureFixture[str]) -> str:
    """Return all that was printed and is kept, but for what the tool itself has its words from."""
    said = captured.readouterr()
    kept = [each for each in sorted(folder.rglob("*")) if each.is_file() and each.name != "texts.json"]
    return "\n".join([said.out, said.err, *(each.read_bytes().decode("utf-8", "replace") for each in kept)])


@pytest.mark.long
def test_no_secret_of_a_tools_errors_is_printed_or_kept(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The case, its recording, the script, the log and the reports of a replay: the words around the secrets are there."""
    agent, kept, script = (
        desk(tmp_path / "agents", callback="told"),
        tmp_path / "out",
        tmp_path / "script.yaml",
    )
    kept.mkdir()
    script.write_text(SCRIPT)
    out, recorded = kept / "a.evalset.json", kept / "a.environment.json"
    words = [agent, "--script", script, "--out", out, "--record", kept / "record.yaml", "--json", "--verbose"]
    assert main(["run", *map(str, words)]) == 0
    before = recorded.read_bytes()
    for options in (["--json", "--junit", kept / "junit.xml", "--csv", kept / "runs.csv"], []):
        recorded.write_bytes(before)
        assert main(["verify", *map(str, (out, "--agent", agent, *options))]) == 0
    found = everything(kept, capfd)
    assert leaks(found) == []
    assert "hunter2" not in found
    assert found.count("RefusedError") >= len(SECRETS)
    assert "AccountName=x;" in found


@pytest.mark.long
def test_no_secret_of_an_error_that_ends_the_turn_is_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each kind by itself: the failure is told with the class of the error, and no case is written."""
    out, script = tmp_path / "out" / "a.evalset.json", tmp_path / "script.yaml"
    script.write_text(SCRIPT)
    agent = desk(tmp_path / "agents", callback="None")
    for kind, (text, _) in SECRETS.items():
        (agent / "texts.json").write_text(json.dumps({kind: text}))
        assert main(["run", str(agent), "--script", str(script), "--out", str(out), "--verbose"]) == 3
        said = capfd.readouterr()
        assert leaks(said.out + said.err) == [], kind
        assert "RefusedError" in said.err
    assert not out.exists()
