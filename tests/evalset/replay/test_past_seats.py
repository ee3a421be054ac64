"""Proves that no tool runs in a replay, or beside a stand-in that was not told to let it, even where the agent's own code passes its seat by."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest
from google.adk.apps import App
from google.adk.runners import InMemoryRunner
from google.genai import types

from evalset import HermeticEnvironment
from evalset.recorded.recording import RecordedCase, RecordedEnvironment
from evalset.verify import verify
from simulator import create_plugin
from simulator.runtime.adk.outside_work import OutgoingConnectionError
from simulator.runtime.adk.tool_guards import UnchosenToolError
from tests.evalset.replay.desk_agent import keep
from tests.harness.adk_process import run_adk_eval
from tests.simulator.runtime.past_seats import ASKED, NAME, REFUSED, Way, before, hitting, marks
from tests.simulator.runtime.stage import opened, play, say

pytestmark = pytest.mark.filterwarnings("ignore:.*(deprecated|experimental|EXPERIMENTAL).*")

REPOSITORY = Path(__file__).resolve().parents[3]
WAYS: dict[str, Way] = {**REFUSED, **{name: way for name, (way, _) in ASKED.items()}}
IN_THREADS = ("own_runner_in_a_thread", "own_runner_blocking")
"""A stand-in answers any loop and any thread, so it can be asked about these."""

refused_way = pytest.mark.parametrize("way", REFUSED.values(), ids=REFUSED)

AGENT = """
from pathlib import Path

from google.adk.apps import App

from evalset import HermeticEnvironment
from tests.evalset.replay.test_past_seats import WAYS
from tests.simulator.runtime.past_seats import hitting

made = WAYS[{way!r}](hitting(Path({marker!r})))
plugins = [HermeticEnvironment({recorded!r})] if {recorded!r} else []
if isinstance(made, App):
    app = made.model_copy(update={{"plugins": [*plugins, *made.plugins]}})
else:
    app = App(name="stage", root_agent=made, plugins=plugins)
root_agent = app.root_agent
"""


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """Where the tool leaves its marks."""
    return tmp_path / "marks"


def written(folder: Path, way: str, marker: Path, recorded: Path | str = "") -> Path:
    """Write an agent that passes a seat by; return the folder of agents."""
    home = folder / "stage"
    home.mkdir(parents=True)
    (home / "__init__.py").write_text("from . import agent\n")
    (home / "agent.py").write_text(AGENT.format(way=way, marker=str(marker), recorded=str(recorded)))
    return folder


def recorded_for_real(way: Way, marker: Path, eval_set: Path) -> Path:
    """Keep a session in which everything was real as a case; return the recording, and take the marks away."""
    with opened(way(hitting(marker)), tools="real") as sim:
        play(sim)
        assert marks(marker)
        sidecar = keep(sim, eval_set, "one")
    marker.unlink()
    return sidecar


def run(agent: Any, plugin: Any) -> list[Any]:
    """Run an agent once under ADK's runner, with one more plugin; return the events."""

    async def events() -> list[Any]:
        own = agent.plugins if isinstance(agent, App) else []
        root = agent.root_agent if isinstance(agent, App) else agent
        app = App(name="stage", root_agent=root, plugins=[plugin, *own])
        async with InMemoryRunner(app=app) as runner:
            session = await runner.session_service.create_session(app_name="stage", user_id="user")
            message = types.Content(role="user", parts=[say("go")])
            running = runner.run_async(user_id="user", session_id=session.id, new_message=message)
            return [event async for event in running]

    return asyncio.run(events())


# ---------------------------------------------------------------- a stand-in


@pytest.mark.parametrize("way", [way for name, way in REFUSED.items() if name not in IN_THREADS])
def test_beside_a_stand_in_a_tool_that_is_not_real_fails_the_run_by_name(way: Way, marker: Path) -> None:
    """The configuration says who answers; what it does not let run for real does not run."""
    plugin = create_plugin({"players": {"outer": "real", NAME: "offline"}})
    with pytest.raises(UnchosenToolError, match=f" {NAME} "):
        run(way(hitting(marker)), plugin)
    assert marks(marker) == []


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(way, id=name, marks=() if name in ASKED else pytest.mark.long)
        for name, way in WAYS.items()
    ],
)
def test_beside_a_stand_in_a_tool_that_is_real_runs_once(way: Way, marker: Path) -> None:
    """By its name in the configuration."""
    real = dict.fromkeys(["outer", NAME, "transfer_to_agent", "helper"], "real")
    assert run(way(hitting(marker)), create_plugin({"players": real}))
    assert len(marks(marker)) == 1


@pytest.mark.long
@pytest.mark.parametrize(("way", "name"), [*ASKED.values(), *((REFUSED[name], NAME) for name in IN_THREADS)])
def test_a_stand_in_answers_what_can_be_asked_about(way: Way, name: str, marker: Path) -> None:
    """In runners of the agent's own too, as a part of the same session."""
    plugin = create_plugin({"players": {name: "offline"}})
    run(way(hitting(marker)), plugin)
    assert [call.tool_name for call in plugin.calls()] == [name]
    assert marks(marker) == []


# ---------------------------------------------------------------- replays


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_replay_runs_nothing_that_was_not_recorded(way: Way, marker: Path) -> None:
    """It fails, and names the tool, whatever the agent's code makes of that."""
    turn: Any = {"query": {"role": "user", "parts": [{"text": "go"}]}, "calls": []}
    case = RecordedCase.model_validate({"agent": "clerk", "app_name": "stage", "turns": [turn]})
    plugin = HermeticEnvironment(RecordedEnvironment(cases={"one": case}), case="one")
    try:
        run(way(hitting(marker)), plugin)
    except Exception as error:  # noqa: BLE001 - told beside what was missed
        plugin.missed.append(str(error))
    assert any(name in str(plugin.missed) for name in (NAME, "transfer_to_agent", "helper", "outer"))
    assert marks(marker) == []


@refused_way
def test_verify_fails_where_a_tool_is_called_past_its_seat(way: Way, tmp_path: Path, marker: Path) -> None:
    """What was real when it was recorded is not in the verdict's evidence; the verdict names the tool."""
    eval_set = tmp_path / "stage.evalset.json"
    recorded_for_real(way, marker, eval_set)
    agents = written(tmp_path / "agents", way.__name__, marker)
    verification = verify(eval_set, agents_dir=agents)
    told = json.dumps(verification.model_dump(mode="json"))
    assert marks(marker) == []
    if way.__name__ == "tool_calls_tool":
        assert verification.status == "passed"  # the outer call was recorded as a whole
    else:
        assert verification.status != "passed"
        assert f"tool {NAME} did" in told or f"response for {NAME}(" in told


@pytest.mark.long
@pytest.mark.parametrize("way", [way for way, _ in ASKED.values()], ids=ASKED)
def test_verify_passes_where_what_was_asked_about_is_recorded(way: Way, tmp_path: Path, marker: Path) -> None:
    """Also in runners of the agent's own: each gets its recorded responses."""
    eval_set = tmp_path / "stage.evalset.json"
    with opened(way(hitting(marker)), tools="offline") as sim:
        play(sim)
        keep(sim, eval_set, "one")
    agents = written(tmp_path / "agents", way.__name__, marker)
    verification = verify(eval_set, agents_dir=agents)
    assert verification.status == "passed", verification
    assert marks(marker) == []


@pytest.mark.long
@pytest.mark.process
@pytest.mark.parametrize("name", ["own_runner_in_a_thread", "callback", "canonical_late"])
def test_adk_eval_fails_where_a_tool_is_called_past_its_seat(name: str, tmp_path: Path, marker: Path) -> None:
    """In ADK's own process with a recorded environment no tool leaves a mark, and the output names it."""
    eval_set = tmp_path / "stage.evalset.json"
    sidecar = recorded_for_real(WAYS[name], marker, eval_set)
    agents = written(tmp_path / "agents", name, marker, sidecar)
    outcome = run_adk_eval(agents / "stage", eval_set, environment={"PYTHONPATH": str(REPOSITORY)})
    assert marks(marker) == []
    assert outcome.passed == 0
    assert f"tool {NAME} did" in outcome.output or f"response for {NAME}(" in outcome.output


# ---------------------------------------------------------------- connections


def connecting(host: str, how: str, port: int = 9) -> Any:
    """Make an agent whose callback connects to a host, by name or by address, on the loop or blocking."""

    async def connect(callback_context: Any) -> None:
        if how == "blocking":
            socket.create_connection((host, port), timeout=60).close()
        elif how == "thread":
            await asyncio.to_thread(lambda: socket.create_connection((host, port), timeout=60).close())
        else:
            _, writer = await asyncio.open_connection(host, port)
            writer.close()

    return before(connect)


def replaying(models: Any, **more: Any) -> HermeticEnvironment:
    """Make a plugin that replays one turn."""
    response: Any = {"content": {"role": "model", "parts": [{"text": "done"}]}}
    model_turn: Any = {"agent": "clerk", "responses": [response], "author": {"source": "model"}}
    turn: Any = {"query": {"role": "user", "parts": [{"text": "go"}]}, "calls": [], "models": [model_turn]}
    case = RecordedCase.model_validate({"agent": "clerk", "app_name": "stage", "turns": [turn]})
    return HermeticEnvironment(RecordedEnvironment(cases={"one": case}), case="one", models=models, **more)


@pytest.mark.parametrize("how", ["loop", "blocking", "thread"])
@pytest.mark.parametrize("host", ["tools.example.com", "192.0.2.1", "2001:db8::1"])
def test_with_recorded_models_no_other_machine_is_reached(host: str, how: str) -> None:
    """The error names the host."""
    with pytest.raises(OutgoingConnectionError, match=re.escape(host)):
        run(connecting(host, how), replaying("recorded"))


@pytest.mark.parametrize("how", ["loop", "blocking", "thread"])
def test_with_recorded_models_this_machine_is_reached(how: str) -> None:
    """The connection is made."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        _, port = listening.getsockname()
        events = run(connecting("localhost", how, port), replaying("recorded"))
        listening.accept()[0].close()
    assert events[-1].content.parts[0].text == "done"


def test_a_host_that_is_allowed_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name, at whichever address that has."""
    tried: list[Any] = []

    def lookup(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.7", port))]

    def connect(_: Any, address: Any) -> None:
        tried.append(address)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    monkeypatch.setattr(socket.socket, "connect", connect)
    run(connecting("tools.example.com", "blocking"), replaying("recorded", allow_hosts=["tools.example.com"]))
    assert tried == [("192.0.2.7", 9)]


def test_with_real_models_connections_are_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their clients need them."""
    tried: list[Any] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, address: tried.append(address))
    run(connecting("192.0.2.1", "blocking"), replaying("real"))
    assert tried == [("192.0.2.1", 9)]
