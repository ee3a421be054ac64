"""Walks a JSON document by names in either spelling, and knows at each step where it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from simulator.base.json_places import JsonPath
from simulator.base.name_casing import camel


class JsonNode(NamedTuple):
    """A value and where it stands."""

    value: Any
    path: JsonPath = ()

    def field(self, name: str) -> JsonNode | None:
        """Return the member of this name, in snake or camel case; None where it is missing, null, or this is no object."""
        held, path = self
        if not isinstance(held, dict):
            return None
        if (found := held.get(name)) is not None:
            return JsonNode(found, (*path, name))
        spelled = camel(name)
        if spelled != name and (found := held.get(spelled)) is not None:
            return JsonNode(found, (*path, spelled))
        return None

    def items(self, name: str = "") -> Iterator[JsonNode]:
        """Yield the items of this list, or of the list under this name; none where there is no list."""
        node = self.field(name) if name else self
        if node is not None and isinstance(node.value, list):
            path = node.path
            for index, each in enumerate(node.value):
                yield JsonNode(each, (*path, index))

    def objects(self, name: str) -> Iterator[JsonNode]:
        """Yield those items of the list under a name that are objects; that others are none is said of the file as a whole."""
        return (each for each in self.items(name) if isinstance(each.value, dict))

    def text(self, name: str) -> str:
        """Return the text under this name; an empty one where there is none."""
        found = self.field(name)
        return found.value if found and isinstance(found.value, str) else ""

    @property
    def members(self) -> dict[str, Any]:
        """The members of this object; none where it is no object."""
        return self.value if isinstance(self.value, dict) else {}
