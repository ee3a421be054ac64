"""Reads what an OpenAPI operation says of its responses: ADK's tools keep the operation, and leave responses out of their declaration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from google.adk.tools.base_tool import BaseTool

from simulator.base.json_values import Json, JsonObject, canonical
from simulator.runtime.adk.adk_private import openapi_operation
from simulator.runtime.adk.codec import jsonable

MOST_EXAMPLES = 5
"""How many examples of a tool's response are kept."""

_LONGEST_EXAMPLE = 50_000
_SUCCESS = "2"


class Described(NamedTuple):
    """What a tool's operation says of a response: its JSON schema, None where it has none, and examples of it."""

    schema: JsonObject | None = None
    examples: tuple[Json, ...] = ()


def described_response(tool: BaseTool) -> Described:
    """Return what the OpenAPI operation behind a tool says of its first successful response, as ADK hands that to the agent.

    ADK gives JSON as it is, and anything else as `{"text": ...}`. Nothing for other tools. Never raises.
    """
    try:
        operation = jsonable(openapi_operation(tool))
        return _described(operation) if isinstance(operation, dict) else Described()
    except Exception:  # noqa: BLE001 - a description is somebody's: one that is odd says nothing
        return Described()


def _described(operation: dict[str, Any]) -> Described:
    responses = operation.get("responses") or {}
    first = min((code for code in responses if str(code).startswith(_SUCCESS)), default=None)
    if first is None:
        return Described()
    content: dict[str, Any] = responses[first].get("content") or {}
    if not content:
        return Described(examples=({"text": ""},)) if first == "204" else Described()
    kind = next((kind for kind in content if _is_json(kind)), next(iter(content)))
    media = content[kind]
    schema = media.get("schema") or None
    examples = list(_examples(media))
    if not _is_json(kind):
        text: JsonObject = {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        }
        return Described(text, tuple({"text": one} for one in examples if isinstance(one, str)))
    return Described(schema, tuple(examples))


def _is_json(kind: str) -> bool:
    return "json" in kind or kind == "*/*"


def _examples(media: dict[str, Any]) -> Iterator[Json]:
    """Yield the examples that stand beside a response's schema."""
    if "example" in media:
        yield media["example"]
    named = media.get("examples") or {}
    yield from (one["value"] for one in named.values() if isinstance(one, dict) and "value" in one)


def examples_of(described: Described, schema: JsonObject | None) -> tuple[Json, ...]:
    """Return the examples of a response, each once, those of the description before those of the schema."""
    named = (schema or {}).get("examples")
    found = [*described.examples, *(named if isinstance(named, list) else [])]
    written = {canonical(one): one for one in found}
    return tuple(one for text, one in written.items() if len(text) <= _LONGEST_EXAMPLE)[:MOST_EXAMPLES]
