"""How ADK's runner is told to run a turn."""

from __future__ import annotations

import functools
import os

from google.adk.agents.run_config import RunConfig, StreamingMode, ToolThreadPoolConfig  # type: ignore[attr-defined] # ADK documents StreamingMode there, but does not list it
from google.adk.telemetry.context import ContentCapturingMode, TelemetryConfig

from simulator.facts import TurnStarted

_TOOL_THREADS = 16
_ASKED_FOR = (
    "OTEL_SEMCONV_STABILITY_OPT_IN",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
    "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS",
)


def run_config(started: TurnStarted) -> RunConfig:
    """Return ADK's settings for a turn, of its own."""
    asked_for = any(os.environ.get(name) for name in _ASKED_FOR)
    return _settings(started.streaming, started.max_llm_calls, asked_for).model_copy()


@functools.lru_cache(maxsize=16)
def _settings(streaming: bool, max_llm_calls: int, asked_for: bool) -> RunConfig:
    return RunConfig(
        streaming_mode=StreamingMode.SSE if streaming else StreamingMode.NONE,
        max_llm_calls=max_llm_calls,
        telemetry=_telemetry(asked_for),
        tool_thread_pool_config=ToolThreadPoolConfig(max_workers=_TOOL_THREADS),
    )


def _telemetry(asked_for: bool) -> TelemetryConfig | None:
    """Keep what people author out of traces, unless the environment asks for it.

    ADK writes each request and response into its spans otherwise, which is also a tenth of the time of a turn.
    """
    if asked_for:
        return None
    return TelemetryConfig(
        genai_semconv_stability_opt_in="stable", capture_message_content=ContentCapturingMode.NO_CONTENT
    )
