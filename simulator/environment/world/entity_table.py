"""Holds the things of one kind, by their ids and by other keys of their own."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.base.json_values import JsonObject
from simulator.environment.conventions.entity_kinds import id_of, is_own_key
from simulator.environment.world.entities import SEED, Entity, EntityChange, Origin


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
