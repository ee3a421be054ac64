"""Finds the rows of known tables that a call asks for, by its name and its arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pydantic import JsonValue

from simulator.environment.conventions.answers import is_read
from simulator.environment.conventions.names import is_identifier, spelled, words_of
from simulator.environment.drafting.comparisons import comparison, is_about_results, limit_of, offset_of
from simulator.environment.drafting.echoes import meaning
from simulator.environment.drafting.records import Record

_LINKS = frozenset({"by", "for", "of", "in", "with", "from", "to", "on", "at", "near"})
_GENERIC = frozenset(
    {"results", "result", "items", "data", "records", "entries", "matches", "rows", "list", "hits", "values"}
)
_TEXTS = frozenset(
    {
        "query",
        "q",
        "text",
        "keyword",
        "keywords",
        "search",
        "term",
        "terms",
        "phrase",
        "search_term",
        "search_query",
    }
)
_ANY = frozenset({"", "all", "any", "*"})
_STOCKED = frozenset(
    {"in_stock", "available", "in_stock_only", "only_available", "available_only", "only_in_stock"}
)
_STOCKS = ("stock", "in_stock", "available")
_MOST_ROWS = 100
"""How many rows an answer has at most; tools give their results in pages."""
_SMALL = frozenset({"a", "an", "the", "for", "and", "or", "of", "with", "in", "some", "any", "me", "my"})


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one kind that a call asks for; none at all where the whole table has none that fits.

    `columns` are the fields that the table has, and `used` the arguments that the rows were chosen by.
    """

    kind: str
    records: tuple[Record, ...]
    columns: frozenset[str]
    used: tuple[str, ...]
    total: int
    """How many fit before a limit was applied."""
    nobody: str = ""
    """The kind of a thing that the call names and that a complete table does not have: a customer by an e-mail."""


def found_rows(
    tool_name: str,
    arguments: Mapping[str, JsonValue],
    tables: Mapping[str, Sequence[Record]],
    complete: Collection[str],
) -> Rows | None:
    """Give the rows that a reading call asks for; None where no table is about what it asks.

    Args:
        tool_name: The tool.
        arguments: What it is asked. Arguments that no column answers to do not filter.
        tables: What is known, by kind (in the singular).
        complete: The kinds of which all is known: where none fits, there is none. Of the other kinds only rows that
            were chosen by an argument count.
    """
    kind = _kind_of(tool_name, arguments, tables)
    if kind is None or not is_read(tool_name):
        return None
    rows = tables[kind]
    used: list[str] = []
    for name, value in arguments.items():
        if (
            is_about_results(name)
            or value is None
            or (isinstance(value, str) and value.strip().lower() in _ANY)
        ):
            continue
        kept = _filtered(rows, kind, name, value, tables)
        if kept is not None:
            rows = kept
            used.append(name)
    if kind not in complete and not (rows and used):
        return None
    columns = frozenset(name for row in tables[kind][:20] for name in row.fields)
    start, limit = offset_of(arguments), limit_of(arguments)
    shown = rows[start : start + min(_MOST_ROWS if limit is None else limit, _MOST_ROWS)]
    lost = (_nobody(kind, name, arguments, tables) for name in used)
    nobody = next((one for one in lost if one in complete), "")
    return Rows(kind, tuple(shown), columns, tuple(used), len(rows), nobody)


def answers(rows: Rows, name: str, fields: Collection[str]) -> bool:
    """Tell whether a list of this name, whose items have these fields, is the one that the rows are for."""
    words = words_of(name)
    if words and _singular(words[-1]) == rows.kind.rpartition("_")[2]:
        return True
    sample = rows.records[0] if rows.records else Record(dict.fromkeys(rows.columns), rows.kind, "x")
    shared = sum(field in sample for field in fields)
    return shared >= (1 if name in _GENERIC or not name else 2) and 2 * shared >= len(fields)


def _kind_of(
    tool_name: str, arguments: Mapping[str, JsonValue], tables: Mapping[str, Sequence[Record]]
) -> str | None:
    """Find the kind that a tool reads: the last noun of its name before a "by" or "for"; then any noun of it."""
    words = [_singular(word) for word in words_of(tool_name)]
    head = words[: next((place for place, word in enumerate(words) if word in _LINKS and place), len(words))]
    for part in (head, words):
        for size in (3, 2, 1):
            for end in range(len(part), size - 1, -1):
                kind = "_".join(part[end - size : end])
                if kind in tables:
                    return kind
    for name in arguments:
        kind = _singular(spelled(name).removesuffix("_id").removesuffix("_number"))
        if is_identifier(name) and kind in tables and len(words) > 1:
            return kind
    return None


def _filtered(
    rows: Sequence[Record], kind: str, name: str, value: JsonValue, tables: Mapping[str, Sequence[Record]]
) -> list[Record] | None:
    """Give the rows that an argument lets through; None where it says nothing of such rows."""
    bound = comparison(name)
    if bound is not None:
        return _bounded(rows, bound, value)
    simple = spelled(name)
    if simple in _TEXTS or (simple in {"name", "title"} and isinstance(value, str)):
        return _worded(rows, value)
    if simple in _STOCKED and isinstance(value, bool):
        return [row for row in rows if _is_stocked(row)] if value and _has_any(rows, _STOCKS) else None
    if _is_key(simple, kind):
        keyed = [row for row in rows if row.key == value or (row.key and _equal(row.key, value))]
        return keyed or [row for row in rows if name in row and _equal(row[name], value)]
    if _has_any(rows, (name,)) or _has_meaning(rows, name):
        return [row for row in rows if _equal(_under(row, name), value)]
    return _joined(rows, kind, name, value, tables)


def is_search_text(name: str) -> bool:
    """Tell whether an argument is the text of a search, and says nothing of one field."""
    return spelled(name) in _TEXTS


def _is_key(name: str, kind: str) -> bool:
    return name in {"id", "key", f"{kind}_id", f"{kind}_ids", "ids", kind, f"{kind}_name", f"{kind}_number"}


def _has_any(rows: Sequence[Record], names: Collection[str]) -> bool:
    return any(name in row for row in rows[:20] for name in names)


def _has_meaning(rows: Sequence[Record], name: str) -> bool:
    return any(_field(row, name) is not None for row in rows[:20])


def _under(row: Record, name: str) -> JsonValue:
    if name in row:
        return row[name]
    field = _field(row, name)
    return None if field is None else row[field]


def _field(row: Record, name: str) -> str | None:
    """Find a field that means the same as an argument: `from` for `origin`, `ids` and other plurals for one."""
    wanted = meaning(name)
    single = frozenset(_singular(word) for word in wanted)
    for own in row.fields:
        if meaning(own) in (wanted, single):
            return own
    return None


def _equal(value: JsonValue, asked: JsonValue) -> bool:
    if isinstance(asked, list):
        return any(_equal(value, one) for one in asked)
    if isinstance(value, list):
        return any(_equal(one, asked) for one in value)
    if isinstance(value, str) and isinstance(asked, str):
        return value.casefold().strip() == asked.casefold().strip()
    if isinstance(value, str) != isinstance(asked, str):
        return str(value) == str(asked) and value is not None
    return value == asked


def _bounded(
    rows: Sequence[Record], bound: tuple[str, frozenset[str]], value: JsonValue
) -> list[Record] | None:
    way, words = bound
    kept: list[Record] = []
    known = False
    for row in rows:
        field = next(
            (
                name
                for name, own in row.fields.items()
                if words
                and _is_comparable(own, value)
                and (words <= set(words_of(name)) or words <= meaning(name))
            ),
            None,
        )
        if field is None:
            continue
        known = True
        own = row.fields[field]
        # Dates in ISO's form are ordered as texts.
        lower = own < value if way == "at least" else own > value  # type: ignore[operator] # both are numbers, or both texts
        if not lower:
            kept.append(row)
    return kept if known else None


def _is_comparable(own: JsonValue, value: JsonValue) -> bool:
    if isinstance(own, bool) or isinstance(value, bool):
        return False
    if isinstance(own, (int, float)) and isinstance(value, (int, float)):
        return True
    return isinstance(own, str) and isinstance(value, str) and own[:4].isdecimal() and value[:4].isdecimal()


def _worded(rows: Sequence[Record], value: JsonValue) -> list[Record] | None:
    """Give the rows that hold every word of a text; where none does, those that hold any."""
    words = {_stem(word) for word in words_of(str(value))} - _SMALL
    if not words:
        return None
    held = [(row, _words_in(row)) for row in rows]
    every = [row for row, own in held if words <= own]
    return every or [row for row, own in held if words & own]


def _words_in(row: Record) -> set[str]:
    return {_stem(word) for text in _texts(row.fields) for word in words_of(text)}


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _is_stocked(row: Record) -> bool:
    for name in _STOCKS:
        if name in row:
            value = row[name]
            return value > 0 if isinstance(value, (int, float)) else bool(value)
    return False


def _joined(
    rows: Sequence[Record], kind: str, name: str, value: JsonValue, tables: Mapping[str, Sequence[Record]]
) -> list[Record] | None:
    """Give the rows that refer to a row of another table which has the value: the orders of a customer's e-mail."""
    for other, others in tables.items():
        reference = f"{other}_id"
        if other == kind or not _has_any(rows, (reference,)) or not _has_any(others, (name,)):
            continue
        keys: list[JsonValue] = [row.key for row in others if name in row and _equal(row[name], value)]
        return [row for row in rows if reference in row and _equal(row[reference], keys)]
    return None


def _nobody(
    kind: str, name: str, arguments: Mapping[str, JsonValue], tables: Mapping[str, Sequence[Record]]
) -> str:
    """Give the other kind of which no thing has what an argument says; empty where one has, or none could."""
    if _has_any(tables[kind], (name,)) or _is_key(spelled(name), kind):
        return ""
    for other, others in tables.items():
        if other != kind and _has_any(tables[kind], (f"{other}_id",)) and _has_any(others, (name,)):
            return "" if any(name in row and _equal(row[name], arguments[name]) for row in others) else other
    return ""


@lru_cache(maxsize=2048)
def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > len("ties"):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return (
        word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 1 else word
    )


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    return _singular(word)
