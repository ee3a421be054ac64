"""A user simulator of one's own, which counts its messages itself."""

from __future__ import annotations

from typing import Any

from google.adk.evaluation.simulation.user_simulator import (
    BaseUserSimulatorConfig,
    NextUserMessage,
    Status,
    UserSimulator,
)
from google.adk.events.event import Event
from google.genai import types


class Counting(UserSimulator):
    """Says numbered lines, and what it has heard."""

    def __init__(self, *, config: BaseUserSimulatorConfig, conversation_scenario: Any) -> None:
        super().__init__(config, BaseUserSimulatorConfig)
        self._said = 0

    async def get_next_user_message(self, events: list[Event]) -> NextUserMessage:
        """Say the next line, or that it was the last."""
        if self._said == 3:
            return NextUserMessage(status=Status.STOP_SIGNAL_DETECTED)
        self._said += 1
        text = f"line {self._said} after {len(events)}"
        content = types.Content(role="user", parts=[types.Part(text=text)])
        return NextUserMessage(status=Status.SUCCESS, user_message=content)
