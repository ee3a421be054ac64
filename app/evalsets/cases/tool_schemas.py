"""Says what the arguments and the response of a tool look like: as its agent declares them, else as other calls of the case have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from app.forms.value_shapes import shape_of
from app.live.agent_catalogue import known_agents
from evalset.editing.case_parts import Case, calls_of, field, turns_of
from simulator.base.json_values import JsonObject


class ToolSchemas(NamedTuple):
    """The schemas of one tool; None where nothing is known."""

    arguments: JsonObject | None = None
    response: JsonObject | None = None


def declared_tools(agent: str) -> Mapping[str, ToolSchemas]:
    """Return the tools of an agent by name; none where it is not loaded, which this waits for in no case."""
    config = next((each.config for each in known_agents() if each.name == agent), None)
    if config is None:
        return {}
    from simulator.runtime.knowledge.tool_shapes import ToolShapes  # noqa: PLC0415 - importing ADK takes a second

    shapes = ToolShapes(config.root_agent).known({}, ())
    return {name: ToolSchemas(shape.parameters, shape.response_schema) for name, shape in shapes.items()}


def schemas_of(tools: Mapping[str, ToolSchemas], case: Case, name: str) -> ToolSchemas:
    """Return the schemas of a tool for a new call: as declared, else the shapes that its first call in the case has."""
    declared = tools.get(name, ToolSchemas())
    seen = next(
        (
            each
            for turn in range(len(turns_of(case)))
            for each in calls_of(case, turn)
            if each.call.name == name
        ),
        None,
    )
    if seen is None:
        return declared
    answer = field(seen.answers[0].value, "response") if seen.answers else None
    return ToolSchemas(
        declared.arguments or _shape(field(seen.call.value, "args")), declared.response or _shape(answer)
    )


def _shape(value: object) -> JsonObject | None:
    return shape_of(value) if isinstance(value, dict) and value else None
