"""ADK's in-memory memory service, noting what the agent's code puts into it and takes out, so that it holds the same after a restart or an undo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.adk.events.event import Event
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.sessions import Session

from simulator.base.json_values import copied
from simulator.facts import Remembered
from simulator.runtime.adk.codec import event_json


class WatchedMemory(InMemoryMemoryService):
    """Notes what it is given while turns run; like a new server, it begins with nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._noted: list[Remembered] = []

    def taken(self) -> tuple[Remembered, ...]:
        """Return what was noted since this was asked last."""
        noted, self._noted = tuple(self._noted), []
        return noted

    async def add_session_to_memory(self, session: Session) -> None:
        """Remember a session as it is now, in place of how it was remembered before."""
        await super().add_session_to_memory(session)
        self._noted.append(Remembered(count=len(session.events)))

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember these events beside those that are there."""
        where: Any = {"app_name": app_name, "user_id": user_id, "session_id": session_id}
        await super().add_events_to_memory(**where, events=events, custom_metadata=custom_metadata)
        written = tuple(event_json(event) for event in events)
        self._noted.append(Remembered(session_id=session_id, events=written))

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget what was remembered under this id, also where its session is remembered again; without an id, nothing."""
        await self._forget(app_name=app_name, user_id=user_id, memory_id=memory_id)
        if memory_id:
            self._noted.append(Remembered(deleted=memory_id))

    async def _forget(self, **what: str | None) -> None:
        forget = getattr(super(), "delete_memory", None)
        if forget is None:
            raise NotImplementedError("google-adk before 2.13 cannot delete memories")
        await forget(**what)

    async def restore(
        self, noted: Sequence[Remembered], where: Mapping[str, str], events: Sequence[Event]
    ) -> None:
        """Remember, and forget, again what was noted.

        Args:
            noted: What `taken` gave, oldest first.
            where: The session in ADK: its app, user and id.
            events: The session's own events, in their order.
        """
        app, user = where["app_name"], where["user_id"]
        for each in noted:
            if each.deleted is not None:
                await self._forget(app_name=app, user_id=user, memory_id=each.deleted)
            elif each.count is not None:
                own = Session(id=where["session_id"], app_name=app, user_id=user)
                own.events.extend(events[: each.count])
                await super().add_session_to_memory(own)
            else:
                again = [Event.model_validate(copied(event)) for event in each.events]
                await super().add_events_to_memory(
                    app_name=app, user_id=user, events=again, session_id=each.session_id
                )
