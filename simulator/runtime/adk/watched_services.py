"""ADK's in-memory services, telling the turn in progress what they store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from google.adk.artifacts import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.sessions import InMemorySessionService, Session, State
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types

from simulator.base.json_values import JsonObject
from simulator.facts import SavedArtifact
from simulator.runtime.adk.codec import whole, whole_text
from simulator.runtime.adk.turn_context import CURRENT_TURN, INSIDE_REAL_CALL
from simulator.runtime.adk.watched_memory import WatchedMemory


class WatchedSessions(InMemorySessionService):
    """Tells the turn of each event as it is appended; later is too late, as events share lists with live state.

    Past events are shared with those who ask for the session, as under ADK's own flag for light copies: copying
    them all for every turn would make a long session slow.
    """

    async def restore(self, where: dict[str, str], state: JsonObject, events: Iterable[Event]) -> None:
        """Put a session in place as it was after some turns: its state, and the events that led there."""
        await self.create_session(**where, state=state)
        stored = self.sessions[where["app_name"]][where["user_id"]][where["session_id"]]
        stored.events.extend(events)
        if stored.events:
            stored.last_update_time = stored.events[-1].timestamp

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Return a session with a state and a list of events of its own."""
        bare = GetSessionConfig(num_recent_events=0)
        where = {"app_name": app_name, "user_id": user_id, "session_id": session_id}
        session = await super().get_session(**where, config=config or bare)
        if session is not None and config is None:
            session.events = list(self.sessions[app_name][user_id][session_id].events)
        return session

    def state_of(self, *, app_name: str, user_id: str, session_id: str) -> JsonObject:
        """Return the state that a session has, with its user's and its app's; nothing if the agent has deleted it.

        The values are the service's own: `get_session` would copy them, and they are about to be written as JSON.
        """
        session = self.sessions.get(app_name, {}).get(user_id, {}).get(session_id)
        if session is None:
            return {}
        apps, users = self.app_state.get(app_name, {}), self.user_state.get(app_name, {}).get(user_id, {})
        return {
            **session.state,
            **{f"{State.APP_PREFIX}{key}": value for key, value in apps.items()},
            **{f"{State.USER_PREFIX}{key}": value for key, value in users.items()},
        }

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
        """Save an artifact and return its version."""
        filename = whole_text(filename)
        version = await super().save_artifact(filename=filename, artifact=artifact, **where)
        turn = CURRENT_TURN.get()
        if turn is not None:
            part = artifact if isinstance(artifact, types.Part) else types.Part.model_validate(artifact)
            saved = SavedArtifact(
                filename=filename,
                part=whole(part.model_dump(mode="json", exclude_none=True)),
                custom_metadata=whole(where.get("custom_metadata")),
                version=version,
            )
            turn.note_artifact(saved)
            if (inside := INSIDE_REAL_CALL.get()) and inside.take_artifact:
                inside.take_artifact(saved)
        return version


class Ground(NamedTuple):
    """What a turn stands on: the services that ADK's runner uses, and where its session is in them."""

    sessions: WatchedSessions
    artifacts: WatchedArtifacts
    memory: WatchedMemory
    where: dict[str, str]
