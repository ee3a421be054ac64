"""ADK's in-memory services, telling the turn in progress what they store, and given what a session begins with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from google.adk.artifacts import BaseArtifactService, InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.memory import BaseMemoryService
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.sessions import InMemorySessionService, Session, State
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types
from pydantic import ValidationError

from simulator.base.json_values import JsonObject, canonical, copied, digest
from simulator.base.validation_words import check_kind, first_of
from simulator.facts import EarlierData, Remembered, SavedArtifact
from simulator.runtime.adk.codec import event_json, whole, whole_text
from simulator.runtime.adk.turn_context import CURRENT_TURN, INSIDE_REAL_CALL
from simulator.runtime.errors import SimulationError


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


_SESSION = "earlier"
"""The session that memory from before the first turn belongs to: no session of a person has this id."""


def checked_earlier(earlier: EarlierData, now: float) -> EarlierData:
    """Return what a session begins with, in google-genai's spelling; what is remembered without a time is of now.

    Raises:
        SimulationError: An artifact or an entry of the memory is not as ADK has it; the text names it.
    """
    check_kind(earlier, "artifacts", "what `earlier_data` returns")
    artifacts: dict[str, int] = {}
    saved = tuple(_artifact(each, artifacts) for each in earlier.artifacts)
    return EarlierData(
        artifacts=saved, memory=tuple(_entry(n, each, now) for n, each in enumerate(earlier.memory, 1))
    )


def _artifact(saved: SavedArtifact, versions: dict[str, int]) -> SavedArtifact:
    name = saved.filename
    version = versions[name] = versions.get(name, -1) + 1
    try:
        part = types.Part.model_validate(copied(saved.part)).model_dump(mode="json", exclude_none=True)
    except ValidationError as error:
        raise SimulationError(
            f"the artifact {name!r} is not a valid part: {first_of(error)['msg']}"
        ) from error
    if not name.strip() or not part:
        raise SimulationError(f"the artifact {name!r} has no {'content' if name.strip() else 'name'}")
    return saved.model_copy(update={"part": part, "version": version})


def _entry(number: int, entry: JsonObject, now: float) -> JsonObject:
    try:
        event = Event.model_validate({"author": "user", "timestamp": now, **copied(entry)})
    except ValidationError as error:
        raise SimulationError(
            f"memory entry {number} is not a valid event: {first_of(error)['msg']}"
        ) from error
    content = event.content.model_dump(mode="json", exclude_none=True) if event.content else {}
    if not content.get("parts"):
        raise SimulationError(f"memory entry {number} has no content")
    known = entry.get("id") or f"{_SESSION}-{digest(canonical(content), event.author)[:16]}"
    return {"id": known, "author": event.author, "timestamp": event.timestamp, "content": content}


async def give_earlier(
    earlier: EarlierData,
    artifacts: BaseArtifactService | None,
    memory: BaseMemoryService | None,
    where: dict[str, str],
) -> None:
    """Give a session what it begins with; an artifact that is there already stays as it is.

    Args:
        earlier: What it begins with.
        artifacts: ADK's artifact service; nobody asks for artifacts where there is none.
        memory: ADK's memory service; as above.
        where: The session in ADK: its app, user and id.
    """
    if artifacts is not None and earlier.artifacts:
        present = frozenset(await artifacts.list_artifact_keys(**where))
        for saved in earlier.artifacts:
            if saved.filename not in present:
                part, more = types.Part.model_validate(copied(saved.part)), saved.custom_metadata
                await artifacts.save_artifact(
                    **where, filename=saved.filename, artifact=part, custom_metadata=more
                )
    if memory is not None and earlier.memory:
        named: Any = {**where, "session_id": _SESSION}
        await memory.add_events_to_memory(
            **named, events=[Event.model_validate(copied(each)) for each in earlier.memory]
        )
