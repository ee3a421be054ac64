"""Reads what the inputs of a form hold now, drawn in this run or not.

An input is called after the way to its field: `order.lines:0.qty`. A colon begins what is no field: `:null` and
`:given` are switches, `:kind` chooses a variant, `:by_page` is what the page has put there, `:rows` lists the rows of an array, `:others` is an array of fields that no schema names. JSON by hand begins with
`json:`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import assert_never

from app.forms.form_raw import (
    Raw,
    RawArray,
    RawChoice,
    RawConst,
    RawFlag,
    RawJson,
    RawMember,
    RawNullable,
    RawObject,
    RawText,
    RawUnion,
    blank,
)
from app.forms.form_reading import name_in
from app.forms.form_tree import (
    ANY_FIELDS,
    ArrayField,
    Field,
    JsonField,
    NullableField,
    NumberField,
    ObjectField,
    TextField,
    UnionField,
)
from app.forms.typed_in_language import is_amount, number_problem, read_amount, read_date, read_time
from app.forms.typed_json import parse_number, reads_as, write_json
from app.forms.widget_store import KeptInputs, slug

BY_PAGE = ":by_page"
"""Ends the name under which is kept what the page has put into an input itself."""


AS_TEXT = ":as_text"
"""Ends the name under which is kept whether words are a text, or what they look like, where a person has chosen."""


def member_name(name: str, member: str) -> str:
    """Name the input of an object's field."""
    return f"{name}.{slug(member)}"


def rows_of(kept: KeptInputs, name: str, raw: RawArray) -> list[int]:
    """Return the numbers of an array's rows; a row keeps its number when others are removed."""
    return list(kept.value(f"{name}:rows", list(range(len(raw.items)))))


def row_seed(field: Field, raw: RawArray, row: int) -> Raw:
    """Return what a row's inputs hold at first; a row that was added is blank."""
    if row < len(raw.items):
        return raw.items[row]
    return blank(field.item) if isinstance(field, ArrayField) else RawJson(text="")


def table_columns(field: Field, rows: Raw) -> tuple[str, ...] | None:
    """Return the columns of the table for a list of objects whose fields are not all declared; None where no table can show it.

    They are the declared fields, and then each name that a row has. A field that holds an object or a list has no cell.
    """
    item = field.item if isinstance(field, ArrayField) else None
    if not isinstance(item, ObjectField) or item.others is None or not isinstance(rows, RawArray):
        return None
    if any(map(_is_nested, (*(member.field for member in item.members), value_field(item.others)))):
        return None
    declared = [member.name for member in item.members]
    columns = dict.fromkeys(declared)
    for row in rows.items:
        if not (isinstance(row, RawObject) and isinstance(row.others, RawArray)):
            return None
        names = [*declared, *map(name_in, row.others.items)]
        if len(set(names)) < len(names) or not all(name.strip() for name in names):
            return None
        columns |= dict.fromkeys(names)
    return tuple(columns)


def value_field(rows: ArrayField) -> Field:
    """Return the field of the values in rows of a name and a value each."""
    return rows.item.members[1].field if isinstance(rows.item, ObjectField) else rows.item


def _is_nested(field: Field) -> bool:
    inner = field.inner if isinstance(field, NullableField) else field
    return isinstance(inner, (ArrayField, ObjectField, UnionField))


def collect(kept: KeptInputs, name: str, field: Field, seed: Raw) -> Raw:  # noqa: PLR0911 - one arm for each kind
    """Return what the inputs of a field hold; `seed` is what they held at first."""
    match seed:
        case RawText():
            return _text(kept, name, field, seed)
        case RawFlag():
            return RawFlag(on=bool(kept.value(name, seed.on)))
        case RawChoice():
            return RawChoice(index=kept.value(name, seed.index))
        case RawConst():
            return seed
        case RawJson():
            return _json(kept, f"json:{name}", field, seed)
        case RawNullable():
            inner = field.inner if isinstance(field, NullableField) else field
            is_null = bool(kept.value(f"{name}:null", seed.is_null))
            return RawNullable(is_null=is_null, raw=collect(kept, name, inner, seed.raw))
        case RawUnion():
            return _union(kept, name, field, seed)
        case RawArray():
            item = field.item if isinstance(field, ArrayField) else field
            rows = rows_of(kept, name, seed)
            items = (collect(kept, f"{name}:{row}", item, row_seed(field, seed, row)) for row in rows)
            return _by_column(RawArray(items=tuple(items)), kept.language)
        case RawObject():
            return _object(kept, name, field, seed)
        case _:
            assert_never(seed)


def _text(kept: KeptInputs, name: str, field: Field, seed: RawText) -> RawText:
    """Return what an input holds; dates and numbers are read in the browser's language, as they were typed there."""
    text = str(kept.value(name, seed.text) or "")
    if not _is_typed(kept, name, text, seed.text):
        return RawText(text=text)
    if isinstance(field, NumberField):
        read = read_amount(text, kept.language)
    elif isinstance(field, TextField) and field.format != "plain":
        read = (read_date if field.format == "date" else read_time)(text, kept.language)
    else:
        return RawText(text=text)
    return RawText(text=read.text or text, unread=read.problem)


def _json(kept: KeptInputs, name: str, field: Field, seed: RawJson) -> RawJson:
    """Return what an input for JSON holds; what was a text or a number stays one, unless a person has chosen."""
    text, page = str(kept.value(name, seed.text) or ""), kept.value(f"{name}{BY_PAGE}")
    if not (isinstance(field, JsonField) and field.is_open):
        return RawJson(text=text)
    chosen, was_text = kept.value(f"{name}{AS_TEXT}"), seed.is_text and page is None
    if chosen or not (chosen is False or _is_typed(kept, name, text, seed.text)):
        is_words = reads_as(text) != "text" == reads_as(text, is_text=True)
        return RawJson(text=text, is_text=is_words and bool(chosen or was_text))
    before = "text" if was_text else reads_as(seed.text if page is None else str(page))
    kind = before if chosen is None else "number"
    read = read_open(text, kept.language, kind, is_free=kind not in {"text", "number"})
    number = None if chosen is None or read.unread else parse_number(read.text)
    return read if number is None else RawJson(text=write_json(number))


def read_open(text: str, locale: str | None, kind: str, *, is_free: bool) -> RawJson:
    """Read words of which no schema says what they are: as a text or a number, where that is their `kind`, else as they look."""
    problem = "" if kind == "text" else number_problem(text, locale)
    if kind == "number" and not problem:
        text = read_amount(text, locale).text
    if kind != "text" and is_amount(text) and not problem:
        problem = "a number is written with a point, for example 1250.50"
    is_text = kind == "text" and reads_as(text) in {"number", ""} and reads_as(text, is_text=True) == "text"
    return RawJson(text=text, unread=problem, is_text=is_text or bool(problem), is_free=is_free)


def column_kinds(rows: Raw) -> dict[str, str]:
    """Return what the cells of each column are that no schema names: text where one is, else number; empty where nothing tells."""
    kinds: dict[str, set[str]] = defaultdict(set)
    for row in rows.items if isinstance(rows, RawArray) else ():
        for name, cell in _cells(row):
            kinds[name].add("" if cell.unread else reads_as(cell.text, is_text=cell.is_text))
    return {
        name: next((kind for kind in ("text", "number") if kind in held), "") for name, held in kinds.items()
    }


def _cells(row: Raw) -> Iterator[tuple[str, RawJson]]:
    others = row.others if isinstance(row, RawObject) else None
    for cell in others.items if isinstance(others, RawArray) else ():
        if isinstance(cell, RawObject) and isinstance(value := cell.members[1].raw, RawJson):
            yield name_in(cell), value


def _by_column(rows: RawArray, locale: str | None) -> RawArray:
    """Return rows in which typed words are what the other cells of their column are."""
    kinds = column_kinds(rows)
    return RawArray(items=tuple(_retyped(row, kinds, locale) for row in rows.items)) if kinds else rows


def _retyped(row: Raw, kinds: Mapping[str, str], locale: str | None) -> Raw:
    if not (isinstance(row, RawObject) and isinstance(row.others, RawArray)):
        return row
    cells: list[Raw] = []
    for cell in row.others.items:
        if isinstance(cell, RawObject) and isinstance(held := cell.members[1].raw, RawJson) and held.is_free:
            read = read_open(held.text, locale, kinds[name_in(cell)], is_free=True)
            cells.append(RawObject(members=(cell.members[0], RawMember(given=True, raw=read))))
        else:
            cells.append(cell)
    return row.model_copy(update={"others": RawArray(items=tuple(cells))})


def _is_typed(kept: KeptInputs, name: str, text: str, seed: str) -> bool:
    """Return whether a person typed a text: what the page itself writes is always read as JSON writes it."""
    return bool(text.strip()) and text not in {seed, kept.value(f"{name}{BY_PAGE}")}


def _union(kept: KeptInputs, name: str, field: Field, seed: RawUnion) -> Raw:
    fields = field.variants if isinstance(field, UnionField) else ()
    chosen = kept.value(f"{name}:kind", seed.chosen) or 0
    pairs = zip(fields, seed.variants, strict=True)
    variants = (collect(kept, f"{name}:v{index}", variant, raw) for index, (variant, raw) in enumerate(pairs))
    return RawUnion(chosen=chosen, variants=tuple(variants))


def _object(kept: KeptInputs, name: str, field: Field, seed: RawObject) -> Raw:
    fields = field.members if isinstance(field, ObjectField) else ()
    members = []
    for member, held in zip(fields, seed.members, strict=True):
        inner = member_name(name, member.name)
        raw = collect(kept, inner, member.field, held.raw)
        members.append(RawMember(given=bool(kept.value(f"{inner}:given", held.given)), raw=raw))
    rows = (field.others if isinstance(field, ObjectField) else None) or ANY_FIELDS
    others = collect(kept, f"{name}:others", rows, seed.others)
    assert isinstance(others, (RawArray, RawJson))  # noqa: S101 - as `seed.others` is
    return RawObject(members=tuple(members), others=others)
