"""Tells what an answered call says about the things of the world: which are new, changed, mentioned or gone."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from pydantic import JsonValue

from simulator.base.json_values import JsonObject
from simulator.environment.conventions import (
    EarlierAnswer,
    done_state,
    id_of,
    is_collection,
    is_envelope,
    is_error,
    kind_named,
    own_kind,
    words_of,
)
from simulator.environment.world.connections import NamedThing, ToolIndex

_MOST_DEPTH = 6
_MOST_THINGS = 5_000
_ENVELOPES = frozenset(
    {"", "data", "result", "results", "items", "records", "response", "entries", "payload", "record", "item"}
    | {"matches", "hits", "found", "rows", "content", "output", "body", "object", "entity", "resource"}
)
_RESULTS = frozenset({"results", "items", "records", "entries", "matches", "hits", "found", "rows", "data"})
_PATCHES = frozenset(
    {"changes", "updates", "update", "patch", "fields", "data", "values", "attributes", "new_values", "set"}
)
_COUNTS = frozenset(
    {"count", "total", "page", "limit", "offset", "pages", "cursor", "next", "more", "size", "results"}
)
_OF_A_LINE = frozenset(
    {"quantity", "qty", "total", "subtotal", "line", "discount", "position", "status", "note", "notes"}
)
_LINES = frozenset({"items", "lines", "line_items", "lineItems", "rows", "entries", "steps", "positions"})
_SETTLES = frozenset(
    {
        "close",
        "cancel",
        "approve",
        "reject",
        "archive",
        "resolve",
        "reopen",
        "activate",
        "deactivate",
        "suspend",
        "complete",
    }
)
"""Verbs of tools that leave a thing in a state for certain; a refund may be one of a part."""
_LIKE_AN_ID = re.compile(r"(?=\S*\d)[\w.:/#-]{1,64}")
_QUANTITIES = frozenset({"quantity", "qty"})
_REMARKS = frozenset({"message", "msg", "detail", "info"})
_MISSING = ("not found", "not_found", "404", "no such", "does not exist", "unknown", "was found")
_MOST_READ = 4_000
_OUTCOMES = frozenset(
    {"success", "ok", "succeeded", "deleted", "removed", "updated", "created", "found", "exists"}
)


@dataclass(slots=True)
class Saying:
    """What a call says about one thing. `made` says that the call has made it."""

    op: Literal["put", "delete"]
    kind: str
    id: str
    fields: JsonObject = field(default_factory=dict)
    made: bool = False
    named: NamedThing | None = None
    """The argument that names it, where it is known by that alone."""
    inherited: tuple[str, JsonValue] | None = None
    """A field that it has from what it stands in; what is known of it stands over that."""


class _Outside(NamedTuple):
    """What a record stands in: the field's name, whether in a list, and the thing that has the field, with its id."""

    name: str = ""
    listed: bool = False
    main: bool = True
    """Whether the record may be the very thing that the call is about."""
    thing: Saying | None = None
    id_field: str = ""


class _Id(NamedTuple):
    """A field of a record that holds an id of the record's own."""

    field: str
    kind: str
    id: str
    declared_new: bool | None
    """Whether the connections say that it is new; None where they do not know the field."""


def failed(response: JsonValue) -> bool:
    """Return whether an answer says that nothing was done: an error, or a plain no."""
    if is_error(response):
        return True
    if not isinstance(response, dict) or _OUTCOMES.isdisjoint(response):
        return False
    return any(response.get(name) is False for name in _OUTCOMES)


def says_missing(response: JsonObject) -> bool:
    """Return whether an error says that the thing that was asked for is not there."""
    words = str(response)[:_MOST_READ].lower()
    return any(word in words for word in _MISSING)


def main_of(tool: ToolIndex, named: list[NamedThing]) -> NamedThing | None:
    """Return the one thing that a call is about: that which it changes, or else that of its kind, or the only one."""
    written = [one for one in named if one.use != "reads"]
    same_kind = [one for one in named if one.kind == tool.role.kind]
    for found in (written, same_kind, named):
        if found:
            return found[0] if len(found) == 1 else None
    return None


class ResponseReader:
    """Reads one call. What it gives stands in the order in which the things came up, each thing once."""

    def __init__(self, tool: ToolIndex, named: list[NamedThing], call: EarlierAnswer) -> None:
        self._tool = tool
        self._named = named
        self._call = call
        self._given = {one.id for one in named}
        self._main = main_of(tool, named)
        self._found: dict[tuple[str, str], Saying] = {}
        self._created: Saying | None = None

    def read(self) -> list[Saying]:
        """Return what the call says, whose answer is no error."""
        use = self._tool.role.use
        deleted = {(one.kind, one.id): one for one in self._named if one.use == "deletes"}
        if not deleted and not self._record(self._call.response, "", _Outside(), 0):
            self._bare_id(self._call.response)
        if use != "reads" or any(one.use != "reads" for one in self._named):
            self._given_things()
        self._found.update((key, Saying("delete", *key, named=one)) for key, one in deleted.items())
        return list(self._found.values())

    def _bare_id(self, response: JsonValue) -> None:
        """Take a word with a digit, which is all that a tool that makes something answers, as the new thing's id."""
        if isinstance(response, dict) and len(response) == 1:
            response = response.get("result")
        key = id_of(response)
        role = self._tool.role
        if (
            key
            and role.use == "creates"
            and role.kind
            and key not in self._given
            and _LIKE_AN_ID.fullmatch(key)
        ):
            self._created = self._saying(role.kind, key)
            self._created.made = True

    def _given_things(self) -> None:
        """Take in what the arguments say of the thing that the call made or changed."""
        if self._created is not None:
            self._created.fields = {**self._arguments(self._created.kind), **self._created.fields}
            return
        written = [one for one in self._named if one.use in ("creates", "changes")]
        if any(not one.flat for one in written):
            self._given_records(written)
            return
        if self._tool.between or self._main is None or self._main not in written:
            for one in written:
                if one.use == "changes" and not self._tool.between:
                    self._about(one, self._arguments(one.kind))
            return
        saying = self._about(self._main, {})
        saying.fields = {**self._state(), **self._arguments(self._main.kind), **saying.fields}
        saying.made = saying.made or self._main.use == "creates"

    def _state(self) -> JsonObject:
        """Return the state in which a tool leaves a thing that says no more than that it was done: `close_ticket`."""
        response = self._call.response
        is_plain = not isinstance(response, (dict, list)) or (
            isinstance(response, dict)
            and response.keys() == {"result"}
            and not isinstance(response["result"], dict)
        )
        state = done_state(self._call.tool_name) if is_plain and self._tool.role.use == "changes" else None
        return {"status": state} if state and words_of(self._call.tool_name)[0] in _SETTLES else {}

    def _given_records(self, written: list[NamedThing]) -> None:
        """Take in records among the arguments, `update_products(products=[{"id": ...}])`; the answer stands over them."""
        answered = {key: dict(saying.fields) for key, saying in self._found.items()}
        for name, value in self._call.arguments.items():
            if isinstance(value, (dict, list)):
                self._record(value, name, _Outside(name), 1)
        for key, fields in answered.items():
            self._found[key].fields.update(fields)
        for one in written:
            if one.use == "creates":
                self._saying(one.kind, one.id).made = True

    def _arguments(self, kind: str) -> JsonObject:
        """Return the arguments as fields: a patch and the thing itself are opened, `new_status` is the status."""
        fields: JsonObject = {}
        several = {
            one.name
            for one in self._named
            if one.flat and isinstance(self._call.arguments.get(one.name), list)
        }
        for name, value in self._call.arguments.items():
            if value is None or name in several:
                continue
            if isinstance(value, dict) and (name in _PATCHES or kind_named(name) == kind):
                fields.update(value)
            elif name.startswith("new_") and len(name) > len("new_"):
                fields[name.removeprefix("new_")] = value
            else:
                fields[name] = value
        return fields

    def _record(self, value: JsonValue, path: str, outside: _Outside, depth: int, key: str = "") -> bool:
        """Read a value; return whether something in it is about a thing. `key` is its id where that stands outside."""
        if depth > _MOST_DEPTH or len(self._found) >= _MOST_THINGS:
            return False
        if isinstance(value, list):
            inside = _Outside(outside.name, True, outside.main, outside.thing, outside.id_field)
            told = [self._record(item, f"{path}[*]", inside, depth + 1) for item in value]
            return any(told)
        if not isinstance(value, dict):
            return False
        ids = self._ids(value, path, outside)
        own = self._own(ids, outside)
        line = own is None and bool(ids) and outside.listed and outside.thing is not None
        if line:
            own = ids[0]
        elif own is None and key:
            own = _Id("", kind_named(outside.name), key, None)
        if own is None:
            return self._without_id(value, path, outside, depth)
        if (
            outside.listed
            and outside.thing is not None
            and outside.name in _LINES
            and own_kind(own.field) == ""
        ):
            return True  # the lines of each order are numbered 1, 2, 3
        saying = self._saying(own.kind, own.id)
        self._note(saying, value, outside, line=line or (_is_line(value) and outside.thing is not None))
        if not line:
            self._place(saying, own, outside)
        self._children(value, path, _Outside("", False, False, saying, own.field), depth)
        return True

    def _ids(self, value: JsonObject, path: str, outside: _Outside) -> list[_Id]:
        found = []
        declared = self._tool.produced
        for name, inner in value.items():
            kind = own_kind(name)
            produced = declared.get(f"{path}.{name}" if path else name) if declared else None
            if produced is not None:
                kind = produced.kind
            if kind is None:
                continue
            key = id_of(inner)
            if key is not None:
                around = kind_named(outside.name) if self._is_named(outside) else self._tool.role.kind
                new = None if produced is None else produced.creates
                found.append(_Id(name, kind or around or "record", key, new))
        return found

    def _is_named(self, outside: _Outside) -> bool:
        """Return whether the name of what a record stands in says what kind of thing it is."""
        return bool(outside.name) and (outside.name not in _ENVELOPES or outside.thing is not None)

    def _own(self, ids: list[_Id], outside: _Outside) -> _Id | None:
        """Choose the id of the record itself among those that it holds; the others refer to other things."""
        if self._is_named(outside):
            kind = kind_named(outside.name)
            same = next((one for one in ids if one.kind == kind), None)
            if same is not None or outside.thing is not None:
                return same
        role = self._tool.role
        ways: list[list[_Id]] = [[one for one in ids if one.declared_new]]
        if role.use == "creates":
            new = [one for one in ids if one.id not in self._given]
            ways += [[one for one in new if one.kind == role.kind], new]
        elif role.use == "reads":
            ways.append([one for one in ids if one.kind == role.kind])
        return next((way[0] for way in (*ways, ids) if way), None)

    def _place(self, saying: Saying, own: _Id, outside: _Outside) -> None:
        """Return whether a thing was just made, and what it has from the thing that it stands in."""
        thing = outside.thing
        if thing is not None:
            if outside.listed and thing.kind != saying.kind and outside.id_field:
                saying.inherited = (outside.id_field, thing.fields.get(outside.id_field, thing.id))
            return
        if own.id in self._given or self._tool.between:
            return
        use = self._tool.role.use
        new = own.declared_new
        if new is None and use == "changes":
            others = {one.kind for one in self._named}
            new = not outside.listed and bool(others) and own.kind not in others
        elif use == "creates":
            new = new is not False or own.kind == self._tool.role.kind
        if new:
            saying.made = True
            if not outside.listed and self._created is None:
                self._created = saying

    def _note(self, saying: Saying, value: JsonObject, outside: _Outside, *, line: bool) -> None:
        about_other = outside.thing is None and not outside.listed and saying.kind != self._tool.role.kind
        query = about_other and self._is_query(value)
        for name, inner in value.items():
            if is_envelope(name, inner) or (query and self._is_of_query(name, inner)):
                continue
            if line and (isinstance(inner, (dict, list)) or not _OF_A_LINE.isdisjoint(words_of(name))):
                continue
            saying.fields[name] = inner

    def _is_query(self, value: JsonObject) -> bool:
        return self._tool.role.use == "reads" and any(self._is_result(*item) for item in value.items())

    def _is_of_query(self, name: str, value: JsonValue) -> bool:
        return self._is_result(name, value) or not _COUNTS.isdisjoint(words_of(name))

    def _is_result(self, name: str, value: JsonValue) -> bool:
        """Return whether a field holds what a question found, which is no field of the thing that the question names."""
        kind = self._tool.role.kind
        return isinstance(value, list) and (
            name in _RESULTS
            or (is_collection(name) and kind_named(name).endswith(kind.rpartition("_")[2] or "?"))
        )

    def _without_id(self, value: JsonObject, path: str, outside: _Outside, depth: int) -> bool:
        """Read a record without an id of its own: what wraps the answer, or what is about the thing that was named."""
        told = self._children(value, path, outside, depth)
        main = self._main
        if told or not outside.main or outside.listed or main is None or main.use == "deletes":
            return told
        if self._tool.role.use == "creates" and main.use != "creates":
            return False
        query = main.kind != self._tool.role.kind and self._is_query(value)
        fields = {
            name: inner
            for name, inner in value.items()
            if not is_envelope(name, inner)
            and (name not in _REMARKS or name == main.kind)
            and not (query and self._is_of_query(name, inner))
        }
        if fields:
            self._about(main, fields)
        return bool(fields)

    def _children(self, value: JsonObject, path: str, outside: _Outside, depth: int) -> bool:
        told = False
        for name, inner in value.items():
            if not isinstance(inner, (dict, list)):
                continue
            kinds = (self._tool.role.kind, self._main.kind if self._main else "")
            main = outside.main and (name in _ENVELOPES or kind_named(name) in kinds)
            keyed = isinstance(inner, dict) and _is_keyed(name, inner)
            inside = _Outside(name, keyed, main, outside.thing, outside.id_field)
            own_path = f"{path}.{name}" if path else name
            if keyed and isinstance(inner, dict):
                for key, record in inner.items():
                    told |= self._record(record, own_path, inside, depth + 1, key)
            else:
                told |= self._record(inner, own_path, inside, depth + 1)
        return told

    def _saying(self, kind: str, key: str) -> Saying:
        found = self._found.get((kind, key))
        if found is None:
            found = self._found[kind, key] = Saying("put", kind, key)
        return found

    def _about(self, named: NamedThing, fields: JsonObject) -> Saying:
        saying = self._saying(named.kind, named.id)
        saying.named = named
        saying.fields.update(fields)
        return saying


def _is_line(value: JsonObject) -> bool:
    return not _QUANTITIES.isdisjoint(value)


def _is_keyed(name: str, value: JsonObject) -> bool:
    """Return whether an object holds things by their ids: `{"orders": {"A-1": {...}}}`."""
    return (
        bool(value)
        and is_collection(name)
        and all(isinstance(inner, dict) and id_of(key) for key, inner in value.items())
    )
