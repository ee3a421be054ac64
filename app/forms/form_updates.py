"""Tells what has to be put into the inputs of a form so that they show another value, each staying where it is.

An input that stays keeps its cursor; one that is replaced loses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from pydantic import JsonValue

from app.forms.field_widgets import is_long
from app.forms.form_raw import (
    Raw,
    RawArray,
    RawChoice,
    RawConst,
    RawFlag,
    RawJson,
    RawNullable,
    RawObject,
    RawText,
    RawUnion,
)
from app.forms.form_state import AS_TEXT, BY_PAGE, member_name, rows_of
from app.forms.form_tree import (
    ANY_FIELDS,
    ArrayField,
    Field,
    NullableField,
    ObjectField,
    UnionField,
)
from app.forms.widget_store import KeptInputs

Move: TypeAlias = tuple[str, JsonValue]
"""The name of an input, and what it is to hold."""


class _OtherInputsError(Exception):
    """The value needs inputs of another kind than those that are there."""


def moves(kept: KeptInputs, name: str, field: Field, now: Raw, then: Raw) -> tuple[Move, ...] | None:
    """Return what to put where, so that a form that holds `now` holds `then`; None where other inputs are needed.

    Args:
        kept: Keeps the inputs.
        name: The name of the field's input.
        field: The field.
        now: What its inputs hold, as `app.forms.form_state.collect` gives it.
        then: What they are to hold.
    """
    try:
        return tuple(_moves(kept, name, field, now, then))
    except _OtherInputsError:
        return None


def _moves(kept: KeptInputs, name: str, field: Field, now: Raw, then: Raw) -> Iterator[Move]:
    if now == then:
        return
    match now, then:
        case (RawText(), RawText()):
            if is_long(now.text) != is_long(then.text):
                raise _OtherInputsError
            yield name, then.text
            yield f"{name}{BY_PAGE}", then.text
        case (RawFlag(), RawFlag()):
            yield name, then.on
        case (RawChoice(), RawChoice()):
            yield name, then.index
        case (RawConst(), RawConst()):
            return
        case (RawJson(), RawJson()) if is_long(now.text) == is_long(then.text):
            yield f"json:{name}", then.text
            yield f"json:{name}{BY_PAGE}", then.text
            yield f"json:{name}{AS_TEXT}", then.is_text or None
        case _:
            yield from _inside(kept, name, field, now, then)


def _inside(kept: KeptInputs, name: str, field: Field, now: Raw, then: Raw) -> Iterator[Move]:
    match now, then:
        case (RawNullable(), RawNullable()):
            inner = field.inner if isinstance(field, NullableField) else field
            if now.is_null != then.is_null:
                yield f"{name}:null", then.is_null
            if not then.is_null:
                yield from _moves(kept, name, inner, now.raw, then.raw)
        case (RawUnion(), RawUnion()) if now.chosen == then.chosen and isinstance(field, UnionField):
            at = then.chosen
            yield from _moves(kept, f"{name}:v{at}", field.variants[at], now.variants[at], then.variants[at])
        case (RawArray(), RawArray()) if len(now.items) == len(then.items) and isinstance(field, ArrayField):
            rows = rows_of(kept, name, now)
            for row, before, after in zip(rows, now.items, then.items, strict=True):
                yield from _moves(kept, f"{name}:{row}", field.item, before, after)
        case (RawObject(), RawObject()) if isinstance(field, ObjectField):
            yield from _members(kept, name, field, now, then)
        case _:
            raise _OtherInputsError


def _members(
    kept: KeptInputs, name: str, field: ObjectField, now: RawObject, then: RawObject
) -> Iterator[Move]:
    yield from _moves(kept, f"{name}:others", field.others or ANY_FIELDS, now.others, then.others)
    for member, before, after in zip(field.members, now.members, then.members, strict=True):
        inner = member_name(name, member.name)
        if before.given != after.given:
            yield f"{inner}:given", after.given
        if after.given:
            yield from _moves(kept, inner, member.field, before.raw, after.raw)
