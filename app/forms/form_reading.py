"""Reads what the inputs of a form hold as a JSON value, with a problem for each field that says nothing usable."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias, assert_never

from pydantic import JsonValue

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
    is_format,
)
from app.forms.form_tree import (
    ANY_FIELDS,
    ArrayField,
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
from app.forms.typed_in_language import read_number
from app.forms.typed_json import TypedJsonError, parse_any, parse_json, parse_object
from simulator.base.frozen_value import Value
from simulator.environment.expressions import json_paths

Path: TypeAlias = tuple[str | int, ...]


class FieldProblem(Value):
    """What is wrong with one field; `path` leads to it from the form's value. Where it `is_missing`, nothing was typed yet."""

    path: Path
    message: str
    is_missing: bool = False


_MOST_NAMED = 4


def incomplete(what: str, problems: Sequence[FieldProblem]) -> str:
    """Say that a form cannot be sent, and which of its fields have problems, the first ones; their names may come from outside."""
    ways = list(dict.fromkeys(words for problem in problems if (words := way_in_words(problem.path))))
    more = f" and {len(ways) - _MOST_NAMED} more" if len(ways) > _MOST_NAMED else ""
    fields = ", ".join(ways[:_MOST_NAMED]) + more
    return f"{what} is incomplete. Fix {fields}." if ways else f"{what} is incomplete. See the marked fields."


def way_in_words(path: Path) -> str:
    """Name what a path leads to; rows are counted from 1."""
    names = (str(name + 1) if isinstance(name, int) else name for name in path)
    return " \u203a ".join(filter(None, names))


def place_in_words(place: str, whole: str = "the whole response") -> str:
    """Name a place such as `$.items[0].kind` as a form labels it, and `$` as the `whole`; what is no path stays as it is."""
    try:
        steps = json_paths.parse(place).steps
    except json_paths.PathError:
        return place
    return way_in_words(tuple(step for step in steps if isinstance(step, (int, str)))) or whole


class FormReading(Value):
    """The reading of a form: the value that its inputs make up. With problems, `value` leaves out what could not be read."""

    value: JsonValue
    problems: tuple[FieldProblem, ...] = ()


def read(field: Field, raw: Raw) -> FormReading:
    """Read what the inputs hold as a JSON value."""
    problems: list[FieldProblem] = []
    found = list(_read(field, raw, (), problems))
    return FormReading(value=found[0] if found else None, problems=tuple(problems))


def _read(field: Field, raw: Raw, path: Path, problems: list[FieldProblem]) -> Iterable[JsonValue]:
    """Yield the value, or nothing where it could not be read."""
    match raw:
        case RawText():
            yield from _read_text(field, raw, path, problems)
        case RawFlag():
            yield raw.on
        case RawChoice():
            yield from _read_choice(field, raw.index, path, problems)
        case RawConst():
            yield field.value if isinstance(field, ConstField) else None
        case RawJson():
            yield from _read_json(raw, path, problems, isinstance(field, JsonField) and field.is_open)
        case RawNullable():
            inner = field.inner if isinstance(field, NullableField) else field
            yield from iter([None]) if raw.is_null else _read(inner, raw.raw, path, problems)
        case RawUnion():
            variants = field.variants if isinstance(field, UnionField) else ()
            yield from _read(variants[raw.chosen], raw.variants[raw.chosen], path, problems)
        case RawArray():
            yield list(_read_rows(field, raw.items, path, problems))
        case RawObject():
            yield dict(_read_members(field, raw, path, problems))
        case _:
            assert_never(raw)


def _read_text(field: Field, raw: RawText, path: Path, problems: list[FieldProblem]) -> Iterable[JsonValue]:
    text, is_missing = raw.text, not raw.text.strip()
    if raw.unread:
        problems.append(FieldProblem(path=path, message=raw.unread))
        return
    if isinstance(field, NumberField):
        yield from _read_number(field, text, path, problems)
        return
    if isinstance(field, TextField) and not is_format(field, text):
        example = "2025-12-31" if field.format == "date" else "2025-12-31T09:30:00Z"
        message = f"enter a {field.format}, for example {example}"
        problems.append(FieldProblem(path=path, message=message, is_missing=is_missing))
        return
    yield text


def _read_number(
    field: NumberField, text: str, path: Path, problems: list[FieldProblem]
) -> Iterable[JsonValue]:
    try:
        yield read_number(text, is_whole=field.is_integer)
    except ValueError as error:
        problems.append(FieldProblem(path=path, message=str(error), is_missing=not text.strip()))


def _read_choice(
    field: Field, index: int | None, path: Path, problems: list[FieldProblem]
) -> Iterable[JsonValue]:
    options = field.options if isinstance(field, ChoiceField) else ()
    if index is None or not 0 <= index < len(options):
        problems.append(FieldProblem(path=path, message="choose one of the values", is_missing=True))
        return
    yield options[index]


def _read_json(raw: RawJson, path: Path, problems: list[FieldProblem], is_open: bool) -> Iterable[JsonValue]:
    try:
        yield parse_any(raw.text, is_text=raw.is_text) if is_open else parse_json(raw.text)
    except TypedJsonError as error:
        is_missing = not raw.text.strip()
        message = "enter a text, a number or JSON" if is_open and is_missing else str(error)
        problems.append(FieldProblem(path=path, message=message, is_missing=is_missing))


def _read_rows(
    field: Field, rows: tuple[Raw, ...], path: Path, problems: list[FieldProblem]
) -> Iterable[JsonValue]:
    item = field.item if isinstance(field, ArrayField) else field
    for index, row in enumerate(rows):
        yield from _read(item, row, (*path, index), problems)


def _read_members(
    field: Field, raw: RawObject, path: Path, problems: list[FieldProblem]
) -> Iterable[tuple[str, JsonValue]]:
    members = field.members if isinstance(field, ObjectField) else ()
    for member, held in zip(members, raw.members, strict=True):
        if held.given:
            for value in _read(member.field, held.raw, (*path, member.name), problems):
                yield member.name, value
    rows = (field.others if isinstance(field, ObjectField) else None) or ANY_FIELDS
    names = {member.name for member in members}
    match raw.others:
        case RawJson():
            yield from _read_others(raw.others.text, names, path, problems)
        case RawArray():
            yield from _read_named(rows.item, raw.others.items, names, path, problems)


def _read_others(
    text: str, names: Collection[str], path: Path, problems: list[FieldProblem]
) -> Iterable[tuple[str, JsonValue]]:
    try:
        others = parse_object(text)
    except TypedJsonError as error:
        problems.append(FieldProblem(path=path, message=f"Other fields: {error}"))
        return
    for name, value in others.items():
        if name in names:
            problems.append(
                FieldProblem(path=(*path, name), message="is set twice: here and in the other fields")
            )
        else:
            yield name, value


def _read_named(
    item: Field, rows: tuple[Raw, ...], known: Collection[str], path: Path, problems: list[FieldProblem]
) -> Iterable[tuple[str, JsonValue]]:
    """Read rows of a name and a value each."""
    names = set(known)
    for at, row in enumerate(rows):
        name = name_in(row)
        if not name.strip() or name in names:
            is_missing = not name.strip()
            message = "enter a name" if is_missing else f"another field is named {name}"
            problems.append(FieldProblem(path=(*path, "", at), message=message, is_missing=is_missing))
            continue
        names.add(name)
        if isinstance(row, RawObject) and isinstance(item, ObjectField):
            for value in _read(item.members[1].field, row.members[1].raw, (*path, name), problems):
                yield name, value


def name_in(row: Raw) -> str:
    """Return the name that stands in a row of a field that no schema names."""
    first = row.members[0].raw if isinstance(row, RawObject) and row.members else None
    return first.text if isinstance(first, RawText) else ""
