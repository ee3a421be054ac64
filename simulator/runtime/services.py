"""ADK's in-memory services, telling the turn in progress what they store."""

from __future__ import annotations

from typing import Any

from google.adk.artifacts import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.sessions import InMemorySessionService, Session
from google.genai import types

from simulator.facts import SavedArtifact
from simulator.runtime.context import ARTIFACT_SINK, CURRENT_TURN


class WatchedSessions(InMemorySessionService):
    """Tells the turn of each event as it is appended; later is too late, as events share lists with live state."""

    async def append_event(self, session: Session, event: Event) -> Event:
        """Append an event."""
        appended = await super().append_event(session, event)
        turn = CURRENT_TURN.get()
        if turn is not None and not event.partial:
            turn.note_event(appended)
        return appended


class WatchedArtifacts(InMemoryArtifactService):
    """Tells the turn, and the real tool that is running, of each artifact with its bytes."""

    async def save_artifact(
        self, *, filename: str, artifact: types.Part | dict[str, Any], **where: Any
    ) -> int:
        """Save an artifact and give its version."""
        version = await super().save_artifact(filename=filename, artifact=artifact, **where)
        turn = CURRENT_TURN.get()
        if turn is not None:
            part = artifact if isinstance(artifact, types.Part) else types.Part.model_validate(artifact)
            saved = SavedArtifact(
                filename=filename,
                part=part.model_dump(mode="json", exclude_none=True),
                custom_metadata=where.get("custom_metadata"),
                version=version,
            )
            turn.note_artifact(saved)
            if sink := ARTIFACT_SINK.get():
                sink(saved)
        return version
