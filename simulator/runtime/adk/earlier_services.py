"""Checks the artifacts and the memory that a session begins with, and gives them to ADK's services."""

from __future__ import annotations

from typing import Any

from google.adk.artifacts import BaseArtifactService
from google.adk.events.event import Event
from google.adk.memory import BaseMemoryService
from google.genai import types
from pydantic import ValidationError

from simulator.base.json_values import JsonObject, canonical, copied, digest
from simulator.base.validation_words import first_of
from simulator.facts import EarlierData, SavedArtifact
from simulator.runtime.errors import SimulationError

_SESSION = "earlier"
"""The session that memory from before the first turn belongs to: no session of a person has this id."""


def checked_earlier(earlier: EarlierData, now: float) -> EarlierData:
    """Return what a session begins with, in google-genai's spelling; what is remembered without a time is of now.

    Raises:
        SimulationError: An artifact or an entry of the memory is not as ADK has it; the text names it.
    """
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
