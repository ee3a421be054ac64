"""The arguments of a call in the making: their schema, with what was found for them, and where each value comes from."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pydantic import JsonValue

from app.decision.call_prefills import MESSAGE, Prefills, resolved
from app.forms.described_fields import described
from app.forms.form_reading import Path
from app.forms.form_tree import OFFERED
from app.forms.safe_labels import Badge, safe_label
from simulator.base.json_values import JsonObject, same
from simulator.environment.schema.schema_checks import required_texts
from simulator.seats.requests import ToolDeclaration

_SOURCE = 60
_EMPTY: tuple[JsonValue, ...] = (None, "", False, [], {})
_NOTHING_FOUND = Badge(text="No value found", color="orange", icon=":material/edit:")
_SUGGESTED = Badge(text=f"Suggested: {MESSAGE.lower()}", color="orange", icon=":material/edit:")
_OWN = Badge(text="Your value", color="gray")


class CallArguments:
    """The form of a call's arguments.

    Args:
        tool: The tool; None where the agent has none of this name.
        found: What was found for its arguments; None where they come from a proposal.
    """

    def __init__(self, tool: ToolDeclaration | None, found: Prefills | None) -> None:
        plain: JsonObject = {"type": "object"} if tool is None else dict(tool.parameters)
        self._found = found
        self.schema = described(plain, "" if tool is None else tool.description, "arguments")
        fields = self.schema.get("properties")
        self._fields = fields if isinstance(fields, dict) else {}
        if found is not None and self._fields:
            self.schema = _filled(self.schema, self.schema, found)

    def marks(self, value: JsonValue, touched: Collection[str]) -> Mapping[Path, Badge]:
        """Say of each field of the form's value where it comes from, also once it was changed: so the form keeps its height.

        What is `touched` has a person's value, whatever it is and whether it can be read or not.
        """
        now = value if isinstance(value, dict) else {}
        named: dict[Path, Badge] = {
            (name,): self._mark(name, now.get(name), is_touched=name in touched) for name in self._fields
        }
        within = (
            (path, text)
            for path, text in required_texts(now, self.schema)
            if len(path) > 1 and not (self._found and path[0] in self._found.found)
        )
        return named | {
            path: _found_mark(self._found, path, now.get(str(path[0]))) or (_OWN if text else _NOTHING_FOUND)
            for path, text in within
        }

    def _mark(self, name: str, now: JsonValue, *, is_touched: bool) -> Badge:
        prefill = self._found.found.get(name) if self._found else None
        inner = self._found.within.get(name) if self._found and not is_touched else None
        paths: list[Path] = [(name,), *((name, each) for each in (inner.found if inner else ()))]
        if mark := next(filter(None, (_found_mark(self._found, path, now) for path in paths)), None):
            return mark
        if prefill is None and not is_touched and _is_empty(now):
            return _SUGGESTED if self._found and name in self._found.suggested else _NOTHING_FOUND
        return _OWN


def _filled(schema: JsonObject, whole: JsonObject, found: Prefills) -> JsonObject:
    """Return a schema in which what was found is the first value of a field, or what to choose from."""
    fields = schema.get("properties")
    filled: JsonObject = {**fields} if isinstance(fields, dict) else {}
    for name, field in filled.items():
        if not isinstance(field, dict):
            continue
        if name in found.found:
            filled[name] = {**field, "default": found.found[name].value}
        elif name in found.several and "enum" not in field:
            filled[name] = {**field, OFFERED: list(found.several[name])}
        elif name in found.within:
            inner = {key: value for key, value in resolved(field, whole).items() if key != "$defs"}
            filled[name] = _filled(inner, whole, found.within[name])
    return {**schema, "properties": filled}


def _found_mark(found: Prefills | None, path: Path, value: JsonValue) -> Badge | None:
    """Return where the value at a path in an argument comes from; None where it is not what was found."""
    *groups, name = path
    for group in groups:
        found = found.within.get(str(group)) if found else None
    for key in path[1:]:
        value = value.get(str(key)) if isinstance(value, dict) else None
    prefill = found.found.get(str(name)) if found else None
    if prefill is None or not same(prefill.value, value):
        return None
    return Badge(text=safe_label(prefill.source, _SOURCE), color="blue", icon=":material/search:")


def _is_empty(value: JsonValue) -> bool:
    """Return whether nothing is in a value, nor in what it is made of."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(same(value, empty) for empty in _EMPTY) or (bool(inner) and all(map(_is_empty, inner)))
