"""Tests of the settings with which ADK's runner runs a turn."""

from __future__ import annotations

import pytest
from google.adk.agents.run_config import StreamingMode  # type: ignore[attr-defined] # ADK documents it there
from google.adk.telemetry.context import ContentCapturingMode

from simulator.facts import TurnStarted
from simulator.runtime.adk.run_config import run_config


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
