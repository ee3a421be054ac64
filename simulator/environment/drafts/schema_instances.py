"""Makes a value that fits a JSON schema out of what is known, and marks the places for which nothing is; an error, too, in the tool's own shape."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Literal, TypeAlias

from pydantic import JsonValue

from simulator.base.json_paths import field_place, item_place
from simulator.base.json_values import JsonObject, same
from simulator.environment.conventions import is_error, is_identifier, is_own_key, kind_named
from simulator.environment.drafts.draft import Blank, kind_of, placeholder
from simulator.environment.drafts.field_texts import drawn_id, drawn_number, fake, formatted, is_new_id
from simulator.environment.drafts.session_knowledge import Rows
from simulator.environment.evidence.sketch import Kind
from simulator.environment.schema.scalar_instances import (
    LARGEST,
    Chance,
    fitted,
    highest,
    matches,
    matching,
    pattern_cost,
)
from simulator.environment.schema.schema_plans import NEVER, SchemaPlan, is_error_branch

Style: TypeAlias = Literal["usual", "least", "most"]
"""As usual, as empty as the schema allows, or as full."""

_MOST_DEPTH, _DEEPEST = 8, 80
_MOST_REFERENCES = 2
"""How often a schema that holds itself is followed before as little as it allows is made."""
_MOST_VALUES, _LEAN_FROM = 3_000, 1_200
_TRIES = 12
_MANY = 5
_LONG = "Lorem ipsum \u2013 na\u00efve \u201cquotes\u201d, \u4f60\u597d, \U0001f680 <b>&amp;</b> "
_LONGEST = 2_000
_RANKS = ("null", "array", "boolean", "integer", "number", "string", "object")
_TEXT: JsonObject = {"type": "string"}


class NoValueError(ValueError):
    """No value was found that fits; the text names the place."""


@dataclass(frozen=True, slots=True)
class ValueContext:
    """The context of a value: where it stands, and what is known there.

    Attributes:
        chance: Decides between values that fit.
        known: What fields of an object may take over, by their names.
        said: The call's arguments: what items of lists may take over, too.
        rows: The rows of a table that the call asks for.
        style: How full the value is.
        path: Where it stands.
        shift: Tells tries, and items that must differ, apart.
        depth: How many objects and lists are around it.
        nested: How many references of a schema to itself are.
        lean: Whether it is time to come to an end.
        now: The time of the session's clock; 0 where it is not known.
        made: Of a tool that makes things, how many answers there were before: no two things get one blank for an id.
        makes: The kind of thing that the tool makes; empty where it makes none.
        like: The id of the last such thing that is known.
    """

    chance: Chance
    known: Mapping[str, JsonValue]
    said: Mapping[str, JsonValue]
    rows: Rows | None = None
    style: Style = "usual"
    path: str = "$"
    shift: int = 0
    depth: int = 0
    nested: int = 0
    lean: bool = False
    made: int = 0
    makes: str = ""
    like: str = ""
    now: float = 0.0

    @property
    def is_new_id(self) -> bool:
        """Whether here stands the id of the thing that the call makes."""
        name = self.path.rpartition(".")[2]
        return self.style != "most" and is_new_id(name, self.path, self.makes)

    def again(self, times: int) -> ValueContext:
        """Return the scope for another try."""
        if not times:
            return self
        chance = Chance(str(self.chance.number(f"again:{times}", 2**53)))
        return replace(self, chance=chance, shift=self.shift + times)

    def field(self, name: str) -> ValueContext:
        """Return the scope of a field of the object."""
        return replace(self, path=field_place(self.path, name), depth=self.depth + 1)

    def item(self, name: str, place: int, row: Mapping[str, JsonValue] | None = None) -> ValueContext:
        """Return the scope of an item of the list, and of the record that it is about."""
        kind, key = kind_named(name), getattr(row, "key", "")
        said = {one: value for one, value in self.said.items() if not is_own_key(one, kind)}
        seed = ("thing", kind, key) if key else (str(self.chance.number(f"{name}:{place}", 2**53)),)
        known = layers(row or {}, said)
        path, depth = item_place(self.path, place), self.depth + 1
        return replace(self, chance=Chance(*seed), known=known, path=path, shift=0, depth=depth)


def layers(*mappings: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Read several mappings as one: what an earlier one has hides what a later one has."""
    return ChainMap(*mappings)  # type: ignore[arg-type] # nobody writes to it


class Maker:
    """Makes values that fit parts of one schema; `blanks` are the places of what it made last that no source gave.

    What is drawn is marked. `drew` says whether another draw may make another value.
    """

    def __init__(self, plan: SchemaPlan) -> None:
        self._plan = plan
        self._left = _MOST_VALUES
        self.blanks: list[Blank] = []
        self.drew = False

    def value(self, node: JsonValue, name: str, scope: ValueContext) -> JsonValue:
        """Make a value that fits a part of the schema.

        Raises:
            NoValueError: No value was found that fits.
        """
        if node is False or scope.depth > _DEEPEST:
            raise NoValueError(f"{name or 'the response'}: no value is allowed here")
        node = node if isinstance(node, dict) else {}
        self._left -= 1
        for known in self._known(node, name, scope):
            return known
        scope = self._inside(node, scope)
        tries = _TRIES if self._plan.is_strict(node) else 1
        failed: NoValueError | None = None
        marked = len(self.blanks)
        for plain in self._ordered(node, name, scope):
            for again in range(tries):
                if self._left < 0:
                    raise NoValueError(f"{name or 'the response'}: the schema is too large")
                try:
                    made = self._of(plain, name, scope.again(again))
                except NoValueError as error:
                    failed = error
                    break
                if tries == 1 or self._plan.fits(made, node):
                    return made
                del self.blanks[marked:]
            del self.blanks[marked:]
        raise failed or NoValueError(f"{name or 'the response'}: no value found that matches the schema")

    def blank(
        self, kind: Kind, name: str, scope: ValueContext, value: JsonValue = None, *, drawn: bool = False
    ) -> JsonValue:
        """Mark a place for which nothing is known; return what stands there, such as a value that was `drawn` for it."""
        if scope.style == "usual" or (scope.style == "least" and is_identifier(name)):
            self.drew |= drawn
            self.blanks.append(Blank(path=scope.path, kind=kind, name=name, drawn=drawn))
        return placeholder(kind, name) if value is None else value

    def _drawn(self, name: str, scope: ValueContext, value: JsonValue) -> JsonValue:
        """Mark a value that was drawn."""
        return value if value is None else self.blank(kind_of(value), name, scope, value, drawn=True)

    def _known(self, node: JsonObject, name: str, scope: ValueContext) -> Iterator[JsonValue]:
        """Yield what is known of the field, or its default."""
        if scope.shift:
            return
        found = [scope.known[name]] if name and name in scope.known else []
        if scope.style == "usual" and "default" in node:
            found.append(node["default"])
        for value in found:
            is_whole = not isinstance(value, (dict, list)) or scope.style == "usual"
            if is_whole and self._plan.fits(value, node):
                yield value

    def _inside(self, node: JsonObject, scope: ValueContext) -> ValueContext:
        """Note how deep the value stands, and whether it is time to come to an end."""
        nested = scope.nested + self._plan.refers(node)
        lean = scope.depth >= _MOST_DEPTH or nested > _MOST_REFERENCES or self._left < _LEAN_FROM
        is_same = (nested, lean) == (scope.nested, scope.lean)
        return scope if is_same else replace(scope, nested=nested, lean=lean)

    def _ordered(self, node: JsonObject, name: str, scope: ValueContext) -> Sequence[JsonObject]:
        """Return the ways to settle a schema's choices: those that report no error first, as little as may be where it is lean."""
        found = self._plan.alternatives(node)
        if len(found) == 1:
            return found
        if scope.lean or scope.style == "least":
            return sorted(found, key=lambda one: (is_error_branch(one), _rank(one)))
        null_first = is_error({name: True})
        usual = sorted(found, key=lambda one: (_is_null(one) != null_first, is_error_branch(one)))
        turned = scope.shift % (len(usual) or 1)
        return [*usual[turned:], *usual[:turned]]

    def _of(self, plain: JsonObject, name: str, scope: ValueContext) -> JsonValue:
        if plain == NEVER:
            raise NoValueError(f"{name}: no value is allowed here")
        if "const" in plain:
            return self._choice([plain["const"]], plain, name, scope)
        choices, examples = plain.get("enum"), plain.get("examples")
        if isinstance(choices, list):
            return self._choice(choices, plain, name, scope)
        if isinstance(examples, list) and scope.style == "usual" and not scope.shift:
            fitting = [one for one in examples if self._plan.fits(one, plain)]
            if fitting:
                return scope.chance.choice(name, fitting)
        return self._of_type(plain, name, scope)

    def _of_type(self, plain: JsonObject, name: str, scope: ValueContext) -> JsonValue:  # noqa: PLR0911 - one per type
        match plain.get("type"):
            case "object":
                return self._object(plain, name, scope)
            case "array":
                return self._array(plain, name, scope)
            case "string":
                return self._text(plain, name, scope)
            case "integer" | "number" as kind:
                return self._number(plain, name, scope, kind)
            case "boolean":
                well = is_error({name: False})
                return self.blank(
                    "boolean", name, scope, (well and scope.style == "usual") ^ bool(scope.shift % 2)
                )
            case "null":
                return None
            case None:
                return self._text(plain, name, scope) if scope.is_new_id else self.blank("", name, scope)
            case other:
                raise NoValueError(f"{name or 'the response'}: unknown type {other!r}")

    def _choice(
        self, choices: list[JsonValue], plain: JsonObject, name: str, scope: ValueContext
    ) -> JsonValue:
        """Draw one of the values that a schema names: none that reports an error where there are others, null last."""
        fine = [one for one in choices if one is not None and not is_error({name: one})]
        start = scope.chance.number(name, len(fine) or 1)
        turned = [*fine[start:], *fine[:start], *(one for one in choices if one is None or one not in fine)]
        turned = [*turned[scope.shift % (len(turned) or 1) :], *turned[: scope.shift % (len(turned) or 1)]]
        is_typed = not plain.keys() <= {"const", "enum", "title", "description"}
        self.drew |= len(fine) > 1
        for one in turned:
            if not is_typed or self._plan.fits(one, plain):
                return one if len(choices) == 1 else self._drawn(name, scope, one)
        raise NoValueError(f"{name}: no enum value matches the schema")

    def _text(self, plain: JsonObject, name: str, scope: ValueContext) -> str:
        least, most = _count(plain, "minLength", 0), _count(plain, "maxLength", 100_000)
        if most < least or least > LARGEST:
            raise NoValueError(f"{name}: no text can have this length")
        pattern = plain.get("pattern")
        made = (
            drawn_id(scope.makes, scope.chance, scope.like)
            if scope.is_new_id and "format" not in plain
            else None
        )
        made = made or formatted(plain.get("format"), name, scope.chance, scope.now)
        made = fake(name, scope.chance) if made is None and scope.style == "usual" else made
        if made is not None and not least <= len(made) <= most:
            made = None
        if isinstance(pattern, str) and (made is None or not matches(pattern, made)):
            self._left -= pattern_cost(pattern)
            made = matching(pattern, scope.chance, name, least=least, most=most)
            if made is None:
                raise NoValueError(f"{name}: no text found that matches the pattern")
        if made is not None:
            self.blank("string", name, scope, made, drawn=True)
            return made
        blank = str(self.blank("string", name, scope))
        if scope.style == "most":
            blank = (_LONG * _LONGEST)[:_LONGEST]
        elif scope.style == "least" and not is_identifier(name):  # what an answer is about stays a blank
            blank = ""
        nth = scope.shift + (scope.made if is_identifier(name) else 0)
        number = f" {nth + 1}" if nth else ""
        return f"{blank[: max(most - len(number), 0)]}{number}"[:most].ljust(least, "x")

    def _number(self, plain: JsonObject, name: str, scope: ValueContext, kind: Kind) -> JsonValue:
        low = plain.get("minimum", plain.get("exclusiveMinimum"))
        high = plain.get("maximum", plain.get("exclusiveMaximum"))
        whole, wanted, is_drawn = kind == "integer", 0.0, False
        if scope.style == "usual" and isinstance(low, (int, float)) and isinstance(high, (int, float)):
            is_drawn = True
            wanted = scope.chance.within(name, low, high, 0 if whole or high - low > _MANY else 2)
        elif whole and scope.is_new_id:
            is_drawn, wanted = True, drawn_number(scope.makes, scope.chance)
        most = scope.style == "most"
        made = highest(plain, whole=whole) if most else fitted(wanted, plain, whole=whole, shift=scope.shift)
        if made is None:
            raise NoValueError(f"{name}: no number found within the bounds")
        made = int(made) if whole else made
        return self.blank(kind, name, scope, made, drawn=is_drawn)

    # ------------------------------------------------------------ objects

    def _object(self, plain: JsonObject, name: str, scope: ValueContext) -> JsonObject:
        required = dict.fromkeys(_texts(plain.get("required")))
        made: JsonObject = {}

        def make(one: str) -> None:
            made[one] = self.value(self._plan.field(plain, one), one, scope.field(one))

        properties = _fields(plain)
        for one in [*properties, *(one for one in required if one not in properties)]:
            if one not in required and not self._may_have(plain, one, required, scope):
                continue
            marked = len(self.blanks)
            try:
                make(one)
            except NoValueError:
                if one in required:
                    raise
            if one not in required and required and len(self.blanks) > marked:
                del made[one], self.blanks[marked:]
        self._complete(plain, name, made, make, scope)
        if not made and not properties:
            self.blank("object", name, scope)
        return {
            one: made[one]
            for one in (
                *(one for one in properties if one in made),
                *(one for one in made if one not in properties),
            )
        }

    def _may_have(
        self, plain: JsonObject, name: str, required: Mapping[str, None], scope: ValueContext
    ) -> bool:
        """Return whether an optional field may be there: none that reports an error; where all are optional, as many as may be."""
        most = plain.get("maxProperties")
        if scope.lean or isinstance(most, int):
            return False
        if scope.style == "least":
            return not required and name in scope.known
        return scope.style == "most" or not is_error({name: True})

    def _complete(
        self, plain: JsonObject, name: str, made: JsonObject, make: Callable[[str], None], scope: ValueContext
    ) -> None:
        """Add what the fields ask for that are there, and as many more as an object must have."""
        least = _count(plain, "minProperties", 0)
        self._depend(plain, made, make)
        for one in self._keys(plain, name, scope) if len(made) < least else ():
            if one not in made:
                make(one)
                self._depend(plain, made, make)
            if len(made) >= least:
                return
        if len(made) < least:
            raise NoValueError(f"{name}: it cannot have the required number of fields")

    def _depend(self, plain: JsonObject, made: JsonObject, make: Callable[[str], None]) -> None:
        dependent = plain.get("dependentRequired")
        for _ in range(len(dependent) if isinstance(dependent, dict) else 0):
            asked = [_texts(dependent.get(one)) for one in made] if isinstance(dependent, dict) else []
            for one in dict.fromkeys(one for each in asked for one in each if one not in made):
                make(one)

    def _keys(self, plain: JsonObject, name: str, scope: ValueContext) -> Iterator[str]:
        """Yield names for the fields of an object that its schema does not name."""
        yield from _fields(plain)
        rule, patterns = plain.get("propertyNames", True), plain.get("patternProperties")
        for place in range(40):
            chance = Chance(str(scope.chance.number(f"key:{name}:{place}", 2**53)))
            keys = [matching(one, chance, name) for one in (patterns if isinstance(patterns, dict) else ())]
            if isinstance(rule, dict):
                own = replace(scope, chance=chance, shift=place, style="least", depth=_MOST_DEPTH)
                keys.append(str(self.value(self._plan.both(_TEXT, rule), "key", own)))
            for key in (*keys, f"key_{place + 1}"):
                may_be = rule is not False and (not isinstance(rule, dict) or self._plan.fits(key, rule))
                if key is not None and may_be and self._plan.field(plain, key) is not False:
                    yield key

    # ------------------------------------------------------------ lists

    def _array(self, plain: JsonObject, name: str, scope: ValueContext) -> list[JsonValue]:
        first, items = plain.get("prefixItems"), plain.get("items", plain.get("unevaluatedItems", True))
        fixed = first if isinstance(first, list) else []
        least, most = _count(plain, "minItems", 0), _count(plain, "maxItems", 1_000)
        needed = _count(plain, "minContains", 1) if "contains" in plain else 0
        rows = [] if fixed else self.rows_of(name, self._plan.fields(items), scope)
        is_unknown = rows == [] and not fixed and items in (True, {}) and not max(least, needed)
        if is_unknown and scope.style == "usual":
            return list(self.blank("array", name, scope))  # type: ignore[arg-type] # of an array it is one
        count = 0 if items is False else max(_size(rows, scope) - len(fixed), 0)
        count = min(max(count, least - len(fixed), needed), max(most - len(fixed), 0))
        if items is False and least > len(fixed):
            raise NoValueError(f"{name}: it cannot have the required number of items")
        if needed > _count(plain, "maxContains", 1_000):
            raise NoValueError(f"{name}: minContains is larger than maxContains")
        made: list[JsonValue] = []
        for place in range(min(len(fixed), most) + count):
            number = place - len(fixed)
            node = fixed[place] if number < 0 else items
            if 0 <= number < needed:
                node = self._plan.both(node, plain["contains"])
            row = rows[number] if rows and 0 <= number < len(rows) else None
            try:
                self._append(
                    made, node, scope.item(name, place, row), name, unique=plain.get("uniqueItems") is True
                )
            except NoValueError:
                if len(made) < least or number < needed:
                    raise
                break
        return made

    def _append(
        self, made: list[JsonValue], node: JsonValue, scope: ValueContext, name: str, *, unique: bool
    ) -> None:
        """Make one more item; where all must differ, try until it does."""
        for again in range(4 * _TRIES if unique else 1):
            marked = len(self.blanks)
            value = self.value(node, _item_name(name), scope.again(again))
            if not unique or not any(same(value, one) for one in made):
                made.append(value)
                return
            del self.blanks[marked:]
        raise NoValueError(f"{name}: there are not enough different items")

    def rows_of(
        self, name: str, fields: Iterable[str], scope: ValueContext
    ) -> list[Mapping[str, JsonValue]] | None:
        """Return the records that a list is about: those that the call gives or asks for; None where it asks and none fits."""
        own, asked = scope.known.get(name), [*fields]
        if isinstance(own, list) and own and asked:
            return [row for row in own if isinstance(row, dict)]
        if scope.rows is not None and asked and scope.rows.answer(name, asked):
            return [*scope.rows.records] or None
        return []


def _size(rows: Sequence[object] | None, scope: ValueContext) -> int:
    """Return how many items a list gets where its schema does not say."""
    if rows is None or scope.style == "least" or (scope.lean and not rows):
        return 0
    return len(rows) or (1 if scope.style == "usual" else _MANY if scope.depth <= 1 else 2)


def _item_name(name: str) -> str:
    return kind_named(name) if name else name


def _fields(plain: JsonObject) -> JsonObject:
    properties = plain.get("properties")
    return properties if isinstance(properties, dict) else {}


def _texts(value: JsonValue) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _count(schema: JsonObject, key: str, default: int) -> int:
    """Return a count that a schema sets, such as `minItems`."""
    value = schema.get(key)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _is_null(plain: JsonObject) -> bool:
    return plain.get("type") == "null" or ("const" in plain and plain["const"] is None)


def _rank(plain: JsonObject) -> tuple[int, int]:
    """Order plain schemas by how little a value of theirs can hold, and how little leads on."""
    kind, fields = plain.get("type"), _fields(plain)
    holds = sum("$ref" in str(fields.get(one)) for one in _texts(plain.get("required")))
    return _RANKS.index(kind) if isinstance(kind, str) and kind in _RANKS else 1, holds


ADK_FORM = {"error_code", "error_message"}
"""The fields of an error as ADK's environment simulation gives it."""
_CODES = ("error_code", "code", "status_code", "errorCode", "statusCode")
_MESSAGES = ("error_message", "errorMessage", "message", "error", "detail", "details", "reason")


def adk_error(code: int, message: str) -> JsonObject:
    """Return an error in ADK's form."""
    return {"error_code": code, "error_message": message}


def error_places(error: JsonObject) -> tuple[str, str]:
    """Return the fields in which an error has its number and its sentence; an empty name where it has none."""
    code = next((name for name in _CODES if isinstance(error.get(name), int)), "")
    return code, next((name for name in _MESSAGES if isinstance(error.get(name), str)), "")


def sentence_of(error: JsonObject) -> str:
    """Return what an error says in words."""
    return str(error.get(error_places(error)[1], "Not found."))


def error_answers(
    code: int,
    message: str,
    arguments: Mapping[str, JsonValue],
    *,
    plan: SchemaPlan | None,
    shapes: Sequence[JsonValue],
) -> Iterator[JsonObject]:
    """Yield ways to say an error, the tool's own first; none where its schema has no room for one.

    An error names no other thing than the call does.

    Args:
        code: An HTTP status.
        message: A sentence.
        arguments: The call's.
        plan: That of the tool's schema.
        shapes: Errors of the tool, the most telling first.
    """
    ids = {name: value for name, value in arguments.items() if is_identifier(name)}
    found = (_reworded(one, code, message, ids) for one in shapes if isinstance(one, dict))
    made = iter(()) if plan is None else _of_schema(plan, code, message, ids)
    for one in (*found, *made):
        if plan is None or not plan.problems(one):
            yield one


def _reworded(shape: JsonObject, code: int, message: str, ids: Mapping[str, JsonValue]) -> JsonObject:
    places: dict[str, JsonValue] = dict(zip(error_places(shape), (code, message), strict=True))
    kept = {name: value for name, value in shape.items() if name in ids or not is_identifier(name)}
    return {name: places.get(name, ids.get(name, value)) for name, value in kept.items()}


def _of_schema(
    plan: SchemaPlan, code: int, message: str, ids: Mapping[str, JsonValue]
) -> Iterator[JsonObject]:
    """Make errors by the branches of a schema that are for errors, else by a schema that has room for one."""
    known = {**dict.fromkeys(_MESSAGES, message), "status": "error", "success": False, "ok": False, **ids}
    branches = plan.alternatives(plan.schema)
    for branch in [one for one in branches if is_error_branch(one)] or branches:
        properties, required = branch.get("properties"), branch.get("required")
        names = [
            name for name in (properties if isinstance(properties, dict) else ()) if name in {*known, *_CODES}
        ]
        for wanted in ([*names, *(required if isinstance(required, list) else ())], required):
            schema = branch if wanted is None else {**branch, "required": wanted}
            for number in (code, HTTPStatus(code).name):
                scope = ValueContext(Chance(), {**known, **dict.fromkeys(_CODES, number)}, {}, style="least")
                maker = Maker(plan)
                try:
                    made = maker.value(schema, "", scope)
                except NoValueError:
                    continue
                if maker.blanks:  # nobody knows the id of what it is about
                    continue
                if isinstance(made, dict) and is_error(made) and _says(made, message, number, known):
                    yield made


def _says(error: JsonObject, message: str, number: JsonValue, known: Mapping[str, JsonValue]) -> bool:
    """Return whether an error says what it is about, and nothing that nobody knows."""
    is_named = number in error.values() or not error.keys() & {*_CODES}
    is_told = message in error.values() or error.keys() <= known.keys()
    return (
        is_named
        and is_told
        and all(value for name, value in error.items() if is_identifier(name) and name not in _CODES)
    )
