"""Turns a JSON value into what the inputs of a form hold; nothing of it is lost on the way.

A value that does not fit its field (a text where a number belongs) is held as JSON text in that place.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal, TypeAlias, assert_never

from pydantic import Field as Described
from pydantic import JsonValue

from app.forms.form_tree import (
    ANY_FIELDS,
    ArrayField,
    BooleanField,
    ChoiceField,
    ConstField,
    Field,
    JsonField,
    NullableField,
    NumberField,
    ObjectField,
    TextField,
    UnionField,
)
from app.forms.typed_json import reads_as, write_any, write_json
from simulator.base.frozen_value import Value
from simulator.base.json_values import same

LARGEST_WHOLE = 2**53 - 1
"""A browser's numbers are exact up to here; a larger one is held as JSON text."""

_MOST_NAMED = 40
"""So many further fields have a row each; more are JSON."""


class RawText(Value):
    """The text of an input, also of one for a number: a browser's own input for numbers makes 30000 of `300,00`.

    `unread` says what to type instead, where that is no sure date or number in the browser's language.
    """

    kind: Literal["text"] = "text"
    text: str
    unread: str = ""


class RawFlag(Value):
    """A switch."""

    kind: Literal["flag"] = "flag"
    on: bool


class RawChoice(Value):
    """The place of the chosen option, or none yet."""

    kind: Literal["choice"] = "choice"
    index: int | None


class RawConst(Value):
    """Nothing to choose: the field's one value."""

    kind: Literal["const"] = "const"


class RawJson(Value):
    """JSON as text: of a JSON field, or of a value that does not fit its field.

    Words that are a text (`is_text`) are one, also where they look like a number; `unread` says how to write the number that they may
    mean. Where nothing but the typed words says what they are (`is_free`), the other cells of their column do.
    """

    kind: Literal["json"] = "json"
    text: str
    unread: str = ""
    is_text: bool = False
    is_free: bool = False


class RawNullable(Value):
    """Null, or what `raw` holds."""

    kind: Literal["nullable"] = "nullable"
    is_null: bool
    raw: Raw


class RawUnion(Value):
    """The place of the chosen variant, and what the inputs of each hold."""

    kind: Literal["union"] = "union"
    chosen: int
    variants: tuple[Raw, ...]


class RawArray(Value):
    """The rows."""

    kind: Literal["array"] = "array"
    items: tuple[Raw, ...]


class RawMember(Value):
    """Whether a named field is given at all, and what its inputs hold."""

    given: bool
    raw: Raw


class RawObject(Value):
    """The named fields in their order, and any others: rows of a name and a value, or a JSON object in text where inputs cannot hold the names."""

    kind: Literal["object"] = "object"
    members: tuple[RawMember, ...]
    others: RawArray | RawJson = Described(default_factory=lambda: NO_FIELDS)


Raw: TypeAlias = Annotated[
    RawText | RawFlag | RawChoice | RawConst | RawJson | RawNullable | RawUnion | RawArray | RawObject,
    Described(discriminator="kind"),
]

for _model in (RawNullable, RawUnion, RawArray, RawMember, RawObject):
    _model.model_rebuild()

NO_FIELDS: RawArray = RawArray(items=())
"""An object has no fields but those that its schema names."""


def fill(field: Field, value: JsonValue) -> Raw:
    """Return what the inputs hold when they show a value."""
    raw = _fitting(field, value)
    return RawJson(text=write_json(value)) if raw is None else raw


def blank(field: Field) -> Raw:  # noqa: C901, PLR0911 - one arm for each kind of field
    """Return what the inputs of a field hold when there is no value: its default, else nothing."""
    if field.has_default:
        default = _fitting(field, field.default)
        if default is not None:
            return default
    match field:
        case TextField() | NumberField():
            return RawText(text="")
        case BooleanField():
            return RawFlag(on=False)
        case ChoiceField():
            return RawChoice(index=0 if len(field.options) == 1 else None)
        case ConstField():
            return RawConst()
        case JsonField():
            return RawJson(text=field.blank)
        case NullableField():
            return RawNullable(is_null=False, raw=blank(field.inner))
        case UnionField():
            return RawUnion(chosen=0, variants=tuple(map(blank, field.variants)))
        case ArrayField():
            return RawArray(items=tuple(blank(field.item) for _ in range(min(field.least, 10))))
        case ObjectField():
            members = (
                RawMember(given=member.required, raw=_offered(member.field)) for member in field.members
            )
            return RawObject(members=tuple(members))
        case _:
            assert_never(field)


def _offered(field: Field) -> Raw:
    """As `blank`, but a nullable field that is set is meant to have a value."""
    raw = blank(field)
    if isinstance(field, NullableField) and isinstance(raw, RawNullable) and raw.is_null:
        return RawNullable(is_null=False, raw=blank(field.inner))
    return raw


def _fitting(field: Field, value: JsonValue) -> Raw | None:  # noqa: C901, PLR0911 - one arm for each kind
    match field:
        case TextField():
            return RawText(text=value) if isinstance(value, str) and is_format(field, value) else None
        case NumberField():
            return _number(field, value)
        case BooleanField():
            return RawFlag(on=value) if isinstance(value, bool) else None
        case ChoiceField():
            places = (index for index, option in enumerate(field.options) if same(option, value))
            index = next(places, None)
            return None if index is None else RawChoice(index=index)
        case ConstField():
            return RawConst() if same(field.value, value) else None
        case JsonField():
            return _open(value) if field.is_open else RawJson(text=write_json(value))
        case NullableField():
            return _nullable(field, value)
        case UnionField():
            return _union(field, value)
        case ArrayField():
            rows = value if isinstance(value, list) else None
            return None if rows is None else RawArray(items=tuple(fill(field.item, row) for row in rows))
        case ObjectField():
            return _object(field, value)
        case _:
            assert_never(field)


def _open(value: JsonValue) -> RawJson:
    text = write_any(value)
    return RawJson(text=text, is_text=text == value and reads_as(text) != "text")


def is_format(field: TextField, text: str) -> bool:
    """Return whether a text has the field's format."""
    if field.format == "plain":
        return True
    try:
        _parse_time(field, text)
    except ValueError:
        return False
    return True


def _parse_time(field: TextField, text: str) -> None:
    if field.format == "date":
        date.fromisoformat(text)
    else:
        datetime.fromisoformat(text)


def _number(field: NumberField, value: JsonValue) -> RawText | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > LARGEST_WHOLE:
        return None
    if field.is_integer and value != int(value):
        return None
    return RawText(text=write_json(int(value) if field.is_integer else value))


def _nullable(field: NullableField, value: JsonValue) -> Raw | None:
    if value is None:
        return RawNullable(is_null=True, raw=blank(field.inner))
    inner = _fitting(field.inner, value)
    return None if inner is None else RawNullable(is_null=False, raw=inner)


def _union(field: UnionField, value: JsonValue) -> Raw | None:
    fitting = [(index, _fitting(variant, value)) for index, variant in enumerate(field.variants)]
    ranked = sorted(
        (_misfits(field.variants[index], raw), index) for index, raw in fitting if raw is not None
    )
    if not ranked:
        return None
    chosen = ranked[0][1]
    variants = (
        raw if index == chosen and raw is not None else blank(field.variants[index]) for index, raw in fitting
    )
    return RawUnion(chosen=chosen, variants=tuple(variants))


def _object(field: ObjectField, value: JsonValue) -> RawObject | None:
    if not isinstance(value, dict):
        return None
    members = tuple(
        RawMember(given=True, raw=fill(member.field, value[member.name]))
        if member.name in value
        else RawMember(given=False, raw=_offered(member.field))
        for member in field.members
    )
    names = {member.name for member in field.members}
    others = {name: item for name, item in value.items() if name not in names}
    return RawObject(members=members, others=_others(field.others or ANY_FIELDS, others))


def _others(field: ArrayField, others: dict[str, JsonValue]) -> RawArray | RawJson:
    if len(others) > _MOST_NAMED or not all(name.strip() and name.isprintable() for name in others):
        return RawJson(text=write_json(others))
    rows: list[JsonValue] = [{"name": name, "value": item} for name, item in others.items()]
    return RawArray(items=tuple(fill(field.item, row) for row in rows))


def _misfits(field: Field, raw: Raw) -> int:
    """Count what in a value does not look like its field; 0 fits best."""
    if isinstance(raw, RawJson):
        return 1
    if isinstance(raw, RawArray) and isinstance(field, ArrayField):
        return sum(_misfits(field.item, item) for item in raw.items)
    if isinstance(raw, RawNullable) and isinstance(field, NullableField):
        return 0 if raw.is_null else _misfits(field.inner, raw.raw)
    if isinstance(raw, RawUnion) and isinstance(field, UnionField):
        return _misfits(field.variants[raw.chosen], raw.variants[raw.chosen])
    if isinstance(raw, RawObject) and isinstance(field, ObjectField):
        pairs = zip(field.members, raw.members, strict=True)
        unlike = sum(
            _misfits(member.field, held.raw) if held.given else 2 * member.required for member, held in pairs
        )
        return unlike + (raw.others != NO_FIELDS)
    return 0
