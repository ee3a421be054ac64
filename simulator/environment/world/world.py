"""Keeps what the tools of a session have said: things by kind and id, with the place where each field was last set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from simulator.base.json_values import JsonObject, same
from simulator.environment.conventions import (
    EarlierAnswer,
    collection_of,
    id_kind,
    id_of,
    is_collection,
    is_own_key,
    kind_named,
)
from simulator.environment.world.connections import (
    NO_CONNECTIONS,
    ConnectionIndex,
    Connections,
    NamedThing,
    ToolIndex,
    ToolRole,
)
from simulator.environment.world.entities import NO_TABLES, PERSON, SEED, Entity, EntityChange, Origin, Tables
from simulator.environment.world.response_reader import ResponseReader, Saying, failed, main_of, says_missing
from simulator.environment.world.tool_settings import Authority


class EntityTable:
    """Things of one kind. `id_field` is how their ids are called; empty where they are only numbered."""

    def __init__(self, kind: str, id_field: str | None = None) -> None:
        self.kind = kind
        self.id_field = id_field
        self.entities: dict[str, Entity] = {}
        self.all_made_here = True
        """Whether every thing that was ever heard of was made in this session."""
        self._aliases: dict[str, str] = {}
        self._columns: dict[str, None] = {}
        self._live: dict[str, JsonObject] | None = None

    def find(self, key: str) -> Entity | None:
        """Return a thing by its id or by another key of its own; also one that is gone."""
        found = self.entities.get(key)
        if found is None and key in self._aliases:
            found = self.entities.get(self._aliases[key])
        return found

    def deny(self, key: str) -> bool:
        """Forget a thing that only the environment's data knows; return whether there was one."""
        found = self.entities.get(key)
        if found is None or found.last is None or found.last.source != SEED:
            return False
        del self.entities[key]
        self._live = None
        return True

    def live(self) -> Mapping[str, JsonObject]:
        """Return the fields of the things that are not gone, by id, as they came up."""
        if self._live is None:
            self._live = {key: one.fields for key, one in self.entities.items() if not one.gone}
        return self._live

    def columns(self) -> tuple[str, ...]:
        """Return the names of all fields that a thing of this kind ever had, the id first, then as they came up."""
        return tuple(dict.fromkeys((*((self.id_field,) if self.id_field else ()), *self._columns)))

    def with_id(self, key: str, fields: JsonObject, id_field: str) -> JsonObject:
        """Return a new thing's fields with its id among them, under the name that ids of this kind have here."""
        name = self.id_field if self.id_field is not None else id_field
        return fields if not name or id_of(fields.get(name)) == key else {name: key, **fields}

    def apply(self, change: EntityChange, origin: Origin, *, made: bool) -> tuple[str, ...]:
        """Take a change in; return the keys, other than its id, by which the thing can be found from now on."""
        self._live = None
        entity = self.entities.get(change.id)
        if entity is None:
            entity = self.entities[change.id] = Entity(change.kind, change.id, first=origin, made=made)
            self.all_made_here &= made
        entity.last = origin
        if change.op == "delete":
            entity.gone = True
            return ()
        if entity.gone:
            entity.fields, entity.origins, entity.made, entity.gone = {}, {}, made, False
        return self._set(entity, change, origin)

    def _set(self, entity: Entity, change: EntityChange, origin: Origin) -> tuple[str, ...]:
        if change.op == "replace":
            kept = {name: where for name, where in entity.origins.items() if name in change.fields}
            before, entity.fields, entity.origins = entity.fields, dict(change.fields), kept
            changed = [
                name for name, value in change.fields.items() if name not in before or before[name] != value
            ]
        else:
            entity.fields = {**entity.fields, **change.fields}
            changed = list(change.fields)
        keys = []
        for name in changed:
            entity.origins[name] = origin
            self._columns[name] = None
            if is_own_key(name, self.kind):
                key = id_of(change.fields[name])
                if key is not None and key != entity.id:
                    self._aliases[key] = entity.id
                    keys.append(key)
        return tuple(keys)


_MOST_DEPTH = 6
_SEEDED = Origin(fact=0, turn=0, source=SEED)


class World:
    """The state of the environment after some calls. What it gives is not to be changed."""

    def __init__(
        self,
        connections: Connections = NO_CONNECTIONS,
        tables: Tables = NO_TABLES,
        *,
        authority: Mapping[str, Authority] | None = None,
    ) -> None:
        self.connections = connections
        self.tables = tables
        self.authority = dict(authority or {})
        self.currency = "EUR"
        """The currency that was named last."""
        self._index = ConnectionIndex(connections)
        self._shelves: dict[str, EntityTable] = {}
        self._seeded = frozenset(table.kind for table in tables.tables)
        self._kinds_by_key: dict[str, tuple[str, ...]] = {}
        self._errors: dict[tuple[str, str], JsonObject] = {}
        self._changed: dict[str, int] = {}
        self._collections: dict[str, Mapping[str, JsonObject]] | None = None
        self._seed()

    def _seed(self) -> None:
        for table in self.tables.tables:
            self._shelves[table.kind] = EntityTable(table.kind, table.id_field)
            for key, row in table.records():
                # Read from JSON and checked: to validate thousands of rows again takes as long as all the rest.
                change = EntityChange.model_construct(op="put", kind=table.kind, id=key, fields=row)
                self._apply(change, _SEEDED, made=False)
            self._take_currency(list(table.rows))
        self._take_currency(self.tables.notes)

    def take(self, call: EarlierAnswer) -> tuple[EntityChange, ...]:
        """Learn from one answered call, the latest; return what it changed: fields that are new or have a new value.

        What an answer says not to be there, and only the environment's data knows, was never there; of a rule's fault
        nothing is learned.
        """
        tool = self._index.tool(call.tool_name, call.arguments)
        named = self._index.named(tool, call.arguments)
        self._changed.update(dict.fromkeys(tool.changes, call.fact))
        if failed(call.response):
            is_one = len(named) == 1 and not call.injected
            if is_one and isinstance(call.response, dict) and says_missing(call.response):
                thing = self._resolved(named[0])
                self._errors.setdefault(thing, call.response)
                if self._shelf(thing[0]).deny(thing[1]):
                    self._collections = None
            return ()
        origin = Origin(fact=call.fact, turn=call.turn, source=call.tool_name)
        changes = self._changes(tool, named, call)
        for change, made in changes:
            self._apply(change, origin, made=made, doubted=call.doubted)
        self._take_currency(call.arguments)
        self._take_currency(call.response)
        return tuple(change for change, _ in changes)

    def preview(self, call: EarlierAnswer) -> tuple[EntityChange, ...]:
        """Return what `take` would change; change nothing."""
        tool = self._index.tool(call.tool_name, call.arguments)
        named = self._index.named(tool, call.arguments)
        return tuple(change for change, _ in self._changes(tool, named, call))

    def edit(self, changes: Iterable[EntityChange], *, fact: int, turn: int) -> None:
        """Take in what a person has changed. A new thing gets its id among its fields."""
        origin = Origin(fact=fact, turn=turn, source=PERSON)
        for change in changes:
            self._apply(
                self._with_id(change), origin, made=change.id not in self._shelf(change.kind).entities
            )

    def renaming(self, kind: str, old: str, new: str) -> tuple[EntityChange, ...]:
        """Return the changes that give a thing another id, in it and wherever it is referred to.

        Raises:
            ValueError: There is no such thing, another one has the new id, or that is no id.
        """
        live = self._shelf(kind).live()
        fields = live.get(old)
        if fields is None:
            raise ValueError(f"there is no {kind} {old!r}")
        if id_of(new) is None or new in live:
            raise ValueError(f"{new!r} cannot be the id of {kind} {old!r}: {_why_not(new)}")
        named = {
            name: new for name, value in fields.items() if is_own_key(name, kind) and id_of(value) == old
        }
        changes = [
            EntityChange(op="delete", kind=kind, id=old),
            EntityChange(op="replace", kind=kind, id=new, fields={**fields, **named}),
        ]
        for other, things in self._shelves.items():
            for key, record in things.live().items():
                found = {
                    name: new
                    for name, value in record.items()
                    if id_kind(name) == kind and id_of(value) == old
                }
                if found and (other, key) != (kind, old):
                    changes.append(EntityChange(op="put", kind=other, id=key, fields=found))
        return tuple(changes)

    def entity(self, kind: str, key: str) -> Entity | None:
        """Return a thing by its id, or by another key of its own such as a number; also one that is gone."""
        return self._shelf(kind).find(key)

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of which something is known, in the order in which they came up; singular."""
        return tuple(self._shelves)

    def rows(self, kind: str) -> list[JsonObject]:
        """Return the things of a kind that are not gone, as they came up.

        Each has its id among its fields, but for rows of a table without ids, which are only numbered.
        """
        return list(self._shelf(kind).live().values())

    def gone(self, kind: str) -> tuple[str, ...]:
        """Return the ids of the things of a kind that were taken away."""
        return tuple(key for key, entity in self._shelf(kind).entities.items() if entity.gone)

    def first_told(self, kind: str) -> list[Origin]:
        """Return where things of a kind were first heard of in the session, each call once."""
        found = (one.first for one in self._shelf(kind).entities.values())
        return list({one.fact: one for one in found if one is not None and one.source != SEED}.values())

    def columns(self, kind: str) -> tuple[str, ...]:
        """Return the names of the fields of a kind, the id first; new fields come last."""
        return self._shelf(kind).columns()

    def collections(self) -> Mapping[str, Mapping[str, JsonObject]]:
        """Return all things that are not gone, for expressions: `{"orders": {"A-1": {...}}}`."""
        if self._collections is None:
            self._collections = {collection_of(kind): shelf.live() for kind, shelf in self._shelves.items()}
        return self._collections

    def after(self, changes: Sequence[EntityChange]) -> Mapping[str, Mapping[str, JsonObject]]:
        """Return what `collections` would be after some changes; change nothing."""
        found = dict(self.collections())
        copied: dict[str, dict[str, JsonObject]] = {}
        for change in changes:
            name = collection_of(change.kind)
            if name not in copied:
                found[name] = copied[name] = dict(found.get(name, {}))
            things = copied[name]
            if change.op == "delete":
                things.pop(change.id, None)
            elif change.op == "replace":
                things[change.id] = change.fields
            else:
                things[change.id] = {**things.get(change.id, {}), **change.fields}
        return found

    def known(self, tool_name: str, arguments: JsonObject) -> dict[str, JsonValue]:
        """Return the fields of the things that a call's arguments name; those of the thing that it is about stand first.

        An argument also names a thing where it is called as the things of a table are: `department="sales"`.
        """
        return {
            name: one for thing in self.things(tool_name, arguments) for name, one in thing.fields.items()
        }

    def things(self, tool_name: str, arguments: JsonObject) -> list[Entity]:
        """Return the things whose fields `known` returns; the one that the call is about comes last."""
        tool = self._index.tool(tool_name, arguments)
        named = self._index.named(tool, arguments)
        main = main_of(tool, named)
        asked = [(self._shelf(kind_named(name)), id_of(value)) for name, value in arguments.items()]
        rows = [shelf.entities[key] for shelf, key in asked if key is not None and key in shelf.live()]
        ordered = [*(one for one in named if one != main), *((main,) if main else ())]
        found = [self.entity(*self._resolved(one)) for one in ordered]
        return [*rows, *(one for one in found if one is not None)]

    def role_of(self, tool_name: str, arguments: JsonObject) -> ToolRole:
        """Return what a call does, and to which kind of thing; of a tool that is in no connection, by its name."""
        return self._index.tool(tool_name, arguments).role

    def named(self, tool_name: str, arguments: JsonObject) -> tuple[tuple[str, str], ...]:
        """Return the kind and the id of each thing that a call's arguments name."""
        tool = self._index.tool(tool_name, arguments)
        return tuple(map(self._resolved, self._index.named(tool, arguments)))

    def found_beside(self, kind: str, key: str) -> tuple[str, ...]:
        """Return the fields of a thing that only tools told of it that look up something else: another tool need not have them."""
        entity = self.entity(kind, key)
        told = entity.origins.items() if entity is not None else ()
        roles = {
            name: self._index.tool(origin.source, {}).role
            for name, origin in told
            if origin.source not in {SEED, PERSON}
        }
        return tuple(name for name, role in roles.items() if role.use == "reads" and role.kind != kind)

    def new_ids(self, tool_name: str) -> tuple[str, ...]:
        """Return the fields at the top of a tool's response that have the id of what it makes, as the connections say."""
        made = (one.field for one in self.connections.produces if one.tool_name == tool_name and one.creates)
        return tuple(name for name in made if name.isidentifier())

    def can_change(self, kind: str) -> bool:
        """Return whether some tool that is known may change things of a kind; where none is known, any may."""
        return self._index.can_change(kind)

    def changed_since(self, kind: str, fact: int) -> bool:
        """Return whether, after a fact, a tool has answered that may have changed things of a kind, though it failed."""
        return max(self._changed.get(kind, 0), self._changed.get("", 0)) > fact

    def not_found(self, tool_name: str, arguments: JsonObject) -> JsonObject | None:
        """Return the answer for a call about a thing that is gone or, where that can be told, never was; else None.

        The first answer that said that the thing is missing is given again. A tool that makes the thing needs none.
        """
        tool = self._index.tool(tool_name, arguments)
        for one in self._index.named(tool, arguments):
            if one.use == "creates":
                continue
            kind, key = self._resolved(one)
            entity = self.entity(kind, key)
            if entity is not None and not entity.gone:
                continue
            if (kind, key) in self._errors:
                return self._errors[kind, key]
            if entity is not None or self.is_authoritative(kind):
                what = kind.replace("_", " ")
                return {
                    "status": "error",
                    "error_code": 404,
                    "error": f"No {what} with {one.name} {one.id!r} was found.",
                }
        return None

    def is_authoritative(self, kind: str) -> bool:
        """Return whether a thing of this kind that is not known does not exist.

        As set; where nothing is set, if the environment's data has its table, or if things of this kind are known and
        all of them were made in this session: then whatever else is asked for was never made.
        """
        setting = self.authority.get(kind, "auto")
        if setting != "auto":
            return setting == "closed"
        shelf = self._shelf(kind)
        return kind in self._seeded or bool(shelf.entities and shelf.all_made_here)

    def _shelf(self, kind: str) -> EntityTable:
        """Return the things of a kind; of one of which nothing was heard yet, an empty table."""
        return self._shelves.get(kind) or EntityTable(kind)

    def _resolved(self, named: NamedThing) -> tuple[str, str]:
        """Find which known thing an argument means: by its kind, or by an id that only one thing has."""
        entity = self.entity(named.kind, named.id)
        if entity is not None:
            return named.kind, entity.id
        if (named.kind not in self._shelves or named.is_generic) and not named.id.isdigit():
            kinds = self._kinds_by_key.get(named.id, ())
            if len(kinds) == 1:
                found = self._shelves[kinds[0]].find(named.id)
                return (kinds[0], found.id) if found else (named.kind, named.id)
        return named.kind, named.id

    def _changes(
        self, tool: ToolIndex, named: list[NamedThing], call: EarlierAnswer
    ) -> list[tuple[EntityChange, bool]]:
        if failed(call.response):
            return []
        found: list[tuple[EntityChange, bool]] = []
        for saying in ResponseReader(tool, named, call).read():
            change = self._change(saying)
            if change is not None and not (tool.role.use == "reads" and self._is_no_return(change)):
                found.append((change, saying.made))
        return found

    def _is_no_return(self, change: EntityChange) -> bool:
        """Return whether something is told of a thing that is gone which shows nothing of it, such as that it is not there."""
        entity = self.entity(change.kind, change.id)
        told = {name for name in change.fields if not is_own_key(name, change.kind)}
        return entity is not None and entity.gone and told <= {"result", "status"}

    def _change(self, saying: Saying) -> EntityChange | None:
        """Return what a saying changes; None where all of it is known."""
        named = saying.named
        kind, key = self._resolved(named) if named else (saying.kind, saying.id)
        shelf = self._shelf(kind)
        entity = shelf.find(key)
        if saying.op == "delete":
            gone = entity is not None and entity.gone
            return None if gone else EntityChange(op="delete", kind=kind, id=entity.id if entity else key)
        if entity is None or entity.gone:
            alone = named is not None and named.flat and not is_collection(named.name)
            name = named.name if named and alone and is_own_key(named.name, kind) else ""
            id_field = name or _id_field(saying) or f"{kind}_id"
            fields = {**saying.fields, **_inherited(saying, saying.fields)}
            whole = shelf.with_id(entity.id if entity else key, fields, id_field)
            return EntityChange(op="put", kind=kind, id=entity.id if entity else key, fields=whole)
        fields = {}
        before = entity.fields
        for name, value in {**_inherited(saying, before), **saying.fields}.items():
            if name not in before:
                if not (is_own_key(name, kind) and id_of(value) == entity.id):
                    fields[name] = value
            elif before[name] is not value:
                new = _merged(before[name], value)
                if not same(before[name], new):
                    fields[name] = new
        return EntityChange(op="put", kind=kind, id=entity.id, fields=fields) if fields else None

    def _with_id(self, change: EntityChange) -> EntityChange:
        shelf = self._shelf(change.kind)
        entity = shelf.entities.get(change.id)
        if change.op == "delete" or (change.op == "put" and entity is not None and not entity.gone):
            return change
        fields = shelf.with_id(change.id, change.fields, f"{change.kind}_id")
        return change.model_copy(update={"fields": fields})

    def _apply(
        self,
        change: EntityChange,
        origin: Origin,
        *,
        made: bool,
        doubted: Sequence[tuple[str, JsonValue]] = (),
    ) -> None:
        shelf = self._shelves.setdefault(change.kind, self._shelf(change.kind))
        if shelf.id_field is None:
            own = (name for name, value in change.fields.items() if is_own_key(name, change.kind))
            shelf.id_field = next((name for name in own if id_of(change.fields[name]) == change.id), None)
        keys = shelf.apply(change, origin, made=made)
        entity = shelf.entities[change.id]
        for name, value in doubted:
            if name in change.fields and same(change.fields[name], value):
                entity.origins[name] = replace(origin, is_doubted=True)
        for key in (change.id, *keys):
            kinds = self._kinds_by_key.get(key, ())
            if change.kind not in kinds:
                self._kinds_by_key[key] = (*kinds, change.kind)
            if change.op != "delete":
                self._errors.pop((change.kind, key), None)
        self._collections = None

    def _take_currency(self, value: JsonValue, depth: int = 0) -> None:
        if isinstance(value, dict):
            currency = value.get("currency")
            if isinstance(currency, str) and currency:
                self.currency = currency
            inside: Iterable[JsonValue] = value.values()
        else:
            inside = value if isinstance(value, list) else ()
        if depth < _MOST_DEPTH:
            for inner in inside:
                if isinstance(inner, (dict, list)):
                    self._take_currency(inner, depth + 1)


def _inherited(saying: Saying, known: Mapping[str, JsonValue]) -> JsonObject:
    if saying.inherited is None or saying.inherited[0] in known:
        return {}
    return dict((saying.inherited,))


def _id_field(saying: Saying) -> str:
    own = (name for name, value in saying.fields.items() if id_of(value) == saying.id)
    return next((name for name in own if is_own_key(name, saying.kind)), "")


def _merged(before: JsonValue, new: JsonValue) -> JsonValue:
    """Put a part of an object over what is known of it; anything else is replaced."""
    if not isinstance(before, dict) or not isinstance(new, dict):
        return new
    return {**before, **{name: _merged(before.get(name), value) for name, value in new.items()}}


def _why_not(new: str) -> str:
    return "it already exists" if id_of(new) is not None else "it is not an id"
