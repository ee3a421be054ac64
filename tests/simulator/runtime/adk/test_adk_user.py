"""Fails when what we touch of ADK's user simulator changes, and proves its traps mended with the real client."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.agents.run_config import StreamingMode  # type: ignore[attr-defined] # ADK documents it there
from google.adk.telemetry.context import ContentCapturingMode

from simulator.base.json_values import JsonObject
from simulator.facts import TurnStarted
from simulator.runtime.adk.user_simulator import personas, written_config, written_scenario
from simulator.runtime.models.json_client import Timeouts
from simulator.runtime.turns.replay_release import run_config
from simulator.runtime.user_player import UserMessageContext, UserMessageResult, next_message
from simulator.session.model import UserSeat
from tests.harness.loopback import HANGS, Reply, loopback
from tests.simulator.runtime.models.model_servers import PROVIDERS, gemini_at, on_loop
from tests.simulator.runtime.speaking import SCENARIO, desk, said, seat, speaker, status, until
from tests.simulator.runtime.stage import PATIENCE

# google-genai's own client does so.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

GEMINI = PROVIDERS["google-genai"]


def made(
    *replies: Reply, config: Any = None, **patience: Any
) -> tuple[UserMessageResult, list[str], list[Any]]:
    """Ask through the real client for the second message; return it, what was told, and what arrived."""
    told: list[str] = []
    with loopback(*replies) as server:
        model = gemini_at(server.url)
        named = {"model": model.model, **(config or {})}
        standing = UserSeat(player="scenario", scenario=SCENARIO, config=named, said=1)
        conversation = UserMessageContext(standing, (), {model.model: model})
        patience = {"retry_delay": 0, **patience}
        work = next_message(conversation, told.append, lambda: 0.0, Timeouts(**patience))
        return on_loop(work), told, server.asked


def test_a_dead_server_is_asked_three_times_and_a_refusal_or_a_silence_once() -> None:
    """ADK would wait for minutes without a word; here each retry is visible, and in the end the reason."""
    said_, told, asked = made(*[GEMINI.fails(503, "down")] * 9)
    assert (said_.status, len(asked)) == ("failed", 3)
    assert said_.reason.startswith("503: down")
    assert said_.reason.endswith(" (3 attempts)")
    assert [text.rpartition("trying")[2] for text in told[1:]] == [
        " again in 0 s (1 of 2)",
        " again in 0 s (2 of 2)",
    ]
    said_, _, asked = made(GEMINI.fails(401, "bad key kept-secret-0123456789"))
    assert (said_.status, len(asked)) == ("failed", 1)
    assert "kept-secret" not in said_.reason
    said_, _, _ = made(HANGS, timeout_seconds=0.2, retries=0)
    assert said_.reason.endswith("0.2 s (1 attempt)")


@pytest.mark.long
def test_a_retry_that_succeeds_is_the_message() -> None:
    """The answer after a failure counts, and the configuration that was given is not written into."""
    config = {"model_configuration": {"temperature": 0.5, "http_options": {"headers": {"x-a": "b"}}}}
    said_, _, asked = made(GEMINI.fails(429), GEMINI.says("I am back"), config=config)
    assert said_.message == {"role": "user", "parts": [{"text": "I am back"}]}
    assert asked[1].body["generationConfig"]["temperature"] == 0.5
    assert asked[1].headers.get("x-a", asked[1].headers.get("X-A")) == "b"
    assert config["model_configuration"] == {"temperature": 0.5, "http_options": {"headers": {"x-a": "b"}}}


def test_all_of_the_configuration_reaches_adk() -> None:
    """Own instructions stand in the prompt with the plan; a persona of one's own too."""
    own = {
        "id": "SHY",
        "description": "You are shy.",
        "behaviors": [
            {
                "name": "Quiet",
                "description": "Says little.",
                "behavior_instructions": ["Whisper."],
                "violation_rubrics": ["Shouts."],
            }
        ],
    }
    words = "{{ stop_signal }} {{ conversation_plan }} {{ conversation_history }} {{ persona.description }}"
    config = {"custom_instructions": f"MINE {words}", "include_function_calls": True}
    model = speaker("ok")
    with desk() as sim:
        seat(sim, model, scenario={**SCENARIO, "user_persona": own}, config=config)
        assert sim.accept(wait=PATIENCE)
    asked: Any = model.asked[0]["contents"]
    text = asked[0]["parts"][0]["text"]
    assert text.startswith("MINE </finished> Ask for a refund")
    assert text.endswith("You are shy.")


def test_a_message_that_is_being_made_can_be_stopped_and_made_again() -> None:
    """Stop ends it at once with words; go on asks anew. A person may speak meanwhile instead."""
    with loopback(HANGS, HANGS, GEMINI.says("made")) as server, desk() as sim:
        model = gemini_at(server.url)
        seat(sim, model)
        assert not sim.accept(wait=0)
        until(lambda: sim.view().user.progress and server.asked)
        sim.stop()
        assert (status(sim), sim.view().user.words) == ("stopped", "Generation was stopped.")
        assert not sim.go_on(wait=0)
        until(lambda: len(server.asked) == 2)
        assert not sim.query("I speak meanwhile", wait=0)
        assert sim.wait(PATIENCE)
        assert said(sim) == ["Where is my order?", "I speak meanwhile"]
        assert status(sim) == "success"


def test_a_run_by_itself_is_stopped_for_good() -> None:
    """Without a limit the conversation would never end; a stop ends the turn, and nothing is said after it."""
    with desk() as sim:
        endless = speaker(*["more"] * 100_000)
        config: JsonObject = {"max_allowed_invocations": -1}
        assert not sim.set_user(
            "scenario", scenario=SCENARIO, config=config, model=endless, hold=False, wait=0.0
        )
        until(lambda: said(sim))
        sim.stop()
        assert sim.wait(PATIENCE)
        count = len(said(sim))
        assert sim.view().user.seat.left is None
        assert not sim.view().user.running
        assert sim.wait(PATIENCE)
        assert len(said(sim)) == count


def test_a_closed_session_asks_nobody() -> None:
    """Closing ends what the player is at; the journal can be resumed."""
    with loopback(HANGS) as server, desk() as sim:
        seat(sim, gemini_at(server.url))
        assert not sim.accept(wait=0)
        until(lambda: server.asked)
        sim.close()
        assert len(server.asked) == 1


def test_scenarios_and_configurations_are_kept_in_snake_case() -> None:
    """Both of ADK's spellings are read; a persona that was named stays a name."""
    camel: Any = {"startingPrompt": "hi", "conversationPlan": "talk", "userPersona": "EXPERT"}
    assert written_scenario(camel) == {
        "starting_prompt": "hi",
        "conversation_plan": "talk",
        "user_persona": "EXPERT",
    }
    assert written_config({"maxAllowedInvocations": 3, "type": "llm_backed"}) == {
        "max_allowed_invocations": 3
    }
    assert set(personas()) == {"EXPERT", "NOVICE", "EVALUATOR"}


def started(*, streaming: bool = False) -> TurnStarted:
    """Return the fact that a turn begins with."""
    message = {"role": "user", "parts": [{"text": "hi"}]}
    return TurnStarted(at=1.0, turn=0, purpose="query", message=message, streaming=streaming, max_llm_calls=7)


def test_authored_content_stays_out_of_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a word in the environment, ADK captures no message; whoever sets OpenTelemetry's own variable gets what it says."""
    for name in ("OTEL_SEMCONV_STABILITY_OPT_IN", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"):
        monkeypatch.delenv(name, raising=False)
    telemetry = run_config(started()).telemetry
    assert telemetry is not None
    assert telemetry.resolved_content_capturing_mode is ContentCapturingMode.NO_CONTENT
    assert not telemetry.should_add_content_to_legacy_spans
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "EVENT_ONLY")
    assert run_config(started()).telemetry is None  # ADK reads the environment itself


def test_a_turn_keeps_its_limits() -> None:
    """The limit of model calls and the way of streaming are the turn's."""
    config = run_config(started(streaming=True))
    assert (config.max_llm_calls, config.streaming_mode) == (7, StreamingMode.SSE)
    assert run_config(started()).streaming_mode is StreamingMode.NONE
