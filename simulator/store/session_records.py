"""What the library knows of a session, and how that stands in its row."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from simulator.base.frozen_value import Value
from simulator.store.errors import StoreError

LONGEST_ID = 200
_EMPTY: dict[str, Any] = {
    "tags": (),
    "turns": 0,
    "created_at": 0.0,
    "changed_at": 0.0,
    "archived": False,
    "deleted_at": None,
    "shared_token": None,
    "head": -1,
    "length": 0,
}
"""What stands for a field of a row that is damaged; the others are texts."""
_LOG = logging.getLogger(__name__)


class SessionRecord(Value):
    """A session as the library lists it. Times are seconds since the epoch.

    Attributes:
        session_id: Its id.
        owner: Who may see and change it.
        app_name: ADK's name for the agent's app.
        agent_name: The agent's own name.
        agent_key: The name under which the catalogue finds the agent.
        agent_digest: A fingerprint of its tools and code when the session began; empty where nobody took one.
        name: What a person calls the session; empty at first.
        query: What the user asked first; empty before.
        tags: A person's words for it, each once.
        notes: A person's text about it.
        status: The value of its `SessionState`.
        turns: How many turns have started.
        created_at: When it was taken in.
        changed_at: When something was last appended, or its head moved.
        archived: It is out of the way.
        deleted_at: When it was deleted; it can be restored until it is purged.
        shared_token: Anyone who knows it may read the session; None where it is not shared.
        head: The number of its head's fact, -1 at the start.
        length: How many facts it has.
    """

    session_id: str
    owner: str
    app_name: str
    agent_name: str
    agent_key: str
    agent_digest: str = ""
    name: str = ""
    query: str = ""
    tags: tuple[str, ...] = ()
    notes: str = ""
    status: str
    turns: int
    created_at: float
    changed_at: float
    archived: bool = False
    deleted_at: float | None = None
    shared_token: str | None = None
    head: int
    length: int


def plain(text: str) -> str:
    """Return a text for people without what no database takes: NUL, and halves of surrogate pairs."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def is_id(text: str) -> bool:
    """Whether a text can be an id: it stands in an address and in any database."""
    return 0 < len(text) <= LONGEST_ID and text.isprintable()


def words(row: Mapping[str, Any]) -> str:
    """Return what a search looks in."""
    record = record_of_row(row)
    return "\n".join(
        (record.name, record.query, " ".join(record.tags), record.notes, record.agent_name)
    ).casefold()


def row_of_record(record: SessionRecord) -> dict[str, Any]:
    """Return the row of a session.

    Raises:
        StoreError: Its id or its owner is none that can stand in an address or a database.
    """
    for what, text in (("session", record.session_id), ("owner", record.owner)):
        if not is_id(text):
            raise StoreError(
                f"{text[:LONGEST_ID]!r} is not a valid {what} id: use 1 to {LONGEST_ID} printable characters"
            )
    row: dict[str, Any] = {
        name: plain(value) if isinstance(value, str) else value for name, value in record.model_dump().items()
    }
    row["tags"] = json.dumps([plain(tag) for tag in record.tags], ensure_ascii=False)
    return {**row, "words": words(row)}


def record_of_row(row: Mapping[str, Any]) -> SessionRecord:
    """Return what a row says. A field that is damaged is as if it were empty, and logged: the session and all others can be reached."""
    fields = {name: value for name, value in row.items() if name != "words"}
    with suppress(TypeError, ValueError):  # else it is no list of texts, as is said below
        fields["tags"] = tuple(json.loads(fields["tags"]))
    try:
        return SessionRecord.model_validate(fields)
    except ValidationError as error:
        damaged = sorted({str(each["loc"][0]) for each in error.errors()})
    _LOG.warning(
        "Session %r: these fields of its row are damaged: %s", fields["session_id"], ", ".join(damaged)
    )
    return SessionRecord.model_validate({**fields, **{name: _EMPTY.get(name, "") for name in damaged}})
