"""Writes a session as one file, and reads such a file."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import Field, ValidationError

from simulator.base.documents import LIMITS
from simulator.base.frozen_value import Value
from simulator.base.json_text import JsonTextError, read_json
from simulator.base.json_values import WrittenObject
from simulator.base.validation_words import flaws, validated
from simulator.facts import SessionOpened
from simulator.journal import Journal, JournalError
from simulator.store.errors import StoreError
from simulator.store.session_rows import SessionRecord

FORMAT = "golden-trace-studio/session"
VERSION = 1


class SessionMetadata(Value):
    """The metadata of a session in its file: what does not follow from the journal, and is no secret."""

    agent_key: str
    agent_digest: str = ""
    name: str = ""
    tags: tuple[str, ...] = ()
    notes: str = ""
    created_at: float = Field(allow_inf_nan=False)
    changed_at: float = Field(allow_inf_nan=False)


class _Document(Value):
    format: Literal["golden-trace-studio/session"]
    version: Literal[1]
    record: SessionMetadata
    journal: WrittenObject
    drafts: dict[str, str] = Field(default_factory=dict)


def written(record: SessionRecord, journal: Journal, drafts: dict[str, str]) -> str:
    """Write a session."""
    kept = SessionMetadata.model_validate(record.model_dump(include=set(SessionMetadata.model_fields)))
    document = {
        "format": FORMAT,
        "version": VERSION,
        "record": kept.model_dump(mode="json"),
        "journal": json.loads(journal.to_json()),
        "drafts": drafts,
    }
    # ASCII, as a model may have written half of a surrogate pair, which no file takes.
    return json.dumps(document, indent=1)


def read(text: str) -> tuple[SessionMetadata, Journal, dict[str, str]]:
    """Read what `written` wrote.

    Raises:
        StoreError: It is something else, or of a version that is not known; the error says what is wrong and where.
    """
    try:
        data: Any = read_json(text, most=LIMITS["session"])
    except JsonTextError as error:
        raise StoreError(f"not a session file: not JSON: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise StoreError(f"not a session file: its format is not {FORMAT!r}")
    if data.get("version") != VERSION:
        raise StoreError(
            f"session file version {data.get('version')!r:.40} is not supported; this studio reads version {VERSION}"
        )
    try:
        document: _Document = validated(_Document, data)
        journal = Journal.from_json(json.dumps(document.journal))
    except ValidationError as error:
        raise StoreError("\n".join(f"not a session file: {each}" for each in flaws(error))) from error
    except JournalError as error:
        raise StoreError(f"the file's journal cannot be read: {error}") from error
    return document.record, journal, document.drafts


def read_session(text: str) -> Journal:
    """Return the journal of a session that was exported as a file.

    Raises:
        StoreError: As `read`.
    """
    return read(text)[1]


def opened_as(journal: Journal, session_id: str) -> Journal:
    """Return the same journal for a session with another id."""
    document = json.loads(journal.to_json())
    for node in document["nodes"]:
        if node["fact"]["kind"] == SessionOpened.model_fields["kind"].default:
            node["fact"]["session_id"] = session_id
    return Journal.from_json(json.dumps(document))
