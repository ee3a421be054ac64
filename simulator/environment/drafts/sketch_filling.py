"""Fills the holes of a sketch: from what the session knows, from the declared schema, from what the code states, or with blanks."""

from __future__ import annotations

import contextlib
import json
import re
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace

from pydantic import JsonValue

from simulator.base.json_values import JsonObject, copied, same
from simulator.environment.conventions import is_identifier, kind_named
from simulator.environment.drafts.draft import Blank, Doubts, is_guess
from simulator.environment.drafts.field_texts import drawn_id, drawn_number
from simulator.environment.drafts.schema_instances import Maker, NoValueError, ValueContext
from simulator.environment.evidence.sketch import Hole, Sketch
from simulator.environment.evidence.value_sketches import shape_of
from simulator.environment.schema.schema_plans import SchemaPlan

_NOTES = frozenset({"title", "description"})
_NO_WORD = re.compile(r"\W+")
_FILTER = re.compile(r"\s*[<>=!~]")


class Filler:
    """Fills sketches of answers of one tool; `blanks` are the places of what it filled that no source gave.

    Args:
        plan: The plan of the tool's declared schema; None where it has none.
        of_code: Whether the sketches are of the tool's code: what has the name of an argument there may be another value.
        acts: Whether the tool does what the arguments say: its answer tells of them, where that of a search tells of what it found.
    """

    def __init__(self, plan: SchemaPlan | None, *, of_code: bool = False, acts: bool = False) -> None:
        self._of_code, self._acts = of_code, acts
        self._plan, self._schema = plan, True if plan is None else plan.schema
        self._free = Maker(SchemaPlan({}))  # it makes what no schema but the hole's own types
        self._typed = self._free if plan is None else Maker(plan)
        self._made: ChainMap[int, tuple[JsonValue, str, tuple[Blank, ...]]] = ChainMap()
        self._new_ids: dict[str, JsonValue] = {}

    @property
    def blanks(self) -> tuple[Blank, ...]:
        """The places for which nothing is known."""
        others = self._typed.blanks if self._typed is not self._free else []
        return (*self._free.blanks, *others)

    @property
    def drew(self) -> bool:
        """Whether another draw may fill it otherwise."""
        return self._free.drew or self._typed.drew

    def filled(self, sketch: Sketch, scope: ValueContext) -> JsonValue:
        """Fill a sketch of the whole answer."""
        return self._fill(sketch, self._schema, "", scope)

    def _fill(self, sketch: Sketch, node: JsonValue, name: str, scope: ValueContext) -> JsonValue:
        if isinstance(sketch, dict):
            # A text that is put together and the length of a list come last: parts and lists stand elsewhere as they are.
            made = {
                key: self._fill(sketch[key], self._field(node, key), key, scope.field(key))
                for key in sorted(sketch, key=lambda one: _follows(sketch[one]))
            }
            return {key: made[key] for key in sketch}
        if isinstance(sketch, list):
            items, one = self._items(node), kind_named(name)
            return [
                self._fill(value, items, one, scope.item(name, place)) for place, value in enumerate(sketch)
            ]
        return self._one(sketch, node, name or sketch.name, scope) if isinstance(sketch, Hole) else sketch

    def _one(self, hole: Hole, node: JsonValue, name: str, scope: ValueContext) -> JsonValue:
        """Fill a hole; what is one value in the code is the same one in each place, and marked in each."""
        if hole.number in self._made:
            value, path, blanks = self._made[hole.number]
            self._free.blanks.extend(
                one.model_copy(update={"path": scope.path + one.path.removeprefix(path)}) for one in blanks
            )
            told: JsonValue = copied(value)
            return told
        if hole.size_of in self._made:
            listed, _, blanks = self._made[hole.size_of]
            size = len(listed) if isinstance(listed, (list, dict)) else None
            return self._free.blank(hole.kind, name, scope, size, drawn=bool(size)) if blanks else size
        if hole.size_of:  # of a list that is not in the answer: none that is has more
            sizes = [len(listed) for listed, *_ in self._made.values() if isinstance(listed, list)]
            return self._free.blank(hole.kind, name, scope, max(sizes, default=0))
        free, typed = len(self._free.blanks), len(self._typed.blanks)
        is_said = self._of_code and hole.was is None and not hole.parts and _is_said(name, scope)
        if is_said and not _may_say(hole, name, scope):
            known, is_said = {key: one for key, one in scope.known.items() if key != name}, False
            scope = replace(scope, known=known)
        is_said = is_said and not self._answers(name, scope)
        value = self._hole(hole, node, name, scope)
        if scope.is_new_id and hole.name and not hole.parts:
            self._new_ids[hole.name] = value
        is_open = hole.kind == "array" and len(self._free.blanks) + len(self._typed.blanks) == free + typed
        if not hole.is_lost and (hole.was is not None or (is_open and hole.like is not None) or is_said):
            marked = {one.path for one in self.blanks}
            told = {one: said for one, said in scope.said.items() if self._answers(one, scope.field(one))}
            self._free.blanks.extend(Doubts({scope.path}, told, marked).of(value, (), scope.path, name))
        if hole.number:
            made = (
                *self._free.blanks[free:],
                *(self._typed.blanks[typed:] if self._typed is not self._free else ()),
            )
            self._made[hole.number] = value, scope.path, made
        return value

    def known_of(self, sketches: Mapping[str, Sketch]) -> JsonObject:
        """Return those of some values of the code that are known, or that the answer has, too, drawn for it."""
        found: JsonObject = {}
        for key, sketch in sketches.items():
            with contextlib.suppress(KeyError):
                found[key] = self._repeated(sketch)
        return found

    def _repeated(self, sketch: Sketch) -> JsonValue:
        """Return a value with what was filled in already; a `KeyError` says that there is something else in it."""
        if isinstance(sketch, dict):
            return {key: self._repeated(value) for key, value in sketch.items()}
        if isinstance(sketch, list):
            return [self._repeated(value) for value in sketch]
        if not isinstance(sketch, Hole):
            return sketch
        value, _, blanks = self._made[sketch.number]
        if is_guess(blanks):
            raise KeyError(sketch.number)
        told: JsonValue = copied(value)
        return told

    def _hole(self, hole: Hole, node: JsonValue, name: str, scope: ValueContext) -> JsonValue:
        if hole.is_lost:
            return self._free.blank(hole.kind, name, scope)
        if hole.parts or (hole.kind == "string" and isinstance(hole.like, (dict, list))):
            return self._text(hole, name, scope) if hole.parts else self._json(hole.like, name, scope)
        if isinstance(hole.like, dict) and hole.kind != "array":
            return self._fill(hole.like, node, name, scope)
        if hole.like is not None and hole.kind == "array":
            return self._list(hole, node, name, scope)
        own: JsonObject = {"type": hole.kind} if hole.kind else {}
        if hole.choices:
            own["enum"] = [*hole.choices]
        own |= {
            key: bound for key, bound in (("minimum", hole.low), ("maximum", hole.high)) if bound is not None
        }
        is_stated = own.keys() > {"type"} or not isinstance(node, dict) or node.keys() <= _NOTES
        marked = len(self.blanks)
        with contextlib.suppress(NoValueError):
            made = self._free.value(own, name, scope) if is_stated else self._typed.value(node, name, scope)
            is_null = bool(hole.choices) or hole.kind == "null" or name in scope.known
            if made is not None or is_null or len(self.blanks) > marked:
                return made
        return self._free.blank(
            hole.kind, name, scope
        )  # null is a value, too, and nothing says that it is this one

    def _text(self, hole: Hole, name: str, scope: ValueContext) -> str:
        """Join the parts of a text; a part for which nothing is known stands in it by its name."""
        whole, marked = "", len(self._free.blanks)
        unknown = is_said = False
        for part in hole.parts:
            last = "" if isinstance(part, str) else _last_word(part.name)
            if isinstance(part, str):
                whole += part
            elif part.number not in self._made and part.size_of not in self._made and last in scope.known:
                whole += str(scope.known[last])
                is_whole = len(hole.parts) == 1 and last == name and self._answers(name, scope)
                is_said |= self._of_code and _is_said(last, scope) and not is_whole
            elif part.name in self._new_ids or scope.is_new_id:
                is_alone, is_said = len(hole.parts) == 1, True
                made = (
                    drawn_id(scope.makes, scope.chance, scope.like)
                    if is_alone
                    else drawn_number(scope.makes, scope.chance)
                )
                whole += str(self._new_ids.get(part.name) or made)
            elif self._is_told(part):
                value = self._one(part, True, part.name, scope)
                whole += f"<{part.name or 'text'}>" if value is None else str(value)
            else:
                whole, unknown = f"{whole}<{part.name or 'text'}>", True
        inside = self._free.blanks[marked:]
        del self._free.blanks[marked:]
        if unknown or inside or is_said:
            self._free.blank("string", name, scope, whole, drawn=not unknown and not is_guess(inside))
        return whole

    def _answers(self, name: str, scope: ValueContext) -> bool:
        """Return whether a field of the answer itself that has an argument's name says what that says: an id, or what the tool was asked to do."""
        return scope.depth == 1 and not scope.is_new_id and (self._acts or is_identifier(name))

    def _json(self, said: Sketch, name: str, scope: ValueContext) -> JsonValue:
        """Write what a JSON text says; a part for which nothing is known stands in it as a blank, and the text is marked."""
        free, typed = len(self._free.blanks), len(self._typed.blanks)
        value = self._fill(said, True, name, scope)
        inside = [*self._free.blanks[free:], *self._typed.blanks[typed:]]
        del self._free.blanks[free:], self._typed.blanks[typed:]
        return self._free.blank("string", name, scope, json.dumps(value), drawn=not is_guess(inside))

    def _is_told(self, part: Hole) -> bool:
        """Return whether there is a value for a part of a text: it stands elsewhere, or the code states what it may be."""
        if part.number in self._made or part.size_of in self._made:
            return True
        return bool(part.choices) or None not in (part.low, part.high)

    def _list(self, hole: Hole, node: JsonValue, name: str, scope: ValueContext) -> list[JsonValue]:
        """Fill a list: as it was, or an item for each record that it is about, and one item where that is not known."""
        like, was = hole.like, hole.was if isinstance(hole.was, list) else []
        rows = self._free.rows_of(name, like if isinstance(like, dict) else (), scope)
        items, one = self._items(node), kind_named(name)
        if rows is None:
            return []
        about: list[tuple[Sketch, Mapping[str, JsonValue] | None]] = [(like, row) for row in rows]
        if len(was) > 1 or not about:
            about = [(sketch, None) for sketch in was or [like]]
        around, filled = self._made, list[JsonValue]()
        for place, (sketch, row) in enumerate(about):
            self._made = around.new_child()
            filled.append(self._fill(sketch, items, one, scope.item(name, place, row)))
        self._made = around
        return filled

    def _field(self, node: JsonValue, name: str) -> JsonValue:
        for plain in self._alternatives(node, "properties"):
            properties = plain["properties"]
            if isinstance(properties, dict) and name in properties:
                return properties[name]
        return True

    def _items(self, node: JsonValue) -> JsonValue:
        return next((plain["items"] for plain in self._alternatives(node, "items")), True)

    def _alternatives(self, node: JsonValue, key: str) -> list[JsonObject]:
        if self._plan is None or not isinstance(node, dict):
            return []
        return [plain for plain in self._plan.alternatives(node) if key in plain]


def _follows(sketch: Sketch) -> bool:
    """Return whether something in a sketch follows from other values: a text with parts, the length of a list."""
    if isinstance(sketch, Hole):
        parts = (one for one in sketch.parts if isinstance(one, Hole))
        return bool(sketch.size_of) or any(one.number for one in parts)
    inside = sketch.values() if isinstance(sketch, dict) else sketch if isinstance(sketch, list) else ()
    return any(map(_follows, inside))


def _is_said(name: str, scope: ValueContext) -> bool:
    """Return whether all that is known of a field is that an argument has its name."""
    return name in scope.said and name in scope.known and same(scope.known[name], scope.said[name])


def _may_say(hole: Hole, name: str, scope: ValueContext) -> bool:
    """Return whether a hole may have the value of the argument of its name: the code calls it so, too, and it is no filter such as `>100`."""
    word = _last_word(hole.name)
    is_own = word == "id" and is_identifier(name) and scope.depth == 1 and not scope.is_new_id
    return (word in ("", name) or is_own) and not _FILTER.match(str(scope.said[name]))


def _last_word(name: str) -> str:
    """Return the last word of what the code calls a value: `amount` of `data['amount']`."""
    return next((word for word in reversed(_NO_WORD.split(name)) if word), "")


def lost(value: Sketch, name: str = "") -> Sketch:
    """Return a value of which nothing is known any more: its shape, with blanks for all that it holds."""
    if isinstance(value, Hole) and isinstance(value.like, dict) and value.kind != "string":
        value = value.like
    shape = shape_of(value, name)
    return (
        {key: lost(one, key) for key, one in shape.items()}
        if isinstance(shape, dict)
        else replace(shape, is_lost=True)
        if isinstance(shape, Hole)
        else shape
    )
