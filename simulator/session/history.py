"""The steps of a session as people read them, and the files in its messages, as google-genai's parts with `inline_data` in JSON. Pure.

The first five entries are those of the data model for simulator runs, and can be made with its fields alone; the rest show what else happens in a real run.
`fact` is the number of the fact that an entry was derived from.
"""

from __future__ import annotations

import base64
import mimetypes
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from simulator.base.documents import LIMITS
from simulator.base.frozen_value import Value
from simulator.base.json_values import Json, JsonObject
from simulator.base.validation_words import check_kind
from simulator.facts import EarlierData, Outcome, Provenance, SavedArtifact

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


class _Entry(Value):
    fact: int = 0
    turn: int = 0
    timestamp: datetime = Field(default_factory=lambda: datetime.now(UTC))


class UserQuery(_Entry):
    """What the user asked; `content` is text, with a line for each of the `files`, or JSON where there is something else.

    Without a provenance a person asked, where nobody else could.
    """

    type: Literal["user_query"] = "user_query"
    content: str
    files: tuple[AttachedFile, ...] = Field(default=(), exclude_if=lambda files: not files)
    provenance: Provenance | None = None


def is_question(tool_name: str) -> bool:
    """Return whether ADK itself asks the user by a call of this name; others are long-running tools."""
    return tool_name.startswith("adk_")


class UserReply(_Entry):
    """The user answered what a turn before had left open: a confirmation, a late result; `provenance` as for a query."""

    type: Literal["user_reply"] = "user_reply"
    call_id: str
    tool_name: str
    response: Json
    provenance: Provenance | None = None

    @property
    def is_late(self) -> bool:
        """Whether it is the late result of a tool, and no word of the user."""
        return bool(self.tool_name) and not is_question(self.tool_name)


class AgentMessage(_Entry):
    """Text of an agent on its way to the final response; `thought` marks its thinking."""

    type: Literal["agent_message"] = "agent_message"
    agent: str
    content: str
    thought: bool = False
    scope: str = ""
    provenance: Provenance | None = None


class ToolCall(_Entry):
    """An agent asked for a tool; `scope` names the calls of agent tools that it happened inside of."""

    type: Literal["tool_call"] = "tool_call"
    agent: str = ""
    tool_name: str
    arguments: JsonObject
    call_id: str
    scope: str = ""
    provenance: Provenance | None = None


class ToolOutput(_Entry):
    """A tool answered. Without a provenance ADK itself answered: a transfer, an agent tool, a callback.

    `beneath` is what really happened, where a rule told the agent something else.
    """

    type: Literal["tool_output"] = "tool_output"
    call_id: str
    result: Json
    duration_ms: float = 0.0
    state_delta: JsonObject = Field(default_factory=dict)
    provenance: Provenance | None = None
    beneath: Outcome | None = None


class ToolError(_Entry):
    """A tool answered with an error: an error dict (`error_type` is its code) or a raised exception.

    `beneath` as for `ToolOutput`: where an answer was lost, it holds the one that was not heard.
    """

    type: Literal["tool_error"] = "tool_error"
    call_id: str
    error_type: str
    error_message: str
    traceback: str | None = None
    duration_ms: float = 0.0
    provenance: Provenance | None = None
    beneath: Outcome | None = None


class CodeRun(_Entry):
    """Code of the agent was executed; `error` is set where it raised."""

    type: Literal["code_run"] = "code_run"
    agent: str
    code: str
    output: str
    error: str | None = None
    provenance: Provenance | None = None


class ModelError(_Entry):
    """The model in the agent's seat raised."""

    type: Literal["model_error"] = "model_error"
    agent: str
    error_type: str
    error_message: str


class SessionNote(_Entry):
    """Seats or injections changed; `content` says how."""

    type: Literal["session_note"] = "session_note"
    content: str


class TurnFailed(_Entry):
    """A turn ended with an error, or was stopped by a person."""

    type: Literal["turn_failed"] = "turn_failed"
    error_type: str
    error_message: str
    stopped: bool = False


class FinalResponse(_Entry):
    """The agent's final answer of a turn; `content` is text, or JSON where the answer is structured.

    Without a provenance no turn of the agent said it: its code did, as a callback or a node.
    """

    type: Literal["final_response"] = "final_response"
    agent: str = ""
    content: str
    provenance: Provenance | None = None


HistoryEntry: TypeAlias = Annotated[
    UserQuery
    | UserReply
    | AgentMessage
    | ToolCall
    | ToolOutput
    | ToolError
    | CodeRun
    | ModelError
    | SessionNote
    | TurnFailed
    | FinalResponse,
    Field(discriminator="type"),
]
