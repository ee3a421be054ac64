"""Words and changes of what answers are drawn from: recordings, and what is set for each tool. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.forms.typed_json import TypedJsonError, parse_object, show_json, write_json
from app.session.page_commands import with_tool
from simulator.base.json_values import JsonObject
from simulator.environment.recordings import ObservedCall
from simulator.environment.world.tool_settings import EnvironmentSettings, ToolSettings, schema_of

_LONGEST = 300


def tools_line(calls: Iterable[ObservedCall]) -> str:
    """Return which tools are called how often: `find_order 3, refund_order 1`."""
    counts = Counter(call.tool_name for call in calls)
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


def counted(calls: Sequence[object]) -> str:
    """Return how many calls there are."""
    return "1 call" if len(calls) == 1 else f"{len(calls)} calls"


def call_rows(calls: Iterable[ObservedCall]) -> list[dict[str, str]]:
    """Return a row for each recorded call."""
    return [
        {
            "tool": call.tool_name,
            "arguments": _short(show_json(call.arguments)),
            "response": _short(show_json(call.response)),
            "place": call.place,
        }
        for call in calls
    ]


def as_text(calls: Iterable[ObservedCall]) -> str:
    """Write recorded calls so that they are read back as they are."""
    return write_json(
        [{"name": call.tool_name, "args": call.arguments, "response": call.response} for call in calls]
    )


def remembered_rows(calls: Iterable[JsonObject]) -> list[dict[str, str]]:
    """Return a row for each remembered call of a state key, oldest first."""
    return [
        {
            "tool": str(call.get("tool_name", "")),
            "parameters": _short(show_json(call.get("parameters"))),
            "response": _short(show_json(call.get("response"))),
        }
        for call in calls
    ]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def with_states(
    settings: EnvironmentSettings, names: Sequence[str], edited: Mapping[Any, Mapping[str, Any]]
) -> dict[str, ToolSettings]:
    """Return the settings of all tools after the table of shared states was edited.

    Args:
        settings: Those in force.
        names: The tools in the table's rows.
        edited: The cells that were changed, by the row's place: `shared` and `begins` hold texts.
    """
    fields = {"shared": "share_state_id", "begins": "initial_state_description"}
    for place, cells in sorted((int(place), cells) for place, cells in edited.items()):
        changes = {
            fields[column]: str(written or "").strip()
            for column, written in cells.items()
            if column in fields
        }
        if place < len(names):
            settings = settings.model_copy(update={"tools": with_tool(settings, names[place], **changes)})
    return settings.tools


def read_output_schema(text: str) -> JsonObject | None:
    """Read a JSON schema for a tool's answers; None for an empty text.

    Raises:
        ValueError: It is none; the text says where.
    """
    if not text.strip():
        return None
    try:
        return schema_of(parse_object(text))
    except TypedJsonError as error:
        raise ValueError(f"this is not a JSON object: {error}") from error


def read_problems(text: str | None) -> list[str]:
    """Read what was kept of the problems of a recording."""
    found = json.loads(text) if text else []
    return [str(each) for each in found] if isinstance(found, list) else []
