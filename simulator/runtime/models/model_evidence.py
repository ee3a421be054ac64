"""Gathers what a model is told about a tool call beside its declaration: the draft made without it, and what the tool's code shows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from simulator.base.secret_masking import without_secrets
from simulator.environment.drafts.candidates import Candidate
from simulator.environment.evidence.sketch import FunctionSource
from simulator.environment.prompts.tool_source import source_of_tool
from simulator.runtime.adk.codec import jsonable

_MOST_FIELDS = 40
_DEEPEST = 6
_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


class ModelEvidence(NamedTuple):
    """What a model is told beside the declaration of a tool, as texts without secrets.

    `draft` is the offline draft with where it comes from, `outcomes` are the ways in which the tool's code ends: when, and of which
    shape. `source` is the code itself; empty where it is not to be sent.
    """

    draft: str = ""
    outcomes: tuple[str, ...] = ()
    source: str = ""


def model_evidence(
    draft: JsonValue,
    sources: Iterable[str],
    candidates: Sequence[Candidate],
    code: FunctionSource | None,
    *,
    with_source: bool,
) -> ModelEvidence:
    """Gather it for one call.

    Args:
        draft: The offline draft.
        sources: Where it comes from, in words.
        candidates: The candidates of the call.
        code: Where the tool is written.
        with_source: Whether the source may be sent.
    """
    outcomes = [one for one in candidates if one.by_code] if code else []
    return ModelEvidence(
        draft=without_secrets(f"{json.dumps(draft, ensure_ascii=False)}\n({'; '.join(sources)})"),
        outcomes=tuple(
            without_secrets(f"{one.title}: {json.dumps(shape_of(one.value))}") for one in outcomes
        ),
        source=source_for_model(code) if code and with_source else "",
    )


def source_for_model(code: FunctionSource) -> str:
    """Return exactly what is sent of a tool's source where that is allowed."""
    return without_secrets(source_of_tool(code))


def shape_of(value: object, depth: int = 0) -> JsonValue:
    """Return a value with the names of JSON types in the place of its values; of a list only the first."""
    value = jsonable(value) if depth == 0 else value
    if isinstance(value, dict):
        if depth > _DEEPEST:
            return "object"
        fields = list(value.items())
        rest = {"...": f"{len(fields) - _MOST_FIELDS} more"} if len(fields) > _MOST_FIELDS else {}
        return {**{name: shape_of(one, depth + 1) for name, one in fields[:_MOST_FIELDS]}, **rest}
    if isinstance(value, list):
        return [shape_of(one, depth + 1) for one in value[:1]] if depth <= _DEEPEST else "array"
    return _NAMES.get(type(value), "string")
