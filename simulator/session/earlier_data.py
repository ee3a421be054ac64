"""Makes what a session begins with besides its state, of what people write: files by their names, and texts to remember."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simulator.facts import EarlierData, SavedArtifact
from simulator.session.attached_files import file_part


def earlier_data(artifacts: Mapping[str, Any] | None = None, memory: Iterable[Any] = ()) -> EarlierData:
    """Return the artifacts and the memory that a session begins with, for `Simulation.open`.

    Args:
        artifacts: The files by their names, as ADK's artifact service knows them: text, bytes, or google-genai's `Part`, also in JSON.
        memory: What ADK's memory service finds: texts, or ADK's events in JSON, as `{"author": "user", "content": {"parts": [{"text": "..."}]}}`.
    """
    saved = (
        SavedArtifact(filename=name, part=_part(name, file), version=0)
        for name, file in (artifacts or {}).items()
    )
    return EarlierData(artifacts=tuple(saved), memory=tuple(memory))


def _part(name: str, file: Any) -> Any:
    if isinstance(file, str):
        return {"text": file}
    if isinstance(file, bytes):
        return file_part(name, "", file)
    return file.model_dump(mode="json", exclude_none=True) if hasattr(file, "model_dump") else file
