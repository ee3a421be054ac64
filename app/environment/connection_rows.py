"""Shows how the tools hang together as the rows of a table, and reads what a person changed in it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from pydantic import ValidationError

from simulator.base.frozen_value import Value
from simulator.environment.conventions import Use
from simulator.environment.world.connections import (
    ConnectionEdits,
    Connections,
    ParameterUse,
    Produced,
    Source,
    ToolField,
    ToolRole,
    ToolShape,
)

Part: TypeAlias = Literal["parameter", "response", "tool"]
RowUse: TypeAlias = Literal["reads", "creates", "changes", "deletes", "gives"]

PARTS: tuple[Part, ...] = get_args(Part)
USES: tuple[RowUse, ...] = get_args(RowUse)
_ORDER: tuple[Part, ...] = ("tool", "parameter", "response")
EDITABLE = ("tool", "part", "place", "kind", "use")


class ConnectionRow(Value):
    """One connection: what `tool` does to things of `kind` through a `place`, a parameter or a field of its answers.

    A row of the part `tool` says what the tool does as a whole, and has no place.
    """

    tool: str
    part: Part
    place: str
    kind: str
    use: RowUse
    said_by: str = ""
    why: str = ""


class EditedConnections(Value):
    """What a person did: the edits that stand now; `problems` says what cannot be read, and then nothing is to be done.

    `waits` tells that a new row is not complete yet.
    """

    edits: ConnectionEdits
    problems: tuple[str, ...] = ()
    waits: bool = False


class _UnfitRowError(ValueError):
    """A row is no connection."""


def rows_of(connections: Connections, model: str = "") -> tuple[ConnectionRow, ...]:
    """Return a row for each connection, tool by tool; `model` is the name of the one that was asked."""
    uses = [
        ConnectionRow(
            tool=one.tool_name,
            part="parameter",
            place=one.parameter,
            kind=one.kind,
            use=one.use,
            said_by=_said_by(one.source, model),
            why=one.why,
        )
        for one in connections.uses
    ]
    gives = [
        ConnectionRow(
            tool=one.tool_name,
            part="response",
            place=one.field,
            kind=one.kind,
            use="creates" if one.creates else "gives",
            said_by=_said_by(one.source, model),
            why=one.why,
        )
        for one in connections.produces
    ]
    roles = [
        ConnectionRow(
            tool=one.tool_name,
            part="tool",
            place="",
            kind=one.kind,
            use=one.use,
            said_by=_said_by(one.source, model),
            why=one.why,
        )
        for one in connections.roles
    ]
    order = {row.tool: number for number, row in reversed([*enumerate([*roles, *uses, *gives])])}
    return tuple(sorted((*roles, *uses, *gives), key=lambda row: (order[row.tool], _ORDER.index(row.part))))


def _said_by(source: Source, model: str) -> str:
    return {"offline": "names", "model": f"model {model}".strip(), "person": "you"}[source]


def read_edits(
    rows: Sequence[ConnectionRow],
    state: Mapping[str, Any],
    before: ConnectionEdits,
    tools: Iterable[ToolShape] = (),
) -> EditedConnections:
    """Read the state of a data editor.

    Args:
        rows: What the editor was given.
        state: Its `edited_rows`, `added_rows` and `deleted_rows`.
        before: What a person has changed so far.
        tools: The tools as they are declared, to hold parameters against.
    """
    known = {tool.name: tool for tool in tools}
    edits, waits = before, False
    problems: list[str] = []
    deleted = {int(place) for place in state.get("deleted_rows", ())}
    changed = {int(place): cells for place, cells in state.get("edited_rows", {}).items()}
    for place in sorted({*deleted, *changed}):
        if place >= len(rows):
            continue
        try:
            if place in deleted:
                edits = _removed(edits, rows[place])
            else:
                edits = _changed(edits, rows[place], changed[place], known)
        except _UnfitRowError as error:
            problems.append(str(error))
    for cells in state.get("added_rows", ()):
        written = {name: str(value).strip() for name, value in cells.items() if value not in (None, "")}
        needed = {"tool", "part", "kind", "use"} | (set() if written.get("part") == "tool" else {"place"})
        if not needed <= written.keys():
            waits = waits or bool(written)
            continue
        try:
            edits = _with(edits, _row(written), known)
        except _UnfitRowError as error:
            problems.append(str(error))
    return EditedConnections(edits=before if problems else edits, problems=tuple(problems), waits=waits)


def _changed(
    edits: ConnectionEdits, row: ConnectionRow, cells: Mapping[str, Any], tools: Mapping[str, ToolShape]
) -> ConnectionEdits:
    was = {name: getattr(row, name) for name in EDITABLE}
    written = was | {name: str(value or "").strip() for name, value in cells.items() if name in was}
    if written == was:
        return edits
    now = _row(written)
    moved = (now.tool, now.part, now.place) != (row.tool, row.part, row.place)
    return _with(_removed(edits, row) if moved else edits, now, tools)


def _row(written: Mapping[str, str]) -> ConnectionRow:
    try:
        return ConnectionRow.model_validate({"place": "", **written})
    except ValidationError as error:
        found = "; ".join(f"{problem['loc'][0]}: {problem['msg']}" for problem in error.errors())
        raise _UnfitRowError(f"{written.get('tool', 'new row')}: {found}") from error


def _with(edits: ConnectionEdits, row: ConnectionRow, tools: Mapping[str, ToolShape]) -> ConnectionEdits:
    """Set a connection; what was said about its place before is forgotten."""
    _check(row, tools)
    left = _without(edits, row)
    common = {"tool_name": row.tool, "kind": row.kind, "source": "person"}
    try:
        match row.part:
            case "parameter":
                use = ParameterUse.model_validate({**common, "parameter": row.place, "use": row.use})
                return left.model_copy(update={"uses": (*left.uses, use)})
            case "response":
                given = {**common, "field": row.place, "creates": row.use == "creates"}
                return left.model_copy(update={"produces": (*left.produces, Produced.model_validate(given))})
            case "tool":
                role = ToolRole.model_validate({**common, "use": row.use})
                return left.model_copy(update={"roles": (*left.roles, role)})
    except ValidationError as error:
        raise _UnfitRowError(
            f"{row.tool}, {row.place or 'as a whole'}: {row.kind!r} is not an entity kind"
        ) from error


def _check(row: ConnectionRow, tools: Mapping[str, ToolShape]) -> None:
    where = f"{row.tool}, {row.place or 'as a whole'}"
    if row.part != "tool" and not row.place:
        raise _UnfitRowError(f"{where}: enter the {'parameter' if row.part == 'parameter' else 'field'}")
    if row.part == "response" and row.use not in {"gives", "creates"}:
        raise _UnfitRowError(
            f"{where}: a response field gives ids or creates them; its use cannot be {row.use!r}"
        )
    if row.part != "response" and row.use == "gives":
        raise _UnfitRowError(
            f"{where}: only a response field gives ids; choose one of {', '.join(get_args(Use))}"
        )
    tool = tools.get(row.tool)
    names = tool.parameters.get("properties") if tool is not None else None
    if row.part != "parameter" or not isinstance(names, dict) or not names:
        return
    if row.place not in names and row.place.split("[")[0].split(".")[0] not in names:
        raise _UnfitRowError(
            f"{where}: the tool has no such parameter. Its parameters are {', '.join(names)}"
        )


def _removed(edits: ConnectionEdits, row: ConnectionRow) -> ConnectionEdits:
    """Take a connection away, so that it is not found again; of a role only what a person has said."""
    if row.part == "tool":
        if not any(role.tool_name == row.tool for role in edits.roles):
            raise _UnfitRowError(
                f"{row.tool}: the row of the tool itself cannot be deleted; change its use instead"
            )
        return _without(edits, row)
    left, place = _without(edits, row), ToolField(tool_name=row.tool, path=row.place)
    if row.part == "parameter":
        return left.model_copy(update={"no_uses": (*left.no_uses, place)})
    return left.model_copy(update={"no_produces": (*left.no_produces, place)})


def _without(edits: ConnectionEdits, row: ConnectionRow) -> ConnectionEdits:
    place = (row.tool, row.place)
    match row.part:
        case "parameter":
            uses = tuple(one for one in edits.uses if (one.tool_name, one.parameter) != place)
            gone = tuple(one for one in edits.no_uses if (one.tool_name, one.path) != place)
            return edits.model_copy(update={"uses": uses, "no_uses": gone})
        case "response":
            made = tuple(one for one in edits.produces if (one.tool_name, one.field) != place)
            gone = tuple(one for one in edits.no_produces if (one.tool_name, one.path) != place)
            return edits.model_copy(update={"produces": made, "no_produces": gone})
        case "tool":
            roles = tuple(one for one in edits.roles if one.tool_name != row.tool)
            return edits.model_copy(update={"roles": roles})
