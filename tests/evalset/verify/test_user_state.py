"""State that is set with a message of the user is recorded, exported, replayed and imported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalset.cli.main import main
from evalset.recorded.recording_files import read_environment, sidecar_of
from tests.evalset.verify.small_agents import agent, played, verified

SHOP = """
from google.genai import types


def closed(callback_context):
    if callback_context.state.get("closed"):
        return types.Content(role="model", parts=[types.Part(text=f"Closed for {callback_context.state['temp:who']}.")])


root_agent = LlmAgent(
    name="small", model="gemini-2.5-flash", instruction="Help a {plan} customer.", before_agent_callback=closed
)
"""
TURNS = (
    {"say": "Hello", "state_delta": {"plan": "pro"}, "moves": [{"text": "Hi."}]},
    {"say": "And now?", "state_delta": {"closed": True, "temp:who": "Ann"}},
)


def case_in(path: Path) -> dict[str, Any]:
    """Return the only case of an eval set."""
    (case,) = json.loads(path.read_text())["eval_cases"]
    found: dict[str, Any] = case
    return found


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """An eval set of a session in which each message sets state."""
    return played(agent(tmp_path / "agents", SHOP), *TURNS)


def test_a_replay_sets_what_the_messages_set(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the first one sets is the initial state of the case; what a later one sets is recorded with its turn.

    The recorded case plays again as a session that starts from that state. One that is edited there counts: it is not set back.
    """
    assert "warning" not in capsys.readouterr().err
    case, recorded = case_in(kept), read_environment(sidecar_of(kept)).cases["one"]
    assert case["session_input"]["state"] == recorded.state == {"plan": "pro"}
    assert [turn.state_delta for turn in recorded.turns] == [{}, {"closed": True, "temp:who": "Ann"}]
    assert case["conversation"][1]["final_response"]["parts"] == [{"text": "Closed for Ann."}]
    again = tmp_path / "again.evalset.json"
    words = ["--script", str(kept), "--case", "one", "--out", str(again), "--eval-id", "two"]
    assert main(["run", str(tmp_path / "agents" / "small"), *words]) == 0
    for path in (kept, again):
        assert case_in(path)["final_session_state"] == {"plan": "pro", "closed": True}
        assert verified(path, tmp_path / "agents") == 0
    kept.write_text(kept.read_text().replace('"plan": "pro"', '"plan": "free"'))
    assert case_in(kept)["session_input"]["state"] == {"plan": "free"}
    assert verified(kept, tmp_path / "agents") == 0


PLUGIN = """
from google.adk.apps import App
from google.adk.plugins.base_plugin import BasePlugin


class Notes(BasePlugin):
    async def on_user_message_callback(self, *, invocation_context, user_message):
        state = invocation_context.session.state
        state["said"] = state.get("said", 0) + 1
        state["temp:who"] = "Ann"


app = App(name="small", root_agent=root_agent, plugins=[Notes("notes")])
"""


def test_state_that_a_plugin_sets_as_the_user_speaks_is_set_again(tmp_path: Path) -> None:
    """The plugin runs in the replay, and what the message set is there before it."""
    turns = ({**TURNS[0]}, {"say": "And now?", "state_delta": {"closed": True}})
    kept = played(agent(tmp_path / "agents", SHOP + PLUGIN), *turns)
    assert case_in(kept)["conversation"][1]["final_response"]["parts"] == [{"text": "Closed for Ann."}]
    assert verified(kept, tmp_path / "agents") == 0


@pytest.mark.long
def test_a_hermetic_eval_sets_that_state(kept: Path, tmp_path: Path) -> None:
    """The agent says what its callback makes of it."""
    assert main(["eval", str(tmp_path / "agents" / "small"), str(kept), "--models", "recorded"]) == 0


def said(author: str, text: str = "", **delta: Any) -> dict[str, Any]:
    """Write an event of a session as ADK's server gives it; one without a text only sets state."""
    role = "user" if author == "user" else "model"
    content = {"content": {"role": role, "parts": [{"text": text}]}} if text else {}
    return {"author": author, "invocationId": "i", **content, "actions": {"stateDelta": delta}}


def imported(tmp_path: Path, *events: dict[str, Any], **state: Any) -> Path:
    """Import a session, and return the eval set."""
    written, session = tmp_path / "imported.evalset.json", tmp_path / "session.json"
    document = {"id": "s", "appName": "small", "userId": "user", "state": state, "events": events}
    session.write_text(json.dumps(document))
    assert main(["import", str(session), "--out", str(written)]) == 0
    return written


@pytest.mark.parametrize("apart", [False, True])
def test_an_imported_session_keeps_what_its_user_set(tmp_path: Path, *, apart: bool) -> None:
    """With a message, or between two, as the page of `adk web` does."""
    delta: dict[str, Any] = {"closed": True, "temp:who": "Ann"}
    asks = [said("user", **delta), said("user", "And now?")] if apart else [said("user", "And now?", **delta)]
    events = [
        said("user", "Hello", plan="pro"),
        said("small", "Hi."),
        *asks,
        said("small", "Closed for Ann."),
    ]
    written = imported(tmp_path, *events, plan="pro", closed=True)
    assert case_in(written)["session_input"]["state"] == {"plan": "pro"}
    assert case_in(written)["final_session_state"] == {"plan": "pro", "closed": True}
    agent(tmp_path / "agents", SHOP)
    assert verified(written, tmp_path / "agents") == 0


def test_what_comes_before_the_first_message_is_in_the_initial_state_or_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So is what nobody can replay: state that is set when nothing follows."""
    events = [
        said("small", "Synced.", plan="pro"),
        said("user", "Hello"),
        said("small", "Hi."),
        said("user", rated=5),
    ]
    written = imported(tmp_path, *events, tier="gold", plan="pro", rated=5)
    told = capsys.readouterr()
    assert case_in(written)["session_input"]["state"] == {"plan": "pro", "tier": "gold"}
    assert case_in(written)["final_session_state"] == {"plan": "pro", "tier": "gold"}
    assert "before the first user message, 1 event is left out" in told.out + told.err
    assert "left out: rated" in told.out + told.err
