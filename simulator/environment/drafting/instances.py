"""Makes a value that fits a JSON schema, with plausible contents where the schema leaves a choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from simulator.environment.conventions.chance import Chance
from simulator.environment.conventions.names import words_of
from simulator.environment.drafting import scalars
from simulator.environment.drafting.choices import best_choice, missing_choice, turned_choices
from simulator.environment.drafting.comparisons import limit_of
from simulator.environment.drafting.echoes import Echo, is_own_id
from simulator.environment.drafting.fields import (
    count_of,
    holds,
    is_null,
    item_of,
    rank,
    singular_of,
    texts_of,
    told_apart,
    turn,
    wanted_fields,
)
from simulator.environment.drafting.knowledge import Knowledge, told_of
from simulator.environment.drafting.plausible import key, truth
from simulator.environment.drafting.presence import is_for_later, is_trouble
from simulator.environment.drafting.records import Record
from simulator.environment.drafting.rows import Rows, answers
from simulator.environment.drafting.scalars import Scope, Style
from simulator.environment.schema.merging import NEVER
from simulator.environment.schema.patterns import matching, pattern_cost
from simulator.environment.schema.schema_plans import Plan, is_error_branch, plan_of
from simulator.jsonvalue import JsonObject, same

_MOST_DEPTH, _DEEPEST = 8, 80
_MOST_REFERENCES = 2
"""How often a schema that holds itself is followed before as little as it allows is made."""
_MOST_VALUES, _LEAN_FROM = 3_000, 1_200
_TRIES = 12
_FEW, _MANY = 2, 5
"""How many items a list gets where its schema does not say: usually, and at most."""
_TEXT: JsonObject = {"type": "string"}


class NoValueError(ValueError):
    """No value was found that fits; the text names the place."""


def instance(
    schema: JsonObject,
    chance: Chance,
    known: Mapping[str, JsonValue],
    name: str = "",
    *,
    arguments: Mapping[str, JsonValue] | None = None,
    tool_name: str = "",
    currency: str = "EUR",
    style: Style = "usual",
    rows: Rows | None = None,
    knowledge: Knowledge | None = None,
    ids: Mapping[str, JsonValue] | None = None,
) -> JsonValue:
    """Make a value that fits a schema as `normalise` gives it.

    Args:
        schema: The schema. In a rare corner a value may miss it; whoever needs to be sure checks it.
        chance: Decides between values that fit.
        known: Values by field name, used wherever a field of that name may take them, except in items of lists.
        name: What the value itself is called.
        arguments: What the tool was asked; fields that mean the same take it, also in items of lists.
        tool_name: The tool; tells whether it makes a new thing, and what an unnamed object is.
        currency: What amounts are in, where nothing else says so.
        style: Whether the answer is as usual, as empty as the schema allows, or as full.
        rows: The rows of a table that the call asks for; the list that they fit holds them and nothing else.
        knowledge: Tells what articles cost, and what is known of the things that lists name.
        ids: The ids of what the tool makes, by the name of the field.

    Raises:
        NoValueError: No value was found that fits.
    """
    echo = Echo(arguments or {}, known, tool_name)
    scope = Scope(echo, tool_name, currency, chance, style=style, knowledge=knowledge, ids=ids or {})
    if name:
        scope = replace(scope, about=tuple(reversed(words_of(tool_name))))
    return _Maker(plan_of(schema), rows).value(schema, name, scope)


class _Maker:
    def __init__(self, plan: Plan, rows: Rows | None) -> None:
        self._plan = plan
        self._rows = rows
        self._left = _MOST_VALUES

    def value(self, node: JsonValue, name: str, scope: Scope) -> JsonValue:
        if node is False or scope.depth > _DEEPEST:
            raise NoValueError(f"{name or 'the answer'}: nothing is allowed there")
        if not isinstance(node, dict):
            return self._of_type({}, name, scope)
        self._left -= 1
        said = self._said(node, name, scope)
        if said:
            return said[0]
        scope = self._inside(node, scope)
        tries = _TRIES if self._plan.is_strict(node) else 1
        failed: NoValueError | None = None
        for plain in self._ordered(node, name, scope):
            for again in range(tries):
                if self._left < 0:
                    raise NoValueError(f"{name or 'the answer'}: the schema is too large")
                try:
                    made = self._of(plain, name, scope.again(again))
                except NoValueError as error:
                    failed = error
                    break
                if tries == 1 or self._plan.fits(made, node):
                    return made
        raise failed or NoValueError(f"{name or 'the answer'}: no value was found that fits its schema")

    def _inside(self, node: JsonObject, scope: Scope) -> Scope:
        """Note how deep the value stands, and whether it is time to come to an end."""
        nested = scope.nested + self._plan.refers(node)
        lean = scope.depth >= _MOST_DEPTH or nested > _MOST_REFERENCES or self._left < _LEAN_FROM
        return (
            scope
            if (nested, lean) == (scope.nested, scope.lean)
            else replace(scope, nested=nested, lean=lean)
        )

    def _ordered(self, node: JsonObject, name: str, scope: Scope) -> Sequence[JsonObject]:
        """Give the ways to settle a schema's choices, the one that is wanted first."""
        found = self._plan.alternatives(node)
        if len(found) < 2:  # noqa: PLR2004 - with one there is no order
            return found
        if scope.lean or scope.style == "least":
            return sorted(found, key=lambda one: (is_error_branch(one), rank(one)))
        if is_trouble(name) or (is_for_later(name, scope) and scope.style == "usual"):
            return sorted(found, key=lambda one: not is_null(one))
        usual = sorted(found, key=lambda one: (is_null(one), is_error_branch(one)))
        turned = scope.shift % len(usual)
        return [*usual[turned:], *usual[:turned]]

    def _said(self, node: JsonObject, name: str, scope: Scope) -> tuple[JsonValue, ...]:
        """Give what a row, the arguments, a known record or the objects around it say of a field, as a tuple of one."""
        if not name or scope.shift:
            return ()
        if scope.item is None and name in scope.ids and self._plan.fits(scope.ids[name], node):
            return (scope.ids[name],)
        if scope.item is not None and name in scope.row:
            value = scope.row[name]
            if self._plan.fits(value, node):
                return (value,)
        if name in scope.held and self._fits(scope.held[name], node, scope):
            return (scope.held[name],)
        if name == scope.item:
            return ()
        return scope.echo.field(
            name, lambda value: self._fits(value, node, scope), scope.siblings, scope.item
        )

    def _fits(self, value: JsonValue, node: JsonObject, scope: Scope) -> bool:
        if isinstance(value, (dict, list)) and (
            not value or scope.item is not None or scope.style == "least"
        ):
            return False
        if node.keys() <= {"title", "description"} and isinstance(value, (dict, list)):
            return True
        return self._plan.fits(value, node)

    def _of(self, plain: JsonObject, name: str, scope: Scope) -> JsonValue:
        if plain == NEVER:
            raise NoValueError(f"{name}: nothing is allowed there")
        if "const" in plain:
            return self._checked(plain["const"], plain, name)
        choices = plain.get("enum")
        if isinstance(choices, list):
            return self._choice(choices, plain, name, scope)
        examples = plain.get("examples")
        if isinstance(examples, list) and scope.style == "usual" and not scope.shift:
            fitting = [one for one in examples if self._plan.fits(one, plain)]
            if fitting:
                return scope.chance.choice(name, fitting)
        return self._of_type(plain, name, scope)

    def _of_type(self, plain: JsonObject, name: str, scope: Scope) -> JsonValue:  # noqa: PLR0911 - one per type
        match plain.get("type"):
            case "object":
                return self._object(plain, name, scope)
            case "array":
                return self._array(plain, name, scope)
            case "string":
                self._left -= pattern_cost(plain.get("pattern"))
                return _fitting(scalars.text(plain, name, scope), name)
            case "integer" | "number" as kind:
                return _fitting(scalars.number(plain, name, scope, whole=kind == "integer"), name)
            case "boolean":
                return (truth(name) and scope.style != "least") ^ bool(scope.shift % 2)
            case "null":
                return None
            case _:
                return scalars.anything(name, scope)

    def _checked(self, value: JsonValue, plain: JsonObject, name: str) -> JsonValue:
        if plain.keys() <= {"const", "enum", "title", "description"} or self._plan.fits(value, plain):
            return value
        raise NoValueError(f"{name}: {value!r} is the only choice, and it does not fit")

    def _choice(self, choices: list[JsonValue], plain: JsonObject, name: str, scope: Scope) -> JsonValue:
        wanted = None
        if scope.style != "most":
            wanted = missing_choice(choices, scope.row) or best_choice(choices, scope.tool_name)
        for one in turned_choices(choices, scope.chance.number(name, 2**31), scope.shift, wanted):
            if plain.keys() <= {"enum", "type", "title", "description"} and "type" not in plain:
                return one
            if self._plan.fits(one, plain):
                return one
        raise NoValueError(f"{name}: none of the choices fits")

    def _object(self, plain: JsonObject, name: str, scope: Scope) -> JsonObject:
        required = dict.fromkeys(texts_of(plain.get("required")))
        names = wanted_fields(plain, required, lean=scope.lean)
        about = (*reversed(words_of(name)), *scope.about) or tuple(reversed(words_of(scope.tool_name)))
        made: dict[str, JsonValue] = {}
        held = dict(scope.held)
        inner = replace(
            scope, siblings=frozenset(names), about=about, depth=scope.depth + 1, beside=made, held=held
        )

        def make(one: str) -> None:
            made[one] = self.value(self._plan.field(plain, one), one, inner)
            if holds(one):
                held[one] = made[one]

        for one in sorted(names, key=turn):
            if one not in required and not self._is_told(one, inner):
                continue
            try:
                make(one)
            except NoValueError:
                if one in required:
                    raise
        self._complete(plain, name, made, make, inner)
        ordered = [one for one in names if one in made]
        return {one: made[one] for one in (*ordered, *(key for key in made if key not in names))}

    def _is_told(self, name: str, scope: Scope) -> bool:
        if scope.style == "most" or name in scope.row:
            return True
        if isinstance(scope.row, Record) and scope.row.key:
            return False
        if name in scope.echo.known and scope.item is None:
            return True
        return not is_trouble(name) and not is_for_later(name, scope)

    def _complete(
        self, plain: JsonObject, name: str, made: JsonObject, make: Callable[[str], None], scope: Scope
    ) -> None:
        """Add what the fields ask for that are there, and as many more as an object must have."""
        dependent = plain.get("dependentRequired")
        for _ in range(len(dependent) if isinstance(dependent, dict) else 0):
            missing = [
                one
                for key in list(made)
                for one in texts_of(dependent.get(key) if isinstance(dependent, dict) else None)
                if one not in made
            ]
            for one in dict.fromkeys(missing):
                make(one)
        least, most = count_of(plain, "minProperties", 0), count_of(plain, "maxProperties", 1_000)
        is_map = "properties" not in plain and isinstance(plain.get("additionalProperties"), dict)
        if is_map and scope.style != "least":
            least = max(least, min(_FEW, most))
        for one in self._keys(plain, name, scope):
            if len(made) >= least:
                break
            if one not in made:
                make(one)
        if len(made) < count_of(plain, "minProperties", 0):
            raise NoValueError(f"{name}: it cannot have as many fields as it must")

    def _keys(self, plain: JsonObject, name: str, scope: Scope) -> Iterator[str]:
        """Give names for the fields of an object that its schema does not name."""
        properties, patterns = plain.get("properties"), plain.get("patternProperties")
        yield from properties if isinstance(properties, dict) else ()
        said = [value for row in scope.echo.rows("", [singular_of(name)]) for value in row.values()]
        yield from (one for one in said if isinstance(one, str) and self._may_be(one, plain))
        for place in range(40):
            chance = Chance(str(scope.chance.number(f"key:{name}:{place}", 2**53)))
            keys: list[JsonValue] = [
                matching(pattern, chance, name)
                for pattern in (patterns if isinstance(patterns, dict) else ())
            ]
            rule = plain.get("propertyNames")
            if isinstance(rule, dict):
                own = replace(scope, chance=chance, shift=place, row={}, style="usual", depth=_MOST_DEPTH)
                keys.append(self.value(self._plan.both(_TEXT, rule), "key", own))
            keys.append(key(singular_of(name), place, chance))
            yield from (key for key in keys if isinstance(key, str) and self._may_be(key, plain))

    def _may_be(self, key: str, plain: JsonObject) -> bool:
        rule = plain.get("propertyNames", True)
        if rule is False or (isinstance(rule, dict) and not self._plan.fits(key, rule)):
            return False
        return self._plan.field(plain, key) is not False

    def _array(self, plain: JsonObject, name: str, scope: Scope) -> list[JsonValue]:
        first, items = plain.get("prefixItems"), plain.get("items", plain.get("unevaluatedItems", True))
        fixed = first if isinstance(first, list) else []
        least, most = count_of(plain, "minItems", 0), count_of(plain, "maxItems", 1_000)
        rows = [] if fixed else self._rows_of(name, items, scope)
        count = self._count(rows, scope)
        count = 0 if items is False else max(count - len(fixed), 0)
        needed = count_of(plain, "minContains", 1) if "contains" in plain else 0
        count = min(max(count, least - len(fixed), needed), max(most - len(fixed), 0))
        if items is False and least > len(fixed):
            raise NoValueError(f"{name}: it cannot have as many items as it must")
        if "contains" in plain and count_of(plain, "maxContains", 1_000) < needed:
            raise NoValueError(f"{name}: it must hold more of something than it may")
        made: list[JsonValue] = []
        unique = plain.get("uniqueItems") is True
        for place in range(min(len(fixed), most) + count):
            node = fixed[place] if place < len(fixed) else items
            number = place - len(fixed)
            if 0 <= number < needed:
                node = self._plan.both(node, plain["contains"])
            row = rows[number] if rows and 0 <= number < len(rows) else None
            try:
                self._append(made, node, name, self._of_item(scope, name, place, row), unique=unique)
            except NoValueError:
                if len(made) < least or place < len(fixed) or number < needed:
                    raise
                break
        apart = made if fixed or scope.style != "usual" else told_apart(made)
        return apart if len(apart) >= least else made

    def _append(
        self, made: list[JsonValue], node: JsonValue, name: str, scope: Scope, *, unique: bool
    ) -> None:
        """Make one more item; where all must differ, try until it does."""
        tries = 4 * _TRIES if unique else _TRIES if scope.style == "usual" else 1
        for again in range(tries):
            shifted = scope.again(again)
            shifted = replace(shifted, shift=again if unique else scope.shift) if again else scope
            value = self.value(node, singular_of(name), shifted)
            is_enough = not unique and (not isinstance(value, str) or again == tries - 1)
            if is_enough or not any(same(value, one) for one in made):
                made.append(value)
                return
        raise NoValueError(f"{name}: there are not as many different items as it must have")

    def _of_item(self, scope: Scope, name: str, place: int, row: Mapping[str, JsonValue] | None) -> Scope:
        item = item_of(name, scope.tool_name)
        chance = Chance(str(scope.chance.number(f"{name}:{place}", 2**31)))
        if isinstance(row, Record) and row.key:
            chance = Chance("thing", row.kind, row.key)
        held = {key: value for key, value in scope.held.items() if not is_own_id(key, item)}
        if row is not None:
            row = row if isinstance(row, Record) else told_of(row, scope.knowledge)
            held = {key: value for key, value in held.items() if key not in row}
        return replace(
            scope,
            row=row or {},
            item=item,
            place=place + 1,
            held=held,
            chance=chance,
            shift=0,
            beside={},
            depth=scope.depth + 1,
        )

    def _count(self, rows: Sequence[object] | None, scope: Scope) -> int:
        if scope.style == "least" or rows is None:
            return 0
        if rows:
            return len(rows)
        if scope.lean:
            return 0
        if scope.style == "most":
            return _MANY if scope.depth <= _FEW else _FEW
        limit = limit_of(scope.echo.arguments) if scope.depth <= 1 else None
        return _FEW if limit is None else min(_FEW, limit)

    def _rows_of(self, name: str, items: JsonValue, scope: Scope) -> list[Mapping[str, JsonValue]] | None:
        """Give the records that a list is about; an empty list where it is about none, None where there are none."""
        fields, own = self._plan.fields(items), scope.row.get(name)
        if isinstance(own, list) and own and fields:
            return [row for row in own if isinstance(row, dict)]
        if fields and not scope.row and self._rows is not None and answers(self._rows, name, fields):
            return list(self._rows.records) or None
        if not fields or scope.row:
            return []
        return list(scope.echo.rows(name, fields))


def _fitting(value: JsonValue, name: str) -> JsonValue:
    if value is None:
        raise NoValueError(f"{name}: no value was found that fits its bounds")
    return value
