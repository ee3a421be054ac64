"""Files: in a message, as google-genai's parts with `inline_data` in JSON, and those that a session begins with. Pure."""

from __future__ import annotations

import base64
import mimetypes
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from simulator.base.documents import LIMITS
from simulator.base.frozen_value import Value
from simulator.base.json_values import Json, JsonObject
from simulator.base.validation_words import check_kind
from simulator.facts import EarlierData, SavedArtifact

_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
_ANY_TYPE = "application/octet-stream"
_MB = 1 << 20


class AttachedFile(Value):
    """A file in a message. `data` is base64, in the alphabet of either standard; `name` is no path and may be empty."""

    name: str = ""
    mime_type: str = _ANY_TYPE
    data: str = ""

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return len(self.data.rstrip("=")) * 3 // 4

    @property
    def content(self) -> bytes:
        """The bytes; none where `data` is no base64."""
        written = self.data.replace("-", "+").replace("_", "/").rstrip("=")
        try:
            return base64.b64decode(written + "=" * (-len(written) % 4), validate=True)
        except ValueError:
            return b""

    @property
    def words(self) -> str:
        """Its name, type and size."""
        return f"{self.name or 'file'}, {self.mime_type}, {self.size:,} bytes"


def file_part(name: str, mime_type: str, content: bytes) -> JsonObject:
    """Return a file as google-genai's `Part` in JSON; a type that is none is guessed from the name."""
    kind = mime_type if _TYPE.fullmatch(mime_type) else mimetypes.guess_type(name)[0] or _ANY_TYPE
    data = base64.urlsafe_b64encode(content).decode()  # as google-genai writes bytes
    return {"inline_data": {"data": data, "display_name": name, "mime_type": kind}}


def message_of(text: str, files: Sequence[JsonObject]) -> str | JsonObject:
    """Return a text as a message with files; a text alone stays one."""
    said: list[Json] = [{"text": text}] if text.strip() else []
    return {"role": "user", "parts": [*said, *files]} if files else text


def file_of(part: Mapping[str, Any]) -> AttachedFile | None:
    """Return the file that a part in JSON holds, in either of google-genai's spellings; None where it holds none."""
    blob = part.get("inline_data") or part.get("inlineData")
    if not isinstance(blob, Mapping):
        return None
    name = blob.get("display_name") or blob.get("displayName") or ""
    kind = blob.get("mime_type") or blob.get("mimeType") or _ANY_TYPE
    return AttachedFile(name=str(name), mime_type=str(kind), data=str(blob.get("data") or ""))


def files_in(message: Mapping[str, Any]) -> Iterator[AttachedFile]:
    """Yield the files of a google-genai `Content` in JSON."""
    parts = message.get("parts")
    for part in parts if isinstance(parts, (list, tuple)) else ():
        if isinstance(part, Mapping) and (file := file_of(part)) is not None:
            yield file


def check_sizes(files: Iterable[tuple[str, int]]) -> int:
    """Check the sizes of a message's files, each with its name; return their sum.

    Raises:
        ValueError: It is more than `LIMITS` allows for one message; the text names the file that is one too many.
    """
    taken, most = 0, LIMITS["message"]
    for name, size in files:
        taken += size
        if taken > most:
            raise ValueError(
                f"{name or 'file'}: {size / _MB:,.1f} MB. Files that are attached together can have {most // _MB} MB."
            )
    return taken


def earlier_data(artifacts: Mapping[str, Any] | None = None, memory: Iterable[Any] = ()) -> EarlierData:
    """Return the artifacts and the memory that a session begins with, for `Simulation.open`.

    Args:
        artifacts: The files by their names, as ADK's artifact service knows them: text, bytes, or google-genai's `Part`, also in JSON.
        memory: What ADK's memory service finds: texts, or ADK's events in JSON, as `{"author": "user", "content": {"parts": [{"text": "..."}]}}`.
    """
    check_kind(artifacts or {}, "items", "the artifacts by their names")
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
