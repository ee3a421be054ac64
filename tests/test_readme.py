"""Tests of the README and the documents: their scripts and commands run as they stand, and what they point to is there."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file
from google.adk.runners import InMemoryRunner

from evalset.cli.main import main, simulator_main
from simulator import Simulation, demo_agent
from simulator.seats.requests import ToolRequest
from simulator.store import JournalStore
from tests.evalset.cli.test_commands import ROWS
from tests.evalset.sessions import PATIENCE
from tests.harness.processes import quiet_environment

ROOT = Path(__file__).resolve().parents[1]
README = "README.md"
SESSIONS, ENVIRONMENT, GOLDENS, EVAL_SETS = (
    f"app/docs/{name}.md" for name in ("sessions", "environment", "goldens", "eval-sets")
)
DOCUMENTS = (
    README,
    "app/docs/agents.md",
    SESSIONS,
    ENVIRONMENT,
    GOLDENS,
    EVAL_SETS,
    "app/docs/many-people.md",
    "app/docs/command-line.md",
)
"""In the order in which the README lists them: the commands of one go on from what those before it have written."""
MOST_README_LINES = 200
DOWN = "payment service is down"
"""What the refund fails with in the documents' own scripts."""


def blocks(language: str, *documents: str) -> list[str]:
    """Return the blocks of code in a language, of these documents or of all."""
    return [
        block
        for document in documents or DOCUMENTS
        for block in re.findall(
            rf"^```{language}\n(.*?)^```", (ROOT / document).read_text(), re.DOTALL | re.MULTILINE
        )
    ]


def commands(name: str, document: str) -> list[list[str]]:
    """Return a document's lines that start a command of `golden-trace`, as its arguments."""
    lines = re.findall(rf"^golden-trace ({name}\b.*)$", "".join(blocks("sh", document)), re.MULTILINE)
    return [shlex.split(line) for line in lines]


def script_file() -> str:
    """Return the script that the documents play."""
    return blocks("yaml")[0]


def run(program: str, **names: Any) -> dict[str, Any]:
    """Run a block of code as a program, with some names; return all of its names."""
    known: dict[str, Any] = {"__name__": "__main__", **names}
    exec(compile(program, "document", "exec"), known)  # noqa: S102 - the documents' own words
    return known


def test_the_script_writes_a_case_that_adk_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Open, query, answer and export take at most 25 lines; the fault is in the trace, and the agent reacts."""
    _, script, _ = blocks("python", SESSIONS)
    assert len(script.splitlines()) <= 25
    monkeypatch.chdir(tmp_path)
    run(script)
    (case,) = load_eval_set_from_file("orders.evalset.json", "orders").eval_cases
    (turn,) = case.conversation or []
    data = turn.intermediate_data
    assert data is not None
    names = [call.name for call in getattr(data, "tool_uses", [])]
    assert names[:2] == ["find_order", "cancel_order"]
    assert set(names[2:]) == {"refund_order"}
    said = capsys.readouterr().out
    assert DOWN in said
    assert case.eval_id in said


DESK = """
from google.adk.agents import LlmAgent


def find_order(order_id: str) -> dict:
    \"\"\"Find an order.\"\"\"
    raise SystemExit("a real tool ran")


root_agent = LlmAgent(name="desk", model="gemini-2.5-flash", instruction="Help.", tools=[find_order])
"""


def test_an_own_agent_is_played_written_and_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program gives a golden that passes by the command that it prints, with its recorded turns."""
    script, _, _ = blocks("python", SESSIONS)
    (tmp_path / "desk").mkdir()
    (tmp_path / "desk" / "agent.py").write_text(DESK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for key in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    run(script)
    program, *command = shlex.split(capsys.readouterr().out)
    assert (program, main(command)) == ("golden-trace", 0)
    assert "PASS desk_" in capsys.readouterr().out


def test_a_message_has_files(capsys: pytest.CaptureFixture[str]) -> None:
    """The session names the file that the program of the document sends."""
    _, _, files = blocks("python", SESSIONS)
    run(files, Simulation=Simulation, config=demo_agent("order_desk"))
    assert "image/png, 8 bytes" in capsys.readouterr().out


def test_the_file_is_played_by_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file and the command stand in the document as they are run; with the lines in the agent's module the refund fails again."""
    command, _ = commands("run", SESSIONS)
    monkeypatch.chdir(tmp_path)
    Path("refund.yaml").write_text(script_file())
    assert simulator_main([*command, "--verbose", "--strict"]) == 0
    (case,) = load_eval_set_from_file("orders.evalset.json", "orders").eval_cases
    assert case.eval_id == "refund_down"
    (turn,) = case.conversation or []
    moves = Path("moves.yaml")
    moves.write_text(blocks("yaml")[1])
    assert (
        simulator_main(
            ["run", "order_desk", "--script", str(moves), "--out", "moves.evalset.json", "--strict"]
        )
        == 0
    )
    data = turn.intermediate_data
    assert DOWN in str(getattr(data, "tool_responses", []))
    (lines,) = blocks("python", GOLDENS)
    root_agent = demo_agent("order_desk").root_agent
    names = run(lines, root_agent=root_agent, __file__=str(tmp_path / "agent.py"))
    said = InMemoryRunner(app=names["app"]).run_debug("Please cancel order A-1001 and refund me.", quiet=True)
    answers = [each for event in asyncio.run(said) for each in event.get_function_responses()]
    assert [answer.name for answer in answers][:2] == ["find_order", "cancel_order"]
    assert DOWN in str(answers[-1].response)


def test_the_plugin_answers_a_demo_agent(capsys: pytest.CaptureFixture[str]) -> None:
    """The order comes from the data, the refund fails by the rule, and the program prints what answered each call."""
    plugin, _, _ = blocks("python", ENVIRONMENT)
    names = run(plugin)
    said = capsys.readouterr().out
    calls = names["environment"].calls()
    assert [call.tool_name for call in calls][:2] == ["find_order", "cancel_order"]
    assert calls[0].response["total"] == 20.0
    assert {call.provenance.source for call in calls if call.tool_name == "refund_order"} == {"injected"}
    assert "refund_order" in said
    assert DOWN in said


def test_the_callback_answers_for_the_real_tool() -> None:
    """Called by hand, it fails sometimes, and else leaves the call to the real tool, as ADK's callback does."""
    _, callback_of_an_agent, _ = blocks("python", ENVIRONMENT)
    agent = run(callback_of_an_agent)["agent"]
    (tool,) = asyncio.run(agent.canonical_tools())
    callback = agent.before_tool_callback
    answers = [asyncio.run(callback(tool, {"user_id": "U-1"}, None)) for _ in range(64)]
    assert {answer and answer["error_code"] for answer in answers} == {503, None}


def test_the_simulated_tools_know_of_each_other() -> None:
    """What the heating was set to, the sensor reads, and the humidity is that of the beginning."""
    _, _, simulated = blocks("python", ENVIRONMENT)
    names = run(simulated)

    async def play() -> tuple[Any, Any]:
        heating, sensor = names["tools"]
        context: Any = None
        done = await heating.run_async(args={"temperature": 72.0, "mode": "heat"}, tool_context=context)
        return done, await sensor.run_async(args={}, tool_context=context)

    _, sensed = asyncio.run(play())
    assert sensed == {"temperature": 72.0, "humidity": 45}
    assert len(names["simulator"].get_state("room")["previous_calls"]) == 2


def test_a_folder_of_sessions_becomes_a_pytest_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the eval set and its environment in one archive; what cannot be taken is printed."""
    (script,) = blocks("python", EVAL_SETS)
    monkeypatch.chdir(tmp_path)
    parts = {"user": "Hello.", "desk": "Good morning."}
    events = [{"author": who, "content": {"parts": [{"text": words}]}} for who, words in parts.items()]
    Path("sessions").mkdir()
    Path("sessions/chat.json").write_text(json.dumps({"id": "chat", "appName": "desk", "events": events}))
    Path("sessions/damaged.session.json").write_text("{")
    run(script)
    with zipfile.ZipFile("test_desk.zip") as archive:
        assert archive.namelist() == ["test_desk.py", "desk.evalset.json", "desk.environment.json"]
    assert "damaged.session.json: " in capsys.readouterr().out


def test_the_doctor_examines_mends_and_migrates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands stand in the document as they are run: a flaw is found, it is mended, and a renamed tool fits its agent."""
    examined, fixed, migrated = commands("doctor", EVAL_SETS)
    monkeypatch.chdir(tmp_path)
    agent = "from google.adk.agents import LlmAgent\ndef look_up(order: str): ...\n"
    Path("agents/readme_desk").mkdir(parents=True)
    Path("agents/readme_desk/agent.py").write_text(
        f"{agent}root_agent = LlmAgent(name='desk', tools=[look_up])\n"
    )
    call = {"name": "find_order", "args": {"order_id": "A-1"}}
    turn = {"user_content": {"parts": [{"text": "Where?"}]}, "intermediate_data": {"tool_uses": [call]}}
    case = {
        "eval_id": "one",
        "conversation": [turn],
        "session_input": {"app_name": "readme_desk", "user_id": "me"},
    }
    Path("evals").mkdir()
    Path("evals/orders.evalset.json").write_text(json.dumps({"eval_set_id": "orders", "eval_cases": [case]}))
    assert [main(command) for command in (examined, fixed, migrated)] == [1, 0, 0]
    assert main(examined) == 0
    said = capsys.readouterr().out
    assert said.count("unknown-tool") == 1
    assert said.count("orders.evalset.json.") == 2
    (mended,) = load_eval_set_from_file("evals/orders.evalset.json", "orders").eval_cases
    assert "look_up" in mended.model_dump_json()
    assert '"role":"user"' in mended.model_dump_json()


def links(document: str) -> list[tuple[str, str, str, str]]:
    """Return each link of a document that stays in the repository: a mark of pictures, its text, the path, the anchor."""
    text = re.sub(r"^```.*?^```", "", (ROOT / document).read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"(!?)\[([^\]]*)\]\((?!https?:)([^)#]*)#?([^)]*)\)", text)


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", [*DOCUMENTS, "CONTRIBUTING.md", "CHANGELOG.md"])
def test_everything_that_it_links_to_is_there(document: str) -> None:
    """Pictures, documents and their headings exist; each picture says what it shows."""
    for picture, text, path, anchor in links(document):
        target = (ROOT / document).parent / path if path else ROOT / document
        assert target.is_file(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"
        assert not picture or len(text) > 10, path


def linked(document: str) -> set[Path]:
    """Return the files that a document links to."""
    return {((ROOT / document).parent / path).resolve() for _, _, path, _ in links(document) if path}


def test_each_document_leads_to_all_others() -> None:
    """A reader who lands in one finds the rest; no document and no picture is left over."""
    documents = {ROOT / document for document in DOCUMENTS}
    assert documents == {ROOT / README, *(ROOT / "app" / "docs").glob("*.md")}
    for document in DOCUMENTS:
        assert documents - {ROOT / document} <= linked(document), document
    pictures = {path for document in DOCUMENTS for path in linked(document) if path.suffix == ".png"}
    assert pictures == set((ROOT / "app" / "docs").glob("*.png"))
    assert linked(README) >= {ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "LICENSE")}


def test_the_readme_stays_short() -> None:
    """It is read to its end: what is longer has a document, and its table lists those in the order in which they are read."""
    assert len((ROOT / README).read_text().splitlines()) <= MOST_README_LINES
    table = (ROOT / README).read_text().partition("## Read on")[2]
    assert tuple(re.findall(r"^\| \[[^\]]+\]\(([^)]+)\)", table, re.MULTILINE)) == DOCUMENTS[1:]


def test_every_command_of_make_is_one_of_its_targets() -> None:
    """`make run` and the others are in the Makefile."""
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    told = {command for block in blocks("sh") for command in re.findall(r"^make (\w+)", block, re.MULTILINE)}
    assert {"run", "test"} <= told <= targets


LISTED = {
    "make run    # installs everything, then opens the studio in your browser": "starts a server; its targets are compared below",
    "make run AGENTS_DIR=path/to/agents": "as above",
    ". .venv/bin/activate": "starts a server; tests/evalset/cli starts one in another folder",
    "golden-trace studio --address 0.0.0.0": "starts a server for others",
    "golden-trace doctor evals --agents-dir agents": "has a test of its own here, which needs a flaw to find",
    "golden-trace import conversation_scenarios.json --session-input session_input.json --out orders.evalset.json": "asks a model; tests/evalset/cli plays a scenario",
    "adk eval path/to/agents/order_desk orders.evalset.json": "runs the real tools, and says that it fails where they differ",
}
"""The blocks of commands that are not run one after another below, by their first line, each with the reason."""


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh home, with what a person has by then: a kept session, a demo's export, and sessions of ADK's."""
    home = tmp_path / "it's home"
    data = home / ".local" / "share" / "golden-trace-studio"
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for name in ("GOLDEN_TRACE_DATA_DIR", "GOLDEN_TRACE_STORE", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    data.mkdir(parents=True)
    store = JournalStore.open(data / "sessions.db")
    keep = partial(store.begin, owner="local", agent_key="order_desk")
    with Simulation.open(
        demo_agent("order_desk"), session_id="5f7970d6-0000", seed="s", keep=keep
    ) as simulation:
        assert simulation.query("Please cancel order A-1001 and refund me.", wait=PATIENCE)
        while simulation.pending:
            (call, *_) = simulation.pending
            assert isinstance(call, ToolRequest)
            assert simulation.answer(call, call.draft, wait=PATIENCE)
        simulation.journal.keep()
    store.close()
    kept = ROOT / "tests" / "conformance" / "files"
    demo = demo_agent("order_desk").resolve_eval_set_path()
    demo.parent.mkdir(parents=True)
    shutil.copy(kept / "order_desk.evalset.json", demo)
    shutil.copy(kept / "order_desk.environment.json", demo.with_name("order_desk_evals.environment.json"))
    Path("refund.yaml").write_text(script_file())
    Path("sessions").mkdir()
    parts = {"user": "Hello.", "desk": "Good morning."}
    events = [{"author": who, "content": {"parts": [{"text": words}]}} for who, words in parts.items()]
    Path("sessions/chat.json").write_text(json.dumps({"id": "chat", "appName": "desk", "events": events}))
    return home


def first_lines() -> list[str]:
    """Return the first line of each block of commands."""
    return [block.splitlines()[0] for block in blocks("sh")]


def test_every_reason_for_not_running_a_command_is_needed() -> None:
    """A block that is gone, or was changed, has no reason left."""
    assert set(LISTED) <= set(first_lines())


def test_the_readmes_own_command_is_run_in_a_fresh_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a row of the table of commands; it takes the eval set from where the studio exports the demo's cases to."""
    lines = [line for line in "".join(blocks("sh", README)).splitlines() if line.startswith("golden-trace ")]
    assert lines
    assert set(lines) <= {row.line for row in ROWS}
    for name in ("GOLDEN_TRACE_DATA_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    (line,) = (shlex.split(line) for line in lines)
    assert Path(line[3]).expanduser() == demo_agent(line[2]).resolve_eval_set_path()


@pytest.mark.long
@pytest.mark.process
def test_the_commands_pass_as_they_are_pasted(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One block after the other in an empty folder of a fresh home. The first command to evaluate runs in a real shell, as does pytest."""
    ran = [block for block in blocks("sh") if block.splitlines()[0] not in LISTED]
    in_a_shell = (
        "golden-trace eval order_desk ~",
        "golden-trace export orders.evalset.json --form pytest",
        "golden-trace export orders.evalset.json --form dataset",
        "python -m pytest --goldens",
    )
    for block in ran:
        if block.startswith(in_a_shell):
            pasted(block, fresh)
            continue
        for line in block.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "golden-trace", line
            assert main(arguments) == 0, line
    said = capsys.readouterr().out
    assert sum(block.startswith(in_a_shell) for block in ran) == len(in_a_shell)
    assert "PASS refund_down (3 of 3 runs)" in said
    assert 'failures="0"' in Path("results.xml").read_text()
    assert list(Path("agents/desk/tests").glob("*.json"))


def pasted(commands: str, home: Path) -> None:
    """Paste commands into a shell of the environment: each has to pass."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", commands],
        env=quiet_environment(
            HOME=str(home), PATH=path, PYTHONPATH=str(ROOT), PYTEST_PLUGINS="golden_trace"
        ),  # as this checkout is, whatever was installed of it
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
